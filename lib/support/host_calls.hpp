// Declares the functions of the library that compiled host kernels call. The loader of objects binds them by address;
// kernels that a program embeds are linked to them.
#pragma once

#include <cstdint>

namespace tegula::support {
class PrintLine;
}

extern "C" {

/// Notes that an assert failed; its texts belong to the kernel's code.
void tegula_assert_failed(char const* kernel, char const* message, char const* file, std::int64_t line,
                          std::int64_t block0, std::int64_t block1, std::int64_t block2);
/// Begins a line of device_print; tegula_print_end writes it.
tegula::support::PrintLine* tegula_print_begin(char const* kernel, char const* text, std::int64_t block0,
                                               std::int64_t block1, std::int64_t block2);
void tegula_print_integer(tegula::support::PrintLine* line, std::int64_t value);
void tegula_print_natural(tegula::support::PrintLine* line, std::uint64_t value);
void tegula_print_number(tegula::support::PrintLine* line, double value);
void tegula_print_tile(tegula::support::PrintLine* line, char const* type);
void tegula_print_tile_end(tegula::support::PrintLine* line);
void tegula_print_end(tegula::support::PrintLine* line);
}
