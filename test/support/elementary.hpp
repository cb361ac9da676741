// Lists the rows of elementary.def as data, for tests over all of them.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::test {

struct ElementaryRow {
  char const* name;
  bool expanded;                      ///< else every target has an exact instruction
  double bound_f32, bound_f64;        ///< in ulp
  double bound_gpu;                   ///< of f32
  long double (*exact)(long double);  ///< the C library's
  bool coarse = false;                ///< on a GPU, with an error of 2^-11 of the result
};

namespace c_library {
using namespace std;  // NOLINT(google-build-using-namespace): each row's function by its name
inline double roundeven(double x) { return std::nearbyint(x); }
inline long double rsqrt(long double x) { return 1 / std::sqrt(x); }
inline long double sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }
inline long double fast_tanh(long double x) { return std::tanh(x); }
inline long double exp10(long double x) { return std::pow(10.0L, x); }
}  // namespace c_library

/// Compares the word of a row that says how a device computes it.
consteval bool is_coarse(std::string_view device) { return device == "coarse"; }

inline constexpr ElementaryRow elementary_rows[] = {
#define TEGULA_EXACT(op, name, intrinsic, gpu) \
  {#name, false, 0.5,                          \
   0.5,   gpu,   [](long double x) -> long double { return c_library::intrinsic(static_cast<double>(x)); }},
#define TEGULA_EXPANDED(op, name, device, f32, f64, gpu) \
  {#name, true, f32, f64, gpu, [](long double x) -> long double { return c_library::name(x); }, is_coarse(#device)},
#include "tegula/math/elementary.def"
};

/// Describes a function of two floats.
struct ElementaryRow2 {
  char const* name;
  double bound_f32, bound_f64;  ///< in ulp
  double bound_gpu;             ///< of f32
  long double (*exact)(long double, long double);
};
inline constexpr ElementaryRow2 elementary_rows_2[] = {
#define TEGULA_EXPANDED_2(op, name, f32, f64, gpu) \
  {#name, f32, f64, gpu, [](long double x, long double y) -> long double { return c_library::name(x, y); }},
#include "tegula/math/elementary.def"
};

inline std::vector<std::string> elementary_names() {
  std::vector<std::string> names;
  for (ElementaryRow const& row : elementary_rows) names.emplace_back(row.name);
  return names;
}

}  // namespace tegula::test
