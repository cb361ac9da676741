// Makes modules from IR text, and examines their contents.
#pragma once

#include <string>

#include "ir/text/text.hpp"
#include "ir/core/walk.hpp"
#include "ir/verify/verifier.hpp"
#include "support/catch.hpp"

namespace tegula::test {

/// Makes a module from text that the verifier may refuse. The version line may be left out.
inline ir::Module unverified(std::string const& text) {
  bool const versioned = text.find("tegula-ir ") != std::string::npos;
  auto parsed = ir::parse(versioned ? text : "tegula-ir 1\n" + text);
  INFO(text);
  INFO(parsed.diagnostics.str());
  REQUIRE(parsed.ok());
  return std::move(parsed.module);
}

/// Makes a verified module from text. The version line may be left out.
inline ir::Module module_of(std::string const& text) {
  ir::Module module = unverified(text);
  INFO(text);
  REQUIRE(ir::verify(module).str() == "");
  return module;
}

/// Counts the ops of that kind in the kernel.
inline int count(ir::Module const& module, ir::OpKind kind) {
  int result = 0;
  ir::walk(module.kernel(), [&](ir::Op& op) { result += op.kind() == kind ? 1 : 0; });
  return result;
}

}  // namespace tegula::test
