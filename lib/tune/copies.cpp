#include "tune/copies.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/argument_check.hpp"
#include "runtime/cuda/backend.hpp"

namespace tegula::tuning {
namespace {

constexpr std::int64_t alignment = 256;  // of a buffer: a copy lies as its tensor does

runtime::ByteRange range_of(Argument const& argument) { return runtime::byte_range(runtime::footprint_of(argument)); }

void* at(std::int64_t address) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)); }

}  // namespace

Copies::Copies(stream const& order, std::span<Argument const> arguments, double bytes, int most) {
  order.synchronize();
  std::int64_t of_a_set = 0;
  for (Argument const& argument : arguments)
    if (argument.kind == ParameterKind::tensor) {
      runtime::ByteRange const range = range_of(argument);
      of_a_set += range.last - range.first;
    }
  double const wanted = std::ceil(bytes / static_cast<double>(std::max<std::int64_t>(of_a_set, 1)));
  auto const count = static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(std::max(most, 1))));
  sets_.assign(count, {arguments.begin(), arguments.end()});
  for (std::size_t i = 1; i < count; ++i)
    for (Argument& argument : sets_[i]) {
      if (argument.kind != ParameterKind::tensor) continue;
      runtime::ByteRange const range = range_of(argument);
      if (range.first >= range.last) continue;
      std::int64_t const size = range.last - range.first, offset = range.first % alignment;
      bool const on_host = argument.space == DeviceKind::host;
      device const where = on_host ? device::host() : order.where();
      auto& memory = memory_.emplace_back(where, size + offset);
      std::uint8_t* const to = memory.data() + offset;
      if (on_host)
        std::memcpy(to, at(range.first), static_cast<std::size_t>(size));
      else
        runtime::cuda::copy(where.number(), order.handle(), to, at(range.first), size);
      argument.address = to + (reinterpret_cast<std::intptr_t>(argument.address) - range.first);
      argument.allocation = nullptr;
    }
  order.synchronize();
}

}  // namespace tegula::tuning
