// Holds the state that all lowerings of the NVPTX target share: the LLVM builder, the registers of every value, and
// small helpers. Values are held as follows:
// - a tile is one LLVM value per register of its layout, a pending one too;
// - a scalar is one value, the same in all lanes of a warp;
// - a tensor is its parts;
// - a buffer or view in shared memory and an mbarrier are their 32-bit address;
// - a tensor map is the generic address of the kernel's parameter.
//
// In registers bool is i1, bf16 i16 and e4m3 and e5m2 i8 (their bits); the other elements have their LLVM type.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ir/element_chains.hpp"
#include "ir/exchange.hpp"
#include "layout/layout.hpp"
#include "ir/op.hpp"
#include "ir/value_memo.hpp"
#include "tegula/abi/profile_format.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::codegen {
class LineTable;
}

namespace tegula::codegen::nvptx {

using Registers = std::vector<llvm::Value*>;

/// Holds a tensor parameter, or a slice of one: its address as i64, extents and strides (in elements) as i64.
struct TensorParts {
  llvm::Value* address = nullptr;
  Registers extents;
  Registers strides;
  ir::ParameterAttributes attributes;
  bool constant = false;  ///< not written while the kernel runs: ld.global.nc may read it
};

/// Holds a coordinate along one axis of a tile: `thread` (i32, the same for all registers) joined with a constant per
/// register.
struct AxisCoordinate {
  llvm::Value* thread = nullptr;  ///< null: 0
  std::int64_t thread_bits = 0;   ///< union of the bits that lanes and warps may set below the atom
  std::int64_t atom = 1;
};

/// Holds the log of the executing warp. `writes` is true in the lane that writes it.
struct Log {
  ProfileLayout layout;             ///< of log_layout
  bool in_shared = false;           ///< rows are kept in shared memory until the end
  llvm::Value* buffer = nullptr;    ///< i64
  llvm::Value* selected = nullptr;  ///< i1: the warp records
  llvm::Value* writes = nullptr;    ///< i1
  llvm::Value* row = nullptr;       ///< address of this warp's row
  llvm::Value* taken = nullptr;     ///< number of the row in its group, if rows are kept in shared memory
  llvm::Value* written = nullptr;   ///< bytes of all entries so far, modulo 2^32: a stack slot that becomes a register
  llvm::Value* place = nullptr;     ///< bytes from the first slot to the next entry's: a stack slot likewise
};

class Emitter {
 public:
  Emitter(llvm::Module& module, ir::Function const& kernel, TargetInfo const& gpu);
  /// Emits the whole kernel, and the functions that it calls.
  llvm::Function& emit_kernel();
  /// Emits a call of a device function, whose results are those of `op`. The function takes tiles and scalars as words
  /// in registers, tensors as their parts and the launch's slots, and gives its results as words. The threads of the
  /// CTA execute it together.
  void call(ir::Op const& op, ir::Function const& callee);
  /// Emits the end of a kernel or function.
  void leave(std::span<ir::Value* const> results);

  std::function<void()> late_entry;  ///< stores an entry whose clock was read ahead of products; empty: there is none
  LineTable* lines = nullptr;        ///< null: nobody asks for lines

  /// Names the registers of a tile that are computed now: all but within a chain of elements.
  struct Window {
    int first = 0, count = 0;  ///< no count: all
  };
  [[nodiscard]] Window window() const { return window_; }

  /// Emits one op. Barriers between ops are separate ops; an exchange has one between its writes and its reads.
  void emit(ir::Op const& op);
  void emit_block(ir::Block const& block);
  /// Gives the op that is emitted next in the block; null behind the last, and once an op's own blocks are emitted.
  [[nodiscard]] ir::Op const* next() const { return next_; }

  [[nodiscard]] Registers const& get(ir::Value const& value) const;
  [[nodiscard]] llvm::Value* scalar(ir::Value const& value) const { return get(value)[0]; }
  [[nodiscard]] TensorParts const& tensor(ir::Value const& value) const;
  void set_tensor(ir::Value const& value, TensorParts parts) { tensors_[&value] = std::move(parts); }
  /// Gives the kernel, also while one of its functions is emitted.
  [[nodiscard]] ir::Function const& kernel() const { return kernel_; }
  void set(ir::Value const& value, Registers registers);
  /// Counts the axes of the kernel's grid; 3 when it does not state a grid and the launch decides.
  [[nodiscard]] int grid_axes() const;
  /// Gives the i64 slots after the parameters': the three grid extents, then the number of multiprocessors.
  llvm::Value* launch_slot(int number);
  /// Gives the i32 extent of one grid axis.
  llvm::Value* grid_extent(int axis);

  [[nodiscard]] llvm::Type* type(Element element);
  llvm::Value* constant(ir::Constant value);
  llvm::Value* i32(std::int64_t value) { return b.getInt32(static_cast<std::uint32_t>(value)); }
  llvm::Value* i64(std::int64_t value) { return b.getInt64(static_cast<std::uint64_t>(value)); }
  llvm::Value* intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Value*> arguments,
                         llvm::ArrayRef<llvm::Type*> types = {});

  /// Convert the bits of a register to an integer of the element's width (bool: i8), and back.
  llvm::Value* to_bits(llvm::Value* value, Element element);
  llvm::Value* from_bits(llvm::Value* bits, Element element);
  /// Convert narrow floats to f32 (exact) and back (one rounding); other elements pass unchanged.
  llvm::Value* widen(llvm::Value* value, Element element);
  llvm::Value* narrow(llvm::Value* value, Element element);
  /// Gives the sum, max, min or product of two accumulators.
  llvm::Value* combine(ir::Combine operation, Element element, llvm::Value* lhs, llvm::Value* rhs);
  /// Gives the value of the lane whose number differs by `mask`.
  llvm::Value* shuffle_xor(llvm::Value* value, std::uint32_t mask);
  /// Gives the value of lane `lane` (i32).
  llvm::Value* shuffle_from(llvm::Value* value, Element element, llvm::Value* lane);

  /// Gives the coordinates of a layout along its axes; the thread's part is computed once per layout.
  std::vector<AxisCoordinate> const& coordinates(layout::Layout const& layout);
  /// Gives the part of an index (i32) of one input along an axis of the layout's outputs; null: always 0.
  llvm::Value* index_part(layout::Layout const& layout, layout::Dim dim, int axis, llvm::Value* index);
  /// Joins two such parts that come from different inputs; either may be null.
  llvm::Value* join_parts(layout::Layout const& layout, int axis, llvm::Value* a, llvm::Value* b);
  /// Gives the exclusive or of values[i] over the set bits i of an index (i32); null: always 0.
  llvm::Value* combine_bits(llvm::Value* index, std::vector<std::int64_t> const& values);
  /// Gives the i32 coordinate of a register along one axis.
  llvm::Value* coordinate(layout::Layout const& layout, int axis, int reg);
  /// True where this thread owns its elements (see Layout::owner); null when every thread does.
  llvm::Value* owns(layout::Layout const& layout);

  /// Runs `body` with another group of warps as the executing threads: `group_warp` is this warp's number in it.
  void in_group(llvm::Value* group_warp, int group_warps, std::function<void()> const& body);
  /// Runs `body` where one lane was elected.
  void in_elected_lane(std::function<void()> const& body);
  /// Give the number of this thread among the executing ones (i32), and the count of these.
  llvm::Value* thread();
  [[nodiscard]] int threads() const { return elected ? 1 : warps * 32; }

  /// Emits bar.sync over the CTA, which an exchange between warps needs; a UserError where a part of the CTA executes.
  void barrier();
  /// Gives a pointer into dynamic shared memory, at a byte offset (i32).
  llvm::Value* shared(llvm::Value* offset);
  /// Gives the same as the 32-bit address that assembly takes.
  llvm::Value* shared_address(llvm::Value* offset) { return b.CreatePtrToInt(shared(offset), b.getInt32Ty()); }
  [[nodiscard]] llvm::BasicBlock* block(char const* name);

  llvm::IRBuilder<> b;
  TargetInfo const& target;
  llvm::Value* lane = nullptr;           ///< i32
  llvm::Value* warp = nullptr;           ///< i32, the number in the executing group
  int warps = 1;                         ///< of the executing group
  bool whole_cta = true;                 ///< the executing group is the CTA
  bool elected = false;                  ///< one lane executes
  bool open_fence = false;               ///< the wgmma that is emitted next fences its registers
  std::map<ir::Value const*, Log> logs;  ///< by the result of profile_begin

 private:
  Emitter(llvm::Module& module, ir::Function const& kernel, ir::Function const& source, TargetInfo const& gpu);
  /// Gives the LLVM function of a device function, emitted at its first call.
  llvm::Function& function_of(ir::Function const& callee);
  llvm::Function& emit_function(std::string const& name);
  void begin_body();
  void emit_block_after_coordinates(ir::Block const& ops);
  void add_tensor(ir::Value const& parameter, llvm::Argument*& argument);

  llvm::Module& module_;
  ir::Function const& kernel_;
  ir::Function const& source_;  ///< the emitted function: the kernel, or one that it calls
  llvm::Function* function_ = nullptr;
  unsigned first_launch_slot_ = 0;
  void emit_by_elements(ir::ElementChain const& chain);
  /// Keeps the assembler from mixing what comes with the code for these tiles: a branch that is never taken.
  void keep_apart(std::vector<ir::Value const*> const& computed);
  std::map<ir::Value const*, Registers> values_;
  mutable std::map<ir::Value const*, Registers> windowed_;  ///< their registers in the window
  Window window_;
  llvm::BasicBlock* never_ = nullptr;  ///< where that branch would lead
  std::int64_t apart_ = 0;             ///< counts such branches
  std::map<ir::Value const*, TensorParts> tensors_;
  std::map<layout::Layout const*, std::vector<AxisCoordinate>> coordinates_;
  llvm::BasicBlock* coordinate_block_ = nullptr;  ///< ends in a branch; the code for coordinates is put before it
  ir::Op const *current_ = nullptr, *next_ = nullptr;
  bool block_kernel_ = false;  ///< the kernel has block ops other than barriers
};

/// Throws a UserError at the op's line.
[[noreturn]] void refuse(ir::Op const& op, std::string const& why);

/// Lists the tensor maps of a kernel, in the order of its by-value parameters.
std::vector<ir::Op const*> tensor_maps_of(ir::Function const& kernel);

/// Emits the store of an entry whose clock was read ahead of products, if there is one.
void store_late_entry(Emitter& e);

}  // namespace tegula::codegen::nvptx
