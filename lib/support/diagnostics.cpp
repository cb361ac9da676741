#include "support/diagnostics.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "tegula/support/error.hpp"

namespace tegula::support {
namespace {

std::string_view spelling(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::remark:
      return "remark";
  }
  return "";
}

std::string notes_of(Diagnostic const& diagnostic) {
  std::string text;
  for (Note const& note : diagnostic.notes)
    text += note.where.known() ? fmt::format("\n  note: {}: {}", to_string(note.where), note.text)
                               : fmt::format("\n  note: {}", note.text);
  return text;
}

std::string place_of(Diagnostic const& diagnostic) {
  if (diagnostic.position.line != 0)
    return fmt::format("{}:{}: ", diagnostic.position.line, diagnostic.position.column);
  return diagnostic.where.known() ? to_string(diagnostic.where) + ": " : std::string();
}

location first_error_place(Diagnostics const& diagnostics) {
  for (Diagnostic const& diagnostic : diagnostics)
    if (diagnostic.severity == Severity::error) return diagnostic.where;
  return {};
}

std::atomic<WarningHandler> warning_handler = nullptr;

}  // namespace

Diagnostic& Diagnostics::error(std::string text, location where) {
  return list_.emplace_back(Diagnostic{Severity::error, std::move(text), where, {}, {}});
}

Diagnostic& Diagnostics::error_at(TextPosition position, std::string text) {
  return list_.emplace_back(Diagnostic{Severity::error, std::move(text), {}, position, {}});
}

Diagnostic& Diagnostics::warning(std::string text, location where) {
  return list_.emplace_back(Diagnostic{Severity::warning, std::move(text), where, {}, {}});
}

Diagnostic& Diagnostics::remark(std::string text, location where) {
  return list_.emplace_back(Diagnostic{Severity::remark, std::move(text), where, {}, {}});
}

void Diagnostics::append(Diagnostics other) {
  for (Diagnostic& diagnostic : other.list_) list_.push_back(std::move(diagnostic));
}

bool Diagnostics::has_errors() const {
  for (Diagnostic const& diagnostic : list_)
    if (diagnostic.severity == Severity::error) return true;
  return false;
}

std::string Diagnostics::str() const {
  std::string text;
  for (Diagnostic const& diagnostic : list_) text += to_string(diagnostic) + "\n";
  return text;
}

std::string to_string(location where) {
  return where.known() ? fmt::format("{}:{}", where.file(), where.line()) : std::string();
}

std::string to_string(Diagnostic const& diagnostic) {
  return fmt::format("{}{}: {}{}", place_of(diagnostic), spelling(diagnostic.severity), diagnostic.text,
                     notes_of(diagnostic));
}

std::string summary(Diagnostics const& diagnostics) {
  Diagnostic const* first = nullptr;
  int errors = 0;
  for (Diagnostic const& diagnostic : diagnostics) {
    if (diagnostic.severity != Severity::error) continue;
    if (errors++ == 0) first = &diagnostic;
  }
  if (first == nullptr) return {};
  std::string text = place_of(*first) + first->text + notes_of(*first);
  if (errors > 1) text += fmt::format("\n  and {} more error{}", errors - 1, errors == 2 ? "" : "s");
  return text;
}

void throw_user_error(Diagnostics const& diagnostics, std::string_view context) {
  if (!diagnostics.has_errors()) return;
  std::string const text = summary(diagnostics);
  throw UserError(context.empty() ? text : fmt::format("{}: {}", context, text), first_error_place(diagnostics));
}

void throw_internal_error(Diagnostics const& diagnostics, std::string_view context) {
  if (!diagnostics.has_errors()) return;
  std::string const text = summary(diagnostics);
  throw InternalError(context.empty() ? text : fmt::format("{}: {}", context, text));
}

void report_warning(std::string_view text) {
  if (WarningHandler const handler = warning_handler.load()) return handler(text);
  char const* quiet = std::getenv("TEGULA_QUIET");
  if (quiet != nullptr && std::string_view(quiet) == "1") return;
  std::string const line = fmt::format("tegula: warning: {}\n", text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

WarningHandler set_warning_handler(WarningHandler handler) { return warning_handler.exchange(handler); }

}  // namespace tegula::support
