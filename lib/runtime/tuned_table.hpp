// Finds a launch in tuned tables.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tegula/abi/tuned_table.hpp"
#include "tegula/runtime/argument.hpp"
#include "tegula/runtime/device.hpp"

namespace tegula::runtime {

/// Returns the numbers of a launch that tables know it by: extents of the tensors and values of the integers, in the
/// order of the parameters.
std::vector<std::int64_t> problem_of(std::span<Argument const> arguments);

/// Names what tables are measured on.
struct TunedPlace {
  std::string architecture, model;
  bool is_cuda = false;
};
/// Asks a device once for its names: a host reads a file for them.
TunedPlace const& tuned_place(device where);

/// Returns the tables that serve a place: those measured on its model, then, of GPUs, others of its architecture. A
/// null ends the list.
std::vector<TunedTable const*> serving(std::span<TunedTable const* const> tables, TunedPlace const& place);

/// Names the row of a problem.
struct TunedRow {
  TunedChoice const* choice = nullptr;
  double distance = 0;  ///< sum of the binary logarithms of the factors between the numbers
};

/// Finds the row of the least distance, all of whose numbers differ by at most `max_factor`; none: a null choice.
TunedRow find_row(TunedTable const& table, std::span<std::int64_t const> problem, double max_factor);

}  // namespace tegula::runtime
