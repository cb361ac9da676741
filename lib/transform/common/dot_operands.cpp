#include "transform/common/dot_operands.hpp"

#include <string>

#include "ir/core/loop.hpp"
#include "ir/core/rewrite.hpp"
#include "layout/element_offsets.hpp"
#include "layout/shared_layouts.hpp"
#include "transform/common/tf32_bits.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

constexpr std::int64_t copy_alignment = 128;

/// Loads element k of K of an operand, in the result's element type and shape.
Value* spread(ir::Builder& builder, Value const& operand, bool left, Value* k, Type const& result, bool truncates) {
  Value* part = part_of(builder, operand, left, k, 1);
  if (truncates) part = upper_bits(builder, part);
  if (part->type().element() != result.element())
    part = builder.value(ir::CastOp{}, {part}, part->type().with_element(result.element()));
  return part->type() == result ? part : builder.value(ir::BroadcastOp{}, {part}, result);
}

}  // namespace

Type view_type(FetchedOperand const& source) {
  Type const& type = source.view->type();
  return source.transposed
             ? Type::shared(type.element(), {type.shape()[1], type.shape()[0]}, type.layout()->transposed({1, 0}))
             : type;
}

bool readable_in_parts(Value const& operand, bool left, std::int64_t step) {
  FetchedOperand const source = fetched_operand(operand);
  if (source.view == nullptr) return false;
  Type const type = view_type(source);
  std::string ignored;
  layout::ElementOffsets const* const offsets = layout::ElementOffsets::get(*type.layout(), ignored);
  Extents const part = left ? Extents{type.shape()[0], step} : Extents{step, type.shape()[1]};
  return offsets != nullptr && offsets->movable(part, ignored);
}

bool in_registers(Value const& operand) { return fetched_operand(operand).view == nullptr; }

Value* part_of(ir::Builder& builder, Value const& operand, bool left, Value* from, std::int64_t step) {
  FetchedOperand const source = fetched_operand(operand);
  Type const& whole = source.view->type();
  bool const columns = left != source.transposed;
  Extents shape = whole.shape();
  shape[columns ? 1 : 0] = step;
  Value* const zero = builder.index(0);
  Value* const view = builder
                          .op(ir::ViewOp{}, {source.view, columns ? zero : from, columns ? from : zero},
                              {Type::shared(whole.element(), shape, whole.layout())})
                          .result();
  Value* const tile = builder.value(ir::BufferLoadOp{}, {view}, Type::tile(whole.element(), shape));
  if (!source.transposed) return tile;
  return builder.value(ir::make_op<ir::TransOp>(Extents{1, 0}), {tile},
                       Type::tile(whole.element(), {shape[1], shape[0]}));
}

Value* stored_operand(Op& user, Value* tile, layout::Layout const* layout, std::int64_t align) {
  Type const& type = tile->type();
  ir::Builder outside = ir::Builder::before(user.function()->body().front());
  outside.set_where(user.where());
  Value* const buffer =
      outside.value(ir::make_op<ir::BufferAllocOp>(align), {}, Type::shared(type.element(), type.shape(), layout));
  buffer->set_name("operand");
  ir::Builder builder = ir::Builder::before(user);
  builder.set_where(user.where());
  builder.op(ir::BufferStoreOp{}, {buffer, tile}, {});
  return builder.value(ir::BufferLoadOp{}, {buffer}, Type::tile(type.element(), type.shape()));
}

void multiply_by_lanes(Op& dot, std::string const& why, bool truncates) {
  Value* operands[] = {dot.lhs(), dot.rhs()};
  for (bool const left : {true, false}) {
    Value*& operand = operands[left ? 0 : 1];
    if (!readable_in_parts(*operand, left, 1))
      operand = stored_operand(dot, operand, layout::dense_layout(operand->type().shape()), copy_alignment);
  }
  Type const& result = dot.result()->type();
  ir::Builder builder = ir::Builder::before(dot);
  builder.set_where(dot.where());
  Value* const depth = builder.index(dot.lhs()->type().shape()[1]);
  ir::ForOp over;
  over.by_lanes = Symbol(why);
  Op& op = builder.op(over, {builder.index(0), depth, builder.index(1), dot.in<ir::DotOp>("accumulator")}, {result});
  ir::Block& body = op.add_block();
  Value* const k = body.add_argument(Type::index(), "k");
  Value* const sum = body.add_argument(result, "sum");
  ir::Builder inside(body);
  inside.set_where(dot.where());
  Value* const a = spread(inside, *operands[0], true, k, result, truncates);
  Value* const b = spread(inside, *operands[1], false, k, result, truncates);
  Value* const next = info(result.element()).kind == ElementKind::floating
                          ? inside.same(ir::FmaOp{}, {a, b, sum})
                          : inside.same(ir::AddOp{}, {sum, inside.same(ir::MulOp{}, {a, b})});
  inside.op(ir::YieldOp{}, {next}, {});
  ir::replace(dot, op.result());
}

}  // namespace tegula::transform
