// Records the last accesses to each element of global memory, for race detection between blocks. An element that
// overlaps elements of another size has several parts.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "ir/core/op.hpp"

namespace tegula::sim {

class Shadow {
 public:
  /// Names one access: the linear block, the op and the block's time; no op: none yet.
  struct Access {
    std::int64_t block = -1;
    ir::Op const* op = nullptr;
    std::int64_t time = 0;  ///< of the block, by BlockOrder
    [[nodiscard]] bool none() const { return op == nullptr; }
  };
  /// Holds the last store, and loads by up to two different blocks. A store conflicts with loads of any block but its
  /// own that are not ordered before it. So two are enough to know that one is of another block.
  struct Cell {
    Access store;
    std::array<Access, 2> loads;
  };

  Cell& cell(void const* address) {
    auto const number = reinterpret_cast<std::uintptr_t>(address);
    auto const page = number / page_size;
    if (page != last_page_ || last_ == nullptr) {
      auto& found = pages_[page];
      if (!found) found = std::make_unique<Page>();
      last_ = found.get();
      last_page_ = page;
    }
    auto& cell = last_->cells[number % page_size];
    if (!cell) cell = std::make_unique<Cell>();
    return *cell;
  }
  [[nodiscard]] Cell const* find(void const* address) const {
    auto const number = reinterpret_cast<std::uintptr_t>(address);
    auto const found = pages_.find(number / page_size);
    return found == pages_.end() ? nullptr : found->second->cells[number % page_size].get();
  }

 private:
  static constexpr std::uintptr_t page_size = 1024;
  struct Page {
    std::array<std::unique_ptr<Cell>, page_size> cells;
  };
  std::unordered_map<std::uintptr_t, std::unique_ptr<Page>> pages_;
  std::uintptr_t last_page_ = 0;
  Page* last_ = nullptr;
};

}  // namespace tegula::sim
