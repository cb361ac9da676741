#include "transform/simplify/relax_arithmetic.hpp"

#include <vector>

#include "ir/core/builder.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "ir/values/kept_bits.hpp"

namespace tegula::transform {
namespace {

using ir::Licence;
using ir::Op;
using ir::Value;

constexpr std::int64_t quotient_bits = 22;
constexpr std::int64_t exponential_bits = 17;
constexpr std::int64_t all_bits = 24;

/// Tells whether a kernel copies or multiplies tiles, now or in any plan.
bool has_copies_or_products(ir::Module const& module) {
  bool found = false;
  for (auto const& function : module.functions())
    ir::walk(*function, [&](Op const& op) {
      found = found || op.is<ir::DotOp>() || (op.is<ir::ForOp>() && op.as<ir::ForOp>().stages > 0) ||
              (op.info().is_block_op() && !op.is<ir::BarrierOp>());
    });
  return found;
}

/// Relaxes the ops of one module.
class Relaxation {
 public:
  explicit Relaxation(bool flushes) : flushes_(flushes) {}

  /// Takes a power as a share of its row: tells whether ops after it changed.
  static bool share(Op& op) {
    return op.is<ir::ExpOp>() && op.result()->type().element() == Element::f32 &&
           share_sum(*op.result(), op.as<ir::ExpOp>().bits);
  }

  /// Tells whether the op changed.
  bool relax(Op& op) const {
    if (op.result_count() != 1 || op.result()->type().element() != Element::f32) return false;
    if (op.is<ir::DivOp>()) return divide(op);
    if (op.is<ir::SqrtOp>()) return take_root(*op.result(), op.as<ir::SqrtOp>());
    if (op.is<ir::RsqrtOp>()) return take_root(*op.result(), op.as<ir::RsqrtOp>());
    if (op.is<ir::SigmoidOp>()) return take_power(*op.result(), op.as<ir::SigmoidOp>(), exponential_bits);
    if (op.is<ir::ExpOp>()) return take_power(*op.result(), op.as<ir::ExpOp>(), exponential_bits);
    if (op.is<ir::Exp10Op>()) return take_power(*op.result(), op.as<ir::Exp10Op>(), exponential_bits);
    if (op.is<ir::Exp2Op>()) return take_power(*op.result(), op.as<ir::Exp2Op>(), 0);
    return false;
  }

 private:
  template <class OpStruct>
  static bool shorten(Value const& result, OpStruct& op, std::int64_t bits) {
    if (op.bits != 0 || !ir::only_16_bits_kept(result)) return false;
    op.bits = bits;
    op.licence = Licence::kept_16_bits;
    return true;
  }

  template <class OpStruct>
  static bool take_root(Value const& result, OpStruct& op) {
    if (op.bits != 0) return false;
    op.bits = quotient_bits;
    op.licence = ir::only_16_bits_kept(result) ? Licence::kept_16_bits : Licence::two_ulp;
    return true;
  }

  /// Shortens a power of as many bits, if that is not 0, and flushes it.
  template <class OpStruct>
  bool take_power(Value const& result, OpStruct& op, std::int64_t bits) const {
    bool const shortened = bits != 0 && shorten(result, op, bits);
    bool const short_or_hardware = bits == 0 || op.bits != 0;  // the full form corrects powers that are not flushed
    bool const vanishes = ir::only_raised(result);
    bool const share = ir::is_share_of_row(result);
    if (op.flush || !(vanishes || share || (flushes_ && short_or_hardware))) return shortened;
    op.flush = true;
    if (op.licence == Licence::none)
      op.licence = vanishes ? Licence::vanishes : share ? Licence::share_of_row : Licence::kernel_of_blocks;
    return true;
  }

  /// Tells the sum of a row's shares what it adds, and multiplies them by its reciprocal. One that is rounded leaves
  /// two roundings of a share, within the 2 ulp of a quotient.
  static bool share_sum(Value const& powers, std::int64_t bits) {
    if (!ir::is_share_of_row(powers)) return false;
    std::vector<Op*> quotients;
    Op* sum = nullptr;
    for (ir::Use const& use : powers.uses())
      if (use.user->is<ir::ReduceOp>())
        sum = use.user;
      else
        quotients.push_back(use.user);
    if (sum == nullptr || sum->as<ir::ReduceOp>().power_bits != 0) return false;
    sum->as<ir::ReduceOp>().power_bits = bits == 0 ? all_bits : bits;
    for (Op* quotient : quotients) {
      bool const is_short = ir::only_16_bits_kept(*quotient->result());
      ir::Builder builder = ir::Builder::before(*quotient);
      builder.set_where(quotient->where());
      Value* const one = builder.constant(1, sum->result()->type());
      Value* const reciprocal =
          is_short
              ? builder.same(ir::make_op<ir::DivOp>(quotient_bits, false, Licence::kept_16_bits), {one, sum->result()})
              : builder.same(ir::make_op<ir::DivOp>(std::int64_t{0}, false, Licence::share_of_row),
                             {one, sum->result()});
      Value* const factor = builder.op(ir::BroadcastOp{}, {reciprocal}, {quotient->rhs()->type()}).result();
      ir::replace(*quotient, builder.same(ir::MulOp{}, {quotient->lhs(), factor}));
    }
    return true;
  }

  static bool divide(Op& op) {
    auto& quotient = op.as<ir::DivOp>();
    if (quotient.licence != Licence::none && quotient.licence != Licence::two_ulp) return false;
    bool const changed = quotient.bits == 0;
    quotient.bits = quotient_bits;
    quotient.licence = Licence::two_ulp;
    if (!ir::only_16_bits_of_argument_kept(*op.result())) return changed;
    quotient.licence = Licence::kept_16_bits;
    Op const* const divisor = op.rhs()->defining_op();
    auto const sum = divisor == nullptr ? std::nullopt : ir::raised_sum(*divisor);
    if (!sum) return true;
    ir::Builder builder = ir::Builder::before(op);
    builder.set_where(op.where());
    ir::Type const& type = op.rhs()->type();
    Value* const quarter = builder.constant(0.25, type);
    Value* const part = builder.constant(sum->constant / 4, type);
    Value* const scale = sum->factor == nullptr ? quarter : builder.same(ir::MulOp{}, {sum->factor, quarter});
    op.set_operand(1, builder.same(ir::make_op<ir::FmaOp>(Licence::kept_16_bits), {sum->raised, scale, part}));
    op.set_operand(0, builder.same(ir::MulOp{}, {op.lhs(), quarter}));
    quotient.normal = true;
    return true;
  }

  bool flushes_;
};

}  // namespace

PassResult relax_arithmetic(ir::Module& module, PassContext& context) {
  if (context.options.exact) return PassResult::unchanged;
  Relaxation const relaxation(has_copies_or_products(module));
  bool changed = false;
  for (auto const& function : module.functions())
    ir::walk(*function, [&](Op& op) { changed = relaxation.relax(op) || changed; });
  // Shares are known by their quotients, so those go last.
  for (auto const& function : module.functions()) {
    std::vector<Op*> powers;
    ir::walk(*function, [&](Op& op) {
      if (op.is<ir::ExpOp>()) powers.push_back(&op);
    });
    for (Op* power : powers) changed = Relaxation::share(*power) || changed;
  }
  return result_of(changed);
}

}  // namespace tegula::transform
