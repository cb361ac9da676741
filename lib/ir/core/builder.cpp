#include "ir/core/builder.hpp"

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
  if (element == Element::boolean) return {element, value != 0 ? 1U : 0U};
  if (is_float(element)) return {element, float_bits(element, value)};
  bool const natural = !is_signed(element) && value >= 0;
  return make_constant(element, natural ? static_cast<std::int64_t>(static_cast<std::uint64_t>(value))
                                        : static_cast<std::int64_t>(value));
}

Constant make_constant(Element element, std::int64_t value) {
  if (element == Element::boolean) return {element, value != 0 ? 1U : 0U};
  if (is_integer(element)) return {element, static_cast<std::uint64_t>(wrapped(element, value))};
  return make_constant(element, static_cast<double>(value));
}

double to_double(Constant constant) {
  if (is_float(constant.element)) return float_value(constant.element, constant.bits);
  return is_signed(constant.element) ? static_cast<double>(static_cast<std::int64_t>(constant.bits))
                                     : static_cast<double>(constant.bits);
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
