// Turns text into the tokens of a GPT-2 style vocabulary and back: byte-level byte pair encoding.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gguf.hpp"

namespace smollm {

class Tokenizer {
 public:
  /// Takes tokens and merges of the file. Throws FileError if they do not fit one another.
  explicit Tokenizer(Gguf const& file);
  /// Takes tokens, and pairs of them with a space between, the first to be merged first.
  Tokenizer(std::string const& origin, std::vector<std::string_view> const& tokens,
            std::vector<std::string_view> const& merges);
  Tokenizer(Tokenizer const&) = delete;
  Tokenizer& operator=(Tokenizer const&) = delete;
  ~Tokenizer();

  /// Returns the tokens of a text of UTF-8; names of special tokens in it are plain text. Throws std::runtime_error if
  /// it is not UTF-8.
  [[nodiscard]] std::vector<int> encode(std::string_view text) const;
  /// Returns the bytes of a token, which may end within a character.
  [[nodiscard]] std::string const& decode(int token) const { return texts_[static_cast<std::size_t>(token)]; }
  /// Returns a token by its whole text, such as <|im_end|>. Throws FileError if there is none.
  [[nodiscard]] int token(std::string const& text) const;
  /// Returns the prompt of a conversation in which the user has asked one thing.
  [[nodiscard]] std::vector<int> conversation(std::string_view asked) const;

 private:
  struct Patterns;
  struct Merge {
    int rank, result;
  };
  void encode_word(std::string_view word, std::vector<int>& result) const;
  [[nodiscard]] Merge const* merge_of(int left, int right) const;

  std::string origin_;
  std::vector<std::string> texts_;  // as bytes
  std::unordered_map<std::string, int> ids_;
  std::unordered_map<std::uint64_t, Merge> merges_;
  std::array<int, 256> bytes_;
  std::unique_ptr<Patterns> patterns_;
};

}  // namespace smollm
