#include "sim/block/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "layout/layout.hpp"
#include "ir/core/families.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/needed_ability.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/memory/shared_frame.hpp"
#include "ir/text/text.hpp"
#include "tegula/support/error.hpp"

namespace tegula::sim::block {

using namespace ir;

namespace {

/// Calls visit(op) for every op, outer ones first.
template <class Visit>
void each_op(Block const& block, Visit const& visit) {
  for (Op const& op : block) {
    visit(op);
    for (int i = 0; i < op.block_count(); ++i) each_op(op.block(i), visit);
  }
}

bool passes_registers(Op const& op) { return op.is<WgmmaFenceOp>() || op.is<WgmmaWaitOp>(); }

/// Tells whether an op states itself its effects on registers.
bool own_registers(Op const& op) {
  bool const moves_values = op.is(Family::control) && !op.info().is_block_op();
  return op.is<WgmmaOp>() || passes_registers(op) || moves_values;
}

}  // namespace

Plan::Plan(Function const& kernel, TargetInfo const& target) : kernel_(kernel), target_(target) {
  auto const each_function = [&](auto const& visit) {
    if (kernel.parent() == nullptr) return visit(kernel);
    for (auto const& function : kernel.parent()->functions()) visit(*function);
  };
  warps_ = std::max(kernel.warps, 1);
  each_function([&](Function const& function) {
    place(function.body(), 1);
    find_ends(function.body());
  });
  each_function([&](Function const& function) { find_tracked(function); });
  if (warps_ * target.lanes > target.threads)
    throw UserError(fmt::format("simulate: @{} has {} warps, a CTA has at most {}", kernel.name(), warps_,
                                target.threads / target.lanes));
  for (auto& [op, plan] : ops_) {
    plan.cost = cost_of(*op, warps_, target);
    if (own_registers(*op)) continue;
    for (Value const* operand : op->operands())
      if (in_tensor_core(*operand)) plan.reads.push_back(operand);
    for (int i = 0; i < op->result_count(); ++i)
      if (in_tensor_core(*op->result(i))) plan.defines.push_back(op->result(i));
  }
  place_buffers(target.shared);
}

std::uint32_t Plan::place(Block const& block, std::uint32_t line) {
  int number = 0;
  for (Op const& op : block) {
    check(op);
    OpPlan& plan = ops_[&op];
    order_[&op] = number++;
    plan.site = {op.where().file(), op.where().line(), ++line, op.info().mnemonic.data()};
    for (int i = 0; i < op.block_count(); ++i) line = place(op.block(i), line) + 1;
  }
  return line;
}

void Plan::check(Op const& op) const {
  if (!op.info().runs(on_warp_simulator))
    throw UserError("simulate: " + why_not_run(op.info(), on_warp_simulator), op.where());
  if (std::string const why = why_not_on(op, target_); !why.empty())
    throw UserError("simulate: " + std::string(op.info().mnemonic) + ": " + why, op.where());
  bool const whole_warps = op.info().has(collective) || op.is<WarpSpecializeOp>();
  if (whole_warps && kernel_.warps == 0)
    throw UserError("simulate: @" + kernel_.name() + " does not state its warps; write warps = 4, for example",
                    op.where());
  for (int i = 0; i < op.result_count(); ++i) {
    Type const& type = op.result(i)->type();
    if (type.in_registers() && type.layout() == nullptr)
      throw UserError("simulate: " + to_string(*op.result(i)) + " has no layout; run assign-layouts first", op.where());
  }
}

/// Finds the last op of the value's own block that uses it, itself or in a block it holds.
void Plan::find_last(Value const& value) {
  Block const* const home = value.defining_op() != nullptr ? value.defining_op()->parent() : value.owner_block();
  Last last;
  for (Use const& use : value.uses()) {
    Op const* at = use.user;
    while (at->parent() != home) at = at->parent_op();
    if (last.op == at) {
      ++last.uses;
    } else if (last.op == nullptr || order_.at(at) > order_.at(last.op)) {
      last = {at, 1};
    }
  }
  if (last.op == nullptr) last.op = value.defining_op();
  if (last.op == nullptr) return;  // an argument that nothing uses
  last_[&value] = last;
  ops_.at(last.op).dies.push_back(&value);
}

void Plan::find_ends(Block const& block) {
  for (int i = 0; i < block.argument_count(); ++i)
    if (block.parent_op() != nullptr) find_last(*block.argument(i));
  for (Op const& op : block) {
    for (int i = 0; i < op.result_count(); ++i) find_last(*op.result(i));
    for (int i = 0; i < op.block_count(); ++i) find_ends(op.block(i));
  }
}

/// Finds operands and results of wgmma, and the ops that hand their registers on.
void Plan::find_tracked(Function const& function) {
  bool changed = true;
  auto const track = [&](Value const& value) {
    if (!value.type().in_registers() || !tracked_.emplace(&value, true).second) return;
    changed = true;
  };
  auto const same = [&](Value const& a, Value const& b) {
    if (in_tensor_core(a)) track(b);
    if (in_tensor_core(b)) track(a);
  };
  while (changed) {
    changed = false;
    each_op(function.body(), [&](Op const& op) {
      if (op.is<WgmmaOp>()) {
        track(*op.lhs());
        if (!op.all<WgmmaOp>("accumulator").empty()) track(*op.in<WgmmaOp>("accumulator"));
        track(*op.result());
      } else if (passes_registers(op)) {
        for (int i = 0; i < op.operand_count(); ++i) {
          track(*op.operand(i));
          track(*op.result(i));
        }
      } else if (is_loop(op)) {
        Loop const loop(op);
        for (int i = 0; i < loop.count(); ++i) {
          Value const& argument = *loop.carried(i);
          same(*loop.init(i), argument);
          same(argument, *loop.result(i));
          same(argument, *loop.yielded(i));
        }
      } else if (op.is<IfOp>()) {
        for (int i = 0; i < op.result_count(); ++i)
          for (int b = 0; b < op.block_count(); ++b) same(*op.result(i), *op.block(b).back().operand(i));
      }
    });
  }
}

/// Names the bytes of a buffer, and of its parts where it has several: mbarriers, or stages of a ring.
void Plan::name_buffer(Type const& type, std::string const& name, std::uint32_t at, std::uint32_t size) {
  names_.push_back({at, at + size, name});
  std::int64_t const parts = type.is_mbarrier() ? type.elements() : type.rank() > 2 ? type.shape()[0] : 1;
  auto const part = static_cast<std::uint32_t>(size / parts);
  for (std::uint32_t i = 0; parts > 1 && i < parts; ++i)
    names_.push_back({at + i * part, at + (i + 1) * part, fmt::format("{}[{}]", name, i)});
}

void Plan::place_buffers(std::int64_t allowed) {
  auto const names = value_names(kernel_);
  for (Op const& op : kernel_.body())
    if (op.is<BufferAllocOp>() && op.result()->type().is_global() && !holds_log(*op.result()))
      global_buffers_[&op] = names.at(op.result());
  auto users = shared_users(kernel_);
  std::int64_t next = frame_bytes(users);
  for (SharedUser& user : users) {
    if (user.kind == BufferKind::virtual_buffer && !user.decided())
      throw UserError(
          "simulate: " + to_string(user) + " has no offset in shared memory; " + "run allocate-shared-memory",
          user.op->where());
    if (!user.decided()) {  // users without a place yet go behind the rest
      user.offset = (next + user.align - 1) / user.align * user.align;
      next = user.end();
    }
    auto const at = static_cast<std::uint32_t>(user.offset);
    auto const size = static_cast<std::uint32_t>(user.bytes);
    places_[user.op] = at;
    if (user.kind == BufferKind::virtual_buffer)
      names_.push_back({at, at + size, to_string(user)});
    else if (user.kind == BufferKind::explicit_buffer)
      name_buffer(user.op->result()->type(), names.at(user.op->result()), at, size);
    else
      names_.push_back({at, at + size, "the exchange of " + names.at(user.op->result())});
  }
  if (next > allowed) throw UserError("simulate: " + too_much_shared_memory(next, allowed, users));
  shared_bytes_ = static_cast<std::uint32_t>((next + 1023) / 1024 * 1024);
  if (kernel_.parent() == nullptr) return;
  for (auto const& function : kernel_.parent()->functions()) {
    if (function.get() == &kernel_ || function->is_kernel()) continue;
    for (SharedUser const& user : shared_users(*function))
      if (user.decided()) places_[user.op] = static_cast<std::uint32_t>(user.offset);
  }
}

}  // namespace tegula::sim::block
