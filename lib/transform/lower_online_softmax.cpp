#include "transform/lower_online_softmax.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "ir/builder.hpp"
#include "ir/infer.hpp"
#include "ir/rewrite.hpp"
#include "ir/walk.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

/// Elements per element of the factor from which on a test is cheaper than a multiplication.
constexpr std::int64_t worth_a_test = 32;

Op* only_user(Value const& value) { return value.uses().size() == 1 ? value.uses()[0].user : nullptr; }

Value* other_operand(Op const& op, Value const& value) { return op.operand(op.operand(0) == &value ? 1 : 0); }

template <class OpStruct>
Op* made_by(Value const& value) {
  Op* const op = value.defining_op();
  return op != nullptr && op->is<OpStruct>() ? op : nullptr;
}

/// Carried by the loop whose body holds the op.
bool is_carried(Value const& value, Op const& op) {
  return value.owner_block() == op.parent() && value.index() > 0 && op.parent_op() != nullptr &&
         op.parent_op()->is<ir::ForOp>();
}

Value* compared(ir::Builder& builder, ir::Predicate predicate, Value* left, Value* right) {
  Type type = left->type();
  type = type.is_tile() ? Type::tile(Element::boolean, type.shape(), type.layout()) : Type::scalar(Element::boolean);
  return builder.value(ir::make_op<ir::CompareOp>(predicate), {left, right}, type);
}

/// One maximum over an axis of registers and lanes.
class Maximum {
 public:
  Maximum(Op& reduce, bool exact) : reduce_(reduce), source_(*reduce.operand(0)), exact_(exact) {}

  bool rewrite() {
    auto const folded = ir::infer(fold(ir::Combine::max), {source_.type()});
    if (!folded.ok()) return false;
    folded_ = folded.types.front();
    bool const scale = find_scale();
    bool const running = find_running();
    if (!scale && !running) return false;
    ir::Builder builder = ir::Builder::before(reduce_);
    builder.set_where(reduce_.where());
    Value* const most = scale ? scaled(builder) : builder.value(fold(ir::Combine::max), {&source_}, folded_);
    if (running)
      test_first(builder, most);
    else
      ir::replace(reduce_, builder.value(reduce_.as<ir::ReduceOp>(), {most}, reduce_.result()->type()));
    if (scale) into_exponents();
    return true;
  }

 private:
  [[nodiscard]] ir::FoldOp fold(ir::Combine combine) const {
    return ir::make_op<ir::FoldOp>(reduce_.as<ir::ReduceOp>().axis, combine);
  }

  /// The source is a tile times one factor, and besides this maximum only exponents see it.
  bool find_scale() {
    Op* const product = made_by<ir::MulOp>(source_);
    if (product == nullptr || exact_) return false;
    for (int i = 0; i < 2 && factor_ == nullptr; ++i)
      if (Op const* const splat = made_by<ir::SplatOp>(*product->operand(i))) {
        factor_ = splat->operand(0);
        unscaled_ = product->operand(1 - i);
      }
    if (factor_ == nullptr) return false;
    for (ir::Use const& use : source_.uses()) {
      if (use.user == &reduce_) continue;
      if (!use.user->is<ir::SubOp>() || use.index != 0 || made_by<ir::BroadcastOp>(*use.user->operand(1)) == nullptr)
        return false;
      exponents_.push_back(use.user);
    }
    return true;
  }

  Value* scaled(ir::Builder& builder) const {
    Value* const zero = builder.constant(0.0, factor_->type());
    Op& branch = builder.op(ir::IfOp{}, {compared(builder, ir::Predicate::ge, factor_, zero)}, {folded_});
    for (ir::Combine const combine : {ir::Combine::max, ir::Combine::min}) {
      ir::Builder inside(branch.add_block());
      inside.set_where(reduce_.where());
      Value* const most = inside.value(fold(combine), {unscaled_}, folded_);
      Value* const factor = inside.value(ir::SplatOp{}, {factor_}, folded_);
      inside.op(ir::YieldOp{}, {inside.same(ir::MulOp{}, {most, factor})}, {});
    }
    return branch.result();
  }

  /// x * c - m as fma(x, c, -m).
  void into_exponents() const {
    for (Op* difference : exponents_) {
      Op const& wide = *difference->operand(1)->defining_op();
      ir::Builder builder = ir::Builder::before(*difference);
      builder.set_where(difference->where());
      Value* const less = builder.same(ir::NegOp{}, {wide.operand(0)});
      Value* const less_wide = builder.value(ir::BroadcastOp{}, {less}, wide.result()->type());
      Value* const factor = builder.value(ir::SplatOp{}, {factor_}, unscaled_->type());
      ir::replace(*difference, builder.same(ir::FmaOp{}, {unscaled_, factor, less_wide}));
    }
  }

  /// max(carried, this maximum), and exp2(carried - that).
  bool find_running() {
    max_ = only_user(*reduce_.result());
    if (max_ == nullptr || !max_->is<ir::MaxOp>() || max_->parent() != reduce_.parent()) return false;
    before_ = other_operand(*max_, *reduce_.result());
    if (!is_carried(*before_, reduce_)) return false;
    for (ir::Use const& use : before_->uses())
      if (use.user->is<ir::SubOp>() && use.index == 0 && use.user->operand(1) == max_->result())
        if (Op* const power = only_user(*use.user->result()); power != nullptr && power->is<ir::Exp2Op>()) {
          fall_ = use.user;
          power_ = power;
        }
    return true;
  }

  void test_first(ir::Builder& builder, Value* most) {
    Value* allowed = before_;
    if (std::int64_t const slack = max_->as<ir::MaxOp>().slack; slack != 0)
      allowed = builder.same(ir::AddOp{}, {before_, builder.constant(static_cast<double>(slack), before_->type())});
    Value* const known = builder.value(ir::BroadcastOp{}, {allowed}, folded_);
    Value* const grows = builder.value(ir::VoteOp{}, {compared(builder, ir::Predicate::gt, most, known)},
                                       Type::scalar(Element::boolean));
    Type const row = max_->result()->type();
    std::vector<Type> const types(power_ != nullptr ? 2 : 1, row);
    Op& branch = builder.op(ir::IfOp{}, {grows}, types);
    ir::Builder then(branch.add_block());
    then.set_where(reduce_.where());
    ir::ValueMap map;
    map[reduce_.result()] = then.value(reduce_.as<ir::ReduceOp>(), {most}, reduce_.result()->type());
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
  bool exact_;
  Type folded_;
  Value* factor_ = nullptr;  ///< by which every element of `unscaled_` is multiplied
  Value* unscaled_ = nullptr;
  std::vector<Op*> exponents_;
  Op* max_ = nullptr;
  Value* before_ = nullptr;
  Op *fall_ = nullptr, *power_ = nullptr;
};

/// 1 in most iterations: made under the test of a running maximum, perhaps an iteration earlier.
class MostlyOne {
 public:
  bool operator()(Value const& value) {
    if (!open_.insert(&value).second) return false;
    Op const* const op = value.defining_op();
    if (op == nullptr) {
      Op const* const loop = value.owner_block()->parent_op();
      return loop != nullptr && loop->is<ir::ForOp>() && value.index() > 0 &&
             (*this)(*value.owner_block()->back().operand(value.index() - 1));
    }
    if (op->is<ir::ForOp>()) return (*this)(*op->block().back().operand(value.index()));
    if (!op->is<ir::IfOp>() || made_by<ir::VoteOp>(*op->operand(0)) == nullptr) return false;
    Op const* const rest = op->block(1).back().operand(value.index())->defining_op();
    return rest != nullptr && rest->is<ir::ConstantOp>() && ir::to_double(rest->as<ir::ConstantOp>().value) == 1;
  }

 private:
  std::set<Value const*> open_;
};

/// Multiplies by a factor that is mostly 1 only when it is not.
bool test_factor(Op& product) {
  for (int i = 0; i < 2; ++i) {
    Op const* const wide = made_by<ir::BroadcastOp>(*product.operand(i));
    if (wide == nullptr || !MostlyOne()(*wide->operand(0))) continue;
    Value* const factor = wide->operand(0);
    if (product.result()->type().elements() < worth_a_test * factor->type().elements()) continue;
    ir::Builder builder = ir::Builder::before(product);
    builder.set_where(product.where());
    Value* const one = builder.constant(1.0, factor->type());
    Value* const changes = builder.value(ir::VoteOp{}, {compared(builder, ir::Predicate::ne, factor, one)},
                                         Type::scalar(Element::boolean));
    Op& branch = builder.op(ir::IfOp{}, {changes}, {product.result()->type()});
    ir::Builder then(branch.add_block());
    ir::ValueMap map;
    then.op(ir::YieldOp{}, {then.clone(product, map).result()}, {});
    ir::Builder(branch.add_block()).op(ir::YieldOp{}, {product.operand(1 - i)}, {});
    ir::replace(product, branch.result());
    return true;
  }
  return false;
}

}  // namespace

PassResult lower_online_softmax(ir::Function& function, AnalysisCache&, PassContext& context) {
  if (!function.is_kernel()) return PassResult::unchanged;
  std::vector<Op*> maxima, products;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::ReduceOp>() && op.as<ir::ReduceOp>().combine == ir::Combine::max &&
        is_float(op.result()->type().element()) && op.parent_op() != nullptr && op.parent_op()->is<ir::ForOp>())
      maxima.push_back(&op);
    if (op.is<ir::MulOp>() && op.result()->type().is_tile()) products.push_back(&op);
  });
  bool changed = false;
  for (Op* maximum : maxima) changed = Maximum(*maximum, context.options.exact).rewrite() || changed;
  if (changed)
    for (Op* product : products) test_factor(*product);
  return result_of(changed);
}

}  // namespace tegula::transform
