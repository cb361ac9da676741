// Emits device functions that are not inlined: their arguments and their results.
#include <llvm/IR/Module.h>

#include "codegen/nvptx/emitter.hpp"
#include "codegen/nvptx/pack_words.hpp"
#include "tegula/abi/compiled_kernel.hpp"

namespace tegula::codegen::nvptx {
namespace {

std::size_t registers_of(ir::Type const& type) {
  return type.in_registers() ? static_cast<std::size_t>(type.layout()->registers()) : 1;
}

void add_types(Emitter& e, ir::Type const& type, std::vector<llvm::Type*>& types) {
  if (type.is_tensor()) {
    types.insert(types.end(), 1 + 2 * static_cast<std::size_t>(type.rank()), e.b.getInt64Ty());
    return;
  }
  auto const words = word_types(e, type.element(), registers_of(type));
  types.insert(types.end(), words.begin(), words.end());
}

}  // namespace

llvm::Function& Emitter::function_of(ir::Function const& callee) {
  std::string const name = "tegula_function." + callee.name();
  if (llvm::Function* const known = module_.getFunction(name)) return *known;
  Emitter inside(module_, kernel_, callee, target);
  inside.lines = lines;
  return inside.emit_function(name);
}

llvm::Function& Emitter::emit_function(std::string const& name) {
  std::vector<llvm::Type*> parameters, results;
  for (int i = 0; i < source_.parameter_count(); ++i) add_types(*this, source_.parameter(i)->type(), parameters);
  first_launch_slot_ = static_cast<unsigned>(parameters.size());
  parameters.insert(parameters.end(), launch_slots, b.getInt64Ty());
  for (ir::Type const& type : source_.results) add_types(*this, type, results);
  llvm::Type* const given =
      results.empty() ? b.getVoidTy() : static_cast<llvm::Type*>(llvm::StructType::get(b.getContext(), results));
  function_ = llvm::Function::Create(llvm::FunctionType::get(given, parameters, false),
                                     llvm::GlobalValue::InternalLinkage, name, module_);
  function_->addFnAttr(llvm::Attribute::NoInline);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  function_->addFnAttr(llvm::Attribute::Convergent);

  begin_body();
  llvm::Argument* argument = function_->arg_begin();
  for (int i = 0; i < source_.parameter_count(); ++i) {
    ir::Value const& parameter = *source_.parameter(i);
    if (parameter.type().is_tensor()) {
      add_tensor(parameter, argument);
      continue;
    }
    std::size_t const count = registers_of(parameter.type());
    Registers words;
    for (std::size_t word = word_types(*this, parameter.type().element(), count).size(); word > 0; --word)
      words.push_back(argument++);
    set(parameter, unpack_words(*this, parameter.type().element(), words, count));
  }
  emit_block_after_coordinates(source_.body());
  return *function_;
}

void Emitter::leave(std::span<ir::Value* const> results) {
  if (results.empty()) {
    b.CreateRetVoid();
    return;
  }
  llvm::Value* all = llvm::PoisonValue::get(function_->getReturnType());
  unsigned at = 0;
  for (ir::Value const* result : results)
    for (llvm::Value* word : pack_words(*this, result->type().element(), get(*result)))
      all = b.CreateInsertValue(all, word, at++);
  b.CreateRet(all);
}

void Emitter::call(ir::Op const& op, ir::Function const& callee) {
  if (!whole_cta || elected)
    refuse(op,
           "@" + callee.name() + " is called by a part of the CTA, but its code is for all of its threads; inline it");
  Registers arguments;
  for (ir::Value const* operand : op.operands()) {
    if (operand->type().is_tensor()) {
      TensorParts const& parts = tensors.of(*operand);
      arguments.push_back(parts.address);
      arguments.insert(arguments.end(), parts.extents.begin(), parts.extents.end());
      arguments.insert(arguments.end(), parts.strides.begin(), parts.strides.end());
      continue;
    }
    Registers const words = pack_words(*this, operand->type().element(), get(*operand));
    arguments.insert(arguments.end(), words.begin(), words.end());
  }
  for (int slot = 0; slot < launch_slots; ++slot) arguments.push_back(launch_slot(slot));
  llvm::CallInst* const call = b.CreateCall(&function_of(callee), arguments);
  call->setConvergent();
  unsigned at = 0;
  for (int i = 0; i < op.result_count(); ++i) {
    ir::Type const& type = op.result(i)->type();
    std::size_t const count = registers_of(type);
    Registers words;
    for (std::size_t word = word_types(*this, type.element(), count).size(); word > 0; --word)
      words.push_back(b.CreateExtractValue(call, at++));
    set(*op.result(i), unpack_words(*this, type.element(), words, count));
  }
}

void lower(ir::ReturnOp const&, ir::Op const& op, Emitter& e) { e.leave(op.operands()); }

void lower(ir::CallOp const& attributes, ir::Op const& op, Emitter& e) {
  ir::Module const& module = *op.function()->parent();
  e.call(op, *module.find(attributes.callee.view()));
}

}  // namespace tegula::codegen::nvptx
