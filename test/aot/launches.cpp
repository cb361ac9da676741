// Is a program that embeds the kernels of its own launches, and links the runtime alone.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "launched.hpp"

using namespace tegula;

namespace {

/// Checks one statement and says which one was wrong.
bool holds(bool statement, char const* what) {
  if (!statement) std::printf("wrong: %s\n", what);
  return statement;
}

template <class T, int rank>
std::vector<T> contents(buffer<T, rank> const& from) {
  std::vector<T> values(static_cast<std::size_t>(from.size()));
  from.copy_to(values);
  return values;
}

bool results_are_right(device where) {
  stream const order(where);
  test::Vectors x(where, 5000);  // other extents than those of the build
  test::launch_all(order, x);
  order.synchronize();
  std::vector<float> const b = contents(x.b), c = contents(x.c), d = contents(x.d), e = contents(x.e);
  bool right = true;
  for (std::size_t i = 0; i < b.size(); ++i) {
    auto const a = static_cast<float>(i % 97);
    right = right && b[i] == 2 * a && c[i] == 5 * a && e[i] == 7 * (a + 3.5F) && d[i] == e[i] + 1;
  }
  for (std::int64_t const size : {64, 128, 1024}) {
    std::vector<float> const y = contents(test::launch_product(order, size));
    right = right && std::ranges::all_of(y, [&](float value) { return value == 2.0F * static_cast<float>(size); });
  }
  return right;
}

template <class Launch>
bool is_refused(char const* with, Launch const& launch) {
  try {
    launch();
  } catch (UserError const& error) {
    if (std::string(error.what()).find(with) != std::string::npos) return true;
    std::printf("found: %s\n", error.what());
    return false;
  }
  std::printf("nothing was refused\n");
  return false;
}

}  // namespace

int main() {
  host_stream const order;
  bool right = holds(results_are_right(device::host()), "results on the host");
  if (device::cuda_count() > 0) right = holds(results_are_right(device::cuda()), "results on a GPU") && right;
  std::vector<float> a(1024, 1.0F), y(512, 0.0F);
  std::vector<double> wide(512), wide_too(512);
  right = is_refused("not this one (launched.hpp:", [&] { launch(order, test::scaled<2, double>, wide, wide_too); }) &&
          right;
  right = is_refused("this launch with warps = 8 is not embedded; embedded of this kernel: warps = 2",
                     [&] { launch(order, with({.warps = 8}), test::scaled<5, float>, a, y); }) &&
          right;
  view<float, 1> const every_second(a.data(), {512}, {2});
  right = is_refused("an argument 1 with {unit_inner, aligned_16}, found {aligned_16}",
                     [&] { launch(order, test::scaled<2, float>, every_second, y); }) &&
          right;
  std::puts(right ? "aot client: ok" : "aot client: wrong");
  return right ? 0 : 1;
}
