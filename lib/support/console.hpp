// Holds the messages of a running kernel to the host: lines of device_print, and the first failed device_assert of a
// thread. The simulators and the code of host kernels share it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tegula::support {

using BlockIndex = std::array<std::int64_t, 3>;

/// Limits the elements of a tile that a print shows, on every executor.
inline constexpr std::int64_t max_printed_elements = 64;

/// Prints "name[0, 1, 0]".
std::string kernel_at(std::string_view kernel, BlockIndex const& block);
/// Builds one line of a print: "name[0, 1, 0]: text 3 0.5 2x2xf32[1, 2, 3, 4]". Numbers are as printf's %g, %lld and
/// %llu print them, booleans 0 or 1.
class PrintLine {
 public:
  PrintLine(std::string_view kernel, BlockIndex const& block, std::string_view text);
  /// Adds a scalar, or the next element of the tile that is open. Elements beyond max_printed_elements are counted.
  void add(double value);
  void add(std::int64_t value);
  void add(std::uint64_t value);
  void add_word(std::string_view word);
  void begin_tile(std::string_view type);
  void end_tile();
  /// Writes the line to standard output in one piece.
  void write();
  [[nodiscard]] std::string const& text() const { return line_; }

 private:
  std::string line_;
  std::int64_t elements_ = -1;  ///< of the open tile; -1: none is open
};

/// Begins "name[0, 1, 0]: device_assert failed: message"; the assert's values follow.
PrintLine failed_assert(std::string_view kernel, BlockIndex const& block, std::string_view message);

/// Describes a failed assert; the file's name belongs to the kernel's code.
struct FailedAssert {
  std::unique_ptr<PrintLine> text;
  char const* file = nullptr;
  std::int64_t line = 0;
};

/// Notes that an assert failed on this thread.
void note_failed_assert(FailedAssert failed) noexcept;
/// Returns the failure of this thread, if any, and forgets it; its text is null if there was none.
FailedAssert take_failed_assert() noexcept;

}  // namespace tegula::support
