#include "runtime/host/workspace.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <mutex>
#include <new>
#include <vector>

#include "tegula/support/error.hpp"

namespace tegula::runtime::host {
namespace {

constexpr std::align_val_t alignment{64};
/// Free workspaces that are kept; more are given back to the system.
constexpr std::size_t most_kept = 8;

void* allocate(std::int64_t bytes, char const* what) {
  void* memory = ::operator new(static_cast<std::size_t>(bytes), alignment, std::nothrow);
  if (memory == nullptr) throw UserError(fmt::format("host kernel: {} bytes of {} cannot be had", bytes, what));
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
  std::mutex mutex;
  std::vector<Block> blocks;

  /// The smallest that holds `bytes` without wasting more than three quarters of it; {nullptr, 0} if there is none.
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
      if (blocks.size() < most_kept) {
        blocks.push_back(block);
        return;
      }
      std::swap(block, blocks.front());  // the oldest goes
    }
    deallocate(block.memory);
  }
};

FreeBlocks& free_blocks() {
  static auto* blocks = [] {
    auto* fresh = new FreeBlocks;  // lives as long as the process
    fresh->blocks.reserve(most_kept);
    return fresh;
  }();
  return *blocks;
}

struct Scratch {
  void* memory = nullptr;
  std::int64_t bytes = 0;
  ~Scratch() { deallocate(memory); }
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

void* thread_scratch(std::int64_t bytes) {
  thread_local Scratch mine;
  if (bytes <= 0) return nullptr;
  if (mine.bytes < bytes) {
    deallocate(mine.memory);
    mine.memory = nullptr;
    mine.bytes = 0;
    mine.memory = allocate(bytes, "scratch");
    mine.bytes = bytes;
  }
  return mine.memory;
}

}  // namespace tegula::runtime::host
