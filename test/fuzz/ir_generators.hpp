// Draws random IR (random_ir.hpp) and judges what reads, changes and runs it.
#pragma once

#include <cstdint>
#include <string>

#include "fuzz/generators.hpp"

namespace tegula::fuzz {

/// IR, printed and read back.
std::string draw_text(std::uint64_t seed);
Verdict judge_text(std::string const& text);
/// Such text with a few characters changed.
std::string draw_damaged(std::uint64_t seed);
Verdict judge_damaged(std::string const& text);
/// IR with its inputs, through passes in any order.
std::string draw_passes(std::uint64_t seed);
Verdict judge_passes(std::string const& text);
/// IR through each pass twice.
std::string draw_module(std::uint64_t seed);
Verdict judge_twice(std::string const& text);
/// IR that stores its integers, against the facts that are known of them.
std::string draw_facts(std::uint64_t seed);
Verdict judge_facts(std::string const& text);
/// IR on the host, in simulated warps and as PTX.
std::string draw_executors(std::uint64_t seed);
Verdict judge_executors(std::string const& text);

}  // namespace tegula::fuzz
