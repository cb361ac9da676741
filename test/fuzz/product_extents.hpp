// Judges products of every extent that tensor cores count in, through the passes, ptxas and the simulator.
#pragma once

#include <string>
#include <vector>

#include "kernels/gemm_kernel.hpp"

namespace tegula::fuzz {

/// Makes a product of two blocks of K; its elements are those of the tensors.
test::GemmShape product(int m, int n, int k, test::GemmElements const& elements = {}, bool trans_b = false);
std::string text_of(test::GemmShape const& shape);
/// Lists products of all extents up to 256, in an order that does not change.
std::vector<test::GemmShape> const& all_products();

/// Names the error of the product; empty: none. `refused` says whether the compiler refuses it, for a reason that this
/// function confirms by itself.
std::string error_of(test::GemmShape const& shape, bool& refused);

/// Names the error if the compiler refuses a product with aligned tensors, or with so many warps, that it takes with
/// unaligned ones; empty: none.
std::string fitting_error(test::GemmShape const& shape, int warps, bool& refused);
/// Returns why the compiler refuses a kernel before it makes code; empty: it does not.
std::string refusal(ir::Module const& module, CompileOptions const& options);

}  // namespace tegula::fuzz
