// Copies of boxes between global and shared memory (TMA). One IR op may stand for several copies of the map's box; each
// is an agent of the machine.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "ir/memory/accesses.hpp"
#include "ir/text/text.hpp"
#include "layout/shared_layouts.hpp"
#include "sim/block/meaning.hpp"
#include "sim/combine.hpp"
#include "sim/memory_element.hpp"
#include "target/tma_strides.hpp"
#include "tegula/support/error.hpp"
#include "tegula/target/tma_rules.hpp"

namespace tegula::sim::block {

using namespace ir;
using machine::Footprint;
using machine::LaneBytes;

namespace {

/// Returns the bytes after which the pattern repeats, to which a buffer is aligned: 1024, 512, 256; 128 without a
/// swizzle.
constexpr std::uint32_t pattern_bytes(Swizzle swizzle) {
  return static_cast<std::uint32_t>(layout::swizzle_alignment(swizzle_bytes(swizzle)));
}

/// Describes a tensor map and one copy through it: the box in the tensor and in shared memory.
struct BoxCopy {
  TensorMapOp const* map = nullptr;
  int tensor = -1;                ///< or a slice
  int argument = -1;              ///< whose memory it names
  machine::Footprint descriptor;  ///< empty: passed by value
  Extents at;                     ///< of the box's first element, one per tensor axis
  View view;
  Region const* region = nullptr;
};

/// Returns the copies that make up a view, in the order of their shared addresses; found in the op's first turn.
std::vector<BoxCopy> const& boxes(WarpProgram& warp, Op const& op) {
  auto& result = warp.kept<std::vector<BoxCopy>>();
  if (!result.empty()) return result;
  Extents const offsets = warp.integers(op.all("offsets"));
  Op const& map = *warp.handle(*op.in("map")).tensor_map;
  TensorMapOp const& attributes = tensor_map_of(*map.result())->as<TensorMapOp>();
  View const& whole = warp.view(*ir::view_of(op));
  Extents const& rows = map.result()->type().shape();  // axes of the box may be one axis of the view
  int const lead = rows.size() - whole.shape.size();
  Extents box;
  for (int axis = lead; axis < rows.size(); ++axis) box.push_back(rows[axis]);
  Extents start;
  for (int axis = 0; axis < box.size(); ++axis) start.push_back(0);
  for (;;) {
    BoxCopy copy;
    copy.map = &attributes;
    copy.tensor = warp.agent().tensor(tensor_of(*map.result()));
    copy.argument = warp.agent().argument(copy.tensor);
    if (map.is<DeviceTensorMapOp>()) copy.descriptor = warp.engine().descriptor(*map.in("home"), warp.cta());
    copy.at = offsets;
    for (int axis = 0; axis < box.size(); ++axis) copy.at[lead + axis] += start[axis];
    copy.view = whole.box(start, box);
    copy.region = &warp.engine().regions().get(copy.view);
    result.push_back(copy);
    int axis = box.size() - 1;
    for (; axis >= 0; --axis) {
      if ((start[axis] += box[axis]) < whole.shape[axis]) break;
      start[axis] = 0;
    }
    if (axis < 0) break;
  }
  std::stable_sort(result.begin(), result.end(),
                   [](BoxCopy const& a, BoxCopy const& b) { return a.region->addresses[0] < b.region->addresses[0]; });
  return result;
}

/// Checks that the box has its place in the view. The copy engine lays a box out by the map alone: row after row,
/// swizzled by address. The view must say the same.
void check_placement(WarpProgram& warp, Op const& op, BoxCopy const& copy) {
  if (!warp.engine().first_check(op, *copy.region)) return;
  Extents const& box = copy.map->box;
  auto const size = static_cast<std::uint32_t>(copy.view.element_bytes);
  auto const inner = static_cast<std::uint32_t>(box.back());
  std::uint32_t const first = copy.region->addresses[0];
  if (first % pattern_bytes(copy.map->swizzle) != 0) return;  // the machine reports it
  auto const width = static_cast<std::uint32_t>(swizzle_bytes(copy.map->swizzle));
  std::uint32_t const pitch = std::max(inner * size, width);
  for (std::size_t i = 0; i < copy.region->addresses.size(); ++i) {
    auto const number = static_cast<std::uint32_t>(i);
    std::uint32_t expected = first + number / inner * pitch + number % inner * size;
    if (width != 0) expected ^= (expected >> 7 & (width / 16 - 1)) << 4;
    if (expected == copy.region->addresses[i]) continue;
    throw UserError(
        fmt::format(
            "simulate: {}: element {} of row {} of the box goes to byte {} by the map, whose swizzle is {}, but the "
            "view {} : {} has it at byte {}; the layout of the buffer and the map's box and swizzle must agree",
            op.info().mnemonic, number % inner, number / inner, expected - first,
            enum_names<Swizzle>[static_cast<std::size_t>(copy.map->swizzle)], to_string(*ir::view_of(op)),
            to_string(ir::view_of(op)->type()), copy.region->addresses[i] - first),
        op.where());
  }
}

/// Checks the tensor of a tensor map.
void check_tensor(Op const& op, Tensor const& tensor) {
  auto const refuse = [&](std::string const& reason) {
    throw UserError("simulate: " + std::string(op.info().mnemonic) + ": " + reason, op.where());
  };
  for (std::int64_t const extent : tensor.extents)
    if (extent == 0) return;  // other memory stands in for it
  if (tensor.extents.back() > 1 && tensor.strides.back() != 1)
    refuse(fmt::format("the last axis has stride {} but its elements must be adjacent", tensor.strides.back()));
  int const size = bytes(tensor.element);
  auto const found =
      target::tma_obstacle(tensor.data, size, tensor.extents.size(), tensor.extents.begin(), tensor.strides.begin());
  if (!found) return;
  if (found->kind == target::TmaObstacle::Kind::extent)
    refuse(fmt::format("axis {} has {} elements, more than {}", found->axis, tensor.extents[found->axis],
                       tma_rule::max_extent));
  if (found->kind == target::TmaObstacle::Kind::address)
    refuse(fmt::format("the tensor begins {} bytes behind a multiple of 16",
                       reinterpret_cast<std::uintptr_t>(tensor.data) % 16));
  refuse(fmt::format("axis {} has a stride of {} elements of {} bytes, not a multiple of 16 bytes from 0 to below 2^40",
                     found->axis, tensor.strides[found->axis], size));
}

/// Visits the runs of adjacent elements of a box: visit(first element of the box, count, address). The address is null
/// outside.
template <class Visit>
void each_run(Agent& agent, Op const& op, BoxCopy const& copy, Visit const& visit) {
  Tensor const& tensor = agent.view(copy.tensor);
  Extents const& box = copy.map->box;
  int const last = box.size() - 1;
  std::int64_t const inner = box[last];
  std::int64_t const begin = std::clamp<std::int64_t>(-copy.at[last], 0, inner);
  std::int64_t const end = std::clamp<std::int64_t>(tensor.extents[last] - copy.at[last], begin, inner);
  std::int64_t at[max_rank] = {};
  for (int axis = 0; axis <= last; ++axis) at[axis] = copy.at[axis];
  std::int64_t const rows = box.product() / inner;
  for (std::int64_t row = 0; row < rows; ++row) {
    at[last] = copy.at[last] + begin;
    std::byte* const address = begin < end ? locate(agent, op, copy.tensor, at) : nullptr;
    std::int64_t const base = row * inner;
    if (address == nullptr) {
      visit(base, inner, static_cast<std::byte*>(nullptr));
    } else {
      if (begin > 0) visit(base, begin, static_cast<std::byte*>(nullptr));
      visit(base + begin, end - begin, address);
      if (end < inner) visit(base + end, inner - end, static_cast<std::byte*>(nullptr));
    }
    for (int axis = last - 1; axis >= 0; --axis) {
      if (++at[axis] < copy.at[axis] + box[axis]) break;
      at[axis] = copy.at[axis];
    }
  }
}

std::vector<LaneBytes> global_bytes(WarpProgram& warp, Op const& op, BoxCopy const& copy) {
  std::vector<LaneBytes> result;
  GlobalMemory const& global = warp.engine().global();
  auto const size = static_cast<std::uint64_t>(copy.view.element_bytes);
  each_run(warp.agent(), op, copy, [&](std::int64_t, std::int64_t count, std::byte* address) {
    if (address == nullptr) return;
    std::uint64_t const at = global.offset(copy.argument, address);
    result.push_back({at, at + static_cast<std::uint64_t>(count) * size, machine::every_lane});
  });
  return result;
}

/// Checks the rules of PTX for the start of a box:
/// - it lies at a multiple of 16 bytes,
/// - its coordinates have 32 bits,
/// - those of a copy out of shared memory are not below 0.
void check_start(WarpProgram& warp, BoxCopy const& copy, bool store) {
  std::int64_t const byte = copy.at.back() * copy.view.element_bytes;
  if (byte % 16 != 0)
    warp.engine().report(machine::ReportKind::misaligned,
                         fmt::format("the box starts at byte {} of its row, which is not a multiple of 16; prove the "
                                     "offset a multiple of {}, or do not use the copy engine",
                                     byte, 16 / copy.view.element_bytes),
                         warp.site());
  for (int axis = 0; axis < copy.at.size(); ++axis)
    if (copy.at[axis] != static_cast<std::int32_t>(copy.at[axis]))
      warp.engine().report(machine::ReportKind::misuse,
                           fmt::format("the box starts at element {} along axis {}, which the 32 bits of a coordinate "
                                       "cannot hold; clamp it (clamp-coordinates)",
                                       copy.at[axis], axis),
                           warp.site());
  bool const negative = std::any_of(copy.at.begin(), copy.at.end(), [](std::int64_t at) { return at < 0; });
  if (store && negative)
    warp.engine().report(machine::ReportKind::misuse,
                         "a copy out of shared memory starts at a negative offset; only a copy into shared memory may",
                         warp.site());
}

void join_element(std::byte* to, std::byte const* from, Element element, Combine kind) {
  with_storage(storage_of(element, Precision::exact), [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_same_v<T, std::uint8_t>)
      write_element(to, element, combine(kind, read_element<T>(to, element), read_element<T>(from, element)));
  });
}

/// Performs one copy out of shared memory; joins when `combine` is given.
Progress copy_out(WarpProgram& warp, Op const& op, Combine const* combine) {
  std::vector<BoxCopy> const& all = boxes(warp, op);
  BoxCopy const copy = all[static_cast<std::size_t>(warp.turn())];
  check_placement(warp, op, copy);
  check_start(warp, copy, true);
  Engine& engine = warp.engine();
  std::vector<LaneBytes> const written = global_bytes(warp, op, copy);
  auto held = std::make_shared<std::vector<std::byte>>();
  auto const size = static_cast<std::size_t>(copy.view.element_bytes);
  Agent* const agent = &warp.agent();
  int const cta = warp.cta();
  bool const joins = combine != nullptr;
  Combine const kind = joins ? *combine : Combine::sum;
  machine::CopyOut action;
  action.source = Footprint(warp.warp().shared(), copy.region->intervals);
  action.destination = Footprint(engine.global().space(copy.argument), written);
  action.alignment = pattern_bytes(copy.map->swizzle);
  action.reduce = joins;
  action.tensor_map = copy.descriptor;
  action.effect =
      engine.effect(2, [&engine, &op, agent, cta, copy, held, size, joins, kind](machine::Moment moment, int) {
        if (moment == machine::Moment::read_source) {
          std::byte const* const memory = engine.shared_bytes(cta);
          held->resize(copy.region->addresses.size() * size);
          for (std::size_t i = 0; i < copy.region->addresses.size(); ++i)
            std::memcpy(held->data() + i * size, memory + copy.region->addresses[i], size);
          return;
        }
        Element const element = agent->view(copy.tensor).element;
        each_run(*agent, op, copy, [&](std::int64_t first, std::int64_t count, std::byte* address) {
          if (address == nullptr) return;
          std::byte const* const from = held->data() + static_cast<std::size_t>(first) * size;
          if (!joins) {
            std::memcpy(address, from, static_cast<std::size_t>(count) * size);
            return;
          }
          for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
            join_element(address + i * size, from + i * size, element, kind);
        });
      });
  (void)warp.warp().copy_out(warp.lanes(), action, warp.site());
  return static_cast<std::size_t>(warp.turn()) + 1 < all.size() ? Progress::again : Progress::turn;
}

}  // namespace

// The map of a slice, before build-tensor-maps, counts as one by value.
Progress perform(WarpProgram& warp, Op const& op, TensorMapOp const&) {
  check_tensor(op, warp.agent().view(warp.agent().tensor(*op.in<TensorMapOp>("tensor"))));
  warp.handle(*op.result()).tensor_map = &op;
  return Progress::done;
}

// Descriptors that the kernel builds.

namespace {

void check_one_lane(WarpProgram& warp, Op const& op) {
  if (std::popcount(warp.lanes()) == 1) return;
  throw UserError(fmt::format("simulate: {} is executed by {} lanes; put it into an elect region", op.info().mnemonic,
                              std::popcount(warp.lanes())),
                  op.where());
}

Footprint home_bytes(WarpProgram& warp, Op const& op) {
  return Footprint(warp.warp().shared(), warp.engine().regions().get(warp.view(*op.in("home"))).intervals);
}

Footprint descriptor_of(WarpProgram& warp, ir::Value const& map) {
  return warp.engine().descriptor(*warp.handle(map).tensor_map->in("home"), warp.cta());
}

}  // namespace

Progress perform(WarpProgram& warp, Op const& op, BuildTensorMapOp const&) {
  check_one_lane(warp, op);
  check_tensor(op, warp.agent().view(warp.agent().tensor(*op.in<BuildTensorMapOp>("slice"))));
  warp.warp().write(warp.lanes(), warp.engine().descriptor(*op.in<BuildTensorMapOp>("home"), warp.cta()), warp.site());
  warp.warp().write(warp.lanes(), home_bytes(warp, op), warp.site());
  warp.engine().note_built(*op.in<BuildTensorMapOp>("home"), warp.cta(), warp.site());
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const&, ReleaseTensorMapsOp const&) {
  warp.warp().release_tensor_maps(warp.lanes(), warp.site());
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, DeviceTensorMapOp const&) {
  warp.warp().read(warp.lanes(), home_bytes(warp, op), warp.site());
  warp.handle(*op.result()).tensor_map = &op;
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, AcquireTensorMapOp const&) {
  warp.warp().acquire_tensor_map(warp.lanes(), descriptor_of(warp, *op.operand()), warp.site());
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, FreeTensorMapOp const&) {
  check_one_lane(warp, op);
  warp.warp().write(warp.lanes(), descriptor_of(warp, *op.operand()), warp.site());  // the next CTA's
  warp.engine().note_freed(*warp.handle(*op.operand()).tensor_map->in("home"), warp.cta(), warp.site());
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, TmaLoadOp const& attributes) {
  std::vector<BoxCopy> const& all = boxes(warp, op);
  BoxCopy const copy = all[static_cast<std::size_t>(warp.turn())];
  check_placement(warp, op, copy);
  check_start(warp, copy, false);
  Engine& engine = warp.engine();
  std::vector<LaneBytes> read;
  if (engine.global().recorded(copy.argument)) read = global_bytes(warp, op, copy);
  auto const size = static_cast<std::size_t>(copy.view.element_bytes);
  Agent* const agent = &warp.agent();
  auto const multicast = static_cast<std::uint32_t>(attributes.multicast);
  int const base = multicast == 0 ? warp.cta() : warp.cta() / engine.cluster() * engine.cluster();
  machine::CopyIn action;
  action.source = Footprint(engine.global().space(copy.argument), read);
  action.destination = Footprint(warp.warp().shared(), copy.region->intervals);
  action.mbarrier = warp.mbarrier(*op.in<TmaLoadOp>("mbarrier"));
  action.bytes = static_cast<std::uint32_t>(copy.region->addresses.size() * size);
  action.alignment = pattern_bytes(copy.map->swizzle);
  action.multicast = multicast;
  action.tensor_map = copy.descriptor;
  int const calls = multicast == 0 ? 1 : std::popcount(multicast);
  action.effect = engine.effect(calls, [&engine, &op, agent, base, copy, size](machine::Moment, int rank) {
    std::byte* const memory = engine.shared_bytes(base + rank);
    each_run(*agent, op, copy, [&](std::int64_t first, std::int64_t count, std::byte const* address) {
      for (std::int64_t i = 0; i < count; ++i) {
        std::byte* const to = memory + copy.region->addresses[static_cast<std::size_t>(first + i)];
        if (address == nullptr)
          std::memset(to, 0, size);
        else
          std::memcpy(to, address + static_cast<std::size_t>(i) * size, size);
      }
    });
  });
  (void)warp.warp().copy_in(warp.lanes(), action, warp.site());
  return static_cast<std::size_t>(warp.turn()) + 1 < all.size() ? Progress::again : Progress::turn;
}

Progress perform(WarpProgram& warp, Op const& op, TmaStoreOp const&) { return copy_out(warp, op, nullptr); }

Progress perform(WarpProgram& warp, Op const& op, TmaReduceOp const& attributes) {
  return copy_out(warp, op, &attributes.combine);
}

// Hints.
Progress perform(WarpProgram&, Op const&, PrefetchTensorMapOp const&) { return Progress::done; }
Progress perform(WarpProgram&, Op const&, TmaPrefetchOp const&) { return Progress::done; }
Progress perform(WarpProgram&, Op const&, PrefetchOp const&) { return Progress::done; }

}  // namespace tegula::sim::block
