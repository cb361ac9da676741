// Defines a captureless kernel in a library that process_test.cpp loads and unloads; built twice with different
// factors. The program's symbols are hidden, so the recorder of the kernel is an argument.
#include <tegula/jit/launcher.hpp>

namespace {

std::uint64_t identity = 0;
tegula::trace::TracedKernel (*record_scaled)(float factor) = nullptr;

}  // namespace

extern "C" __attribute__((visibility("default"))) void plugin_kernel(tegula::jit::KernelRef& kernel,
                                                                     tegula::trace::TracedKernel (*record)(float)) {
  record_scaled = record;
  kernel.name = "scaled";
  kernel.identity = &identity;
  kernel.trace = [](void const*) { return record_scaled(TEGULA_PLUGIN_FACTOR); };
}
