// Computes the model in float64 with plain loops: the reference of the kernels. It shares nothing with them but the
// reader of the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gguf.hpp"

namespace smollm {

class Reference {
 public:
  /// Dequantises all weights to float64. The file must be one that sizes_of() takes.
  explicit Reference(Gguf const& file);
  /// Returns the logits after the next token of the sequence.
  std::vector<double> step(int token);

 private:
  using Matrix = std::vector<double>;
  struct Layer {
    Matrix attention_gain, hidden_gain, q, k, v, o, gate, up, down;
    Matrix keys, values;  // of all steps
  };
  [[nodiscard]] std::vector<double> normalized(std::vector<double> const& x, Matrix const& gain) const;
  void rotate(double* head_values) const;
  [[nodiscard]] std::vector<double> attention(Layer const& layer, std::vector<double> const& q) const;

  std::int64_t width_, heads_, key_heads_, steps_ = 0;
  double epsilon_, base_;
  Matrix table_, last_gain_;
  std::vector<Layer> layers_;
};

/// Returns all weights of a tensor in float64.
std::vector<double> dequantised(Tensor const& tensor);

}  // namespace smollm
