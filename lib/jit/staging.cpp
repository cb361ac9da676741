#include "jit/staging.hpp"

#include <algorithm>

#include "runtime/argument_check.hpp"
#include "runtime/cuda/backend.hpp"
#include "sim/interpreter.hpp"

namespace tegula::jit {

Staging::Staging(std::span<Argument const> arguments) {
  for (Argument const& argument : arguments) {
    if (argument.kind != ParameterKind::tensor || argument.space != DeviceKind::cuda) continue;
    runtime::ByteRange const range = runtime::byte_range(runtime::footprint_of(argument));
    if (range.first < range.last) pieces_.push_back({range, runtime::cuda::device_of_address(argument.address), {}});
  }
  std::ranges::sort(pieces_, {}, [](Piece const& piece) { return piece.range.first; });
  std::vector<Piece> merged;
  for (Piece& piece : pieces_) {
    if (!merged.empty() && piece.range.first < merged.back().range.last) {
      merged.back().range.last = std::max(merged.back().range.last, piece.range.last);
    } else {
      merged.push_back(std::move(piece));
    }
  }
  pieces_ = std::move(merged);
  for (Piece& piece : pieces_) {
    piece.bytes.resize(static_cast<std::size_t>(piece.range.last - piece.range.first));
    runtime::cuda::synchronize_device(piece.device);
    runtime::cuda::download(piece.device, nullptr, piece.bytes.data(), address(piece), size(piece));
    runtime::cuda::synchronize(piece.device, nullptr);
  }
}

void* Staging::host_address(void* device) {
  auto const wanted = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(device));
  for (Piece& piece : pieces_)
    if (wanted >= piece.range.first && wanted < piece.range.last)
      return piece.bytes.data() + (wanted - piece.range.first);
  return device;
}

void Staging::write_back() {
  for (Piece& piece : pieces_) {
    runtime::cuda::upload(piece.device, nullptr, address(piece), piece.bytes.data(), size(piece));
    runtime::cuda::synchronize(piece.device, nullptr);
  }
}

void* Staging::address(Piece const& piece) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(piece.range.first));
}

std::int64_t Staging::size(Piece const& piece) { return static_cast<std::int64_t>(piece.bytes.size()); }

device device_of(std::span<Argument const> arguments) {
  for (Argument const& argument : arguments)
    if (argument.kind == ParameterKind::tensor && argument.space == DeviceKind::cuda)
      return device::cuda(argument.device_number >= 0 ? argument.device_number
                                                      : runtime::cuda::device_of_address(argument.address));
  return device::host();
}

std::vector<sim::Argument> sim_arguments(std::span<Argument const> arguments, Staging& staging) {
  sim::Arguments result;
  for (Argument const& argument : arguments) {
    if (argument.kind == ParameterKind::scalar) {
      result.emplace_back(ir::Constant{argument.element, static_cast<std::uint64_t>(argument.scalar)});
      continue;
    }
    sim::Tensor tensor;
    tensor.data = argument.space == DeviceKind::cuda ? staging.host_address(argument.address) : argument.address;
    tensor.element = argument.element;
    for (int axis = 0; axis < argument.rank; ++axis) {
      tensor.extents.push_back(argument.extents[axis]);
      // Never used between less than two elements, and maybe any number: see argument_pack.cpp.
      tensor.strides.push_back(argument.extents[axis] <= 1 ? 0 : argument.strides[axis]);
    }
    result.emplace_back(tensor);
  }
  return result;
}

simulation summary(sim::Result const& result) {
  simulation found;
  found.clean = result.clean();
  found.blocks = result.blocks;
  found.steps = result.steps;
  found.report = result.str();
  return found;
}

}  // namespace tegula::jit
