// Implements loads and stores of global memory.
#include <algorithm>

#include "sim/indices.hpp"
#include "sim/meaning.hpp"
#include "sim/memory_element.hpp"
#include "tegula/math/functions.hpp"
#include "tegula/support/error.hpp"

namespace tegula::sim {

using namespace ir;

namespace {

/// Walks the box of a tile at element offsets in a tensor, in the tile's row-major order.
class Box {
 public:
  /// Offsets are one per tensor axis. `part`: the extents that are accessed; empty: all.
  Box(Agent& agent, Op const& op, Type const& tile, Extents const& part)
      : agent_(agent),
        op_(op),
        tensor_number_(agent.tensor(*op.in("tensor"))),
        tensor_(agent.view(tensor_number_)),
        tile_(tile),
        part_(part) {
    // Offsets so far out that sums would overflow are outside all the same.
    constexpr std::int64_t far = std::int64_t{1} << 61;
    for (ir::Value const* offset : op.all("offsets")) offsets_.push_back(std::clamp(agent.index(*offset), -far, far));
  }

  /// Calls visit(i, address, coordinates) for element i of the tile. The address is null outside the part or the
  /// tensor, or, with a report, outside its memory.
  template <class Visit>
  void each(Visit&& visit) const {
    int const lead = tensor_.extents.size() - tile_.rank();
    Extents const& shape = tile_.shape();
    std::int64_t at[max_rank] = {};
    std::int64_t coordinates[max_rank] = {};
    for (std::int64_t i = 0; i < tile_.elements(); ++i) {
      for (int axis = 0; axis < tensor_.extents.size(); ++axis)
        coordinates[axis] = offsets_[axis] + (axis < lead ? 0 : at[axis - lead]);
      bool within = true;
      for (int axis = 0; axis < part_.size(); ++axis) within = within && at[axis] < part_[axis];
      visit(i, within ? locate(agent_, op_, tensor_number_, coordinates) : nullptr, coordinates);
      for (int axis = shape.size() - 1; axis >= 0; --axis) {
        if (++at[axis] < shape[axis]) break;
        at[axis] = 0;
      }
    }
  }

  [[nodiscard]] int tensor_number() const { return tensor_number_; }
  [[nodiscard]] Element element() const { return tensor_.element; }

 private:
  Agent& agent_;
  Op const& op_;
  int tensor_number_;
  Tensor const& tensor_;
  Type tile_;
  Extents part_;
  Extents offsets_;
};

}  // namespace

void execute(Agent& agent, Op const& op, LoadOp const& attributes) {
  Value result = agent.fresh(op);
  Box const box(agent, op, result.type(), attributes.part);
  bool const noted = agent.launch().loads_noted(agent.argument(box.tensor_number()));
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    T const pad = constant_as<T>(attributes.pad);
    T* const to = result.data<T>();
    box.each([&](std::int64_t i, std::byte const* address, std::int64_t const* coordinates) {
      to[i] = address == nullptr ? pad : read_element<T>(address, box.element());
      if (noted && address != nullptr) agent.launch().note_load(agent, op, box.tensor_number(), address, coordinates);
    });
  });
  agent.set(*op.result(), std::move(result));
}

void execute(Agent& agent, Op const& op, StoreOp const& attributes) {
  Value const& tile = agent.value(*op.in<StoreOp>("tile"));
  Box const box(agent, op, tile.type(), attributes.part);
  bool const noted = agent.launch().options().check_races || agent.launch().options().report_unwritten;
  agent.launch().note_change();
  with_storage(tile.storage(), [&]<class T>(std::type_identity<T>) {
    T const* const from = tile.data<T>();
    box.each([&](std::int64_t i, std::byte* address, std::int64_t const* coordinates) {
      if (address == nullptr) return;
      if (noted) agent.launch().note_store(agent, op, box.tensor_number(), address, coordinates);
      write_element(address, box.element(), from[i]);
    });
  });
}

void execute(Agent& agent, Op const& op, SliceOp const& attributes) {
  int const tensor = agent.tensor(*op.in<SliceOp>("tensor")), axis = static_cast<int>(attributes.axis);
  std::int64_t const extent = agent.view(tensor).extents[axis];
  std::int64_t const begin = std::clamp<std::int64_t>(agent.index(*op.in<SliceOp>("begin")), 0, extent);
  agent.set_slice(*op.result(), tensor, axis, begin,
                  std::clamp<std::int64_t>(agent.index(*op.in<SliceOp>("end")), begin, extent));
}

void execute(Agent& agent, Op const& op, PermuteOp const& attributes) {
  agent.set_permuted(*op.result(), agent.tensor(*op.in<PermuteOp>("tensor")), attributes.permutation);
}

// --- elements at indices ---------------------------------------------------------------------------------------------

namespace {

/// Calls visit(i, address, coordinates) for each of `count` elements; address as for Box.
template <class Visit>
void each_indexed(Agent& agent, Op const& op, std::int64_t count, Visit const& visit) {
  Indices const indices(agent, op);
  int const tensor = agent.tensor(*op.in("tensor"));
  std::int64_t coordinates[max_rank] = {};
  for (std::int64_t i = 0; i < count; ++i) {
    indices.get(i, coordinates);
    visit(i, locate(agent, op, tensor, coordinates), coordinates);
  }
}

/// Replaces elements by the result of `changed(i, old)`, and sets the result to the old ones.
template <class Changed>
void change_each(Agent& agent, Op const& op, MemoryOrder order, Changed const& changed) {
  Value result = agent.fresh(op);
  int const tensor = agent.tensor(*op.in("tensor"));
  bool const noted = agent.launch().options().check_races;
  bool changes = false;
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    T* const to = result.data<T>();
    each_indexed(agent, op, result.count(), [&](std::int64_t i, std::byte* address, std::int64_t const* coordinates) {
      if (address == nullptr) return;
      if (noted) agent.launch().note_store(agent, op, tensor, address, coordinates);
      if (noted) agent.launch().follow(agent, address, order);
      to[i] = read_element<T>(address, result.element());
      T const now = changed(i, to[i]);
      changes = changes || !same_bits(now, to[i]);
      write_element(address, result.element(), now);
    });
  });
  if (changes)
    agent.launch().note_change();
  else if (acquires(order))
    agent.launch().note_vain_acquire(op);
  agent.set(*op.result(), std::move(result));
}

}  // namespace

void execute(Agent& agent, Op const& op, GatherOp const& attributes) {
  Value result = agent.fresh(op);
  int const tensor = agent.tensor(*op.in<GatherOp>("tensor"));
  bool const noted = agent.launch().loads_noted(agent.argument(tensor));
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    T const pad = constant_as<T>(attributes.pad);
    T* const to = result.data<T>();
    each_indexed(agent, op, result.count(), [&](std::int64_t i, std::byte* address, std::int64_t const* coordinates) {
      to[i] = address == nullptr ? pad : read_element<T>(address, result.element());
      if (noted && address != nullptr) agent.launch().note_load(agent, op, tensor, address, coordinates);
    });
  });
  agent.set(*op.result(), std::move(result));
}

void execute(Agent& agent, Op const& op, ScatterOp const&) {
  Value const& tile = agent.value(*op.in<ScatterOp>("tile"));
  int const tensor = agent.tensor(*op.in<ScatterOp>("tensor"));
  bool const noted = agent.launch().options().check_races || agent.launch().options().report_unwritten;
  agent.launch().note_change();
  with_storage(tile.storage(), [&]<class T>(std::type_identity<T>) {
    T const* const from = tile.data<T>();
    each_indexed(agent, op, tile.count(), [&](std::int64_t i, std::byte* address, std::int64_t const* coordinates) {
      if (address == nullptr) return;
      if (noted) agent.launch().note_store(agent, op, tensor, address, coordinates);
      write_element(address, tile.element(), from[i]);
    });
  });
}

void execute(Agent& agent, Op const& op, AtomicUpdateOp const& attributes) {
  Value const value = agent.value(*op.in<AtomicUpdateOp>("tile"));
  change_each(agent, op, attributes.order,
              [&]<class T>(std::int64_t i, T old) { return updated(attributes.combine, old, value.data<T>()[i]); });
}

void execute(Agent& agent, Op const& op, CompareExchangeOp const& attributes) {
  Value const value = agent.value(*op.in<CompareExchangeOp>("tile"));
  Value const expected = agent.value(*op.in<CompareExchangeOp>("expected"));
  change_each(agent, op, attributes.order, [&]<class T>(std::int64_t i, T old) {
    return same_bits(old, expected.data<T>()[i]) ? value.data<T>()[i] : old;
  });
}

}  // namespace tegula::sim
