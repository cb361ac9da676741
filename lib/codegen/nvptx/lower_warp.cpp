// Lowers partitions of warps, elected lanes, and exchange within a warp without memory.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "codegen/nvptx/combine_all.hpp"
#include "codegen/nvptx/emitter.hpp"
#include "codegen/nvptx/ptx/sync.hpp"
#include "codegen/nvptx/ptx/warp.hpp"
#include "codegen/nvptx/pack_words.hpp"
#include "target/block_rules.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen::nvptx {
namespace {

/// Refuses register counts that the CTA's registers cannot hold, with the counts: the last setmaxnreg.inc would wait
/// for ever.
void check_registers(ir::Op const& op, int cta_warps, TargetInfo const& target) {
  auto const& attributes = op.as<ir::WarpSpecializeOp>();
  int const at_launch = target.registers_at_start(cta_warps);
  std::int64_t needed = 0;
  std::string users;
  for (int i = 0; i < attributes.warps.size(); ++i) {
    std::int64_t const registers = attributes.registers[i] != 0 ? attributes.registers[i] : at_launch;
    std::int64_t const threads = attributes.warps[i] * attributes.replicas[i] * target.lanes;
    needed += registers * threads;
    users += fmt::format("{}{} x {}", i == 0 ? "" : ", ", threads, registers);
  }
  std::int64_t const allowed = (at_launch + 7) / 8 * 8 * std::int64_t{target.lanes} * cta_warps;
  if (needed > allowed)
    refuse(op, fmt::format(
                   "registers: {} needed ({}), {} allowed, the number that {} threads start with; lower one of them",
                   needed, users, allowed, cta_warps * target.lanes));
}

}  // namespace

void lower(ir::WarpSpecializeOp const& attributes, ir::Op const& op, Emitter& e) {
  llvm::IRBuilder<>& b = e.b;
  check_registers(op, e.warps, e.target);
  int const at_launch = e.target.registers_at_start(e.warps);
  llvm::BasicBlock* const join = e.block("specialized");
  std::int64_t first = 0;
  for (int i = 0; i < op.block_count(); ++i) {
    std::int64_t const warps = attributes.warps[i], replicas = attributes.replicas[i];
    std::int64_t const registers = attributes.registers[i];
    llvm::BasicBlock* const here = e.block("partition");
    llvm::BasicBlock* const next = i + 1 < op.block_count() ? e.block("next") : nullptr;
    if (next == nullptr)
      b.CreateBr(here);  // the remaining warps
    else
      b.CreateCondBr(b.CreateICmpULT(e.warp, e.i32(first + warps * replicas)), here, next);
    b.SetInsertPoint(here);
    if (registers != 0) ptx::setmaxnreg(b, registers > at_launch, static_cast<int>(registers));
    llvm::Value* const number = b.CreateSub(e.warp, e.i32(first));
    llvm::Value *group = e.i32(0), *in_group = number;
    if (replicas > 1) {
      group = b.CreateUDiv(number, e.i32(warps));
      in_group = b.CreateURem(number, e.i32(warps));
    }
    if (warps == 1) in_group = e.i32(0);
    ir::Block const& block = op.block(i);
    e.in_group(in_group, static_cast<int>(warps), [&] {
      e.set(*block.argument(0), {b.CreateZExt(group, b.getInt64Ty())});
      e.emit_block(block);
    });
    b.CreateBr(join);
    if (next != nullptr) b.SetInsertPoint(next);
    first += warps * replicas;
  }
  b.SetInsertPoint(join);
}

void lower(ir::ElectOp const& attributes, ir::Op const& op, Emitter& e) {
  llvm::IRBuilder<>& b = e.b;
  if (attributes.warp >= e.warps) refuse(op, fmt::format("warp {} of {} executing ones", attributes.warp, e.warps));
  llvm::BasicBlock *const chosen = e.block("elected"), *const end = e.block("elected.end");
  bool const each_group = attributes.warp == ir::ElectOp::each_warpgroup;
  if ((attributes.warp >= 0 || each_group) && e.warps > 1) {
    llvm::BasicBlock* const of_warp = e.block("elect");
    llvm::Value* const in_group =
        each_group ? b.CreateAnd(ptx::copied_here(b, e.warp), target::warpgroup_warps - 1) : e.warp;
    b.CreateCondBr(b.CreateICmpEQ(in_group, e.i32(each_group ? 0 : attributes.warp)), of_warp, end);
    b.SetInsertPoint(of_warp);
  }
  b.CreateCondBr(e.is_chosen_lane(), chosen, end);
  b.SetInsertPoint(chosen);
  e.in_elected_lane([&] { e.emit_block(op.block()); });
  b.CreateBr(end);
  b.SetInsertPoint(end);
}

void lower(ir::FillOp const&, ir::Op const& op, Emitter& e) { e.emit_block(op.block()); }

void lower(ir::WarpIndexOp const&, ir::Op const& op, Emitter& e) {
  e.set(*op.result(), {e.b.CreateZExt(ptx::copied_here(e.b, e.warp), e.b.getInt64Ty())});
}

void lower(ir::ClusterRankOp const&, ir::Op const& op, Emitter& e) {
  e.set(*op.result(), {e.b.CreateZExt(ptx::cluster_rank(e.b), e.b.getInt64Ty())});
}

void lower(ir::VoteOp const& attributes, ir::Op const& op, Emitter& e) {
  bool const any = attributes.kind == ir::Vote::any;
  Registers values = e.get(*op.operand());
  while (values.size() > 1) {
    Registers next;
    for (std::size_t i = 0; i + 1 < values.size(); i += 2)
      next.push_back(any ? e.b.CreateOr(values[i], values[i + 1]) : e.b.CreateAnd(values[i], values[i + 1]));
    if (values.size() % 2 != 0) next.push_back(values.back());
    values = std::move(next);
  }
  e.set(*op.result(), {any ? ptx::vote_any(e.b, values[0]) : ptx::vote_all(e.b, values[0])});
}

void lower(ir::ShuffleOp const& attributes, ir::Op const& op, Emitter& e) {
  Registers const& registers = e.get(*op.operand());
  Element const element = op.operand()->type().element();
  Registers words;
  for (llvm::Value* word : pack_words(e, element, registers))
    words.push_back(e.shuffle_xor(word, static_cast<std::uint32_t>(attributes.mask)));
  e.set(*op.result(), unpack_words(e, element, words, registers.size()));
}

void lower(ir::FoldOp const& attributes, ir::Op const& op, Emitter& e) {
  ir::Type const& type = op.operand()->type();
  layout::Layout const &from = *type.layout(), &to = *op.result()->type().layout();
  int const axis = static_cast<int>(attributes.axis);
  Registers const& operand = e.get(*op.operand());
  auto const other_axes = [&](Extents at) {
    at[axis] = 0;
    return std::vector<std::int64_t>(at.begin(), at.end());
  };
  // Groups, per coordinate on the other axes, this thread's elements by ascending coordinate along the axis.
  std::map<std::vector<std::int64_t>, std::map<std::int64_t, llvm::Value*>> groups;
  for (int reg = 0; reg < from.registers(); ++reg) {
    Extents const at = from.part(layout::Dim::reg, reg);
    groups[other_axes(at)].emplace(at[axis], e.widen(operand[static_cast<std::size_t>(reg)], type.element()));
  }
  Registers result;
  for (int reg = 0; reg < to.registers(); ++reg) {
    auto const found = groups.find(other_axes(to.part(layout::Dim::reg, reg)));
    if (found == groups.end()) throw InternalError("nvptx: fold: a register of the result has no elements");
    Registers values;
    for (auto const& [at, value] : found->second) values.push_back(value);
    llvm::Value* const joined =
        combine_any(e, attributes.combine, type.element(), std::move(values), groups.size() - 1);
    result.push_back(e.narrow(computed_here(e.b, joined), type.element()));
  }
  e.set(*op.result(), std::move(result));
}

}  // namespace tegula::codegen::nvptx
