// Gives the arguments of a launch to executors that run on the host: memory of devices is copied there and back.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/overlap.hpp"
#include "tegula/jit/launcher.hpp"
#include "tegula/runtime/argument.hpp"
#include "tegula/runtime/device.hpp"

namespace tegula::sim {
struct Argument;
struct Result;
}  // namespace tegula::sim

namespace tegula::jit {

/// Holds host copies of the device memory that arguments reach: one per run of bytes, so that interleaved tensors share
/// one.
class Staging {
 public:
  explicit Staging(std::span<Argument const> arguments);
  /// Returns the host address that stands for a device address.
  void* host_address(void* device);
  void write_back();

 private:
  struct Piece {
    runtime::ByteRange range;
    int device;
    std::vector<std::byte> bytes;
  };
  static void* address(Piece const& piece);
  static std::int64_t size(Piece const& piece);

  std::vector<Piece> pieces_;
};

/// Returns the device that holds the tensors; the host if none is on another.
device device_of(std::span<Argument const> arguments);

std::vector<sim::Argument> sim_arguments(std::span<Argument const> arguments, Staging& staging);

simulation summary(sim::Result const& result);

}  // namespace tegula::jit
