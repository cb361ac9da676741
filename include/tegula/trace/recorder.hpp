// Records a trace: the few non-template calls behind all of dsl/. Types end here.
//
// The calls are kept as a draft: nodes, regions, and the effects of each region in program order. finish() emits the IR
// by one walk from the effects and yields, operands left to right. So the order in which a compiler evaluates arguments
// never shows. A node without uses is never emitted.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "tegula/ir/tile_ops.hpp"
#include "tegula/ir/type.hpp"
#include "tegula/abi/compiled_kernel.hpp"
#include "tegula/support/location.hpp"
#include "tegula/trace/traced_kernel.hpp"

namespace tegula::trace {

/// Numbers a value of the running trace; -1: none.
using Id = std::int32_t;

/// Names a value of some trace, as a user's variable holds it.
struct Handle {
  Id value = -1;
  std::uint32_t trace = 0;
};

/// Holds a C++ number written in a kernel; it takes the element of the tile or scalar it meets.
struct Literal {
  enum class Kind : std::uint8_t { integer, natural, floating, boolean };  // natural: 2^63 or more, as unsigned bits
  Kind kind = Kind::integer;
  std::int64_t integer = 0;
  double floating = 0;
  bool stated = false;  ///< of a pad: the kernel writes it
};

/// Holds one coordinate of a load, store or grid: a traced index or a number, in tiles or in elements.
struct Coordinate {
  Handle traced;
  std::int64_t number = 0;
  bool in_elements = false;
  bool is_traced = false;
  Literal::Kind kind = Literal::Kind::integer;  ///< of the number
};

/// Marks the point of a trace at which a load was written.
struct Epoch {
  int effects = 0;  ///< statements begun before it
  int region = -1;
};

/// Lists ids for one call.
struct Ids {
  Id const* first = nullptr;
  int count = 0;
  constexpr Ids(Id const* at, int size) : first(at), count(size) {}
  constexpr Ids(std::initializer_list<Id> list) : count(static_cast<int>(list.size())) { first = list.begin(); }
};

/// Holds the hints for a loop; 0: not said.
struct LoopHints {
  std::int64_t stages = 0, distance = 0, unroll = 0;
  bool exactly = false;  ///< as many stages, or an error
};

/// Refuses a number of blocks of 2^63 or more, given to a launch.
[[noreturn]] void refuse_blocks(std::uint64_t count, location where);

enum class RegionKind : std::uint8_t { kernel, function, loop, then_branch, else_branch };

/// Holds the hint of a device function for the inliner.
enum class FunctionInline : std::uint8_t { unset, no, yes };

/// Records one kernel, or one device function that a kernel's trace calls. Made by Kernel<F>::trace on the stack;
/// current() is the innermost of the calling thread. Every call throws UserError for a wrong use; after that the trace
/// is lost.
class Recorder {
 public:
  Recorder(char const* name, location where);
  /// Records a device function called in another trace, whose values are not valid in this one.
  Recorder(Recorder& caller, char const* name, location where);
  Recorder(Recorder const&) = delete;
  Recorder& operator=(Recorder const&) = delete;
  ~Recorder();

  /// Returns the recorder of the kernel that is being traced; UserError that names `word` when there is none.
  static Recorder& current(char const* word, location where);
  /// Returns the same, or null when no kernel is being traced.
  static Recorder* active() noexcept;
  /// Returns the region in which a variable made now lives; -1 outside of a trace.
  static std::int32_t home() noexcept;

  // Record parameters, in order.
  Handle tensor_parameter(Element element, int rank, Direction direction, std::int64_t multiple_of);
  /// Adds a parameter to a device function, for a tensor of its caller. A tensor that may be written is one parameter
  /// however often the call names it. So a load sees a store of the body under the tensor's other name.
  Handle tensor_argument(Handle in_caller, Element element, int rank, Direction direction, std::int64_t multiple_of);
  Handle scalar_parameter(Element element, Handle in_caller = {});
  Handle tile_parameter(ir::Type const& type, Handle in_caller);

  // Use values.
  [[nodiscard]] Handle handle(Id value) const;
  /// Returns the value, checked to belong to this trace and to a region that is open.
  Id use(Handle value, location where);
  /// Returns the type of a value of this trace.
  [[nodiscard]] ir::Type type(Id value) const;
  /// Checks that a tile variable made in region `home` may be assigned; an error when the trace is in a deeper region.
  void check_assign(std::uint32_t trace, std::int32_t home, location where);
  template <class OpStruct>
  Id emit(OpStruct const& attributes, Ids operands, ir::Type const& result, location where) {
    return emit_op(ir::kind_of<OpStruct>, &attributes, operands, result, where);
  }
  /// Emits a pure op on scalars: found again when written again, folded when constant. It lives in the outermost region
  /// that has its operands.
  template <class OpStruct>
  Id emit_scalar(OpStruct const& attributes, Ids operands, ir::Type const& result, location where) {
    return emit_scalar_op(ir::kind_of<OpStruct>, &attributes, operands, result, where);
  }
  /// Records the literal as a scalar or, in every element, a tile; UserError when it does not fit the element.
  Id constant(Literal value, ir::Type const& type, location where);
  /// Returns the value in the wanted type: scalars are converted and splatted, axes of extent 1 broadcast.
  Id adapt(Id value, ir::Type const& wanted, location where);
  Id extent(Id tensor, int axis, location where);
  /// Returns the tensor of the elements begin .. end - 1 along an axis, clipped to `tensor`.
  Id slice(Id tensor, int axis, Id begin, Id end, location where);
  Id index_value(Coordinate const& coordinate, location where);
  /// Returns the element at which the tile of a coordinate begins, along an axis on which tiles have `extent` elements.
  /// A tile far outside of every tensor begins far outside, where the product of its number and `extent` would wrap.
  Id first_element(Coordinate const& coordinate, std::int64_t extent, location where);

  // Access memory.
  [[nodiscard]] Epoch epoch() const;
  Id load(Handle tensor, Epoch written, Coordinate const* coordinates, int rank, Literal pad, ir::Type const& result,
          location where, location recorded);
  /// Records a gather at indices: tiles of the result's shape, or i64 scalars, one per axis.
  Id gather(Handle tensor, Epoch written, Ids indices, Literal pad, ir::Type const& result, location where,
            location recorded);
  /// Records a statement that changes elements at indices: a scatter or an atomic. `values` are its tiles or scalars,
  /// the last of which gives the type of the result, if the op has one.
  template <class OpStruct>
  Id change(OpStruct const& attributes, Handle tensor, Ids values, Ids indices, location where) {
    return change_op(ir::kind_of<OpStruct>, &attributes, tensor, values, indices, where);
  }
  void store(Handle tensor, Id tile, Coordinate const* coordinates, int rank, location where, bool may_miss = false);
  /// Records a change of the elements of a box, one by one: `change` at the places where store would write.
  template <class OpStruct>
  void change_box(OpStruct const& attributes, Handle tensor, Id tile, Coordinate const* coordinates, int rank,
                  location where) {
    change_box_op(ir::kind_of<OpStruct>, &attributes, tensor, tile, coordinates, rank, where);
  }

  // State the grid and relations.
  /// States the grid; returns one index per extent, the last extent running fastest.
  void grid(char const* word, Id const* extents, int rank, Handle* indices, location where);
  /// Refuses an axis that the grid does not have.
  [[noreturn]] void refuse_grid_axis(int axis, int rank);
  void require(Id condition, char const* message, location where);
  /// Requires what the type of parameter `number` states, `fact` being multiple_of, equals or fixed: of the scalar
  /// itself (axis -1), or of the tensor's extent along an axis.
  void require_fact(Handle parameter, int number, char const* fact, std::int64_t n, int axis);

  // Tell the host something when the kernel runs.
  /// Records an assert on a bool scalar or tile; nothing where it is known to hold.
  void device_assert(Id condition, char const* message, location where);
  /// Checks that an integer scalar lies in min .. max and is a multiple of `multiple`, and returns it: clamped and
  /// rounded toward zero, so that facts hold of it whatever the memory has.
  Id stated_range(Id value, std::int64_t min, std::int64_t max, std::int64_t multiple, location where);
  /// Records a print of scalars and tiles.
  void device_print(char const* text, Ids values, location where);
  /// Records that a part starts or stops, with at most one i64. UserError for a stop without a start in the same
  /// region.
  void record(ir::RecordEvent event, char const* name, Ids value, location where);
  /// Records a stop, unless the trace has failed.
  void end_region(char const* name, location where) noexcept;

  // Say how often bodies are called. A trace calls each once. On the debug device (lib/trace/eager.hpp), where ops run
  // as they are recorded, bodies are called as often as they run.
  /// Tells whether the body of the loop that begins here is called; else its results are the initial values.
  [[nodiscard]] bool enters() const;
  /// Tells whether the body of the open loop is called once more, then with these carried values.
  bool again(Ids yields);
  /// The same of a loop that runs again while the bool `condition` is true.
  bool again(Id condition, Ids yields);
  /// Tells whether the then branch (else the other one) of the open if is called.
  [[nodiscard]] bool takes(bool then_branch) const;

  // Record statements with regions. Results of a loop or branch are ids first, first + 1, ...
  void begin_loop(Id lower, Id upper, Id step, Ids inits, LoopHints const& hints, location where);
  [[nodiscard]] Id region_argument(int i) const;
  Id end_loop(Ids yields);
  void begin_repeat(Ids inits, location where);
  /// Ends a loop that runs again as long as `again`, a bool of this region, is true.
  Id end_repeat(Id again, Ids yields);
  void begin_if(Id condition, location where);
  void begin_else(Ids then_yields);
  Id end_if(Ids else_yields);

  /// Ends the trace of a device function, which returns these results, and calls it here. Functions that turn out equal
  /// are merged. Results are ids first, first + 1, ...
  Id call(Recorder& function, FunctionInline inlining, Handle const* arguments, int count, Ids results);

  /// Ends the trace and emits the IR.
  TracedKernel finish();

 private:
  void assert_that(Id condition, char const* message, Ids values, bool range, location where);
  void begin(RegionKind kind);
  Id block_index(int axis, location where);
  Id change_op(ir::OpKind kind, void const* attributes, Handle tensor, Ids values, Ids indices, location where);
  void change_box_op(ir::OpKind kind, void const* attributes, Handle tensor, Id tile, Coordinate const* coordinates,
                     int rank, location where);
  Id box_offset(Coordinate const& coordinate, int axis, ir::Type const& tile, location where);
  Id emit_op(ir::OpKind kind, void const* attributes, Ids operands, ir::Type const& result, location where);
  Id emit_scalar_op(ir::OpKind kind, void const* attributes, Ids operands, ir::Type const& result, location where);

  struct Impl;
  Impl* impl_;
};

}  // namespace tegula::trace
