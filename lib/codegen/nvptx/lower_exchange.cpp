// Lowers reductions, butterflies and layout conversions: moves elements between threads, in registers, by shuffles, or
// through shared memory.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "codegen/nvptx/combine_all.hpp"
#include "codegen/nvptx/emitter.hpp"
#include "codegen/nvptx/exchange_place.hpp"
#include "codegen/nvptx/exchange_tile.hpp"
#include "codegen/nvptx/inline_ptx.hpp"
#include "codegen/nvptx/pack_words.hpp"
#include "ir/memory/exchange.hpp"
#include "layout/conversion.hpp"
#include "tegula/support/error.hpp"
#include "tegula/support/warp.hpp"

namespace tegula::codegen::nvptx {
namespace {

/// Holds the partial results of one thread: for each result register, by ascending position along the axis.
class Reduction {
 public:
  Reduction(ir::Op const& op, Emitter& e)
      : op_(op),
        e_(e),
        attributes_(op.as<ir::ReduceOp>()),
        axis_(static_cast<int>(attributes_.axis)),
        layout_(*op.operand()->type().layout()),
        element_(op.operand()->type().element()) {
    Registers const& operand = e.get(*op.operand());
    std::map<Extents, std::map<std::int64_t, llvm::Value*>, ByCoordinates> groups;
    for (int reg = 0; reg < layout_.registers(); ++reg) {
      Extents at = layout_.part(layout::Dim::reg, reg);
      std::int64_t const position = at[axis_];
      at[axis_] = 0;
      if (auto& group = groups[at]; group.find(position) == group.end())
        group[position] = e.widen(operand[static_cast<std::size_t>(reg)], element_);
    }
    for (auto& [at, group] : groups) {
      where_.push_back(at);
      partials_.push_back(std::move(group));
    }
  }

  void run() {
    auto const steps = ir::reduction_steps(layout_, axis_, attributes_.order);
    if (!steps)
      refuse(op_, fmt::format("the layout {} has no plan for axis {}; convert it first", layout_.text(), axis_));
    bool exchanged = false;
    for (ir::ReductionStep const& step : *steps) {
      switch (step.kind) {
        case ir::ReductionStep::Kind::pairs:
          pairs(step.stride);
          break;
        case ir::ReductionStep::Kind::tree:
          join_all();
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
    give_results();
  }

 private:
  void pairs(std::int64_t stride) {
    for (auto& group : partials_) {
      std::map<std::int64_t, llvm::Value*> next;
      for (auto const& [position, value] : group) {
        if ((position & stride) != 0) continue;
        next[position] = e_.combine(attributes_.combine, element_, value, group.at(position | stride));
      }
      group = std::move(next);
    }
  }

  void join_all() {
    for (auto& group : partials_) {
      Registers values;
      for (auto const& [position, value] : group) values.push_back(value);
      llvm::Value* const joined =
          combine_any(e_, attributes_.combine, element_, std::move(values), partials_.size() - 1);
      group = {{0, joined}};
    }
  }

  void butterfly(std::uint32_t mask) {
    joined_lanes_ |= mask;
    for (auto& group : partials_)
      for (auto& [position, value] : group)
        value = e_.combine(attributes_.combine, element_, value, e_.shuffle_xor(value, mask));
  }

  /// Exchanges partial results: every warp writes its own, all read those of the warps combined with theirs.
  void exchange(ir::ReductionStep const& step) {
    llvm::IRBuilder<>& b = e_.b;
    Element const element = ir::accumulator_of(element_);
    llvm::Type* const type = e_.type(element);
    int const size = bytes(element);
    std::int64_t const offset = attributes_.scratch;
    if (offset < 0) throw InternalError("nvptx: reduce: shared memory is needed but not allocated");
    std::int64_t const per_element = static_cast<std::int64_t>(partials_[0].size());

    // Lanes along the axis hold equal values by now, and lanes that only replicate always do: one of them writes.
    std::uint32_t const same = layout_.free_bits(layout::Dim::lane) | joined_lanes_;
    llvm::Value* const writes = same == 0 ? nullptr : b.CreateICmpEQ(b.CreateAnd(e_.lane, e_.i32(same)), e_.i32(0));
    llvm::Value* const position = warp_position(e_, layout_, axis_, step);
    std::vector<llvm::Value*> bases;
    for (Extents const& at : where_)
      bases.push_back(b.CreateMul(index_without(e_, layout_, axis_, at), e_.i32(per_element * step.warps * size)));
    for (std::size_t g = 0; g < partials_.size(); ++g) {
      std::int64_t q = 0;
      for (auto const& [axis_position, value] : partials_[g]) {
        llvm::Value* const at = b.CreateAdd(bases[g], b.CreateMul(position, e_.i32(size)));
        store_vector(b, "shared", writes, e_.shared_address(at), offset + q++ * step.warps * size, {value}, size * 8);
      }
    }
    e_.barrier();
    std::int64_t const chunk = std::min<std::int64_t>(
        step.warps % 2 == 0 ? std::int64_t{1} << std::countr_zero(static_cast<std::uint64_t>(step.warps)) : 1,
        16 / size);
    for (std::size_t g = 0; g < partials_.size(); ++g) {
      std::int64_t q = 0;
      for (auto& [axis_position, value] : partials_[g]) {
        Registers values;
        for (std::int64_t w = 0; w < step.warps; w += chunk) {
          llvm::Value* const at = b.CreateAdd(bases[g], e_.i32(offset + (q * step.warps + w) * size));
          llvm::Type* const wide = chunk == 1 ? type : llvm::FixedVectorType::get(type, static_cast<unsigned>(chunk));
          llvm::Value* const loaded =
              b.CreateAlignedLoad(wide, e_.shared(at), llvm::Align(static_cast<std::uint64_t>(chunk * size)));
          if (chunk == 1) values.push_back(loaded);
          for (unsigned i = 0; chunk > 1 && i < chunk; ++i) values.push_back(b.CreateExtractElement(loaded, i));
        }
        value = combine_all(e_, attributes_.combine, element_, std::move(values));
        ++q;
      }
    }
  }

  void give_results() {
    layout::Layout const& result_layout = *op_.result()->type().layout();
    layout::Layout const& collapsed = *layout_.collapsed(axis_);
    std::vector<int> const from = result_layout.registers_from(collapsed);
    if (from.empty()) refuse(op_, "the result has a layout in other threads; convert it afterwards");
    Registers result;
    for (int reg : from) {
      Extents const at = collapsed.part(layout::Dim::reg, reg);
      std::size_t const group = static_cast<std::size_t>(std::find(where_.begin(), where_.end(), at) - where_.begin());
      result.push_back(e_.narrow(partials_.at(group).begin()->second, element_));
    }
    e_.set(*op_.result(), std::move(result));
  }

  ir::Op const& op_;
  Emitter& e_;
  ir::ReduceOp const& attributes_;
  int axis_;
  layout::Layout const& layout_;
  Element element_;
  std::uint32_t joined_lanes_ = 0;
  std::vector<Extents> where_;
  std::vector<std::map<std::int64_t, llvm::Value*>> partials_;
};

/// Converts within warps, as its plan says.
Registers by_shuffles(Emitter& e, layout::ShufflePlan const& plan, Registers values, Element element) {
  llvm::IRBuilder<>& b = e.b;
  auto const parity = [&](std::uint32_t lanes) -> llvm::Value* {
    llvm::Value* odd = nullptr;
    for (int bit = 0; bit < warp_lane_bits; ++bit) {
      if ((lanes >> bit & 1) == 0) continue;
      llvm::Value* const one = b.CreateAnd(b.CreateLShr(e.lane, e.i32(bit)), e.i32(1));
      odd = odd == nullptr ? one : b.CreateXor(odd, one);
    }
    return b.CreateICmpNE(odd == nullptr ? e.i32(0) : odd, e.i32(0));
  };
  auto const exchange = [&](std::vector<layout::ShufflePlan::Exchange> const& steps, Registers& registers) {
    for (layout::ShufflePlan::Exchange const& step : steps) {
      llvm::Value* const trades = parity(step.lanes);
      Registers next;
      for (std::size_t i = 0; i < registers.size(); ++i)
        next.push_back(b.CreateSelect(trades, registers[i ^ step.registers], registers[i]));
      registers = std::move(next);
    }
  };
  exchange(plan.before, values);
  std::vector<std::int64_t> const lane_bits(plan.lane_bits.begin(), plan.lane_bits.end());
  llvm::Value* const from_bits = combine_bits(e.b, e.lane, lane_bits);
  Registers results;
  for (layout::ShufflePlan::Shuffle const& shuffle : plan.shuffles) {
    llvm::Value* const value = values[static_cast<std::size_t>(shuffle.source)];
    if (plan.reads_own_lane(shuffle)) {
      results.push_back(value);
      continue;
    }
    llvm::Value* lane = e.i32(shuffle.lane);
    if (from_bits != nullptr) lane = shuffle.lane == 0 ? from_bits : b.CreateXor(from_bits, lane);
    results.push_back(e.shuffle_from(value, element, lane));
  }
  exchange(plan.after, results);
  Registers result;
  for (int index : plan.result) result.push_back(results[static_cast<std::size_t>(index)]);
  return result;
}

/// Converts within warps; narrow elements that stay together move as words.
Registers by_words(Emitter& e, layout::ShufflePlan const& plan, ir::Op const& op) {
  Element const element = op.result()->type().element();
  Registers const& values = e.get(*op.operand());
  int const most = bytes(element) < 4 ? std::countr_zero(4U / static_cast<unsigned>(bytes(element))) : 0;
  layout::WordConversion const common =
      layout::words_of(*op.operand()->type().layout(), *op.result()->type().layout(), most);
  if (common.from_bits.empty()) return by_shuffles(e, plan, values, element);
  layout::Conversion const of_words = layout::conversion(*common.from, *common.to);
  if (of_words.kind != layout::ConversionKind::shuffles) return by_shuffles(e, plan, values, element);
  int const count = 1 << common.from_bits.size();
  Words const words = words_for(element, count);
  Registers packed;
  for (int word = 0; word < common.from->registers(); ++word) {
    Registers parts;
    for (int i = 0; i < count; ++i)
      parts.push_back(values[static_cast<std::size_t>(layout::WordConversion::register_of(word, i, common.from_bits))]);
    packed.push_back(e.b.CreateZExt(pack_word(e, element, words, parts.data()), e.b.getInt32Ty()));
  }
  packed = by_shuffles(e, of_words.shuffle, std::move(packed), Element::i32);
  Registers result(static_cast<std::size_t>(op.result()->type().layout()->registers()));
  for (int word = 0; word < common.to->registers(); ++word) {
    Registers parts;
    llvm::Value* const bits =
        e.b.CreateTrunc(packed[static_cast<std::size_t>(word)], e.b.getIntNTy(words.bits < 32 ? 16 : 32));
    unpack_word(e, element, words, bits, parts);
    for (int i = 0; i < count; ++i)
      result[static_cast<std::size_t>(layout::WordConversion::register_of(word, i, common.to_bits))] =
          parts[static_cast<std::size_t>(i)];
  }
  return result;
}

}  // namespace

void lower(ir::ReduceOp const&, ir::Op const& op, Emitter& e) { Reduction(op, e).run(); }

bool move_tile_within_warps(ir::Op const& op, Emitter& e) {
  if (std::optional<ir::Butterfly> const plan = ir::butterfly(op)) {
    Element const element = op.result()->type().element();
    auto const traded = [&](llvm::Value* value) {
      if (bytes(element) >= 4) return e.shuffle_xor(value, plan->mask);
      llvm::Value* const bits = e.to_bits(value, element);
      llvm::Value* const moved = e.shuffle_xor(e.b.CreateZExt(bits, e.b.getInt32Ty()), plan->mask);
      return e.from_bits(e.b.CreateTrunc(moved, bits->getType()), element);
    };
    Registers result;
    for (int reg : plan->registers) result.push_back(traded(e.get(*op.operand())[static_cast<std::size_t>(reg)]));
    e.set(*op.result(), std::move(result));
    return true;
  }
  if (!op.is<ir::ConvertLayoutOp>()) return false;
  layout::Conversion const plan = layout::conversion(*op.operand()->type().layout(), *op.result()->type().layout());
  if (plan.kind != layout::ConversionKind::shuffles) return false;
  e.set(*op.result(), by_words(e, plan.shuffle, op));
  return true;
}

}  // namespace tegula::codegen::nvptx
