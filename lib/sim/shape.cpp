// Implements shapes, reductions, scans and matrix products.
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "ir/row_major.hpp"
#include "sim/combine.hpp"
#include "sim/scan.hpp"
#include "sim/meaning.hpp"
#include "sim/product.hpp"
#include "tegula/math/functions.hpp"
#include "tegula/support/error.hpp"

namespace tegula::sim {

using namespace ir;

namespace {

/// Fills op's result, in row-major order, from the operand's element `offset` on, at `strides` per result axis.
void gather(Agent& agent, Op const& op, Extents const& strides, std::int64_t offset = 0) {
  Value const& from = agent.value(*op.operand());
  Value result = agent.fresh(op);
  Extents const& shape = result.type().shape();
  with_storage(from.storage(), [&]<class T>(std::type_identity<T>) {
    T const* const source = from.data<T>();
    T* const to = result.data<T>();
    std::int64_t at[max_rank] = {};
    for (std::int64_t i = 0; i < result.count(); ++i) {
      to[i] = source[offset];
      for (int axis = shape.size() - 1; axis >= 0; --axis) {
        offset += strides[axis];
        if (++at[axis] < shape[axis]) break;
        offset -= strides[axis] * shape[axis];
        at[axis] = 0;
      }
    }
  });
  agent.set(*op.result(), std::move(result));
}

/// Checks that an extract from equal elements has them.
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
        throw UserError("simulate: extract: the elements along the axes that it cuts are not equal", op.where());
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

void execute(Agent& agent, Op const& op, SplatOp const&) {
  Extents strides;
  for (int i = 0; i < op.result()->type().rank(); ++i) strides.push_back(0);
  gather(agent, op, strides);
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

void execute(Agent& agent, Op const& op, BroadcastOp const&) {
  Extents const& from = op.operand()->type().shape();
  Extents strides = row_major_strides(from);
  for (int i = 0; i < from.size(); ++i)
    if (from[i] == 1) strides[i] = 0;
  gather(agent, op, strides);
}

void execute(Agent& agent, Op const& op, ExpandDimsOp const&) {
  agent.set(*op.result(), agent.value(*op.operand()).retyped(op.result()->type()));
}
void execute(Agent& agent, Op const& op, SqueezeOp const&) {
  agent.set(*op.result(), agent.value(*op.operand()).retyped(op.result()->type()));
}
void execute(Agent& agent, Op const& op, ConvertLayoutOp const&) {
  agent.set(*op.result(), agent.value(*op.operand()).retyped(op.result()->type()));
}

void execute(Agent& agent, Op const& op, TransOp const& attributes) {
  Extents const from = row_major_strides(op.operand()->type().shape());
  Extents strides;
  for (std::int64_t axis : attributes.permutation) strides.push_back(from[static_cast<int>(axis)]);
  gather(agent, op, strides);
}

void execute(Agent& agent, Op const& op, ReshapeOp const&) {
  agent.set(*op.result(), agent.value(*op.operand()).retyped(op.result()->type()));
}

void execute(Agent& agent, Op const& op, ConcatenateOp const& attributes) {
  Value const& lhs = agent.value(*op.lhs());
  Value const& rhs = agent.value(*op.rhs());
  Value result = agent.fresh(op);
  std::int64_t lines = 1;  // along the axis and those behind it
  for (int i = 0; i < attributes.axis; ++i) lines *= result.type().shape()[i];
  std::int64_t const left = lhs.count() / lines, right = rhs.count() / lines;
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    for (std::int64_t i = 0; i < lines; ++i) {
      T* const to = result.data<T>() + i * (left + right);
      std::copy_n(lhs.data<T>() + i * left, left, to);
      std::copy_n(rhs.data<T>() + i * right, right, to + left);
    }
  });
  agent.set(*op.result(), std::move(result));
}

void execute(Agent& agent, Op const& op, ExtractOp const& attributes) {
  Extents const strides = row_major_strides(op.operand()->type().shape());
  std::int64_t offset = 0;
  for (int i = 0; i < strides.size(); ++i) offset += strides[i] * attributes.offsets[i];
  gather(agent, op, strides, offset);
  if (attributes.uniform) require_uniform(agent, op);
}

// Elements behind the operand's are NaN, or the number whose bytes are 0x5A, so that one which is used shows.
void execute(Agent& agent, Op const& op, ResizeOp const&) {
  Value const& from = agent.value(*op.operand());
  Value result = agent.fresh(op);
  Extents const &shape = result.type().shape(), &held = from.type().shape();
  Extents const strides = row_major_strides(held);
  with_storage(from.storage(), [&]<class T>(std::type_identity<T>) {
    T anything{};
    if constexpr (std::is_floating_point_v<T>)
      anything = std::numeric_limits<T>::quiet_NaN();
    else if constexpr (!std::is_same_v<T, std::uint8_t>)
      std::memset(&anything, 0x5A, sizeof(T));
    for (std::int64_t i = 0; i < result.count(); ++i) {
      std::int64_t offset = 0, rest = i;
      bool inside = true;
      for (int axis = shape.size() - 1; axis >= 0; rest /= shape[axis], --axis) {
        inside = inside && rest % shape[axis] < held[axis];
        offset += rest % shape[axis] * strides[axis];
      }
      result.data<T>()[i] = inside ? from.data<T>()[offset] : anything;
    }
  });
  agent.set(*op.result(), std::move(result));
}

void execute(Agent& agent, Op const& op, ButterflyOp const& attributes) {
  Value const& operand = agent.value(*op.operand());
  Value result = agent.fresh(op);
  std::int64_t const run =
      attributes.stride * row_major_strides(operand.type().shape())[static_cast<int>(attributes.axis)];
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    T const* const from = operand.data<T>();
    T* const to = result.data<T>();
    for (std::int64_t i = 0; i < operand.count(); i += 2 * run) {
      std::copy_n(from + i + run, run, to + i);
      std::copy_n(from + i, run, to + i + run);
    }
  });
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
