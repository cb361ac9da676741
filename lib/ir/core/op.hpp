// Defines the erased IR: values, ops, blocks, functions, modules. Passes are plain C++ over these.
//
// It is structured: an op may hold blocks (regions of one block each). There are no branches. A block owns its ops; an
// op owns its results. A use is kept in the value, so replacing is cheap and erasing a used value is caught.
#pragma once

#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/core/op_info.hpp"
#include "tegula/ir/ops.hpp"
#include "tegula/ir/type.hpp"
#include "tegula/abi/compiled_kernel.hpp"
#include "tegula/support/location.hpp"

namespace tegula::ir {

class Block;
class Function;
class Module;
class Op;
class Value;

/// Names an operand of an op struct by its text; a text that the struct's `operands` does not list does not compile.
template <class OpStruct>
struct OperandName {
  int position = 0;

  consteval OperandName(char const* text) {  // NOLINT(google-explicit-constructor): the text stands for the name
    for (; position < static_cast<int>(OpStruct::operands.size()); ++position)
      if (OpStruct::operands[static_cast<std::size_t>(position)] == text) return;
    throw "the op struct lists no operand of this name";
  }
};

/// Refers to operand `index` of `user`.
struct Use {
  Op* user = nullptr;
  int index = 0;

  /// True when this is the operand of that name of an op of that struct: `use.is<StoreOp>("tensor")`.
  template <class OpStruct>
  [[nodiscard]] bool is(OperandName<OpStruct> name) const;
  friend bool operator==(Use const&, Use const&) = default;
};

/// Is an SSA value: a result of an op or an argument of a block.
class Value {
 public:
  Value(Type type, Op* op, Block* block, int index) : type_(type), op_(op), block_(block), index_(index) {}
  Value(Value const&) = delete;
  Value& operator=(Value const&) = delete;

  [[nodiscard]] Type const& type() const { return type_; }
  void set_type(Type const& type) { type_ = type; }
  /// Returns the op this is a result of; null for block arguments.
  [[nodiscard]] Op* defining_op() const { return op_; }
  /// Returns the op this is a result of, if it is of that struct; else null.
  template <class OpStruct>
  [[nodiscard]] Op* defined_by() const;
  /// Returns the block this is an argument of; null for results.
  [[nodiscard]] Block* owner_block() const { return block_; }
  /// Returns the position among the results or arguments.
  [[nodiscard]] int index() const { return index_; }
  [[nodiscard]] std::string const& name() const { return name_; }
  /// Sets a name for the text, without %; empty: a number is given at printing. Made unique by the printer.
  void set_name(std::string name) { name_ = std::move(name); }
  [[nodiscard]] std::vector<Use> const& uses() const { return uses_; }
  [[nodiscard]] bool unused() const { return uses_.empty(); }
  /// Makes every use refer to `other` (not this).
  void replace_all_uses_with(Value& other);

 private:
  friend class Op;
  friend class Block;
  Type type_;
  Op* op_;
  Block* block_;
  int index_;
  std::string name_;
  std::vector<Use> uses_;
};

/// Is one operation. Created by Builder or by clone; lives in a Block.
class Op {
 public:
  Op(OpKind kind, void const* attributes, std::span<Value* const> operands, std::span<Type const> results,
     location where);
  ~Op();
  Op(Op const&) = delete;
  Op& operator=(Op const&) = delete;

  [[nodiscard]] OpKind kind() const { return info_->kind; }
  [[nodiscard]] OpInfo const& info() const { return *info_; }
  template <class OpStruct>
  [[nodiscard]] bool is() const {
    return kind() == kind_of<OpStruct>;
  }
  [[nodiscard]] bool is(Family family) const { return info_->family == family; }
  /// Returns the op's attributes as its struct; the kind must match.
  template <class OpStruct>
  [[nodiscard]] OpStruct& as() {
    return *static_cast<OpStruct*>(checked(kind_of<OpStruct>));
  }
  template <class OpStruct>
  [[nodiscard]] OpStruct const& as() const {
    return *static_cast<OpStruct const*>(checked(kind_of<OpStruct>));
  }
  template <class OpStruct>
  [[nodiscard]] OpStruct* dyn() {
    return is<OpStruct>() ? &as<OpStruct>() : nullptr;
  }
  [[nodiscard]] void* attributes() const { return attributes_.get(); }

  /// Returns the operand of that name, of an op of that struct: `op.in<StoreOp>("tile")`. For the last name of a
  /// variadic struct, the first of its operands. A struct without mnemonic (BinaryDefaults) names operands of every op
  /// that derives from it.
  template <class OpStruct>
  [[nodiscard]] Value* in(OperandName<OpStruct> name) const {
    return operand(position<OpStruct>(name));
  }
  /// Returns operand `k` under the last name of a variadic struct: `op.in<StoreOp>("offsets", axis)`.
  template <class OpStruct>
  [[nodiscard]] Value* in(OperandName<OpStruct> name, int k) const {
    return operand(position<OpStruct>(name) + k);
  }
  /// Returns all operands that the last name of a variadic struct stands for: `op.all<StoreOp>("offsets")`.
  template <class OpStruct>
  [[nodiscard]] std::span<Value* const> all(OperandName<OpStruct> name) const {
    return operands().subspan(static_cast<std::size_t>(position<OpStruct>(name)));
  }
  /// Returns the position of the operand of that name.
  template <class OpStruct>
  [[nodiscard]] int position(OperandName<OpStruct> name) const {
    if constexpr (requires { OpStruct::mnemonic; }) (void)as<OpStruct>();
    return name.position;
  }
  /// Does the same for code about ops of several structs that share a name: `op.in("tensor")` of a load or a store.
  /// InternalError when the op's struct does not list the name.
  [[nodiscard]] Value* in(std::string_view name) const { return operand(position(name)); }
  [[nodiscard]] std::span<Value* const> all(std::string_view name) const {
    return operands().subspan(static_cast<std::size_t>(position(name)));
  }
  [[nodiscard]] int position(std::string_view name) const { return info_->position(name); }
  /// Return the operands of an op that names them lhs and rhs: elementwise ops of two, comparisons, selections,
  /// products.
  [[nodiscard]] Value* lhs() const { return in("lhs"); }
  [[nodiscard]] Value* rhs() const { return in("rhs"); }
  /// Returns the only operand of an op that has one; InternalError for others.
  [[nodiscard]] Value* operand() const;

  /// Return operands by position, for code that treats those of every op alike.
  [[nodiscard]] int operand_count() const { return static_cast<int>(operands_.size()); }
  [[nodiscard]] Value* operand(int i) const { return operands_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] std::span<Value* const> operands() const { return operands_; }
  void set_operand(int i, Value* value);
  void add_operand(Value* value);
  void erase_operand(int i);

  [[nodiscard]] int result_count() const { return static_cast<int>(results_.size()); }
  [[nodiscard]] Value* result(int i = 0) const { return results_[static_cast<std::size_t>(i)].get(); }
  Value* add_result(Type const& type);
  /// Erases a result, which must be unused.
  void erase_result(int i);

  [[nodiscard]] int block_count() const { return static_cast<int>(blocks_.size()); }
  [[nodiscard]] Block& block(int i = 0) const { return *blocks_[static_cast<std::size_t>(i)]; }
  Block& add_block();

  [[nodiscard]] Block* parent() const { return parent_; }
  /// Returns the op whose block holds this one; null at function level.
  [[nodiscard]] Op* parent_op() const;
  /// Returns the function that holds this op; null when detached.
  [[nodiscard]] Function* function() const;
  [[nodiscard]] location const& where() const { return where_; }
  void set_where(location where) { where_ = where; }

  /// True when the op, with all inside it, only computes its results, and equal ones are interchangeable. It then has
  /// no effects, calls or launch statements, is not a terminator, and neither synchronises nor is unique.
  [[nodiscard]] bool pure() const;
  /// Unlinks and destroys this op. Its results must be unused.
  void erase();
  /// Moves this op right before `other` (in any block).
  void move_before(Op& other);

 private:
  friend class Block;
  void* checked(OpKind kind) const;
  void drop_operand_uses();

  OpInfo const* info_;
  std::unique_ptr<std::byte[]> attributes_;
  std::vector<Value*> operands_;
  std::vector<std::unique_ptr<Value>> results_;
  std::vector<std::unique_ptr<Block>> blocks_;
  Block* parent_ = nullptr;
  std::list<std::unique_ptr<Op>>::iterator self_;
  location where_;
};

template <class OpStruct>
Op* Value::defined_by() const {
  return op_ != nullptr && op_->is<OpStruct>() ? op_ : nullptr;
}

template <class OpStruct>
bool Use::is(OperandName<OpStruct> name) const {
  return user->is<OpStruct>() && index == name.position;
}

/// Lists ops with arguments; a function's body or one region of an op.
class Block {
 public:
  Block() = default;
  ~Block();
  Block(Block const&) = delete;
  Block& operator=(Block const&) = delete;

  Value* add_argument(Type const& type, std::string name = {});
  /// Erases an argument, which must be unused.
  void erase_argument(int i);
  [[nodiscard]] int argument_count() const { return static_cast<int>(arguments_.size()); }
  [[nodiscard]] Value* argument(int i) const { return arguments_[static_cast<std::size_t>(i)].get(); }

  /// Iterates over Op&; erasing the current op while iterating needs `next` taken before (see walk.hpp).
  class iterator {
   public:
    using inner = std::list<std::unique_ptr<Op>>::const_iterator;
    explicit iterator(inner at) : at_(at) {}
    Op& operator*() const { return **at_; }
    Op* operator->() const { return at_->get(); }
    iterator& operator++() {
      ++at_;
      return *this;
    }
    iterator& operator--() {
      --at_;
      return *this;
    }
    friend bool operator==(iterator const&, iterator const&) = default;

   private:
    inner at_;
  };
  [[nodiscard]] iterator begin() const { return iterator(ops_.begin()); }
  [[nodiscard]] iterator end() const { return iterator(ops_.end()); }
  [[nodiscard]] bool empty() const { return ops_.empty(); }
  [[nodiscard]] std::size_t size() const { return ops_.size(); }
  [[nodiscard]] Op& front() const { return *ops_.front(); }
  [[nodiscard]] Op& back() const { return *ops_.back(); }
  /// Returns the last op when it is a terminator, else null.
  [[nodiscard]] Op* terminator() const;

  Op& append(std::unique_ptr<Op> op);
  Op& insert_before(Op& position, std::unique_ptr<Op> op);
  std::unique_ptr<Op> remove(Op& op);

  /// Returns the op this block belongs to; null for a function's body.
  [[nodiscard]] Op* parent_op() const { return parent_op_; }
  [[nodiscard]] Function* parent_function() const { return parent_function_; }

 private:
  friend class Op;
  friend class Function;
  std::vector<std::unique_ptr<Value>> arguments_;
  std::list<std::unique_ptr<Op>> ops_;
  Op* parent_op_ = nullptr;
  Function* parent_function_ = nullptr;
};

/// Holds the attributes of one function parameter that the signature states beside its type.
struct ParameterAttributes {
  Direction direction = Direction::in;  ///< tensors of kernels
  std::int64_t multiple_of = 1;         ///< every extent vouched for by the user to be a multiple of this
  TensorFacts facts;                    ///< specialisation: `unit_inner`, `aligned_16`, `whole_16` in the text
  friend bool operator==(ParameterAttributes const&, ParameterAttributes const&) = default;
};

enum class FunctionKind : std::uint8_t { kernel, device };
enum class Inline : std::uint8_t { unset, no, yes };

/// Is a kernel or a device function: `kernel @name(%a: in tensor<?xf32>, ...) { ... return }`.
class Function {
 public:
  Function(std::string name, FunctionKind kind);

  [[nodiscard]] std::string const& name() const { return name_; }
  /// Renames a kernel, which no op calls.
  void set_name(std::string name) { name_ = std::move(name); }
  [[nodiscard]] FunctionKind kind() const { return kind_; }
  [[nodiscard]] bool is_kernel() const { return kind_ == FunctionKind::kernel; }
  [[nodiscard]] Block& body() const { return *body_; }
  Value* add_parameter(Type const& type, ParameterAttributes attributes = {}, std::string name = {});
  [[nodiscard]] int parameter_count() const { return body_->argument_count(); }
  [[nodiscard]] Value* parameter(int i) const { return body_->argument(i); }
  [[nodiscard]] std::vector<ParameterAttributes>& parameter_attributes() { return parameter_attributes_; }
  [[nodiscard]] std::vector<ParameterAttributes> const& parameter_attributes() const { return parameter_attributes_; }
  /// Returns the result types; empty for kernels.
  std::vector<Type> results;
  Inline inlining = Inline::unset;
  int warps = 0;    ///< `warps = 4`: warps per CTA, decided by layout assignment; 0: not decided
  int cluster = 1;  ///< `cluster = 2`: CTAs per cluster, along the grid's linear order
  /// `ctas = 8`: CTAs that share a multiprocessor at least, which limits the registers of their threads.
  int ctas = 1;
  /// `plan = "warps=8,wgmma=4x2"`: what plan-kernel decided, for explain; passes read it from the ops.
  std::string plan;
  /// `shared = 2048`: bytes of shared memory that a device function uses, decided by allocation. Its last parameter, an
  /// i64, then says where they begin. -1: none, or not decided. Kernels do not state it: theirs begin at 0.
  std::int64_t shared = -1;
  location where;
  [[nodiscard]] Module* parent() const { return parent_; }

 private:
  friend class Module;
  std::string name_;
  FunctionKind kind_;
  std::unique_ptr<Block> body_;
  std::vector<ParameterAttributes> parameter_attributes_;
  Module* parent_ = nullptr;
};

/// Holds functions with unique names. The first line of its text holds the format version.
class Module {
 public:
  Module() = default;
  Module(Module&&) noexcept;
  Module& operator=(Module&&) noexcept;

  Function& add_function(std::string name, FunctionKind kind);
  /// Finds the function of that name, else null.
  [[nodiscard]] Function* find(std::string_view name) const;
  void erase(Function& function);
  [[nodiscard]] std::vector<std::unique_ptr<Function>> const& functions() const { return functions_; }
  /// Returns the single kernel; UserError when there is none or more than one.
  [[nodiscard]] Function& kernel() const;
  [[nodiscard]] Module clone() const;

 private:
  std::vector<std::unique_ptr<Function>> functions_;
};

/// True for a function without a body. Passes and executors take modules without declarations.
bool is_declaration(Function const& function);

/// Adds a copy of the function at the end of a module that does not have its name.
Function& add_copy(Module& module, Function const& function);

}  // namespace tegula::ir
