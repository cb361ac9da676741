#include "jit/kernel_memo.hpp"

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "support/locks.hpp"

namespace tegula::jit {
namespace {

/// Returns the number in the kernel type's own memory, set by the first caller. Numbers are never used again, unlike
/// addresses: a library may be mapped where another one was.
std::uint64_t number_of(std::uint64_t& identity) {
  std::atomic_ref<std::uint64_t> number(identity);
  std::uint64_t known = number.load(std::memory_order_relaxed);
  if (known != 0) return known;
  static constinit std::atomic<std::uint64_t> last = 0;
  std::uint64_t const fresh = ++last;
  return number.compare_exchange_strong(known, fresh, std::memory_order_relaxed) ? fresh : known;
}

/// Holds the memos by the number of the kernel's type and by its name: one lambda may be several kernels.
class Memos {
 public:
  /// Finds the memo; null for a kernel that is traced at each launch.
  std::shared_ptr<KernelMemo> of(KernelRef const& kernel) {
    if (kernel.identity == nullptr) return nullptr;
    std::uint64_t const number = number_of(*kernel.identity);
    {
      std::shared_lock lock(mutex_);
      if (auto const found = memos_.find(number); found != memos_.end())
        for (Named const& memo : found->second)
          if (memo.name == kernel.name) return memo.memo;
    }
    std::unique_lock lock(mutex_);
    std::vector<Named>& of_type = memos_[number];
    for (Named const& memo : of_type)
      if (memo.name == kernel.name) return memo.memo;
    return of_type.emplace_back(Named{kernel.name, std::make_shared<KernelMemo>()}).memo;
  }
  void clear() {
    std::unique_lock lock(mutex_);
    memos_.clear();
  }

 private:
  struct Named {
    std::string name;
    std::shared_ptr<KernelMemo> memo;
  };
  support::SharedMutex mutex_;
  std::unordered_map<std::uint64_t, std::vector<Named>> memos_;
};

/// A child of fork() begins with no memos; launches prepared before keep their code.
constinit support::PerProcess<Memos> all_memos;

}  // namespace

std::shared_ptr<KernelMemo> memo_of(KernelRef const& kernel) { return all_memos.get().of(kernel); }

void forget_memos() { all_memos.get().clear(); }

std::shared_ptr<Traced const> traced(KernelRef const& kernel, GridFrom grid) {
  if (std::shared_ptr<KernelMemo> const memo = memo_of(kernel)) return memo->trace.get_compared(kernel, grid);
  std::shared_ptr<Traced const> const own = trace_of(kernel);
  return grid == GridFrom::kernel ? own : variant_of(*own);
}

}  // namespace tegula::jit
