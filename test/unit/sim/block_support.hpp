// Defines kernels of block ops for the simulator's tests.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/block/simulate.hpp"
#include "sim_support.hpp"
#include "support/golden.hpp"
#include "support/mutate.hpp"

namespace tegula::test {

using sim::machine::ReportKind;
using BlockSchedule = sim::machine::Schedule;
namespace block = sim::block;

/// Loads a verified module from a file of test/ir/target.
inline ir::Module target(std::string const& name) {
  return module_of(read_file(std::string(TEGULA_TEST_DIR) + "/ir/target/" + name + ".tir"));
}

/// Draws small whole numbers and halves: sums of their products are exact in f32.
inline void fill_small(HostTensor& tensor, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    tensor.set_number(i, static_cast<double>(static_cast<std::int64_t>(random() % 9) - 4) / 2);
}
inline HostTensor small_tensor(Element element, Extents const& extents, std::uint64_t seed) {
  HostTensor result(element, extents);
  fill_small(result, seed);
  return result;
}

/// Collects the kinds of ops in kernels that ran clean.
inline std::set<ir::OpKind>& simulated_ops() {
  static std::set<ir::OpKind> kinds;
  return kinds;
}
inline void note_simulated(ir::Block const& body) {
  for (ir::Op const& op : body) {
    simulated_ops().insert(op.kind());
    for (int i = 0; i < op.block_count(); ++i) note_simulated(op.block(i));
  }
}

inline sim::Arguments views(std::vector<HostTensor*> const& tensors) {
  sim::Arguments result;
  for (HostTensor* tensor : tensors) result.emplace_back(tensor->view());
  return result;
}

/// Runs the kernel under a few schedules of every kind, which must be clean and agree.
inline void run_clean(std::string const& text, std::vector<HostTensor*> const& tensors,
                      block::Options const& options = {}) {
  auto const module = module_of(text);
  block::Simulation simulation(module.kernel(), views(tensors), options);
  auto const sweep = simulation.sweep(4);
  INFO(text);
  INFO(sweep.str());
  REQUIRE(sweep.clean());
  for (auto const& function : module.functions()) note_simulated(function->body());
}

/// Names the first element of `tensor` for which expected(i) is another number; empty: none.
inline std::string first_wrong(HostTensor const& tensor, std::function<double(std::int64_t)> const& expected) {
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    if (!(tensor.number(i) == expected(i)))
      return fmt::format("element {} is {} but should be {}", i, tensor.number(i), expected(i));
  return {};
}

/// Returns `text` with every `from` replaced.
inline std::string with(std::string text, std::string const& from, std::string const& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

}  // namespace tegula::test
