// Names the place where kernels run: the host CPU or one CUDA device. A device is a plain value and does not own
// anything.
#pragma once

#include <cstdint>
#include <string>

namespace tegula {

/// Names what executes kernels: the threads of this process, or a CUDA GPU.
enum class DeviceKind : std::uint8_t { host, cuda };

/// Holds the sizes that a launch is checked against. Bytes and counts; 0 where the device does not limit them.
struct DeviceLimits {
  std::int64_t memory_bytes = 0;          ///< of the device, in all
  std::int64_t shared_bytes_per_cta = 0;  ///< dynamic shared memory with opt-in
  int processors = 0;                     ///< multiprocessors; host: threads of the executor
  int threads_per_cta = 0;
  int registers_per_processor = 0;
};

/// Names a device. Copies are free; equal values name the same device.
class device {
 public:
  /// Names the host.
  constexpr device() = default;

  /// Returns the first CUDA device that kernels can be compiled for, else the host; TEGULA_DEVICE overrides.
  static device best();
  static constexpr device host() { return {}; }
  /// Returns CUDA device `number`. Throws UserError, with the reason, if no driver answers or there is no such device.
  static device cuda(int number = 0);

  /// Counts the CUDA devices; 0 if no driver answers (cuda_status() says why).
  static int cuda_count();
  /// Returns "", or one line that says why no CUDA device can be used here.
  static std::string cuda_status();

  [[nodiscard]] constexpr DeviceKind kind() const { return kind_; }
  [[nodiscard]] constexpr bool is_host() const { return kind_ == DeviceKind::host; }
  [[nodiscard]] constexpr bool is_cuda() const { return kind_ == DeviceKind::cuda; }
  [[nodiscard]] constexpr int number() const { return number_; }

  /// Returns the maker's name: "NVIDIA H200", or the CPU's model.
  [[nodiscard]] std::string name() const;
  /// Returns the architecture that kernels for it are compiled for, "sm_90a" and the like: that of TEGULA_ARCH, else
  /// the best one that it runs; host: the processor family ("x86_64"). UserError if it does not run TEGULA_ARCH's code.
  [[nodiscard]] std::string architecture() const;
  [[nodiscard]] DeviceLimits limits() const;
  /// True if kernels there copy tensors by TMA. Elsewhere the same kernels take pointers.
  [[nodiscard]] bool has_tma() const;
  /// True if kernels here can reach memory of the other device once enable_access() was called. A device reaches its
  /// own memory; the host reaches its own alone.
  [[nodiscard]] bool can_access(device other) const;
  /// Lets kernels here read and write memory of the other device, for the rest of the process. Throws UserError if they
  /// cannot.
  void enable_access(device other) const;
  /// Returns "host" or "cuda:0".
  [[nodiscard]] std::string str() const;

  friend constexpr bool operator==(device const& a, device const& b) {
    return a.kind_ == b.kind_ && a.number_ == b.number_;
  }

 private:
  constexpr device(DeviceKind kind, int number) : kind_(kind), number_(number) {}

  DeviceKind kind_ = DeviceKind::host;
  int number_ = 0;
};

}  // namespace tegula
