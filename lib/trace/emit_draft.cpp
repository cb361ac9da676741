#include <algorithm>

#include "ir/core/builder.hpp"
#include "trace/draft.hpp"

namespace tegula::trace {

namespace {

class Emitter {
 public:
  Emitter(Draft const& draft, ir::Function& function)
      : draft_(draft), values_(draft.values.size()), seen_(draft.nodes.size()) {
    auto const& parameters = draft.regions[0].arguments;
    for (std::size_t i = 0; i < parameters.size(); ++i) at(parameters[i]) = function.parameter(static_cast<int>(i));
  }

  void region(int number, ir::Block& block) {
    Region const& region = draft_.regions[static_cast<std::size_t>(number)];
    for (std::size_t i = 0; i < region.effects.size(); ++i) {
      Node const& effect = node(region.effects[i]);
      for (Id operand : effect.operands) value(operand, block);
      if (!effect.regions.empty()) captures(effect, number, block);
      if (!effect.written.empty()) pending_loads(region, i, number, block);
      if (effect.kind == ir::OpKind::RecordOp) written_before(region, i, number, block);
      emit(effect, block);
    }
    for (Id yielded : region.yields) value(yielded, block);
    ir::Builder builder(block);
    builder.set_where(region.where);
    std::vector<ir::Value*> operands;
    for (Id yielded : region.yields) operands.push_back(at(yielded));
    if (region.kind == RegionKind::kernel || region.kind == RegionKind::function)
      builder.op(ir::ReturnOp{}, operands, {});
    else
      builder.op(ir::YieldOp{}, operands, {});
  }

 private:
  Node const& node(int number) const { return draft_.nodes[static_cast<std::size_t>(number)]; }
  ir::Value*& at(Id value) { return values_[static_cast<std::size_t>(value)]; }

  // Visits the definitions that `root` needs and that are not emitted, operands first, left to right. `leaf` says that
  // this walk skips a node's operands. Explicit stack: unrolled kernels make chains of any length.
  template <class Leaf, class Visit>
  void postorder(Id root, Leaf leaf, Visit visit) {
    struct Frame {
      int node;
      std::size_t next;
    };
    std::vector<Frame> stack;
    auto const enter = [&](Id id) {
      int const number = draft_.values[static_cast<std::size_t>(id)].node;
      if (number < 0 || at(id) != nullptr || seen_[static_cast<std::size_t>(number)] == round_) return;
      seen_[static_cast<std::size_t>(number)] = round_;
      stack.push_back({number, leaf(node(number)) ? node(number).operands.size() : 0});
    };
    enter(root);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      Node const& current = node(frame.node);
      if (frame.next < current.operands.size()) {
        enter(current.operands[frame.next++]);
        continue;
      }
      stack.pop_back();
      visit(current);
    }
  }

  // Emits the definitions that `id` needs in this block.
  void value(Id id, ir::Block& block) {
    if (at(id) != nullptr) return;
    ++round_;
    postorder(
        id, [](Node const&) { return false; }, [&](Node const& needed) { emit(needed, block); });
  }

  template <class Leaf, class Visit>
  void reach_region(int number, Leaf const& leaf, Visit const& visit) {
    Region const& region = draft_.regions[static_cast<std::size_t>(number)];
    for (int effect : region.effects) reach_effect(node(effect), leaf, visit);
    for (Id yielded : region.yields) postorder(yielded, leaf, visit);
  }
  template <class Leaf, class Visit>
  void reach_effect(Node const& effect, Leaf const& leaf, Visit const& visit) {
    for (Id operand : effect.operands) postorder(operand, leaf, visit);
    for (int nested : effect.regions) reach_region(nested, leaf, visit);
  }

  // Emits, in the order in which the nested regions reach them, the values of this region that they use.
  void captures(Node const& effect, int number, ir::Block& block) {
    std::vector<Id> needed;
    ++round_;
    auto const outside = [&](Node const& reached) { return draft_.lies_in(number, reached.region); };
    auto const note = [&](Node const& reached) {
      if (outside(reached)) needed.push_back(reached.first_result);
    };
    for (int nested : effect.regions) reach_region(nested, outside, note);
    for (Id id : needed) value(id, block);
  }

  // Emits, before a store, the loads of the tensor written earlier in the text, not emitted yet and needed later.
  void pending_loads(Region const& region, std::size_t position, int number, ir::Block& block) {
    Node const& store = node(region.effects[position]);
    auto const pending = [&](Node const& load) {
      bool const reads = load.kind == ir::OpKind::LoadOp || load.kind == ir::OpKind::GatherOp;
      return reads && load.region == number && at(load.first_result) == nullptr &&
             load.effects_before <= store.effects_before &&
             std::find(store.written.begin(), store.written.end(), load.memory) != store.written.end();
    };
    if (std::none_of(region.loads.begin(), region.loads.end(), [&](int load) { return pending(node(load)); })) return;
    std::vector<Id> needed;
    ++round_;
    auto const never = [](Node const&) { return false; };
    auto const note = [&](Node const& reached) {
      if (pending(reached)) needed.push_back(reached.first_result);
    };
    for (std::size_t i = position + 1; i < region.effects.size(); ++i)
      reach_effect(node(region.effects[i]), never, note);
    for (Id yielded : region.yields) postorder(yielded, never, note);
    for (Id id : needed) value(id, block);
  }

  // Emits, before a record, the values of this region written before it that are needed later: it measures them.
  void written_before(Region const& region, std::size_t position, int number, ir::Block& block) {
    Node const* const record = &node(region.effects[position]);
    std::vector<Id> needed;
    ++round_;
    auto const never = [](Node const&) { return false; };
    auto const note = [&](Node const& reached) {
      if (&reached < record && reached.region == number) needed.push_back(reached.first_result);
    };
    for (std::size_t i = position + 1; i < region.effects.size(); ++i)
      reach_effect(node(region.effects[i]), never, note);
    for (Id yielded : region.yields) postorder(yielded, never, note);
    for (Id id : needed) value(id, block);
  }

  void emit(Node const& source, ir::Block& block) {
    ir::Builder builder(block);
    builder.set_where(source.where);
    std::vector<ir::Value*> operands;
    for (Id operand : source.operands) operands.push_back(at(operand));
    std::vector<ir::Type> types;
    for (int i = 0; i < source.result_count; ++i)
      types.push_back(draft_.values[static_cast<std::size_t>(source.first_result + i)].type);
    ir::Op& op = builder.create(source.kind, source.attributes.data(), operands, types);
    for (int i = 0; i < source.result_count; ++i) at(source.first_result + i) = op.result(i);
    for (int nested : source.regions) {
      ir::Block& inner = op.add_block();
      auto const& arguments = draft_.regions[static_cast<std::size_t>(nested)].arguments;
      for (std::size_t i = 0; i < arguments.size(); ++i)
        at(arguments[i]) = inner.add_argument(draft_.values[static_cast<std::size_t>(arguments[i])].type,
                                              i == 0 && source.kind == ir::OpKind::ForOp ? "i" : "");
    }
    for (std::size_t i = 0; i < source.regions.size(); ++i) region(source.regions[i], op.block(static_cast<int>(i)));
  }

  Draft const& draft_;
  std::vector<ir::Value*> values_;
  std::vector<unsigned> seen_;  // per node: the number of the walk that last visited it
  unsigned round_ = 0;
};

}  // namespace

void emit_draft(Draft const& draft, ir::Function& function) { Emitter(draft, function).region(0, function.body()); }

}  // namespace tegula::trace
