// Implements shapes, reductions, scans and matrix products.
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "ir/memory/row_major.hpp"
#include "ir/memory/source.hpp"
#include "ir/values/table.hpp"
#include "sim/combine.hpp"
#include "sim/scan.hpp"
#include "sim/meaning.hpp"
#include "sim/memory_element.hpp"
#include "sim/product.hpp"
#include "tegula/math/functions.hpp"
#include "tegula/support/error.hpp"

namespace tegula::sim {

using namespace ir;

namespace {

/// Returns a number that shows where it is used: NaN, or the one whose bytes are 0x5A.
template <class T>
T any_number() {
  T result{};
  if constexpr (std::is_floating_point_v<T>)
    result = std::numeric_limits<T>::quiet_NaN();
  else if constexpr (!std::is_same_v<T, std::uint8_t>)
    std::memset(&result, 0x5A, sizeof(T));
  return result;
}

/// Checks that an op that takes one of equal elements has them.
void require_uniform(Agent& agent, Op const& op) {
  Value const &from = agent.value(*op.operand()), &taken = agent.value(*op.result());
  Extents const &shape = from.type().shape(), &box = taken.type().shape();
  with_storage(from.storage(), [&]<class T>(std::type_identity<T>) {
    for (std::int64_t i = 0; i < from.count(); ++i) {
      std::int64_t linear = 0, rest = i, scale = 1;
      for (int axis = shape.size() - 1; axis >= 0; --axis) {
        linear += box[axis] == 1 ? 0 : rest % shape[axis] * scale;
        scale *= box[axis];
        rest /= shape[axis];
      }
      if (std::memcmp(from.data<T>() + i, taken.data<T>() + linear, sizeof(T)) != 0)
        throw UserError(
            "simulate: " + std::string(op.info().mnemonic) + ": the elements along the axes that it cuts are not equal",
            op.where());
    }
  });
}

/// Reduces values[0], values[stride], ..., as the order says; `scratch` holds as many.
template <class T>
T reduce(Combine kind, Order order, T const* values, std::int64_t count, std::int64_t stride, std::vector<T>& scratch) {
  if (order == Order::any) {
    T result = values[0];
    for (std::int64_t i = 1; i < count; ++i) result = combine(kind, result, values[i * stride]);
    return result;
  }
  for (std::int64_t i = 0; i < count; ++i) scratch[static_cast<std::size_t>(i)] = values[i * stride];
  for (std::int64_t left = count; left > 1; left = (left + 1) / 2) {
    for (std::int64_t i = 0; i < left / 2; ++i) {
      auto const at = static_cast<std::size_t>(i);
      scratch[at] = combine(kind, scratch[2 * at], scratch[2 * at + 1]);
    }
    if (left % 2 != 0) scratch[static_cast<std::size_t>(left / 2)] = scratch[static_cast<std::size_t>(left - 1)];
  }
  return scratch[0];
}

}  // namespace

void move_elements(Agent& agent, Op const& op) {
  Source const source = ir::source(op);
  Extents const& shape = op.result()->type().shape();
  Value const* operands[max_source_parts] = {};
  SourceTables tables[max_source_parts];
  for (int p = 0; p < source.count; ++p) {
    operands[p] = &agent.value(*op.operand(source.parts[p].operand));
    tables[p] = source_tables(source.parts[p], operands[p]->type().shape(), shape);
  }
  if (source.count == 1 && tables[0].in_order && operands[0]->count() == shape.product())
    return agent.set(*op.result(), operands[0]->retyped(op.result()->type()));
  Value result = agent.fresh(op);
  int const last = shape.size() - 1;  // the elements of a line run along this axis
  std::int64_t const line = last < 0 ? 1 : shape[last];
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    T const anything = any_number<T>();
    T* to = result.data<T>();
    std::fill_n(to, result.count(), anything);
    for (int p = source.count; p-- > 0;) {
      T const* const from = operands[p]->data<T>();
      auto const& table = tables[p].tables;
      for (std::int64_t i = 0; i < result.count(); i += line) {
        std::int64_t first = tables[p].first;
        std::int64_t rest = i / line;
        for (int axis = last - 1; axis >= 0; rest /= shape[axis], --axis)
          first += table[static_cast<std::size_t>(axis)][static_cast<std::size_t>(rest % shape[axis])];
        for (std::int64_t x = 0; x < line; ++x) {
          std::int64_t const at =
              last < 0 ? first : first + table[static_cast<std::size_t>(last)][static_cast<std::size_t>(x)];
          if (at >= 0) to[i + x] = from[at];
        }
      }
    }
  });
  agent.set(*op.result(), std::move(result));
  if (takes_equal_elements(source)) require_uniform(agent, op);
}

void execute(Agent& agent, Op const& op, IotaOp const& attributes) {
  Value result = agent.fresh(op);
  Extents const& shape = result.type().shape();
  std::int64_t const stride = row_major_strides(shape)[static_cast<int>(attributes.axis)];
  std::int64_t const extent = shape[static_cast<int>(attributes.axis)];
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    for (std::int64_t i = 0; i < result.count(); ++i) result.data<T>()[i] = static_cast<T>(i / stride % extent);
  });
  agent.set(*op.result(), std::move(result));
}

void execute(Agent& agent, Op const& op, TableOp const& attributes) {
  Value result = agent.fresh(op);
  std::vector<std::byte> const elements = ir::table_bytes(attributes);
  Element const element = result.type().element();
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    for (std::int64_t i = 0; i < result.count(); ++i)
      result.data<T>()[i] = read_element<T>(elements.data() + i * bytes(element), element);
  });
  agent.set(*op.result(), std::move(result));
}

void execute(Agent& agent, Op const& op, ItemOp const&) {
  agent.set(*op.result(), agent.value(*op.operand()).retyped(op.result()->type()));
}

void execute(Agent& agent, Op const& op, ItemAtOp const&) {
  Value const& tile = agent.value(*op.in<ItemAtOp>("tile"));
  Extents const& shape = tile.type().shape();
  std::int64_t linear = 0;
  bool inside = true;
  for (int axis = 0; axis < shape.size(); ++axis) {
    std::int64_t const at = agent.index(*op.in<ItemAtOp>("places", axis));
    inside = inside && at >= 0 && at < shape[axis];
    linear = inside ? linear * shape[axis] + at : 0;
  }
  Value result = agent.fresh(op);
  with_storage(result.storage(),
               [&]<class T>(std::type_identity<T>) { *result.data<T>() = inside ? tile.data<T>()[linear] : T{}; });
  agent.set(*op.result(), std::move(result));
}

void execute(Agent& agent, Op const& op, ReduceOp const& attributes) {
  Value const& operand = agent.value(*op.operand());
  Value result = agent.fresh(op);
  Extents const& shape = operand.type().shape();
  auto const axis = static_cast<int>(attributes.axis);
  std::int64_t const extent = shape[axis];
  std::int64_t const inner = row_major_strides(shape)[axis];
  std::int64_t const outer = operand.count() / (extent * inner);
  with_storage(operand.storage(), [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, std::uint8_t>) {
      throw InternalError("simulator: reduce of bool is not supported");
    } else {
      std::vector<T> scratch(static_cast<std::size_t>(extent));
      for (std::int64_t o = 0; o < outer; ++o) {
        for (std::int64_t i = 0; i < inner; ++i) {
          T value = reduce(attributes.combine, attributes.order, operand.data<T>() + o * extent * inner + i, extent,
                           inner, scratch);
          if constexpr (std::is_same_v<T, float>) value = round_to_element(value, result.element());
          result.data<T>()[o * inner + i] = value;
        }
      }
    }
  });
  agent.set(*op.result(), std::move(result));
}

void execute(Agent& agent, Op const& op, ScanOp const& attributes) {
  Value const& operand = agent.value(*op.operand());
  Value result = agent.fresh(op);
  Extents const& shape = operand.type().shape();
  std::int64_t const extent = shape[static_cast<int>(attributes.axis)];
  std::int64_t const inner = row_major_strides(shape)[static_cast<int>(attributes.axis)];
  with_storage(operand.storage(), [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, std::uint8_t>) {
      throw InternalError("simulator: scan of bool is not supported");
    } else {
      for (std::int64_t line = 0; line < operand.count() / extent; ++line) {
        std::int64_t const first = line / inner * extent * inner + line % inner;
        std::int64_t const begin = attributes.reverse ? first + (extent - 1) * inner : first;
        scan_line(
            attributes, operand.element(), extent,
            [&](std::int64_t i) { return operand.data<T>()[begin + (attributes.reverse ? -i : i) * inner]; },
            [&](std::int64_t i, T value) { result.data<T>()[begin + (attributes.reverse ? -i : i) * inner] = value; });
      }
    }
  });
  agent.set(*op.result(), std::move(result));
}

void execute(Agent& agent, Op const& op, DotOp const& attributes) {
  Value const& a = agent.value(*op.lhs());
  Value const& b = agent.value(*op.rhs());
  Value const& accumulator = agent.value(*op.in<DotOp>("accumulator"));
  Value result = agent.fresh(op);
  auto const m = static_cast<std::size_t>(a.type().shape()[0]), k = static_cast<std::size_t>(a.type().shape()[1]),
             n = static_cast<std::size_t>(b.type().shape()[1]);
  with_sums(result.storage(), [&]<class T>(std::type_identity<T>) {
    std::vector<T> left(a.data<T>(), a.data<T>() + m * k), right(b.data<T>(), b.data<T>() + k * n);
    if (attributes.precision == DotPrecision::tf32) {
      truncate_to_tf32(left);
      truncate_to_tf32(right);
    }
    std::copy_n(accumulator.data<T>(), m * n, result.data<T>());
    multiply(left.data(), right.data(), result.data<T>(), m, k, n);
  });
  agent.set(*op.result(), std::move(result));
}

}  // namespace tegula::sim
