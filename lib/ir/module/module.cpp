#include "tegula/ir/module.hpp"

#include <utility>

#include "ir/text/text.hpp"
#include "ir/verify/verifier.hpp"

namespace tegula::ir {

ModuleHandle ModuleHandle::parse(std::string_view text) {
  ParseResult result = ir::parse(text);
  support::throw_user_error(result.diagnostics, "ir text");
  return ModuleHandle(std::move(result.module));
}

ModuleHandle::ModuleHandle(Module&& module) : module_(new Module(std::move(module))) {}
ModuleHandle::ModuleHandle(ModuleHandle&& other) noexcept : module_(std::exchange(other.module_, nullptr)) {}
ModuleHandle& ModuleHandle::operator=(ModuleHandle&& other) noexcept {
  std::swap(module_, other.module_);
  return *this;
}
ModuleHandle::~ModuleHandle() { delete module_; }

std::string ModuleHandle::print(bool locations) const { return ir::print(*module_, {locations}); }
void ModuleHandle::verify() const { support::throw_user_error(ir::verify(*module_), "verifier"); }
ModuleHandle ModuleHandle::clone() const { return ModuleHandle(module_->clone()); }

}  // namespace tegula::ir
