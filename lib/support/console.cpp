#include "support/console.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <type_traits>
#include <utility>

namespace tegula::support {
namespace {

constexpr std::string_view assert_failed = "device_assert failed: ";

// Without a destructor, so that launches in destructors at a thread's end may still fail.
thread_local constinit struct {
  PrintLine* text;  ///< owned
  char const* file;
  std::int64_t line;
} failure_of_thread = {};
static_assert(std::is_trivially_destructible_v<decltype(failure_of_thread)>);

}  // namespace

std::string kernel_at(std::string_view kernel, BlockIndex const& block) {
  return fmt::format("{}[{}, {}, {}]", kernel, block[0], block[1], block[2]);
}

PrintLine failed_assert(std::string_view kernel, BlockIndex const& block, std::string_view message) {
  return {kernel, block, fmt::format("{}{}", assert_failed, message)};
}

PrintLine::PrintLine(std::string_view kernel, BlockIndex const& block, std::string_view text)
    : line_(kernel_at(kernel, block) + ":") {
  if (!text.empty()) line_ += fmt::format(" {}", text);
}

void PrintLine::add_word(std::string_view word) {
  if (elements_ < 0) {
    line_ += fmt::format(" {}", word);
  } else if (elements_++ < max_printed_elements) {
    line_ += fmt::format("{}{}", elements_ == 1 ? "" : ", ", word);
  }
}

void PrintLine::add(double value) { add_word(fmt::format("{:g}", value)); }
void PrintLine::add(std::int64_t value) { add_word(fmt::format("{}", value)); }
void PrintLine::add(std::uint64_t value) { add_word(fmt::format("{}", value)); }

void PrintLine::begin_tile(std::string_view type) {
  line_ += fmt::format(" {}[", type);
  elements_ = 0;
}

void PrintLine::end_tile() {
  if (elements_ > max_printed_elements) line_ += fmt::format(", ... {} more", elements_ - max_printed_elements);
  line_ += "]";
  elements_ = -1;
}

void PrintLine::write() {
  line_ += "\n";
  std::fwrite(line_.data(), 1, line_.size(), stdout);
}

void note_failed_assert(FailedAssert failed) noexcept {
  take_failed_assert();  // an earlier one that nobody asked for
  failure_of_thread = {failed.text.release(), failed.file, failed.line};
}

FailedAssert take_failed_assert() noexcept {
  auto const [text, file, line] = std::exchange(failure_of_thread, {});
  return {std::unique_ptr<PrintLine>(text), file, line};
}

}  // namespace tegula::support
