// Defines a 128-bit integer, for sums and products of 64-bit ones that must not overflow.
#pragma once

namespace tegula::support {

__extension__ typedef __int128 Int128;

}  // namespace tegula::support
