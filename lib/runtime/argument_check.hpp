// Checks the arguments before a launch, so that bad input never reaches the code.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/overlap.hpp"
#include "tegula/runtime/argument.hpp"
#include "tegula/abi/compiled_kernel.hpp"

namespace tegula::runtime {

/// Returns the facts that hold for a tensor argument.
TensorFacts facts_of(Argument const& argument);
/// Lists one entry per argument; those of scalars are empty.
std::vector<TensorFacts> facts_of(std::span<Argument const> arguments);

/// Returns the device of the arguments' memory; the best device if all are scalars.
device place_of(std::span<Argument const> arguments);

/// True if a kernel specialised on `needed` may take a tensor for which `present` holds.
constexpr bool satisfies(TensorFacts present, TensorFacts needed) { return (present & needed) == needed; }

Footprint footprint_of(Argument const& argument);

/// Checks arguments against parameters. Throws UserError naming kernel and argument for:
/// - a wrong count, kind, element or rank;
/// - a read-only argument for an output;
/// - memory on another device than `where`;
/// - a freed buffer;
/// - a negative extent;
/// - an offset beyond 64 bits;
/// - a null or misaligned address of a tensor that is not empty;
/// - an output whose elements overlap;
/// - an input or output that shares a byte with an output.
void check_arguments(std::string_view kernel, std::span<ParameterInfo const> parameters,
                     std::span<Argument const> arguments, device where);

/// Counts the blocks of a kernel's grid. Throws UserError for a negative extent, or more blocks than max_grid_blocks.
std::int64_t check_grid(std::string_view kernel, std::span<std::int64_t const, 3> extents);

}  // namespace tegula::runtime
