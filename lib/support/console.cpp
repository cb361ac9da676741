#include "support/console.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <type_traits>

namespace tegula::support {
namespace {

// Without a destructor, so that launches in destructors at a thread's end may still fail.
static_assert(std::is_trivially_destructible_v<FailedAssert>);
thread_local constinit FailedAssert failure_of_thread;

}  // namespace

std::string kernel_at(std::string_view kernel, BlockIndex const& block) {
  return fmt::format("{}[{}, {}, {}]", kernel, block[0], block[1], block[2]);
}

std::string failed_assert_text(std::string_view kernel, BlockIndex const& block, std::string_view message) {
  return fmt::format("{}: device_assert failed: {}", kernel_at(kernel, block), message);
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

void note_failed_assert(FailedAssert const& failed) noexcept { failure_of_thread = failed; }

bool take_failed_assert(FailedAssert& into) noexcept {
  if (failure_of_thread.message == nullptr) return false;
  into = failure_of_thread;
  failure_of_thread = {};
  return true;
}

}  // namespace tegula::support
