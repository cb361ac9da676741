#include "rig/result_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "tune/timing.hpp"
#include "tegula/support/error.hpp"

namespace tegula::bench {

using tuning::median;
namespace {

std::string built_commit() {
  if (char const* given = std::getenv("TEGULA_BENCH_COMMIT")) return given;
  std::error_code error;
  auto const program = std::filesystem::read_symlink("/proc/self/exe", error);
  std::ifstream file(program.parent_path() / "commit");
  std::string commit;
  std::getline(file, commit);
  return commit;
}

/// Writes a JSON string; null for an empty one.
std::string json_text(std::string const& text) {
  if (text.empty()) return "null";
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) result += c;
  }
  return result + '"';
}

/// Writes median, min and max under three names; null where nothing was measured, or only once.
std::string spread(std::string const& prefix, std::vector<double> const& values) {
  if (values.empty()) return fmt::format("\"{0}median\": null, \"{0}min\": null, \"{0}max\": null", prefix);
  if (values.size() == 1)
    return fmt::format("\"{0}median\": {1:.5g}, \"{0}min\": null, \"{0}max\": null", prefix, values[0]);
  auto const [min, max] = std::minmax_element(values.begin(), values.end());
  return fmt::format("\"{0}median\": {1:.5g}, \"{0}min\": {2:.5g}, \"{0}max\": {3:.5g}", prefix, median(values), *min,
                     *max);
}

template <class T>
std::string number(std::optional<T> const& value) {
  return value ? fmt::format("{:.6g}", static_cast<double>(*value)) : "null";
}
std::string number(std::optional<std::uint64_t> const& value) { return value ? fmt::to_string(*value) : "null"; }

}  // namespace

std::string today() {
  std::time_t const now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

ResultFile::ResultFile(std::string const& path, std::string program, std::string machine)
    : path_(path), program_(std::move(program)), machine_(std::move(machine)), commit_(built_commit()), date_(today()) {
  if (path.empty()) return;
  file_.open(path, std::ios::app);
  if (!file_) throw UserError(fmt::format("--json {}: cannot write this file", path));
}

void ResultFile::write(Result const& result) {
  if (!file_.is_open()) return;
  file_ << fmt::format(
      "{{\"program\": {}, \"kernel\": {}, \"shape\": {}, \"variant\": {}, \"unit\": {}, {}, \"rival\": {}, {}, "
      "\"error\": {}, \"clock\": {}, \"seed\": {}, \"commit\": {}, \"machine\": {}, \"date\": {}}}\n",
      json_text(program_), json_text(result.kernel), json_text(result.shape), json_text(result.variant),
      json_text(result.unit), spread("", result.rates), json_text(result.rival), spread("ratio_", result.ratios),
      number(result.error), number(result.clock), number(result.seed), json_text(commit_), json_text(machine_),
      json_text(date_));
  if (!file_.flush()) throw UserError(fmt::format("--json {}: cannot write this file", path_));
}

}  // namespace tegula::bench
