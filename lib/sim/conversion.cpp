// Casts and bitcasts.
#include <algorithm>
#include <bit>

#include "sim/meaning.hpp"
#include "sim/memory_element.hpp"
#include "tegula/math/functions.hpp"
#include "tegula/support/error.hpp"

namespace tegula::sim {

using namespace ir;

namespace {

/// Converts to an element kept as float: f32 or narrower, rounded once.
template <class From>
float to_float(From value, Element element) {
  if constexpr (std::is_same_v<From, std::uint8_t>)
    return value;
  else
    return is_narrow_float(element) ? math::narrow_value(element, math::narrow_bits(element, value))
                                    : static_cast<float>(value);
}

template <class To, class From>
To to_integer(From value) {
  if constexpr (std::is_floating_point_v<From>)
    return math::float_to_int<To>(value);
  else
    return static_cast<To>(value);
}

template <class To, class From>
To converted(From value, Element element) {
  if constexpr (std::is_same_v<To, float>)
    return to_float(value, element);
  else if constexpr (std::is_same_v<To, double>)
    return static_cast<double>(value);
  else if (is_narrow_integer(element) && std::is_floating_point_v<From>)
    return static_cast<To>(std::clamp(to_integer<std::int64_t>(value), min_integer(element), max_integer(element)));
  else if (is_narrow_integer(element))
    return static_cast<To>(wrapped(element, static_cast<std::int64_t>(value)));
  else
    return to_integer<To>(value);
}

}  // namespace

void convert(Agent& agent, Op const& op) {
  Value const& operand = agent.value(*op.operand());
  if (operand.element() == op.result()->type().element())  // keeps infinities where casts saturate
    return agent.set(*op.result(), operand.retyped(op.result()->type()));
  Value result = agent.fresh(op);
  with_storage(operand.storage(), [&]<class From>(std::type_identity<From>) {
    with_storage(result.storage(), [&]<class To>(std::type_identity<To>) {
      From const* const from = operand.data<From>();
      To* const to = result.data<To>();
      for (std::int64_t i = 0; i < operand.count(); ++i) to[i] = converted<To>(from[i], result.element());
    });
  });
  agent.set(*op.result(), std::move(result));
}

namespace {

// Under Precision::float64 an f32 is kept as a double, whose bits are not meant.
std::uint64_t bits_of_float(Value const& value, std::int64_t i) {
  bool const wide = value.storage() == Storage::f64;
  if (value.element() == Element::f64) return std::bit_cast<std::uint64_t>(value.data<double>()[i]);
  double const number = wide ? value.data<double>()[i] : static_cast<double>(value.data<float>()[i]);
  if (is_narrow_float(value.element())) return bits_of_narrow(value.element(), number);
  return std::bit_cast<std::uint32_t>(wide ? static_cast<float>(number) : value.data<float>()[i]);
}

void set_bits_of_float(Value& value, std::int64_t i, std::uint64_t bits) {
  Element const element = value.element();
  if (element == Element::f64) {
    value.data<double>()[i] = std::bit_cast<double>(bits);
    return;
  }
  float const number = is_narrow_float(element) ? math::narrow_value(element, static_cast<std::uint16_t>(bits))
                                                : std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (value.storage() == Storage::f64)
    value.data<double>()[i] = static_cast<double>(number);
  else
    value.data<float>()[i] = number;
}

std::uint64_t bits_at(Value const& value, std::int64_t i) {
  if (is_float(value.element())) return bits_of_float(value, i);
  return with_storage(value.storage(), [&]<class T>(std::type_identity<T>) -> std::uint64_t {
    if constexpr (std::is_integral_v<T>) return static_cast<std::make_unsigned_t<T>>(value.data<T>()[i]);
    throw InternalError("simulator: an integer is kept as a float");
  });
}

void set_bits(Value& value, std::int64_t i, std::uint64_t bits) {
  Element const element = value.element();
  if (element == Element::boolean) throw InternalError("simulator: bitcast to bool is not supported");
  if (is_float(element)) return set_bits_of_float(value, i, bits);
  with_storage(value.storage(), [&]<class T>(std::type_identity<T>) {
    value.data<T>()[i] = static_cast<T>(wrapped(element, static_cast<std::int64_t>(bits)));
  });
}

}  // namespace

void copy_bits(Agent& agent, Op const& op) {
  Value const& operand = agent.value(*op.operand());
  if (operand.element() == op.result()->type().element())
    return agent.set(*op.result(), operand.retyped(op.result()->type()));
  Value result = agent.fresh(op);
  for (std::int64_t i = 0; i < operand.count(); ++i) set_bits(result, i, bits_at(operand, i));
  agent.set(*op.result(), std::move(result));
}

}  // namespace tegula::sim
