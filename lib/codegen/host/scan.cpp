// Emits scans: a sequential loop along the axis, in vectors where another axis has adjacent elements.
#include "codegen/host/emitter.hpp"
#include "ir/values/combine.hpp"

namespace tegula::codegen::host {

// Scans in the result's own memory, which first holds the operand.
void FunctionEmitter::scan(ir::Op const& op) {
  ir::ScanOp const scan = op.as<ir::ScanOp>();
  auto const axis = static_cast<int>(scan.axis);
  ir::Type const& type = op.result()->type();
  Element const element = type.element();
  Extents const& shape = type.shape();
  Buffer const result = target_of(*op.result(), &op);
  materialise(*op.operand(), result);
  llvm::Type* const held = storage_type(element);
  llvm::Align const align(static_cast<std::uint64_t>(storage_bytes(element)));
  int vector_axis = -1;
  for (int other = 0; other < shape.size(); ++other)
    if (other != axis && shape[other] > 1 && contiguous(result, other)) vector_axis = other;

  Index index(static_cast<std::size_t>(shape.size()), Axis{i64(0), false});
  auto const line = [&](unsigned lanes) {
    llvm::Type* const at_once = lanes == 1 ? held : llvm::FixedVectorType::get(held, lanes);
    auto const all_lanes = [&](ir::Constant constant) {
      llvm::Value* const value = arith.constant(constant);
      return lanes == 1 ? value : b.CreateVectorSplat(lanes, value);
    };
    llvm::AllocaInst* const before = variable(at_once, all_lanes(scan.exclusive ? ir::scan_start(scan.combine, element)
                                                                                : ir::neutral(scan.combine, element)));
    loop(i64(0), i64(shape[axis]), i64(1), [&](llvm::Value* i) {
      Index at = index;
      at[static_cast<std::size_t>(axis)].at = scan.reverse ? b.CreateSub(i64(shape[axis] - 1), i) : i;
      llvm::Value* const place = address(result, at);
      llvm::Value* const old = get(before);
      llvm::Value* const all = arith.combine(scan.combine, element, old, b.CreateAlignedLoad(at_once, place, align));
      b.CreateAlignedStore(arith.round_to(element, scan.exclusive ? old : all), place, align);
      b.CreateStore(all, before);
    });
  };
  std::function<void(int)> const over = [&](int level) {
    if (level == shape.size()) {
      if (vector_axis < 0) return line(1);
      auto const lanes = static_cast<std::int64_t>(native_lanes(element));
      std::int64_t const whole = shape[vector_axis] / lanes * lanes;
      llvm::Value*& at = index[static_cast<std::size_t>(vector_axis)].at;
      auto const columns = [&](std::int64_t first, std::int64_t last, std::int64_t step) {
        if (first == last) return;
        loop(i64(first), i64(last), i64(step), [&](llvm::Value* column) {
          at = column;
          line(static_cast<unsigned>(step));
        });
      };
      columns(0, whole, lanes);
      columns(whole, shape[vector_axis], 1);
      at = i64(0);
      return;
    }
    if (level == axis || level == vector_axis || shape[level] == 1) return over(level + 1);
    loop(i64(0), i64(shape[level]), i64(1), [&](llvm::Value* i) {
      index[static_cast<std::size_t>(level)].at = i;
      over(level + 1);
      index[static_cast<std::size_t>(level)].at = i64(0);
    });
  };
  over(0);
  set_buffer(*op.result(), result);
}

}  // namespace tegula::codegen::host
