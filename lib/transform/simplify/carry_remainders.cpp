#include "transform/simplify/carry_remainders.hpp"

#include <bit>
#include <deque>
#include <map>
#include <set>
#include <tuple>

#include "ir/core/builder.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "transform/common/carried.hpp"
#include "transform/common/dead_code.hpp"

namespace tegula::transform {
namespace {

using ir::Block;
using ir::Builder;
using ir::Loop;
using ir::Op;
using ir::Type;
using ir::Value;

constexpr std::int64_t largest_divisor = std::int64_t{1} << 30;  // sums of remainders have 32 bits
constexpr std::int64_t largest_number = std::int64_t{1} << 40;   // of a start or a step, so that sums of them fit
constexpr std::int64_t max_before = 8;                           // as many more values may be carried for one below

/// Finds the op and the number of the result by which a value is carried or chosen; no op: neither.
struct Carried {
  Op* op = nullptr;
  int number = 0;
};
Carried carried(Value const& value) {
  if (Op* const op = value.defining_op())
    return op->is<ir::ForOp>() || op->is<ir::IfOp>() ? Carried{op, value.index()} : Carried{};
  auto const carry = carry_of(value);
  return carry ? Carried{&carry->loop.op(), carry->number} : Carried{};
}

/// Splits a value into a base and the constant added to it.
struct Sum {
  Value* base = nullptr;
  std::int64_t offset = 0;
};
Sum sum_of(Value& value) {
  Op* const op = value.defining_op();
  if (op == nullptr || !op->is<ir::AddOp>()) return {&value, 0};
  auto const more = ir::constant_int(*op->rhs());
  return more ? Sum{op->lhs(), *more} : Sum{&value, 0};
}

/// Starts at constants, none of them negative, and only ever grows by constants. `seen`: values for which that is
/// being shown, so that each step of a loop may take it for granted of the one before.
bool counts(Value& value, std::set<Value const*>& seen) {
  if (auto const number = ir::constant_int(value)) return *number >= 0 && *number <= largest_number;
  if (value.type() != Type::index()) return false;
  if (!seen.insert(&value).second) return true;
  if (auto const [base, offset] = sum_of(value); base != &value)
    return offset >= 0 && offset <= largest_number && counts(*base, seen);
  auto const [op, number] = carried(value);
  if (op == nullptr) return false;
  if (op->is<ir::ForOp>() && !counts(*Loop(*op).init(number), seen)) return false;
  for (int b = 0; b < op->block_count(); ++b)
    if (!counts(*op->block(b).back().in<ir::YieldOp>("values", number), seen)) return false;
  return true;
}

/// Remainders and quotients by one divisor.
class Divisions {
 public:
  explicit Divisions(std::int64_t divisor) : divisor_(divisor) {}

  void replace(std::vector<Op*> const& divisions) {
    std::map<std::tuple<Value*, std::int64_t, Block*>, Parts> here;  // in the order of the text
    for (Op* op : divisions) {
      Sum const sum = sum_of(*op->lhs());
      Builder builder = Builder::before(*op);
      builder.set_where(op->where());
      auto const [at, first] = here.try_emplace({sum.base, sum.offset, op->parent()});
      if (first) at->second = parts(builder, *sum.base, sum.offset);
      Value* const result = op->is<ir::RemOp>() ? builder.value(ir::CastOp{}, {at->second.remainder}, Type::index())
                                                : at->second.quotient;
      ir::replace(*op, result);
    }
    for (; !open_.empty(); open_.pop_front()) {
      auto const [op, number, offset] = open_.front();
      for (int b = 0; b < op->block_count(); ++b) {
        Op& yield = op->block(b).back();
        Builder builder = Builder::before(yield);
        Parts const next = parts(builder, *yield.in<ir::YieldOp>("values", number), offset);
        yield.add_operand(next.remainder);
        yield.add_operand(next.quotient);
      }
    }
  }

 private:
  struct Parts {
    Value* remainder = nullptr;  ///< i32
    Value* quotient = nullptr;   ///< i64
  };
  /// Finds the values that a loop carries or a branch chooses: in the loop's body, and after the op.
  struct CarriedParts {
    Parts inside, after;
  };
  using Key = std::tuple<Op*, int, std::int64_t>;

  static Type narrow() { return Type::scalar(Element::i32); }
  static Value* constant(Builder& builder, std::int64_t number) {
    return builder.constant(static_cast<double>(number), narrow());
  }

  /// Returns the parts of a counter plus a constant. A sum that may be negative only occurs where the counter is
  /// carried, and is followed from its own start.
  Parts parts(Builder& builder, Value& value, std::int64_t offset) {
    if (auto const number = ir::constant_int(value))
      return {constant(builder, (*number + offset) % divisor_), builder.index((*number + offset) / divisor_)};
    if (auto const [base, more] = sum_of(value); base != &value) return parts(builder, *base, offset + more);
    auto const [op, number] = carried(value);
    CarriedParts const& carried_parts = this->carried_parts(*op, number, std::min<std::int64_t>(offset, 0));
    Parts const known = value.defining_op() == nullptr ? carried_parts.inside : carried_parts.after;
    return offset > 0 ? later(builder, known, offset) : known;
  }

  Parts later(Builder& builder, Parts const& from, std::int64_t offset) const {
    std::int64_t const turns = offset / divisor_, steps = offset % divisor_;
    if (steps == 0) return {from.remainder, builder.same(ir::AddOp{}, {from.quotient, builder.index(turns)})};
    Value* const sum = builder.same(ir::AddOp{}, {from.remainder, constant(builder, steps)});
    Value* const over = builder.value(ir::make_op<ir::CompareOp>(ir::Predicate::ge), {sum, constant(builder, divisor_)},
                                      Type::scalar(Element::boolean));
    Value* const rest =
        steps == 1 ? constant(builder, 0) : builder.same(ir::SubOp{}, {sum, constant(builder, divisor_)});
    Value* const more =
        builder.value(ir::SelectOp{}, {over, builder.index(turns + 1), builder.index(turns)}, Type::index());
    return {builder.value(ir::SelectOp{}, {over, rest, sum}, narrow()),
            builder.same(ir::AddOp{}, {from.quotient, more})};
  }

  CarriedParts const& carried_parts(Op& op, int number, std::int64_t offset) {
    auto const [at, first] = carried_.try_emplace({&op, number, offset});
    CarriedParts& carried_parts = at->second;
    if (!first) return carried_parts;
    if (op.is<ir::ForOp>()) {
      Builder builder = Builder::before(op);
      Loop const loop(op);
      Parts const start = parts(builder, *loop.init(number), offset);
      carried_parts.inside = {loop.add_carry(start.remainder, "remainder"), loop.add_carry(start.quotient, "quotient")};
      carried_parts.after = {op.result(loop.count() - 2), op.result(loop.count() - 1)};
    } else {
      carried_parts.after = {op.add_result(narrow()), op.add_result(Type::index())};
    }
    open_.emplace_back(&op, number, offset);
    return carried_parts;
  }

  std::int64_t divisor_;
  std::map<Key, CarriedParts> carried_;
  std::deque<Key> open_;  ///< whose blocks do not yield them yet, in the order in which they were made
};

}  // namespace

PassResult carry_remainders(ir::Function& function, PassContext&) {
  std::map<std::int64_t, std::vector<Op*>> divisions;
  ir::walk_pre_order(function, [&](Op& op) {
    if (!op.is<ir::RemOp>() && !op.is<ir::DivOp>()) return ir::Walk::advance;
    auto const by = ir::constant_int(*op.rhs());
    if (!by || *by < 2 || *by > largest_divisor || std::has_single_bit(static_cast<std::uint64_t>(*by)))
      return ir::Walk::advance;
    std::set<Value const*> seen;
    auto const [base, offset] = sum_of(*op.lhs());
    if (carried(*base).op != nullptr && offset >= -max_before && offset <= largest_number && counts(*base, seen))
      divisions[*by].push_back(&op);
    return ir::Walk::advance;
  });
  for (auto const& [by, ops] : divisions) Divisions(by).replace(ops);
  if (!divisions.empty()) keep_only(function.body(), runs_by_itself);
  return result_of(!divisions.empty());
}

}  // namespace tegula::transform
