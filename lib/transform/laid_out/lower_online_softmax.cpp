#include "transform/laid_out/lower_online_softmax.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/core/builder.hpp"
#include "ir/infer/infer.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/other_operand.hpp"
#include "ir/core/walk.hpp"
#include "transform/common/carried.hpp"
#include "transform/common/ring_lifetimes.hpp"

namespace tegula::transform {
namespace {

using ir::Constant;
using ir::Loop;
using ir::Op;
using ir::Type;
using ir::Value;

Op* only_user(Value const& value) { return value.uses().size() == 1 ? value.uses()[0].user : nullptr; }

/// True if the loop whose body holds the op carries the value.
bool is_carried(Value const& value, Op const& op) { return value.owner_block() == op.parent() && carry_of(value); }

Value* compared(ir::Builder& builder, ir::Predicate predicate, Value* left, Value* right) {
  Type type = left->type();
  type = type.is_tile() ? Type::tile(Element::boolean, type.shape(), type.layout()) : Type::scalar(Element::boolean);
  return builder.value(ir::make_op<ir::CompareOp>(predicate), {left, right}, type);
}

/// Returns the differences between `scores` and the same for each row. Empty: there are none, or something else than
/// they and the maximum sees the scores.
std::vector<Op*> exponents_of(Value const& scores, Op const& maximum) {
  std::vector<Op*> exponents;
  for (ir::Use const& use : scores.uses()) {
    if (use.user == &maximum) continue;
    if (!use.is<ir::SubOp>("lhs") || use.user->rhs()->defined_by<ir::BroadcastOp>() == nullptr) return {};
    exponents.push_back(use.user);
  }
  return exponents;
}

/// Describes a tile of which one factor multiplies every element.
struct Scaled {
  Value* unscaled = nullptr;
  Value* factor = nullptr;  ///< a scalar
};

std::optional<Scaled> scaled_by_one(Value const& value) {
  Op const* const product = value.defined_by<ir::MulOp>();
  if (product == nullptr) return std::nullopt;
  for (Value const* side : product->operands())
    if (Op const* const splat = side->defined_by<ir::SplatOp>())
      return Scaled{ir::other_operand(*product, *side), splat->operand()};
  return std::nullopt;
}

/// Masks of scores that one factor multiplies.
struct Masks {
  std::vector<Value*> visible;  ///< outermost first
  Scaled scores;
};

bool is_lowest(Value const& value) {
  Op const* const op = value.defined_by<ir::ConstantOp>();
  return op != nullptr && ir::to_double(op->as<ir::ConstantOp>().value) == -std::numeric_limits<double>::infinity();
}

std::optional<Masks> masks_of(Value const& source) {
  Masks masks;
  Value const* at = &source;
  for (; at->defined_by<ir::SelectOp>() != nullptr; at = at->defining_op()->lhs()) {
    Op const& mask = *at->defining_op();
    if (!is_lowest(*mask.rhs()) || (at != &source && only_user(*at) == nullptr)) return std::nullopt;
    masks.visible.push_back(mask.in<ir::SelectOp>("condition"));
  }
  auto const scores = scaled_by_one(*at);
  if (masks.visible.empty() || !scores || only_user(*at) == nullptr) return std::nullopt;
  masks.scores = *scores;
  return masks;
}

/// Moves masks ahead of the scales of scores: select(visible, x * c, -inf) becomes select(visible, x, h) * f. Here f is
/// c, or 2^-126 for a c of 0, and h the infinity that f makes -inf.
class Scales {
 public:
  /// Tells whether there were masks.
  bool move_masks(Op& reduce) {
    Value const& source = *reduce.in<ir::ReduceOp>("tile");
    auto const masks = masks_of(source);
    Type const tile = source.type();
    if (!masks || exponents_of(source, reduce).empty() || tile.element() != Element::f32) return false;
    Scale const scale = replaced(*masks->scores.factor);
    Op& select = *source.defining_op();
    ir::Builder builder = ir::Builder::before(select);
    builder.set_where(select.where());
    Value* const hidden = builder.value(ir::SplatOp{}, {scale.hidden}, tile);
    Value* seen = masks->scores.unscaled;
    for (std::size_t i = masks->visible.size(); i-- > 0;)
      seen = builder.value(ir::SelectOp{}, {masks->visible[i], seen, hidden}, tile);
    ir::replace(select, builder.same(ir::MulOp{}, {seen, builder.value(ir::SplatOp{}, {scale.factor}, tile)}));
    return true;
  }

  /// Returns the value that replaces a scale; the scale itself if no mask replaces it.
  [[nodiscard]] Value* in_place_of(Value* factor) const {
    auto const found = scales_.find(factor);
    return found == scales_.end() ? factor : found->second.factor;
  }

 private:
  struct Scale {
    Value* factor = nullptr;
    Value* hidden = nullptr;
  };

  Scale replaced(Value& factor) {
    if (auto const found = scales_.find(&factor); found != scales_.end()) return found->second;
    Op* const producer = factor.defining_op();
    ir::Builder builder =
        producer != nullptr ? ir::Builder::after(*producer) : ir::Builder::before(factor.owner_block()->front());
    Type const scalar = factor.type();
    auto const number = [&](double value) { return builder.constant(value, scalar); };
    double constexpr infinity = std::numeric_limits<double>::infinity();
    Value* const zero = number(0);
    Value* const is_zero = compared(builder, ir::Predicate::eq, &factor, zero);
    Value* const negative = compared(builder, ir::Predicate::lt, &factor, zero);
    Value* const min = number(std::numeric_limits<float>::min());
    Value *const up = number(infinity), *const down = number(-infinity);
    return scales_[&factor] = {builder.value(ir::SelectOp{}, {is_zero, min, &factor}, scalar),
                               builder.value(ir::SelectOp{}, {negative, up, down}, scalar)};
  }

  std::map<Value*, Scale> scales_;
};

/// Describes one maximum over an axis of registers and lanes.
class Maximum {
 public:
  Maximum(Op& reduce, Scales const& scales, bool exact)
      : reduce_(reduce), source_(*reduce.in<ir::ReduceOp>("tile")), scales_(scales), exact_(exact) {}

  bool rewrite() {
    auto const folded = ir::infer(fold(ir::Combine::max), {source_.type()});
    if (!folded.ok()) return false;
    folded_ = folded.types.front();
    bool const scale = find_scale();
    bool const running = find_running();
    if (!scale && !running) return false;
    ir::Builder builder = ir::Builder::before(reduce_);
    builder.set_where(reduce_.where());
    Value* const max =
        scale ? scaled(builder, ir::Combine::max) : builder.value(fold(ir::Combine::max), {&source_}, folded_);
    Value* const negative =
        scale ? compared(builder, ir::Predicate::lt, factor_, builder.constant(0.0, factor_->type())) : nullptr;
    if (running)
      test_first(builder, max, negative);
    else
      ir::replace(reduce_, across_lanes(builder, max, negative));
    if (scale) into_exponents();
    return true;
  }

 private:
  [[nodiscard]] ir::FoldOp fold(ir::Combine combine) const {
    return ir::make_op<ir::FoldOp>(reduce_.as<ir::ReduceOp>().axis, combine);
  }

  /// Finds the factor if the source is a tile times one, and besides this maximum only exponents see it.
  bool find_scale() {
    auto const scores = scaled_by_one(source_);
    exponents_ = exponents_of(source_, reduce_);
    if (exact_ || !scores || exponents_.empty()) return false;
    factor_ = scales_.in_place_of(scores->factor);
    unscaled_ = scores->unscaled;
    return true;
  }

  Value* scaled(ir::Builder& builder, ir::Combine combine) const {
    Value* const max = builder.value(fold(combine), {unscaled_}, folded_);
    return builder.same(ir::MulOp{}, {max, builder.value(ir::SplatOp{}, {factor_}, folded_)});
  }

  /// Returns the row's maximum from each lane's own, which with a negative factor is the least element's.
  Value* across_lanes(ir::Builder& builder, Value* max, Value* negative) const {
    if (negative != nullptr) {
      Op& branch = builder.op(ir::IfOp{}, {negative}, {folded_});
      ir::Builder then(branch.add_block());
      then.set_where(reduce_.where());
      then.op(ir::YieldOp{}, {scaled(then, ir::Combine::min)}, {});
      ir::Builder(branch.add_block()).op(ir::YieldOp{}, {max}, {});
      max = branch.result();
    }
    return builder.value(reduce_.as<ir::ReduceOp>(), {max}, reduce_.result()->type());
  }

  /// Writes x * c - m as fma(x, c, -m).
  void into_exponents() const {
    for (Op* difference : exponents_) {
      Op const& wide = *difference->rhs()->defining_op();
      ir::Builder builder = ir::Builder::before(*difference);
      builder.set_where(difference->where());
      Value* const less = builder.same(ir::NegOp{}, {wide.in<ir::BroadcastOp>("tile")});
      Value* const less_wide = builder.value(ir::BroadcastOp{}, {less}, wide.result()->type());
      Value* const factor = builder.value(ir::SplatOp{}, {factor_}, unscaled_->type());
      ir::replace(*difference,
                  builder.same(ir::make_op<ir::FmaOp>(ir::Licence::scale_in_exponent), {unscaled_, factor, less_wide}));
    }
  }

  /// Finds max(carried, this maximum), and exp2(carried - that).
  bool find_running() {
    max_ = only_user(*reduce_.result());
    if (max_ == nullptr || !max_->is<ir::MaxOp>() || max_->parent() != reduce_.parent()) return false;
    before_ = ir::other_operand(*max_, *reduce_.result());
    if (!is_carried(*before_, reduce_)) return false;
    for (ir::Use const& use : before_->uses())
      if (use.is<ir::SubOp>("lhs") && use.user->rhs() == max_->result())
        if (Op* const power = only_user(*use.user->result()); power != nullptr && power->is<ir::Exp2Op>()) {
          fall_ = use.user;
          power_ = power;
        }
    return true;
  }

  /// Tells where the maximum may not be kept, or the factor is not 1. The plain test asks whether the maximum grows. It
  /// keeps a row without scores so far, whose factor is exp2(-inf - -inf), a NaN. The whole test keeps numbers only.
  Value* outgrown(ir::Builder& builder, Value* max, Value* known) const {
    if (!exact_ && power_ != nullptr) return compared(builder, ir::Predicate::gt, max, known);
    Value* kept = compared(builder, ir::Predicate::le, max, known);
    if (power_ != nullptr) {
      Value* const infinite = builder.constant(std::numeric_limits<double>::infinity(), known->type());
      Value* const size = builder.same(ir::AbsOp{}, {known});
      kept = builder.same(ir::AndOp{}, {kept, compared(builder, ir::Predicate::lt, size, infinite)});
    }
    return builder.same(ir::NotOp{}, {kept});
  }

  void test_first(ir::Builder& builder, Value* max, Value* negative) {
    Value* allowed = before_;
    if (std::int64_t const slack = max_->as<ir::MaxOp>().slack; slack != 0)
      allowed = builder.same(ir::AddOp{}, {before_, builder.constant(static_cast<double>(slack), before_->type())});
    Value* const known = builder.value(ir::BroadcastOp{}, {allowed}, folded_);
    Value* grows = builder.value(ir::VoteOp{}, {outgrown(builder, max, known)}, Type::scalar(Element::boolean));
    if (negative != nullptr) grows = builder.same(ir::OrOp{}, {grows, negative});
    Type const row = max_->result()->type();
    std::vector<Type> const types(power_ != nullptr ? 2 : 1, row);
    Op& branch = builder.op(ir::IfOp{}, {grows}, types);
    ir::Builder then(branch.add_block());
    then.set_where(reduce_.where());
    ir::ValueMap map;
    map[reduce_.result()] = across_lanes(then, max, negative);
    std::vector<Value*> grown = {then.clone(*max_, map).result()};
    ir::Builder otherwise(branch.add_block());
    std::vector<Value*> kept = {before_};
    if (power_ != nullptr) {
      then.clone(*fall_, map);
      grown.push_back(then.clone(*power_, map).result());
      kept.push_back(otherwise.constant(1.0, row));
    }
    then.op(ir::YieldOp{}, grown, {});
    otherwise.op(ir::YieldOp{}, kept, {});
    if (power_ != nullptr) {
      ir::replace(*power_, branch.result(1));
      fall_->erase();
    }
    ir::replace(*max_, branch.result(0));
    reduce_.erase();
  }

  Op& reduce_;
  Value& source_;
  Scales const& scales_;
  bool exact_;
  Type folded_;
  Value* factor_ = nullptr;  ///< by which every element of `unscaled_` is multiplied
  Value* unscaled_ = nullptr;
  std::vector<Op*> exponents_;
  Op* max_ = nullptr;
  Value* before_ = nullptr;
  Op *fall_ = nullptr, *power_ = nullptr;
};

/// Finds a vote, or a vote and a condition on which the whole grid agrees.
bool is_vote(Value const& value) {
  Op const* const either = value.defined_by<ir::OrOp>();
  return (either == nullptr ? value : *either->lhs()).defined_by<ir::VoteOp>() != nullptr;
}

/// Factors that are 1 in most iterations: made under the test of a running maximum, perhaps an iteration earlier.
class Factors {
 public:
  /// Multiplies by such factors only when their maximum has grown, alone or on the way to a sum. Unless arithmetic is
  /// `exact`, the first iteration, which has the zeros that loops begin with, does not multiply either.
  /// `worth_a_test`: elements per element of the factor from which on a test is cheaper.
  void test(std::vector<Op*> const& products, bool exact, std::int64_t worth_a_test) {
    for (Op* product : products)
      for (Value const* side : {product->lhs(), product->rhs()}) {
        Op const* const wide = side->defined_by<ir::BroadcastOp>();
        Value* const factor = wide == nullptr ? nullptr : wide->operand();
        if (factor == nullptr || product->result()->type().elements() < worth_a_test * factor->type().elements())
          continue;
        open_.clear();
        if (!is_mostly_one(*factor)) continue;
        found_.push_back({product, factor, ir::other_operand(*product, *side)});
        break;
      }
    exact_ = exact;
    for (Found const& found : found_) {
      Op& product = *found.product;
      Op& branch = ir::Builder::before(product).op(ir::IfOp{}, {grown(*found.factor)}, {product.result()->type()});
      branch.set_where(product.where());
      ir::Builder then(branch.add_block());
      ir::ValueMap map;
      then.op(ir::YieldOp{}, {then.clone(product, map).result()}, {});
      ir::Builder otherwise(branch.add_block());
      otherwise.set_where(product.where());
      Value* const unscaled = product.is<ir::FmaOp>()
                                  ? otherwise.same(ir::AddOp{}, {found.scaled, product.in<ir::FmaOp>("addend")})
                                  : found.scaled;
      otherwise.op(ir::YieldOp{}, {unscaled}, {});
      ir::replace(product, branch.result());
    }
  }

 private:
  struct Found {
    Op* product;
    Value* factor;
    Value* scaled;
  };

  [[nodiscard]] bool is_mostly_one(Value const& value) {
    if (!open_.insert(&value).second) return false;
    Op const* const op = value.defining_op();
    if (op == nullptr) {
      auto const carry = carry_of(value);
      return carry && is_mostly_one(*carry->loop.yielded(carry->number));
    }
    if (op->is<ir::ForOp>()) return is_mostly_one(*Loop(*op).yielded(value.index()));
    if (!op->is<ir::IfOp>() || !is_vote(*op->in<ir::IfOp>("condition"))) return false;
    Op const* const rest = op->block(1).back().in<ir::YieldOp>("values", value.index())->defining_op();
    return rest != nullptr && rest->is<ir::ConstantOp>() && ir::to_double(rest->as<ir::ConstantOp>().value) == 1;
  }

  /// False where the factor is 1. A loop-carried value has its test carried beside it.
  Value* grown(Value& factor) {
    if (auto const found = grown_.find(&factor); found != grown_.end()) return found->second;
    Op* const op = factor.defining_op();
    if (op == nullptr || op->is<ir::ForOp>()) {
      carry(op == nullptr ? *carry_of(factor) : Carry{Loop(*op), factor.index()});
      return grown_.at(&factor);
    }
    if (op->is<ir::IfOp>() && is_vote(*op->in<ir::IfOp>("condition"))) return op->in<ir::IfOp>("condition");
    return ir::Builder::after(*op).constant(ir::make_constant(Element::boolean, std::int64_t{1}),
                                            Type::scalar(Element::boolean));
  }

  void carry(Carry const& carried) {
    auto const& [loop, k] = carried;
    Type const boolean = Type::scalar(Element::boolean);
    std::set<Op const*> chain;
    Value* const known = loop.init(k)->defined_by<ir::ForOp>() == nullptr && !exact_ && scales_zeros(carried, chain)
                             ? ir::Builder::before(loop.op()).constant(Constant{Element::boolean, 0}, boolean)
                             : grown(*loop.init(k));
    grown_[loop.carried(k)] = loop.add_carry(known);
    grown_[loop.result(k)] = loop.result(loop.count() - 1);
    loop.yield().add_operand(grown(*loop.yielded(k)));
  }

  /// Tells whether what a loop carries, and loops after it carry on, multiplies nothing but zeros before the first
  /// iteration of any of them.
  bool scales_zeros(Carry const& carried, std::set<Op const*>& chain) const {
    auto const& [loop, k] = carried;
    chain.insert(&loop.op());
    Value const &inside = *loop.carried(k), &after = *loop.result(k);
    for (Found const& found : found_)
      if ((found.factor == &inside || found.factor == &after) && !begins_as_zero(*found.scaled, chain)) return false;
    auto const handed_on = [](ir::Use const& use) {
      return use.user->is<ir::ForOp>() || use.user->info().has(ir::terminator);
    };
    if (std::any_of(inside.uses().begin(), inside.uses().end(), handed_on)) return false;
    return std::all_of(after.uses().begin(), after.uses().end(), [&](ir::Use const& use) {
      if (!handed_on(use)) return true;
      if (!use.user->is<ir::ForOp>()) return false;
      Loop const next(*use.user);
      return next.carry_of(use) >= 0 && scales_zeros({next, next.carry_of(use)}, chain);
    });
  }
  /// True for zero, or a value carried by loops of the chain from it.
  static bool begins_as_zero(Value const& value, std::set<Op const*> const& chain) {
    Op const* const op = value.defining_op();
    if (op != nullptr && op->is<ir::ConstantOp>()) return op->as<ir::ConstantOp>().value.bits == 0;
    if (op != nullptr) return chain.contains(op) && begins_as_zero(*Loop(*op).init(value.index()), chain);
    auto const carry = carry_of(value);
    return carry && chain.contains(&carry->loop.op()) && begins_as_zero(*carry->loop.init(carry->number), chain);
  }

  std::vector<Found> found_;
  bool exact_ = false;
  std::set<Value const*> open_;
  std::map<Value const*, Value*> grown_;
};

}  // namespace

PassResult lower_online_softmax(ir::Function& function, PassContext& context) {
  if (!function.is_kernel()) return PassResult::unchanged;
  std::vector<Op*> maxima, products;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::ReduceOp>() && op.as<ir::ReduceOp>().combine == ir::Combine::max &&
        is_float(op.result()->type().element()) && ir::loop_around(*op.parent()) != nullptr)
      maxima.push_back(&op);
    if ((op.is<ir::MulOp>() || op.is<ir::FmaOp>()) && op.result()->type().is_tile()) products.push_back(&op);
  });
  bool changed = false;
  bool const exact = context.options.exact;
  Scales scales;
  for (Op* maximum : maxima)
    if (!exact) changed = scales.move_masks(*maximum) || changed;
  for (Op* maximum : maxima) changed = Maximum(*maximum, scales, exact).rewrite() || changed;
  if (changed) Factors().test(products, exact, context.target.tuning.rescale_worth_a_test);
  return result_of(changed);
}

}  // namespace tegula::transform
