// Generates tokens: the cache and activations of some sequences, and the launches of a token and of a prompt.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <tegula/runtime/graph.hpp>

#include "model.hpp"
#include "support/text.hpp"

namespace smollm {

/// States how the steps of few sequences are divided: rows of W that a block multiplies, 8 or 16, and its warps; keys
/// that a block of attention takes at once, 64 or 128. All kernels make these records.
struct Division {
  int rows = 8, warps = 2, keys = 64;
  tegula::ProfileOptions profile = {};
};

/// Joins the launches of a step that one kernel does.
struct KernelOfStep {
  std::string name;
  std::vector<tegula::prepared> launches;
};

/// Generates tokens of one or more sequences, each with its own places in the cache, whose elements are `Kept`.
template <int Width, int Hidden, class Kept>
class Generator {
 public:
  Generator(Model<Width, Hidden> const& model, tegula::stream const& order, std::int64_t sequences, std::int64_t places,
            Division const& division = {})
      : model_(model),
        order_(order),
        sequences_(sequences),
        places_(places),
        parts_(sequences > few ? parts_of_many : keys_of_few / division.keys),
        records_(division.profile),
        chunk_(model.where().is_cuda() ? std::min<std::int64_t>(places, 2048) : 256),
        tokens_(model.where(), sequences),
        positions_(model.where(), sequences),
        own_(model.where(), sequences),
        read_tokens_(model.where(), chunk_),
        read_positions_(model.where(), chunk_),
        read_sequences_(model.where(), chunk_),
        made_(model.where(), sequences, places),
        rotation_(model.where(), places, 2, head / 2),
        x_(model.where(), rows() * Width),
        normal_(model.where(), rows() * Width),
        q_(model.where(), rows() * Width),
        qkv_(model.where(), rows() * model.all_heads() * head),
        hidden_(model.where(), rows() * Hidden),
        wide_(model.where(), model.wide_rows() * Width),
        down_(model.where(), Width * Hidden),
        sums_(model.where(), sequences, heads(), parts_, head),
        tops_(model.where(), sequences, heads(), parts_),
        totals_(model.where(), sequences, heads(), parts_),
        logits_(model.where(), sequences, model.sizes.vocabulary),
        best_(model.where(), sequences, (model.sizes.vocabulary + group - 1) / group) {
    if (places < 1 || places > model.sizes.context)
      throw std::runtime_error(samples::text("places: ", places, "; the model has 1 to ", model.sizes.context));
    rotation_.copy_from(rotation_table(places, model.sizes.rotation_base));
    std::vector<int> numbers(static_cast<std::size_t>(sequences));
    positions_.copy_from(numbers);
    tokens_.copy_from(numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i);
    own_.copy_from(numbers);
    for (std::int64_t i = 0; i < model.sizes.layers; ++i)
      for (auto* const cache : {&keys_, &values_}) {
        cache->emplace_back(model.where(), sequences, model.sizes.key_heads, places, head);
        cache->back().fill(Kept(0));  // attention multiplies values behind the last place by 0, which no NaN survives
      }
    prepare_step(division);
  }

  /// Reads tokens of one sequence from its first place on. Then logits() of the sequence belong to the last token, and
  /// choose() moves the sequence behind it.
  void read(std::int64_t sequence, std::span<int const> tokens) {
    if (tokens.empty() || static_cast<std::int64_t>(tokens.size()) > places_)
      throw std::runtime_error(samples::text(tokens.size(), " tokens; 1 to ", places_, " fit the cache"));
    for (int const token : tokens)
      if (token < 0 || token >= model_.sizes.vocabulary)
        throw std::runtime_error(
            samples::text("token ", token, " is not one of the vocabulary of ", model_.sizes.vocabulary));
    std::vector<int> positions = copied(positions_);
    positions[static_cast<std::size_t>(sequence)] = static_cast<int>(tokens.size()) - 1;
    positions_.copy_from(positions);
    auto const chunk = static_cast<std::size_t>(chunk_);
    for (std::size_t first = 0; first < tokens.size(); first += chunk) {
      std::size_t const count = std::min(tokens.size() - first, chunk);
      read_chunk(sequence, static_cast<int>(first), tokens.subspan(first, count), first + count == tokens.size());
    }
  }
  /// Computes the logits behind each sequence's token, and puts its keys and values into the cache.
  void step() {
    for (tegula::prepared const& go : step_) go(order_);
  }
  /// Chooses each sequence's next token from its logits.
  void choose(Sampling const& how) { choice(how)(order_); }
  /// Chooses and steps `count` times, without waiting: on a GPU a graph for each token.
  void advance(Sampling const& how, int count) {
    if (!turn_ || !(how == turn_how_)) {
      std::vector<tegula::prepared> launches = {choice(how)};
      launches.insert(launches.end(), step_.begin(), step_.end());
      turn_.emplace(tegula::graph(model_.where(), launches));
      turn_how_ = how;
    }
    for (int i = 0; i < count; ++i) (*turn_)(order_);
  }
  /// Replaces the chosen tokens.
  void force(std::vector<int> const& tokens) {
    order_.synchronize();
    tokens_.copy_from(tokens);
  }
  [[nodiscard]] std::vector<int> tokens() const { return copied(tokens_); }
  /// Returns the tokens that were chosen for each place of each sequence, (sequences, places).
  [[nodiscard]] std::vector<int> made() const { return copied(made_); }
  [[nodiscard]] std::vector<float> logits() const { return copied(logits_); }
  [[nodiscard]] tegula::device where() const { return model_.where(); }
  [[nodiscard]] std::int64_t sequences() const { return sequences_; }
  [[nodiscard]] std::int64_t places() const { return places_; }
  [[nodiscard]] std::vector<tegula::prepared> const& step_launches() const { return step_; }
  [[nodiscard]] std::size_t launches_of_step() const { return step_.size(); }
  /// Returns the launches of a step, those of each kernel together, in the order of their first.
  [[nodiscard]] std::vector<KernelOfStep> kernels_of_step() const {
    std::vector<KernelOfStep> result;
    for (std::size_t i = 0; i < step_.size(); ++i) {
      auto at = std::find_if(result.begin(), result.end(), [&](auto const& one) { return one.name == names_[i]; });
      if (at == result.end()) at = result.insert(at, {names_[i], {}});
      at->launches.push_back(step_[i]);
    }
    return result;
  }

 private:
  static constexpr std::int64_t few = 4;  // sequences whose steps are products with vectors
  // Keys that the blocks of attention take at first: more would read much that short texts do not have.
  static constexpr int keys_of_few = 1024;
  static constexpr int parts_of_many = 8;  // parts of attention, each of some keys
  static constexpr auto& logits_kernel = smollm::logits<8, Width>;

  /// Returns the options of a kernel of a step; 0 warps: as the compiler chooses. Where the rows of W are few, each
  /// warp has four or eight of them.
  [[nodiscard]] tegula::with in_warps(int count) const { return tegula::with({.warps = count, .profile = records_}); }
  [[nodiscard]] std::int64_t heads() const { return model_.sizes.heads; }
  [[nodiscard]] std::int64_t rows() const { return std::max(sequences_, chunk_); }

  template <class T, int rank>
  std::vector<T> copied(tegula::buffer<T, rank> const& from) const {
    std::vector<T> result(static_cast<std::size_t>(from.size()));
    order_.synchronize();
    from.copy_to(result);
    return result;
  }
  template <class T, int rank>
  [[nodiscard]] auto view(void const* at, std::int64_t const (&extents)[rank]) const {
    return dense_at<T>(model_.where(), at, extents);
  }
  /// Views rows as the blocks of weights of 4 bits, or of 8 bits.
  [[nodiscard]] auto blocks(float const* at, std::int64_t count, int width = Width) const {
    return view<float>(at, {count, width / block, 2, 4, 4});
  }
  [[nodiscard]] auto words(float const* at, std::int64_t count) const {
    return view<float>(at, {count, Width / block, 8, 4});
  }
  [[nodiscard]] tegula::prepared choice(Sampling const& how) {
    if (how.temperature == 0)
      return tegula::prepare(model_.where(), take_best, logits_, best_, tokens_, positions_, made_);
    return tegula::prepare(model_.where(), sample, logits_, best_, tokens_, positions_, made_, how.temperature,
                           how.top_k, how.top_p, how.seed);
  }

  /// Does the layers for `count` rows of x by products of matrices in T. `go` launches; `attention(layer)` returns the
  /// attention's output in T to normal_.
  template <class T, int BM, int BN, class Query, class Go, class Attention>
  void many_rows(Go const& go, std::int64_t count, tegula::tensor_view<int, 1> const& sequences,
                 tegula::tensor_view<int, 1> const& positions, Attention const& attention) {
    std::int64_t const all = model_.all_heads();
    float const epsilon = model_.sizes.epsilon;
    auto const x = view<float>(x_.data(), {count, Width});
    auto const normal = view<T>(normal_.data(), {count, Width}), hidden = view<T>(hidden_.data(), {count, Hidden});
    auto const wide = view<T>(wide_.data(), {model_.wide_rows(), Width}), down = view<T>(down_.data(), {Width, Hidden});
    auto part = [&, first = std::int64_t{0}](std::int64_t size) mutable {
      first += size;
      return wide.slice(0, first - size, first);
    };
    auto const qkv = part(all * head), o = part(Width), gate = part(Hidden), up = part(Hidden);
    for (std::size_t i = 0; i < model_.layers.size(); ++i) {
      auto const& layer = model_.layers[i];
      go(unpack_rows<T, 64, Width>, layer.wide.words, layer.wide.scales,
         view<T>(wide_.data(), {model_.wide_rows(), Width / block, 2, 4, 4}));
      go(unpack_rows<T, 64, Hidden>, layer.down.words, layer.down.scales,
         view<T>(down_.data(), {Width, Hidden / block, 2, 4, 4}));
      go(normalize<T, Width>, x, view<float>(layer.attention_gain, {1, Width}), normal, epsilon);
      go(product<T, BM, BN, 64>, normal, qkv, view<float>(qkv_.data(), {count, all * head}));
      go(rotate<Query, Kept>, view<float>(qkv_.data(), {count, all, head}), rotation_, sequences, positions,
         view<Query>(q_.data(), {count, heads(), head}), keys_[i], values_[i]);
      attention(i);
      go(product<T, BM, BN, 64, true>, normal, o, x);
      go(normalize<T, Width>, x, view<float>(layer.hidden_gain, {1, Width}), normal, epsilon);
      go(gated_product<T, BM, BN, 64>, normal, gate, up, hidden);
      go(product<T, BM, BN, 64, true>, hidden, down, x);
    }
  }

  void read_chunk(std::int64_t sequence, int first, std::span<int const> tokens, bool last) {
    auto const count = static_cast<std::int64_t>(tokens.size());
    std::vector<int> ids(tokens.begin(), tokens.end()), places(ids.size()), of(ids.size(), static_cast<int>(sequence));
    for (std::size_t i = 0; i < ids.size(); ++i) places[i] = first + static_cast<int>(i);
    ids.resize(static_cast<std::size_t>(chunk_));
    places.resize(ids.size());
    of.resize(ids.size());
    order_.synchronize();
    read_tokens_.copy_from(ids);
    read_positions_.copy_from(places);
    read_sequences_.copy_from(of);
    tegula::tensor_view<int, 1> const all_tokens(read_tokens_), all_places(read_positions_), all_of(read_sequences_);
    auto const go = [&](auto&&... what) { tegula::launch(order_, what...); };
    go(embed<Width>, all_tokens.slice(0, 0, count), model_.table_bits(), model_.table_scales(),
       words(x_.data(), count));
    auto const layers = [&]<class T, std::int64_t BM, std::int64_t BN>(std::type_identity<T>, tegula::Shape<BM, BN>) {
      many_rows<T, BM, BN, Kept>(
          go, count, all_of.slice(0, 0, count), all_places.slice(0, 0, count), [&](std::size_t i) {
            go(attend_rows<Kept, T, BM, BM>, view<Kept>(q_.data(), {count, heads(), head}), keys_[i], values_[i],
               view<T>(normal_.data(), {count, heads(), head}), static_cast<int>(sequence), first);
          });
    };
    if (model_.where().is_cuda())
      layers(std::type_identity<tegula::bf16>(), tegula::shape<128, 96>);
    else
      layers(std::type_identity<float>(), tegula::shape<64, 64>);
    if (!last) return;
    tegula::tensor_view<float, 2> const y(logits_), best(best_);
    go(logits_kernel, words(x_.data(), count).slice(0, count - 1, count), words(model_.last_gain(), 1),
       model_.table_bits(), model_.table_scales(), y.slice(0, sequence, sequence + 1),
       best.slice(0, sequence, sequence + 1), model_.sizes.epsilon);
  }

  /// Prepares the launches of a step.
  void prepare_step(Division const& division) {
    auto const add = [&](tegula::with const& how, auto const& kernel, auto&&... arguments) {
      names_.emplace_back(kernel.name());
      step_.push_back(tegula::prepare(how, kernel, arguments...));
    };
    add(in_warps(0), embed<Width>, tokens_, model_.table_bits(), model_.table_scales(), words(x_.data(), sequences_));
    auto const products = in_warps(division.warps);
    if (sequences_ <= few && division.rows == 8)
      division.keys == 64 ? prepare_few<8, 64>(add, products) : prepare_few<8, 128>(add, products);
    else if (sequences_ <= few)
      division.keys == 64 ? prepare_few<16, 64>(add, products) : prepare_few<16, 128>(add, products);
    else if (model_.where().is_cuda())
      prepare_many<tegula::bf16>(add);
    else
      prepare_many<float>(add);
    add(in_warps(4), logits_kernel, words(x_.data(), sequences_), words(model_.last_gain(), 1), model_.table_bits(),
        model_.table_scales(), logits_, best_, model_.sizes.epsilon);
  }
  template <int Rows, int Keys, class Add>
  void prepare_few(Add const& add, tegula::with const& warps) {
    auto const x = view<float>(x_.data(), {sequences_, Width}), h = view<float>(hidden_.data(), {sequences_, Hidden});
    auto const q = view<float>(q_.data(), {sequences_, heads(), head});
    float const epsilon = model_.sizes.epsilon;
    constexpr int parts = keys_of_few / Keys;
    for (std::size_t i = 0; i < model_.layers.size(); ++i) {
      auto const& layer = model_.layers[i];
      add(warps, smollm::heads<Kept, Rows, Width>, blocks(x_.data(), sequences_), blocks(layer.attention_gain, 1),
          layer.qkv.words, layer.qkv.scales, rotation_, positions_, q, keys_[i], values_[i], epsilon);
      add(in_warps(4), attend<Kept, queries_of_key, Keys, parts>, q, keys_[i], values_[i], positions_, sums_, tops_,
          totals_);
      add(warps, add_attention<Rows, Width, parts>, layer.o.words, layer.o.scales, sums_, tops_, totals_, x);
      add(warps, gated<Rows, Width>, blocks(x_.data(), sequences_), blocks(layer.hidden_gain, 1), layer.gate.words,
          layer.gate.scales, layer.up.words, layer.up.scales, h, epsilon);
      add(warps, add_product<Rows / 4, Hidden>, layer.down.words, layer.down.scales,
          blocks(hidden_.data(), sequences_, Hidden), x);
    }
  }
  template <class T, class Add>
  void prepare_many(Add const& add) {
    auto const q = view<float>(q_.data(), {sequences_, heads(), head});
    auto const plain = [&](auto const& kernel, auto&&... arguments) { add(in_warps(0), kernel, arguments...); };
    many_rows<T, 64, 32, float>(plain, sequences_, own_, positions_, [&](std::size_t i) {
      add(in_warps(4), attend<Kept, queries_of_key, 64, parts_of_many>, q, keys_[i], values_[i], positions_, sums_,
          tops_, totals_);
      plain(join_attention<T, Width / head, parts_of_many>, sums_, tops_, totals_,
            view<T>(normal_.data(), {sequences_, heads(), head}));
    });
  }

  Model<Width, Hidden> const& model_;
  tegula::stream const& order_;
  std::int64_t sequences_, places_, parts_;
  tegula::ProfileOptions records_;
  std::int64_t chunk_;
  tegula::buffer<int> tokens_, positions_, own_, read_tokens_, read_positions_, read_sequences_;
  tegula::buffer<int, 2> made_;
  tegula::buffer<float, 3> rotation_;
  tegula::buffer<float> x_, normal_, q_, qkv_, hidden_, wide_, down_;
  tegula::buffer<float, 4> sums_;
  tegula::buffer<float, 3> tops_, totals_;
  tegula::buffer<float, 2> logits_, best_;
  std::vector<tegula::buffer<Kept, 4>> keys_, values_;
  std::vector<tegula::prepared> step_;
  std::vector<std::string> names_;  // of the kernels of step_
  std::optional<tegula::prepared> turn_;
  Sampling turn_how_;
};

}  // namespace smollm
