#include "runtime/argument_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "abi/launch_errors.hpp"
#include "runtime/allocation.hpp"
#include "runtime/cuda/backend.hpp"
#include "target/tma_strides.hpp"
#include "support/wide_integer.hpp"
#include "tegula/abi/limits.hpp"
#include "tegula/support/error.hpp"

namespace tegula::runtime {
using support::Int128;
namespace {

/// Names the argument that a message is about.
struct Place {
  std::string_view kernel;
  std::size_t number;  ///< from 0
};

template <class... Values>
[[noreturn]] void refuse(Place place, fmt::format_string<Values...> text, Values&&... values) {
  throw UserError(fmt::format("{}: argument {}: {}", place.kernel, place.number + 1,
                              fmt::format(text, std::forward<Values>(values)...)));
}

std::string extents_text(Argument const& argument) {
  std::string text;
  for (int axis = 0; axis < argument.rank; ++axis)
    text += fmt::format("{}{}", axis == 0 ? "" : "x", argument.extents[axis]);
  return text + fmt::format("x{}", name(argument.element));
}

bool is_empty(Argument const& argument) {
  for (int axis = 0; axis < argument.rank; ++axis)
    if (argument.extents[axis] == 0) return true;
  return false;
}

bool is_written(ParameterInfo const& parameter) {
  return parameter.kind == ParameterKind::tensor && parameter.direction != Direction::in;
}

void check_type(Place place, ParameterInfo const& parameter, Argument const& argument) {
  if (parameter.kind != argument.kind)
    refuse(place, "a {} is expected", parameter.kind == ParameterKind::tensor ? "tensor" : "scalar");
  if (parameter.element != argument.element)
    refuse(place, "the element is {} but {} is expected", name(argument.element), name(parameter.element));
  if (parameter.kind == ParameterKind::scalar) return;
  if (parameter.rank != argument.rank)
    refuse(place, "the rank is {} but {} is expected", argument.rank, parameter.rank);
  if (argument.read_only && is_written(parameter))
    refuse(place, "it is written by the kernel but its elements are const");
}

void check_place(Place place, Argument const& argument, device where) {
  if (argument.allocation != nullptr && !argument.allocation->alive.load(std::memory_order_acquire))
    refuse(place, "the buffer of {} bytes {}", argument.allocation->bytes, argument.allocation->freed_text());
  if (argument.space == DeviceKind::host && where.is_cuda())
    refuse(place, "host memory on a stream of {}; copy it to a buffer on that device", where.str());
  if (argument.space == DeviceKind::cuda && where.is_host())
    refuse(place, "memory of a CUDA device on a stream of the host; copy it to a buffer on the host");
  if (argument.space == DeviceKind::cuda && argument.device_number >= 0 && argument.device_number != where.number() &&
      !cuda::has_access(where.number(), argument.device_number))
    refuse(place, "memory of cuda:{} on a stream of {}; copy it there, or call enable_access() of {} first",
           argument.device_number, where.str(), where.str());
}

/// Checks that every offset from the address, in bytes, fits 64 bits, so that neither code nor checks can overflow.
void check_reach(Place place, Argument const& argument) {
  Int128 lowest = 0;
  Int128 highest = bytes(argument.element);
  Int128 count = 1;
  constexpr Int128 max = std::numeric_limits<std::int64_t>::max();
  for (int axis = 0; axis < argument.rank; ++axis) {
    Int128 const reach = static_cast<Int128>(argument.extents[axis] - 1) * argument.strides[axis];
    bool const too_far = reach > max || reach < -max;
    if (!too_far) (reach < 0 ? lowest : highest) += reach * bytes(argument.element);
    count *= argument.extents[axis];
    if (too_far || highest > max || lowest < -max || count > max)
      refuse(place, "its offsets do not fit 64 bits (extents {}); check the strides, which count elements",
             extents_text(argument));
  }
  auto const base = reinterpret_cast<std::uintptr_t>(argument.address);
  if (static_cast<Int128>(base) + lowest < 0 || static_cast<Int128>(base) + highest > max)
    refuse(
        place,
        "it reaches outside the address space (extents {}); check the address, and the strides, which count elements",
        extents_text(argument));
}

void check_tensor(Place place, ParameterInfo const& parameter, Argument const& argument) {
  for (int axis = 0; axis < argument.rank; ++axis)
    if (!abi::is_extent(argument.extents[axis])) refuse(place, "{}", abi::text_of_extent(argument.extents[axis], axis));
  if (is_empty(argument)) return;
  if (argument.address == nullptr)
    refuse(place, "a null address with extents {}; pass its memory, or an extent of 0 where there is none",
           extents_text(argument));
  int const size = bytes(argument.element);
  if (reinterpret_cast<std::uintptr_t>(argument.address) % static_cast<std::uintptr_t>(size) != 0)
    refuse(place, "the address {} is not aligned to its element {} of {} bytes", argument.address,
           name(argument.element), size);
  check_reach(place, argument);
  if (!is_written(parameter)) return;
  if (self_overlap(footprint_of(argument)) != Overlap::none)
    refuse(place, "it is written by the kernel but its elements overlap one another (a stride is too small)");
}

void check_aliasing(std::string_view kernel, std::span<ParameterInfo const> parameters,
                    std::span<Argument const> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!is_written(parameters[i])) continue;
    for (std::size_t j = 0; j < arguments.size(); ++j) {
      if (parameters[j].kind != ParameterKind::tensor || j == i || (is_written(parameters[j]) && j < i)) continue;
      Overlap const found = overlap(footprint_of(arguments[i]), footprint_of(arguments[j]));
      if (found == Overlap::none) continue;
      bool const both = is_written(parameters[j]);
      throw UserError(fmt::format(
          "{}: arguments {} and {} {} memory and the kernel writes {}; {}", kernel, j + 1, i + 1,
          found == Overlap::some ? "share" : "may share (their strides are too complex to decide)",
          both ? "both" : fmt::format("argument {}", i + 1),
          both ? "pass separate memory, or give the kernel one parameter for it"
               : "pass separate memory, or give the kernel one inout parameter in place of the two to work in place"));
    }
  }
}

}  // namespace

Footprint footprint_of(Argument const& argument) {
  Footprint result;
  result.base = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(argument.address));
  result.rank = argument.rank;
  result.element_bytes = bytes(argument.element);
  bool const nothing = is_empty(argument);
  for (int axis = 0; axis < argument.rank; ++axis) {
    result.extents[axis] = argument.extents[axis];
    // The stride of an axis of one element, and of an empty tensor, is never used and may be anything.
    result.strides[axis] = nothing || argument.extents[axis] == 1 ? 0 : argument.strides[axis] * result.element_bytes;
  }
  return result;
}

TensorFacts facts_of(Argument const& argument) {
  TensorFacts facts;
  if (argument.kind != ParameterKind::tensor || argument.rank == 0) return facts;
  int const last = argument.rank - 1;
  facts.unit_inner_stride = argument.extents[last] <= 1 || argument.strides[last] == 1;
  facts.aligned_16 = !target::tma_obstacle(argument.address, bytes(argument.element), argument.rank, argument.extents,
                                           argument.strides);
  facts.whole_16 = facts.unit_inner_stride && facts.aligned_16 && argument.rank > 1 &&
                   argument.extents[last] * bytes(argument.element) % 16 == 0;
  return facts;
}

std::vector<TensorFacts> facts_of(std::span<Argument const> arguments) {
  std::vector<TensorFacts> facts;
  facts.reserve(arguments.size());
  for (Argument const& argument : arguments) facts.push_back(facts_of(argument));
  return facts;
}

device place_of(std::span<Argument const> arguments) {
  bool any_host = false;
  for (Argument const& argument : arguments) {
    if (argument.kind != ParameterKind::tensor) continue;
    if (argument.space == DeviceKind::cuda)
      return device::cuda(argument.device_number >= 0 ? argument.device_number
                                                      : cuda::device_of_address(argument.address));
    any_host = true;
  }
  return any_host ? device::host() : device::best();
}

void check_arguments(std::string_view kernel, std::span<ParameterInfo const> parameters,
                     std::span<Argument const> arguments, device where) {
  if (parameters.size() != arguments.size())
    throw UserError(fmt::format("{}: {} arguments given, {} expected", kernel, arguments.size(), parameters.size()));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Place const place{kernel, i};
    check_type(place, parameters[i], arguments[i]);
    if (parameters[i].kind != ParameterKind::tensor) continue;
    check_place(place, arguments[i], where);
    check_tensor(place, parameters[i], arguments[i]);
  }
  check_aliasing(kernel, parameters, arguments);
}

std::int64_t check_grid(std::string_view kernel, std::span<std::int64_t const, 3> extents) {
  for (std::size_t axis = 0; axis < extents.size(); ++axis) abi::check_grid_extent(kernel, extents[axis], axis);
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return 0;
  std::int64_t blocks = 1;
  for (std::int64_t const extent : extents)
    if (__builtin_mul_overflow(blocks, extent, &blocks) || blocks > max_grid_blocks)
      throw UserError(fmt::format("{}: grid {}x{}x{} has more blocks than the limit of {}", kernel, extents[0],
                                  extents[1], extents[2], max_grid_blocks));
  return blocks;
}

}  // namespace tegula::runtime
