#include "transform/planned/assign_layouts.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "analysis/axis_lattice.hpp"
#include "analysis/box_updates.hpp"
#include "analysis/call_graph.hpp"
#include "analysis/index_runs.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/memory/exchange.hpp"
#include "ir/memory/source.hpp"
#include "layout/layout.hpp"
#include "layout/parts.hpp"
#include "layout/shared_access.hpp"
#include "tegula/support/error.hpp"
#include "transform/common/fetches.hpp"
#include "transform/common/global_accesses.hpp"
#include "transform/common/kernel_plan.hpp"
#include "transform/common/ring_lifetimes.hpp"
#include "transform/planned/blocked_layout.hpp"
#include "transform/planned/free_values.hpp"
#include "transform/planned/tile_boxes.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Value;
using layout::Layout;
using namespace global_accesses;

constexpr int access_bytes = 16;  // the widest access of one thread

std::int64_t power_of_two_part(std::int64_t value) { return value & -value; }

/// Lists the axes along which a shape op returns the elements in another order.
Extents reordered_axes(Op const& op) {
  Extents result;
  for (ir::SourcePart const& part : ir::source(op))
    for (ir::AxisSource const& axis : part)
      if (ir::reorders(axis)) result.push_back(axis.axis);
  return result;
}

/// Tells whether CTAs may access different places: these follow from the block's index, or from memory.
bool differs_by_block(Op const& access) {
  std::span<Value* const> const places = at_indices(access) ? access.all("indices") : access.all("offsets");
  std::vector<Value const*> open(places.begin(), places.end());
  std::set<Value const*> seen;
  while (!open.empty()) {
    Value const* const next = open.back();
    open.pop_back();
    if (!seen.insert(next).second) continue;
    if (auto const loop = ir::Loop::counted_by(*next)) {
      open.insert(open.end(), {loop->lower(), loop->upper(), loop->step()});
      continue;
    }
    Op const* const op = next->defining_op();
    if (op == nullptr || op->block_count() != 0) {
      if (op != nullptr || next->owner_block()->parent_op() != nullptr) return true;
      continue;  // a parameter
    }
    if (op->is<ir::BlockIndexOp>() || !(op->pure() || op->is(ir::Family::launch))) return true;
    open.insert(open.end(), op->operands().begin(), op->operands().end());
  }
  return false;
}

/// Holds tiles that share one layout.
struct Group {
  std::vector<Value*> values;
  std::vector<Op*> accesses;          ///< to global memory, into and from it
  std::vector<std::int64_t> reduced;  ///< axes along which it is reduced, scanned or reordered
  std::vector<Op*> transposed;        ///< into tiles of another last axis, and from them
  Layout const* layout = nullptr;
  bool ranked = false;  ///< equal elements are numbered in their order
  bool given = false;   ///< its tiles have that layout already: products are laid out by their instructions
};

class Assignment {
 public:
  Assignment(ir::Function& function, analysis::AxisFacts const& facts, TargetInfo const& target)
      : function_(function),
        facts_(facts),
        target_(target),
        room_(target.shared - bytes_beside_rings(function, target) - bytes_of_single_stages(function)) {}

  bool run() {
    note_widest_accesses();
    split_free_values(function_);
    convert_at_calls();
    collect();
    if (groups_.empty()) return false;
    choose_layouts();
    for (Group& group : groups_)
      if (!group.given)
        for (Value* value : group.values) value->set_type(value->type().with_layout(group.layout));
    insert_conversions();
    decide_accesses();
    Op const& end = function_.body().back();
    for (std::size_t i = 0; i < function_.results.size(); ++i)
      function_.results[i] = end.in<ir::ReturnOp>("values", static_cast<int>(i))->type();
    return true;
  }

 private:
  /// Converts tiles at calls. The callee, whose layouts are decided, takes and returns tiles as it holds them; the
  /// caller converts tiles of other layouts.
  void convert_at_calls() {
    std::vector<Op*> calls;
    ir::walk(function_, [&](Op& op) {
      if (op.is<ir::CallOp>()) calls.push_back(&op);
    });
    for (Op* call : calls) {
      ir::Function const& callee = *function_.parent()->find(call->as<ir::CallOp>().callee.view());
      for (int i = 0; i < call->operand_count(); ++i) {
        Value* const given = call->operand(i);
        Layout const* const wanted = callee.parameter(i)->type().layout();
        if (!given->type().is_tile() || given->type().layout() == wanted) continue;
        call->set_operand(i, converted(ir::Builder::before(*call), *call, given, wanted));
      }
      for (int i = 0; i < call->result_count(); ++i) {
        Value* const result = call->result(i);
        if (!result->type().is_tile() || result->type() == callee.results[static_cast<std::size_t>(i)]) continue;
        ir::Type const own = result->type();
        result->set_type(callee.results[static_cast<std::size_t>(i)]);
        ir::replace_uses(*result, [&] { return converted(ir::Builder::after(*call), *call, result, own.layout()); });
      }
    }
  }

  // Groups: union-find over values.
  int find(int i) {
    while (parent_[static_cast<std::size_t>(i)] != i)
      i = parent_[static_cast<std::size_t>(i)] =
          parent_[static_cast<std::size_t>(parent_[static_cast<std::size_t>(i)])];
    return i;
  }
  int number_of(Value* value) {
    auto const [at, added] = numbers_.emplace(value, static_cast<int>(order_.size()));
    if (added) {
      parent_.push_back(at->second);
      order_.push_back(value);
    }
    return at->second;
  }
  void join(Value* a, Value* b) {
    if (!a->type().is_tile() || !b->type().is_tile()) return;
    int const x = find(number_of(a)), y = find(number_of(b));
    parent_[static_cast<std::size_t>(std::max(x, y))] = std::min(x, y);
  }

  void collect() {
    join_values();
    make_groups();
    note_uses();
  }

  /// Numbers all tiles, and joins those that must have one layout.
  void join_values() {
    auto const see = [&](Value* value) {
      if (value->type().is_tile()) number_of(value);
    };
    for (int i = 0; i < function_.parameter_count(); ++i) see(function_.parameter(i));
    ir::walk_pre_order(function_, [&](Op& op) {
      for (int i = 0; i < op.result_count(); ++i) see(op.result(i));
      join_around(op);
      return ir::Walk::advance;
    });
  }

  /// Joins the tiles of an op that have one layout.
  void join_around(Op& op) {
    if (op.is(ir::Family::elementwise)) {
      for (Value* operand : op.operands()) join(op.result(), operand);
    } else if (op.info().has(ir::one_layout)) {
      std::vector<Value*> tiles;
      for (Value* operand : op.operands())
        if (operand->type().is_tile()) tiles.push_back(operand);
      for (int i = 0; i < op.result_count(); ++i) tiles.push_back(op.result(i));
      for (std::size_t i = 1; i < tiles.size(); ++i) join(tiles[0], tiles[i]);
    } else if (op.is<ir::RanksOp>()) {
      join(op.result(), op.in<ir::RanksOp>("tile"));
    } else if (op.is<ir::TakeOp>()) {
      join(op.result(), op.in<ir::TakeOp>("places"));
    } else if (op.is<ir::PutOp>()) {
      join(op.in<ir::PutOp>("tile"), op.in<ir::PutOp>("places"));
    } else if (op.is<ir::ForOp>() || op.is<ir::RepeatOp>()) {
      ir::Loop const loop(op);
      for (int k = 0; k < loop.count(); ++k) {
        join(loop.result(k), loop.init(k));
        join(loop.result(k), loop.carried(k));
        join(loop.result(k), loop.yielded(k));
      }
    } else if (op.is<ir::IfOp>()) {
      for (int i = 0; i < op.result_count(); ++i)
        for (int branch = 0; branch < op.block_count(); ++branch)
          join(op.result(i), op.block(branch).back().in<ir::YieldOp>("values", i));
    }
  }

  /// Makes a group of the tiles that were joined.
  void make_groups() {
    std::map<int, std::size_t> index;
    for (Value* value : order_) {
      int const root = find(numbers_.at(value));
      auto const [at, added] = index.emplace(root, groups_.size());
      if (added) groups_.emplace_back();
      groups_[at->second].values.push_back(value);
      groups_[at->second].layout = value->type().layout();  // typing gives joined tiles one layout, or none
      groups_[at->second].given = value->type().layout() != nullptr;
      group_of_[value] = at->second;
    }
  }

  /// Notes the ops that have a say in a group's layout.
  void note_uses() {
    ir::walk_pre_order(function_, [&](Op& op) {
      if (op.is<ir::LoadOp>() && op.result()->type().is_tile()) group(op.result()).accesses.push_back(&op);
      if (op.is<ir::StoreOp>()) group(op.in<ir::StoreOp>("tile")).accesses.push_back(&op);
      if (at_indices(op) && accessed_tile(op)->type().is_tile()) group(accessed_tile(op)).accesses.push_back(&op);
      if (op.is<ir::ReduceOp>()) group(op.in<ir::ReduceOp>("tile")).reduced.push_back(op.as<ir::ReduceOp>().axis);
      if (op.is<ir::RanksOp>()) group(op.result()).ranked = true;
      if (op.is<ir::ScanOp>()) group(op.result()).reduced.push_back(op.as<ir::ScanOp>().axis);
      for (std::int64_t const axis : reordered_axes(op)) group(op.result()).reduced.push_back(axis);
      if (op.is<ir::TransOp>() && op.as<ir::TransOp>().permutation.back() + 1 != op.result()->type().rank()) {
        group(op.operand()).transposed.push_back(&op);
        group(op.result()).transposed.push_back(&op);
      }
      return ir::Walk::advance;
    });
  }
  Group& group(Value* value) { return groups_[group_of_.at(value)]; }
  [[nodiscard]] Group const& group_of(Value const& value) const {
    return groups_[group_of_.at(const_cast<Value*>(&value))];
  }

  /// Counts the adjacent elements of a thread with which most bytes are accessed 16 at once; 0 if no access is wide:
  /// one of single elements has no say. Where a thread has more elements than an access takes at once, neighbours
  /// access every second part of a sector: a load finds the other one in L1, a store sends the sector twice.
  std::int64_t wide_access(std::vector<Op*> const& accesses) const {
    std::set<std::int64_t> widths;
    for (Op const* access : accesses)
      if (widest_.at(access) > 1) widths.insert(widest_.at(access));
    std::int64_t best = 0;
    double most = 0;
    for (std::int64_t const width : widths) {
      double served = 0;
      for (Op const* access : accesses)
        if (widest_.at(access) > 1) served += traffic(*access) * efficiency(*access, width);
      if (served <= most) continue;
      most = served;
      best = width;
    }
    return best;
  }

  /// Rates an access by threads that have so many adjacent elements: 1 for 16 bytes at once, side by side.
  double efficiency(Op const& access, std::int64_t width) const {
    constexpr std::int64_t sector_bytes = 32;
    int const size = bytes(accessed_tile(access)->type().element());
    std::int64_t const own = width * size, taken = std::min(own, widest_.at(&access) * size);
    double const full = static_cast<double>(taken) / access_bytes;
    if (own == taken) return full;
    return own > sector_bytes                                       ? full / 4
           : (access.is<ir::LoadOp>() || access.is<ir::GatherOp>()) ? full * 3 / 4
                                                                    : full / 2;
  }

  /// Weighs an access by the bytes of an element and by how often it takes place. Bytes that are the same for all CTAs
  /// come from L2.
  [[nodiscard]] double traffic(Op const& access) const {
    auto const [of_loop, of_cache] = std::pair(target_.tuning.loop_weight, target_.tuning.cache_weight);
    double result = bytes(accessed_tile(access)->type().element());
    for (Op const* around = access.parent_op(); around != nullptr; around = around->parent_op())
      if (ir::is_loop(*around)) result *= of_loop;
    return differs_by_block(access) ? result : result * of_cache;
  }

  /// Counts the adjacent elements that an access may take at once, by the facts about tensor and offset.
  std::int64_t widest_access(Op const& op) const {
    Value const& tensor = *op.in("tensor");
    ir::Type const& tile = accessed_tile(op)->type();
    TensorFacts const facts = ir::parameter_of(tensor).facts;
    if (tile.rank() == 0 || !facts.unit_inner_stride || !facts.aligned_16) return 1;
    if (op.is<ir::AtomicUpdateOp>() && !has_vectors(op.as<ir::AtomicUpdateOp>(), tile.element(), target_)) return 1;
    if (at_indices(op))
      return std::min<std::int64_t>(access_bytes / bytes(tile.element()), analysis::index_run(op, facts_));
    Extents const& part = op.is<ir::LoadOp>() ? op.as<ir::LoadOp>().part : op.as<ir::StoreOp>().part;
    std::int64_t max = access_bytes / bytes(tile.element());
    if (!part.empty()) max = std::min(max, power_of_two_part(part.back()));
    std::int64_t const divisor = facts_.divisor(*op.all("offsets").back());
    return divisor == 0 ? max : std::min(max, power_of_two_part(divisor));
  }

  Layout const* blocked(Group const& group) const {
    std::int64_t const words = words_of(group);
    std::int64_t const width = is_shifted(group) ? words : std::max(usual_width(group), words);
    return blocked(group.values[0]->type(), {.reduced = group.reduced, .width = width, .square = square_of(group)});
  }

  /// Returns the adjacent elements of a thread that serve the accesses of a group.
  [[nodiscard]] std::int64_t usual_width(Group const& group) const {
    return group.accesses.empty() ? BlockedRequest().width : wide_access(group.accesses);
  }

  /// Tells whether threads load the tile from pieces, word by word.
  static bool is_shifted(Group const& group) {
    return std::any_of(group.values.begin(), group.values.end(),
                       [](Value const* value) { return value->defined_by<ir::ShiftedLoadOp>() != nullptr; });
  }

  /// Counts the elements of a word if all accesses of a group take single elements, and shared memory gets them: it
  /// takes words then.
  std::int64_t words_of(Group const& group) const {
    constexpr int word_bytes = 4;
    bool const is_stored = std::any_of(group.values.begin(), group.values.end(), [](Value const* value) {
      return std::any_of(value->uses().begin(), value->uses().end(),
                         [](ir::Use const& use) { return use.is<ir::BufferStoreOp>("value"); });
    });
    if (!is_shifted(group) && (!is_stored || wide_access(group.accesses) > 0)) return 1;
    return std::max(word_bytes / bytes(group.values[0]->type().element()), 1);
  }

  /// Finds the squares that let an exchange move words: those of a tile that is transposed between two accesses to
  /// global memory. A word has two elements of 16 bits, or four of 8, of a column on one side and of a row on the
  /// other.
  Square square_of(Group const& group) const {
    constexpr int word_bytes = 4;
    if (group.accesses.empty()) return {};
    for (Op const* op : group.transposed) {
      if (group_of_.at(op->operand()) == group_of_.at(op->result())) continue;
      if (groups_[group_of_.at(op->operand())].accesses.empty() || groups_[group_of_.at(op->result())].accesses.empty())
        continue;
      int const size = bytes(op->result()->type().element());
      if (size > word_bytes) continue;
      Extents const& permutation = op->as<ir::TransOp>().permutation;
      int const last = permutation.size() - 1;
      int axis = static_cast<int>(permutation.back());
      if (&groups_[group_of_.at(op->result())] == &group)
        for (axis = 0; permutation[axis] != last;) ++axis;
      return {axis, std::max(2, word_bytes / size), size < word_bytes ? 2 : 1};
    }
    return {};
  }

  /// Returns a layout in which threads hold adjacent elements as the accesses take them.
  [[nodiscard]] Layout const* blocked(ir::Type const& type, BlockedRequest const& request) const {
    return blocked_layout(type, request, target_.lanes, function_.warps);
  }

  /// Chooses a layout for a group's own sake. A tile that ops take apart or put together in boxes is spread box by box:
  /// then nothing moves. It is not if a box is too small for the threads or narrows the accesses to less than half.
  Layout const* chosen(Group const& group) {
    Layout const* const whole = blocked(group);
    ir::Type const& type = group.values[0]->type();
    Extents const box = boxes_.of(*group.values[0]);
    if (box == type.shape() || box.product() < std::int64_t{target_.lanes} * function_.warps) return whole;
    // Boxes that are put side by side along a last axis, as pairs are, have their runs along the axis before.
    int run = type.rank() - 1;
    while (group.accesses.empty() && run > 0 && box[run] == 1) --run;
    BlockedRequest const request{.reduced = group.reduced, .run = run, .width = usual_width(group)};
    Layout const* const spread = repeated(blocked(type.with_shape(box), request), type.shape());
    int const last = type.rank() - 1;
    bool const serves = 2 * spread->contiguous(last) >= whole->contiguous(last) && reaches_shared(group, *spread);
    return serves ? spread : whole;
  }

  /// Returns the layout of a tile of that shape made of boxes, each thread with its part of every box.
  static Layout const* repeated(Layout const* box, Extents const& shape) {
    for (int axis = 0; axis < shape.size(); ++axis) box = box->repeated(axis, shape[axis] / box->shape()[axis]);
    return box;
  }

  void choose_layouts() {
    std::vector<std::size_t> by_size(groups_.size());
    for (std::size_t i = 0; i < by_size.size(); ++i) by_size[i] = i;
    std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) {
      return groups_[a].values[0]->type().elements() > groups_[b].values[0]->type().elements();
    });
    for (std::size_t i : by_size)
      if (groups_[i].given) derive_from(groups_[i]);
    for (std::size_t i : by_size) {
      if (!groups_[i].ranked || groups_[i].layout != nullptr) continue;
      groups_[i].layout = Layout::runs(groups_[i].values[0]->type().elements(), function_.warps);
      derive_from(groups_[i]);
    }
    for (std::size_t i : by_size) {
      if (groups_[i].layout != nullptr) continue;
      groups_[i].layout = chosen(groups_[i]);
      derive_from(groups_[i]);
    }
  }

  /// Decides the tiles that ops make of this group's, or make it from.
  void derive_from(Group& decided) {
    for (Value* value : decided.values) {
      if (Op* op = value->defining_op()) {
        if (Layout const* operand = ir::operand_layout(*op, decided.layout)) offer(op->operand(), operand);
        if (ir::joins_equal_parts(*op)) offer_parts(*op, decided.layout);
      }
      for (ir::Use const& use : value->uses()) {
        if (use.is<ir::ReduceOp>("tile") && ir::exchanges_last(*use.user, *decided.layout)) continue;
        if (Layout const* result = result_layout(*use.user, decided.layout)) offer(use.user->result(), result);
      }
    }
  }
  /// Offers the parts of a joined tile's layout to the operands, of equal shape, where each thread has its own.
  void offer_parts(Op const& joined, Layout const* whole) {
    Layout const* first = nullptr;
    for (ir::SourcePart const& part : ir::source(joined)) {
      Layout const* const own = layout_of_part(part, joined, whole);
      if (own == nullptr || (first != nullptr && own != first)) return;
      first = own;
    }
    for (Value* const operand : joined.operands()) offer(operand, first);
  }
  /// Returns the layout of one operand's box of a joined tile; null: threads hold different parts of it.
  static Layout const* layout_of_part(ir::SourcePart const& part, Op const& joined, Layout const* whole) {
    Extents offsets;
    for (ir::AxisSource const& axis : part) offsets.push_back(-axis.offset);
    return layout::part_of(*whole, joined.operand(part.operand)->type().shape(), offsets);
  }
  void offer(Value* value, Layout const* layout) {
    Group& group = this->group(value);
    if (group.layout != nullptr) return;
    // A tile as large as this one that is loaded or stored itself gets a layout for its own accesses.
    // So does a tile that is transposed, unless all of its accesses stay as wide.
    std::int64_t const run = layout->contiguous(std::max(layout->rank() - 1, 0));
    bool const narrower = run == 1 || (square_of(group).axis >= 0 && run < wide_access(group.accesses));
    // The copy engine updates boxes from products' layouts.
    bool const own_accesses = std::any_of(group.accesses.begin(), group.accesses.end(),
                                          [](Op const* access) { return !analysis::updated_box(*access); });
    bool const moves_memory = own_accesses && layout->registers() > 1 && narrower &&
                              layout->free_bits(layout::Dim::lane) == 0 && can_be_exchanged(group);
    if (moves_memory || !reaches_shared(group, *layout)) return;
    group.layout = layout;
    derive_from(group);
  }

  /// Tells whether shared memory holds a tile of the group while its elements change threads.
  [[nodiscard]] bool can_be_exchanged(Group const& group) const {
    return std::all_of(group.values.begin(), group.values.end(), [&](Value const* value) {
      return value->type().elements() * bytes(value->type().element()) <= room_;
    });
  }

  /// Tells whether threads with this layout find the elements of a tile where shared memory holds them, or has to.
  static bool reaches_shared(Value const& value, Layout const& layout) {
    auto const reaches = [&](Value const& memory) {
      std::string ignored;
      return layout::AccessMap::get(layout, *memory.type().layout(), ignored).has_value();
    };
    Op const* const op = value.defining_op();
    if (op != nullptr && op->is<ir::BufferLoadOp>() && !reaches(*op->in<ir::BufferLoadOp>("source"))) return false;
    return std::all_of(value.uses().begin(), value.uses().end(), [&](ir::Use const& use) {
      return !use.is<ir::BufferStoreOp>("value") || reaches(*use.user->in<ir::BufferStoreOp>("destination"));
    });
  }
  static bool reaches_shared(Group const& group, Layout const& layout) {
    return std::all_of(group.values.begin(), group.values.end(),
                       [&](Value const* value) { return reaches_shared(*value, layout); });
  }

  /// Returns the layout that a result has if the op's operand has `operand`; null if it does not follow.
  static Layout const* result_layout(Op const& op, Layout const* operand) {
    return op.is<ir::ReduceOp>() ? operand->collapsed(static_cast<int>(op.as<ir::ReduceOp>().axis))
                                 : ir::result_layout(op, operand);
  }

  static Value* converted(ir::Builder builder, Op const& cause, Value* value, Layout const* layout) {
    builder.set_where(cause.where());
    return builder.value(ir::ConvertLayoutOp{}, {value}, value->type().with_layout(layout));
  }

  /// Sets an operand's layout: retypes a free value, converts any other.
  static void set_operand_layout(Op& op, int position, Layout const* layout) {
    Value* const given = op.operand(position);
    if (given->type().layout() == layout) return;
    if (given->defining_op() != nullptr && is_free(*given->defining_op()))
      given->set_type(given->type().with_layout(layout));
    else
      op.set_operand(position, converted(ir::Builder::before(op), op, given, layout));
  }
  /// Gives the op's result that layout, and its users the one that they hold it in.
  static void set_result_layout(Op& op, Layout const* layout) {
    Value* const result = op.result();
    Layout const* const wanted = result->type().layout();
    if (wanted == layout) return;
    result->set_type(result->type().with_layout(layout));
    ir::replace_uses(*result, [&] { return converted(ir::Builder::after(op), op, result, wanted); });
  }

  void insert_conversions() {
    std::vector<Op*> ops;
    ir::walk(function_, [&](Op& op) { ops.push_back(&op); });
    for (Op* op : ops) convert_around(*op);
  }

  void convert_around(Op& op) {
    if (op.is<ir::ConvertLayoutOp>()) {
      if (op.result()->type() == op.operand()->type()) ir::replace(op, op.operand());
    } else if (op.is<ir::ReduceOp>()) {
      convert_around_reduction(op);
    } else if (op.is<ir::ScanOp>()) {
      convert_around_scan(op);
    } else if (op.is<ir::RanksOp>()) {
      Layout const* const own = ir::ranked_layout(*op.in<ir::RanksOp>("tile")->type().layout());
      set_operand_layout(op, op.position<ir::RanksOp>("tile"), own);
      set_result_layout(op, own);
    } else if (op.is<ir::PutOp>()) {
      set_operand_layout(op, op.position<ir::PutOp>("places"), op.in<ir::PutOp>("tile")->type().layout());
    } else if (op.is<ir::TakeOp>()) {
      set_result_layout(op, op.in<ir::TakeOp>("places")->type().layout());
    } else if (ir::Source const source = ir::source(op); source.count > 1) {
      take_parts(op, source);
    } else if (Value* const whole = spread_by_boxes(op)) {
      op.set_operand(0, whole);
    } else if (ir::moves_elements(op)) {
      convert_around_move(op, source);
    }
  }

  /// Converts the operand so that threads can join it in the op's order; the result as it comes out, or as all can read
  /// it.
  void convert_around_reduction(Op& op) {
    auto const& reduce = op.as<ir::ReduceOp>();
    Value* const from = op.in<ir::ReduceOp>("tile");
    if (!ir::reduction_steps(*from->type().layout(), static_cast<int>(reduce.axis), reduce.order))
      set_operand_layout(op, op.position<ir::ReduceOp>("tile"),
                         blocked(from->type(), {.reduced = {reduce.axis}, .order_of_sums = reduce.order}));
    if (!ir::exchanges_last(op, *op.operand()->type().layout()))
      set_result_layout(op, result_layout(op, op.operand()->type().layout()));
  }

  /// Converts the operand so that threads can scan it; the result comes out so.
  void convert_around_scan(Op& op) {
    Value* const from = op.in<ir::ScanOp>("tile");
    std::int64_t const axis = op.as<ir::ScanOp>().axis;
    if (ir::scan_steps(*from->type().layout(), static_cast<int>(axis))) return;
    Layout const* const own = blocked(from->type(), {.reduced = {axis}, .order_of_sums = ir::Order::pairwise});
    set_operand_layout(op, op.position<ir::ScanOp>("tile"), own);
    set_result_layout(op, own);
  }

  /// Lets an op that may exchange elements have its result as it lies, if that can be; converts the operand of others.
  void convert_around_move(Op& op, ir::Source const& source) {
    if (ir::scratch_attribute(op) != nullptr) {
      if (op.info().has(ir::one_layout) || source.partial || !ir::kept_registers(op).empty()) return;
      if (Layout const* const own = result_layout(op, op.operand()->type().layout())) set_result_layout(op, own);
    } else if (Layout const* const needed = ir::operand_layout(op, op.result()->type().layout())) {
      set_operand_layout(op, 0, needed);
    }
  }

  /// Returns a tile that several ops take apart in boxes, in the layout that gives each of them its box in place: one
  /// exchange serves them all. Null for other ops, and where the tile lies so.
  Value* spread_by_boxes(Op const& op) {
    if (!ir::takes_box(op)) return nullptr;
    Value* const whole = op.operand();
    Layout const* const box = op.result()->type().layout();
    Layout const* const needed = ir::operand_layout(op, box);
    bool const in_place = result_layout(op, whole->type().layout()) == box;
    if (needed == nullptr || in_place || whole->defining_op() == nullptr) return nullptr;
    auto const is_alike = [&](ir::Use const& use) {
      return ir::takes_box(*use.user) && ir::operand_layout(*use.user, use.user->result()->type().layout()) == needed;
    };
    auto const [known, added] = spread_.try_emplace({whole, needed}, nullptr);
    if (added && std::count_if(whole->uses().begin(), whole->uses().end(), is_alike) > 1)
      known->second = converted(ir::Builder::after(*whole->defining_op()), op, whole, needed);
    return known->second;
  }

  /// Converts so that each thread holds its parts of both tiles in the registers of its part of the whole.
  void take_parts(Op& op, ir::Source const& source) {
    ir::Type const& whole = op.result()->type();
    std::vector<Layout const*> parts;
    Extents common = op.operand(0)->type().shape();
    bool in_place = true, alike = true;
    for (ir::SourcePart const& part : source) {
      Extents const& shape = op.operand(part.operand)->type().shape();
      parts.push_back(layout_of_part(part, op, whole.layout()));
      in_place = in_place && parts.back() != nullptr;
      alike = alike && shape == op.operand(0)->type().shape();
      for (int axis = 0; axis < common.size(); ++axis) common[axis] = std::gcd(common[axis], shape[axis]);
    }
    if (!in_place) {
      ir::Type const& first = op.operand(0)->type();
      Layout const* const box = alike ? first.layout() : blocked(first.with_shape(common), {});
      for (int i = 0; i < source.count; ++i)
        parts[static_cast<std::size_t>(i)] = repeated(box, op.operand(i)->type().shape());
      set_result_layout(op, repeated(box, whole.shape()));
    }
    for (int i = 0; i < source.count; ++i) set_operand_layout(op, i, parts[static_cast<std::size_t>(i)]);
  }

  /// Notes the places of random bits that count up along the last axis, and whether groups of four begin at a counter.
  void note_run(ir::RandomBitsOp& bits, Value const& place) const {
    constexpr std::int64_t most = 128, of_counter = 4;
    if (!place.type().is_tile() || place.type().rank() == 0) return;
    analysis::AxisFact const fact = facts_.facts(place).axes.back();
    bits.run = std::min({power_of_two_part(fact.contiguity), power_of_two_part(place.type().shape().back()), most});
    bits.aligned = bits.run >= of_counter && analysis::divisor_at(fact, bits.run) % of_counter == 0;
  }

  /// Notes the elements that each access can take at once, as long as the facts know its operands. Free operands are
  /// copied for their users later.
  void note_widest_accesses() {
    ir::walk(function_, [&](Op& op) {
      if (op.is<ir::RandomBitsOp>()) note_run(op.as<ir::RandomBitsOp>(), *op.in<ir::RandomBitsOp>("place"));
      if (!op.is<ir::LoadOp>() && !op.is<ir::StoreOp>() && !at_indices(op)) return;
      ir::Type const& tile = accessed_tile(op)->type();
      if (tile.is_tile()) widest_[&op] = tile.rank() > 0 ? widest_access(op) : 1;
    });
  }

  void decide_accesses() {
    ir::walk(function_, [&](Op& op) {
      if (!op.is<ir::LoadOp>() && !op.is<ir::StoreOp>() && !at_indices(op)) return;
      ir::Type const& tile = accessed_tile(op)->type();
      if (!tile.is_tile()) return;  // one element, read by all threads
      std::int64_t vector = 1;
      if (tile.rank() > 0) {
        vector = widest_.at(&op);
        // Indices of rows get the layout of the threads that copy the rows.
        if (!op.is<ir::LoadOp>() || !leads_to_rows(*op.result()))
          vector = std::min<std::int64_t>(vector, tile.layout()->contiguous(tile.rank() - 1));
      }
      vector_of(op) = vector;
    });
  }

  ir::Function& function_;
  analysis::AxisFacts const& facts_;
  TargetInfo const& target_;
  std::int64_t room_;  ///< bytes that one stage of each ring leaves
  std::map<Value*, int> numbers_;
  std::vector<int> parent_;
  std::vector<Value*> order_;
  std::vector<Group> groups_;
  std::map<Value*, std::size_t> group_of_;
  TileBoxes boxes_{[this](Value const& tile) -> std::vector<Value*> const& { return group_of(tile).values; }};
  std::map<std::pair<Value*, Layout const*>, Value*> spread_;
  std::map<Op const*, std::int64_t> widest_;  ///< elements that an access can take at once
};

}  // namespace

PassResult assign_layouts(ir::Module& module, PassContext& context) {
  bool changed = false;
  int warps = 0;
  for (auto const& function : module.functions())
    if (function->is_kernel()) warps = std::max(warps, function->warps);
  if (warps == 0) warps = context.options.warps != 0 ? context.options.warps : warps_of_rows(module, context.target);
  for (ir::Function* function : analysis::callees_first(module)) {
    if (function->warps == 0) {
      function->warps = warps;
      changed = true;
    }
    changed = Assignment(*function, context.analyses.axis_facts(), context.target).run() || changed;
  }
  return result_of(changed);
}

}  // namespace tegula::transform
