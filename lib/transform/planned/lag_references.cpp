#include "transform/planned/lag_references.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/core/builder.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/other_operand.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/source.hpp"
#include "ir/values/constant_of.hpp"
#include "transform/common/sum_range.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Value;

constexpr std::int64_t slack_of_powers_of_2 = 8;
constexpr std::int64_t slack_of_powers_of_e = 5;

/// Names how a value depends on the reference. b is the base of the powers, r0 the previous iteration's reference, r
/// this iteration's:
enum class Role : std::uint8_t {
  before,        ///< r0
  reference,     ///< r
  exponent,      ///< something - r
  fall,          ///< r0 - r
  factor,        ///< b^(r0 - r)
  weight,        ///< b^(something - r)
  multiple,      ///< a sum of multiples of weights: it is proportional to b^-r
  old_multiple,  ///< a carried multiple before it meets the factor: proportional to b^-r0
};

/// Describes the role of a value, and which axis of the reference each of its axes follows. -1: none, every element of
/// that axis has the same reference.
struct Dependence {
  Role role = Role::reference;
  std::vector<int> axes;
  bool bounded = false;  ///< a weight that the maximum keeps at or below 1
};

bool is_multiple(Dependence const& dependence) {
  return dependence.role == Role::weight || dependence.role == Role::multiple;
}

/// Returns the axes of a relabelled value.
std::vector<int> relabelled(Op const& op, std::vector<int> const& axes) {
  ir::Source const source = ir::source(op);
  std::vector<int> result;
  for (int axis = 0; axis < op.result()->type().rank(); ++axis) {
    int const from = ir::operand_axis(source.parts[0], axis);
    result.push_back(from < 0 ? -1 : axes[static_cast<std::size_t>(from)]);
  }
  return result;
}

/// Describes one loop-carried maximum and everything that depends on it. Every use of a value that depends on it must
/// have a rule here, which says how the result depends on it.
class Reference {
 public:
  explicit Reference(Op& max) : max_(max), loop_(*max.parent_op()) {}

  /// Returns the slack that the loop allows; 0: none.
  std::int64_t slack() {
    Element const element = max_.result()->type().element();
    if ((element != Element::f32 && element != Element::f64) || !find_carried()) return 0;
    for (Op& op : loop_.body())
      if (!op.info().has(ir::terminator) && !take(op)) return 0;
    if (!hands_on() || !every_use_has_a_rule() || !natural_) return 0;
    for (int const k : carried_)
      if (!cancels(*loop_.result(k), known_.at(loop_.yielded(k)).axes)) return 0;
    if (!only_logarithms(*loop_.result(carry_), before().axes)) return 0;
    return *natural_ ? slack_of_powers_of_e : slack_of_powers_of_2;
  }

 private:
  [[nodiscard]] Dependence const* of(Value const& value) const {
    auto const found = known_.find(&value);
    return found == known_.end() ? nullptr : &found->second;
  }

  bool find_carried() {
    for (Value const* value : max_.operands()) {
      int const k = loop_.carry_of(*value);
      if (k < 0 || loop_.yielded(k) != max_.result() || !ir::constant_of(*loop_.init(k))) continue;
      carry_ = k;
      top_ = ir::other_operand(max_, *value);
      std::vector<int> axes;
      auto const& shape = value->type().shape();
      for (int axis = 0; axis < shape.size(); ++axis) axes.push_back(shape[axis] == 1 ? -1 : axis);
      known_[value] = {Role::before, axes};
      return true;
    }
    return false;
  }

  /// Finds out how an op's result depends on the reference; false: there is no rule for it.
  bool take(Op& op) {
    bool const concerned = std::any_of(op.operands().begin(), op.operands().end(),
                                       [&](Value const* operand) { return of(*operand) != nullptr; });
    if (!concerned) return true;
    std::optional<Dependence> const result = dependence(op);
    if (!result) return false;
    ruled_.insert(&op);
    known_[op.result()] = *result;
    return true;
  }

  std::optional<Dependence> dependence(Op& op) {
    if (&op == &max_)
      return of(*top_) == nullptr ? std::optional(Dependence{Role::reference, before().axes}) : std::nullopt;
    if (ir::relabels_tile(op)) {
      Dependence result = *of(*op.operand());
      result.axes = relabelled(op, result.axes);
      return result;
    }
    if (op.is<ir::SubOp>()) return difference(op);
    if (op.is<ir::ExpOp>() || op.is<ir::Exp2Op>()) return power(op);
    if (op.is<ir::MulOp>()) return rescaled(op);
    if (op.is<ir::FmaOp>()) return rescaled_sum(op);
    if (op.is<ir::CastOp>()) return cast(op);
    if (op.is<ir::AddOp>()) return sum(op);
    if (op.is<ir::DotOp>()) return product(op);
    if (op.is<ir::ReduceOp>()) return reduced(op);
    return std::nullopt;
  }
  [[nodiscard]] Dependence const& before() const { return known_.at(loop_.carried(carry_)); }

  [[nodiscard]] std::optional<Dependence> difference(Op const& op) const {
    Dependence const *const left = of(*op.lhs()), *const right = of(*op.rhs());
    if (right == nullptr || right->role != Role::reference) return std::nullopt;
    if (left == nullptr) return Dependence{Role::exponent, right->axes, bounds(*op.lhs(), right->axes)};
    if (left->role != Role::before || left->axes != right->axes) return std::nullopt;
    return Dependence{Role::fall, right->axes};
  }
  /// Tells whether the maximum is at least as large as each of the scores.
  [[nodiscard]] bool bounds(Value const& scores, std::vector<int> const& axes) const {
    Op const* op = top_->defining_op();
    std::vector<Op const*> way;
    while (op != nullptr && ir::relabels_tile(*op) && !ir::repeats(*op)) {
      way.push_back(op);
      op = op->operand()->defining_op();
    }
    if (op == nullptr || !op->is<ir::ReduceOp>() || op->as<ir::ReduceOp>().combine != ir::Combine::max ||
        op->operand() != &scores)
      return false;
    // The reduced axis has one reference, the others have each element's own.
    std::vector<int> places;
    for (int axis = 0; axis < op->result()->type().rank(); ++axis)
      places.push_back(op->result()->type().shape()[axis] == 1 ? -1 : axis);
    std::vector<int> of_reference = places;
    for (auto at = way.rbegin(); at != way.rend(); ++at) of_reference = relabelled(**at, of_reference);
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      int const followed = axes[axis] < 0 ? -1 : of_reference[static_cast<std::size_t>(axes[axis])];
      if (followed != places[axis]) return false;
    }
    return true;
  }

  std::optional<Dependence> power(Op const& op) {
    Dependence const& exponent = *of(*op.operand());
    if (exponent.role != Role::exponent && exponent.role != Role::fall) return std::nullopt;
    bool const natural = op.is<ir::ExpOp>();
    if (natural_.value_or(natural) != natural) return std::nullopt;
    natural_ = natural;
    return Dependence{exponent.role == Role::fall ? Role::factor : Role::weight, exponent.axes, exponent.bounded};
  }

  /// Returns a carried value times the factor: the product of the first two operands.
  std::optional<Dependence> rescaled(Op const& op) {
    for (Value const* side : {op.lhs(), op.rhs()}) {
      Dependence const* const factor = of(*side);
      Value const& carried = *ir::other_operand(op, *side);
      int const k = loop_.carry_of(carried);
      if (factor == nullptr || factor->role != Role::factor || k < 0 || k == carry_) continue;
      Dependence const old{Role::old_multiple, factor->axes};
      auto const [at, first] = known_.try_emplace(&carried, old);
      if (!first && (at->second.role != old.role || at->second.axes != old.axes)) return std::nullopt;
      return result_of_sum(op, factor->axes);
    }
    return std::nullopt;
  }

  /// Returns the sum of a carried value times the factor and a multiple of the same powers.
  std::optional<Dependence> rescaled_sum(Op const& op) {
    Value const& addend = *op.in<ir::FmaOp>("addend");
    std::optional<Dependence> const product = rescaled(op);
    if (!product) return std::nullopt;
    Dependence const* const other = of(addend);
    bool const alike = other != nullptr ? is_multiple(*other) && other->axes == product->axes : is_constant(addend, 0);
    return alike ? product : std::nullopt;
  }

  [[nodiscard]] std::optional<Dependence> cast(Op const& op) const {
    Dependence result = *of(*op.operand());
    Element const to = op.result()->type().element();
    if (!is_multiple(result) || !is_float(to)) return std::nullopt;
    bool const fits = has_range(to) || (result.role == Role::weight && result.bounded);  // 2^8 and e^5 fit all floats
    return fits ? std::optional(result) : std::nullopt;
  }
  static std::optional<Dependence> result_of_sum(Op const& op, std::vector<int> axes) {
    if (!has_range(op.result()->type().element())) return std::nullopt;
    return Dependence{Role::multiple, std::move(axes)};
  }
  /// Returns the sum of multiples of the same powers; a zero is one of any.
  [[nodiscard]] std::optional<Dependence> sum(Op const& op) const {
    std::vector<int> const* axes = nullptr;
    for (Value const* operand : op.operands()) {
      Dependence const* const side = of(*operand);
      if (side == nullptr && is_constant(*operand, 0)) continue;
      if (side == nullptr || !is_multiple(*side) || (axes != nullptr && *axes != side->axes)) return std::nullopt;
      axes = &side->axes;
    }
    return axes == nullptr ? std::nullopt : result_of_sum(op, *axes);
  }
  /// Rows of a product are sums of multiples where each has one reference.
  [[nodiscard]] std::optional<Dependence> product(Op const& op) const {
    Value const& accumulator = *op.in<ir::DotOp>("accumulator");
    Dependence const *const rows = of(*op.lhs()), *const sums = of(accumulator);
    if (of(*op.rhs()) != nullptr || rows == nullptr || !is_multiple(*rows) || rows->axes[1] >= 0) return std::nullopt;
    bool const alike = sums != nullptr ? is_multiple(*sums) && sums->axes == rows->axes : is_constant(accumulator, 0);
    return alike ? result_of_sum(op, rows->axes) : std::nullopt;
  }
  [[nodiscard]] std::optional<Dependence> reduced(Op const& op) const {
    Dependence const& all = *of(*op.operand());
    auto const& reduce = op.as<ir::ReduceOp>();
    if (!is_multiple(all) || reduce.combine != ir::Combine::sum || all.axes[static_cast<std::size_t>(reduce.axis)] >= 0)
      return std::nullopt;
    return result_of_sum(op, all.axes);
  }

  /// Checks that the loop hands on the reference in its place, and multiples where they are expected. An iteration
  /// multiplies the ones that it reads by the factor.
  bool hands_on() {
    for (int k = 0; k < loop_.count(); ++k) {
      Dependence const* const next = of(*loop_.yielded(k));
      Dependence const* const read = of(*loop_.carried(k));
      if (k == carry_) continue;
      if (next == nullptr && read == nullptr) continue;
      if (next == nullptr || !is_multiple(*next) || !is_constant(*loop_.init(k), 0)) return false;
      if (read == nullptr ? !loop_.carried(k)->unused() : read->axes != next->axes) return false;
      carried_.insert(k);
    }
    return !carried_.empty();
  }
  [[nodiscard]] bool every_use_has_a_rule() const {
    return std::all_of(known_.begin(), known_.end(), [&](auto const& entry) {
      return std::all_of(entry.first->uses().begin(), entry.first->uses().end(), [&](ir::Use const& use) {
        if (use.user != &loop_.yield()) return ruled_.contains(use.user);
        int const k = loop_.carry_of(use);
        return k == carry_ ? entry.first == max_.result() : carried_.contains(k);
      });
    });
  }

  /// Tells whether, after the loop, a multiple is only divided by another one of the same powers, compared with 0, or
  /// its logarithm added to the reference.
  bool cancels(Value const& value, std::vector<int> const& axes) const {
    return std::all_of(value.uses().begin(), value.uses().end(), [&](ir::Use const& use) {
      Op const& user = *use.user;
      if (ir::relabels_tile(user)) return cancels(*user.result(), relabelled(user, axes));
      if (user.is<ir::CompareOp>()) return is_constant(*ir::other_operand(user, value), 0);
      if (takes_logarithm(user)) return meets_reference(*user.result(), axes);
      return user.is<ir::DivOp>() && result_axes(*ir::other_operand(user, value)) == axes;
    });
  }
  [[nodiscard]] bool takes_logarithm(Op const& op) const {
    return *natural_ ? op.is<ir::LogOp>() : op.is<ir::Log2Op>();
  }
  /// Tells whether a logarithm is only added to the reference of the same elements.
  bool meets_reference(Value const& logarithm, std::vector<int> const& axes) const {
    return std::all_of(logarithm.uses().begin(), logarithm.uses().end(), [&](ir::Use const& use) {
      Op const& user = *use.user;
      if (ir::relabels_tile(user)) return meets_reference(*user.result(), relabelled(user, axes));
      return user.is<ir::AddOp>() && reference_axes(*ir::other_operand(user, logarithm)) == axes;
    });
  }
  /// Tells whether, after the loop, the reference is only added to logarithms of multiples.
  bool only_logarithms(Value const& reference, std::vector<int> const& axes) const {
    return std::all_of(reference.uses().begin(), reference.uses().end(), [&](ir::Use const& use) {
      Op const& user = *use.user;
      if (ir::relabels_tile(user)) return only_logarithms(*user.result(), relabelled(user, axes));
      return user.is<ir::AddOp>() && logarithm_axes(*ir::other_operand(user, reference)) == axes;
    });
  }
  /// Returns the axes of the reference that the loop returns.
  [[nodiscard]] std::optional<std::vector<int>> reference_axes(Value const& value) const {
    Op const* const op = value.defining_op();
    if (op == &loop_.op() && value.index() == carry_) return before().axes;
    if (op == nullptr || !ir::relabels_tile(*op)) return std::nullopt;
    auto const axes = reference_axes(*op->operand());
    return axes ? std::optional(relabelled(*op, *axes)) : std::nullopt;
  }
  /// Returns the axes of a multiple's logarithm.
  [[nodiscard]] std::optional<std::vector<int>> logarithm_axes(Value const& value) const {
    Op const* const op = value.defining_op();
    if (op == nullptr) return std::nullopt;
    if (takes_logarithm(*op)) return result_axes(*op->operand());
    if (!ir::relabels_tile(*op)) return std::nullopt;
    auto const axes = logarithm_axes(*op->operand());
    return axes ? std::optional(relabelled(*op, *axes)) : std::nullopt;
  }
  /// Returns the axes of a multiple that the loop returns.
  [[nodiscard]] std::optional<std::vector<int>> result_axes(Value const& value) const {
    Op const* const op = value.defining_op();
    if (op == nullptr) return std::nullopt;
    if (op == &loop_.op()) {
      if (!carried_.contains(value.index())) return std::nullopt;
      return known_.at(loop_.yielded(value.index())).axes;
    }
    if (!ir::relabels_tile(*op)) return std::nullopt;
    auto const axes = result_axes(*op->operand());
    return axes ? std::optional(relabelled(*op, *axes)) : std::nullopt;
  }

  Op& max_;
  ir::Loop loop_;
  int carry_ = -1;        ///< where the loop carries the reference
  Value* top_ = nullptr;  ///< the other side of the maximum
  std::map<Value const*, Dependence> known_;
  std::set<Op const*> ruled_;    ///< users for which there was a rule
  std::set<int> carried_;        ///< which carried values are multiples
  std::optional<bool> natural_;  ///< powers of e, not of 2
};

}  // namespace

PassResult lag_references(ir::Function& function, PassContext& context) {
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
