// Turns text into the tokens of BERT: words of small letters without accents, in pieces of a vocabulary (WordPiece).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/file_bytes.hpp"
#include "unicode.hpp"

namespace minilm {

using samples::FileError;

class Tokenizer {
 public:
  /// Reads vocab.txt, a token a line. Throws FileError if it is damaged.
  explicit Tokenizer(std::string const& path);
  /// Takes the text of such a file; `origin` stands in errors.
  Tokenizer(std::string const& origin, std::string_view lines);

  /// Returns the tokens of a text of UTF-8, [CLS] first and [SEP] last, at most `most` together: the rest of the text
  /// is cut off. Names of special tokens in the text become these tokens. Throws std::runtime_error if it is not UTF-8.
  [[nodiscard]] std::vector<int> encode(std::string_view text, std::size_t most) const;
  [[nodiscard]] std::size_t size() const { return ids_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  void read(std::string_view lines);
  [[nodiscard]] int token(std::string_view text) const;
  void encode_plain(std::string_view text, std::vector<int>& to) const;
  void encode_word(std::u32string_view word, std::vector<int>& to) const;

  std::string origin_;
  Unicode unicode_;
  std::unordered_map<std::string, int, Hash, std::equal_to<>> ids_;
  std::size_t longest_ = 0;  ///< bytes of the longest token
  int unknown_ = 0, first_ = 0, last_ = 0;
  std::vector<std::pair<std::string, int>> special_;
};

}  // namespace minilm
