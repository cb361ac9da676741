#include "runtime/cuda/tensor_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "runtime/counters.hpp"
#include "runtime/cuda/backend.hpp"
#include "support/locks.hpp"
#include "target/tma_strides.hpp"
#include "tegula/support/error.hpp"
#include "tegula/target/tma_rules.hpp"

namespace tegula::runtime::cuda {
namespace {

using target::TmaObstacle;
using tma_rule::max_extent;
using tma_rule::stride_limit;
constexpr std::int64_t max_box = tma_rule::max_box_extent;
constexpr int chunk = tma_rule::step_bytes;

/// Names the map that is being described: everything a message needs.
struct Subject {
  std::string_view kernel;
  std::int32_t number;  ///< of the argument, from 0
  TensorMapInfo const& map;
  Argument const& tensor;  ///< its axes in the map's order

  [[nodiscard]] int rank() const { return tensor.rank; }
  /// Returns the number that an axis of the map has in the argument.
  [[nodiscard]] std::int64_t axis_of(int axis) const { return map.axes.empty() ? axis : map.axes[axis]; }
  [[nodiscard]] int size() const { return bytes(tensor.element); }
  /// Counts the elements in 16 bytes.
  [[nodiscard]] int step() const { return chunk / size(); }
};

template <class... Values>
[[noreturn]] void refuse(Subject const& on, fmt::format_string<Values...> text, Values&&... values) {
  throw UserError(
      fmt::format("{}: argument {}: {}", on.kernel, on.number + 1, fmt::format(text, std::forward<Values>(values)...)));
}

void check_box(Subject const& on) {
  Extents const& box = on.map.box;
  if (box.size() != on.rank())
    throw InternalError(fmt::format("{}: a tensor map of parameter {} has a box of {} axes but the tensor has {}",
                                    on.kernel, on.number, box.size(), on.rank()));
  for (int axis = 0; axis < box.size(); ++axis)
    if (box[axis] < 1 || box[axis] > max_box)
      refuse(on, "a TMA box has 1 to {} elements along an axis but {} are requested along axis {}; split the tile",
             max_box, box[axis], on.axis_of(axis));
  std::int64_t const row = box.back() * on.size();
  if (row % chunk != 0)
    refuse(on,
           "the rows of a TMA box are multiples of {} bytes but {} elements of {} have {}; choose a multiple of {} "
           "elements along the last axis",
           chunk, box.back(), name(on.tensor.element), row, on.step());
  int const span = swizzle_bytes(on.map.swizzle);
  if (span != 0 && row > span)
    refuse(on,
           "the rows of a TMA box fit the swizzle's span of {} bytes but {} elements of {} have {}; choose at most {} "
           "elements along the last axis or a wider swizzle",
           span, box.back(), name(on.tensor.element), row, span / on.size());
  if (on.map.nan_fill && !is_float(on.tensor.element))
    refuse(on, "NaN is requested outside the tensor but {} has none; fill with zeros", name(on.tensor.element));
}

void check_memory(Subject const& on) {
  auto const found =
      target::tma_obstacle(on.tensor.address, on.size(), on.rank(), on.tensor.extents, on.tensor.strides);
  if (!found) return;
  std::int64_t const elements = found->axis < 0 ? 0 : on.tensor.strides[found->axis];
  std::int64_t const axis = found->axis < 0 ? -1 : on.axis_of(found->axis);
  switch (found->kind) {
    case TmaObstacle::Kind::extent:
      refuse(on, "TMA addresses {} elements along an axis but axis {} has {}; pass slices of it", max_extent, axis,
             on.tensor.extents[found->axis]);
    case TmaObstacle::Kind::address:
      refuse(on,
             "TMA copies from addresses that are multiples of {} bytes but {} is {} past one; begin the view at a "
             "multiple of {} elements or copy it to a separate buffer",
             chunk, on.tensor.address, reinterpret_cast<std::uintptr_t>(on.tensor.address) % chunk, on.step());
    case TmaObstacle::Kind::backwards:
      refuse(on, "TMA cannot step backwards but axis {} steps by {} elements; copy the view to a buffer", axis,
             elements);
    case TmaObstacle::Kind::far:
      refuse(on, "TMA steps by less than {} bytes but axis {} steps by {} elements of {}; pass slices of it",
             stride_limit, axis, elements, name(on.tensor.element));
    case TmaObstacle::Kind::stride:
      refuse(
          on,
          "TMA steps by multiples of {} bytes but axis {} steps by {} elements of {}, {} bytes; pad it to a multiple "
          "of {} elements",
          chunk, axis, elements, name(on.tensor.element), elements * on.size(), on.step());
  }
}

/// Returns any stride that the driver accepts, for an axis of one element, whose stride has no effect.
std::uint64_t unused_stride(std::uint64_t inner_stride, std::uint64_t inner_extent) {
  std::uint64_t const dense = (inner_stride * inner_extent + chunk - 1) / chunk * chunk;
  return std::clamp<std::uint64_t>(dense, chunk, stride_limit - chunk);
}

void describe_tensor(Subject const& on, TensorMapRequest& request) {
  int const last = on.rank() - 1;
  if (on.tensor.extents[last] > 1 && on.tensor.strides[last] != 1)
    refuse(on,
           "TMA needs adjacent elements along the last axis but it steps by {} elements; copy the view to a "
           "buffer, or transpose view and kernel",
           on.tensor.strides[last]);
  check_memory(on);
  request.address = reinterpret_cast<std::uintptr_t>(on.tensor.address);
  auto inner = static_cast<std::uint64_t>(on.size());
  for (int axis = last; axis >= 0; --axis) {
    auto const at = static_cast<std::size_t>(last - axis);
    request.extents[at] = static_cast<std::uint64_t>(on.tensor.extents[axis]);
    if (axis == last) continue;
    inner = on.tensor.extents[axis] > 1 ? static_cast<std::uint64_t>(on.tensor.strides[axis] * on.size())
                                        : unused_stride(inner, request.extents[at - 1]);
    request.strides[at - 1] = inner;
  }
}

/// Describes a tensor without elements: one element of memory that stands in for it.
void describe_empty(Subject const& on, Direction direction, TensorMapRequest& request) {
  if (direction == Direction::inout)
    refuse(on,
           "it has no elements, and a kernel that both loads and stores it by TMA needs at least one; skip the launch");
  request.stand_in = direction == Direction::out ? StandIn::sink : on.map.nan_fill ? StandIn::nans : StandIn::zeros;
  for (int axis = 0; axis < on.rank(); ++axis) request.extents[static_cast<std::size_t>(axis)] = 1;
  for (int axis = 0; axis + 1 < on.rank(); ++axis) request.strides[static_cast<std::size_t>(axis)] = chunk;
}

/// Returns the argument with its axes in the order of the map.
Argument in_order(Argument const& argument, TensorMapInfo const& map) {
  Argument result = argument;
  bool legal = map.axes.size() == argument.rank && map.axes.back() + 1 == argument.rank;
  for (std::int64_t const axis : map.axes) legal = legal && axis >= 0 && axis < argument.rank;
  if (!legal)
    throw InternalError(fmt::format("a tensor map of parameter {} takes the axes of a tensor of {} in a wrong order",
                                    map.parameter, argument.rank));
  for (int axis = 0; axis < argument.rank; ++axis) {
    result.extents[axis] = argument.extents[map.axes[axis]];
    result.strides[axis] = argument.strides[map.axes[axis]];
  }
  return result;
}

std::size_t hash(int device, TensorMapRequest const& request) {
  std::uint64_t state = static_cast<std::uint64_t>(device);
  auto const mix = [&](std::uint64_t value) {
    state = (state ^ value) * 0x9E3779B97F4A7C15U;
    state ^= state >> 29;
  };
  mix(request.address);
  for (std::uint64_t const extent : request.extents) mix(extent);
  for (std::uint64_t const stride : request.strides) mix(stride);
  for (std::uint32_t const extent : request.box) mix(extent);
  mix(static_cast<std::uint64_t>(request.element) << 32 | static_cast<std::uint64_t>(request.rank) << 24 |
      static_cast<std::uint64_t>(request.swizzle) << 16 | static_cast<std::uint64_t>(request.l2_promotion) << 8 |
      static_cast<std::uint64_t>(request.stand_in) << 1 | static_cast<std::uint64_t>(request.nan_fill));
  return static_cast<std::size_t>(state);
}

template <class List>
std::string joined(List const& list, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}{}", i == 0 ? "" : "x", list[static_cast<std::size_t>(i)]);
  return text;
}

}  // namespace

TensorMapRequest describe(std::string_view kernel, TensorMapInfo const& map, std::span<ParameterInfo const> parameters,
                          std::span<Argument const> arguments) {
  auto const number = static_cast<std::size_t>(map.parameter);
  if (map.parameter < 0 || number >= arguments.size() || arguments.size() != parameters.size() ||
      arguments[number].kind != ParameterKind::tensor)
    throw InternalError(
        fmt::format("{}: a tensor map names parameter {}, which is not a tensor", kernel, map.parameter));
  std::optional<Argument> reordered;
  if (!map.axes.empty()) reordered = in_order(arguments[number], map);
  Argument const& tensor = reordered ? *reordered : arguments[number];
  Subject const on{kernel, map.parameter, map, tensor};
  if (tensor.rank < 1 || tensor.rank > max_tensor_map_axes)
    refuse(on, "TMA copies tensors of 1 to {} axes but this one has {}; pass a view of fewer axes", max_tensor_map_axes,
           tensor.rank);
  check_box(on);
  TensorMapRequest request;
  request.element = tensor.element;
  request.rank = tensor.rank;
  request.swizzle = map.swizzle;
  request.l2_promotion = map.l2_promotion;
  request.nan_fill = map.nan_fill;
  for (int axis = 0; axis < tensor.rank; ++axis)
    request.box[static_cast<std::size_t>(tensor.rank - 1 - axis)] = static_cast<std::uint32_t>(map.box[axis]);
  if (std::find(tensor.extents, tensor.extents + tensor.rank, 0) != tensor.extents + tensor.rank)
    describe_empty(on, parameters[number].direction, request);
  else
    describe_tensor(on, request);
  return request;
}

std::string to_string(TensorMapRequest const& request) {
  static constexpr char const* modes[] = {"none", "b32", "b64", "b128"};
  std::string text =
      fmt::format("{} box {} of {} at {:#x}, innermost axis first", name(request.element),
                  joined(request.box, request.rank), joined(request.extents, request.rank), request.address);
  for (int i = 0; i + 1 < request.rank; ++i)
    text += fmt::format("{}{}", i == 0 ? ", strides in bytes " : ", ", request.strides[static_cast<std::size_t>(i)]);
  return text + fmt::format(", swizzle {}", modes[static_cast<int>(request.swizzle)]);
}

void TensorMapCache::get(int device, TensorMapRequest const& request, TensorMap& map) {
  Entry& entry = entries_[hash(device, request) % entries_.size()];
  {
    std::lock_guard const lock(mutex_);
    if (entry.device == device && entry.request == request) {
      map = entry.map;
      count(&CounterCells::maps_shared);
      return;
    }
  }
  encode_(device, request, map);
  count(&CounterCells::maps_encoded);
  std::lock_guard const lock(mutex_);
  entry.device = device;
  entry.request = request;
  entry.map = map;
}

TensorMapCache& tensor_map_cache() {
  static constinit support::PerProcess<TensorMapCache> cache;
  return cache.get([] { return std::make_unique<TensorMapCache>(&encode); });
}

}  // namespace tegula::runtime::cuda
