#include "transform/planned/skew_dots.hpp"

#include <utility>
#include <vector>

#include "ir/core/builder.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "transform/common/fetches.hpp"
#include "transform/common/late_stage.hpp"
#include "transform/common/ring_lifetimes.hpp"

namespace tegula::transform {
namespace {

using ir::Block;
using ir::Op;
using ir::Value;
using ir::ValueMap;

/// Moves the late products of a loop into the next iteration.
class Skew {
 public:
  Skew(Op& loop, LateStage const& late) : loop_(loop), block_(loop.block()), late_(late) {
    for (Op& op : block_)
      if (op.is<ir::DotOp>() && !late_.has(op)) last_of_first_ = &op;
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
  void prologue(ir::Builder& builder) {
    ValueMap map = {{loop_.counter(), loop_.lower()}};
    for (int k = 0; k < loop_.count(); ++k) map[loop_.carried(k)] = loop_.init(k);
    for (Op const& op : block_)
      if (!late_.has(op) && !op.info().has(ir::terminator)) builder.clone(op, map);
    for (int k = 0; k < loop_.count(); ++k)
      starts_.push_back(late_.adds_to(k) ? loop_.init(k) : mapped(map, loop_.yielded(k)));
    for (Value* value : late_.crossing()) starts_.push_back(mapped(map, value));
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
      (late_.adds_to(k) ? before : now)[carried] = body.add_argument(carried->type(), carried->name());
    }
    for (Value* value : late_.crossing()) before[value] = body.add_argument(value->type(), value->name());
    for (Op const& op : block_) {
      if (late_.has(op) || op.info().has(ir::terminator)) continue;
      inside.clone(op, now);
      if (&op != last_of_first_) continue;
      before[loop_.counter()] = inside.same(ir::SubOp{}, {counter, step});
      last_stage(inside, before);
    }
    std::vector<Value*> next;
    for (int k = 0; k < loop_.count(); ++k) next.push_back(mapped(late_.adds_to(k) ? before : now, loop_.yielded(k)));
    for (Value* value : late_.crossing()) next.push_back(mapped(now, value));
    inside.op(ir::YieldOp{}, next, {});
  }

  void epilogue(ir::Builder& builder) {
    Value *const lower = loop_.lower(), *const step = loop_.step();
    Value* const turns = builder.same(ir::CeilDivOp{}, {builder.same(ir::SubOp{}, {loop_.upper(), lower}), step});
    Value* const gone = builder.same(ir::MulOp{}, {builder.same(ir::SubOp{}, {turns, builder.index(1)}), step});
    ValueMap map = {{loop_.counter(), builder.same(ir::AddOp{}, {lower, gone})}};
    for (int k = 0; k < loop_.count(); ++k)
      if (late_.adds_to(k)) map[loop_.carried(k)] = main_->result(k);
    for (std::size_t j = 0; j < late_.crossing().size(); ++j)
      map[late_.crossing()[j]] = main_->result(loop_.count() + static_cast<int>(j));
    last_stage(builder, map);
    std::vector<Value*> results;
    for (int k = 0; k < loop_.count(); ++k)
      results.push_back(late_.adds_to(k) ? mapped(map, loop_.yielded(k)) : main_->result(k));
    builder.op(ir::YieldOp{}, results, {});
  }

  /// Makes the ops of the last stage, with the scalars that they need of the index in `map`.
  void last_stage(ir::Builder& builder, ValueMap& map) {
    for (Op const& op : block_) {
      if (!late_.has(op)) continue;
      for (Value* operand : op.operands()) recompute(builder, map, *operand);
      builder.clone(op, map);
    }
  }
  void recompute(ir::Builder& builder, ValueMap& map, Value const& value) {
    if (!late_.varies(value) || map.contains(&value)) return;
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
      if (at->is<ir::FetchOp>() || at->is<ir::BufferLoadOp>() || at->is<ir::ShiftedLoadOp>() || at->is<ir::TransOp>())
        chain.push_back(&*at);
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
  LateStage const& late_;
  Op* last_of_first_ = nullptr;  ///< the last product of the first stage
  std::vector<Value*> starts_;   ///< of the main loop's carried values
  Op* main_ = nullptr;
};

}  // namespace

PassResult skew_dots(ir::Function& function, PassContext&) {
  if (!function.is_kernel()) return PassResult::unchanged;
  std::vector<Op*> loops;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::ForOp>()) loops.push_back(&op);
  });
  bool changed = false;
  for (Op* op : loops) {
    std::vector<Op*> late;
    for (Op& dot : op->block())
      if (dot.is<ir::DotOp>() && std::exchange(dot.as<ir::DotOp>().late, false)) late.push_back(&dot);
    if (late.empty()) continue;
    changed = true;
    LateStage const stage(*op, late);
    if (stage.possible()) Skew(*op, stage).rewrite();
  }
  return result_of(changed);
}

}  // namespace tegula::transform
