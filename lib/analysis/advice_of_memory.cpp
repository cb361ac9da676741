#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/advice_rules.hpp"
#include "support/counted.hpp"
#include "tegula/support/warp.hpp"

namespace tegula::analysis {
namespace {

using Kind = SlowSpot::Kind;
using ir::OpKind;

constexpr int widest_bytes = 16;
constexpr int sector_bytes = 32, line_bytes = 128;
constexpr double lanes = warp_lanes;

// Costs that the estimate of a launch does not count; relative to the rates that it assumes.
constexpr double narrow_factor = 2;        ///< by which an access costs more with its address and the test of its place
constexpr double cached_bytes = 40e6;      ///< of a table that L2 keeps
constexpr double strided_factor = 4;       ///< by which an access of a warp to places far apart costs more
constexpr double atomic_factor = 4;        ///< the same of atomics
constexpr double host_element_clocks = 4;  ///< of an access of a CPU to a place far from the one before
constexpr double advised_stages = 4;       ///< of a loop that has as many as it needs

/// Finds accesses to global memory that are slower than they need be.
class Accesses {
 public:
  explicit Accesses(AdvisedLaunch& launch) : launch_(launch) {}

  void accesses() {
    for (std::size_t i = 0; i < launch_.best.ops.size(); ++i) {
      WorkOfOp const& op = launch_.best.ops[i];
      if (op.parameter < 0) continue;
      if (shifted_bytes(op) > 0) shifted(i);
      LoweredAccess const access = lowered_access(launch_.about, op);
      if (access.row == nullptr || access.row->path != Path::pointer || access.row->bytes == 0) continue;
      double const bytes = op.times * op.elements * info(op.element).bits / 8;
      bool const indexed = op.kind != OpKind::LoadOp && op.kind != OpKind::StoreOp;
      // Rows at an odd address: the estimate knows pitches alone.
      bool const odd = launch_.about.tensors[static_cast<std::size_t>(op.parameter)].address_step % widest_bytes != 0;
      if (odd && op.kind == OpKind::LoadOp && op.ring >= 0 && access.row->bytes == widest_bytes) shifted(i);
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
    for (std::size_t i = 0; i < launch_.best.ops.size(); ++i) {
      WorkOfOp const& op = launch_.best.ops[i];
      if (op.parameter < 0) continue;
      AdvisedTensor const& tensor = launch_.about.tensors[static_cast<std::size_t>(op.parameter)];
      int const rank = tensor.extents.size();
      if (rank == 0 || tensor.strides[rank - 1] == 1 || tensor.extents[rank - 1] <= 1) continue;
      LoweredAccess access;
      access.narrow = Narrow::stride;
      auto [why, remedy] = why_and_remedy(op, access);
      Work more;
      more.arithmetic = op.times * op.elements * launch_.machine.arithmetic * host_element_clocks;
      launch_.lose(Kind::narrow_access, op.where, tensor.name,
                   fmt::format("{} `{}` takes one element at once ({})", verb(op.kind), tensor.name, why),
                   std::move(remedy), [i, more](Estimate& launch) { add_to(launch, i, more); });
    }
  }

 private:
  /// Says what to do about an access to a tensor that threads move in pieces of few bytes. Empty: nothing helps.
  [[nodiscard]] std::pair<std::string, std::string> why_and_remedy(WorkOfOp const& op,
                                                                   LoweredAccess const& access) const {
    AdvisedTensor const& tensor = launch_.about.tensors[static_cast<std::size_t>(op.parameter)];
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

  void narrow(std::size_t i, LoweredAccess const& access, Work more) {
    WorkOfOp const& op = launch_.best.ops[i];
    auto [why, remedy] = why_and_remedy(op, access);
    if (remedy.empty()) return;
    launch_.lose(Kind::narrow_access, op.where, launch_.name_of(op),
                 fmt::format("{} `{}` takes {} at once ({})", verb(op.kind), launch_.name_of(op),
                             support::counted(access.row->bytes, "byte"), why),
                 std::move(remedy), [i, more](Estimate& launch) { add_to(launch, i, more); });
  }

  void by_index(std::size_t i, AccessPath const& row, Work more) {
    WorkOfOp const& op = launch_.best.ops[i];
    std::int64_t const together = widest_bytes / std::max(info(op.element).bits / 8, 1);
    bool const atomic = op.kind == OpKind::AtomicUpdateOp;
    // Each access takes a sector of its own, of memory where L2 does not keep the table.
    double const taken =
        op.times * op.elements * info(op.element).bits / 8 * (static_cast<double>(sector_bytes) / row.bytes - 1);
    bool const outside = bytes_of(launch_.about.tensors[static_cast<std::size_t>(op.parameter)]) > cached_bytes;
    double const fetched = outside ? taken * static_cast<double>(launch_.best.blocks) : 0;
    more.lines = taken / line_bytes;
    std::string const whole =
        fmt::format("index rows of {} or more adjacent elements of `{}`", together, launch_.name_of(op));
    launch_.lose(Kind::indexed, op.where, launch_.name_of(op),
                 fmt::format("{} `{}` takes {} at once (an index for each element)", verb(op.kind), launch_.name_of(op),
                             support::counted(row.bytes, "byte")),
                 atomic ? "add up in the block before (sum, reduce), or " + whole : whole,
                 [i, more, fetched](Estimate& launch) {
                   add_to(launch, i, more);
                   launch.tensor_bytes += fetched;
                 });
  }

  /// Names tiles whose rows are shorter than a sector of memory.
  void short_rows(std::size_t i, LoweredAccess const& access) {
    WorkOfOp const& op = launch_.best.ops[i];
    if (access.tile == nullptr || access.tile->rank() < 2 || access.narrow == Narrow::stride) return;
    AdvisedTensor const& tensor = launch_.about.tensors[static_cast<std::size_t>(op.parameter)];
    std::int64_t const size = std::max(info(op.element).bits / 8, 1);
    std::int64_t const columns = access.tile->shape()[access.tile->rank() - 1], row = columns * size;
    int const rank = tensor.extents.size();
    if (row >= sector_bytes || rank < 2 || tensor.extents[rank - 1] <= columns) return;
    double const wasted = static_cast<double>(sector_bytes) / static_cast<double>(row) - 1;
    Work more;
    more.lines = op.work.lines * wasted;
    double const bytes =
        wasted * (op.work.loaded_bytes + op.work.stored_bytes) * static_cast<double>(launch_.best.blocks);
    launch_.lose(Kind::wasted_bytes, op.where, tensor.name,
                 fmt::format("{} `{}` takes rows of {}, of sectors of {}", verb(op.kind), tensor.name,
                             support::counted(row, "byte"), sector_bytes),
                 fmt::format("take {} columns", std::max<std::int64_t>(line_bytes / size, 1)),
                 [i, more, bytes](Estimate& launch) {
                   add_to(launch, i, more);
                   launch.tensor_bytes += bytes;
                 });
  }

  /// Names operands whose rows warps shift, since they begin at any address.
  void shifted(std::size_t i) {
    WorkOfOp const& op = launch_.best.ops[i];
    LoweredAccess access;
    access.narrow = Narrow::alignment;
    auto [why, remedy] = why_and_remedy(op, access);
    Work more;
    more.operand_bytes = shifted_bytes(op) > 0 ? shifted_bytes(op) : bytes_of_shift * op.work.loaded_bytes;
    launch_.lose(
        Kind::pointer_load, op.where, launch_.name_of(op),
        fmt::format("load of `{}` comes by pieces of 16 bytes that warps shift ({})", launch_.name_of(op), why),
        std::move(remedy), [i, more](Estimate& launch) { add_to(launch, i, more); });
  }

  /// Names tiles of a loop that a rule of TMA keeps from being copied ahead.
  void by_pointer(std::size_t i, LoweredAccess const& access) {
    WorkOfOp const& op = launch_.best.ops[i];
    if (op.ring < 0) return;
    auto [why, remedy] = why_and_remedy(op, access);
    if (remedy.empty()) remedy = fmt::format("{} (`{}`)", access.rule->fix, launch_.name_of(op));
    launch_.lose(
        Kind::pointer_load, op.where, launch_.name_of(op),
        fmt::format("load of `{}` goes through registers, {} at once, not ahead by TMA ({})", launch_.name_of(op),
                    support::counted(access.row->bytes, "byte"), why.empty() ? access.sentence : why),
        std::move(remedy), [ring = static_cast<std::size_t>(op.ring)](Estimate& launch) {
          Ring& loop = launch.rings[ring];
          loop.stages = std::max(loop.stages, advised_stages);
          loop.iteration.narrow = std::max(loop.iteration.narrow, 1e-6);  // waits, without work of its own
        });
  }

  AdvisedLaunch& launch_;
};

}  // namespace

void find_strided_elements(AdvisedLaunch& launch) { Accesses(launch).elements_on_host(); }
void find_slow_accesses(AdvisedLaunch& launch) { Accesses(launch).accesses(); }

}  // namespace tegula::analysis
