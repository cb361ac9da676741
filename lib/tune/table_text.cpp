// Writes tuned tables as headers.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <vector>

#include "abi/tuned_table_text.hpp"
#include "support/files.hpp"
#include "support/identifier.hpp"
#include "tegula/support/error.hpp"
#include "tune/log.hpp"

namespace tegula {

int write_tuned_table(std::string const& log, std::string const& kernel, device where, std::string const& path,
                      std::string const& symbol) {
  if (!support::is_identifier(symbol))
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
  std::vector<TunedChoice> choices;
  for (auto const& [problem, entry] : latest) {
    if (problem.size() != numbers) continue;
    TunedKernel const& best = entry.result.kernels[static_cast<std::size_t>(entry.result.best)];
    TunedChoice choice{{}, best.label.c_str(), best.seconds};
    std::ranges::copy(problem, choice.problem);
    choices.push_back(choice);
  }
  TunedTable const table{kernel.c_str(),
                         place.architecture.c_str(),
                         place.device.c_str(),
                         any.place.compiler.c_str(),
                         static_cast<int>(numbers),
                         choices.data(),
                         static_cast<int>(choices.size())};
  std::string const text = fmt::format(
      "// Lists the fastest of the kernels {} for each problem, as measured on {} ({}).\n"
      "// Written by tegula::write_tuned_table; tune() renews it.\n"
      "#pragma once\n\n#include \"tegula/abi/tuned_table.hpp\"\n\n{}",
      abi::quoted(kernel), abi::quoted(place.device), abi::quoted(place.architecture),
      abi::tuned_table_text(table, symbol, "inline constexpr"));
  if (!support::write_named_file(path, text))
    throw UserError(fmt::format("tune: cannot write the table {}: {}; name a file that can be written", path,
                                std::strerror(errno)));
  return table.count;
}

}  // namespace tegula
