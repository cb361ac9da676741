#include "transform/split_loops.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "ir/builder.hpp"
#include "ir/rewrite.hpp"
#include "ir/walk.hpp"
#include "transform/fetches.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Value;

/// least .. most + factor * index + a sum of values from outside the loop: what the elements of an integer are.
struct Sum {
  std::int64_t least = 0, most = 0;
  std::int64_t factor = 0;
  std::vector<std::pair<Value*, std::int64_t>> terms;
};

Sum plus(Sum a, Sum const& b, std::int64_t times) {
  a.least += times * (times > 0 ? b.least : b.most);
  a.most += times * (times > 0 ? b.most : b.least);
  a.factor += times * b.factor;
  for (auto const& [value, factor] : b.terms) a.terms.emplace_back(value, times * factor);
  return a;
}

/// The iterations of one loop that a mask leaves alone.
class Masks {
 public:
  explicit Masks(Op& loop) : loop_(loop) {}

  /// For the comparison: over which sum it decides, as `sum < 0`; nothing when that does not grow with the index.
  [[nodiscard]] std::optional<Sum> condition(Op const& compare) const {
    using ir::Predicate;
    Predicate const predicate = compare.as<ir::CompareOp>().predicate;
    bool const turned = predicate == Predicate::gt || predicate == Predicate::ge;
    if (predicate == Predicate::eq || predicate == Predicate::ne) return std::nullopt;
    auto const left = sum(*compare.operand(turned ? 1 : 0)), right = sum(*compare.operand(turned ? 0 : 1));
    if (!left || !right) return std::nullopt;
    Sum difference = plus(*left, *right, -1);
    if (predicate == Predicate::le || predicate == Predicate::ge) --difference.most;
    return difference.factor > 0 ? std::optional(difference) : std::nullopt;
  }

  /// How many iterations from the first on have factor * index + terms + most < 0.
  Value* count(ir::Builder& builder, Sum const& sum) const {
    Value *const lower = loop_.operand(0), *const step = loop_.operand(2);
    Value* left = builder.index(-sum.most);
    auto const take = [&](Value* value, std::int64_t factor) {
      left = builder.same(ir::SubOp{}, {left, builder.same(ir::MulOp{}, {value, builder.index(factor)})});
    };
    for (auto const& [value, factor] : sum.terms)
      take(value->type().element() == Element::i64 ? value : builder.value(ir::CastOp{}, {value}, ir::Type::index()),
           factor);
    take(lower, sum.factor);
    Value* const some = builder.same(ir::MaxOp{}, {left, builder.index(0)});
    return builder.same(ir::CeilDivOp{}, {some, builder.same(ir::MulOp{}, {step, builder.index(sum.factor)})});
  }

 private:
  [[nodiscard]] bool from_outside(Value const& value) const {
    ir::Block const* at = value.defining_op() != nullptr ? value.defining_op()->parent() : value.owner_block();
    while (at != nullptr && at != &loop_.block()) at = at->parent_op() == nullptr ? nullptr : at->parent_op()->parent();
    return at == nullptr;
  }

  [[nodiscard]] std::optional<Sum> sum(Value& value) const {
    if (!is_integer(value.type().element())) return std::nullopt;
    if (value.type().is_scalar()) {
      if (&value == loop_.block().argument(0)) return Sum{0, 0, 1, {}};
      if (auto const number = ir::constant_int(value)) return Sum{*number, *number, 0, {}};
      if (from_outside(value)) return Sum{0, 0, 0, {{&value, 1}}};
    }
    Op const* const op = value.defining_op();
    if (op == nullptr) return std::nullopt;
    if (op->is<ir::ConstantOp>()) {
      std::int64_t const number = ir::to_int(op->as<ir::ConstantOp>().value);
      return Sum{number, number, 0, {}};
    }
    if (op->is<ir::IotaOp>()) return Sum{0, value.type().shape()[op->as<ir::IotaOp>().axis] - 1, 0, {}};
    if (op->is<ir::SplatOp>() || op->is<ir::BroadcastOp>() || op->is<ir::ExpandDimsOp>() || op->is<ir::SqueezeOp>() ||
        op->is<ir::TransOp>() || op->is<ir::ConvertLayoutOp>() ||
        (op->is<ir::CastOp>() && bytes(value.type().element()) >= bytes(op->operand(0)->type().element())))
      return sum(*op->operand(0));
    if (op->is<ir::AddOp>() || op->is<ir::SubOp>()) {
      auto const left = sum(*op->operand(0)), right = sum(*op->operand(1));
      if (!left || !right) return std::nullopt;
      return plus(*left, *right, op->is<ir::AddOp>() ? 1 : -1);
    }
    if (op->is<ir::MulOp>()) {
      for (int i = 0; i < 2; ++i)
        if (auto const factor = ir::constant_int(*op->operand(i)))
          if (auto const other = sum(*op->operand(1 - i))) return plus({}, *other, *factor);
    }
    return std::nullopt;
  }

  Op& loop_;
};

/// Whether the loop goes on where another one stops: the rest of one that was split.
bool continues(Op const& loop) {
  auto const& uses = loop.operand(0)->uses();
  return std::any_of(uses.begin(), uses.end(),
                     [](ir::Use const& use) { return use.user->is<ir::ForOp>() && use.index == 1; });
}

bool split(Op& loop) {
  if (continues(loop)) return false;
  bool dots = false;
  std::vector<std::pair<Op*, Sum>> masks;
  Masks const analysis(loop);
  for (Op& op : loop.block()) {
    dots = dots || op.is<ir::DotOp>();
    if (!op.is<ir::CompareOp>() || !op.result()->type().is_tile()) continue;
    if (auto const condition = analysis.condition(op)) masks.emplace_back(&op, *condition);
  }
  if (!dots || masks.empty()) return false;

  number_fetches(loop);
  ir::Builder builder = ir::Builder::before(loop);
  builder.set_where(loop.where());
  Value* turns = nullptr;
  for (auto const& mask : masks) {
    Value* const count = analysis.count(builder, mask.second);
    turns = turns == nullptr ? count : builder.same(ir::MinOp{}, {turns, count});
  }
  Value *const lower = loop.operand(0), *const upper = loop.operand(1), *const step = loop.operand(2);
  Value* const reached = builder.same(ir::AddOp{}, {lower, builder.same(ir::MulOp{}, {turns, step})});
  Value* const middle = builder.same(ir::MaxOp{}, {lower, builder.same(ir::MinOp{}, {reached, upper})});

  ir::ValueMap map;
  Op& rest = ir::Builder::after(loop).clone(loop, map);
  for (int k = 0; k < loop.result_count(); ++k) {
    loop.result(k)->replace_all_uses_with(*rest.result(k));
    rest.result(k)->set_name(loop.result(k)->name());
    rest.set_operand(3 + k, loop.result(k));
  }
  loop.set_operand(1, middle);
  rest.set_operand(0, middle);
  for (auto const& mask : masks) {
    ir::Builder inside = ir::Builder::before(*mask.first);
    ir::replace(*mask.first, inside.constant(1.0, mask.first->result()->type()));
  }
  return true;
}

}  // namespace

PassResult split_loops(ir::Function& function, AnalysisCache&, PassContext&) {
  if (!function.is_kernel()) return PassResult::unchanged;
  std::vector<Op*> loops;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::ForOp>()) loops.push_back(&op);
  });
  bool changed = false;
  for (Op* loop : loops) changed = split(*loop) || changed;
  return result_of(changed);
}

}  // namespace tegula::transform
