// Lowers scans: within threads in registers, within warps by shuffles, between warps through shared memory.
#include <fmt/format.h>

#include <map>

#include "codegen/nvptx/emitter.hpp"
#include "codegen/nvptx/exchange_place.hpp"
#include "codegen/nvptx/inline_ptx.hpp"
#include "ir/memory/exchange.hpp"
#include "ir/values/combine.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen::nvptx {
namespace {

/// Scans the elements of one thread. Elements are joined in ever larger cells. A cell's total also counts the elements
/// that the lanes and warps it was joined with hold.
class Scan {
 public:
  Scan(ir::Op const& op, Emitter& e)
      : op_(op),
        e_(e),
        scan_(op.as<ir::ScanOp>()),
        axis_(static_cast<int>(scan_.axis)),
        layout_(*op.operand()->type().layout()),
        element_(op.operand()->type().element()) {
    llvm::Value* const start = e.constant(ir::scan_start(scan_.combine, ir::accumulator_of(element_)));
    Registers const& operand = e.get(*op.operand());
    std::map<Extents, std::map<std::int64_t, Cell>, ByCoordinates> lines;
    for (int reg = 0; reg < layout_.registers(); ++reg) {
      Extents at = layout_.part(layout::Dim::reg, reg);
      std::int64_t const position = at[axis_];
      at[axis_] = 0;
      Cell& cell = lines[at][position];
      cell.registers.push_back(reg);
      if (cell.total == nullptr) cell.total = e.widen(operand[static_cast<std::size_t>(reg)], element_);
      scanned_.push_back(scan_.exclusive ? start : cell.total);
    }
    for (auto& [at, cells] : lines) {
      where_.push_back(at);
      lines_.push_back(std::move(cells));
    }
  }

  void run() {
    auto const steps = ir::scan_steps(layout_, axis_);
    if (!steps)
      refuse(op_, fmt::format("the layout {} has no plan for axis {}; convert it first", layout_.text(), axis_));
    bool exchanged = false;
    for (ir::ReductionStep const& step : *steps) {
      switch (step.kind) {
        case ir::ReductionStep::Kind::pairs:
          pairs(step.stride);
          break;
        case ir::ReductionStep::Kind::tree:
          join_cells();
          break;
        case ir::ReductionStep::Kind::butterfly:
          butterfly(step.mask);
          break;
        case ir::ReductionStep::Kind::exchange:
          if (exchanged) e_.barrier();  // other warps may still read the last exchange
          exchange(step);
          exchanged = true;
          break;
      }
    }
    for (llvm::Value*& value : scanned_) value = e_.narrow(value, element_);
    e_.set(*op_.result(), std::move(scanned_));
  }

 private:
  struct Cell {
    std::vector<int> registers;
    llvm::Value* total = nullptr;   ///< of the cell in all lanes and warps that were joined
    llvm::Value* before = nullptr;  ///< of the cell, ahead of this thread's elements; null: nothing
  };

  llvm::Value* combine(llvm::Value* first, llvm::Value* second) {
    return first == nullptr ? second : e_.combine(scan_.combine, element_, first, second);
  }
  llvm::Value* neutral() { return e_.constant(ir::neutral(scan_.combine, ir::accumulator_of(element_))); }

  /// Combines a cell's results so far with what comes before them.
  void settle(Cell& cell, llvm::Value* ahead) {
    llvm::Value* const before = cell.before == nullptr ? ahead : combine(ahead, cell.before);
    cell.before = nullptr;
    if (before == nullptr) return;
    for (int reg : cell.registers) {
      llvm::Value*& value = scanned_[static_cast<std::size_t>(reg)];
      value = combine(before, value);
    }
  }

  void pairs(std::int64_t stride) {
    for (auto& cells : lines_) {
      std::map<std::int64_t, Cell> next;
      for (auto& [position, cell] : cells) {
        if ((position & stride) != 0) continue;
        Cell& other = cells.at(position | stride);
        Cell &first = scan_.reverse ? other : cell, &second = scan_.reverse ? cell : other;
        settle(first, nullptr);
        settle(second, first.total);
        Cell& both = next[position];
        both.registers = first.registers;
        both.registers.insert(both.registers.end(), second.registers.begin(), second.registers.end());
        both.total = combine(first.total, second.total);
      }
      cells = std::move(next);
    }
  }

  /// Joins all cells of a thread, one after another.
  void join_cells() {
    for (auto& cells : lines_) {
      llvm::Value* ahead = nullptr;
      auto const take = [&](Cell& cell) {
        settle(cell, ahead);
        ahead = combine(ahead, cell.total);
      };
      if (scan_.reverse)
        for (auto at = cells.rbegin(); at != cells.rend(); ++at) take(at->second);
      else
        for (auto& [position, cell] : cells) take(cell);
    }
  }

  void butterfly(std::uint32_t mask) {
    joined_lanes_ |= mask;
    llvm::IRBuilder<>& b = e_.b;
    llvm::Value* const bit = b.CreateAnd(e_.lane, e_.i32(mask));
    llvm::Value* const behind = scan_.reverse ? b.CreateICmpEQ(bit, e_.i32(0)) : b.CreateICmpNE(bit, e_.i32(0));
    for (auto& cells : lines_)
      for (auto& [position, cell] : cells) {
        llvm::Value* const other = e_.shuffle_xor(cell.total, mask);
        llvm::Value* const own = cell.before == nullptr ? neutral() : cell.before;
        cell.before = b.CreateSelect(behind, cell.before == nullptr ? other : combine(other, cell.before), own);
        cell.total = combine(cell.total, other);
      }
  }

  /// Exchanges totals: every warp writes its own, and all read those of the warps that share its lines.
  void exchange(ir::ReductionStep const& step) {
    llvm::IRBuilder<>& b = e_.b;
    Element const element = ir::accumulator_of(element_);
    llvm::Type* const type = e_.type(element);
    int const size = bytes(element);
    std::int64_t const offset = scan_.scratch;
    if (offset < 0) throw InternalError("nvptx: scan: shared memory is needed but not allocated");
    std::int64_t const per_line = static_cast<std::int64_t>(lines_[0].size()) * step.warps * size;
    llvm::Value* const position = warp_position(e_, layout_, axis_, step);
    std::uint32_t const same = layout_.free_bits(layout::Dim::lane) | joined_lanes_;
    llvm::Value* const writes = same == 0 ? nullptr : b.CreateICmpEQ(b.CreateAnd(e_.lane, e_.i32(same)), e_.i32(0));
    std::vector<llvm::Value*> bases;
    for (Extents const& at : where_)
      bases.push_back(b.CreateMul(index_without(e_, layout_, axis_, at), e_.i32(per_line)));
    for (std::size_t line = 0; line < lines_.size(); ++line) {
      std::int64_t first = offset;
      for (auto const& [along, cell] : lines_[line]) {
        llvm::Value* const at = b.CreateAdd(bases[line], b.CreateMul(position, e_.i32(size)));
        store_vector(b, "shared", writes, e_.shared_address(at), first, {cell.total}, size * 8);
        first += step.warps * size;
      }
    }
    e_.barrier();
    for (std::size_t line = 0; line < lines_.size(); ++line) {
      std::int64_t first = offset;
      for (auto& [along, cell] : lines_[line]) {
        llvm::Value *ahead = neutral(), *all = nullptr;
        for (std::int64_t i = 0; i < step.warps; ++i) {
          std::int64_t const w = scan_.reverse ? step.warps - 1 - i : i;
          llvm::Value* const at = b.CreateAdd(bases[line], e_.i32(first + w * size));
          llvm::Value* const total =
              b.CreateAlignedLoad(type, e_.shared(at), llvm::Align(static_cast<std::uint64_t>(size)));
          llvm::Value* const is_ahead =
              scan_.reverse ? b.CreateICmpSGT(e_.i32(w), position) : b.CreateICmpSLT(e_.i32(w), position);
          all = combine(all, total);
          ahead = b.CreateSelect(is_ahead, all, ahead);
        }
        cell.before = cell.before == nullptr ? ahead : combine(ahead, cell.before);
        cell.total = all;
        first += step.warps * size;
      }
    }
  }

  ir::Op const& op_;
  Emitter& e_;
  ir::ScanOp const& scan_;
  int axis_;
  layout::Layout const& layout_;
  Element element_;
  std::uint32_t joined_lanes_ = 0;
  Registers scanned_;  ///< results so far, within their cells
  std::vector<Extents> where_;
  std::vector<std::map<std::int64_t, Cell>> lines_;  ///< cells by position along the axis
};

}  // namespace

void lower(ir::ScanOp const&, ir::Op const& op, Emitter& e) { Scan(op, e).run(); }

}  // namespace tegula::codegen::nvptx
