// Holds a kernel that writes, reads and copies out buffers in shared and in global memory, for each executor.
#pragma once

#include <cstdint>

namespace tegula::test {

inline constexpr std::int64_t buffer_kernel_rows = 64, buffer_kernel_columns = 32;

/// y = 5 * transposed(x), through shared memory and with a factor that one lane hands to all; z = 2 * x, through global
/// memory.
inline constexpr auto buffer_kernel = R"(
kernel @buffers(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>, %z: out tensor<?x?xf32>) warps = 4 {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %s = buffer_alloc {align = 1024} : shared<2x64x32xf32, swizzled(128)>
  %c = buffer_alloc : shared<4xf32, dense>
  %g = buffer_alloc {symbol = "copy_of_x"} : global<2x64x32xf32, dense>
  %v = view %s, %1, %0, %0 : shared<64x32xf32, swizzled(128)>
  %w = view %g, %1, %0, %0 : global<64x32xf32, dense>
  %slot = view %c, %1 : shared<1xf32, dense of 4>
  %a = load %x, %0, %0 : tile<64x32xf32, [register (0,1) (0,2) (0,4) (8,0), lane (0,8) (0,16) (1,0) (2,0) (4,0), warp (16,0) (32,0)]>
  buffer_store %v, %a
  buffer_store %w, %a
  elect {
    %five = constant {value = 5 : f32} : f32
    buffer_store %slot, %five
    yield
  }
  barrier
  %k = buffer_load %slot : f32
  %t = trans_view %v : shared<32x64xf32, swizzled_t(128)>
  %b = buffer_load %t : tile<32x64xf32, [register (0,1) (0,2) (0,32) (16,0), lane (0,4) (0,8) (0,16) (1,0) (2,0), warp (4,0) (8,0)]>
  %f = splat %k : tile<32x64xf32, [register (0,1) (0,2) (0,32) (16,0), lane (0,4) (0,8) (0,16) (1,0) (2,0), warp (4,0) (8,0)]>
  %r = mul %b, %f : tile<32x64xf32, [register (0,1) (0,2) (0,32) (16,0), lane (0,4) (0,8) (0,16) (1,0) (2,0), warp (4,0) (8,0)]>
  store %y, %r, %0, %0
  buffer_dealloc %s
  %d = buffer_load %w : tile<64x32xf32, [register (0,1) (0,16) (8,0) (16,0), lane (0,2) (0,4) (0,8) (1,0) (2,0), warp (4,0) (32,0)]>
  %e = add %d, %d : tile<64x32xf32, [register (0,1) (0,16) (8,0) (16,0), lane (0,2) (0,4) (0,8) (1,0) (2,0), warp (4,0) (32,0)]>
  store %z, %e, %0, %0
  buffer_dealloc %g
  return
}
)";

}  // namespace tegula::test
