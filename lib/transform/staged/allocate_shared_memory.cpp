#include "transform/staged/allocate_shared_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/liveness.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/exchange.hpp"
#include "ir/verify/verify_mbarriers.hpp"
#include "tegula/support/error.hpp"
#include "transform/common/shared_memory_packing.hpp"

namespace tegula::transform {
namespace {

using analysis::Liveness;
using ir::BufferKind;
using ir::SharedUser;

bool overlap(SharedUser const& a, std::int64_t at_a, SharedUser const& b, std::int64_t at_b) {
  return at_a >= 0 && at_b >= 0 && at_a < at_b + b.bytes && at_b < at_a + a.bytes;
}

/// Returns offsets of all users; existing ones are unchanged.
std::vector<std::int64_t> decide(Liveness const& live, TargetInfo const& target) {
  auto const& users = live.users();
  std::vector<PackItem> items;
  for (SharedUser const& user : users) items.push_back({user.bytes, user.align, user.offset});
  auto const together = [&](std::size_t a, std::size_t b) { return live.together(a, b); };
  std::vector<std::int64_t> offsets = pack(items, together, live.max_live_bytes());
  std::int64_t const packed = packed_bytes(items, offsets);
  std::int64_t const cap = std::min(std::max(packed + packed / 16, target.tuning.small_shared), target.shared);

  // Exchanges rotate through the remaining memory, as long as they run one after the other.
  std::int64_t next = 0;
  for (std::size_t i = 0; i < users.size(); ++i) {
    if (users[i].kind != BufferKind::scratch || users[i].decided()) continue;
    auto const fits = [&](std::int64_t at) {
      if (at + users[i].bytes > cap) return false;
      for (std::size_t other = 0; other < users.size(); ++other)
        if (other != i && together(i, other) && overlap(users[i], at, users[other], offsets[other])) return false;
      return true;
    };
    // Gaps for an exchange begin where a user that it may not overlap ends.
    std::vector<std::int64_t> candidates = {0, next};
    for (std::size_t other = 0; other < users.size(); ++other)
      if (other != i && offsets[other] >= 0 && together(i, other))
        candidates.push_back((offsets[other] + users[other].bytes + 15) / 16 * 16);
    std::sort(candidates.begin(), candidates.end());
    auto const behind = [&](std::int64_t from) {
      for (std::int64_t const at : candidates)
        if (at >= from && fits(at)) return at;
      return std::int64_t{-1};
    };
    std::int64_t at = behind(next);
    if (at < 0) at = behind(0);
    if (at >= 0) offsets[i] = at;
    next = (offsets[i] + users[i].bytes + 15) / 16 * 16;
  }
  return offsets;
}

std::int64_t end_of(std::vector<SharedUser> const& users, std::vector<std::int64_t> const& offsets) {
  std::int64_t end = 0;
  for (std::size_t i = 0; i < users.size(); ++i) end = std::max(end, offsets[i] + users[i].bytes);
  return end;
}

/// Rejects calls, by several replicas of a partition, of a function that takes shared memory.
bool refuse_calls(std::vector<SharedUser> const& users, support::Diagnostics& diagnostics) {
  bool refused = false;
  for (SharedUser const& user : users) {
    if (user.kind != BufferKind::virtual_buffer) continue;
    ir::Op const* inside = user.op;
    for (ir::Op const* around = inside->parent_op(); around != nullptr; inside = around, around = around->parent_op()) {
      if (!around->is<ir::WarpSpecializeOp>()) continue;
      int partition = 0;
      while (&around->block(partition) != inside->parent()) ++partition;
      std::int64_t const replicas = around->as<ir::WarpSpecializeOp>().replicas[partition];
      if (replicas == 1) continue;
      diagnostics.error(
          fmt::format(
              "call: @{} takes {} bytes of shared memory, but {} replicas of a partition call it at once; inline it",
              user.op->as<ir::CallOp>().callee.view(), user.bytes, replicas),
          user.op->where());
      refused = true;
    }
  }
  return refused;
}

/// Gives the last argument of a call: the caller's base and an offset.
void pass_base(ir::Op& call, std::int64_t offset, std::int64_t bytes) {
  auto& attributes = call.as<ir::CallOp>();
  ir::Builder builder = ir::Builder::before(call);
  builder.set_where(call.where());
  ir::Value* at = ir::shared_base(*call.function());
  if (at == nullptr || offset != 0) {
    ir::Value* const distance = builder.index(offset);
    at = at == nullptr ? distance : builder.same(ir::AddOp{}, {at, distance});
  }
  if (attributes.virtual_bytes < 0)
    call.add_operand(at);
  else
    call.set_operand(call.operand_count() - 1, at);
  attributes.virtual_bytes = bytes;
}

bool give(SharedUser const& user, std::int64_t offset) {
  if (user.offset == offset) return false;
  switch (user.kind) {
    case BufferKind::explicit_buffer:
      user.op->as<ir::BufferAllocOp>().offset = offset;
      break;
    case BufferKind::scratch:
      *ir::scratch_attribute(*user.op) = offset;
      break;
    case BufferKind::virtual_buffer:
      pass_base(*user.op, offset, user.bytes);
      break;
  }
  return true;
}

/// Clears scratch offsets of ops that exchange nothing: they are not decisions.
bool forget_unneeded(ir::Function& function) {
  bool changed = false;
  ir::walk_pre_order(function, [&](ir::Op& op) {
    std::int64_t* const scratch = ir::scratch_attribute(op);
    if (scratch == nullptr || *scratch < 0 || ir::scratch_bytes(op) > 0) return ir::Walk::advance;
    *scratch = -1;
    changed = true;
    return ir::Walk::advance;
  });
  return changed;
}

/// Checks the chosen places by the verifier's rules for hand-written ones.
void check_places(ir::Function const& function, std::vector<SharedUser> const& users,
                  std::vector<std::int64_t> const& offsets) {
  for (std::size_t i = 0; i < users.size(); ++i)
    if (offsets[i] < 0 || offsets[i] % users[i].align != 0)
      throw InternalError(fmt::format("allocate-shared-memory: {} at byte {}, but its alignment is {}",
                                      users[i].op->info().mnemonic, offsets[i], users[i].align));
  for (ir::MbarrierError const& error : ir::mbarrier_errors(function))
    throw InternalError("allocate-shared-memory: " + std::string(error.op->info().mnemonic) + ": " + error.text);
}

}  // namespace

PassResult allocate_shared_memory(ir::Function& function, PassContext& context) {
  bool changed = forget_unneeded(function);
  Liveness const live(function, context.analyses.uniformity());
  auto const& users = live.users();
  if (users.empty()) return result_of(changed);
  if (refuse_calls(users, context.diagnostics)) return result_of(changed);
  std::vector<std::int64_t> offsets = decide(live, context.target);
  std::int64_t bytes = end_of(users, offsets);
  if (bytes > context.target.shared) {
    offsets = decide(Liveness(function, context.analyses.uniformity(), analysis::Reuse::in_loops), context.target);
    bytes = end_of(users, offsets);
  }
  if (bytes > context.target.shared) {
    std::vector<ir::SharedUser> placed = users;
    for (std::size_t i = 0; i < placed.size(); ++i) placed[i].offset = offsets[i];
    context.diagnostics.error(
        ir::too_much_shared_memory(bytes, context.target.shared, placed) + "; " + std::string(ir::less_shared_memory),
        function.where);
    return result_of(changed);
  }
  if (!function.is_kernel()) {
    std::int64_t const align = ir::frame_alignment(users);
    std::int64_t const frame = std::max((bytes + align - 1) / align * align, function.shared);
    if (function.shared < 0) function.add_parameter(ir::Type::index(), {}, "shared");
    changed = changed || frame != function.shared;
    function.shared = frame;
  }
  for (std::size_t i = 0; i < users.size(); ++i) changed = give(users[i], offsets[i]) || changed;
  if (changed) check_places(function, users, offsets);
  return result_of(changed);
}

}  // namespace tegula::transform
