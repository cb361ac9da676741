// Emits logs. The thread that runs a CTA counts as its one warp; its rows are in memory from the start, and the count
// of entries is in the row.
#include <cstddef>

#include "codegen/host/emitter.hpp"
#include "ir/core/families.hpp"
#include "ir/memory/log_layout.hpp"
#include "tegula/abi/profile_format.hpp"

namespace tegula::codegen::host {
namespace {

/// Returns the address `bytes` behind another.
llvm::Value* behind(llvm::IRBuilder<>& b, llvm::Value* address, std::size_t bytes) {
  return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), address, bytes);
}

llvm::Value* called(llvm::IRBuilder<>& b, llvm::Module& module, char const* name, llvm::Type* result) {
  return b.CreateCall(module.getOrInsertFunction(name, llvm::FunctionType::get(result, {}, false)));
}

llvm::Value* cycles(llvm::IRBuilder<>& b) {
  return b.CreateTrunc(b.CreateIntrinsic(llvm::Intrinsic::readcyclecounter, llvm::ArrayRef<llvm::Type*>(), {}),
                       b.getInt32Ty());
}

}  // namespace

bool logs(ir::Op const& op) { return op.info().effects.writes(ir::Space::log); }

void FunctionEmitter::log_op(ir::Op const& op) {
  if (op.is<ir::ProfileBeginOp>()) return begin_log(op);
  if (!ir::is_log_op(op)) return;  // records mean nothing by themselves
  llvm::Value* const number = scalar(*op.in("log"));
  when(b.CreateICmpNE(number, i64(0)), [&] {
    llvm::Value* const row = b.CreateIntToPtr(number, b.getPtrTy());
    if (op.is<ir::ProfileAppendOp>()) return append_to_log(op, row);
    b.CreateStore(cycles(b), behind(b, row, offsetof(ProfileRowHeader, stop_clock)));
    b.CreateStore(called(b, context.module, "tegula_time", b.getInt64Ty()),
                  behind(b, row, offsetof(ProfileRowHeader, stop_time)));
  });
}

// The result is the address of the row, 0 where the CTA does not record.
void FunctionEmitter::begin_log(ir::Op const& op) {
  auto const& attributes = op.as<ir::ProfileBeginOp>();
  ProfileLayout const layout = ir::log_layout(attributes);
  llvm::Value* const buffer = buffer_of(*op.in("buffer"))->pointer;
  llvm::Value* const ahead = b.CreateSub(linear_block_, i64(attributes.first_cta));
  llvm::Value* selected = b.getInt1((attributes.warps & 1) != 0);
  auto const require = [&](llvm::Value* condition) { selected = b.CreateAnd(selected, condition); };
  require(b.CreateICmpSGE(ahead, i64(0)));
  require(b.CreateICmpEQ(b.CreateURem(ahead, i64(attributes.cta_step)), i64(0)));
  require(b.CreateICmpULT(b.CreateUDiv(ahead, i64(attributes.cta_step)), i64(attributes.cta_count)));
  llvm::AllocaInst* const result = variable(b.getInt64Ty(), i64(0));
  when(selected, [&] {
    std::int32_t const in_group = profile_group_rows(layout);
    llvm::Value* const group =
        b.CreateAnd(b.CreateUDiv(ahead, i64(attributes.cta_step)), i64(profile_groups(layout) - 1));
    llvm::Value* const counter = b.CreateGEP(
        b.getInt8Ty(), buffer,
        b.CreateAdd(i64(profile_counter_offset(layout, 0)), b.CreateMul(group, i64(profile_counter_bytes))));
    llvm::Value* const number = b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, counter, b.getInt32(1), llvm::Align(4),
                                                  llvm::AtomicOrdering::Monotonic);
    when(b.CreateICmpULT(number, b.getInt32(static_cast<std::uint32_t>(in_group))), [&] {
      llvm::Value* const place = b.CreateAdd(b.CreateMul(group, i64(in_group)), b.CreateZExt(number, b.getInt64Ty()));
      llvm::Value* const offset =
          b.CreateAdd(i64(profile_rows_offset(layout)), b.CreateMul(place, i64(profile_row_bytes(layout))));
      llvm::Value* const row = b.CreateGEP(b.getInt8Ty(), buffer, offset);
      auto const store = [&](std::size_t field, llvm::Value* value) { b.CreateStore(value, behind(b, row, field)); };
      store(offsetof(ProfileRowHeader, launch),
            b.CreateLoad(b.getInt64Ty(), behind(b, buffer, offsetof(ProfileBufferHeader, launch))));
      store(offsetof(ProfileRowHeader, cta), b.CreateTrunc(linear_block_, b.getInt32Ty()));
      store(offsetof(ProfileRowHeader, processor), called(b, context.module, "tegula_thread", b.getInt32Ty()));
      store(offsetof(ProfileRowHeader, start_time), called(b, context.module, "tegula_time", b.getInt64Ty()));
      store(offsetof(ProfileRowHeader, start_clock), cycles(b));
      b.CreateStore(b.CreatePtrToInt(row, b.getInt64Ty()), result);
    });
  });
  set_scalar(*op.result(), get(result));
}

void FunctionEmitter::append_to_log(ir::Op const& op, llvm::Value* row) {
  auto const& attributes = op.as<ir::ProfileAppendOp>();
  auto const& begin = op.in("log")->defining_op()->as<ir::ProfileBeginOp>();
  llvm::Value* const count = behind(b, row, offsetof(ProfileRowHeader, slots_written));
  auto const append = [&](llvm::Value* tag, llvm::Value* low) {
    llvm::Value* const written = b.CreateLoad(b.getInt32Ty(), count);
    b.CreateStore(b.CreateAdd(written, b.getInt32(1)), count);
    auto const slots = static_cast<std::uint32_t>(begin.slots);
    llvm::Value* const slot = begin.circular ? b.CreateAnd(written, b.getInt32(slots - 1)) : written;
    auto const put = [&] {
      llvm::Value* const to =
          b.CreateGEP(b.getInt64Ty(), behind(b, row, sizeof(ProfileRowHeader)), b.CreateZExt(slot, b.getInt64Ty()));
      b.CreateStore(tag, to);
      b.CreateStore(low, behind(b, to, offsetof(ProfileSlot, low)));
    };
    begin.circular ? put() : when(b.CreateICmpULT(written, b.getInt32(slots)), put);
  };
  append(b.getInt32(ir::log_tag(attributes)), cycles(b));
  if (op.operand_count() < 2) return;
  llvm::Value* const value = scalar(*op.in("value"));
  std::uint32_t const tag = profile_tag(ProfileSlotKind::value, 0);
  llvm::Value* const high = b.CreateTrunc(b.CreateLShr(value, 32), b.getInt32Ty());
  append(b.CreateOr(b.CreateAnd(high, b.getInt32(~tag)), b.getInt32(tag)), b.CreateTrunc(value, b.getInt32Ty()));
}

}  // namespace tegula::codegen::host
