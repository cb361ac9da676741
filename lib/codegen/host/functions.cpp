// Emits device functions that are not inlined: slots in, results through addresses in slots.
#include "codegen/host/emitter.hpp"

namespace tegula::codegen::host {

HostFunction const& FunctionEmitter::function_of(ir::Function const& callee) {
  auto const [at, added] = context.functions->try_emplace(&callee);
  if (added) {
    Plan const plan(callee);
    ModuleContext inside{context.module,    context.target, callee,       plan, nullptr, {}, 0,
                         context.functions, context.paths,  context.lines};
    at->second = FunctionEmitter(inside, "function." + callee.name()).function_body();
  }
  return at->second;
}

HostFunction FunctionEmitter::function_body() {
  ir::Function const& function = context.kernel;
  function_->setLinkage(llvm::GlobalValue::InternalLinkage);
  function_->addFnAttr(llvm::Attribute::NoInline);
  auto const slot = [&](int number) { return load_slot(entry_, slots_, b.getPtrTy(), number); };
  auto const buffer_at = [&](ir::Type const& type, int number) {
    Buffer buffer = rows_layout(type.element(), type.shape());
    buffer.pointer = slot(number);
    return buffer;
  };
  for (int i = 0; i < function.parameter_count(); ++i) {
    ir::Value const& parameter = *function.parameter(i);
    if (parameter.type().is_tile()) set_buffer(parameter, buffer_at(parameter.type(), first_slot(function, i)));
  }
  int const first_result = first_slot(function, function.parameter_count());
  ir::Op const& end = function.body().back();
  std::map<ir::Value const*, int> targets;  // a value given twice is made in the first place
  for (int i = 0; i < end.operand_count(); ++i) {
    ir::Value const& value = *end.operand(i);
    if (value.type().is_tile() && value.defining_op() != nullptr && targets.emplace(&value, i).second)
      targets_.emplace(&value, buffer_at(value.type(), first_result + i));
  }
  block(function.body());
  for (int i = 0; i < end.operand_count(); ++i) {
    ir::Value const& value = *end.operand(i);
    if (value.type().is_scalar()) {
      b.CreateStore(arith.to_memory(value.type().element(), scalar(value)), slot(first_result + i));
      continue;
    }
    Buffer const* const source = buffer_of(value);
    auto const target = targets.find(&value);
    bool const in_place = source != nullptr && target != targets.end() && target->second == i &&
                          source->pointer == targets_.at(&value).pointer;
    if (!in_place) materialise(value, buffer_at(value.type(), first_result + i));
  }
  finish();
  return {function_, context.scratch_bytes};
}

void FunctionEmitter::call(ir::Op const& op) {
  ir::Function const& callee = *op.function()->parent()->find(op.as<ir::CallOp>().callee.view());
  HostFunction const code = function_of(callee);
  int const first_result = first_slot(callee, callee.parameter_count());
  llvm::Value* const slots =
      variable(llvm::ArrayType::get(b.getInt64Ty(), static_cast<std::uint64_t>(first_result + op.result_count())));
  auto const put = [&](int number, llvm::Value* value) {
    b.CreateStore(value, b.CreateConstGEP1_64(b.getInt64Ty(), slots, static_cast<std::uint64_t>(number)));
  };
  std::vector<Buffer> results;
  std::vector<llvm::AllocaInst*> scalars;
  for (int i = 0; i < op.result_count(); ++i) {
    ir::Type const& type = op.result(i)->type();
    results.push_back(type.is_tile() ? target_of(*op.result(i), &op) : Buffer{});
    scalars.push_back(type.is_tile() ? nullptr : variable(arith.memory_type(type.element())));
    put(first_result + i, type.is_tile() ? results.back().pointer : scalars.back());
  }
  std::int64_t const used = scratch_used_;
  for (int i = 0; i < op.operand_count(); ++i) {
    ir::Value const& operand = *op.operand(i);
    int slot = first_slot(callee, i);
    if (operand.type().is_tensor()) {
      Tensor const& parts = tensor(operand);
      put(slot, parts.base);
      for (llvm::Value* extent : parts.extents) put(++slot, extent);
      for (llvm::Value* stride : parts.strides) put(++slot, stride);
    } else if (operand.type().is_scalar()) {
      put(slot, arith.to_memory(operand.type().element(), scalar(operand)));
    } else if (Buffer const* const source = buffer_of(operand)) {
      put(slot, source->pointer);
    } else {
      Buffer const copy = rows(operand.type(), &op);
      materialise(operand, copy);
      put(slot, copy.pointer);
    }
  }
  // A vector that starts inside the callee's last buffer may be read to its end.
  llvm::Value* const room =
      code.scratch_bytes == 0 ? scratch_ : scratch(code.scratch_bytes + context.target.vector_bytes, &op);
  b.CreateCall(code.code, {slots, i64(0), i64(0), workspace_, room});
  scratch_used_ = used;
  for (int i = 0; i < op.result_count(); ++i) {
    ir::Value const& result = *op.result(i);
    auto const at = static_cast<std::size_t>(i);
    if (result.type().is_tile())
      set_buffer(result, results[at]);
    else
      set_scalar(result, arith.from_memory(result.type().element(),
                                           b.CreateLoad(scalars[at]->getAllocatedType(), scalars[at])));
  }
}

}  // namespace tegula::codegen::host
