#include "ir/memory/element_chains.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/core/families.hpp"

namespace tegula::ir {
namespace {

using Cost = std::function<int(Value const&)>;

/// Registers and ops from which on the order matters. The assembler goes through shorter chains element by element of
/// its own accord, and hides latencies better then.
constexpr int worth_an_order = 32;
constexpr std::size_t long_chain = 24;
/// Limit the registers of a tile that leave few others (168 in all, and as many for a sum), and registers times ops of
/// a chain on it. Above them ptxas 13.0 spills 200 to 1500 bytes of a thread for sigmoid, silu, elu and tanh of 128 x
/// 256 elements.
constexpr int large_tile = 64;
constexpr std::size_t large_work = 768;

/// Random bits stay whole: places in a row share them.
bool in_chain(Op const& op) {
  return op.is(Family::elementwise) && op.result_count() == 1 && op.result()->type().is_tile() && op.pure() &&
         !op.is<RandomBitsOp>();
}

/// True for an op outside of a chain whose place matters little: it returns elements of its operands, or a number.
bool spreads(Op const& op) {
  if (!op.pure() || op.block_count() != 0 || op.info().is_block_op() || op.info().has(terminator)) return false;
  bool const scalar = op.result_count() == 1 && op.result()->type().is_scalar();
  return scalar || op.is(Family::elementwise) || makes_elements(op) || op.is<BroadcastOp>() || op.is<ExpandDimsOp>() ||
         op.is<SqueezeOp>();
}

/// True for tiles whose elements the same register numbers hold.
bool alike(Type const& a, Type const& b) { return a.shape() == b.shape() && a.layout() == b.layout(); }

class Chain {
 public:
  Chain(ElementChain& chain, Cost const& cost) : chain_(chain), cost_(cost) {}

  /// Takes the op that stands after those taken, if it belongs to the chain or can stand ahead of it.
  bool take(Op const& op) {
    bool const depends = std::any_of(op.operands().begin(), op.operands().end(),
                                     [&](Value const* operand) { return inside_.contains(operand->defining_op()); });
    if (in_chain(op) && (chain_.ops.empty() || alike(op.result()->type(), chain_.ops.front()->result()->type()))) {
      inside_.try_emplace(&op, chain_.ops.size());
      chain_.ops.push_back(&op);
      return true;
    }
    if (depends || !spreads(op)) return false;
    chain_.ahead.push_back(&op);
    return true;
  }

  /// Counts what whole tiles take between the ends of the chain, over what the ends themselves take. Returns the ops at
  /// its start after which less is alive, and which are done with whole tiles.
  std::size_t count() {
    LastUses const last = last_uses();
    for (Op const* op : chain_.ops)
      if (last.at(op->result()) == chain_.ops.size()) chain_.given.push_back(op->result());
    Alive const alive = follow(last);
    int const spared = alive.most - std::max(alive.start, alive.end);
    int widest = 0;
    for (Op const* op : chain_.ops) widest = std::max(widest, registers(*op->result()));
    bool const is_long = chain_.ops.size() >= long_chain && spared >= worth_an_order;
    bool const is_large = widest >= large_tile && static_cast<std::size_t>(widest) * chain_.ops.size() >= large_work;
    chain_.parts = std::max(widest / (is_long ? chain_registers : large_tile_registers), 1);
    chain_.spared = (is_long || is_large) && chain_.parts > 1 ? std::max(spared, 1) : 0;
    return chain_.by_elements() ? alive.cut : 0;
  }

 private:
  /// Maps each value of the chain to the number of the op that uses it last; to their count: it is used after the
  /// chain.
  using LastUses = std::unordered_map<Value const*, std::size_t>;

  /// Counts the registers that are alive along the chain.
  struct Alive {
    int start = 0, most = 0, end = 0;
    std::size_t cut = 0;  ///< ops at the start after which less is alive
  };

  [[nodiscard]] int registers(Value const& value) const {
    Op const* const op = value.defining_op();
    return op != nullptr && makes_elements(*op) ? 0 : cost_(value);
  }
  [[nodiscard]] LastUses last_uses() const {
    LastUses last;
    std::size_t const end = chain_.ops.size();
    for (Op const* op : chain_.ops) {
      last.try_emplace(op->result(), end);
      for (Value const* operand : op->operands()) last[operand] = end;
    }
    for (auto& [value, at] : last) at = last_use(*value, end);
    return last;
  }
  [[nodiscard]] Alive follow(LastUses const& last) const {
    int now = 0;
    for (auto const& [value, at] : last)
      if (!inside_.contains(value->defining_op())) now += registers(*value);
    Alive alive{now, now, now, 0};
    int least = now;
    bool grown = false;
    for (std::size_t i = 0; i < chain_.ops.size(); ++i) {
      if (!grown && now < least) {
        least = alive.start = alive.most = now;
        alive.cut = i;
      }
      std::unordered_set<Value const*> ended;
      for (Value const* operand : chain_.ops[i]->operands())
        if (last.at(operand) == i && ended.insert(operand).second) now -= registers(*operand);
      now += registers(*chain_.ops[i]->result());
      alive.most = std::max(alive.most, now);
      grown = grown || now > alive.start;
    }
    alive.end = now;
    return alive;
  }
  /// Returns the number of the op that uses a value last; `end`: it is alive after the chain.
  [[nodiscard]] std::size_t last_use(Value const& value, std::size_t end) const {
    Op const* const made = value.defining_op();
    bool const of_block = made != nullptr ? made->parent() == chain_.ops.front()->parent()
                                          : value.owner_block() == chain_.ops.front()->parent();
    if (!of_block) return end;
    std::size_t last = 0;
    for (Use const& use : value.uses()) {
      auto const at = inside_.find(use.user);
      if (at == inside_.end()) return end;
      last = std::max(last, at->second);
    }
    return last;
  }

  ElementChain& chain_;
  Cost const& cost_;
  std::unordered_map<Op const*, std::size_t> inside_;  ///< places in the chain
};

/// Lists the tiles that a chain takes from others.
std::vector<Value const*> taken_by(ElementChain const& chain) {
  std::unordered_set<Value const*> known;
  for (Op const* op : chain.ops) known.insert(op->result());
  std::vector<Value const*> result;
  for (Op const* op : chain.ops)
    for (Value const* operand : op->operands())
      if (operand->type().is_tile() && known.insert(operand).second) result.push_back(operand);
  return result;
}

/// Parts the last chain into its first ops, to be done one by one, and the others.
void part(std::vector<ElementChain>& chains, std::size_t cut) {
  ElementChain rest = std::move(chains.back());
  ElementChain& first = chains.back();
  first = {};
  auto const at = rest.ops.begin() + static_cast<std::ptrdiff_t>(cut);
  first.ops.assign(rest.ops.begin(), at);
  first.all = rest.ahead;
  first.all.insert(first.all.end(), first.ops.begin(), first.ops.end());
  rest.ops.erase(rest.ops.begin(), at);
  rest.all = rest.ops;
  rest.ahead.clear();
  std::erase_if(rest.given, [&](Value const* value) {
    return std::find(first.ops.begin(), first.ops.end(), value->defining_op()) != first.ops.end();
  });
  chains.push_back(std::move(rest));
}

}  // namespace

std::vector<ElementChain> element_chains(Block const& block, Cost const& cost) {
  std::vector<ElementChain> result;
  for (auto at = block.begin(); at != block.end();) {
    ElementChain& chain = result.emplace_back();
    if (!in_chain(*at)) {
      chain.ops.push_back(&*at);
      chain.all.push_back(&*at);
      ++at;
      continue;
    }
    Chain builder(chain, cost);
    for (; at != block.end() && builder.take(*at); ++at) chain.all.push_back(&*at);
    if (std::size_t const cut = builder.count(); cut != 0) part(result, cut);
    if (result.back().by_elements()) result.back().taken = taken_by(result.back());
  }
  return result;
}

}  // namespace tegula::ir
