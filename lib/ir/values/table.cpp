#include "ir/values/table.hpp"

#include <cstdint>
#include <string>

namespace tegula::ir {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

unsigned value_of(char digit) { return static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10); }

}  // namespace

std::vector<std::byte> table_bytes(TableOp const& table) {
  std::string_view const text = table.data.view();
  std::vector<std::byte> result;
  result.reserve(text.size() / 2);
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    result.push_back(static_cast<std::byte>(value_of(text[i]) * 16 + value_of(text[i + 1])));
  return result;
}

Symbol table_data(std::span<std::byte const> bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (std::byte const byte : bytes) {
    text += digits[std::to_integer<unsigned>(byte) / 16];
    text += digits[std::to_integer<unsigned>(byte) % 16];
  }
  return Symbol(text);
}

}  // namespace tegula::ir
