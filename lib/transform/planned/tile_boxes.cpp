#include "transform/planned/tile_boxes.hpp"

#include <numeric>

#include "ir/memory/source.hpp"

namespace tegula::transform {
namespace {

/// Narrows a box to one that divides both.
void divide(Extents& box, Extents const& part) {
  for (int axis = 0; axis < box.size(); ++axis) box[axis] = std::gcd(box[axis], part[axis]);
}

/// Tells whether an op gives a tile's elements another shape, each once and in the same order.
bool changes_shape(ir::Op const& op) {
  return (op.is<ir::ReshapeOp>() || op.is<ir::SqueezeOp>() || op.is<ir::ExpandDimsOp>()) &&
         op.operand()->type().elements() == op.result()->type().elements();
}

/// Counts the elements of a box's runs along axes first .. last - 1 of a shape, in row-major order.
std::int64_t run_length(Extents const& box, Extents const& shape, int first, int last) {
  std::int64_t run = 1;
  int axis = last - 1;
  while (axis >= first && box[axis] == shape[axis]) run *= shape[axis--];
  if (axis < first) return run;
  // Runs of a box that has more than one place along a slower axis are those of its faster axes.
  bool several = false;
  for (int slower = first; slower < axis; ++slower) several = several || box[slower] > 1;
  return several ? run : run * box[axis];
}

}  // namespace

Extents box_in_shape(Extents const& box, Extents const& from, Extents const& to) {
  Extents result = to;
  for (int axis = 0; axis < to.size(); ++axis) result[axis] = 1;
  // Axes of both shapes fall into parts of as many elements.
  for (int i = 0, j = 0; i < from.size() || j < to.size();) {
    int const first_i = i, first_j = j;
    std::int64_t left = i < from.size() ? from[i++] : 1, right = j < to.size() ? to[j++] : 1;
    while (left != right) {
      if (left < right && i < from.size())
        left *= from[i++];
      else if (j < to.size())
        right *= to[j++];
      else
        return result;
    }
    std::int64_t run = run_length(box, from, first_i, i);
    for (int axis = j - 1; axis >= first_j; --axis) {
      result[axis] = std::gcd(run, to[axis]);
      if (result[axis] != to[axis]) break;
      run /= to[axis];
    }
  }
  return result;
}

Extents TileBoxes::of(ir::Value const& tile) {
  Extents box = of(tile, Way::uses);
  divide(box, of(tile, Way::sources));
  return box;
}

Extents TileBoxes::of(ir::Value const& tile, Way way) {
  Values const& group = group_of_(tile);
  auto const [known, added] = known_.try_emplace({&group, way}, tile.type().shape());
  if (!added) return known->second;
  Extents box = tile.type().shape();
  for (ir::Value const* value : group) way == Way::uses ? add_uses(*value, box) : add_source(*value, box);
  return known_[{&group, way}] = box;
}

void TileBoxes::add_uses(ir::Value const& tile, Extents& box) {
  for (ir::Use const& use : tile.uses()) {
    ir::Op const& user = *use.user;
    if (ir::takes_box(user))
      divide(box, of(*user.result(), Way::uses));
    else if (changes_shape(user))
      divide(box, box_in_shape(of(*user.result(), Way::uses), user.result()->type().shape(), tile.type().shape()));
  }
}

void TileBoxes::add_source(ir::Value const& tile, Extents& box) {
  ir::Op const* const op = tile.defining_op();
  if (op == nullptr) return;
  if (ir::joins_equal_parts(*op))
    divide(box, of(*op->operand(0), Way::sources));
  else if (changes_shape(*op))
    divide(box, box_in_shape(of(*op->operand(), Way::sources), op->operand()->type().shape(), tile.type().shape()));
}

}  // namespace tegula::transform
