// Writes gguf files of tests.
#pragma once

#include <string>
#include <string_view>

#include "smollm/random_model.hpp"
#include "support/written_file.hpp"

namespace tegula::test {

using smollm::GgufWriter;
using smollm::random_model;

/// States the sizes of a small model.
struct SmallModel : smollm::RandomModel {
  SmallModel() : RandomModel{.width = 192, .hidden = 384, .heads = 3, .key_heads = 1, .layers = 2, .vocabulary = 500} {}
  /// Returns it with another number.
  [[nodiscard]] SmallModel with(std::uint64_t RandomModel::*member, std::uint64_t number) const {
    SmallModel result = *this;
    result.*member = number;
    return result;
  }
};

/// Writes a gguf file that is removed again.
class FileOf : public WrittenFile {
 public:
  FileOf(std::string_view name, std::string_view bytes)
      : WrittenFile("smollm_test_" + std::string(name) + ".gguf", bytes) {}
};

}  // namespace tegula::test
