// Implements arithmetic, comparison, selection and elementary functions, element by element.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <limits>

#include "ir/core/visit_op.hpp"
#include "sim/meaning.hpp"
#include "support/wide_integer.hpp"
#include "tegula/math/functions.hpp"
#include "tegula/math/philox.hpp"
#include "tegula/support/error.hpp"

namespace tegula::sim {

using namespace ir;

float round_to_element(float value, Element element) {
  return is_narrow_float(element) ? math::narrow_value(element, math::narrow_bits(element, value)) : value;
}

namespace {

[[noreturn]] void refuse(Op const& op) {
  throw InternalError("simulator: " + std::string(op.info().mnemonic) + " of " +
                      std::string(name(op.operands().front()->type().element())) + " is not supported");
}

template <class F, class... T>
concept Takes = requires(F f, T... values) {
  f(values...);
};

/// Rounds the results of narrow floats, which were computed in f32.
template <class T>
void round_all(Value& result) {
  if constexpr (std::is_same_v<T, float>) {
    if (result.element() == Element::f32) return;
    float* const data = result.data<float>();
    for (std::int64_t i = 0; i < result.count(); ++i) data[i] = round_to_element(data[i], result.element());
  }
}

/// Applies a function of one element; `f` takes the storage types that the op allows.
template <class F>
void unary(Agent& agent, Op const& op, F f) {
  Value const& a = agent.value(*op.operand());
  Value result = agent.fresh(op);
  with_storage(a.storage(), [&]<class T>(std::type_identity<T>) {
    if constexpr (Takes<F, T>) {
      T const* const from = a.data<T>();
      T* const to = result.data<T>();
      for (std::int64_t i = 0; i < a.count(); ++i) to[i] = f(from[i]);
      round_all<T>(result);
    } else {
      refuse(op);
    }
  });
  agent.set(*op.result(), std::move(result));
}

template <class F>
void binary(Agent& agent, Op const& op, F f) {
  Value const& a = agent.value(*op.lhs());
  Value const& b = agent.value(*op.rhs());
  Value result = agent.fresh(op);
  with_storage(a.storage(), [&]<class T>(std::type_identity<T>) {
    if constexpr (Takes<F, T, T>) {
      T const* const left = a.data<T>();
      T const* const right = b.data<T>();
      T* const to = result.data<T>();
      for (std::int64_t i = 0; i < a.count(); ++i) to[i] = f(left[i], right[i]);
      round_all<T>(result);
    } else {
      refuse(op);
    }
  });
  agent.set(*op.result(), std::move(result));
}

template <class T>
concept Float = std::is_floating_point_v<T>;
template <class T>
concept Integer = std::is_integral_v<T> && sizeof(T) >= 4;
template <class T>
concept Logical = Integer<T> || std::is_same_v<T, std::uint8_t>;

// One overload set per op, picked by the storage type.
struct Add {
  template <Float T>
  T operator()(T a, T b) const {
    return a + b;
  }
  template <Integer T>
  T operator()(T a, T b) const {
    return math::wrapping_add(a, b);
  }
};
struct Sub {
  template <Float T>
  T operator()(T a, T b) const {
    return a - b;
  }
  template <Integer T>
  T operator()(T a, T b) const {
    return math::wrapping_sub(a, b);
  }
};
struct Mul {
  template <Float T>
  T operator()(T a, T b) const {
    return a * b;
  }
  template <Integer T>
  T operator()(T a, T b) const {
    return math::wrapping_mul(a, b);
  }
};
struct Div {
  template <Float T>
  T operator()(T a, T b) const {
    return a / b;
  }
  template <Integer T>
  T operator()(T a, T b) const {
    return math::div(a, b);
  }
};
struct Neg {
  template <Float T>
  T operator()(T a) const {
    return -a;
  }
  template <Integer T>
  T operator()(T a) const {
    return math::wrapping_sub(T{0}, a);
  }
};
struct Abs {
  template <Float T>
  T operator()(T a) const {
    return math::abs(a);
  }
  template <Integer T>
  T operator()(T a) const {
    return a < 0 ? math::wrapping_sub(T{0}, a) : a;
  }
};
struct Not {
  template <Integer T>
  T operator()(T a) const {
    return ~a;
  }
  std::uint8_t operator()(std::uint8_t a) const { return a == 0 ? 1 : 0; }
};

/// Returns the upper half of a product, of unsigned integers from that of signed ones with the same bits.
template <Integer T>
T multiply_high(T a, T b) {
  using Signed = std::make_signed_t<T>;
  auto const left = static_cast<Signed>(a), right = static_cast<Signed>(b);
  auto const high = static_cast<T>((support::Int128(left) * right) >> (8 * sizeof(T)));
  if constexpr (std::is_signed_v<T>) return high;
  return high + (left < 0 ? b : T{0}) + (right < 0 ? a : T{0});
}

/// Reports an index that wrapped: that is never meant. Data may wrap.
template <class Wide>
void check_index(Agent& agent, Op const& op, Wide exact) {
  if (op.result()->type() != Type::index()) return;
  std::int64_t result = 0;
  if (!exact(agent.index(*op.lhs()), agent.index(*op.rhs()), &result) || !agent.is_index(*op.result())) return;
  agent.report(ReportKind::index_overflow, op, [&] {
    return fmt::format("{} of {} and {} leaves the range of i64", op.info().mnemonic, agent.index(*op.lhs()),
                       agent.index(*op.rhs()));
  });
}

namespace c_library {
using namespace std;  // NOLINT(google-build-using-namespace): each row's function by its name
double rsqrt(double x) { return 1 / std::sqrt(x); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double exp10(double x) { return std::pow(10.0, x); }
double fast_tanh(double x) { return std::tanh(x); }
}  // namespace c_library

/// Rounds a number to fewer significant bits than f32 has.
float shortened(float value, std::int64_t significant) {
  auto const dropped = static_cast<int>(std::numeric_limits<float>::digits - significant);
  if (dropped <= 0 || !std::isnormal(value)) return value;
  auto const bits = std::bit_cast<std::uint32_t>(value);
  std::uint32_t const last = bits >> dropped & 1, half = (std::uint32_t{1} << (dropped - 1)) - 1;
  float const rounded = std::bit_cast<float>((bits + half + last) >> dropped << dropped);
  return std::isfinite(rounded) ? rounded : value;
}

/// Returns the numbers that relaxed arithmetic may return at worst: with the bits that it promises, and 0 below 2^-126
/// where it flushes. Under Precision::float64 nothing is relaxed.
void relax(Agent& agent, Op const& op, std::int64_t bits, bool flush) {
  if (agent.precision() == Precision::float64 || (bits == 0 && !flush)) return;
  Value result = agent.value(*op.result());
  for (std::int64_t i = 0; i < result.count(); ++i) {
    float& number = result.data<float>()[i];
    if (bits != 0) number = shortened(number, bits);
    if (flush && std::fpclassify(number) == FP_SUBNORMAL) number = 0;
  }
  agent.set(*op.result(), std::move(result));
}

/// Returns the divisor that counts where only normal ones do.
float normal_divisor(float divisor) {
  if (std::fabs(divisor) > 0x1p126F) return std::copysign(std::numeric_limits<float>::infinity(), divisor);
  return std::fabs(divisor) < 0x1p-126F ? std::copysign(0.0F, divisor) : divisor;
}

template <class OpStruct>
void relax(Agent& agent, Op const& op, OpStruct const& attributes) {
  if constexpr (requires { attributes.flush; })
    relax(agent, op, attributes.bits, attributes.flush);
  else if constexpr (requires { attributes.bits; })
    relax(agent, op, attributes.bits, false);
}

/// Computes an elementary function: the expansion, or the C library's double under Precision::float64.
template <class Expansion, class Reference>
void elementary(Agent& agent, Op const& op, Expansion expansion, Reference reference) {
  if (agent.precision() == Precision::float64)
    unary(agent, op, [&](double x) { return reference(x); });
  else
    unary(agent, op, [&]<Float T>(T x) { return expansion(x); });
}

}  // namespace

void execute(Agent& agent, Op const& op, ConstantOp const& attributes) {
  Value result = agent.fresh(op);
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    T value{};
    if constexpr (std::is_floating_point_v<T>)
      value = static_cast<T>(to_double(attributes.value));
    else
      value = static_cast<T>(to_int(attributes.value));
    std::fill_n(result.data<T>(), result.count(), value);
  });
  agent.set(*op.result(), std::move(result));
}

namespace {

void compute(Agent& agent, Op const& op, AddOp const&) {
  check_index(agent, op,
              [](std::int64_t a, std::int64_t b, std::int64_t* r) { return __builtin_add_overflow(a, b, r); });
  binary(agent, op, Add{});
}
void compute(Agent& agent, Op const& op, SubOp const&) {
  check_index(agent, op,
              [](std::int64_t a, std::int64_t b, std::int64_t* r) { return __builtin_sub_overflow(a, b, r); });
  binary(agent, op, Sub{});
}
void compute(Agent& agent, Op const& op, MulOp const&) {
  check_index(agent, op,
              [](std::int64_t a, std::int64_t b, std::int64_t* r) { return __builtin_mul_overflow(a, b, r); });
  binary(agent, op, Mul{});
}
void compute(Agent& agent, Op const& op, MultiplyHighOp const&) {
  binary(agent, op, []<Integer T>(T a, T b) { return multiply_high(a, b); });
}
void compute(Agent& agent, Op const& op, DivOp const& attributes) {
  if (attributes.normal && agent.precision() != Precision::float64)
    binary(agent, op, []<std::same_as<float> T>(T a, T b) { return a / normal_divisor(b); });
  else
    binary(agent, op, Div{});
  relax(agent, op, attributes.bits, false);
}
void compute(Agent& agent, Op const& op, RemOp const&) {
  binary(agent, op, []<Integer T>(T a, T b) { return math::rem(a, b); });
}
void compute(Agent& agent, Op const& op, CeilDivOp const&) {
  binary(agent, op, []<Integer T>(T a, T b) { return math::ceil_div(a, b); });
}
void compute(Agent& agent, Op const& op, MinOp const&) {
  binary(agent, op, []<class T>(T a, T b) { return math::min(a, b); });
}
void compute(Agent& agent, Op const& op, MaxOp const&) {
  binary(agent, op, []<class T>(T a, T b) { return math::max(a, b); });
}
void compute(Agent& agent, Op const& op, AndOp const&) {
  binary(agent, op, []<Logical T>(T a, T b) { return static_cast<T>(a & b); });
}
void compute(Agent& agent, Op const& op, OrOp const&) {
  binary(agent, op, []<Logical T>(T a, T b) { return static_cast<T>(a | b); });
}
void compute(Agent& agent, Op const& op, XorOp const&) {
  binary(agent, op, []<Logical T>(T a, T b) { return static_cast<T>(a ^ b); });
}
void compute(Agent& agent, Op const& op, ShlOp const&) {
  binary(agent, op, []<Integer T>(T a, T b) { return math::shift_left(a, b); });
}
void compute(Agent& agent, Op const& op, ShrOp const&) {
  binary(agent, op, []<Integer T>(T a, T b) { return math::shift_right(a, b); });
}

void compute(Agent& agent, Op const& op, CompareOp const& attributes) {
  Value const& a = agent.value(*op.lhs());
  Value const& b = agent.value(*op.rhs());
  Value result = agent.fresh(op);
  auto* const to = result.data<std::uint8_t>();
  with_storage(a.storage(), [&]<class T>(std::type_identity<T>) {
    T const* const left = a.data<T>();
    T const* const right = b.data<T>();
    auto const each = [&](auto holds) {
      for (std::int64_t i = 0; i < a.count(); ++i) to[i] = holds(left[i], right[i]) ? 1 : 0;
    };
    switch (attributes.predicate) {
      case Predicate::eq:
        return each([](T x, T y) { return x == y; });
      case Predicate::ne:
        return each([](T x, T y) { return x != y; });
      case Predicate::lt:
        return each([](T x, T y) { return x < y; });
      case Predicate::le:
        return each([](T x, T y) { return x <= y; });
      case Predicate::gt:
        return each([](T x, T y) { return x > y; });
      case Predicate::ge:
        return each([](T x, T y) { return x >= y; });
    }
  });
  agent.set(*op.result(), std::move(result));
}

void compute(Agent& agent, Op const& op, SelectOp const&) {
  auto const* const condition = agent.value(*op.in<SelectOp>("condition")).data<std::uint8_t>();
  Value const& a = agent.value(*op.lhs());
  Value const& b = agent.value(*op.rhs());
  Value result = agent.fresh(op);
  with_storage(a.storage(), [&]<class T>(std::type_identity<T>) {
    for (std::int64_t i = 0; i < a.count(); ++i)
      result.data<T>()[i] = condition[i] != 0 ? a.data<T>()[i] : b.data<T>()[i];
  });
  agent.set(*op.result(), std::move(result));
}

void compute(Agent& agent, Op const& op, RandomBitsOp const&) {
  Value const& seed = agent.value(*op.in<RandomBitsOp>("seed"));
  Value const& place = agent.value(*op.in<RandomBitsOp>("place"));
  Value result = agent.fresh(op);
  with_storage(place.storage(), [&]<class P>(std::type_identity<P>) {
    if constexpr (Integer<P>) {
      for (std::int64_t i = 0; i < place.count(); ++i) {
        std::int64_t const at = place.data<P>()[i];
        auto const words = math::random_words(seed.data<std::int64_t>()[i], at);
        auto const word = [&](std::int64_t number) { return words[static_cast<std::size_t>(number & 3)]; };
        if (result.element() == Element::i32)
          result.data<std::int32_t>()[i] = static_cast<std::int32_t>(word(at));
        else
          result.data<std::int64_t>()[i] =
              static_cast<std::int64_t>(std::uint64_t{word(at | 1)} << 32 | word(at & ~std::int64_t{1}));
      }
    } else {
      refuse(op);
    }
  });
  agent.set(*op.result(), std::move(result));
}

void compute(Agent& agent, Op const& op, FmaOp const&) {
  Value const& a = agent.value(*op.lhs());
  Value const& b = agent.value(*op.rhs());
  Value const& c = agent.value(*op.in<FmaOp>("addend"));
  Value result = agent.fresh(op);
  with_storage(a.storage(), [&]<class T>(std::type_identity<T>) {
    if constexpr (Float<T>)
      for (std::int64_t i = 0; i < a.count(); ++i)
        result.data<T>()[i] = std::fma(a.data<T>()[i], b.data<T>()[i], c.data<T>()[i]);
    else
      refuse(op);
  });
  agent.set(*op.result(), std::move(result));
}

void compute(Agent& agent, Op const& op, NegOp const&) { unary(agent, op, Neg{}); }
void compute(Agent& agent, Op const& op, NotOp const&) { unary(agent, op, Not{}); }
void compute(Agent& agent, Op const& op, AbsOp const&) { unary(agent, op, Abs{}); }
#define TEGULA_EXACT(struct_name, name, ...)                                \
  void compute(Agent& agent, Op const& op, struct_name const& attributes) { \
    unary(agent, op, []<Float T>(T x) { return math::name(x); });           \
    relax(agent, op, attributes);                                           \
  }
#define TEGULA_EXPANDED(struct_name, name, ...)                                                        \
  void compute(Agent& agent, Op const& op, struct_name const& attributes) {                            \
    elementary(                                                                                        \
        agent, op, [](auto x) { return math::name(x); }, [](double x) { return c_library::name(x); }); \
    relax(agent, op, attributes);                                                                      \
  }
#define TEGULA_EXPANDED_2(struct_name, name, ...)                                  \
  void compute(Agent& agent, Op const& op, struct_name const&) {                   \
    if (agent.precision() == Precision::float64)                                   \
      binary(agent, op, [](double x, double y) { return c_library::name(x, y); }); \
    else                                                                           \
      binary(agent, op, []<Float T>(T x, T y) { return math::name(x, y); });       \
  }
#include "tegula/math/elementary.def"
void compute(Agent& agent, Op const& op, CastOp const&) { convert(agent, op); }
void compute(Agent& agent, Op const& op, BitcastOp const&) { copy_bits(agent, op); }

template <class OpStruct>
concept HasMeaning = requires(Agent& agent, Op const& op, OpStruct const& attributes) {
  compute(agent, op, attributes);
};
#define TEGULA_OP(name)                                   \
  static_assert(!ElementwiseOp<name> || HasMeaning<name>, \
                #name " must have a meaning to the simulators: add an overload of compute to sim/arithmetic.cpp");
#include "tegula/ir/ops.def"
#undef TEGULA_OP

}  // namespace

void execute_elementwise(Agent& agent, Op const& op) {
  visit_op(op.kind(), [&](auto type) {
    using OpStruct = typename decltype(type)::type;
    if constexpr (ElementwiseOp<OpStruct>) compute(agent, op, op.as<OpStruct>());
  });
}

}  // namespace tegula::sim
