// Tests slices of tensors on a device: TMA copies them by descriptors that the kernel builds, beside descriptors by
// value.
#include "kernels/grouped_products.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("a kernel copies slices by descriptors that it builds, and whole tensors by value", "[D7][D14]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_grouped_products(Executor::device, {64, 10, 0, 70, 1}, 128, 64, 3);
  check_grouped_products(Executor::device, {0, 0, 5}, 64, 72);
  check_grouped_products(Executor::device, {33}, 200, 128, 1);
  // More CTAs than can be resident: places of descriptors are used again.
  std::vector<int> rows(600);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int>(i * 37 % 130);
  check_grouped_products(Executor::device, rows, 64, 256);
}

TEST_CASE("two streams build descriptors of the same kernel at once", "[D2][D7]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  cuda_stream const one, two;
  std::vector<int> const starts[2] = {{0, 100, 164, 300}, {0, 3, 200, 300}};
  std::int64_t const depth = 64, columns = 64, all = 300;
  Array<bf16, 2> a({all, depth});
  Array<bf16, 3> b({3, depth, columns});
  for (std::size_t i = 0; i < a.values.size(); ++i) a.values[i] = bf16(static_cast<float>(i % 7) - 3);
  for (std::size_t i = 0; i < b.values.size(); ++i) b.values[i] = bf16(static_cast<float>(i / 4096) + 1);
  auto const device_a = a.upload(one.where());
  auto const device_b = b.upload(one.where());
  std::vector<Array<float, 2>> results(2, Array<float, 2>({all, columns}));
  std::vector<buffer<float, 2>> device_c;
  std::vector<buffer<int, 1>> device_starts;
  for (int i = 0; i < 2; ++i) {
    device_c.push_back(results[static_cast<std::size_t>(i)].upload(one.where()));
    device_starts.push_back(array_of(starts[i]).upload(one.where()));
  }
  for (int turn = 0; turn < 1000; ++turn)
    for (std::size_t i = 0; i < 2; ++i)
      launch(i == 0 ? one : two, grouped_products, device_a, device_b, device_starts[i], device_c[i], all);
  one.synchronize();
  two.synchronize();
  for (std::size_t i = 0; i < 2; ++i) {
    device_c[i].copy_to(results[i].values);
    std::int64_t wrong = 0;
    for (std::int64_t row = 0; row < all; ++row) {
      std::int64_t const group = std::upper_bound(starts[i].begin(), starts[i].end(), row) - starts[i].begin() - 1;
      double sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) sum += static_cast<double>(static_cast<float>(a[row * depth + k]));
      for (std::int64_t column = 0; column < columns; ++column)
        wrong +=
            static_cast<double>(results[i][row * columns + column]) == sum * static_cast<double>(group + 1) ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("slices of slices are clipped to their tensor on a device", "[H8]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_cut_corner(Executor::device);
}
