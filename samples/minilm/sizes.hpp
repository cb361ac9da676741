// Holds the sizes of a model of BERT's form, and the names of its tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/file_bytes.hpp"

namespace minilm {

using samples::FileError;

inline constexpr int head = 32;  ///< width of a head

/// Holds the numbers of a model; those by default are all-MiniLM-L6-v2's.
struct Sizes {
  std::int64_t width = 384, hidden = 1536, layers = 6, vocabulary = 30522, positions = 512;
  float epsilon = 1e-12F;
};
/// Reads config.json and checks it. Throws FileError if the model is not of BERT's form, or has another width.
Sizes sizes_of(std::string const& path, std::int64_t width, std::int64_t hidden);

/// Exchanges rows and columns: the file has W as (outputs, inputs), products take (inputs, outputs).
std::vector<float> transposed(std::vector<float> const& w, std::int64_t rows);

/// Names the tensors of a layer.
inline std::string layer_name(std::int64_t layer) { return samples::text("encoder.layer.", layer, "."); }

}  // namespace minilm
