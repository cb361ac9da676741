// Maps the global memory of a launch to the machine's spaces. Each run of bytes that arguments reach has one, so that
// tensors which overlap share their history.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/indices.hpp"
#include "sim/machine/machine.hpp"

namespace tegula::sim::block {

class GlobalMemory {
 public:
  /// Collects the arguments' memory. `preceding`: a grid before this one may still write it.
  GlobalMemory(ir::Function const& kernel, Arguments const& arguments, bool preceding);

  /// Registers the buffers, before each run.
  void add_to(machine::Machine&);

  /// Returns false if nothing writes the tensor: accesses to it need no footprint.
  [[nodiscard]] bool recorded(int tensor) const { return !spaces_[of(tensor)].buffer.read_only; }
  [[nodiscard]] machine::Space space(int tensor) const { return spaces_[of(tensor)].space; }
  /// Returns the offset of an address in the tensor's space.
  [[nodiscard]] std::uint64_t offset(int tensor, std::byte const* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - spaces_[of(tensor)].base;
  }

 private:
  struct SpaceOf {
    machine::Buffer buffer;
    machine::Space space = 0;
    std::uintptr_t base = 0;
    std::uintptr_t end = 0;
    std::vector<int> tensors;
  };
  [[nodiscard]] std::size_t of(int tensor) const { return space_of_[static_cast<std::size_t>(tensor)]; }

  std::vector<SpaceOf> spaces_;
  std::vector<std::size_t> space_of_;  ///< by argument
  std::vector<std::string> names_;     ///< by argument
  struct Range {
    std::uintptr_t begin, end;
  };
  std::vector<Range> ranges_;
};

}  // namespace tegula::sim::block
