#include "runtime/profile_buffer.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>

#include "support/locks.hpp"
#include "tegula/abi/profile_format.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::runtime {
namespace {

std::size_t size_of(LoadedKernel const& kernel) {
  return static_cast<std::size_t>(profile_buffer_bytes(kernel.compiled.profile));
}

/// Reads the counter that host kernels record.
std::uint64_t cycles() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

RecordClock measured_on_host() {
  using Clock = std::chrono::steady_clock;
  constexpr auto span = std::chrono::microseconds(500);
  auto const start = Clock::now();
  std::uint64_t const first = cycles();
  auto now = start;
  double record = std::numeric_limits<double>::max();
  std::uint64_t last = first;
  while (now - start < span) {
    constexpr int records = 64;
    std::uint64_t volatile slots[records];
    std::uint64_t const begin = cycles();
    for (std::uint64_t volatile& slot : slots) slot = cycles();
    last = cycles();
    record = std::min(record, static_cast<double>(last - begin) / (records + 1));
    now = Clock::now();
  }
  double const ns = std::chrono::duration<double, std::nano>(now - start).count();
  return {static_cast<double>(last - first) / ns, record};
}

}  // namespace

bool has_profile(LoadedKernel const& kernel) { return kernel.compiled.profile.rows > 0; }

void clear_profile(LoadedKernel const& kernel, stream const& order) {
  if (kernel.where.is_host()) {
    std::memset(kernel.host.profile, 0, size_of(kernel));
    return;
  }
  unsigned char const zero = 0;
  cuda::fill(kernel.where.number(), order.handle(), kernel.function.profile, &zero, 1,
             static_cast<std::int64_t>(size_of(kernel)));
}

std::vector<std::byte> read_profile(LoadedKernel const& kernel, stream const& order) {
  std::vector<std::byte> bytes(size_of(kernel));
  if (kernel.where.is_host()) {
    std::memcpy(bytes.data(), kernel.host.profile, bytes.size());
    return bytes;
  }
  cuda::download(kernel.where.number(), order.handle(), bytes.data(), kernel.function.profile,
                 static_cast<std::int64_t>(bytes.size()));
  order.synchronize();
  return bytes;
}

std::vector<std::byte> read_profile(LoadedKernel const& kernel) {
  if (kernel.where.is_host()) return read_profile(kernel, host_stream());
  cuda::synchronize_device(kernel.where.number());
  return read_profile(kernel, stream(kernel.where));
}

void number_launch(LoadedHostKernel const& kernel) {
  static constinit std::atomic<std::uint64_t> last = 0;
  std::uint64_t* const at = reinterpret_cast<std::uint64_t*>(kernel.profile + offsetof(ProfileBufferHeader, launch));
  std::atomic_ref<std::uint64_t>(*at).store(++last, std::memory_order_relaxed);
}

RecordClock record_clock(LoadedKernel const& kernel) {
  if (kernel.where.is_host()) {
    static constinit support::Lasting<RecordClock const> measured;
    return measured.get([] { return std::make_unique<RecordClock const>(measured_on_host()); });
  }
  TargetInfo const* const target = find_target(kernel.compiled.architecture);
  if (target == nullptr) return {};
  return {target->costs.clocks_per_ns, target->costs.record_clocks};
}

}  // namespace tegula::runtime
