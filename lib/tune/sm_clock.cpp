#include "tune/sm_clock.hpp"

#include <dlfcn.h>

#include "support/locks.hpp"

namespace tegula::tuning {
namespace {

using Device = void*;

/// Declares the functions of libnvidia-ml that are used; all return 0 on success.
struct Library {
  int (*init)() = nullptr;
  int (*device_by_index)(unsigned, Device*) = nullptr;
  int (*clock)(Device, int, unsigned*) = nullptr;
  bool ready = false;

  Library() {
    void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (library == nullptr) return;
    init = reinterpret_cast<decltype(init)>(dlsym(library, "nvmlInit_v2"));
    device_by_index = reinterpret_cast<decltype(device_by_index)>(dlsym(library, "nvmlDeviceGetHandleByIndex_v2"));
    clock = reinterpret_cast<decltype(clock)>(dlsym(library, "nvmlDeviceGetClockInfo"));
    ready = init != nullptr && device_by_index != nullptr && clock != nullptr && init() == 0;
  }
};

}  // namespace

std::optional<double> sm_clock(int device_number) {
  constexpr int of_multiprocessors = 1;  // NVML_CLOCK_SM
  static constinit support::Lasting<Library> loaded;
  Library const& library = loaded.get();
  Device device = nullptr;
  unsigned mhz = 0;
  if (!library.ready || library.device_by_index(static_cast<unsigned>(device_number), &device) != 0 ||
      library.clock(device, of_multiprocessors, &mhz) != 0)
    return {};
  return mhz;
}

}  // namespace tegula::tuning
