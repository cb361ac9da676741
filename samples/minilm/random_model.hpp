// Writes safetensors files: tensors one by one, and a random model of the form that the sample runs, for rates and
// tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sizes.hpp"
#include "support/draw.hpp"
#include "support/text.hpp"

namespace minilm {

/// Collects tensors and returns the bytes of a file.
class SafetensorsWriter {
 public:
  template <class T>
  static void put(std::string& to, T value) {
    to.append(reinterpret_cast<char const*>(&value), sizeof value);
  }
  SafetensorsWriter& tensor(std::string_view name, std::vector<std::int64_t> const& extents, std::string_view element,
                            std::string_view bytes) {
    header_ += samples::text(header_.empty() ? "" : ",", '"', name, R"(":{"dtype":")", element, R"(","shape":[)");
    for (std::size_t i = 0; i < extents.size(); ++i) header_ += samples::text(i == 0 ? "" : ",", extents[i]);
    header_ += samples::text(R"(],"data_offsets":[)", data_.size(), ",", data_.size() + bytes.size(), "]}");
    data_ += bytes;
    return *this;
  }
  [[nodiscard]] std::string bytes() const { return whole("{" + header_ + "}", data_); }
  /// Returns the bytes of a file with this header.
  static std::string whole(std::string_view header, std::string_view data) {
    std::string result;
    put<std::uint64_t>(result, header.size());
    result += header;
    result += data;
    return result;
  }

 private:
  std::string header_, data_;
};

/// Returns the bytes of a random model.
inline std::string random_model(Sizes const& sizes) {
  samples::Draw random;
  SafetensorsWriter file;
  // Draws numbers around `middle` with about this deviation.
  auto const tensor = [&](std::string const& name, std::vector<std::int64_t> const& extents, double middle,
                          double deviation) {
    std::int64_t count = 1;
    for (std::int64_t const extent : extents) count *= extent;
    std::string bytes;
    bytes.reserve(static_cast<std::size_t>(count) * sizeof(float));
    for (std::int64_t i = 0; i < count; ++i)
      SafetensorsWriter::put(
          bytes, static_cast<float>(middle + deviation * std::sqrt(3.0) * (random.below(1 << 16) / 32768.0 - 1)));
    file.tensor(name, extents, "F32", bytes);
  };
  auto const norm = [&](std::string const& name) {
    tensor(name + ".LayerNorm.weight", {sizes.width}, 1, 0.2);
    tensor(name + ".LayerNorm.bias", {sizes.width}, 0, 0.1);
  };
  auto const linear = [&](std::string const& name, std::int64_t outputs, std::int64_t inputs) {
    tensor(name + ".weight", {outputs, inputs}, 0, 1 / std::sqrt(static_cast<double>(inputs)));
    tensor(name + ".bias", {outputs}, 0, 0.1);
  };
  tensor("embeddings.word_embeddings.weight", {sizes.vocabulary, sizes.width}, 0, 1);
  tensor("embeddings.position_embeddings.weight", {sizes.positions, sizes.width}, 0, 0.3);
  tensor("embeddings.token_type_embeddings.weight", {2, sizes.width}, 0, 0.3);
  norm("embeddings");
  for (std::int64_t i = 0; i < sizes.layers; ++i) {
    std::string const name = layer_name(i);
    for (char const* of : {"query", "key", "value"}) linear(name + "attention.self." + of, sizes.width, sizes.width);
    linear(name + "attention.output.dense", sizes.width, sizes.width);
    norm(name + "attention.output");
    linear(name + "intermediate.dense", sizes.hidden, sizes.width);
    linear(name + "output.dense", sizes.width, sizes.hidden);
    norm(name + "output");
  }
  return file.bytes();
}

/// Draws sentences of 3 to `longest` tokens, where short ones are frequent.
inline std::vector<std::vector<int>> random_sentences(std::size_t count, int longest, std::int64_t vocabulary) {
  samples::Draw random;
  std::vector<std::vector<int>> result(count);
  for (auto& sentence : result) {
    int const bound = 1 + random.below(longest - 2);
    sentence.resize(static_cast<std::size_t>(3 + random.below(bound)));
    for (int& token : sentence) token = random.below(static_cast<int>(vocabulary));
  }
  return result;
}

}  // namespace minilm
