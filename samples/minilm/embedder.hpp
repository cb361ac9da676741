// Embeds sentences: lays their tokens into batches of rows without padding, and launches the layers.
//
//   rows of a batch   | sentence 0 | sentence 1      | sentence 2 | ..  |
//   first             | 0 0 0 0 .. | 10 10 10 10 ..  | 25 25 ..   | ..  |
//   last              | 10 10 ..   | 25 25 ..        | ..         |     |
//
// Products and norms do not know sentences; attention lets a row see the rows from `first` to `last` alone. A batch
// ends with rows of their own up to a whole tile, which a block would compute in any case.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "model.hpp"

namespace minilm {

/// States the tiles of a device: rows, columns and depth of a product; rows and depth of one whose block has whole
/// rows; queries and keys of attention. A batch has multiples of `rows`, which the others divide.
struct Tiles {
  int rows, columns, depth, norm_rows, norm_depth, queries, keys;
};
inline constexpr Tiles host_tiles = {64, 64, 64, 64, 64, 32, 32};
inline constexpr Tiles gpu_tiles = {128, 128, 64, 64, 64, 64, 64};

template <class T, Tiles tiles, int Width, int Hidden>
class Embedder {
 public:
  /// Takes batches of up to `rows` tokens, rounded up to whole tiles.
  Embedder(Model<T, Width, Hidden> const& model, tegula::stream const& order, std::int64_t rows)
      : model_(model),
        order_(order),
        rows_((rows + tiles.rows - 1) / tiles.rows * tiles.rows),
        x_(model.where(), rows_, Width),
        qkv_(model.where(), rows_, 3 * Width),
        attended_(model.where(), rows_, Width),
        hidden_(model.where(), rows_, Hidden) {
    if (rows < 1) throw std::runtime_error(samples::text("batches of ", rows, " rows; 1 or more are expected"));
  }

  /// Returns the embedding of each sentence, (sentences, Width). A sentence has at least one token.
  std::vector<float> embed(std::vector<std::vector<int>> const& sentences) {
    if (sentences.empty()) return {};
    Layout const layout = laid_out(sentences);
    tegula::device const where = model_.where();
    tegula::buffer<int> const tokens(where, layout.tokens), first(where, layout.first), last(where, layout.last),
        starts(where, layout.starts), ends(where, layout.ends);
    auto const count = static_cast<std::int64_t>(sentences.size());
    tegula::buffer<float, 2> found(where, count, Width);
    for (Batch const& batch : layout.batches) {
      int const begin = static_cast<int>(batch.row);
      auto const x = part(x_, batch), qkv = part(qkv_, batch), attended = part(attended_, batch),
                 hidden = part(hidden_, batch);
      float const epsilon = model_.sizes.epsilon;
      auto const go = [&](auto&&... launch) { tegula::launch(order_, launch...); };
      go(minilm::embed<T, Width>, tokens, first, model_.words, model_.places, model_.norm.gain, model_.norm.shift, x,
         begin, epsilon);
      for (auto const& layer : model_.layers) {
        go(linear<T, tiles.rows, tiles.columns, tiles.depth, false>, x, layer.qkv, layer.qkv_bias, qkv);
        go(attend<T, tiles.queries, tiles.keys>, qkv, first, last, attended, begin);
        go(linear_norm<T, tiles.norm_rows, tiles.norm_depth, Width>, attended, layer.output, layer.output_bias,
           layer.attention.gain, layer.attention.shift, x, epsilon);
        go(linear<T, tiles.rows, tiles.columns, tiles.depth, true>, x, layer.up, layer.up_bias, hidden);
        go(linear_norm<T, tiles.norm_rows, tiles.norm_depth, Width>, hidden, layer.down, layer.down_bias,
           layer.hidden.gain, layer.hidden.shift, x, epsilon);
      }
      go(pool<T, Width>, x, starts, ends, found, static_cast<int>(batch.sentence), static_cast<int>(batch.sentences));
    }
    std::vector<float> result(static_cast<std::size_t>(count * Width));
    order_.synchronize();
    found.copy_to(result);
    return result;
  }
  [[nodiscard]] tegula::device where() const { return model_.where(); }

 private:
  struct Batch {
    std::int64_t row, rows, sentence, sentences;  // the first ones, among all, and their numbers
  };
  struct Layout {
    std::vector<int> tokens, first, last;  // of all rows
    std::vector<int> starts, ends;         // of sentences, in their batch
    std::vector<Batch> batches;
  };

  /// Views the rows of a batch.
  template <class Buffer>
  static auto part(Buffer& buffer, Batch const& batch) {
    return tegula::tensor_view<T, 2>(buffer).slice(0, 0, batch.rows);
  }
  void check(std::vector<int> const& sentence, std::size_t number) const {
    auto const length = static_cast<std::int64_t>(sentence.size());
    std::int64_t const most = std::min(rows_, model_.sizes.positions);
    if (length < 1 || length > most)
      throw std::runtime_error(
          samples::text("sentence ", number + 1, " has ", length, " tokens; 1 to ", most, " are expected"));
    for (int const token : sentence)
      if (token < 0 || token >= model_.sizes.vocabulary)
        throw std::runtime_error(
            samples::text("token ", token, " is not one of the vocabulary of ", model_.sizes.vocabulary));
  }
  [[nodiscard]] Layout laid_out(std::vector<std::vector<int>> const& sentences) const {
    Layout all;
    auto const row = [&](int token, int first, int last) {
      all.tokens.push_back(token);
      all.first.push_back(first);
      all.last.push_back(last);
    };
    auto const size = [&] { return static_cast<std::int64_t>(all.tokens.size()); };
    auto const close = [&](Batch& batch) {
      for (int at = static_cast<int>(size() - batch.row); at % tiles.rows != 0; ++at) row(0, at, at + 1);
      batch.rows = size() - batch.row;
    };
    for (std::size_t i = 0; i < sentences.size(); ++i) {
      check(sentences[i], i);
      auto const length = static_cast<std::int64_t>(sentences[i].size());
      if (all.batches.empty() || size() - all.batches.back().row + length > rows_) {
        if (!all.batches.empty()) close(all.batches.back());
        all.batches.push_back({size(), 0, static_cast<std::int64_t>(i), 0});
      }
      int const start = static_cast<int>(size() - all.batches.back().row), end = start + static_cast<int>(length);
      for (int const token : sentences[i]) row(token, start, end);
      all.starts.push_back(start);
      all.ends.push_back(end);
      ++all.batches.back().sentences;
    }
    close(all.batches.back());
    return all;
  }

  Model<T, Width, Hidden> const& model_;
  tegula::stream const& order_;
  std::int64_t rows_;
  tegula::buffer<T, 2> x_, qkv_, attended_, hidden_;
};

/// Returns the cosine of the angle between two embeddings.
inline double cosine(float const* a, float const* b, std::size_t width) {
  double product = 0, square_a = 0, square_b = 0;
  for (std::size_t i = 0; i < width; ++i) {
    product += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    square_a += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    square_b += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return product / std::sqrt(square_a * square_b);
}

}  // namespace minilm
