// Holds the state of emitting one LLVM function of a host kernel: slots, scalars, buffers, scratch, loops. Private to
// this folder.
#pragma once

#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "codegen/host/plan.hpp"
#include "codegen/host/target.hpp"
#include "ir/core/loop.hpp"
#include "tegula/abi/kernel_paths.hpp"

namespace tegula::codegen {
class LineTable;
}

namespace tegula::codegen::host {

/// Limits the scratch that one thread may need.
inline constexpr std::int64_t scratch_limit = std::int64_t{256} << 20;

/// Places a tile in memory: rows of elements with static strides or, if panel != 0, column panels. Panels have element
/// (k, j) of rank 2 at (j / panel) * panel_stride + k * panel + j % panel. Elements are held as HostArith holds
/// them, booleans as bytes.
struct Buffer {
  llvm::Value* pointer = nullptr;
  Element element = Element::f32;
  Extents shape;
  Extents strides;
  int panel = 0;
  std::int64_t panel_stride = 0;
  bool exact = false;    ///< bytes beyond the shape must not be written
  int packed = 0;        ///< bits of an element; 0: as HostArith holds them
  bool flipped = false;  ///< the sign bits of packed elements are flipped
  /// Counts the elements of adjacent k in a word of 32 bits of a panel. Strides of such panels count words.
  [[nodiscard]] int group() const { return panel != 0 && packed != 0 ? 32 / packed : 1; }
};

/// Lists the ways to multiply the packed elements of one k, or of the adjacent k in a word of 32 bits.
enum class Step : std::uint8_t {
  one,                ///< elements as in registers
  i16_pairs,          ///< 8-bit integers as pairs of i16
  bytes_left,         ///< four bytes, unsigned on the left and signed on the right
  bytes_right,        ///< four bytes, signed on the left and unsigned on the right
  bf16_pairs,         ///< the instruction takes subnormal numbers as 0
  bf16_pairs_in_f32,  ///< the same words, in full
};

/// Holds one coordinate: a scalar i64, or, with lanes, that scalar plus 0, 1, 2 ...
struct Axis {
  llvm::Value* at = nullptr;
  bool lanes = false;
  friend bool operator<(Axis const& a, Axis const& b) { return a.at != b.at ? a.at < b.at : a.lanes < b.lanes; }
};
using Index = std::vector<Axis>;

/// Holds a tensor parameter, read from the slots, or a view of one.
struct Tensor {
  llvm::Value* base = nullptr;
  std::vector<llvm::Value*> extents, strides;
  bool unit_inner = false;
};

/// Holds a register-blocked matrix product: C (rows x vectors * lanes) += A (rows, k; row stride lda) * B (k; one
/// panel). Packed elements are counted in words. With `starts`, a row of numbers is added too. A flag says that C is 0.
struct MicroKernel {
  int rows = 0, vectors = 0, lanes = 0, panel = 0, unroll = 1;
  std::int64_t lda = 0, ldc = 0;
  Element element = Element::f32;  ///< of C
  Step step = Step::one;
  bool starts = false;
  friend auto operator<=>(MicroKernel const&, MicroKernel const&) = default;
};

class SharedOperands;
struct ContractionLayout;

/// Holds a device function in host code. It has the entry's signature: its slots hold its scalars and the parts of its
/// tensors as the kernel's do. The addresses of its tiles and of the buffers for its results follow.
struct HostFunction {
  llvm::Function* code = nullptr;
  std::int64_t scratch_bytes = 0;
};

/// Counts the slots of the parameters before this one.
int first_slot(ir::Function const& function, int parameter);
llvm::Value* load_slot(llvm::BasicBlock* entry, llvm::Value* slots, llvm::Type* type, std::int64_t slot);

/// Holds the state that the functions of one kernel share.
struct ModuleContext {
  llvm::Module& module;
  HostTarget const& target;
  ir::Function const& kernel;  ///< or the device function that is emitted
  Plan const& plan;
  SharedOperands const* shared = nullptr;  ///< operands packed ahead; null: none
  std::map<MicroKernel, llvm::Function*> micro_kernels;
  std::int64_t scratch_bytes = 0;
  std::map<ir::Function const*, HostFunction>* functions = nullptr;  ///< emitted so far
  KernelPaths* paths = nullptr;  ///< takes the path of each access; null: nobody asks
  LineTable* lines = nullptr;    ///< likewise
};

class Nest;
struct Sink;

/// True for a scatter or an atomic.
bool changes_elements(ir::Op const& op);
/// True for an assert or a print.
bool tells_host(ir::Op const& op);
/// True for a record or an op of a log.
bool logs(ir::Op const& op);
/// True for an op that counts elements by value, or moves them to places which tiles hold.
bool uses_places(ir::Op const& op);
/// True for an op on buffers.
bool touches_buffer(ir::Op const& op);
/// True for a barrier, or the choice of a lane, of all threads of a CTA: here there is one.
bool is_cta_wide(ir::Op const& op);

class FunctionEmitter {
 public:
  FunctionEmitter(ModuleContext& context, std::string const& name);

  /// Emits the loop over blocks [first, last) with `body` for one of them.
  void for_each_block(std::function<void(llvm::Value* block)> const& body);
  /// Sets block indices from the linear block.
  void set_block(llvm::Value* linear);
  /// Returns number / divisor for number >= 0, divisor >= 1. LLVM moves a division into the loop that alone needs it,
  /// and does not hoist it again, as it may trap. It cannot move this one, a join of two branches.
  llvm::Value* quotient(llvm::Value* number, llvm::Value* divisor);
  /// Emits a region's ops but for its terminator.
  void block(ir::Block const& block);
  void finish();
  /// States that the code has stores that bypass the caches: they are complete before the function returns.
  void set_streamed() { streamed_ = true; }

  llvm::IRBuilder<> b;
  HostArith arith;
  ModuleContext& context;

  // --- scalars
  llvm::Value* i64(std::int64_t value) { return b.getInt64(static_cast<std::uint64_t>(value)); }
  /// Returns a scalar IR value; pure ones are emitted where first needed.
  llvm::Value* scalar(ir::Value const& value);
  void set_scalar(ir::Value const& value, llvm::Value* to) { scalars_.back()[&value] = to; }
  Tensor const& tensor(ir::Value const& parameter);
  llvm::Value* grid_extent(int axis);
  llvm::Value* workspace() const { return workspace_; }
  /// Forgets, at its end, the scalars and views first emitted within it: their code may not dominate the code after
  /// it.
  class Scope {
   public:
    explicit Scope(FunctionEmitter& emitter) : emitter_(emitter) {
      emitter_.scalars_.emplace_back();
      emitter_.views_.emplace_back();
    }
    ~Scope() {
      emitter_.scalars_.pop_back();
      emitter_.views_.pop_back();
    }
    Scope(Scope const&) = delete;
    Scope& operator=(Scope const&) = delete;

   private:
    FunctionEmitter& emitter_;
  };

  // --- control flow
  /// Emits for (i = lower; i < upper; i += step) body(i).
  void loop(llvm::Value* lower, llvm::Value* upper, llvm::Value* step, std::function<void(llvm::Value*)> const& body);
  /// Emits do condition = body() while (condition).
  void repeat(std::function<llvm::Value*()> const& body);
  /// Emits if (condition) body().
  void when(llvm::Value* condition, std::function<void()> const& body);
  void when(llvm::Value* condition, std::function<void()> const& yes, std::function<void()> const& no);
  llvm::AllocaInst* variable(llvm::Type* type, llvm::Value* initial = nullptr);
  llvm::Value* get(llvm::AllocaInst* variable) { return b.CreateLoad(variable->getAllocatedType(), variable); }
  llvm::BasicBlock* new_block(char const* name);
  llvm::Value* smin(llvm::Value* x, llvm::Value* y) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y); }
  llvm::Value* smax(llvm::Value* x, llvm::Value* y) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, y); }

  // --- buffers
  /// Returns the lanes of an f32 vector, or of an f64 one.
  [[nodiscard]] int native_lanes(Element element) const;
  /// Returns the memory of a table.
  llvm::Value* table(ir::Op const& op);
  [[nodiscard]] llvm::Type* storage_type(Element element);
  [[nodiscard]] int storage_bytes(Element element);
  /// Returns the type that a buffer's strides count: elements, or words of packed panels.
  [[nodiscard]] llvm::Type* storage_type(Buffer const& buffer);
  [[nodiscard]] int storage_bytes(Buffer const& buffer);
  /// Pads an extent so that whole vectors may be read and written.
  [[nodiscard]] std::int64_t padded(std::int64_t extent) const;
  [[nodiscard]] Buffer rows_layout(Element element, Extents const& shape) const;
  [[nodiscard]] Buffer panels_layout(Element element, Extents const& shape, int packed = 0) const;
  [[nodiscard]] std::int64_t buffer_bytes(Buffer const& layout);
  /// Allocates scratch for a buffer; `owner` is named when it does not fit.
  Buffer allocate(Buffer layout, ir::Op const* owner);
  llvm::Value* scratch(std::int64_t bytes, ir::Op const* owner);
  Buffer rows(ir::Type const& type, ir::Op const* owner) {
    return allocate(rows_layout(type.element(), type.shape()), owner);
  }
  llvm::Value* address(Buffer const& buffer, Index const& index);
  /// True when lanes along that axis are adjacent.
  static bool contiguous(Buffer const& buffer, int axis);
  [[nodiscard]] Buffer const* buffer_of(ir::Value const& value) const;
  [[nodiscard]] Buffer const* panels_of(ir::Value const& value) const;
  void set_buffer(ir::Value const& value, Buffer buffer);
  void set_panels(ir::Value const& value, Buffer const& buffer) { panels_[&value] = buffer; }
  void copy(Buffer const& from, Buffer const& to);
  /// Evaluates a tile into a buffer.
  void materialise(ir::Value const& value, Buffer const& to) { materialise(value, to, {}); }
  /// Evaluates the first elements along each axis; a null limit: all.
  void materialise(ir::Value const& value, Buffer const& to, std::vector<llvm::Value*> limits);
  llvm::Value* dummy() const { return dummy_; }

  // --- single elements (indexed.cpp)
  /// Emits a load of one element.
  llvm::Value* load_scalar(ir::Op const& op);
  /// Emits a scatter or an atomic: changes each element inside its tensor.
  void change_elements(ir::Op const& op);
  /// Emits a scatter whose places run along the last axis, in vectors. Returns false for another one.
  bool scatter_runs(ir::Op const& op);
  /// Emits body(index) for each element of a type, in row-major order; once for a scalar.
  void for_each_element(ir::Type const& type, std::function<void(Index const&)> const& body);
  /// Returns a tile as rows: where it is kept, or evaluated into scratch.
  Buffer rows_of(ir::Value const& tile, ir::Op const& user);
  llvm::Value* element(Buffer const& buffer, Index const& index);
  /// Emits a scalar that is an element of a tile.
  void item(ir::Op const& op);

  // --- counts, and elements at places (places.cpp)
  void places_op(ir::Op const& op);

  // --- messages (debug.cpp)
  /// Emits an assert or a print.
  void tell_host(ir::Op const& op);

  // --- buffers as ops (buffer.cpp)
  void buffer_op(ir::Op const& op);

  // --- logs (log.cpp)
  void log_op(ir::Op const& op);

  // --- calls (functions.cpp)
  void call(ir::Op const& op);
  /// Emits a device function's body: tiles from their slots, results to theirs.
  HostFunction function_body();

  // --- dots (dot.cpp, contraction.cpp)
  struct Panels {  ///< one product of packed operands; lda, k and its multiple count words
    Step step = Step::one;
    llvm::Value* starts = nullptr;  ///< columns of numbers that are added; null: none
    llvm::Value* a = nullptr;
    std::int64_t lda = 0;
    llvm::Value* b = nullptr;
    int panel = 0;
    std::int64_t panel_stride = 0;
    Buffer c;
    llvm::Value* k = nullptr;
    std::int64_t k_multiple = 1;
    llvm::Value* fresh = nullptr;    ///< true: C is 0, whatever its memory holds; null: false
    llvm::Value* rows = nullptr;     ///< of C that are needed, 0 or more; null: all
    llvm::Value* columns = nullptr;  ///< the same
  };
  void multiply(Panels const& panels);
  void dot(ir::Op const& op);
  /// Emits the loop as a product.
  void contract(Contraction const& contraction);
  /// Emits the body of the pack phase: packs unit `unit` of both operands.
  void pack(Contraction const& contraction, llvm::Value* unit);

 private:
  friend class Nest;
  friend class Scope;
  struct Range {
    llvm::Value* lower = nullptr;
    llvm::Value* upper = nullptr;
    llvm::Value* step = nullptr;  ///< at least 1
  };
  /// Returns the bounds of a loop; an empty range where its step is 0 or less.
  Range range(ir::Loop const& loop);
  struct Trip {  ///< of a contraction's loop
    llvm::Value* lower = nullptr;
    llvm::Value* step = nullptr;
    llvm::Value* count = nullptr;
    llvm::Value* chunks = nullptr;
  };
  struct Shared {  ///< of the workspace; null: side is not packed ahead
    llvm::Value* offset[2] = {nullptr, nullptr};
    llvm::Value* units[2] = {nullptr, nullptr};
    llvm::Value* many[2] = {nullptr, nullptr};  ///< more than one block uses the side
    llvm::Value* bytes = nullptr;
  };
  struct Place {  ///< an element of a tensor
    llvm::Value* address = nullptr;
    llvm::Value* inside = nullptr;
  };
  Place place(ir::Value const& tensor, std::vector<llvm::Value*> const& at);
  /// Exchanges the bits at the address with `value` if they equal `expected`; returns the old ones.
  llvm::Value* exchange_if(ir::MemoryOrder order, llvm::Value* address, llvm::Value* expected, llvm::Value* value);
  llvm::Value* update(ir::AtomicUpdateOp const& how, Element element, llvm::Value* address, llvm::Value* value);
  llvm::Value* change_element(ir::Op const& op, llvm::Value* address,
                              std::function<llvm::Value*(ir::Value const&)> const& element_of);
  llvm::Value* global_buffer(ir::Op const& alloc);
  void begin_log(ir::Op const& op);
  void append_to_log(ir::Op const& op, llvm::Value* row);
  void assert_op(ir::Op const& op);
  void print_op(ir::Op const& op);
  /// Adds a value to a line of text that the loader's functions build.
  void add_to_line(llvm::Value* line, Element element, llvm::Value* value);
  HostFunction const& function_of(ir::Function const& callee);
  Trip trip(Contraction const& contraction, ContractionLayout const& layout);
  /// Returns the elements along an axis of a tile that are stored, for code at an op; null: all may be needed.
  llvm::Value* stored(ir::Value const& value, ir::Op const& place, int axis);
  /// Returns the k behind which both operands are 0; null: unknown.
  llvm::Value* nonzero_depth(Contraction const& contraction, std::int64_t depth);
  Shared shared(Contraction const& contraction, ContractionLayout const& layout, Trip const& trip);
  void pack_chunk(Contraction const& contraction, ContractionLayout const& layout, Trip const& trip, int side,
                  llvm::Value* chunk, llvm::Value* to);
  llvm::Function* micro_kernel(MicroKernel const& shape);
  /// Emits the number that `bf16_pairs` needs to be at least min_bf16, behind the packed elements: `runs` of `words`.
  void store_min(llvm::Value* from, llvm::Value* to, std::int64_t runs, std::int64_t stride, llvm::Value* words,
                 std::int64_t words_multiple);
  /// Emits, for each column of the panels, the number that undoes the flipped signs of the left operand.
  void store_starts(Buffer const& panels, llvm::Value* words, Step step, llvm::Value* to);
  /// Emits a for or a repeat.
  void loop_op(ir::Op const& op);
  class Carried;
  void if_op(ir::Op const& op);
  // Emit an op of one kind; false: it is of another.
  bool control_op(ir::Op const& op);
  bool effect_op(ir::Op const& op);
  bool tile_op(ir::Op const& op);
  bool scalar_op(ir::Op const& op);
  static std::vector<ir::Op const*> next_reductions(std::vector<Sink> const& sinks);
  void group(ir::Block::iterator first, ir::Block const& block);
  /// Finds the ops that share the nest of the first one.
  std::vector<ir::Op const*> members_of_group(ir::Block::iterator first, ir::Block const& block) const;
  /// Adds what the nest does with a member's value.
  void add_sinks(ir::Op const& op, std::vector<ir::Op const*> const& members, std::vector<Sink>& sinks);
  /// Emits the scalars between here and the end of a group. An op that joins may need them; they do not depend on
  /// tiles.
  void scalars_of_group(ir::Block::iterator first, ir::Block const& block);
  bool joins(ir::Op const& candidate, Extents const& shape, std::vector<ir::Op const*> const& members) const;
  bool available(ir::Value const& value, bool same_index, std::vector<ir::Op const*> const& members,
                 std::map<std::pair<ir::Value const*, bool>, bool>& known) const;
  void pairwise(ir::Op const& op);
  /// Emits a scan (scan.cpp).
  llvm::Value* scan_places(ir::Op const& op, Buffer const& result, Index const& line, llvm::AllocaInst* before,
                           std::vector<llvm::Value*> const& limits);
  void scan(ir::Op const& op);
  /// Emits an op that changes the shape of a tile (regroup.cpp).
  void regroup(ir::Op const& op);
  Buffer resized(ir::Op const& op);
  Buffer exchanged(ir::Op const& op, ir::AxisSource const& source, Buffer const& from);
  Buffer turned(ir::Op const& op, int axis, Buffer const& from);
  Buffer target_of(ir::Value const& value, ir::Op const* owner);

  /// Gives the code that follows the line of an op, until the result is destroyed.
  class AtLine {
   public:
    AtLine(FunctionEmitter& emitter, ir::Op const& op);
    ~AtLine() { emitter_.b.SetCurrentDebugLocation(around_); }
    AtLine(AtLine const&) = delete;
    AtLine& operator=(AtLine const&) = delete;

   private:
    FunctionEmitter& emitter_;
    llvm::DebugLoc around_;
  };

  llvm::Function* function_;
  llvm::BasicBlock* entry_;
  llvm::Value* slots_;
  llvm::Value* first_;
  llvm::Value* last_;
  llvm::Value* workspace_;
  llvm::Value* scratch_;
  llvm::Value* dummy_ = nullptr;
  llvm::Value* linear_block_ = nullptr;
  llvm::Value* block_index_[3] = {nullptr, nullptr, nullptr};
  llvm::Value* grid_[3] = {nullptr, nullptr, nullptr};
  std::vector<std::unordered_map<ir::Value const*, llvm::Value*>> scalars_;
  std::unordered_map<ir::Value const*, Tensor> tensors_;             ///< parameters
  std::vector<std::unordered_map<ir::Value const*, Tensor>> views_;  ///< by scope, as scalars_
  std::unordered_map<ir::Op const*, llvm::GlobalVariable*> tables_;
  Tensor const& view(ir::Value const& value);
  [[nodiscard]] Tensor sliced(ir::Op const& op);
  [[nodiscard]] Tensor permuted(ir::Op const& op);
  std::unordered_map<ir::Value const*, Buffer> buffers_;
  std::unordered_map<ir::Value const*, Buffer> panels_;
  std::unordered_map<ir::Value const*, Buffer> targets_;  ///< buffer for a value's definition
  std::unordered_map<ir::Op const*, bool> done_;
  std::int64_t scratch_used_ = 0;
  bool streamed_ = false;
};

}  // namespace tegula::codegen::host
