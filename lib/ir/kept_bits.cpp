#include "ir/kept_bits.hpp"

#include <algorithm>

#include "ir/op.hpp"

namespace tegula::ir {
namespace {

bool keeps_relative_error(Op const& op, Value const& of) {
  if (op.is<SelectOp>()) return op.operand(0) != &of;
  return op.is<MulOp>() || op.is<NegOp>() || op.is<AbsOp>() || op.is<ConvertLayoutOp>();
}

}  // namespace

bool only_16_bits_kept(Value const& value) {
  auto const& uses = value.uses();
  return !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](Use const& use) {
    Op const& op = *use.user;
    if (op.is<CastOp>()) {
      Element const to = op.result()->type().element();
      return is_float(to) && bytes(to) <= 2;
    }
    return keeps_relative_error(op, value) && only_16_bits_kept(*op.result());
  });
}

}  // namespace tegula::ir
