// Describes an op struct: family, executors, names of operands, attribute fields, effects and traits. Plain constexpr
// tables; lib/ir/core/op_info.cpp turns them into the one table behind printing, parsing, equality, hashing and
// effects.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tegula/support/element.hpp"
#include "tegula/support/extents.hpp"
#include "tegula/support/pack.hpp"
#include "tegula/support/symbol.hpp"

namespace tegula::ir {

class Op;    // lib/ir/core/op.hpp
class Type;  // include/tegula/ir/type.hpp

/// Holds a scalar constant: its element and its bits (floats in their own format, integers sign-extended, booleans 0 or
/// 1).
struct Constant {
  Element element = Element::i64;
  std::uint64_t bits = 0;
  friend constexpr bool operator==(Constant const&, Constant const&) = default;
};

enum class Space : std::uint8_t {
  none,
  global,
  shared,
  console,  ///< messages to the host, kept in order; not memory
  log,      ///< records of events, kept in order; not memory
};
enum class Access : std::uint8_t { none, read, write };
enum class Proxy : std::uint8_t { generic, async };

/// Names the op that completes an access.
enum class Completion : std::uint8_t {
  none,      ///< the access is done when the op is
  mbarrier,  ///< mbarrier_wait on the op's mbarrier
  bulk,      ///< bulk_commit, then bulk_wait by the same lane
  wgmma,     ///< wgmma_commit, then wgmma_wait by the same warp
  cp_async,  ///< cp_async_commit, then cp_async_wait by the same thread; or cp_async_arrive
  later,     ///< the op stands for an access that a pass makes of it
};

/// Says how the executing threads share the elements of an access.
enum class Sharing : std::uint8_t {
  registers,  ///< as they hold the tile that the op moves; without such a tile each touches all elements
  rows,       ///< each warp the rows of the first axis that it has in the result's layout
  chunks,     ///< thread t of n the chunks t, t + n, ... of `vector` elements
  anywhere,   ///< each thread some elements, which follow from addresses
};

/// Describes one memory access of an op: where, how and through which proxy; `operand` is the operand accessed (-1:
/// none named).
struct Effect {
  Space space = Space::none;
  Access access = Access::none;
  Proxy proxy = Proxy::generic;
  std::int8_t operand = -1;
  Completion completion = Completion::none;
  Sharing sharing = Sharing::registers;
  bool atomic = false;
};

/// Lists everything an op does beyond computing its results from its operands. No effects and no traits: pure. All that
/// passes and analyses know of an op's accesses follows from this list and from the names of its operands:
/// - `offsets` place a box in a tensor; without them the op touches some part of it,
/// - `tile` or `value` is written, the result is read; other boxes have the extents of the view in shared memory,
/// - with a `rank`, shared memory is that of another CTA.
struct Effects {
  std::array<Effect, 6> list = {};
  int count = 0;

  [[nodiscard]] constexpr Effect const* begin() const { return list.data(); }
  [[nodiscard]] constexpr Effect const* end() const { return list.data() + count; }
  /// Returns the same accesses, which another op completes.
  [[nodiscard]] constexpr Effects completed_by(Completion completion) const {
    Effects result = *this;
    for (Effect& effect : result.list) effect.completion = completion;
    return result;
  }
  [[nodiscard]] constexpr Effects by(Sharing sharing) const {
    Effects result = *this;
    for (Effect& effect : result.list) effect.sharing = sharing;
    return result;
  }
  /// Returns the same accesses, in which each element is combined with the one in memory at once.
  [[nodiscard]] constexpr Effects atomic() const {
    Effects result = *this;
    for (Effect& effect : result.list) effect.atomic = true;
    return result;
  }
  constexpr Effects operator|(Effects const& other) const {
    Effects result = *this;
    for (int i = 0; i < other.count; ++i)
      result.list[static_cast<std::size_t>(result.count++)] = other.list[static_cast<std::size_t>(i)];
    return result;
  }
  [[nodiscard]] constexpr bool writes(Space space) const { return has(space, Access::write); }
  [[nodiscard]] constexpr bool reads(Space space) const { return has(space, Access::read); }
  [[nodiscard]] constexpr bool has(Space space, Access access) const {
    for (int i = 0; i < count; ++i)
      if (list[static_cast<std::size_t>(i)].space == space && list[static_cast<std::size_t>(i)].access == access)
        return true;
    return false;
  }
};

constexpr Effects one_effect(Space space, Access access, int operand, Proxy proxy) {
  Effects result;
  result.list[0].space = space;
  result.list[0].access = access;
  result.list[0].proxy = proxy;
  result.list[0].operand = static_cast<std::int8_t>(operand);
  result.count = 1;
  return result;
}
constexpr Effects reads(Space space, int operand = -1, Proxy proxy = Proxy::generic) {
  return one_effect(space, Access::read, operand, proxy);
}
constexpr Effects writes(Space space, int operand = -1, Proxy proxy = Proxy::generic) {
  return one_effect(space, Access::write, operand, proxy);
}
/// Reads and writes at once, which nothing comes between.
constexpr Effects updates(Space space, int operand) {
  return (reads(space, operand) | writes(space, operand)).atomic();
}

/// Names the family of an op; each has one. Switches over families have no default, so code that parts ops by family
/// hears of a new one.
enum class Family : std::uint8_t {
  elementwise,  ///< result element (i) depends on operand elements (i) only; operands and result have one shape
  constant,     ///< gives elements without operands: the same everywhere, or coordinates
  shape,        ///< moves elements between shapes, layouts and threads
  reduction,    ///< combines elements with others of the same tile
  product,      ///< multiplies matrices
  memory,       ///< accesses memory, or allocates and views it
  symbolic,     ///< pure, and without elements: extents, indices of blocks and warps, slices of tensors, descriptors
  control,      ///< holds blocks, ends one, or calls
  launch,       ///< belongs to the launch program (grid, require): kept, and evaluated on the host
  synchronisation,  ///< orders memory or agents: never dropped, merged, or moved past an access
  report,           ///< writes messages or records
};

/// Lists the executors that run an op itself; combine with |. Code generation of an executor has a lowering of each op
/// that names it, a simulator a meaning, else it does not compile. A pass replaces an op before it meets another one.
enum Support : unsigned {
  nowhere = 0,
  on_host = 1,            ///< code generation for CPUs
  on_tile_simulator = 2,  ///< blocks that hold whole tiles (lib/sim)
  on_warp_simulator = 4,  ///< warps that hold fragments (lib/sim/block)
  on_gpu = 8,             ///< code generation for NVPTX
  on_simulators = on_tile_simulator | on_warp_simulator,
  on_warps = on_warp_simulator | on_gpu,  ///< the block family: threads, shared memory, asynchronous work
  everywhere = on_host | on_simulators | on_gpu,
};

/// Lists the traits that an op struct may have in `traits`; combine with |.
enum Trait : unsigned {
  no_traits = 0,
  commutative = 1,   ///< the two operands may be swapped
  terminator = 2,    ///< ends a block
  has_regions = 4,   ///< holds blocks; its effects are those inside
  variadic = 8,      ///< any number of operands from the last named one on
  unique = 16,       ///< two equal ones are two things (allocations): never merged
  collective = 32,   ///< all lanes of a warp take part: not allowed in an elected region
  rearranges = 64,   ///< each element of the result is one of an operand's: the op computes nothing
  one_layout = 128,  ///< tile operands and results have one shape, and one thread holds an element of all of them
  per_warp = 256,    ///< the result may differ between warps even where the operands do not
  launchable = 512,  ///< of integers: may stand in a launch expression (a grid, a require)
  via_f32 = 1024,    ///< of f16 and bf16: computed in f32 and rounded once
};

template <std::size_t count>
using Names = std::array<std::string_view, count>;

/// Names the operands, in order.
template <class... T>
constexpr auto names(T... text) {
  return Names<sizeof...(T)>{std::string_view(text)...};
}

/// Spells the values of an enumeration used as an attribute; each specialises this, in order of value:
/// `template <> inline constexpr std::array enum_names<Combine>{"sum"sv, "max"sv, "min"sv};`
template <class E>
inline constexpr std::array<std::string_view, 0> enum_names{};

/// Holds the min and max of an integer attribute, or of each entry of a list.
struct Bounds {
  std::int64_t min = 0;
  std::int64_t max = 0;
};

/// Bounds that several ops share.
namespace bounds {
inline constexpr Bounds axis{0, max_rank - 1};
inline constexpr Bounds grid_axis{0, 2};
inline constexpr Bounds vector{0, 16};                             ///< elements of one access; 0: not decided
inline constexpr Bounds shared_offset{-1, std::int64_t{1} << 30};  ///< bytes; -1: not decided
inline constexpr Bounds mbarrier_count{1, (1 << 20) - 1};          ///< PTX: of arrivals, and of bytes, of a phase
inline constexpr Bounds box{1, 256};                               ///< of a tensor map
inline constexpr Bounds pending_groups{0, 7};
inline constexpr Bounds barrier_threads{0, 1024};  ///< 0: all of the CTA
}  // namespace bounds

template <class OpStruct, class T>
struct Field {
  std::string_view name;
  T OpStruct::*member;
  Bounds range = {};
};

/// True for attributes that hold integers: they have bounds, and parser, verifier and recorder refuse all others.
template <class T>
inline constexpr bool holds_integers = std::is_same_v<T, std::int64_t> || std::is_same_v<T, Extents>;

/// Holds one attribute of an op: its spelling and its member. Types: bool, std::int64_t, an enumeration over uint8_t
/// with enum_names, Element, Extents, Constant, Symbol.
template <class OpStruct, class T>
requires(!holds_integers<T>) constexpr Field<OpStruct, T> field(std::string_view name, T OpStruct::*member) {
  return {name, member};
}
template <class OpStruct, class T>
requires(holds_integers<T>) constexpr Field<OpStruct, T> field(std::string_view name, T OpStruct::*member,
                                                               Bounds range) {
  return {name, member, range};
}

/// Lists fields. It is a Pack: std::tuple takes the compiler much longer for all ops.
template <class... F>
constexpr detail::Pack<F...> fields(F... list) {
  return {{list}...};
}

/// Gives an op struct its family and its executors. Its lists of effects, traits and attributes are empty unless it
/// states its own. A struct may state more:
/// - `number`: the bounds of the integer that an op without integer operands gives,
/// - `launch`: the step of launch programs that computes the op of two integers,
/// - `replaced_by`: the pass that replaces the op before an executor that does not run it.
template <Family of, unsigned by = everywhere>
struct OpDefaults {
  static constexpr Family family = of;
  static constexpr unsigned support = by;
  static constexpr Effects effects = {};
  static constexpr unsigned traits = no_traits;
  static constexpr auto attributes() { return fields(); }
};

/// Makes an op struct with its first fields set, in the order of attributes(): `make_op<ReduceOp>(1, Combine::sum)`.
template <class OpStruct, class... T>
constexpr OpStruct make_op(T const&... values) {
  OpStruct op;
  [[maybe_unused]] auto const list = OpStruct::attributes();
  [&]<std::size_t... at>(std::index_sequence<at...>) { ((op.*detail::pack_item<at>(list).member = values), ...); }
  (std::index_sequence_for<T...>{});
  return op;
}

}  // namespace tegula::ir
