// Executes reductions, scans, folds and votes, and the exchange between warps.
#include <algorithm>
#include <map>

#include "ir/memory/exchange.hpp"
#include "sim/block/exchange.hpp"
#include "sim/block/meaning.hpp"
#include "sim/combine.hpp"
#include "sim/scan.hpp"
#include "tegula/math/functions.hpp"
#include "tegula/support/error.hpp"
#include "tegula/support/warp.hpp"

namespace tegula::sim::block {

using namespace ir;

namespace {

/// Writes a warp's part of an op's scratch memory. Each byte needs one writer; any lane may write it.
void write_share(WarpProgram& warp, Op const& op, std::uint32_t warps) {
  auto const size = static_cast<std::uint32_t>(scratch_bytes(op));
  std::uint32_t const share = size / warps,
                      mine = warp.shared_place(op) + share * static_cast<std::uint32_t>(warp.index());
  std::vector<machine::LaneBytes> bytes;
  for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
    std::uint32_t const from = mine + share * lane / warp_lanes, to = mine + share * (lane + 1) / warp_lanes;
    if (from < to) bytes.push_back({from, to, lane});
  }
  if (!bytes.empty())
    warp.warp().write(machine::all_lanes, machine::Footprint(warp.warp().shared(), bytes), warp.site());
}

}  // namespace

Progress exchange(WarpProgram& warp, Op const& op, std::vector<Value> const& operands) {
  if (warp.group().specialized)
    throw UserError("simulate: " + std::string(op.info().mnemonic) +
                        " exchanges elements between warps by the barrier of the CTA, which cannot be reached inside "
                        "warp_specialize; choose a layout that keeps them within warps",
                    op.where());
  // Reductions that share a barrier: all write ahead of it, and all read after it. Here each has one, and the memory is
  // written by the first and read by the last.
  std::vector<Op const*> const sharing = sharing_barrier(op);
  auto const warps = static_cast<std::uint32_t>(warp.group().warps);
  if (warp.turn() == 0) {
    Exchange& all = warp.engine().exchange(warp.cta(), op);
    all.resize(operands.size() * warps);
    for (std::size_t i = 0; i < operands.size(); ++i)
      all[i * warps + static_cast<std::size_t>(warp.index())] = operands[i];
    if (sharing.front() == &op)
      for (Op const* each : sharing) write_share(warp, *each, warps);
    (void)warp.warp().barrier(0, 0, machine::all_lanes, warp.site());
    return Progress::again;
  }
  if (sharing.back() == &op)
    for (Op const* each : sharing) {
      std::uint32_t const begin = warp.shared_place(*each), size = static_cast<std::uint32_t>(scratch_bytes(*each));
      std::uint32_t const written = size / warps * warps;
      if (written != 0)
        warp.warp().read(machine::all_lanes, machine::Footprint(warp.warp().shared(), begin, begin + written),
                         warp.site());
    }
  return Progress::done;
}

namespace {

/// Combines by the balanced tree over ascending coordinates: adjacent pairs first, an odd last one carried up.
/// Order::pairwise requires this order, and Order::any allows it.
template <class T>
T tree(Combine kind, std::vector<T>& values) {
  for (std::size_t left = values.size(); left > 1; left = (left + 1) / 2) {
    for (std::size_t i = 0; i < left / 2; ++i) values[i] = combine(kind, values[2 * i], values[2 * i + 1]);
    if (left % 2 != 0) values[left / 2] = values[left - 1];
  }
  return values[0];
}

/// Lists, for each distinct element of the result, the elements that it joins, in ascending order along the axis.
struct Groups {
  struct Part {
    std::int32_t warp;
    std::int32_t element;
  };
  std::vector<std::vector<Part>> groups;
  std::vector<std::int32_t> group_of;  ///< by element of the result
  bool exchanges = false;
};

Extents without(Extents at, int axis) {
  at[axis] = 0;
  return at;
}

Extents coordinates(Fragment const& fragment, int element) {
  Extents at;
  for (int axis = 0; axis < fragment.rank; ++axis) at.push_back(fragment.at(element)[axis]);
  return at;
}

std::int64_t linear(Extents const& at, Extents const& shape) {
  std::int64_t result = 0;
  for (int axis = 0; axis < shape.size(); ++axis) result = result * shape[axis] + at[axis];
  return result;
}

bool exchanges(std::vector<ReductionStep> const& steps) {
  return std::any_of(steps.begin(), steps.end(),
                     [](ReductionStep const& step) { return step.kind == ReductionStep::Kind::exchange; });
}

/// Finds the operand's elements along the axis, in this warp or, if warps exchange, in the group.
std::vector<Groups::Part> line_of(WarpProgram& warp, Op const& op, Extents at, int axis, bool exchanges) {
  std::vector<Groups::Part> parts;
  Type const& from = op.operand()->type();
  for (at[axis] = 0; at[axis] < from.shape()[axis]; ++at[axis]) {
    auto const place = static_cast<std::size_t>(linear(at, from.shape()));
    std::int32_t holder = warp.fragment(from).holder[place];
    std::int32_t of = warp.index();
    for (int w = 0; holder < 0 && exchanges && w < warp.group().warps; ++w) {
      holder = warp.fragment(from, w).holder[place];
      of = w;
    }
    if (holder < 0)
      throw UserError(
          "simulate: " + std::string(op.info().mnemonic) + " to a layout in other warps; convert it afterwards",
          op.where());
    parts.push_back({of, holder});
  }
  return parts;
}

Groups reduction_groups(WarpProgram& warp, Op const& op, int axis) {
  Groups groups;
  Type const &from = op.operand()->type(), &to = op.result()->type();
  auto const steps = reduction_steps(*from.layout(), axis, op.as<ReduceOp>().order);
  if (!steps) throw UserError("simulate: reduce: the layout has no plan for this axis; convert it first", op.where());
  groups.exchanges = exchanges(*steps);
  Fragment const& result = warp.fragment(to);
  std::map<std::int64_t, std::int32_t> known;
  for (int i = 0; i < result.count(); ++i) {
    Extents at = coordinates(result, i);
    auto const [found, fresh] =
        known.emplace(linear(at, result.shape), static_cast<std::int32_t>(groups.groups.size()));
    groups.group_of.push_back(found->second);
    if (!fresh) continue;
    groups.groups.push_back(line_of(warp, op, at, axis, groups.exchanges));
  }
  return groups;
}

/// Groups the elements that one thread holds along the axis.
Groups fold_groups(WarpProgram& warp, Op const& op, int axis) {
  Groups groups;
  Fragment const& operand = warp.fragment(op.operand()->type());
  Fragment const& result = warp.fragment(op.result()->type());
  for (int i = 0; i < result.count(); ++i) {
    Extents const wanted = without(coordinates(result, i), axis);
    std::map<std::int64_t, std::int32_t> found;
    int const first = result.lane_of(i) * operand.registers;
    for (int element = first; element < first + operand.registers; ++element) {
      Extents const at = coordinates(operand, element);
      if (without(at, axis) == wanted) found.emplace(at[axis], element);
    }
    if (found.empty()) throw UserError("simulate: fold: the result's layout has elements in other threads", op.where());
    groups.group_of.push_back(static_cast<std::int32_t>(groups.groups.size()));
    std::vector<Groups::Part>& parts = groups.groups.emplace_back();
    for (auto const& [at, element] : found) parts.push_back({warp.index(), element});
  }
  return groups;
}

void reduce(WarpProgram& warp, Op const& op, Groups const& groups, Combine kind, Exchange const& values) {
  Value result = warp.agent().fresh(op);
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, std::uint8_t>) {
      throw UserError("simulate: " + std::string(op.info().mnemonic) + " of bool is not supported", op.where());
    } else {
      std::vector<T> joined, scratch;
      for (std::vector<Groups::Part> const& parts : groups.groups) {
        scratch.clear();
        for (Groups::Part const& part : parts)
          scratch.push_back(values[static_cast<std::size_t>(part.warp)].template data<T>()[part.element]);
        T value = tree(kind, scratch);
        if constexpr (std::is_same_v<T, float>) value = round_to_element(value, result.element());
        joined.push_back(value);
      }
      for (std::size_t i = 0; i < groups.group_of.size(); ++i)
        result.data<T>()[i] = joined[static_cast<std::size_t>(groups.group_of[i])];
    }
  });
  warp.set(*op.result(), std::move(result));
}

/// Lists the lines along an axis of which this warp holds elements.
struct Lines {
  std::vector<std::vector<Groups::Part>> lines;
  std::vector<std::pair<std::int32_t, std::int32_t>> at;  ///< by element: its line and its place there
  bool exchanges = false;
};

Lines scanned_lines(WarpProgram& warp, Op const& op, int axis) {
  Lines result;
  Type const& type = op.operand()->type();
  auto const steps = scan_steps(*type.layout(), axis);
  if (!steps) throw UserError("simulate: scan: the layout has no plan for this axis; convert it first", op.where());
  result.exchanges = exchanges(*steps);
  Fragment const& fragment = warp.fragment(type);
  std::map<std::int64_t, std::int32_t> known;
  for (int i = 0; i < fragment.count(); ++i) {
    Extents const at = coordinates(fragment, i);
    auto const [found, fresh] =
        known.emplace(linear(without(at, axis), fragment.shape), static_cast<std::int32_t>(result.lines.size()));
    if (fresh) result.lines.push_back(line_of(warp, op, at, axis, result.exchanges));
    result.at.emplace_back(found->second, static_cast<std::int32_t>(at[axis]));
  }
  return result;
}

void scan(WarpProgram& warp, Op const& op, Lines const& lines, ScanOp const& attributes, Exchange const& values) {
  Value result = warp.agent().fresh(op);
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, std::uint8_t>) {
      throw UserError("simulate: scan of bool is not supported", op.where());
    } else {
      std::vector<std::vector<T>> scanned;
      for (std::vector<Groups::Part> const& line : lines.lines) {
        auto const extent = static_cast<std::int64_t>(line.size());
        std::vector<T> results(line.size());
        auto const place = [&](std::int64_t i) {
          return static_cast<std::size_t>(attributes.reverse ? extent - 1 - i : i);
        };
        scan_line(
            attributes, result.element(), extent,
            [&](std::int64_t i) {
              Groups::Part const& part = line[place(i)];
              return values[static_cast<std::size_t>(part.warp)].template data<T>()[part.element];
            },
            [&](std::int64_t i, T value) { results[place(i)] = value; });
        scanned.push_back(std::move(results));
      }
      for (std::size_t i = 0; i < lines.at.size(); ++i)
        result.data<T>()[i] =
            scanned[static_cast<std::size_t>(lines.at[i].first)][static_cast<std::size_t>(lines.at[i].second)];
    }
  });
  warp.set(*op.result(), std::move(result));
}

/// Uses the values of this warp alone in place of the group's.
Exchange own_values(WarpProgram& warp, Op const& op) {
  Exchange values(static_cast<std::size_t>(warp.group().warps));
  values[static_cast<std::size_t>(warp.index())] = warp.value(*op.operand());
  return values;
}

}  // namespace

Progress perform(WarpProgram& warp, Op const& op, ReduceOp const& attributes) {
  Groups& groups = warp.engine().table<Groups>(op, warp.index());
  if (groups.groups.empty()) groups = reduction_groups(warp, op, static_cast<int>(attributes.axis));
  if (!groups.exchanges) {
    reduce(warp, op, groups, attributes.combine, own_values(warp, op));
    return Progress::done;
  }
  Progress const progress = exchange(warp, op, warp.value(*op.operand()));
  if (progress == Progress::again) return progress;
  reduce(warp, op, groups, attributes.combine, warp.engine().exchange(warp.cta(), op));
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, ScanOp const& attributes) {
  Lines& lines = warp.engine().table<Lines>(op, warp.index());
  if (lines.lines.empty()) lines = scanned_lines(warp, op, static_cast<int>(attributes.axis));
  if (!lines.exchanges) {
    scan(warp, op, lines, attributes, own_values(warp, op));
    return Progress::done;
  }
  Progress const progress = exchange(warp, op, warp.value(*op.operand()));
  if (progress == Progress::again) return progress;
  scan(warp, op, lines, attributes, warp.engine().exchange(warp.cta(), op));
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, FoldOp const& attributes) {
  Groups& groups = warp.engine().table<Groups>(op, warp.index());
  if (groups.groups.empty()) groups = fold_groups(warp, op, static_cast<int>(attributes.axis));
  reduce(warp, op, groups, attributes.combine, own_values(warp, op));
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, VoteOp const& attributes) {
  Value const operand = warp.value(*op.operand());
  std::uint8_t const* const bools = operand.data<std::uint8_t>();
  bool const any = std::any_of(bools, bools + operand.count(), [](std::uint8_t b) { return b != 0; });
  bool const all = std::all_of(bools, bools + operand.count(), [](std::uint8_t b) { return b != 0; });
  Value result = warp.agent().fresh(op);
  *result.data<std::uint8_t>() = (attributes.kind == Vote::any ? any : all) ? 1 : 0;
  warp.set(*op.result(), std::move(result));
  return Progress::done;
}

}  // namespace tegula::sim::block
