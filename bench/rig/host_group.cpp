#include "rig/host_group.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "rig/openblas.hpp"

namespace tegula::bench {

std::string core_of(std::string const& cpu, bool is_turn) {
  if (is_turn) {
    char const* const chosen = std::getenv("OPENBLAS_CORETYPE");
    return chosen == nullptr ? "" : chosen;
  }
  if (cpu == "native") return fastest_core({"SkylakeX", "Cooperlake", "Sapphirerapids", "Zen", "Haswell"});
  return fastest_core({"Haswell", "Zen"});
}

std::map<std::string, std::string> environment_of(std::string const& cpu, int threads, std::string const& core) {
  std::string const number = fmt::format("{}", threads);
  std::map<std::string, std::string> environment = {
      {"TEGULA_THREADS", number}, {"TEGULA_DEVICE", "host"}, {"TEGULA_CACHE", "off"}, {"OMP_NUM_THREADS", number}};
  if (!core.empty()) environment["OPENBLAS_CORETYPE"] = core;
  if (cpu != "native") environment["TEGULA_HOST_CPU"] = cpu;
  return environment;
}

}  // namespace tegula::bench
