// Defines hand-written PTX kernels and their launches, for the device tests of the runtime.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "support/catch.hpp"
#include "tegula/runtime/argument.hpp"
#include "tegula/abi/compiled_kernel.hpp"
#include "tegula/support/extents.hpp"

#define TEGULA_NEED_HOPPER()                                                 \
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str()); \
  if (device::cuda().architecture() != "sm_90a") TEGULA_SKIP("these tests are for sm_90a")

namespace tegula::test {

inline std::string number(std::int64_t value) { return fmt::to_string(value); }

/// Writes the head of an entry: 64-bit slots p0, p1, ... and, if asked for, one tensor map.
inline std::string entry_ptx(std::string const& name, int slots, bool map, std::string const& body) {
  std::string parameters;
  for (int i = 0; i < slots; ++i) parameters += std::string(i == 0 ? "" : ", ") + ".param .u64 p" + number(i);
  if (map) parameters += ", .param .align 64 .b8 tm[128]";
  return ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 smem[];\n.visible .entry " +
         name + "(" + parameters + ")\n{\n" +
         "  .reg .pred p;\n  .reg .b32 tid, base, bar, i, v, c<5>;\n  .reg .b64 map, g, d<4>;\n"
         "  mov.u32 tid, %tid.x;\n  mov.u32 base, smem;\n" +
         body + "  ret;\n}\n";
}

inline ParameterInfo parameter(Direction direction, Element element, int rank) {
  ParameterInfo info;
  info.direction = direction;
  info.element = element;
  info.rank = rank;
  return info;
}

inline Argument tensor(void* address, Element element, Extents const& extents, Extents const& strides) {
  Argument argument;
  argument.element = element;
  argument.rank = extents.size();
  argument.space = DeviceKind::cuda;
  argument.device_number = 0;
  argument.address = address;
  for (int axis = 0; axis < extents.size(); ++axis) {
    argument.extents[axis] = extents[axis];
    argument.strides[axis] = strides[axis];
  }
  return argument;
}

}  // namespace tegula::test
