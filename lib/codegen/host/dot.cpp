// Emits matrix products on packed operands: one register-blocked micro-kernel, called over the panels of a tile.
#include <algorithm>
#include <bit>
#include <string>

#include "codegen/host/packing.hpp"
#include "codegen/host/paths.hpp"

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
  llvm::Type* const parameters[] = {pointer, pointer, pointer, b.getInt64Ty(), pointer};
  function = llvm::Function::Create(
      llvm::FunctionType::get(b.getVoidTy(), parameters, false), llvm::GlobalValue::InternalLinkage,
      "multiply_" + std::to_string(shape.rows) + "x" + std::to_string(shape.vectors * shape.lanes), context.module);
  for (unsigned i = 0; i < 3; ++i) function->addParamAttr(i, llvm::Attribute::NoAlias);
  llvm::Value* const a0 = function->getArg(0);
  llvm::Value* const b0 = function->getArg(1);
  llvm::Value* const c0 = function->getArg(2);
  llvm::Value* const k = function->getArg(3);
  llvm::Value* const starts = function->getArg(4);
  llvm::BasicBlock* const entry = llvm::BasicBlock::Create(llvm_context, "entry", function);
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
  std::vector<llvm::Value*> start;
  for (int row = 0; row < shape.rows; ++row)
    for (int column = 0; column < shape.vectors; ++column) {
      if (adds_late) {
        start.push_back(llvm::Constant::getNullValue(vector));
        continue;
      }
      start.push_back(at.CreateAlignedLoad(vector, c_at(row, column), align));
      if (!shape.starts) continue;
      llvm::Value* const from = at.CreateConstGEP1_64(
          scalar, starts, static_cast<std::uint64_t>(column) * static_cast<std::uint64_t>(shape.lanes));
      start.back() = at.CreateAdd(start.back(), at.CreateAlignedLoad(vector, from, align));
    }
  at.CreateCondBr(at.CreateICmpSGT(k, at.getInt64(0)), body, done);

  at.SetInsertPoint(body);
  auto const phi = [&](llvm::Type* type, llvm::Value* initial) {
    llvm::PHINode* const node = at.CreatePHI(type, 2);
    node->addIncoming(initial, entry);
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
      result->addIncoming(start[i], entry);
      result->addIncoming(sums[i], body);
      start[i] = result;
    }
  for (int row = 0; row < shape.rows; ++row)
    for (int column = 0; column < shape.vectors; ++column) {
      llvm::Value* result = start[static_cast<std::size_t>(row * shape.vectors + column)];
      if (adds_late) result = at.CreateFAdd(at.CreateAlignedLoad(vector, c_at(row, column), align), result);
      at.CreateAlignedStore(result, c_at(row, column), align);
    }
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

  auto const row_block = [&](llvm::Value* first_row, int count) {
    llvm::Value* const a = packed(panels.a, b.CreateMul(first_row, i64(panels.lda)));
    llvm::Value* const c = offset(panels.c.pointer, b.CreateMul(first_row, i64(panels.c.strides[0])));
    shape.rows = count;
    std::int64_t const whole = columns / panels.panel;
    if (whole > 0) {
      shape.vectors = panels.panel / lanes;
      llvm::Function* const kernel = micro_kernel(shape);
      loop(i64(0), i64(whole), i64(1), [&](llvm::Value* p) {
        llvm::Value* const column = b.CreateMul(p, i64(panels.panel));
        b.CreateCall(kernel, {a, packed(panels.b, b.CreateMul(p, i64(panels.panel_stride))), offset(c, column),
                              panels.k, shape.starts ? offset(panels.starts, column) : no_starts});
      });
    }
    if (std::int64_t const rest = columns - whole * panels.panel; rest > 0) {
      shape.vectors = static_cast<int>((rest + lanes - 1) / lanes);
      llvm::Value* const column = i64(whole * panels.panel);
      b.CreateCall(micro_kernel(shape), {a, packed(panels.b, i64(whole * panels.panel_stride)), offset(c, column),
                                         panels.k, shape.starts ? offset(panels.starts, column) : no_starts});
    }
  };
  std::int64_t const whole = rows / block_rows;
  if (whole > 0)
    loop(i64(0), i64(whole), i64(1), [&](llvm::Value* i) { row_block(b.CreateMul(i, i64(block_rows)), block_rows); });
  if (rows % block_rows != 0) row_block(i64(whole * block_rows), static_cast<int>(rows % block_rows));
}

void FunctionEmitter::dot(ir::Op const& op) {
  record_product(context.paths, op, Path::product,
                 op.parent_op() != nullptr && op.parent_op()->is<ir::ForOp>()
                     ? "the loop around does more than add up this product, or stores to what it reads"
                     : "it is not the sum of a loop");
  ir::Value const& lhs = *op.lhs();
  ir::Value const& rhs = *op.rhs();
  Buffer const c = target_of(*op.result(), &op);
  materialise(*op.in<ir::DotOp>("accumulator"), c);
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
    multiply(panels);
  } else {
    if (depth % longest_k != 0) panels.k_multiple = depth % longest_k;
    loop(i64(0), i64(depth), i64(longest_k), [&](llvm::Value* k) {
      panels.a = b.CreateGEP(scalar, a.pointer, k);
      panels.b = b.CreateGEP(scalar, right.pointer, b.CreateMul(k, i64(right.panel)));
      panels.k = smin(i64(longest_k), b.CreateSub(i64(depth), k));
      multiply(panels);
    });
  }
  scratch_used_ = used;
  set_buffer(*op.result(), c);
}

}  // namespace tegula::codegen::host
