#include "ir/core/op.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "ir/core/builder.hpp"
#include "tegula/support/error.hpp"

namespace tegula::ir {
namespace {

/// Drops a use. Uses are mostly dropped in the reverse order of their making, so the search begins at the end.
void drop_use(std::vector<Use>& uses, Use const& use) {
  auto const found = std::find(uses.rbegin(), uses.rend(), use);
  if (found != uses.rend()) uses.erase(std::next(found).base());
}

}  // namespace

void Value::replace_all_uses_with(Value& other) {
  if (&other == this) return;
  // Taken all at once: dropping them one by one would search and move the rest each time.
  for (Use const& use : std::exchange(uses_, {})) use.user->set_operand(use.index, &other);
}

Op::Op(OpKind kind, void const* attributes, std::span<Value* const> operands, std::span<Type const> results,
       location where)
    : info_(&op_info(kind)),
      attributes_(std::make_unique<std::byte[]>(std::max<std::size_t>(info_->size, 1))),
      where_(where) {
  std::memcpy(attributes_.get(), attributes != nullptr ? attributes : info_->defaults, info_->size);
  for (Value* value : operands) add_operand(value);
  for (Type const& type : results) add_result(type);
}

Op::~Op() {
  blocks_.clear();
  drop_operand_uses();
}

void Op::drop_operand_uses() {
  for (int i = 0; i < operand_count(); ++i) {
    if (Value* value = operand(i)) drop_use(value->uses_, Use{this, i});
  }
  operands_.clear();
}

void* Op::checked(OpKind wanted) const {
  if (kind() != wanted)
    throw InternalError("op is " + std::string(info_->mnemonic) + ", not " + std::string(op_info(wanted).mnemonic));
  return attributes_.get();
}

Value* Op::operand() const {
  if (operand_count() != 1)
    throw InternalError(fmt::format("op {} has {} operands, not one", info_->mnemonic, operand_count()));
  return operand(0);
}

void Op::set_operand(int i, Value* value) {
  Value*& slot = operands_[static_cast<std::size_t>(i)];
  if (slot == value) return;
  if (slot != nullptr) drop_use(slot->uses_, Use{this, i});
  slot = value;
  if (value != nullptr) value->uses_.push_back({this, i});
}

void Op::add_operand(Value* value) {
  operands_.push_back(value);
  if (value != nullptr) value->uses_.push_back({this, operand_count() - 1});
}

void Op::erase_operand(int i) {
  std::vector<Value*> rest(operands_);
  rest.erase(rest.begin() + i);
  drop_operand_uses();
  for (Value* value : rest) add_operand(value);
}

Value* Op::add_result(Type const& type) {
  results_.push_back(std::make_unique<Value>(type, this, nullptr, result_count()));
  return results_.back().get();
}

void Op::erase_result(int i) {
  if (!result(i)->unused()) throw InternalError("erasing a result that is still used");
  results_.erase(results_.begin() + i);
  for (int j = i; j < result_count(); ++j) result(j)->index_ = j;
}

Block& Op::add_block() {
  blocks_.push_back(std::make_unique<Block>());
  blocks_.back()->parent_op_ = this;
  return *blocks_.back();
}

Op* Op::parent_op() const { return parent_ == nullptr ? nullptr : parent_->parent_op(); }

Function* Op::function() const {
  Block const* block = parent_;
  while (block != nullptr && block->parent_op() != nullptr) block = block->parent_op()->parent();
  return block == nullptr ? nullptr : block->parent_function();
}

bool Op::pure() const {
  if (info_->effects.count != 0 || (info_->traits & (terminator | unique)) != 0 || is<CallOp>()) return false;
  if (is(Family::launch) || is(Family::synchronisation)) return false;
  for (auto const& block : blocks_)
    for (Op const& op : *block)
      if (!op.info().has(terminator) && !op.pure()) return false;
  return true;
}

void Op::erase() {
  for (auto const& value : results_)
    if (!value->unused())
      throw InternalError("erasing " + std::string(info_->mnemonic) + ", whose result is still used");
  std::unique_ptr<Op> self = parent_->remove(*this);
}

void Op::move_before(Op& other) {
  if (&other == this) return;
  std::unique_ptr<Op> self = parent_->remove(*this);
  other.parent()->insert_before(other, std::move(self));
}

Block::~Block() {
  while (!ops_.empty()) ops_.pop_back();  // users before definitions
}

Value* Block::add_argument(Type const& type, std::string name) {
  arguments_.push_back(std::make_unique<Value>(type, nullptr, this, argument_count()));
  arguments_.back()->set_name(std::move(name));
  return arguments_.back().get();
}

void Block::erase_argument(int i) {
  if (!argument(i)->unused()) throw InternalError("erasing a block argument that is still used");
  arguments_.erase(arguments_.begin() + i);
  for (int j = i; j < argument_count(); ++j) argument(j)->index_ = j;
}

Op* Block::terminator() const {
  return !ops_.empty() && ops_.back()->info().has(Trait::terminator) ? ops_.back().get() : nullptr;
}

Op& Block::append(std::unique_ptr<Op> op) {
  op->parent_ = this;
  ops_.push_back(std::move(op));
  ops_.back()->self_ = std::prev(ops_.end());
  return *ops_.back();
}

Op& Block::insert_before(Op& position, std::unique_ptr<Op> op) {
  op->parent_ = this;
  auto const at = ops_.insert(position.self_, std::move(op));
  (*at)->self_ = at;
  return **at;
}

std::unique_ptr<Op> Block::remove(Op& op) {
  auto const at = op.self_;
  std::unique_ptr<Op> result = std::move(*at);
  ops_.erase(at);
  result->parent_ = nullptr;
  return result;
}

Function::Function(std::string name, FunctionKind kind)
    : name_(std::move(name)), kind_(kind), body_(std::make_unique<Block>()) {
  body_->parent_function_ = this;
}

Value* Function::add_parameter(Type const& type, ParameterAttributes attributes, std::string name) {
  parameter_attributes_.push_back(attributes);
  return body_->add_argument(type, std::move(name));
}

Module::Module(Module&& other) noexcept : functions_(std::move(other.functions_)) {
  for (auto const& function : functions_) function->parent_ = this;
}

Module& Module::operator=(Module&& other) noexcept {
  functions_ = std::move(other.functions_);
  for (auto const& function : functions_) function->parent_ = this;
  return *this;
}

Function& Module::add_function(std::string name, FunctionKind kind) {
  if (find(name) != nullptr) throw InternalError("two functions are named @" + name);
  functions_.push_back(std::make_unique<Function>(std::move(name), kind));
  functions_.back()->parent_ = this;
  return *functions_.back();
}

Function* Module::find(std::string_view name) const {
  for (auto const& function : functions_)
    if (function->name() == name) return function.get();
  return nullptr;
}

void Module::erase(Function& function) {
  std::erase_if(functions_, [&](auto const& owned) { return owned.get() == &function; });
}

Function& Module::kernel() const {
  Function* found = nullptr;
  for (auto const& function : functions_) {
    if (!function->is_kernel()) continue;
    if (found != nullptr)
      throw UserError("module: two kernels, @" + found->name() + " and @" + function->name() + "; one is needed");
    found = function.get();
  }
  if (found == nullptr) throw UserError("module: it does not hold a kernel");
  return *found;
}

Module Module::clone() const {
  Module result;
  for (auto const& function : functions_) add_copy(result, *function);
  return result;
}

bool is_declaration(Function const& function) { return !function.is_kernel() && function.body().empty(); }

Function& add_copy(Module& module, Function const& function) {
  Function& copy = module.add_function(function.name(), function.kind());
  copy.results = function.results;
  copy.inlining = function.inlining;
  copy.warps = function.warps;
  copy.cluster = function.cluster;
  copy.ctas = function.ctas;
  copy.plan = function.plan;
  copy.shared = function.shared;
  copy.where = function.where;
  ValueMap map;
  for (int i = 0; i < function.parameter_count(); ++i)
    map[function.parameter(i)] =
        copy.add_parameter(function.parameter(i)->type(), function.parameter_attributes()[static_cast<std::size_t>(i)],
                           function.parameter(i)->name());
  Builder builder(copy.body());
  for (Op const& op : function.body()) builder.clone(op, map);
  return copy;
}

}  // namespace tegula::ir
