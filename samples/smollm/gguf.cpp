#include "gguf.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <initializer_list>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace smollm {
namespace {

using samples::printable;

constexpr std::uint64_t max_name = 65535, max_alignment = 1 << 16, max_axes = 4;

/// Numbers of the types of metadata.
enum class Type : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

std::uint64_t bytes_of(Type type) {  // 0: not a number
  switch (type) {
    case Type::u8:
    case Type::i8:
    case Type::boolean:
      return 1;
    case Type::u16:
    case Type::i16:
      return 2;
    case Type::u32:
    case Type::i32:
    case Type::f32:
      return 4;
    case Type::u64:
    case Type::i64:
    case Type::f64:
      return 8;
    case Type::string:
    case Type::array:
      return 0;
  }
  return 0;
}

bool known(std::uint32_t format) {
  return format == static_cast<std::uint32_t>(Format::f32) || format == static_cast<std::uint32_t>(Format::f16) ||
         format == static_cast<std::uint32_t>(Format::q4_1) || format == static_cast<std::uint32_t>(Format::q8_0);
}

bool in_blocks(Format format) { return format == Format::q4_1 || format == Format::q8_0; }

/// Returns the bytes that a tensor takes in the file; its last extent is whole blocks.
std::uint64_t bytes_of(Tensor const& tensor) {
  std::int64_t elements = 1;
  for (std::int64_t const extent : tensor.extents) elements *= extent;
  return static_cast<std::uint64_t>((in_blocks(tensor.format) ? elements / block_weights : elements) *
                                    block_bytes(tensor.format));
}

/// Says where the file has a tensor: bytes after the start of all.
struct Place {
  std::uint64_t offset, bytes;
};

}  // namespace

char const* name(Format format) {
  switch (format) {
    case Format::f32:
      return "F32";
    case Format::f16:
      return "F16";
    case Format::q4_1:
      return "Q4_1";
    case Format::q8_0:
      return "Q8_0";
  }
  return "unknown";
}

std::int64_t block_bytes(Format format) {
  switch (format) {
    case Format::f32:
      return 4;
    case Format::f16:
      return 2;
    case Format::q4_1:
      return 20;
    case Format::q8_0:
      return 34;
  }
  return 0;
}

/// Reads fields one after the other and never beyond the end.
class Gguf::Cursor {
 public:
  Cursor(std::string const& path, std::span<std::byte const> bytes) : path_(path), bytes_(bytes) {}

  template <class T>
  T take(char const* of) {
    T value;
    std::memcpy(&value, skip(sizeof value, of), sizeof value);
    return value;
  }
  std::string_view string(char const* of) {
    auto const length = take<std::uint64_t>(of);
    return {reinterpret_cast<char const*>(skip(length, of)), static_cast<std::size_t>(length)};
  }
  std::byte const* skip(std::uint64_t bytes, char const* of) {
    if (bytes > left()) fail("{} takes {} bytes, but the file has {} left", of, bytes, left());
    std::byte const* const start = bytes_.data() + at_;
    at_ += bytes;
    return start;
  }
  /// Checks a number of things that take at least so many bytes each.
  void expect_room(std::uint64_t count, std::uint64_t least_bytes, char const* of) const {
    if (count > left() / least_bytes) fail("{} {} do not fit the {} bytes left", count, of, left());
  }
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw FileError(fmt::format("{}: damaged at byte {}: {}; fetch the file again", path_, at_,
                                fmt::format(format, std::forward<Args>(args)...)));
  }
  [[nodiscard]] std::uint64_t at() const { return at_; }
  [[nodiscard]] std::uint64_t left() const { return bytes_.size() - at_; }

 private:
  std::string const& path_;
  std::span<std::byte const> bytes_;
  std::uint64_t at_ = 0;
};

Gguf::Gguf(std::string const& path) : path_(path), bytes_(path, "a gguf file") { read(); }

Gguf::Gguf(std::string name, std::string bytes) : path_(std::move(name)), bytes_(std::move(bytes)) { read(); }

void Gguf::read() {
  Cursor cursor(path_, bytes());
  if (std::memcmp(cursor.skip(4, "the magic number"), "GGUF", 4) != 0)
    throw FileError(fmt::format("{}: does not begin with GGUF; give the path of a gguf file", path_));
  if (auto const version = cursor.take<std::uint32_t>("the version"); version != 2 && version != 3)
    throw FileError(fmt::format("{}: version {} of gguf; versions 2 and 3 are read; convert the file", path_, version));
  auto const tensors = cursor.take<std::uint64_t>("the number of tensors");
  auto const pairs = cursor.take<std::uint64_t>("the number of keys");
  cursor.expect_room(pairs, 13, "keys");       // length, type, one byte
  cursor.expect_room(tensors, 32, "tensors");  // length, axes, an extent, format, offset
  for (std::uint64_t i = 0; i < pairs; ++i) {
    std::string_view const key = cursor.string("a key");
    if (key.empty() || key.size() > max_name) cursor.fail("a key of {} bytes", key.size());
    auto const type = cursor.take<std::uint32_t>("the type of a key");
    if (!values_.emplace(key, read_value(cursor, type, key)).second)
      cursor.fail("key {} stands there twice", printable(key));
  }
  read_tensors(cursor, tensors);
  check_overlaps();
}

Gguf::Value Gguf::read_value(Cursor& cursor, std::uint32_t type, std::string_view key) {
  switch (static_cast<Type>(type)) {
    case Type::u8:
      return static_cast<std::uint64_t>(cursor.take<std::uint8_t>("a value"));
    case Type::i8:
      return static_cast<std::int64_t>(cursor.take<std::int8_t>("a value"));
    case Type::u16:
      return static_cast<std::uint64_t>(cursor.take<std::uint16_t>("a value"));
    case Type::i16:
      return static_cast<std::int64_t>(cursor.take<std::int16_t>("a value"));
    case Type::u32:
      return static_cast<std::uint64_t>(cursor.take<std::uint32_t>("a value"));
    case Type::i32:
      return static_cast<std::int64_t>(cursor.take<std::int32_t>("a value"));
    case Type::f32:
      return static_cast<double>(cursor.take<float>("a value"));
    case Type::u64:
      return cursor.take<std::uint64_t>("a value");
    case Type::i64:
      return cursor.take<std::int64_t>("a value");
    case Type::f64:
      return cursor.take<double>("a value");
    case Type::string:
      return cursor.string("a text");
    case Type::boolean: {
      auto const value = cursor.take<std::uint8_t>("a value");
      if (value > 1) cursor.fail("key {} is a bool of value {}", printable(key), value);
      return value == 1;
    }
    case Type::array: {
      auto const element = cursor.take<std::uint32_t>("the type of an array");
      auto const count = cursor.take<std::uint64_t>("the length of an array");
      if (element == static_cast<std::uint32_t>(Type::string)) {
        cursor.expect_room(count, sizeof(std::uint64_t), "texts");
        std::vector<std::string_view> texts(static_cast<std::size_t>(count));
        for (std::string_view& text : texts) text = cursor.string("a text");
        return texts;
      }
      std::uint64_t const bytes =
          element <= static_cast<std::uint32_t>(Type::f64) ? bytes_of(static_cast<Type>(element)) : 0;
      if (bytes == 0) cursor.fail("key {} is an array of type {}, which is not read", printable(key), element);
      cursor.expect_room(count, bytes, "numbers");
      cursor.skip(count * bytes, "an array");
      return Numbers{count};
    }
  }
  cursor.fail("key {} has type {}; the types are 0 to 12", printable(key), type);
}

void Gguf::read_tensors(Cursor& cursor, std::uint64_t count) {
  std::uint64_t alignment = 32;
  if (values_.contains("general.alignment"))
    alignment = static_cast<std::uint64_t>(integer("general.alignment", 1, max_alignment));
  if (!std::has_single_bit(alignment)) cursor.fail("the alignment is {}, not a power of two", alignment);
  std::map<std::string, Place, std::less<>> places;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string_view const key = cursor.string("the name of a tensor");
    if (key.empty() || key.size() > max_name) cursor.fail("the name of a tensor has {} bytes", key.size());
    Tensor tensor = read_tensor(cursor, key);
    auto const offset = cursor.take<std::uint64_t>("the offset of a tensor");
    if (offset % alignment != 0)
      cursor.fail("tensor {} begins at {}, not a multiple of {}", printable(key), offset, alignment);
    if (!places.emplace(key, Place{offset, bytes_of(tensor)}).second)
      cursor.fail("tensor {} stands there twice", printable(key));
    tensors_.emplace(key, std::move(tensor));
  }
  std::uint64_t const start = (cursor.at() + alignment - 1) / alignment * alignment;
  if (start > bytes().size() && count != 0) cursor.fail("the file ends before its tensors begin");
  for (auto& [key, tensor] : tensors_) {
    auto const [offset, taken] = places.find(key)->second;
    std::uint64_t const size = bytes().size() - start;
    if (offset > size || taken > size - offset)
      cursor.fail("tensor {} takes {} bytes from {} on, of {}", printable(key), taken, offset, size);
    tensor.bytes = bytes().subspan(static_cast<std::size_t>(start + offset), static_cast<std::size_t>(taken));
  }
}

Tensor Gguf::read_tensor(Cursor& cursor, std::string_view key) {
  auto const axes = cursor.take<std::uint32_t>("the axes of a tensor");
  if (axes < 1 || axes > max_axes) cursor.fail("tensor {} has {} axes; 1 to 4 are read", printable(key), axes);
  Tensor tensor;
  std::uint64_t elements = 1;
  for (std::uint32_t axis = 0; axis < axes; ++axis) {
    auto const extent = cursor.take<std::uint64_t>("an extent");
    // 2^40 elements are more than any file has; their bytes cannot wrap.
    if (extent == 0 || extent > (1ULL << 40U) / elements)
      cursor.fail("tensor {} has an extent of {} along axis {}", printable(key), extent, axis);
    elements *= extent;
    tensor.extents.insert(tensor.extents.begin(), static_cast<std::int64_t>(extent));
  }
  auto const format = cursor.take<std::uint32_t>("the format of a tensor");
  if (!known(format)) cursor.fail("tensor {} has format {}; F32, F16, Q4_1 and Q8_0 are read", printable(key), format);
  tensor.format = static_cast<Format>(format);
  if (in_blocks(tensor.format) && tensor.extents.back() % block_weights != 0)
    cursor.fail("tensor {} has rows of {} weights, not whole blocks of 32", printable(key), tensor.extents.back());
  return tensor;
}

void Gguf::check_overlaps() const {
  std::vector<std::pair<std::byte const*, std::map<std::string, Tensor, std::less<>>::const_iterator>> order;
  for (auto i = tensors_.begin(); i != tensors_.end(); ++i) order.emplace_back(i->second.bytes.data(), i);
  std::sort(order.begin(), order.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    auto const& [name_a, a] = *order[i - 1].second;
    auto const& [name_b, b] = *order[i].second;
    if (a.bytes.data() + a.bytes.size() > b.bytes.data())
      throw FileError(fmt::format("{}: damaged: tensors {} and {} share bytes; fetch the file again", path_,
                                  printable(name_a), printable(name_b)));
  }
}

template <class T>
T const& Gguf::value(std::string const& key, char const* type) const {
  auto const found = values_.find(key);
  if (found == values_.end())
    throw FileError(fmt::format("{}: key {} is missing; give a gguf file of a llama model", path_, key));
  if (T const* const value = std::get_if<T>(&found->second)) return *value;
  throw FileError(fmt::format("{}: key {} is not {}; give a gguf file of a llama model", path_, key, type));
}

std::int64_t Gguf::integer(std::string const& key, std::int64_t lowest, std::int64_t highest) const {
  auto const found = values_.find(key);
  std::int64_t number = 0;
  if (found != values_.end() && std::holds_alternative<std::int64_t>(found->second))
    number = std::get<std::int64_t>(found->second);
  else
    number = static_cast<std::int64_t>(
        std::min(value<std::uint64_t>(key, "an integer"), static_cast<std::uint64_t>(INT64_MAX)));
  if (number < lowest || number > highest)
    throw FileError(fmt::format("{}: {} is {}; {} to {} is expected", path_, key, number, lowest, highest));
  return number;
}
double Gguf::real(std::string const& key) const { return value<double>(key, "a float"); }
std::string_view Gguf::text(std::string const& key) const { return value<std::string_view>(key, "a text"); }
std::vector<std::string_view> const& Gguf::texts(std::string const& key) const {
  return value<std::vector<std::string_view>>(key, "an array of texts");
}

Tensor const& Gguf::tensor(std::string const& name, std::vector<std::int64_t> const& extents,
                           std::initializer_list<Format> formats) const {
  auto const found = tensors_.find(name);
  if (found == tensors_.end())
    throw FileError(fmt::format("{}: tensor {} is missing; give a gguf file of a llama model", path_, name));
  Tensor const& tensor = found->second;
  if (tensor.extents != extents)
    throw FileError(fmt::format("{}: tensor {} is {}; {} is expected", path_, name, fmt::join(tensor.extents, " x "),
                                fmt::join(extents, " x ")));
  if (std::find(formats.begin(), formats.end(), tensor.format) == formats.end())
    throw FileError(fmt::format("{}: tensor {} has format {}; {} is expected; convert the file", path_, name,
                                smollm::name(tensor.format), smollm::name(*formats.begin())));
  return tensor;
}

}  // namespace smollm
