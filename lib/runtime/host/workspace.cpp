#include "runtime/host/workspace.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <new>
#include <vector>

#include "runtime/host/huge_pages.hpp"
#include "support/locks.hpp"
#include "tegula/support/error.hpp"

namespace tegula::runtime::host {
namespace {

constexpr std::align_val_t alignment{64};
/// Limits the free workspaces that are kept; more are returned to the system.
constexpr std::size_t max_kept = 8;

void* allocate(std::int64_t bytes, char const* purpose) {
  void* memory = ::operator new(static_cast<std::size_t>(bytes), alignment, std::nothrow);
  if (memory == nullptr) throw UserError(fmt::format("host kernel: cannot allocate {} bytes of {}", bytes, purpose));
  prefer_huge_pages(memory, bytes);
  return memory;
}

void deallocate(void* memory) {
  if (memory != nullptr) ::operator delete(memory, alignment);
}

struct Block {
  void* memory;
  std::int64_t bytes;
};

struct FreeBlocks {
  support::Mutex mutex;
  std::vector<Block> blocks;

  /// Takes the smallest that holds `bytes` without wasting more than three quarters of it; {nullptr, 0} if there is
  /// none.
  Block take(std::int64_t bytes) {
    std::lock_guard lock(mutex);
    std::size_t best = blocks.size();
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].bytes < bytes || blocks[i].bytes / 4 > bytes) continue;
      if (best == blocks.size() || blocks[i].bytes < blocks[best].bytes) best = i;
    }
    if (best == blocks.size()) return {nullptr, 0};
    Block const found = blocks[best];
    blocks[best] = blocks.back();
    blocks.pop_back();
    return found;
  }
  void give(Block block) {
    {
      std::lock_guard lock(mutex);
      if (blocks.size() < max_kept) {
        blocks.push_back(block);
        return;
      }
      std::swap(block, blocks.front());  // the oldest goes
    }
    deallocate(block.memory);
  }
};

FreeBlocks& free_blocks() {
  static constinit support::PerProcess<FreeBlocks> kept_blocks;
  return kept_blocks.get([] {
    auto fresh = std::make_unique<FreeBlocks>();
    fresh->blocks.reserve(max_kept);
    return fresh;
  });
}

/// Keeps scratch without a destructor: other objects of the thread, and static ones, launch while they are destroyed.
struct Kept {
  Block block;
  bool ended;  ///< the thread has freed it for good
};
constinit thread_local Kept kept{{nullptr, 0}, false};

/// Frees the thread's scratch memory when the thread ends.
struct ScratchKeeper {
  ScratchKeeper() = default;
  ~ScratchKeeper() {
    deallocate(kept.block.memory);
    kept = {{nullptr, 0}, true};
  }
  ScratchKeeper(ScratchKeeper const&) = delete;
  ScratchKeeper& operator=(ScratchKeeper const&) = delete;
};

}  // namespace

Workspace::Workspace(std::int64_t bytes) {
  if (bytes <= 0) return;
  Block const block = free_blocks().take(bytes);
  memory_ = block.memory != nullptr ? block.memory : allocate(bytes, "workspace");
  bytes_ = block.memory != nullptr ? block.bytes : bytes;
}

Workspace::~Workspace() {
  if (memory_ != nullptr) free_blocks().give({memory_, bytes_});
}

Scratch::Scratch(std::int64_t bytes) {
  if (bytes <= 0) return;
  if (kept.ended) {
    memory_ = borrowed_.emplace(bytes).get();
    return;
  }
  thread_local ScratchKeeper const keeper;
  if (kept.block.bytes < bytes) {
    deallocate(kept.block.memory);
    kept.block = {nullptr, 0};
    kept.block = {allocate(bytes, "scratch"), bytes};
  }
  memory_ = kept.block.memory;
}

}  // namespace tegula::runtime::host
