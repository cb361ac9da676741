// Adds a kernel to a CUDA program that exists: memory of cudaMalloc, a stream, events and a product of cuBLAS stay as
// they are. Built where CMake finds the CUDA runtime and cuBLAS; skipped where there is no CUDA device.
#include "support/report.hpp"

#ifdef SAMPLES_HAVE_CUDA
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#endif

using namespace tegula;

namespace {

constexpr int skipped = 4;

int skip(std::string const& reason) {
  std::printf("14_existing_program  skipped: %s\n", reason.c_str());
  return skipped;
}

#ifdef SAMPLES_HAVE_CUDA

/// The new part: y = gelu(y + bias), in place.
inline constexpr auto bias_gelu = kernel("bias_gelu", [](inout<float, 2> y, in<float, 1> bias) {
  auto g = grid_over(y, shape<16, 128>);
  tile x = load(y, shape<16, 128>, g[0], g[1]) + expand_dims(load(bias, shape<128>, g[1]), axis<0>);
  store(y, shape<16, 128>, 0.5F * x * (1.F + erf(x * 0.70710678F)), g[0], g[1]);
});

void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}
void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
}

/// Copies values to new memory of the program.
float* on_device(std::vector<float> const& values, cudaStream_t stream) {
  float* memory = nullptr;
  std::size_t const bytes = values.size() * sizeof(float);
  check(cudaMalloc(reinterpret_cast<void**>(&memory), bytes));
  check(cudaMemcpyAsync(memory, values.data(), bytes, cudaMemcpyHostToDevice, stream));
  return memory;
}

int run() {
  int const m = 1000, n = 776, k = 512;
  auto const x = samples::random_values<float>(m * k), w = samples::random_values<float>(k * n),
             bias = samples::random_values<float>(n);

  // The program as it was.
  cudaStream_t stream = nullptr;
  cudaEvent_t start = nullptr, stop = nullptr;
  cublasHandle_t blas = nullptr;
  check(cudaStreamCreate(&stream));
  check(cudaEventCreate(&start));
  check(cudaEventCreate(&stop));
  check(cublasCreate(&blas));
  check(cublasSetStream(blas, stream));
  float* const device_x = on_device(x, stream);
  float* const device_w = on_device(w, stream);
  float* const device_bias = on_device(bias, stream);
  float* const device_y = on_device(std::vector<float>(static_cast<std::size_t>(m * n)), stream);
  std::vector<float> y(static_cast<std::size_t>(m * n));

  float milliseconds = 0;
  for (int round = 0; round < 3; ++round) {  // the first compiles the kernel
    float const one = 1, zero = 0;
    check(cudaEventRecord(start, stream));
    // y = x w; cuBLAS stores by columns, so it computes the transposed product.
    check(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, device_w, n, device_x, k, &zero, device_y, n));
    // The new lines: the same stream and the same memory. No copy, no wait.
    launch(cuda_stream(stream), bias_gelu, device_view<float, 2>(device_y, m, n),
           device_view<float const, 1>(device_bias, n));
    check(cudaEventRecord(stop, stream));
  }
  check(cudaMemcpyAsync(y.data(), device_y, y.size() * sizeof(float), cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));
  check(cudaEventElapsedTime(&milliseconds, start, stop));

  for (float* const memory : {device_x, device_w, device_bias, device_y}) check(cudaFree(memory));
  check(cublasDestroy(blas));
  check(cudaEventDestroy(start));
  check(cudaEventDestroy(stop));
  check(cudaStreamDestroy(stream));

  std::vector<double> expected(y.size());
  for (int i = 0; i < m; ++i) {
    double* const row = expected.data() + std::ptrdiff_t{i} * n;
    for (int j = 0; j < n; ++j) row[j] = static_cast<double>(bias[static_cast<std::size_t>(j)]);
    for (int l = 0; l < k; ++l)
      for (int j = 0; j < n; ++j)
        row[j] += static_cast<double>(x[static_cast<std::size_t>(i * k + l)]) *
                  static_cast<double>(w[static_cast<std::size_t>(l * n + j)]);
    for (int j = 0; j < n; ++j) row[j] = 0.5 * row[j] * (1 + std::erf(row[j] / std::sqrt(2.0)));
  }
  double const seconds = static_cast<double>(milliseconds) * 1e-3;
  return samples::report("14_existing_program", samples::text(m, " x ", n, " x ", k), device::cuda(), seconds,
                         2e-9 * m * n * k / seconds, "GFLOP/s", samples::compare(y, expected, 1, 2e-5));
}

#endif

}  // namespace

int main() {
#ifdef SAMPLES_HAVE_CUDA
  return samples::guarded("14_existing_program", [] {
    device const best = device::best();
    if (best.is_host()) return skip(device::cuda_count() == 0 ? device::cuda_status() : "TEGULA_DEVICE is the host");
    check(cudaSetDevice(best.number()));
    return run();
  });
#else
  return skip("built without the CUDA runtime and cuBLAS");
#endif
}
