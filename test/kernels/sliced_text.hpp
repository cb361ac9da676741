// The text of a product of slices, whose bounds the kernel reads from memory.
#pragma once

namespace tegula::test {

/// Block g multiplies rows starts[g] .. starts[g + 1] - 1 of A, at most 64, by matrix g of B.
inline constexpr char const* sliced_text = R"(tegula-ir 1

kernel @sliced(%A: in tensor<?x?xbf16> {unit_inner, aligned_16}, %B: in tensor<?x?x?xbf16> {unit_inner, aligned_16}, %starts: in tensor<?xi32>, %C: out tensor<?x?xf32> {unit_inner, aligned_16}) {
  %zero = constant {value = 0 : i64} : i64
  %one = constant {value = 1 : i64} : i64
  %k = constant {value = 64 : i64} : i64
  %groups = extent %B : i64
  grid %groups
  %g = block_index : i64
  %next = add %g, %one : i64
  %first32 = load %starts, %g : i32
  %last32 = load %starts, %next : i32
  %first = cast %first32 : i64
  %last = cast %last32 : i64
  %a = slice %A, %first, %last : tensor<?x?xbf16>
  %c = slice %C, %first, %last : tensor<?x?xf32>
  %depth = extent %A {axis = 1} : i64
  %trips = ceil_div %depth, %k : i64
  %none = constant {value = 0 : f32} : tile<64x64xf32>
  %all = for %i = %zero to %trips step %one carry (%sum = %none) {stages = 2} : tile<64x64xf32> {
    %at = mul %i, %k : i64
    %left = load %a, %zero, %at : tile<64x64xbf16>
    %right = load %B, %g, %at, %zero : tile<64x64xbf16>
    %more = dot %left, %right, %sum : tile<64x64xf32>
    yield %more
  }
  store %c, %all, %zero, %zero
  return
}
)";

}  // namespace tegula::test
