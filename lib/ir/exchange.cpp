#include "ir/exchange.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "ir/conversion.hpp"

namespace tegula::ir {
namespace {

using Kind = ReductionStep::Kind;

/// The coordinates along `axis` at which a thread still has partial results, per result element.
std::set<std::int64_t> register_positions(Layout const& layout, int axis) {
  std::set<std::int64_t> positions;
  for (int r = 0; r < layout.registers(); ++r) positions.insert(layout.part(Dim::reg, r)[axis]);
  return positions;
}

bool has_warp_digits(Layout const& layout, int axis) {
  auto const& digits = layout.input(Dim::warp).digits;
  return std::any_of(digits.begin(), digits.end(), [&](LayoutDigit const& digit) { return digit.stride[axis] != 0; });
}

/// The warp bits along the axis, by ascending coordinate.
std::vector<int> warp_bits(Layout const& layout, int axis) {
  auto const& bases = layout.input(Dim::warp).bases;
  std::vector<int> result;
  for (int bit = 0; bit < static_cast<int>(bases.size()); ++bit)
    if (bases[static_cast<std::size_t>(bit)][axis] != 0) result.push_back(bit);
  std::sort(result.begin(), result.end(), [&](int a, int b) {
    return bases[static_cast<std::size_t>(a)][axis] < bases[static_cast<std::size_t>(b)][axis];
  });
  return result;
}

/// Which single bit of register, lane or warp carries the coordinate bit `stride`; nothing when it is spread.
struct Carrier {
  Dim dim;
  int bit;
};
std::optional<Carrier> carrier_of(Layout const& layout, int axis, std::int64_t stride) {
  std::optional<Carrier> found;
  for (Dim dim : {Dim::reg, Dim::lane, Dim::warp, Dim::block}) {
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

std::optional<std::vector<ReductionStep>> reduction_steps(Layout const& layout, int axis, Order order) {
  auto const plan = layout.reduction(axis);
  if (!plan) return std::nullopt;
  std::vector<ReductionStep> steps;
  bool const digits = has_warp_digits(layout, axis);
  if (order == Order::any) {
    steps.push_back({Kind::tree, 0, 0, {}, false, 1, 1});
    for (int bit = 0; bit < 5; ++bit)
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
      case Dim::reg: {
        steps.push_back({Kind::pairs, stride, 0, {}, false, 1, 1});
        std::erase_if(left, [&](std::int64_t position) { return (position & stride) != 0; });
        break;
      }
      case Dim::lane:
        if (exchanged) return std::nullopt;  // an exchange takes lanes along the axis to be joined already
        steps.push_back({Kind::butterfly, 0, 1U << carrier->bit, {}, false, 1, 1});
        break;
      case Dim::warp:
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

ScratchTile scratch_tile(Extents const& shape, Element element) {
  // A row that is a multiple of the 128 bytes of all banks gets 16 bytes more, so that columns meet different banks.
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

std::int64_t scratch_bytes(Op const& op) {
  if (op.is<ReduceOp>()) {
    ReduceOp const& reduce = op.as<ReduceOp>();
    Type const& type = op.operand()->type();
    auto const steps = reduction_steps(*type.layout(), static_cast<int>(reduce.axis), reduce.order);
    std::int64_t most = 0;
    if (steps)
      for (ReductionStep const& step : *steps)
        if (step.kind == Kind::exchange) most = std::max(most, step.warps * step.partials);
    return most * op.result()->type().elements() * bytes(accumulator_of(type.element()));
  }
  if (op.is<ConvertLayoutOp>()) {
    Type const& from = op.operand()->type();
    Type const& to = op.result()->type();
    if (conversion(*from.layout(), *to.layout()).kind != ConversionKind::shared) return 0;
    return scratch_tile(from.shape(), from.element()).elements * bytes(from.element());
  }
  return 0;
}

std::int64_t* scratch_attribute(Op& op) {
  if (auto* reduce = op.dyn<ReduceOp>()) return &reduce->scratch;
  if (auto* convert = op.dyn<ConvertLayoutOp>()) return &convert->scratch;
  return nullptr;
}

Layout const* folded(Layout const& layout, int axis) {
  auto const moves = [&](Extents const& vector) { return vector[axis] != 0; };
  for (Extents const& base : layout.input(Dim::warp).bases)
    if (moves(base)) return nullptr;
  for (Dim const dim : {Dim::lane, Dim::warp})
    for (LayoutDigit const& digit : layout.input(dim).digits)
      if (moves(digit.stride)) return nullptr;
  Extents place;  // of a lane bit along the axis
  for (int i = 0; i < layout.rank(); ++i) place.push_back(i == axis ? 1 : 0);
  std::vector<int> moving;
  auto const& lanes = layout.input(Dim::lane).bases;
  for (std::size_t bit = 0; bit < lanes.size(); ++bit) {
    if (!moves(lanes[bit])) continue;
    for (int i = 0; i < layout.rank(); ++i)
      if (i != axis && lanes[bit][i] != 0) return nullptr;
    moving.push_back(static_cast<int>(bit));
  }
  std::vector<LayoutInput> inputs(layout.collapsed(axis)->inputs().begin(), layout.collapsed(axis)->inputs().end());
  for (LayoutInput& input : inputs) {
    if (input.dim != Dim::lane) continue;
    for (int const bit : moving) {
      input.bases[static_cast<std::size_t>(bit)] = place;
      place[axis] *= 2;
    }
  }
  return Layout::get(std::move(inputs), layout.rank());
}

std::vector<int> registers_of_part(Layout const& whole, Layout const& part, Extents const& offsets) {
  if (whole.lanes() != part.lanes() || whole.warps() != part.warps()) return {};
  std::map<std::vector<std::int64_t>, int> place;  // of an element of lane 0 of warp 0
  for (int r = whole.registers() - 1; r >= 0; --r) {
    Extents const at = whole.part(Dim::reg, r);
    place[{at.begin(), at.end()}] = r;
  }
  std::vector<int> result;
  for (int r = 0; r < part.registers(); ++r) {
    Extents const at = part.part(Dim::reg, r);
    std::vector<std::int64_t> wanted;
    for (int axis = 0; axis < at.size(); ++axis) wanted.push_back(at[axis] + offsets[axis]);
    auto const found = place.find(wanted);
    if (found == place.end()) return {};
    result.push_back(found->second);
  }
  // The same registers serve every thread when lanes and warps move alike, and beside the registers' coordinates.
  for (Dim const dim : {Dim::lane, Dim::warp})
    for (std::int64_t i = 0; i < part.size(dim); ++i) {
      if (whole.part(dim, i) != part.part(dim, i)) return {};
      for (int r = 0; r < part.registers(); ++r) {
        Extents at = part.join(part.part(Dim::reg, r), part.part(dim, i));
        for (int axis = 0; axis < at.size(); ++axis) at[axis] += offsets[axis];
        if (whole.join(whole.part(Dim::reg, result[static_cast<std::size_t>(r)]), whole.part(dim, i)) != at) return {};
      }
    }
  return result;
}

std::int64_t buffer_bytes(Type const& type) {
  if (type.is_mbarrier()) return 8 * type.elements();
  return type.layout()->shape().product() * bytes(type.element());
}

}  // namespace tegula::ir
