// Defines a bf16 product that launches as one kernel and is several: tiles and CTAs per product for each problem.
#pragma once

#include <tegula/tegula.hpp>

#include "tuned/product.h100.hpp"
#include "tuned/product.h200.hpp"

namespace samples {

using namespace tegula;

template <int BM, int BN, int BK>
inline constexpr auto product = kernel("product", [](in<bf16, 2> A, in<bf16, 2> B, out<bf16, 2> C) {
  require(A.extent(1) == B.extent(0), "product: A is M x K and B is K x N, but the two K differ");
  auto g = grid_over(C, shape<BM, BN>);
  tile acc = loop(
      ceil_div(A.extent(1), BK), zeros<float>(shape<BM, BN>),
      [&](auto k, auto sum) { return dot(load(A, shape<BM, BK>, g[0], k), load(B, shape<BK, BN>, k, g[1]), sum); },
      stages<4>);
  store(C, shape<BM, BN>, cast<bf16>(acc), g[0], g[1]);
});

inline auto const product_variants = variants(
    "product", variant("128x256", product<128, 256, 64>), variant("128x128", product<128, 128, 64>),
    variant("128x192", product<128, 192, 64>), variant("128x224, 3 stages", with({.stages = 3}), product<128, 224, 64>),
    variant("128x256, 3 stages", with({.stages = 3}), product<128, 256, 64>),
    variant("128x256, shared", with({.share = 2}), product<128, 256, 64>),
    variant("128x128, shared", with({.share = 2}), product<128, 128, 64>),
    variant("128x128, split 2", with({.split = 2}), product<128, 128, 64>), variant("128x64", product<128, 64, 128>),
    variant("64x128", product<64, 128, 128>), variant("64x64, 6 stages", with({.stages = 6}), product<64, 64, 128>),
    variant("64x64, split 2", with({.split = 2}), product<64, 64, 128>),
    variant("32x64, 8 stages", with({.stages = 8}), product<32, 64, 128>),
    variant("16x64, 8 stages", with({.stages = 8}), product<16, 64, 128>),
    variant("16x64, 6 stages, split 2", with({.stages = 6, .split = 2}), product<16, 64, 128>),
    variant("128x128, split 4", with({.split = 4}), product<128, 128, 64>),
    variant("128x64, split 2", with({.split = 2}), product<128, 64, 128>),
    variant("64x128, split 2", with({.split = 2}), product<64, 128, 128>),
    variant("64x128, split 4", with({.split = 4}), product<64, 128, 128>),
    variant("64x64, split 4", with({.split = 4}), product<64, 64, 128>),
    variant("32x64, split 2", with({.stages = 6, .split = 2}), product<32, 64, 128>),
    variant("32x64, split 4", with({.stages = 6, .split = 4}), product<32, 64, 128>),
    variant("32x64, split 8", with({.stages = 6, .split = 8}), product<32, 64, 128>),
    variant("16x64, split 4", with({.stages = 6, .split = 4}), product<16, 64, 128>),
    variant("16x64, split 8", with({.stages = 6, .split = 8}), product<16, 64, 128>),
    variant("16x128, 6 stages", with({.stages = 6}), product<16, 128, 128>),
    variant("32x128, 6 stages", with({.stages = 6}), product<32, 128, 128>), variant("64x256", product<64, 256, 64>),
    variant("64x192", product<64, 192, 64>), variant("256x128", product<256, 128, 64>),
    variant("192x128", product<192, 128, 64>),
    variant("64x32, split 4", with({.stages = 6, .split = 4}), product<64, 32, 128>),
    variant("128x256, serpentine", with({.serpentine = Choice::on}), product<128, 256, 64>),
    variant("128x256, 3 stages, serpentine", with({.stages = 3, .serpentine = Choice::on}), product<128, 256, 64>),
    variant("128x256, shared, serpentine", with({.share = 2, .serpentine = Choice::on}), product<128, 256, 64>),
    variant("128x192, split 2", with({.split = 2}), product<128, 192, 64>),
    variant("192x128, split 2", with({.split = 2}), product<192, 128, 64>),
    variant("16x64, split 3", with({.stages = 6, .split = 3}), product<16, 64, 128>),
    variant("32x64, split 3", with({.stages = 6, .split = 3}), product<32, 64, 128>),
    variant("192x160, serpentine", with({.serpentine = Choice::on}), product<192, 160, 64>),
    variant("16x64, split 16", with({.stages = 6, .split = 16}), product<16, 64, 128>),
    variant("32x64, split 16", with({.stages = 6, .split = 16}), product<32, 64, 128>),
    variant("64x32, split 16", with({.stages = 6, .split = 16}), product<64, 32, 128>),
    variant("64x64, split 8", with({.split = 8}), product<64, 64, 128>),
    variant("64x64, split 16", with({.split = 16}), product<64, 64, 128>),
    variant("64x128, split 8", with({.split = 8}), product<64, 128, 128>),
    variant("128x128, split 8", with({.split = 8}), product<128, 128, 64>),
    variant("80x64, 5 stages", with({.stages = 5}), product<80, 64, 128>),
    variant("80x128, 6 stages", with({.stages = 6}), product<80, 128, 64>),
    variant("80x128, split 2", with({.stages = 6, .split = 2}), product<80, 128, 64>),
    variant("96x192", product<96, 192, 64>));

inline auto const products = product_variants.tuned(product_h200).tuned(product_h100);

}  // namespace samples
