// Writes tuned tables as C++.
#pragma once

#include <string>

#include "tegula/abi/tuned_table.hpp"

namespace tegula::abi {

/// Writes text as a literal of C++.
std::string quoted(std::string const& text);

/// Returns the definitions of an array `<symbol>_choices` and of the table `symbol`; `specifiers` stand before each.
std::string tuned_table_text(TunedTable const& table, std::string const& symbol, std::string const& specifiers);

}  // namespace tegula::abi
