// Converts one element of memory to and from the storage in which the simulator keeps it.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <type_traits>

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

/// Returns the bits of a value that a narrow float has: infinities stay, also those to which no cast leads.
inline std::uint16_t bits_of_narrow(Element element, double value) {
  std::uint16_t const bits = math::narrow_bits(element, value);
  bool const kept = info(element).overflow == Overflow::saturated && std::isinf(value);
  return kept ? static_cast<std::uint16_t>(bits + 1) : bits;
}

/// Calls visit(std::type_identity<T>()) with an unsigned integer of so many bytes.
template <class Visit>
decltype(auto) with_bytes(int bytes, Visit&& visit) {
  if (bytes == 1) return visit(std::type_identity<std::uint8_t>());
  if (bytes == 2) return visit(std::type_identity<std::uint16_t>());
  if (bytes == 4) return visit(std::type_identity<std::uint32_t>());
  return visit(std::type_identity<std::uint64_t>());
}

/// Reads one element of memory in the storage type T of that element.
template <class T>
T read_element(std::byte const* address, Element element) {
  return with_bytes(bytes(element), [&]<class Bits>(std::type_identity<Bits>) {
    auto const bits = read_as<Bits>(address);
    if (element == Element::boolean) return static_cast<T>(bits != 0 ? 1 : 0);
    if (is_signed(element)) return static_cast<T>(static_cast<std::make_signed_t<Bits>>(bits));
    if (is_integer(element)) return static_cast<T>(bits);
    if constexpr (sizeof(Bits) == 4)
      return static_cast<T>(std::bit_cast<float>(bits));
    else if constexpr (sizeof(Bits) == 8)
      return static_cast<T>(std::bit_cast<double>(bits));
    else
      return static_cast<T>(math::narrow_value(element, bits));
  });
}

template <class T>
void write_element(std::byte* address, Element element, T value) {
  with_bytes(bytes(element), [&]<class Bits>(std::type_identity<Bits>) {
    if (!is_float(element)) {
      if constexpr (std::is_integral_v<T>) write_as(address, static_cast<Bits>(value));
    } else if constexpr (sizeof(Bits) == 4) {
      write_as(address, static_cast<float>(value));
    } else if constexpr (sizeof(Bits) == 8) {
      write_as(address, static_cast<double>(value));
    } else {
      write_as(address, static_cast<Bits>(bits_of_narrow(element, static_cast<double>(value))));
    }
  });
}

}  // namespace tegula::sim
