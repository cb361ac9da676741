// Reads a safetensors file: the places of its tensors. The file is mapped; tensors are read where they lie.
//
// Each field is checked before it is used: a damaged file gives a FileError with the finding, never a wrong read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "support/file_bytes.hpp"

namespace minilm {

using samples::FileError;

/// Describes a tensor inside the file.
struct Tensor {
  std::string element;                ///< as the file names it, such as F32
  std::vector<std::int64_t> extents;  ///< outermost first
  std::span<std::byte const> bytes;
};

class Safetensors {
 public:
  /// Maps the file and checks all of its fields. Throws FileError.
  explicit Safetensors(std::string const& path);
  /// Takes the bytes of a file; `name` stands in errors. Throws FileError.
  Safetensors(std::string name, std::string bytes);

  /// Returns a tensor. Throws FileError if there is none of this name.
  [[nodiscard]] Tensor const& tensor(std::string const& name) const;
  /// Returns the numbers of a tensor of F32, F16 or BF16 and of these extents. Throws FileError.
  [[nodiscard]] std::vector<float> values(std::string const& name, std::vector<std::int64_t> const& extents) const;
  [[nodiscard]] std::map<std::string, Tensor, std::less<>> const& tensors() const { return tensors_; }
  [[nodiscard]] std::string const& path() const { return path_; }

 private:
  void read();
  void check_places(std::span<std::byte const> data) const;

  std::string path_;
  samples::FileBytes bytes_;
  std::map<std::string, Tensor, std::less<>> tensors_;
};

}  // namespace minilm
