#include "ir/core/rewrite.hpp"

#include <algorithm>

#include "tegula/support/error.hpp"

namespace tegula::ir {

void replace(Op& op, std::span<Value* const> values) {
  if (static_cast<int>(values.size()) != op.result_count())
    throw InternalError("replacing " + std::string(op.info().mnemonic) + " by the wrong number of values");
  for (int i = 0; i < op.result_count(); ++i) {
    Value& value = *values[static_cast<std::size_t>(i)];
    bool const is_result = value.defining_op() != nullptr;
    if (value.name().empty() && is_result) value.set_name(op.result(i)->name());
    op.result(i)->replace_all_uses_with(value);
  }
  op.erase();
}

void splice_before(Op& position, Block& from) {
  for (auto at = from.begin(); at != from.end();) {
    Op& op = *at;
    ++at;
    if (!op.info().has(terminator)) op.move_before(position);
  }
}

void erase_with_operands(Op& op) {
  std::vector<Op*> work = {&op};
  while (!work.empty()) {
    Op& dead = *work.back();
    work.pop_back();
    std::vector<Value*> const operands(dead.operands().begin(), dead.operands().end());
    std::erase(work, &dead);
    dead.erase();
    for (Value* value : operands) {
      Op* const definition = value == nullptr ? nullptr : value->defining_op();
      if (definition == nullptr || !definition->pure() || std::find(work.begin(), work.end(), definition) != work.end())
        continue;
      bool unused = true;
      for (int i = 0; i < definition->result_count(); ++i) unused = unused && definition->result(i)->unused();
      if (unused) work.push_back(definition);
    }
  }
}

}  // namespace tegula::ir
