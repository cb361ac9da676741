// Lowers elementwise ops and constants: register by register, with the floats and the conversions of GPUs.
#include "codegen/nvptx/arith.hpp"

#include <fmt/format.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <optional>

#include "codegen/nvptx/emitter.hpp"
#include "codegen/nvptx/inline_ptx.hpp"
#include "codegen/nvptx/ptx/math.hpp"
#include "codegen/random_words.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/value_memo.hpp"
#include "ir/core/visit_op.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen::nvptx {
namespace {

using llvm::Intrinsic::ID;

llvm::Value* zero_of(llvm::Value* value) { return llvm::Constant::getNullValue(value->getType()); }

/// Divides with an error of at most two units in the last place, for the whole range. The exact quotient takes about
/// eight instructions more and a branch.
llvm::Value* short_quotient(Emitter& e, llvm::Value* lhs, llvm::Value* rhs) {
  return inline_ptx(e.b, e.b.getFloatTy(), "div.full.f32 $0, $1, $2;", "=f,f,f", {lhs, rhs});
}

/// Divides by a normal number of at most 2^126, with the same error.
llvm::Value* quotient_by_normal(Emitter& e, llvm::Value* lhs, llvm::Value* rhs) {
  auto const* const constant = llvm::dyn_cast<llvm::ConstantFP>(lhs);
  llvm::Value* const reciprocal = ptx::rcp_approx(e.b, rhs);
  return constant != nullptr && constant->isExactlyValue(1) ? reciprocal : e.b.CreateFMul(lhs, reciprocal);
}

llvm::Value* hardware(Emitter& e, char const* instruction, llvm::Value* value) {
  return inline_ptx(e.b, e.b.getFloatTy(), std::string(instruction) + " $0, $1;", "=f,f", {value});
}

/// Names an instruction for powers of 2. Powers below 2^-126 cost three more instructions each, unless they are 0.
char const* power_instruction(bool flushes) { return flushes ? "ex2.approx.ftz.f32" : "ex2.approx.f32"; }

/// Rounds an f64 to odd as an f32: the last bit is set where it is inexact. Rounding the result to fewer bits rounds
/// the f64 once.
llvm::Value* round_to_odd(Emitter& e, llvm::Value* value) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Value* const truncated = inline_ptx(b, b.getFloatTy(), "cvt.rz.f32.f64 $0, $1;", "=f,d", {value});
  llvm::Value* const inexact = b.CreateFCmpONE(b.CreateFPExt(truncated, b.getDoubleTy()), value);
  return b.CreateBitCast(b.CreateOr(b.CreateBitCast(truncated, b.getInt32Ty()), b.CreateZExt(inexact, b.getInt32Ty())),
                         b.getFloatTy());
}

constexpr unsigned fraction_bits = 23;
constexpr std::uint32_t bits_of_2_23 = 0x4B000000;

/// Describes an integer as bits of another one: (word & mask) >> shift. If `top` is not 0, it is the mask's highest
/// bit, and the integer's sign.
struct BitField {
  llvm::Value* word;
  std::uint64_t mask;
  unsigned shift = 0;
  std::uint64_t top = 0;
  bool masked = false;  ///< by an op of the kernel
};

std::uint64_t ones(unsigned bits) { return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; }

/// Returns the amount of a shift that is a constant; none: another op, or an amount that shifts everything out.
std::optional<unsigned> shift_amount(llvm::Value* value, unsigned opcode) {
  auto* const shift = llvm::dyn_cast<llvm::BinaryOperator>(value);
  if (shift == nullptr || shift->getOpcode() != opcode) return std::nullopt;
  auto* const amount = llvm::dyn_cast<llvm::ConstantInt>(shift->getOperand(1));
  if (amount == nullptr || amount->getZExtValue() >= shift->getType()->getIntegerBitWidth()) return std::nullopt;
  return static_cast<unsigned>(amount->getZExtValue());
}
/// Returns an instruction's operand; null: another kind of value.
template <class Instruction>
llvm::Value* operand_of(llvm::Value* value) {
  auto* const instruction = llvm::dyn_cast<Instruction>(value);
  return instruction == nullptr ? nullptr : instruction->getOperand(0);
}
/// Returns the value that a selection by a constant takes, or the value itself.
llvm::Value* selected(llvm::Value* value) {
  auto* const select = llvm::dyn_cast<llvm::SelectInst>(value);
  auto* const condition = select == nullptr ? nullptr : llvm::dyn_cast<llvm::ConstantInt>(select->getCondition());
  if (condition == nullptr) return value;
  return condition->isOne() ? select->getTrueValue() : select->getFalseValue();
}

/// Returns the amount of a shift to the right of which bits below the sign's copies are kept.
std::optional<unsigned> right_shift(llvm::Value* value, std::uint64_t kept) {
  if (auto const amount = shift_amount(value, llvm::Instruction::LShr)) return amount;
  auto const amount = shift_amount(value, llvm::Instruction::AShr);
  return amount && kept <= ones(value->getType()->getIntegerBitWidth() - *amount) ? amount : std::nullopt;
}

/// Follows shifts, masks and conversions of integers back to the word that they take bits of.
BitField bit_field(llvm::Value* value) {
  BitField field{value, ones(value->getType()->getIntegerBitWidth())};
  for (;;) {
    llvm::Value* const at = field.word = selected(field.word);
    unsigned const width = at->getType()->getIntegerBitWidth();
    auto* const op = llvm::dyn_cast<llvm::BinaryOperator>(at);
    auto* const mask = op == nullptr ? nullptr : llvm::dyn_cast<llvm::ConstantInt>(op->getOperand(1));
    if (llvm::Value* const wide = operand_of<llvm::TruncInst>(at)) {
      field.word = wide;
    } else if (llvm::Value* const narrow = operand_of<llvm::ZExtInst>(at)) {
      field.mask &= ones(narrow->getType()->getIntegerBitWidth());
      field.word = narrow;
    } else if (mask != nullptr && op->getOpcode() == llvm::Instruction::And) {
      field.mask &= mask->getZExtValue();
      field.masked = true;
      field.word = op->getOperand(0);
    } else if (auto const amount = right_shift(at, field.mask)) {
      field.mask = field.mask << *amount & ones(width);
      field.shift += *amount;
      field.word = op->getOperand(0);
    } else {
      return field;
    }
  }
}

/// Does the same for an integer with a sign: the highest of the bits that a left shift and a right one leave.
std::optional<BitField> signed_field(llvm::Value* value) {
  unsigned const width = value->getType()->getIntegerBitWidth();
  if (llvm::Value* const wide = operand_of<llvm::TruncInst>(value)) value = wide;
  auto const right = shift_amount(value, llvm::Instruction::AShr);
  if (!right) return std::nullopt;
  llvm::Value* const shifted = selected(llvm::cast<llvm::BinaryOperator>(value)->getOperand(0));
  auto const left = shift_amount(shifted, llvm::Instruction::Shl);
  unsigned const bits = value->getType()->getIntegerBitWidth() - *right;
  if (!left || *left > *right || bits > width) return std::nullopt;
  unsigned const first = *right - *left;
  BitField field = bit_field(llvm::cast<llvm::BinaryOperator>(shifted)->getOperand(0));
  std::uint64_t const mask = ones(bits) << (first + field.shift);
  if ((field.mask & mask) != mask) return std::nullopt;  // some of the bits are known to be 0
  return BitField{field.word, mask, first + field.shift, std::uint64_t{1} << (bits - 1 + first + field.shift), true};
}

/// Converts some bits of a word, where they stand: they become bits of the fraction of a number from
/// 2^23 on, so that one operation of bits and one of floats make the number. Null: the integer is a whole word.
llvm::Value* float_of_field(Emitter& e, BitField field) {
  llvm::IRBuilder<>& b = e.b;
  constexpr unsigned half = 16;
  if ((field.shift == 0 && !field.masked) || field.mask == 0 || field.word->getType()->getIntegerBitWidth() > 32)
    return nullptr;
  llvm::Value* word = b.CreateZExt(field.word, b.getInt32Ty());
  if (field.mask > ones(fraction_bits)) {  // the upper bits of a word share this shift
    unsigned const down = std::min(field.shift, half);
    word = b.CreateLShr(word, down);
    field.mask >>= down;
    field.top >>= down;
    field.shift -= down;
  }
  if (field.mask > ones(fraction_bits)) return nullptr;
  // (word & mask) ^ bits as one instruction: ptxas makes two of two with constants.
  llvm::Value* const above =
      inline_ptx(b, b.getInt32Ty(), fmt::format("lop3.b32 $0, $1, {}, {}, 0x6a;", field.mask, field.top | bits_of_2_23),
                 "=r,r", {word});
  double const unit = 1 / static_cast<double>(std::uint64_t{1} << field.shift);
  auto const number = [&](double value) { return llvm::ConstantFP::get(b.getFloatTy(), value); };
  return e.intrinsic(llvm::Intrinsic::fma,
                     {b.CreateBitCast(above, b.getFloatTy()), number(unit),
                      number(-unit * static_cast<double>((std::uint64_t{1} << fraction_bits) + field.top))},
                     {b.getFloatTy()});
}

/// Converts an integer that has at most 23 bits, or a sign and at most 22, to an f32. Null: it may have more. The bits
/// become the fraction of a number from 2^23 on, which is subtracted again: two instructions that have four times the
/// rate of a conversion or more.
llvm::Value* float_of_few_bits(Emitter& e, Element from, llvm::Value* value) {
  llvm::IRBuilder<>& b = e.b;
  if (llvm::isa<llvm::Constant>(value)) return nullptr;
  llvm::DataLayout const& data = b.GetInsertBlock()->getModule()->getDataLayout();
  unsigned const width = value->getType()->getIntegerBitWidth();
  // A sign becomes an offset: of n bits, the highest of which is exchanged, the number and 2^(n - 1).
  bool const offset = is_signed(from) && !llvm::computeKnownBits(value, data).isNonNegative();
  unsigned const needed = offset ? width - llvm::ComputeNumSignBits(value, data) + 1
                                 : width - llvm::computeKnownBits(value, data).countMinLeadingZeros();
  if (needed > fraction_bits || needed == 0) return nullptr;
  if (auto const field = offset ? signed_field(value) : std::optional<BitField>(bit_field(value)))
    if (llvm::Value* const number = float_of_field(e, *field)) return number;
  llvm::Value* bits = b.CreateZExtOrTrunc(value, b.getInt32Ty());
  std::uint32_t const sign = offset ? 1U << (needed - 1) : 0;
  if (offset) bits = b.CreateXor(b.CreateAnd(bits, b.getInt32(2 * sign - 1)), b.getInt32(sign));
  llvm::Value* const above = b.CreateBitCast(b.CreateOr(bits, b.getInt32(bits_of_2_23)), b.getFloatTy());
  return b.CreateFSub(above, llvm::ConstantFP::get(b.getFloatTy(), static_cast<double>((1U << fraction_bits) + sign)));
}

}  // namespace

DeviceArith::DeviceArith(Emitter& emitter) : ArithLowering(emitter.b), e_(emitter) {}

RegisterClass DeviceArith::register_class(Element element) const { return info(element).gpu; }
llvm::Value* DeviceArith::widen(Element element, llvm::Value* value) { return e_.widen(value, element); }
llvm::Value* DeviceArith::narrow(Element element, llvm::Value* value) { return e_.narrow(value, element); }

llvm::Value* DeviceArith::extreme(bool greater, llvm::Value* a, llvm::Value* b) {
  return e_.intrinsic(greater ? llvm::Intrinsic::maxnum : llvm::Intrinsic::minnum, {a, b}, {a->getType()});
}

llvm::Value* DeviceArith::divide_floats(ir::DivOp const& division, llvm::Value* a, llvm::Value* b) {
  if (division.bits != 0) return division.normal ? quotient_by_normal(e_, a, b) : short_quotient(e_, a, b);
  return e_.intrinsic(a->getType()->isDoubleTy() ? llvm::Intrinsic::nvvm_div_rn_d : llvm::Intrinsic::nvvm_div_rn_f,
                      {a, b});
}

llvm::Value* DeviceArith::square_root(ir::SqrtOp const& root, llvm::Value* a) {
  if (root.bits != 0) return hardware(e_, "sqrt.approx.f32", a);
  return e_.intrinsic(a->getType()->isDoubleTy() ? llvm::Intrinsic::nvvm_sqrt_rn_d : llvm::Intrinsic::nvvm_sqrt_rn_f,
                      {a});
}

llvm::Value* DeviceArith::fma(Element, llvm::Value* a, llvm::Value* b, llvm::Value* c) {
  return e_.intrinsic(llvm::Intrinsic::fma, {a, b, c}, {a->getType()});
}

llvm::Value* DeviceArith::float_from_boolean(Element to, llvm::Value* value) {
  if (to == Element::f64) return e_.b.CreateUIToFP(value, e_.b.getDoubleTy());
  llvm::Type* const f32 = e_.b.getFloatTy();
  return e_.narrow(e_.b.CreateSelect(value, llvm::ConstantFP::get(f32, 1), llvm::ConstantFP::get(f32, 0)), to);
}

llvm::Value* DeviceArith::float_from_integer(Element from, Element to, llvm::Value* value) {
  llvm::IRBuilder<>& b = e_.b;
  if (to != Element::f64)
    if (llvm::Value* const number = float_of_few_bits(e_, from, value)) return e_.narrow(number, to);
  if (is_narrow_integer(from)) {  // exact
    llvm::Type* const wide = to == Element::f64 ? b.getDoubleTy() : b.getFloatTy();
    return e_.narrow(is_signed(from) ? b.CreateSIToFP(value, wide) : b.CreateUIToFP(value, wide), to);
  }
  if (is_f8(to)) {  // saturates long before an f32 is inexact
    llvm::Type* const type = value->getType();
    llvm::Value* const limit = llvm::ConstantInt::get(type, 1 << 16);
    if (!is_signed(from))
      return e_.narrow(b.CreateUIToFP(e_.intrinsic(llvm::Intrinsic::umin, {value, limit}, {type}), b.getFloatTy()), to);
    llvm::Value* const above = e_.intrinsic(llvm::Intrinsic::smax, {value, b.CreateNeg(limit)}, {type});
    return e_.narrow(b.CreateSIToFP(e_.intrinsic(llvm::Intrinsic::smin, {above, limit}, {type}), b.getFloatTy()), to);
  }
  // One rounding: bf16 from its own instruction, not through f32. f16 too: LLVM widens a conversion to f16 whose bits
  // it knows to fit, and forgets that large numbers are infinite there.
  if (is_narrow_float(to)) {
    std::string const text = fmt::format("cvt.rn.{}.{} $0, $1;", info(to).ptx, info(from).ptx);
    llvm::Value* const number = inline_ptx(b, b.getInt16Ty(), text, bits(from) == 64 ? "=h,l" : "=h,r", {value});
    return b.CreateBitCast(number, e_.type(to));
  }
  return is_signed(from) ? b.CreateSIToFP(value, e_.type(to)) : b.CreateUIToFP(value, e_.type(to));
}

llvm::Value* DeviceArith::integer_from_float(Element from, Element to, llvm::Value* value) {
  return truncated(to, e_.widen(value, from));
}

llvm::Value* DeviceArith::truncated(Element to, llvm::Value* value) {
  llvm::IRBuilder<>& b = e_.b;
  bool const wide = bits(to) == 64, from_double = value->getType()->isDoubleTy();
  // cvt saturates; only NaN is handled here.
  if (is_narrow_integer(to)) {
    llvm::Value* const number = truncated(Element::i32, value);
    llvm::Value* const above = e_.intrinsic(llvm::Intrinsic::smax, {number, e_.i32(min_integer(to))}, {b.getInt32Ty()});
    return b.CreateTrunc(e_.intrinsic(llvm::Intrinsic::smin, {above, e_.i32(max_integer(to))}, {b.getInt32Ty()}),
                         e_.type(to));
  }
  std::string const text = "cvt.rzi." + std::string(info(to).ptx) + (from_double ? ".f64" : ".f32") + " $0, $1;";
  llvm::Value* const number = inline_ptx(b, wide ? b.getInt64Ty() : b.getInt32Ty(), text,
                                         std::string(wide ? "=l" : "=r") + (from_double ? ",d" : ",f"), {value});
  return b.CreateSelect(b.CreateFCmpORD(value, value), number, zero_of(number));
}

llvm::Value* DeviceArith::float_from_float(Element from, Element to, llvm::Value* value) {
  if (from == Element::f64) {
    if (to == Element::bf16) return inline_ptx(e_.b, e_.b.getInt16Ty(), "cvt.rn.bf16.f64 $0, $1;", "=h,d", {value});
    if (is_f8(to)) return e_.narrow(round_to_odd(e_, value), to);
    return e_.b.CreateFPTrunc(value, e_.type(to));
  }
  llvm::Value* const wide = e_.widen(value, from);
  return to == Element::f64 ? e_.b.CreateFPExt(wide, e_.b.getDoubleTy()) : e_.narrow(wide, to);
}

llvm::Value* DeviceArith::same_bits(Element from, Element to, llvm::Value* value) {
  return e_.from_bits(e_.to_bits(value, from), to);
}

/// PTX takes amounts of 32 bits and shifts everything out for large ones. LLVM relies on that where it sees a shift
/// after a test of its amount: it drops the test, and with it the upper half of an amount of 64 bits. So an unknown
/// amount of 64 bits is bounded, and its shift is PTX.
llvm::Value* DeviceArith::shift_out(bool left, llvm::Value* a, llvm::Value* amount) {
  if (!amount->getType()->isIntegerTy(64) || llvm::isa<llvm::Constant>(amount))
    return ArithLowering::shift_out(left, a, amount);
  llvm::Value* const bounded = e_.intrinsic(llvm::Intrinsic::umin, {amount, e_.i64(64)}, {amount->getType()});
  return inline_ptx(e_.b, a->getType(), left ? "shl.b64 $0, $1, $2;" : "shr.u64 $0, $1, $2;", "=l,l,r",
                    {a, e_.b.CreateTrunc(bounded, e_.b.getInt32Ty())});
}

/// Divides by a number that often is 1, such as the tiles along an axis, without the long division in that case.
llvm::Value* DeviceArith::divide_index(llvm::Value* a, llvm::Value* by) {
  if (llvm::isa<llvm::Constant>(by)) return quotient(Element::i64, a, by);
  llvm::IRBuilder<>& b = e_.b;
  llvm::BasicBlock *const from = b.GetInsertBlock(), *const more = e_.block("divide"),
                          *const join = e_.block("divided");
  b.CreateCondBr(b.CreateICmpEQ(by, e_.i64(1)), join, more);
  b.SetInsertPoint(more);
  llvm::Value* const divided = quotient(Element::i64, a, by);
  llvm::BasicBlock* const more_end = b.GetInsertBlock();
  b.CreateBr(join);
  b.SetInsertPoint(join);
  llvm::PHINode* const phi = b.CreatePHI(a->getType(), 2);
  phi->addIncoming(a, from);
  phi->addIncoming(divided, more_end);
  return phi;
}

namespace {

/// Holds the operand of an op that GPUs alone run: a float as it is computed with. Others than f32 are expanded before.
struct OwnOperand {
  Emitter& e;
  ir::Op const& op;
  llvm::Value* value;
};

[[noreturn]] void refuse_unexpanded(ir::Op const& op) {
  throw UserError(why_not_run(op.info(), ir::on_gpu), op.where());
}

llvm::Value* hardware_of_f32(OwnOperand const& of, char const* instruction) {
  if (!of.value->getType()->isFloatTy()) refuse_unexpanded(of.op);
  return hardware(of.e, instruction, of.value);
}

llvm::Value* lower_own(ir::Exp2Op const& power, OwnOperand const& of) {
  return hardware_of_f32(of, power_instruction(power.flush));
}
llvm::Value* lower_own(ir::FastTanhOp const&, OwnOperand const& of) { return hardware_of_f32(of, "tanh.approx.f32"); }
llvm::Value* lower_own(ir::RsqrtOp const& root, OwnOperand const& of) {
  if (root.bits != 0) return hardware(of.e, "rsqrt.approx.f32", of.value);
  DeviceArith arith(of.e);
  return arith.divide_floats({}, llvm::ConstantFP::get(of.value->getType(), 1.0), arith.square_root({}, of.value));
}

template <class OpStruct>
constexpr bool runs_here_alone = ir::ElementwiseOp<OpStruct> &&
                                 (OpStruct::support & (ir::on_gpu | ir::on_host)) == ir::on_gpu;
template <class OpStruct>
concept HasOwnLowering = requires(OpStruct const& attributes, OwnOperand const& of) {
  lower_own(attributes, of);
};
#define TEGULA_OP(name)                                                       \
  static_assert(!runs_here_alone<ir::name> || HasOwnLowering<ir::name>, #name \
                " must have a lowering for GPUs: add an overload of lower_own to codegen/nvptx/lower_arith.cpp");
#include "tegula/ir/ops.def"
#undef TEGULA_OP

}  // namespace

llvm::Value* DeviceArith::lower_own(ir::Op const& op, llvm::Value* operand) {
  Element const element = op.operands().front()->type().element();
  return ir::visit_op(op.kind(), [&](auto type) -> llvm::Value* {
    using OpStruct = typename decltype(type)::type;
    if constexpr (runs_here_alone<OpStruct>)
      return e_.narrow(nvptx::lower_own(op.as<OpStruct>(), OwnOperand{e_, op, e_.widen(operand, element)}), element);
    else
      refuse_unexpanded(op);
  });
}

void lower(ir::ConstantOp const& attributes, ir::Op const& op, Emitter& e) {
  ir::Type const& type = op.result()->type();
  std::size_t const count = type.is_tile() ? static_cast<std::size_t>(type.layout()->registers()) : 1;
  e.set(*op.result(), Registers(count, e.constant(attributes.value)));
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
Registers compare_coordinates(ir::Op const& op, bool swapped, ir::Predicate asked, Emitter& e) {
  ir::Value const& places = swapped ? *op.rhs() : *op.lhs();
  ir::Value const& bounds = swapped ? *op.lhs() : *op.rhs();
  ir::Op const* const iota = places.defined_by<ir::IotaOp>();
  if (places.type().element() != Element::i32 || iota == nullptr) return {};
  int const axis = static_cast<int>(iota->as<ir::IotaOp>().axis);
  layout::Layout const& layout = *places.type().layout();
  AxisCoordinate const& of_thread = e.coordinates.of(layout)[static_cast<std::size_t>(axis)];
  if (of_thread.thread == nullptr || !equal_along(bounds, axis)) return {};
  Registers const& others = e.get(bounds);
  DeviceArith arith(e);
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
    result.push_back(swapped ? arith.compare(asked, Element::i32, found->second, own)
                             : arith.compare(asked, Element::i32, own, found->second));
  }
  return result;
}

/// Emits the random bits of places that count up from a first one, each counter once. Where the first place may be any,
/// one counter more is needed, and its words move down by up to three.
class RandomRun {
 public:
  RandomRun(Emitter& e, llvm::Value* seed, llvm::Value* first, int count, bool aligned)
      : b_(e.b), first_(first), count_(count), aligned_(aligned) {
    for (int i = 0; i < count / words_of_counter + (aligned ? 0 : 1); ++i) {
      llvm::Value* const place = i == 0 ? first : b_.CreateAdd(first, number(words_of_counter * i));
      RandomWords const next = random_words(b_, seed, b_.CreateAShr(place, number(2)));
      words_.insert(words_.end(), next.begin(), next.end());
    }
  }

  /// Returns the word of each place.
  Registers words() {
    if (aligned_) return words_;
    for (int const step : {2, 1}) move_down(words_, step, step);
    words_.resize(static_cast<std::size_t>(count_));
    return words_;
  }

  /// Returns the two words of each place's pair.
  Registers pairs() {
    Registers all, result;
    for (std::size_t i = 0; i < words_.size(); i += 2) all.push_back(join_words(b_, words_[i], words_[i + 1]));
    if (!aligned_) move_down(all, 2, 1);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count_); ++i)
      result.push_back(aligned_ || i % 2 == 0 ? all[i / 2] : b_.CreateSelect(has(1), all[i / 2 + 1], all[i / 2]));
    return result;
  }

 private:
  static constexpr int words_of_counter = 4;

  llvm::Value* number(int value) {
    return llvm::ConstantInt::get(first_->getType(), static_cast<std::uint64_t>(value));
  }
  /// Tells whether the first place has a bit.
  llvm::Value* has(int bit) { return b_.CreateICmpNE(b_.CreateAnd(first_, number(bit)), number(0)); }
  void move_down(Registers& values, int bit, int by) {
    llvm::Value* const moves = has(bit);
    for (std::size_t i = 0, next = static_cast<std::size_t>(by); next < values.size(); ++i, ++next)
      values[i] = b_.CreateSelect(moves, values[next], values[i]);
  }

  llvm::IRBuilder<>& b_;
  llvm::Value* first_;
  int count_;
  bool aligned_;
  Registers words_;
};

/// Emits random bits of places that count up within a thread. False: they do not.
bool lower_random_runs(ir::Op const& op, Emitter& e) {
  constexpr std::int64_t least = 4, most = 8;
  auto const& attributes = op.as<ir::RandomBitsOp>();
  ir::Type const& type = op.result()->type();
  if (!type.is_tile() || type.rank() == 0) return false;
  std::int64_t const run = std::min<std::int64_t>({attributes.run, type.layout()->contiguous(type.rank() - 1), most});
  if (run < least) return false;
  Registers const &seeds = e.get(*op.in<ir::RandomBitsOp>("seed")), &places = e.get(*op.in<ir::RandomBitsOp>("place"));
  Registers result;
  for (std::size_t i = 0; i < places.size(); i += static_cast<std::size_t>(run)) {
    RandomRun bits(e, seeds.size() == 1 ? seeds[0] : seeds[i], places[i], static_cast<int>(run), attributes.aligned);
    Registers const each = type.element() == Element::i32 ? bits.words() : bits.pairs();
    result.insert(result.end(), each.begin(), each.end());
  }
  e.set(*op.result(), std::move(result));
  return true;
}

}  // namespace

void lower_elementwise(ir::Op const& op, Emitter& e) {
  if (op.is<ir::RandomBitsOp>() && lower_random_runs(op, e)) return;
  if (op.is<ir::CompareOp>() && op.lhs()->type().is_tile())
    for (bool const swapped : {false, true})
      if (Registers result = compare_coordinates(op, swapped, op.as<ir::CompareOp>().predicate, e); !result.empty())
        return e.set(*op.result(), std::move(result));
  std::vector<Registers const*> operands;
  std::size_t count = 0;
  for (ir::Value const* operand : op.operands()) {
    operands.push_back(&e.get(*operand));
    count = std::max(count, operands.back()->size());
  }
  DeviceArith arith(e);
  Registers result;
  for (std::size_t i = 0; i < count; ++i) {
    Registers each;  // a scalar condition selects between tiles
    for (Registers const* registers : operands)
      each.push_back(registers->size() == 1 ? (*registers)[0] : (*registers)[i]);
    result.push_back(arith.lower(op, each));
  }
  e.set(*op.result(), std::move(result));
}

}  // namespace tegula::codegen::nvptx
