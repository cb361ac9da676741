#include "analysis/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "abi/path_rows.hpp"
#include "analysis/kernel_facts.hpp"
#include "analysis/kernel_paths.hpp"
#include "analysis/register_need.hpp"
#include "analysis/register_pressure.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/memory/shared_frame.hpp"
#include "ir/text/text.hpp"
#include "ir/values/elementary.hpp"
#include "layout/element_offsets.hpp"
#include "support/counted.hpp"
#include "target/finding.hpp"

namespace tegula::analysis {
namespace {

using Kind = SlowSpot::Kind;
using ir::Op;
using ir::OpKind;

constexpr int widest_bytes = 16;
constexpr int sector_bytes = 32, line_bytes = 128;
constexpr double lanes = warp_lanes;

// Costs that the estimate of a launch does not count, since it knows no plan; relative to the rates that it assumes.
constexpr double mma_factor = 1.4;     ///< by which mma.sync multiplies more slowly than wgmma
constexpr double f64_factor = 3.5;     ///< by which f64 multiplies more slowly than 8 bytes of a shorter element
constexpr double narrow_factor = 2;    ///< by which an access costs more with its address and the test of its place
constexpr double cached_bytes = 40e6;  ///< of a table that L2 keeps
constexpr double strided_factor = 4;   ///< by which an access of a warp to places far apart costs more
constexpr double atomic_factor = 4;    ///< the same of atomics
constexpr double expansion_instructions = 25, units_instructions = 8, quotient_instructions = 8;
constexpr double host_element_clocks = 4;  ///< of an access of a CPU to a place far from the one before
constexpr double advised_stages = 4;       ///< of a loop that has as many as it needs

/// Returns the number of processors' turns that blocks take.
double turns(double blocks, double processors) { return std::max(std::ceil(blocks / processors), 1.0); }

/// Describes one thing that is slow: what it adds to the estimate of the launch without it.
struct Loss {
  SlowSpot spot;
  std::function<void(Estimate&)> add;
  double least = least_gain;  ///< share of the time from which on it is named
};

class Advisor {
 public:
  explicit Advisor(Advised const& about)
      : about_(about),
        executor_{about.target, about.processors},
        machine_(machine_of(executor_)),
        best_(about.estimate),
        where_(about.where) {}

  Advice all() {
    start();
    if (about_.target == nullptr) {
      elements_on_host();
      blocks();
      return judged();
    }
    accesses();
    loops();
    products();
    functions();
    registers();
    options();
    blocks();
    return judged();
  }

 private:
  // ---- the launch without what is slow.

  /// Takes from the estimate what it assumes of accesses, and adds what it leaves out of functions.
  void start() {
    if (about_.target != nullptr) best_.resident = resident();
    best_.narrow = 0;
    double moved_of_all = 0;
    std::vector<double> moved(about_.tensors.size());
    for (Ring& ring : best_.rings) {
      ring.iteration.narrow = 0;
      ring.stages = 0;
    }
    for (WorkOfOp const& op : best_.ops) {
      double const bytes = op.work.loaded_bytes + op.work.stored_bytes;
      moved_of_all += bytes;
      if (op.parameter >= 0) moved[static_cast<std::size_t>(op.parameter)] += bytes * static_cast<double>(best_.blocks);
    }
    // A launch may access a part of a tensor alone.
    double touched = 0;
    for (std::size_t i = 0; i < moved.size(); ++i) touched += std::min(moved[i], bytes_of(about_.tensors[i]));
    if (moved_of_all > 0) best_.tensor_bytes = touched;
    if (about_.target != nullptr) best_.arithmetic -= contracted();
    for (std::size_t i = 0; about_.target != nullptr && i < best_.ops.size(); ++i)
      add(best_, i, more_of_function(best_.ops[i]));
  }

  /// Counts the multiplications that may be one instruction with an addition.
  [[nodiscard]] double contracted() const {
    double products = 0, sums = 0;
    for (WorkOfOp const& op : best_.ops) {
      if (!is_float(op.element)) continue;
      if (op.kind == OpKind::MulOp) products += op.work.arithmetic;
      if (op.kind == OpKind::AddOp || op.kind == OpKind::SubOp) sums += op.work.arithmetic;
    }
    return std::min(products, sums);
  }

  static double bytes_of(AdvisedTensor const& tensor) {
    double bytes = tensor.extents.size() == 0 ? 0 : info(tensor.element).bits / 8.0;
    for (int axis = 0; axis < tensor.extents.size(); ++axis)
      if (tensor.strides[axis] != 0) bytes *= static_cast<double>(tensor.extents[axis]);
    return bytes;
  }

  /// Counts the CTAs that share a multiprocessor.
  [[nodiscard]] double resident() const {
    TargetInfo const& target = *about_.target;
    ir::Function const& kernel = *about_.lowered;
    int const threads = std::max(kernel.warps, 1) * target.lanes;
    int needed = std::min(registers_needed(kernel), target.registers_at_start(kernel.warps));
    if (has_roles()) needed = target.registers_at_start(kernel.warps);
    std::int64_t count = std::min<std::int64_t>(target.resident_ctas, target.resident_threads / threads);
    count = std::min<std::int64_t>(count, target.registers / std::max(needed * threads, 1));
    std::int64_t const shared = ir::frame_bytes(ir::shared_users(kernel));
    if (shared > 0) count = std::min(count, target.shared / shared);
    count = std::max<std::int64_t>(count, kernel.ctas);
    double const waiting = static_cast<double>(best_.blocks) / std::max(about_.processors, 1);
    return std::clamp(static_cast<double>(count), 1.0, std::max(std::ceil(waiting), 1.0));
  }

  [[nodiscard]] bool has_roles() const {
    for (Op const& op : about_.lowered->body())
      if (op.is<ir::WarpSpecializeOp>()) return true;
    return false;
  }

  /// Counts the arithmetic of a function besides the units of special functions.
  static Work more_of_function(WorkOfOp const& op) {
    Work more;
    if (op.work.functions == 0) return more;
    double const elements = op.work.functions;
    switch (ir::device_formula(op.kind)) {
      case ir::DeviceFormula::expansion:
        more.functions = -elements;
        more.arithmetic = elements * expansion_instructions;
        break;
      case ir::DeviceFormula::units:
        more.functions = elements;
        more.arithmetic = elements * units_instructions;
        break;
      case ir::DeviceFormula::exact:  // roots and quotients
        more.arithmetic = elements * quotient_instructions;
        break;
      case ir::DeviceFormula::native:
      case ir::DeviceFormula::coarse:
        break;
    }
    return more;
  }

  // ---- what is slow.

  /// Adds work to that of op number `i`, and of the loop that it stands in.
  static void add(Estimate& launch, std::size_t i, Work const& more) {
    WorkOfOp const& op = launch.ops[i];
    analysis::add(launch, more, 1);
    if (op.ring < 0) return;
    Ring& ring = launch.rings[static_cast<std::size_t>(op.ring)];
    analysis::add(ring.iteration, more, 1 / std::max(ring.times * ring.trips, 1.0));
  }

  [[nodiscard]] std::string name_of(WorkOfOp const& op) const {
    return op.parameter < 0 ? std::string() : about_.tensors[static_cast<std::size_t>(op.parameter)].name;
  }

  static bool same_remedy(SlowSpot const& a, SlowSpot const& b) {
    return a.remedy == b.remedy && a.memory == b.memory && abi::same_line(a.where, b.where);
  }

  void lose(Kind kind, location where, std::string memory, std::string what, std::string remedy,
            std::function<void(Estimate&)> add, double least = least_gain) {
    SlowSpot spot{kind, where, std::move(memory), std::move(what), std::move(remedy), 0};
    for (Loss& other : losses_)
      if (same_remedy(other.spot, spot)) {
        other.add = [first = std::move(other.add), second = std::move(add)](Estimate& launch) {
          first(launch);
          second(launch);
        };
        other.spot = std::move(spot);
        return;
      }
    losses_.push_back({std::move(spot), std::move(add), least});
  }

  /// Holds what the lowered kernel does in the place of an access of the traced one.
  struct Lowered {
    AccessPath const* row = nullptr;  ///< the slowest of the path; null: nothing is left of it
    Narrow narrow = Narrow::no;
    ir::Type const* tile = nullptr;
    TmaRule const* rule = nullptr;  ///< of TMA that keeps the load from being a copy
    std::string sentence;           ///< why
  };

  static std::optional<AccessPath::Kind> path_kind(OpKind kind) {
    if (kind == OpKind::LoadOp) return AccessPath::Kind::load;
    if (kind == OpKind::StoreOp) return AccessPath::Kind::store;
    if (kind == OpKind::GatherOp) return AccessPath::Kind::gather;
    if (kind == OpKind::ScatterOp) return AccessPath::Kind::scatter;
    if (kind == OpKind::AtomicUpdateOp) return AccessPath::Kind::atomic;
    return std::nullopt;
  }

  /// Finds the slowest row of the op's accesses in the table of paths; null: there is none.
  [[nodiscard]] AccessPath const* slowest_row(WorkOfOp const& op, AccessPath::Kind kind) const {
    auto const& rows = kind == AccessPath::Kind::load    ? about_.paths.loads
                       : kind == AccessPath::Kind::store ? about_.paths.stores
                                                         : about_.paths.indexed;
    AccessPath const* found = nullptr;
    for (AccessPath const& row : rows) {
      if (row.kind != kind || row.parameter != op.parameter || !abi::same_line(row.where, op.where)) continue;
      bool const slower = found == nullptr || (row.path == Path::pointer && found->path == Path::tma) ||
                          (row.path == found->path && row.bytes < found->bytes);
      if (slower) found = &row;
    }
    return found;
  }

  /// Finds the first access in the lowered IR that the op became; null: there is none.
  [[nodiscard]] Op const* lowered_access(WorkOfOp const& op) const {
    Op const* found = nullptr;
    ir::walk_pre_order(about_.lowered->body(), [&](Op& access) {
      bool const same_kind = (access.is<ir::LoadOp>() && op.kind == OpKind::LoadOp) ||
                             (access.is<ir::StoreOp>() && op.kind == OpKind::StoreOp);
      if (found == nullptr && same_kind && moved_by(access).is_tile() && abi::same_line(access.where(), op.where) &&
          ir::parameter_behind(*access.in("tensor")).index() == op.parameter)
        found = &access;
      return ir::Walk::advance;
    });
    return found;
  }
  static ir::Type const& moved_by(Op const& access) {
    return access.is<ir::LoadOp>() ? access.result()->type() : access.in<ir::StoreOp>("tile")->type();
  }

  [[nodiscard]] Lowered lowered(WorkOfOp const& op) const {
    Lowered found;
    std::optional<AccessPath::Kind> const kind = path_kind(op.kind);
    if (!kind) return found;
    found.row = slowest_row(op, *kind);
    if (found.row == nullptr || found.row->path == Path::tma) return found;
    Op const* const access = lowered_access(op);
    if (access == nullptr) return found;
    found.tile = &moved_by(*access);
    found.narrow = why_narrow(*access, *found.tile, found.row->bytes);
    if (!access->is<ir::LoadOp>()) return found;
    auto const finding = target::Finding::from_data(access->as<ir::LoadOp>().by_pointer.view());
    found.rule = finding.rule();
    found.sentence = finding.empty() ? "" : finding.sentence();
    return found;
  }

  /// Says what to do about an access to a tensor that threads move in pieces of few bytes. Empty: nothing helps.
  [[nodiscard]] std::pair<std::string, std::string> why_and_remedy(WorkOfOp const& op, Lowered const& access) const {
    AdvisedTensor const& tensor = about_.tensors[static_cast<std::size_t>(op.parameter)];
    std::int64_t const size = std::max(info(tensor.element).bits / 8, 1), together = widest_bytes / size;
    int const rank = tensor.extents.size();
    std::int64_t const last =
        access.tile == nullptr || access.tile->rank() == 0 ? 1 : access.tile->shape()[access.tile->rank() - 1];
    switch (access.narrow) {
      case Narrow::no:
        return {};
      case Narrow::stride:
        for (int axis = 0; axis + 1 < rank; ++axis)
          if (tensor.strides[axis] == 1)
            return {fmt::format("axis {} of its tensor is contiguous, not the last one", axis),
                    fmt::format("pass `{}` with axes exchanged, and take trans of its tiles", tensor.name)};
        return {fmt::format("stride {} along the last axis", rank > 0 ? tensor.strides[rank - 1] : 0),
                fmt::format("pass `{}` with a contiguous last axis", tensor.name)};
      case Narrow::alignment:
        for (int axis = rank - 2; axis >= 0; --axis)
          if (std::int64_t const pitch = tensor.strides[axis]; pitch * size % widest_bytes != 0)
            return {fmt::format("{} of {} elements", axis == rank - 2 ? "rows" : fmt::format("stride of axis {}", axis),
                                pitch),
                    fmt::format("pad the {} of `{}` to a multiple of {} elements ({})",
                                axis == rank - 2 ? "rows" : fmt::format("stride of axis {}", axis), tensor.name,
                                together, (pitch + together - 1) / together * together)};
        return {fmt::format("its address is a multiple of {} bytes", tensor.address_step),
                fmt::format("begin `{}` at a multiple of 16 bytes", tensor.name)};
      case Narrow::layout:
        if (last * size >= widest_bytes) return {};
        return {fmt::format("rows of {}", support::counted(last, "element")),
                fmt::format("take tiles of {} or more columns of `{}`", together, tensor.name)};
      case Narrow::start:
        return {fmt::format("tiles of {} columns at places of any alignment", last),
                fmt::format("begin the tiles of `{}` at multiples of {} elements that the kernel can see (multiple_of, "
                            "within), in rows of as many",
                            tensor.name, together)};
    }
    return {};
  }

  static std::string_view verb(OpKind kind) {
    if (kind == OpKind::LoadOp) return "load of";
    if (kind == OpKind::StoreOp) return "store to";
    if (kind == OpKind::GatherOp) return "gather from";
    if (kind == OpKind::ScatterOp) return "scatter to";
    return "atomic on";
  }

  void accesses() {
    for (std::size_t i = 0; i < best_.ops.size(); ++i) {
      WorkOfOp const& op = best_.ops[i];
      if (op.parameter < 0) continue;
      Lowered const access = lowered(op);
      if (access.row == nullptr || access.row->path != Path::pointer || access.row->bytes == 0) continue;
      double const bytes = op.times * op.elements * info(op.element).bits / 8;
      bool const indexed = op.kind != OpKind::LoadOp && op.kind != OpKind::StoreOp;
      if (access.row->bytes < widest_bytes) {
        Work more;
        more.narrow = narrow_factor * bytes / lanes * (1.0 / access.row->bytes - 1.0 / widest_bytes);
        if (access.narrow == Narrow::stride) more.narrow *= strided_factor;
        if (op.kind == OpKind::AtomicUpdateOp) more.narrow *= atomic_factor;
        if (indexed)
          by_index(i, *access.row, more);
        else
          narrow(i, access, more);
      }
      short_rows(i, access);
      if (access.rule != nullptr) by_pointer(i, access);
    }
  }

  /// Names accesses that a CPU makes element by element because of the tensor's strides.
  void elements_on_host() {
    for (std::size_t i = 0; i < best_.ops.size(); ++i) {
      WorkOfOp const& op = best_.ops[i];
      if (op.parameter < 0) continue;
      AdvisedTensor const& tensor = about_.tensors[static_cast<std::size_t>(op.parameter)];
      int const rank = tensor.extents.size();
      if (rank == 0 || tensor.strides[rank - 1] == 1 || tensor.extents[rank - 1] <= 1) continue;
      Lowered access;
      access.narrow = Narrow::stride;
      auto [why, remedy] = why_and_remedy(op, access);
      Work more;
      more.arithmetic = op.times * op.elements * machine_.arithmetic * host_element_clocks;
      lose(Kind::narrow_access, op.where, tensor.name,
           fmt::format("{} `{}` takes one element at once ({})", verb(op.kind), tensor.name, why), std::move(remedy),
           [i, more](Estimate& launch) { add(launch, i, more); });
    }
  }

  void narrow(std::size_t i, Lowered const& access, Work more) {
    WorkOfOp const& op = best_.ops[i];
    auto [why, remedy] = why_and_remedy(op, access);
    if (remedy.empty()) return;
    lose(Kind::narrow_access, op.where, name_of(op),
         fmt::format("{} `{}` takes {} at once ({})", verb(op.kind), name_of(op),
                     support::counted(access.row->bytes, "byte"), why),
         std::move(remedy), [i, more](Estimate& launch) { add(launch, i, more); });
  }

  void by_index(std::size_t i, AccessPath const& row, Work more) {
    WorkOfOp const& op = best_.ops[i];
    std::int64_t const together = widest_bytes / std::max(info(op.element).bits / 8, 1);
    bool const atomic = op.kind == OpKind::AtomicUpdateOp;
    // Each access takes a sector of its own, of memory where L2 does not keep the table.
    double const taken =
        op.times * op.elements * info(op.element).bits / 8 * (static_cast<double>(sector_bytes) / row.bytes - 1);
    bool const outside = bytes_of(about_.tensors[static_cast<std::size_t>(op.parameter)]) > cached_bytes;
    double const fetched = outside ? taken * static_cast<double>(best_.blocks) : 0;
    more.lines = taken / line_bytes;
    std::string const whole = fmt::format("index rows of {} or more adjacent elements of `{}`", together, name_of(op));
    lose(Kind::indexed, op.where, name_of(op),
         fmt::format("{} `{}` takes {} at once (an index for each element)", verb(op.kind), name_of(op),
                     support::counted(row.bytes, "byte")),
         atomic ? "add up in the block before (sum, reduce), or " + whole : whole,
         [i, more, fetched](Estimate& launch) {
           add(launch, i, more);
           launch.tensor_bytes += fetched;
         });
  }

  /// Names tiles whose rows are shorter than what memory gives at once.
  void short_rows(std::size_t i, Lowered const& access) {
    WorkOfOp const& op = best_.ops[i];
    if (access.tile == nullptr || access.tile->rank() < 2 || access.narrow == Narrow::stride) return;
    AdvisedTensor const& tensor = about_.tensors[static_cast<std::size_t>(op.parameter)];
    std::int64_t const size = std::max(info(op.element).bits / 8, 1);
    std::int64_t const columns = access.tile->shape()[access.tile->rank() - 1], row = columns * size;
    int const rank = tensor.extents.size();
    if (row >= sector_bytes || rank < 2 || tensor.extents[rank - 1] <= columns) return;
    double const wasted = static_cast<double>(sector_bytes) / static_cast<double>(row) - 1;
    Work more;
    more.lines = op.work.lines * wasted;
    double const bytes = wasted * (op.work.loaded_bytes + op.work.stored_bytes) * static_cast<double>(best_.blocks);
    lose(Kind::wasted_bytes, op.where, tensor.name,
         fmt::format("{} `{}` takes rows of {}, of sectors of {}", verb(op.kind), tensor.name,
                     support::counted(row, "byte"), sector_bytes),
         fmt::format("take {} columns", std::max<std::int64_t>(line_bytes / size, 1)),
         [i, more, bytes](Estimate& launch) {
           add(launch, i, more);
           launch.tensor_bytes += bytes;
         });
  }

  /// Names tiles of a loop that a rule of TMA keeps from being copied ahead.
  void by_pointer(std::size_t i, Lowered const& access) {
    WorkOfOp const& op = best_.ops[i];
    if (op.ring < 0) return;
    auto [why, remedy] = why_and_remedy(op, access);
    if (remedy.empty()) remedy = fmt::format("{} (`{}`)", access.rule->fix, name_of(op));
    lose(Kind::pointer_load, op.where, name_of(op),
         fmt::format("load of `{}` goes through registers, {} at once, not ahead by TMA ({})", name_of(op),
                     support::counted(access.row->bytes, "byte"), why.empty() ? access.sentence : why),
         std::move(remedy), [ring = static_cast<std::size_t>(op.ring)](Estimate& launch) {
           Ring& loop = launch.rings[ring];
           loop.stages = std::max(loop.stages, advised_stages);
           loop.iteration.narrow = std::max(loop.iteration.narrow, 1e-6);  // waits, without work of its own
         });
  }

  void loops() {
    std::vector<bool> copied(best_.rings.size()), named(best_.rings.size());
    for (WorkOfOp const& op : best_.ops) {
      if (op.kind != OpKind::LoadOp || op.ring < 0) continue;
      for (RingDepth const& ring : about_.paths.rings)
        if (abi::same_line(ring.where, op.where)) {
          auto const number = static_cast<std::size_t>(op.ring);
          if (!copied[number] && ring.used < ring.written) shallow(number, op, ring);
          copied[number] = true;
        }
    }
    for (WorkOfOp const& op : best_.ops) {
      if (op.kind != OpKind::LoadOp || op.ring < 0) continue;
      auto const number = static_cast<std::size_t>(op.ring);
      if (copied[number] || named[number]) continue;
      Lowered const access = lowered(op);
      if (access.row == nullptr || access.row->path != Path::pointer || access.rule != nullptr) continue;
      if (about_.estimate.rings[number].stages > 1) continue;
      named[number] = true;
      lose(Kind::no_stages, op.where, name_of(op),
           fmt::format("load of `{}` is waited for in each of {:.0f} iterations", name_of(op),
                       about_.estimate.rings[number].trips),
           "give the loop stages<4>",
           [number](Estimate& launch) { launch.rings[number].stages = std::max(launch.rings[number].stages, 2.0); });
    }
  }

  void shallow(std::size_t number, WorkOfOp const& op, RingDepth const& ring) {
    lose(Kind::shallow_ring, op.where, ring.memory,
         fmt::format("the ring of `{}` has {} of {} stages ({} bytes each)", ring.memory, ring.used, ring.written,
                     ring.stage_bytes),
         "take tiles of fewer bytes a stage", [number, used = std::max(ring.used, 2)](Estimate& launch) {
           Ring& loop = launch.rings[number];
           loop.stages = loop.stages > 1 ? std::min<double>(loop.stages, used) : used;
         });
  }

  /// Returns the finding that keeps a product of this line from wgmma.
  [[nodiscard]] target::Finding why_not_wgmma(location where) const {
    target::Finding found;
    ir::walk_pre_order(about_.lowered->body(), [&](Op& op) {
      if (!found.empty() || !abi::same_line(op.where(), where)) return ir::Walk::advance;
      if (op.is<ir::MmaOp>()) found = target::Finding::from_data(op.as<ir::MmaOp>().by_warps.view());
      if (op.is<ir::ForOp>()) found = target::Finding::from_data(op.as<ir::ForOp>().by_lanes.view());
      return ir::Walk::advance;
    });
    return found;
  }

  void products() {
    for (std::size_t i = 0; i < best_.ops.size(); ++i) {
      WorkOfOp const& op = best_.ops[i];
      if (op.kind != OpKind::DotOp) continue;
      DotPath const* slowest = nullptr;
      for (DotPath const& row : about_.paths.dots)
        if (abi::same_line(row.where, op.where) && (slowest == nullptr || row.path > slowest->path)) slowest = &row;
      if (slowest == nullptr) continue;
      // The work that nothing saves: f64 has products of its own.
      if (op.element == Element::f64) {
        Work more;
        more.product_bytes = op.work.product_bytes * (f64_factor - 1);
        add(best_, i, more);
        continue;
      }
      if (slowest->path == Path::mma || slowest->path == Path::lanes) slow_product(i, *slowest);
      small_tile(i, *slowest);
      empty_rows(i);
      outside(i, *slowest);
    }
  }

  void slow_product(std::size_t i, DotPath const& row) {
    WorkOfOp const& op = best_.ops[i];
    target::Finding const why = why_not_wgmma(op.where);
    std::string remedy = remedy_of_product(why);
    if (remedy.empty()) remedy = row.fix;
    if (remedy.empty()) return;
    Work more;
    if (row.path == Path::mma) {
      more.product_bytes = op.work.product_bytes * (mma_factor - 1);
    } else {
      more.product_bytes = -op.work.product_bytes;
      more.arithmetic = op.work.product_bytes / (info(op.element).bits / 8.0);
    }
    std::string const reason = why.empty() ? row.reason : row.path == Path::lanes ? std::string() : why.text();
    lose(Kind::product, op.where, "",
         fmt::format("the product of {} goes by {}{}{}", row.tiles,
                     row.path == Path::mma ? "mma, warp by warp" : "multiply-adds of lanes, not by tensor cores",
                     reason.empty() ? "" : ": ", reason),
         std::move(remedy), [i, more](Estimate& launch) { add(launch, i, more); });
  }

  /// Returns the loads of both operands of a product that is alone in its loop; empty: it is none of that kind.
  [[nodiscard]] std::vector<std::size_t> operands_of(std::size_t product) const {
    std::vector<std::size_t> loaded;
    int const ring = best_.ops[product].ring;
    for (std::size_t at = 0; ring >= 0 && at < best_.ops.size(); ++at) {
      if (best_.ops[at].ring != ring) continue;
      if (best_.ops[at].kind == OpKind::DotOp && at != product) return {};
      if (best_.ops[at].kind == OpKind::LoadOp) loaded.push_back(at);
    }
    if (loaded.size() < 2) loaded.clear();
    return loaded;
  }

  /// Names tiles of a product so small that the multiprocessors wait for their operands.
  void small_tile(std::size_t i, DotPath const& row) {
    WorkOfOp const& op = best_.ops[i];
    std::vector<double> const tile = extents_of(row.tiles.substr(0, row.tiles.rfind('x')));
    std::vector<std::size_t> const loaded = operands_of(i);
    if (loaded.empty() || tile.size() != 3) return;
    double const all = tile[0] * tile[1] * static_cast<double>(best_.blocks);
    std::pair<double, double> larger{tile[0], tile[1]};
    double fetched = 1 / tile[0] + 1 / tile[1];
    double const before = fetched;
    for (double const rows : {64.0, 128.0})
      for (double const columns : {64.0, 128.0}) {
        bool const fits =
            rows >= tile[0] && columns >= tile[1] && rows <= of_result(true) && columns <= of_result(false);
        if (!fits || all / (rows * columns) < about_.processors || 1 / rows + 1 / columns >= fetched) continue;
        fetched = 1 / rows + 1 / columns;
        larger = {rows, columns};
      }
    if (fetched == before) return;
    double const saved = 1 - fetched / before;
    std::vector<std::pair<std::size_t, Work>> extra;
    for (std::size_t const at : loaded) {
      Work more, less;
      more.lines = saved * best_.ops[at].work.lines;
      analysis::add(less, more, -1);
      add(best_, at, less);
      extra.emplace_back(at, more);
    }
    lose(Kind::small_tile, op.where, "",
         fmt::format("tiles of {} x {} fetch {:.1f} times the bytes of tiles of {} x {}", tile[0], tile[1],
                     before / fetched, larger.first, larger.second),
         fmt::format("take tiles of {} x {}", larger.first, larger.second), [extra](Estimate& launch) {
           for (auto const& [at, more] : extra) add(launch, at, more);
         });
  }

  /// Returns the rows or columns of the largest result that is stored.
  [[nodiscard]] double of_result(bool rows) const {
    double most = 0, found = 0;
    for (WorkOfOp const& store : best_.ops) {
      if (store.kind != OpKind::StoreOp || store.parameter < 0) continue;
      AdvisedTensor const& tensor = about_.tensors[static_cast<std::size_t>(store.parameter)];
      if (int const rank = tensor.extents.size(); rank >= 2 && bytes_of(tensor) > most) {
        most = bytes_of(tensor);
        found = static_cast<double>(tensor.extents[rank - (rows ? 2 : 1)]);
      }
    }
    return found;
  }

  /// Names products of which the tensor cores multiply rows or columns that nobody asked for.
  void empty_rows(std::size_t i) {
    WorkOfOp const& op = best_.ops[i];
    for (PaddedTile const& tile : about_.paths.padded) {
      if (tile.tile != "dot" || !abi::same_line(tile.where, op.where)) continue;
      double const factor = elements(tile.used) / std::max(elements(tile.written), 1.0);
      if (factor <= 1) continue;
      Work more;
      more.product_bytes = op.work.product_bytes * (factor - 1);
      lose(Kind::empty_tile, op.where, "",
           fmt::format("the product of {} uses {} of the tensor cores' {}", tile.written, fraction(1 / factor),
                       tile.used),
           "take the larger tile as a whole: more rows or columns in a block",
           [i, more](Estimate& launch) { add(launch, i, more); });
    }
  }

  /// Names products of which a part lies outside of the result.
  void outside(std::size_t i, DotPath const& row) {
    std::vector<double> const tile = extents_of(row.tiles.substr(0, row.tiles.rfind('x')));
    if (tile.size() != 3 || operands_of(i).empty()) return;
    for (bool const rows : {true, false}) {
      double const extent = of_result(rows), length = tile[rows ? 0 : 1];
      double const within = extent / std::max(turns(extent, length) * length, 1.0);
      if (within >= 1 || extent <= 0) continue;
      std::string_view const along = rows ? "rows" : "columns";
      Work more;
      more.product_bytes = best_.ops[i].work.product_bytes * (1 - within);
      for (std::size_t const at : operands_of(i)) {
        // Of both axes the first has it.
        if (best_.ops[at].work.outside_lines == 0 || losses_of_lines_.count(at) > 0) continue;
        losses_of_lines_.insert(at);
        more.outside_lines += best_.ops[at].work.outside_lines;
      }
      Work less;
      analysis::add(less, more, -1);
      add(best_, i, less);
      lose(Kind::empty_tile, best_.ops[i].where, "",
           fmt::format("{} {} use {} of the tensor cores in tiles of {}", extent, along, fraction(within), length),
           fmt::format("take tiles of fewer {}", along), [i, more](Estimate& launch) { add(launch, i, more); });
    }
  }

  static std::vector<double> extents_of(std::string_view shape) {
    std::vector<double> result;
    double number = 0;
    for (char const c : shape) {
      if (c >= '0' && c <= '9') {
        number = number * 10 + (c - '0');
      } else {
        result.push_back(number);
        number = 0;
      }
    }
    result.push_back(number);
    return result;
  }
  static double elements(std::string_view shape) {
    double result = 1;
    for (double const extent : extents_of(shape)) result *= extent;
    return result;
  }

  /// `a quarter`, or `31 %`.
  static std::string fraction(double share) {
    constexpr std::pair<double, char const*> words[] = {
        {1.0 / 2, "half"}, {1.0 / 4, "a quarter"}, {1.0 / 8, "an eighth"}};
    for (auto const& [value, word] : words)
      if (std::abs(share - value) < 1e-3) return word;
    return fmt::format("{:.0f} %", share * 100);
  }

  void functions() {
    for (std::size_t i = 0; i < best_.ops.size(); ++i) {
      WorkOfOp const& op = best_.ops[i];
      if (op.work.functions <= 0 || op.element == Element::f64) continue;
      Work const more_now = more_of_function(op);
      if (op.kind == OpKind::TanhOp) {
        // fast_tanh is one function, and costs nothing besides.
        function(i, "tanh takes two special functions and a quotient an element", "take fast_tanh, to 11 bits",
                 more_now);
      } else if (ir::device_formula(op.kind) == ir::DeviceFormula::expansion) {
        Work more = more_now;
        more.functions = 0;
        function(
            i,
            fmt::format("{} takes about {:.0f} instructions an element", ir::op_info(op.kind).mnemonic,
                        expansion_instructions),
            "load a table of its values, or compute it for fewer elements (before a broadcast, outside of the loop)",
            more);
      }
    }
  }

  void function(std::size_t i, std::string what, std::string remedy, Work more) {
    Work less;
    analysis::add(less, more, -1);
    add(best_, i, less);
    lose(Kind::function, best_.ops[i].where, "", std::move(what), std::move(remedy),
         [i, more](Estimate& launch) { add(launch, i, more); });
  }

  void registers() {
    RegisterNeed const need = register_need(*about_.lowered, *about_.target);
    RegisterNeed::Part const part = need.tightest();
    bool const measured = about_.spill_bytes > 0;
    if (about_.spill_bytes == 0 || (!measured && !need.surely_spills())) return;
    double const bytes = measured ? static_cast<double>(about_.spill_bytes) : 8.0 * (part.registers - part.allowed);
    double iterations = 1;
    for (Ring const& ring : best_.rings) iterations = std::max(iterations, ring.times * ring.trips);
    Work more;
    more.operand_bytes = bytes * iterations * about_.lowered->warps * about_.target->lanes;
    more.arithmetic = more.operand_bytes / 4;
    ir::Value const* const largest = part.largest;
    Op const* const made = largest == nullptr ? nullptr : largest->defining_op();
    std::string what = fmt::format("{:.0f} bytes of a thread go to local memory and back", bytes);
    if (largest != nullptr)
      what += fmt::format("; the most registers, {}, take a tile of {}", registers_of(*largest),
                          layout::shape_text(largest->type().shape()));
    bool const more_warps = about_.lowered->warps * about_.target->lanes < about_.target->threads;
    lose(Kind::spills, made == nullptr ? where_ : made->where(), "", std::move(what),
         more_warps ? "take fewer rows or columns of it, or more warps" : "take fewer rows or columns of it",
         [more](Estimate& launch) { analysis::add(launch, more, 1); });
  }

  void options() {
    CompileOptions const& options = about_.options;
    if (options.checks.any() || options.ranges) {
      Work more;
      more.arithmetic = 2 * best_.arithmetic;
      double const accesses = (best_.loaded_bytes + best_.stored_bytes) / 4;
      more.arithmetic += 4 * accesses;
      lose(Kind::checks, where_, "", "checks of indices and values run with the kernel", "launch without TEGULA_CHECKS",
           [more](Estimate& launch) { analysis::add(launch, more, 1); });
    }
    if (options.exact || options.contraction == Choice::off) {
      Work more;
      more.arithmetic = contracted();
      lose(Kind::rounding, where_, "", "products are rounded before they are added, as the options ask",
           "leave out exact and contraction = off", [more](Estimate& launch) { analysis::add(launch, more, 1); });
    }
  }

  void blocks() {
    double const count = static_cast<double>(best_.blocks) * best_.split, all = about_.processors;
    double const waves = turns(count, all), busy = count / (waves * all);
    bool const multiplies = best_.product_bytes > 0;
    if (busy < 1 && waves < 8) even_ = busy;
    if (even_ < 1) {
      char const* const processors = about_.target != nullptr ? "multiprocessors" : "threads";
      std::string const what =
          count < all ? fmt::format("{:.0f} {} {:.0f} of {:.0f} {} idle", count,
                                    count == 1 ? "block leaves" : "blocks leave", all - count, all, processors)
                      : fmt::format("{:.0f} blocks keep {:.0f} {} busy in {:.0f} % of {:.0f} turns", count, all,
                                    processors, busy * 100, waves);
      grid_ = SlowSpot{Kind::grid, where_, "", what,
                       multiplies && !best_.rings.empty() && about_.target != nullptr
                           ? "take smaller tiles, or let CTAs share the loop of a product (split)"
                           : "take smaller tiles"};
    }
    double const moved = best_.loaded_bytes + best_.stored_bytes;
    if (about_.target != nullptr && waves >= 8 && best_.rings.empty() && !multiplies) {
      small_ = SlowSpot{Kind::small_blocks, where_, "",
                        fmt::format("{:.0f} blocks move {:.1f} KB each", count, moved / 1024),
                        "take larger tiles: 16 KB or more of a block"};
    }
  }

  // ---- the judgement.

  [[nodiscard]] double seconds(Estimate const& launch) const { return seconds_of(launch, executor_); }

  /// Returns the launch as if its work were spread evenly over all multiprocessors.
  [[nodiscard]] Estimate spread(Estimate launch) const {
    Work const whole = launch;
    Work part;
    analysis::add(part, whole, even_);
    static_cast<Work&>(launch) = part;
    for (Ring& ring : launch.rings) ring.trips *= even_;
    return launch;
  }

  Advice judged() {
    Estimate planned = best_;
    for (Loss const& loss : losses_) loss.add(planned);
    double const now = seconds(planned);
    Advice result;
    result.seconds = now;
    find_limit(result);
    Estimate ideal = best_;
    double const without_any = seconds(ideal);
    for (std::size_t i = 0; i < losses_.size(); ++i) {
      Estimate others = best_, alone = best_;
      for (std::size_t j = 0; j < losses_.size(); ++j)
        if (j != i) losses_[j].add(others);
      losses_[i].add(alone);
      SlowSpot spot = losses_[i].spot;
      spot.gain = std::max(now - seconds(others), seconds(alone) - without_any) / now;
      // Of several of a kind, each helps by its part.
      bool const of_several = spot.gain >= losses_[i].least / 3 && gain_of_kind(spot.kind, now) >= losses_[i].least;
      if (spot.gain >= losses_[i].least || of_several) result.slow.push_back(std::move(spot));
    }
    if (!grid_.what.empty()) {
      grid_.gain = 1 - seconds(spread(planned)) / now;
      constexpr double least = 0.15;  // of a tail, tiles of another size lose about as much
      if (grid_.gain >= least) result.slow.push_back(grid_);
    }
    if (!small_.what.empty()) {
      Estimate larger = planned;
      larger.resident *= 8;
      small_.gain = 1 - seconds(larger) / now;
      constexpr double least = 0.12;
      if (small_.gain >= least) result.slow.push_back(small_);
    }
    launch(result);
    std::stable_sort(result.slow.begin(), result.slow.end(),
                     [](SlowSpot const& a, SlowSpot const& b) { return a.gain > b.gain; });
    constexpr std::size_t most = 3;
    if (result.slow.size() > most) result.slow.resize(most);
    return result;
  }

  /// Returns the share of the time that the remedies of all losses of a kind save.
  [[nodiscard]] double gain_of_kind(Kind kind, double now) const {
    Estimate others = best_;
    for (Loss const& loss : losses_)
      if (loss.spot.kind != kind) loss.add(others);
    return 1 - seconds(others) / now;
  }

  void launch(Advice& result) const {
    if (result.limit != Advice::Limit::latency) return;
    constexpr double of_graph = 0.6;  // of a launch's latency, what stays in a graph
    double const saved = machine_.launch_ns * 1e-9 * (1 - of_graph) / result.seconds;
    if (saved < least_gain) return;
    result.slow.push_back(
        {Kind::launch, where_, "",
         fmt::format("a launch takes {:.1f} us before its first block works", machine_.launch_ns * 1e-3),
         "capture launches that follow each other in a graph, or do their work in one kernel", saved});
  }

  void find_limit(Advice& result) const {
    double const clocks = machine_.processors * machine_.clocks_per_ns * 1e9;
    double const count = static_cast<double>(best_.blocks);
    // Functions and products by lanes are the kernel's own work, whatever replaces them.
    Estimate own = best_;
    for (Loss const& loss : losses_)
      if (loss.spot.kind == Kind::function || (loss.spot.kind == Kind::product && by_lanes(loss.spot.where)))
        loss.add(own);
    struct Bound {
      Advice::Limit limit;
      double seconds;
      std::string rate;
    };
    double const memory = machine_.memory_bytes_per_ns * 1e9, tensor = machine_.product_bytes * clocks;
    double const issue = machine_.arithmetic * clocks, functions = machine_.functions * clocks;
    std::vector<Bound> bounds = {
        {Advice::Limit::memory, own.tensor_bytes / memory, fmt::format("{:.1f} TB/s", memory * 1e-12)}};
    if (about_.target != nullptr) {
      double const latency = machine_.launch_ns * 1e-9 + hopper_costs.start / (machine_.clocks_per_ns * 1e9);
      bounds.push_back({Advice::Limit::tensor_cores, own.product_bytes * count / tensor, tensor_rate(tensor)});
      bounds.push_back({Advice::Limit::issue_slots, own.arithmetic * count / issue,
                        fmt::format("{:.1f} T instructions of a lane/s", issue * 1e-12)});
      bounds.push_back({Advice::Limit::functions, own.functions * count / functions,
                        fmt::format("{:.1f} T functions/s", functions * 1e-12)});
      bounds.push_back({Advice::Limit::latency, latency, ""});
    } else {
      bounds.front().rate = fmt::format("{:.0f} GB/s", memory * 1e-9);
      bounds.push_back({Advice::Limit::issue_slots, own.arithmetic * count / issue,
                        fmt::format("{:.0f} G operations/s", issue * 1e-9)});
      bounds.push_back({Advice::Limit::issue_slots, own.functions * count / functions,
                        fmt::format("{:.0f} G functions/s", functions * 1e-9)});
      bounds.push_back({Advice::Limit::issue_slots, own.product_bytes * count / tensor, tensor_rate(tensor)});
    }
    Bound const& most = *std::max_element(bounds.begin(), bounds.end(),
                                          [](Bound const& a, Bound const& b) { return a.seconds < b.seconds; });
    result.limit = most.limit;
    result.rate = most.rate;
    result.least_seconds = std::min(most.seconds, result.seconds);
  }

  [[nodiscard]] bool by_lanes(location where) const {
    return std::any_of(about_.paths.dots.begin(), about_.paths.dots.end(),
                       [&](DotPath const& row) { return row.path == Path::lanes && abi::same_line(row.where, where); });
  }

  /// Names the rate of the tensor cores for the elements of the largest product.
  [[nodiscard]] std::string tensor_rate(double bytes_a_second) const {
    WorkOfOp const* most = nullptr;
    for (WorkOfOp const& op : best_.ops)
      if (op.kind == OpKind::DotOp && (most == nullptr || op.work.product_bytes > most->work.product_bytes)) most = &op;
    if (most == nullptr) return "";
    double const bytes = info(most->element).bits / 8.0 * (most->element == Element::f64 ? f64_factor : 1);
    double const rate = 2 * bytes_a_second / bytes;
    return rate < 1e12 ? fmt::format("{:.0f} GFLOP/s", rate * 1e-9) : fmt::format("{:.0f} TFLOP/s", rate * 1e-12);
  }

  Advised const& about_;
  Executor executor_;
  Machine machine_;
  Estimate best_;   ///< the launch without what is slow
  location where_;  ///< of the kernel
  std::vector<Loss> losses_;
  std::set<std::size_t> losses_of_lines_;  ///< loads whose boxes outside of the tensor are counted
  double even_ = 1;                        ///< share of the multiprocessors' turns that blocks fill
  SlowSpot grid_, small_;
};

}  // namespace

Advice advice(Advised const& about) { return Advisor(about).all(); }

}  // namespace tegula::analysis
