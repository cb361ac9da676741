// Compares text with golden files: expected bytes that one switch rewrites, for review as a diff.
#pragma once

#include <string>
#include <string_view>

namespace tegula::test {

/// True after --update-golden on the command line or with TEGULA_UPDATE_GOLDEN=1.
[[nodiscard]] bool update_golden();
void set_update_golden(bool on);

/// Reads a whole file as text. Throws std::runtime_error that names the file when it cannot be read.
[[nodiscard]] std::string read_file(std::string const& path);

/// Holds the outcome of a comparison: the message is empty if ok.
struct GoldenResult {
  bool ok = false;
  std::string message;
};

/// Compares text with the file at path, byte by byte; a missing file fails. With the switch on, writes the file.
[[nodiscard]] GoldenResult match_golden(std::string const& path, std::string_view text);

}  // namespace tegula::test
