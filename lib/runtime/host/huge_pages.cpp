#include "runtime/host/huge_pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace tegula::runtime::host {

void prefer_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::int64_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::int64_t least = std::int64_t{4} << 20;  // at least one whole huge page, and little of it unused
  if (memory == nullptr || bytes < least) return;
  auto const page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  std::uintptr_t const first = (reinterpret_cast<std::uintptr_t>(memory) + page - 1) / page * page;
  std::uintptr_t const last =
      (reinterpret_cast<std::uintptr_t>(memory) + static_cast<std::uintptr_t>(bytes)) / page * page;
  (void)::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

}  // namespace tegula::runtime::host
