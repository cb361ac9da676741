// Emits scans: a loop along the axis, in vectors of lines where another axis has adjacent elements, else in vectors of
// places. Those are scanned in log2(lanes) steps.
#include <algorithm>
#include <bit>

#include "codegen/host/emitter.hpp"
#include "ir/values/combine.hpp"

namespace tegula::codegen::host {

namespace {

/// Returns the vector moved by some lanes toward the later ones, or toward the earlier ones, with `fill` behind it.
llvm::Value* moved(llvm::IRBuilder<>& b, llvm::Value* vector, llvm::Value* fill, int lanes, int by, bool earlier) {
  std::vector<int> order;
  for (int lane = 0; lane < lanes; ++lane) {
    int const from = earlier ? lane + by : lane - by;
    order.push_back(from < 0 || from >= lanes ? lanes : from);
  }
  return b.CreateShuffleVector(vector, fill, order);
}

/// Returns the last axis, other than the scanned one, along which elements are adjacent in memory; -1: none.
int adjacent_axis(Buffer const& buffer, Extents const& shape, int scanned) {
  int result = -1;
  for (int axis = 0; axis < shape.size(); ++axis)
    if (axis != scanned && shape[axis] > 1 && FunctionEmitter::contiguous(buffer, axis)) result = axis;
  return result;
}

}  // namespace

/// Scans whole vectors of a line of adjacent elements from its begin, or its end. Returns the number of elements, which
/// may be above the limit.
llvm::Value* FunctionEmitter::scan_places(ir::Op const& op, Buffer const& result, Index const& line,
                                          llvm::AllocaInst* before, std::vector<llvm::Value*> const& limits) {
  ir::ScanOp const scan = op.as<ir::ScanOp>();
  auto const axis = static_cast<std::size_t>(scan.axis);
  Element const element = op.result()->type().element();
  std::int64_t const extent = op.result()->type().shape()[static_cast<int>(axis)];
  auto const lanes = static_cast<int>(std::min<std::int64_t>(
      native_lanes(element), static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(extent)))));
  // A sum of integers takes a cycle, and shuffles of 256 bits take three.
  if (lanes < 4 || (lanes < 16 && !is_float(element))) return i64(0);
  llvm::Value* whole = i64(extent / lanes * lanes);
  if (limits[axis] != nullptr) {
    llvm::Value* const up = b.CreateAdd(limits[axis], i64(lanes - 1));
    whole = smin(whole, b.CreateAnd(up, i64(-lanes)));
  }
  llvm::Type* const held = storage_type(element);
  llvm::Type* const vector = llvm::FixedVectorType::get(held, static_cast<unsigned>(lanes));
  llvm::Align const align(static_cast<std::uint64_t>(storage_bytes(element)));
  llvm::Value* const neutral =
      b.CreateVectorSplat(static_cast<unsigned>(lanes), arith.constant(ir::neutral(scan.combine, element)));
  int const last = scan.reverse ? 0 : lanes - 1;
  loop(i64(0), whole, i64(lanes), [&](llvm::Value* i) {
    Index at = line;
    at[axis].at = scan.reverse ? b.CreateSub(i64(extent - lanes), i) : i;
    llvm::Value* const place = address(result, at);
    llvm::Value* sums = b.CreateAlignedLoad(vector, place, align);
    for (int by = 1; by < lanes; by *= 2)
      sums = arith.combine(scan.combine, element, moved(b, sums, neutral, lanes, by, scan.reverse), sums);
    llvm::Value* const old = b.CreateVectorSplat(static_cast<unsigned>(lanes), get(before));
    llvm::Value* const all = arith.combine(scan.combine, element, old, sums);
    llvm::Value* const given = scan.exclusive ? moved(b, all, old, lanes, 1, scan.reverse) : all;
    b.CreateAlignedStore(arith.round_to(element, given), place, align);
    b.CreateStore(b.CreateExtractElement(all, static_cast<std::uint64_t>(last)), before);
  });
  return whole;
}

// Scans in the result's own memory, which first holds the operand.
void FunctionEmitter::scan(ir::Op const& op) {
  ir::ScanOp const scan = op.as<ir::ScanOp>();
  auto const axis = static_cast<int>(scan.axis);
  ir::Type const& type = op.result()->type();
  Element const element = type.element();
  Extents const& shape = type.shape();
  Buffer const result = target_of(*op.result(), &op);
  // Places that no store needs are not computed. A scan in reverse begins behind them.
  std::vector<llvm::Value*> limits;
  for (int i = 0; i < shape.size(); ++i) {
    llvm::Value* const some = i == axis && scan.reverse ? nullptr : stored(*op.result(), op, i);
    limits.push_back(some == nullptr ? nullptr : smin(smax(some, i64(0)), i64(shape[i])));
  }
  auto const end = [&](int i) {
    llvm::Value* const some = limits[static_cast<std::size_t>(i)];
    return some == nullptr ? i64(shape[i]) : some;
  };
  materialise(*op.operand(), result, limits);
  llvm::Type* const held = storage_type(element);
  llvm::Align const align(static_cast<std::uint64_t>(storage_bytes(element)));
  int const vector_axis = adjacent_axis(result, shape, axis);

  Index index(static_cast<std::size_t>(shape.size()), Axis{i64(0), false});
  auto const line = [&](unsigned lanes) {
    llvm::Type* const at_once = lanes == 1 ? held : llvm::FixedVectorType::get(held, lanes);
    auto const all_lanes = [&](ir::Constant constant) {
      llvm::Value* const value = arith.constant(constant);
      return lanes == 1 ? value : b.CreateVectorSplat(lanes, value);
    };
    llvm::AllocaInst* const before = variable(at_once, all_lanes(scan.exclusive ? ir::scan_start(scan.combine, element)
                                                                                : ir::neutral(scan.combine, element)));
    bool const adjacent = lanes == 1 && element != Element::boolean && contiguous(result, axis);
    llvm::Value* const done = adjacent ? scan_places(op, result, index, before, limits) : i64(0);
    loop(done, end(axis), i64(1), [&](llvm::Value* i) {
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
        loop(i64(first), smin(i64(last), end(vector_axis)), i64(step), [&](llvm::Value* column) {
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
    loop(i64(0), end(level), i64(1), [&](llvm::Value* i) {
      index[static_cast<std::size_t>(level)].at = i;
      over(level + 1);
      index[static_cast<std::size_t>(level)].at = i64(0);
    });
  };
  over(0);
  set_buffer(*op.result(), result);
}

}  // namespace tegula::codegen::host
