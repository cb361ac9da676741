// States the properties of a kernel in its PTX besides its code: entry, launch bounds, cluster, by-value tensor maps.
#pragma once

#include <vector>

#include "codegen/llvm_fwd.hpp"

namespace tegula::codegen::nvptx {

struct KernelProperties {
  int threads = 32;                   ///< per CTA, along x
  int cluster = 1;                    ///< CTAs per cluster, along x
  int ctas = 1;                       ///< that share a multiprocessor at least
  std::vector<unsigned> tensor_maps;  ///< arguments of type ptr that are 128-byte tensor maps by value
};

/// Makes the function a kernel with these properties, as function attributes (LLVM 22) and as annotations (LLVM 19).
/// Each ignores the other's, but 22 crashes on the annotation of tensor maps. The minimum number of CTAs per SM is
/// always stated, else ptxas ignores setmaxnreg (C7508). LLVM 19 cannot state the cluster: there the launch attribute
/// alone states it.
void describe_kernel(llvm::Function& function, KernelProperties const& properties);

}  // namespace tegula::codegen::nvptx
