#include "runtime/cuda/ptxas_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "support/diagnostics.hpp"
#include "tegula/support/error.hpp"

namespace tegula::runtime::cuda {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

/// Reads the number right before `unit` in a line of figures: "used 1 barriers, 16 bytes smem".
std::optional<std::int64_t> figure(std::string_view line, std::string_view unit) {
  std::size_t const at = line.find(unit);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t first = at;
  while (first > 0 && std::isdigit(static_cast<unsigned char>(line[first - 1])) != 0) --first;
  std::int64_t value = 0;
  if (std::from_chars(line.data() + first, line.data() + at, value).ec != std::errc()) return std::nullopt;
  return value;
}

/// Returns the text after "ptxas info    : ", "ptxas file, line 3; warning : ", the driver's "info    : " and the like;
/// the line itself without such a prefix.
std::string_view after_severity(std::string_view line) {
  bool const from_ptxas = line.starts_with("ptxas ");
  for (std::string_view const severity : {"info", "warning", "error", "fatal"}) {
    std::size_t const at = line.find(severity);
    if (at == std::string_view::npos || (at != 0 && !from_ptxas)) continue;
    std::string_view const rest = trimmed(line.substr(at + severity.size()));
    if (rest.starts_with(':')) return trimmed(rest.substr(1));
  }
  return line;
}

/// True for lines that only name the compiled function and the time.
bool is_idle(std::string_view text) {
  for (std::string_view const start :
       {"Compiling entry function", "Function properties for", "Compile time", "Overriding", "Linking"})
    if (text.starts_with(start)) return true;
  return text.find(" bytes gmem") != std::string_view::npos;
}

/// Reads a line of figures; false for other lines.
bool read_figures(std::string_view line, AssemblyReport& report) {
  if (auto const stack = figure(line, " bytes stack frame")) {
    report.stack_bytes += *stack;
    report.spill_store_bytes += figure(line, " bytes spill stores").value_or(0);
    report.spill_load_bytes += figure(line, " bytes spill loads").value_or(0);
    return true;
  }
  if (auto const registers = figure(line, " registers"); registers && line.starts_with("Used ")) {
    report.registers = std::max(report.registers, static_cast<int>(*registers));
    report.barriers = std::max(report.barriers, static_cast<int>(figure(line, " barriers").value_or(0)));
    report.shared_bytes = std::max(report.shared_bytes, figure(line, " bytes smem").value_or(0));
    return true;
  }
  return false;
}

AssemblyNote note_of(std::string_view text) {
  AssemblyNote note{{}, std::string(text)};
  if (!text.starts_with("(C")) return note;
  std::size_t const end = text.find(')');
  if (end == std::string_view::npos) return note;
  return {std::string(text.substr(1, end - 1)), std::string(trimmed(text.substr(end + 1)))};
}

void act(support::NotePolicy policy, std::string const& text, std::string_view variable) {
  if (policy == support::NotePolicy::error)
    throw InternalError(fmt::format("{}; {}=warn accepts the code", text, variable));
  if (policy == support::NotePolicy::warn)
    support::report_warning(fmt::format("{}; the code is right, but slower", text));
}

}  // namespace

AssemblyReport parse_assembly_log(std::string_view log) {
  AssemblyReport report;
  while (!log.empty()) {
    std::size_t const end = log.find('\n');
    std::string_view const text = after_severity(trimmed(log.substr(0, end)));
    log.remove_prefix(end == std::string_view::npos ? log.size() : end + 1);
    if (text.empty() || is_idle(text) || read_figures(text, report)) continue;
    report.notes.push_back(note_of(text));
  }
  return report;
}

bool is_grave(AssemblyNote const& note) { return note.code.starts_with("C75") || note.code.starts_with("C76"); }

bool is_of_a_call(AssemblyNote const& note) {
  return note.code == "C7510" && note.text.find("at a function call") != std::string::npos;
}

void enforce(support::Options const& options, std::string_view kernel, std::string_view log,
             LargestTile const& largest) {
  AssemblyReport const report = parse_assembly_log(log);
  std::string grave;
  for (AssemblyNote const& note : report.notes)
    if (is_of_a_call(note)) {
      if (options.ptxas_notes != support::NotePolicy::ignore)
        support::report_warning(
            fmt::format("kernel {}: its products wait for each other, because a device_assert or a "
                        "device_print is a call; TEGULA_ASSERTS=off removes asserts",
                        kernel));
    } else if (is_grave(note))
      grave += fmt::format("{}({}) {}", grave.empty() ? "" : "; ", note.code, note.text);
  if (!grave.empty())
    act(options.ptxas_notes, fmt::format("kernel {}: the assembler reports: {}", kernel, grave), "TEGULA_PTXAS_NOTES");
  if (!report.spills()) return;
  if (report.spill_bytes() == 0 && options.ptxas_spills == support::NotePolicy::warn) return;
  std::string tile;
  if (report.spill_bytes() > 0 && !largest.tile.empty())
    tile = fmt::format("; most registers hold {}{}", largest.tile,
                       largest.line != 0 ? fmt::format(" ({}:{})", largest.file, largest.line) : "");
  act(options.ptxas_spills,
      fmt::format("kernel {}: with {} registers the code has {} bytes of stack frames, {} of spill stores and {} of "
                  "spill loads{}",
                  kernel, report.registers, report.stack_bytes, report.spill_store_bytes, report.spill_load_bytes,
                  tile),
      "TEGULA_PTXAS_SPILLS");
}

}  // namespace tegula::runtime::cuda
