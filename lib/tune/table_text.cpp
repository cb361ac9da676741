// Writes tuned tables as headers.
#include <fmt/format.h>

#include <fstream>
#include <map>

#include "tegula/support/error.hpp"
#include "tune/log.hpp"

namespace tegula {
namespace {

bool is_name(std::string const& symbol) {
  bool good = !symbol.empty() && (symbol[0] < '0' || symbol[0] > '9');
  for (char const c : symbol)
    good = good && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_');
  return good;
}

/// Writes text as a literal of C++.
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

}  // namespace

int write_tuned_table(std::string const& log, std::string const& kernel, device where, std::string const& path,
                      std::string const& symbol) {
  if (!is_name(symbol))
    throw UserError(fmt::format("tune: '{}' is no name in C++; take letters, digits and _", symbol));
  tuning::Place const place = tuning::place_of(where);
  std::map<std::vector<std::int64_t>, tuning::LogEntry> latest;
  for (tuning::LogEntry& entry : tuning::read_log(log))
    if (entry.result.kernel == kernel && entry.place.architecture == place.architecture &&
        entry.place.device == place.device)
      latest.insert_or_assign(entry.result.problem, std::move(entry));
  if (latest.empty())
    throw UserError(
        fmt::format("tune: {} has no result of {} on {}; run tune() with this log first", log, kernel, place.device));
  tuning::LogEntry const& any = latest.begin()->second;
  std::size_t const numbers = any.result.problem.size();
  std::string rows;
  int count = 0;
  for (auto const& [problem, entry] : latest) {
    if (problem.size() != numbers) continue;
    TunedKernel const& best = entry.result.kernels[static_cast<std::size_t>(entry.result.best)];
    rows += fmt::format("    {{{{{}}}, {}, {:.4g}}},\n", fmt::join(problem, ", "), quoted(best.label), best.seconds);
    ++count;
  }
  std::string const text = fmt::format(
      "// Lists the fastest of the kernels {0} for each problem, as measured on {1} ({2}).\n"
      "// Written by tegula::write_tuned_table; tune() renews it.\n"
      "#pragma once\n\n#include \"tegula/jit/tuned_table.hpp\"\n\n"
      "// clang-format off\n"
      "inline constexpr tegula::TunedChoice {3}_choices[] = {{\n{4}}};\n"
      "// clang-format on\n\n"
      "inline constexpr tegula::TunedTable {3} = {{\n"
      "    .kernel = {5},\n    .architecture = {6},\n    .device = {7},\n    .compiler = {8},\n"
      "    .numbers = {9},\n    .choices = {3}_choices,\n    .count = {10},\n}};\n",
      quoted(kernel), quoted(place.device), quoted(place.architecture), symbol, rows, quoted(kernel),
      quoted(place.architecture), quoted(place.device), quoted(any.place.compiler), numbers, count);
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw UserError(fmt::format("tune: cannot write the table {}; name a file that can be written", path));
  return count;
}

}  // namespace tegula
