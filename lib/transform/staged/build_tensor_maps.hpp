// Builds the descriptors of slices on the device.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Makes the maps of slices, whose address and extents the host does not know, in global memory when a CTA begins.
///
///   before: %s = slice %x, %first, %last {axis = 0} : tensor<?x?xbf16>
///           %m = tensor_map %s {box = [128, 64], swizzle = b128} : tensor_map<128x64xbf16>
///           ... tma_load %m, %ring, %full, %i, %k ...
///   after:  %map_x = tensor_map %x {box = [128, 64], swizzle = b128} : tensor_map<128x64xbf16>
///           %s = slice %x, %first, %last {axis = 0} : tensor<?x?xbf16>
///           %home = buffer_alloc : shared<1xi64, dense>
///           elect { build_tensor_map %map_x, %s, %home    release_tensor_maps }
///           barrier
///           %m = device_tensor_map %map_x, %s, %home : tensor_map<128x64xbf16>
///           acquire_tensor_map %m
///           ... tma_load %m, %ring, %full, %at, %k ...    (%at: %i, or behind the one element of an empty slice)
///           barrier
///           elect { free_tensor_map %m }                  (at the kernel's end)
///
/// The map of the whole tensor goes to the kernel by value, as it does for copies of the tensor itself. Prefetches of
/// the map are dropped. The copies before the end have been waited for: rings by their readers, stores by bulk_wait.
///
/// Order: free after run-ahead and relax-arithmetic: the maps are made when a CTA begins, before its loops.
PassResult build_tensor_maps(ir::Function& function, PassContext& context);

}  // namespace tegula::transform
