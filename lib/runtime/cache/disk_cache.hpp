// Keeps binaries on disk, shared by processes and threads. Entries are found by the text of their key, which the file
// holds in full. A file that is torn, damaged, foreign or of another version is never used and is written anew.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/cache/cache_file.hpp"
#include "support/options.hpp"

namespace tegula::runtime {

/// Counts the events in this process; for tests and reports.
struct CacheCounters {
  std::atomic<std::int64_t> hits = 0;
  std::atomic<std::int64_t> misses = 0;
  std::atomic<std::int64_t> damaged = 0;  ///< files ignored because of their content or owner
  std::atomic<std::int64_t> stores = 0;
};
CacheCounters& cache_counters();

/// Is a folder of entries "<kernel>-<hash of key>.<kind>". Where the folder that the user named holds other files, the
/// entries lie in its sub-folder "tegula-cache"; a process looks once. Their bytes stay below TEGULA_CACHE_LIMIT: a
/// store removes the entries used least recently. Making one does not access the disk. All members are safe to call
/// from any thread. They never throw for the contents of the disk: a problem is a warning and a miss.
class DiskCache {
 public:
  /// Finds the folder: TEGULA_CACHE_DIR, else XDG_CACHE_HOME/tegula, else ~/.cache/tegula; TEGULA_CACHE turns it on or
  /// off.
  explicit DiskCache(support::Options const& options);

  /// Finds the payload stored under exactly this key.
  [[nodiscard]] std::optional<std::string> find(std::string_view kernel, std::string_view kind,
                                                std::string_view key) const;
  /// Stores a payload, in place of an earlier one. Others see the old file or the whole new one.
  void store(std::string_view kernel, std::string_view kind, std::string_view key, std::string_view payload) const;

  /// Returns the path where an entry is or would be; empty if the cache is off.
  [[nodiscard]] std::string path_of(std::string_view kernel, std::string_view kind, std::string_view key) const;
  /// Returns the folder of the entries; empty if the cache is off.
  [[nodiscard]] std::string folder() const;

 private:
  std::string named_;        ///< by the user or by default; empty: off
  std::uint64_t limit_ = 0;  ///< bytes of all entries
  bool writable_ = false;
};

/// Returns key and payload of a file, if it is whole. Reads any file name; for tools that compare keys.
std::optional<CacheEntry> read_cache_entry(std::string const& path);

}  // namespace tegula::runtime
