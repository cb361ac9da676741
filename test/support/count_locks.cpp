// Replaces the functions that lock and hash by ones that count.
#include "support/count_locks.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <cstddef>

namespace {
thread_local constinit std::int64_t locks = 0;
thread_local constinit std::int64_t hashes = 0;
}  // namespace

std::int64_t tegula::test::locks_of_thread() { return locks; }
std::int64_t tegula::test::hashes_of_thread() { return hashes; }

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
namespace {

/// Returns the library's own function of that name.
template <class Function>
Function* next(char const* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static auto* const own = next<int(pthread_mutex_t*)>("pthread_mutex_lock");
  ++locks;
  return own(mutex);
}
extern "C" int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  static auto* const own = next<int(pthread_rwlock_t*)>("pthread_rwlock_rdlock");
  ++locks;
  return own(lock);
}
extern "C" int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  static auto* const own = next<int(pthread_rwlock_t*)>("pthread_rwlock_wrlock");
  ++locks;
  return own(lock);
}

/// Replaces std::_Hash_bytes, which std::hash of texts calls.
extern "C" std::size_t tegula_test_hash_bytes(void const* text, std::size_t size,
                                              std::size_t seed) __asm__("_ZSt11_Hash_bytesPKvmm");
std::size_t tegula_test_hash_bytes(void const* text, std::size_t size, std::size_t seed) {
  static auto* const own = next<std::size_t(void const*, std::size_t, std::size_t)>("_ZSt11_Hash_bytesPKvmm");
  ++hashes;
  return own(text, size, seed);
}
#endif
