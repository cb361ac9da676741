// Tests the remedies in the messages of the CUDA driver's errors, and that launches go on after a failed allocation.
#if __has_include(<cuda.h>)

#include <utility>
#include <vector>

#include "runtime/cuda/driver.hpp"
#include "support/catch.hpp"
#include "tegula/runtime/buffer.hpp"

using namespace tegula;
using test::ContainsSubstring;

TEST_CASE("errors of the driver that a caller can mend have a remedy") {
  using runtime::cuda::remedy_of;
  CHECK_THAT(remedy_of(CUDA_ERROR_OUT_OF_MEMORY), ContainsSubstring("free other buffers"));
  CHECK_THAT(remedy_of(CUDA_ERROR_INVALID_HANDLE), ContainsSubstring("destroyed"));
  CHECK_THAT(remedy_of(CUDA_ERROR_UNSUPPORTED_PTX_VERSION), ContainsSubstring("newer driver"));
  for (CUresult const sticky : {CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_MISALIGNED_ADDRESS,
                                CUDA_ERROR_ASSERT, CUDA_ERROR_LAUNCH_TIMEOUT})
    CHECK_THAT(remedy_of(sticky), ContainsSubstring("an earlier kernel of this process failed"));
  CHECK(remedy_of(CUDA_ERROR_INVALID_VALUE).empty());
}

TEST_CASE("a stream that was moved from is the same stream, and an allocation that fails leaves the device usable") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  stream first(device::cuda());
  stream const second = std::move(first);
  CHECK(first.handle() == second.handle());
  first.synchronize();
  CHECK_THROWS_WITH(buffer<float>(device::cuda(), std::int64_t{1} << 45),
                    ContainsSubstring("140737488355328 bytes on cuda:0") && ContainsSubstring("free other buffers"));
  std::vector<float> const values(100, 3);
  buffer<float> made(device::cuda(), values);
  std::vector<float> found(100);
  made.copy_to(found);
  CHECK(found == values);
}

#endif
