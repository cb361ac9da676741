// Implements loads and stores of global memory.
#include <algorithm>

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
  /// Offsets are the op's operands from `first` on, one per tensor axis.
  Box(Agent& agent, Op const& op, Type const& tile)
      : agent_(agent),
        op_(op),
        tensor_number_(agent.tensor(*op.in("tensor"))),
        tensor_(agent.launch().arguments()[static_cast<std::size_t>(tensor_number_)].tensor),
        tile_(tile) {
    // Offsets so far out that sums would overflow are outside all the same.
    constexpr std::int64_t far = std::int64_t{1} << 61;
    for (ir::Value const* offset : op.all("offsets")) offsets_.push_back(std::clamp(agent.index(*offset), -far, far));
  }

  /// Calls visit(i, address, coordinates) for element i of the tile; address is null outside the tensor, or, with a
  /// report, outside its memory.
  template <class Visit>
  void each(Visit&& visit) const {
    int const lead = tensor_.extents.size() - tile_.rank();
    Extents const& shape = tile_.shape();
    std::int64_t at[max_rank] = {};
    std::int64_t coordinates[max_rank] = {};
    for (std::int64_t i = 0; i < tile_.elements(); ++i) {
      bool inside = true;
      std::int64_t offset = 0;
      for (int axis = 0; axis < tensor_.extents.size(); ++axis) {
        coordinates[axis] = offsets_[axis] + (axis < lead ? 0 : at[axis - lead]);
        inside = inside && coordinates[axis] >= 0 && coordinates[axis] < tensor_.extents[axis];
        if (inside) offset = math::wrapping_add(offset, math::wrapping_mul(coordinates[axis], tensor_.strides[axis]));
      }
      visit(i, inside ? checked(address(offset), coordinates) : nullptr, coordinates);
      for (int axis = shape.size() - 1; axis >= 0; --axis) {
        if (++at[axis] < shape[axis]) break;
        at[axis] = 0;
      }
    }
  }

  [[nodiscard]] int tensor_number() const { return tensor_number_; }
  [[nodiscard]] Element element() const { return tensor_.element; }

 private:
  /// Computes addresses as integers: those of a wrong view may point anywhere.
  [[nodiscard]] std::byte* address(std::int64_t offset) const {
    auto const distance = static_cast<std::uintptr_t>(offset) * static_cast<std::uintptr_t>(bytes(tensor_.element));
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(tensor_.data) + distance);
  }

  std::byte* checked(std::byte* element, std::int64_t const* coordinates) const {
    if (tensor_.memory_end == nullptr) return element;
    auto const number = [](void const* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
    auto const begin = number(tensor_.memory_begin), end = number(tensor_.memory_end), at = number(element);
    if (at >= begin && at < end && end - at >= static_cast<std::uintptr_t>(bytes(tensor_.element))) return element;
    agent_.report(ReportKind::outside_memory, op_, [&] {
      return agent_.launch().element_text(tensor_number_, coordinates) + " lies outside the view's memory (" +
             std::to_string(static_cast<std::intptr_t>(at - begin)) + " bytes from its start, which holds " +
             std::to_string(end - begin) + ")";
    });
    return nullptr;
  }

  Agent& agent_;
  Op const& op_;
  int tensor_number_;
  Tensor const& tensor_;
  Type tile_;
  Extents offsets_;
};

}  // namespace

void execute(Agent& agent, Op const& op, LoadOp const& attributes) {
  Value result = agent.fresh(op);
  Box const box(agent, op, result.type());
  bool const noted = agent.launch().loads_noted(box.tensor_number());
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    T pad{};
    if constexpr (std::is_floating_point_v<T>)
      pad = static_cast<T>(to_double(attributes.pad));
    else
      pad = static_cast<T>(to_int(attributes.pad));
    T* const to = result.data<T>();
    box.each([&](std::int64_t i, std::byte const* address, std::int64_t const* coordinates) {
      to[i] = address == nullptr ? pad : read_element<T>(address, box.element());
      if (noted && address != nullptr) agent.launch().note_load(agent, op, box.tensor_number(), address, coordinates);
    });
  });
  agent.set(*op.result(), std::move(result));
}

void execute(Agent& agent, Op const& op, StoreOp const&) {
  Value const& tile = agent.value(*op.in<StoreOp>("tile"));
  Box const box(agent, op, tile.type());
  bool const noted = agent.launch().options().check_races || agent.launch().options().report_unwritten;
  with_storage(tile.storage(), [&]<class T>(std::type_identity<T>) {
    T const* const from = tile.data<T>();
    box.each([&](std::int64_t i, std::byte* address, std::int64_t const* coordinates) {
      if (address == nullptr) return;
      if (noted) agent.launch().note_store(agent, op, box.tensor_number(), address, coordinates);
      write_element(address, box.element(), from[i]);
    });
  });
}

}  // namespace tegula::sim
