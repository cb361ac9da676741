// Computes the model in float64 with plain loops: the reference of the kernels. It shares nothing with them but the
// reader of the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "safetensors.hpp"
#include "sizes.hpp"

namespace minilm {

class Reference {
 public:
  Reference(Safetensors const& file, Sizes const& sizes) : file_(file), sizes_(sizes) {}
  /// Returns the embedding of a sentence.
  [[nodiscard]] std::vector<double> embed(std::vector<int> const& tokens) const;

 private:
  using Rows = std::vector<std::vector<double>>;
  [[nodiscard]] Rows linear(Rows const& x, std::string const& name, std::int64_t outputs) const;
  void normalize(Rows& x, std::string const& name) const;
  [[nodiscard]] Rows attended(Rows const& x, std::string const& name) const;

  Safetensors const& file_;
  Sizes const sizes_;
};

}  // namespace minilm
