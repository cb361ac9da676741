// Lists all environment variables of Tegula: name, type, value if unset, grammar and meaning.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "support/option_values.hpp"

namespace tegula::support {

/// Describes one variable. A refusal prints `grammar`.
struct EnvironmentVariable {
  std::string_view name;
  ReadValue read;             ///< decides the type: a word, a text, a list, a number
  std::string_view fallback;  ///< the value that stands for an unset one; empty: none does
  std::string_view grammar;
  std::string_view meaning;
};

std::span<EnvironmentVariable const> environment_table();

/// Prints the table as text, one variable per paragraph.
std::string environment_help();

/// Reads a value; an empty one changes nothing. Throws UserError naming variable, value and grammar for a value that
/// does not parse.
void read_variable(EnvironmentVariable const& variable, std::string_view value, Options& options);

}  // namespace tegula::support
