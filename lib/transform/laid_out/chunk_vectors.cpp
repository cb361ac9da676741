#include "transform/laid_out/chunk_vectors.hpp"

#include <algorithm>

#include "ir/memory/registers.hpp"
#include "ir/memory/source.hpp"

namespace tegula::transform {

using ir::Op;
using ir::Type;
using ir::Value;

SpreadVector vector_of(Op& broadcast) {
  Op* const below = broadcast.operand()->defining_op();
  Op* const expand = below != nullptr && below->is<ir::ExpandDimsOp>() ? below : nullptr;
  Op* const load = expand != nullptr ? expand->operand()->defining_op() : below;
  bool const alone = broadcast.operand()->uses().size() == 1 && load != nullptr && load->is<ir::LoadOp>() &&
                     load->result()->uses().size() == 1;
  return {&broadcast, expand, alone ? load : nullptr};
}

void ChunkVectors::find(std::span<Op* const> ops, int registers) {
  for (Op const* op : ops)
    for (Value const* operand : op->operands()) {
      Op* const broadcast = operand->defined_by<ir::BroadcastOp>();
      if (broadcast == nullptr || broadcast->parent() != &chunks_.block() || operand->uses().size() != 1) continue;
      SpreadVector const vector = vector_of(*broadcast);
      if (has_chunks(vector, registers)) vectors_.push_back(vector);
    }
}

bool ChunkVectors::has_chunks(SpreadVector const& vector, int registers) const {
  Extents const& spread = vector.broadcast->operand()->type().shape();
  return vector.load != nullptr && chunks_.can_be_cut(*vector.load) && chunks_.cut(spread) &&
         chunks_.alike(*vector.broadcast->result()) && (chunks_.parted() == nullptr || spread[0] == 1) &&
         ir::registers_of(vector.load->result()->type()) >= registers;
}

int ChunkVectors::registers() const {
  int sum = 0;
  for (SpreadVector const& vector : vectors_) sum += ir::registers_of(vector.load->result()->type());
  return sum;
}

bool ChunkVectors::contains(Op const* broadcast) const {
  return std::any_of(vectors_.begin(), vectors_.end(),
                     [&](SpreadVector const& vector) { return vector.broadcast == broadcast; });
}

void ChunkVectors::spread(ir::Builder& builder, std::size_t i, ir::ValueMap& map, Op const* user) const {
  for (SpreadVector const& vector : vectors_) {
    Value* const all = vector.broadcast->result();
    bool const taken =
        user == nullptr || std::find(user->operands().begin(), user->operands().end(), all) != user->operands().end();
    if (taken && !map.contains(all)) map[all] = spread_one(builder, vector, i);
  }
}

Value* ChunkVectors::spread_one(ir::Builder& builder, SpreadVector const& vector, std::size_t i) const {
  if (chunks_.parted() != nullptr) {
    std::int64_t const columns = chunks_.chunk(i).shape()[2];
    bool const flat = vector.load->result()->type().rank() == 1;
    return chunks_.load_parted(builder, *vector.load, i, flat ? Extents{columns} : Extents{1, columns});
  }
  Type const& one = vector.broadcast->operand()->type();
  Type const all = chunks_.type(one.element(), i);
  Extents shape = all.shape(), axes, loaded;
  for (int axis = 0; axis < shape.size(); ++axis)
    if (one.shape()[axis] == 1) shape[axis] = 1;
  Extents const added = vector.expand != nullptr ? vector.expand->as<ir::ExpandDimsOp>().axes : Extents();
  for (int axis = 0; axis < shape.size(); ++axis)
    if (std::find(added.begin(), added.end(), axis) == added.end()) axes.push_back(axis), loaded.push_back(shape[axis]);
  // Layouts follow from the chunk's, backwards.
  Value* const load = chunks_.load_part(builder, *vector.load, i, axes, Type::tile(one.element(), loaded));
  Value* row = load;
  if (vector.expand != nullptr)
    row = builder.value(vector.expand->as<ir::ExpandDimsOp>(), {load}, Type::tile(one.element(), shape));
  Op& broadcast = builder.op(vector.broadcast->as<ir::BroadcastOp>(), {row}, {all});
  row->set_type(row->type().with_layout(ir::operand_layout(broadcast, all.layout())));
  if (vector.expand != nullptr)
    load->set_type(load->type().with_layout(ir::operand_layout(*row->defining_op(), row->type().layout())));
  return broadcast.result();
}

void ChunkVectors::erase() {
  for (SpreadVector const& vector : vectors_) {
    vector.broadcast->erase();
    if (vector.expand != nullptr) vector.expand->erase();
    vector.load->erase();
  }
}

}  // namespace tegula::transform
