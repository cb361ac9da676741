#include "tegula/runtime/device.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <fstream>
#include <string_view>
#include <vector>

#include "runtime/cuda/backend.hpp"
#include "runtime/host/thread_pool.hpp"
#include "support/diagnostics.hpp"
#include "support/options.hpp"
#include "support/string_buffer.hpp"
#include "target/gpu_target.hpp"
#include "tegula/abi/compile_options.hpp"
#include "tegula/support/error.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula {
namespace {

std::string host_name() {
  std::ifstream stream("/proc/cpuinfo");
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("model name")) continue;
    std::size_t const colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "host";
}

constexpr char const* host_family() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "unknown";
#endif
}

/// Returns the target whose code a GPU runs best; null: it runs none.
TargetInfo const* target_of(int number) {
  return target_for(runtime::cuda::capability(number), runtime::cuda::limits(number).shared_bytes_per_cta);
}

std::string cuda_architecture(int number) {
  std::string const& asked = support::options().arch;
  if (asked.empty()) {
    TargetInfo const* const target = target_of(number);
    return target != nullptr ? std::string(target->architecture) : runtime::cuda::architecture(number);
  }
  TargetInfo const& target = target::default_target();
  if (!target.runs_on(runtime::cuda::capability(number)))
    throw UserError(fmt::format("TEGULA_ARCH: cuda:{} ({}) does not run code for {}; it is {}", number,
                                runtime::cuda::name(number), asked, runtime::cuda::architecture(number)));
  return asked;
}

/// Says on standard error, once in the process, that the CUDA devices here are not used.
void say_once_why_host() {
  static constinit std::atomic<bool> said = false;
  if (said.exchange(true)) return;
  support::report_warning(fmt::format("{} ({}) is not used: kernels can be compiled for {}; device::best() is the host",
                                      runtime::cuda::name(0), runtime::cuda::architecture(0), target::known_targets()));
}

}  // namespace

device device::best() {
  std::string const& choice = support::options().device;
  if (choice == "host") return host();
  if (choice.starts_with("cuda:")) {
    int number = 0;
    std::from_chars(choice.data() + 5, choice.data() + choice.size(), number);
    return cuda(number);
  }
  if (choice == "cuda") return cuda(0);
  int const count = runtime::cuda::device_count();
  for (int number = 0; number < count; ++number)
    if (target_of(number) != nullptr) return cuda(number);
  if (count > 0) say_once_why_host();
  return host();
}

device device::cuda(int number) {
  runtime::cuda::require_device(number);
  return {DeviceKind::cuda, number};
}

int device::cuda_count() { return runtime::cuda::device_count(); }

std::string device::cuda_status() { return runtime::cuda::unusable_reason(); }

std::string device::name() const { return is_host() ? host_name() : runtime::cuda::name(number_); }

std::string device::architecture() const { return is_host() ? host_family() : cuda_architecture(number_); }

DeviceLimits device::limits() const {
  if (is_cuda()) return runtime::cuda::limits(number_);
  DeviceLimits result;
  result.memory_bytes = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  result.processors = runtime::host::thread_count();
  return result;
}

bool device::has_tma() const {
  if (is_host()) return false;
  TargetInfo const* const target = find_target(architecture());
  return target != nullptr && target->has(Ability::tma);
}

bool device::can_access(device other) const {
  if (is_host() || other.is_host()) return *this == other;
  return runtime::cuda::can_access(number_, other.number_);
}

void device::enable_access(device other) const {
  if (!can_access(other))
    throw UserError(fmt::format("device: kernels on {} cannot reach memory of {}; copy it", str(), other.str()));
  if (is_cuda()) runtime::cuda::enable_access(number_, other.number_);
}

std::string device::str() const { return is_host() ? "host" : fmt::format("cuda:{}", number_); }

}  // namespace tegula
