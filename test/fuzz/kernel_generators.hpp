// Draws kernels as text with parameters (kernels/random_kernel.hpp), and judges passes and the host on them.
#pragma once

#include <cstdint>
#include <string>

#include "fuzz/generators.hpp"

namespace tegula::fuzz {

/// Kernels through passes in any order, in the simulator.
std::string draw_semantics(std::uint64_t seed);
Verdict judge_semantics(std::string const& text);
/// Kernels on the host against the simulator.
std::string draw_host(std::uint64_t seed);
Verdict judge_host(std::string const& text);

}  // namespace tegula::fuzz
