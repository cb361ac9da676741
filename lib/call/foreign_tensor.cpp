#include "tegula/call/foreign_tensor.hpp"

#include <fmt/format.h>

#include <limits>
#include <string>

#include "tegula/runtime/view.hpp"
#include "tegula/support/error.hpp"

namespace tegula::detail {
namespace {

/// Numbers of DLPack's enum, which are its binary interface; names and members differ between its versions.
enum Place { on_cpu = 1, on_cuda = 2, on_cuda_host = 3, on_cuda_managed = 13 };

std::string text_of(ForeignType type) {
  for (ElementInfo const& each : element_table)
    if (foreign_type(each.element) == type) return std::string(each.name);
  return fmt::format("code {}, {} bits, {} lanes", type.code, type.bits, type.lanes);
}

}  // namespace

ForeignType foreign_type(Element element) { return {static_cast<int>(info(element).dlpack), 8 * bytes(element), 1}; }

void check_foreign(ForeignType found, int rank_found, int device_type, Element element, int rank) {
  if (found != foreign_type(element))
    throw UserError(
        fmt::format("dlpack: the tensor's elements are {}, but the view's are {}; name the type of the "
                    "elements in view_dlpack<T, Rank>",
                    text_of(found), name(element)));
  if (rank_found != rank)
    throw UserError(fmt::format(
        "dlpack: the tensor has {} axes, but the view has {}; name them in view_dlpack<T, Rank>", rank_found, rank));
  if (device_type != on_cpu && device_type != on_cuda && device_type != on_cuda_host && device_type != on_cuda_managed)
    throw UserError(
        fmt::format("dlpack: the tensor is on a device of type {}; copy it to the host (1) or to a CUDA "
                    "device (2) first",
                    device_type));
}

void check_foreign_memory(void const* shape, void const* data, std::uint64_t byte_offset) {
  if (shape == nullptr)
    throw UserError("dlpack: the tensor's shape is null; its producer gives one extent for each axis");
  if (data == nullptr && byte_offset != 0)
    throw UserError(
        fmt::format("dlpack: the tensor begins {} bytes behind a null address; its producer gives the address of the "
                    "memory in data",
                    byte_offset));
  if (byte_offset > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) ||
      !may_reach(data, static_cast<std::int64_t>(byte_offset)))
    throw UserError(
        fmt::format("dlpack: the tensor begins {} bytes behind the address {}, outside of the address space; its "
                    "producer gives an offset into the memory in data",
                    byte_offset, data));
}

device foreign_device(int device_type, int number) {
  return device_type == on_cuda || device_type == on_cuda_managed ? device::cuda(number) : device::host();
}

}  // namespace tegula::detail
