// Lowers logs. One lane of a warp writes: the one that is elected in elected regions too. Its predicated stores need no
// branch, so the warp stays together. The count of entries is a register of that lane. Little of an entry stands where
// other code waits: its place is computed before, and its store may come after products.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <cstddef>
#include <utility>

#include "codegen/nvptx/emitter.hpp"
#include "codegen/nvptx/inline_ptx.hpp"
#include "codegen/nvptx/profile_logs.hpp"
#include "codegen/nvptx/ptx/clock.hpp"
#include "codegen/nvptx/ptx/sync.hpp"
#include "codegen/nvptx/ptx/warp.hpp"
#include "codegen/nvptx/pack_words.hpp"
#include "ir/memory/log_layout.hpp"
#include "tegula/abi/profile_format.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen::nvptx {
namespace {

using Header = ProfileRowHeader;

llvm::Value* cta_number(Emitter& e) { return e.intrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, {}); }

/// Returns i1: this warp records.
llvm::Value* selected(ir::ProfileBeginOp const& attributes, Emitter& e) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Value* result = b.getTrue();
  auto const require = [&](llvm::Value* condition) { result = b.CreateAnd(result, condition); };
  std::int64_t const all = (std::int64_t{1} << e.warps) - 1;
  if ((attributes.warps & all) != all) {
    llvm::Value* const bit = b.CreateAnd(b.CreateLShr(e.i32(attributes.warps), e.warp), e.i32(1));
    require(b.CreateICmpEQ(bit, e.i32(1)));
  }
  if (attributes.granularity == ProfileGranularity::warpgroup)
    require(b.CreateICmpEQ(b.CreateAnd(e.warp, e.i32(e.target.warps_per_group - 1)), e.i32(0)));
  if (attributes.granularity == ProfileGranularity::cta) require(b.CreateICmpEQ(e.warp, e.i32(0)));
  bool const all_ctas =
      attributes.first_cta == 0 && attributes.cta_step == 1 && attributes.cta_count == ir::ProfileBeginOp::max_ctas;
  if (all_ctas) return result;
  llvm::Value* const cta = b.CreateZExt(cta_number(e), b.getInt64Ty());
  llvm::Value* const behind = b.CreateSub(cta, e.i64(attributes.first_cta));
  require(b.CreateICmpSGE(behind, e.i64(0)));
  require(b.CreateICmpEQ(b.CreateURem(behind, e.i64(attributes.cta_step)), e.i64(0)));
  require(b.CreateICmpULT(b.CreateUDiv(behind, e.i64(attributes.cta_step)), e.i64(attributes.cta_count)));
  return result;
}

/// Stores 32-bit or 64-bit fields of a row's header from `offset` on, by the lane that writes.
void store_fields(Emitter& e, Log const& log, std::size_t offset, Registers const& fields) {
  int const bits = static_cast<int>(fields[0]->getType()->getIntegerBitWidth());
  store_vector(e.b, log.in_shared ? "shared" : "global", log.writes, log.row, static_cast<std::int64_t>(offset), fields,
               bits);
}

/// Tells whether one lane alone appends entries somewhere, so that it alone knows their count.
bool elected_entries(ir::Block& block, bool elected = false) {
  for (ir::Op& op : block) {
    if (elected && op.is<ir::ProfileAppendOp>()) return true;
    for (int i = 0; i < op.block_count(); ++i)
      if (elected_entries(op.block(i), elected || op.is<ir::ElectOp>())) return true;
  }
  return false;
}

/// Returns the group of rows of this multiprocessor.
llvm::Value* row_group(Emitter& e, Log const& log) {
  return e.b.CreateAnd(ptx::multiprocessor(e.b), e.i32(profile_groups(log.layout) - 1));
}

/// Takes a row of a group; returns its number there, at least the count of its rows where there is none.
llvm::Value* take_row(Emitter& e, Log const& log, llvm::Value* group) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Value* const offset =
      b.CreateAdd(e.i64(profile_counter_offset(log.layout, 0)),
                  b.CreateMul(b.CreateZExt(group, b.getInt64Ty()), e.i64(profile_counter_bytes)));
  return ptx::count_up(b, b.CreateAdd(log.buffer, offset), log.writes, e.i32(profile_group_rows(log.layout)));
}

/// Tells whether there is a row of this number in its group.
llvm::Value* has_row(Emitter& e, Log const& log, llvm::Value* number) {
  return e.b.CreateICmpULT(number, e.i32(profile_group_rows(log.layout)));
}

llvm::Value* row_address(Emitter& e, Log const& log, llvm::Value* group, llvm::Value* number) {
  llvm::Value* const row = e.b.CreateAdd(e.b.CreateMul(group, e.i32(profile_group_rows(log.layout))), number);
  llvm::Value* const offset =
      e.b.CreateMul(e.b.CreateZExt(row, e.b.getInt64Ty()), e.i64(profile_row_bytes(log.layout)));
  return e.b.CreateAdd(log.buffer, e.b.CreateAdd(offset, e.i64(profile_rows_offset(log.layout))));
}

/// Returns the words of the tile that the op before an entry computed, if it did. The entry's clock is read after
/// them: LLVM moves arithmetic whose results are needed late after other clocks.
Registers computed_before(ir::Op const& entry, Emitter& e) {
  ir::Op const* before = nullptr;
  for (ir::Op const& op : *entry.parent()) {
    if (&op == &entry) break;
    before = &op;
  }
  if (before == nullptr || !before->pure() || before->result_count() != 1 || !before->result()->type().is_tile())
    return {};
  Registers words = pack_words(e, before->result()->type().element(), e.get(*before->result()));
  std::erase_if(words, [](llvm::Value* word) { return word->getType()->getPrimitiveSizeInBits() < 32; });
  return words;
}

/// Stores an entry and computes the place of the next one, so that its store waits for nothing.
void append(Emitter& e, Log const& log, llvm::Value* tag, llvm::Value* low) {
  constexpr std::int64_t entry_bytes = sizeof(ProfileSlot);
  llvm::IRBuilder<>& b = e.b;
  std::int64_t const room = log.layout.slots * entry_bytes;
  llvm::Value* const written = b.CreateLoad(b.getInt32Ty(), log.written);
  llvm::Value* const place = b.CreateLoad(b.getInt32Ty(), log.place);
  llvm::Value* writes = log.writes;
  if (!log.layout.circular) writes = b.CreateAnd(writes, b.CreateICmpULT(written, e.i32(room)));
  store_vector(b, log.in_shared ? "shared" : "global", writes,
               b.CreateAdd(log.row, b.CreateZExt(place, log.row->getType())), sizeof(Header), {tag, low}, 32);
  llvm::Value* const next = b.CreateAdd(written, e.i32(entry_bytes));
  b.CreateStore(next, log.written);
  b.CreateStore(log.layout.circular ? ptx::copied_here(b, b.CreateAnd(next, e.i32(room - 1))) : next, log.place);
}

/// Copies this warp's row to the buffer, to the end of a sector: all lanes, 8 bytes each at a time. The lane that
/// writes knows the row and the count; it has the min and the max of the warp. All lanes know the count if none was
/// elected for an entry.
void copy_row(Emitter& e, Log const& log, llvm::Value* count, bool elected) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Value* const all_lanes = b.getInt32(~0U);
  llvm::Value* const number = e.intrinsic(llvm::Intrinsic::nvvm_redux_sync_umin, {log.taken, all_lanes});
  llvm::Value* const written = elected ? e.intrinsic(llvm::Intrinsic::nvvm_redux_sync_umax, {count, all_lanes}) : count;
  ptx::barrier_warp(b);
  llvm::Value* const kept =
      b.CreateSelect(b.CreateICmpULT(written, e.i32(log.layout.slots)), written, e.i32(log.layout.slots));
  constexpr std::int64_t sector_words = profile_sector_bytes / std::int64_t{sizeof(ProfileSlot)};
  llvm::Value* const words = b.CreateAnd(
      b.CreateAdd(kept, e.i32(sizeof(Header) / sizeof(ProfileSlot) + sector_words - 1)), e.i32(-sector_words));
  llvm::Value* const to = row_address(e, log, row_group(e, log), number);
  llvm::Value* const lane = ptx::lane(b);
  llvm::BasicBlock *const before = b.GetInsertBlock(), *const copy = e.block("log.copy"),
                          *const end = e.block("log.end");
  b.CreateCondBr(b.CreateAnd(has_row(e, log, number), b.CreateICmpULT(lane, words)), copy, end);
  b.SetInsertPoint(copy);
  llvm::PHINode* const word = b.CreatePHI(b.getInt32Ty(), 2);
  llvm::Value* const offset = b.CreateShl(word, e.i32(3));
  Registers const slot = load_vector(b, "shared", nullptr, b.CreateAdd(log.row, offset), 0, {e.i32(0), e.i32(0)}, 32);
  store_vector(b, "global", nullptr, b.CreateAdd(to, b.CreateZExt(offset, b.getInt64Ty())), 0, slot, 32);
  llvm::Value* const next = b.CreateAdd(word, e.i32(e.target.lanes));
  word->addIncoming(lane, before);
  word->addIncoming(next, copy);
  b.CreateCondBr(b.CreateICmpULT(next, words), copy, end);
  b.SetInsertPoint(end);
}

}  // namespace

// Records mean nothing by themselves.
void lower(ir::RecordOp const&, ir::Op const&, Emitter&) {}

void lower(ir::ProfileBeginOp const& attributes, ir::Op const& op, Emitter& e) {
  llvm::IRBuilder<>& b = e.b;
  Log log;
  log.layout = ir::log_layout(attributes);
  log.in_shared = op.operand_count() == 2;
  log.buffer = e.scalar(*op.in("buffer"));
  log.selected = selected(attributes, e);
  log.writes = b.CreateAnd(e.is_chosen_lane(), log.selected);
  if (log.in_shared) {
    llvm::Value* const own = b.CreateMul(e.warp, e.i32(profile_row_bytes(log.layout)));
    log.row = b.CreateAdd(e.scalar(*op.in("shared")), own);
    log.taken = take_row(e, log, row_group(e, log));  // used at the end alone, so nothing waits for it
  } else {
    llvm::Value* const group = row_group(e, log);
    llvm::Value* const number = take_row(e, log, group);
    log.writes = b.CreateAnd(log.writes, has_row(e, log, number));
    log.row = row_address(e, log, group, number);
  }
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  for (llvm::Value** variable : {&log.written, &log.place}) {
    *variable = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(b.getInt32Ty());
    b.CreateStore(e.i32(0), *variable);
  }
  store_fields(e, log, offsetof(Header, start_time), {ptx::global_timer(b)});
  store_fields(e, log, offsetof(Header, start_clock), {ptx::clock(b), e.i32(0)});
  // Now, so that no register holds them until the end.
  store_fields(e, log, offsetof(Header, launch), {ptx::grid_number(b)});
  store_fields(e, log, offsetof(Header, cta), {cta_number(e), e.warp, ptx::multiprocessor(b), e.i32(0)});
  // A row in memory is read even where the warp does not reach its end.
  if (!log.in_shared) store_fields(e, log, offsetof(Header, stop_time), {e.i64(0)});
  e.logs->add(*op.result(), log);
  e.set(*op.result(), {e.i64(0)});
}

void lower(ir::ProfileAppendOp const& attributes, ir::Op const& op, Emitter& e) {
  llvm::IRBuilder<>& b = e.b;
  e.logs->store_deferred();
  Log const& log = e.logs->of(*op.in("log"));
  llvm::Value* const now = ptx::clock(b, computed_before(op, e));
  auto const store = [&e, &log, now, tag = ir::log_tag(attributes)] { append(e, log, e.i32(tag), now); };
  // Products start at once after the wait for their factors.
  if (e.next() != nullptr && (e.next()->is<ir::WgmmaFenceOp>() || e.next()->is<ir::WgmmaOp>()))
    e.logs->defer(store);
  else
    store();
  if (op.operand_count() < 2) return;
  e.logs->store_deferred();
  llvm::Value* const value = e.scalar(*op.in("value"));
  llvm::Value* const high = b.CreateTrunc(b.CreateLShr(value, e.i64(32)), b.getInt32Ty());
  std::uint32_t const tag = profile_tag(ProfileSlotKind::value, 0);
  append(e, log, b.CreateOr(b.CreateAnd(high, e.i32(~tag)), e.i32(tag)), b.CreateTrunc(value, b.getInt32Ty()));
}

void lower(ir::ProfileEndOp const&, ir::Op const& op, Emitter& e) {
  llvm::IRBuilder<>& b = e.b;
  Log const& log = e.logs->of(*op.in("log"));
  llvm::Value* const written = b.CreateLoad(b.getInt32Ty(), log.written);
  llvm::Value* const count = b.CreateUDiv(written, e.i32(sizeof(ProfileSlot)));
  store_fields(e, log, offsetof(Header, stop_clock), {ptx::clock(b)});
  store_fields(e, log, offsetof(Header, stop_time), {ptx::global_timer(b)});
  store_fields(e, log, offsetof(Header, slots_written), {count});
  if (!log.in_shared) return;
  llvm::BasicBlock *const flush = e.block("log.flush"), *const done = e.block("log.done");
  b.CreateCondBr(log.selected, flush, done);
  b.SetInsertPoint(flush);
  copy_row(e, log, count, elected_entries(*op.parent()));
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

}  // namespace tegula::codegen::nvptx
