// Declares the functions of the library that compiled host kernels call. The loader of objects binds them by address;
// kernels that a program embeds are linked to them.
#pragma once

#include <cstdint>

namespace tegula::support {
class PrintLine;
}

extern "C" {

/// Begins a line of device_print; tegula_print_end writes it.
tegula::support::PrintLine* tegula_print_begin(char const* kernel, char const* text, std::int64_t block0,
                                               std::int64_t block1, std::int64_t block2);
void tegula_print_integer(tegula::support::PrintLine* line, std::int64_t value);
void tegula_print_natural(tegula::support::PrintLine* line, std::uint64_t value);
void tegula_print_number(tegula::support::PrintLine* line, double value);
void tegula_print_tile(tegula::support::PrintLine* line, char const* type);
void tegula_print_tile_end(tegula::support::PrintLine* line);
void tegula_print_end(tegula::support::PrintLine* line);
/// Begins the text of a failed device_assert, which prints of integers and numbers go on; tegula_assert_failed notes
/// it.
tegula::support::PrintLine* tegula_assert_begin(char const* kernel, char const* message, std::int64_t block0,
                                                std::int64_t block1, std::int64_t block2);
/// Returns the time in ns of a clock that never goes back.
std::uint64_t tegula_time();
/// Returns a number of the calling thread: 0, 1, ... in the order of their first calls.
std::uint32_t tegula_thread();
/// Notes that an assert failed. The file's name belongs to the kernel's code.
void tegula_assert_failed(tegula::support::PrintLine* text, char const* file, std::int64_t line);
}
