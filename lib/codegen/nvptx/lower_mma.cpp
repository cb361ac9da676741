// Lowers tensor core products: one wgmma or mma.sync after the other over the tile. Accumulators are plain registers
// that pass through every instruction and through the waits, so that an early read is not possible.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "codegen/nvptx/emitter.hpp"
#include "codegen/nvptx/profile_logs.hpp"
#include "codegen/nvptx/ptx/mma.hpp"
#include "codegen/nvptx/pack_words.hpp"
#include "ir/memory/source.hpp"
#include "layout/fragment_layouts.hpp"
#include "target/block_rules.hpp"
#include "target/wgmma_operand.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen::nvptx {
namespace {

/// Returns the element of an operand, which tensor cores must multiply.
Element multiplied(ir::Op const& op, Element element) {
  if (is_multiplied(element)) return element;
  refuse(op, "no product of " + std::string(name(element)) + " on tensor cores");
}

/// Returns the words of an operand as the instructions take them: i32, or f64.
Registers operand_words(Emitter& e, Element element, Registers const& registers) {
  Registers words = pack_words(e, element, registers);
  if (element == Element::f64) return words;
  for (llvm::Value*& word : words) word = e.b.CreateBitCast(word, e.b.getInt32Ty());
  return words;
}

/// Joins words with a 0 that the assembler cannot know: the upper half of the number of multiprocessors.
void join_unknown_zero(Emitter& e, Registers& words) {
  llvm::Value* const zero = e.b.CreateTrunc(e.b.CreateLShr(e.launch_slot(3), 32), e.b.getInt32Ty());
  for (llvm::Value*& word : words) {
    llvm::Type* const type = word->getType();
    word = e.b.CreateBitCast(e.b.CreateOr(e.b.CreateBitCast(word, e.b.getInt32Ty()), zero), type);
  }
}

/// Returns the words of an operand of mma.sync. ptxas expands products of 8-bit floats for sm_90. It reads the upper
/// half of a word that it knows to be 0 as 0x68 (seen with 13.0). So these words are joined with a 0 that it cannot
/// know.
Registers mma_words(Emitter& e, ir::Value const& operand) {
  Element const element = operand.type().element();
  Registers words = operand_words(e, element, e.get(operand));
  if (is_f8(element)) join_unknown_zero(e, words);
  return words;
}

void check_layout(ir::Op const& op, Emitter& e, char const* subject, ir::Type const& type,
                  layout::Layout const* expected, std::string const& why) {
  if (expected != nullptr && type.layout() == expected) return;
  refuse(op, fmt::format("the {} is in the layout {}, not in the one that {} warps need{}", subject,
                         type.layout()->text(), e.warps, why.empty() ? "" : ": " + why));
}

/// Finds the run of K that each lane has of a left operand of mma.sync.
int run_of(ir::Type const& a, layout::WarpGrid grid) {
  int const size = bytes(a.element());
  std::string ignored;
  for (int const run : layout::mma_runs(size, a.shape()[1]))
    if (layout::mma_a_layout(a.shape(), size, grid, ignored, run) == a.layout()) return run;
  return 0;
}

ptx::DescriptorFields fields_of(target::WgmmaOperand const& operand) {
  return {operand.leading, operand.stride, operand.swizzle_bytes};
}

/// Tells whether threads load a tile, so that an access to memory is the last to define its registers.
bool is_loaded(ir::Value const& tile) {
  ir::Op const* const op = tile.defining_op();
  if (op == nullptr) return false;
  if (op->is<ir::LoadOp>() || op->is<ir::GatherOp>() || op->is<ir::BufferLoadOp>()) return true;
  return ir::moves_elements(*op) && is_loaded(*op->operand(0));
}

/// Divides N into equal parts, each with as many columns as one instruction can have here.
target::WgmmaColumns columns_operand(ir::Op const& op, Emitter const& e, ir::Type const& view, int groups) {
  std::int64_t const max_columns = target::max_wgmma_columns(op.function()->warps, e.target);
  target::Finding why;
  auto columns = target::wgmma_columns(view.shape(), *view.layout(), bytes(view.element()), is_i8_or_u8(view.element()),
                                       max_columns, groups, why);
  if (columns) return *columns;
  refuse(op, !why.empty() ? why.text()
                          : fmt::format("N is {}, which does not split into equal parts of at most {} make up",
                                        view.shape()[1], max_columns));
}

/// Returns the address of the columns of the right operand that this warpgroup multiplies.
llvm::Value* columns_address(ir::Op const& op, Emitter& e, target::WgmmaColumns const& columns, layout::WarpGrid grid) {
  llvm::Value* const address = e.scalar(*op.rhs());
  if (grid.columns == 1) return address;
  std::int64_t const distance = columns.operand.mn_starts[static_cast<std::size_t>(columns.parts / grid.columns)];
  llvm::Value* const number = e.b.CreateUDiv(e.warp, e.i32(grid.rows));
  return e.b.CreateAdd(address, e.b.CreateMul(number, e.i32(distance)));
}

/// Holds registers of values as they pass through a fence or a wait: words, and the number of registers they stand for.
class Through {
 public:
  Through(ir::Op const& op, Emitter& e) : op_(op), e_(e) {
    for (ir::Value const* value : op.operands()) {
      Registers words = pack_words(e, value->type().element(), e.get(*value));
      // ptxas serialises wgmma whose accumulators an access to memory defines (C7515, seen with 13.0).
      if (op.is<ir::WgmmaFenceOp>() && is_loaded(*value)) join_unknown_zero(e, words);
      counts_.push_back(words.size());
      words_.insert(words_.end(), words.begin(), words.end());
    }
  }
  [[nodiscard]] Registers const& words() const { return words_; }
  void give(Registers const& words) {
    std::size_t at = 0;
    for (int i = 0; i < op_.operand_count(); ++i) {
      ir::Type const& type = op_.operand(i)->type();
      auto const first = words.begin() + static_cast<std::ptrdiff_t>(at);
      Registers const own(first, first + static_cast<std::ptrdiff_t>(counts_[static_cast<std::size_t>(i)]));
      at += own.size();
      e_.set(*op_.result(i), unpack_words(e_, type.element(), own, e_.get(*op_.operand(i)).size()));
    }
  }

 private:
  ir::Op const& op_;
  Emitter& e_;
  Registers words_;
  std::vector<std::size_t> counts_;
};

}  // namespace

void lower(ir::WgmmaOp const&, ir::Op const& op, Emitter& e) {
  llvm::IRBuilder<>& b = e.b;
  ir::Value const &lhs = *op.lhs(), &rhs = *op.rhs();
  ir::Type const &a = lhs.type(), &d = op.result()->type();
  Element const element = a.element();
  if (e.warps % e.target.warps_per_group != 0)
    refuse(op, fmt::format("{} warps execute it, but wgmma takes whole warpgroups of 4", e.warps));
  std::string why;
  layout::WarpGrid grid = layout::wgmma_grid(d.shape(), d.layout(), e.warps);
  if (grid.rows == 0) check_layout(op, e, "result", d, layout::wgmma_layout(d.shape(), e.warps, why), why);
  int const groups = grid.rows / e.target.warps_per_group;                   // along the rows
  std::int64_t const blocks = d.shape()[0] / (target::wgmma_rows * groups);  // of 64 rows per warpgroup

  target::WgmmaColumns const all_columns = columns_operand(op, e, rhs.type(), grid.columns);
  target::WgmmaOperand const& columns = all_columns.operand;
  std::int64_t const parts = all_columns.parts, own_parts = parts / grid.columns;
  ptx::WgmmaGroup group;
  group.b_descriptor = ptx::matrix_descriptor(b, columns_address(op, e, all_columns, grid), fields_of(columns));
  std::int64_t const steps = static_cast<std::int64_t>(columns.k_starts.size());
  ptx::WgmmaForm& form = group.form;
  form.n = static_cast<int>(d.shape()[1] / parts);
  form.a = multiplied(op, element);
  form.b = multiplied(op, rhs.type().element());
  form.d = d.element() == Element::f16   ? ptx::MmaResult::f16
           : d.element() == Element::i32 ? ptx::MmaResult::s32
                                         : ptx::MmaResult::f32;
  // Elements of 32 and 8 bits are read K-major only, as wgmma_operand ensures.
  form.b_transposed = columns.mn_major;

  // A: descriptors of this warpgroup's rows, or fragments.
  std::optional<target::WgmmaOperand> rows;
  Registers fragments;
  if (a.is_shared()) {
    rows = target::wgmma_operand(a.shape(), *a.layout(), bytes(element), target::WgmmaRole::a, why);
    if (!rows) refuse(op, why);
    form.a_transposed = rows->mn_major;
    llvm::Value* address = e.scalar(lhs);
    if (groups > 1) {
      // Warpgroups take blocks of 64 rows in turn.
      std::int64_t const stride = rows->mn_starts[1];
      for (std::size_t i = 0; i < rows->mn_starts.size(); ++i)
        if (rows->mn_starts[i] != static_cast<std::int64_t>(i) * stride)
          refuse(op, "blocks of 64 rows of the left operand are not evenly spaced");
      llvm::Value* number = b.CreateLShr(e.warp, e.i32(2));
      if (grid.columns > 1) number = b.CreateURem(number, e.i32(groups));
      address = b.CreateAdd(address, b.CreateMul(number, e.i32(stride)));
    }
    group.a_descriptor = ptx::matrix_descriptor(b, address, fields_of(*rows));
  } else {
    check_layout(op, e, "left operand", a, layout::wgmma_a_layout(a.shape(), bytes(element), grid, why), why);
    fragments = operand_words(e, element, e.get(lhs));
  }

  auto const accumulator = op.all<ir::WgmmaOp>("accumulator");  // then the bool that asks for it
  if (accumulator.size() == 2) group.accumulate = e.scalar(*accumulator[1]);
  group.results.resize(static_cast<std::size_t>(blocks * own_parts));
  if (!accumulator.empty()) {
    Registers const registers = pack_words(e, d.element(), e.get(*accumulator[0]));
    auto from = registers.begin();
    for (Registers& own : group.results) {
      auto const to = from + ptx::wgmma_registers(form);
      own.assign(from, to);
      from = to;
    }
  }
  for (std::int64_t step = 0; step < steps; ++step)
    for (std::int64_t block = 0; block < blocks; ++block)
      for (std::int64_t part = 0; part < own_parts; ++part) {
        ptx::WgmmaStep next;
        if (rows) {
          next.a_bytes = rows->mn_starts[static_cast<std::size_t>(block * groups)] +
                         rows->k_starts[static_cast<std::size_t>(step)];
        } else {
          auto const first = fragments.begin() + static_cast<std::ptrdiff_t>((block * steps + step) * 4);
          next.a.assign(first, first + 4);
        }
        next.b_bytes =
            columns.mn_starts[static_cast<std::size_t>(part)] + columns.k_starts[static_cast<std::size_t>(step)];
        next.result = static_cast<std::size_t>(block * own_parts + part);
        group.steps.push_back(std::move(next));
      }
  group.fence = e.wgmma.take_fence();
  Registers words;
  for (Registers const& own : ptx::wgmmas(b, group)) words.insert(words.end(), own.begin(), own.end());
  e.set(*op.result(), unpack_words(e, d.element(), words, static_cast<std::size_t>(d.layout()->registers())));
}

void lower(ir::WgmmaFenceOp const&, ir::Op const& op, Emitter& e) {
  if (e.next() != nullptr && e.next()->is<ir::WgmmaOp>()) {  // both are one statement
    for (int i = 0; i < op.operand_count(); ++i) e.set(*op.result(i), e.get(*op.operand(i)));
    e.wgmma.leave_fence();
    return;
  }
  Through through(op, e);
  through.give(ptx::wgmma_fence(e.b, through.words()));
}

void lower(ir::WgmmaCommitOp const&, ir::Op const&, Emitter& e) {
  ptx::wgmma_commit(e.b);
  e.logs->store_deferred();
}

void lower(ir::WgmmaWaitOp const& attributes, ir::Op const& op, Emitter& e) {
  Through through(op, e);
  through.give(ptx::wgmma_wait(e.b, static_cast<int>(attributes.pending), through.words()));
}

void lower(ir::MmaOp const&, ir::Op const& op, Emitter& e) {
  ir::Type const &a = op.lhs()->type(), &b_type = op.rhs()->type(), &d = op.result()->type();
  int const size = bytes(a.element());
  // Finds the arrangement of warps of the result; the operands must have the same.
  layout::WarpGrid const grid = layout::mma_grid(d.shape(), d.layout(), e.warps);
  std::string why;
  if (grid.rows == 0) check_layout(op, e, "accumulator", d, nullptr, "mma");
  int const run = run_of(a, grid);
  check_layout(op, e, "left operand", a, layout::mma_a_layout(a.shape(), size, grid, why, run), why);
  check_layout(op, e, "right operand", b_type, layout::mma_b_layout(b_type.shape(), size, grid, why, run), why);

  Element const element = multiplied(op, a.element()), b_element = multiplied(op, b_type.element());
  std::int64_t const rows = d.shape()[0] / (16 * grid.rows), columns = d.shape()[1] / (8 * grid.columns),
                     steps = a.shape()[1] / ptx::wgmma_depth(element);
  Registers const a_words = mma_words(e, *op.lhs()), b_words = mma_words(e, *op.rhs());
  Registers result = e.get(*op.in<ir::MmaOp>("accumulator"));
  auto const some = [](Registers const& all, std::int64_t number, std::int64_t count) {
    auto const first = all.begin() + static_cast<std::ptrdiff_t>(number * count);
    return Registers(first, first + static_cast<std::ptrdiff_t>(count));
  };
  auto const [a_count, b_count] = ptx::mma_registers(element);
  // Steps that share a run of each lane stand together, for each column.
  std::int64_t const in_run = layout::steps_of_run(size, run);
  for (std::int64_t step = 0; step < steps; ++step)
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < columns; ++column) {
        std::int64_t const at = row * columns + column;
        std::int64_t const right = (step / in_run * columns + column) * in_run + step % in_run;
        Registers const next =
            ptx::mma_sync(e.b, element, b_element, some(a_words, row * steps + step, a_count),
                          some(b_words, right, b_count), some(result, at, 4), e.target.has(Ability::whole_f64_mma));
        std::copy(next.begin(), next.end(), result.begin() + static_cast<std::ptrdiff_t>(at * 4));
      }
  e.set(*op.result(), std::move(result));
}

}  // namespace tegula::codegen::nvptx
