// Computes matrix products of dense blocks, for tiles and for warps.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "sim/value.hpp"

namespace tegula::sim {

/// Computes sums (rows x columns) += a (rows x depth) * b (depth x columns), all dense. Integers wrap.
template <class T>
void multiply(T const* a, T const* b, T* sums, std::size_t rows, std::size_t depth, std::size_t columns) {
  using Sum = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
  for (std::size_t i = 0; i < rows; ++i) {
    T* const row = sums + i * columns;
    for (std::size_t k = 0; k < depth; ++k) {
      auto const factor = static_cast<Sum>(a[i * depth + k]);
      T const* const line = b + k * columns;
      for (std::size_t j = 0; j < columns; ++j)
        row[j] = static_cast<T>(static_cast<Sum>(row[j]) + factor * static_cast<Sum>(line[j]));
    }
  }
}

/// Truncates to tf32, the 10 upper bits of an f32's fraction; the tensor core ignores the others.
template <class T>
void truncate_to_tf32(std::vector<T>& values) {
  if constexpr (std::is_same_v<T, float>)
    for (float& value : values) value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xffffe000u);
}

/// Calls visit(std::type_identity<T>()) with the type in which products with this result are taken.
template <class Visit>
void with_sums(Storage storage, Visit&& visit) {
  if (storage == Storage::f64) return visit(std::type_identity<double>());
  if (storage == Storage::i32) return visit(std::type_identity<std::int32_t>());
  visit(std::type_identity<float>());
}

}  // namespace tegula::sim
