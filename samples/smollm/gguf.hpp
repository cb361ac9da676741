// Reads a gguf file: metadata and the places of its tensors. The file is mapped; tensors are read where they lie.
//
// Each field is checked before it is used: a damaged file gives a FileError with the place in it, never a wrong read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "support/file_bytes.hpp"

namespace smollm {

using samples::FileError;

/// Names the formats of elements that this reader knows, with their numbers in the file.
enum class Format : std::uint32_t {
  f32 = 0,
  f16 = 1,
  q4_1 = 3,  ///< 32 weights: f16 scale d, f16 minimum m, 16 bytes; weight = d * (4 bits) + m
  q8_0 = 8,  ///< 32 weights: f16 scale d, 32 bytes; weight = d * (8 bits with sign)
};
char const* name(Format format);

inline constexpr std::int64_t block_weights = 32;  ///< weights of one block of q4_1 or q8_0
/// Returns the bytes of a block of 32 weights, or of one element of f32 and f16.
std::int64_t block_bytes(Format format);

/// Describes a tensor inside the mapped file.
struct Tensor {
  Format format = Format::f32;
  std::vector<std::int64_t> extents;  ///< outermost first
  std::span<std::byte const> bytes;
};

class Gguf {
 public:
  /// Maps the file and checks all of its fields. Throws FileError.
  explicit Gguf(std::string const& path);
  /// Takes the bytes of a file; `name` stands in errors. Throws FileError.
  Gguf(std::string name, std::string bytes);

  // Each returns the value of a key. Throws FileError if it is missing or of another type.
  [[nodiscard]] std::int64_t integer(std::string const& key, std::int64_t lowest, std::int64_t highest) const;
  [[nodiscard]] double real(std::string const& key) const;
  [[nodiscard]] std::string_view text(std::string const& key) const;
  [[nodiscard]] std::vector<std::string_view> const& texts(std::string const& key) const;

  /// Returns a tensor of these extents and one of these formats. Throws FileError.
  [[nodiscard]] Tensor const& tensor(std::string const& name, std::vector<std::int64_t> const& extents,
                                     std::initializer_list<Format> formats) const;
  [[nodiscard]] std::map<std::string, Tensor, std::less<>> const& tensors() const { return tensors_; }
  [[nodiscard]] std::string const& path() const { return path_; }
  [[nodiscard]] std::span<std::byte const> bytes() const { return bytes_.as(); }

 private:
  struct Numbers {  // an array of numbers, which nothing here reads
    std::uint64_t count = 0;
  };
  using Value =
      std::variant<bool, std::uint64_t, std::int64_t, double, std::string_view, Numbers, std::vector<std::string_view>>;
  class Cursor;

  void read();
  [[nodiscard]] static Value read_value(Cursor& cursor, std::uint32_t type, std::string_view key);
  void read_tensors(Cursor& cursor, std::uint64_t count);
  [[nodiscard]] static Tensor read_tensor(Cursor& cursor, std::string_view key);
  void check_overlaps() const;
  template <class T>
  [[nodiscard]] T const& value(std::string const& key, char const* type) const;

  std::string path_;
  samples::FileBytes bytes_;
  std::map<std::string, Value, std::less<>> values_;
  std::map<std::string, Tensor, std::less<>> tensors_;
};

}  // namespace smollm
