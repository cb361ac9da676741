// Holds a short list of integers in place: extents, strides, axes, permutations.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace tegula {

/// Limits the rank of a tile or tensor.
inline constexpr int max_rank = 8;
/// Most elements of one tile.
inline constexpr std::int64_t max_tile_elements = std::int64_t{1} << 24;

/// Holds up to max_rank integers without allocation. Appending past max_rank is the caller's error and is ignored: the
/// DSL's static checks refuse such ranks before.
class Extents {
 public:
  constexpr Extents() = default;
  constexpr Extents(std::initializer_list<std::int64_t> values) {
    for (std::int64_t value : values) push_back(value);
  }

  constexpr void push_back(std::int64_t value) {
    if (size_ < max_rank) values_[size_++] = value;
  }
  constexpr void insert(int at, std::int64_t value) {
    if (size_ >= max_rank) return;
    for (int i = size_++; i > at; --i) values_[i] = values_[i - 1];
    values_[at] = value;
  }
  constexpr void erase(int at) {
    for (int i = at; i + 1 < size_; ++i) values_[i] = values_[i + 1];
    values_[--size_] = 0;
  }

  [[nodiscard]] constexpr int size() const { return size_; }
  [[nodiscard]] constexpr bool empty() const { return size_ == 0; }
  constexpr std::int64_t& operator[](int i) { return values_[i]; }
  constexpr std::int64_t operator[](int i) const { return values_[i]; }
  [[nodiscard]] constexpr std::int64_t const* begin() const { return values_; }
  [[nodiscard]] constexpr std::int64_t const* end() const { return values_ + size_; }
  [[nodiscard]] constexpr std::int64_t* begin() { return values_; }
  [[nodiscard]] constexpr std::int64_t* end() { return values_ + size_; }
  [[nodiscard]] constexpr std::int64_t back() const { return values_[size_ - 1]; }
  /// Multiplies all values; 1 when empty.
  [[nodiscard]] constexpr std::int64_t product() const {
    std::int64_t result = 1;
    for (std::int64_t value : *this) result *= value;
    return result;
  }
  friend constexpr bool operator==(Extents const& a, Extents const& b) {
    if (a.size_ != b.size_) return false;
    for (int i = 0; i < a.size_; ++i)
      if (a.values_[i] != b.values_[i]) return false;
    return true;
  }

 private:
  std::int64_t values_[max_rank] = {};
  int size_ = 0;
};

}  // namespace tegula
