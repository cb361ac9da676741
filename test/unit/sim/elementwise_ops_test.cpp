// Tests every elementwise op of the table against an independent computation on random data.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "ops_support.hpp"
#include "support/elementary.hpp"
#include "tegula/math/functions.hpp"
#include "tegula/math/philox.hpp"
#include "tegula/support/half.hpp"

using namespace tegula;
using test::apply;
using test::check_same;
using test::floats;
using test::HostTensor;
using test::module_of;
using test::random_column;
using test::simulate;
using test::Wide;

namespace {

constexpr std::int64_t count = 600;
constexpr Element integers[] = {Element::i32, Element::u32, Element::i64, Element::u64};

/// Returns the number that an integer element holds.
Wide exact(HostTensor const& a, std::int64_t i) {
  return a.element() == Element::u64 ? static_cast<Wide>(a.get(i).bits) : static_cast<Wide>(a.integer(i));
}

/// Returns an element's value from a double that holds the exact or once-rounded result.
ir::Constant of(Element element, double value) { return ir::make_constant(element, value); }

/// Compares an f32 or f64 operation with one of doubles. For f16, bf16 and f32 the double result of +, -, * and /
/// rounds to the same as the direct one (53 >= 2 * 24 + 2).
void check_float_binary(std::string const& op, std::function<double(double, double)> const& f) {
  for (Element element : floats) {
    INFO(op << " of " << name(element));
    auto const a = random_column(element, count, 1), b = random_column(element, count, 2);
    check_same(apply(op + " %a, %b", {a, b}, element),
               [&](std::int64_t i) { return of(element, f(a.number(i), b.number(i))); });
  }
}
void check_integer_binary(std::string const& op, std::function<Wide(Wide, Wide, Element)> const& f) {
  for (Element element : integers) {
    INFO(op << " of " << name(element));
    auto const a = random_column(element, count, 3), b = random_column(element, count, 4);
    check_same(apply(op + " %a, %b", {a, b}, element), [&](std::int64_t i) {
      return ir::make_constant(element, static_cast<std::int64_t>(f(exact(a, i), exact(b, i), element)));
    });
  }
}
void check_float_unary(std::string const& op, std::function<double(double)> const& f) {
  for (Element element : floats) {
    INFO(op << " of " << name(element));
    auto const a = random_column(element, count, 5);
    check_same(apply(op + " %a", {a}, element), [&](std::int64_t i) { return of(element, f(a.number(i))); });
  }
}

void float_arithmetic() {
  check_float_binary("add", [](double a, double b) { return a + b; });
  check_float_binary("sub", [](double a, double b) { return a - b; });
  check_float_binary("mul", [](double a, double b) { return a * b; });
  check_float_binary("div", [](double a, double b) { return a / b; });
}

void integer_arithmetic() {
  check_integer_binary("add", [](Wide a, Wide b, Element) { return a + b; });
  check_integer_binary("sub", [](Wide a, Wide b, Element) { return a - b; });
  check_integer_binary("mul", [](Wide a, Wide b, Element) {  // two numbers of 64 bits without sign may fill all of 128
    return static_cast<Wide>(static_cast<test::UnsignedWide>(a) * static_cast<test::UnsignedWide>(b));
  });
  check_integer_binary("multiply_high", [](Wide a, Wide b, Element element) {
    if (is_signed(element)) return (a * b) >> bits(element);
    return static_cast<Wide>((static_cast<test::UnsignedWide>(a) * static_cast<test::UnsignedWide>(b)) >>
                             bits(element));
  });
  check_integer_binary("div", [](Wide a, Wide b, Element) { return b == 0 ? 0 : a / b; });
  check_integer_binary("rem", [](Wide a, Wide b, Element) { return b == 0 ? a : a % b; });
  check_integer_binary("shl", [](Wide a, Wide b, Element element) {
    return b < 0 || b >= bits(element) ? 0 : a * (static_cast<Wide>(1) << static_cast<int>(b));
  });
  check_integer_binary("shr", [](Wide a, Wide b, Element element) {  // amounts outside leave the sign, or nothing
    int const outside = bits(element) - (is_signed(element) ? 1 : 0);
    return a >> static_cast<int>(b < 0 || b >= bits(element) ? outside : b);
  });
  check_integer_binary("and", [](Wide a, Wide b, Element) { return a & b; });
  check_integer_binary("or", [](Wide a, Wide b, Element) { return a | b; });
  check_integer_binary("xor", [](Wide a, Wide b, Element) { return a ^ b; });
  check_integer_binary("min", [](Wide a, Wide b, Element) { return std::min(a, b); });
  check_integer_binary("max", [](Wide a, Wide b, Element) { return std::max(a, b); });
  for (Element element : integers) {
    HostTensor a(element, {6}), b(element, {6});
    std::int64_t const lhs[] = {7, 8, 0, 7, 7, 1}, rhs[] = {2, 2, 5, 0, -3, 4}, expected[] = {4, 4, 0, 0, 0, 1};
    for (int i = 0; i < 6; ++i) a.set_integer(i, lhs[i]), b.set_integer(i, rhs[i]);
    check_same(apply("ceil_div %a, %b", {a, b}, element),
               [&](std::int64_t i) {  // -3 is a large unsigned divisor
                 return ir::make_constant(element, i == 4 && !is_signed(element) ? 1 : expected[i]);
               });
  }
}

void min_max() {
  auto const pick = [](double a, double b, bool less) {
    return std::isnan(a) ? b : std::isnan(b) ? a : less ? std::min(a, b) : std::max(a, b);
  };
  check_float_binary("min", [&](double a, double b) { return pick(a, b, true); });
  check_float_binary("max", [&](double a, double b) { return pick(a, b, false); });
}

void signs_and_rounding() {
  check_float_unary("neg", [](double a) { return -a; });
  check_float_unary("abs", [](double a) { return std::fabs(a); });
  for (test::ElementaryRow const& row : test::elementary_rows)
    if (!row.expanded) check_float_unary(row.name, [&](double a) { return static_cast<double>(row.exact(a)); });
  for (Element element : integers) {
    auto const a = random_column(element, count, 6);
    check_same(apply("neg %a", {a}, element),
               [&](std::int64_t i) { return ir::make_constant(element, static_cast<std::int64_t>(-exact(a, i))); });
    check_same(apply("abs %a", {a}, element), [&](std::int64_t i) {
      Wide const x = exact(a, i);
      return ir::make_constant(element, static_cast<std::int64_t>(x < 0 ? -x : x));
    });
    check_same(apply("not %a", {a}, element),
               [&](std::int64_t i) { return ir::make_constant(element, -1 - a.integer(i)); });
  }
  auto const flags = random_column(Element::boolean, count, 7);
  check_same(apply("not %a", {flags}, Element::boolean), [&](std::int64_t i) {
    return ir::Constant{Element::boolean, flags.get(i).bits ^ 1};
  });
}

void booleans() {
  auto const a = random_column(Element::boolean, count, 8), b = random_column(Element::boolean, count, 9);
  check_same(apply("and %a, %b", {a, b}, Element::boolean), [&](std::int64_t i) {
    return ir::Constant{Element::boolean, a.get(i).bits & b.get(i).bits};
  });
  check_same(apply("or %a, %b", {a, b}, Element::boolean), [&](std::int64_t i) {
    return ir::Constant{Element::boolean, a.get(i).bits | b.get(i).bits};
  });
  check_same(apply("xor %a, %b", {a, b}, Element::boolean), [&](std::int64_t i) {
    return ir::Constant{Element::boolean, a.get(i).bits ^ b.get(i).bits};
  });
}

void comparisons() {
  struct Row {
    char const* name;
    bool (*holds)(double, double);
  };
  constexpr Row rows[] = {
      {"eq", [](double a, double b) { return a == b; }}, {"ne", [](double a, double b) { return a != b; }},
      {"lt", [](double a, double b) { return a < b; }},  {"le", [](double a, double b) { return a <= b; }},
      {"gt", [](double a, double b) { return a > b; }},  {"ge", [](double a, double b) { return a >= b; }}};
  for (Row const& row : rows) {
    for (Element element : {Element::f16, Element::bf16, Element::f32, Element::f64, Element::i32, Element::u32}) {
      INFO(row.name << " of " << name(element));
      auto const a = random_column(element, count, 10), b = random_column(element, count, 11);
      auto const attributes = " {predicate = " + std::string(row.name) + "}";
      check_same(apply("compare %a, %b", {a, b}, Element::boolean, attributes), [&](std::int64_t i) {
        return ir::Constant{Element::boolean, row.holds(a.number(i), b.number(i)) ? 1U : 0U};
      });
    }
  }
}

void selection() {
  auto const c = random_column(Element::boolean, count, 12);
  for (ElementInfo const& row : element_table) {
    Element const element = row.element;
    INFO(row.name);
    auto const a = random_column(element, count, 13), b = random_column(element, count, 14);
    check_same(apply("select %a, %b, %c", {c, a, b}, element),
               [&](std::int64_t i) { return c.get(i).bits != 0 ? a.get(i) : b.get(i); });
  }
}

void fused() {
  for (Element element : {Element::f32, Element::f64}) {
    auto const a = random_column(element, count, 15), b = random_column(element, count, 16);
    HostTensor c(element, {count});  // about -a * b, so that only the rounding error of a * b is left
    for (std::int64_t i = 0; i < count; ++i) c.set(i, of(element, -a.number(i) * b.number(i)));
    check_same(apply("fma %a, %b, %c", {a, b, c}, element), [&](std::int64_t i) {
      double const x = a.number(i), y = b.number(i), z = c.number(i);
      return of(element, element == Element::f64
                             ? std::fma(x, y, z)
                             : std::fma(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)));
    });
  }
}

/// Checks that relaxed arithmetic has the bits that it promises and no more, and flushes what it says.
void relaxed() {
  HostTensor a(Element::f32, {count}), b(Element::f32, {count});
  std::mt19937_64 random(24);
  std::uniform_real_distribution<double> number(-160, 100), divisor(0.5, 2);
  for (std::int64_t i = 0; i < count; ++i) {
    a.set(i, of(Element::f32, number(random)));
    b.set(i, of(Element::f32, divisor(random)));
  }
  auto const keeps = [&](HostTensor const& found, HostTensor const& whole, int significant) {
    int shorter = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      double const x = found.number(i), exact = whole.number(i);
      int exponent = 0;
      double const scaled = std::ldexp(std::frexp(x, &exponent), significant);
      CHECK((scaled == std::trunc(scaled) || std::fabs(x) < 0x1p-126));
      CHECK(std::fabs(x - exact) <= std::fabs(exact) * std::ldexp(1.0, -significant));
      shorter += x != exact ? 1 : 0;
    }
    CHECK(shorter > count / 4);
  };
  keeps(apply("div %a, %b {bits = 22, licence = kept_16_bits}", {a, b}, Element::f32),
        apply("div %a, %b", {a, b}, Element::f32), 22);
  keeps(apply("rsqrt %b {bits = 22, licence = kept_16_bits}", {b, b}, Element::f32),
        apply("rsqrt %b", {b, b}, Element::f32), 22);
  keeps(apply("sqrt %b {bits = 22, licence = two_ulp}", {b, b}, Element::f32), apply("sqrt %b", {b, b}, Element::f32),
        22);
  keeps(apply("exp %b {bits = 17, licence = kept_16_bits}", {b, b}, Element::f32),
        apply("exp %b", {b, b}, Element::f32), 17);
  HostTensor const powers = apply("exp2 %a", {a}, Element::f32);
  int flushed = 0;
  check_same(apply("exp2 %a {flush = true, licence = kernel_of_blocks}", {a}, Element::f32), [&](std::int64_t i) {
    bool const small = powers.number(i) != 0 && powers.number(i) < 0x1p-126;
    flushed += small ? 1 : 0;
    return small ? of(Element::f32, 0) : powers.get(i);
  });
  CHECK(flushed > 0);
}

ir::Constant cast_by_hand(ir::Constant from, Element to) {
  if (is_float(from.element)) {
    double const x = ir::to_double(from);
    if (is_float(to)) return ir::make_constant(to, x);
    bool const natural = info(to).kind == ElementKind::unsigned_integer;
    double const low = natural ? 0 : -std::ldexp(1.0, bits(to) - 1),
                 high = std::ldexp(1.0, bits(to) - (natural ? 0 : 1));
    auto const max = static_cast<std::int64_t>(UINT64_MAX >> (64 - bits(to) + (natural ? 0 : 1)));
    if (std::isnan(x)) return ir::make_constant(to, std::int64_t{0});
    if (x >= high) return ir::make_constant(to, max);
    if (x <= low) return ir::make_constant(to, natural ? 0 : -max - 1);
    return ir::make_constant(to, std::trunc(x));
  }
  std::int64_t const x = ir::to_int(from);
  // Long double holds every integer.
  long double const number =
      from.element == Element::u64 ? static_cast<long double>(from.bits) : static_cast<long double>(x);
  if (to == Element::f64) return ir::make_constant(to, static_cast<double>(number));
  if (to == Element::f32) return {to, std::bit_cast<std::uint32_t>(static_cast<float>(number))};
  if (is_float(to)) {
    long double const wide = std::fabs(number);  // rounded to the format's bits
    if (wide == 0) return ir::make_constant(to, 0.0);
    int exponent = 0;
    std::frexp(wide, &exponent);
    long double const unit = std::ldexp(1.0L, exponent - (info(to).mantissa + 1));
    long double const rounded = std::nearbyint(wide / unit) * unit;
    return ir::make_constant(to, static_cast<double>(number < 0 ? -rounded : rounded));
  }
  return ir::make_constant(to, x);
}

void casts() {
  for (int from = 0; from < element_count; ++from) {
    for (int to = 1; to < element_count; ++to) {  // none to bool
      auto const a = random_column(static_cast<Element>(from), count, 15);
      INFO(name(a.element()) << " to " << name(static_cast<Element>(to)));
      check_same(apply("cast %a", {a}, static_cast<Element>(to)), [&](std::int64_t i) {
        return from == to ? a.get(i) : cast_by_hand(a.get(i), static_cast<Element>(to));  // an infinity stays
      });
    }
  }
}

void random_numbers() {
  HostTensor const seed = random_column(Element::i64, count, 21);
  for (Element const element : {Element::i32, Element::i64}) {
    HostTensor const place = random_column(element, count, 22);
    for (Element const result : {Element::i32, Element::i64}) {
      INFO(name(element) << " to " << name(result));
      check_same(apply("random_bits %a, %b", {seed, place}, result), [&](std::int64_t i) {
        auto const words = math::random_words(seed.integer(i), place.integer(i));
        auto const own = static_cast<std::size_t>(place.integer(i) & 3), even = own & 2;
        return ir::make_constant(result,
                                 result == Element::i32
                                     ? static_cast<std::int64_t>(static_cast<std::int32_t>(words[own]))
                                     : static_cast<std::int64_t>(std::uint64_t{words[even + 1]} << 32 | words[even]));
      });
    }
  }
}

void bitcasts() {
  std::pair<Element, Element> const pairs[] = {
      {Element::f32, Element::i32}, {Element::f64, Element::i64},  {Element::i32, Element::f32},
      {Element::i64, Element::f64}, {Element::e4m3, Element::i8},  {Element::i8, Element::e5m2},
      {Element::i8, Element::e4m3}, {Element::f16, Element::bf16}, {Element::u8, Element::i8},
      {Element::i8, Element::u8},   {Element::f16, Element::u16},  {Element::i16, Element::bf16},
      {Element::f32, Element::u32}, {Element::u64, Element::f64},  {Element::i32, Element::u32}};
  for (auto const& [from, to] : pairs) {
    INFO(name(from) << " to " << name(to));
    auto const a = random_column(from, count, 16);
    auto const found = apply("bitcast %a", {a}, to);
    check_same(found, [&, from_element = from, result = to](std::int64_t i) {
      std::uint64_t const raw = a.get(i).bits;
      // The simulator keeps the values of narrow floats, and of NaN no bits.
      if (is_narrow_float(from_element) && std::isnan(a.number(i))) return found.get(i);
      if (is_integer(result)) return ir::make_constant(result, static_cast<std::int64_t>(raw));
      return ir::Constant{result, bits(result) == 64 ? raw : raw & ((std::uint64_t{1} << bits(result)) - 1)};
    });
  }
}

void elementary_functions() {
  for (test::ElementaryRow const& row : test::elementary_rows) {
    for (Element element : floats) {
      if (!row.expanded) continue;
      INFO(row.name << " of " << name(element));
      auto const a = random_column(element, count, 17);
      auto const found = apply(std::string(row.name) + " %a", {a}, element);
      int const digits = info(element).mantissa + 1;
      int const min = element == Element::f64    ? -1074
                      : element == Element::f32  ? -149
                      : element == Element::bf16 ? -133
                                                 : -24;
      // 16-bit floats are rounded once more than the f32 they come from.
      samples::Comparison all(element == Element::f64 ? row.bound_f64 : row.bound_f32);
      for (std::int64_t i = 0; i < count; ++i) {
        long double const exact = row.exact(static_cast<long double>(a.number(i)));
        double const rounded = ir::to_double(ir::make_constant(element, static_cast<double>(exact)));
        int exponent = 0;
        std::frexp(exact, &exponent);
        long double const unit = std::ldexp(1.0L, std::max(exponent - digits, min));
        double const r = found.number(i);
        bool const finite = std::isfinite(rounded) && std::isfinite(r);
        auto const error = finite ? static_cast<double>((static_cast<long double>(r) - exact) / unit) : r;
        all.add(i, error, finite ? 0 : rounded, 1, found.unwritten(i));
      }
      CHECK(all.failure() == "");
    }
  }
}

void elementary_functions_of_two() {
  for (test::ElementaryRow2 const& row : test::elementary_rows_2)
    for (Element element : floats) {
      INFO(row.name << " of " << name(element));
      auto const a = random_column(element, count, 18), b = random_column(element, count, 19);
      auto const found = apply(std::string(row.name) + " %a, %b", {a, b}, element);
      int const digits = std::min(info(element).mantissa + 1, 24);
      for (std::int64_t i = 0; i < count; ++i) {
        long double const exact =
            row.exact(static_cast<long double>(a.number(i)), static_cast<long double>(b.number(i)));
        double const rounded = ir::to_double(ir::make_constant(element, static_cast<double>(exact)));
        double const r = found.number(i);
        INFO(a.number(i) << ", " << b.number(i) << ": " << r << " but expected " << rounded);
        if (std::isfinite(rounded) && std::isfinite(r))
          CHECK(std::abs(static_cast<double>(static_cast<long double>(r) - exact)) <=
                std::max(std::ldexp(std::abs(rounded), 2 - digits), 1e-7));
        else
          CHECK((std::isnan(rounded) ? std::isnan(r) : rounded == r));
      }
    }
}

void scalars() {
  auto const module = module_of(R"(kernel @k(%s: f32, %n: i32, %flag: bool, %h: f16, %out: out tensor<?xf32>) {
  %0 = constant {value = 0 : i64} : i64
  %1 = mul %s, %s : f32
  %2 = cast %n : f32
  %3 = add %1, %2 : f32
  %4 = cast %h : f32
  %5 = select %flag, %3, %4 : f32
  %6 = splat %5 : tile<4xf32>
  store %out, %6, %0
  return
})");
  HostTensor out(Element::f32, {4});
  auto const run = [&](bool flag) {
    simulate(module, {ir::make_constant(Element::f32, 1.5), ir::make_constant(Element::i32, std::int64_t{-3}),
                      ir::make_constant(Element::boolean, std::int64_t{flag}), ir::make_constant(Element::f16, 0.1),
                      out.view()});
  };
  run(true);
  CHECK(out.number(3) == 1.5 * 1.5 - 3);
  run(false);
  CHECK(out.number(0) == f16_value(f16_bits(0.1)));
}

}  // namespace

std::vector<void (*)()> test::elementwise_checks() {
  return {float_arithmetic,
          integer_arithmetic,
          min_max,
          signs_and_rounding,
          booleans,
          comparisons,
          selection,
          fused,
          casts,
          random_numbers,
          bitcasts,
          elementary_functions,
          elementary_functions_of_two,
          scalars};
}

TEST_CASE("sum, difference, product and quotient of floats round once", "[sim][F30]") { float_arithmetic(); }
TEST_CASE("integer arithmetic wraps; division by zero and of the minimum are defined", "[sim][F30]") {
  integer_arithmetic();
}
TEST_CASE("min and max of floats skip NaN", "[sim][F30]") { min_max(); }
TEST_CASE("signs, rounding and square roots are exact", "[sim][F30]") { signs_and_rounding(); }
TEST_CASE("booleans combine bit by bit", "[sim][F30]") { booleans(); }
TEST_CASE("comparisons are ordered, ne is unordered", "[sim][F30]") { comparisons(); }
TEST_CASE("select picks element by element", "[sim][F30]") { selection(); }
TEST_CASE("fma rounds once", "[sim][F30]") { fused(); }
TEST_CASE("relaxed arithmetic gives the bits that it promises", "[sim][F30]") { relaxed(); }
TEST_CASE("casts between all elements", "[sim][F30]") { casts(); }
TEST_CASE("random bits are words of the place's counter", "[sim]") { random_numbers(); }
TEST_CASE("bitcast keeps bits", "[sim][F30]") { bitcasts(); }
TEST_CASE("elementary functions keep their error bounds in every element", "[sim][F30]") { elementary_functions(); }
TEST_CASE("scalars have the same arithmetic as tiles", "[sim][F30]") { scalars(); }
