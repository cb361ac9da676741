// Asks the system for huge pages. Private to lib/runtime.
#pragma once

#include <cstdint>

namespace tegula::runtime::host {

/// Asks for huge pages where the memory is large; reading and writing it once then costs fewer walks of page tables. A
/// system without them, or one that keeps them back, changes nothing.
void prefer_huge_pages(void* memory, std::int64_t bytes);

}  // namespace tegula::runtime::host
