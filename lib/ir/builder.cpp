#include "ir/builder.hpp"

#include <bit>
#include <cmath>

#include "tegula/support/half.hpp"

namespace tegula::ir {

Builder Builder::after(Op& position) {
  auto next = Block::iterator(position.parent()->begin());
  while (&*next != &position) ++next;
  ++next;
  if (next == position.parent()->end()) return Builder(*position.parent());
  return before(*next);
}

Op& Builder::create(OpKind kind, void const* attributes, std::span<Value* const> operands,
                    std::span<Type const> results) {
  auto op = std::make_unique<Op>(kind, attributes, operands, results, where_);
  return position_ != nullptr ? block_->insert_before(*position_, std::move(op)) : block_->append(std::move(op));
}

Value* Builder::index(std::int64_t number) { return constant(make_constant(Element::i64, number), Type::index()); }

Value* Builder::constant(double number, Type const& type) {
  return constant(make_constant(type.element(), number), type);
}

Value* Builder::constant(Constant number, Type const& type) { return value(make_op<ConstantOp>(number), {}, type); }

Op& Builder::clone(Op const& op, ValueMap& map) {
  std::vector<Value*> operands;
  for (Value* value : op.operands()) {
    auto const found = map.find(value);
    operands.push_back(found == map.end() ? value : found->second);
  }
  std::vector<Type> results;
  for (int i = 0; i < op.result_count(); ++i) results.push_back(op.result(i)->type());
  Op& copy = create(op.kind(), op.attributes(), operands, results);
  copy.set_where(op.where());
  for (int i = 0; i < op.result_count(); ++i) {
    copy.result(i)->set_name(op.result(i)->name());
    map[op.result(i)] = copy.result(i);
  }
  for (int b = 0; b < op.block_count(); ++b) {
    Block& target = copy.add_block();
    Block& source = op.block(b);
    for (int i = 0; i < source.argument_count(); ++i)
      map[source.argument(i)] = target.add_argument(source.argument(i)->type(), source.argument(i)->name());
    Builder inner(target);
    for (Op const& child : source) inner.clone(child, map);
  }
  return copy;
}

Constant make_constant(Element element, double value) {
  switch (element) {
    case Element::boolean:
      return {element, value != 0 ? 1U : 0U};
    case Element::i8:
    case Element::u8:
    case Element::i16:
    case Element::u16:
    case Element::i32:
    case Element::u32:
    case Element::i64:
    case Element::u64:
      if (element == Element::u64 && value >= 0) return {element, static_cast<std::uint64_t>(value)};
      return make_constant(element, static_cast<std::int64_t>(value));
    case Element::e4m3:
      return {element, e4m3_bits(value)};
    case Element::e5m2:
      return {element, e5m2_bits(value)};
    case Element::f16:
      return {element, f16_bits(value)};
    case Element::bf16:
      return {element, bf16_bits(value)};
    case Element::f32:
      return {element, std::bit_cast<std::uint32_t>(static_cast<float>(value))};
    case Element::f64:
      return {element, std::bit_cast<std::uint64_t>(value)};
  }
  return {};
}

Constant make_constant(Element element, std::int64_t value) {
  if (element == Element::boolean) return {element, value != 0 ? 1U : 0U};
  if (is_integer(element)) return {element, static_cast<std::uint64_t>(wrapped(element, value))};
  return make_constant(element, static_cast<double>(value));
}

double to_double(Constant constant) {
  switch (constant.element) {
    case Element::boolean:
    case Element::i8:
    case Element::u8:
    case Element::i16:
    case Element::u16:
    case Element::i32:
    case Element::u32:
    case Element::i64:
    case Element::u64:
      if (constant.element == Element::u64) return static_cast<double>(constant.bits);
      return static_cast<double>(static_cast<std::int64_t>(constant.bits));
    case Element::e4m3:
      return e4m3_value(static_cast<std::uint8_t>(constant.bits));
    case Element::e5m2:
      return e5m2_value(static_cast<std::uint8_t>(constant.bits));
    case Element::f16:
      return f16_value(static_cast<std::uint16_t>(constant.bits));
    case Element::bf16:
      return bf16_value(static_cast<std::uint16_t>(constant.bits));
    case Element::f32:
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(constant.bits)));
    case Element::f64:
      return std::bit_cast<double>(constant.bits);
  }
  return 0;
}

std::int64_t to_int(Constant constant) {
  return is_float(constant.element) ? static_cast<std::int64_t>(to_double(constant))
                                    : static_cast<std::int64_t>(constant.bits);
}

std::optional<std::int64_t> constant_int(Value const& value) {
  Op const* const op = value.defined_by<ConstantOp>();
  if (op == nullptr || !is_integer(value.type().element())) return std::nullopt;
  return to_int(op->as<ConstantOp>().value);
}

}  // namespace tegula::ir
