// Runs a llama model: the weights of a gguf file, the cache and activations of some sequences, and the launches of a
// token. The weights lie on the host where the file is mapped, on a GPU in one copy of its tensors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tegula/tegula.hpp>

#include "gguf.hpp"
#include "kernels.hpp"

namespace smollm {

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
};

template <class T, int rank>
tegula::tensor_view<T, rank> tensor_at(tegula::device where, void const* address, std::int64_t const (&extents)[rank],
                                       std::int64_t const (&strides)[rank]) {
  return {where, tegula::device_view<T, rank>(static_cast<T*>(const_cast<void*>(address)), extents, strides)};
}

/// Holds the weights of a model on a device.
template <int Width, int Hidden>
class Model {
 public:
  struct Matrix {  // of Q4_1 or Q8_0
    tegula::tensor_view<std::uint8_t const, 3> bits;
    tegula::tensor_view<tegula::f16 const, 3> scales;
  };
  using Gain = tegula::tensor_view<float const, 3>;
  struct Layer {
    Gain attention_gain, hidden_gain;
    Matrix q, k, v, o, gate, up, down;
  };

  Model(Gguf const& file, tegula::device where) : sizes(sizes_of(file, Width, Hidden)), where_(where), file_(file) {
    if (where.kind() != tegula::DeviceKind::host) {
      copy_.emplace(where, static_cast<std::int64_t>(file.bytes().size()));
      copy_->copy_from(file.bytes_as<std::uint8_t>());
    }
    std::int64_t const queries = sizes.heads * head, keys = sizes.key_heads * head;
    layers.reserve(static_cast<std::size_t>(sizes.layers));
    for (std::int64_t i = 0; i < sizes.layers; ++i) {
      std::string const name = "blk." + std::to_string(i) + ".";
      layers.push_back({gain(name + "attn_norm.weight"), gain(name + "ffn_norm.weight"),
                        matrix(name + "attn_q.weight", queries, Width), matrix(name + "attn_k.weight", keys, Width),
                        matrix(name + "attn_v.weight", keys, Width),
                        matrix(name + "attn_output.weight", Width, queries),
                        matrix(name + "ffn_gate.weight", Hidden, Width), matrix(name + "ffn_up.weight", Hidden, Width),
                        matrix(name + "ffn_down.weight", Width, Hidden)});
    }
  }
  Model(Model const&) = delete;
  Model& operator=(Model const&) = delete;

  [[nodiscard]] tegula::device where() const { return where_; }
  [[nodiscard]] Gain last_gain() const { return gain("output_norm.weight"); }
  /// Returns the table of embeddings: bytes of Q8_0.
  [[nodiscard]] tegula::tensor_view<std::int8_t const, 3> table_bits() const {
    std::int64_t const blocks = Width / block;
    return tensor_at<std::int8_t const>(where_, address(table().bytes, 2), {sizes.vocabulary, blocks, block},
                                        {34 * blocks, 34, 1});
  }
  [[nodiscard]] tegula::tensor_view<tegula::f16 const, 3> table_scales() const {
    std::int64_t const blocks = Width / block;
    return tensor_at<tegula::f16 const>(where_, address(table().bytes, 0), {sizes.vocabulary, blocks, 1},
                                        {17 * blocks, 17, 1});
  }

  Sizes const sizes;
  std::vector<Layer> layers;

 private:
  [[nodiscard]] Tensor const& table() const {
    return file_.tensor("token_embd.weight", {sizes.vocabulary, Width}, {Format::q8_0});
  }
  /// Gives the address of bytes of the file where the kernels read them.
  [[nodiscard]] void const* address(std::span<std::byte const> bytes, std::int64_t offset) const {
    std::ptrdiff_t const place = bytes.data() - file_.bytes().data();
    if (place % 4 != 0) throw FileError(file_.path() + ": tensors are not aligned to 4 bytes; convert the file");
    auto const* const base = copy_ ? static_cast<void const*>(std::as_const(*copy_).data()) : file_.bytes().data();
    return static_cast<std::byte const*>(base) + place + offset;
  }
  [[nodiscard]] Gain gain(std::string const& name) const {
    Tensor const& tensor = file_.tensor(name, {Width}, {Format::f32});
    return tensor_at<float const>(where_, address(tensor.bytes, 0), {1, Width / block, block}, {Width, block, 1});
  }
  [[nodiscard]] Matrix matrix(std::string const& name, std::int64_t rows, std::int64_t columns) const {
    Tensor const& tensor = file_.tensor(name, {rows, columns}, {Format::q4_1});
    std::int64_t const blocks = columns / block;
    return {tensor_at<std::uint8_t const>(where_, address(tensor.bytes, 4), {rows, blocks, block / 2},
                                          {20 * blocks, 20, 1}),
            tensor_at<tegula::f16 const>(where_, address(tensor.bytes, 0), {rows, blocks, 2}, {10 * blocks, 10, 1})};
  }

  tegula::device where_;
  Gguf const& file_;
  std::optional<tegula::buffer<std::uint8_t>> copy_;
};

/// Generates tokens of one or more sequences, each with its own places in the cache.
template <int Width, int Hidden>
class Generator {
 public:
  static constexpr std::int64_t chunk = 256;  // rows that are read at once

  Generator(Model<Width, Hidden> const& model, tegula::stream const& order, std::int64_t sequences, std::int64_t places)
      : model_(model),
        order_(order),
        sequences_(sequences),
        places_(places),
        tokens_(model.where(), sequences),
        positions_(model.where(), sequences),
        own_(model.where(), sequences),
        read_tokens_(model.where(), chunk),
        read_positions_(model.where(), chunk),
        read_sequences_(model.where(), chunk),
        rotation_(model.where(), places, 2, head / 2),
        x_(model.where(), rows() * Width),
        normal_(model.where(), rows() * Width),
        q_(model.where(), rows() * all_heads() * head),
        qkv_(model.where(), rows() * all_heads() * head),
        o_(model.where(), rows() * all_heads() * head),
        gates_(model.where(), rows() * Hidden),
        ups_(model.where(), rows() * Hidden),
        hidden_(model.where(), rows() * Hidden),
        logits_(model.where(), sequences, model.sizes.vocabulary),
        best_(model.where(), sequences, (model.sizes.vocabulary + group - 1) / group) {
    if (places < 1 || places > model.sizes.context)
      throw std::runtime_error("places: " + std::to_string(places) + "; the model has 1 to " +
                               std::to_string(model.sizes.context));
    rotation_.copy_from(rotation_table(places, model.sizes.rotation_base));
    std::vector<int> numbers(static_cast<std::size_t>(sequences));
    positions_.copy_from(numbers);
    tokens_.copy_from(numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i);
    own_.copy_from(numbers);
    for (std::int64_t i = 0; i < model.sizes.layers; ++i) {
      keys_.emplace_back(model.where(), sequences, model.sizes.key_heads, places, head);
      values_.emplace_back(model.where(), sequences, model.sizes.key_heads, places, head);
      keys_.back().fill(0);
      values_.back().fill(0);  // attention multiplies values behind the last place by 0, which no NaN survives
    }
    prepare_step();
  }

  /// Reads tokens of one sequence from its first place on. Then logits() of the sequence belong to the last token, and
  /// choose() moves the sequence behind it.
  void read(std::int64_t sequence, std::span<int const> tokens) {
    if (tokens.empty() || static_cast<std::int64_t>(tokens.size()) > places_)
      throw std::runtime_error(std::to_string(tokens.size()) + " tokens; 1 to " + std::to_string(places_) +
                               " fit the cache");
    for (int const token : tokens)
      if (token < 0 || token >= model_.sizes.vocabulary)
        throw std::runtime_error("token " + std::to_string(token) + " is not one of the vocabulary of " +
                                 std::to_string(model_.sizes.vocabulary));
    for (std::size_t first = 0; first < tokens.size(); first += chunk) {
      std::size_t const count = std::min(tokens.size() - first, static_cast<std::size_t>(chunk));
      read_chunk(sequence, static_cast<std::int64_t>(first), tokens.subspan(first, count),
                 first + count == tokens.size());
    }
    std::vector<int> positions = copied(positions_);
    positions[static_cast<std::size_t>(sequence)] = static_cast<int>(tokens.size()) - 1;
    positions_.copy_from(positions);
  }
  /// Computes the logits after each sequence's token, and puts its keys and values into the cache.
  void step() {
    for (tegula::prepared const& go : step_) go(order_);
  }
  /// Chooses each sequence's next token from its logits.
  void choose(Sampling const& how) {
    if (how.temperature == 0)
      tegula::launch(order_, take_best, logits_, best_, tokens_, positions_);
    else
      tegula::launch(order_, sample, logits_, best_, tokens_, positions_, how.temperature, how.top_k, how.top_p,
                     how.seed);
  }
  /// Replaces the chosen tokens.
  void force(std::vector<int> const& tokens) {
    order_.synchronize();
    tokens_.copy_from(tokens);
  }
  [[nodiscard]] std::vector<int> tokens() const { return copied(tokens_); }
  [[nodiscard]] std::vector<float> logits() const { return copied(logits_); }
  [[nodiscard]] std::int64_t sequences() const { return sequences_; }
  [[nodiscard]] std::int64_t places() const { return places_; }
  [[nodiscard]] std::size_t launches_of_step() const { return step_.size(); }

 private:
  [[nodiscard]] std::int64_t rows() const { return std::max(sequences_, chunk); }
  [[nodiscard]] std::int64_t all_heads() const { return model_.sizes.heads + 2 * model_.sizes.key_heads; }

  template <class T, int rank>
  std::vector<T> copied(tegula::buffer<T, rank> const& from) const {
    std::vector<T> result(static_cast<std::size_t>(from.size()));
    order_.synchronize();
    from.copy_to(result);
    return result;
  }
  [[nodiscard]] auto blocks(tegula::buffer<float>& of, std::int64_t count, int width) const {
    return tensor_at<float>(model_.where(), of.data(), {count, width / block, block}, {width, block, 1});
  }
  [[nodiscard]] auto matrix(tegula::buffer<float>& of, std::int64_t count, std::int64_t width) const {
    return tensor_at<float>(model_.where(), of.data(), {count, width}, {width, 1});
  }
  [[nodiscard]] auto by_heads(tegula::buffer<float>& of, std::int64_t count, std::int64_t heads_) const {
    return tensor_at<float>(model_.where(), of.data(), {count, heads_, head}, {heads_ * head, head, 1});
  }

  /// Does the layers for `count` rows of x by products of matrices. `attention(layer)` launches the attention.
  template <class Attention>
  void many_rows(std::int64_t count, tegula::tensor_view<int, 1> const& sequences,
                 tegula::tensor_view<int, 1> const& positions, Attention const& attention) {
    std::int64_t const n = model_.sizes.heads * head, m = model_.sizes.key_heads * head;
    auto const x = blocks(x_, count, Width), normal = blocks(normal_, count, Width);
    auto const qkv = matrix(qkv_, count, n + 2 * m);
    auto const go = [&](auto&&... what) { tegula::launch(order_, what...); };
    for (std::size_t i = 0; i < model_.layers.size(); ++i) {
      auto const& [attention_gain, hidden_gain, q, k, v, o, gate_, up, down] = model_.layers[i];
      constexpr auto& times = product<float, 64, 64, Width>;
      go(normalize<Width>, x, attention_gain, normal, model_.sizes.epsilon);
      go(times, q.bits, q.scales, normal, qkv.slice(1, 0, n));
      go(times, k.bits, k.scales, normal, qkv.slice(1, n, n + m));
      go(times, v.bits, v.scales, normal, qkv.slice(1, n + m, n + 2 * m));
      go(rotate, by_heads(qkv_, count, all_heads()), rotation_, sequences, positions,
         by_heads(q_, count, model_.sizes.heads), keys_[i], values_[i]);
      attention(i);
      go(product<float, 64, 64, Width, true>, o.bits, o.scales, blocks(o_, count, Width), matrix(x_, count, Width));
      go(normalize<Width>, x, hidden_gain, normal, model_.sizes.epsilon);
      go(times, gate_.bits, gate_.scales, normal, matrix(gates_, count, Hidden));
      go(times, up.bits, up.scales, normal, matrix(ups_, count, Hidden));
      go(gate<512>, matrix(gates_, count, Hidden), matrix(ups_, count, Hidden), matrix(hidden_, count, Hidden));
      go(product<float, 64, 64, Hidden, true>, down.bits, down.scales, blocks(hidden_, count, Hidden),
         matrix(x_, count, Width));
    }
  }

  void read_chunk(std::int64_t sequence, std::int64_t first, std::span<int const> tokens, bool last) {
    auto const count = static_cast<std::int64_t>(tokens.size());
    std::vector<int> ids(static_cast<std::size_t>(chunk)), places(ids.size()), of(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ids[i] = i < tokens.size() ? tokens[i] : 0;
      places[i] = static_cast<int>(first) + static_cast<int>(i);
      of[i] = static_cast<int>(sequence);
    }
    order_.synchronize();
    read_tokens_.copy_from(ids);
    read_positions_.copy_from(places);
    read_sequences_.copy_from(of);
    tegula::tensor_view<int, 1> const all_tokens(read_tokens_), all_places(read_positions_), all_of(read_sequences_);
    auto const where = all_places.slice(0, 0, count);
    tegula::launch(order_, embed<Width>, all_tokens.slice(0, 0, count), model_.table_bits(), model_.table_scales(),
                   blocks(x_, count, Width));
    many_rows(count, all_of.slice(0, 0, count), where, [&](std::size_t i) {
      tegula::launch(order_, attend_rows<float, 64, 64>, by_heads(q_, count, model_.sizes.heads), keys_[i], values_[i],
                     where, by_heads(o_, count, model_.sizes.heads), static_cast<int>(sequence));
    });
    if (!last) return;
    tegula::tensor_view<float, 2> const y(logits_), best(best_);
    tegula::launch(order_, logits_kernel, blocks(x_, count, Width).slice(0, count - 1, count), model_.last_gain(),
                   model_.table_bits(), model_.table_scales(), y.slice(0, sequence, sequence + 1),
                   best.slice(0, sequence, sequence + 1), model_.sizes.epsilon);
  }

  /// Prepares the launches of a step: five for each layer, and the table's at both ends.
  void prepare_step() {
    std::int64_t const n = model_.sizes.heads;
    auto const x = blocks(x_, sequences_, Width);
    auto const add = [&](auto&&... what) { step_.push_back(tegula::prepare(model_.where(), what...)); };
    add(embed<Width>, tokens_, model_.table_bits(), model_.table_scales(), x);
    for (std::size_t i = 0; i < model_.layers.size(); ++i) {
      auto const& [attention_gain, hidden_gain, q, k, v, o, gate_, up, down] = model_.layers[i];
      add(heads<Width>, x, attention_gain, q.bits, q.scales, k.bits, k.scales, v.bits, v.scales, rotation_, own_,
          positions_, by_heads(q_, sequences_, n), keys_[i], values_[i], model_.sizes.epsilon);
      add(attend<64>, by_heads(q_, sequences_, n), keys_[i], values_[i], own_, positions_, by_heads(o_, sequences_, n));
      add(add_product<rows_of_a_block, Width>, o.bits, o.scales, blocks(o_, sequences_, Width),
          matrix(x_, sequences_, Width));
      add(gated<rows_of_a_block, Width>, x, hidden_gain, gate_.bits, gate_.scales, up.bits, up.scales,
          matrix(hidden_, sequences_, Hidden), model_.sizes.epsilon);
      add(add_product<rows_of_a_block, Hidden>, down.bits, down.scales, blocks(hidden_, sequences_, Hidden),
          matrix(x_, sequences_, Width));
    }
    add(logits_kernel, x, model_.last_gain(), model_.table_bits(), model_.table_scales(), logits_, best_,
        model_.sizes.epsilon);
  }

  static constexpr int rows_of_a_block = 32;
  static constexpr auto& logits_kernel = smollm::logits<64, Width>;

  Model<Width, Hidden> const& model_;
  tegula::stream const& order_;
  std::int64_t sequences_, places_;
  tegula::buffer<int> tokens_, positions_, own_, read_tokens_, read_positions_, read_sequences_;
  tegula::buffer<float, 3> rotation_;
  tegula::buffer<float> x_, normal_, q_, qkv_, o_, gates_, ups_, hidden_;
  tegula::buffer<float, 2> logits_, best_;
  std::vector<tegula::buffer<float, 4>> keys_, values_;
  std::vector<tegula::prepared> step_;
};

}  // namespace smollm
