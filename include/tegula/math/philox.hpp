// Computes the four words of Philox4x32-10 from a counter and a key.
//
// Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011.
#pragma once

#include <array>
#include <cstdint>

namespace tegula::math {

/// Holds the halves of the product of two words.
template <class Word>
struct WideProduct {
  Word low, high;
};

/// Computes the words. A Word has a ^ b and a + std::uint32_t; multiply(word, std::uint32_t) returns a WideProduct.
/// Simulators run this text on numbers, code generation with values of LLVM.
template <class Word, class Multiply>
constexpr std::array<Word, 4> philox(std::array<Word, 4> counter, std::array<Word, 2> key, Multiply const& multiply) {
  constexpr int rounds = 10;
  for (int round = 0; round < rounds; ++round) {
    WideProduct<Word> const left = multiply(counter[0], 0xD2511F53U), right = multiply(counter[2], 0xCD9E8D57U);
    counter = {(right.high ^ counter[1]) ^ key[0], right.low, (left.high ^ counter[3]) ^ key[1], left.low};
    key = {key[0] + 0x9E3779B9U, key[1] + 0xBB67AE85U};
  }
  return counter;
}

/// Multiplies two words of a machine.
constexpr WideProduct<std::uint32_t> multiply_words(std::uint32_t a, std::uint32_t b) {
  std::uint64_t const product = std::uint64_t{a} * b;
  return {static_cast<std::uint32_t>(product), static_cast<std::uint32_t>(product >> 32)};
}

/// Returns the words that four places share, of a key of 64 bits.
constexpr std::array<std::uint32_t, 4> random_words(std::int64_t seed, std::int64_t place) {
  auto const word = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  std::int64_t const counter = place >> 2;
  return philox<std::uint32_t>({word(counter), word(counter >> 32), 0, 0}, {word(seed), word(seed >> 32)},
                               multiply_words);
}

}  // namespace tegula::math
