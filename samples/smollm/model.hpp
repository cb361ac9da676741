// Runs a llama model: the weights of a gguf file on a device, the cache and activations of some sequences, and the
// launches of a token.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <tegula/tegula.hpp>

#include "gguf.hpp"
#include "kernels.hpp"
#include "support/text.hpp"

namespace smollm {

inline constexpr int model_width = 576, model_hidden = 1536;  // of SmolLM2-135M, for which this program is compiled
inline constexpr int queries_of_key = 3;                      // heads of queries that share a head of keys

/// Holds the numbers of a model that its kernels do not fix.
struct Sizes {
  std::int64_t layers = 0, heads = 0, key_heads = 0, vocabulary = 0, context = 0;
  float epsilon = 0;
  double rotation_base = 0;
};
/// Reads and checks them. Throws FileError if the model has another width, or an architecture that is not llama's.
Sizes sizes_of(Gguf const& file, std::int64_t width, std::int64_t hidden);

/// Returns the cosines and sines by which heads are rotated, as (places, 2, 32).
std::vector<float> rotation_table(std::int64_t places, double base);

/// States how the next token is chosen; temperature 0 takes the best.
struct Sampling {
  float temperature = 0, top_p = 0.9F;
  int top_k = 40;
  std::int64_t seed = 1;
  friend bool operator==(Sampling const&, Sampling const&) = default;
};

template <class T, int rank>
tegula::tensor_view<T, rank> tensor_at(tegula::device where, void const* address, std::int64_t const (&extents)[rank],
                                       std::int64_t const (&strides)[rank]) {
  return {where, tegula::device_view<T, rank>(static_cast<T*>(const_cast<void*>(address)), extents, strides)};
}
/// Views dense memory.
template <class T, int rank>
tegula::tensor_view<T, rank> dense_at(tegula::device where, void const* address, std::int64_t const (&extents)[rank]) {
  std::int64_t strides[rank], stride = 1;
  for (int axis = rank; axis-- > 0; stride *= extents[axis]) strides[axis] = stride;
  return tensor_at<T>(where, address, extents, strides);
}

/// Holds the weights of a model on a device: the blocks of 4 bits as they are in the file, matrices of a width one
/// below the other.
template <int Width, int Hidden>
class Model {
 public:
  struct Matrix {  // of Q4_1, for kernels
    tegula::tensor_view<std::uint32_t const, 4> words;
    tegula::tensor_view<tegula::f16 const, 4> scales;
  };
  struct Layer {
    float const *attention_gain, *hidden_gain;
    Matrix wide;  ///< rows of W for queries, keys and values, then attention's output, gates, and ups
    Matrix qkv, o, gate, up;
    Matrix down;
  };

  Model(Gguf const& file, tegula::device where)
      : sizes(sizes_of(file, Width, Hidden)),
        where_(where),
        words_(where, sizes.layers * words_of_layer()),
        gains_(where, (2 * sizes.layers + 1) * Width),
        table_bits_(where, sizes.vocabulary, Width / block, 8, 4),
        table_scales_(where, sizes.vocabulary, Width / block, 1, 1) {
    copy_layers(file);
    copy_table(file.tensor("token_embd.weight", {sizes.vocabulary, Width}, {Format::q8_0}).bytes);
    layers.reserve(static_cast<std::size_t>(sizes.layers));
    for (std::int64_t i = 0; i < sizes.layers; ++i) {
      std::uint32_t const* at = words_.data() + i * words_of_layer();
      Matrix const wide = matrix(at, wide_rows(), Width);
      auto const rows = [&](std::int64_t count) {
        Matrix const result = matrix(at, count, Width);
        at += count * words_of_row(Width);
        return result;
      };
      Matrix const qkv = rows(all_heads() * head), o = rows(Width), gate = rows(Hidden), up = rows(Hidden);
      layers.push_back({gains_.data() + 2 * i * Width, gains_.data() + (2 * i + 1) * Width, wide, qkv, o, gate, up,
                        matrix(at, Width, Hidden)});
    }
  }
  Model(Model const&) = delete;
  Model& operator=(Model const&) = delete;

  [[nodiscard]] tegula::device where() const { return where_; }
  [[nodiscard]] float const* last_gain() const { return gains_.data() + 2 * sizes.layers * Width; }
  [[nodiscard]] auto const& table_bits() const { return table_bits_; }
  [[nodiscard]] auto const& table_scales() const { return table_scales_; }
  /// Counts the heads of queries, keys and values.
  [[nodiscard]] std::int64_t all_heads() const { return sizes.heads + 2 * sizes.key_heads; }
  /// Counts the rows of a layer's matrices but the last one.
  [[nodiscard]] std::int64_t wide_rows() const { return all_heads() * head + Width + 2 * Hidden; }

  Sizes const sizes;
  std::vector<Layer> layers;

 private:
  static constexpr std::int64_t words_of_block = 5;
  static constexpr std::int64_t words_of_row(std::int64_t width) { return width / block * words_of_block; }
  [[nodiscard]] std::int64_t words_of_layer() const {
    return wide_rows() * words_of_row(Width) + Width * words_of_row(Hidden);
  }
  [[nodiscard]] Matrix matrix(std::uint32_t const* at, std::int64_t rows, std::int64_t columns) const {
    std::int64_t const blocks = columns / block;
    return {dense_at<std::uint32_t const>(where_, at, {rows, blocks, words_of_block, 1}),
            dense_at<tegula::f16 const>(where_, at, {rows, blocks, 2 * words_of_block, 1})};
  }

  void copy_layers(Gguf const& file) {
    std::vector<std::uint32_t> words;
    std::vector<float> gains;
    words.reserve(static_cast<std::size_t>(words_.size()));
    auto const add = [](auto& to, std::span<std::byte const> bytes) {
      std::size_t const before = to.size();
      to.resize(before + bytes.size() / sizeof to[0]);
      std::memcpy(to.data() + before, bytes.data(), bytes.size());
    };
    for (std::int64_t i = 0; i < sizes.layers; ++i) {
      std::string const name = samples::text("blk.", i, ".");
      auto const matrix = [&](char const* of, std::int64_t rows, std::int64_t columns) {
        add(words, file.tensor(name + of + ".weight", {rows, columns}, {Format::q4_1}).bytes);
      };
      for (char const* of : {"attn_norm.weight", "ffn_norm.weight"})
        add(gains, file.tensor(name + of, {Width}, {Format::f32}).bytes);
      matrix("attn_q", sizes.heads * head, Width);
      matrix("attn_k", sizes.key_heads * head, Width);
      matrix("attn_v", sizes.key_heads * head, Width);
      matrix("attn_output", Width, sizes.heads * head);
      matrix("ffn_gate", Hidden, Width);
      matrix("ffn_up", Hidden, Width);
      matrix("ffn_down", Width, Hidden);
    }
    add(gains, file.tensor("output_norm.weight", {Width}, {Format::f32}).bytes);
    words_.copy_from(words);
    gains_.copy_from(gains);
  }
  /// Parts scales and bits, so that bits are aligned.
  void copy_table(std::span<std::byte const> blocks) {
    constexpr std::size_t bytes_of_block = 2 + block;
    std::size_t const count = blocks.size() / bytes_of_block;
    std::vector<std::int8_t> bits(count * block);
    std::vector<tegula::f16> scales(count);
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(&scales[i], blocks.data() + i * bytes_of_block, 2);
      std::memcpy(&bits[i * block], blocks.data() + i * bytes_of_block + 2, block);
    }
    table_bits_.copy_from(bits);
    table_scales_.copy_from(scales);
  }

  tegula::device where_;
  tegula::buffer<std::uint32_t> words_;
  tegula::buffer<float> gains_;
  tegula::buffer<std::int8_t, 4> table_bits_;
  tegula::buffer<tegula::f16, 4> table_scales_;
};

}  // namespace smollm
