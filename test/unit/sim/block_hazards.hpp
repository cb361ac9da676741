// Writes the hazard catalogue (public bugs of other systems) as kernels. Each planted error is found, with the right
// kind and the lines of both sides, and the repaired kernel is clean. Rows that the verifier refuses stand in
// test/ir/invalid/block.tir.
#pragma once

#include <sstream>

#include "block_support.hpp"

namespace tegula::test {

inline std::vector<std::string> lines_of(ir::Function const& function) {
  std::vector<std::string> lines;
  std::istringstream text(ir::print(function));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

/// Checks that each side names a line of the function's text, and that this line holds the op it names.
inline void check_lines(ir::Function const& function, sim::machine::Report const& report) {
  auto const lines = lines_of(function);
  for (sim::machine::Side const* side : {&report.earlier, &report.later}) {
    bool const outside = report.text().find("by the preceding grid") != std::string::npos && side == &report.earlier;
    if (!side->present() || outside) continue;
    INFO(report.text());
    REQUIRE(side->site.ir_line >= 1);
    REQUIRE(side->site.ir_line <= lines.size());
    CHECK(lines[side->site.ir_line - 1].find(side->site.op) != std::string::npos);
  }
}

/// Runs under many schedules, without stopping at the first that is bad.
inline block::Sweep many(ir::Module const& module, std::vector<HostTensor*> const& tensors,
                         block::Options const& options) {
  block::Simulation simulation(module.kernel(), views(tensors), options);
  return simulation.sweep(8, false);
}

struct Planted {
  std::string from, to;  ///< replaced in the sound kernel
  ReportKind kind;
};

/// Checks that the right kernel is clean, and that each error in it is found under every schedule or at least under
/// one.
inline void check_planted(std::string const& sound, std::vector<Planted> const& errors,
                          std::vector<HostTensor*> const& tensors, block::Options const& options = {}) {
  {
    auto const module = module_of(sound);
    auto const sweep = many(module, tensors, options);
    INFO(sound);
    INFO(sweep.str());
    REQUIRE(sweep.clean());
  }
  for (Planted const& error : errors) {
    INFO(error.from << "-> " << error.to);
    REQUIRE(sound.find(error.from) != std::string::npos);
    auto const module = unverified(with(sound, error.from, error.to));
    auto const sweep = many(module, tensors, options);
    INFO(sweep.str());
    CHECK(sweep.bad_runs != 0);
    CHECK(sweep.has(error.kind));
    for (block::Result const& result : sweep.bad)
      for (auto const& report : result.reports) check_lines(module.kernel(), report);
  }
}

}  // namespace tegula::test
