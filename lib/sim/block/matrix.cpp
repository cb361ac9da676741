// Implements products of the tensor cores. A warp's part of a product is the rows and columns that its accumulator
// fragment has.
#include <fmt/format.h>

#include <algorithm>

#include "layout/shared_layouts.hpp"
#include "ir/text/text.hpp"
#include "target/block_rules.hpp"
#include "target/wgmma_operand.hpp"
#include "sim/block/decode.hpp"
#include "sim/block/meaning.hpp"
#include "sim/product.hpp"
#include "tegula/support/error.hpp"

namespace tegula::sim::block {

using namespace ir;

namespace {

/// Gathers an operand whose rows (first axis) are given, as the tensor core sees it.
template <class T>
std::vector<T> rows_of_view(std::byte const* memory, Region const& region, std::span<std::int32_t const> rows,
                            std::int64_t width, Element element) {
  std::vector<T> values(rows.size() * static_cast<std::size_t>(width));
  for (std::size_t i = 0; i < rows.size(); ++i)
    read_elements(
        memory,
        std::span(region.addresses).subspan(static_cast<std::size_t>(rows[i] * width), static_cast<std::size_t>(width)),
        element, values.data() + i * static_cast<std::size_t>(width));
  if (element == Element::f32) truncate_to_tf32(values);
  return values;
}

/// Gathers a fragment as the dense block of its distinct rows and columns.
template <class T>
std::vector<T> dense_block(Value const& fragment, MatrixPart const& part) {
  std::vector<T> values(part.from.size());
  T const* const data = fragment.data<T>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = part.from[i] < 0 ? T{} : data[part.from[i]];
  return values;
}

template <class T>
void store_block(std::vector<T> const& values, MatrixPart const& part, Value& fragment) {
  T* const data = fragment.data<T>();
  for (std::size_t i = 0; i < part.place.size(); ++i) {
    T value = values[static_cast<std::size_t>(part.place[i])];
    if constexpr (std::is_same_v<T, float>) value = round_to_element(value, fragment.element());
    data[i] = value;
  }
}

/// Runs one warp's part of a wgmma, from issue to end.
struct Product {
  Value a_registers;  ///< empty: A is in shared memory
  MatrixPart const* a_part = nullptr;
  Region const* a = nullptr;
  Region const* b = nullptr;
  std::int64_t depth = 0;
  std::int64_t width = 0;  ///< columns of B
  Element left_element = Element::bf16, right_element = Element::bf16;
  Value accumulator;  ///< empty: starts from zero
  MatrixPart const* part = nullptr;
  Value result;

  template <class T>
  void run(std::byte const* memory) {
    std::vector<T> left;
    if (a_registers.empty()) {
      left = rows_of_view<T>(memory, *a, part->rows, depth, left_element);
    } else {
      left = dense_block<T>(a_registers, *a_part);
      if (left_element == Element::f32) truncate_to_tf32(left);
    }
    std::vector<T> right(static_cast<std::size_t>(depth * width));
    read_elements(memory, std::span(b->addresses), right_element, right.data());
    if (right_element == Element::f32) truncate_to_tf32(right);
    if (static_cast<std::int64_t>(part->columns.size()) != width) right = own_columns(right);
    std::vector<T> sums = accumulator.empty() ? std::vector<T>(part->from.size()) : dense_block<T>(accumulator, *part);
    multiply(left.data(), right.data(), sums.data(), part->rows.size(), static_cast<std::size_t>(depth),
             part->columns.size());
    store_block(sums, *part, result);
  }

 private:
  /// Takes the columns that this warp multiplies.
  template <class T>
  [[nodiscard]] std::vector<T> own_columns(std::vector<T> const& right) const {
    std::vector<T> own;
    own.reserve(static_cast<std::size_t>(depth) * part->columns.size());
    for (std::int64_t k = 0; k < depth; ++k)
      for (std::int32_t const column : part->columns)
        own.push_back(right[static_cast<std::size_t>(k * width + column)]);
    return own;
  }
};

void check_parts(Op const& op, MatrixPart const& part, MatrixPart const* a, std::int64_t width, std::int64_t depth) {
  if (static_cast<std::int64_t>(part.columns.size()) != width)
    throw UserError(fmt::format("simulate: {}: a warp's part of the result has {} of the {} columns of rhs",
                                op.info().mnemonic, part.columns.size(), width),
                    op.where());
  if (a != nullptr && (a->rows != part.rows || static_cast<std::int64_t>(a->columns.size()) != depth))
    throw UserError("simulate: " + std::string(op.info().mnemonic) +
                        ": the warps hold other rows of lhs than of the result, or not all of its columns",
                    op.where());
}

/// Checks a shared operand. The tensor core reads it by descriptors, which not every layout has, in patterns that start
/// at multiples of their period.
void check_shared_operand(WarpProgram& warp, Op const& op, ir::Value const& value, target::WgmmaRole role) {
  Type const& type = value.type();
  View const& view = warp.view(value);
  if (!warp.engine().first_check(op, warp.engine().regions().get(view))) return;
  std::int64_t const columns = type.shape()[1];
  std::string why, first;
  std::optional<target::WgmmaOperand> operand;
  for (std::int64_t parts = 1; !operand && parts * 8 <= columns; ++parts) {
    if (role == target::WgmmaRole::b && (columns % (parts * 8) != 0 || columns / parts > target::max_wgmma_instruction))
      continue;
    operand = target::wgmma_operand(type.shape(), *type.layout(), bytes(type.element()), role, why,
                                    role == target::WgmmaRole::b ? static_cast<int>(columns / parts) : 0);
    if (first.empty()) first = why;
    if (role == target::WgmmaRole::a) break;
  }
  if (!operand)
    throw UserError("simulate: wgmma: no descriptor reads " + to_string(type) + ": " +
                        (first.empty() ? "N must be a multiple of 8" : first),
                    op.where());
  std::int64_t const period = layout::swizzle_alignment(operand->swizzle_bytes);
  if (view.base % period != 0)
    warp.engine().report(machine::ReportKind::misaligned,
                         fmt::format("the buffer of {} begins at byte {}, but the tensor core's pattern starts at "
                                     "multiples of {}; align the buffer",
                                     to_string(type), view.base, period),
                         warp.site());
}

}  // namespace

Progress perform(WarpProgram& warp, Op const& op, WgmmaOp const&) {
  ir::Value const &lhs = *op.lhs(), &rhs = *op.rhs();
  auto const accumulator = op.all<WgmmaOp>("accumulator");  // then the bool that asks for it
  bool const given = !accumulator.empty();
  bool const accumulates = given && (accumulator.size() == 1 || warp.agent().condition(*accumulator[1]));
  Engine& engine = warp.engine();
  auto product = std::make_shared<Product>();
  product->part = &engine.matrix(warp.fragment(op.result()->type()));
  product->depth = lhs.type().shape()[1];
  product->width = rhs.type().shape()[1];
  product->left_element = lhs.type().element();
  product->right_element = rhs.type().element();
  product->b = &engine.regions().get(warp.view(rhs));
  std::vector<machine::Footprint> shared;
  machine::Space const space = warp.warp().shared();
  machine::Wgmma action;
  check_shared_operand(warp, op, rhs, target::WgmmaRole::b);
  if (lhs.type().is_shared()) {
    check_shared_operand(warp, op, lhs, target::WgmmaRole::a);
    product->a = &engine.regions().get(warp.view(lhs));
    shared.emplace_back(space, engine.regions().rows(warp.view(lhs), product->part->rows, product->part, 0));
  } else {
    product->a_registers = warp.value(lhs);
    product->a_part = &engine.matrix(warp.fragment(lhs.type()));
    Registers const& held = warp.registers(lhs);
    action.a_registers = machine::Footprint(warp.warp().registers(), held->begin, held->end);
  }
  // Columns of warpgroups take parts of the columns.
  check_parts(op, *product->part, product->a_part, static_cast<std::int64_t>(product->part->columns.size()),
              product->depth);
  shared.emplace_back(space, product->b->intervals);
  if (accumulates) product->accumulator = warp.value(*accumulator[0]);
  product->result = warp.agent().fresh(op);
  warp.set(*op.result(), product->result);

  // The result stands in the registers of the accumulator that ends here; else in others, into which it is copied.
  Handle& result = warp.handle(*op.result());
  result.registers = nullptr;
  if (given) {
    Registers const held = warp.registers(*accumulator[0]);
    if (warp.plan().takes_over(op, *accumulator[0])) {
      result.registers = held;
    } else if (accumulates) {
      warp.warp().read_registers(held->begin, held->end, warp.site());
      Registers const& copy = warp.registers(*op.result());
      warp.warp().write_registers(copy->begin, copy->end, warp.site());
    }
  }
  Registers const& held = warp.registers(*op.result());
  action.shared = shared;
  action.accumulators = machine::Footprint(warp.warp().registers(), held->begin, held->end);
  action.accumulate = accumulates;
  action.shape = static_cast<std::uint32_t>(product->part->rows.size() << 20 | product->part->columns.size() << 8 |
                                            static_cast<std::size_t>(bytes(product->left_element))
                                                << 4 |  // 32 bytes of K for each instruction
                                            (op.result()->type().element() == Element::f16 ? 2 : 1));
  action.clocks = engine.product_clocks(product->part->rows.size(), product->part->columns.size(),
                                        product->depth * bytes(product->left_element));
  int const cta = warp.cta();
  action.effect = engine.effect(1, [&engine, cta, product](machine::Moment, int) {
    std::byte const* const memory = engine.shared_bytes(cta);
    with_sums(product->result.storage(), [&]<class T>(std::type_identity<T>) { product->run<T>(memory); });
  });
  (void)warp.warp().wgmma(action, warp.site());
  return Progress::turn;
}

Progress perform(WarpProgram& warp, Op const& op, WgmmaFenceOp const& fence) {
  // A tile that is used later too stays where it is; products write to a copy.
  for (int i = 0; i < op.operand_count(); ++i) {
    (void)warp.registers(*op.operand(i));
    if (op.operand(i)->type().is_tile())
      warp.give(*op.result(i), warp.take(op, *op.operand(i)));
    else
      warp.pass(*op.operand(i), *op.result(i));
  }
  if (fence.purpose == Purpose::order) warp.warp().wgmma_fence(warp.site());
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const&, WgmmaCommitOp const&) {
  warp.warp().wgmma_commit(warp.site());
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, WgmmaWaitOp const& attributes) {
  for (int i = 0; i < op.operand_count(); ++i) {
    (void)warp.registers(*op.operand(i));
    warp.pass(*op.operand(i), *op.result(i));
  }
  (void)warp.warp().wgmma_wait(static_cast<int>(attributes.pending), warp.site());
  return Progress::turn;
}

Progress perform(WarpProgram& warp, Op const& op, MmaOp const&) {
  Engine& engine = warp.engine();
  MatrixPart const& part = engine.matrix(warp.fragment(op.result()->type()));
  MatrixPart const& a = engine.matrix(warp.fragment(op.lhs()->type()));
  MatrixPart const& b = engine.matrix(warp.fragment(op.rhs()->type()));
  std::int64_t const depth = op.lhs()->type().shape()[1];
  check_parts(op, part, &a, static_cast<std::int64_t>(b.columns.size()), depth);
  if (b.columns != part.columns || static_cast<std::int64_t>(b.rows.size()) != depth)
    throw UserError("simulate: mma: the warps hold other columns of rhs than of the result, or not all of its rows",
                    op.where());
  Value const left = warp.value(*op.lhs()), right = warp.value(*op.rhs());
  Value const old = warp.value(*op.in<MmaOp>("accumulator"));
  Value result = warp.agent().fresh(op);
  with_sums(result.storage(), [&]<class T>(std::type_identity<T>) {
    std::vector<T> x = dense_block<T>(left, a), y = dense_block<T>(right, b), sums = dense_block<T>(old, part);
    if (left.element() == Element::f32) {
      truncate_to_tf32(x);
      truncate_to_tf32(y);
    }
    multiply(x.data(), y.data(), sums.data(), part.rows.size(), static_cast<std::size_t>(depth), part.columns.size());
    store_block(sums, part, result);
  });
  warp.set(*op.result(), std::move(result));
  return Progress::done;
}

}  // namespace tegula::sim::block
