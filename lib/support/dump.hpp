// Writes dumps of a compilation at named points and replay files, and reads edited dumps back. The caller decides the
// text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "support/options.hpp"

namespace tegula::support {

/// Writes the dumps of one compilation of one kernel. Cheap to make and to ask; it does not copy the options.
class Dump {
 public:
  Dump(Options const& options, std::string_view kernel);

  /// True if `kind` (for ir_before and ir_after: of that pass) was asked for.
  [[nodiscard]] bool wants(DumpItem::Kind kind, std::string_view pass = {}) const;

  /// Writes the IR after (or before) pass number `number` of the pipeline to "<kernel>.<number>-<pass>.tir", or to
  /// standard error under a heading. On standard error an unchanged module is noted, not repeated.
  void write_pass(int number, std::string_view pass, std::string_view text, bool changed, bool before = false) const;

  /// Writes "<kernel>.<extension>" (extension: tir, ll, s, ptx, launch, key).
  void write(std::string_view extension, std::string_view text) const;

  /// Returns the text of an edited dump of that pass in TEGULA_OVERRIDE_DIR, if it exists.
  [[nodiscard]] std::optional<std::string> replacement(int number, std::string_view pass) const;

 private:
  void emit(std::string const& file, std::string_view text, bool changed) const;

  Options const& options_;
  std::string kernel_;
  bool selected_;
};

/// Makes a file name of a kernel name: every byte that is not a letter, digit, '_', '-' or '.' becomes '_'.
std::string file_name_of(std::string_view kernel);

/// Returns "<kernel>.07-insert-barriers.tir".
std::string dump_file_name(std::string_view kernel, int number, std::string_view pass);

/// Writes `text` to a new file of the replay folder, which only the user may read, and returns its path. The path is
/// empty if the file cannot be written (the failure to report is another one).
std::string write_replay_file(Options const& options, std::string_view kernel, std::string_view text);

}  // namespace tegula::support
