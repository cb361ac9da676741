// Lowers reductions, butterflies and layout conversions: moves elements between threads, in registers, by shuffles, or
// through shared memory.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <utility>

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

/// Holds the partial results of one thread: for each element of the result, by ascending position along the axis.
///
/// Where warps exchange, lanes that hold the same elements share them before: with each step over lanes, a lane keeps
/// half of the elements. All threads read what they need of the result from shared memory, in any layout.
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
    std::map<Extents, Part, ByCoordinates> parts;
    for (int reg = 0; reg < layout_.registers(); ++reg) {
      Extents at = layout_.part(layout::Dim::reg, reg);
      std::int64_t const position = at[axis_];
      at[axis_] = 0;
      if (auto& part = parts[at]; part.partials.find(position) == part.partials.end())
        part.partials[position] = e.widen(operand[static_cast<std::size_t>(reg)], element_);
    }
    for (auto& [at, part] : parts) {
      part.at = at;
      parts_.push_back(std::move(part));
    }
  }

  /// Emits the steps up to the barrier of the last exchange, or all of them; false: there is no exchange.
  bool begin() {
    auto steps = ir::reduction_steps(layout_, axis_, attributes_.order);
    if (!steps)
      refuse(op_, fmt::format("the layout {} has no plan for axis {}; convert it first", layout_.text(), axis_));
    steps_ = std::move(*steps);
    auto left = std::count_if(steps_.begin(), steps_.end(), is_exchange);
    bool const shares = left == 1;
    for (; next_ < steps_.size(); ++next_) {
      ir::ReductionStep const& step = steps_[next_];
      if (is_exchange(step)) {
        write_partials(step, place_of(step, left == 1));
        if (left == 1) return true;
        e_.barrier();
        read_all(step, *layout_.collapsed(axis_), place_of(step, false));
        e_.barrier();  // other warps may still read this exchange
        --left;
      } else if (step.kind == ir::ReductionStep::Kind::butterfly && shares && parts_.size() % 2 == 0) {
        share(step.mask);
      } else {
        within_warp(step);
      }
    }
    give_results(*layout_.collapsed(axis_));
    return false;
  }

  /// Emits what follows the barrier of the last exchange.
  void finish() {
    ir::ReductionStep const& step = steps_[next_];
    layout::Layout const& result = *op_.result()->type().layout();
    read_all(step, result, place_of(step, true));
    for (++next_; next_ < steps_.size(); ++next_) within_warp(steps_[next_]);
    give_results(result);
  }

 private:
  struct Part {
    Extents at;                    ///< of a register
    llvm::Value* index = nullptr;  ///< of the result's element, where lanes differ in the part that they keep
    std::map<std::int64_t, llvm::Value*> partials;
  };

  static bool is_exchange(ir::ReductionStep const& step) { return step.kind == ir::ReductionStep::Kind::exchange; }

  void within_warp(ir::ReductionStep const& step) {
    switch (step.kind) {
      case ir::ReductionStep::Kind::pairs:
        return pairs(step.stride);
      case ir::ReductionStep::Kind::tree:
        return join_all();
      case ir::ReductionStep::Kind::butterfly:
        return butterfly(step.mask);
      case ir::ReductionStep::Kind::exchange:
        throw InternalError("nvptx: reduce: an exchange is no step of a warp");
    }
  }

  void pairs(std::int64_t stride) {
    for (Part& part : parts_) {
      std::map<std::int64_t, llvm::Value*> next;
      for (auto const& [position, value] : part.partials) {
        if ((position & stride) != 0) continue;
        next[position] = e_.combine(attributes_.combine, element_, value, part.partials.at(position | stride));
      }
      part.partials = std::move(next);
    }
  }

  void join_all() {
    for (Part& part : parts_) {
      Registers values;
      for (auto const& [position, value] : part.partials) values.push_back(value);
      llvm::Value* const joined = combine_any(e_, attributes_.combine, element_, std::move(values), parts_.size() - 1);
      part.partials = {{0, joined}};
    }
  }

  void butterfly(std::uint32_t mask) {
    joined_lanes_ |= mask;
    for (Part& part : parts_)
      for (auto& [position, value] : part.partials)
        value = e_.combine(attributes_.combine, element_, value, e_.shuffle_xor(value, mask));
  }

  /// Combines with the lane that differs by `mask`, each for one half of the elements, which it keeps.
  void share(std::uint32_t mask) {
    llvm::IRBuilder<>& b = e_.b;
    llvm::Value* const upper = b.CreateICmpNE(b.CreateAnd(e_.lane, e_.i32(mask)), e_.i32(0));
    std::size_t const half = parts_.size() / 2;
    for (std::size_t i = 0; i < half; ++i) {
      Part &low = parts_[i], &high = parts_[i + half];
      for (auto& [position, value] : low.partials) {
        llvm::Value* const other = high.partials.at(position);
        llvm::Value* const sent = b.CreateSelect(upper, value, other);
        value =
            e_.combine(attributes_.combine, element_, b.CreateSelect(upper, other, value), e_.shuffle_xor(sent, mask));
      }
      low.index = b.CreateSelect(upper, index_of(high), index_of(low));
    }
    parts_.resize(half);
  }

  llvm::Value* index_of(Part const& part) {
    return part.index != nullptr ? part.index : index_without(e_, layout_, axis_, part.at);
  }

  /// Holds the strides of a partial result in the scratch, in elements.
  struct Place {
    std::int64_t of_column, of_warp, of_partial;
  };

  /// `last`: the results are read in their own layout. A thread that reads few of them finds those of its neighbours
  /// side by side, else those of other warps.
  [[nodiscard]] Place place_of(ir::ReductionStep const& step, bool last) const {
    std::int64_t const columns = layout_.shape().product() / layout_.shape()[axis_];
    int const own = layout_.collapsed(axis_)->registers();
    if (last && op_.result()->type().layout()->without_register_copies()->registers() < own)
      return {1, columns, columns * step.warps};
    return {step.partials * step.warps, 1, step.warps};
  }

  void write_partials(ir::ReductionStep const& step, Place const& place) {
    llvm::IRBuilder<>& b = e_.b;
    int const size = scratch_bytes();
    // Lanes along the axis that kept all hold equal values by now, and lanes that only replicate always do: one writes.
    std::uint32_t const same = layout_.free_bits(layout::Dim::lane) | joined_lanes_;
    llvm::Value* const writes = same == 0 ? nullptr : b.CreateICmpEQ(b.CreateAnd(e_.lane, e_.i32(same)), e_.i32(0));
    llvm::Value* const warp = b.CreateMul(warp_position(e_, layout_, axis_, step), e_.i32(place.of_warp * size));
    for (Part const& part : parts_) {
      llvm::Value* const at = b.CreateAdd(b.CreateMul(index_of(part), e_.i32(place.of_column * size)), warp);
      std::int64_t q = 0;
      for (auto const& [position, value] : part.partials)
        store_vector(b, "shared", writes, e_.shared_address(at), attributes_.scratch + q++ * place.of_partial * size,
                     {value}, size * 8);
    }
  }

  /// Reads, for each element of `result` that a thread holds, the partial results of all warps.
  void read_all(ir::ReductionStep const& step, layout::Layout const& result, Place const& place) {
    std::vector<std::int64_t> positions;
    for (auto const& [position, value] : parts_[0].partials) positions.push_back(position);
    parts_ = parts_of(result);
    for (Part& part : parts_) {
      llvm::Value* const first = index_without(e_, result, axis_, part.at);
      for (std::size_t q = 0; q < positions.size(); ++q)
        part.partials[positions[q]] = read_partials(step.warps, place, first, static_cast<std::int64_t>(q));
    }
  }

  /// Reads a partial result of all warps and combines them.
  llvm::Value* read_partials(std::int64_t warps, Place const& place, llvm::Value* column, std::int64_t q) {
    llvm::IRBuilder<>& b = e_.b;
    int const size = scratch_bytes();
    llvm::Type* const type = e_.type(ir::accumulator_of(element_));
    std::int64_t const even =
        warps % 2 == 0 ? std::int64_t{1} << std::countr_zero(static_cast<std::uint64_t>(warps)) : 1;
    std::int64_t const chunk = place.of_warp == 1 ? std::min<std::int64_t>(even, 16 / size) : 1;
    llvm::Value* const base = b.CreateMul(column, e_.i32(place.of_column * size));
    Registers values;
    for (std::int64_t w = 0; w < warps; w += chunk) {
      std::int64_t const offset = attributes_.scratch + (q * place.of_partial + w * place.of_warp) * size;
      llvm::Value* const at = b.CreateAdd(base, e_.i32(offset));
      llvm::Type* const wide = chunk == 1 ? type : llvm::FixedVectorType::get(type, static_cast<unsigned>(chunk));
      llvm::Value* const loaded =
          b.CreateAlignedLoad(wide, e_.shared(at), llvm::Align(static_cast<std::uint64_t>(chunk * size)));
      if (chunk == 1) values.push_back(loaded);
      for (unsigned i = 0; chunk > 1 && i < chunk; ++i) values.push_back(b.CreateExtractElement(loaded, i));
    }
    return computed_here(b, combine_all(e_, attributes_.combine, element_, std::move(values)));
  }

  [[nodiscard]] int scratch_bytes() const { return bytes(ir::accumulator_of(element_)); }

  /// Lists the elements of the result that a thread holds, once each.
  static std::vector<Part> parts_of(layout::Layout const& result) {
    std::map<Extents, Part, ByCoordinates> found;
    for (int reg = 0; reg < result.registers(); ++reg) {
      Extents const at = result.part(layout::Dim::reg, reg);
      found[at].at = at;
    }
    std::vector<Part> parts;
    for (auto& [at, part] : found) parts.push_back(std::move(part));
    return parts;
  }

  /// `held`: the layout in which threads hold the parts.
  void give_results(layout::Layout const& held) {
    std::vector<int> const from = op_.result()->type().layout()->registers_from(held);
    if (from.empty()) refuse(op_, "the result has a layout in other threads; convert it afterwards");
    Registers result;
    for (int reg : from) {
      Extents const at = held.part(layout::Dim::reg, reg);
      auto const part = std::find_if(parts_.begin(), parts_.end(), [&](Part const& one) { return one.at == at; });
      result.push_back(e_.narrow(part->partials.begin()->second, element_));
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
  std::vector<Part> parts_;
  std::vector<ir::ReductionStep> steps_;
  std::size_t next_ = 0;  ///< step
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

void lower(ir::ReduceOp const&, ir::Op const& op, Emitter& e) {
  auto const reduction = std::make_shared<Reduction>(op, e);
  if (!reduction->begin()) return;
  e.waiting_for_barrier.emplace_back([reduction] { reduction->finish(); });
  if (ir::sharing_barrier(op).back() != &op) return;
  e.barrier();
  for (auto const& finish : std::exchange(e.waiting_for_barrier, {})) finish();
}

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
