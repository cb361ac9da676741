#include "runtime/cache/disk_cache.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "runtime/cache/cache_folder.hpp"
#include "support/diagnostics.hpp"
#include "support/dump.hpp"
#include "support/files.hpp"
#include "support/key_text.hpp"
#include "support/locks.hpp"

namespace tegula::runtime {
namespace {

/// Warns once per text and process.
void warn_once(std::string const& text) {
  static constinit support::Lock mutex;
  static constinit support::Lasting<std::set<std::string>> seen;
  std::set<std::string>& texts = seen.get();
  {
    std::lock_guard lock(mutex);
    if (!texts.insert(text).second) return;
  }
  support::report_warning(text);
}

std::string default_folder() {
  char const* cache_home = std::getenv("XDG_CACHE_HOME");
  if (cache_home != nullptr && *cache_home == '/') return std::string(cache_home) + "/tegula";
  char const* home = std::getenv("HOME");
  if (home == nullptr || *home != '/') {
    passwd const* user = ::getpwuid(::geteuid());
    home = user != nullptr ? user->pw_dir : nullptr;
  }
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache/tegula" : std::string();
}

/// True if the folder exists (made, if `make`) and can be trusted: ours, and not writable by others.
bool usable(std::string const& folder, bool make) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) {
    if (!make) return false;
    if (!support::make_folders(folder)) {
      warn_once(fmt::format("cache: cannot create {}: {}", folder, std::strerror(errno)));
      return false;
    }
    if (::stat(folder.c_str(), &status) != 0) return false;
  }
  if (!S_ISDIR(status.st_mode)) {
    warn_once(fmt::format("cache: {} is not a folder; kernels are not cached", folder));
    return false;
  }
  if (status.st_uid != ::geteuid()) {
    warn_once(fmt::format("cache: {} belongs to user {}; kernels are not cached", folder, status.st_uid));
    return false;
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    warn_once(fmt::format("cache: others may write to {} (mode {:o}); kernels are not cached", folder,
                          status.st_mode & 07777));
    return false;
  }
  return true;
}

/// Says what a failed write means, and the remedy.
void warn_of_write(std::string const& folder) {
  warn_once(
      fmt::format("cache: cannot write to {}: {}; kernels run, but the next process compiles them again; free "
                  "space, or name another folder in TEGULA_CACHE_DIR",
                  folder, std::strerror(errno)));
}

/// Returns the folder of the entries, found at the first question of the process.
std::string known_folder(std::string const& named) {
  static constinit support::Lock mutex;
  static constinit support::Lasting<std::map<std::string, std::string>> folders;
  std::map<std::string, std::string>& known = folders.get();
  {
    std::lock_guard lock(mutex);
    if (auto const at = known.find(named); at != known.end()) return at->second;
  }
  std::string found = folder_of_entries(named);
  std::lock_guard lock(mutex);
  return known.emplace(named, std::move(found)).first->second;
}

/// Tells whether a process looks for dead files and for entries beyond the limit before it stores: the first time, and
/// whenever it has stored a share of the limit since.
bool is_due(std::string const& folder, std::uint64_t bytes, std::uint64_t share) {
  static constinit support::Lock mutex;
  static constinit support::Lasting<std::map<std::string, std::uint64_t>> by_folder;
  std::map<std::string, std::uint64_t>& stored = by_folder.get();
  std::lock_guard lock(mutex);
  auto const [at, first] = stored.try_emplace(folder, 0);
  at->second += bytes;
  if (!first && at->second <= share) return false;
  at->second = bytes;
  return true;
}

}  // namespace

CacheCounters& cache_counters() {
  static constinit CacheCounters counters;
  return counters;
}

DiskCache::DiskCache(support::Options const& options)
    : limit_(options.cache_limit), writable_(options.cache == support::CacheMode::on) {
  if (options.cache == support::CacheMode::off) return;
  named_ = options.cache_dir.empty() ? default_folder() : options.cache_dir;
  if (named_.empty()) warn_once("cache: neither TEGULA_CACHE_DIR nor a home folder is known; kernels are not cached");
  while (named_.size() > 1 && named_.back() == '/') named_.pop_back();
}

std::string DiskCache::folder() const { return named_.empty() ? std::string() : known_folder(named_); }

std::string DiskCache::path_of(std::string_view kernel, std::string_view kind, std::string_view key) const {
  if (named_.empty()) return {};
  return fmt::format("{}/{}-{}.{}", folder(), support::file_name_of(kernel), support::hash_hex(key), kind);
}

std::optional<std::string> DiskCache::find(std::string_view kernel, std::string_view kind, std::string_view key) const {
  if (named_.empty() || !usable(named_, false) || !usable(folder(), false)) {
    ++cache_counters().misses;
    return std::nullopt;
  }
  std::string const path = path_of(kernel, kind, key);
  CacheEntry entry;
  FileState const result = read_cache_file(path, entry, writable_ ? Use::counts : Use::does_not_count);
  if (result == FileState::whole && entry.key == key) {
    ++cache_counters().hits;
    return std::move(entry.payload);
  }
  ++cache_counters().misses;
  if (result == FileState::damaged || result == FileState::foreign) {
    ++cache_counters().damaged;
    support::report_warning(fmt::format("cache: {} is {}; it is ignored and replaced", path,
                                        result == FileState::damaged ? "damaged" : "not a file of this user"));
  }
  return std::nullopt;
}

void DiskCache::store(std::string_view kernel, std::string_view kind, std::string_view key,
                      std::string_view payload) const {
  if (!writable_ || named_.empty() || !usable(named_, true)) return;
  std::string const folder = this->folder();
  if (!usable(folder, true)) return;
  std::uint64_t const bytes = cache_file_bytes(key, payload);
  if (bytes > limit_)
    return warn_once(
        fmt::format("cache: {} has {} bytes, more than the {} of TEGULA_CACHE_LIMIT; it is not kept on disk", kernel,
                    bytes, limit_));
  constexpr std::uint64_t shares = 64;
  if (is_due(folder, bytes, limit_ / shares)) {
    remove_dead_files(folder);
    evict(folder, limit_ - std::max(bytes, limit_ / shares));
  }
  if (!write_cache_file(path_of(kernel, kind, key), key, payload)) return warn_of_write(folder);
  ++cache_counters().stores;
}

std::optional<CacheEntry> read_cache_entry(std::string const& path) {
  CacheEntry entry;
  if (read_cache_file(path, entry, Use::does_not_count) != FileState::whole) return std::nullopt;
  return entry;
}

}  // namespace tegula::runtime
