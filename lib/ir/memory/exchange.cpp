#include "ir/memory/exchange.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "ir/memory/row_major.hpp"
#include "ir/memory/source.hpp"
#include "layout/conversion.hpp"
#include "layout/parts.hpp"
#include "support/locks.hpp"
#include "target/matrix_access.hpp"
#include "tegula/support/error.hpp"
#include "tegula/support/warp.hpp"

namespace tegula::ir {
namespace {

using Kind = ReductionStep::Kind;

/// Returns the coordinates along `axis` at which a thread still has partial results, per result element.
std::set<std::int64_t> register_positions(layout::Layout const& layout, int axis) {
  std::set<std::int64_t> positions;
  for (int r = 0; r < layout.registers(); ++r) positions.insert(layout.part(layout::Dim::reg, r)[axis]);
  return positions;
}

bool has_warp_digits(layout::Layout const& layout, int axis) {
  auto const& digits = layout.input(layout::Dim::warp).digits;
  return std::any_of(digits.begin(), digits.end(),
                     [&](layout::LayoutDigit const& digit) { return digit.stride[axis] != 0; });
}

/// Returns the warp bits along the axis, by ascending coordinate.
std::vector<int> warp_bits(layout::Layout const& layout, int axis) {
  auto const& bases = layout.input(layout::Dim::warp).bases;
  std::vector<int> result;
  for (int bit = 0; bit < static_cast<int>(bases.size()); ++bit)
    if (bases[static_cast<std::size_t>(bit)][axis] != 0) result.push_back(bit);
  std::sort(result.begin(), result.end(), [&](int a, int b) {
    return bases[static_cast<std::size_t>(a)][axis] < bases[static_cast<std::size_t>(b)][axis];
  });
  return result;
}

/// Finds the single bit of register, lane or warp that carries the coordinate bit `stride`; nothing when it is spread.
struct Carrier {
  layout::Dim dim;
  int bit;
};
std::optional<Carrier> carrier_of(layout::Layout const& layout, int axis, std::int64_t stride) {
  std::optional<Carrier> found;
  for (layout::Dim dim : {layout::Dim::reg, layout::Dim::lane, layout::Dim::warp, layout::Dim::block}) {
    auto const& bases = layout.input(dim).bases;
    for (int bit = 0; bit < static_cast<int>(bases.size()); ++bit) {
      std::int64_t const value = bases[static_cast<std::size_t>(bit)][axis];
      if ((value & stride) == 0) continue;
      if (value != stride || ((layout.free_bits(dim) >> bit) & 1) != 0 || found) return std::nullopt;
      found = Carrier{dim, bit};
    }
  }
  return found;
}

}  // namespace

std::optional<std::vector<ReductionStep>> reduction_steps(layout::Layout const& layout, int axis, Order order) {
  auto const plan = layout.reduction(axis);
  if (!plan) return std::nullopt;
  std::vector<ReductionStep> steps;
  bool const digits = has_warp_digits(layout, axis);
  if (order == Order::any) {
    steps.push_back({Kind::tree, 0, 0, {}, false, 1, 1});
    for (int bit = 0; bit < warp_lane_bits; ++bit)
      if (((plan->lane_mask >> bit) & 1) != 0) steps.push_back({Kind::butterfly, 0, 1U << bit, {}, false, 1, 1});
    std::int64_t const warps = (std::int64_t{1} << std::popcount(plan->warp_mask)) * plan->warp_digits;
    if (warps > 1) steps.push_back({Kind::exchange, 0, 0, warp_bits(layout, axis), digits, warps, 1});
    return steps;
  }

  if (digits) return std::nullopt;
  std::set<std::int64_t> left = register_positions(layout, axis);
  bool exchanged = false;
  for (std::int64_t stride = 1; stride < layout.atom()[axis]; stride *= 2) {
    auto const carrier = carrier_of(layout, axis, stride);
    if (!carrier) return std::nullopt;
    switch (carrier->dim) {
      case layout::Dim::reg: {
        steps.push_back({Kind::pairs, stride, 0, {}, false, 1, 1});
        std::erase_if(left, [&](std::int64_t position) { return (position & stride) != 0; });
        break;
      }
      case layout::Dim::lane:
        if (exchanged) return std::nullopt;  // an exchange needs the lanes along the axis combined already
        steps.push_back({Kind::butterfly, 0, 1U << carrier->bit, {}, false, 1, 1});
        break;
      case layout::Dim::warp:
        exchanged = true;
        if (steps.empty() || steps.back().kind != Kind::exchange)
          steps.push_back({Kind::exchange, 0, 0, {}, false, 1, static_cast<std::int64_t>(left.size())});
        steps.back().warp_bits.push_back(carrier->bit);
        steps.back().warps *= 2;
        break;
      default:
        return std::nullopt;
    }
  }
  steps.push_back({Kind::tree, 0, 0, {}, false, 1, 1});
  return steps;
}

namespace {

bool is_exchange(ReductionStep const& step) { return step.kind == Kind::exchange; }

}  // namespace

bool exchanges_last(Op const& reduction, layout::Layout const& layout) {
  auto const& reduce = reduction.as<ReduceOp>();
  auto const steps = reduction_steps(layout, static_cast<int>(reduce.axis), reduce.order);
  if (!steps) return false;
  auto const last = std::find_if(steps->rbegin(), steps->rend(), is_exchange);
  return last != steps->rend() &&
         std::none_of(steps->rbegin(), last, [](ReductionStep const& step) { return step.kind == Kind::butterfly; });
}

bool exchanges_once(Op const& reduction) {
  auto const& reduce = reduction.as<ReduceOp>();
  auto const steps =
      reduction_steps(*reduction.operand()->type().layout(), static_cast<int>(reduce.axis), reduce.order);
  return steps && std::count_if(steps->begin(), steps->end(), is_exchange) == 1;
}

bool stays_in_thread(Op const& op) {
  return op.pure() && op.block_count() == 0 && (scratch_attribute(op) == nullptr || scratch_bytes(op) == 0);
}

namespace {

/// Tells whether an op is such a reduction.
bool is_exchange_of_reduction(Op const& op) { return op.is<ReduceOp>() && exchanges_once(op); }

/// Tells whether an op has an operand among the results of others.
bool needs_one(Op const& op, std::vector<Op const*> const& others) {
  return std::any_of(op.operands().begin(), op.operands().end(), [&](Value const* operand) {
    return std::find(others.begin(), others.end(), operand->defining_op()) != others.end();
  });
}

}  // namespace

std::vector<Op const*> sharing_barrier(Op const& of) {
  if (!is_exchange_of_reduction(of)) return {&of};
  std::vector<Op const*> group;
  bool found = false;
  for (Op const& op : *of.parent()) {
    bool const exchanges = is_exchange_of_reduction(op);
    if (!group.empty() && (needs_one(op, group) || !(exchanges || stays_in_thread(op)))) {
      if (found) return group;
      group.clear();
    }
    if (exchanges) group.push_back(&op);
    found = found || &op == &of;
  }
  return group;
}

namespace {

/// Returns the strides of a tile as a conversion writes it; rows are padded against bank conflicts.
ScratchTile scratch_tile(Extents const& shape, Element element) {
  // A row that is a multiple of the 128 bytes of all banks gets 16 bytes more, so that columns use different banks.
  int const rank = shape.size();
  ScratchTile result;
  std::int64_t stride = 1;
  std::vector<std::int64_t> strides(static_cast<std::size_t>(rank), 0);
  for (int axis = rank - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = stride;
    stride *= shape[axis];
    if (axis == rank - 1 && rank > 1 && stride * bytes(element) % 128 == 0) stride += 16 / bytes(element);
  }
  for (std::int64_t value : strides) result.strides.push_back(value);
  result.elements = stride;
  return result;
}

ScratchTile dense_tile(Extents const& shape) { return {row_major_strides(shape), shape.product()}; }

}  // namespace

ScratchTiles scratch_tiles(Op const& op) {
  Type const &from = op.operand()->type(), &to = op.result()->type();
  SourcePart const part = source(op).parts[0];
  if (part.row_major) return {dense_tile(from.shape()), dense_tile(to.shape()), 0};
  ScratchTile const tile = scratch_tile(from.shape(), from.element());
  ScratchTile read{{}, tile.elements};
  for (int axis = 0; axis < to.rank(); ++axis) read.strides.push_back(0);
  std::int64_t first = 0;
  for (int axis = 0; axis < part.rank; ++axis) {
    AxisSource const& own = part.axes[axis];
    first += own.offset * tile.strides[axis];
    if (own.axis >= 0) read.strides[own.axis] += own.step * tile.strides[axis];
  }
  return {tile, read, first};
}

int scratch_width(layout::Layout const& layout, ScratchTile const& tile, std::int64_t first, Element element) {
  int const last = layout.rank() - 1;
  if (last < 0 || tile.strides[last] != 1) return 1;
  std::int64_t width = std::min<std::int64_t>(layout.contiguous(last), 16 / bytes(element));
  while (width > 1 && first % width != 0) width /= 2;
  for (int axis = 0; axis < last; ++axis)
    while (width > 1 && tile.strides[axis] % width != 0) width /= 2;
  return static_cast<int>(width);
}

namespace {

/// Describes the accesses of a register tile to rows.
ScratchAccess access_rows(layout::Layout const& layout, ScratchTile const& tile, std::int64_t first, Element element) {
  int const size = bytes(element), width = scratch_width(layout, tile, first, element);
  ScratchAccess result{width * size, {}};
  for (int warp = 0; warp < layout.warps(); ++warp) {
    layout::BankCost sum;
    for (int reg = 0; reg < layout.registers(); reg += width) {
      std::vector<std::int64_t> addresses;
      for (int lane = 0; lane < layout.lanes(); ++lane) {
        Extents const at = layout.at(reg, lane, warp);
        std::int64_t place = first;
        for (int axis = 0; axis < at.size(); ++axis) place += at[axis] * tile.strides[axis];
        addresses.push_back(place * size);
      }
      layout::BankCost const one = layout::bank_cost(addresses, width * size);
      sum.wavefronts += one.wavefronts;
      sum.min += one.min;
    }
    if (sum.wavefronts > result.cost.wavefronts) result.cost = sum;
  }
  return result;
}

/// Describes the accesses of a register tile to a tile in shared memory; none where threads do not reach it.
std::optional<ScratchAccess> access_memory(layout::Layout const& layout, layout::Layout const& memory, Element element,
                                           bool stores) {
  std::string ignored;
  auto const plan = target::shared_plan(layout, memory, element, stores, ignored);
  if (!plan) return std::nullopt;
  return ScratchAccess{plan->matrices ? 16 : plan->vectors.width * bytes(element),
                       target::bank_cost(*plan, bytes(element))};
}

std::optional<ScratchAccesses> access_memory(Op const& op, layout::Layout const& memory) {
  Type const &from = op.operand()->type(), &to = op.result()->type();
  auto const written = access_memory(*from.layout(), memory, from.element(), true);
  auto const read = access_memory(*to.layout(), memory, from.element(), false);
  if (!written || !read) return std::nullopt;
  return ScratchAccesses{*written, *read};
}

ScratchAccesses access_rows(Op const& op) {
  ScratchTiles const tiles = scratch_tiles(op);
  Type const &from = op.operand()->type(), &to = op.result()->type();
  return {access_rows(*from.layout(), tiles.written, 0, from.element()),
          access_rows(*to.layout(), tiles.read, tiles.first, from.element())};
}

/// Orders by wavefronts, then by the width of instructions.
std::pair<int, int> cost_of(ScratchAccesses const& accesses) {
  return {accesses.written.cost.wavefronts + accesses.read.cost.wavefronts,
          -(accesses.written.bytes + accesses.read.bytes)};
}

/// Chooses the memory of a conversion between two layouts.
layout::Layout const* choose_memory(Op const& op) {
  Type const &from = op.operand()->type(), &to = op.result()->type();
  ScratchAccesses const rows = access_rows(op);
  if (rows.written.cost.wavefronts == rows.written.cost.min && rows.read.cost.wavefronts == rows.read.cost.min &&
      rows.written.bytes >= 4 && rows.read.bytes >= 4)
    return nullptr;
  layout::Layout const* best = nullptr;
  auto min = cost_of(rows);
  for (layout::Layout const* memory : layout::scratch_layouts(*from.layout(), *to.layout(), bytes(from.element()))) {
    auto const accesses = access_memory(op, *memory);
    if (!accesses || cost_of(*accesses) >= min) continue;
    best = memory;
    min = cost_of(*accesses);
  }
  return best;
}

}  // namespace

layout::Layout const* scratch_memory(Op const& op) {
  if (!op.is<ConvertLayoutOp>()) return nullptr;
  using Key = std::tuple<layout::Layout const*, layout::Layout const*, Element>;
  static constinit support::Lock mutex;
  static constinit support::Lasting<std::map<Key, layout::Layout const*>> choices;
  std::map<Key, layout::Layout const*>& known = choices.get();
  Type const& from = op.operand()->type();
  Key const key{from.layout(), op.result()->type().layout(), from.element()};
  {
    std::scoped_lock const lock(mutex);
    if (auto const found = known.find(key); found != known.end()) return found->second;
  }
  layout::Layout const* const chosen = choose_memory(op);
  std::scoped_lock const lock(mutex);
  return known.emplace(key, chosen).first->second;
}

ScratchAccesses scratch_accesses(Op const& op) {
  layout::Layout const* const memory = scratch_memory(op);
  return memory != nullptr ? *access_memory(op, *memory) : access_rows(op);
}

namespace {

/// Finds the registers of a tile of other extents: those behind the operand's elements take any.
std::vector<int> resized_registers(layout::Layout const& from, layout::Layout const& to) {
  Extents first;
  bool larger = false;
  for (int axis = 0; axis < from.rank(); ++axis) {
    first.push_back(0);
    larger = larger || to.shape()[axis] > from.shape()[axis];
  }
  if (!larger) return layout::registers_of_part(from, to, first);
  std::vector<int> const places = layout::registers_of_part(to, from, first);
  std::vector<int> result(places.empty() ? 0 : static_cast<std::size_t>(to.registers()), 0);
  for (std::size_t i = 0; i < places.size(); ++i) result[static_cast<std::size_t>(places[i])] = static_cast<int>(i);
  return result;
}

/// Finds the registers of a box of extent 1 along the axes on which all elements are equal. A collapsed layout does not
/// count registers that differ along these axes only, so its numbers are not the operand's.
std::vector<int> uniform_registers(layout::Layout const& from, layout::Layout const& to) {
  auto const place = [&](layout::Layout const& layout, int reg) {
    Extents at = layout.part(layout::Dim::reg, reg);
    for (int axis = 0; axis < from.rank(); ++axis)
      if (to.shape()[axis] == 1) at[axis] = 0;
    return std::vector<std::int64_t>(at.begin(), at.end());
  };
  layout::Layout const* one = &from;
  for (int axis = 0; axis < from.rank(); ++axis)
    if (to.shape()[axis] == 1) one = one->collapsed(axis);
  std::map<std::vector<std::int64_t>, int> first;
  for (int reg = 0; reg < from.registers(); ++reg) first.try_emplace(place(from, reg), reg);
  std::vector<int> result = to.registers_from(*one);
  for (int& reg : result) reg = first.at(place(*one, reg));
  return result;
}

/// Finds, for each register of `to`, the register of `held` with the element that the part takes from a tile of shape
/// `from`. Nothing: `held` does not have one of them in the same thread.
std::optional<std::vector<int>> registers_of_sources(SourcePart const& part, Extents const& from,
                                                     layout::Layout const& held, layout::Layout const& to) {
  std::map<std::vector<std::int64_t>, int> places;
  for (int reg = 0; reg < held.registers(); ++reg) {
    Extents const at = held.part(layout::Dim::reg, reg);
    places.try_emplace({at.begin(), at.end()}, reg);
  }
  std::vector<int> result;
  for (int reg = 0; reg < to.registers(); ++reg) {
    Extents const at = to.part(layout::Dim::reg, reg);
    std::vector<std::int64_t> wanted(static_cast<std::size_t>(part.rank));
    coordinates(part, from, to.shape(), at.begin(), wanted.data());
    auto const found = places.find(wanted);
    if (found == places.end()) return std::nullopt;
    result.push_back(found->second);
  }
  return result;
}

/// Finds the registers of a tile that repeats its operand's elements along axes.
std::vector<int> repeated_registers(Op const& op, SourcePart const& part, layout::Layout const& from,
                                    layout::Layout const& to) {
  // The result seen with the repeated axes collapsed has the operand's elements in the same threads.
  layout::Layout const& distinct = *operand_layout(op, &to)->without_register_copies();
  std::vector<int> const registers = distinct.registers_from(from);
  if (registers.empty()) return {};
  auto result = registers_of_sources(part, from.shape(), distinct, to);
  if (!result) throw InternalError("a register of a repeated tile does not have a source");
  for (int& reg : *result) reg = registers[static_cast<std::size_t>(reg)];
  return *std::move(result);
}

/// Finds the registers of a tile whose elements go backwards along axes on which threads hold whole lines.
std::vector<int> backward_registers(SourcePart const& part, layout::Layout const& from, layout::Layout const& to) {
  if (&from != &to) return {};
  for (int axis = 0; axis < part.rank; ++axis) {
    if (part.axes[axis].step == 1) continue;
    for (layout::Dim const dim : {layout::Dim::lane, layout::Dim::warp, layout::Dim::block})
      for (std::int64_t i = 0; i < from.size(dim); ++i)
        if (from.part(dim, i)[axis] != 0) return {};
  }
  return registers_of_sources(part, from.shape(), from, to).value_or(std::vector<int>());
}

}  // namespace

std::vector<int> kept_registers(Op const& op) {
  layout::Layout const &from = *op.operand()->type().layout(), &to = *op.result()->type().layout();
  Source const source = ir::source(op);
  SourcePart const& part = source.parts[0];
  if (source.partial) return resized_registers(from, to);
  if (takes_equal_elements(source)) return uniform_registers(from, to);
  if (std::any_of(part.begin(), part.end(), [](AxisSource const& axis) { return axis.mask != 0; })) {
    std::optional<Butterfly> const plan = butterfly(op);
    return plan && plan->mask == 0 ? plan->registers : std::vector<int>();
  }
  if (std::any_of(part.begin(), part.end(), reorders)) return backward_registers(part, from, to);
  if (part.row_major || relabels(op)) {
    if (layout::Layout const* const seen = result_layout(op, &from)) return to.registers_from(*seen);
    return part.row_major ? std::vector<int>() : repeated_registers(op, part, from, to);
  }
  Extents offsets;
  for (AxisSource const& axis : part) offsets.push_back(axis.offset);
  return layout::registers_of_part(from, to, offsets);
}

std::optional<Butterfly> butterfly(Op const& op) {
  Source const source = ir::source(op);
  SourcePart const& part = source.parts[0];
  auto const* const traded =
      std::find_if(part.begin(), part.end(), [](AxisSource const& axis) { return axis.mask != 0; });
  if (source.empty() || traded == part.end() || op.result()->type().layout() != op.operand()->type().layout())
    return std::nullopt;
  layout::Layout const& layout = *op.operand()->type().layout();
  int const axis = traded->axis;
  std::int64_t const stride = traded->mask;
  Butterfly result;
  for (layout::Dim dim : {layout::Dim::lane, layout::Dim::warp, layout::Dim::block}) {
    layout::LayoutInput const& input = layout.input(dim);
    for (layout::LayoutDigit const& digit : input.digits)
      if (digit.stride[axis] != 0) return std::nullopt;
    for (std::size_t bit = 0; bit < input.bases.size(); ++bit) {
      Extents const& place = input.bases[bit];
      if ((place[axis] & stride) == 0) continue;
      bool const alone = place[axis] == stride && std::count(place.begin(), place.end(), 0) + 1 == place.size();
      if (dim != layout::Dim::lane || result.mask != 0 || !alone) return std::nullopt;
      result.mask = std::uint32_t{1} << bit;
    }
  }
  auto const less = [](Extents const& a, Extents const& b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  };
  std::map<Extents, int, decltype(less)> place(less);
  for (int r = 0; r < layout.registers(); ++r) place.emplace(layout.part(layout::Dim::reg, r), r);
  for (int r = 0; r < layout.registers(); ++r) {
    Extents at = layout.part(layout::Dim::reg, r);
    if (result.mask != 0) {
      if ((at[axis] & stride) != 0) return std::nullopt;
    } else {
      at[axis] ^= stride;
    }
    auto const found = place.find(at);
    if (found == place.end()) return std::nullopt;
    result.registers.push_back(found->second);
  }
  return result;
}

std::int64_t scratch_bytes(Op const& op) {
  if (op.is<ReduceOp>() || op.is<ScanOp>()) {
    Type const& type = op.operand()->type();
    bool const reduces = op.is<ReduceOp>();
    auto const axis = static_cast<int>(reduces ? op.as<ReduceOp>().axis : op.as<ScanOp>().axis);
    auto const steps =
        reduces ? reduction_steps(*type.layout(), axis, op.as<ReduceOp>().order) : scan_steps(*type.layout(), axis);
    std::int64_t max = 0;
    if (steps)
      for (ReductionStep const& step : *steps)
        if (step.kind == Kind::exchange) max = std::max(max, step.warps * step.partials);
    return max * (type.elements() / type.shape()[axis]) * bytes(accumulator_of(type.element()));
  }
  if (op.is<ConvertLayoutOp>()) {
    Type const& from = op.operand()->type();
    Type const& to = op.result()->type();
    if (layout::conversion(*from.layout(), *to.layout()).kind != layout::ConversionKind::shared) return 0;
    if (scratch_memory(op) != nullptr) return from.elements() * bytes(from.element());
    return scratch_tile(from.shape(), from.element()).elements * bytes(from.element());
  }
  if (op.is<HistogramOp>()) return op.result()->type().elements() * bytes(Element::i32);
  if (op.is<RanksOp>()) {
    // The starts, and for each warp a counter of each.
    std::int64_t const warps = op.in<RanksOp>("tile")->type().layout()->warps();
    return (1 + warps) * op.in<RanksOp>("starts")->type().elements() * bytes(Element::i32);
  }
  if (op.is<TakeOp>() || op.is<PutOp>()) return op.in("tile")->type().elements() * bytes(op.result()->type().element());
  if (!moves_elements(op) || scratch_attribute(op) == nullptr || butterfly(op) || !kept_registers(op).empty()) return 0;
  return scratch_tiles(op).written.elements * bytes(op.result()->type().element());
}

std::int64_t* scratch_attribute(Op& op) {
  auto const attribute = op.info().scratch;
  return attribute == nullptr ? nullptr : attribute(op.attributes());
}
std::int64_t const* scratch_attribute(Op const& op) { return scratch_attribute(const_cast<Op&>(op)); }

std::int64_t buffer_bytes(Type const& type) {
  if (type.is_mbarrier()) return 8 * type.elements();
  return type.layout()->shape().product() * bytes(type.element());
}

}  // namespace tegula::ir
