#include "transform/simplify/expand_math.hpp"

#include <cmath>
#include <vector>

#include "ir/core/builder.hpp"
#include "ir/values/constant_of.hpp"
#include "ir/values/elementary.hpp"
#include "ir/core/visit_op.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "tegula/math/convert.hpp"
#include "tegula/math/power.hpp"
#include "tegula/math/units.hpp"
#include "transform/common/powers.hpp"

namespace tegula::transform {
namespace {

using namespace ir;

constexpr std::int64_t unit_bits = 22;  ///< of quotients, roots and powers of 2 from the units of a GPU
constexpr std::int64_t kept_bits = 17;  ///< of a function of which 16 bits are kept

/// Makes ops before one op; its constants are shared. On GPUs functions of f32 use multiply-add and the units for
/// quotients, roots and powers of 2.
class Emitter {
 public:
  explicit Emitter(Op& op, unsigned executor = on_host) : builder_(Builder::before(op)), executor_(executor) {
    builder_.set_where(op.where());
  }
  [[nodiscard]] bool on_units(Type const& type) const { return executor_ == on_gpu && type.element() == Element::f32; }

  template <class OpStruct>
  Value* value(OpStruct const& op, std::initializer_list<Value*> operands, Type const& result) {
    return builder_.value(op, operands, result);
  }
  template <class OpStruct>
  Value* same(OpStruct const& op, std::initializer_list<Value*> operands) {
    return builder_.same(op, operands);
  }
  Value* cast(Value* value, Element element) {
    return value->type().element() == element ? value
                                              : builder_.value(CastOp{}, {value}, value->type().with_element(element));
  }
  Value* constant(Constant number, Type const& type) {
    for (EmittedConstant const& emitted : constants_)
      if (emitted.number == number && emitted.value->type() == type) return emitted.value;
    constants_.push_back({number, builder_.constant(number, type)});
    return constants_.back().value;
  }
  Builder& builder() { return builder_; }

 private:
  struct EmittedConstant {
    Constant number;
    Value* value;
  };
  Builder builder_;
  unsigned executor_;
  std::vector<EmittedConstant> constants_;
};

// The value types with which the expansions of tegula/math build IR instead of computing; see tegula/math/scalar.hpp.
struct Traced {
  Emitter* emitter;
  Value* value;
  [[nodiscard]] Type const& type() const { return value->type(); }
};
struct TracedBool : Traced {};
struct TracedInt : Traced {};
struct TracedFloat : Traced {};

template <class V, class OpStruct>
V binary(OpStruct const& op, V const& a, V const& b) {
  return {{a.emitter, a.emitter->same(op, {a.value, b.value})}};
}
TracedBool compare(Predicate predicate, Traced const& a, Traced const& b) {
  return {{a.emitter, a.emitter->value(make_op<CompareOp>(predicate), {a.value, b.value},
                                       a.type().with_element(Element::boolean))}};
}

TracedFloat operator+(TracedFloat const& a, TracedFloat const& b) { return binary(AddOp{}, a, b); }
TracedFloat operator-(TracedFloat const& a, TracedFloat const& b) { return binary(SubOp{}, a, b); }
TracedFloat operator*(TracedFloat const& a, TracedFloat const& b) { return binary(MulOp{}, a, b); }
TracedFloat operator/(TracedFloat const& a, TracedFloat const& b) {
  if (!a.emitter->on_units(a.type())) return binary(DivOp{}, a, b);
  return binary(make_op<DivOp>(unit_bits, false, Licence::function_bound), a, b);
}
TracedInt operator+(TracedInt const& a, TracedInt const& b) { return binary(AddOp{}, a, b); }
TracedInt operator-(TracedInt const& a, TracedInt const& b) { return binary(SubOp{}, a, b); }
TracedInt operator&(TracedInt const& a, TracedInt const& b) { return binary(AndOp{}, a, b); }
TracedInt operator|(TracedInt const& a, TracedInt const& b) { return binary(OrOp{}, a, b); }
TracedBool operator<(TracedFloat const& a, TracedFloat const& b) { return compare(Predicate::lt, a, b); }
TracedBool operator==(TracedFloat const& a, TracedFloat const& b) { return compare(Predicate::eq, a, b); }
TracedBool operator<(TracedInt const& a, TracedInt const& b) { return compare(Predicate::lt, a, b); }
TracedBool operator==(TracedInt const& a, TracedInt const& b) { return compare(Predicate::eq, a, b); }

TracedFloat like(TracedFloat const& x, double constant) {
  return {{x.emitter, x.emitter->constant(make_constant(x.type().element(), constant), x.type())}};
}
TracedInt like(TracedInt const& x, std::int64_t constant) {
  return {{x.emitter, x.emitter->constant(make_constant(x.type().element(), constant), x.type())}};
}

template <int amount>
TracedInt shl(TracedInt const& x) {
  return binary(ShlOp{}, x, like(x, amount));
}
template <int amount>
TracedInt shr(TracedInt const& x) {
  return binary(ShrOp{}, x, like(x, amount));
}

TracedFloat sqrt(TracedFloat const& x) {
  SqrtOp const root = x.emitter->on_units(x.type()) ? make_op<SqrtOp>(unit_bits, Licence::function_bound) : SqrtOp{};
  return {{x.emitter, x.emitter->same(root, {x.value})}};
}
TracedFloat multiply_add(TracedFloat const& a, TracedFloat const& b, TracedFloat const& c) {
  if (a.emitter->on_units(a.type())) return {{a.emitter, a.emitter->same(FmaOp{}, {a.value, b.value, c.value})}};
  TracedFloat const product = a * b;
  return product + c;
}
TracedFloat power_of_2(TracedFloat const& x) {
  return {{x.emitter, x.emitter->same(make_op<Exp2Op>(unit_bits, true, Licence::function_bound), {x.value})}};
}
TracedFloat reciprocal(TracedFloat const& x) {
  return binary(make_op<DivOp>(unit_bits, true, Licence::function_bound), like(x, 1), x);
}
TracedFloat abs(TracedFloat const& x) { return {{x.emitter, x.emitter->same(AbsOp{}, {x.value})}}; }

TracedInt to_bits(TracedFloat const& x) {
  Type const type = x.type().with_element(x.type().element() == Element::f64 ? Element::i64 : Element::i32);
  return {{x.emitter, x.emitter->value(BitcastOp{}, {x.value}, type)}};
}
TracedFloat from_bits(TracedInt const& x) {
  Type const type = x.type().with_element(x.type().element() == Element::i64 ? Element::f64 : Element::f32);
  return {{x.emitter, x.emitter->value(BitcastOp{}, {x.value}, type)}};
}
TracedFloat narrow(TracedFloat const& x) { return {{x.emitter, x.emitter->cast(x.value, Element::f32)}}; }
TracedFloat widen(TracedFloat const& x) { return {{x.emitter, x.emitter->cast(x.value, Element::f64)}}; }

template <class V>
V select(TracedBool const& condition, V const& a, V const& b) {
  return {{a.emitter, a.emitter->value(SelectOp{}, {condition.value, a.value, b.value}, a.type())}};
}

// Returns the expansion of an elementary function of f32 or f64; `y` is the second operand of those that have two.
#define TEGULA_GPU_expansion(name) math::name##_f32(x)
#define TEGULA_GPU_native(name) math::name##_f32(x)
#define TEGULA_GPU_coarse(name) math::name##_f32(x)
#define TEGULA_GPU_units(name) math::name##_units(x)
#define TEGULA_EXPANDED(struct_name, name, device, ...)                                            \
  TracedFloat expansion(struct_name const&, bool wide, TracedFloat const& x, TracedFloat const&) { \
    if (wide) return math::name##_f64(x);                                                          \
    return x.emitter->on_units(x.type()) ? TEGULA_GPU_##device(name) : math::name##_f32(x);        \
  }
#define TEGULA_EXPANDED_2(struct_name, name, ...)                                                    \
  TracedFloat expansion(struct_name const&, bool wide, TracedFloat const& x, TracedFloat const& y) { \
    return wide ? math::name##_f64(x, y) : math::name##_f32(x, y);                                   \
  }
#include "tegula/math/elementary.def"
#undef TEGULA_GPU_expansion
#undef TEGULA_GPU_native
#undef TEGULA_GPU_coarse
#undef TEGULA_GPU_units

template <class OpStruct>
Value* expansion_of(bool wide, [[maybe_unused]] TracedFloat const& x, [[maybe_unused]] TracedFloat const& y) {
  constexpr bool expanded = ElementwiseOp<OpStruct> && (OpStruct::support & on_host) == 0;
  if constexpr (expanded) return expansion(OpStruct(), wide, x, y).value;
  return nullptr;
}

/// Expands an elementary function of f32 or f64.
Value* expand(Emitter& emitter, OpKind kind, std::vector<Value*> const& operands) {
  TracedFloat const x{{&emitter, operands.front()}}, y{{&emitter, operands.back()}};
  bool const wide = operands.front()->type().element() == Element::f64;
  return visit_op(kind, [&](auto type) { return expansion_of<typename decltype(type)::type>(wide, x, y); });
}

/// Makes `op`, which works on narrow floats, work on f32. Some ops have exact f32 forms (min, abs, compare). The
/// others' are exact enough that this equals rounding the exact result: 24 bits hold twice the bits of either format
/// and two more.
Value* in_f32(Emitter& emitter, Op const& op) {
  std::vector<Value*> operands;
  for (Value* operand : op.operands()) operands.push_back(emitter.cast(operand, Element::f32));
  if (is_expanded(op.info())) return emitter.cast(expand(emitter, op.kind(), operands), op.result()->type().element());
  Type const result = op.result()->type();
  Type const wide = is_narrow_float(result.element()) ? result.with_element(Element::f32) : result;
  Value* const computed = emitter.builder().create(op.kind(), op.attributes(), operands, {&wide, 1}).result();
  return emitter.cast(computed, result.element());
}

/// Converts a narrow float to f32, and back; one of 8 bits by arithmetic on its bits.
Value* to_f32(Emitter& emitter, Value* value) {
  Element const from = value->type().element();
  if (!is_f8(from)) return emitter.cast(value, Element::f32);
  Value* const bits = emitter.value(BitcastOp{}, {value}, value->type().with_element(Element::i8));
  TracedInt const lane{{&emitter, emitter.cast(bits, Element::i32)}};
  return visit_element(from, [&]<Element at>() -> Value* {
    if constexpr (is_f8(at)) return math::narrow_to_f32<at>(lane).value;
    return nullptr;
  });
}
Value* from_f32(Emitter& emitter, Value* value, Element to) {
  if (!is_f8(to)) return emitter.cast(value, to);
  Value* const bits = visit_element(to, [&]<Element at>() -> Value* {
    if constexpr (is_f8(at)) return math::f32_to_narrow<at>(TracedFloat{{&emitter, value}}).value;
    return nullptr;
  });
  return emitter.value(BitcastOp{}, {emitter.cast(bits, Element::i8)}, value->type().with_element(to));
}

/// Expands a product of floats of 8 bits into one of f32.
Value* product_of_f8(Emitter& emitter, Op const& op) {
  std::vector<Value*> const operands = {to_f32(emitter, op.lhs()), to_f32(emitter, op.rhs()),
                                        op.in<DotOp>("accumulator")};
  Type const type = op.result()->type();
  return emitter.builder().create(op.kind(), op.attributes(), operands, {&type, 1}).result();
}

/// Returns an f32 that rounds to any narrow float as a u64 does. A large number is halved first, with its last bit kept
/// in sight, and the f32 is doubled.
TracedFloat odd_of_u64(TracedInt const& x) {
  Emitter& emitter = *x.emitter;
  TracedInt const top = shr<63>(x);
  TracedInt const halved = binary(ShrOp{}, x, top) | (x & top);
  TracedInt const number{{&emitter, emitter.value(BitcastOp{}, {halved.value}, x.type().with_element(Element::i64))}};
  TracedFloat const small{{&emitter, emitter.cast(math::shorten_i64(number).value, Element::f64)}};
  TracedFloat const large{{&emitter, emitter.cast(top.value, Element::f64)}};
  return math::f64_to_f32_odd(small + small * large);
}

/// Expands a cast from or to a narrow float, except those between f32 and a float of 16 bits; null for these and other
/// casts.
Value* narrow_cast(Emitter& emitter, Op const& op) {
  Value* source = op.operand();
  Element const from = source->type().element(), to = op.result()->type().element();
  bool const narrow_from = is_narrow_float(from) && (to != Element::f32 || is_f8(from));
  bool const narrow_to = is_narrow_float(to) && (from != Element::f32 || is_f8(to));
  if (from == to || (!narrow_from && !narrow_to)) return nullptr;
  if (narrow_from) return from_f32(emitter, to_f32(emitter, source), to);
  if (from == Element::f32) return from_f32(emitter, source, to);
  if (from == Element::u64) return from_f32(emitter, odd_of_u64({{&emitter, source}}).value, to);
  if (from == Element::i64) source = math::shorten_i64(TracedInt{{&emitter, source}}).value;
  if (from == Element::boolean) return from_f32(emitter, emitter.cast(source, Element::f32), to);
  TracedFloat const wide{{&emitter, emitter.cast(source, Element::f64)}};
  return from_f32(emitter, math::f64_to_f32_odd(wide).value, to);
}

/// Builds the replacement of an op; null when it stays.
Value* rewritten(Op& op) {
  if (op.result_count() != 1 || op.operand_count() == 0) return nullptr;
  Element const element = op.operands().front()->type().element();
  bool const half = is_narrow_float(element);
  bool const expanded = is_expanded(op.info());
  if (op.is<CastOp>()) {
    Element const to = op.result()->type().element();
    if (!half && !is_narrow_float(to)) return nullptr;
    Emitter emitter(op);
    return narrow_cast(emitter, op);
  }
  if (op.is<DotOp>() && is_f8(element)) {
    Emitter emitter(op);
    return product_of_f8(emitter, op);
  }
  if (!expanded && !(half && op.info().has(via_f32))) return nullptr;
  Emitter emitter(op);
  return half ? in_f32(emitter, op) : expand(emitter, op.kind(), {op.operands().begin(), op.operands().end()});
}

/// True for numbers that are far from the ends of the range of f32.
bool is_moderate(double value) { return std::abs(value) > 0x1p-60 && std::abs(value) < 0x1p60; }

/// Expands an exponential of fewer bits than f32 has: a power of 2. Constants that scale its argument scale the
/// logarithm of the base.
template <class OpStruct>
Value* as_power_of_2(Op& op, double log2_of_base) {
  auto const& exponential = op.as<OpStruct>();
  double factor = 1;
  Value* argument = op.operand();
  while (Op const* const product = argument->defined_by<MulOp>()) {
    auto const constant = constant_of(*product->rhs());
    if (!constant || !is_moderate(factor * to_double(*constant))) break;
    factor *= to_double(*constant);
    argument = product->lhs();
  }
  Builder builder = Builder::before(op);
  builder.set_where(op.where());
  Value* const scaled = builder.same(MulOp{}, {argument, builder.constant(factor * log2_of_base, argument->type())});
  return builder.same(make_op<Exp2Op>(exponential.bits, exponential.flush, exponential.licence), {scaled});
}

/// Expands a sigmoid of fewer bits, by the exponential of -|x|, and a divisor between 1 and 2.
Value* short_sigmoid(Op& op) {
  auto const& sigmoid = op.as<SigmoidOp>();
  Emitter emitter(op, on_gpu);
  TracedFloat const x{{&emitter, op.operand()}};
  TracedFloat const exponent = abs(x) * like(x, -math::detail::log2e_f32.high);
  Exp2Op const raise = make_op<Exp2Op>(sigmoid.bits, sigmoid.flush, sigmoid.licence);
  TracedFloat const power{{&emitter, emitter.same(raise, {exponent.value})}};
  TracedFloat const one = like(x, 1);
  TracedFloat const above = select(x < like(x, 0), power, one);
  return binary(make_op<DivOp>(unit_bits, true, sigmoid.licence), above, power + one).value;
}

/// Expands exp of a number of at most 0 that counts only as a share of its row.
Value* exp_of_share(Op& op) {
  constexpr double lowest = -200;
  transform::Emitter emitter(op, on_gpu);
  TracedFloat const x{{&emitter, op.operand()}};
  TracedFloat const least = like(x, lowest);
  TracedFloat const limited = select(x < least, least, x);  // NaN stays
  return build_exp_below_one(emitter.builder(), limited.value);
}

/// Expands functions for GPUs.
class DeviceMath {
 public:
  DeviceMath(bool exact, TargetInfo const& target) : exact_(exact), target_(target) {}

  /// Tells whether the op changed.
  bool expand(Op& op) const {
    if (lacks_conversion(op)) {
      transform::Emitter emitter(op);
      Value* const converted = narrow_cast(emitter, op);
      if (converted == nullptr) return false;
      replace(op, converted);
      return true;
    }
    if (!is_function(op)) return false;
    Element const element = op.operands().front()->type().element();
    if (is_narrow_float(element)) {
      widen(op);
      return true;
    }
    if (!is_expanded(op.info())) return false;
    if (element == Element::f64) {
      replace(op, rewritten(op));
      return true;
    }
    if (op.info().runs(on_gpu)) return false;
    replace(op, of_f32(op));
    return true;
  }

 private:
  /// Tells whether the target has no instruction for a conversion.
  [[nodiscard]] bool lacks_conversion(Op const& op) const {
    if (!op.is<CastOp>()) return false;
    Element const from = op.operand()->type().element(), to = op.result()->type().element();
    if (is_f8(from) || is_f8(to)) return !target_.has(Ability::f8_conversions);
    bool const from_wide = from == Element::f64 || (is_integer(from) && !is_narrow_integer(from));
    return to == Element::bf16 && from_wide && !target_.has(Ability::bf16_conversions);
  }

  /// Computes a function of a narrow float in f32, of which 16 bits are kept.
  void widen(Op& op) const {
    Emitter emitter(op);
    std::vector<Value*> operands;
    for (Value* operand : op.operands()) operands.push_back(emitter.cast(operand, Element::f32));
    Type const type = op.result()->type().with_element(Element::f32);
    Op& wide = emitter.builder().create(op.kind(), op.attributes(), operands, {&type, 1});
    replace(op, emitter.cast(wide.result(), op.result()->type().element()));
    if (!exact_) shorten<ExpOp>(wide) || shorten<Exp10Op>(wide) || shorten<SigmoidOp>(wide);
    expand(wide);
  }
  template <class OpStruct>
  static bool shorten(Op& op) {
    if (!op.is<OpStruct>()) return false;
    op.as<OpStruct>().bits = kept_bits;
    op.as<OpStruct>().licence = Licence::kept_16_bits;
    return true;
  }

  static Value* of_f32(Op& op) {
    if (op.is<ExpOp>() && op.as<ExpOp>().bits != 0) return as_power_of_2<ExpOp>(op, math::detail::log2e_f32.high);
    if (op.is<ExpOp>() && op.as<ExpOp>().licence == Licence::share_of_row) return exp_of_share(op);
    if (op.is<Exp10Op>() && op.as<Exp10Op>().bits != 0)
      return as_power_of_2<Exp10Op>(op, math::detail::log2_of_10_f32.high);
    if (op.is<SigmoidOp>() && op.as<SigmoidOp>().bits != 0) return short_sigmoid(op);
    Emitter emitter(op, on_gpu);
    return transform::expand(emitter, op.kind(), {op.operands().begin(), op.operands().end()});
  }

  bool exact_;
  TargetInfo const& target_;
};

}  // namespace

PassResult expand_device_math(Function& function, PassContext& context) {
  DeviceMath const math(context.options.exact, context.target);
  bool changed = false;
  walk(function, [&](Op& op) { changed = math.expand(op) || changed; });
  return result_of(changed);
}

PassResult expand_math(Function& function, PassContext&) {
  bool changed = false;
  walk(function, [&](Op& op) {
    if (Value* const value = rewritten(op)) {
      replace(op, value);
      changed = true;
    }
  });
  return result_of(changed);
}

}  // namespace tegula::transform
