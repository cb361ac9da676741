#include "analysis/affine.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ir/core/builder.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/match.hpp"
#include "ir/values/predicate.hpp"
#include "support/checked_integer.hpp"

namespace tegula::analysis {

using namespace ir;
using support::Checked;

namespace {

constexpr int max_depth = 40;
constexpr int max_rounds = 40;
constexpr std::size_t max_known = 6;  ///< branches inside each other whose conditions are minded
constexpr std::int64_t greatest_number = std::int64_t{1} << 40;
constexpr std::int64_t max_modulus = std::int64_t{1} << 16;

std::int64_t clamped(std::int64_t value) { return std::clamp(value, -Range::far, Range::far); }

/// Narrows a range to the part that stays when `value <predicate> bound` holds (or does not).
Range narrowed(Range range, Predicate predicate, bool holds, std::int64_t bound) {
  if (!holds) predicate = negated(predicate);
  switch (predicate) {
    case Predicate::eq:
      return {std::max(range.low, bound), std::min(range.high, bound)};
    case Predicate::ne:
      if (range.low == bound) ++range.low;
      if (range.high == bound) --range.high;
      return range;
    case Predicate::lt:
      return {range.low, std::min(range.high, bound - 1)};
    case Predicate::le:
      return {range.low, std::min(range.high, bound)};
    case Predicate::gt:
      return {std::max(range.low, bound + 1), range.high};
    case Predicate::ge:
      return {std::max(range.low, bound), range.high};
  }
  return range;
}

/// Counts the results of a remainder or mask by a constant; nothing: it is another mask, or not a constant.
std::optional<std::int64_t> remainder_size(Op const& op) {
  auto const by = constant_int(*op.rhs());
  if (!by || *by < 0 || *by > Range::far) return std::nullopt;
  std::int64_t const size = op.is<RemOp>() ? *by : *by + 1;
  bool const power = (size & (size - 1)) == 0;
  return op.is<RemOp>() || power ? std::optional(size) : std::nullopt;
}

std::optional<Congruence> modulo(Affine const& sum, std::int64_t modulus) {
  if (modulus < 1 || modulus > max_modulus) return std::nullopt;
  return Congruence{sum, modulus};
}

/// Returns the greatest number that divides a sum whatever its terms are.
std::int64_t divisor(Affine const& sum) {
  std::int64_t result = std::abs(sum.constant);
  for (auto const& [value, factor] : sum.terms) result = std::gcd(result, factor);
  return result;
}

}  // namespace

Range operator+(Range a, Range b) {
  return {a.low <= -Range::far || b.low <= -Range::far ? -Range::far : clamped(a.low + b.low),
          a.high >= Range::far || b.high >= Range::far ? Range::far : clamped(a.high + b.high)};
}

Range operator*(Range a, std::int64_t factor) {
  if (factor == 0) return {0, 0};
  auto const times = [&](std::int64_t value) {
    if (value <= -Range::far || value >= Range::far) return (value < 0) == (factor < 0) ? Range::far : -Range::far;
    std::int64_t result = 0;
    if (__builtin_mul_overflow(value, factor, &result)) return (value < 0) == (factor < 0) ? Range::far : -Range::far;
    return clamped(result);
  };
  return factor > 0 ? Range{times(a.low), times(a.high)} : Range{times(a.high), times(a.low)};
}

Range joined(Range a, Range b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

Affine operator+(Affine a, Affine const& b) {
  a.fits = a.fits && b.fits;
  auto const add = [&](std::int64_t& to, std::int64_t number) {
    Checked const sum = Checked(to) + number;
    a.fits = a.fits && sum.fits();
    return to = sum.value();
  };
  add(a.constant, b.constant);
  for (auto const& [value, factor] : b.terms)
    if (add(a.terms[value], factor) == 0) a.terms.erase(value);
  return a;
}

Affine operator*(Affine a, std::int64_t factor) {
  if (factor == 0) return {};
  auto const times = [&](std::int64_t& number) {
    Checked const product = Checked(number) * factor;
    a.fits = a.fits && product.fits();
    number = product.value();
  };
  times(a.constant);
  for (auto& [value, of_value] : a.terms) times(of_value);
  return a;
}

bool Affines::turns(Value const& value) { return Loop::counted_by(value).has_value(); }

Affine const& Affines::of(Value const& value) {
  auto const found = sums_.find(&value);
  if (found != sums_.end()) return found->second;
  Affine sum = compute(value);
  if (!small(sum)) sum = {0, {{&value, 1}}};
  return sums_[&value] = std::move(sum);
}

bool Affines::small(Affine const& sum) {
  return sum.fits && Checked(sum.constant).within(greatest_number) &&
         std::all_of(sum.terms.begin(), sum.terms.end(),
                     [](auto const& term) { return Checked(term.second).within(greatest_number); });
}

Affine Affines::compute(Value const& value) {
  Affine const itself{0, {{&value, 1}}};
  Op const* const op = value.defining_op();
  if (op == nullptr) {
    std::optional<Loop> const loop = Loop::counted_by(value);
    if (!loop) return itself;
    // Lower bound plus whole steps; the common factor of all steps is the factor of the distance.
    std::int64_t const unit = divisor(of(*loop->step()));
    return unit == 0 ? itself : of(*loop->lower()) + Affine{0, {{&value, unit}}};
  }
  if (auto const constant = constant_int(value)) return {*constant, {}};
  auto const remainder = [&] {
    // A remainder or mask that never wraps is the number itself.
    auto const size = remainder_size(*op);
    Range const of_number = range(*op->lhs());
    return size && of_number.low >= 0 && of_number.high < *size ? of(*op->lhs()) : itself;
  };
  auto const product = [&]() -> Affine {
    Affine const &a = of(*op->lhs()), &b = of(*op->rhs());
    if (b.terms.empty()) return a * b.constant;
    if (a.terms.empty()) return b * a.constant;
    // A product of two unknowns keeps its divisor.
    Checked const unit = Checked(divisor(a)) * divisor(b);
    return unit.fits() && unit.value() > 1 ? Affine{0, {{&value, unit.value()}}} : itself;
  };
  auto const shifted = [&]() -> Affine {
    auto const by = constant_int(*op->rhs());
    return by && *by >= 0 && *by < 32 ? of(*op->lhs()) * (std::int64_t{1} << *by) : itself;
  };
  return match<std::optional<Affine>>(*op, on<AddOp>([&] { return of(*op->lhs()) + of(*op->rhs()); }),
                                      on<SubOp>([&] { return of(*op->lhs()) + of(*op->rhs()) * -1; }),
                                      on<MulOp>(product), on<RemOp, AndOp>(remainder), on<ShlOp>(shifted))
      .value_or(itself);
}

bool Affines::fits(Value const& value) {
  constexpr auto low = std::numeric_limits<std::int32_t>::min(), high = std::numeric_limits<std::int32_t>::max();
  Range const all = range(value);
  return value.type() == Type::index() || (all.low >= low && all.high <= high);
}

std::optional<Congruence> Affines::congruence(Value const& value) {
  Op const* const op = value.defining_op();
  if (op == nullptr) return std::nullopt;
  return match<std::optional<Congruence>>(*op, on<CastOp>([&] { return congruence_of_widening(*op); }),
                                          on<RemOp, AndOp>([&] { return congruence_of_remainder(*op); }),
                                          on<SelectOp>([&] { return congruence_of_select(*op); }));
}

std::optional<Congruence> Affines::congruence_of_widening(Op const& op) {
  Value const& narrow = *op.operand();
  bool const widens = op.result()->type() == Type::index() && narrow.type() == Type::scalar(Element::i32);
  if (!widens || !fits(narrow)) return std::nullopt;
  return Congruence{of(narrow), 0};
}

std::optional<Congruence> Affines::congruence_of_remainder(Op const& op) {
  auto const size = remainder_size(op);
  if (!size || !fits(*op.lhs())) return std::nullopt;
  return modulo(of(*op.lhs()), *size);
}

std::optional<Congruence> Affines::congruence_of_select(Op const& op) {
  Value const &one = *op.lhs(), &other = *op.rhs();
  if (!op.result()->type().is_scalar() || !fits(one) || !fits(other)) return std::nullopt;
  Affine const difference = of(one) + of(other) * -1;
  if (difference.fits && difference.terms.empty()) return modulo(of(other), std::abs(difference.constant));
  Op const* const compare = op.in<SelectOp>("condition")->defined_by<CompareOp>();
  if (compare == nullptr) return std::nullopt;
  for (bool const holds : {true, false})
    if (auto const constant = constant_int(holds ? one : other))
      if (auto const left = number_left_by(*compare, holds, holds ? other : one))
        return modulo(of(holds ? other : one), std::abs(*left - clamped(*constant)));
  return std::nullopt;
}

std::optional<std::int64_t> Affines::number_left_by(Op const& compare, bool holds, Value const& number) {
  auto const bound = constant_int(*compare.rhs());
  if (!bound) return std::nullopt;
  Affine const beyond = of(number) + of(*compare.lhs()) * -1;
  if (!beyond.fits || !beyond.terms.empty()) return std::nullopt;
  Range const left = narrowed(range(*compare.lhs()), compare.as<CompareOp>().predicate, holds, clamped(*bound));
  if (!left.bounded() || left.low != left.high) return std::nullopt;
  return left.low + beyond.constant;
}

std::optional<Congruence> Affines::bound_of_term(Value const& counter) {
  std::optional<Loop> const loop = Loop::counted_by(counter);
  std::int64_t const unit = loop ? divisor(of(*loop->step())) : 0;
  if (unit == 0) return std::nullopt;
  Affine const whole = of(*loop->upper()) + of(*loop->lower()) * -1;
  Affine const bound = whole + Affine{divisor(whole) % unit == 0 ? -unit : -1, {}};
  if (!bound.fits) return std::nullopt;
  return Congruence{bound, unit};
}

Range Affines::range_of_term(Value const& value) {
  if (std::optional<Loop> const loop = Loop::counted_by(value)) {
    Range const whole = range(value), low = range(*loop->lower());
    std::int64_t const unit = divisor(of(*loop->step()));
    if (!whole.bounded() || !low.bounded() || unit == 0) return {0, Range::far};
    return {0, (whole.high - low.low) / unit};
  }
  Affine const& sum = of(value);
  auto const own = sum.terms.find(&value);
  if (own != sum.terms.end() && own->second > 1) return {};  // of a product of unknowns: the product over the factor
  return range(value);
}

Range Affines::range(Value const& value, Known const& known) {
  for (auto const& [other, range] : known)
    if (other == &value) return range;
  if (known.empty())
    if (auto const found = ranges_.find(&value); found != ranges_.end()) return found->second;
  std::pair const key{&value, known};
  if (auto const found = open_ranges_.find(key); found != open_ranges_.end()) {
    assumes_ = std::min(assumes_, found->second.second);
    return found->second.first;
  }
  if (depth_ > max_depth) {
    assumes_ = cut_off;
    return {};
  }
  int const around = std::exchange(assumes_, nothing);
  ++depth_;
  Range const result = compute_range(value, known);
  --depth_;
  if (known.empty() && (assumes_ == nothing || depth_ == 0))
    ranges_[&value] = result;
  else
    open_ranges_[key] = {result, assumes_};
  if (depth_ == 0) open_ranges_.clear();
  assumes_ = std::min(assumes_, around);
  return result;
}

Range Affines::range_of_select(Op const& select, Known const& known) {
  Op const* const compare = select.in<SelectOp>("condition")->defined_by<CompareOp>();
  auto const side = [&](bool holds) {
    Known more = known;
    if (compare != nullptr)
      if (auto const number = constant_int(*compare->rhs()); number && known.size() < max_known) {
        std::int64_t const bound = clamped(*number);
        Range const left = narrowed(range(*compare->lhs(), known), compare->as<CompareOp>().predicate, holds, bound);
        if (left.empty()) return left;
        more.emplace_back(compare->lhs(), left);
      }
    return range(holds ? *select.lhs() : *select.rhs(), more);
  };
  return joined(side(true), side(false));
}

Range Affines::range_of_argument(Value const& value, Known const& known) {
  Block const* const block = value.owner_block();
  Op const* const around = block == nullptr ? nullptr : block->parent_op();
  if (around == nullptr) return {};  // a parameter
  if (around->is<WarpSpecializeOp>()) {
    for (int p = 0; p < around->block_count(); ++p)
      if (&around->block(p) == block) return {0, around->as<WarpSpecializeOp>().replicas[p] - 1};
    return {};
  }
  if (!around->is<ForOp>() && !around->is<RepeatOp>()) return {};
  Loop const loop(*around);
  int const carry = loop.carry_of(value);
  if (carry < 0) {  // the counter
    Range const low = range(*loop.lower(), known), high = range(*loop.upper(), known);
    return {low.low, high.high >= Range::far ? Range::far : high.high - 1};
  }
  // The least range that holds the first value and, for each value in it, the next one. Widened when it goes on
  // growing.
  for (std::size_t i = 0; i < assumed_.size(); ++i)
    if (assumed_[i].first == &value) {
      assumes_ = std::min(assumes_, static_cast<int>(i));
      return assumed_[i].second;
    }
  Value const& next = *loop.yielded(carry);
  Range found = range(*loop.init(carry), known);
  auto const itself = static_cast<int>(assumed_.size());
  assumed_.emplace_back(&value, found);
  for (int round = 0;; ++round) {
    open_ranges_.clear();
    Range const grown = joined(found, range(next, {}));
    if (grown == found) break;
    bool const widen = round > max_rounds;
    found = {widen && grown.low < found.low ? -Range::far : grown.low,
             widen && grown.high > found.high ? Range::far : grown.high};
    assumed_.back().second = found;
  }
  assumed_.pop_back();
  open_ranges_.clear();
  if (assumes_ == itself) assumes_ = nothing;
  return found;
}

namespace {

Range product(Range a, Range b) {
  if (b.low == b.high) return a * b.low;
  if (a.low == a.high) return b * a.low;
  return a.low >= 0 && b.low >= 0 ? Range{0, Range::far} : Range{};
}

Range bitwise_and(Range a, Range b) {
  if (a.low >= 0 && a.high < Range::far) return {0, b.low >= 0 ? std::min(a.high, b.high) : a.high};
  if (b.low >= 0 && b.high < Range::far) return {0, b.high};
  return {};
}

Range bitwise_xor(Range a, Range b) {
  if (a.low < 0 || b.low < 0 || a.high >= Range::far || b.high >= Range::far) return {};
  std::int64_t mask = 1;
  while (mask <= std::max(a.high, b.high)) mask *= 2;
  return {0, mask - 1};
}

Range remainder(Range a, Range b) {
  if (b.low != b.high || b.low <= 0) return {};
  return {a.low >= 0 ? 0 : 1 - b.low, std::min(b.low - 1, std::max<std::int64_t>(a.high, 0))};
}

/// Returns the positive constant that a quotient or a shift divides by.
std::optional<std::int64_t> constant_divisor(Op const& op) {
  auto const by = constant_int(*op.rhs());
  if (!by || *by < 0) return std::nullopt;
  if (op.is<ShrOp>()) return *by <= 62 ? std::optional(std::int64_t{1} << *by) : std::nullopt;
  return *by > 0 ? by : std::nullopt;
}

Range quotient(Range a, std::optional<std::int64_t> by) {
  if (!by || a.low < 0) return {};
  return {a.low / *by, a.high >= Range::far ? Range::far : a.high / *by};
}

}  // namespace

Range Affines::compute_range(Value const& value, Known const& known) {
  Op const* const op = value.defining_op();
  if (op == nullptr) return range_of_argument(value, known);
  if (auto const constant = constant_int(value)) return {clamped(*constant), clamped(*constant)};
  auto const lhs = [&] { return range(*op->lhs(), known); };
  auto const rhs = [&] { return range(*op->rhs(), known); };
  if (auto const number = op->info().number) return {number->min, Range::far};
  return match<Range>(
      *op, on<AddOp>([&] { return lhs() + rhs(); }), on<SubOp>([&] { return lhs() + rhs() * -1; }),
      on<MulOp>([&] { return product(lhs(), rhs()); }), on<AndOp>([&] { return bitwise_and(lhs(), rhs()); }),
      on<XorOp>([&] { return bitwise_xor(lhs(), rhs()); }), on<RemOp>([&] { return remainder(lhs(), rhs()); }),
      on<DivOp, ShrOp>([&] { return quotient(lhs(), constant_divisor(*op)); }), on<MinOp>([&]() -> Range {
        Range const a = lhs(), b = rhs();
        return {std::min(a.low, b.low), std::min(a.high, b.high)};
      }),
      on<MaxOp>([&]() -> Range {
        Range const a = lhs(), b = rhs();
        return {std::max(a.low, b.low), std::max(a.high, b.high)};
      }),
      on<SelectOp>([&] { return range_of_select(*op, known); }), on<IfOp>([&] {
        return joined(range(*op->block(0).terminator()->operand(value.index()), known),
                      range(*op->block(1).terminator()->operand(value.index()), known));
      }),
      on<ForOp>([&] {
        return joined(range(*Loop(*op).init(value.index()), known), range(*Loop(*op).carried(value.index()), {}));
      }),
      on<RepeatOp>([&] { return range(*Loop(*op).yielded(value.index()), {}); }), on<ClusterRankOp>([&]() -> Range {
        return {0, Range::far};
      }));
}

Meeting Distance::meeting(std::int64_t before, std::int64_t after) const {
  Range const whole = this->whole();
  auto const meets = [&](std::int64_t low, std::int64_t high) {
    return low > high ? Meeting::never : low == 0 && high == 0 ? Meeting::aligned : Meeting::anywhere;
  };
  if (stride == 0) return meets(std::max(whole.low, 1 - after), std::min(whole.high, before - 1));
  if (!whole.bounded() || whole.high - whole.low > 4096) return Meeting::anywhere;
  // Multiples of the stride bring a distance into (-after, before): the first of them there, and the last.
  auto result = Meeting::never;
  for (std::int64_t at = whole.low; at <= whole.high; ++at) {
    auto const rest = [&](std::int64_t number) { return ((number % stride) + stride) % stride; };
    std::int64_t const first = rest(at + after - 1) - after + 1, last = before - 1 - rest(before - 1 - at);
    result = std::max(result, meets(first, last));
  }
  return result;
}

}  // namespace tegula::analysis
