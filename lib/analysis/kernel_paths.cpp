#include "analysis/kernel_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "abi/path_rows.hpp"
#include "analysis/effects.hpp"
#include "ir/core/viewed.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/memory/shared_frame.hpp"
#include "ir/text/text.hpp"
#include "layout/element_offsets.hpp"
#include "layout/layout.hpp"
#include "target/block_rules.hpp"
#include "target/box_rows.hpp"
#include "target/finding.hpp"

namespace tegula::analysis {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;
using layout::shape_text;
using Kind = AccessPath::Kind;

constexpr int widest_bytes = 16;
constexpr int piece_bytes = 16;  // of cp_async_cover

std::string element_text(Element element) { return std::string(name(element)); }

std::string tile_text(Extents const& shape, Element element) {
  return shape.size() == 0 ? element_text(element) : shape_text(shape) + "x" + element_text(element);
}

/// Returns the extents of a product: rows, columns, depth.
Extents extents_of(Type const& left, Type const& right) {
  return {left.shape()[0], right.shape()[right.rank() - 1], left.shape()[left.rank() - 1]};
}

class Paths {
 public:
  Paths(ir::Module const& lowered, TargetInfo const& target, ir::Module const& source)
      : lowered_(lowered), target_(target), written_(products_of(source)) {}

  KernelPaths all() {
    for (auto const& function : lowered_.functions())
      ir::walk_pre_order(function->body(), [&](Op& op) {
        visit(op);
        return ir::Walk::advance;
      });
    compare_products();
    paths_.kernel_plan = lowered_.kernel().plan;
    return std::move(paths_);
  }

 private:
  void visit(Op const& op) {
    moved_by_threads(op);
    moved_by_copies(op);
    multiplied(op);
    if (op.is<ir::CpAsyncArriveOp>()) ring_of_rows(op);
    if (op.is<ir::MbarrierExpectOp>()) ring(op);
  }

  void moved_by_threads(Op const& op) {
    if (op.is<ir::LoadOp>() && op.result()->type().layout() != nullptr)
      by_pointer(op, Kind::load, op.result()->type(), op.as<ir::LoadOp>().vector, op.as<ir::LoadOp>().part);
    else if (op.is<ir::LoadOp>() && op.result()->type().is_scalar())
      single(op, Kind::load, op.result()->type());
    else if (op.is<ir::StoreOp>())
      by_pointer(op, Kind::store, op.in<ir::StoreOp>("tile")->type(), op.as<ir::StoreOp>().vector,
                 op.as<ir::StoreOp>().part);
    else if (op.is<ir::GatherOp>())
      indexed(op, Kind::gather, op.result()->type(), op.as<ir::GatherOp>().vector);
    else if (op.is<ir::ScatterOp>())
      indexed(op, Kind::scatter, op.in("tile")->type(), op.as<ir::ScatterOp>().vector);
    else if (op.is<ir::AtomicUpdateOp>())
      indexed(op, Kind::atomic, op.in("tile")->type(), op.as<ir::AtomicUpdateOp>().vector);
    else if (op.is<ir::CompareExchangeOp>())
      indexed(op, Kind::atomic, op.in("tile")->type(), 1);
    else if (op.is<ir::CpAsyncOp>())
      copied_by_threads(op);
    else if (op.is<ir::CpAsyncGatherOp>())
      rows_by_threads(op);
    else if (op.is<ir::CpAsyncCoverOp>())
      pieces_by_threads(op);
  }

  void moved_by_copies(Op const& op) {
    if (op.is<ir::TmaLoadOp>())
      by_copy(op, Kind::load, *op.in<ir::TmaLoadOp>("map"), op.in<ir::TmaLoadOp>("destination")->type());
    else if (op.is<ir::TmaStoreOp>())
      by_copy(op, Kind::store, *op.in<ir::TmaStoreOp>("map"), op.in<ir::TmaStoreOp>("source")->type());
    else if (op.is<ir::TmaReduceOp>())
      by_copy(op, Kind::atomic, *op.in<ir::TmaReduceOp>("map"), op.in<ir::TmaReduceOp>("source")->type());
    else if (op.is<ir::BulkLoadOp>())
      by_bulk_copy(op, Kind::load, op.in<ir::BulkLoadOp>("destination")->type());
    else if (op.is<ir::BulkStoreOp>())
      by_bulk_copy(op, Kind::store, op.in<ir::BulkStoreOp>("source")->type());
  }

  void multiplied(Op const& op) {
    if (op.is<ir::WgmmaOp>())
      product(op, Path::wgmma, *op.lhs(), *op.rhs(), {});
    else if (op.is<ir::MmaOp>())
      product(op, Path::mma, *op.lhs(), *op.rhs(), op.as<ir::MmaOp>().by_warps.view());
    else if (op.is<ir::ForOp>() && !op.as<ir::ForOp>().by_lanes.empty())
      lanes(op);
  }

  [[nodiscard]] AccessPath start(Op const& op, Kind kind, Path path, Value const& tensor, Extents const& shape) const {
    AccessPath row;
    Value const& parameter = ir::parameter_behind(tensor);
    if (parameter.owner_block() == &lowered_.kernel().body()) row.parameter = parameter.index();
    row.kind = kind;
    row.path = path;
    row.memory = name_of_memory(tensor);
    row.tile = tile_text(shape, tensor.type().element());
    row.where = op.where();
    return row;
  }

  void by_pointer(Op const& op, Kind kind, Type const& tile, std::int64_t vector, Extents const& part) {
    Value const& tensor = *op.in("tensor");
    Extents const& written = part.empty() ? tile.shape() : part;
    AccessPath row = start(op, kind, Path::pointer, tensor, written);
    row.bytes = static_cast<int>(std::max<std::int64_t>(vector, 1)) * bytes(tile.element());
    bool const load = kind == Kind::load;
    auto const finding = load ? target::Finding::from_data(op.as<ir::LoadOp>().by_pointer.view()) : target::Finding();
    if (!finding.empty()) {
      row.reason = finding.text();
      if (finding.rule() != nullptr) row.fix = std::string(finding.rule()->fix);
    } else {
      row.reason =
          load ? "neither a product nor a loop with stages or products reads it" : why_not_copied(op, tile, row);
    }
    if (std::string const why = narrow_text(op, tile, row.bytes, written); !why.empty()) row.reason += "; " + why;
    abi::add_once(abi::rows_of(paths_, kind), std::move(row));
    if (!part.empty())
      abi::add_once(paths_.padded, PaddedTile{(load ? "load " : "store ") + name_of_memory(tensor), shape_text(part),
                                              shape_text(tile.shape()), op.where()});
  }

  [[nodiscard]] bool has_wgmma() const {
    return std::any_of(paths_.dots.begin(), paths_.dots.end(),
                       [](DotPath const& dot) { return dot.path == Path::wgmma; });
  }

  /// Explains why threads store a tile. `narrow_text` says which facts of the tensor a copy needs.
  [[nodiscard]] std::string why_not_copied(Op const& op, Type const& tile, AccessPath const& row) const {
    if (!has_wgmma()) return "copies store results of wgmma alone";
    Narrow const narrow = why_narrow(op, tile, row.bytes);
    if (narrow == Narrow::stride || narrow == Narrow::alignment) return "copies store to dense tensors alone";
    Extents const& shape = tile.shape();
    if (shape.size() > 2 && !target::box_of_rows(shape, target::wgmma_rows))
      return fmt::format("a copy takes {} rows, which are not a box of {}", target::wgmma_rows, shape_text(shape));
    return "copies store results of wgmma alone, as it leaves them";
  }

  /// Explains why a thread moves no more bytes at once. Empty: it moves the most.
  static std::string narrow_text(Op const& op, Type const& tile, int moved, Extents const& written) {
    std::string const so_wide = fmt::format("{} bytes at once: ", moved);
    switch (why_narrow(op, tile, moved)) {
      case Narrow::no:
        return {};
      case Narrow::stride:
        return so_wide + "the last axis is not known to have stride 1";
      case Narrow::alignment:
        return so_wide + "address and strides are not known to be multiples of 16 bytes";
      case Narrow::layout:
        return fmt::format("{}a thread holds {} adjacent elements of {}", so_wide,
                           tile.layout()->contiguous(tile.rank() - 1), tile_text(written, tile.element()));
      case Narrow::start:
        return so_wide + "start and width along the last axis are not known to be multiples of 16 bytes";
    }
    return {};
  }

  void single(Op const& op, Kind kind, Type const& type) {
    AccessPath row = start(op, kind, Path::pointer, *op.in("tensor"), {});
    row.bytes = bytes(type.element());
    row.reason = "one element";
    abi::add_once(abi::rows_of(paths_, kind), std::move(row));
  }

  void indexed(Op const& op, Kind kind, Type const& tile, std::int64_t vector) {
    AccessPath row = start(op, kind, Path::pointer, *op.in("tensor"), tile.is_tile() ? tile.shape() : Extents{});
    row.bytes = static_cast<int>(std::max<std::int64_t>(vector, 1)) * bytes(tile.element());
    row.reason = vector > 1             ? "adjacent elements are known to have adjacent indices"
                 : kind == Kind::atomic ? "each element has an atomic of its own"
                                        : "each element has indices of its own";
    abi::add_once(abi::rows_of(paths_, kind), std::move(row));
  }

  void by_copy(Op const& op, Kind kind, Value const& map, Type const& view) {
    if (ir::tensor_map_of(map) == nullptr) return;
    AccessPath row = start(op, kind, Path::tma, ir::tensor_of(map), view.shape());
    if (map.defined_by<ir::DeviceTensorMapOp>() != nullptr) row.reason = "through a descriptor built on the device";
    abi::add_once(abi::rows_of(paths_, kind), std::move(row));
  }
  void by_bulk_copy(Op const& op, Kind kind, Type const& view) {
    AccessPath row = start(op, kind, Path::tma, *op.in("tensor"), view.shape());
    row.reason = "a bulk copy, which takes the address";
    abi::add_once(abi::rows_of(paths_, kind), std::move(row));
  }
  void copied_by_threads(Op const& op) {
    Type const& view = op.in<ir::CpAsyncOp>("destination")->type();
    AccessPath row = start(op, Kind::load, Path::pointer, *op.in("tensor"), view.shape());
    row.bytes = static_cast<int>(op.as<ir::CpAsyncOp>().vector) * bytes(view.element());
    row.reason = "cp_async";
    abi::add_once(paths_.loads, std::move(row));
  }

  void rows_by_threads(Op const& op) {
    Type const& view = op.in<ir::CpAsyncGatherOp>("destination")->type();
    AccessPath row = start(op, Kind::gather, Path::pointer, *op.in("tensor"), view.shape());
    row.bytes = static_cast<int>(op.as<ir::CpAsyncGatherOp>().vector) * bytes(view.element());
    row.reason = "threads copy rows to shared memory ahead of their use (cp.async)";
    abi::add_once(abi::rows_of(paths_, Kind::gather), std::move(row));
  }

  void pieces_by_threads(Op const& op) {
    Type const& view = op.in<ir::CpAsyncCoverOp>("destination")->type();
    Extents box = view.shape();
    box[1] -= piece_bytes / bytes(view.element());
    AccessPath row = start(op, Kind::load, Path::pointer, *op.in("tensor"), box);
    row.bytes = piece_bytes;
    row.reason =
        "rows are not known to be multiples of 16 bytes; threads copy the pieces of 16 bytes that cover them to shared "
        "memory ahead of their use (cp.async), and shift them there";
    abi::add_once(paths_.loads, std::move(row));
  }

  void product(Op const& op, Path path, Value const& left, Value const& right, std::string_view finding) {
    Extents const extents = extents_of(left.type(), right.type());
    DotPath row;
    row.path = path;
    row.tiles = tile_text(extents, left.type().element());
    row.where = op.where();
    row.reason = target::Finding::from_data(finding).text();
    for (Value const* operand : {&left, &right})
      if (path == Path::wgmma && stored_by_threads(*operand))
        row.reason += (row.reason.empty() ? "" : "; ") + std::string(operand == &left ? "lhs" : "rhs") +
                      " goes through registers to shared memory";
    if (path == Path::mma && !finding.empty()) row.fix = std::string(remedy_for_wgmma);
    if (Written const* const written = written_at(op.where())) {
      row.tiles = written->text();
      if (is_larger(extents, written->extents))
        abi::add_once(paths_.padded, PaddedTile{"dot", shape_text(written->extents), shape_text(extents), op.where()});
    }
    abi::add_once(paths_.dots, std::move(row));
  }

  /// Tells whether threads write the shared memory that an operand is read from; a copy does not.
  static bool stored_by_threads(Value const& operand) {
    if (operand.type().is_tile()) return false;
    std::vector<Value const*> open = {&ir::viewed(operand)};
    for (std::size_t i = 0; i < open.size(); ++i)
      for (ir::Use const& use : open[i]->uses()) {
        if (use.is<ir::BufferStoreOp>("destination")) return true;
        if (use.user->is<ir::ViewOp>()) open.push_back(use.user->result());
      }
    return false;
  }

  /// Tells whether a product has more rows or columns than written, which may be exchanged, or is deeper. One of a
  /// divided block has fewer.
  static bool is_larger(Extents const& used, Extents const& written) {
    auto const [less, more] = std::minmax({used[0], used[1]});
    auto const [less_written, more_written] = std::minmax({written[0], written[1]});
    return less > less_written || more > more_written || used[2] > written[2];
  }

  void lanes(Op const& loop) {
    Written const* const written = written_at(loop.where());
    Type const& result = loop.result()->type();
    DotPath row;
    row.tiles = written != nullptr ? written->text() : tile_text(result.shape(), result.element());
    row.where = loop.where();
    target::Finding const why = target::Finding::from_data(loop.as<ir::ForOp>().by_lanes.view());
    row.reason = why.text();
    row.fix = remedy_of_product(why);
    abi::add_once(paths_.dots, std::move(row));
  }

  /// Adds the ring whose stage is filled after this op, which announces its bytes.
  void ring(Op const& expect) {
    Value const* const mbarrier = expect.in<ir::MbarrierExpectOp>("mbarrier");
    RingDepth row;
    row.stage_bytes = expect.as<ir::MbarrierExpectOp>().bytes;
    for (Op const& op : *expect.parent()) {
      if (!op.is<ir::TmaLoadOp>() || op.in<ir::TmaLoadOp>("mbarrier") != mbarrier) continue;
      if (!row.where.known()) row.where = op.where();
      if (Value const& map = *op.in<ir::TmaLoadOp>("map"); ir::tensor_map_of(map) != nullptr)
        row.memory += (row.memory.empty() ? "" : ", ") + name_of_memory(ir::tensor_of(map));
    }
    add_ring(expect, ir::viewed(*mbarrier), std::move(row));
  }

  /// Adds the ring into which threads copied boxes or rows before this arrival, or the rows to the ring's other tiles.
  void ring_of_rows(Op const& arrive) {
    Value const& root = ir::viewed(*arrive.in<ir::CpAsyncArriveOp>("mbarrier"));
    RingDepth row;
    for (Op const& op : *arrive.parent()) {
      if (&op == &arrive) break;
      if (op.is<ir::CpAsyncArriveOp>()) row = {};  // of another ring
      if (!op.is<ir::CpAsyncGatherOp>() && !op.is<ir::CpAsyncOp>() && !op.is<ir::CpAsyncCoverOp>()) continue;
      Type const& view = op.in("destination")->type();
      if (!row.where.known()) row.where = op.where();
      row.stage_bytes += view.elements() * bytes(view.element());
      row.memory += (row.memory.empty() ? "" : ", ") + name_of_memory(*op.in("tensor"));
    }
    if (auto const known = rings_.find(&root); known != rings_.end()) {
      RingDepth& whole = paths_.rings[known->second];
      if (whole.memory.find(row.memory) != std::string::npos) return;  // of another fill of the ring
      whole.memory += ", " + row.memory;
      whole.stage_bytes += row.stage_bytes;
      return;
    }
    add_ring(arrive, root, std::move(row));
  }

  void add_ring(Op const& fill, Value const& mbarriers, RingDepth row) {
    row.used = static_cast<int>(mbarriers.type().shape().product());
    for (Op const* at = fill.parent_op(); at != nullptr && row.written == 0; at = at->parent_op())
      if (at->is<ir::ForOp>()) row.written = static_cast<int>(at->as<ir::ForOp>().stages);
    if (row.memory.empty() || (row.written == 0 && row.used == 1)) return;  // filled once
    auto const [known, added] = rings_.try_emplace(&mbarriers, paths_.rings.size());
    if (added) {
      paths_.rings.push_back(std::move(row));
      explain_depth(paths_.rings.back(), fill);
    } else if (RingDepth& first = paths_.rings[known->second]; row.written > first.written) {  // filled before the loop
      first.written = row.written;
      explain_depth(first, fill);
    }
  }

  /// Says why a ring, filled after this op, has another depth than written.
  void explain_depth(RingDepth& row, Op const& fill) const {
    if (row.used == row.written || row.written == 0) return;
    if (row.used > row.written) {
      Value const& ring = ir::viewed(*fill.in("mbarrier"));
      int fills = 0;
      for (Op const& op : *fill.parent())
        if (op.kind() == fill.kind() && &ir::viewed(*op.in("mbarrier")) == &ring) ++fills;
      row.reason = fills > 1 ? fmt::format("an iteration fills {} of them", fills)
                             : "products end in the next iteration, which fills a stage before it frees theirs";
      return;
    }
    std::int64_t const taken = ir::frame_bytes(ir::shared_users(lowered_.kernel()));
    row.reason = taken + row.stage_bytes > target_.shared
                     ? fmt::format("one more does not fit: {} bytes of shared memory are used, {} allowed", taken,
                                   target_.shared)
                     : "the loop runs no more iterations, or ends its products in each";
  }

  // ---- products as they were written.

  struct Written {
    location where;
    Extents extents;
    Element element = Element::f32;
    [[nodiscard]] bool at(location other) const { return abi::same_line(where, other); }
    [[nodiscard]] std::string text() const { return tile_text(extents, element); }
  };

  /// Returns the traced product of this line; null: there is none, or several of different extents.
  [[nodiscard]] Written const* written_at(location where) const {
    Written const* found = nullptr;
    for (Written const& dot : written_) {
      if (!dot.at(where)) continue;
      if (found != nullptr && found->text() != dot.text()) return nullptr;
      found = &dot;
    }
    return found;
  }

  static std::vector<Written> products_of(ir::Module const& source) {
    std::vector<Written> result;
    for (auto const& function : source.functions())
      ir::walk_pre_order(function->body(), [&](Op& op) {
        if (op.is<ir::DotOp>() && op.where().known())
          result.push_back({op.where(), extents_of(op.lhs()->type(), op.rhs()->type()), op.lhs()->type().element()});
        return ir::Walk::advance;
      });
    return result;
  }

  /// Lists the traced products of which tensor cores have nothing left.
  void compare_products() {
    for (Written const& dot : written_)
      if (std::none_of(paths_.dots.begin(), paths_.dots.end(), [&](DotPath const& row) { return dot.at(row.where); }))
        abi::add_once(paths_.dots,
                      DotPath{Path::lanes, dot.text(), dot.where, "nothing is left of it to multiply in a loop", {}});
  }

  ir::Module const& lowered_;
  TargetInfo const& target_;
  std::vector<Written> const written_;
  KernelPaths paths_;
  std::map<Value const*, std::size_t> rings_;  ///< rows by the mbarriers of the ring
};

}  // namespace

Narrow why_narrow(Op const& access, Type const& tile, int moved_bytes) {
  if (moved_bytes >= widest_bytes || tile.layout() == nullptr) return Narrow::no;
  TensorFacts const& facts = ir::parameter_of(*access.in("tensor")).facts;
  if (!facts.unit_inner_stride) return Narrow::stride;
  if (!facts.aligned_16) return Narrow::alignment;
  if (tile.rank() == 0) return Narrow::no;
  std::int64_t const adjacent = tile.layout()->contiguous(tile.rank() - 1);
  return adjacent * bytes(tile.element()) <= moved_bytes ? Narrow::layout : Narrow::start;
}

std::string remedy_of_product(target::Finding const& why) {
  if (why.is(target::finding::full_f32)) return "ask for tf32, dot(a, b, tf32), or cast the operands to bf16";
  if (why.is(target::finding::rows)) return "take 64 rows";
  if (why.is(target::finding::i8_columns)) return "take a multiple of 16 columns";
  if (why.is(target::finding::sums)) return "take fewer columns, or more warps";
  if (why.is(target::finding::rhs_computed) || why.is(target::finding::rhs_handed))
    return "let the right operand be a tile as it is loaded";
  return {};
}

std::string name_of_memory(Value const& value) {
  Value const* at = &value;
  while (Op const* op = at->defining_op()) {
    if (at->type().is_tensor())
      at = op->in("tensor");
    else if (op->is<ir::ViewOp>() || op->is<ir::TransViewOp>())
      at = op->in("source");
    else
      break;
  }
  return at->name();
}

KernelPaths kernel_paths(ir::Module const& lowered, TargetInfo const& target, ir::Module const& source) {
  return Paths(lowered, target, source).all();
}

}  // namespace tegula::analysis
