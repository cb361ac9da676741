// Emits matrix products on packed operands: one register-blocked micro-kernel, called over the panels of a tile.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>

#include "codegen/host/packing.hpp"
#include "codegen/host/paths.hpp"
#include "ir/values/constant_of.hpp"

namespace tegula::codegen::host {

namespace {

/// Limits the run of k between two visits of the accumulators: A's rows and one panel of B stay in the first caches.
constexpr std::int64_t longest_k = 512;

/// Counts the rows of accumulators that fit beside two vectors of B and the broadcast elements of A.
int micro_rows(HostTarget const& target) { return target.vector_registers >= 32 ? 12 : target.has_fma ? 6 : 4; }

}  // namespace

llvm::Function* FunctionEmitter::micro_kernel(MicroKernel const& shape) {
  llvm::Function*& function = context.micro_kernels[shape];
  if (function != nullptr) return function;
  llvm::LLVMContext& llvm_context = b.getContext();
  llvm::Type* const pointer = b.getPtrTy();
  llvm::Type* const parameters[] = {pointer, pointer, pointer, b.getInt64Ty(), pointer, b.getInt1Ty()};
  function = llvm::Function::Create(
      llvm::FunctionType::get(b.getVoidTy(), parameters, false), llvm::GlobalValue::InternalLinkage,
      fmt::format("multiply_{}x{}", shape.rows, shape.vectors * shape.lanes), context.module);
  for (unsigned i = 0; i < 3; ++i) function->addParamAttr(i, llvm::Attribute::NoAlias);
  llvm::Value* const a0 = function->getArg(0);
  llvm::Value* const b0 = function->getArg(1);
  llvm::Value* const c0 = function->getArg(2);
  llvm::Value* const k = function->getArg(3);
  llvm::Value* const starts = function->getArg(4);
  llvm::Value* const fresh = function->getArg(5);
  llvm::BasicBlock* const entry = llvm::BasicBlock::Create(llvm_context, "entry", function);
  llvm::BasicBlock* const old = llvm::BasicBlock::Create(llvm_context, "old", function);
  llvm::BasicBlock* const begin = llvm::BasicBlock::Create(llvm_context, "begin", function);
  llvm::BasicBlock* const body = llvm::BasicBlock::Create(llvm_context, "k", function);
  llvm::BasicBlock* const done = llvm::BasicBlock::Create(llvm_context, "done", function);
  llvm::IRBuilder<> at(entry);
  llvm::Type* const scalar = storage_type(shape.element);
  llvm::Type* const word = shape.step == Step::one ? scalar : b.getInt32Ty();
  auto const vector_of = [&](llvm::Type* type) {
    return shape.lanes == 1 ? type : llvm::FixedVectorType::get(type, static_cast<unsigned>(shape.lanes));
  };
  llvm::Type* const vector = vector_of(scalar);
  llvm::Align const align(static_cast<std::uint64_t>(storage_bytes(shape.element)));
  auto const c_at = [&](int row, int column) {
    return at.CreateConstGEP1_64(scalar, c0,
                                 static_cast<std::uint64_t>(row * shape.ldc + std::int64_t{column} * shape.lanes));
  };
  // bf16_pairs would take a subnormal number in C for 0: it adds from 0, and C is added at the end.
  bool const adds_late = shape.step == Step::bf16_pairs;
  auto const for_each = [&](std::function<void(int row, int column)> const& visit) {
    for (int row = 0; row < shape.rows; ++row)
      for (int column = 0; column < shape.vectors; ++column) visit(row, column);
  };
  at.CreateCondBr(adds_late ? at.getTrue() : fresh, begin, old);
  at.SetInsertPoint(old);
  std::vector<llvm::Value*> sums_before;
  for_each([&](int row, int column) { sums_before.push_back(at.CreateAlignedLoad(vector, c_at(row, column), align)); });
  at.CreateBr(begin);
  at.SetInsertPoint(begin);
  std::vector<llvm::Value*> start;
  for (llvm::Value* before : sums_before) {
    llvm::PHINode* const node = at.CreatePHI(vector, 2);
    node->addIncoming(llvm::Constant::getNullValue(vector), entry);
    node->addIncoming(before, old);
    start.push_back(node);
  }
  if (shape.starts)
    for_each([&](int row, int column) {
      llvm::Value* const from = at.CreateConstGEP1_64(
          scalar, starts, static_cast<std::uint64_t>(column) * static_cast<std::uint64_t>(shape.lanes));
      llvm::Value*& sum = start[static_cast<std::size_t>(row * shape.vectors + column)];
      sum = at.CreateAdd(sum, at.CreateAlignedLoad(vector, from, align));
    });
  at.CreateCondBr(at.CreateICmpSGT(k, at.getInt64(0)), body, done);

  at.SetInsertPoint(body);
  auto const phi = [&](llvm::Type* type, llvm::Value* initial) {
    llvm::PHINode* const node = at.CreatePHI(type, 2);
    node->addIncoming(initial, begin);
    return node;
  };
  llvm::PHINode* const a = phi(pointer, a0);
  llvm::PHINode* const columns = phi(pointer, b0);
  llvm::PHINode* const left = phi(b.getInt64Ty(), k);
  std::vector<llvm::PHINode*> phis;
  for (llvm::Value* value : start) phis.push_back(phi(vector, value));
  std::vector<llvm::Value*> sums(phis.begin(), phis.end());
  for (int u = 0; u < shape.unroll; ++u) {
    std::vector<llvm::Value*> right;
    for (int column = 0; column < shape.vectors; ++column)
      right.push_back(at.CreateAlignedLoad(
          vector_of(word),
          at.CreateConstGEP1_64(word, columns, static_cast<std::uint64_t>(u * shape.panel + column * shape.lanes)),
          align));
    for (int row = 0; row < shape.rows; ++row) {
      llvm::Value* element = at.CreateAlignedLoad(
          word, at.CreateConstGEP1_64(word, a, static_cast<std::uint64_t>(row * shape.lda + u)), align);
      if (shape.lanes > 1) element = at.CreateVectorSplat(static_cast<unsigned>(shape.lanes), element);
      for (int column = 0; column < shape.vectors; ++column) {
        llvm::Value*& sum = sums[static_cast<std::size_t>(row * shape.vectors + column)];
        sum = multiply_add(at, context.target, shape.step, element, right[static_cast<std::size_t>(column)], sum);
      }
    }
  }
  auto const next = [&](llvm::PHINode* node, llvm::Value* value) { node->addIncoming(value, body); };
  next(a, at.CreateConstGEP1_64(word, a, static_cast<std::uint64_t>(shape.unroll)));
  next(columns, at.CreateConstGEP1_64(
                    word, columns, static_cast<std::uint64_t>(shape.unroll) * static_cast<std::uint64_t>(shape.panel)));
  llvm::Value* const rest = at.CreateSub(left, at.getInt64(static_cast<std::uint64_t>(shape.unroll)));
  next(left, rest);
  for (std::size_t i = 0; i < phis.size(); ++i) next(phis[i], sums[i]);
  at.CreateCondBr(at.CreateICmpSGT(rest, at.getInt64(0)), body, done);

  at.SetInsertPoint(done);
  for (int row = 0; row < shape.rows; ++row)
    for (int column = 0; column < shape.vectors; ++column) {
      auto const i = static_cast<std::size_t>(row * shape.vectors + column);
      llvm::PHINode* const result = at.CreatePHI(vector, 2);
      result->addIncoming(start[i], begin);
      result->addIncoming(sums[i], body);
      start[i] = result;
    }
  for_each([&](int row, int column) {
    llvm::Value* result = start[static_cast<std::size_t>(row * shape.vectors + column)];
    if (adds_late) {
      llvm::Value* const before = at.CreateAlignedLoad(vector, c_at(row, column), align);
      result = at.CreateSelect(fresh, result, at.CreateFAdd(before, result));
    }
    at.CreateAlignedStore(result, c_at(row, column), align);
  });
  at.CreateRetVoid();
  return function;
}

// Loops over rows of A outermost: one block of rows stays in the first cache while B's panels stream past it.
void FunctionEmitter::multiply(Panels const& panels) {
  Element const element = panels.c.element;
  std::int64_t const rows = panels.c.shape[0];
  std::int64_t const columns = panels.c.shape[1];
  llvm::Type* const scalar = storage_type(element);
  int const lanes = static_cast<int>(std::min<std::int64_t>(
      native_lanes(element), static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(columns)))));
  int const block_rows = micro_rows(context.target);
  llvm::Type* const word = panels.step == Step::one ? scalar : b.getInt32Ty();
  auto const offset = [&](llvm::Value* pointer, llvm::Value* elements) {
    return b.CreateGEP(scalar, pointer, elements);
  };
  auto const packed = [&](llvm::Value* pointer, llvm::Value* words) { return b.CreateGEP(word, pointer, words); };
  MicroKernel shape;
  shape.lanes = lanes;
  shape.panel = panels.panel;
  shape.unroll = panels.k_multiple % 4 == 0 ? 4 : panels.k_multiple % 2 == 0 ? 2 : 1;
  shape.lda = panels.lda;
  shape.ldc = panels.c.strides[0];
  shape.element = element;
  shape.step = panels.step;
  shape.starts = panels.starts != nullptr;
  llvm::Value* const no_starts = llvm::ConstantPointerNull::get(b.getPtrTy());

  llvm::Value* const fresh = panels.fresh == nullptr ? b.getFalse() : panels.fresh;

  auto const beyond = [&](llvm::Value* limit, std::int64_t first) -> llvm::Value* {
    return limit == nullptr ? b.getTrue() : b.CreateICmpSGT(limit, i64(first));
  };
  auto const row_block = [&](llvm::Value* first_row, int count) {
    llvm::Value* const a = packed(panels.a, b.CreateMul(first_row, i64(panels.lda)));
    llvm::Value* const c = offset(panels.c.pointer, b.CreateMul(first_row, i64(panels.c.strides[0])));
    shape.rows = count;
    auto const one = [&](llvm::Function* kernel, llvm::Value* p) {
      llvm::Value* const column = b.CreateMul(p, i64(panels.panel));
      b.CreateCall(kernel, {a, packed(panels.b, b.CreateMul(p, i64(panels.panel_stride))), offset(c, column), panels.k,
                            shape.starts ? offset(panels.starts, column) : no_starts, fresh});
    };
    std::int64_t const whole = columns / panels.panel;
    if (whole > 0) {
      shape.vectors = panels.panel / lanes;
      llvm::Function* const kernel = micro_kernel(shape);
      llvm::Value* used = i64(whole);
      if (panels.columns != nullptr)
        used = smin(used, b.CreateUDiv(b.CreateAdd(panels.columns, i64(panels.panel - 1)), i64(panels.panel)));
      loop(i64(0), used, i64(1), [&](llvm::Value* p) { one(kernel, p); });
    }
    if (std::int64_t const rest = columns - whole * panels.panel; rest > 0) {
      shape.vectors = static_cast<int>((rest + lanes - 1) / lanes);
      llvm::Function* const kernel = micro_kernel(shape);
      when(beyond(panels.columns, whole * panels.panel), [&] { one(kernel, i64(whole)); });
    }
  };
  // A last block of few rows would wait for each of its sums: it shares the rows of the block ahead.
  std::int64_t whole = rows / block_rows;
  auto rest = static_cast<int>(rows % block_rows);
  if (whole > 0 && rest > 0 && rest * 2 < block_rows) {
    whole -= 1;
    rest += block_rows;
  }
  if (whole > 0) {
    llvm::Value* used = i64(whole);
    if (panels.rows != nullptr)
      used = smin(used, b.CreateUDiv(b.CreateAdd(panels.rows, i64(block_rows - 1)), i64(block_rows)));
    loop(i64(0), used, i64(1), [&](llvm::Value* i) { row_block(b.CreateMul(i, i64(block_rows)), block_rows); });
  }
  for (std::int64_t first = whole * block_rows; rest > 0;) {
    int const count = rest > block_rows ? (rest + 1) / 2 : rest;
    when(beyond(panels.rows, first), [&] { row_block(i64(first), count); });
    first += count;
    rest -= count;
  }
}

void FunctionEmitter::dot(ir::Op const& op) {
  record_product(context.paths, op, Path::product,
                 op.parent_op() != nullptr && op.parent_op()->is<ir::ForOp>()
                     ? "the loop around does more than add up this product, or stores to what it reads"
                     : "it is not the sum of a loop");
  ir::Value const& lhs = *op.lhs();
  ir::Value const& rhs = *op.rhs();
  Buffer const c = target_of(*op.result(), &op);
  bool const from_zero = ir::is_zero(*op.in<ir::DotOp>("accumulator"));
  if (!from_zero) materialise(*op.in<ir::DotOp>("accumulator"), c);
  std::int64_t const used = scratch_used_;
  Buffer a;
  if (Buffer const* kept = buffer_of(lhs)) {
    a = *kept;
  } else {
    a = rows(lhs.type(), &op);
    materialise(lhs, a);
  }
  Buffer right;
  if (Buffer const* kept = panels_of(rhs)) {
    right = *kept;
  } else {
    right = allocate(panels_layout(rhs.type().element(), rhs.type().shape()), &op);
    materialise(rhs, right);
  }
  std::int64_t const depth = lhs.type().shape()[1];
  llvm::Type* const scalar = storage_type(c.element);
  Panels panels;
  panels.lda = a.strides[0];
  panels.panel = right.panel;
  panels.panel_stride = right.panel_stride;
  panels.c = c;
  panels.k_multiple = depth;
  if (depth <= longest_k) {
    panels.a = a.pointer;
    panels.b = right.pointer;
    panels.k = i64(depth);
    panels.fresh = b.getInt1(from_zero);
    multiply(panels);
  } else {
    if (depth % longest_k != 0) panels.k_multiple = depth % longest_k;
    loop(i64(0), i64(depth), i64(longest_k), [&](llvm::Value* k) {
      panels.a = b.CreateGEP(scalar, a.pointer, k);
      panels.b = b.CreateGEP(scalar, right.pointer, b.CreateMul(k, i64(right.panel)));
      panels.k = smin(i64(longest_k), b.CreateSub(i64(depth), k));
      panels.fresh = b.CreateAnd(b.CreateICmpEQ(k, i64(0)), b.getInt1(from_zero));
      multiply(panels);
    });
  }
  scratch_used_ = used;
  set_buffer(*op.result(), c);
}

}  // namespace tegula::codegen::host
