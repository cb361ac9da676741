// Runs a test on every CPU that host kernels can be compiled for here.
#pragma once

#include <string>
#include <vector>

#include "codegen/host/target.hpp"
#include "support/catch.hpp"
#include "support/options.hpp"

namespace tegula::test {

/// Lists the CPUs of LLVM's names whose code runs here; the first is this machine.
inline std::vector<std::string> cpus() {
  std::vector<std::string> result = {""};
#if defined(__x86_64__)
  for (char const* name : {"x86-64-v2", "x86-64-v3", "alderlake", "x86-64-v4", "cascadelake", "znver4"})
    if (codegen::host::HostTarget::missing_here(name).empty()) result.emplace_back(name);
#endif
  return result;
}

/// Runs on every CPU, each time compiled anew.
template <class F>
void on_every_cpu(F const& run) {
  for (std::string const& cpu : cpus()) {
    support::Options options = support::options();
    options.cache = support::CacheMode::off;
    options.device = "host";
    options.host_cpu = cpu;
    support::ScopedOptions const scope(options);
    CAPTURE(cpu);
    run();
  }
}

}  // namespace tegula::test
