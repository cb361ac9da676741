// Implements shapes and layouts: the operand's element of each element of a warp's result.
#include <algorithm>
#include <map>

#include "ir/exchange.hpp"
#include "ir/text.hpp"
#include "sim/block/exchange.hpp"
#include "sim/block/meaning.hpp"
#include "tegula/support/error.hpp"

namespace tegula::sim::block {

using namespace ir;

namespace {

/// Gives, for each element of the result, its element of the operand; -1: another warp holds it.
struct Source {
  std::vector<std::int64_t> linear;  ///< row-major index in the operand
  std::vector<std::int32_t> from;
  bool exchanges = false;  ///< warps meet: through shared memory, even if each holds all that it needs
};

/// Refuses an op that would move elements between warps.
void require_own(Op const& op, std::vector<std::int32_t> const& from) {
  if (std::find(from.begin(), from.end(), -1) == from.end()) return;
  throw UserError("simulate: " + std::string(op.info().mnemonic) + " from " + to_string(op.operand(0)->type()) +
                      " to " + to_string(op.result()->type()) +
                      " moves elements between warps; only convert_layout, reshape, extract, resize and butterfly do",
                  op.where());
}

/// Finds the sources of a warp's elements from the map of coordinates.
template <class Coordinates>
void find(Source& source, Fragment const& result, Fragment const& operand, Coordinates const& coordinates) {
  for (int i = 0; i < result.count(); ++i) {
    std::int64_t at[max_rank] = {};
    coordinates(result.at(i), at);
    std::int64_t linear = 0;
    for (int axis = 0; axis < operand.rank; ++axis) linear = linear * operand.shape[axis] + at[axis];
    source.linear.push_back(linear);
    source.from.push_back(operand.holder[static_cast<std::size_t>(linear)]);
  }
}

/// Runs an op whose result is its operand at other coordinates: within the warp, or through the op's scratch.
template <class Coordinates>
Progress move(WarpProgram& warp, Op const& op, Coordinates const& coordinates) {
  Source& source = warp.engine().table<Source>(op, warp.index());
  Type const &from = op.operand()->type(), &to = op.result()->type();
  if (source.from.empty()) {
    find(source, warp.fragment(to), warp.fragment(from), coordinates);
    source.exchanges = scratch_bytes(op) > 0;
    if (!source.exchanges) require_own(op, source.from);
  }
  Value const& operand = warp.value(*op.operand());
  if (source.exchanges)
    if (Progress const progress = exchange(warp, op, operand); progress == Progress::again) return progress;
  Value result = warp.agent().fresh(op);
  with_storage(operand.storage(), [&]<class T>(std::type_identity<T>) {
    T* const data = result.data<T>();
    if (!source.exchanges) {
      for (std::size_t i = 0; i < source.from.size(); ++i) data[i] = operand.data<T>()[source.from[i]];
      return;
    }
    Exchange const& all = warp.engine().exchange(warp.cta(), op);
    for (int w = 0; w < warp.group().warps; ++w) {
      Fragment const& theirs = warp.fragment(from, w);
      T const* const given = all[static_cast<std::size_t>(w)].data<T>();
      for (std::size_t i = 0; i < source.linear.size(); ++i) {
        std::int32_t const holder = theirs.holder[static_cast<std::size_t>(source.linear[i])];
        if (holder >= 0) data[i] = given[holder];
      }
    }
  });
  warp.set(*op.result(), std::move(result));
  return Progress::done;
}

}  // namespace

Progress perform(WarpProgram& warp, Op const& op, SplatOp const&) {
  Value const scalar = warp.value(*op.operand());
  Value result = warp.agent().fresh(op);
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    std::fill_n(result.data<T>(), result.count(), *scalar.data<T>());
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

Progress perform(WarpProgram& warp, Op const& op, BroadcastOp const&) {
  Extents const& from = op.operand()->type().shape();
  return move(warp, op, [&](std::int32_t const* at, std::int64_t* source) {
    for (int axis = 0; axis < from.size(); ++axis) source[axis] = from[axis] == 1 ? 0 : at[axis];
  });
}

Progress perform(WarpProgram& warp, Op const& op, ExpandDimsOp const& attributes) {
  int const rank = op.result()->type().rank();
  return move(warp, op, [&](std::int32_t const* at, std::int64_t* source) {
    int next = 0;
    for (int axis = 0; axis < rank; ++axis)
      if (std::find(attributes.axes.begin(), attributes.axes.end(), axis) == attributes.axes.end())
        source[next++] = at[axis];
  });
}

Progress perform(WarpProgram& warp, Op const& op, SqueezeOp const& attributes) {
  int const rank = op.operand()->type().rank();
  return move(warp, op, [&](std::int32_t const* at, std::int64_t* source) {
    int next = 0;
    for (int axis = 0; axis < rank; ++axis)
      if (std::find(attributes.axes.begin(), attributes.axes.end(), axis) == attributes.axes.end())
        source[axis] = at[next++];
  });
}

Progress perform(WarpProgram& warp, Op const& op, TransOp const& attributes) {
  return move(warp, op, [&](std::int32_t const* at, std::int64_t* source) {
    for (int axis = 0; axis < attributes.permutation.size(); ++axis) source[attributes.permutation[axis]] = at[axis];
  });
}

Progress perform(WarpProgram& warp, Op const& op, ReshapeOp const&) {
  Extents const &to = op.result()->type().shape(), &from = op.operand()->type().shape();
  return move(warp, op, [&](std::int32_t const* at, std::int64_t* source) {
    std::int64_t linear = 0;
    for (int axis = 0; axis < to.size(); ++axis) linear = linear * to[axis] + at[axis];
    for (int axis = from.size(); axis-- > 0; linear /= from[axis]) source[axis] = linear % from[axis];
  });
}

Progress perform(WarpProgram& warp, Op const& op, ConcatenateOp const& attributes) {
  Fragment const& fragment = warp.fragment(op.result()->type());
  Fragment const* const parts[] = {&warp.fragment(op.lhs()->type()), &warp.fragment(op.rhs()->type())};
  std::int64_t const left = op.lhs()->type().shape()[static_cast<int>(attributes.axis)];
  Source& source = warp.engine().table<Source>(op, warp.index());
  if (source.from.empty()) {
    // Elements of the right operand are numbered behind those of the left one.
    for (int i = 0; i < fragment.count(); ++i) {
      std::int32_t const* const at = fragment.at(i);
      bool const right = at[attributes.axis] >= left;
      Fragment const& part = *parts[right ? 1 : 0];
      std::int64_t linear = 0;
      for (int axis = 0; axis < part.rank; ++axis)
        linear = linear * part.shape[axis] + at[axis] - (right && axis == attributes.axis ? left : 0);
      std::int32_t const holder = part.holder[static_cast<std::size_t>(linear)];
      source.from.push_back(holder < 0 || !right ? holder : holder + parts[0]->count());
    }
    require_own(op, source.from);
  }
  Value const &lhs = warp.value(*op.lhs()), &rhs = warp.value(*op.rhs());
  Value result = warp.agent().fresh(op);
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    for (std::size_t i = 0; i < source.from.size(); ++i) {
      std::int32_t const from = source.from[i];
      result.data<T>()[i] = from < parts[0]->count() ? lhs.data<T>()[from] : rhs.data<T>()[from - parts[0]->count()];
    }
  });
  warp.set(*op.result(), std::move(result));
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, ResizeOp const&) {
  Extents const& held = op.operand()->type().shape();
  Fragment const& own = warp.fragment(op.operand()->type());
  bool const exchanges = scratch_bytes(op) > 0;
  return move(warp, op, [&](std::int32_t const* at, std::int64_t* source) {
    bool inside = true;
    for (int axis = 0; axis < held.size(); ++axis) {
      inside = inside && at[axis] < held[axis];
      source[axis] = std::min<std::int64_t>(at[axis], held[axis] - 1);
    }
    if (!inside && !exchanges) std::copy_n(own.at(0), held.size(), source);  // anything that the warp holds
  });
}

Progress perform(WarpProgram& warp, Op const& op, ButterflyOp const& attributes) {
  int const rank = op.result()->type().rank();
  return move(warp, op, [&](std::int32_t const* at, std::int64_t* source) {
    std::copy_n(at, rank, source);
    source[attributes.axis] ^= attributes.stride;
  });
}

/// Takes elements of which all along the cut axes are equal: one that the warp holds.
Progress take_uniform(WarpProgram& warp, Op const& op) {
  Fragment const& held = warp.fragment(op.operand()->type());
  Extents const& box = op.result()->type().shape();
  std::map<std::vector<std::int32_t>, std::int32_t const*> places;  // of an element, by coordinates in the box
  auto const in_box = [&](std::int32_t const* at) {
    std::vector<std::int32_t> result(at, at + box.size());
    for (int axis = 0; axis < box.size(); ++axis)
      if (box[axis] == 1) result[static_cast<std::size_t>(axis)] = 0;
    return result;
  };
  for (int i = 0; i < held.count(); ++i) places.emplace(in_box(held.at(i)), held.at(i));
  return move(warp, op, [&](std::int32_t const* at, std::int64_t* source) {
    auto const found = places.find(in_box(at));
    std::copy_n(found == places.end() ? at : found->second, box.size(), source);
  });
}

Progress perform(WarpProgram& warp, Op const& op, ExtractOp const& attributes) {
  if (attributes.uniform) return take_uniform(warp, op);
  return move(warp, op, [&](std::int32_t const* at, std::int64_t* source) {
    for (int axis = 0; axis < attributes.offsets.size(); ++axis) source[axis] = attributes.offsets[axis] + at[axis];
  });
}

Progress perform(WarpProgram& warp, Op const& op, ConvertLayoutOp const&) {
  return move(warp, op, [rank = op.result()->type().rank()](std::int32_t const* at, std::int64_t* source) {
    std::copy_n(at, rank, source);
  });
}

Progress perform(WarpProgram& warp, Op const& op, ShuffleOp const& attributes) {
  Value const operand = warp.value(*op.operand());
  Value result = warp.agent().fresh(op);
  std::int64_t const registers = operand.count() / 32;
  with_storage(operand.storage(), [&]<class T>(std::type_identity<T>) {
    for (std::int64_t lane = 0; lane < 32; ++lane)
      std::copy_n(operand.data<T>() + (lane ^ attributes.mask) * registers, registers,
                  result.data<T>() + lane * registers);
  });
  warp.set(*op.result(), std::move(result));
  return Progress::done;
}

}  // namespace tegula::sim::block
