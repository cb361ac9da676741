// Implements shapes and layouts: the operand's element of each element of a warp's result.
#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "ir/memory/exchange.hpp"
#include "ir/memory/row_major.hpp"
#include "ir/memory/source.hpp"
#include "ir/text/text.hpp"
#include "ir/values/table.hpp"
#include "sim/block/exchange.hpp"
#include "sim/block/meaning.hpp"
#include "sim/memory_element.hpp"
#include "tegula/support/error.hpp"
#include "tegula/support/warp.hpp"

namespace tegula::sim::block {

using namespace ir;

namespace {

/// Names the operand's element of each element of a warp's result.
struct Places {
  struct Place {
    std::int64_t linear = 0;  ///< row-major index in the operand
    std::int32_t from = 0;    ///< element of the warp's fragment of the operand; -1: another warp holds it
    int operand = 0;
  };
  std::vector<Place> list;
  bool exchanges = false;  ///< warps meet: through shared memory, even if each holds all that it needs
};

/// Refuses an op that would move elements between warps.
void require_own(Op const& op, Places const& places) {
  for (Places::Place const& place : places.list)
    if (place.from < 0)
      throw UserError("simulate: " + std::string(op.info().mnemonic) + " from " +
                          to_string(op.operand(place.operand)->type()) + " to " + to_string(op.result()->type()) +
                          " moves elements between warps; only ops with shared memory of their own (scratch) do",
                      op.where());
}

/// Finds elements of an operand of which all along some axes are equal: one that the warp holds.
class EqualElements {
 public:
  EqualElements(SourcePart const& part, Fragment const& held) : part_(part) {
    for (int i = 0; i < held.count(); ++i)
      first_.try_emplace(key(held.at(i)), held.linear[static_cast<std::size_t>(i)]);
  }
  /// Returns the row-major index of an element equal to the one at those coordinates; -1: the warp does not hold any.
  [[nodiscard]] std::int64_t find(std::int64_t const* at) const {
    auto const found = first_.find(key(at));
    return found == first_.end() ? -1 : found->second;
  }

 private:
  template <class Coordinate>
  [[nodiscard]] std::vector<std::int64_t> key(Coordinate const* at) const {
    std::vector<std::int64_t> result;
    for (int axis = 0; axis < part_.rank; ++axis) result.push_back(part_.axes[axis].uniform ? 0 : at[axis]);
    return result;
  }

  SourcePart const& part_;
  std::map<std::vector<std::int64_t>, std::int64_t> first_;
};

/// Returns the row-major index of the place nearest to coordinates that may lie outside of a shape.
std::int64_t nearest(std::int64_t const* at, Extents const& shape) {
  std::int64_t linear = 0;
  for (int axis = 0; axis < shape.size(); ++axis)
    linear = linear * shape[axis] + std::clamp<std::int64_t>(at[axis], 0, shape[axis] - 1);
  return linear;
}
bool lies_in(std::int64_t const* at, Extents const& shape) {
  for (int axis = 0; axis < shape.size(); ++axis)
    if (at[axis] < 0 || at[axis] >= shape[axis]) return false;
  return true;
}

void find(Places& places, WarpProgram& warp, Op const& op) {
  Source const source = ir::source(op);
  Fragment const& result = warp.fragment(op.result()->type());
  Fragment const* held[max_source_parts] = {};
  for (int p = 0; p < source.count; ++p) held[p] = &warp.fragment(op.operand(source.parts[p].operand)->type());
  std::optional<EqualElements> equal;
  if (takes_equal_elements(source)) equal.emplace(source.parts[0], *held[0]);
  for (int i = 0; i < result.count(); ++i) {
    Places::Place place;
    std::int64_t at[max_rank] = {};
    int p = 0;
    for (; p < source.count; ++p) {
      coordinates(source.parts[p], held[p]->shape, result.shape, result.at(i), at);
      if (lies_in(at, held[p]->shape)) break;
    }
    bool const inside = p < source.count;
    if (!inside) p = 0;
    place.operand = source.parts[p].operand;
    // Behind the operand stands anything: through shared memory the nearest element, else one that the warp holds.
    place.linear = inside || places.exchanges ? nearest(at, held[p]->shape) : held[p]->linear[0];
    if (equal)
      if (std::int64_t const own = equal->find(at); own >= 0) place.linear = own;
    place.from = held[p]->holder[static_cast<std::size_t>(place.linear)];
    places.list.push_back(place);
  }
}

/// Repeats a scalar.
Progress splat(WarpProgram& warp, Op const& op) {
  Value const scalar = warp.value(*op.operand());
  Value result = warp.agent().fresh(op);
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    std::fill_n(result.data<T>(), result.count(), *scalar.data<T>());
  });
  warp.set(*op.result(), std::move(result));
  return Progress::done;
}

}  // namespace

// Elements move within the warp, or through the op's scratch.
Progress move_elements(WarpProgram& warp, Op const& op) {
  if (!op.operand(0)->type().is_tile()) return splat(warp, op);
  Places& places = warp.engine().table<Places>(op, warp.index());
  if (places.list.empty()) {
    places.exchanges = scratch_bytes(op) > 0;
    find(places, warp, op);
    if (!places.exchanges) require_own(op, places);
  }
  if (places.exchanges)
    if (Progress const progress = exchange(warp, op, warp.value(*op.operand())); progress == Progress::again)
      return progress;
  Value result = warp.agent().fresh(op);
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    T* const data = result.data<T>();
    if (!places.exchanges) {
      T const* from[max_source_parts] = {};
      for (int i = 0; i < op.operand_count(); ++i) from[i] = warp.value(*op.operand(i)).data<T>();
      for (Places::Place const& place : places.list)
        data[&place - places.list.data()] = from[place.operand][place.from];
      return;
    }
    Exchange const& all = warp.engine().exchange(warp.cta(), op);
    for (int w = 0; w < warp.group().warps; ++w) {
      Fragment const& theirs = warp.fragment(op.operand()->type(), w);
      T const* const given = all[static_cast<std::size_t>(w)].data<T>();
      for (std::size_t i = 0; i < places.list.size(); ++i) {
        std::int32_t const holder = theirs.holder[static_cast<std::size_t>(places.list[i].linear)];
        if (holder >= 0) data[i] = given[holder];
      }
    }
  });
  warp.set(*op.result(), std::move(result));
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, IotaOp const& attributes) {
  Fragment const& fragment = warp.fragment(op.result()->type());
  Value result = warp.agent().fresh(op);
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    for (int i = 0; i < fragment.count(); ++i) result.data<T>()[i] = static_cast<T>(fragment.at(i)[attributes.axis]);
  });
  warp.set(*op.result(), std::move(result));
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, TableOp const& attributes) {
  Fragment const& fragment = warp.fragment(op.result()->type());
  Value result = warp.agent().fresh(op);
  std::vector<std::byte> const elements = ir::table_bytes(attributes);
  Element const element = op.result()->type().element();
  Extents const strides = row_major_strides(op.result()->type().shape());
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    for (int i = 0; i < fragment.count(); ++i) {
      std::int64_t at = 0;
      for (int axis = 0; axis < strides.size(); ++axis) at += fragment.at(i)[axis] * strides[axis];
      result.data<T>()[i] = read_element<T>(elements.data() + at * bytes(element), element);
    }
  });
  warp.set(*op.result(), std::move(result));
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, ItemOp const&) {
  Value const operand = warp.value(*op.operand());
  Value result = warp.agent().fresh(op);
  with_storage(operand.storage(), [&]<class T>(std::type_identity<T>) {
    T const first = *operand.data<T>();
    for (std::int64_t i = 1; i < operand.count(); ++i) {
      T const other = operand.data<T>()[i];
      if (other != first && (other == other || first == first))
        throw UserError("simulate: item: the threads of a warp hold different elements", op.where());
    }
    *result.data<T>() = first;
  });
  warp.set(*op.result(), std::move(result));
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, ShuffleOp const& attributes) {
  Value const operand = warp.value(*op.operand());
  Value result = warp.agent().fresh(op);
  std::int64_t const registers = operand.count() / warp_lanes;
  with_storage(operand.storage(), [&]<class T>(std::type_identity<T>) {
    for (std::int64_t lane = 0; lane < warp_lanes; ++lane)
      std::copy_n(operand.data<T>() + (lane ^ attributes.mask) * registers, registers,
                  result.data<T>() + lane * registers);
  });
  warp.set(*op.result(), std::move(result));
  return Progress::done;
}

}  // namespace tegula::sim::block
