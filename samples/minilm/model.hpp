// Holds the weights of a model of BERT's form on a device, as kernels take them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tegula/tegula.hpp>

#include "kernels.hpp"
#include "safetensors.hpp"
#include "sizes.hpp"

namespace minilm {

template <class T, int Width, int Hidden>
class Model {
 public:
  using Row = tegula::buffer<float, 2>;
  struct NormRows {
    Row gain, shift;
  };
  struct Layer {
    tegula::buffer<T, 2> qkv, output, up, down;  ///< (inputs, outputs)
    Row qkv_bias, output_bias, up_bias, down_bias;
    NormRows attention, hidden;
  };

  Model(Safetensors const& file, Sizes const& of, tegula::device where)
      : sizes(of),
        words(made(where, file.values("embeddings.word_embeddings.weight", {of.vocabulary, Width}), of.vocabulary)),
        places(made(where, places_of(file, of), of.positions)),
        norm(norm_of(file, where, "embeddings.LayerNorm")),
        where_(where) {
    for (std::int64_t i = 0; i < of.layers; ++i) layers.push_back(layer_of(file, layer_name(i)));
  }

  [[nodiscard]] tegula::device where() const { return where_; }

  Sizes const sizes;
  tegula::buffer<T, 2> words, places;
  NormRows norm;
  std::vector<Layer> layers;

 private:
  static tegula::buffer<T, 2> made(tegula::device where, std::vector<float> const& values, std::int64_t rows) {
    std::vector<T> const rounded(values.begin(), values.end());
    tegula::buffer<T, 2> result(where, rows, static_cast<std::int64_t>(values.size()) / rows);
    result.copy_from(rounded);
    return result;
  }
  static Row row(tegula::device where, std::vector<float> const& values) {
    Row result(where, 1, static_cast<std::int64_t>(values.size()));
    result.copy_from(values);
    return result;
  }
  static NormRows norm_of(Safetensors const& file, tegula::device where, std::string const& name) {
    return {row(where, file.values(name + ".weight", {Width})), row(where, file.values(name + ".bias", {Width}))};
  }
  /// Adds the embedding of the first of two sentences, which all tokens have, to those of the places.
  static std::vector<float> places_of(Safetensors const& file, Sizes const& of) {
    std::vector<float> result = file.values("embeddings.position_embeddings.weight", {of.positions, Width});
    std::vector<float> const sentence = file.values("embeddings.token_type_embeddings.weight", {2, Width});
    for (std::size_t i = 0; i < result.size(); ++i) result[i] += sentence[i % Width];
    return result;
  }
  /// Joins matrices, or biases, of the same inputs along the outputs.
  static std::vector<float> joined(Safetensors const& file, std::vector<std::string> const& names,
                                   std::vector<std::int64_t> const& extents) {
    std::vector<float> result;
    for (std::string const& name : names) {
      std::vector<float> const part = file.values(name, extents);
      result.insert(result.end(), part.begin(), part.end());
    }
    return result;
  }
  Layer layer_of(Safetensors const& file, std::string const& name) const {
    auto const matrix = [&](std::vector<std::string> const& of, std::int64_t outputs, std::int64_t inputs) {
      std::vector<std::string> names;
      for (std::string const& one : of) names.push_back(name + one + ".weight");
      std::vector<float> const w = joined(file, names, {outputs, inputs});
      return made(where_, transposed(w, outputs * static_cast<std::int64_t>(of.size())), inputs);
    };
    auto const bias = [&](std::vector<std::string> const& of, std::int64_t outputs) {
      std::vector<std::string> names;
      for (std::string const& one : of) names.push_back(name + one + ".bias");
      return row(where_, joined(file, names, {outputs}));
    };
    std::vector<std::string> const qkv = {"attention.self.query", "attention.self.key", "attention.self.value"};
    return {.qkv = matrix(qkv, Width, Width),
            .output = matrix({"attention.output.dense"}, Width, Width),
            .up = matrix({"intermediate.dense"}, Hidden, Width),
            .down = matrix({"output.dense"}, Width, Hidden),
            .qkv_bias = bias(qkv, Width),
            .output_bias = bias({"attention.output.dense"}, Width),
            .up_bias = bias({"intermediate.dense"}, Hidden),
            .down_bias = bias({"output.dense"}, Width),
            .attention = norm_of(file, where_, name + "attention.output.LayerNorm"),
            .hidden = norm_of(file, where_, name + "output.LayerNorm")};
  }

  tegula::device where_;
};

}  // namespace minilm
