// Maps threads and registers (or shared offsets) to the elements of a tile that they hold.
//
// A layout is a map from input indices (register, lane, warp, block, or a shared offset) to output coordinates (the
// tile's axes). It is an F2-linear map on a power-of-two atom, times a plain mixed-radix repetition of that atom:
//
//   input index   = low bits | 2^bits * (d0 + n0 * (d1 + n1 * ...))       per input: bits, then digits of any radix
//   coordinates   = XOR of the basis vectors of the set bits  +  sum of digit * stride
//
// The strides of an output's digits tile it: the first is the atom's extent, each next one is the last times its count.
// So XOR and sum never carry into each other. A zero basis vector or stride is a replication: several threads or
// registers hold the same element. Blocked, mma and wgmma fragments, their slices, and swizzled shared tiles are all
// values of this one class. Layouts are immutable and interned: equal maps of equal structure are one pointer, alive
// for the process.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/support/extents.hpp"

namespace tegula::layout {

/// Names an index: the inputs of a distributed layout, a shared offset (in elements), or an axis of a tile.
enum class Dim : std::uint8_t {
  reg,
  lane,
  warp,
  block,
  offset,
  axis0,
  axis1,
  axis2,
  axis3,
  axis4,
  axis5,
  axis6,
  axis7
};

inline constexpr int dim_count = 13;
constexpr Dim axis_dim(int axis) { return static_cast<Dim>(static_cast<int>(Dim::axis0) + axis); }
std::string_view name(Dim dim);

/// Repeats: `count` copies, each `stride` further. At most one component of stride is not 0; all 0: a replication.
struct LayoutDigit {
  std::int64_t count = 1;
  Extents stride;
  friend bool operator==(LayoutDigit const&, LayoutDigit const&) = default;
};

/// Holds one input of a layout: basis vectors of its bits, lowest first, then its digits, fastest first.
struct LayoutInput {
  Dim dim = Dim::reg;
  std::vector<Extents> bases;
  std::vector<LayoutDigit> digits;

  /// Counts the index values: 2^bits times the digits' counts.
  [[nodiscard]] std::int64_t size() const;
  friend bool operator==(LayoutInput const&, LayoutInput const&) = default;
};

/// Lists the steps of threads that reduce along an axis, from the inside out.
struct ReductionPlan {
  std::uint32_t lane_mask = 0;   ///< lane bits that move along the axis: butterfly over each
  std::uint32_t warp_mask = 0;   ///< warp bits that move along the axis: exchange through shared memory
  std::int64_t warp_digits = 1;  ///< product of the warp digits along the axis
};

class Layout {
 public:
  /// Returns the layout of these inputs (in any order; absent ones have size 1) to these outputs, in canonical form.
  /// Throws InternalError when the digits do not tile their outputs.
  static Layout const* get(std::vector<LayoutInput> inputs, std::vector<Dim> outputs);
  /// Does the same with the axes 0..rank-1 as outputs.
  static Layout const* get(std::vector<LayoutInput> inputs, int rank);
  /// Does the same; null when the digits do not tile their outputs.
  static Layout const* try_get(std::vector<LayoutInput> inputs, int rank);

  /// Returns each thread `size_per_thread` adjacent elements per axis. Lanes, then warps, then further registers are
  /// distributed over the axes in `order` (fastest first). Lanes and warps beyond the tile replicate. size_per_thread
  /// entries are powers of two that divide the extents.
  static Layout const* blocked(Extents const& shape, Extents const& size_per_thread, int warps, Extents const& order);
  /// Does the same with the lanes and warps of every axis given (lanes are powers of two that multiply to 32). An odd
  /// factor of an axis' warps takes as many parts of an extent that it divides, else it is replication. So many
  /// `copies` of all this are spread over further warps.
  static Layout const* blocked(Extents const& shape, Extents const& size_per_thread, Extents const& lanes,
                               Extents const& warps, Extents const& order, std::int64_t copies = 1);
  /// Returns a line of elements in which each warp holds a run, and each register of the warp the next ones of it, one
  /// a lane: order is warp, register, lane. Lanes and warps for which there is nothing left replicate. Where the extent
  /// has an odd factor all warps hold the whole line.
  static Layout const* runs(std::int64_t extent, int warps);
  /// Returns a dense tile in memory: offset = the row-major index, with the axes in `order` (fastest first).
  static Layout const* dense(Extents const& shape, Extents const& order);

  [[nodiscard]] std::span<LayoutInput const> inputs() const { return inputs_; }
  [[nodiscard]] std::span<Dim const> outputs() const { return outputs_; }
  [[nodiscard]] int rank() const { return static_cast<int>(outputs_.size()); }
  /// Returns the extents of the outputs: atom times repetition.
  [[nodiscard]] Extents const& shape() const { return shape_; }
  /// Returns the extents of the power-of-two atom.
  [[nodiscard]] Extents const& atom() const { return atom_; }
  /// Returns the input of that name; an empty one when there is none.
  [[nodiscard]] LayoutInput const& input(Dim dim) const;
  /// Counts the index values of an input; 1 when absent.
  [[nodiscard]] std::int64_t size(Dim dim) const { return input(dim).size(); }
  /// Counts the elements that one thread holds.
  [[nodiscard]] int registers() const { return static_cast<int>(size(Dim::reg)); }
  [[nodiscard]] int lanes() const { return static_cast<int>(size(Dim::lane)); }
  [[nodiscard]] int warps() const { return static_cast<int>(size(Dim::warp)); }

  /// Returns the coordinates that an index of one input adds when all others are 0.
  [[nodiscard]] Extents part(Dim dim, std::int64_t index) const;
  /// Returns the coordinates of the element that a thread's register holds.
  [[nodiscard]] Extents at(std::int64_t reg, std::int64_t lane, std::int64_t warp, std::int64_t block = 0) const;
  /// Returns the coordinates for one index per input, in the order of inputs().
  [[nodiscard]] Extents apply(std::span<std::int64_t const> indices) const;
  /// Joins two coordinates of this layout that come from different inputs.
  [[nodiscard]] Extents join(Extents const& a, Extents const& b) const;

  /// True when every coordinate is reached.
  [[nodiscard]] bool surjective() const;
  /// True when two inputs never reach one coordinate.
  [[nodiscard]] bool injective() const;
  /// Returns the bits of an input that only replicate. The elements with all free bits 0 and all replicating digits 0
  /// are all the elements, once each. Registers replicate last, warps first.
  [[nodiscard]] std::uint32_t free_bits(Dim dim) const;
  /// True for the one holder of an element that writes it.
  [[nodiscard]] bool owner(std::int64_t reg, std::int64_t lane, std::int64_t warp) const;

  /// Returns the maximum power of two v such that registers v*i .. v*i+v-1 of every thread hold v adjacent elements
  /// along `axis`, starting at a coordinate that v divides.
  [[nodiscard]] int contiguous(int axis) const;
  /// Finds lanes and warps that hold different coordinates along an axis; null when a bit moves along it and another
  /// axis.
  [[nodiscard]] std::optional<ReductionPlan> reduction(int axis) const;
  /// Finds, for each register of this layout, the register of `source` that holds the same element in the same thread.
  /// Empty when some element lies in another thread there.
  [[nodiscard]] std::vector<int> registers_from(Layout const& source) const;

  /// Composes: first `first`, then this; the outputs of `first` are this layout's inputs. Null when the digits of one
  /// do not fit the other.
  [[nodiscard]] Layout const* after(Layout const& first) const;
  /// Maps coordinates back to the owner's indices; needs a surjective layout (null otherwise).
  [[nodiscard]] Layout const* inverse() const;
  /// Returns the layout q with *this = small x q (small innermost); null when small does not divide.
  [[nodiscard]] Layout const* divided_by(Layout const& small) const;
  /// Returns small x large: this layout's bits below, `large`'s above, outputs multiplied. Digits must not lie below
  /// bits.
  [[nodiscard]] Layout const* times(Layout const& large) const;

  /// Reduces the axis to extent 1: elements along it become replication. Registers that only replicate are dropped.
  [[nodiscard]] Layout const* collapsed(int axis) const;
  /// Does the same and drops the axis.
  [[nodiscard]] Layout const* sliced(int axis) const;
  /// Inserts a new axis of extent 1 before `axis`.
  [[nodiscard]] Layout const* expanded(int axis) const;
  /// Drops an axis of extent 1.
  [[nodiscard]] Layout const* squeezed(int axis) const;
  /// Permutes: output i is this layout's output permutation[i].
  [[nodiscard]] Layout const* transposed(Extents const& permutation) const;
  /// Sees the elements, in row-major order, in another shape. Null where no layout says so: an odd factor of an extent
  /// would lie below a power of two.
  [[nodiscard]] Layout const* reshaped(Extents const& shape) const;
  /// Puts `count` tiles of this layout one after the other along an axis, each thread with its part of all. Registers
  /// keep the order of the axes, so that adjacent elements stay adjacent.
  [[nodiscard]] Layout const* repeated(int axis, std::int64_t count) const;
  /// Drops registers that hold the same element as a lower register of the same thread.
  [[nodiscard]] Layout const* without_register_copies() const;

  /// Prints `[register (0,1) (0,2) 3*(0,64), lane (0,4) ..., warp (1,0)]`; brackets are balanced. Outputs that are not
  /// the axes 0.. are named at the end: `[axis0 (1) (2) to offset]`.
  [[nodiscard]] std::string const& text() const { return text_; }
  /// Reads text(); null with a message for malformed text.
  static Layout const* parse(std::string_view text, std::string& error);
  /// Draws a grid of `thread:register` for tiles of up to two axes, `w1 l3 r0` per element; the owner is shown.
  [[nodiscard]] std::string picture() const;

  Layout(Layout const&) = delete;
  Layout& operator=(Layout const&) = delete;

 private:
  Layout() = default;
  static Layout const* intern(std::vector<LayoutInput> inputs, std::vector<Dim> outputs, std::string* error);
  static std::string make_text(std::vector<LayoutInput> const& inputs, std::vector<Dim> const& outputs);
  void find_free_bits();
  bool pass_digit(Layout const& first, LayoutDigit const& digit, std::vector<LayoutDigit>& result) const;
  bool pass_through_digits(Layout const& first, LayoutDigit const& digit, std::vector<LayoutDigit>& result) const;
  [[nodiscard]] std::optional<Extents> step_of(LayoutInput const& input) const;

  std::vector<LayoutInput> inputs_;  ///< ascending by dim; inputs without bits and digits are left out
  std::vector<Dim> outputs_;
  Extents atom_;
  Extents shape_;
  std::vector<std::uint32_t> free_bits_;  ///< one per input
  bool surjective_ = false;
  std::string text_;
};

}  // namespace tegula::layout
