// Stands in for backend.cpp where cuda.h was not found at build time.
#if !TEGULA_HAS_CUDA_HEADER

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/described_device.hpp"
#include "runtime/cuda/graph.hpp"
#include "tegula/support/error.hpp"

namespace tegula::runtime::cuda {
namespace {

constexpr char const* reason = "this build of tegula has no CUDA support: cuda.h was not found when it was configured";

[[noreturn]] void refuse() { throw UserError(std::string("no CUDA device can be used here: ") + reason); }

}  // namespace

void describe_device(TargetInfo const&) { refuse(); }
bool device_is_described() { return false; }
int device_count() { return 0; }
std::string unusable_reason() { return reason; }
void require_device(int) { refuse(); }
std::string name(int) { refuse(); }
std::string architecture(int) { refuse(); }
int capability(int) { refuse(); }
DeviceLimits limits(int) { refuse(); }
void* allocate(int, std::int64_t) { refuse(); }
void release(int, void*) noexcept {}
void upload(int, CUstream_st*, void*, void const*, std::int64_t) { refuse(); }
void download(int, CUstream_st*, void*, void const*, std::int64_t) { refuse(); }
void copy(int, CUstream_st*, void*, void const*, std::int64_t) { refuse(); }
void fill(int, CUstream_st*, void*, void const*, int, std::int64_t) { refuse(); }
CUstream_st* create_stream(int) { refuse(); }
void destroy_stream(int, CUstream_st*) noexcept {}
void synchronize(int, CUstream_st*) { refuse(); }
void synchronize_device(int) { refuse(); }
int device_of(CUstream_st*) { refuse(); }
int device_of_address(void const*) { refuse(); }
void* allocate_in_order(int, CUstream_st*, std::int64_t) { refuse(); }
void release_in_order(int, CUstream_st*, void*) noexcept {}
void* allocate_pinned(int, std::int64_t) { refuse(); }
void release_pinned(void*) noexcept {}
bool can_access(int, int) { refuse(); }
void enable_access(int, int) { refuse(); }
bool has_access(int, int) { return false; }
void* create_event(int, EventUse) { refuse(); }
bool event_reached(int, void*) { refuse(); }
void synchronize_event(int, void*) { refuse(); }
void wait_event(int, CUstream_st*, void*) { refuse(); }
void destroy_event(int, void*) noexcept {}
void record_event(int, void*, CUstream_st*) { refuse(); }
double seconds_between(int, void*, void*) { refuse(); }
Function load(CompiledKernel const&, int) { refuse(); }
void launch(Function const&, CUstream_st*, LaunchShape const&, void**, std::string_view) { refuse(); }
void encode(int, TensorMapRequest const&, TensorMap&) { refuse(); }
Graph::Graph(stream const& order, std::function<void()> const&) : order_(order) { refuse(); }
Graph::~Graph() = default;
void Graph::launch(stream const&) const {}
bool is_captured(stream const&) { return false; }

}  // namespace tegula::runtime::cuda

#endif
