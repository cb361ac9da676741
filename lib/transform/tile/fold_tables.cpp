#include "transform/tile/fold_tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/core/families.hpp"
#include "ir/core/match.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/row_major.hpp"
#include "ir/memory/source.hpp"
#include "ir/values/elementary.hpp"
#include "ir/values/table.hpp"
#include "tegula/math/functions.hpp"
#include "transform/common/fold.hpp"

namespace tegula::transform {
namespace {

using ir::Constant;
using ir::Op;
using ir::Type;
using ir::Value;
using Elements = std::vector<Constant>;

/// Arithmetic of an element that costs more than to load it, in ops; functions of floats and divisions count as more.
constexpr int worth_a_load = 12;
constexpr int function_cost = 16, division_cost = 8;
constexpr int max_cost = 1 << 20;
constexpr std::int64_t max_elements = 16384, max_bytes = 65536;

/// Computes a function of floats by its formula. Nothing: the op is none, or the value is NaN.
std::optional<Constant> function(Op const& op, std::span<Constant const> operands, Element element) {
  double const x = ir::to_double(operands[0]), y = operands.size() > 1 ? ir::to_double(operands[1]) : 0;
  bool const wide = element == Element::f64;
  std::optional<double> result;
  [[maybe_unused]] auto const one = [&](auto f) {
    result = wide ? f(x) : static_cast<double>(f(static_cast<float>(x)));
  };
  [[maybe_unused]] auto const two = [&](auto f) {
    result = wide ? f(x, y) : static_cast<double>(f(static_cast<float>(x), static_cast<float>(y)));
  };
#define TEGULA_EXPANDED(struct_name, name, ...) \
  if (op.is<ir::struct_name>()) one([](auto a) { return math::name(a); });
#define TEGULA_EXPANDED_2(struct_name, name, ...) \
  if (op.is<ir::struct_name>()) two([](auto a, auto b) { return math::name(a, b); });
#include "tegula/math/elementary.def"
  if (!result || std::isnan(*result)) return std::nullopt;
  return ir::make_constant(element, *result);
}

class Tables {
 public:
  explicit Tables(ir::Function& function) : function_(function) {}

  bool run() {
    std::vector<Op*> ops;
    ir::walk_pre_order(function_, [&](Op& op) {
      if (op.result_count() == 1 && op.block_count() == 0 && count(op)) ops.push_back(&op);
      return ir::Walk::advance;
    });
    bool changed = false;
    for (Op* op : ops) changed = fold_at(*op) || changed;
    return changed;
  }

 private:
  /// Counts the arithmetic behind an element of a known value; false: it is not known.
  bool count(Op const& op) {
    bool const moves = ir::moves_elements(op) && ir::source(op).count == 1;
    if (!op.pure() || !(op.is(ir::Family::constant) || op.is(ir::Family::elementwise) || moves)) return false;
    int cost = op.is(ir::Family::elementwise) ? is_function(op)   ? function_cost
                                                : ir::divides(op) ? division_cost
                                                                  : 1
                                              : 0;
    for (Value const* operand : op.operands()) {
      auto const known = cost_.find(operand);
      if (known == cost_.end()) return false;
      cost = std::min(cost + known->second, max_cost);
    }
    cost_[op.result()] = cost;
    return true;
  }

  /// Makes a table of a tile that others than known values use.
  bool fold_at(Op& op) {
    Value& tile = *op.result();
    Type const& type = tile.type();
    bool const leaves = std::any_of(tile.uses().begin(), tile.uses().end(), [&](ir::Use const& use) {
      return use.user->result_count() != 1 || !cost_.contains(use.user->result()) || !foldable(*use.user);
    });
    if (!leaves || !foldable(op)) return false;
    Elements const* const elements = elements_of(tile);
    if (elements == nullptr) return false;
    std::vector<std::byte> memory(elements->size() * static_cast<std::size_t>(bytes(type.element())));
    for (std::size_t i = 0; i < elements->size(); ++i)
      std::memcpy(memory.data() + i * static_cast<std::size_t>(bytes(type.element())), &(*elements)[i].bits,
                  static_cast<std::size_t>(bytes(type.element())));
    ir::Builder builder = ir::Builder::before(op);
    builder.set_where(op.where());
    Value* const table = builder.value(ir::make_op<ir::TableOp>(ir::table_data(memory)), {}, type);
    table->set_name(tile.name());
    tile.replace_all_uses_with(*table);
    return true;
  }

  /// True for a tile of which a table is made.
  [[nodiscard]] bool foldable(Op const& op) const {
    Type const& type = op.result()->type();
    return type.is_tile() && op.is(ir::Family::elementwise) && is_float(type.element()) && type.layout() == nullptr &&
           cost_.at(op.result()) >= worth_a_load && type.elements() <= max_elements &&
           type.elements() * bytes(type.element()) <= max_bytes;
  }
  /// Computes the elements of a known tile, or the one of a scalar; null: one is NaN, or there are too many.
  Elements const* elements_of(Value const& value) {
    auto known = elements_.find(&value);
    if (known == elements_.end()) {
      std::optional<Elements> computed = compute(*value.defining_op());  // which adds others
      known = elements_.emplace(&value, std::move(computed)).first;
    }
    return known->second ? &*known->second : nullptr;
  }

  std::optional<Elements> compute(Op const& op) {
    Type const& type = op.result()->type();
    auto const size = static_cast<std::size_t>(type.is_tile() ? type.elements() : 1);
    if (static_cast<std::int64_t>(size) > max_elements) return std::nullopt;
    if (op.is<ir::ConstantOp>()) return Elements(size, op.as<ir::ConstantOp>().value);
    if (op.is<ir::IotaOp>()) return coordinates(type, static_cast<int>(op.as<ir::IotaOp>().axis));
    if (op.is(ir::Family::constant)) return std::nullopt;
    std::vector<Elements const*> operands;
    for (Value const* operand : op.operands()) {
      operands.push_back(elements_of(*operand));
      if (operands.back() == nullptr) return std::nullopt;
    }
    if (!op.is(ir::Family::elementwise)) return moved(op, *operands[0]);
    Elements result;
    result.reserve(size);
    std::vector<Constant> at(operands.size());
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t k = 0; k < operands.size(); ++k) at[k] = (*operands[k])[i];
      std::optional<Constant> element = fold(op, at, type.element());
      if (!element) element = function(op, at, type.element());
      if (!element) return std::nullopt;
      result.push_back(*element);
    }
    return result;
  }

  static Elements coordinates(Type const& type, int axis) {
    std::int64_t const stride = ir::row_major_strides(type.shape())[axis], extent = type.shape()[axis];
    Elements result;
    for (std::int64_t i = 0; i < type.elements(); ++i)
      result.push_back(ir::make_constant(type.element(), i / stride % extent));
    return result;
  }

  static std::optional<Elements> moved(Op const& op, Elements const& from) {
    Type const& type = op.result()->type();
    if (!op.operand(0)->type().is_tile()) return Elements(static_cast<std::size_t>(type.elements()), from[0]);
    ir::SourcePart const part = ir::source(op).parts[0];
    Extents const &operand = op.operand(0)->type().shape(), &result = type.shape();
    Extents const strides = ir::row_major_strides(operand), steps = ir::row_major_strides(result);
    Elements elements;
    for (std::int64_t i = 0; i < type.elements(); ++i) {
      std::int64_t at[max_rank] = {}, in_operand[max_rank] = {}, linear = 0;
      for (int axis = 0; axis < result.size(); ++axis) at[axis] = i / steps[axis] % result[axis];
      ir::coordinates(part, operand, result, at, in_operand);
      for (int axis = 0; axis < operand.size(); ++axis) {
        if (in_operand[axis] < 0 || in_operand[axis] >= operand[axis]) return std::nullopt;
        linear += in_operand[axis] * strides[axis];
      }
      elements.push_back(from[static_cast<std::size_t>(linear)]);
    }
    return elements;
  }

  ir::Function& function_;
  std::unordered_map<Value const*, int> cost_;  ///< of an element, by known values
  std::unordered_map<Value const*, std::optional<Elements>> elements_;
};

}  // namespace

PassResult fold_tables(ir::Function& function, PassContext&) { return result_of(Tables(function).run()); }

}  // namespace tegula::transform
