// Registers of elements as the machine words that travel to memory, between lanes and into tensor cores.
#pragma once

#include "codegen/nvptx/emitter.hpp"

namespace tegula::codegen::nvptx {

/// How `count` elements travel: as machine words of `bits`, each of one or several elements.
struct Words {
  int bits;
  int elements;  ///< per word
};
Words words_for(Element element, int count);

/// The word of words.elements registers.
llvm::Value* pack_word(Emitter& e, Element element, Words const& words, llvm::Value* const* values);
/// Appends the elements of a word.
void unpack_word(Emitter& e, Element element, Words const& words, llvm::Value* word, Registers& result);

/// The LLVM types of what pack_words gives for so many registers.
std::vector<llvm::Type*> word_types(Emitter& e, Element element, std::size_t count);

/// All registers of a tile as 32-bit words (i32, or float where an element fills a word); 64-bit elements as they are.
/// What does not fill a word at the end travels alone.
Registers pack_words(Emitter& e, Element element, Registers const& registers);
/// The reverse, for `count` registers.
Registers unpack_words(Emitter& e, Element element, Registers const& words, std::size_t count);

}  // namespace tegula::codegen::nvptx
