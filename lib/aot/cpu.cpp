#include "aot/cpu.hpp"

#include <array>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tegula::aot {
namespace {

constexpr std::array<std::string_view, 3> levels = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};

#if defined(__x86_64__)
enum class State { always, avx, avx512 };

/// Names a bit of CPUID: in EBX of leaf 7, else in ECX. The system must save the state that the feature uses.
struct Feature {
  std::string_view name;
  int level;
  unsigned leaf;
  int bit;
  State state;
};

/// Lists features of the x86-64 psABI's levels that compiled kernels use, from the lowest level on.
constexpr Feature features[] = {
    {"sse4.1", 1, 1, 19, State::always},   {"sse4.2", 1, 1, 20, State::always},
    {"popcnt", 1, 1, 23, State::always},   {"avx2", 2, 7, 5, State::avx},
    {"fma", 2, 1, 12, State::avx},         {"f16c", 2, 1, 29, State::avx},
    {"bmi", 2, 7, 3, State::always},       {"bmi2", 2, 7, 8, State::always},
    {"movbe", 2, 1, 22, State::always},    {"lzcnt", 2, 0x80000001, 5, State::always},
    {"avx512f", 3, 7, 16, State::avx512},  {"avx512bw", 3, 7, 30, State::avx512},
    {"avx512cd", 3, 7, 28, State::avx512}, {"avx512dq", 3, 7, 17, State::avx512},
    {"avx512vl", 3, 7, 31, State::avx512},
};

/// Returns the word of CPUID that holds the leaf's features; 0 where the processor has no such leaf.
unsigned word_of(unsigned leaf) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(leaf, 0, &a, &b, &c, &d) == 0) return 0;
  return leaf == 7 ? b : c;
}

/// Returns the registers whose state the system saves (XCR0); 0 where it does not say.
unsigned saved_state() {
  if ((word_of(1) >> 27 & 1) == 0) return 0;  // OSXSAVE
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

/// Asks the processor itself: not all runtimes of compilers fill in __builtin_cpu_supports.
bool is_present(Feature const& feature) {
  unsigned const needed = feature.state == State::avx512 ? 0xe6 : feature.state == State::avx ? 0x06 : 0;
  return (word_of(feature.leaf) >> feature.bit & 1) != 0 && (saved_state() & needed) == needed;
}
#endif

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
  for (Feature const& feature : features)
    if (feature.level <= rank_of_level(architecture) && !is_present(feature)) return std::string(feature.name);
#endif
  return "";
}

}  // namespace tegula::aot
