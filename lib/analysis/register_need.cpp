#include "analysis/register_need.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <unordered_set>

#include "analysis/register_pressure.hpp"
#include "ir/core/families.hpp"
#include "ir/core/walk.hpp"
#include "layout/conversion.hpp"
#include "target/matrix_access.hpp"

namespace tegula::analysis {
namespace {

/// The assembler does not accept a smaller limit.
constexpr int min_registers = 24;

/// The model errs by less than this part for most kernels (test/registers).
constexpr double may_err = 0.15;

/// Weighs what a kernel keeps alive, all in registers of a thread. Tiles at ops that need whole ones count once each:
/// between such ops the assembler goes element by element. `always` are addresses and the parts of the thread's number.
/// `scalars` are counters and places, of which it moves many to the registers of the warp; beside wgmma all that
/// matter. `left` are left operands of mma.sync that are read while it multiplies: they stay for all columns, and the
/// next product's are read ahead.
struct Weights {
  double always;
  double scalars;
  double left;
};
constexpr Weights of_rows{10, 0.55, 0}, of_mma{2, 0.7, 0.9}, of_wgmma{24, 0, 0.9}, of_consumer{8, 0.5, 1};

/// A role without tiles starts copies: its places stay in the registers of the warp beyond so many.
constexpr int max_for_copies = 32;

/// Follows renamed registers to the op that made the tile.
ir::Op const* maker(ir::Value const& value) {
  ir::Op const* op = value.defining_op();
  while (op != nullptr && (op->is<ir::TransOp>() || op->is<ir::ReshapeOp>())) op = op->operands()[0]->defining_op();
  return op;
}

/// Returns the registers that hold elements apart, a register each.
int apart(ir::Type const& tile) { return tile.layout()->registers() * (bytes(tile.element()) > 4 ? 2 : 1); }

/// Counts the elements that a load moves at once; 0: not known, or no load.
std::int64_t moved_at_once(ir::Op const& op) {
  if (op.is<ir::LoadOp>()) return op.as<ir::LoadOp>().vector;
  if (op.is<ir::GatherOp>()) return op.as<ir::GatherOp>().vector;
  if (!op.is<ir::BufferLoadOp>()) return 0;
  ir::Type const &tile = op.result()->type(), &view = op.operand()->type();
  if (view.layout() == nullptr) return 0;
  std::string why;
  auto const plan = target::shared_plan(*tile.layout(), *view.layout(), tile.element(), false, why);
  return !plan || plan->matrices ? 0 : plan->vectors.width;
}

/// Tells whether an op returns elements one by one, to be stored one by one.
bool goes_by_elements(ir::Value const& value) {
  if (!value.defining_op()->is(ir::Family::elementwise) || value.uses().empty()) return false;
  return std::all_of(value.uses().begin(), value.uses().end(), [&](ir::Use const& use) {
    return use.user->is<ir::StoreOp>() && use.user->as<ir::StoreOp>().vector == 1;
  });
}

/// Tells whether a conversion moves narrow elements one by one.
bool converts_elements(ir::Op const& op) {
  if (!op.is<ir::ConvertLayoutOp>() || bytes(op.result()->type().element()) >= 4) return false;
  layout::Layout const &from = *op.operand()->type().layout(), &to = *op.result()->type().layout();
  if (layout::conversion(from, to).kind != layout::ConversionKind::shuffles) return false;
  int const most = std::countr_zero(4U / static_cast<unsigned>(bytes(op.result()->type().element())));
  return layout::words_of(from, to, most).from_bits.empty();
}

/// Returns the part of a load's elements that lies in the tensor's part that it reads; the others are constants.
double read_part(ir::Op const& load) {
  if (!load.is<ir::LoadOp>() || load.as<ir::LoadOp>().part.size() == 0) return 1;
  return double(load.as<ir::LoadOp>().part.product()) / double(load.result()->type().elements());
}

/// Counts the registers of a value. Narrow elements that come one by one stay apart until words of them are needed.
int held(ir::Value const& value) {
  int const packed = registers_of(value);
  ir::Op const* const op = value.defining_op();
  ir::Type const& type = value.type();
  if (op == nullptr || !type.is_tile() || type.layout() == nullptr || type.element() == Element::boolean) return packed;
  if (converts_elements(*op) || goes_by_elements(value)) return apart(type);
  std::int64_t const at_once = moved_at_once(*op);
  constexpr int word_bytes = 4;
  if (at_once == 0 || at_once * bytes(type.element()) >= word_bytes) return packed;
  return std::max(packed, static_cast<int>(std::ceil(apart(type) * read_part(*op) / double(at_once))));
}

/// Tells whether a product uses a left fragment for several columns.
bool reuses_left(ir::Op const& mma) {
  constexpr std::int64_t bytes_of_step = 32, right_registers = 2;
  ir::Type const& left = mma.lhs()->type();
  std::int64_t const steps = std::max<std::int64_t>(left.shape()[1] * bytes(left.element()) / bytes_of_step, 1);
  return registers_of(*mma.rhs()) > steps * right_registers;
}

/// Tells whether instructions cannot move across an op with blocks.
bool branches(ir::Op const& op) {
  if (op.block_count() == 0) return false;
  if (!op.is<ir::ElectOp>()) return true;
  bool other = false;
  for (ir::Op const& inner : op.block())
    other = other || !(inner.is<ir::ViewOp>() || inner.is<ir::MbarrierArriveOp>() || inner.is<ir::YieldOp>());
  return other;
}

/// Tells whether a thread hands memory to others.
bool releases(ir::Op const& op) { return op.is<ir::BarrierOp>() || op.block_count() != 0; }

/// Looks at how a product of mma.sync reads its operands.
class Reads {
 public:
  explicit Reads(ir::Op const& mma) : mma_(mma) {}
  /// Tells whether an operand comes from shared memory a few fragments at a time, while the product goes on. It does
  /// not where the memory is handed over before the other operand comes, or where code branches in between.
  [[nodiscard]] bool by_fragments(ir::Value const& operand) const {
    ir::Op const* const made = load_of(operand);
    if (made == nullptr || held(*made->result()) > registers_of(*made->result())) return false;
    ir::Op const* const other = load_behind(&operand == mma_.lhs() ? *mma_.rhs() : *mma_.lhs());
    bool loaded = false, released = false;
    for (ir::Op const& at : *mma_.parent()) {
      if (&at == &mma_) break;
      if ((loaded && branches(at)) || (released && &at == other)) return false;
      released = released || (loaded && releases(at));
      loaded = loaded || &at == made;
    }
    return true;
  }
  /// Returns the load of an operand in the product's block.
  [[nodiscard]] ir::Op const* load_of(ir::Value const& operand) const {
    ir::Op const* const made = maker(operand);
    return made != nullptr && made->is<ir::BufferLoadOp>() && made->parent() == mma_.parent() ? made : nullptr;
  }

 private:
  /// Returns the load whose elements an operand holds, perhaps in another layout.
  static ir::Op const* load_behind(ir::Value const& operand) {
    ir::Op const* op = maker(operand);
    if (op != nullptr && op->is<ir::ConvertLayoutOp>()) op = maker(*op->operand());
    return op != nullptr && (op->is<ir::LoadOp>() || op->is<ir::BufferLoadOp>()) ? op : nullptr;
  }

  ir::Op const& mma_;
};

/// Holds what one block keeps alive.
struct Counts {
  int all = 0, of_tiles = 0, left = 0;
  ir::Value const* largest = nullptr;
  bool mma = false, wgmma = false, tiles = false;
};

/// Walks the ops of a block for what its products keep.
class Products {
 public:
  explicit Products(ir::Block& block) {
    ir::walk_pre_order(block, [&](ir::Op& op) {
      counts_.wgmma = counts_.wgmma || op.is<ir::WgmmaOp>();
      for (int i = 0; i < op.result_count(); ++i) counts_.tiles = counts_.tiles || op.result(i)->type().is_tile();
      if (op.is<ir::MmaOp>()) add(op);
      return ir::Walk::advance;
    });
  }
  [[nodiscard]] Counts const& counts() const { return counts_; }
  /// Tells whether the product's own count holds an operand.
  [[nodiscard]] bool count(ir::Value const& value) const { return by_fragments_.contains(&value); }

 private:
  void add(ir::Op const& mma) {
    counts_.mma = true;
    Reads const reads(mma);
    for (ir::Value const* operand : {mma.lhs(), mma.rhs()})
      if (reads.by_fragments(*operand)) by_fragments_.insert({operand, maker(*operand)->result()});
    // Left operands of products one after another are read ahead, unless arithmetic computes the right ones. Products
    // of f64 take long enough to read them in between.
    bool const apart =
        mma.parent() != block_ || reads.load_of(*mma.rhs()) == nullptr || mma.lhs()->type().element() == Element::f64;
    if (apart) left_ = 0;
    block_ = mma.parent();
    if (count(*mma.lhs()) && reuses_left(mma)) left_ += registers_of(*mma.lhs());
    counts_.left = std::max(counts_.left, left_);
  }

  Counts counts_;
  std::unordered_set<ir::Value const*> by_fragments_;
  int left_ = 0;  ///< of the products in a row, up to the last one
  ir::Block const* block_ = nullptr;
};

/// Counts what is alive by the registers of each value.
template <class Cost>
void count_alive(Counts& counts, ir::Block& block, Cost const& cost) {
  counts.all = pressure_as_assembled(block, cost).registers;
  AssembledPressure const of_tiles = pressure_as_assembled(block, [&](ir::Value const& value) {
    return value.type().is_tile() || value.type().is_pending() ? cost(value) : 0;
  });
  counts.of_tiles = of_tiles.registers;
  counts.largest = of_tiles.largest;
}

Counts count(ir::Block& block) {
  Products const products(block);
  Counts result = products.counts();
  count_alive(result, block, [&](ir::Value const& value) { return products.count(value) ? 0 : held(value); });
  return result;
}

int weighed(Counts const& counts, Weights const& weights) {
  double const scalars = counts.all - counts.of_tiles;
  return static_cast<int>(
      std::lround(weights.always + counts.of_tiles + weights.scalars * scalars + weights.left * counts.left));
}

RegisterNeed::Part need_of_role(ir::Block& role) {
  Counts const counts = count(role);
  if (!counts.tiles) return {std::min(register_pressure(role), max_for_copies)};
  return {weighed(counts, of_consumer), 0, counts.largest};
}

RegisterNeed::Part need_alone(ir::Function const& kernel) {
  Counts const counts = count(kernel.body());
  int const registers = weighed(counts, counts.wgmma ? of_wgmma : counts.mma ? of_mma : of_rows);
  return {std::max(registers, min_registers), 0, counts.largest};
}

/// Returns the roles of a kernel that set registers, unless all set as many: those share the code's limit.
std::vector<RegisterNeed::Part> roles_of(ir::Function const& kernel) {
  std::vector<RegisterNeed::Part> result;
  ir::walk_pre_order(kernel.body(), [&](ir::Op& op) {
    if (!op.is<ir::WarpSpecializeOp>()) return ir::Walk::advance;
    Extents const& registers = op.as<ir::WarpSpecializeOp>().registers;
    if (std::all_of(registers.begin(), registers.end(), [&](auto one) { return one == registers[0]; }))
      return ir::Walk::advance;
    for (int i = 0; i < op.block_count(); ++i) {
      result.push_back(need_of_role(op.block(i)));
      result.back().allowed = static_cast<int>(registers[i]);
    }
    return ir::Walk::advance;
  });
  return result;
}

}  // namespace

RegisterNeed::Part RegisterNeed::tightest() const {
  auto const rank = [](Part const& part) {
    return std::pair(std::max(part.registers - part.allowed, 0), part.registers);
  };
  return *std::max_element(parts.begin(), parts.end(), [&](Part const& a, Part const& b) { return rank(a) < rank(b); });
}

bool RegisterNeed::surely_spills() const {
  return std::any_of(parts.begin(), parts.end(),
                     [](Part const& part) { return part.registers > (1 + may_err) * part.allowed; });
}

RegisterNeed register_need(ir::Function const& kernel, TargetInfo const& target) {
  RegisterNeed result{roles_of(kernel)};
  if (!result.parts.empty()) return result;
  RegisterNeed::Part& alone = result.parts.emplace_back(need_alone(kernel));
  alone.allowed = target.registers_at_start(static_cast<int>(kernel.warps * std::max<std::int64_t>(kernel.ctas, 1)));
  return result;
}

int registers_needed(ir::Function const& kernel) {
  int most = 0;
  for (RegisterNeed::Part const& role : roles_of(kernel)) most = std::max({most, role.registers, min_registers});
  return most != 0 ? most : need_alone(kernel).registers;
}

int registers_needed(ir::Function const& kernel, Kernels kind, std::function<int(ir::Value const&)> const& cost) {
  Counts counts;
  count_alive(counts, kernel.body(), cost);
  return std::max(weighed(counts, kind == Kernels::of_wgmma ? of_consumer : of_rows), min_registers);
}

int registers_of_role(ir::Block& role) { return need_of_role(role).registers; }

}  // namespace tegula::analysis
