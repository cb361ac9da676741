#include "tokenizer.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace minilm {
namespace {

constexpr std::size_t max_word = 100;  // characters; longer words are unknown

}  // namespace

Tokenizer::Tokenizer(std::string const& path) : origin_(path) {
  samples::FileBytes const file(path, "vocab.txt");
  auto const text = file.as<char>();
  read({text.data(), text.size()});
}

Tokenizer::Tokenizer(std::string const& origin, std::string_view lines) : origin_(origin) { read(lines); }

void Tokenizer::read(std::string_view lines) {
  while (!lines.empty()) {
    std::size_t const end = std::min(lines.find('\n'), lines.size());
    std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::size_t const number = ids_.size() + 1;
    if (line.empty()) throw FileError(fmt::format("{}: line {} is empty; fetch the file again", origin_, number));
    try {
      (void)decoded(line);
    } catch (std::runtime_error const& error) {
      throw FileError(fmt::format("{}: line {}: {}; fetch the file again", origin_, number, error.what()));
    }
    if (!ids_.emplace(line, static_cast<int>(ids_.size())).second)
      throw FileError(fmt::format("{}: line {}, {}, stands there twice; fetch the file again", origin_, number,
                                  samples::printable(line)));
    longest_ = std::max(longest_, line.size());
  }
  unknown_ = token("[UNK]");
  first_ = token("[CLS]");
  last_ = token("[SEP]");
  for (char const* name : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) special_.emplace_back(name, token(name));
}

int Tokenizer::token(std::string_view text) const {
  auto const found = ids_.find(text);
  if (found == ids_.end())
    throw FileError(
        fmt::format("{}: there is no token {}; give the vocab.txt of a model of BERT's form", origin_, text));
  return found->second;
}

std::vector<int> Tokenizer::encode(std::string_view text, std::size_t most) const {
  std::vector<int> result = {first_};
  std::size_t done = 0;
  for (std::size_t at = text.find('['); at != std::string_view::npos; at = text.find('[', at)) {
    auto const special = std::find_if(special_.begin(), special_.end(),
                                      [&](auto const& one) { return text.substr(at).starts_with(one.first); });
    if (special == special_.end()) {
      ++at;
      continue;
    }
    encode_plain(text.substr(done, at - done), result);
    result.push_back(special->second);
    done = at += special->first.size();
  }
  encode_plain(text.substr(done), result);
  if (result.size() > most - 1) result.resize(most - 1);
  result.push_back(last_);
  return result;
}

/// Splits a text at spaces, punctuation, and characters that are words.
void Tokenizer::encode_plain(std::string_view text, std::vector<int>& to) const {
  std::u32string word, others;
  auto const end = [&] {
    if (!word.empty()) encode_word(word, to);
    word.clear();
  };
  for (char32_t const character : decoded(text)) {
    Unicode::Kind const kind = unicode_.kind(character);
    if (kind == Unicode::Kind::dropped) continue;
    if (kind != Unicode::Kind::part) end();
    if (kind == Unicode::Kind::space) continue;
    others.clear();
    unicode_.replace(character, others);
    for (char32_t const other : others) {
      bool const mark = unicode_.punctuation(other);
      if (mark) end();
      word += other;
      if (mark) end();
    }
    if (kind == Unicode::Kind::alone) end();
  }
  end();
}

/// Takes the longest piece of the vocabulary again and again; pieces behind the first begin with ##. A word that is not
/// made of pieces is one unknown token.
void Tokenizer::encode_word(std::u32string_view word, std::vector<int>& to) const {
  std::string text = "##";
  std::vector<std::size_t> ends = {text.size()};  // in the text, of each character
  for (char32_t const character : word) {
    minilm::encode(character, text);
    ends.push_back(text.size());
  }
  std::size_t const before = to.size();
  bool known = word.size() <= max_word;
  for (std::size_t first = 0; known && first < word.size();) {
    // The two bytes before a piece may become ##: the characters there are behind.
    std::size_t const start = ends[first] - (first == 0 ? 0 : 2);
    if (first != 0) text.replace(start, 2, "##");
    std::size_t last = word.size();
    auto found = ids_.end();
    for (; last > first; --last)
      if (ends[last] - start <= longest_ &&
          (found = ids_.find(std::string_view(text).substr(start, ends[last] - start))) != ids_.end())
        break;
    known = last > first;
    if (known) to.push_back(found->second);
    first = last;
  }
  if (known) return;
  to.resize(before);
  to.push_back(unknown_);
}

}  // namespace minilm
