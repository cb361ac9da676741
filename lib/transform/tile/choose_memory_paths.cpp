#include "transform/tile/choose_memory_paths.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include "analysis/effects.hpp"
#include "analysis/register_pressure.hpp"
#include "analysis/tma_tensor.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/families.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/text/text.hpp"
#include "layout/element_offsets.hpp"
#include "layout/shared_layouts.hpp"
#include "target/box_rows.hpp"
#include "tegula/target/target_info.hpp"
#include "tegula/target/tma_rules.hpp"
#include "transform/common/dead_code.hpp"
#include "transform/common/dot_paths.hpp"
#include "transform/common/fetches.hpp"
#include "transform/common/role_registers.hpp"
#include "transform/common/tensor_maps.hpp"
#include "transform/tile/gathered_rows.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Value;
using layout::Layout;
using target::Finding;
namespace finding = target::finding;

/// True for a reshape to rows of the operand's last axis, one after the other, which one copy can bring.
bool makes_rows(Op const& op) {
  if (!op.is<ir::ReshapeOp>()) return false;
  Extents const &from = op.operand()->type().shape(), &to = op.result()->type().shape();
  return from.size() > 2 && to == target::tile_of_box(from) && to[0] <= tma_rule::max_box_extent;
}
/// Returns the only use of a load if it makes rows; null otherwise.
Op* rows_of(Op const& load) {
  auto const& uses = load.result()->uses();
  return uses.size() == 1 && makes_rows(*uses[0].user) ? uses[0].user : nullptr;
}

/// Tells whether an operand of such a product is made of this value. Only ops that a product can look through, or that
/// keep it in registers, lie between.
template <class Wanted>
bool feeds(Value const& value, Wanted const& wanted) {
  return std::any_of(value.uses().begin(), value.uses().end(), [&](ir::Use const& use) {
    Op const& user = *use.user;
    if (user.is<ir::DotOp>()) return !use.is<ir::DotOp>("accumulator") && wanted(user);
    bool const looks_through =
        user.is<ir::TransOp>() || user.is<ir::CastOp>() || user.is<ir::ExtractOp>() || makes_rows(user);
    return looks_through && feeds(*user.result(), wanted);
  });
}
bool feeds_product(Value const& value) {
  return feeds(value, [](Op const&) { return true; });
}
bool feeds_tensor_cores(Value const& value, TargetInfo const& target) {
  return feeds(value, [&](Op const& dot) { return fits_tensor_cores(dot, target); });
}

/// Lists the results of products, and what is computed from them element by element.
std::set<Value const*> values_of_products(ir::Function& function) {
  std::set<Value const*> found;
  ir::walk_pre_order(function, [&](Op& op) {
    auto const is_found = [&](Value const* operand) { return found.count(operand) != 0; };
    if (op.is<ir::DotOp>() ||
        (analysis::streams(op) && std::any_of(op.operands().begin(), op.operands().end(), is_found)))
      found.insert(op.result());
    return ir::Walk::advance;
  });
  return found;
}

/// Tells whether warpgroups can multiply operands of these extents and elements, in one form or the other.
bool fits_warpgroups(Op const& dot, TargetInfo const& target) {
  Extents const& result = dot.result()->type().shape();
  return target.has(Ability::wgmma) && fits_tensor_cores(dot, target) &&
         (result[0] % target.wgmma.rows == 0 || result[1] % target.wgmma.rows == 0);
}

/// Tells whether a box of a copied tile can be read where it lies.
bool is_view(ir::ExtractOp const& box, ir::Type const& part, Layout const& layout) {
  std::string ignored;
  layout::ElementOffsets const* const offsets = layout::ElementOffsets::get(layout, ignored);
  if (box.uniform || offsets == nullptr || !offsets->movable(part.shape(), ignored)) return false;
  for (int axis = 0; axis < box.offsets.size(); ++axis)
    if (box.offsets[axis] % part.shape()[axis] != 0) return false;
  return true;
}

bool is_repeated(Op const& op) {
  for (Op const* around = op.parent_op(); around != nullptr; around = around->parent_op())
    if (around->is<ir::RepeatOp>()) return true;
  return false;
}

/// Tells whether a load stands in a loop with stages, or beside products in a loop and is small.
bool in_staged_loop(Op const& load, Tuning const& tuning) {
  Op const* const loop = ir::loop_around(*load.parent());
  if (loop == nullptr || loop->as<ir::ForOp>().stages > 0) return loop != nullptr;
  ir::Type const& tile = load.result()->type();
  if (tile.elements() * bytes(tile.element()) > tuning.max_bytes_beside_products) return false;
  for (Op const& inner : loop->block())
    if (inner.is<ir::DotOp>()) return true;
  return false;
}

/// Tells whether the columns of a product are those of this tile, and one warpgroup does not hold 64 rows of its sums:
/// warpgroups divide the columns.
bool parts_columns(Value const& tile, TargetInfo const& target) {
  if (!target.has(Ability::wgmma)) return false;
  std::int64_t const lanes = target.threads_per_group();
  std::int64_t const held = registers_for_sums(target.warps_per_group, target) * lanes / target.wgmma.rows;
  return tile.type().rank() == 2 && tile.type().shape()[1] > held &&
         std::any_of(tile.uses().begin(), tile.uses().end(),
                     [&](ir::Use const& use) { return use.user->is<ir::DotOp>() && use.user->rhs() == &tile; });
}

/// Returns the layout of the widest swizzle, of at most `widest` and at least `narrowest` bytes, that cuts each of
/// `parts` of the columns into whole blocks; null: none does.
Layout const* swizzled(ir::Type const& tile, int widest, int narrowest, int parts = 1) {
  int const size = bytes(tile.element());
  std::string ignored;
  for (int swizzle = widest; swizzle >= narrowest; swizzle /= 2)
    if (tile.shape().back() * size % (parts * swizzle) == 0)
      if (Layout const* const layout = layout::swizzled_layout(tile.shape(), size, swizzle, ignored)) return layout;
  return nullptr;
}

class Paths {
 public:
  Paths(ir::Function& function, PassContext& context)
      : function_(function),
        facts_(context.analyses.axis_facts()),
        target_(context.target),
        of_products_(values_of_products(function)) {}

  bool run() {
    bool changed = false;
    for (Op* gather : collect([](Op const& op) { return op.is<ir::GatherOp>() && feeds_product(*op.result()); }))
      changed = fetch_rows(*gather) || changed;
    for (Op* load : collect([&](Op const& op) {
           return op.is<ir::LoadOp>() && op.result()->type().is_tile() &&
                  (feeds_product(*op.result()) || (in_staged_loop(op, target_.tuning) && !leads_to_rows(*op.result())));
         }))
      changed = decide(*load) || changed;
    return changed;
  }

 private:
  template <class Wanted>
  std::vector<Op*> collect(Wanted const& wanted) {
    std::vector<Op*> found;
    ir::walk_pre_order(function_, [&](Op& op) {
      if (wanted(op)) found.push_back(&op);
      return ir::Walk::advance;
    });
    return found;
  }

  /// Tells whether arithmetic joins the elements of a value with results of a product. A warp then reads what it has of
  /// those: few columns of several rows at once.
  [[nodiscard]] bool meets_product(Value const& value) const {
    std::vector<Value const*> open{&value};
    std::set<Value const*> seen;
    while (!open.empty()) {
      Value const& next = *open.back();
      open.pop_back();
      for (ir::Use const& use : next.uses()) {
        if (!analysis::streams(*use.user)) continue;
        Value const* const made = use.user->result();
        if (of_products_.count(made) != 0) return true;
        if (seen.insert(made).second) open.push_back(made);
      }
    }
    return false;
  }

  /// Returns the layout that a tile lies in once it is copied: null with the reason. Where warpgroups divide columns,
  /// half of them are whole blocks of the swizzle. Warps read parts of K for mma.sync, which are whole blocks, too:
  /// blocks of 64 bytes make them small, and ldmatrix reads rows of either without conflicts of banks. A tile that
  /// arithmetic joins with results of products is read by rows and columns at once, which a swizzle spreads over banks.
  Layout const* layout_of(Value const& value, ir::Type const& tile, Finding& why) const {
    if (tile.rank() < 2) return layout::dense_layout(tile.shape());
    Layout const* found = nullptr;
    if (!feeds_tensor_cores(value, target_)) {
      if (tile.shape()[tile.rank() - 2] >= layout::swizzle_rows && meets_product(value))
        found = swizzled(tile, 128, 32);
      return found != nullptr ? found : layout::dense_layout(tile.shape());
    }
    if (parts_columns(value, target_)) found = swizzled(tile, 128, 32, 2);
    if (found == nullptr) found = swizzled(tile, target_.has(Ability::wgmma) ? 128 : 64, 16);
    if (found == nullptr)
      why = Finding(finding::swizzled_layout, layout::shape_text(tile.shape()), bytes(tile.element()));
    return found;
  }

  /// Makes a copy of rows at indices, in a loop.
  bool fetch_rows(Op& gather) {
    if (ir::loop_around(*gather.parent()) == nullptr || is_repeated(gather)) return false;
    ir::Type const& tile = gather.result()->type();
    Finding ignored;
    Layout const* const layout = layout_of(*gather.result(), tile, ignored);
    if (layout == nullptr) return false;
    auto const rows = gathered_rows(gather, facts_);
    if (!rows) return false;
    ir::Builder builder = ir::Builder::before(gather);
    builder.set_where(gather.where());
    std::vector<Value*> operands = {gather.in<ir::GatherOp>("tensor")};
    operands.insert(operands.end(), rows->starts.begin(), rows->starts.end());
    Value* const fetched =
        builder.op(ir::FetchOp{}, operands, {ir::Type::shared(tile.element(), tile.shape(), layout)}).result();
    fetched->set_name(gather.result()->name());
    view_boxes(gather, *fetched);
    gather.result()->replace_all_uses_with(*builder.value(ir::BufferLoadOp{}, {fetched}, tile));
    erase_unused({gather.result()});
    return true;
  }

  bool decide(Op& load) {
    Op* const rows = rows_of(load);
    if (rows != nullptr && feeds_product(*rows->result()) && fetch(load, rows)) return true;
    return fetch_pieces(load) || fetch(load, nullptr);
  }

  /// Makes a copy of the pieces that cover the rows of a load, in a loop, where rows at multiples of less than 16 bytes
  /// alone keep the TMA engine from it. The operand that products of warpgroups read is made of them.
  bool fetch_pieces(Op& load) {
    constexpr std::int64_t piece_bytes = 16;
    ir::Type const& tile = load.result()->type();
    int const size = bytes(tile.element());
    if (load.as<ir::LoadOp>().pad.bits != 0 || tile.rank() != 2 || size > 4 ||
        ir::loop_around(*load.parent()) == nullptr || tile.shape()[1] * size % piece_bytes != 0 || !covers_rows(load) ||
        !feeds(*load.result(), [&](Op const& dot) { return fits_warpgroups(dot, target_); }))
      return false;
    Extents rows = tile.shape();
    rows[1] += piece_bytes / size;
    ir::Builder builder = ir::Builder::before(load);
    builder.set_where(load.where());
    std::span<Value* const> const offsets = load.all<ir::LoadOp>("offsets");
    std::vector<Value*> operands = {load.in<ir::LoadOp>("tensor")};
    operands.insert(operands.end(), offsets.begin(), offsets.end());
    Value* const fetched =
        builder.op(ir::FetchOp{}, operands, {ir::Type::shared(tile.element(), rows, layout::dense_layout(rows))})
            .result();
    fetched->set_name(load.result()->name());
    operands.insert(operands.begin(), fetched);
    ir::replace(load, builder.op(ir::ShiftedLoadOp{}, operands, {tile}).result());
    return true;
  }

  /// Tells whether pieces of 16 bytes cover the rows of a box, and the tensor's address and strides are all that keeps
  /// the TMA engine from copying it.
  bool covers_rows(Op const& load) const {
    Value const& tensor = *load.in<ir::LoadOp>("tensor");
    auto const offsets = load.all<ir::LoadOp>("offsets");
    auto const of_tensor = ir::parameter_of(tensor);
    Extents const axes = ir::axes_of_parameter(tensor);
    bool const adjacent = of_tensor.facts.unit_inner_stride && (axes.empty() || axes.back() + 1 == axes.size());
    auto const from_start = [&](Value const* offset) { return facts_.facts(*offset).min >= 0; };
    if (!adjacent || offsets.size() < 2 || !std::all_of(offsets.end() - 2, offsets.end(), from_start)) return false;
    Finding const why = broken_rule(load);
    return why.is(finding::address) || why.is(finding::stride) || why.is(finding::coordinate);
  }

  /// Makes a copy of a load, or of the rows that a reshape makes of it. If there is a reason against it, the load gets
  /// it; one with such a reshape is tried by itself.
  bool fetch(Op& load, Op* rows) {
    ir::Type const& tile = (rows == nullptr ? load : *rows).result()->type();
    Finding why;
    if (!target_.has(Ability::tma)) return rows == nullptr && fetch_by_threads(load);
    Layout const* const layout = layout_of(*load.result(), tile, why);
    target::TmaPlan plan;
    if (layout != nullptr) {
      plan = target::tma_plan(tile.shape(), *layout, bytes(tile.element()));
      if (!plan.legal())
        why = plan.broken.front();
      else if (rows != nullptr && plan.box[0] != tile.shape()[0])
        return false;
      if (Finding const error = broken_rule(load); !error.empty()) why = error;
    }
    if (!why.empty()) return rows == nullptr && note_reason(load, why);
    ir::Builder builder = ir::Builder::before(load);
    builder.set_where(load.where());
    ir::FetchOp fetch;
    fetch.share = rows == nullptr && shares(load) ? share_boxes(tile.shape(), plan.box) : 0;
    std::vector<Value*> operands = {rows == nullptr ? map_of(load, plan) : map_of_all_rows(load, plan)};
    std::span<Value* const> const offsets = load.all<ir::LoadOp>("offsets");
    operands.insert(operands.end(), offsets.begin(), offsets.end());
    replace_by_copy(builder, load, rows == nullptr ? load : *rows, operands, fetch, *layout);
    return true;
  }

  /// Makes a copy of a load by threads, on a target whose memory engine copies no boxes. Its chunks are aligned where
  /// the engine's copies would be.
  bool fetch_by_threads(Op& load) {
    ir::Type const& tile = load.result()->type();
    int const size = bytes(tile.element());
    Finding why = broken_rule(load);
    Layout const* layout = nullptr;
    if (!target_.has(Ability::cp_async) || !target_.has(Ability::mbarrier))
      why = Finding(finding::no_tma, target_.architecture);
    else if (tile.rank() == 0 || tile.shape().back() * size % chunk_bytes != 0)
      why =
          Finding(finding::row, layout::shape_text(tile.shape()), tile.rank() == 0 ? size : tile.shape().back() * size);
    else if (why.empty())
      layout = layout_of(*load.result(), tile, why);
    if (why.empty() && (layout == nullptr || layout->inverse() == nullptr))
      why = Finding(finding::swizzled_layout, layout::shape_text(tile.shape()), size);
    if (!why.empty()) return note_reason(load, why);
    ir::Builder builder = ir::Builder::before(load);
    builder.set_where(load.where());
    std::vector<Value*> operands = {load.in<ir::LoadOp>("tensor")};
    std::span<Value* const> const offsets = load.all<ir::LoadOp>("offsets");
    operands.insert(operands.end(), offsets.begin(), offsets.end());
    replace_by_copy(builder, load, load, operands, ir::FetchOp{}, *layout);
    return true;
  }

  /// Replaces a load, or the rows that a reshape makes of it, by a copy. The caller erases the load of rows.
  void replace_by_copy(ir::Builder& builder, Op& load, Op& whole, std::vector<Value*> const& operands,
                       ir::FetchOp const& fetch, Layout const& layout) {
    ir::Type const tile = whole.result()->type();
    Value* const fetched =
        builder.op(fetch, operands, {ir::Type::shared(tile.element(), tile.shape(), &layout)}).result();
    fetched->set_name(load.result()->name());
    bool const zeros = load.as<ir::LoadOp>().pad.bits == 0;
    if (zeros) view_boxes(whole, *fetched);
    Value* const copied = builder.value(ir::BufferLoadOp{}, {fetched}, tile);
    if (&whole != &load) {
      ir::replace(whole, copied);
      load.erase();
      return;
    }
    ir::replace(load, zeros ? copied : padded(builder, load, copied));
  }

  /// Says at a load why it is not copied. Tells whether that is new.
  static bool note_reason(Op& load, Finding const& why) {
    Symbol& reason = load.as<ir::LoadOp>().by_pointer;
    std::string const data = why.data();
    bool const known = reason.view() == data;
    reason = Symbol(data);
    return !known;
  }

  /// Lets products read boxes of a copied tile where they lie.
  static void view_boxes(Op const& load, Value& fetched) {
    std::vector<Op*> boxes;
    for (ir::Use const& use : load.result()->uses())
      if (use.user->is<ir::ExtractOp>() && feeds_product(*use.user->result()) &&
          is_view(use.user->as<ir::ExtractOp>(), use.user->result()->type(), *fetched.type().layout()))
        boxes.push_back(use.user);
    for (Op* box : boxes) {
      ir::Type const& part = box->result()->type();
      ir::Builder builder = ir::Builder::before(*box);
      builder.set_where(box->where());
      std::vector<Value*> operands = {&fetched};
      for (std::int64_t const offset : box->as<ir::ExtractOp>().offsets) operands.push_back(builder.index(offset));
      ir::Type const type = ir::Type::shared(part.element(), part.shape(), fetched.type().layout());
      Value* const view = builder.op(ir::ViewOp{}, operands, {type}).result();
      ir::replace(*box, builder.value(ir::BufferLoadOp{}, {view}, part));
    }
  }

  /// Tells whether all CTAs of the cluster load the same tile, in the same iterations.
  bool shares(Op const& load) const {
    if (function_.cluster == 1) return false;
    std::span<Value* const> const offsets = load.all<ir::LoadOp>("offsets");
    std::vector<Value const*> open(offsets.begin(), offsets.end());
    for (Op const* around = load.parent_op(); around != nullptr && !is_of_tiles(*around); around = around->parent_op())
      add_repetitions(open, *around);
    std::set<Value const*> seen;
    while (!open.empty()) {
      Value const* const next = open.back();
      open.pop_back();
      if (!seen.insert(next).second) continue;
      Op const* from = next->defining_op();
      if (from == nullptr && next->owner_block() != nullptr) from = next->owner_block()->parent_op();
      if (from == nullptr || is_of_tiles(*from) || bounds_tiles(*next))
        continue;  // a parameter, or the cluster's turns
      if (differs_among_ctas(*from)) return false;
      add_repetitions(open, *from);
      add_sources(open, *next, *from);
    }
    return true;
  }
  static bool differs_among_ctas(Op const& op) {
    return op.is<ir::ClusterRankOp>() || op.is<ir::BlockIndexOp>() ||
           (analysis::is_global_read(op) && !analysis::reads_constant_memory(op));
  }
  /// Adds what says how often a loop runs; of other ops the operands.
  static void add_repetitions(std::vector<Value const*>& open, Op const& region) {
    if (region.is<ir::RepeatOp>()) open.push_back(ir::Loop(const_cast<Op&>(region)).condition());
    if (region.is<ir::ForOp>()) {
      ir::Loop const loop(const_cast<Op&>(region));
      open.insert(open.end(), {loop.lower(), loop.upper(), loop.step()});
    } else {
      open.insert(open.end(), region.operands().begin(), region.operands().end());
    }
  }
  /// Adds the values that blocks of the op yield for `value`.
  static void add_sources(std::vector<Value const*>& open, Value const& value, Op const& from) {
    if (!ir::is_loop(from)) {
      for (int b = 0; b < from.block_count(); ++b) open.push_back(from.block(b).back().operand(value.index()));
      return;
    }
    ir::Loop const loop(const_cast<Op&>(from));
    int const carry = value.defining_op() != nullptr ? value.index() : loop.carry_of(value);
    if (carry >= 0) open.insert(open.end(), {loop.init(carry), loop.yielded(carry)});
  }
  static bool is_of_tiles(Op const& op) { return op.is<ir::ForOp>() && op.as<ir::ForOp>().tiles; }
  static bool bounds_tiles(Value const& value) {
    return std::any_of(value.uses().begin(), value.uses().end(),
                       [](ir::Use const& use) { return is_of_tiles(*use.user); });
  }

  /// Makes boxes small enough that each CTA of the cluster fetches some of them. Returns the number of CTAs; 0: the
  /// tile is too small.
  std::int64_t share_boxes(Extents const& tile, Extents& box) const {
    std::int64_t const share = function_.cluster;
    if (shared_axis(tile, box, share)) return share;
    for (int axis = 0; axis + 1 < box.size(); ++axis) {  // a box keeps the swizzle's whole rows
      std::int64_t const extent = tile[tile.size() - box.size() + axis];
      Extents smaller = box;
      smaller[axis] = extent / share;
      if (extent % share != 0 || smaller[axis] == 0 || box[axis] % smaller[axis] != 0 ||
          !shared_axis(tile, smaller, share))
        continue;
      box = smaller;
      return share;
    }
    return 0;
  }

  /// Names the rule of TMA that the tensor or this box of it breaks. Empty: none.
  Finding broken_rule(Op const& load) const {
    Value const& tensor = *load.in<ir::LoadOp>("tensor");
    if (ir::parameter_of(tensor).direction != Direction::in)
      return Finding(finding::direction, ir::to_string(ir::parameter_behind(tensor)));
    if (!known_at_start(tensor)) return Finding(finding::slice);
    if (is_repeated(load)) return Finding(finding::repeated);
    if (!load.as<ir::LoadOp>().part.empty()) return Finding(finding::part);
    if (load.as<ir::LoadOp>().pad.bits != 0 && feeds_product(*load.result())) return Finding(finding::pad);
    if (tensor.type().element() == Element::boolean) return Finding(finding::no_bool);
    auto const known = analysis::tma_tensor(tensor, facts_.divisor(*load.all<ir::LoadOp>("offsets").back()), facts_);
    auto const errors = target::tma_tensor_errors(known, bytes(tensor.type().element()));
    return errors.empty() ? Finding() : errors.front();
  }

  /// Replaces the zeros that TMA copies from outside the tensor by the load's pad.
  Value* padded(ir::Builder& builder, Op const& load, Value* copied) const {
    Value* const tensor = load.in<ir::LoadOp>("tensor");
    ir::Type const& tile = copied->type();
    ir::Type const boolean = ir::Type::scalar(Element::boolean);
    ir::Type const mask = tile.with_element(Element::boolean), places = tile.with_element(Element::i64);
    Value *inside = nullptr, *everywhere = nullptr;  // of the tile's axes; of those of which it takes one element
    auto const both = [&](Value* a, Value* b) { return a == nullptr ? b : builder.same(ir::AndOp{}, {a, b}); };
    for (int axis = 0; axis < tensor->type().rank(); ++axis) {
      Value* const offset = load.in<ir::LoadOp>("offsets", axis);
      Value* const extent = builder.value(ir::make_op<ir::ExtentOp>(std::int64_t{axis}), {tensor}, ir::Type::index());
      int const of_tile = axis - (tensor->type().rank() - tile.rank());
      bool const spread = of_tile >= 0 && tile.shape()[of_tile] > 1;
      auto const compare = [&](ir::Predicate predicate, Value* bound) {
        if (!spread) {
          Value* const holds = builder.value(ir::make_op<ir::CompareOp>(predicate), {offset, bound}, boolean);
          everywhere = both(everywhere, holds);
          return;
        }
        Value* const first = builder.value(ir::SplatOp{}, {offset}, places);
        Value* const at = builder.same(
            ir::AddOp{}, {first, builder.value(ir::make_op<ir::IotaOp>(std::int64_t{of_tile}), {}, places)});
        Value* const end = builder.value(ir::SplatOp{}, {bound}, places);
        inside = both(inside, builder.value(ir::make_op<ir::CompareOp>(predicate), {at, end}, mask));
      };
      compare(ir::Predicate::lt, extent);
      if (facts_.facts(*offset).min < 0) compare(ir::Predicate::ge, builder.index(0));
    }
    if (everywhere != nullptr) inside = both(inside, builder.value(ir::SplatOp{}, {everywhere}, mask));
    Value* const pad = builder.constant(load.as<ir::LoadOp>().pad, tile);
    return builder.value(ir::SelectOp{}, {inside, copied, pad}, tile);
  }

  /// Returns the tensor map for these copies.
  Value* map_of(Op const& load, target::TmaPlan const& plan) {
    Value* const tensor = load.in<ir::LoadOp>("tensor");
    ir::TensorMapOp wanted;
    for (int i = plan.box.size(); i < tensor->type().rank(); ++i) wanted.box.push_back(1);
    for (std::int64_t const extent : plan.box) wanted.box.push_back(extent);
    wanted.swizzle = swizzle_of(plan.swizzle_bytes);
    return tensor_map_at_start(function_, *tensor, wanted);
  }

  /// Returns the map for copies of all rows that the axes of a load's box make.
  Value* map_of_all_rows(Op const& load, target::TmaPlan const& plan) {
    Extents box = load.result()->type().shape();
    box[box.size() - 1] = plan.box.back();
    return map_of_rows(function_, *load.in<ir::LoadOp>("tensor"), box, plan.swizzle_bytes);
  }

  ir::Function& function_;
  analysis::AxisFacts const& facts_;
  TargetInfo const& target_;
  std::set<Value const*> const of_products_;
};

}  // namespace

PassResult choose_memory_paths(ir::Function& function, PassContext& context) {
  if (!function.is_kernel()) return PassResult::unchanged;
  return result_of(Paths(function, context).run());
}

}  // namespace tegula::transform
