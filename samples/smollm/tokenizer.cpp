#include "tokenizer.hpp"

#include <queue>
#include <stdexcept>
#include <tuple>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

namespace smollm {
namespace {

/// Holds a pattern over Unicode, and goes through its matches in a text.
class Pattern {
 public:
  explicit Pattern(char const* text) {
    int error = 0;
    PCRE2_SIZE at = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text), PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &error,
                              &at, nullptr));
    if (!code_) throw std::runtime_error(fmt::format("pattern {}: {}", text, message(error)));
    pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);  // without it, matches are slower
  }
  /// Calls matched(first, last) for each match, from left to right.
  template <class Matched>
  void each(std::string_view text, Matched const& matched) const {
    std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> const data(pcre2_match_data_create(1, nullptr),
                                                                                   &pcre2_match_data_free);
    for (std::size_t at = 0; at < text.size();) {
      int const found =
          pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at, 0, data.get(), nullptr);
      if (found == PCRE2_ERROR_NOMATCH) return;
      if (found < 0) throw std::runtime_error(fmt::format("text: {}; text of UTF-8 is expected", message(found)));
      PCRE2_SIZE const* const place = pcre2_get_ovector_pointer(data.get());
      matched(place[0], place[1]);
      at = place[1];  // no pattern here matches nothing
    }
  }

 private:
  static std::string message(int error) {
    PCRE2_UCHAR text[256] = {};
    pcre2_get_error_message(error, text, sizeof text);
    return reinterpret_cast<char const*>(text);
  }
  std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)> code_{nullptr, &pcre2_code_free};
};

/// Returns the character by which vocabularies write a byte: itself if it prints, else one from U+0100 on.
std::array<std::string, 256> characters_of_bytes() {
  std::array<std::string, 256> result;
  unsigned next = 256;
  for (unsigned byte = 0; byte < 256; ++byte) {
    bool const prints = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
    unsigned const character = prints ? byte : next++;
    if (character < 128)
      result[byte] = static_cast<char>(character);
    else
      result[byte] = {static_cast<char>(0xC0U | character >> 6U), static_cast<char>(0x80U | (character & 63U))};
  }
  return result;
}

std::uint64_t key(int left, int right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32U | static_cast<std::uint32_t>(right);
}

}  // namespace

struct Tokenizer::Patterns {
  Pattern number{R"(\p{N})"};
  Pattern word{R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"};
};

Tokenizer::Tokenizer(Gguf const& file)
    : Tokenizer(file.path(), file.texts("tokenizer.ggml.tokens"), file.texts("tokenizer.ggml.merges")) {
  if (file.text("tokenizer.ggml.model") != "gpt2" || file.text("tokenizer.ggml.pre") != "smollm")
    throw FileError(fmt::format("{}: the tokenizer is not SmolLM's; this program runs SmolLM2-135M", file.path()));
}

Tokenizer::Tokenizer(std::string const& origin, std::vector<std::string_view> const& tokens,
                     std::vector<std::string_view> const& merges)
    : origin_(origin), patterns_(std::make_unique<Patterns>()) {
  std::array<std::string, 256> const characters = characters_of_bytes();
  std::unordered_map<std::string_view, char> byte_of;
  for (std::size_t byte = 0; byte < 256; ++byte) byte_of.emplace(characters[byte], static_cast<char>(byte));
  for (std::string_view const token : tokens) {
    if (!ids_.emplace(token, static_cast<int>(ids_.size())).second)
      throw FileError(fmt::format("{}: token {} stands there twice; fetch the file again", origin, ids_.size()));
    std::string text;
    for (std::size_t at = 0; at < token.size();) {
      std::size_t const length = (static_cast<unsigned char>(token[at]) & 0xC0U) == 0xC0U ? 2 : 1;
      auto const found = byte_of.find(token.substr(at, length));
      text += found != byte_of.end() ? std::string_view(&found->second, 1) : token.substr(at, length);
      at += length;
    }
    texts_.push_back(std::move(text));
  }
  for (std::size_t byte = 0; byte < 256; ++byte) {
    auto const found = ids_.find(characters[byte]);
    // Bytes that no text of UTF-8 has may be missing.
    bytes_[byte] = found != ids_.end() ? found->second : -1;
  }
  for (std::string_view const merge : merges) {
    std::size_t const space = merge.find(' ');
    int ids[3] = {-1, -1, -1};
    if (space != std::string_view::npos) {
      std::string const left(merge.substr(0, space)), right(merge.substr(space + 1));
      std::string const parts[] = {left, right, left + right};
      for (int i = 0; i < 3; ++i)
        if (auto const found = ids_.find(parts[i]); found != ids_.end()) ids[i] = found->second;
    }
    if (ids[0] < 0 || ids[1] < 0 || ids[2] < 0)
      throw FileError(fmt::format("{}: merge {} does not join two tokens to a third; fetch the file again", origin,
                                  merges_.size()));
    merges_.emplace(key(ids[0], ids[1]), Merge{static_cast<int>(merges_.size()), ids[2]});
  }
}

Tokenizer::~Tokenizer() = default;

int Tokenizer::token(std::string const& text) const {
  auto const found = ids_.find(text);
  if (found == ids_.end())
    throw FileError(fmt::format("{}: there is no token {}; give a file of SmolLM2-135M-Instruct", origin_, text));
  return found->second;
}

Tokenizer::Merge const* Tokenizer::merge_of(int left, int right) const {
  auto const found = merges_.find(key(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

/// Joins the pair of the lowest rank, and of equal pairs the first, until no pair has a merge.
void Tokenizer::encode_word(std::string_view word, std::vector<int>& result) const {
  struct Part {
    int token, before, after;
  };
  std::vector<Part> parts;
  for (char const c : word) {
    int const token = bytes_[static_cast<unsigned char>(c)], at = static_cast<int>(parts.size());
    if (token < 0)
      throw FileError(fmt::format("{}: there is no token for byte {}; fetch the file again", origin_,
                                  static_cast<unsigned>(static_cast<unsigned char>(c))));
    parts.push_back({token, at - 1, at + 1});
  }
  auto const count = static_cast<int>(parts.size());
  using Entry = std::tuple<int, int, int, int>;  // rank, place, both tokens when it was found
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> pairs;
  auto const part = [&](int i) -> Part& { return parts[static_cast<std::size_t>(i)]; };
  auto const offer = [&](int left) {
    if (left < 0 || part(left).after >= count) return;
    int const a = part(left).token, b = part(part(left).after).token;
    if (Merge const* const merge = merge_of(a, b)) pairs.emplace(merge->rank, left, a, b);
  };
  for (int i = 0; i < count; ++i) offer(i);
  while (!pairs.empty()) {
    auto const [rank, left, a, b] = pairs.top();
    pairs.pop();
    int const right = part(left).after;
    if (part(left).token != a || right >= count || part(right).token != b) continue;  // one of them was joined since
    part(left).token = merge_of(a, b)->result;
    part(left).after = part(right).after;
    part(right).token = -1;
    if (part(left).after < count) part(part(left).after).before = left;
    offer(part(left).before);
    offer(left);
  }
  for (int i = 0; i < count; i = part(i).after) result.push_back(part(i).token);
}

std::vector<int> Tokenizer::encode(std::string_view text) const {
  std::vector<int> result;
  std::size_t done = 0;
  auto const words = [&](std::string_view piece) {
    patterns_->word.each(piece, [&](std::size_t a, std::size_t b) { encode_word(piece.substr(a, b - a), result); });
  };
  patterns_->number.each(text, [&](std::size_t a, std::size_t b) {
    words(text.substr(done, a - done));
    words(text.substr(a, b - a));
    done = b;
  });
  words(text.substr(done));
  return result;
}

std::vector<int> Tokenizer::conversation(std::string_view asked) const {
  int const start = token("<|im_start|>"), end = token("<|im_end|>");
  std::vector<int> result;
  auto const add = [&](int before, std::string const& text, bool ended) {
    result.push_back(before);
    std::vector<int> const part = encode(text);
    result.insert(result.end(), part.begin(), part.end());
    if (!ended) return;
    result.push_back(end);
    std::vector<int> const line = encode("\n");
    result.insert(result.end(), line.begin(), line.end());
  };
  add(start, "system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face", true);
  add(start, "user\n" + std::string(asked), true);
  add(start, "assistant\n", false);
  return result;
}

}  // namespace smollm
