#include "transform/tile/gathered_rows.hpp"

#include <algorithm>
#include <map>

#include "analysis/effects.hpp"
#include "analysis/index_runs.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/families.hpp"
#include "ir/core/loop.hpp"
#include "ir/memory/accesses.hpp"
#include "transform/common/fetches.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

/// Follows the index of rows, a tile that is equal in all columns, to tiles of one column.
class Rows {
 public:
  explicit Rows(std::int64_t count) : count_(count) {}

  /// Tells whether the value is equal in all columns, and is computed from loads of constant tensors.
  bool known(Value const& value) {
    if (!value.type().is_tile()) return true;
    auto const [at, fresh] = known_.try_emplace(&value, false);
    if (fresh) {
      bool const found = computed(value);
      known_[&value] = found;
    }
    return known_[&value];
  }

  /// Computes the value again with one column. Needs: known.
  Value* column(Value& value) {
    if (!value.type().is_tile()) return &value;
    if (auto const found = columns_.find(&value); found != columns_.end()) return found->second;
    Op& from = *value.defining_op();
    Value* result = nullptr;
    if (from.is<ir::BroadcastOp>() && of_column(from.operand()->type())) {
      result = column(*from.operand());
    } else {
      std::vector<Value*> operands;
      for (Value* operand : from.operands()) operands.push_back(column(*operand));
      ir::Builder builder = ir::Builder::before(from);
      builder.set_where(from.where());
      ir::ValueMap map;
      for (int i = 0; i < from.operand_count(); ++i) map[from.operand(i)] = operands[static_cast<std::size_t>(i)];
      result = builder.clone(from, map).result();
      result->set_type(value.type().rank() == 1 ? value.type() : Type::tile(value.type().element(), {count_, 1}));
    }
    return columns_[&value] = result;
  }

 private:
  /// Tells whether a tile has as many rows, or is one column of them.
  [[nodiscard]] bool of_rows(Type const& type) const {
    return type.is_tile() && (type.rank() == 1 || type.rank() == 2) && type.shape()[0] == count_;
  }
  [[nodiscard]] bool of_column(Type const& type) const {
    return of_rows(type) && (type.rank() == 1 || type.shape()[1] == 1);
  }

  bool computed(Value const& value) {
    Op const* const from = value.defining_op();
    if (from == nullptr || !of_rows(value.type()) || from->block_count() != 0) return false;
    if (from->is<ir::ConstantOp>() || from->is<ir::SplatOp>()) return true;
    if (from->is<ir::IotaOp>()) return from->as<ir::IotaOp>().axis == 0;
    if (from->is<ir::LoadOp>() || from->is<ir::GatherOp>()) {
      if (!of_column(value.type()) || !analysis::reads_constant_memory(*from)) return false;
    } else if (from->is<ir::ExpandDimsOp>() || from->is<ir::ReshapeOp>()) {
      if (!of_column(value.type()) || !of_column(from->operand()->type())) return false;
    } else if (from->is<ir::BroadcastOp>()) {
      if (!of_column(from->operand()->type()) || from->operand()->type().rank() != value.type().rank()) return false;
    } else if (!from->is(ir::Family::elementwise)) {
      return false;
    }
    return std::all_of(from->operands().begin(), from->operands().end(),
                       [&](Value const* operand) { return known(*operand); });
  }

  std::int64_t count_;
  std::map<Value const*, bool> known_;
  std::map<Value const*, Value*> columns_;
};

/// Sums scalars beside the number of the column.
struct ColumnSum {
  int iotas = 0;
  std::int64_t constant = 0;
  std::vector<Value*> scalars;
};

/// Adds the parts of a tile whose elements count up along the last axis; false: it is another sum.
bool add_parts(Value const& value, std::int64_t columns, ColumnSum& sum) {
  Op* const from = value.defining_op();
  Type const& type = value.type();
  if (from == nullptr) return false;
  if (from->is<ir::IotaOp>())
    return from->as<ir::IotaOp>().axis == type.rank() - 1 && type.shape().back() == columns && ++sum.iotas == 1;
  if (auto const constant = ir::constant_int(value)) return sum.constant += *constant, true;
  if (from->is<ir::SplatOp>()) return sum.scalars.push_back(from->operand()), true;
  if (from->is<ir::AddOp>()) return add_parts(*from->lhs(), columns, sum) && add_parts(*from->rhs(), columns, sum);
  bool const kept = from->is<ir::BroadcastOp>() || from->is<ir::ExpandDimsOp>();
  return kept && from->operand()->type().shape().back() == columns && type.shape().back() == columns &&
         add_parts(*from->operand(), columns, sum);
}

/// Tells whether threads can copy rows of this tile from such a tensor.
bool copied_by_chunks(Op const& gather, analysis::AxisFacts const& facts) {
  Value const& tensor = *gather.in<ir::GatherOp>("tensor");
  Type const& tile = gather.result()->type();
  if (tile.rank() != 2 || tensor.type().element() == Element::boolean) return false;
  auto const attributes = ir::parameter_of(tensor);
  std::int64_t const row_bytes = tile.shape()[1] * bytes(tile.element());
  return attributes.direction == Direction::in && attributes.facts.unit_inner_stride && attributes.facts.aligned_16 &&
         gather.as<ir::GatherOp>().pad.bits == 0 && row_bytes % chunk_bytes == 0 &&
         analysis::index_run(gather, facts) * bytes(tile.element()) % chunk_bytes == 0;
}

}  // namespace

std::optional<GatheredRows> gathered_rows(Op& gather, analysis::AxisFacts const& facts) {
  if (!gather.result()->type().is_tile() || !copied_by_chunks(gather, facts)) return std::nullopt;
  Extents const& shape = gather.result()->type().shape();
  auto const indices = gather.all<ir::GatherOp>("indices");
  Rows rows(shape[0]);
  bool any = false;
  for (std::size_t axis = 0; axis + 1 < indices.size(); ++axis) {
    if (!rows.known(*indices[axis])) return std::nullopt;
    any = any || indices[axis]->type().is_tile();
  }
  ColumnSum sum;
  if (!any || !indices.back()->type().is_tile() || !add_parts(*indices.back(), shape[1], sum) || sum.iotas != 1)
    return std::nullopt;
  GatheredRows result;
  for (std::size_t axis = 0; axis + 1 < indices.size(); ++axis) result.starts.push_back(rows.column(*indices[axis]));
  ir::Builder builder = ir::Builder::before(gather);
  builder.set_where(gather.where());
  Value* start = nullptr;
  for (Value* scalar : sum.scalars) {
    Value* const wide = scalar->type() == Type::index() ? scalar : builder.value(ir::CastOp{}, {scalar}, Type::index());
    start = start == nullptr ? wide : builder.same(ir::AddOp{}, {start, wide});
  }
  if (start == nullptr || sum.constant != 0) {
    Value* const constant = builder.index(sum.constant);
    start = start == nullptr ? constant : builder.same(ir::AddOp{}, {start, constant});
  }
  result.starts.push_back(start);
  return result;
}

}  // namespace tegula::transform
