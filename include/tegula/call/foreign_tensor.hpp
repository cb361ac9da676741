// Checks the tensors of other libraries, in the numbers of DLPack and without its header.
#pragma once

#include <cstdint>

#include "tegula/dsl/element.hpp"
#include "tegula/runtime/device.hpp"

namespace tegula::detail {

/// Names the type of an element as the numbers of DLPack's DLDataType.
struct ForeignType {
  int code = 0;
  int bits = 0;
  int lanes = 1;
  friend bool operator==(ForeignType const&, ForeignType const&) = default;
};
/// Returns the type of an element. DLPack has booleans since version 0.8, floats of 8 bits since 1.1.
ForeignType foreign_type(Element element);

/// Throws UserError if a tensor does not have this element and rank, or if its device type (a number of DLDeviceType)
/// is neither the host nor CUDA.
void check_foreign(ForeignType found, int rank_found, int device_type, Element element, int rank);
/// Throws UserError if a tensor has axes but no extents, an offset from a null address, or one past the address space.
void check_foreign_memory(void const* shape, void const* data, std::uint64_t byte_offset);
/// Returns the device of a tensor that check_foreign took.
device foreign_device(int device_type, int number);

}  // namespace tegula::detail
