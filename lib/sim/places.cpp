#include "sim/places.hpp"

#include <fmt/format.h>

#include "tegula/support/error.hpp"

namespace tegula::sim {

using namespace ir;

namespace {

/// Calls visit(i, value) for each element of a tile of i32 or u32.
template <class Visit>
void each_number(Value const& tile, Visit&& visit) {
  for (std::int64_t i = 0; i < tile.count(); ++i)
    visit(i, tile.storage() == Storage::u32 ? std::int64_t{tile.data<std::uint32_t>()[i]}
                                            : std::int64_t{tile.data<std::int32_t>()[i]});
}

/// Runs an op on the agent's whole tiles.
template <class OpStruct>
void run(Agent& agent, Op const& op, OpStruct const& attributes) {
  std::vector<Value> operands;
  for (ir::Value const* operand : op.operands()) operands.push_back(agent.value(*operand));
  Value result = agent.fresh(op);
  compute(op, attributes, operands, result);
  agent.set(*op.result(), std::move(result));
}

}  // namespace

void compute(Op const&, HistogramOp const&, std::vector<Value> const& operands, Value& result) {
  auto* const counts = result.data<std::int32_t>();
  std::int64_t const bins = result.count();
  each_number(operands[0], [&](std::int64_t, std::int64_t bin) {
    if (bin >= 0 && bin < bins) ++counts[bin];
  });
}

void compute(Op const&, RanksOp const&, std::vector<Value> const& operands, Value& result) {
  std::int64_t const bins = operands[1].count();
  std::vector<std::int32_t> next(operands[1].data<std::int32_t>(), operands[1].data<std::int32_t>() + bins);
  each_number(operands[0], [&](std::int64_t i, std::int64_t bin) {
    bool const counted = bin >= 0 && bin < bins;
    // Sums wrap.
    auto* const at = counted ? &next[static_cast<std::size_t>(bin)] : nullptr;
    result.data<std::int32_t>()[i] = counted ? *at : -1;
    if (counted) *at = static_cast<std::int32_t>(static_cast<std::uint32_t>(*at) + 1);
  });
}

void compute(Op const&, TakeOp const&, std::vector<Value> const& operands, Value& result) {
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    each_number(operands[1], [&](std::int64_t i, std::int64_t place) {
      bool const inside = place >= 0 && place < operands[0].count();
      result.data<T>()[i] = inside ? operands[0].data<T>()[place] : T{};
    });
  });
}

void compute(Op const& op, PutOp const&, std::vector<Value> const& operands, Value& result) {
  std::vector<bool> named(static_cast<std::size_t>(result.count()), false);
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    each_number(operands[1], [&](std::int64_t i, std::int64_t place) {
      if (place < 0 || place >= result.count() || named[static_cast<std::size_t>(place)])
        throw UserError(
            fmt::format("simulate: put: place {} is {}, but each of 0 to {} must be named once", place,
                        place < 0 || place >= result.count() ? "outside" : "named twice", result.count() - 1),
            op.where());
      named[static_cast<std::size_t>(place)] = true;
      result.data<T>()[place] = operands[0].data<T>()[i];
    });
  });
}

void execute(Agent& agent, Op const& op, HistogramOp const& attributes) { run(agent, op, attributes); }
void execute(Agent& agent, Op const& op, RanksOp const& attributes) { run(agent, op, attributes); }
void execute(Agent& agent, Op const& op, TakeOp const& attributes) { run(agent, op, attributes); }
void execute(Agent& agent, Op const& op, PutOp const& attributes) { run(agent, op, attributes); }

}  // namespace tegula::sim
