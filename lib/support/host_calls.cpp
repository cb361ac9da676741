#include "support/host_calls.hpp"

#include <atomic>
#include <chrono>

#include "support/console.hpp"

using tegula::support::PrintLine;

PrintLine* tegula_assert_begin(char const* kernel, char const* message, std::int64_t block0, std::int64_t block1,
                               std::int64_t block2) {
  return new PrintLine(tegula::support::failed_assert(kernel, {block0, block1, block2}, message));
}

void tegula_assert_failed(PrintLine* text, char const* file, std::int64_t line) {
  tegula::support::note_failed_assert({std::unique_ptr<PrintLine>(text), file, line});
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

std::uint64_t tegula_time() {
  auto const now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

std::uint32_t tegula_thread() {
  static constinit std::atomic<std::uint32_t> next = 0;
  thread_local std::uint32_t const number = next++;
  return number;
}
