#include "unicode.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>

#include <fmt/format.h>

#include "unicode_table.inc"

namespace minilm {
namespace {

// Syllables of Hangul are a leading consonant, a vowel, and maybe a trailing consonant, in this order.
constexpr char32_t hangul = 0xAC00, leading = 0x1100, vowel = 0x1161, trailing = 0x11A7;
constexpr char32_t vowels = 21, trailings = 28, syllables = 11172;

/// Calls found(code, rest...) for each group of `N` numbers of a table; codes count from the group before.
template <std::size_t N, class Found>
void each(std::span<std::int32_t const> table, Found const& found) {
  std::int32_t code = 0;
  for (std::size_t i = 0; i < table.size(); i += N) {
    code += table[i];
    found(code, table.subspan(i + 1, N - 1));
  }
}

}  // namespace

Unicode::Unicode() {
  auto const read = [](std::vector<Range>& ranges, std::span<std::int32_t const> table) {
    each<2>(table, [&](std::int32_t code, std::span<std::int32_t const> rest) {
      ranges.push_back({static_cast<char32_t>(code), static_cast<char32_t>(code + rest[0] - 1)});
    });
  };
  read(dropped_, dropped);
  read(spaces_, spaces);
  read(alone_, alone);
  read(punctuation_, punctuation_marks);
  each<4>(replaced, [&](std::int32_t code, std::span<std::int32_t const> rest) {
    for (std::int32_t i = 0; i < rest[0]; ++i, code += rest[1])
      others_[static_cast<char32_t>(code)] = {static_cast<char32_t>(code + rest[2])};
  });
  std::span<std::int32_t const> several(replaced_by_several);
  for (std::size_t i = 0; i < several.size(); i += static_cast<std::size_t>(2 + several[i + 1])) {
    auto const others = several.subspan(i + 2, static_cast<std::size_t>(several[i + 1]));
    others_[static_cast<char32_t>(several[i])] = std::u32string(others.begin(), others.end());
  }
}

bool Unicode::contains(std::vector<Range> const& ranges, char32_t character) {
  auto const behind = std::upper_bound(ranges.begin(), ranges.end(), character,
                                       [](char32_t c, Range const& range) { return c < range.first; });
  return behind != ranges.begin() && character <= std::prev(behind)->last;
}

Unicode::Kind Unicode::kind(char32_t character) const {
  if (contains(spaces_, character)) return Kind::space;
  if (contains(dropped_, character)) return Kind::dropped;
  return contains(alone_, character) ? Kind::alone : Kind::part;
}

bool Unicode::punctuation(char32_t character) const { return contains(punctuation_, character); }

void Unicode::replace(char32_t character, std::u32string& to) const {
  if (character >= hangul && character < hangul + syllables) {
    char32_t const number = character - hangul;
    to += leading + number / (vowels * trailings);
    to += vowel + number / trailings % vowels;
    if (number % trailings != 0) to += trailing + number % trailings;
    return;
  }
  if (auto const found = others_.find(character); found != others_.end())
    to += found->second;
  else
    to += character;
}

std::u32string decoded(std::string_view text) {
  std::u32string result;
  for (std::size_t at = 0; at < text.size();) {
    auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    unsigned const first = byte(at);
    // Bytes behind the first, and the least number that needs so many.
    std::size_t const more = first < 0x80        ? 0
                             : first >> 5U == 6  ? 1
                             : first >> 4U == 14 ? 2
                             : first >> 3U == 30 ? 3
                                                 : 4;
    constexpr char32_t least[] = {0, 0x80, 0x800, 0x10000};
    char32_t value = more == 0 ? first : first & (0x3FU >> more);
    bool right = more < 4 && at + more < text.size();
    for (std::size_t i = 1; right && i <= more; ++i) {
      right = byte(at + i) >> 6U == 2;
      value = value << 6U | (byte(at + i) & 0x3FU);
    }
    if (!right || value < least[more] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
      throw std::runtime_error(
          fmt::format("text: byte {} of it is {:#04x}, which is not UTF-8; text of UTF-8 is expected", at, first));
    result += value;
    at += more + 1;
  }
  return result;
}

void encode(char32_t character, std::string& to) {
  auto const put = [&](char32_t bits) { to += static_cast<char>(static_cast<unsigned char>(bits)); };
  if (character < 0x80) return put(character);
  int more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
  put((0xFF00U >> static_cast<unsigned>(more + 1) & 0xFFU) | character >> static_cast<unsigned>(6 * more));
  while (more-- > 0) put(0x80U | (character >> static_cast<unsigned>(6 * more) & 0x3FU));
}

}  // namespace minilm
