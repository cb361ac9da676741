// Lowers arithmetic, comparison, selection, conversion and elementary functions: register by register.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>

#include "codegen/nvptx/emitter.hpp"
#include "codegen/nvptx/inline_ptx.hpp"
#include "codegen/nvptx/ptx/math.hpp"
#include "ir/builder.hpp"
#include "ir/value_memo.hpp"
#include "ir/visit_op.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen::nvptx {
namespace {

using llvm::Intrinsic::ID;
using Function2 = std::function<llvm::Value*(llvm::Value*, llvm::Value*)>;
using Function1 = std::function<llvm::Value*(llvm::Value*)>;

Element element_of(ir::Op const& op) { return op.operands().front()->type().element(); }

/// Lowers a binary op. 16-bit floats are computed in f32 and rounded once. For + - * / and square roots the result is
/// correctly rounded, because f32 has more than twice their precision.
void binary(ir::Op const& op, Emitter& e, Function2 const& on_float, Function2 const& on_integer) {
  Element const element = element_of(op);
  Registers result;
  Registers const &lhs = e.get(*op.lhs()), &rhs = e.get(*op.rhs());
  for (std::size_t i = 0; i < lhs.size(); ++i)
    result.push_back(is_float(element) ? e.narrow(on_float(e.widen(lhs[i], element), e.widen(rhs[i], element)), element)
                                       : on_integer(lhs[i], rhs[i]));
  e.set(*op.result(), std::move(result));
}

void unary(ir::Op const& op, Emitter& e, Function1 const& on_float, Function1 const& on_integer) {
  Element const element = element_of(op);
  Registers result;
  for (llvm::Value* value : e.get(*op.operand()))
    result.push_back(is_float(element) ? e.narrow(on_float(e.widen(value, element)), element) : on_integer(value));
  e.set(*op.result(), std::move(result));
}

llvm::Value* not_defined(llvm::Value*) { throw InternalError("nvptx: an op on an element that it does not take"); }
llvm::Value* not_defined2(llvm::Value*, llvm::Value*) {
  throw InternalError("nvptx: an op on an element that it does not take");
}

/// Holds a divisor for which hardware division is defined, and whether the given one is 0.
struct SafeDivisor {
  llvm::Value* value;
  llvm::Value* is_zero;
};
SafeDivisor safe_divisor(Emitter& e, Element element, llvm::Value* lhs, llvm::Value* rhs) {
  llvm::IRBuilder<>& b = e.b;
  auto* const type = llvm::cast<llvm::IntegerType>(lhs->getType());
  llvm::Value* const one = llvm::ConstantInt::get(type, 1);
  llvm::Value* const is_zero = b.CreateICmpEQ(rhs, llvm::ConstantInt::get(type, 0));
  if (!is_signed(element)) return {b.CreateSelect(is_zero, one, rhs), is_zero};
  llvm::Value* const min = llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(type->getBitWidth()));
  llvm::Value* const minus_one = llvm::ConstantInt::getSigned(type, -1);
  // The minimum value / -1 wraps to itself, with remainder 0: so does division by 1.
  llvm::Value* const wraps = b.CreateAnd(b.CreateICmpEQ(rhs, minus_one), b.CreateICmpEQ(lhs, min));
  return {b.CreateSelect(b.CreateOr(is_zero, wraps), one, rhs), is_zero};
}

/// Divides by a number that often is 1, such as the tiles along an axis, without the long 64-bit division in that case.
template <class Divide>
llvm::Value* unless_one(Emitter& e, llvm::Value* value, llvm::Value* by, Divide const& divide) {
  llvm::IRBuilder<>& b = e.b;
  llvm::BasicBlock *const from = b.GetInsertBlock(), *const more = e.block("divide"), *const join = e.block("divided");
  b.CreateCondBr(b.CreateICmpEQ(by, llvm::ConstantInt::get(by->getType(), 1)), join, more);
  b.SetInsertPoint(more);
  llvm::Value* const quotient = divide();
  llvm::BasicBlock* const more_end = b.GetInsertBlock();
  b.CreateBr(join);
  b.SetInsertPoint(join);
  llvm::PHINode* const phi = b.CreatePHI(value->getType(), 2);
  phi->addIncoming(value, from);
  phi->addIncoming(quotient, more_end);
  return phi;
}

llvm::Value* zero_of(llvm::Value* value) { return llvm::Constant::getNullValue(value->getType()); }

llvm::Value* divide_floats(Emitter& e, llvm::Value* lhs, llvm::Value* rhs) {
  ID const id = lhs->getType()->isDoubleTy() ? llvm::Intrinsic::nvvm_div_rn_d : llvm::Intrinsic::nvvm_div_rn_f;
  return e.intrinsic(id, {lhs, rhs});
}

llvm::Value* f32(Emitter& e, double value) { return llvm::ConstantFP::get(e.b.getFloatTy(), value); }
llvm::Value* fma(Emitter& e, llvm::Value* x, llvm::Value* y, llvm::Value* z) {
  return e.intrinsic(llvm::Intrinsic::fma, {x, y, z}, {x->getType()});
}

/// Divides with an error of at most two units in the last place, for the whole range. The exact quotient takes about
/// eight instructions more and a branch.
llvm::Value* quotient(Emitter& e, llvm::Value* lhs, llvm::Value* rhs) {
  return inline_ptx(e.b, e.b.getFloatTy(), "div.full.f32 $0, $1, $2;", "=f,f,f", {lhs, rhs});
}

/// Divides by a normal number of at most 2^126, with the same error.
llvm::Value* quotient_by_normal(Emitter& e, llvm::Value* lhs, llvm::Value* rhs) {
  auto const* const constant = llvm::dyn_cast<llvm::ConstantFP>(lhs);
  llvm::Value* const reciprocal = ptx::rcp_approx(e.b, rhs);
  return constant != nullptr && constant->isExactlyValue(1) ? reciprocal : e.b.CreateFMul(lhs, reciprocal);
}

llvm::Value* square_root(Emitter& e, llvm::Value* value) {
  ID const id = value->getType()->isDoubleTy() ? llvm::Intrinsic::nvvm_sqrt_rn_d : llvm::Intrinsic::nvvm_sqrt_rn_f;
  return e.intrinsic(id, {value});
}

llvm::Value* hardware(Emitter& e, char const* instruction, llvm::Value* value) {
  return inline_ptx(e.b, e.b.getFloatTy(), std::string(instruction) + " $0, $1;", "=f,f", {value});
}

llvm::Value* magnitude(Emitter& e, llvm::Value* value) {
  return e.intrinsic(llvm::Intrinsic::fabs, {value}, {value->getType()});
}

/// Lowers a function that has an instruction for every float.
template <class OpStruct>
void exact(OpStruct const&, ir::Op const& op, Emitter& e, ID intrinsic) {
  unary(
      op, e, [&](auto* x) { return e.intrinsic(intrinsic, {x}, {x->getType()}); }, not_defined);
}
void exact(ir::SqrtOp const& attributes, ir::Op const& op, Emitter& e, ID) {
  unary(
      op, e, [&](auto* x) { return attributes.bits != 0 ? hardware(e, "sqrt.approx.f32", x) : square_root(e, x); },
      not_defined);
}

[[noreturn]] void refuse_unexpanded(ir::Op const& op) {
  throw UserError(why_not_run(op.info(), ir::on_gpu), op.where());
}

/// Restricts a function to at most 32 bits, as expand-device-math leaves it.
Function1 f32_only(ir::Op const& op, Function1 function) {
  return [&op, function = std::move(function)](llvm::Value* value) {
    if (!value->getType()->isFloatTy()) refuse_unexpanded(op);
    return function(value);
  };
}

/// Names an instruction for powers of 2. Powers below 2^-126 cost three more instructions each, unless they are 0.
char const* power_instruction(bool flushes) { return flushes ? "ex2.approx.ftz.f32" : "ex2.approx.f32"; }

llvm::Value* truncate_to_integer(Emitter& e, llvm::Value* value, Element to) {
  llvm::IRBuilder<>& b = e.b;
  bool const wide = bits(to) == 64, from_double = value->getType()->isDoubleTy();
  // cvt saturates; only NaN is handled here.
  if (is_narrow_integer(to)) {
    llvm::Value* const number = truncate_to_integer(e, value, Element::i32);
    llvm::Value* const above = e.intrinsic(llvm::Intrinsic::smax, {number, e.i32(min_integer(to))}, {b.getInt32Ty()});
    return b.CreateTrunc(e.intrinsic(llvm::Intrinsic::smin, {above, e.i32(max_integer(to))}, {b.getInt32Ty()}),
                         e.type(to));
  }
  std::string const text = std::string("cvt.rzi.") + (is_signed(to) ? "s" : "u") + (wide ? "64" : "32") +
                           (from_double ? ".f64" : ".f32") + " $0, $1;";
  llvm::Value* const number = inline_ptx(b, wide ? b.getInt64Ty() : b.getInt32Ty(), text,
                                         std::string(wide ? "=l" : "=r") + (from_double ? ",d" : ",f"), {value});
  return b.CreateSelect(b.CreateFCmpORD(value, value), number, zero_of(number));
}

/// Rounds an f64 to odd as an f32: the last bit is set where it is inexact. Rounding the result to fewer bits rounds
/// the f64 once.
llvm::Value* round_to_odd(Emitter& e, llvm::Value* value) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Value* const truncated = inline_ptx(b, b.getFloatTy(), "cvt.rz.f32.f64 $0, $1;", "=f,d", {value});
  llvm::Value* const inexact = b.CreateFCmpONE(b.CreateFPExt(truncated, b.getDoubleTy()), value);
  return b.CreateBitCast(b.CreateOr(b.CreateBitCast(truncated, b.getInt32Ty()), b.CreateZExt(inexact, b.getInt32Ty())),
                         b.getFloatTy());
}

llvm::Value* convert_integer(Emitter& e, llvm::Value* value, Element from, Element to) {
  llvm::IRBuilder<>& b = e.b;
  if (is_integer(to))
    return is_signed(from) ? b.CreateSExtOrTrunc(value, e.type(to)) : b.CreateZExtOrTrunc(value, e.type(to));
  if (is_narrow_integer(from)) {  // exact
    llvm::Type* const wide = to == Element::f64 ? b.getDoubleTy() : b.getFloatTy();
    return e.narrow(is_signed(from) ? b.CreateSIToFP(value, wide) : b.CreateUIToFP(value, wide), to);
  }
  if (is_f8(to)) {  // saturates long before an f32 is inexact
    llvm::Type* const type = value->getType();
    llvm::Value* const limit = llvm::ConstantInt::get(type, 1 << 16);
    if (!is_signed(from))
      return e.narrow(b.CreateUIToFP(e.intrinsic(llvm::Intrinsic::umin, {value, limit}, {type}), b.getFloatTy()), to);
    llvm::Value* const above = e.intrinsic(llvm::Intrinsic::smax, {value, b.CreateNeg(limit)}, {type});
    return e.narrow(b.CreateSIToFP(e.intrinsic(llvm::Intrinsic::smin, {above, limit}, {type}), b.getFloatTy()), to);
  }
  // One rounding: bf16 from its own instruction, not through f32.
  if (to == Element::bf16)
    return inline_ptx(
        b, b.getInt16Ty(),
        std::string("cvt.rn.bf16.") + (is_signed(from) ? "s" : "u") + (bits(from) == 64 ? "64" : "32") + " $0, $1;",
        bits(from) == 64 ? "=h,l" : "=h,r", {value});
  return is_signed(from) ? b.CreateSIToFP(value, e.type(to)) : b.CreateUIToFP(value, e.type(to));
}

llvm::Value* convert(Emitter& e, llvm::Value* value, Element from, Element to) {
  llvm::IRBuilder<>& b = e.b;
  if (from == to) return value;
  if (from == Element::boolean) {
    if (!is_float(to)) return b.CreateZExt(value, e.type(to));
    if (to == Element::f64) return b.CreateUIToFP(value, b.getDoubleTy());
    return e.narrow(b.CreateSelect(value, f32(e, 1), f32(e, 0)), to);
  }
  if (is_integer(from)) return convert_integer(e, value, from, to);
  if (is_integer(to)) return truncate_to_integer(e, e.widen(value, from), to);
  if (from == Element::f64) {
    if (to == Element::bf16) return inline_ptx(b, b.getInt16Ty(), "cvt.rn.bf16.f64 $0, $1;", "=h,d", {value});
    if (is_f8(to)) return e.narrow(round_to_odd(e, value), to);
    return b.CreateFPTrunc(value, e.type(to));
  }
  llvm::Value* const wide = e.widen(value, from);
  return to == Element::f64 ? b.CreateFPExt(wide, b.getDoubleTy()) : e.narrow(wide, to);
}

/// Shifts left or logically right; amounts outside 0..bits-1 give 0. PTX takes amounts of 32 bits and shifts everything
/// out for large ones. LLVM relies on that where it sees a shift after a test of its amount: it drops the test, and
/// with it the upper half of an amount of 64 bits. So an unknown amount of 64 bits is bounded, and its shift is PTX.
llvm::Value* shifted_out(Emitter& e, bool left, llvm::Value* x, llvm::Value* amount) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Value* const bits = llvm::ConstantInt::get(amount->getType(), amount->getType()->getIntegerBitWidth());
  if (amount->getType()->isIntegerTy(64) && !llvm::isa<llvm::Constant>(amount)) {
    llvm::Value* const bounded = e.intrinsic(llvm::Intrinsic::umin, {amount, bits}, {amount->getType()});
    return inline_ptx(b, x->getType(), left ? "shl.b64 $0, $1, $2;" : "shr.u64 $0, $1, $2;", "=l,l,r",
                      {x, b.CreateTrunc(bounded, b.getInt32Ty())});
  }
  llvm::Value* const legal = b.CreateICmpULT(amount, bits);
  llvm::Value* const safe = b.CreateSelect(legal, amount, zero_of(amount));
  return b.CreateSelect(legal, left ? b.CreateShl(x, safe) : b.CreateLShr(x, safe), zero_of(x));
}

}  // namespace

void lower(ir::ConstantOp const& attributes, ir::Op const& op, Emitter& e) {
  ir::Type const& type = op.result()->type();
  std::size_t const count = type.is_tile() ? static_cast<std::size_t>(type.layout()->registers()) : 1;
  e.set(*op.result(), Registers(count, e.constant(attributes.value)));
}

void lower(ir::AddOp const&, ir::Op const& op, Emitter& e) {
  binary(
      op, e, [&](auto* x, auto* y) { return e.b.CreateFAdd(x, y); },
      [&](auto* x, auto* y) { return e.b.CreateAdd(x, y); });
}
void lower(ir::SubOp const&, ir::Op const& op, Emitter& e) {
  binary(
      op, e, [&](auto* x, auto* y) { return e.b.CreateFSub(x, y); },
      [&](auto* x, auto* y) { return e.b.CreateSub(x, y); });
}
void lower(ir::MulOp const&, ir::Op const& op, Emitter& e) {
  binary(
      op, e, [&](auto* x, auto* y) { return e.b.CreateFMul(x, y); },
      [&](auto* x, auto* y) { return e.b.CreateMul(x, y); });
}
void lower(ir::MultiplyHighOp const&, ir::Op const& op, Emitter& e) {
  binary(op, e, not_defined2, [&](auto* x, auto* y) {
    llvm::Type* const wide = x->getType()->getExtendedType();
    auto const widened = [&](llvm::Value* value) {
      return is_signed(element_of(op)) ? e.b.CreateSExt(value, wide) : e.b.CreateZExt(value, wide);
    };
    llvm::Value* const product = e.b.CreateMul(widened(x), widened(y));
    return e.b.CreateTrunc(e.b.CreateLShr(product, x->getType()->getIntegerBitWidth()), x->getType());
  });
}
void lower(ir::DivOp const& attributes, ir::Op const& op, Emitter& e) {
  binary(
      op, e,
      [&](auto* x, auto* y) {
        if (attributes.bits == 0) return divide_floats(e, x, y);
        return attributes.normal ? quotient_by_normal(e, x, y) : quotient(e, x, y);
      },
      [&](auto* x, auto* y) {
        auto const divide = [&]() -> llvm::Value* {
          SafeDivisor const by = safe_divisor(e, element_of(op), x, y);
          llvm::Value* const quotient =
              is_signed(element_of(op)) ? e.b.CreateSDiv(x, by.value) : e.b.CreateUDiv(x, by.value);
          return e.b.CreateSelect(by.is_zero, zero_of(x), quotient);
        };
        bool const is_long = op.result()->type() == ir::Type::index() && !llvm::isa<llvm::Constant>(y);
        return is_long ? unless_one(e, x, y, divide) : divide();
      });
}
void lower(ir::RemOp const&, ir::Op const& op, Emitter& e) {
  binary(op, e, not_defined2, [&](auto* x, auto* y) {
    SafeDivisor const by = safe_divisor(e, element_of(op), x, y);
    llvm::Value* const rest = is_signed(element_of(op)) ? e.b.CreateSRem(x, by.value) : e.b.CreateURem(x, by.value);
    return e.b.CreateSelect(by.is_zero, x, rest);
  });
}
void lower(ir::CeilDivOp const&, ir::Op const& op, Emitter& e) {
  binary(op, e, not_defined2, [&](auto* x, auto* y) -> llvm::Value* {
    llvm::IRBuilder<>& b = e.b;
    bool const has_sign = is_signed(element_of(op));
    auto const above_zero = [&](llvm::Value* value) {
      return has_sign ? b.CreateICmpSGT(value, zero_of(value)) : b.CreateICmpNE(value, zero_of(value));
    };
    llvm::Value* const positive = above_zero(y);
    llvm::Value* const by = b.CreateSelect(positive, y, llvm::ConstantInt::get(y->getType(), 1));
    llvm::Value* const quotient = has_sign ? b.CreateSDiv(x, by) : b.CreateUDiv(x, by);
    llvm::Value* const more = b.CreateZExt(above_zero(b.CreateSub(x, b.CreateMul(quotient, by))), x->getType());
    return b.CreateSelect(positive, b.CreateAdd(quotient, more), zero_of(x));
  });
}
void lower(ir::MinOp const&, ir::Op const& op, Emitter& e) {
  auto const f = [&](auto* x, auto* y) { return e.combine(ir::Combine::min, element_of(op), x, y); };
  binary(op, e, f, f);
}
void lower(ir::MaxOp const&, ir::Op const& op, Emitter& e) {
  auto const f = [&](auto* x, auto* y) { return e.combine(ir::Combine::max, element_of(op), x, y); };
  binary(op, e, f, f);
}
void lower(ir::AndOp const&, ir::Op const& op, Emitter& e) {
  binary(op, e, not_defined2, [&](auto* x, auto* y) { return e.b.CreateAnd(x, y); });
}
void lower(ir::OrOp const&, ir::Op const& op, Emitter& e) {
  binary(op, e, not_defined2, [&](auto* x, auto* y) { return e.b.CreateOr(x, y); });
}
void lower(ir::XorOp const&, ir::Op const& op, Emitter& e) {
  binary(op, e, not_defined2, [&](auto* x, auto* y) { return e.b.CreateXor(x, y); });
}
void lower(ir::ShlOp const&, ir::Op const& op, Emitter& e) {
  binary(op, e, not_defined2, [&](auto* x, auto* y) { return shifted_out(e, true, x, y); });
}
void lower(ir::ShrOp const&, ir::Op const& op, Emitter& e) {
  binary(op, e, not_defined2, [&](auto* x, auto* y) {
    if (!is_signed(element_of(op))) return shifted_out(e, false, x, y);
    llvm::Value* const max = llvm::ConstantInt::get(y->getType(), y->getType()->getIntegerBitWidth() - 1);
    return e.b.CreateAShr(x, e.b.CreateSelect(e.b.CreateICmpULT(y, max), y, max));
  });
}

namespace {

/// True if elements that differ only in their coordinate along an axis are equal.
bool equal_along(ir::Value const& tile, std::int64_t axis) {
  ir::ValueMemo<bool> memo;
  auto const needs = [](ir::Value const& at, auto const& visit) {
    if (at.defining_op() != nullptr && at.defining_op()->is(ir::Family::elementwise)) ir::operands_of(at, visit);
  };
  return memo.of(tile, needs, [&](ir::Value const& at) {
    ir::Op const* const op = at.defining_op();
    if (op == nullptr) return false;
    if (op->is<ir::SplatOp>() || op->is<ir::ConstantOp>()) return true;
    if (op->is<ir::IotaOp>()) return op->as<ir::IotaOp>().axis != axis;
    if (op->is<ir::BroadcastOp>() && op->operand()->type().shape()[static_cast<int>(axis)] == 1) return true;
    return op->is(ir::Family::elementwise) &&
           std::all_of(op->operands().begin(), op->operands().end(), [&](ir::Value const* in) { return memo.at(*in); });
  });
}

/// Compares coordinates with a value that does not change along their axis. The thread's part is subtracted from the
/// other side once for all registers, whose own parts are constants. Below -1 the other side orders as -1 does, so that
/// nothing wraps. Empty: not such a comparison.
Registers compare_coordinates(ir::Op const& op, bool swapped, llvm::CmpInst::Predicate predicate, Emitter& e) {
  ir::Value const& places = swapped ? *op.rhs() : *op.lhs();
  ir::Value const& bounds = swapped ? *op.lhs() : *op.rhs();
  ir::Op const* const iota = places.defined_by<ir::IotaOp>();
  if (places.type().element() != Element::i32 || iota == nullptr) return {};
  int const axis = static_cast<int>(iota->as<ir::IotaOp>().axis);
  layout::Layout const& layout = *places.type().layout();
  AxisCoordinate const& of_thread = e.coordinates.of(layout)[static_cast<std::size_t>(axis)];
  if (of_thread.thread == nullptr || !equal_along(bounds, axis)) return {};
  Registers const& others = e.get(bounds);
  std::vector<std::pair<Extents, llvm::Value*>> known;
  Registers result;
  Window const window = e.window();
  int const end = window.count == 0 ? layout.registers() : window.first + window.count;
  for (int reg = window.first; reg < end; ++reg) {
    Extents at = layout.part(layout::Dim::reg, reg);
    std::int64_t const part = at[axis];
    if ((of_thread.thread_bits & part) != 0) return {};
    at[axis] = 0;
    auto found = std::find_if(known.begin(), known.end(), [&](auto const& one) { return one.first == at; });
    if (found == known.end()) {
      llvm::Value* const other = others[others.size() == 1 ? 0 : static_cast<std::size_t>(reg - window.first)];
      llvm::Value* const bounded = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, other, e.i32(-1));
      known.emplace_back(at, e.b.CreateNSWSub(bounded, of_thread.thread));
      found = known.end() - 1;
    }
    llvm::Value* const own = e.i32(part);
    result.push_back(swapped ? e.b.CreateICmp(predicate, found->second, own)
                             : e.b.CreateICmp(predicate, own, found->second));
  }
  return result;
}

}  // namespace

void lower(ir::CompareOp const& attributes, ir::Op const& op, Emitter& e) {
  Element const element = element_of(op);
  auto const index = static_cast<std::size_t>(attributes.predicate);
  using P = llvm::CmpInst::Predicate;
  static constexpr P on_floats[] = {P::FCMP_OEQ, P::FCMP_UNE, P::FCMP_OLT, P::FCMP_OLE, P::FCMP_OGT, P::FCMP_OGE};
  static constexpr P on_integers[] = {P::ICMP_EQ, P::ICMP_NE, P::ICMP_SLT, P::ICMP_SLE, P::ICMP_SGT, P::ICMP_SGE};
  static constexpr P on_unsigned[] = {P::ICMP_EQ, P::ICMP_NE, P::ICMP_ULT, P::ICMP_ULE, P::ICMP_UGT, P::ICMP_UGE};
  if (op.lhs()->type().is_tile())
    for (bool const swapped : {false, true})
      if (Registers result = compare_coordinates(op, swapped, on_integers[index], e); !result.empty())
        return e.set(*op.result(), std::move(result));
  Registers result;
  Registers const &lhs = e.get(*op.lhs()), &rhs = e.get(*op.rhs());
  for (std::size_t i = 0; i < lhs.size(); ++i) {
    if (is_float(element))
      result.push_back(e.b.CreateFCmp(on_floats[index], e.widen(lhs[i], element), e.widen(rhs[i], element)));
    else
      result.push_back(e.b.CreateICmp(is_signed(element) ? on_integers[index] : on_unsigned[index], lhs[i], rhs[i]));
  }
  e.set(*op.result(), std::move(result));
}

void lower(ir::SelectOp const&, ir::Op const& op, Emitter& e) {
  Registers result;
  Registers const &condition = e.get(*op.in<ir::SelectOp>("condition")), &lhs = e.get(*op.lhs()),
                  &rhs = e.get(*op.rhs());
  for (std::size_t i = 0; i < lhs.size(); ++i)
    result.push_back(e.b.CreateSelect(condition.size() == 1 ? condition[0] : condition[i], lhs[i], rhs[i]));
  e.set(*op.result(), std::move(result));
}

void lower(ir::FmaOp const&, ir::Op const& op, Emitter& e) {
  Registers result;
  Registers const &lhs = e.get(*op.lhs()), &rhs = e.get(*op.rhs()), &addend = e.get(*op.in<ir::FmaOp>("addend"));
  for (std::size_t i = 0; i < lhs.size(); ++i) result.push_back(fma(e, lhs[i], rhs[i], addend[i]));
  e.set(*op.result(), std::move(result));
}

void lower(ir::CastOp const&, ir::Op const& op, Emitter& e) {
  Registers result;
  for (llvm::Value* value : e.get(*op.operand()))
    result.push_back(convert(e, value, element_of(op), op.result()->type().element()));
  e.set(*op.result(), std::move(result));
}
void lower(ir::BitcastOp const&, ir::Op const& op, Emitter& e) {
  Element const to = op.result()->type().element();
  Registers result;
  for (llvm::Value* value : e.get(*op.operand())) result.push_back(e.from_bits(e.to_bits(value, element_of(op)), to));
  e.set(*op.result(), std::move(result));
}

void lower(ir::NegOp const&, ir::Op const& op, Emitter& e) {
  unary(
      op, e, [&](auto* x) { return e.b.CreateFNeg(x); }, [&](auto* x) { return e.b.CreateNeg(x); });
}
void lower(ir::NotOp const&, ir::Op const& op, Emitter& e) {
  unary(op, e, not_defined, [&](auto* x) { return e.b.CreateNot(x); });
}
void lower(ir::AbsOp const&, ir::Op const& op, Emitter& e) {
  unary(
      op, e, [&](auto* x) { return magnitude(e, x); },
      [&](auto* x) -> llvm::Value* {
        if (!is_signed(element_of(op))) return x;
        return e.b.CreateSelect(e.b.CreateICmpSLT(x, zero_of(x)), e.b.CreateNeg(x), x);
      });
}
#define TEGULA_EXACT(struct_name, name, intrinsic, ...)                         \
  void lower(ir::struct_name const& attributes, ir::Op const& op, Emitter& e) { \
    exact(attributes, op, e, llvm::Intrinsic::intrinsic);                       \
  }
#define TEGULA_LOWER_native(struct_name)     // below
#define TEGULA_LOWER_coarse(struct_name)     // below
#define TEGULA_LOWER_expansion(struct_name)  // expanded before
#define TEGULA_LOWER_units(struct_name)      // expanded before
#define TEGULA_EXPANDED(struct_name, name, device, ...) TEGULA_LOWER_##device(struct_name)
#define TEGULA_EXPANDED_2(struct_name, ...) TEGULA_LOWER_expansion(struct_name)
#include "tegula/math/elementary.def"

void lower(ir::Exp2Op const& attributes, ir::Op const& op, Emitter& e) {
  char const* const instruction = power_instruction(attributes.flush);
  unary(op, e, f32_only(op, [&](auto* x) { return hardware(e, instruction, x); }), not_defined);
}
void lower(ir::FastTanhOp const&, ir::Op const& op, Emitter& e) {
  unary(op, e, f32_only(op, [&](auto* x) { return hardware(e, "tanh.approx.f32", x); }), not_defined);
}
void lower(ir::RsqrtOp const& attributes, ir::Op const& op, Emitter& e) {
  if (attributes.bits != 0)
    return unary(
        op, e, [&](auto* x) { return hardware(e, "rsqrt.approx.f32", x); }, not_defined);
  unary(
      op, e, [&](auto* x) { return divide_floats(e, llvm::ConstantFP::get(x->getType(), 1.0), square_root(e, x)); },
      not_defined);
}

namespace {

template <class OpStruct>
constexpr bool runs = ir::ElementwiseOp<OpStruct> && (OpStruct::support & ir::on_gpu) != 0;
template <class OpStruct>
concept HasLowering = requires(OpStruct const& attributes, ir::Op const& op, Emitter& emitter) {
  lower(attributes, op, emitter);
};
#define TEGULA_OP(name)                                   \
  static_assert(!runs<ir::name> || HasLowering<ir::name>, \
                "GPUs have no lowering of " #name ": add an overload of lower to codegen/nvptx/lower_arith.cpp");
#include "tegula/ir/ops.def"
#undef TEGULA_OP

}  // namespace

void lower_elementwise(ir::Op const& op, Emitter& emitter) {
  ir::visit_op(op.kind(), [&](auto type) {
    using OpStruct = typename decltype(type)::type;
    if constexpr (runs<OpStruct>) lower(op.as<OpStruct>(), op, emitter);
  });
}

}  // namespace tegula::codegen::nvptx
