// Collects the findings of a verifier, a parser or a pass: messages with places and notes. Nothing throws here; the
// public edge turns a list with errors into an exception.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tegula/support/location.hpp"

namespace tegula::support {

enum class Severity : std::uint8_t { error, warning, remark };

/// Holds a line and column of a text that was parsed, 1-based; line 0: unknown.
struct TextPosition {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  friend bool operator==(TextPosition const&, TextPosition const&) = default;
};

/// Points to a second place that helps to read a message ("the other operand is here").
struct Note {
  std::string text;
  location where;
};

/// Holds one finding. Text is lower case, without a final period, with the values in it.
struct Diagnostic {
  Severity severity = Severity::error;
  std::string text;
  location where;         ///< the DSL line, if known
  TextPosition position;  ///< the place in parsed text, if it came from there
  std::vector<Note> notes;

  Diagnostic& note(std::string note_text, location note_where = {}) {
    notes.push_back({std::move(note_text), note_where});
    return *this;
  }
};

/// Lists findings in the order in which they were made.
class Diagnostics {
 public:
  Diagnostic& error(std::string text, location where = {});
  Diagnostic& error_at(TextPosition position, std::string text);
  Diagnostic& warning(std::string text, location where = {});
  Diagnostic& remark(std::string text, location where = {});
  void append(Diagnostics other);

  [[nodiscard]] bool has_errors() const;
  [[nodiscard]] bool empty() const { return list_.empty(); }
  [[nodiscard]] std::size_t size() const { return list_.size(); }
  [[nodiscard]] auto begin() const { return list_.begin(); }
  [[nodiscard]] auto end() const { return list_.end(); }
  [[nodiscard]] Diagnostic const& operator[](std::size_t i) const { return list_[i]; }

  /// Prints one line per finding, "file:line: error: text" or "line:column: error: text", notes indented below.
  [[nodiscard]] std::string str() const;

 private:
  std::vector<Diagnostic> list_;
};

/// Prints "file.cpp:12", or "" for an unknown place.
std::string to_string(location where);
std::string to_string(Diagnostic const& diagnostic);

/// Sums up the errors for an exception: the first one with its notes, and "and 3 more errors" if there are more.
std::string summary(Diagnostics const& diagnostics);

/// Throws UserError / InternalError with the summary if there are errors; `context` ("verifier after canonicalize") is
/// the prefix.
void throw_user_error(Diagnostics const& diagnostics, std::string_view context = {});
void throw_internal_error(Diagnostics const& diagnostics, std::string_view context = {});

/// Writes one line "tegula: warning: text" to standard error, whole lines only, unless TEGULA_QUIET=1. For harmless
/// conditions (a damaged cache file).
void report_warning(std::string_view text);

/// Receives the text of report_warning instead of standard error, for tests; nullptr restores. Thread-safe; returns the
/// previous handler.
using WarningHandler = void (*)(std::string_view text);
WarningHandler set_warning_handler(WarningHandler handler);

}  // namespace tegula::support
