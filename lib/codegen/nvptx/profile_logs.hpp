// Holds the logs of a profiled kernel while it is emitted, and the entry whose store waits. lower_profile.cpp fills it.
#pragma once

#include <llvm/IR/Value.h>

#include <functional>
#include <map>
#include <utility>

#include "tegula/abi/profile_format.hpp"
#include "ir/core/op.hpp"

namespace tegula::codegen::nvptx {

/// Holds the log of the executing warp. `writes` is true in the lane that writes it.
struct Log {
  ProfileLayout layout;             ///< of log_layout
  bool in_shared = false;           ///< rows are kept in shared memory until the end
  llvm::Value* buffer = nullptr;    ///< i64
  llvm::Value* selected = nullptr;  ///< i1: the warp records
  llvm::Value* writes = nullptr;    ///< i1
  llvm::Value* row = nullptr;       ///< address of this warp's row
  llvm::Value* taken = nullptr;     ///< number of the row in its group, if rows are kept in shared memory
  llvm::Value* written = nullptr;   ///< bytes of all entries so far, modulo 2^32: a stack slot that becomes a register
  llvm::Value* place = nullptr;     ///< bytes from the first slot to the next entry's: a stack slot likewise
};

class ProfileLogs {
 public:
  void add(ir::Value const& token, Log const& log) { logs_.emplace(&token, log); }
  /// Returns the log of a profile_begin, by its result.
  [[nodiscard]] Log const& of(ir::Value const& token) const;

  /// Lets the store of an entry, whose clock was read, come after products.
  void defer(std::function<void()> store) { deferred_ = std::move(store); }
  /// Emits the store that waits, if there is one.
  void store_deferred() {
    if (auto const store = std::exchange(deferred_, nullptr)) store();
  }

 private:
  std::map<ir::Value const*, Log> logs_;
  std::function<void()> deferred_;
};

}  // namespace tegula::codegen::nvptx
