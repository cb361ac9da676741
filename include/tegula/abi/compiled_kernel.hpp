// Holds the compiler's output for the runtime: plain, serialisable data, without IR or LLVM types.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tegula/support/element.hpp"
#include "tegula/abi/budget.hpp"
#include "tegula/abi/launch_op.hpp"
#include "tegula/abi/profile_format.hpp"
#include "tegula/abi/tensor_map_info.hpp"

namespace tegula {

enum class Direction : std::uint8_t { in, out, inout };
enum class ParameterKind : std::uint8_t { tensor, scalar };

/// States facts about one tensor argument that the code was specialised on. The launcher checks them before each launch
/// (prepared launches: once). It never picks a variant whose facts do not hold.
struct TensorFacts {
  bool unit_inner_stride = false;  ///< stride of the last axis is 1 (or its extent is 1 or less)
  /// Address and all strides but the last suit TMA, multiples of 16 bytes in 0 .. 2^40 - 1, and so do all extents.
  bool aligned_16 = false;
  /// The last axis is a whole number of pieces of 16 bytes, and not the only one: extents of vectors make no builds.
  bool whole_16 = false;
  friend bool operator==(TensorFacts const&, TensorFacts const&) = default;
  /// Returns the facts that hold of both.
  friend constexpr TensorFacts operator&(TensorFacts a, TensorFacts b) {
    return {a.unit_inner_stride && b.unit_inner_stride, a.aligned_16 && b.aligned_16, a.whole_16 && b.whole_16};
  }
  /// Returns the facts that hold of either.
  friend constexpr TensorFacts operator|(TensorFacts a, TensorFacts b) {
    return {a.unit_inner_stride || b.unit_inner_stride, a.aligned_16 || b.aligned_16, a.whole_16 || b.whole_16};
  }
};

struct ParameterInfo {
  ParameterKind kind = ParameterKind::tensor;
  Direction direction = Direction::in;
  Element element = Element::f32;
  int rank = 0;  ///< 0 for scalars
  TensorFacts facts;
  friend bool operator==(ParameterInfo const&, ParameterInfo const&) = default;
};

/// Counts the argument slots after the parameters': see CompiledKernel.
inline constexpr int launch_slots = 4;

/// States the number of multiprocessors that host and simulator report. It is the same on every machine, and small: a
/// grid of that many blocks has several tiles per block already for small arguments.
inline constexpr std::int64_t host_multiprocessors = 4;

struct LaunchInstruction {
  LaunchOp op = LaunchOp::constant;
  std::int32_t a = 0, b = 0, c = 0;
  std::int64_t value = 0;
  friend bool operator==(LaunchInstruction const&, LaunchInstruction const&) = default;
};

/// States a condition written with `require`: evaluated on the host at every launch (prepared: once).
struct Requirement {
  std::int32_t condition = 0;  ///< index of the step that must not be 0
  std::string message;
  std::string file;  ///< source line of the require, for the UserError
  std::uint32_t line = 0;
  friend bool operator==(Requirement const&, Requirement const&) = default;
};

/// Computes grid and requirements on the host from the arguments' extents and scalars.
struct LaunchProgram {
  std::vector<LaunchInstruction> steps;
  std::array<std::int32_t, 3> grid = {-1, -1, -1};  ///< step of each grid extent; -1: 1
  std::vector<Requirement> requirements;
  friend bool operator==(LaunchProgram const&, LaunchProgram const&) = default;
};

enum class ImageKind : std::uint8_t {
  host_object,  ///< a relocatable object file for the host (ELF), entry signatures below
  ptx,          ///< PTX text
  cubin,        ///< machine code for one GPU architecture
};

/// Describes one phase of a host kernel: all its blocks run, in any order and in parallel, before the next phase
/// starts.
/// Entry: void entry(std::int64_t const* slots, std::int64_t first, std::int64_t last, void* workspace, void* scratch)
/// runs the linear blocks [first, last). All blocks and phases of one launch share workspace; scratch belongs to the
/// calling thread. Both are 64-byte aligned.
struct HostPhase {
  std::string entry;
  std::int32_t blocks = -1;  ///< launch-program step with the number of linear blocks; -1: product of the grid
  friend bool operator==(HostPhase const&, HostPhase const&) = default;
};

/// Holds a kernel compiled for one target.
///
/// All targets share the argument slots, of 8 bytes each, in parameter order. A tensor gives its address, its extents
/// and its strides in elements, outermost first. A scalar gives its value in the low bytes, integers sign-extended.
/// After the parameters come the three grid extents, then the number of multiprocessors. The host entry takes a pointer
/// to the slots. The GPU entry takes each slot as one 64-bit parameter and then one 128-byte tensor map by value per
/// entry of tensor_maps. Linear block b is (b % g0, b / g0 % g1, b / (g0 * g1)). A GPU launch has one axis of g0 * g1 *
/// g2 blocks.
struct CompiledKernel {
  std::string name;
  std::string architecture;  ///< "x86-64-v3", "znver4", ..., "sm_90a"
  std::vector<ParameterInfo> parameters;
  LaunchProgram launch;
  ImageKind image_kind = ImageKind::host_object;
  std::string image;
  std::vector<HostPhase> phases;           ///< host only
  std::int32_t workspace_bytes = -1;       ///< host only: launch-program step, -1: none
  std::int64_t scratch_bytes = 0;          ///< host only: per thread
  std::string entry;                       ///< GPU only
  int threads_per_cta = 0;                 ///< GPU only
  std::int64_t shared_bytes = 0;           ///< GPU only: dynamic shared memory
  std::vector<TensorMapInfo> tensor_maps;  ///< GPU only
  int cluster = 1;                         ///< GPU only: CTAs per cluster, along the launch's one axis
  bool dependent_launch = false;  ///< GPU only: may start before the previous kernel of the stream ends; waits for it
                                  ///< itself (griddepcontrol.wait)
  LargestTile largest;            ///< GPU only
  ProfileLayout profile;          ///< of its log, the symbol profile_symbol; no rows: it records nothing
  friend bool operator==(CompiledKernel const&, CompiledKernel const&) = default;
};

}  // namespace tegula
