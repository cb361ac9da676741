// Emits asserts and prints as calls of functions that the loader provides (orc.cpp).
#include "codegen/host/emitter.hpp"
#include "ir/text/text.hpp"

namespace tegula::codegen::host {

namespace {

/// Returns a function of the loader.
llvm::FunctionCallee loader_function(llvm::Module& module, char const* name, llvm::Type* result,
                                     llvm::ArrayRef<llvm::Type*> parameters) {
  return module.getOrInsertFunction(name, llvm::FunctionType::get(result, parameters, false));
}

}  // namespace

bool tells_host(ir::Op const& op) { return op.info().effects.writes(ir::Space::console); }

void FunctionEmitter::tell_host(ir::Op const& op) { op.is<ir::AssertOp>() ? assert_op(op) : print_op(op); }

// A failed assert leaves the function at once: it is the kernel's entry, as functions with asserts are inlined.
void FunctionEmitter::assert_op(ir::Op const& op) {
  auto const& attributes = op.as<ir::AssertOp>();
  ir::Value const& condition = *op.in<ir::AssertOp>("condition");
  llvm::Value* holds = nullptr;
  if (condition.type().is_scalar()) {
    holds = scalar(condition);
  } else {
    std::int64_t const used = scratch_used_;
    Buffer const tile = rows_of(condition, op);
    llvm::AllocaInst* const all = variable(b.getInt1Ty(), b.getTrue());
    for_each_element(condition.type(),
                     [&](Index const& index) { b.CreateStore(b.CreateAnd(get(all), element(tile, index)), all); });
    scratch_used_ = used;
    holds = get(all);
  }
  llvm::BasicBlock *const failed = new_block("failed"), *const passed = new_block("passed");
  llvm::Value* blocks[] = {scalar(*op.in<ir::AssertOp>("block0")), scalar(*op.in<ir::AssertOp>("block1")),
                           scalar(*op.in<ir::AssertOp>("block2"))};
  b.CreateCondBr(holds, passed, failed);
  b.SetInsertPoint(failed);
  llvm::Type *const pointer = b.getPtrTy(), *const index = b.getInt64Ty();
  llvm::Value* const text = b.CreateCall(
      loader_function(context.module, "tegula_assert_begin", pointer, {pointer, pointer, index, index, index}),
      {b.CreateGlobalString(context.kernel.name()), b.CreateGlobalString(attributes.message.view()), blocks[0],
       blocks[1], blocks[2]});
  for (ir::Value const* value : op.all<ir::AssertOp>("values"))
    add_to_line(text, value->type().element(), scalar(*value));
  b.CreateCall(loader_function(context.module, "tegula_assert_failed", b.getVoidTy(), {pointer, pointer, index}),
               {text, b.CreateGlobalString(attributes.file.view()), i64(attributes.line)});
  b.CreateRetVoid();
  b.SetInsertPoint(passed);
}

void FunctionEmitter::add_to_line(llvm::Value* line, Element element, llvm::Value* value) {
  Element const wide = is_float(element) ? Element::f64 : element == Element::u64 ? element : Element::i64;
  char const* const name = is_float(element)         ? "tegula_print_number"
                           : element == Element::u64 ? "tegula_print_natural"
                                                     : "tegula_print_integer";
  b.CreateCall(loader_function(context.module, name, b.getVoidTy(), {b.getPtrTy(), arith.register_type(wide)}),
               {line, arith.cast(element, wide, value)});
}

void FunctionEmitter::print_op(ir::Op const& op) {
  llvm::Type *const pointer = b.getPtrTy(), *const index = b.getInt64Ty(), *const none = b.getVoidTy();
  llvm::Value* const line = b.CreateCall(
      loader_function(context.module, "tegula_print_begin", pointer, {pointer, pointer, index, index, index}),
      {b.CreateGlobalString(context.kernel.name()), b.CreateGlobalString(op.as<ir::PrintOp>().text.view()),
       scalar(*op.in<ir::PrintOp>("block0")), scalar(*op.in<ir::PrintOp>("block1")),
       scalar(*op.in<ir::PrintOp>("block2"))});
  for (ir::Value const* value : op.all<ir::PrintOp>("values")) {
    ir::Type const& type = value->type();
    if (type.is_scalar()) {
      add_to_line(line, type.element(), scalar(*value));
      continue;
    }
    std::int64_t const used = scratch_used_;
    Buffer const tile = rows_of(*value, op);
    b.CreateCall(loader_function(context.module, "tegula_print_tile", none, {pointer, pointer}),
                 {line, b.CreateGlobalString(ir::short_text(type))});
    for_each_element(type, [&](Index const& at) { add_to_line(line, type.element(), element(tile, at)); });
    b.CreateCall(loader_function(context.module, "tegula_print_tile_end", none, {pointer}), {line});
    scratch_used_ = used;
  }
  b.CreateCall(loader_function(context.module, "tegula_print_end", none, {pointer}), {line});
}

}  // namespace tegula::codegen::host
