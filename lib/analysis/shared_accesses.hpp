// Describes the bytes that an op reads or writes, their proxy, and the threads that touch each of them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/affine.hpp"
#include "analysis/shared_buffers.hpp"
#include "analysis/uniformity.hpp"
#include "ir/core/op.hpp"

namespace tegula::analysis {

/// Names the threads that must meet for one access to be ordered after another.
enum class Level : std::uint8_t {
  none,       ///< nobody: each byte is touched by the same thread, or by one of the two only
  warp,       ///< the lanes of each warp
  warpgroup,  ///< the warps of each warpgroup, in a group of several
  group,      ///< all warps that run the block together: the CTA, or one replica of a partition
  replicas,   ///< all replicas of the partition
};
std::string_view name(Level level);

/// Describes the box of a buffer or a tensor that an access touches. In a kernel of several warps the box may move with
/// the warp.
struct Slice {
  struct Axis {
    Affine offset;              ///< without warp_index
    std::int64_t per_warp = 0;  ///< times warp_index
    std::int64_t extent = 1;
    std::int64_t padding = 0;  ///< elements of the tile behind the box, which are not touched
  };
  ir::Value const* root = nullptr;  ///< buffer_alloc's result or a tensor parameter; null: bytes alone, or all tensors
  std::vector<Axis> axes;           ///< one per axis of the root
  std::vector<int> axis_of;         ///< for each axis of the tile that is moved, the root's
  bool whole = false;               ///< some part of the root: it is not known which
};

/// Says when the earlier of two accesses was made.
struct When {
  ir::Op const* turn =
      nullptr;               ///< in an earlier iteration of this loop; null: in the same iteration of each around both
  bool just_before = false;  ///< in the iteration right before, and in the last ones of loops inside `turn`
  friend auto operator<=>(When const&, When const&) = default;
};

/// Describes one access of one op.
struct Access {
  enum class Holders : std::uint8_t {
    every,   ///< every executing thread touches every element
    layout,  ///< as the layout says
    owners,  ///< the owners of the layout
    rows,    ///< each warp the rows of the first axis that it has in the layout
    lane,    ///< one lane: of warp `elected`, or of each warp or warpgroup
    chunks,  ///< thread t of n the chunks t, t + n, ... of `vector` elements
  };
  ir::Op const* op = nullptr;
  ir::Op const* waited_by = nullptr;  ///< a copy that one lane waited for: as if that lane had made the access
  ir::Space space = ir::Space::shared;
  bool write = false;
  bool atomic = false;
  ir::Proxy proxy = ir::Proxy::generic;
  Completion completion = Completion::none;
  Slice slice;
  std::int64_t begin = 0, end = 0;  ///< shared: the root's bytes in the function's shared memory
  Holders holders = Holders::every;
  layout::Layout const* layout = nullptr;
  std::int64_t elected = not_elected;  ///< the warp of the elect region around the op, or each warp or warpgroup
  std::int64_t vector = 1;

  static constexpr std::int64_t not_elected = -2;
};

/// Names a hazard by its two accesses of the same bytes.
enum class HazardKind : std::uint8_t {
  raw,  ///< read after write
  war,  ///< write after read
  waw,  ///< write after write
};
std::string_view name(HazardKind kind);
/// Returns the hazard of two accesses of the same bytes; nothing: both read.
std::optional<HazardKind> hazard_kind(Access const& earlier, Access const& later);
/// Tells whether two accesses of the same bytes need an order: they are a hazard, and not both atomic.
bool need_order(Access const& earlier, Access const& later);

/// Returns the warp attribute of the elect region around an op, or Access::not_elected.
std::int64_t elected_around(ir::Op const& op);
/// Tells whether `op` is `outer`, or inside it.
bool is_inside(ir::Op const& op, ir::Op const& outer);
bool is_inside(ir::Value const& value, ir::Op const& outer);

/// Finds the accesses of a function's ops, and their relations. Tables are kept for its lifetime. Meanwhile only ops
/// without accesses may be added to the function or removed.
class SharedAccesses {
 public:
  /// Begins with the `warps` of the group that runs the function's body; offsets of shared memory must be decided.
  /// `uniformity`: tells which numbers these warps have in common; null: accesses are related by their own sums alone.
  SharedAccesses(ir::Function const& function, int warps, Uniformity const* uniformity = nullptr);

  /// Returns all accesses of an op, in the order of its record; none for calls, regions and `in` tensors of kernels.
  std::vector<Access> const& of(ir::Op const& op);
  /// Returns the bytes through which an op's warps exchange; null if it exchanges nothing.
  Access const* scratch(ir::Op const& op, bool write);
  /// Returns `copy`, as known to the lanes that executed a wait for it.
  Access const& waited(Access const& copy, ir::Op const& wait);
  /// Returns the copies that count on an mbarrier of this buffer.
  std::vector<Access const*> const& counted_on(ir::Op const& mbarriers);
  /// Returns the box of a called function's access, in a tensor and sums of this one's values. It is some part of the
  /// root if the function moves it by more than its arguments, or if it lies in the function's shared memory.
  Slice slice_at(ir::Op const& call, Slice const& inside);
  /// Keeps an access that is made elsewhere: one of a called function, in bytes or tensors of this one.
  Access const& keep(Access access);

  /// Returns the threads that must meet between two accesses of one group of `warps`, of which at least one writes.
  Level between(Access const& earlier, Access const& later, When when, int warps) {
    return relation(earlier, later, when, warps).value_or(Level::none);
  }
  /// Returns the same; nothing if no byte is touched by both.
  std::optional<Level> relation(Access const& earlier, Access const& later, When when, int warps);
  /// Returns the same for two different replicas of the partition `block`: Level::none or Level::replicas.
  Level between_replicas(Access const& earlier, Access const& later, ir::Block const& block);
  /// Tells whether both may touch some byte, in any threads.
  bool touch(Access const& earlier, Access const& later);
  /// Tells whether `later` writes every byte of `earlier`, which may belong to an earlier iteration.
  static bool covers(Access const& later, Access const& earlier, ir::Op const* turn);

  [[nodiscard]] Affines& affines() { return affines_; }
  /// Prints one line per access of the function, in the order of its text.
  std::string str();

 private:
  struct Element {
    std::uint64_t key = 0;
    std::int16_t warp = 0;  ///< -1: several
    std::int16_t lane = 0;  ///< -1: several; 32: the elected one
  };
  using Footprint = std::vector<Element>;
  struct Place {
    std::int32_t element, warp, lane;
  };

  void add(ir::Op const& op, ir::Effect const& effect, std::vector<Access>& into);
  Slice slice_of(ir::Value const& value);
  Slice slice_in_global(ir::Op const& op, ir::Value const& named, ir::Value const* registers);
  Slice slice_of_tensor(ir::Op const& op, ir::Value const& tensor, Extents const& shape);
  static void move(Slice::Axis& axis, Affine const& by);
  void see_through(ir::Op const& view, Slice& slice);
  void place_bytes(Access& access);
  /// Holds a sum in two parts: values at the later access, and values at the earlier one.
  struct Sums {
    Affine now, before;
    std::int64_t modulus = 0;  ///< the number differs from both by whole multiples of it
  };
  struct AxisPair;
  Meeting meeting(Access const& earlier, Access const& later, int axis, std::optional<When> when,
                  ir::Block const* replicas, int warps);
  bool kept_apart_by_loops(AxisPair const& pair);
  Meeting meeting_of_slots(AxisPair const& pair, When when);
  bool boxes_meet(Access const& earlier, Access const& later, ir::Block const* replicas);
  std::optional<Level> relation_of_roots(Access const& earlier, Access const& later, int warps);
  std::optional<Level> relation_of_boxes(Access const& earlier, Access const& later, When when, int warps);
  Sums without_slots(Affine sum, Access const& earlier, When when);
  Affine bounded_above(Affine const& sum, Access const& of, Access const& other);
  [[nodiscard]] bool uniform(Affine const& sum) const;
  Footprint const& footprint(Access const& access, unsigned axes, int warps);
  Footprint const& bytes_of(Access const& access, int warps);
  std::vector<Place> const& places(Access const& access, int warps);
  template <class Visit>
  void each_element(Access const& access, int warps, Visit const& visit);
  static std::optional<Level> compare(Footprint const& a, Footprint const& b);
  static void settle(Footprint& footprint);

  ir::Function const& function_;
  int warps_;
  Uniformity const* uniformity_;
  Affines affines_;
  std::map<ir::Op const*, std::int64_t> offsets_;  ///< of buffer_alloc ops and exchanges
  std::map<ir::Op const*, std::vector<Access>> accesses_;
  std::map<std::pair<ir::Op const*, bool>, std::unique_ptr<Access>> scratch_;
  std::map<std::pair<Access const*, ir::Op const*>, std::unique_ptr<Access>> waited_;
  std::map<ir::Op const*, std::vector<Access const*>> counted_;
  bool counted_found_ = false;
  std::vector<std::unique_ptr<Access>> kept_;
  struct FootprintKey {
    Access const* access;
    unsigned axes;
    int warps;
    friend auto operator<=>(FootprintKey const&, FootprintKey const&) = default;
  };
  std::map<FootprintKey, Footprint> footprints_;
  struct PlacesKey {
    layout::Layout const* layout;
    bool owners;
    int warps;
    friend auto operator<=>(PlacesKey const&, PlacesKey const&) = default;
  };
  std::map<PlacesKey, std::vector<Place>> places_;
  struct PairKey {
    Access const *earlier, *later;
    When when;
    int warps;
    friend auto operator<=>(PairKey const&, PairKey const&) = default;
  };
  std::map<PairKey, std::optional<Level>> levels_;
};

}  // namespace tegula::analysis
