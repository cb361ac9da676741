// Implements shapes and layouts: the operand's element of each element of a warp's result.
#include <algorithm>

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
  std::vector<std::int32_t> from;
  bool exchanges = false;  ///< warps meet: through shared memory, even if each holds all that it needs
};

/// Fills `source` from the map of coordinates, for one warp.
template <class Coordinates>
std::vector<std::int32_t> find(Fragment const& result, Fragment const& operand, Coordinates const& coordinates) {
  std::vector<std::int32_t> from(static_cast<std::size_t>(result.count()));
  for (int i = 0; i < result.count(); ++i) {
    std::int64_t at[max_rank] = {};
    coordinates(result.at(i), at);
    std::int64_t linear = 0;
    for (int axis = 0; axis < operand.rank; ++axis) linear = linear * operand.shape[axis] + at[axis];
    from[static_cast<std::size_t>(i)] = operand.holder[static_cast<std::size_t>(linear)];
  }
  return from;
}

Value gathered(WarpProgram& warp, Op const& op, std::vector<std::int32_t> const& from) {
  Value const& operand = warp.value(*op.operand());
  Value result = warp.agent().fresh(op);
  with_storage(operand.storage(), [&]<class T>(std::type_identity<T>) {
    T const* const source = operand.data<T>();
    T* const to = result.data<T>();
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = source[from[i]];
  });
  return result;
}

/// Runs an op whose result is its operand at other coordinates, within the warp.
template <class Coordinates>
Progress move_within(WarpProgram& warp, Op const& op, Coordinates const& coordinates) {
  Source& source = warp.engine().table<Source>(op, warp.index());
  if (source.from.empty()) {
    source.from = find(warp.fragment(op.result()->type()), warp.fragment(op.operand()->type()), coordinates);
    if (std::find(source.from.begin(), source.from.end(), -1) != source.from.end())
      throw UserError("simulate: " + std::string(op.info().mnemonic) + " from " + to_string(op.operand()->type()) +
                          " to " + to_string(op.result()->type()) +
                          " moves elements between warps; only convert_layout does",
                      op.where());
  }
  warp.set(*op.result(), gathered(warp, op, source.from));
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
  return move_within(warp, op, [&](std::int32_t const* at, std::int64_t* source) {
    for (int axis = 0; axis < from.size(); ++axis) source[axis] = from[axis] == 1 ? 0 : at[axis];
  });
}

Progress perform(WarpProgram& warp, Op const& op, ExpandDimsOp const& attributes) {
  int const rank = op.result()->type().rank();
  return move_within(warp, op, [&](std::int32_t const* at, std::int64_t* source) {
    int next = 0;
    for (int axis = 0; axis < rank; ++axis)
      if (std::find(attributes.axes.begin(), attributes.axes.end(), axis) == attributes.axes.end())
        source[next++] = at[axis];
  });
}

Progress perform(WarpProgram& warp, Op const& op, SqueezeOp const& attributes) {
  int const rank = op.operand()->type().rank();
  return move_within(warp, op, [&](std::int32_t const* at, std::int64_t* source) {
    int next = 0;
    for (int axis = 0; axis < rank; ++axis)
      if (std::find(attributes.axes.begin(), attributes.axes.end(), axis) == attributes.axes.end())
        source[axis] = at[next++];
  });
}

Progress perform(WarpProgram& warp, Op const& op, TransOp const& attributes) {
  return move_within(warp, op, [&](std::int32_t const* at, std::int64_t* source) {
    for (int axis = 0; axis < attributes.permutation.size(); ++axis) source[attributes.permutation[axis]] = at[axis];
  });
}

Progress perform(WarpProgram& warp, Op const& op, ExtractOp const& attributes) {
  return move_within(warp, op, [&](std::int32_t const* at, std::int64_t* source) {
    for (int axis = 0; axis < attributes.offsets.size(); ++axis) source[axis] = attributes.offsets[axis] + at[axis];
  });
}

Progress perform(WarpProgram& warp, Op const& op, ConvertLayoutOp const&) {
  auto const same = [rank = op.result()->type().rank()](std::int32_t const* at, std::int64_t* source) {
    std::copy_n(at, rank, source);
  };
  Source& source = warp.engine().table<Source>(op, warp.index());
  Type const &from = op.operand()->type(), &to = op.result()->type();
  if (source.from.empty()) {
    source.from = find(warp.fragment(to), warp.fragment(from), same);
    source.exchanges = scratch_bytes(op) > 0;
  }
  if (!source.exchanges) {
    warp.set(*op.result(), gathered(warp, op, source.from));
    return Progress::done;
  }
  Progress const progress = exchange(warp, op, warp.value(*op.operand()));
  if (progress == Progress::again) return progress;
  Value result = warp.agent().fresh(op);
  Exchange const& all = warp.engine().exchange(warp.cta(), op);
  Fragment const& mine = warp.fragment(to);
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    for (int w = 0; w < warp.group().warps; ++w) {
      Fragment const& theirs = warp.fragment(from, w);
      T const* const data = all[static_cast<std::size_t>(w)].data<T>();
      for (int i = 0; i < mine.count(); ++i) {
        std::int32_t const holder = theirs.holder[static_cast<std::size_t>(mine.linear[static_cast<std::size_t>(i)])];
        if (holder >= 0) result.data<T>()[i] = data[holder];
      }
    }
  });
  warp.set(*op.result(), std::move(result));
  return Progress::done;
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
