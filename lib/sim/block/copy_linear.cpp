// Copies of adjacent bytes: bulk copies and cp.async; and the groups that complete copies.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ir/text/text.hpp"
#include "sim/block/decode.hpp"
#include "sim/block/meaning.hpp"
#include "sim/indices.hpp"
#include "tegula/support/error.hpp"
#include "tegula/support/warp.hpp"

namespace tegula::sim::block {

using namespace ir;
using machine::Footprint;
using machine::LaneBytes;

namespace {

/// Holds both ends of a bulk copy.
struct BulkEnds {
  std::byte* global = nullptr;
  std::uint32_t shared = 0;
  std::uint32_t bytes = 0;
  int tensor = -1;
};

/// Finds both ends. Returns null ends, with a report, if the bytes are not there.
BulkEnds bulk_ends(WarpProgram& warp, Op const& op, ir::Value const& shared) {
  BulkEnds ends;
  Extents const offsets = warp.integers(op.all("offsets"));
  ends.tensor = warp.agent().tensor(*op.in("tensor"));
  View const& view = warp.view(shared);
  Region const& region = warp.engine().regions().get(view);
  ends.shared = region.addresses[0];
  ends.bytes = static_cast<std::uint32_t>(region.addresses.size()) * static_cast<std::uint32_t>(view.element_bytes);
  for (std::size_t i = 0; i < region.addresses.size(); ++i)
    if (region.addresses[i] != ends.shared + i * static_cast<std::size_t>(view.element_bytes))
      throw UserError("simulate: " + std::string(op.info().mnemonic) + " copies adjacent bytes, but " +
                          to_string(shared.type()) + " is not dense there",
                      op.where());
  Tensor const& tensor = warp.agent().view(ends.tensor);
  ends.global = locate(warp.agent(), op, ends.tensor, offsets.begin());
  auto const begin = reinterpret_cast<std::uintptr_t>(ends.global);
  auto const end = reinterpret_cast<std::uintptr_t>(tensor.memory_end);
  bool const outside = ends.global != nullptr && end != 0 && end - begin < ends.bytes;
  if (ends.global == nullptr || outside) {
    warp.engine().report(
        machine::ReportKind::misuse,
        fmt::format("{} bytes from element [{}{}] on leave the tensor, but a bulk copy does not check bounds; clip it",
                    ends.bytes, offsets[0], offsets.size() > 1 ? ", ..." : ""),
        warp.site());
    ends.global = nullptr;
  }
  return ends;
}

std::vector<LaneBytes> global_interval(WarpProgram& warp, BulkEnds const& ends) {
  if (ends.global == nullptr) return {};
  std::uint64_t const at = warp.engine().global().offset(warp.agent().argument(ends.tensor), ends.global);
  return {{at, at + ends.bytes, machine::every_lane}};
}

}  // namespace

Progress perform(WarpProgram& warp, Op const& op, BulkLoadOp const&) {
  Engine& engine = warp.engine();
  BulkEnds const ends = bulk_ends(warp, op, *op.in<BulkLoadOp>("destination"));
  std::vector<LaneBytes> const read = global_interval(warp, ends);
  int const cta = warp.cta();
  machine::CopyIn action;
  action.source = Footprint(engine.global().space(warp.agent().argument(ends.tensor)), read);
  action.destination = Footprint(warp.warp().shared(), ends.shared, ends.shared + ends.bytes);
  action.mbarrier = warp.mbarrier(*op.in<BulkLoadOp>("mbarrier"));
  action.bytes = ends.bytes;
  action.effect = engine.effect(1, [&engine, cta, ends](machine::Moment, int) {
    if (ends.global != nullptr) std::memcpy(engine.shared_bytes(cta) + ends.shared, ends.global, ends.bytes);
  });
  (void)warp.warp().copy_in(warp.lanes(), action, warp.site());
  return Progress::turn;
}

Progress perform(WarpProgram& warp, Op const& op, BulkStoreOp const&) {
  Engine& engine = warp.engine();
  BulkEnds const ends = bulk_ends(warp, op, *op.in<BulkStoreOp>("source"));
  std::vector<LaneBytes> const written = global_interval(warp, ends);
  int const cta = warp.cta();
  auto held = std::make_shared<std::vector<std::byte>>(ends.bytes);
  machine::CopyOut action;
  action.source = Footprint(warp.warp().shared(), ends.shared, ends.shared + ends.bytes);
  action.destination = Footprint(engine.global().space(warp.agent().argument(ends.tensor)), written);
  action.effect = engine.effect(2, [&engine, cta, ends, held](machine::Moment moment, int) {
    if (moment == machine::Moment::read_source)
      std::memcpy(held->data(), engine.shared_bytes(cta) + ends.shared, ends.bytes);
    else if (ends.global != nullptr)
      std::memcpy(ends.global, held->data(), ends.bytes);
  });
  (void)warp.warp().copy_out(warp.lanes(), action, warp.site());
  return Progress::turn;
}

Progress perform(WarpProgram& warp, Op const&, BulkCommitOp const&) {
  warp.warp().bulk_commit(warp.lanes(), warp.site());
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const&, BulkWaitOp const& attributes) {
  (void)warp.warp().bulk_wait(warp.lanes(), static_cast<int>(attributes.pending), attributes.read, warp.site());
  return Progress::turn;
}

namespace {

/// Describes a chunk of cp.async: the bytes in front of `first` and behind `valid` become `others`.
struct Chunk {
  std::byte const* from = nullptr;  ///< null: outside of the tensor
  std::uint32_t to = 0;
  std::uint32_t valid = 0;
  std::uint32_t first = 0;
  unsigned char others = 0;
};

/// Copies chunks of `size` bytes by one instruction of this warp.
class ChunkCopy {
 public:
  ChunkCopy(WarpProgram& warp, int tensor, std::uint32_t size)
      : warp_(warp),
        global_(warp.engine().global()),
        argument_(warp.agent().argument(tensor)),
        size_(size),
        recorded_(global_.recorded(argument_)) {}

  /// Adds a chunk that a lane copies.
  void add(Chunk const& chunk, std::uint32_t lane) {
    chunks_.push_back(chunk);
    written_.push_back({chunk.to, chunk.to + size_, lane});
    if (!recorded_ || chunk.from == nullptr) return;
    std::uint64_t const begin = global_.offset(argument_, chunk.from + chunk.first);
    read_.push_back({begin, begin + chunk.valid - chunk.first, lane});
  }

  Progress run() {
    if (written_.empty()) return Progress::done;
    Engine& engine = warp_.engine();
    machine::AsyncCopy action;
    action.source = Footprint(global_.space(argument_), read_);
    action.destination = Footprint(warp_.warp().shared(), written_);
    auto const kept = std::make_shared<std::vector<Chunk> const>(std::move(chunks_));
    action.effect = engine.effect(1, [&engine, cta = warp_.cta(), kept, size = size_](machine::Moment, int) {
      std::byte* const memory = engine.shared_bytes(cta);
      for (Chunk const& chunk : *kept) {
        std::memset(memory + chunk.to, chunk.others, size);
        if (chunk.from != nullptr)
          std::memcpy(memory + chunk.to + chunk.first, chunk.from + chunk.first, chunk.valid - chunk.first);
      }
    });
    (void)warp_.warp().cp_async(warp_.lanes(), action, warp_.site());
    return Progress::turn;
  }

 private:
  WarpProgram& warp_;
  GlobalMemory& global_;
  int argument_;
  std::uint32_t size_;
  bool recorded_;  ///< accesses to the tensor leave footprints
  std::vector<Chunk> chunks_;
  std::vector<LaneBytes> read_, written_;
};

/// Reports a chunk whose bytes are not adjacent in shared memory, or that is not aligned on both sides.
void check_chunk(WarpProgram& warp, Chunk const& chunk, std::uint32_t size, std::uint32_t last_element,
                 std::uint32_t element_bytes) {
  if (chunk.to % size != 0 || reinterpret_cast<std::uintptr_t>(chunk.from) % size != 0 ||
      last_element != chunk.to + size - element_bytes)
    warp.engine().report(machine::ReportKind::misaligned,
                         fmt::format("a chunk of {} bytes is not adjacent and aligned on both sides", size),
                         warp.site());
}

}  // namespace

Progress perform(WarpProgram& warp, Op const& op, CpAsyncOp const& attributes) {
  Engine& engine = warp.engine();
  int const tensor = warp.agent().tensor(*op.in<CpAsyncOp>("tensor"));
  View const& view = warp.view(*op.in<CpAsyncOp>("destination"));
  Region const& region = engine.regions().get(view);
  Extents const offsets = warp.integers(op.all<CpAsyncOp>("offsets"));
  auto const vector = static_cast<std::size_t>(attributes.vector);
  auto const size = static_cast<std::uint32_t>(vector) * static_cast<std::uint32_t>(view.element_bytes);
  int const lead = offsets.size() - view.shape.size();
  bool const one_lane = warp.lanes() != machine::all_lanes;
  std::size_t const threads = one_lane ? 1 : static_cast<std::size_t>(warp.group().warps) * warp_lanes;
  ChunkCopy copies(warp, tensor, size);
  for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
    if ((warp.lanes() >> lane & 1u) == 0) continue;
    std::size_t const thread = one_lane ? 0 : static_cast<std::size_t>(warp.index()) * warp_lanes + lane;
    for (std::size_t chunk = thread; chunk * vector < region.addresses.size(); chunk += threads) {
      std::size_t const first = chunk * vector;
      Extents at = offsets;
      auto left = static_cast<std::int64_t>(first);
      for (int axis = view.shape.size() - 1; axis >= 0; --axis) {
        at[lead + axis] += left % view.shape[axis];
        left /= view.shape[axis];
      }
      Chunk next;
      next.from = locate(warp.agent(), op, tensor, at.begin());
      std::size_t inside = 0;
      for (std::size_t k = 0; k < vector; ++k, ++at[at.size() - 1])
        inside += locate(warp.agent(), op, tensor, at.begin()) != nullptr ? 1 : 0;
      if (next.from == nullptr && inside != 0)
        engine.report(machine::ReportKind::misuse,
                      fmt::format("a chunk of {} bytes begins outside the tensor and ends inside; offsets along the "
                                  "last axis are multiples of a chunk",
                                  size),
                      warp.site());
      next.to = region.addresses[first];
      next.valid = static_cast<std::uint32_t>(inside * static_cast<std::size_t>(view.element_bytes));
      check_chunk(warp, next, size, region.addresses[first + vector - 1],
                  static_cast<std::uint32_t>(view.element_bytes));
      copies.add(next, lane);
    }
  }
  return copies.run();
}

Progress perform(WarpProgram& warp, Op const& op, CpAsyncGatherOp const& attributes) {
  Engine& engine = warp.engine();
  int const tensor = warp.agent().tensor(*op.in<CpAsyncGatherOp>("tensor"));
  View const& view = warp.view(*op.in<CpAsyncGatherOp>("destination"));
  Region const& region = engine.regions().get(view);
  Indices const indices(warp.agent(), op);
  auto const vector = static_cast<std::size_t>(attributes.vector);
  auto const element = static_cast<std::uint32_t>(view.element_bytes);
  std::uint32_t const size = static_cast<std::uint32_t>(vector) * element;
  auto const rank = static_cast<std::size_t>(op.in<CpAsyncGatherOp>("tensor")->type().rank());
  Type const* shared = nullptr;  // of the first index that is a tile
  for (ir::Value const* index : op.all<CpAsyncGatherOp>("indices"))
    if (shared == nullptr && index->type().is_tile()) shared = &index->type();
  if (warp.index() >= shared->layout()->warps()) return Progress::done;
  Fragment const& fragment = warp.fragment(*shared);
  ChunkCopy copies(warp, tensor, size);
  for (int i = 0; i < fragment.count(); ++i) {
    if (fragment.owner[static_cast<std::size_t>(i)] == 0) continue;
    auto const lane = static_cast<std::uint32_t>(fragment.lane_of(i));
    std::size_t const first = static_cast<std::size_t>(fragment.linear[static_cast<std::size_t>(i)]) * vector;
    std::int64_t at[max_rank] = {};
    indices.get(i, at);
    at[rank - 1] += fragment.at(i)[1] * attributes.vector;
    Chunk next;
    next.from = locate(warp.agent(), op, tensor, at);
    for (std::size_t k = 0; k < vector && next.from != nullptr && locate(warp.agent(), op, tensor, at) != nullptr;
         ++k, ++at[rank - 1])
      next.valid += element;
    next.to = region.addresses[first];
    check_chunk(warp, next, size, region.addresses[first + vector - 1], element);
    copies.add(next, lane);
  }
  return copies.run();
}

Progress perform(WarpProgram& warp, Op const& op, CpAsyncCoverOp const&) {
  constexpr std::uint32_t size = 16;
  constexpr unsigned char unstated = 0xff;  // NaN in every element
  Engine& engine = warp.engine();
  int const tensor = warp.agent().tensor(*op.in<CpAsyncCoverOp>("tensor"));
  Tensor const& source = warp.agent().view(tensor);
  View const& view = warp.view(*op.in<CpAsyncCoverOp>("destination"));
  std::uint32_t const to = engine.regions().get(view).addresses[0];
  Extents const offsets = warp.integers(op.all<CpAsyncCoverOp>("offsets"));
  int const last = offsets.size() - 1;
  if (offsets[last] < 0 || offsets[last - 1] < 0)
    engine.report(machine::ReportKind::misuse,
                  fmt::format("the box begins at [{}, {}], but pieces are of rows from element 0 on", offsets[last - 1],
                              offsets[last]),
                  warp.site());
  auto const element = static_cast<std::uint32_t>(view.element_bytes);
  auto const rows = static_cast<std::size_t>(view.shape[0]);
  std::size_t const pieces = static_cast<std::size_t>(view.shape[1]) * element / size - 1;  // beside a row's last one
  std::int64_t const columns = view.shape[1] - size / element;
  ChunkCopy copies(warp, tensor, size);
  auto const copy = [&](std::size_t row, std::size_t piece, std::uint32_t lane) {
    Extents at = offsets;
    at[last - 1] += static_cast<std::int64_t>(row);
    Chunk next;
    next.to = to + static_cast<std::uint32_t>((row * (pieces + 1) + piece) * size);
    if (locate(warp.agent(), op, tensor, at.begin()) != nullptr) {
      std::int64_t const begin = static_cast<std::int64_t>(address_at(source, at.begin()));
      std::int64_t const end = begin + std::min(columns, source.extents[last] - at[last]) * element;
      std::int64_t const from = begin / size * size + static_cast<std::int64_t>(piece) * size;
      auto const inside = [&](std::int64_t place) {
        return static_cast<std::uint32_t>(std::clamp<std::int64_t>(place - from, 0, size));
      };
      next.others = unstated;
      next.first = inside(begin);
      next.valid = inside(end);
      if (next.first < next.valid) next.from = reinterpret_cast<std::byte const*>(from);
    }
    copies.add(next, lane);
  };
  auto const threads = static_cast<std::size_t>(warp.group().warps) * warp_lanes;
  for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
    if ((warp.lanes() >> lane & 1u) == 0) continue;
    std::size_t const thread = static_cast<std::size_t>(warp.index()) * warp_lanes + lane;
    for (std::size_t n = thread; n < rows * pieces; n += threads) copy(n / pieces, n % pieces, lane);
    for (std::size_t row = thread; row < rows; row += threads) copy(row, pieces, lane);
  }
  return copies.run();
}

Progress perform(WarpProgram& warp, Op const&, CpAsyncCommitOp const&) {
  warp.warp().cp_async_commit(warp.lanes(), warp.site());
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const&, CpAsyncWaitOp const& attributes) {
  (void)warp.warp().cp_async_wait(warp.lanes(), static_cast<int>(attributes.pending), warp.site());
  return Progress::turn;
}

Progress perform(WarpProgram& warp, Op const& op, CpAsyncArriveOp const& attributes) {
  (void)warp.warp().cp_async_arrive(warp.lanes(), warp.mbarrier(*op.in<CpAsyncArriveOp>("mbarrier")),
                                    attributes.counted, warp.site());
  return Progress::turn;
}

}  // namespace tegula::sim::block
