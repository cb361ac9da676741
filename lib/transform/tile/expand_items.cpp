#include "transform/tile/expand_items.hpp"

#include <vector>

#include "ir/core/builder.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Predicate;
using ir::Type;
using ir::Value;

/// Returns the signed integer of as many bits as an element has.
Element bits_of(Element element) {
  switch (bits(element)) {
    case 8:
      return Element::i8;
    case 16:
      return Element::i16;
    case 64:
      return Element::i64;
    default:
      return Element::i32;
  }
}

class Expansion {
 public:
  explicit Expansion(Op& op) : op_(op), builder_(ir::Builder::before(op)) { builder_.set_where(op.where()); }

  void run() {
    Value* bits = to_numbers(op_.in<ir::ItemAtOp>("tile"));
    Value* outside = nullptr;  // of axes with one element: true for other places
    for (int axis = bits->type().rank(); axis-- > 0;) {
      Value* const place = op_.in<ir::ItemAtOp>("places", axis);
      if (bits->type().shape()[axis] > 1) {
        bits = line_at(bits, axis, place);
        continue;
      }
      Value* const differs = compare(Predicate::ne, place, builder_.index(0));
      outside = outside == nullptr ? differs : builder_.same(ir::OrOp{}, {outside, differs});
    }
    Value* number = builder_.value(ir::ItemOp{}, {bits}, Type::scalar(bits->type().element()));
    if (outside != nullptr)
      number = builder_.value(ir::SelectOp{}, {outside, zero(number->type()), number}, number->type());
    ir::replace(op_, from_number(number));
  }

 private:
  Value* compare(Predicate predicate, Value* a, Value* b) {
    return builder_.value(ir::make_op<ir::CompareOp>(predicate), {a, b}, a->type().with_element(Element::boolean));
  }
  Value* zero(Type const& type) { return builder_.constant(ir::make_constant(type.element(), std::int64_t{0}), type); }
  Value* bitcast(Value* value, Element element) {
    return value->type().element() == element
               ? value
               : builder_.value(ir::BitcastOp{}, {value}, value->type().with_element(element));
  }
  Value* cast(Value* value, Element element) {
    return value->type().element() == element
               ? value
               : builder_.value(ir::CastOp{}, {value}, value->type().with_element(element));
  }

  /// Returns a tile of i32 or i64 with the bits of the elements.
  Value* to_numbers(Value* tile) {
    Element const element = tile->type().element();
    if (element == Element::boolean) return cast(tile, Element::i32);
    return cast(bitcast(tile, bits_of(element)), bits(element) == 64 ? Element::i64 : Element::i32);
  }
  Value* from_number(Value* number) {
    Element const element = op_.result()->type().element();
    if (element == Element::boolean) return compare(Predicate::ne, number, zero(number->type()));
    return bitcast(cast(number, bits_of(element)), element);
  }

  /// Returns the elements at a place along an axis, which keeps extent 1; 0 if the place is outside.
  Value* line_at(Value* numbers, int axis, Value* place) {
    Type const& type = numbers->type();
    std::int64_t const extent = type.shape()[axis];
    Value* const inside = builder_.same(ir::AndOp{}, {compare(Predicate::ge, place, builder_.index(0)),
                                                      compare(Predicate::lt, place, builder_.index(extent))});
    Value* const known =
        cast(builder_.value(ir::SelectOp{}, {inside, place, builder_.index(-1)}, Type::index()), Element::i32);
    Extents along, rest = type.shape();
    for (int i = 0; i < type.rank(); ++i) along.push_back(i == axis ? extent : 1);
    rest[axis] = 1;
    Type const places = Type::tile(Element::i32, along);
    Value* const at = builder_.value(ir::make_op<ir::IotaOp>(std::int64_t{axis}), {}, places);
    Value* const here = compare(Predicate::eq, at, builder_.value(ir::SplatOp{}, {known}, places));
    Type const masks = type.with_element(Element::boolean);
    Value* const mask = here->type() == masks ? here : builder_.value(ir::BroadcastOp{}, {here}, masks);
    Value* const line = builder_.value(ir::SelectOp{}, {mask, numbers, zero(type)}, type);
    return builder_.value(ir::make_op<ir::ReduceOp>(std::int64_t{axis}, ir::Combine::sum), {line},
                          type.with_shape(rest));
  }

  Op& op_;
  ir::Builder builder_;
};

}  // namespace

PassResult expand_items(ir::Function& function, PassContext&) {
  std::vector<Op*> items;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::ItemAtOp>()) items.push_back(&op);
  });
  for (Op* op : items) Expansion(*op).run();
  return result_of(!items.empty());
}

}  // namespace tegula::transform
