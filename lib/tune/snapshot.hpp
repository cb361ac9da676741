// Keeps the bytes of the tensors that a kernel writes, to restore and to compare them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tegula/runtime/argument.hpp"
#include "tegula/abi/compiled_kernel.hpp"
#include "tegula/runtime/stream.hpp"

namespace tegula::tuning {

/// Holds copies of the tensors that a kernel writes, on the host. Work on the stream before it is waited for.
class Snapshot {
 public:
  Snapshot(stream const& order, std::span<ParameterInfo const> parameters, std::span<Argument const> arguments);

  /// Writes the bytes back.
  void restore(stream const& order) const;

  /// Says how another one, of the same tensors, differs.
  struct Difference {
    bool identical = true;
    std::string why;  ///< more than rounding: the first place, and the values; empty: there is none
  };
  [[nodiscard]] Difference difference(Snapshot const& other) const;

 private:
  struct Piece {
    int parameter;
    Element element;
    bool on_host;
    void* address;
    std::vector<std::byte> bytes;
  };
  std::vector<Piece> pieces_;
};

}  // namespace tegula::tuning
