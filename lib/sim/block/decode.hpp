// Reads many elements of memory at once.
#pragma once

#include <bit>
#include <span>

#include "sim/memory_element.hpp"

namespace tegula::sim::block {

/// Reads the elements at addresses (offsets from `memory`), in storage type T.
template <class T>
void read_elements(std::byte const* memory, std::span<std::uint32_t const> addresses, Element element, T* to) {
  auto const each = [&](auto read) {
    for (std::size_t i = 0; i < addresses.size(); ++i) to[i] = static_cast<T>(read(memory + addresses[i]));
  };
  if (element == Element::f32) return each([](std::byte const* at) { return read_as<float>(at); });
  if (element == Element::bf16)
    return each([](std::byte const* at) {
      return std::bit_cast<float>(static_cast<std::uint32_t>(read_as<std::uint16_t>(at)) << 16);
    });
  each([&](std::byte const* at) { return read_element<T>(at, element); });
}

}  // namespace tegula::sim::block
