// Writes gguf files: fields one by one, and a random model of the form that the sample runs, for rates and tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <tegula/tegula.hpp>

#include "gguf.hpp"
#include "support/draw.hpp"
#include "support/text.hpp"

namespace smollm {

/// Collects metadata and tensors, and returns the bytes of a file.
class GgufWriter {
 public:
  template <class T>
  static void put(std::string& to, T value) {
    to.append(reinterpret_cast<char const*>(&value), sizeof value);
  }
  static void put_text(std::string& to, std::string_view text) {
    put<std::uint64_t>(to, text.size());
    to += text;
  }
  template <class T>
  GgufWriter& value(std::string_view key, std::uint32_t type, T number) {
    begin(key, type);
    put(keys_, number);
    return *this;
  }
  GgufWriter& number(std::string_view key, std::uint32_t number) { return value(key, 4, number); }
  GgufWriter& real(std::string_view key, float number) { return value(key, 6, number); }
  GgufWriter& text(std::string_view key, std::string_view text) {
    begin(key, 8);
    put_text(keys_, text);
    return *this;
  }
  GgufWriter& texts(std::string_view key, std::vector<std::string> const& texts) {
    begin(key, 9);
    put<std::uint32_t>(keys_, 8);
    put<std::uint64_t>(keys_, texts.size());
    for (std::string const& one : texts) put_text(keys_, one);
    return *this;
  }
  /// Adds a tensor; `extents` stand outermost first. It begins behind the tensors before, unless a place is given.
  GgufWriter& tensor(std::string_view name, std::vector<std::uint64_t> const& extents, Format format,
                     std::string_view bytes, std::int64_t offset = -1) {
    data_.resize((data_.size() + 31) / 32 * 32);
    ++tensor_count_;
    put_text(tensors_, name);
    put<std::uint32_t>(tensors_, static_cast<std::uint32_t>(extents.size()));
    for (auto i = extents.rbegin(); i != extents.rend(); ++i) put<std::uint64_t>(tensors_, *i);
    put<std::uint32_t>(tensors_, static_cast<std::uint32_t>(format));
    put<std::uint64_t>(tensors_, offset < 0 ? data_.size() : static_cast<std::uint64_t>(offset));
    data_ += bytes;
    return *this;
  }
  [[nodiscard]] std::string bytes() const {
    std::string result = "GGUF";
    put<std::uint32_t>(result, 3);
    put<std::uint64_t>(result, tensor_count_);
    put<std::uint64_t>(result, key_count_);
    result += keys_ + tensors_;
    result.resize((result.size() + 31) / 32 * 32);
    return result + data_;
  }

 private:
  void begin(std::string_view key, std::uint32_t type) {
    ++key_count_;
    put_text(keys_, key);
    put<std::uint32_t>(keys_, type);
  }
  std::string keys_, tensors_, data_;
  std::uint64_t key_count_ = 0, tensor_count_ = 0;
};

using samples::Draw;

/// States the sizes of a random model, by default those of SmolLM2-135M.
struct RandomModel {
  std::uint64_t width = 576, hidden = 1536, heads = 9, key_heads = 3, layers = 30, vocabulary = 49152;
};

/// Draws blocks of Q4_1 or Q8_0 whose weights have a variance of about 1 / `columns`.
inline std::string random_blocks(Draw& random, Format format, std::uint64_t rows, std::uint64_t columns) {
  std::string result;
  result.reserve(rows * columns / 32 * 34);
  bool const four = format == Format::q4_1;
  double const deviation = 1 / std::sqrt(static_cast<double>(columns));
  for (std::uint64_t i = 0; i < rows * columns / 32; ++i) {
    double const vary = 0.75 + random.below(1024) / 2048.0;
    double const scale = deviation * vary / (four ? 4.6 : 73.0);
    GgufWriter::put(result, tegula::f16(scale));
    if (four) GgufWriter::put(result, tegula::f16(-7.5 * scale + deviation * (random.below(1024) / 5120.0 - 0.1)));
    for (int word = 0; word < (four ? 2 : 4); ++word) GgufWriter::put(result, random.next());
  }
  return result;
}
inline std::string random_gains(Draw& random, std::uint64_t count) {
  std::string result;
  for (std::uint64_t i = 0; i < count; ++i) GgufWriter::put(result, 0.5F + random.below(1024) / 1024.0F);
  return result;
}

/// Returns the metadata of a model, without its tensors.
inline GgufWriter metadata_of(RandomModel const& m) {
  GgufWriter file;
  std::vector<std::string> tokens;
  for (std::uint64_t i = 0; i < m.vocabulary; ++i) tokens.push_back(samples::text("t", i));
  auto const number = [](std::uint64_t n) { return static_cast<std::uint32_t>(n); };
  file.text("general.architecture", "llama").number("llama.block_count", number(m.layers));
  file.number("llama.context_length", 8192).number("llama.embedding_length", number(m.width));
  file.number("llama.feed_forward_length", number(m.hidden)).number("llama.rope.dimension_count", 64);
  file.number("llama.attention.head_count", number(m.heads));
  file.number("llama.attention.head_count_kv", number(m.key_heads));
  file.real("llama.rope.freq_base", 100000).real("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  return file.texts("tokenizer.ggml.tokens", tokens);
}

/// Returns the bytes of a random model.
inline std::string random_model(RandomModel const& m) {
  Draw random;
  GgufWriter file = metadata_of(m);
  auto const matrix = [&](std::string const& name, std::uint64_t rows, std::uint64_t columns) {
    file.tensor(name, {rows, columns}, Format::q4_1, random_blocks(random, Format::q4_1, rows, columns));
  };
  auto const gains = [&](std::string const& name) {
    file.tensor(name, {m.width}, Format::f32, random_gains(random, m.width));
  };
  file.tensor("token_embd.weight", {m.vocabulary, m.width}, Format::q8_0,
              random_blocks(random, Format::q8_0, m.vocabulary, m.width));
  for (std::uint64_t i = 0; i < m.layers; ++i) {
    std::string const name = samples::text("blk.", i, ".");
    gains(name + "attn_norm.weight");
    gains(name + "ffn_norm.weight");
    matrix(name + "attn_q.weight", 64 * m.heads, m.width);
    matrix(name + "attn_k.weight", 64 * m.key_heads, m.width);
    matrix(name + "attn_v.weight", 64 * m.key_heads, m.width);
    matrix(name + "attn_output.weight", m.width, 64 * m.heads);
    matrix(name + "ffn_gate.weight", m.hidden, m.width);
    matrix(name + "ffn_up.weight", m.hidden, m.width);
    matrix(name + "ffn_down.weight", m.width, m.hidden);
  }
  gains("output_norm.weight");
  return file.bytes();
}

}  // namespace smollm
