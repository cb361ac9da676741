#include "transform/laid_out/sink_reductions.hpp"

#include <algorithm>
#include <vector>

#include "ir/core/builder.hpp"
#include "ir/values/constant_of.hpp"
#include "ir/infer/infer.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/other_operand.hpp"
#include "ir/core/walk.hpp"
#include "transform/common/carried.hpp"
#include "transform/common/sum_range.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

/// Follows the values through which one sum runs: carried and chosen values, additions, products with another factor,
/// and both in one.
class Sum {
 public:
  explicit Sum(Op& reduce) : first_(reduce) {}

  bool find() {
    if (first_.result()->uses().size() != 1) return false;
    ir::Use const& summed = first_.result()->uses()[0];
    if (!summed.user->is<ir::AddOp>() && !summed.is<ir::FmaOp>("addend")) return false;
    auto const folded = ir::infer(fold(), {first_.operand()->type()});
    if (!folded.ok()) return false;
    folded_ = folded.types.front();
    if (!join(*summed.user->result())) return false;
    bool const carried = std::any_of(values_.begin(), values_.end(), [](Value const* value) {
      return value->owner_block() != nullptr && value->owner_block()->parent_op()->is<ir::ForOp>();
    });
    return carried &&
           std::none_of(exits_.begin(), exits_.end(), [&](ir::Use const& use) { return in_its_loop(*use.user); });
  }

  void rewrite() {
    Type const row = first_.result()->type();
    std::vector<ir::Use> const exits = exits_;
    for (Value* value : values_) value->set_type(folded_);
    for (ir::Use const& use : starts_) {
      ir::Builder builder = ir::Builder::before(*use.user);
      use.user->set_operand(use.index, builder.constant(0.0, folded_));
    }
    for (Op* reduce : reductions_) {
      ir::Builder builder = ir::Builder::before(*reduce);
      builder.set_where(reduce->where());
      ir::replace(*reduce, builder.value(fold(), {reduce->operand()}, folded_));
    }
    for (ir::Use const& use : factors_) {
      ir::Builder builder = ir::Builder::before(*use.user);
      builder.set_where(use.user->where());
      use.user->set_operand(use.index, builder.value(ir::BroadcastOp{}, {use.user->operand(use.index)}, folded_));
    }
    for (ir::Use const& use : exits) {
      ir::Builder builder = ir::Builder::before(*use.user);
      builder.set_where(use.user->where());
      use.user->set_operand(use.index, builder.value(reduction_, {use.user->operand(use.index)}, row));
    }
  }

 private:
  [[nodiscard]] ir::FoldOp fold() const { return ir::make_op<ir::FoldOp>(reduction_.axis, ir::Combine::sum); }
  [[nodiscard]] bool has(Value const& value) const {
    return std::find(values_.begin(), values_.end(), &value) != values_.end();
  }
  [[nodiscard]] static bool multiplies(Op const& op) { return op.is<ir::MulOp>() || op.is<ir::FmaOp>(); }
  /// Tells whether an op is a reduction like the first.
  [[nodiscard]] bool adds(Value const& value) const {
    Op const* const op = value.defining_op();
    return op != nullptr && op->is<ir::ReduceOp>() && value.uses().size() == 1 &&
           op->as<ir::ReduceOp>().axis == reduction_.axis && op->as<ir::ReduceOp>().combine == reduction_.combine &&
           op->as<ir::ReduceOp>().order == reduction_.order && op->operand()->type() == first_.operand()->type();
  }

  /// Adds a value, its operands, and the values that carry it on; false: something else makes it.
  bool join(Value& value) {
    if (has(value)) return true;
    if (value.type() != first_.result()->type()) return false;
    values_.push_back(&value);
    return consists_of_sums(value) && follow(value);
  }

  bool consists_of_sums(Value& value) {
    Op* const op = value.defining_op();
    if (op == nullptr) {
      auto const carry = carry_of(value);
      return carry && join(*carry);
    }
    if (op->is<ir::ForOp>()) return join({ir::Loop(*op), value.index()});
    if (op->is<ir::IfOp>())
      return part({&op->block(0).back(), value.index()}) && part({&op->block(1).back(), value.index()});
    ir::Use const left{op, op->position<ir::BinaryDefaults>("lhs")}, right{op, op->position<ir::BinaryDefaults>("rhs")};
    if (op->is<ir::AddOp>()) return part(left) && part(right);
    if (!multiplies(*op) || (!of_sums(*op->lhs()) && !of_sums(*op->rhs()))) return false;
    bool const sum_on_left = of_sums(*op->lhs());
    factors_.push_back(sum_on_left ? right : left);
    if (op->is<ir::FmaOp>() && !part({op, op->position<ir::FmaOp>("addend")})) return false;
    return part(sum_on_left ? left : right);
  }
  /// Tells whether a factor of a product is the sum: it was met, starts the sum, or is carried.
  [[nodiscard]] bool of_sums(Value const& value) const {
    return has(value) || is_zero(value) ||
           (value.owner_block() != nullptr && value.owner_block()->parent_op() != nullptr);
  }
  /// Follows an operand through which the sum runs.
  bool part(ir::Use const& use) {
    Value& value = *use.user->operand(use.index);
    if (is_zero(value)) {
      starts_.push_back(use);
      return true;
    }
    if (adds(value)) {
      reductions_.push_back(value.defining_op());
      return true;
    }
    return join(value);
  }
  bool join(Carry const& carry) {
    auto const& [loop, k] = carry;
    return join(*loop.carried(k)) && join(*loop.result(k)) && once(loop.init_use(k)) && once(loop.yield_use(k));
  }
  /// Joins the carried value of which this use is the start or the next value.
  bool join_carry(ir::Loop const& loop, ir::Use const& use) { return join({loop, loop.carry_of(use)}); }
  /// Does the same as part, once per operand.
  bool once(ir::Use const& use) {
    if (std::find(seen_.begin(), seen_.end(), use) != seen_.end()) return true;
    seen_.push_back(use);
    return part(use);
  }

  bool follow(Value& value) {
    for (ir::Use const& use : value.uses()) {
      Op& user = *use.user;
      bool good = true;
      if (user.is<ir::ForOp>()) {
        good = join_carry(ir::Loop(user), use);
      } else if (user.is<ir::YieldOp>()) {
        Op& holder = *user.parent_op();
        good = holder.is<ir::ForOp>()  ? join_carry(ir::Loop(holder), use)
               : holder.is<ir::IfOp>() ? join(*holder.result(use.index))
                                       : false;
      } else if (user.is<ir::AddOp>() && adds(*ir::other_operand(user, value))) {
        good = join(*user.result());
      } else if (user.is<ir::FmaOp>() && user.lhs() != user.rhs() && adds(*user.in<ir::FmaOp>("addend"))) {
        good = join(*user.result());
      } else if (user.is<ir::MulOp>() && user.lhs() != user.rhs() && leads_on(*user.result())) {
        good = join(*user.result());
      } else {
        exits_.push_back(use);
      }
      if (!good) return false;
    }
    return true;
  }
  /// Returns whether an add takes the product and leads on to the carried sum.
  [[nodiscard]] bool leads_on(Value const& product) const {
    auto const& uses = product.uses();
    return std::any_of(uses.begin(), uses.end(), [&](ir::Use const& use) {
      return use.user->is<ir::AddOp>() && adds(*ir::other_operand(*use.user, product));
    });
  }

  [[nodiscard]] bool in_its_loop(Op const& op) const {
    for (Op const* at = op.parent_op(); at != nullptr; at = at->parent_op())
      if (at->is<ir::ForOp>() && std::any_of(values_.begin(), values_.end(),
                                             [&](Value const* value) { return value->owner_block() == &at->block(); }))
        return true;
    return false;
  }

  Op& first_;
  ir::ReduceOp const reduction_ = first_.as<ir::ReduceOp>();
  Type folded_;
  std::vector<Value*> values_;
  std::vector<Op*> reductions_;
  std::vector<ir::Use> starts_, factors_, exits_, seen_;
};

}  // namespace

PassResult sink_reductions(ir::Function& function, PassContext& context) {
  if (!function.is_kernel() || context.options.exact) return PassResult::unchanged;
  bool changed = false;
  for (bool again = true; again;) {
    again = false;
    std::vector<Op*> reductions;
    ir::walk(function, [&](Op& op) {
      if (op.is<ir::ReduceOp>() && op.as<ir::ReduceOp>().combine == ir::Combine::sum &&
          op.as<ir::ReduceOp>().order == ir::Order::any && has_range(op.result()->type().element()))
        reductions.push_back(&op);
    });
    for (Op* reduce : reductions) {
      Sum sum(*reduce);
      if (!sum.find()) continue;
      sum.rewrite();
      again = changed = true;
      break;
    }
  }
  return result_of(changed);
}

}  // namespace tegula::transform
