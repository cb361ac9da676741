// Packs the parameters of a launch as code takes them: 64-bit slots, then tensor maps (see CompiledKernel). Checks only
// the rules of tensor maps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/cuda/tensor_map.hpp"
#include "tegula/runtime/argument.hpp"
#include "tegula/abi/compiled_kernel.hpp"

namespace tegula::runtime {

/// Packs in place: filling again for the same kernel does not allocate, and encodes only the maps that change.
class ArgumentPack {
 public:
  ArgumentPack() = default;
  ArgumentPack(ArgumentPack const&) = delete;
  ArgumentPack& operator=(ArgumentPack const&) = delete;

  /// Fills slots and, for a launch with blocks, tensor maps, which come out of `maps`. Throws as describe and the cache
  /// throw; then the pack is unchanged.
  void fill(CompiledKernel const& kernel, std::span<Argument const> arguments, std::int64_t const (&grid)[3],
            std::int64_t multiprocessors, int device, cuda::TensorMapCache& maps);

  [[nodiscard]] std::span<std::int64_t const> slots() const { return slots_; }
  [[nodiscard]] std::span<cuda::TensorMap const> tensor_maps() const { return maps_; }
  /// Returns the address of each slot, then of each tensor map, as cuLaunchKernelEx takes them. They live as long as
  /// the pack.
  [[nodiscard]] void** parameters() const { return const_cast<void**>(parameters_.data()); }
  [[nodiscard]] std::size_t parameter_count() const { return parameters_.size(); }

 private:
  void fill_maps(CompiledKernel const& kernel, std::span<Argument const> arguments, int device,
                 cuda::TensorMapCache& maps);

  std::vector<std::int64_t> slots_;
  std::vector<cuda::TensorMap> maps_;
  std::vector<cuda::TensorMapRequest> requests_;  ///< of maps_; empty: not encoded
  std::vector<cuda::TensorMap> next_maps_;
  std::vector<cuda::TensorMapRequest> next_requests_;
  std::vector<void*> parameters_;
};

}  // namespace tegula::runtime
