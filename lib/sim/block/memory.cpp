// Implements ordinary accesses (generic proxy): loads, stores and atomics of global memory, shared buffers and their
// views.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "ir/memory/accesses.hpp"
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

/// Adds the bytes of one lane, joined with its last ones where they meet.
void add_bytes(std::vector<LaneBytes>& bytes, std::uint64_t begin, std::uint64_t size, int lane) {
  auto const number = static_cast<std::uint32_t>(lane);
  if (!bytes.empty() && bytes.back().lane == number && bytes.back().end == begin)
    bytes.back().end += size;
  else
    bytes.push_back({begin, begin + size, number});
}

/// Visits this warp's elements of a tile in global memory at offsets: visit(element, address). The address is null
/// outside the tensor or the accessed part of the tile (empty: all).
template <class Visit>
void each_global(WarpProgram& warp, Op const& op, int tensor, Fragment const& fragment, Extents const& part,
                 Extents const& offsets, Visit const& visit) {
  int const lead = offsets.size() - fragment.rank;
  std::int64_t at[max_rank] = {};
  for (int axis = 0; axis < lead; ++axis) at[axis] = offsets[axis];
  for (int i = 0; i < fragment.count(); ++i) {
    if ((warp.lanes() >> fragment.lane_of(i) & 1u) == 0) continue;
    bool within = true;
    for (int axis = 0; axis < fragment.rank; ++axis) {
      at[lead + axis] = offsets[lead + axis] + fragment.at(i)[axis];
      within = within && (part.empty() || fragment.at(i)[axis] < part[axis]);
    }
    visit(i, within ? locate(warp.agent(), op, tensor, at) : nullptr);
  }
}

/// Lists the bytes per lane of a fragment in a region of shared memory; `owners`: only where the thread owns the
/// element.
std::vector<LaneBytes> shared_bytes_of(Fragment const& fragment, Region const& region, std::uint32_t size, bool owners,
                                       machine::Lanes lanes) {
  std::vector<LaneBytes> bytes;
  std::vector<std::uint32_t> addresses;
  for (int lane = 0; lane < warp_lanes; ++lane) {
    if ((lanes >> lane & 1u) == 0) continue;
    addresses.clear();
    for (int i = lane * fragment.registers; i < (lane + 1) * fragment.registers; ++i) {
      auto const element = static_cast<std::size_t>(i);
      if (!owners || fragment.owner[element] != 0)
        addresses.push_back(region.addresses[static_cast<std::size_t>(fragment.linear[element])]);
    }
    std::sort(addresses.begin(), addresses.end());
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
    for (std::uint32_t const address : addresses) add_bytes(bytes, address, size, lane);
  }
  return bytes;
}

/// Holds bytes by region, made once per op and warp.
using SharedTable = std::map<std::pair<Region const*, machine::Lanes>, std::vector<LaneBytes>>;

std::vector<LaneBytes> const& shared_table(WarpProgram& warp, Op const& op, Fragment const& fragment,
                                           Region const& region, int size, bool owners) {
  SharedTable& table = warp.engine().table<SharedTable>(op, warp.index());
  auto const [at, fresh] = table.try_emplace({&region, warp.lanes()});
  if (fresh) at->second = shared_bytes_of(fragment, region, static_cast<std::uint32_t>(size), owners, warp.lanes());
  return at->second;
}

/// Writes the elements of a tile that these lanes own to shared memory.
void write_owned(Value const& tile, Element element, Fragment const& fragment, Region const& region,
                 machine::Lanes lanes, std::byte* memory) {
  with_storage(tile.storage(), [&]<class T>(std::type_identity<T>) {
    T const* const data = tile.data<T>();
    for (int i = 0; i < fragment.count(); ++i) {
      auto const at = static_cast<std::size_t>(i);
      if (fragment.owner[at] == 0 || (lanes >> fragment.lane_of(i) & 1u) == 0) continue;
      write_element(memory + region.addresses[static_cast<std::size_t>(fragment.linear[at])], element, data[i]);
    }
  });
}

}  // namespace

// --- global memory ---------------------------------------------------------------------------------------------------

namespace {

/// Reads one element in every lane.
Progress load_scalar(WarpProgram& warp, Op const& op, LoadOp const& attributes) {
  int const tensor = warp.agent().tensor(*op.in<LoadOp>("tensor"));
  Extents const offsets = warp.integers(op.all<LoadOp>("offsets"));
  Value result = warp.agent().fresh(op);
  GlobalMemory const& global = warp.engine().global();
  std::byte const* const address = locate(warp.agent(), op, tensor, offsets.begin());
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    *result.data<T>() =
        address == nullptr ? constant_as<T>(attributes.pad) : read_element<T>(address, result.element());
  });
  if (address != nullptr && global.recorded(warp.agent().argument(tensor))) {
    std::uint64_t const at = global.offset(warp.agent().argument(tensor), address);
    auto const size = static_cast<std::uint64_t>(bytes(result.element()));
    warp.warp().read(warp.lanes(), Footprint(global.space(warp.agent().argument(tensor)), at, at + size), warp.site());
  }
  warp.set(*op.result(), std::move(result));
  return Progress::done;
}

}  // namespace

Progress perform(WarpProgram& warp, Op const& op, LoadOp const& attributes) {
  if (op.result()->type().is_scalar()) return load_scalar(warp, op, attributes);
  int const tensor = warp.agent().tensor(*op.in<LoadOp>("tensor"));
  Fragment const& fragment = warp.fragment(op.result()->type());
  Value result = warp.agent().fresh(op);
  GlobalMemory const& global = warp.engine().global();
  bool const recorded = global.recorded(warp.agent().argument(tensor));
  Element const element = result.element();
  auto const size = static_cast<std::uint64_t>(bytes(element));
  std::vector<LaneBytes> touched;
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    T const pad = constant_as<T>(attributes.pad);
    T* const to = result.data<T>();
    std::fill_n(to, result.count(), pad);
    each_global(warp, op, tensor, fragment, attributes.part, warp.integers(op.all<LoadOp>("offsets")),
                [&](int i, std::byte const* address) {
                  if (address == nullptr) return;
                  to[i] = read_element<T>(address, element);
                  if (recorded)
                    add_bytes(touched, global.offset(warp.agent().argument(tensor), address), size,
                              fragment.lane_of(i));
                });
  });
  if (!touched.empty())
    warp.warp().read(warp.lanes(), Footprint(global.space(warp.agent().argument(tensor)), touched), warp.site());
  warp.set(*op.result(), std::move(result));
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, StoreOp const& attributes) {
  int const tensor = warp.agent().tensor(*op.in<StoreOp>("tensor"));
  Value const tile = warp.value(*op.in<StoreOp>("tile"));
  Fragment const& fragment = warp.fragment(op.in<StoreOp>("tile")->type());
  GlobalMemory const& global = warp.engine().global();
  Element const element = tile.element();
  auto const size = static_cast<std::uint64_t>(bytes(element));
  std::vector<LaneBytes> touched;
  with_storage(tile.storage(), [&]<class T>(std::type_identity<T>) {
    each_global(warp, op, tensor, fragment, attributes.part, warp.integers(op.all<StoreOp>("offsets")),
                [&](int i, std::byte* address) {
                  if (address == nullptr || fragment.owner[static_cast<std::size_t>(i)] == 0) return;
                  write_element(address, element, tile.data<T>()[i]);
                  add_bytes(touched, global.offset(warp.agent().argument(tensor), address), size, fragment.lane_of(i));
                });
  });
  if (!touched.empty())
    warp.warp().write(warp.lanes(), Footprint(global.space(warp.agent().argument(tensor)), touched), warp.site());
  return Progress::done;
}

namespace {

template <class T>
T joined(AtomicKind kind, T old, T value) {
  switch (kind) {
    case AtomicKind::add:
      if constexpr (std::is_floating_point_v<T>)
        return old + value;
      else
        return math::wrapping_add(old, value);
    case AtomicKind::min:
      return std::min(old, value);
    case AtomicKind::max:
      return std::max(old, value);
    case AtomicKind::exchange:
      return value;
    case AtomicKind::increment:
      break;
  }
  return old >= value ? T{0} : static_cast<T>(old + 1);
}

}  // namespace

Progress perform(WarpProgram& warp, Op const& op, AtomicOp const& attributes) {
  if (std::popcount(warp.lanes()) != 1)
    throw UserError(
        fmt::format("simulate: atomic is executed by {} lanes, so it runs as many times; put it into an elect region",
                    std::popcount(warp.lanes())),
        op.where());
  int const tensor = warp.agent().tensor(*op.in<AtomicOp>("tensor"));
  Extents const offsets = warp.integers(op.all<AtomicOp>("offsets"));
  Value const value = warp.value(*op.in<AtomicOp>("value"));
  Value result = warp.agent().fresh(op);
  std::byte* const address = locate(warp.agent(), op, tensor, offsets.begin());
  if (address == nullptr) {
    warp.engine().report(machine::ReportKind::misuse, "the atomic's element lies outside the tensor", warp.site());
    warp.set(*op.result(), std::move(result));
    return Progress::done;
  }
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_same_v<T, std::uint8_t>) {
      T const old = read_element<T>(address, result.element());
      *result.data<T>() = old;
      T const now = joined(attributes.kind, old, *value.data<T>());
      write_element(address, result.element(), now);
    }
  });
  GlobalMemory const& global = warp.engine().global();
  std::uint64_t const at = global.offset(warp.agent().argument(tensor), address);
  auto const size = static_cast<std::uint64_t>(bytes(result.element()));
  warp.set(*op.result(), std::move(result));
  (void)warp.warp().atomic(warp.lanes(), Footprint(global.space(warp.agent().argument(tensor)), at, at + size),
                           machine::AtomicOrder::relaxed, warp.site());
  return Progress::turn;
}

// --- elements at indices ---------------------------------------------------------------------------------------------

namespace {

/// Visits this warp's elements at the indices that tiles hold: visit(element, address), address null outside. `owners`:
/// those elements that this warp owns. Returns the bytes of the elements inside.
template <class Visit>
std::vector<LaneBytes> each_indexed(WarpProgram& warp, Op const& op, Fragment const& fragment, bool owners,
                                    Visit const& visit) {
  Indices const indices(warp.agent(), op);
  int const tensor = warp.agent().tensor(*op.in("tensor"));
  auto const size = static_cast<std::uint64_t>(bytes(op.in("tensor")->type().element()));
  std::vector<LaneBytes> touched;
  std::int64_t coordinates[max_rank] = {};
  for (int i = 0; i < fragment.count(); ++i) {
    if ((warp.lanes() >> fragment.lane_of(i) & 1u) == 0) continue;
    if (owners && fragment.owner[static_cast<std::size_t>(i)] == 0) continue;
    indices.get(i, coordinates);
    std::byte* const address = locate(warp.agent(), op, tensor, coordinates);
    visit(i, address);
    if (address != nullptr)
      add_bytes(touched, warp.engine().global().offset(warp.agent().argument(tensor), address), size,
                fragment.lane_of(i));
  }
  return touched;
}

Footprint global_footprint(WarpProgram& warp, Op const& op, std::vector<LaneBytes> const& touched) {
  return Footprint(warp.engine().global().space(warp.agent().argument(warp.agent().tensor(*op.in("tensor")))), touched);
}

machine::AtomicOrder order_of(MemoryOrder order) {
  switch (order) {
    case MemoryOrder::relaxed:
      break;
    case MemoryOrder::acquire:
      return machine::AtomicOrder::acquire;
    case MemoryOrder::release:
      return machine::AtomicOrder::release;
    case MemoryOrder::acq_rel:
      return machine::AtomicOrder::acq_rel;
  }
  return machine::AtomicOrder::relaxed;
}

/// Replaces elements that this warp owns by the result of `changed(i, old)`, and sets the result to the old ones.
template <class Changed>
Progress change_each(WarpProgram& warp, Op const& op, MemoryOrder order, AtomicScope scope, Changed const& changed) {
  if (op.result()->type().is_scalar())
    throw UserError("simulate: " + std::string(op.info().mnemonic) +
                        " of a scalar is made one of a tile before warps run it (share-atomic-results)",
                    op.where());
  Value result = warp.agent().fresh(op);
  Element const element = result.element();
  std::vector<LaneBytes> const touched = with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    T* const to = result.data<T>();
    return each_indexed(warp, op, warp.fragment(op.result()->type()), true, [&](int i, std::byte* address) {
      if (address == nullptr) return;
      to[i] = read_element<T>(address, element);
      write_element(address, element, changed(i, to[i]));
    });
  });
  warp.set(*op.result(), std::move(result));
  if (touched.empty()) return Progress::done;
  (void)warp.warp().atomic(warp.lanes(), global_footprint(warp, op, touched), order_of(order), warp.site(),
                           scope == AtomicScope::block);
  return Progress::turn;
}

}  // namespace

Progress perform(WarpProgram& warp, Op const& op, GatherOp const& attributes) {
  Value result = warp.agent().fresh(op);
  std::vector<LaneBytes> const touched = with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    T const pad = constant_as<T>(attributes.pad);
    T* const to = result.data<T>();
    return each_indexed(warp, op, warp.fragment(op.result()->type()), false, [&](int i, std::byte const* address) {
      to[i] = address == nullptr ? pad : read_element<T>(address, result.element());
    });
  });
  if (!touched.empty() &&
      warp.engine().global().recorded(warp.agent().argument(warp.agent().tensor(*op.in<GatherOp>("tensor")))))
    warp.warp().read(warp.lanes(), global_footprint(warp, op, touched), warp.site());
  warp.set(*op.result(), std::move(result));
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, ScatterOp const&) {
  Value const tile = warp.value(*op.in<ScatterOp>("tile"));
  std::vector<LaneBytes> const touched = with_storage(tile.storage(), [&]<class T>(std::type_identity<T>) {
    return each_indexed(warp, op, warp.fragment(tile.type()), true, [&](int i, std::byte* address) {
      if (address != nullptr) write_element(address, tile.element(), tile.data<T>()[i]);
    });
  });
  if (!touched.empty()) warp.warp().write(warp.lanes(), global_footprint(warp, op, touched), warp.site());
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, AtomicUpdateOp const& attributes) {
  Value const value = warp.value(*op.in<AtomicUpdateOp>("tile"));
  return change_each(warp, op, attributes.order, attributes.scope,
                     [&]<class T>(int i, T old) { return updated(attributes.combine, old, value.data<T>()[i]); });
}

Progress perform(WarpProgram& warp, Op const& op, CompareExchangeOp const& attributes) {
  Value const value = warp.value(*op.in<CompareExchangeOp>("tile"));
  Value const expected = warp.value(*op.in<CompareExchangeOp>("expected"));
  return change_each(warp, op, attributes.order, attributes.scope, [&]<class T>(int i, T old) {
    return same_bits(old, expected.data<T>()[i]) ? value.data<T>()[i] : old;
  });
}

// --- shared memory ---------------------------------------------------------------------------------------------------

Progress perform(WarpProgram& warp, Op const& op, BufferAllocOp const&) {
  Type const& type = op.result()->type();
  if (holds_log(*op.result())) return Progress::done;
  Handle& handle = warp.handle(*op.result());
  std::uint32_t const begin = type.is_global() ? 0 : warp.shared_place(op);
  if (type.is_mbarrier()) {
    handle.mbarrier = begin;
    return Progress::done;
  }
  View& view = handle.view;
  view = {};
  view.map = &warp.engine().regions().map(*type.layout());
  view.base = begin;
  view.global = type.is_global() ? &op : nullptr;
  view.element_bytes = bytes(type.element());
  view.shape = type.shape();
  for (int axis = 0; axis < type.rank(); ++axis) {
    view.axes.push_back(axis);
    view.origin.push_back(0);
  }
  return Progress::done;
}

Progress perform(WarpProgram&, Op const&, BufferDeallocOp const&) { return Progress::done; }

Progress perform(WarpProgram& warp, Op const& op, ViewOp const&) {
  Type const &from = op.in<ViewOp>("source")->type(), &to = op.result()->type();
  Extents const offsets = warp.integers(op.all<ViewOp>("offsets"));
  if (from.is_mbarrier()) {
    if (offsets[0] < 0 || offsets[0] >= from.elements())
      throw UserError(fmt::format("simulate: there is no mbarrier {} of {}", offsets[0], from.elements()), op.where());
    warp.handle(*op.result()).mbarrier =
        warp.handle(*op.in<ViewOp>("source")).mbarrier + 8 * static_cast<std::uint32_t>(offsets[0]);
    return Progress::done;
  }
  warp.handle(*op.result()).view = warp.view(*op.in<ViewOp>("source")).box(offsets, to.shape());
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, TransViewOp const&) {
  warp.handle(*op.result()).view = warp.view(*op.operand()).transposed();
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, BufferLoadOp const&) {
  Type const& type = op.result()->type();
  View const& view = warp.view(*op.operand());
  Region const& region = warp.engine().regions().get(view);
  Value result = warp.agent().fresh(op);
  std::byte const* const memory = warp.engine().bytes_behind(view, warp.cta());
  machine::Space const space = warp.engine().space_behind(view, warp.cta());
  if (type.is_scalar()) {
    with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
      *result.data<T>() = read_element<T>(memory + region.addresses[0], type.element());
    });
    LaneBytes const& bytes = region.intervals[0];
    warp.warp().read(warp.lanes(), Footprint(space, bytes.begin, bytes.end), warp.site());
    warp.set(*op.result(), std::move(result));
    return Progress::done;
  }
  Fragment const& fragment = warp.fragment(type);
  std::vector<std::uint32_t> addresses;
  addresses.reserve(fragment.linear.size());
  for (std::int32_t const linear : fragment.linear)
    addresses.push_back(region.addresses[static_cast<std::size_t>(linear)]);
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    read_elements(memory, std::span<std::uint32_t const>(addresses), type.element(), result.data<T>());
  });
  warp.warp().read(warp.lanes(),
                   Footprint(space, shared_table(warp, op, fragment, region, bytes(type.element()), false)),
                   warp.site());
  warp.set(*op.result(), std::move(result));
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, BufferStoreOp const&) {
  ir::Value const& source = *op.in<BufferStoreOp>("value");
  Type const& type = source.type();
  View const& view = warp.view(*op.in<BufferStoreOp>("destination"));
  Region const& region = warp.engine().regions().get(view);
  Value const tile = warp.value(source);
  std::byte* const memory = warp.engine().bytes_behind(view, warp.cta());
  machine::Space const space = warp.engine().space_behind(view, warp.cta());
  if (type.is_scalar()) {
    with_storage(tile.storage(), [&]<class T>(std::type_identity<T>) {
      write_element(memory + region.addresses[0], type.element(), *tile.data<T>());
    });
    LaneBytes const& bytes = region.intervals[0];
    warp.warp().write(warp.lanes(), Footprint(space, bytes.begin, bytes.end), warp.site());
    return Progress::done;
  }
  Fragment const& fragment = warp.fragment(type);
  write_owned(tile, type.element(), fragment, region, warp.lanes(), memory);
  std::vector<LaneBytes> const& bytes_written = shared_table(warp, op, fragment, region, bytes(type.element()), true);
  if (!bytes_written.empty()) warp.warp().write(warp.lanes(), Footprint(space, bytes_written), warp.site());
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, ShiftedLoadOp const&) {
  constexpr std::uintptr_t piece_bytes = 16;
  Type const& type = op.result()->type();
  Tensor const& source = warp.agent().view(warp.agent().tensor(*op.in<ShiftedLoadOp>("tensor")));
  View const& view = warp.view(*op.in<ShiftedLoadOp>("pieces"));
  std::uint32_t const from = warp.engine().regions().get(view).addresses[0];
  Extents const offsets = warp.integers(op.all<ShiftedLoadOp>("offsets"));
  int const last = offsets.size() - 1;
  std::int64_t const size = view.element_bytes, row_bytes = view.shape[1] * size;
  std::vector<std::int64_t> starts;
  for (std::int64_t row = 0; row < view.shape[0]; ++row) {
    Extents at = offsets;
    at[last - 1] += row;
    auto const shift = static_cast<std::int64_t>(address_at(source, at.begin()) % piece_bytes);
    starts.push_back(from + row * row_bytes + shift);
  }
  Value result = warp.agent().fresh(op);
  std::byte const* const memory = warp.engine().bytes_behind(view, warp.cta());
  Fragment const& fragment = warp.fragment(type);
  std::vector<LaneBytes> read;
  with_storage(result.storage(), [&]<class T>(std::type_identity<T>) {
    for (int i = 0; i < fragment.count(); ++i) {
      std::int64_t const column = fragment.at(i)[1];
      bool const inside = offsets[last] + column < source.extents[last];
      std::int64_t const at = starts[static_cast<std::size_t>(fragment.at(i)[0])] + column * size;
      result.data<T>()[i] = inside ? read_element<T>(memory + at, type.element()) : T{};
      add_bytes(read, static_cast<std::uint64_t>(at), static_cast<std::uint64_t>(size), fragment.lane_of(i));
    }
  });
  warp.warp().read(warp.lanes(), Footprint(warp.engine().space_behind(view, warp.cta()), read), warp.site());
  warp.set(*op.result(), std::move(result));
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, PeerStoreOp const&) {
  Type const& type = op.in<PeerStoreOp>("value")->type();
  Region const& region = warp.engine().regions().get(warp.view(*op.in<PeerStoreOp>("destination")));
  Fragment const& fragment = warp.fragment(type);
  auto const peer = warp.peer(*op.in<PeerStoreOp>("rank"));
  std::vector<LaneBytes> const& written = shared_table(warp, op, fragment, region, bytes(type.element()), true);
  if (!peer || written.empty()) return Progress::done;
  machine::PeerStore action;
  action.cta = *peer;
  action.destination = Footprint(warp.warp().shared(), written);
  action.mbarrier = {*peer, warp.mbarrier(*op.in<PeerStoreOp>("mbarrier")).offset};
  for (LaneBytes const& range : written) action.bytes += static_cast<std::uint32_t>(range.end - range.begin);
  Engine& engine = warp.engine();
  action.effect =
      engine.effect(1, [&engine, &fragment, &region, cta = *peer, tile = warp.value(*op.in<PeerStoreOp>("value")),
                        element = type.element(), lanes = warp.lanes()](machine::Moment, int) {
        write_owned(tile, element, fragment, region, lanes, engine.shared_bytes(cta));
      });
  (void)warp.warp().peer_store(warp.lanes(), action, warp.site());
  return Progress::turn;
}

}  // namespace tegula::sim::block
