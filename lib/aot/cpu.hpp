// Checks whether this CPU runs code that was compiled for a named level of features.
#pragma once

#include <string>
#include <string_view>

namespace tegula::aot {

/// True for the names of CPUs that a program can be checked against when it runs: "x86-64-v2", "x86-64-v3" and
/// "x86-64-v4"; on other processors "generic".
bool is_known_level(std::string_view architecture);

/// Returns the first feature of the level that this CPU lacks; empty if it runs the code.
std::string missing_here(std::string_view architecture);

/// Compares levels: the higher one has more features.
int rank_of_level(std::string_view architecture);

}  // namespace tegula::aot
