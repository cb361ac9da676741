// Evaluates the launch program of a compiled kernel: grid, requirements, sizes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tegula/runtime/argument.hpp"
#include "tegula/abi/compiled_kernel.hpp"
#include "tegula/support/location.hpp"

namespace tegula::runtime {

/// Returns the value of every step, in order; `multiprocessors` as in LoadedKernel. Throws InternalError for a program
/// that names a later step or a wrong parameter.
std::vector<std::int64_t> evaluate(LaunchProgram const& program, std::span<Argument const> arguments,
                                   std::int64_t multiprocessors);

/// Throws UserError, with the line of the `require` and the values compared, for the first requirement that fails.
/// `sites` are the lines to name in place of the program's own, one per requirement, or empty. Code that was compiled
/// for one kernel may serve an equal one that was written elsewhere.
void check_requirements(std::string_view kernel, LaunchProgram const& program, std::span<std::int64_t const> values,
                        std::span<location const> sites = {});

/// Prints "extent(y, axis 1) = 4100 <= 4096 is false": a step in words, with its values; for messages.
std::string describe(LaunchProgram const& program, std::span<std::int64_t const> values, int step);

}  // namespace tegula::runtime
