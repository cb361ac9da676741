// Tests tensors that are described once on the host and used by many kernels.
#include <fmt/format.h>

#include <numeric>
#include <type_traits>
#include <vector>

#include "jit/kernel_cache.hpp"
#include "launch_support.hpp"
#include "runtime/cuda/tensor_map.hpp"
#include "support/catch.hpp"
#include "tegula/runtime/counters.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using tegula::test::ContainsSubstring;

namespace {

inline constexpr auto doubled = kernel("doubled", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<8, 32>);
  store(y, shape<8, 32>, load(x, shape<8, 32>, g[0], g[1]) * 2, g[0], g[1]);
});

inline constexpr auto row_sums = kernel("row_sums", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<4, 1>);
  store(y, shape<4, 1>, sum(load(x, shape<4, 64>, g[0], 0), axis<1>), g[0], 0);
});

inline constexpr auto negated = kernel("negated", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<128>);
  store(y, shape<128>, -load(x, shape<128>, g[0]), g[0]);
});

/// Is a user's own tensor: it says where its elements are, and nothing of Tegula.
struct Matrix {
  using row = float[7];
  float const* data() const { return values; }
  static constexpr int rank = 2;
  std::int64_t extent(int axis) const { return axis == 0 ? 3 : 5; }
  std::int64_t stride(int axis) const { return axis == 0 ? 7 : 1; }
  float const* values;
};

}  // namespace

TEST_CASE("a tensor view made once serves kernels of any rank", "[H1][D9]") {
  buffer<float, 2> x(device::host(), 8, 64), y(device::host(), 8, 64), sums(device::host(), 8, 1);
  std::vector<float> values(8 * 64);
  std::iota(values.begin(), values.end(), 0.0F);
  x.copy_from(values);
  tensor_view const from(x);
  static_assert(std::is_same_v<decltype(from), tensor_view<float, 2> const>);
  launch(host_stream(), doubled, from, tensor_view(y));
  launch(host_stream(), row_sums, from, sums);
  CHECK(y.on_host()(7, 63) == 2 * 511.0F);
  CHECK(sums.on_host()(1, 0) == static_cast<float>((64 + 127) * 32));

  std::vector<float> line(300, 1.5F), out(300);
  launch(host_stream(), negated, tensor_view(view(line)), out);
  CHECK(out[299] == -1.5F);
}

TEST_CASE("a tensor view is immutable, and gives another one for another address", "[H12]") {
  static_assert(!std::is_copy_assignable_v<tensor_view<float, 2>>);
  float first[6] = {1, 2, 3, 4, 5, 6}, second[6] = {6, 5, 4, 3, 2, 1};
  tensor_view const a(view(first, 2, 3));
  tensor_view const b = a.with_address(second);
  CHECK(a.data() == first);
  CHECK(b.data() == second);
  CHECK(b.extent(0) == 2);
  CHECK(b.stride(0) == 3);
  CHECK_FALSE(a.with_address(first + 1).has_tma());
}

TEST_CASE("a tensor view gives parts of its buffer that know when it was freed") {
  buffer<float, 2> x(device::host(), 6, 8), y(device::host(), 2, 8);
  for (int i = 0; i < 48; ++i) x.data()[i] = static_cast<float>(i);
  tensor_view const whole(x);
  tensor_view const rows = whole.slice(0, 5, 6, 1), other = whole.slice(0, 0, 6, -3), across = whole.transposed();
  CHECK(rows.data() == x.data() + 40);
  CHECK(rows.extent(0) == 1);
  CHECK(other.extent(0) == 2);
  CHECK(other.stride(0) == -24);
  CHECK(across.extent(0) == 8);
  CHECK(across.stride(1) == 8);
  CHECK(whole.extent(0) == 6);
  launch(host_stream(), doubled, other, y);
  CHECK(y.on_host()(0, 3) == 2 * x.on_host()(5, 3));
  CHECK(y.on_host()(1, 3) == 2 * x.on_host()(2, 3));
  x.free();
  CHECK_THROWS_WITH(launch(host_stream(), doubled, other, y), test::ContainsSubstring("was freed at"));
}

TEST_CASE("a use of a freed buffer names the places of its view and of free", "[H5]") {
  buffer<float, 2> x(device::host(), 4, 4), y(device::host(), 4, 4);
  x.fill(1);
  auto const viewed_line = __LINE__ + 1;
  tensor_view const from(x);
  prepared const go = prepare(doubled, from, y);
  go(host_stream());
  auto const freed_line = __LINE__ + 1;
  x.free();
  std::string const freed = fmt::format("was freed at descriptors_test.cpp:{}", freed_line);
  auto const place = [&](std::string const& text) {
    std::size_t const at = text.find("was freed at ");
    std::size_t const slash = text.find("descriptors_test.cpp", at);
    return at != std::string::npos && text.compare(slash, freed.size() - 13, freed, 13) == 0;
  };
  try {
    launch(host_stream(), doubled, from, y);
    FAIL("a freed buffer was used");
  } catch (UserError const& error) {
    INFO(error.what());
    CHECK(place(error.what()));
    CHECK_THAT(error.what(), ContainsSubstring("the view made at ") &&
                                 ContainsSubstring(fmt::format("descriptors_test.cpp:{}", viewed_line)));
  }
  try {
    go(host_stream());
    FAIL("a freed buffer was used");
  } catch (UserError const& error) {
    CHECK(place(error.what()));
  }
  // A buffer that dies is freed at once, and its views say so.
  auto dying = std::make_unique<buffer<float, 2>>(device::host(), 4, 4);
  tensor_view const late(*dying);
  dying.reset();
  CHECK_THROWS_WITH(launch(host_stream(), doubled, late, y), ContainsSubstring("was freed when the buffer died"));
}

TEST_CASE("one compiled kernel serves 50 shapes known at run time") {
  test::FreshCaches const caches;
  std::int64_t const before = jit::counters().compilations;
  for (int i = 0; i < 50; ++i) {
    std::int64_t const rows = 1 + 7 * i, columns = 100 - i;
    buffer<float, 2> x(device::host(), rows, columns), y(device::host(), rows, columns);
    x.fill(static_cast<float>(i));
    y.fill(-1);
    launch(host_stream(), doubled, x, y);
    std::vector<float> out(static_cast<std::size_t>(rows * columns));
    y.copy_to(out);
    CHECK(out == std::vector<float>(out.size(), static_cast<float>(2 * i)));
  }
  CHECK(jit::counters().compilations - before <= 2);  // with rows of 16 bytes, and of others
}

TEST_CASE("a user's type that says where its elements are is a tensor", "[D8]") {
  float const values[21] = {0, 1, 2, 3, 4, -1, -1, 7, 8, 9, 10, 11, -1, -1, 14, 15, 16, 17, 18, -1, -1};
  float y[15] = {};
  launch(host_stream(), doubled, Matrix{values}, view(y, 3, 5));
  for (int i = 0; i < 15; ++i) CHECK(y[i] == static_cast<float>(2 * (i / 5 * 7 + i % 5)));
}

TEST_CASE("the host has no TMA, and takes the same kernels and tensors", "[H14]") {
  CHECK_FALSE(device::host().has_tma());
  alignas(16) float values[32] = {};
  CHECK(tensor_view(view(values, 2, 16)).has_tma());            // for a device that has it
  CHECK_FALSE(tensor_view(view(values + 1, 2, 15)).has_tma());  // rows of 60 bytes, at an odd address
}

TEST_CASE("launches are counted, and make no copy") {
  LaunchCounters const before = launch_counters();
  float x[16] = {}, y[16] = {};
  for (int i = 0; i < 3; ++i) launch(host_stream(), doubled, view(x, 4, 4), view(y, 4, 4));
  CHECK(launch_counters().launches - before.launches == 3);
  CHECK(launch_counters().copies_to_device == before.copies_to_device);
}

namespace {

/// Returns the arguments of the driver's encoding for a box of a tensor.
template <class T, int rank>
runtime::cuda::TensorMapRequest request_of(tensor_view<T, rank> const& tensor, Extents const& box) {
  Argument argument;
  call::Given<tensor_view<T, rank> const>::fill(argument, tensor);
  ParameterInfo const parameter{ParameterKind::tensor, Direction::in, argument.element, rank, {}};
  TensorMapInfo map;
  map.box = box;
  return runtime::cuda::describe("k", map, {&parameter, 1}, {&argument, 1});
}

}  // namespace

TEST_CASE("1-D and 2-D tensors are described with an element size derived or given, and both agree", "[H7]") {
  alignas(16) float values[6 * 8] = {};
  std::iota(values, values + 48, 0.0F);
  void* const untyped = values;
  device const host = device::host();

  tensor_view const line = tensor_1d(values, 48);
  tensor_view const stated_line = tensor_1d<float>(host, untyped, 48, element_size(4));
  static_assert(std::is_same_v<decltype(line), decltype(stated_line)>);
  CHECK(request_of(line, {16}) == request_of(stated_line, {16}));
  CHECK(request_of(line, {16}).extents[0] == 48);

  tensor_view const dense = tensor_2d(values, 6, 8);
  CHECK(request_of(dense, {2, 8}) == request_of(tensor_2d<float>(host, untyped, 6, 8, element_size(4)), {2, 8}));
  CHECK(request_of(dense, {2, 8}) == request_of(tensor_2d(host, values, 6, 8), {2, 8}));
  tensor_view const left = tensor_2d(values, 6, 4, 8);  // of each row of 8
  CHECK(request_of(left, {2, 4}) == request_of(tensor_2d<float>(host, untyped, 6, 4, 8, element_size(4)), {2, 4}));
  CHECK(request_of(left, {2, 4}).strides[0] == 8 * sizeof(float));
  CHECK(left.has_tma());
  CHECK_FALSE(tensor_2d(values, 6, 7, 7).has_tma());

  std::vector<float> out(48), half(24);
  launch(host_stream(), negated, stated_line, out);
  CHECK(out[47] == -47);
  launch(host_stream(), doubled, tensor_2d<float const>(host, untyped, 6, 4, 8, element_size(4)),
         view(half.data(), 6, 4));
  CHECK(half[5] == 18);  // row 1, column 1

  CHECK_THROWS_WITH(tensor_1d<float>(host, untyped, 48, element_size(2)),
                    ContainsSubstring("tensor_1d: elements of 2 bytes are stated, but the view's type has 4"));
  CHECK_THROWS_WITH(tensor_2d<double>(host, untyped, 3, 8, element_size(4)),
                    ContainsSubstring("tensor_2d: elements of 4 bytes are stated, but the view's type has 8"));
}
