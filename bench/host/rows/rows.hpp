// Declares the rows of the drawn bench: each makes a kernel's launch, a rival and a check at extents that a seed draws.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "host/kernels.hpp"
#include "host/loops/loops.hpp"
#include "host/loops/written.hpp"

namespace tegula::bench {

/// Draws numbers from a seed: the same ones with every standard library.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : bits_(seed) {}
  /// Returns a number in [0, 1).
  double uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  /// Returns an integer in [low, high].
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(uniform() * static_cast<double>(high - low + 1));
  }
  /// Returns an extent in [low, high], as often small as large. Every second one is a multiple of 64, where it can be.
  std::int64_t extent(std::int64_t low, std::int64_t high) {
    double const ratio = static_cast<double>(high) / static_cast<double>(low);
    auto const found = std::min(high, static_cast<std::int64_t>(static_cast<double>(low) * std::pow(ratio, uniform())));
    std::int64_t const round = found / 64 * 64;
    return uniform() < 0.5 && round >= low ? round : found;
  }

 private:
  std::mt19937_64 bits_;
};

/// Says for which machine and threads a case is made.
struct Setting {
  int threads;
  bool with_blas;  ///< OpenBLAS runs the instructions that the kernels are compiled for
  Loops const& loops;
  WrittenLoops const& written;
};

/// Holds one drawn case. Both sides and the check share tensors.
struct Case {
  std::string extents, rival;
  std::function<void()> ours, theirs;
  std::function<samples::Comparison()> check;  ///< our results with float64, after a run
};

/// Holds a kernel of the bench.
struct Row {
  char const* name;
  char const* family;
  Case (*make)(Draw& draw, Setting const& setting);
};

/// Holds the tensors of a case: they live as long as its functions.
template <class... T>
struct Tensors {
  explicit Tensors(T... tensors) : all(std::make_shared<std::tuple<T...>>(std::move(tensors)...)) {}
  template <std::size_t I>
  auto& get() const {
    return std::get<I>(*all);
  }
  std::shared_ptr<std::tuple<T...>> all;
};

/// Calls the function, and keeps the tensors.
template <class Held, class F>
auto keeping(Held held, F function) {
  return [held, function] { return function(); };
}

/// Draws a number of rows of n elements, up to `elements` in all.
inline std::int64_t rows_for(Draw& draw, std::int64_t n, std::int64_t elements) {
  return draw.extent(1, std::max<std::int64_t>(2, elements / n));
}

/// Returns indices below `limit`, in an order without pattern.
inline buffer<int, 1> indices(std::int64_t count, std::int64_t limit) {
  buffer<int, 1> result(device::host(), count);
  std::uint64_t state = 88172645463325252ULL;
  for (std::int64_t i = 0; i < count; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    result.data()[i] = static_cast<int>(state % static_cast<std::uint64_t>(limit));
  }
  return result;
}

/// Returns the kernels of libraries and textbooks: products, rows, reductions, transposes, gathers, scans.
std::vector<Row> drawn_rows();
/// Returns fifteen kernels as users write them.
std::vector<Row> written_rows();

/// Returns a launch that is prepared at its first call, so that a process for the rival does not compile.
template <class K, class... A>
std::function<void()> launcher(K const& kernel, A&... arguments) {
  auto const prepared = std::make_shared<std::optional<decltype(prepare(device::host(), kernel, arguments...))>>();
  return [prepared, &kernel, ... held = std::ref(arguments)] {
    if (!*prepared) prepared->emplace(prepare(device::host(), kernel, held.get()...));
    host_stream const order;
    (**prepared)(order);
  };
}

/// Returns the extents as text: "3 x 40".
template <class... E>
std::string extents_text(std::int64_t first, E... rest) {
  std::string text = fmt::to_string(first);
  ((text += fmt::format(" x {}", rest)), ...);
  return text;
}

/// Calls `body` with the smallest W of the list that is at least n, as std::integral_constant.
template <int W, int... More, class Body>
auto with_width(std::int64_t n, Body const& body) {
  if constexpr (sizeof...(More) == 0)
    return body(std::integral_constant<int, W>{});
  else if (n <= W)
    return body(std::integral_constant<int, W>{});
  else
    return with_width<More...>(n, body);
}

/// Compares up to 2000 places, spread over the result, with `expected(place)`. The error is divided by
/// `unit + |expected|`.
template <class T, int Rank, class Expected>
samples::Comparison spread(buffer<T, Rank> const& found, double bound, double unit, Expected const& expected) {
  samples::Comparison all(bound);
  std::int64_t const step = std::max<std::int64_t>(1, found.size() / 1999);
  for (std::int64_t i = 0; i < found.size(); i += step) {
    double const right = expected(i);
    all.add(i, found.data()[i], right, unit + std::abs(right));
  }
  return all;
}

}  // namespace tegula::bench
