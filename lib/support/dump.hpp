// Dumps of a compilation at named points, edited dumps read back, and replay files. Who calls decides what the text is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "support/options.hpp"

namespace tegula::support {

/// The dumps of one compilation of one kernel. Cheap to make and to ask; a copy of the options is not taken.
class Dump {
 public:
  Dump(Options const& options, std::string_view kernel);

  /// True if `what` (for ir_before and ir_after: of that pass) was asked for.
  [[nodiscard]] bool wants(DumpItem::What what, std::string_view pass = {}) const;

  /// Writes the IR after (or before) pass number `number` of the pipeline to "<kernel>.<number>-<pass>.tir", or to
  /// standard error under a heading; an unchanged module is noted, not repeated, on standard error.
  void write_pass(int number, std::string_view pass, std::string_view text, bool changed, bool before = false) const;

  /// Writes "<kernel>.<extension>" (extension: tir, ll, s, ptx, launch, key).
  void write(std::string_view extension, std::string_view text) const;

  /// The text of an edited dump of that pass in TEGULA_OVERRIDE_DIR, if there is one.
  [[nodiscard]] std::optional<std::string> replacement(int number, std::string_view pass) const;

 private:
  void emit(std::string const& file, std::string_view text, bool changed) const;

  Options const& options_;
  std::string kernel_;
  bool selected_;
};

/// Kernel names become file names: every byte that is not a letter, digit, '_', '-' or '.' turns into '_'.
std::string file_name_of(std::string_view kernel);

/// "<kernel>.07-insert-barriers.tir"
std::string dump_file_name(std::string_view kernel, int number, std::string_view pass);

/// Leaves `text` in a fresh file of the replay folder and returns its path; an empty path if it cannot be written (the
/// failure to report is another one).
std::string write_replay_file(Options const& options, std::string_view kernel, std::string_view text);

}  // namespace tegula::support
