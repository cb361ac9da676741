// Everything that a launch takes, without a word from the compiler.
// rows: N3
#include <array>
#include <vector>

#include "tegula/jit/launch.hpp"

using namespace tegula;

namespace {

inline constexpr auto add = kernel("add", [](in<float, 1>, in<float, 1>, out<float, 1>, arg<float>) {});

struct Pair {
  in<float, 1> from;
  out<float, 1> to;
};
inline constexpr auto copy = kernel("copy", [](Pair) {});

/// A tensor type of another library.
struct Matrix {
  static constexpr int rank = 1;
  [[nodiscard]] float const* data() const { return nullptr; }
  [[nodiscard]] long extent(int) const { return 0; }
  [[nodiscard]] long stride(int) const { return 1; }
};

/// The shape of std::mdspan.
struct Span {
  static constexpr std::size_t rank() noexcept { return 1; }
  [[nodiscard]] float* data_handle() const { return nullptr; }
  [[nodiscard]] int extent(std::size_t) const { return 0; }
  [[nodiscard]] int stride(std::size_t) const { return 1; }
};

}  // namespace

void right(stream const& any, host_stream const& host, cuda_stream const& cuda) {
  std::vector<float> a(4), c(4);
  std::array<float, 4> const b{};
  float raw[4] = {};
  launch(any, add, a, b, c, 1.0f);
  launch(host, add, view(raw, 4), Matrix(), Span(), 2);
  launch(any, add, grid(7), a, b, c, 0.5);
  launch(any, copy, a, c);
  buffer<float> x(device::host(), 4), y(device::host(), 4);
  launch(cuda, add, x, x, y, 1);
  launch(cuda, add, device_view<float const, 1>(raw, 4), x, device_view(raw, 4), 1);
  prepared const go = prepare(add, a, b, c, 1);
  go(any);
}
