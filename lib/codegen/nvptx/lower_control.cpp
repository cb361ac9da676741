// Lowers control flow and launch statements, and refuses ops that the device does not have yet. Bounds and conditions
// are scalars: equal in all threads, so that every branch is taken by the whole CTA and barriers inside are legal. In
// kernels of block ops they are equal in the lanes of a warp.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>

#include "codegen/nvptx/emitter.hpp"
#include "codegen/nvptx/inline_ptx.hpp"
#include "codegen/nvptx/sync_census.hpp"
#include "codegen/nvptx/pack_words.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/exchange.hpp"
#include "ir/values/loop_step.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen::nvptx {
namespace {

/// Tells whether a value passes a join packed: 16-bit elements as pairs, floats of 8 bits as fours. So a tile needs as
/// many registers in a loop as outside, and words for tensor cores stay words.
bool travels_packed(ir::Type const& type) {
  return type.in_registers() && (bytes(type.element()) == 2 || is_f8(type.element()));
}

std::vector<Registers> values_of(Emitter& e, std::span<ir::Value* const> values) {
  std::vector<Registers> result;
  for (ir::Value* value : values) {
    Registers const& registers = e.get(*value);
    result.push_back(travels_packed(value->type()) ? pack_words(e, value->type().element(), registers) : registers);
  }
  return result;
}

/// Sets a value from the result of a join.
void set_from(Emitter& e, ir::Value const& value, Registers registers) {
  if (travels_packed(value.type()))
    registers = unpack_words(e, value.type().element(), registers,
                             static_cast<std::size_t>(value.type().layout()->registers()));
  e.set(value, std::move(registers));
}

void set_from(Emitter& e, ir::Value const& value, std::vector<llvm::PHINode*> const& phis) {
  set_from(e, value, Registers(phis.begin(), phis.end()));
}

/// Makes one phi per register of each value.
std::vector<std::vector<llvm::PHINode*>> phis_for(Emitter& e, std::vector<Registers> const& values,
                                                  llvm::BasicBlock* from) {
  std::vector<std::vector<llvm::PHINode*>> result;
  for (Registers const& registers : values) {
    auto& phis = result.emplace_back();
    for (llvm::Value* value : registers) {
      phis.push_back(e.b.CreatePHI(value->getType(), 2));
      phis.back()->addIncoming(value, from);
    }
  }
  return result;
}

void add_incoming(std::vector<std::vector<llvm::PHINode*>> const& phis, std::vector<Registers> const& values,
                  llvm::BasicBlock* from) {
  for (std::size_t i = 0; i < phis.size(); ++i)
    for (std::size_t r = 0; r < phis[i].size(); ++r) phis[i][r]->addIncoming(values[i][r], from);
}

/// Keeps loops rolled unless they ask for several iterations at once: our own passes shape them.
void unroll(llvm::BranchInst* back, std::int64_t factor) {
  llvm::LLVMContext& context = back->getContext();
  auto const node = [&](char const* name, auto... values) {
    return llvm::MDNode::get(context, {llvm::MDString::get(context, name), values...});
  };
  llvm::MDNode* const hint =
      factor > 1
          ? node("llvm.loop.unroll.count", llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(
                                               llvm::Type::getInt32Ty(context), static_cast<std::uint64_t>(factor))))
          : node("llvm.loop.unroll.disable");
  llvm::MDNode* const loop = llvm::MDNode::getDistinct(context, {nullptr, hint});
  loop->replaceOperandWith(0, loop);
  back->setMetadata(llvm::LLVMContext::MD_loop, loop);
}

/// True if LLVM may duplicate the ops of the loop: none at which threads or copies meet.
bool may_double(ir::Op const& loop) {
  bool result = true;
  ir::walk_pre_order(loop.block(), [&](ir::Op& op) {
    result = result && !op.info().is_block_op() && ir::scratch_bytes(op) == 0;
    return ir::Walk::advance;
  });
  return result;
}

/// True if LLVM may duplicate a block and those that were made from `first` on: nothing in them is counted. A scalar
/// that a loop loads is shuffled.
bool may_double(llvm::BasicBlock const& block, llvm::BasicBlock const& first) {
  auto const free = [](llvm::BasicBlock const& of) {
    return std::none_of(of.begin(), of.end(), [](llvm::Instruction const& each) { return SyncCensus::counts(each); });
  };
  return free(block) && std::all_of(first.getIterator(), first.getParent()->end(), free);
}

/// Carries tiles from outside a loop that its body reads. LLVM would move widening ops before the loop, where the wide
/// values need twice the registers. So the tiles are loop-carried as words, and LLVM does not see that they never
/// change.
class RoundTrip {
 public:
  RoundTrip(Emitter& e, ir::Op const& loop) : e_(e) {
    ir::walk_pre_order(loop.block(), [&](ir::Op& op) {
      for (ir::Value* operand : op.operands())
        if (travels_packed(operand->type()) && !inside(*operand, loop) &&
            std::find(tiles_.begin(), tiles_.end(), operand) == tiles_.end())
          tiles_.push_back(operand);
      return ir::Walk::advance;
    });
    words_ = values_of(e, tiles_);
  }

  /// Enters the loop's header, which `before` branches to.
  void enter(llvm::BasicBlock* before) { phis_ = phis_for(e_, words_, before); }
  /// Reads the words in the loop's body, and after the loop.
  void take() {
    for (std::size_t i = 0; i < tiles_.size(); ++i) set_from(e_, *tiles_[i], phis_[i]);
  }
  /// Ends the body.
  void leave() {
    for (auto& phis : phis_)
      for (llvm::PHINode* phi : phis) {
        char const letter = constraint_of(phi->getType());
        phi->addIncoming(inline_ptx(e_.b, phi->getType(), "", std::string("=") + letter + ",0", {phi}),
                         e_.b.GetInsertBlock());
      }
  }

 private:
  static bool inside(ir::Value const& value, ir::Op const& loop) {
    ir::Op const* const definition = value.defining_op();
    ir::Op const* at = definition != nullptr ? definition : value.owner_block()->parent_op();
    while (at != nullptr && at != &loop) at = at->parent_op();
    return at != nullptr;
  }

  Emitter& e_;
  std::vector<ir::Value*> tiles_;
  std::vector<Registers> words_;
  std::vector<std::vector<llvm::PHINode*>> phis_;
};

std::span<ir::Value* const> yielded(ir::Block const& block) { return block.terminator()->operands(); }

}  // namespace

void lower(ir::ForOp const& attributes, ir::Op const& op, Emitter& e) {
  llvm::IRBuilder<>& b = e.b;
  ir::Loop const loop(op);
  llvm::Value *const lower_bound = e.scalar(*loop.lower()), *const step = e.scalar(*loop.step());
  llvm::Value* upper = e.scalar(*loop.upper());
  if (!ir::has_positive_step(op)) upper = b.CreateSelect(b.CreateICmpSGT(step, b.getInt64(0)), upper, lower_bound);
  std::vector<Registers> const inits = values_of(e, loop.inits());
  RoundTrip outer(e, op);
  llvm::BasicBlock *const before = b.GetInsertBlock(), *const header = e.block("loop"),
                          *const body = e.block("loop.body"), *const exit = e.block("loop.end");
  b.CreateBr(header);
  b.SetInsertPoint(header);
  llvm::PHINode* const index = b.CreatePHI(b.getInt64Ty(), 2);
  index->addIncoming(lower_bound, before);
  auto const phis = phis_for(e, inits, before);
  outer.enter(before);
  b.CreateCondBr(b.CreateICmpSLT(index, upper), body, exit);

  b.SetInsertPoint(body);
  e.set(*loop.counter(), {index});
  for (std::size_t i = 0; i < phis.size(); ++i) set_from(e, *loop.carried(static_cast<int>(i)), phis[i]);
  outer.take();
  e.emit_block(loop.body());
  std::vector<Registers> const next = values_of(e, loop.all_yielded());
  index->addIncoming(b.CreateAdd(index, step), b.GetInsertBlock());
  add_incoming(phis, next, b.GetInsertBlock());
  outer.leave();
  unroll(b.CreateBr(header), may_double(op) && may_double(*body, *exit) ? attributes.unroll : 1);

  b.SetInsertPoint(exit);
  outer.take();
  for (std::size_t i = 0; i < phis.size(); ++i) set_from(e, *op.result(static_cast<int>(i)), phis[i]);
}

void lower(ir::RepeatOp const&, ir::Op const& op, Emitter& e) {
  llvm::IRBuilder<>& b = e.b;
  ir::Loop const loop(op);
  std::vector<Registers> const inits = values_of(e, loop.inits());
  llvm::BasicBlock *const before = b.GetInsertBlock(), *const body = e.block("repeat"),
                          *const exit = e.block("repeated");
  b.CreateBr(body);
  b.SetInsertPoint(body);
  auto const phis = phis_for(e, inits, before);
  for (std::size_t i = 0; i < phis.size(); ++i) set_from(e, *loop.carried(static_cast<int>(i)), phis[i]);
  e.emit_block(loop.body());
  std::vector<Registers> const next = values_of(e, loop.all_yielded());
  add_incoming(phis, next, b.GetInsertBlock());
  unroll(b.CreateCondBr(e.scalar(*loop.condition()), body, exit), 1);
  b.SetInsertPoint(exit);
  for (std::size_t i = 0; i < next.size(); ++i) set_from(e, *op.result(static_cast<int>(i)), next[i]);
}

void lower(ir::IfOp const&, ir::Op const& op, Emitter& e) {
  llvm::IRBuilder<>& b = e.b;
  llvm::BasicBlock *const then_block = e.block("then"), *const else_block = e.block("else"),
                          *const join = e.block("endif");
  b.CreateCondBr(e.scalar(*op.in<ir::IfOp>("condition")), then_block, else_block);

  b.SetInsertPoint(then_block);
  e.emit_block(op.block(0));
  std::vector<Registers> const from_then = values_of(e, yielded(op.block(0)));
  llvm::BasicBlock* const then_end = b.GetInsertBlock();
  b.CreateBr(join);

  b.SetInsertPoint(else_block);
  e.emit_block(op.block(1));
  std::vector<Registers> const from_else = values_of(e, yielded(op.block(1)));
  llvm::BasicBlock* const else_end = b.GetInsertBlock();
  b.CreateBr(join);

  b.SetInsertPoint(join);
  auto const phis = phis_for(e, from_then, then_end);
  add_incoming(phis, from_else, else_end);
  for (std::size_t i = 0; i < phis.size(); ++i) set_from(e, *op.result(static_cast<int>(i)), phis[i]);
}

void lower(ir::YieldOp const&, ir::Op const&, Emitter&) {}    // read by the op around it
void lower(ir::GridOp const&, ir::Op const&, Emitter&) {}     // the launcher's
void lower(ir::RequireOp const&, ir::Op const&, Emitter&) {}  // the launcher's

void lower(ir::ExtentOp const& attributes, ir::Op const& op, Emitter& e) {
  e.set(*op.result(),
        {e.tensors.of(*op.in<ir::ExtentOp>("tensor")).extents[static_cast<std::size_t>(attributes.axis)]});
}

// Lowers block indices. The launch is one-dimensional, because CUDA's second and third grid axes end at 65535. Block b
// of it is block (b % g0, b / g0 % g1, b / (g0 * g1)) of the kernel's grid. There are fewer than 2^31 blocks.
void lower(ir::BlockIndexOp const& attributes, ir::Op const& op, Emitter& e) {
  if (attributes.axis < 0 || attributes.axis > 2) throw InternalError("nvptx: a grid has three axes");
  llvm::Value* index = e.intrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, {});
  int const axes = e.grid_axes();
  for (int axis = 0; axis < attributes.axis; ++axis) index = e.b.CreateUDiv(index, e.grid_extent(axis));
  if (attributes.axis + 1 < axes) index = e.b.CreateURem(index, e.grid_extent(static_cast<int>(attributes.axis)));
  if (attributes.axis >= axes) index = e.i32(0);
  e.set(*op.result(), {e.b.CreateZExt(index, e.b.getInt64Ty())});
}

void lower(ir::GridExtentOp const& attributes, ir::Op const& op, Emitter& e) {
  if (attributes.axis < 0 || attributes.axis > 2) throw InternalError("nvptx: a grid has three axes");
  e.set(*op.result(), {e.launch_slot(static_cast<int>(attributes.axis))});
}

void lower(ir::MultiprocessorsOp const&, ir::Op const& op, Emitter& e) { e.set(*op.result(), {e.launch_slot(3)}); }

}  // namespace tegula::codegen::nvptx
