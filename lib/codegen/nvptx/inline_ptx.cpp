#include "codegen/nvptx/inline_ptx.hpp"

#include <fmt/format.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>

#include <algorithm>

#include "tegula/support/error.hpp"

namespace tegula::codegen::nvptx {
namespace {

std::string vector_suffix(std::size_t count) { return count == 1 ? "" : fmt::format(".v{}", count); }

std::string operand_list(std::size_t first, std::size_t count) {
  std::string text = count == 1 ? "" : "{";
  for (std::size_t i = 0; i < count; ++i) text += fmt::format("{}{}", i == 0 ? "$" : ", $", first + i);
  return text + (count == 1 ? "" : "}");
}

bool is_zero(llvm::Value const* value) {
  auto const* const constant = llvm::dyn_cast<llvm::Constant>(value);
  return constant != nullptr && constant->isNullValue();
}

}  // namespace

llvm::CallInst* inline_ptx(llvm::IRBuilder<>& b, llvm::Type* result, std::string const& text,
                           std::string const& constraints, llvm::ArrayRef<llvm::Value*> arguments, AsmEffect effect) {
  std::vector<llvm::Type*> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  std::string all = constraints;
  bool const touches_memory = effect == AsmEffect::memory || effect == AsmEffect::convergent;
  if (touches_memory) all += std::string(all.empty() ? "" : ",") + "~{memory}";
  llvm::InlineAsm* assembly =
      llvm::InlineAsm::get(llvm::FunctionType::get(result, types, false), text, all, effect != AsmEffect::pure);
  llvm::CallInst* call = b.CreateCall(assembly, arguments);
  call->addFnAttr(llvm::Attribute::NoUnwind);
  if (effect == AsmEffect::convergent || effect == AsmEffect::together) call->addFnAttr(llvm::Attribute::Convergent);
  if (effect == AsmEffect::pure) {
    call->setDoesNotAccessMemory();
    call->addFnAttr(llvm::Attribute::WillReturn);  // so that it moves into the one branch that uses it
  }
  return call;
}

llvm::Value* computed_here(llvm::IRBuilder<>& b, llvm::Value* value) {
  return inline_ptx(b, value->getType(), "", fmt::format("={},0", constraint_of(value->getType())), {value},
                    AsmEffect::here);
}

char constraint_of(llvm::Type* type) {
  if (type->isIntegerTy(1)) return 'b';
  if (type->isFloatTy()) return 'f';
  if (type->isDoubleTy()) return 'd';
  if (type->isIntegerTy(64) || type->isPointerTy()) return 'l';
  if (type->isIntegerTy(32)) return 'r';
  if (type->isIntegerTy(16)) return 'h';
  throw InternalError("nvptx: no register class for an asm operand");
}

std::vector<llvm::Value*> load_vector(llvm::IRBuilder<>& b, std::string const& space, llvm::Value* predicate,
                                      llvm::Value* address, std::int64_t offset,
                                      std::vector<llvm::Value*> const& otherwise, int bits) {
  std::size_t const count = otherwise.size();
  llvm::Type* const type = otherwise[0]->getType();
  std::string const letter(1, constraint_of(type));
  // A register of zeros that several loads begin with may be one that wgmma writes: ptxas 13.0 then puts in a wait
  // (C7517).
  bool const clears = predicate != nullptr && std::all_of(otherwise.begin(), otherwise.end(), is_zero);
  std::string constraints, ties, clear;
  std::vector<llvm::Value*> arguments = {address, b.getInt32(static_cast<std::uint32_t>(offset))};
  for (std::size_t i = 0; i < count; ++i) {
    constraints += (clears ? "=&" : "=") + letter + ",";
    ties += fmt::format(",{}", i);
    if (clears) clear += fmt::format("mov.b{} ${}, 0;\n\t", type->getPrimitiveSizeInBits().getFixedValue(), i);
  }
  std::string text = fmt::format("ld.{}{}.b{} {}, [${}+${}];", space, vector_suffix(count), bits,
                                 operand_list(0, count), count, count + 1);
  constraints += std::string(1, constraint_of(address->getType())) + ",n";
  if (predicate != nullptr) {
    text = fmt::format("{}@${} {}", clear, count + 2, text);
    constraints += ",b";
    arguments.push_back(predicate);
    if (!clears) {
      constraints += ties;
      arguments.insert(arguments.end(), otherwise.begin(), otherwise.end());
    }
  }
  llvm::Type* const result =
      count == 1 ? type : llvm::StructType::get(b.getContext(), std::vector<llvm::Type*>(count, type));
  llvm::Value* const call = inline_ptx(b, result, text, constraints, arguments, AsmEffect::memory);
  if (count == 1) return {call};
  std::vector<llvm::Value*> values;
  for (unsigned i = 0; i < count; ++i) values.push_back(b.CreateExtractValue(call, i));
  return values;
}

void store_vector(llvm::IRBuilder<>& b, std::string const& space, llvm::Value* predicate, llvm::Value* address,
                  std::int64_t offset, std::vector<llvm::Value*> const& values, int bits) {
  std::size_t const count = values.size();
  std::string const letter(1, constraint_of(values[0]->getType()));
  std::vector<llvm::Value*> arguments = {address, b.getInt32(static_cast<std::uint32_t>(offset))};
  std::string constraints = std::string(1, constraint_of(address->getType())) + ",n";
  for (std::size_t i = 0; i < count; ++i) constraints += "," + letter;
  arguments.insert(arguments.end(), values.begin(), values.end());
  std::string text = fmt::format("st.{}{}.b{} [$0+$1], {};", space, vector_suffix(count), bits, operand_list(2, count));
  if (predicate != nullptr) {
    text = fmt::format("@${} {}", count + 2, text);
    constraints += ",b";
    arguments.push_back(predicate);
  }
  inline_ptx(b, b.getVoidTy(), text, constraints, arguments, AsmEffect::memory);
}

}  // namespace tegula::codegen::nvptx
