#include "transform/lag_references.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "ir/builder.hpp"
#include "ir/walk.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Value;

constexpr std::int64_t slack_of_powers_of_2 = 8;
constexpr std::int64_t slack_of_powers_of_e = 5;

bool is_constant(Value const& value, double number) {
  Op const* const op = value.defining_op();
  return op != nullptr && op->is<ir::ConstantOp>() && ir::to_double(op->as<ir::ConstantOp>().value) == number;
}

bool reshapes(Op const& op) {
  return op.is<ir::BroadcastOp>() || op.is<ir::ExpandDimsOp>() || op.is<ir::SqueezeOp>() || op.is<ir::TransOp>();
}

/// One loop-carried maximum and everything that follows it.
class Reference {
 public:
  explicit Reference(Op& max) : max_(max), loop_(*max.parent_op()) {}

  /// The slack that the loop allows; 0: none.
  std::int64_t slack() {
    if (!find_carried() || !follow_reference() || weights_.empty()) return 0;
    for (Value* weight : weights_)
      if (!follow(*weight)) return 0;
    // What follows the reference is scaled by the factor wherever the loop hands it on.
    for (int k : carried_)
      if (!scaled_everywhere(k) || !only_quotients(*loop_.result(k))) return 0;
    return natural_ ? slack_of_powers_of_e : slack_of_powers_of_2;
  }

 private:
  [[nodiscard]] Value* argument(int k) const { return loop_.block().argument(k + 1); }

  bool find_carried() {
    for (int i = 0; i < 2; ++i) {
      Value* const value = max_.operand(i);
      if (value->owner_block() != max_.parent() || value->index() == 0) continue;
      int const k = value->index() - 1;
      if (loop_.block().back().operand(k) != max_.result() || !is_constant(*loop_.operand(k + 3), -INFINITY) ||
          !loop_.result(k)->unused())
        continue;
      before_ = value;
      return true;
    }
    return false;
  }

  /// The old reference only meets the new one; the new one is only taken from exponents.
  bool follow_reference() {
    for (ir::Use const& use : before_->uses()) {
      if (use.user == &max_) continue;
      if (!use.user->is<ir::SubOp>() || use.index != 0 || use.user->operand(1) != max_.result()) return false;
      for (ir::Use const& power : use.user->result()->uses()) {
        if (!is_power(*power.user)) return false;
        factors_.insert(power.user->result());
      }
    }
    return subtracted(*max_.result());
  }
  bool subtracted(Value const& reference) {
    for (ir::Use const& use : reference.uses()) {
      Op& user = *use.user;
      if (&user == &loop_.block().back() || (user.is<ir::SubOp>() && user.operand(0) == before_)) continue;
      if (reshapes(user)) {
        if (!subtracted(*user.result())) return false;
        continue;
      }
      if (!user.is<ir::SubOp>() || use.index != 1) return false;
      for (ir::Use const& power : user.result()->uses()) {
        if (!is_power(*power.user)) return false;
        weights_.push_back(power.user->result());
      }
    }
    return true;
  }
  bool is_power(Op const& op) {
    bool const natural = op.is<ir::ExpOp>();
    if (!natural && !op.is<ir::Exp2Op>()) return false;
    natural_ = natural_ || natural;
    return true;
  }

  /// Whether all that is made of a value that follows the reference follows it, too.
  bool follow(Value& value) {
    if (!following_.insert(&value).second) return true;
    return std::all_of(value.uses().begin(), value.uses().end(), [&](ir::Use const& use) {
      Op& user = *use.user;
      if (&user == &loop_.block().back()) {
        carried_.insert(use.index);
        return is_constant(*loop_.operand(use.index + 3), 0) && follow_carried(use.index);
      }
      bool const linear = reshapes(user) || (user.is<ir::CastOp>() && is_float(user.result()->type().element())) ||
                          user.is<ir::AddOp>() || (user.is<ir::DotOp>() && use.index != 1) ||
                          (user.is<ir::ReduceOp>() && user.as<ir::ReduceOp>().combine == ir::Combine::sum);
      return user.parent() == max_.parent() && linear && follow(*user.result());
    });
  }
  /// What was carried follows the old reference until it is multiplied by the factor.
  bool follow_carried(int k) {
    Value& value = *argument(k);
    return std::all_of(value.uses().begin(), value.uses().end(), [&](ir::Use const& use) {
      if (!use.user->is<ir::MulOp>() || use.user->parent() != max_.parent()) return false;
      Value const* factor = use.user->operand(1 - use.index);
      while (factor->defining_op() != nullptr && reshapes(*factor->defining_op()))
        factor = factor->defining_op()->operand(0);
      return factors_.contains(factor) && follow(*use.user->result());
    });
  }
  /// Both sides of every sum that leads to what is handed on follow the reference.
  bool scaled_everywhere(int k) const { return follows(*loop_.block().back().operand(k)); }
  bool follows(Value const& value) const {
    Op const* const op = value.defining_op();
    if (op == nullptr || !following_.contains(&value)) return false;
    if (op->is<ir::AddOp>()) return follows(*op->operand(0)) && follows(*op->operand(1));
    if (op->is<ir::DotOp>())
      return follows(*op->operand(0)) && (follows(*op->operand(2)) || is_constant(*op->operand(2), 0));
    if (op->is<ir::MulOp>() || op->is<ir::ExpOp>() || op->is<ir::Exp2Op>()) return true;
    return follows(*op->operand(0));
  }

  /// Outside the loop only quotients of two such values are taken.
  bool only_quotients(Value const& value) const {
    return std::all_of(value.uses().begin(), value.uses().end(), [&](ir::Use const& use) {
      if (reshapes(*use.user)) return only_quotients(*use.user->result());
      return use.user->is<ir::DivOp>() && is_result(*use.user->operand(1 - use.index));
    });
  }
  bool is_result(Value const& value) const {
    Op const* const op = value.defining_op();
    if (op == &loop_) return carried_.contains(value.index());
    return op != nullptr && reshapes(*op) && is_result(*op->operand(0));
  }

  Op& max_;
  Op& loop_;
  Value* before_ = nullptr;           ///< the reference of the iteration before
  std::set<Value const*> factors_;    ///< powers of old - new
  std::vector<Value*> weights_;       ///< powers of something - new
  std::set<Value const*> following_;  ///< multiples of 2^-new
  std::set<int> carried_;             ///< which carried values are such
  bool natural_ = false;
};

}  // namespace

PassResult lag_references(ir::Function& function, AnalysisCache&, PassContext& context) {
  if (!function.is_kernel() || context.options.exact) return PassResult::unchanged;
  bool changed = false;
  ir::walk(function, [&](Op& op) {
    if (!op.is<ir::MaxOp>() || !op.result()->type().is_tile() || op.as<ir::MaxOp>().slack != 0 ||
        op.parent_op() == nullptr || !op.parent_op()->is<ir::ForOp>())
      return;
    op.as<ir::MaxOp>().slack = Reference(op).slack();
    changed = changed || op.as<ir::MaxOp>().slack != 0;
  });
  return result_of(changed);
}

}  // namespace tegula::transform
