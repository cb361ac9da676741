// Lowers counts, ranks and elements at places, through the op's scratch in shared memory.
#include <fmt/format.h>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <bit>

#include "codegen/nvptx/emitter.hpp"
#include "codegen/nvptx/inline_ptx.hpp"
#include "codegen/nvptx/pack_words.hpp"
#include "codegen/nvptx/ptx/assembly.hpp"
#include "codegen/nvptx/ptx/sync.hpp"
#include "codegen/nvptx/ptx/warp.hpp"
#include "ir/memory/exchange.hpp"
#include "tegula/support/error.hpp"
#include "tegula/support/warp.hpp"

namespace tegula::codegen::nvptx {
namespace {

/// Returns the byte offset of an op's scratch.
std::int64_t scratch_of(ir::Op const& op) {
  std::int64_t const scratch = *ir::scratch_attribute(op);
  if (scratch < 0)
    throw InternalError("nvptx: " + std::string(op.info().mnemonic) + ": shared memory is needed but not allocated");
  return scratch;
}

/// Returns the highest value, as an unsigned one, that a register of 32 bits may hold by the instruction that gives it:
/// a constant, a mask or a shift.
std::uint64_t highest(llvm::Value const* value) {
  auto const constant = [](llvm::Value const* of) { return llvm::dyn_cast<llvm::ConstantInt>(of); };
  std::uint64_t const any = UINT32_MAX;
  if (auto const* const number = constant(value)) return number->getZExtValue();
  auto const* const op = llvm::dyn_cast<llvm::BinaryOperator>(value);
  if (op == nullptr) return any;
  auto const* const number = constant(op->getOperand(1));
  if (number == nullptr) return any;
  if (op->getOpcode() == llvm::Instruction::And) return number->getZExtValue();
  return op->getOpcode() == llvm::Instruction::LShr && number->getZExtValue() < 32 ? any >> number->getZExtValue()
                                                                                   : any;
}

/// Returns the predicate "0 <= value < end" of integers of 32 bits; null: the code shows it.
llvm::Value* is_below(Emitter& e, llvm::Value* value, std::int64_t end) {
  if (highest(value) < static_cast<std::uint64_t>(end)) return nullptr;
  return e.b.CreateICmpULT(value, e.i32(end));
}

llvm::Value* both(Emitter& e, llvm::Value* a, llvm::Value* b) {
  return a == nullptr ? b : b == nullptr ? a : e.b.CreateAnd(a, b);
}

/// Stores one element to shared memory.
void store_element(Emitter& e, llvm::Value* predicate, llvm::Value* address, std::int64_t offset, llvm::Value* value,
                   Element element) {
  int const size = bytes(element);
  unsigned const register_bits = size >= 4 ? static_cast<unsigned>(size) * 8 : 16;
  llvm::Value* const word = join_bits(e, element, &value, 1, register_bits);
  store_vector(e.b, "shared", predicate, address, offset, {word}, size * 8);
}

/// Holds the address of an element in shared memory: that of the thread, and bytes behind it.
struct Address {
  llvm::Value* thread;
  std::int64_t behind;
};

/// Returns the address of a register's element of a tile with one axis, whose elements lie in order from `offset` on.
/// Registers share the thread's part where they can.
Address address_of(Emitter& e, layout::Layout const& layout, int reg, int size, std::int64_t offset) {
  AxisCoordinate const& own = e.coordinates.of(layout)[0];
  std::int64_t const part = layout.part(layout::Dim::reg, reg)[0];
  bool const apart = own.thread == nullptr || (own.thread_bits & part) == 0;
  llvm::Value* const first = own.thread == nullptr ? e.i32(0) : own.thread;
  llvm::Value* const thread = apart ? first : e.coordinates.of_register(layout, 0, reg);
  return {e.shared_address(e.b.CreateMul(thread, e.i32(size))), offset + (apart ? part * size : 0)};
}

/// Writes a tile of one axis to shared memory, in the order of its elements.
void write_line(Emitter& e, ir::Value const& tile, std::int64_t offset) {
  layout::Layout const& layout = *tile.type().layout();
  Element const element = tile.type().element();
  Registers const& registers = e.get(tile);
  llvm::Value* const owner = e.coordinates.owns(layout);
  for (int reg = 0; reg < layout.registers(); ++reg) {
    if ((static_cast<std::uint32_t>(reg) & layout.free_bits(layout::Dim::reg)) != 0) continue;
    Address const at = address_of(e, layout, reg, bytes(element), offset);
    store_element(e, owner, at.thread, at.behind, registers[static_cast<std::size_t>(reg)], element);
  }
}

/// Reads a tile of one axis from shared memory.
Registers read_line(Emitter& e, ir::Type const& type, std::int64_t offset) {
  llvm::IRBuilder<>& b = e.b;
  layout::Layout const& layout = *type.layout();
  int const size = bytes(type.element());
  llvm::Type* const memory = b.getIntNTy(static_cast<unsigned>(size) * 8);
  int const width = std::max(std::min(layout.contiguous(0), 16 / size), 1);
  Registers result;
  for (int reg = 0; reg < layout.registers(); reg += width) {
    if (size >= word_bytes) {
      Address const at = address_of(e, layout, reg, size, offset);
      Registers const nothing(static_cast<std::size_t>(width), llvm::ConstantInt::get(memory, 0));
      for (llvm::Value* bits : load_vector(b, "shared", nullptr, at.thread, at.behind, nothing, size * 8))
        result.push_back(e.from_bits(bits, type.element()));
      continue;
    }
    llvm::Value* const at = b.CreateMul(e.coordinates.of_register(layout, 0, reg), e.i32(size));
    llvm::Type* const wide = width == 1 ? memory : llvm::FixedVectorType::get(memory, static_cast<unsigned>(width));
    llvm::Value* const value = b.CreateAlignedLoad(wide, e.shared(b.CreateAdd(at, e.i32(offset))),
                                                   llvm::Align(static_cast<std::uint64_t>(width * size)));
    for (int i = 0; i < width; ++i)
      result.push_back(e.from_bits(width == 1 ? value : b.CreateExtractElement(value, static_cast<std::uint64_t>(i)),
                                   type.element()));
  }
  return result;
}

/// Calls `body(word, predicate)` for each of `count` words of shared memory, which the threads share evenly.
template <class Body>
void each_word(Emitter& e, std::int64_t count, Body&& body) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Value* const thread = e.thread();
  for (std::int64_t first = 0; first < count; first += e.threads()) {
    llvm::Value* const word = b.CreateAdd(thread, e.i32(first));
    body(word, first + e.threads() <= count ? nullptr : b.CreateICmpULT(word, e.i32(count)));
  }
}

/// Ranks the elements of a tile. Each warp has a run of it, whose registers hold 32 elements one after another.
///
///   scratch:  starts      warp 0's counters      warp 1's counters   ...
///
/// A warp counts the elements before each of its own in its run: those of earlier registers by its counters, those of
/// lower lanes by votes. Then sums over the warps ahead, which begin with the starts, take the place of the counters.
/// Between the two a thread keeps a rank in the run and the number of its counter in one register, if both fit.
class Ranks {
 public:
  Ranks(ir::Op const& op, Emitter& e)
      : op_(op),
        e_(e),
        layout_(*op.in<ir::RanksOp>("tile")->type().layout()),
        bins_(op.in<ir::RanksOp>("starts")->type().elements()),
        scratch_(scratch_of(op)) {
    if (&layout_ != ir::ranked_layout(layout_) || op.result()->type().layout() != &layout_)
      refuse(op, fmt::format("warps do not rank a tile of the layout {}; convert it first", layout_.text()));
    lanes_ = warp_lanes >> std::popcount(layout_.free_bits(layout::Dim::lane));
    std::int64_t const extent = layout_.shape()[0];
    runs_ = extent / (std::int64_t{lanes_} * layout_.registers());
  }

  void run() {
    llvm::IRBuilder<>& b = e_.b;
    write_line(e_, *op_.in<ir::RanksOp>("starts"), scratch_);
    own_ = e_.shared_address(b.CreateAdd(b.CreateMul(e_.warp, e_.i32(row_bytes())), e_.i32(scratch_ + row_bytes())));
    clear();
    ptx::barrier_warp(b);
    std::vector<Place> places;
    for (llvm::Value* number : e_.get(*op_.in<ir::RanksOp>("tile"))) places.push_back(within_run(number));
    e_.barrier();
    add_up();
    e_.barrier();
    Registers ranks;
    for (Place const& place : places) ranks.push_back(rank_of(place));
    e_.set(*op_.result(), std::move(ranks));
  }

 private:
  struct Place {
    llvm::Value* rank;     ///< in the run; with the counter's number in the upper half, if both are packed
    llvm::Value* counter;  ///< number of the counter; null: packed
    llvm::Value* counted;  ///< the number has a counter; null: it always does, or both are packed
    bool marked = false;   ///< packed, and -1 if the number does not have a counter
  };
  static constexpr std::int64_t half_bits = 16, half = std::int64_t{1} << half_bits;

  [[nodiscard]] bool packs() const { return bins_ < half && std::int64_t{lanes_} * layout_.registers() <= half; }
  [[nodiscard]] llvm::Value* offset_of(llvm::Value* counter) { return e_.b.CreateMul(counter, e_.i32(word_bytes)); }

  llvm::Value* rank_of(Place const& place) {
    llvm::IRBuilder<>& b = e_.b;
    if (place.counter != nullptr) {
      llvm::Value* const rank = b.CreateAdd(place.rank, load(own_, offset_of(place.counter)));
      return place.counted == nullptr ? rank : b.CreateSelect(place.counted, rank, e_.i32(-1));
    }
    llvm::Value* const counted = place.marked ? b.CreateICmpNE(place.rank, e_.i32(-1)) : nullptr;
    llvm::Value* counter = b.CreateLShr(place.rank, e_.i32(half_bits));
    if (counted != nullptr) counter = b.CreateSelect(counted, counter, e_.i32(0));
    llvm::Value* const rank = b.CreateAdd(b.CreateAnd(place.rank, e_.i32(half - 1)), load(own_, offset_of(counter)));
    return counted == nullptr ? rank : b.CreateSelect(counted, rank, e_.i32(-1));
  }

  [[nodiscard]] std::int64_t row_bytes() const { return bins_ * word_bytes; }

  llvm::Value* load(llvm::Value* row, llvm::Value* offset) {
    llvm::Value* const address = e_.b.CreateAdd(row, offset);
    return load_vector(e_.b, "shared", nullptr, address, 0, {e_.i32(0)}, 32)[0];
  }

  /// Clears this warp's counters.
  void clear() {
    llvm::IRBuilder<>& b = e_.b;
    std::int64_t const width = std::min<std::int64_t>(bins_ & -bins_, 4);
    for (std::int64_t first = 0; first < bins_; first += width * warp_lanes) {
      bool const all = first + width * warp_lanes <= bins_;
      llvm::Value* const word = b.CreateAdd(b.CreateMul(e_.lane, e_.i32(width)), e_.i32(first));
      Registers const zeros(static_cast<std::size_t>(width), e_.i32(0));
      store_vector(b, "shared", all ? nullptr : b.CreateICmpULT(word, e_.i32(bins_)),
                   b.CreateAdd(own_, b.CreateMul(e_.lane, e_.i32(width * word_bytes))), first * word_bytes, zeros, 32);
    }
  }

  /// Tests a bit. LLVM would test it once for the vote and once more for the bits that the vote gives.
  llvm::Value* is_set(llvm::Value* number, std::int64_t bit) {
    ptx::Assembly assembly(e_.b);
    std::string text = "setp.ne.b32 " + assembly.out(e_.b.getInt1Ty());
    text += ", " + assembly.in(e_.b.CreateAnd(number, e_.i32(bit))) + ", 0;";
    return assembly.call(text, AsmEffect::pure)[0];
  }

  /// Returns the lanes whose number equals this one's, of those that hold elements of their own.
  llvm::Value* equal_lanes(llvm::Value* number, llvm::Value* counted) {
    llvm::IRBuilder<>& b = e_.b;
    llvm::Value* equal = counted == nullptr ? e_.i32(-1) : ptx::ballot(b, counted);
    for (std::int64_t bit = 1; bit < bins_; bit *= 2) {
      llvm::Value* const set = is_set(number, bit);
      llvm::Value* const lanes = ptx::ballot(b, set);
      equal = b.CreateAnd(equal, b.CreateXor(lanes, b.CreateSelect(set, e_.i32(0), e_.i32(-1))));
    }
    return lanes_ == warp_lanes ? equal : b.CreateAnd(equal, e_.i32((std::int64_t{1} << lanes_) - 1));
  }

  /// Counts the equal elements before one in its run, and adds its lanes to this warp's counters.
  Place within_run(llvm::Value* number) {
    llvm::IRBuilder<>& b = e_.b;
    llvm::Value* const counted = is_below(e_, number, bins_);
    llvm::Value* const bin = counted == nullptr ? number : b.CreateSelect(counted, number, e_.i32(0));
    llvm::Value* const counter = offset_of(bin);
    llvm::Value* const equal = equal_lanes(number, counted);
    llvm::Value* const own_lane = lanes_ == warp_lanes ? e_.lane : b.CreateAnd(e_.lane, e_.i32(lanes_ - 1));
    llvm::Value* const lower = b.CreateSub(b.CreateShl(e_.i32(1), own_lane), e_.i32(1));
    llvm::Value* const ahead = b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, b.CreateAnd(equal, lower));
    llvm::Value* const before = load(own_, counter);
    ptx::barrier_warp(b);
    // The first of equal lanes adds all of them.
    llvm::Value* writes = both(e_, counted, b.CreateICmpEQ(ahead, e_.i32(0)));
    if (lanes_ != warp_lanes) writes = b.CreateAnd(writes, b.CreateICmpULT(e_.lane, e_.i32(lanes_)));
    llvm::Value* const after = b.CreateAdd(before, b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, equal));
    store_vector(b, "shared", writes, b.CreateAdd(own_, counter), 0, {after}, 32);
    ptx::barrier_warp(b);
    llvm::Value* const rank = b.CreateAdd(before, ahead);
    if (!packs()) return {rank, bin, counted, false};
    // Packed here: else the halves would live on apart.
    llvm::Value* const packed = b.CreateOr(rank, b.CreateShl(bin, e_.i32(half_bits)));
    bool const marks = counted != nullptr;
    return {computed_here(b, marks ? b.CreateSelect(counted, packed, e_.i32(-1)) : packed), nullptr, nullptr, marks};
  }

  /// Replaces each counter by the start of its number and the counters of the warps with runs ahead. Warps that hold
  /// copies have counters of their own.
  void add_up() {
    llvm::IRBuilder<>& b = e_.b;
    each_word(e_, bins_, [&](llvm::Value* bin, llvm::Value* predicate) {
      llvm::Value* const address = e_.shared_address(b.CreateMul(bin, e_.i32(word_bytes)));
      auto const at = [&](std::int64_t row) { return scratch_ + row * row_bytes(); };
      llvm::Value* const start = load_vector(b, "shared", predicate, address, at(0), {e_.i32(0)}, 32)[0];
      for (std::int64_t first = 0; first < layout_.warps(); first += runs_) {
        Registers counts;
        for (std::int64_t w = 0; w + 1 < runs_; ++w)
          counts.push_back(load_vector(b, "shared", predicate, address, at(1 + first + w), {e_.i32(0)}, 32)[0]);
        llvm::Value* sum = start;
        for (std::int64_t w = 0; w < runs_; ++w) {
          store_vector(b, "shared", predicate, address, at(1 + first + w), {sum}, 32);
          if (w + 1 < runs_) sum = b.CreateAdd(sum, counts[static_cast<std::size_t>(w)]);
        }
      }
    });
  }

  ir::Op const& op_;
  Emitter& e_;
  layout::Layout const& layout_;
  std::int64_t bins_;
  std::int64_t scratch_;
  int lanes_ = 0;               ///< of a warp that hold elements of their own: the lowest
  std::int64_t runs_ = 0;       ///< of the tile: warps behind them hold copies
  llvm::Value* own_ = nullptr;  ///< address of this warp's counters
};

}  // namespace

void lower(ir::HistogramOp const&, ir::Op const& op, Emitter& e) {
  llvm::IRBuilder<>& b = e.b;
  std::int64_t const scratch = scratch_of(op);
  ir::Type const& type = op.result()->type();
  each_word(e, type.elements(), [&](llvm::Value* bin, llvm::Value* predicate) {
    llvm::Value* const at = e.shared_address(b.CreateMul(bin, e.i32(word_bytes)));
    store_vector(b, "shared", predicate, at, scratch, {e.i32(0)}, 32);
  });
  e.barrier();
  ir::Value const& tile = *op.in<ir::HistogramOp>("tile");
  layout::Layout const& layout = *tile.type().layout();
  llvm::Value* const owner = e.coordinates.owns(layout);
  Registers const& numbers = e.get(tile);
  for (int reg = 0; reg < layout.registers(); ++reg) {
    if ((static_cast<std::uint32_t>(reg) & layout.free_bits(layout::Dim::reg)) != 0) continue;
    llvm::Value* const number = numbers[static_cast<std::size_t>(reg)];
    llvm::Value* const counts = both(e, owner, is_below(e, number, type.elements()));
    llvm::Value* const address = e.shared_address(b.CreateAdd(b.CreateMul(number, e.i32(word_bytes)), e.i32(scratch)));
    ptx::Assembly assembly(b);
    std::string const text = counts == nullptr ? std::string() : "@" + assembly.in(counts) + " ";
    assembly.call(text + "red.relaxed.cta.shared.add.u32 [" + assembly.in(address) + "], 1;", AsmEffect::memory);
  }
  e.barrier();
  e.set(*op.result(), read_line(e, type, scratch));
}

void lower(ir::RanksOp const&, ir::Op const& op, Emitter& e) { Ranks(op, e).run(); }

void lower(ir::TakeOp const&, ir::Op const& op, Emitter& e) {
  llvm::IRBuilder<>& b = e.b;
  std::int64_t const scratch = scratch_of(op);
  ir::Value const &tile = *op.in<ir::TakeOp>("tile"), &places = *op.in<ir::TakeOp>("places");
  if (places.type().layout() != op.result()->type().layout())
    refuse(op, "the result has another layout than the places");
  Element const element = tile.type().element();
  int const size = bytes(element);
  llvm::Type* const memory = b.getIntNTy(static_cast<unsigned>(size) * 8);
  write_line(e, tile, scratch);
  e.barrier();
  Registers result;
  for (llvm::Value* place : e.get(places)) {
    llvm::Value* const inside = is_below(e, place, tile.type().elements());
    if (inside != nullptr) place = b.CreateSelect(inside, place, e.i32(0));
    llvm::Value* const at = b.CreateAdd(b.CreateMul(place, e.i32(size)), e.i32(scratch));
    llvm::Value* bits = b.CreateAlignedLoad(memory, e.shared(at), llvm::Align(static_cast<std::uint64_t>(size)));
    if (inside != nullptr) bits = b.CreateSelect(inside, bits, llvm::ConstantInt::get(memory, 0));
    result.push_back(e.from_bits(bits, element));
  }
  e.set(*op.result(), std::move(result));
}

void lower(ir::PutOp const&, ir::Op const& op, Emitter& e) {
  llvm::IRBuilder<>& b = e.b;
  std::int64_t const scratch = scratch_of(op);
  ir::Value const &tile = *op.in<ir::PutOp>("tile"), &places = *op.in<ir::PutOp>("places");
  layout::Layout const& layout = *tile.type().layout();
  if (places.type().layout() != &layout) refuse(op, "the places have another layout than the tile");
  Element const element = tile.type().element();
  Registers const &values = e.get(tile), &at = e.get(places);
  llvm::Value* const owner = e.coordinates.owns(layout);
  for (int reg = 0; reg < layout.registers(); ++reg) {
    if ((static_cast<std::uint32_t>(reg) & layout.free_bits(layout::Dim::reg)) != 0) continue;
    // Places outside go to the last one. A predicate would live on to the next put at the same places.
    llvm::Value* place = at[static_cast<std::size_t>(reg)];
    std::int64_t const last = tile.type().elements() - 1;
    if (highest(place) > static_cast<std::uint64_t>(last))
      place = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, place, e.i32(last));
    llvm::Value* const address = e.shared_address(b.CreateMul(place, e.i32(bytes(element))));
    store_element(e, owner, address, scratch, values[static_cast<std::size_t>(reg)], element);
  }
  e.barrier();
  e.set(*op.result(), read_line(e, op.result()->type(), scratch));
}

}  // namespace tegula::codegen::nvptx
