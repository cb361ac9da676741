#include "support/host_calls.hpp"

#include "support/console.hpp"

using tegula::support::PrintLine;

void tegula_assert_failed(char const* kernel, char const* message, char const* file, std::int64_t line,
                          std::int64_t block0, std::int64_t block1, std::int64_t block2) {
  tegula::support::note_failed_assert({kernel, message, file, line, {block0, block1, block2}});
}

PrintLine* tegula_print_begin(char const* kernel, char const* text, std::int64_t block0, std::int64_t block1,
                              std::int64_t block2) {
  return new PrintLine(kernel, {block0, block1, block2}, text);
}

void tegula_print_integer(PrintLine* line, std::int64_t value) { line->add(value); }
void tegula_print_natural(PrintLine* line, std::uint64_t value) { line->add(value); }
void tegula_print_number(PrintLine* line, double value) { line->add(value); }
void tegula_print_tile(PrintLine* line, char const* type) { line->begin_tile(type); }
void tegula_print_tile_end(PrintLine* line) { line->end_tile(); }

void tegula_print_end(PrintLine* line) {
  line->write();
  delete line;
}
