// Stores values of the simulator: tiles and scalars as plain arrays of elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

#include "tegula/ir/type.hpp"

namespace tegula::sim {

/// Selects how floats are computed. `exact`: as the ops say, every step rounded to the element; narrow floats in f32,
/// rounded once. `float64`: every float op in double and never rounded to its element, for comparing executors with a
/// common reference.
enum class Precision : std::uint8_t { exact, float64 };

/// Names the type of an array's elements. Narrow floats are stored as f32 of the same value, narrow integers as i32;
/// under Precision::float64 every float is f64.
enum class Storage : std::uint8_t { u8, i32, u32, i64, u64, f32, f64 };

constexpr Storage storage_of(Element element, Precision precision) {
  if (element == Element::boolean) return Storage::u8;
  bool const wide = bits(element) == 64;
  if (is_float(element)) return wide || precision == Precision::float64 ? Storage::f64 : Storage::f32;
  if (wide) return is_signed(element) ? Storage::i64 : Storage::u64;
  return is_wide_unsigned(element) ? Storage::u32 : Storage::i32;
}

/// Calls visit(std::type_identity<T>()) with the C++ type of the storage.
template <class Visit>
decltype(auto) with_storage(Storage storage, Visit&& visit) {
  switch (storage) {
    case Storage::u8:
      return visit(std::type_identity<std::uint8_t>());
    case Storage::i32:
      return visit(std::type_identity<std::int32_t>());
    case Storage::u32:
      return visit(std::type_identity<std::uint32_t>());
    case Storage::i64:
      return visit(std::type_identity<std::int64_t>());
    case Storage::u64:
      return visit(std::type_identity<std::uint64_t>());
    case Storage::f32:
      return visit(std::type_identity<float>());
    case Storage::f64:
      break;
  }
  return visit(std::type_identity<double>());
}

/// Holds a tile in row-major order (or one warp's part of it, lib/sim/block), or a scalar as one element. Copies share
/// the elements; write only before the first copy.
class Value {
 public:
  Value() = default;
  /// Sets all elements to zero.
  Value(ir::Type const& type, Precision precision) : Value(type, precision, type.is_scalar() ? 1 : type.elements()) {}
  /// Makes one warp's part of a tile: `count` elements.
  Value(ir::Type const& type, Precision precision, std::int64_t count)
      : type_(type), storage_(storage_of(type.element(), precision)), count_(count) {
    if (type.is_scalar()) return;
    auto const size = static_cast<std::size_t>(count_ * width());
    elements_ = std::make_shared_for_overwrite<std::byte[]>(size);
    std::memset(elements_.get(), 0, size);
  }

  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] ir::Type const& type() const { return type_; }
  [[nodiscard]] Element element() const { return type_.element(); }
  [[nodiscard]] Storage storage() const { return storage_; }
  [[nodiscard]] std::int64_t count() const { return count_; }

  /// Returns the elements; T must be the type of the storage.
  template <class T>
  [[nodiscard]] T* data() {
    return reinterpret_cast<T*>(elements_ ? elements_.get() : inline_);
  }
  template <class T>
  [[nodiscard]] T const* data() const {
    return reinterpret_cast<T const*>(elements_ ? elements_.get() : inline_);
  }

  /// Returns the same elements under another type of as many elements.
  [[nodiscard]] Value retyped(ir::Type const& type) const {
    Value result = *this;
    result.type_ = type;
    return result;
  }

 private:
  [[nodiscard]] std::int64_t width() const {
    return with_storage(storage_, []<class T>(std::type_identity<T>) { return static_cast<std::int64_t>(sizeof(T)); });
  }

  ir::Type type_;
  Storage storage_ = Storage::u8;
  std::int64_t count_ = 0;
  std::shared_ptr<std::byte[]> elements_;
  alignas(8) std::byte inline_[8] = {};
};

}  // namespace tegula::sim
