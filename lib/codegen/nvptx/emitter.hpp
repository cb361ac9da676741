// Emits a kernel op by op, and holds the state that all lowerings of the NVPTX target share: the LLVM builder and the
// executing threads. State of some lowerings alone stands in objects of its own: coordinates, tensors, wgmma, logs.
// Values are held as follows:
// - a tile is one LLVM value per register of its layout, a pending one too;
// - a scalar is one value, the same in all lanes of a warp;
// - a tensor is its parts;
// - a buffer or view in shared memory and an mbarrier are their 32-bit address;
// - a tensor map is the generic address of the kernel's parameter.
//
// In registers bf16 is i16 and floats of 8 bits are i8 (their bits); the other elements have their LLVM type.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codegen/nvptx/open_wgmma.hpp"
#include "codegen/nvptx/tensor_parts.hpp"
#include "codegen/nvptx/thread_coordinates.hpp"
#include "codegen/nvptx/value_registers.hpp"
#include "ir/core/op.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::codegen {
class LineTable;
}

namespace tegula::codegen::nvptx {

class ChainCode;
class ProfileLogs;

class Emitter {
 public:
  Emitter(llvm::Module& module, ir::Function const& kernel, TargetInfo const& gpu);
  ~Emitter();
  Emitter(Emitter const&) = delete;
  Emitter& operator=(Emitter const&) = delete;
  /// Emits the whole kernel, and the functions that it calls.
  llvm::Function& emit_kernel();
  /// Emits a call of a device function, whose results are those of `op`. The function takes tiles and scalars as words
  /// in registers, tensors as their parts and the launch's slots, and returns its results as words. The threads of the
  /// CTA execute it together.
  void call(ir::Op const& op, ir::Function const& callee);
  /// Emits the end of a kernel or function.
  void leave(std::span<ir::Value* const> results);

  LineTable* lines = nullptr;  ///< null: nobody asks for lines
  /// Emit what follows the next barrier of an exchange: reductions may share one.
  std::vector<std::function<void()>> waiting_for_barrier;

  /// Name the registers of a tile that are emitted now: all, but within a chain of elements.
  [[nodiscard]] Window window() const { return values_.window(); }
  void move_window(Window window) { values_.move_window(window); }

  /// Emits one op. Barriers between ops are separate ops; an exchange has one between its writes and its reads.
  void emit(ir::Op const& op);
  void emit_block(ir::Block const& block);
  /// Returns the op that is emitted next in the block; null after the last, and once an op's own blocks are emitted.
  [[nodiscard]] ir::Op const* next() const { return next_; }

  [[nodiscard]] Registers const& get(ir::Value const& value) const { return values_.get(value); }
  [[nodiscard]] llvm::Value* scalar(ir::Value const& value) const { return get(value)[0]; }
  /// Returns the kernel, also while one of its functions is emitted.
  [[nodiscard]] ir::Function const& kernel() const { return kernel_; }
  void set(ir::Value const& value, Registers registers) { values_.set(value, std::move(registers)); }
  /// Counts the axes of the kernel's grid; 3 when it does not state a grid and the launch decides.
  [[nodiscard]] int grid_axes() const;
  /// Returns the i64 slots after the parameters': the three grid extents, then the number of multiprocessors.
  llvm::Value* launch_slot(int number);
  /// Returns the i32 extent of one grid axis.
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
  /// Returns the sum, max, min or product of two accumulators.
  llvm::Value* combine(ir::Combine operation, Element element, llvm::Value* lhs, llvm::Value* rhs);
  /// Returns the value of the lane whose number differs by `mask`.
  llvm::Value* shuffle_xor(llvm::Value* value, std::uint32_t mask);
  /// Returns the value of lane `lane` (i32).
  llvm::Value* shuffle_from(llvm::Value* value, Element element, llvm::Value* lane);

  /// Runs `body` with another group of warps as the executing threads: `group_warp` is this warp's number in it.
  void in_group(llvm::Value* group_warp, int group_warps, std::function<void()> const& body);
  /// Runs `body` where one lane was elected.
  void in_elected_lane(std::function<void()> const& body);
  /// Tells whether this lane is the one of its warp that the target chooses: by elect.sync, or the first.
  llvm::Value* is_chosen_lane();
  /// Return the number of this thread among the executing ones (i32), and the count of these.
  llvm::Value* thread();
  [[nodiscard]] int threads() const { return elected ? 1 : warps * target.lanes; }

  /// Emits bar.sync over the CTA, which an exchange between warps needs; a UserError where a part of the CTA executes.
  void barrier();
  /// Returns a pointer into dynamic shared memory, at a byte offset (i32).
  llvm::Value* shared(llvm::Value* offset);
  /// Returns the same as the 32-bit address that assembly takes.
  llvm::Value* shared_address(llvm::Value* offset) { return b.CreatePtrToInt(shared(offset), b.getInt32Ty()); }
  [[nodiscard]] llvm::BasicBlock* block(char const* name);

  llvm::IRBuilder<> b;
  TargetInfo const& target;
  llvm::Value* lane = nullptr;    ///< i32
  llvm::Value* warp = nullptr;    ///< i32, the number in the executing group
  int warps = 1;                  ///< of the executing group
  bool whole_cta = true;          ///< the executing group is the CTA
  bool elected = false;           ///< one lane executes
  ThreadCoordinates coordinates;  ///< of the executing group
  Tensors tensors;
  OpenWgmma wgmma;
  std::unique_ptr<ProfileLogs> logs;  ///< profile_logs.hpp

 private:
  Emitter(llvm::Module& module, ir::Function const& kernel, ir::Function const& source, TargetInfo const& gpu);
  /// Returns the LLVM function of a device function, emitted at its first call.
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
  ValueRegisters values_;
  std::unique_ptr<ChainCode> chains_;
  ir::Op const *current_ = nullptr, *next_ = nullptr;
  bool block_kernel_ = false;  ///< the kernel has block ops other than barriers
};

/// Throws a UserError at the op's line.
[[noreturn]] void refuse(ir::Op const& op, std::string const& why);

/// Lists the tensor maps of a kernel, in the order of its by-value parameters.
std::vector<ir::Op const*> tensor_maps_of(ir::Function const& kernel);

}  // namespace tegula::codegen::nvptx
