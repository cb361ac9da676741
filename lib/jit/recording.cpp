#include "jit/recording.hpp"

#include <atomic>

namespace tegula::jit {
namespace {

constinit std::atomic<LaunchRecorder*> current = nullptr;

}  // namespace

void record_launches(LaunchRecorder* recorder) { current = recorder; }

LaunchRecorder* launch_recorder() { return current.load(std::memory_order_acquire); }

}  // namespace tegula::jit
