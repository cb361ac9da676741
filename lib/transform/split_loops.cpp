#include "transform/split_loops.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/coordinate_sums.hpp"
#include "ir/builder.hpp"
#include "ir/rewrite.hpp"
#include "ir/walk.hpp"
#include "transform/fetches.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Value;
using Sum = analysis::CoordinateSum;

/// The iterations of one loop that a mask leaves alone.
class Masks {
 public:
  explicit Masks(Op& loop) : loop_(loop) {}

  /// The sum that the comparison asks about; nothing when that does not grow with the index.
  [[nodiscard]] std::optional<Sum> condition(Op const& compare) const {
    auto const sum = analysis::compared_sum(
        compare, {loop_.block().argument(0), [&](Value const& value) { return from_outside(value); }});
    return sum && sum->factor > 0 ? sum : std::nullopt;
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
