// Makes ops at a position.
#pragma once

#include <map>
#include <optional>

#include "ir/core/op.hpp"

namespace tegula::ir {

using ValueMap = std::map<Value const*, Value*>;

/// Inserts ops before a position (or at the end of a block). Types of results are given, or come from infer.hpp.
class Builder {
 public:
  /// Appends to the block's end.
  explicit Builder(Block& block) : block_(&block) {}
  /// Inserts before `position`.
  static Builder before(Op& position) {
    Builder builder(*position.parent());
    builder.position_ = &position;
    return builder;
  }
  static Builder after(Op& position);

  /// Sets the location of the ops made from here on.
  void set_where(location where) { where_ = where; }
  [[nodiscard]] Block& block() const { return *block_; }

  Op& create(OpKind kind, void const* attributes, std::span<Value* const> operands, std::span<Type const> results);

  template <class OpStruct>
  Op& op(OpStruct const& attributes, std::initializer_list<Value*> operands, std::initializer_list<Type> results) {
    return create(kind_of<OpStruct>, &attributes, {operands.begin(), operands.size()},
                  {results.begin(), results.size()});
  }
  template <class OpStruct>
  Op& op(OpStruct const& attributes, std::vector<Value*> const& operands, std::vector<Type> const& results) {
    return create(kind_of<OpStruct>, &attributes, operands, results);
  }
  /// Makes an op with one result of the given type.
  template <class OpStruct>
  Value* value(OpStruct const& attributes, std::initializer_list<Value*> operands, Type const& result) {
    return op(attributes, operands, {result}).result();
  }
  /// Makes the common elementwise case: the result has the first operand's type.
  template <class OpStruct>
  Value* same(OpStruct const& attributes, std::initializer_list<Value*> operands) {
    return value(attributes, operands, (*operands.begin())->type());
  }
  Value* index(std::int64_t value);
  /// Makes a constant of any scalar or tile type; floats rounded to the element, integers must fit.
  Value* constant(double value, Type const& type);
  Value* constant(Constant value, Type const& type);

  /// Copies an op with its regions. Operands found in `map` are replaced; results and block arguments are added to it.
  Op& clone(Op const& op, ValueMap& map);

 private:
  Block* block_;
  Op* position_ = nullptr;
  location where_;
};

/// Returns the bits of a value in an element's own format (rounded to nearest even).
Constant make_constant(Element element, double value);
Constant make_constant(Element element, std::int64_t value);
/// Returns the value of a constant as a double (exact but for i64 beyond 2^53).
double to_double(Constant constant);
/// Returns the value as an integer: integers sign-extended, booleans 0 or 1.
std::int64_t to_int(Constant constant);
std::optional<std::int64_t> constant_int(Value const& value);

}  // namespace tegula::ir
