// Rivals that nvcc compiles: CUB, cuFFT, and a kernel as one writes it in CUDA C++. ./dev rivals makes build/rivals.so of
// it, which the benches open where TEGULA_RIVALS names it.
//
// A rival is made for its tensors' addresses and sizes, then runs on streams. It holds what it allocates to the end of
// the process.
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cufft.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>

namespace {

using Run = std::function<void(cudaStream_t)>;

void check(bool ok, char const* what) {
  if (ok) return;
  std::fprintf(stderr, "rivals: %s failed\n", what);
  std::abort();
}

__global__ void add_forces(float const* __restrict__ bodies, float* __restrict__ forces, int n, float softening) {
  constexpr int width = 256;
  __shared__ float4 part[width];
  int const i = blockIdx.x * width + threadIdx.x, own = min(i, n - 1);
  float const x = bodies[own], y = bodies[n + own], z = bodies[2 * n + own];
  float fx = 0, fy = 0, fz = 0;
  for (int first = 0; first < n; first += width) {
    int const j = first + threadIdx.x;
    part[threadIdx.x] = j < n ? make_float4(bodies[j], bodies[n + j], bodies[2 * n + j], bodies[3 * n + j])
                              : make_float4(0, 0, 0, 0);
    __syncthreads();
#pragma unroll 16
    for (int k = 0; k < width; ++k) {
      float4 const other = part[k];
      float const dx = other.x - x, dy = other.y - y, dz = other.z - z;
      float const r = rsqrtf(fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, softening))));
      float const pull = other.w * (r * r * r);
      fx = fmaf(dx, pull, fx);
      fy = fmaf(dy, pull, fy);
      fz = fmaf(dz, pull, fz);
    }
    __syncthreads();
  }
  if (i < n) {
    forces[i] = fx;
    forces[n + i] = fy;
    forces[2 * n + i] = fz;
  }
}

}  // namespace

extern "C" {

/// Sums over all pairs: tensors bodies, forces; sizes n; the softening is 0.01.
void* tegula_rival_gravity(void* const* tensors, std::int64_t const* sizes) {
  auto const* bodies = static_cast<float const*>(tensors[0]);
  auto* forces = static_cast<float*>(tensors[1]);
  int const n = static_cast<int>(sizes[0]);
  return new Run([=](cudaStream_t stream) { add_forces<<<(n + 255) / 256, 256, 0, stream>>>(bodies, forces, n, 0.01F); });
}

/// Inclusive sums of u32: tensors x, y; sizes n.
void* tegula_rival_prefix_sum(void* const* tensors, std::int64_t const* sizes) {
  auto const* x = static_cast<std::uint32_t const*>(tensors[0]);
  auto* y = static_cast<std::uint32_t*>(tensors[1]);
  std::int64_t const n = sizes[0];
  std::size_t bytes = 0;
  void* scratch = nullptr;
  check(cub::DeviceScan::InclusiveSum(nullptr, bytes, x, y, n) == cudaSuccess, "CUB");
  check(cudaMalloc(&scratch, bytes) == cudaSuccess, "cudaMalloc");
  return new Run([=](cudaStream_t stream) mutable { cub::DeviceScan::InclusiveSum(scratch, bytes, x, y, n, stream); });
}

/// Counts of u32 values 0 to 255: tensors values, counts; sizes n.
void* tegula_rival_histogram(void* const* tensors, std::int64_t const* sizes) {
  auto const* values = static_cast<std::uint32_t const*>(tensors[0]);
  auto* counts = static_cast<int*>(tensors[1]);
  int const n = static_cast<int>(sizes[0]);
  constexpr int levels = 257;
  constexpr std::uint32_t lower = 0, upper = 256;
  std::size_t bytes = 0;
  void* scratch = nullptr;
  check(cub::DeviceHistogram::HistogramEven(nullptr, bytes, values, counts, levels, lower, upper, n) == cudaSuccess, "CUB");
  check(cudaMalloc(&scratch, bytes) == cudaSuccess, "cudaMalloc");
  return new Run([=](cudaStream_t stream) mutable {
    cub::DeviceHistogram::HistogramEven(scratch, bytes, values, counts, levels, lower, upper, n, stream);
  });
}

/// Sorts u32: tensors keys, sorted; sizes n.
void* tegula_rival_sort_keys(void* const* tensors, std::int64_t const* sizes) {
  auto const* keys = static_cast<std::uint32_t const*>(tensors[0]);
  auto* sorted = static_cast<std::uint32_t*>(tensors[1]);
  int const n = static_cast<int>(sizes[0]);
  std::size_t bytes = 0;
  void* scratch = nullptr;
  check(cub::DeviceRadixSort::SortKeys(nullptr, bytes, keys, sorted, n) == cudaSuccess, "CUB");
  check(cudaMalloc(&scratch, bytes) == cudaSuccess, "cudaMalloc");
  return new Run([=](cudaStream_t stream) mutable {
    cub::DeviceRadixSort::SortKeys(scratch, bytes, keys, sorted, n, 0, 32, stream);
  });
}

/// Sorts u32 with u32 values: tensors keys, values, sorted keys, sorted values; sizes n.
void* tegula_rival_sort_pairs(void* const* tensors, std::int64_t const* sizes) {
  auto const* keys = static_cast<std::uint32_t const*>(tensors[0]);
  auto const* values = static_cast<std::uint32_t const*>(tensors[1]);
  auto* sorted = static_cast<std::uint32_t*>(tensors[2]);
  auto* sorted_values = static_cast<std::uint32_t*>(tensors[3]);
  int const n = static_cast<int>(sizes[0]);
  std::size_t bytes = 0;
  void* scratch = nullptr;
  check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, sorted, values, sorted_values, n) == cudaSuccess, "CUB");
  check(cudaMalloc(&scratch, bytes) == cudaSuccess, "cudaMalloc");
  return new Run([=](cudaStream_t stream) mutable {
    cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, sorted, values, sorted_values, n, 0, 32, stream);
  });
}

/// Transforms rows of complex numbers: tensors x, y; sizes rows, n.
void* tegula_rival_fourier(void* const* tensors, std::int64_t const* sizes) {
  auto* x = static_cast<cufftComplex*>(tensors[0]);
  auto* y = static_cast<cufftComplex*>(tensors[1]);
  cufftHandle plan = 0;
  check(cufftPlan1d(&plan, static_cast<int>(sizes[1]), CUFFT_C2C, static_cast<int>(sizes[0])) == CUFFT_SUCCESS, "cufftPlan1d");
  return new Run([=](cudaStream_t stream) {
    cufftSetStream(plan, stream);
    cufftExecC2C(plan, x, y, CUFFT_FORWARD);
  });
}

void tegula_rival_run(void* rival, void* stream) { (*static_cast<Run*>(rival))(static_cast<cudaStream_t>(stream)); }
}
