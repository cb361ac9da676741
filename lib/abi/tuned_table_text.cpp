#include "abi/tuned_table_text.hpp"

#include <fmt/format.h>

#include <span>

namespace tegula::abi {

std::string quoted(std::string const& text) {
  std::string result = "\"";
  for (char const c : text) {
    auto const byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7e || c == '"' || c == '\\' || c == '?')
      result += fmt::format("\\{:03o}", byte);
    else
      result += c;
  }
  return result + "\"";
}

std::string tuned_table_text(TunedTable const& table, std::string const& symbol, std::string const& specifiers) {
  std::string rows;
  for (TunedChoice const& choice : std::span(table.choices, static_cast<std::size_t>(table.count)))
    rows +=
        fmt::format("    {{{{{}}}, {}, {:.4g}}},\n", fmt::join(choice.problem, choice.problem + table.numbers, ", "),
                    quoted(choice.label), choice.seconds);
  return fmt::format(
      "// clang-format off\n{0} tegula::TunedChoice {1}_choices[] = {{\n{2}}};\n// clang-format on\n\n"
      "{0} tegula::TunedTable {1} = {{\n"
      "    .kernel = {3},\n    .architecture = {4},\n    .device = {5},\n    .compiler = {6},\n"
      "    .numbers = {7},\n    .choices = {1}_choices,\n    .count = {8},\n}};\n",
      specifiers, symbol, rows, quoted(table.kernel), quoted(table.architecture), quoted(table.device),
      quoted(table.compiler), table.numbers, table.count);
}

}  // namespace tegula::abi
