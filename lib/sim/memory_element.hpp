// Converts one element of memory to and from the storage in which the simulator keeps it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>

#include "sim/value.hpp"
#include "tegula/math/functions.hpp"

namespace tegula::sim {

template <class T>
T read_as(std::byte const* address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}
template <class T>
void write_as(std::byte* address, T value) {
  std::memcpy(address, &value, sizeof value);
}

/// Returns the bits of a value that a narrow float has: infinities of e5m2 stay, to which no cast leads.
inline std::uint16_t bits_of_narrow(Element element, double value) {
  std::uint16_t const bits = math::narrow_bits(element, value);
  return element == Element::e5m2 && std::isinf(value) ? static_cast<std::uint16_t>(bits + 1) : bits;
}

/// Reads one element of memory in the storage type T of that element.
template <class T>
T read_element(std::byte const* address, Element element) {
  switch (element) {
    case Element::boolean:
      return static_cast<T>(read_as<std::uint8_t>(address) != 0 ? 1 : 0);
    case Element::i8:
      return static_cast<T>(read_as<std::int8_t>(address));
    case Element::u8:
      return static_cast<T>(read_as<std::uint8_t>(address));
    case Element::i16:
      return static_cast<T>(read_as<std::int16_t>(address));
    case Element::u16:
      return static_cast<T>(read_as<std::uint16_t>(address));
    case Element::i32:
      return static_cast<T>(read_as<std::int32_t>(address));
    case Element::u32:
      return static_cast<T>(read_as<std::uint32_t>(address));
    case Element::i64:
      return static_cast<T>(read_as<std::int64_t>(address));
    case Element::u64:
      return static_cast<T>(read_as<std::uint64_t>(address));
    case Element::e4m3:
    case Element::e5m2:
      return static_cast<T>(math::narrow_value(element, read_as<std::uint8_t>(address)));
    case Element::f16:
    case Element::bf16:
      return static_cast<T>(math::narrow_value(element, read_as<std::uint16_t>(address)));
    case Element::f32:
      return static_cast<T>(read_as<float>(address));
    case Element::f64:
      break;
  }
  return static_cast<T>(read_as<double>(address));
}

template <class T>
void write_element(std::byte* address, Element element, T value) {
  switch (element) {
    case Element::boolean:
      return write_as(address, static_cast<std::uint8_t>(value));
    case Element::i8:
    case Element::u8:
      return write_as(address, static_cast<std::uint8_t>(static_cast<std::int64_t>(value)));
    case Element::i16:
    case Element::u16:
      return write_as(address, static_cast<std::uint16_t>(static_cast<std::int64_t>(value)));
    case Element::i32:
      return write_as(address, static_cast<std::int32_t>(value));
    case Element::u32:
      return write_as(address, static_cast<std::uint32_t>(value));
    case Element::i64:
      return write_as(address, static_cast<std::int64_t>(value));
    case Element::u64:
      return write_as(address, static_cast<std::uint64_t>(value));
    case Element::e4m3:
    case Element::e5m2:
      return write_as(address, static_cast<std::uint8_t>(bits_of_narrow(element, static_cast<double>(value))));
    case Element::f16:
    case Element::bf16:
      return write_as(address, bits_of_narrow(element, static_cast<double>(value)));
    case Element::f32:
      return write_as(address, static_cast<float>(value));
    case Element::f64:
      return write_as(address, static_cast<double>(value));
  }
}

}  // namespace tegula::sim
