// Counts, ranks and elements at places: warps exchange whole tiles through the op's scratch.
#include "sim/places.hpp"

#include <algorithm>
#include <set>

#include "ir/memory/exchange.hpp"
#include "sim/block/exchange.hpp"
#include "sim/block/meaning.hpp"

namespace tegula::sim::block {

using namespace ir;

namespace {

/// Puts an operand's fragments of all warps together.
Value whole_tile(WarpProgram& warp, Type const& type, Exchange const& all, std::size_t first) {
  Value result(type, warp.engine().launch().precision());
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    for (int w = 0; w < warp.group().warps; ++w) {
      Fragment const& held = warp.fragment(type, w);
      T const* const given = all[first + static_cast<std::size_t>(w)].data<T>();
      for (int i = 0; i < held.count(); ++i) result.data<T>()[held.linear[static_cast<std::size_t>(i)]] = given[i];
    }
  });
  return result;
}

/// Gives this warp its fragment of the result, which follows from the operands of all.
template <class OpStruct>
void finish(WarpProgram& warp, Op const& op, OpStruct const& attributes) {
  Exchange const& all = warp.engine().exchange(warp.cta(), op);
  auto const warps = static_cast<std::size_t>(warp.group().warps);
  std::vector<Value> operands;
  for (int i = 0; i < op.operand_count(); ++i)
    operands.push_back(whole_tile(warp, op.operand(i)->type(), all, static_cast<std::size_t>(i) * warps));
  Value whole(op.result()->type(), warp.engine().launch().precision());
  compute(op, attributes, operands, whole);
  Fragment const& held = warp.fragment(op.result()->type());
  Value result = warp.agent().fresh(op);
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    for (int i = 0; i < held.count(); ++i)
      result.data<T>()[i] = whole.data<T>()[held.linear[static_cast<std::size_t>(i)]];
  });
  warp.set(*op.result(), std::move(result));
}

template <class OpStruct>
Progress through_scratch(WarpProgram& warp, Op const& op, OpStruct const& attributes) {
  std::vector<Value> operands;
  for (ir::Value const* operand : op.operands()) operands.push_back(warp.value(*operand));
  if (Progress const progress = exchange(warp, op, operands); progress == Progress::again) return progress;
  finish(warp, op, attributes);
  return Progress::done;
}

/// Adds atomically to the counters of the bins that this warp's elements name.
void add_to_counters(WarpProgram& warp, Op const& op, Value const& tile) {
  Fragment const& held = warp.fragment(op.in<HistogramOp>("tile")->type());
  std::int64_t const bins = op.result()->type().elements();
  std::set<std::int64_t> named;
  for (int i = 0; i < held.count(); ++i) {
    std::int64_t const bin = tile.storage() == Storage::u32 ? std::int64_t{tile.data<std::uint32_t>()[i]}
                                                            : std::int64_t{tile.data<std::int32_t>()[i]};
    if (held.owner[static_cast<std::size_t>(i)] != 0 && bin >= 0 && bin < bins) named.insert(bin);
  }
  std::uint32_t const begin = warp.shared_place(op);
  std::vector<machine::LaneBytes> bytes;  // any lane may stand for those that add to a counter
  for (std::int64_t const bin : named) {
    auto const at = begin + static_cast<std::uint32_t>(bin) * 4;
    bytes.push_back({at, at + 4, static_cast<std::uint32_t>(bin) % warp_lanes});
  }
  if (!bytes.empty())
    (void)warp.warp().atomic(machine::all_lanes, machine::Footprint(warp.warp().shared(), bytes),
                             machine::AtomicOrder::relaxed, warp.site(), true);
}

}  // namespace

// Clears the counters, adds to them, reads them: a barrier of the CTA stands after each of the first two steps.
Progress perform(WarpProgram& warp, Op const& op, HistogramOp const& attributes) {
  Value const tile = warp.value(*op.in<HistogramOp>("tile"));
  if (warp.turn() == 1) {
    add_to_counters(warp, op, tile);
    (void)warp.warp().barrier(0, 0, machine::all_lanes, warp.site());
    return Progress::again;
  }
  if (Progress const progress = exchange(warp, op, tile); progress == Progress::again) return progress;
  finish(warp, op, attributes);
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, RanksOp const& attributes) {
  return through_scratch(warp, op, attributes);
}
Progress perform(WarpProgram& warp, Op const& op, TakeOp const& attributes) {
  return through_scratch(warp, op, attributes);
}
Progress perform(WarpProgram& warp, Op const& op, PutOp const& attributes) {
  return through_scratch(warp, op, attributes);
}

}  // namespace tegula::sim::block
