// Types the tile ops that access global memory, and messages to the host.
#include "ir/infer/infer_rule.hpp"

#include <fmt/format.h>

namespace tegula::ir {

void check_offsets(Rule& rule, int axes, std::string const& of) {
  auto const given = static_cast<int>(rule.all("offsets").size());
  rule.require(given == axes, fmt::format("{} offset{} for {}", given, given == 1 ? "" : "s", of));
}

static void offsets(Rule& rule) {
  check_offsets(rule, rule.operand("tensor").rank(), "tensor " + to_string(rule.operand("tensor")));
  for (int i = rule.position("offsets"); i < static_cast<int>(rule.operands.size()); ++i) rule.index_operand(i);
}

static bool box_of(Rule& rule, Type const& tile) {
  Type const& tensor = rule.operand("tensor");
  if (!rule.require(tensor.is_tensor(), rule.says("tensor") + " but must be a tensor")) return false;
  return rule.require(tile.element() == tensor.element() && tile.rank() <= tensor.rank(),
                      to_string(tile) + " is not a box of " + to_string(tensor));
}

/// Requires a part of the box, or none.
static void part_of(Rule& rule, Extents const& part, Type const& tile) {
  if (part.empty()) return;
  bool fits = tile.is_tile() && part.size() == tile.rank();
  for (int axis = 0; fits && axis < part.size(); ++axis) fits = part[axis] <= tile.shape()[axis];
  rule.require(fits, fmt::format("the part has {} extents, the first is {}, which is not a part of the box {}",
                                 part.size(), part[0], to_string(tile)));
}

/// Requires axes of the tensor, in ascending order.
static void nonnegative_axes(Rule& rule, Extents const& axes) {
  for (int i = 0; i < axes.size(); ++i)
    rule.require(axes[i] < rule.operand("tensor").rank() && (i == 0 || axes[i] > axes[i - 1]),
                 fmt::format("nonnegative names axis {}, but must name axes of {} in ascending order", axes[i],
                             to_string(rule.operand("tensor"))));
}

void apply(Rule& rule, LoadOp const& op) {
  if (!rule.require(rule.stated.size() == 1, "the result's type must be stated")) return;
  Type const& result = rule.stated[0];
  if (!rule.require(result.is_tile() || result.is_scalar(),
                    "the result is " + to_string(result) + " but must be a tile or a scalar") ||
      !box_of(rule, result))
    return;
  offsets(rule);
  rule.require(op.pad.element == rule.stated[0].element(),
               "pad is " + to_string(op.pad) + " but the tile holds " + std::string(name(rule.stated[0].element())));
  part_of(rule, op.part, result);
  nonnegative_axes(rule, op.nonnegative);
  rule.result(rule.stated[0]);
}

void apply(Rule& rule, StoreOp const& op) {
  if (!rule.tile_operand("tile") || !box_of(rule, rule.operand("tile"))) return;
  offsets(rule);
  part_of(rule, op.part, rule.operand("tile"));
  nonnegative_axes(rule, op.nonnegative);
}

/// Requires one index per axis of the tensor: a tile of whole numbers like `elements`, or a scalar.
static void indices_of(Rule& rule, Type const& elements) {
  Type const& tensor = rule.operand("tensor");
  auto const given = rule.all("indices").size();
  rule.require(static_cast<int>(given) == tensor.rank(),
               fmt::format("{}{} for tensor {}", given, given == 1 ? " index" : " indices", to_string(tensor)));
  for (int i = rule.position("indices"); i < static_cast<int>(rule.operands.size()); ++i) {
    Type const& index = rule.operand(i);
    bool const alike =
        elements.is_tile() && is_counting(index.element()) && index == elements.with_element(index.element());
    rule.require(index == Type::index() || alike,
                 rule.says(i) + " but must be i64" +
                     (elements.is_tile() ? ", or i32 or i64 elements of " + to_string(elements) : ""));
  }
}

void apply(Rule& rule, GatherOp const& op) {
  if (!rule.stated_tile() ||
      !rule.require(rule.operand("tensor").is_tensor(), rule.says("tensor") + " but must be a tensor"))
    return;
  Type const& result = rule.stated[0];
  rule.require(result.element() == rule.operand("tensor").element(),
               "the result holds " + std::string(name(result.element())) + " but " + rule.says("tensor"));
  rule.require(op.pad.element == result.element(),
               "pad is " + to_string(op.pad) + " but the tile holds " + std::string(name(result.element())));
  indices_of(rule, result);
  rule.result(result);
}

/// Checks the tensor, the indices and the tiles or scalars of elements from operand 1 on, `count` of them.
static bool elements_at(Rule& rule, int count, bool scalars) {
  Type const& tensor = rule.operand("tensor");
  Type const& elements = rule.operand("tile");
  if (!rule.require(tensor.is_tensor(), rule.says("tensor") + " but must be a tensor") ||
      !rule.require(elements.is_tile() || (scalars && elements.is_scalar()),
                    rule.says("tile") + (scalars ? " but must be a tile or a scalar" : " but must be a tile")))
    return false;
  rule.require(elements.element() == tensor.element(), rule.says("tile") + " but " + rule.says("tensor"));
  for (int i = 1; i <= count; ++i)
    rule.require(rule.operand(i) == elements, rule.says(i) + " but " + rule.says("tile"));
  indices_of(rule, elements);
  return !rule.failed;
}

void apply(Rule& rule, ScatterOp const&) { elements_at(rule, 1, false); }

static void require_exchange(Rule& rule) {
  rule.require(bits(rule.operand("tile").element()) >= 16, rule.says("tile") + " but 16, 32 or 64 bits are exchanged");
}

void apply(Rule& rule, AtomicUpdateOp const& op) {
  if (!elements_at(rule, 1, true)) return;
  Element const element = rule.operand("tile").element();
  switch (op.combine) {
    case AtomicCombine::add:
    case AtomicCombine::min:
    case AtomicCombine::max:
      rule.require(is_arithmetic(element), rule.says("tile") + " but atomics combine numbers of 16 bits or more");
      break;
    case AtomicCombine::bit_and:
    case AtomicCombine::bit_or:
    case AtomicCombine::bit_xor:
      rule.require(is_whole(element), rule.says("tile") + " but bits are combined of integers of 32 and 64 bits");
      break;
    case AtomicCombine::exchange:
      require_exchange(rule);
      break;
  }
  rule.result(rule.operand("tile"));
}

void apply(Rule& rule, CompareExchangeOp const&) {
  if (!elements_at(rule, 2, true)) return;
  require_exchange(rule);
  rule.result(rule.operand("tile"));
}

void apply(Rule& rule, SliceOp const& op) {
  Type const& tensor = rule.operand("tensor");
  if (!rule.require(tensor.is_tensor(), rule.says("tensor") + " but must be a tensor")) return;
  rule.axis_in(op.axis, tensor.rank());
  rule.index_operand("begin");
  rule.index_operand("end");
  rule.result(tensor);
}

void apply(Rule& rule, PermuteOp const& op) {
  Type const& tensor = rule.operand("tensor");
  if (!rule.require(tensor.is_tensor(), rule.says("tensor") + " but must be a tensor")) return;
  if (!rule.permutation_of(op.permutation, tensor)) return;
  rule.require(op.permutation.back() + 1 == tensor.rank(),
               list_text(op.permutation) + " moves the last axis, whose elements are adjacent; it must stay the last");
  rule.result(tensor);
}

// Messages to the host.
static void blocks(Rule& rule) {
  for (char const* const block : {"block0", "block1", "block2"}) rule.index_operand(block);
}
void apply(Rule& rule, AssertOp const&) {
  Type const& condition = rule.operand("condition");
  rule.require((condition.is_tile() || condition.is_scalar()) && condition.element() == Element::boolean,
               rule.says("condition") + " but must hold bool");
  blocks(rule);
  for (int i = rule.position("values"); i < static_cast<int>(rule.operands.size()); ++i)
    rule.require(rule.operand(i).is_scalar() && !is_f8(rule.operand(i).element()),
                 rule.says(i) + " but must be a scalar that can be printed");
}
void apply(Rule& rule, PrintOp const&) {
  blocks(rule);
  for (int i = rule.position("values"); i < static_cast<int>(rule.operands.size()); ++i) {
    computable(rule, i);
    rule.require(!is_f8(rule.operand(i).element()), rule.says(i) + "; cast it to f32 to print it");
  }
}

}  // namespace tegula::ir
