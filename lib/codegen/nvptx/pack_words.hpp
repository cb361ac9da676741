// Packs registers of elements into the machine words that move to memory, between lanes and into tensor cores.
#pragma once

#include "codegen/nvptx/emitter.hpp"

namespace tegula::codegen::nvptx {

/// Counts the bytes of a register, the word that a thread moves to shared memory.
inline constexpr std::int64_t word_bytes = 4;

/// Describes how `count` elements move: as machine words of `bits`, each of one or several elements.
struct Words {
  int bits;
  int elements;  ///< per word
};
Words words_for(Element element, int count);

/// Joins the bits of so many registers, the first one's lowest, in an integer of `register_bits`.
llvm::Value* join_bits(Emitter& e, Element element, llvm::Value* const* values, int count, unsigned register_bits);
/// Packs words.elements registers into a word.
llvm::Value* pack_word(Emitter& e, Element element, Words const& words, llvm::Value* const* values);
/// Appends the elements of a word.
void unpack_word(Emitter& e, Element element, Words const& words, llvm::Value* word, Registers& result);

/// Lists the LLVM types that pack_words returns for so many registers.
std::vector<llvm::Type*> word_types(Emitter& e, Element element, std::size_t count);

/// Packs all registers of a tile into 32-bit words (i32, or float where an element fills a word); 64-bit elements stay
/// as they are. Elements that do not fill a word at the end move alone.
Registers pack_words(Emitter& e, Element element, Registers const& registers);
/// Does the reverse, for `count` registers.
Registers unpack_words(Emitter& e, Element element, Registers const& words, std::size_t count);

}  // namespace tegula::codegen::nvptx
