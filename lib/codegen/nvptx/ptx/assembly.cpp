#include "codegen/nvptx/ptx/assembly.hpp"

#include <fmt/format.h>

#include "tegula/support/error.hpp"

namespace tegula::codegen::nvptx::ptx {

std::string Assembly::output(llvm::Type* type, char const* mark) {
  if (!arguments_.empty()) throw InternalError("nvptx: an asm output is declared after an input");
  outputs_ += std::string(outputs_.empty() ? "" : ",") + mark + constraint_of(type);
  results_.push_back(type);
  return fmt::format("${}", results_.size() - 1);
}

std::string Assembly::out(llvm::Type* type) { return output(type, "="); }
std::string Assembly::early_out(llvm::Type* type) { return output(type, "=&"); }

std::string Assembly::inout(llvm::Value* value) {
  std::string name = output(value->getType(), "=");
  ties_ += "," + name.substr(1);
  tied_.push_back(value);
  return name;
}

std::string Assembly::in(llvm::Value* value) {
  inputs_ += std::string(",") + constraint_of(value->getType());
  arguments_.push_back(value);
  return fmt::format("${}", results_.size() + arguments_.size() - 1);
}

std::string Assembly::number(llvm::Value* value) {
  if (auto const* constant = llvm::dyn_cast<llvm::ConstantInt>(value)) return fmt::to_string(constant->getSExtValue());
  return in(value);
}

Values Assembly::call(std::string const& text, AsmEffect effect) {
  llvm::LLVMContext& context = b_.getContext();
  llvm::Type* const result = results_.empty()       ? b_.getVoidTy()
                             : results_.size() == 1 ? results_[0]
                                                    : llvm::StructType::get(context, results_);
  std::string constraints = outputs_ + inputs_ + ties_;
  if (!constraints.empty() && constraints[0] == ',') constraints.erase(0, 1);
  Values arguments = arguments_;
  arguments.insert(arguments.end(), tied_.begin(), tied_.end());
  llvm::Value* const call = inline_ptx(b_, result, text, constraints, arguments, effect);
  if (results_.empty()) return {};
  if (results_.size() == 1) return {call};
  Values values;
  for (unsigned i = 0; i < results_.size(); ++i) values.push_back(b_.CreateExtractValue(call, i));
  return values;
}

std::string braces(std::vector<std::string> const& names) {
  std::string text = "{";
  for (std::string const& name : names) text += (text.size() == 1 ? "" : ", ") + name;
  return text + "}";
}

}  // namespace tegula::codegen::nvptx::ptx
