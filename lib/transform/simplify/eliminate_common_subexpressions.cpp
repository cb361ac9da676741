#include "transform/simplify/eliminate_common_subexpressions.hpp"

#include <algorithm>
#include <unordered_map>

#include "analysis/effects.hpp"
#include "ir/core/rewrite.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Value;

std::size_t mixed(std::size_t seed, std::size_t value) { return (seed ^ value) * 0x9E3779B97F4A7C15ULL + (seed >> 29); }

std::size_t hash_of(ir::FieldRef const& field) {
  auto const value = [&]<class T>(std::type_identity<T>) -> T const& { return *static_cast<T const*>(field.data); };
  switch (field.kind) {
    case ir::FieldKind::boolean:
      return std::size_t{value(std::type_identity<bool>())};
    case ir::FieldKind::integer:
      return static_cast<std::size_t>(value(std::type_identity<std::int64_t>()));
    case ir::FieldKind::enumeration:
    case ir::FieldKind::element:
      return static_cast<std::size_t>(value(std::type_identity<std::uint8_t>()));
    case ir::FieldKind::extents: {
      std::size_t result = 0;
      for (std::int64_t const extent : value(std::type_identity<Extents>()))
        result = mixed(result, static_cast<std::size_t>(extent));
      return result;
    }
    case ir::FieldKind::constant: {
      auto const& constant = value(std::type_identity<ir::Constant>());
      return mixed(static_cast<std::size_t>(constant.element), constant.bits);
    }
    case ir::FieldKind::symbol:
      return std::hash<std::string_view>()(value(std::type_identity<Symbol>()).view());
  }
  return 0;
}

/// Hashes an op. Equal ops have equal hashes; swapped operands of commutative ops too.
std::size_t hash_of(Op const& op) {
  std::size_t result = static_cast<std::size_t>(op.kind());
  std::size_t operands = 0;
  for (Value const* value : op.operands()) {
    auto const word = mixed(0x51ED, reinterpret_cast<std::size_t>(value));
    operands = op.info().has(ir::commutative) ? operands + word : mixed(operands, word);
  }
  result = mixed(result, operands);
  for (int i = 0; i < op.result_count(); ++i)
    result = mixed(result, static_cast<std::size_t>(op.result(i)->type().elements()));
  for (ir::FieldRef const& field : ir::fields_of(op.kind(), op.attributes())) result = mixed(result, hash_of(field));
  return result;
}

bool same_operands(Op const& a, Op const& b) {
  if (std::equal(a.operands().begin(), a.operands().end(), b.operands().begin(), b.operands().end())) return true;
  return a.info().has(ir::commutative) && a.lhs() == b.rhs() && a.rhs() == b.lhs();
}

bool same_op(Op const& a, Op const& b) {
  if (a.kind() != b.kind() || a.result_count() != b.result_count() || a.operand_count() != b.operand_count() ||
      !same_operands(a, b))
    return false;
  for (int i = 0; i < a.result_count(); ++i)
    if (a.result(i)->type() != b.result(i)->type()) return false;
  auto const left = ir::fields_of(a.kind(), a.attributes());
  auto const right = ir::fields_of(b.kind(), b.attributes());
  return std::equal(left.begin(), left.end(), right.begin(), ir::field_equal);
}

class Eliminator {
 public:
  bool block(ir::Block& block) {
    std::size_t const scope = scope_.size();
    bool changed = false;
    for (auto at = block.begin(); at != block.end();) {
      Op& op = *at;
      ++at;
      changed = visit(op) || changed;
    }
    for (; scope_.size() > scope; scope_.pop_back()) leave(scope_.back());
    return changed;
  }

 private:
  struct Entry {
    Op* op;
    int epoch;
  };

  bool visit(Op& op) {
    bool const load = analysis::is_global_read(op);
    if (op.block_count() == 0 && op.result_count() > 0 && (op.pure() || load))
      return replaced(op, load && !analysis::reads_constant_memory(op));
    bool const writes = analysis::effects_of(op).writes;
    if (writes) ++epoch_;
    bool changed = false;
    for (int i = 0; i < op.block_count(); ++i) changed = block(op.block(i)) || changed;
    if (writes && op.block_count() != 0) ++epoch_;
    return changed;
  }

  bool replaced(Op& op, bool in_epoch) {
    std::size_t const hash = hash_of(op);
    auto& entries = table_[hash];
    for (Entry const& entry : entries) {
      if ((in_epoch && entry.epoch != epoch_) || !same_op(*entry.op, op)) continue;
      std::vector<Value*> values;
      for (int i = 0; i < op.result_count(); ++i) values.push_back(entry.op->result(i));
      ir::replace(op, values);
      return true;
    }
    entries.push_back({&op, epoch_});
    scope_.push_back(hash);
    return false;
  }

  void leave(std::size_t hash) {
    auto const found = table_.find(hash);
    found->second.pop_back();  // scopes nest, so the last one is this block's
    if (found->second.empty()) table_.erase(found);
  }

  std::unordered_map<std::size_t, std::vector<Entry>> table_;
  std::vector<std::size_t> scope_;
  int epoch_ = 0;
};

}  // namespace

PassResult eliminate_common_subexpressions(ir::Function& function, PassContext&) {
  return result_of(Eliminator().block(function.body()));
}

}  // namespace tegula::transform
