#include "aot/cpu.hpp"

#include <array>

namespace tegula::aot {
namespace {

#if defined(__x86_64__)
struct Feature {
  char const* name;
  bool present;
};

/// Lists features of the x86-64 psABI's levels that compiled kernels use, from the lowest level on.
template <std::size_t n>
std::string first_missing(std::array<Feature, n> const& features) {
  for (Feature const& feature : features)
    if (!feature.present) return feature.name;
  return "";
}
#define TEGULA_FEATURE(name) \
  Feature { name, __builtin_cpu_supports(name) != 0 }
#endif

constexpr std::array<std::string_view, 3> levels = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};

}  // namespace

int rank_of_level(std::string_view architecture) {
  for (std::size_t i = 0; i < levels.size(); ++i)
    if (levels[i] == architecture) return static_cast<int>(i) + 1;
  return 0;
}

bool is_known_level(std::string_view architecture) {
#if defined(__x86_64__)
  return rank_of_level(architecture) > 0;
#else
  return architecture == "generic";
#endif
}

std::string missing_here(std::string_view architecture) {
  if (!is_known_level(architecture)) return "the level " + std::string(architecture);
#if defined(__x86_64__)
  std::string missing =
      first_missing(std::array{TEGULA_FEATURE("sse4.1"), TEGULA_FEATURE("sse4.2"), TEGULA_FEATURE("popcnt")});
  if (missing.empty() && rank_of_level(architecture) >= 2)
    missing = first_missing(
        std::array{TEGULA_FEATURE("avx2"), TEGULA_FEATURE("fma"), TEGULA_FEATURE("bmi"), TEGULA_FEATURE("bmi2")});
  if (missing.empty() && rank_of_level(architecture) >= 3)
    missing =
        first_missing(std::array{TEGULA_FEATURE("avx512f"), TEGULA_FEATURE("avx512bw"), TEGULA_FEATURE("avx512cd"),
                                 TEGULA_FEATURE("avx512dq"), TEGULA_FEATURE("avx512vl")});
  return missing;
#else
  return "";
#endif
}

}  // namespace tegula::aot
