#include "transform/simplify/insert_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "ir/core/builder.hpp"
#include "ir/core/families.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/values/index_values.hpp"

namespace tegula::transform {
namespace {

using ir::Builder;
using ir::Op;
using ir::Predicate;
using ir::Type;
using ir::Value;

/// Returns the line of an op; of arithmetic on indices, which has none, the line of its first user that has one.
location line_of(Op const& op) {
  std::vector<Op const*> open = {&op};
  std::set<Op const*> seen = {&op};
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (open[i]->where().known()) return open[i]->where();
    for (int result = 0; result < open[i]->result_count(); ++result)
      for (ir::Use const& use : open[i]->result(result)->uses())
        if (seen.insert(use.user).second) open.push_back(use.user);
  }
  return {};
}

/// Makes the ops of checks at one place.
class Maker {
 public:
  explicit Maker(Builder builder, Op const& checked) : b_(builder), where_(line_of(checked)) { b_.set_where(where_); }

  Value* compare(Predicate predicate, Value* a, Value* b) {
    return b_.value(ir::make_op<ir::CompareOp>(predicate), {a, b}, a->type().with_element(Element::boolean));
  }
  Value* both(Value* a, Value* b) { return a == nullptr ? b : b_.same(ir::AndOp{}, {a, b}); }
  Value* either(Value* a, Value* b) { return b_.same(ir::OrOp{}, {a, b}); }
  Value* negated(Value* a) { return b_.same(ir::NotOp{}, {a}); }
  Value* number(std::int64_t value, Type const& type) {
    return b_.constant(ir::make_constant(type.element(), value), type);
  }
  Value* spread(Value* scalar, Type const& type) {
    bool const spreads = type.is_tile() && scalar->type().is_scalar();
    return spreads ? b_.value(ir::SplatOp{}, {scalar}, type.with_element(scalar->type().element())) : scalar;
  }
  Value* cast(Value* value, Element element) {
    return value->type().element() == element ? value
                                              : b_.value(ir::CastOp{}, {value}, value->type().with_element(element));
  }
  Value* extent(Value* tensor, int axis) {
    return b_.value(ir::make_op<ir::ExtentOp>(std::int64_t{axis}), {tensor}, Type::index());
  }
  template <class OpStruct>
  Value* same(OpStruct const& op, Value* a, Value* b) {
    return b_.same(op, {a, b});
  }
  Value* select(Value* condition, Value* yes, Value* no) {
    return b_.value(ir::SelectOp{}, {condition, yes, no}, yes->type());
  }

  /// True for finite elements.
  Value* finite(Value* value) {
    Element const element = value->type().element();
    Value* const held = is_f8(element) ? cast(value, Element::f32) : value;
    Value* const max = b_.constant(std::numeric_limits<double>::infinity(), held->type());
    return compare(Predicate::lt, b_.same(ir::AbsOp{}, {held}), max);
  }
  /// True where all elements along an axis are.
  Value* all(Value* condition, std::int64_t axis) {
    Type const numbers = condition->type().with_element(Element::i32);
    ir::ReduceOp op;
    op.axis = axis;
    op.combine = ir::Combine::min;
    Extents shape = numbers.shape();
    shape[static_cast<int>(axis)] = 1;
    Value* const least =
        b_.value(op, {select(condition, number(1, numbers), number(0, numbers))}, numbers.with_shape(shape));
    return compare(Predicate::ne, least, number(0, least->type()));
  }
  /// True where some element is.
  Value* any(Value* condition) {
    if (condition->type().is_scalar()) return condition;
    Value* none = negated(condition);
    for (std::int64_t axis = 0; axis < condition->type().rank(); ++axis) none = all(none, axis);
    return negated(none);
  }
  Value* broadcast(Value* value, Type const& to) {
    Type const type = to.with_element(value->type().element());
    return value->type() == type ? value : b_.value(ir::BroadcastOp{}, {value}, type);
  }

  /// Asserts the condition; where values are given, the message shows these scalars.
  void check(Value* condition, std::string const& message, std::string const& names = {},
             std::vector<Value*> const& values = {}) {
    bool const shows = !values.empty();
    std::vector<Value*> operands = {condition};
    for (std::int64_t axis = 0; axis < 3; ++axis)
      operands.push_back(b_.value(ir::make_op<ir::BlockIndexOp>(axis), {}, Type::index()));
    if (shows) operands.insert(operands.end(), values.begin(), values.end());
    b_.op(ir::make_op<ir::AssertOp>(Symbol(shows ? message + ": " + names : message), Symbol(where_.file()),
                                    std::int64_t{where_.line()}),
          operands, {});
  }

 private:
  Builder b_;
  location where_;
};

// Begins of messages; a function with one of them has the checks of this kind.
constexpr std::string_view of_bounds = "check of bounds: ", of_overflow = "check of overflow: ",
                           of_nan = "check of nan: ";

std::string named(Value const& value) {
  Value const& tensor = ir::parameter_behind(value);
  return tensor.name().empty() ? fmt::format("argument {}", tensor.index()) : tensor.name();
}

// ---- bounds.

/// Tells whether some of `size` elements from an offset on lies inside an axis.
Value* some_inside(Maker& make, Value* offset, Value* extent, std::int64_t size) {
  return make.both(make.compare(Predicate::lt, offset, extent),
                   make.compare(Predicate::gt, offset, make.number(-size, Type::index())));
}

/// Returns the elements of a box along an axis of its tensor.
std::int64_t box_extent(Type const& tensor, Type const& box, int axis) {
  int const at = box.is_scalar() ? -1 : axis - (tensor.rank() - box.rank());
  return at < 0 ? 1 : box.shape()[at];
}

void check_bounds_of_box(Op& op, Value* tensor, std::span<Value* const> offsets, Type const& box) {
  Maker make(Builder::before(op), op);
  std::string const word = std::string(of_bounds) + std::string(op.info().mnemonic);
  for (int axis = 0; axis < tensor->type().rank(); ++axis) {
    std::int64_t const size = box_extent(tensor->type(), box, axis);
    Value* const offset = offsets[static_cast<std::size_t>(axis)];
    Value* const extent = make.extent(tensor, axis);
    make.check(some_inside(make, offset, extent, size),
               fmt::format("{}: {} along axis {} is outside of {}", word,
                           size == 1 ? "the index" : fmt::format("the whole tile of {}", size), axis, named(*tensor)),
               "start and extent", {offset, extent});
  }
}

/// Returns the elements that an index of -1 leaves out, as masks do with one index alone. Null where one index is all.
Value* left_out(Maker& make, std::vector<Value*> const& indices, Type const& type) {
  Value* result = nullptr;
  if (indices.size() == 1) return result;
  for (Value* index : indices) {
    Value* const here = make.spread(make.compare(Predicate::eq, index, make.number(-1, index->type())), type);
    result = result == nullptr ? here : make.either(result, here);
  }
  return result;
}

void check_indices(Op& op) {
  Maker make(Builder::before(op), op);
  Value* const tensor = op.in("tensor");
  bool const box = op.is<ir::AtomicUpdateOp>() && op.as<ir::AtomicUpdateOp>().box;
  std::vector<Value*> indices;
  for (Value* index : op.all("indices")) indices.push_back(make.cast(index, Element::i64));
  auto const tile = std::ranges::find_if(indices, [](Value* index) { return index->type().is_tile(); });
  Type const type = (tile == indices.end() ? indices.front() : *tile)->type();
  Value* const masked = box ? nullptr : left_out(make, indices, type);
  for (int axis = 0; axis < static_cast<int>(indices.size()); ++axis) {
    Value* const index = indices[static_cast<std::size_t>(axis)];
    Value* const extent = make.extent(tensor, axis);
    Value* inside = make.both(make.compare(Predicate::ge, index, make.number(box ? 0 : -1, index->type())),
                              make.compare(Predicate::lt, index, make.spread(extent, index->type())));
    if (box) inside = make.any(inside);
    if (masked != nullptr) inside = make.either(make.spread(inside, type), masked);
    std::string const message =
        fmt::format("{}{}{}{} is outside of {}", of_bounds, op.info().mnemonic,
                    box ? ": the whole box along axis " : ": an index of axis ", axis, named(*tensor));
    if (index->type().is_scalar())
      make.check(inside, message, "index and extent", {index, extent});
    else
      make.check(inside, message);
  }
}

void check_places(Op& op) {
  Maker make(Builder::before(op), op);
  Extents const& shape = op.in<ir::ItemAtOp>("tile")->type().shape();
  for (int axis = 0; axis < shape.size(); ++axis) {
    Value *const place = op.in<ir::ItemAtOp>("places", axis), *const extent = make.number(shape[axis], Type::index());
    make.check(make.both(make.compare(Predicate::ge, place, make.number(0, Type::index())),
                         make.compare(Predicate::lt, place, extent)),
               fmt::format("{}{}: the place along axis {} is outside of the tile", of_bounds, op.info().mnemonic, axis),
               "place and extent", {place, extent});
  }
}

/// Tells whether the places of an access are checked.
bool is_access(Op const& op) {
  if (op.is<ir::ItemAtOp>()) return true;
  if (op.is<ir::LoadOp>()) return op.as<ir::LoadOp>().pad.bits == 0 && !op.as<ir::LoadOp>().stated_pad;
  return (op.is<ir::StoreOp>() && !op.as<ir::StoreOp>().may_miss) || ir::has_indices(op);
}

void check_bounds(Op& op) {
  if (op.is<ir::ItemAtOp>()) return check_places(op);
  if (ir::has_indices(op)) return check_indices(op);
  Value const& tile = op.is<ir::LoadOp>() ? *op.result() : *op.in("tile");
  check_bounds_of_box(op, op.in("tensor"), op.all("offsets"), tile.type());
}

// ---- overflow.

bool is_sum(Op const& op) { return op.is<ir::AddOp>() || op.is<ir::SubOp>() || op.is<ir::MulOp>(); }

/// Tells whether a * b is the product without wrapping, in i64.
Value* product_holds(Maker& make, Value* a, Value* b, Value* product) {
  Type const& type = a->type();
  Value *const zero = make.number(0, type), *const minus = make.number(-1, type);
  Value* const min = make.number(std::numeric_limits<std::int64_t>::min(), type);
  Value *const is_zero = make.compare(Predicate::eq, a, zero), *const is_minus = make.compare(Predicate::eq, a, minus);
  Value* const divisor = make.select(make.either(is_zero, is_minus), make.number(1, type), a);
  Value* const divides = make.compare(Predicate::eq, make.same(ir::DivOp{}, product, divisor), b);
  return make.either(is_zero, make.select(is_minus, make.compare(Predicate::ne, b, min), divides));
}

void check_overflow(Op& op, Builder const& at) {
  Maker make(at, op);
  Value *a = op.operand(0), *b = op.operand(1), *result = op.result();
  Value* holds = nullptr;
  if (result->type().element() == Element::i32) {
    Value *const x = make.cast(a, Element::i64), *const y = make.cast(b, Element::i64);
    Value* const exact = op.is<ir::AddOp>()   ? make.same(ir::AddOp{}, x, y)
                         : op.is<ir::SubOp>() ? make.same(ir::SubOp{}, x, y)
                                              : make.same(ir::MulOp{}, x, y);
    holds = make.compare(Predicate::eq, exact, make.cast(result, Element::i64));
  } else if (op.is<ir::MulOp>()) {
    holds = product_holds(make, a, b, result);
  } else {
    // The signs show it: a sum differs in sign from both terms, a difference from the first of two that differ.
    Value* const from_a = make.same(ir::XorOp{}, a, result);
    Value* const other = op.is<ir::AddOp>() ? make.same(ir::XorOp{}, b, result) : make.same(ir::XorOp{}, a, b);
    holds = make.compare(Predicate::ge, make.same(ir::AndOp{}, from_a, other), make.number(0, a->type()));
  }
  std::string const message = std::string(of_overflow) + std::string(op.info().mnemonic) + " of " +
                              std::string(name(result->type().element())) + " wraps, and an index follows from it";
  if (result->type().is_scalar())
    make.check(holds, message, "operands", {a, b});
  else
    make.check(holds, message);
}

// ---- NaN.

bool is_floating(Value const& value) {
  return (value.type().is_scalar() || value.type().is_tile()) && is_float(value.type().element());
}

/// Tells whether an op may make NaN or infinity of finite floats.
bool can_leave_finite(Op const& op) {
  if (op.result_count() != 1 || !is_floating(*op.result()) || !op.pure() || op.block_count() > 0) return false;
  if (op.is<ir::SelectOp>() || op.is<ir::MinOp>() || op.is<ir::MaxOp>() || op.is<ir::NegOp>() || op.is<ir::AbsOp>() ||
      op.is<ir::ConstantOp>() || op.is<ir::BitcastOp>())
    return false;
  auto const adds = [](ir::Combine combine) { return combine == ir::Combine::sum || combine == ir::Combine::product; };
  if (op.is<ir::ReduceOp>()) return adds(op.as<ir::ReduceOp>().combine);
  if (op.is<ir::ScanOp>()) return adds(op.as<ir::ScanOp>().combine);
  return op.is<ir::DotOp>() || op.is(ir::Family::elementwise);
}

/// Returns the place after an op: in the outermost block after the grid too, which ops before it may state.
Builder builder_after(Op& op) {
  Op* after = &op;
  if (op.parent_op() == nullptr) {
    bool passed = false;
    for (Op& other : *op.parent()) {
      passed = passed || &other == &op;
      if (passed && other.is<ir::GridOp>()) after = &other;
    }
  }
  return Builder::after(*after);
}

/// Finds the ops that decide whether an element of a result is taken: selects that choose it, and stores whose box may
/// lie outside. Only ops of the same block count.
class Takers {
 public:
  explicit Takers(Op& op) : block_(op.parent()) {
    Path path;
    decided_ = gather(*op.result(), true, path, 0) && !paths_.empty();
    if (!decided_) return;
    for (Op& other : *block_)
      for (Path const& each : paths_)
        for (Term const& term : each)
          if (term.op == &other) last_ = &other;
  }

  /// True if elements are taken by such ops alone.
  [[nodiscard]] bool decide() const { return decided_; }
  /// Returns the last of them: after it the condition is known.
  [[nodiscard]] Op& last() const { return *last_; }
  /// True where an element of the type is taken.
  [[nodiscard]] Value* taken(Maker& make, Type const& type) const {
    Value* any = nullptr;
    for (Path const& path : paths_) {
      Value* all = nullptr;
      for (Term const& term : path) {
        Value* const holds = condition(make, term);
        all = make.both(all, holds->type().is_scalar() ? make.spread(holds, type) : holds);
      }
      any = any == nullptr ? all : make.either(any, all);
    }
    return any;
  }

 private:
  struct Term {
    Op* op;
    bool negated;  ///< the select takes it where its condition is false
  };
  using Path = std::vector<Term>;
  static constexpr int max_depth = 32;
  static constexpr std::size_t max_paths = 16;

  /// Follows the uses of a value. False: some use takes each element. `aligned`: its elements are those of the result.
  bool gather(Value const& value, bool aligned, Path& path, int depth) {
    bool decided = true;
    for (ir::Use const& use : value.uses()) {
      Op& user = *use.user;
      if (!decided || paths_.size() >= max_paths || depth >= max_depth) return false;
      if (user.parent() == block_ && use.is<ir::StoreOp>("tile") && user.as<ir::StoreOp>().may_miss) {
        path.push_back({&user, false});
        paths_.push_back(path);
        path.pop_back();
      } else {
        decided = follow(use, aligned, path, depth);
      }
    }
    return decided;
  }

  /// Follows one use to the users of its result. False: it takes each element.
  bool follow(ir::Use const& use, bool aligned, Path& path, int depth) {
    Op& user = *use.user;
    bool const passes = user.parent() == block_ && user.pure() && user.block_count() == 0 && user.result_count() == 1;
    bool const chooses = passes && aligned && (use.is<ir::SelectOp>("lhs") || use.is<ir::SelectOp>("rhs"));
    if (chooses) path.push_back({&user, use.is<ir::SelectOp>("rhs")});
    std::size_t const before = paths_.size();
    bool const same = aligned && passes && user.is(ir::Family::elementwise);
    bool const followed = passes && gather(*user.result(), same, path, depth + 1);
    bool const has_condition = !path.empty();
    if (!followed) paths_.resize(before);
    if (!followed && has_condition) paths_.push_back(path);
    if (chooses) path.pop_back();
    return followed || has_condition;
  }

  static Value* condition(Maker& make, Term const& term) {
    if (term.op->is<ir::SelectOp>()) {
      Value* const chosen = term.op->in<ir::SelectOp>("condition");
      return term.negated ? make.negated(chosen) : chosen;
    }
    Value* const tensor = term.op->in<ir::StoreOp>("tensor");
    auto const offsets = term.op->all<ir::StoreOp>("offsets");
    Value* inside = nullptr;
    for (int axis = 0; axis < tensor->type().rank(); ++axis)
      inside =
          make.both(inside, some_inside(make, offsets[static_cast<std::size_t>(axis)], make.extent(tensor, axis),
                                        box_extent(tensor->type(), term.op->in<ir::StoreOp>("tile")->type(), axis)));
    return inside;
  }

  ir::Block* block_;
  Op* last_ = nullptr;
  std::vector<Path> paths_;
  bool decided_ = false;
};

void check_finite(Op& op) {
  Takers const takers(op);
  Maker make(builder_after(takers.decide() ? takers.last() : op), op);
  Type const& type = op.result()->type();
  Value* finite = nullptr;  // the operands
  auto const add = [&](Value* condition) { finite = make.both(finite, make.broadcast(condition, type)); };
  if (op.is<ir::DotOp>()) {
    add(make.all(make.finite(op.lhs()), 1));
    add(make.all(make.finite(op.rhs()), 0));
    if (is_floating(*op.in<ir::DotOp>("accumulator"))) add(make.finite(op.in<ir::DotOp>("accumulator")));
  } else if (auto const* const reduce = op.dyn<ir::ReduceOp>()) {
    add(make.all(make.finite(op.in("tile")), reduce->axis));
  } else if (auto const* const scan = op.dyn<ir::ScanOp>()) {
    add(make.all(make.finite(op.in("tile")), scan->axis));
  } else {
    for (Value* operand : op.operands())
      if (is_floating(*operand)) add(make.finite(operand));
  }
  Value* holds = make.finite(op.result());
  if (finite != nullptr) holds = make.either(holds, make.negated(finite));
  if (takers.decide()) holds = make.either(holds, make.negated(takers.taken(make, type)));
  std::string const message = std::string(of_nan) + std::string(op.info().mnemonic) +
                              " of finite values gives NaN or infinity in " + std::string(name(type.element()));
  std::vector<Value*> shown;
  if (type.is_scalar() && !is_f8(type.element())) shown.push_back(op.result());
  make.check(holds, message, "result", shown);
}

/// Leaves out the checks that the function has.
Checks missing(ir::Function& function, Checks checks) {
  ir::walk(function, [&](Op const& op) {
    if (!op.is<ir::AssertOp>()) return;
    std::string_view const message = op.as<ir::AssertOp>().message.view();
    checks.bounds = checks.bounds && !message.starts_with(of_bounds);
    checks.overflow = checks.overflow && !message.starts_with(of_overflow);
    checks.nan = checks.nan && !message.starts_with(of_nan);
  });
  return checks;
}

}  // namespace

bool insert_checks(ir::Function& function, Checks const& asked) {
  Checks const checks = missing(function, asked);
  std::vector<Op*> accesses, overflow, nan;
  std::set<Value const*> const indices = checks.overflow ? ir::index_values(function) : std::set<Value const*>();
  ir::walk(function, [&](Op& op) {
    if (checks.bounds && is_access(op)) accesses.push_back(&op);
    if (is_sum(op) && indices.count(op.result()) != 0) overflow.push_back(&op);
    if (checks.nan && can_leave_finite(op)) nan.push_back(&op);
  });
  for (Op* op : accesses) check_bounds(*op);
  for (Op* op : overflow) check_overflow(*op, builder_after(*op));
  for (Op* op : nan) check_finite(*op);
  return !accesses.empty() || !overflow.empty() || !nan.empty();
}

void RunningChecks::insert(Op& last) {
  if (checks_.overflow) {
    std::vector<Value*> const places = ir::place_operands(last);
    check_sums({places.begin(), places.end()}, Builder::before(last));
  }
  if (checks_.bounds && is_access(last)) check_bounds(last);
  if (checks_.nan && can_leave_finite(last)) check_finite(last);
}

void RunningChecks::append(Value const& number, ir::Block& block) {
  if (checks_.overflow) check_sums({&number}, Builder(block));
}

void RunningChecks::check_sums(std::vector<Value const*> places, Builder const& at) {
  std::vector<Op*> sums;
  while (!places.empty()) {
    Value const* const value = places.back();
    places.pop_back();
    Element const element = value->type().element();
    Op* const op = value->defining_op();
    if ((element != Element::i32 && element != Element::i64) || op == nullptr || !checked_.insert(value).second)
      continue;
    if (is_sum(*op)) sums.push_back(op);
    if (op->pure()) places.insert(places.end(), op->operands().begin(), op->operands().end());
  }
  for (auto sum = sums.rbegin(); sum != sums.rend(); ++sum) check_overflow(**sum, at);
}

PassResult insert_checks(ir::Function& function, PassContext& context) {
  return result_of(context.options.checks.any() && insert_checks(function, context.options.checks));
}

}  // namespace tegula::transform
