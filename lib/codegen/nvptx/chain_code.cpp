#include "codegen/nvptx/chain_code.hpp"

#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <utility>

#include "codegen/nvptx/emitter.hpp"
#include "codegen/nvptx/inline_ptx.hpp"
#include "codegen/nvptx/pack_words.hpp"
#include "ir/memory/registers.hpp"

namespace tegula::codegen::nvptx {
namespace {

/// The number of multiprocessors, behind the grid's extents.
constexpr int multiprocessors_slot = 3;

/// Lets LLVM compute a value here at the latest.
void needed_here(llvm::IRBuilder<>& b, llvm::Value* value) {
  llvm::Type* const type = value->getType();
  if (type->isIntegerTy(8) || llvm::isa<llvm::Constant>(value)) return;
  if (type->isHalfTy() || type->isBFloatTy()) value = b.CreateBitCast(value, b.getInt16Ty());
  inline_ptx(b, b.getVoidTy(), "", std::string(1, constraint_of(value->getType())), {value}, AsmEffect::together);
}

}  // namespace

std::vector<ir::ElementChain> chains_of(ir::Block const& ops) {
  return ir::element_chains(ops, [](ir::Value const& value) { return ir::registers_of(value); });
}

void ChainCode::emit(ir::ElementChain const& chain) {
  for (ir::Op const* op : chain.ahead) e_.emit(*op);
  int const registers = chain.ops.front()->result()->type().layout()->registers();
  int const step = std::max((registers + chain.parts - 1) / chain.parts, 1);
  keep_apart(chain.taken);
  std::vector<Registers> results(chain.ops.size());
  for (int first = 0; first < registers; first += step) {
    e_.move_window({first, std::min(step, registers - first)});
    for (std::size_t i = 0; i < chain.ops.size(); ++i) {
      e_.emit(*chain.ops[i]);
      Registers const& part = e_.get(*chain.ops[i]->result());
      results[i].insert(results[i].end(), part.begin(), part.end());
    }
    keep_apart(chain.given);
  }
  e_.move_window({});
  for (std::size_t i = 0; i < chain.ops.size(); ++i) e_.set(*chain.ops[i]->result(), std::move(results[i]));
}

void ChainCode::keep_apart(std::vector<ir::Value const*> const& computed) {
  // LLVM and ptxas would move what only later code needs after the branch. For few values its condition takes them:
  // neither knows that the upper half of the number of multiprocessors is 0.
  llvm::IRBuilder<>& b = e_.b;
  llvm::Value* mixed = e_.i32(-1);
  for (ir::Value const* tile : computed) {
    if (e_.window().count == 0) {
      for (llvm::Value* value : e_.get(*tile)) needed_here(b, value);
      continue;
    }
    Element const element = tile->type().element();
    Registers values = e_.get(*tile);
    std::erase_if(values, [](llvm::Value* value) { return llvm::isa<llvm::Constant>(value); });
    // As they are stored, in pairs: rounded one by one for this alone, they would take two instructions more.
    bool const in_words = bits(element) == 16 || is_f8(element);
    for (llvm::Value* value : in_words ? pack_words(e_, element, values) : values) {
      llvm::Value* const word = in_words ? value : e_.to_bits(value, element);
      mixed = b.CreateXor(mixed, b.CreateZExtOrTrunc(word, b.getInt32Ty()));
    }
  }
  llvm::Value* const zero = b.CreateTrunc(b.CreateLShr(e_.launch_slot(multiprocessors_slot), 32), b.getInt32Ty());
  llvm::Value* const holds = b.CreateICmpNE(b.CreateAnd(mixed, zero), e_.i32(-1 - apart_++));
  llvm::BasicBlock *const from = b.GetInsertBlock(), *const next = e_.block("elements");
  if (never_ == nullptr) {
    // A loop: after a trap or an exit ptxas spills more where setmaxnreg has raised its limit.
    never_ = e_.block("never");
    b.SetInsertPoint(never_);
    b.CreateBr(never_);
    b.SetInsertPoint(from);
  }
  b.CreateCondBr(holds, next, never_, llvm::MDBuilder(b.getContext()).createLikelyBranchWeights());
  b.SetInsertPoint(next);
}

}  // namespace tegula::codegen::nvptx
