#include "transform/planned/skew_dots.hpp"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <vector>

#include "ir/builder.hpp"
#include "ir/loop.hpp"
#include "ir/rewrite.hpp"
#include "ir/walk.hpp"
#include "transform/common/fetches.hpp"
#include "transform/common/ring_lifetimes.hpp"

namespace tegula::transform {
namespace {

using ir::Block;
using ir::Op;
using ir::Value;
using ir::ValueMap;

/// Limits the registers of a thread for results of products and crossing values, of the 240 that a consumer can have.
constexpr std::int64_t max_registers = 200;
constexpr std::int64_t row_threads = 2;  ///< threads per row of a product's result: 128 for 64 rows

std::int64_t bytes_of(ir::Type const& type) {
  return (type.is_tile() ? type.elements() : 1) * std::max(bytes(type.element()), 1);
}

/// Counts the registers of each thread that hold a tile of as many rows as the products' results.
std::int64_t registers_of(ir::Type const& type) {
  return type.rank() == 2 ? type.shape()[1] * bytes(type.element()) / (4 * row_threads) : 0;
}

/// Splits the ops of one loop into those of the first stage and those of the last.
class Stages {
 public:
  explicit Stages(Op& loop) : loop_(loop), block_(loop.block()) {}

  bool analyse() {
    for (Op& op : block_) {
      if (!op.is<ir::DotOp>()) continue;
      if (fetched_operand(*op.rhs()).view == nullptr) return false;
      (is_last(op) ? last_ : first_).push_back(&op);
    }
    if (first_.empty() || last_.empty()) return false;
    for (Op* dot : last_) {
      late_.insert(dot);
      late_carries_.push_back(loop_.carry_of(dot->result()->uses().front()));
    }
    gather_late();
    return carried_path_is_late() && find_crossing() && registers() <= max_registers;
  }

  void rewrite() {
    number_fetches(loop_.op());
    ir::Builder builder = ir::Builder::before(loop_.op());
    builder.set_where(loop_.op().where());
    Value* const some = builder.value(ir::make_op<ir::CompareOp>(ir::Predicate::lt), {loop_.lower(), loop_.upper()},
                                      ir::Type::scalar(Element::boolean));
    std::vector<ir::Type> types;
    for (int k = 0; k < loop_.count(); ++k) types.push_back(loop_.result(k)->type());
    Op& branch = builder.op(ir::IfOp{}, {some}, types);
    ir::Builder then(branch.add_block());
    then.set_where(loop_.op().where());
    prologue(then);
    main(then);
    epilogue(then);
    ir::Builder otherwise(branch.add_block());
    std::vector<Value*> starts;
    for (int k = 0; k < loop_.count(); ++k) starts.push_back(loop_.init(k));
    otherwise.op(ir::YieldOp{}, starts, {});
    std::vector<Value*> results;
    for (int k = 0; k < branch.result_count(); ++k) results.push_back(branch.result(k));
    ir::replace(loop_.op(), results);
    sink_fetches(branch);
  }

 private:
  [[nodiscard]] bool is_late(int k) const {
    return std::find(late_carries_.begin(), late_carries_.end(), k) != late_carries_.end();
  }
  [[nodiscard]] bool varies(Value const& value) const {
    return value.owner_block() == &block_ ||
           (value.defining_op() != nullptr && value.defining_op()->parent() == &block_);
  }

  /// Tells whether a product reads another product's result, is only carried on, and adds to the value carried there.
  [[nodiscard]] bool is_last(Op const& dot) const {
    auto const& uses = dot.result()->uses();
    if (uses.size() != 1 || uses[0].user != &block_.back()) return false;
    return follows_from(*dot.in<ir::DotOp>("accumulator"), loop_.carry_of(uses[0])) &&
           produced_by_products().contains(dot.lhs());
  }
  using Values = std::unordered_set<Value const*>;
  /// Tells whether the loop's ops compute `value` from a carried value, without products.
  [[nodiscard]] bool follows_from(Value const& value, int carry) const {
    auto const [at, first] = followers_.try_emplace(carry);
    if (first) {
      at->second.insert(loop_.carried(carry));
      gather(at->second, [](Op const& op, bool reads) { return reads && !op.is<ir::DotOp>(); });
    }
    return at->second.contains(&value);
  }
  /// Collects the results of products, and the values that the loop's ops compute from them.
  [[nodiscard]] Values const& produced_by_products() const {
    if (products_.empty()) gather(products_, [](Op const& op, bool reads) { return reads || op.is<ir::DotOp>(); });
    return products_;
  }
  /// Adds the results of ops to a set, op by op: `joins(op, whether it reads one of the set)`.
  template <class Joins>
  void gather(Values& values, Joins joins) const {
    for (Op const& op : block_) {
      bool const reads = std::any_of(op.operands().begin(), op.operands().end(),
                                     [&](Value const* operand) { return values.contains(operand); });
      for (int i = 0; joins(op, reads) && i < op.result_count(); ++i) values.insert(op.result(i));
    }
  }

  /// Adds ops that only the last products need to the last stage where fewer bytes then cross between iterations.
  void gather_late() {
    for (auto at = block_.end(); at != block_.begin();) {
      --at;
      Op& op = *at;
      bool const movable = op.pure() || op.is<ir::FetchOp>() || op.is<ir::BufferLoadOp>();
      if (!movable || op.is<ir::DotOp>() || op.result_count() != 1 || op.result()->unused()) continue;
      auto const& uses = op.result()->uses();
      if (!std::all_of(uses.begin(), uses.end(), [&](ir::Use const& use) { return late_.contains(use.user); }))
        continue;
      // A turned copy is read in place, as a copy is.
      bool const in_place = op.result()->type().is_tile() && fetched_operand(*op.result()).view != nullptr;
      if (op.result()->type().is_tile() && !in_place && !needs_late_carry(op)) {
        std::int64_t cost = 0;
        for (Value const* operand : op.operands())
          if (varies(*operand) && operand->type().is_tile()) cost += bytes_of(operand->type());
        if (cost >= bytes_of(op.result()->type())) continue;
      }
      late_.insert(&op);
    }
  }
  [[nodiscard]] bool needs_late_carry(Op const& op) const {
    return std::any_of(op.operands().begin(), op.operands().end(), [&](Value const* operand) {
      return std::any_of(late_carries_.begin(), late_carries_.end(), [&](int k) { return follows_from(*operand, k); });
    });
  }
  [[nodiscard]] bool carried_path_is_late() const {
    return std::all_of(late_carries_.begin(), late_carries_.end(), [&](int k) {
      auto const& uses = loop_.carried(k)->uses();
      return std::all_of(uses.begin(), uses.end(), [&](ir::Use const& use) { return late_.contains(use.user); });
    });
  }

  /// Follows from the index alone, by scalar arithmetic.
  [[nodiscard]] bool recomputed(Value const& value) const {
    if (recomputed_.empty()) {
      recomputed_.insert(loop_.counter());
      for (Op const& op : block_)
        if (op.pure() && op.block_count() == 0 && op.result_count() == 1 && op.result()->type().is_scalar() &&
            std::all_of(op.operands().begin(), op.operands().end(),
                        [&](Value const* operand) { return !varies(*operand) || recomputed_.contains(operand); }))
          recomputed_.insert(op.result());
    }
    return !varies(value) || recomputed_.contains(&value);
  }
  bool find_crossing() {
    for (Op const& op : block_) {
      if (!late_.contains(&op)) continue;
      for (Value* operand : op.operands()) {
        Op const* const producer = operand->defining_op();
        bool const late = producer != nullptr ? late_.contains(producer) : is_late(loop_.carry_of(*operand));
        if (late || recomputed(*operand) || std::find(crossing_.begin(), crossing_.end(), operand) != crossing_.end())
          continue;
        if (!operand->type().is_tile() && !operand->type().is_scalar()) return false;
        // One copy for both stages: carried in registers it would be no operand that wgmma reads from shared memory.
        if (fetched_operand(*operand).view != nullptr) return false;
        crossing_.push_back(operand);
      }
    }
    return true;
  }
  [[nodiscard]] std::int64_t registers() const {
    std::int64_t sum = 0;
    for (Op const* dot : first_) sum += registers_of(dot->result()->type());
    for (Op const* dot : last_) sum += registers_of(dot->result()->type());
    for (Value const* value : crossing_)
      if (value->type().is_tile()) sum += registers_of(value->type());
    return sum;
  }

  void prologue(ir::Builder& builder) {
    ValueMap map = {{loop_.counter(), loop_.lower()}};
    for (int k = 0; k < loop_.count(); ++k) map[loop_.carried(k)] = loop_.init(k);
    for (Op const& op : block_)
      if (!late_.contains(&op) && !op.info().has(ir::terminator)) builder.clone(op, map);
    for (int k = 0; k < loop_.count(); ++k)
      starts_.push_back(is_late(k) ? loop_.init(k) : mapped(map, loop_.yielded(k)));
    for (Value* value : crossing_) starts_.push_back(mapped(map, value));
  }

  void main(ir::Builder& builder) {
    Value* const step = loop_.step();
    std::vector<Value*> operands = {builder.same(ir::AddOp{}, {loop_.lower(), step}), loop_.upper(), step};
    operands.insert(operands.end(), starts_.begin(), starts_.end());
    std::vector<ir::Type> types;
    for (Value const* value : starts_) types.push_back(value->type());
    main_ = &builder.op(loop_.op().as<ir::ForOp>(), operands, types);
    Block& body = main_->add_block();
    Value* const counter = body.add_argument(ir::Type::index(), loop_.counter()->name());
    ValueMap now = {{loop_.counter(), counter}};
    ir::Builder inside(body);
    inside.set_where(loop_.op().where());
    ValueMap before;
    for (int k = 0; k < loop_.count(); ++k) {
      Value* const carried = loop_.carried(k);
      (is_late(k) ? before : now)[carried] = body.add_argument(carried->type(), carried->name());
    }
    for (Value* value : crossing_) before[value] = body.add_argument(value->type(), value->name());
    for (Op const& op : block_) {
      if (late_.contains(&op) || op.info().has(ir::terminator)) continue;
      inside.clone(op, now);
      if (&op != first_.back()) continue;
      before[loop_.counter()] = inside.same(ir::SubOp{}, {counter, step});
      last_stage(inside, before);
    }
    std::vector<Value*> next;
    for (int k = 0; k < loop_.count(); ++k) next.push_back(mapped(is_late(k) ? before : now, loop_.yielded(k)));
    for (Value* value : crossing_) next.push_back(mapped(now, value));
    inside.op(ir::YieldOp{}, next, {});
  }

  void epilogue(ir::Builder& builder) {
    Value *const lower = loop_.lower(), *const step = loop_.step();
    Value* const turns = builder.same(ir::CeilDivOp{}, {builder.same(ir::SubOp{}, {loop_.upper(), lower}), step});
    Value* const gone = builder.same(ir::MulOp{}, {builder.same(ir::SubOp{}, {turns, builder.index(1)}), step});
    ValueMap map = {{loop_.counter(), builder.same(ir::AddOp{}, {lower, gone})}};
    for (int k = 0; k < loop_.count(); ++k)
      if (is_late(k)) map[loop_.carried(k)] = main_->result(k);
    for (std::size_t j = 0; j < crossing_.size(); ++j)
      map[crossing_[j]] = main_->result(loop_.count() + static_cast<int>(j));
    last_stage(builder, map);
    std::vector<Value*> results;
    for (int k = 0; k < loop_.count(); ++k)
      results.push_back(is_late(k) ? mapped(map, loop_.yielded(k)) : main_->result(k));
    builder.op(ir::YieldOp{}, results, {});
  }

  /// Makes the ops of the last stage, with the scalars that they need of the index in `map`.
  void last_stage(ir::Builder& builder, ValueMap& map) {
    for (Op const& op : block_) {
      if (!late_.contains(&op)) continue;
      for (Value* operand : op.operands()) recompute(builder, map, *operand);
      builder.clone(op, map);
    }
  }
  void recompute(ir::Builder& builder, ValueMap& map, Value const& value) {
    if (!varies(value) || map.contains(&value)) return;
    Op const& op = *value.defining_op();
    for (Value* operand : op.operands()) recompute(builder, map, *operand);
    builder.clone(op, map);
  }

  static Value* mapped(ValueMap const& map, Value* value) {
    auto const found = map.find(value);
    return found == map.end() ? value : found->second;
  }

  /// Fetches that only the taken branch reads move there, to their first reader.
  static void sink_fetches(Op& branch) {
    Block& then = branch.block(0);
    std::vector<Op*> chain;
    for (auto at = branch.parent()->begin(); &*at != &branch; ++at)
      if (at->is<ir::FetchOp>() || at->is<ir::BufferLoadOp>() || at->is<ir::TransOp>()) chain.push_back(&*at);
    for (auto at = chain.rbegin(); at != chain.rend(); ++at) {
      Op* first = nullptr;
      bool only_here = !(*at)->result()->unused();
      for (ir::Use const& use : (*at)->result()->uses()) {
        Op* const place = ancestor_in(*use.user, then);
        only_here = only_here && place != nullptr;
        if (place != nullptr && (first == nullptr || stands_before(*place, *first))) first = place;
      }
      if (only_here) (*at)->move_before(*first);
    }
  }

  ir::Loop loop_;
  Block& block_;
  std::vector<Op*> first_, last_;       ///< products of the first and of the last stage
  std::unordered_set<Op const*> late_;  ///< ops of the last stage
  std::vector<int> late_carries_;       ///< carried values to which the last stage adds
  mutable std::map<int, Values> followers_;
  mutable Values products_, recomputed_;
  std::vector<Value*> crossing_;  ///< values of the first stage that the last one reads an iteration later
  std::vector<Value*> starts_;    ///< of the main loop's carried values
  Op* main_ = nullptr;
};

}  // namespace

PassResult skew_dots(ir::Function& function, AnalysisCache&, PassContext&) {
  if (!function.is_kernel()) return PassResult::unchanged;
  std::vector<Op*> loops;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::ForOp>()) loops.push_back(&op);
  });
  bool changed = false;
  for (Op* op : loops) {
    Stages stages(*op);
    if (!stages.analyse()) continue;
    stages.rewrite();
    changed = true;
  }
  return result_of(changed);
}

}  // namespace tegula::transform
