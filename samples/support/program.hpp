#pragma once
// Shared by the programs that run a whole model: the choice of a device, clocks, errors. Needs CLI11.

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>

#include <CLI/CLI.hpp>
#include <tegula/tegula.hpp>

namespace samples {

inline double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Adds the option --device, which names a device for device_of().
inline void add_device_option(CLI::App& app, std::string& name) {
  app.add_option("--device", name, "host, gpu or best")->check(CLI::IsMember({"host", "gpu", "best"}));
}
inline tegula::device device_of(std::string const& name) {
  if (name == "host") return tegula::device::host();
  if (name == "gpu") return tegula::device::cuda(0);
  return tegula::device::best();
}

/// Returns the exit status of the body; an error is one line and status 1.
template <class Body>
int run_program(char const* name, Body const& body) {
  try {
    return body();
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

}  // namespace samples
