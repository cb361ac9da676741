// Tests tensors of other libraries: views of theirs, and buffers that go to them.
#include "support/catch.hpp"

#if __has_include(<dlpack/dlpack.h>)

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tegula/call/dlpack.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using test::ContainsSubstring;

namespace {

inline constexpr auto halved = kernel("halved", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<4, 16>);
  store(y, shape<4, 16>, load(x, shape<4, 16>, g[0], g[1]) * 0.5F, g[0], g[1]);
});

/// Is a tensor as a producer makes it, and counts the calls of its deleter.
struct Produced {
  std::vector<float> values;
  std::int64_t shape[2], strides[2];
  int deleted = 0;
  DLManagedTensor managed{};

  Produced(std::int64_t rows, std::int64_t columns, std::int64_t row_stride)
      : values(static_cast<std::size_t>(rows * row_stride + 2)), shape{rows, columns}, strides{row_stride, 1} {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    DLTensor& t = managed.dl_tensor;
    t.data = values.data();
    t.device.device_type = kDLCPU;
    t.ndim = 2;
    t.dtype = {kDLFloat, 32, 1};
    t.shape = shape;
    t.strides = strides;
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensor* self) { ++static_cast<Produced*>(self->manager_ctx)->deleted; };
  }
};

}  // namespace

TEST_CASE("kernels read tensors of DLPack: strides, an offset, dense ones without strides") {
  Produced made(5, 20, 24);
  made.managed.dl_tensor.byte_offset = 2 * sizeof(float);
  std::vector<float> y(100);
  {
    dlpack_tensor const taken(&made.managed);
    launch(host_stream(), halved, taken.view<float const, 2>(), view(y.data(), 5, 20));
    CHECK(made.deleted == 0);
  }
  CHECK(made.deleted == 1);
  for (std::int64_t row = 0; row < 5; ++row)
    for (std::int64_t column = 0; column < 20; ++column)
      REQUIRE(y[static_cast<std::size_t>(row * 20 + column)] == 0.5F * static_cast<float>(row * 24 + column + 2));
  made.managed.dl_tensor.strides = nullptr;
  tensor_view const dense = view_dlpack<float, 2>(made.managed.dl_tensor);
  CHECK(dense.stride(0) == 20);
  CHECK(dense.extent(0) == 5);
  CHECK(dense.where().is_host());
}

TEST_CASE("buffers go to DLPack and come back, of every element") {
  buffer<float, 2> x(device::host(), 3, 40);
  x.fill(7);
  void const* const address = x.data();
  {
    dlpack_tensor const travels(to_dlpack(std::move(x)));
    tensor_view const back = travels.view<float, 2>();
    CHECK(back.data() == address);
    CHECK(back.extent(1) == 40);
    CHECK(back.stride(0) == 40);
    CHECK(back.data()[119] == 7);
  }
  auto const round_trip = [](auto element, int code, int bits) {
    using T = decltype(element);
    DLManagedTensor* const given = to_dlpack(buffer<T, 1>(device::host(), 4));
    CHECK(given->dl_tensor.dtype.code == code);
    CHECK(given->dl_tensor.dtype.bits == bits);
    CHECK(view_dlpack<T, 1>(given->dl_tensor).extent(0) == 4);
    dlpack_tensor const freed(given);
  };
  round_trip(std::int8_t(), kDLInt, 8);
  round_trip(std::uint16_t(), kDLUInt, 16);
  round_trip(std::int64_t(), kDLInt, 64);
  round_trip(f16(0.0), kDLFloat, 16);
  round_trip(bf16(0.0), kDLBfloat, 16);
  round_trip(double(), kDLFloat, 64);
  round_trip(e5m2(0.0), 12, 8);
}

TEST_CASE("a tensor of DLPack of another element, rank or device is refused with both") {
  Produced made(5, 20, 20);
  DLTensor& tensor = made.managed.dl_tensor;
  CHECK_THROWS_WITH((view_dlpack<double, 2>(tensor)),
                    ContainsSubstring("the tensor's elements are f32, but the view's are f64"));
  CHECK_THROWS_WITH((view_dlpack<float, 3>(tensor)), ContainsSubstring("the tensor has 2 axes, but the view has 3"));
  tensor.dtype.lanes = 4;
  CHECK_THROWS_WITH((view_dlpack<float, 2>(tensor)), ContainsSubstring("code 2, 32 bits, 4 lanes"));
  tensor.dtype.lanes = 1;
  tensor.device.device_type = static_cast<DLDeviceType>(8);
  CHECK_THROWS_WITH((view_dlpack<float, 2>(tensor)), ContainsSubstring("on a device of type 8"));
  tensor.device.device_type = kDLCPU;
  std::int64_t* const shape = tensor.shape;
  tensor.shape = nullptr;
  CHECK_THROWS_WITH((view_dlpack<float, 2>(tensor)), ContainsSubstring("the tensor's shape is null"));
  tensor.shape = shape;
  void* const data = tensor.data;
  tensor.data = nullptr;
  tensor.byte_offset = 64;
  CHECK_THROWS_WITH((view_dlpack<float, 2>(tensor)), ContainsSubstring("64 bytes behind a null address"));
  tensor.data = data;
  for (std::uint64_t const offset : {~std::uint64_t{0} - 15, std::uint64_t{1} << 63, (std::uint64_t{1} << 63) - 16}) {
    tensor.byte_offset = offset;
    CHECK_THROWS_WITH((view_dlpack<float, 2>(tensor)),
                      ContainsSubstring(fmt::format("{} bytes behind the address", offset)) &&
                          ContainsSubstring("outside of the address space"));
  }
  tensor.byte_offset = 0;
  CHECK_THROWS_WITH((dlpack_tensor(nullptr).view<float, 2>()),
                    ContainsSubstring("the tensor has 0 axes") || ContainsSubstring("the tensor's elements are"));
}

#else
TEST_CASE("tensors of DLPack") { TEGULA_SKIP("<dlpack/dlpack.h> is not installed (libdlpack-dev)"); }
#endif
