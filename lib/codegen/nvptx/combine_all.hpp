// Combines the registers of a reduction within a thread.
#pragma once

#include <llvm/IR/Operator.h>

#include <algorithm>
#include <utility>

#include "codegen/nvptx/emitter.hpp"

namespace tegula::codegen::nvptx {

/// Combines by the balanced tree: adjacent pairs first, an odd last one carried up.
inline llvm::Value* combine_all(Emitter& e, ir::Combine operation, Element element, Registers values) {
  while (values.size() > 1) {
    Registers next;
    for (std::size_t i = 0; i + 1 < values.size(); i += 2)
      next.push_back(e.combine(operation, element, values[i], values[i + 1]));
    if (values.size() % 2 != 0) next.push_back(values.back());
    values = std::move(next);
  }
  return values[0];
}

/// Tells whether a register is a product that need not be rounded before it is added.
inline bool is_licensed_product(llvm::Value const* value) {
  auto const* const product = llvm::dyn_cast<llvm::FPMathOperator>(value);
  return product != nullptr && product->getOpcode() == llvm::Instruction::FMul && product->hasAllowContract();
}

/// Combines in any order. Products that need not be rounded are added by fma, along as many chains as keep a thread
/// busy beside `others` like this one; all else is combined by the balanced tree.
inline llvm::Value* combine_any(Emitter& e, ir::Combine operation, Element element, Registers values,
                                std::size_t others) {
  if (operation != ir::Combine::sum || !std::all_of(values.begin(), values.end(), is_licensed_product))
    return combine_all(e, operation, element, std::move(values));
  constexpr std::size_t wanted = 8, most = 4;  // chains of a thread, and of one sum
  std::size_t const chains = std::clamp<std::size_t>(wanted / (others + 1), 1, std::min(most, values.size()));
  llvm::IRBuilder<>::FastMathFlagGuard const guard(e.b);
  llvm::FastMathFlags contract;
  contract.setAllowContract(true);
  e.b.setFastMathFlags(contract);
  for (std::size_t i = chains; i < values.size(); ++i)
    values[i % chains] = e.b.CreateFAdd(values[i % chains], values[i]);
  values.resize(chains);
  return combine_all(e, operation, element, std::move(values));
}

}  // namespace tegula::codegen::nvptx
