#include "support/key_text.hpp"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

namespace tegula::support {
namespace {

struct Field {
  std::string_view name;
  std::vector<std::string_view> lines;
};

std::vector<Field> fields_of(std::string_view text) {
  std::vector<Field> fields;
  while (!text.empty()) {
    std::size_t const end = text.find('\n');
    std::string_view const line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    std::size_t const equals = line.find('=');
    std::string_view const name = line.substr(0, equals);
    std::string_view const value = equals == std::string_view::npos ? std::string_view() : line.substr(equals + 1);
    if (fields.empty() || fields.back().name != name) fields.push_back({name, {}});
    fields.back().lines.push_back(value);
  }
  return fields;
}

Field const* find(std::vector<Field> const& fields, std::string_view name) {
  auto const found = std::find_if(fields.begin(), fields.end(), [&](Field const& field) { return field.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

constexpr std::string_view absent = "(absent)";

void compare(Field const& a, Field const& b, std::vector<KeyDifference>& out) {
  std::size_t const count = std::max(a.lines.size(), b.lines.size());
  for (std::size_t i = 0; i < count; ++i) {
    std::string_view const left = i < a.lines.size() ? a.lines[i] : absent;
    std::string_view const right = i < b.lines.size() ? b.lines[i] : absent;
    if (left == right) continue;
    std::string const name = count > 1 ? fmt::format("{}:{}", a.name, i + 1) : std::string(a.name);
    out.push_back({name, std::string(left), std::string(right)});
    return;
  }
}

}  // namespace

KeyText& KeyText::add(std::string_view field, std::string_view value) {
  while (true) {
    std::size_t const end = value.find('\n');
    text_ += field;
    text_ += '=';
    text_ += value.substr(0, end);
    text_ += '\n';
    if (end == std::string_view::npos || end + 1 == value.size()) return *this;
    value.remove_prefix(end + 1);
  }
}

KeyText& KeyText::add(std::string_view field, std::int64_t value) { return add(field, fmt::format("{}", value)); }

std::vector<KeyDifference> key_differences(std::string_view a, std::string_view b) {
  std::vector<KeyDifference> result;
  std::vector<Field> const left = fields_of(a);
  std::vector<Field> const right = fields_of(b);
  for (Field const& field : left) {
    if (Field const* other = find(right, field.name)) {
      compare(field, *other, result);
    } else {
      result.push_back({std::string(field.name), std::string(field.lines.front()), std::string(absent)});
    }
  }
  for (Field const& field : right)
    if (find(left, field.name) == nullptr)
      result.push_back({std::string(field.name), std::string(absent), std::string(field.lines.front())});
  return result;
}

std::optional<std::string_view> key_field(std::string_view key, std::string_view field) {
  std::vector<Field> const fields = fields_of(key);
  Field const* const found = find(fields, field);
  return found != nullptr ? std::optional(found->lines.front()) : std::nullopt;
}

std::string explain_difference(std::string_view a, std::string_view b) {
  std::string text;
  for (KeyDifference const& difference : key_differences(a, b))
    text += fmt::format("{}: {} | {}\n", difference.field, difference.a, difference.b);
  return text.empty() ? "the keys are equal\n" : text;
}

std::string hash_hex(std::string_view text) {
  XXH128_hash_t const hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace tegula::support
