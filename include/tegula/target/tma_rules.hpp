// Names the rules of TMA copies, each with its remedy. The sentence for a broken rule begins with the name:
//   tma: stride: the stride of the tensor's rows is known to be a multiple of 4 bytes, not of 16
#pragma once

#include <cstdint>
#include <string_view>

namespace tegula {

struct TmaRule {
  std::string_view name;
  std::string_view fix;
};

namespace tma_rule {

inline constexpr TmaRule element{"element", "elements of 1, 2, 4 or 8 bytes other than bool can be copied; cast"};
inline constexpr TmaRule rank{"rank", "take tensors and tiles of 1 to 5 axes"};
inline constexpr TmaRule box{"box", "take a tile that parts into boxes of 1 to 256 elements along each axis"};
inline constexpr TmaRule row{"row", "take a tile whose last axis has a multiple of 16 bytes"};
inline constexpr TmaRule swizzle{"swizzle", "take a tile whose last axis is 32, 64 or a multiple of 128 bytes wide"};
inline constexpr TmaRule placement{"placement", "take a tile whose rows and size are multiples of 128 bytes"};
inline constexpr TmaRule contiguous{"contiguous", "pass a tensor whose last axis has stride 1"};
inline constexpr TmaRule address{"address", "pass a tensor that begins at a multiple of 16 bytes"};
inline constexpr TmaRule stride{"stride", "pad the tensor's rows to a multiple of 16 bytes; let no axis run backwards"};
inline constexpr TmaRule coordinate{
    "coordinate",
    "take a tile whose last axis has a multiple of 16 bytes, or begin it at elements known "
    "to be multiples of 16 bytes (multiple_of, within)"};
inline constexpr TmaRule direction{"direction", "read from an in parameter that the kernel does not write"};
inline constexpr TmaRule slice{"slice",
                               "take slices outside of loops and branches, with bounds from arguments, block indices "
                               "and elements of in tensors"};
inline constexpr TmaRule pad{"pad", "pad with 0 and select the other value in registers"};

inline constexpr TmaRule const* all[] = {&element, &rank,   &box,        &row,       &swizzle, &placement, &contiguous,
                                         &address, &stride, &coordinate, &direction, &slice,   &pad};

inline constexpr std::int64_t max_axes = 5;
inline constexpr std::int64_t max_box_extent = 256;
inline constexpr int step_bytes = 16;                                ///< of addresses, strides and rows of a box
inline constexpr std::int64_t stride_limit = std::int64_t{1} << 40;  ///< bytes; strides are below it
/// Limits the elements along an axis. Coordinates have 32 bits with a sign: a tile that begins behind the last element
/// still ends below 2^31.
inline constexpr std::int64_t max_extent = (std::int64_t{1} << 31) - (std::int64_t{1} << 20);

}  // namespace tma_rule
}  // namespace tegula
