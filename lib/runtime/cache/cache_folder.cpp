#include "runtime/cache/cache_folder.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <tuple>

#include "runtime/cache/cache_file.hpp"
#include "support/files.hpp"
#include "support/key_text.hpp"

namespace tegula::runtime {
namespace {
namespace fs = std::filesystem;

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t dead_after = 3600 * second;

std::int64_t nanoseconds(timespec const& time) { return time.tv_sec * second + time.tv_nsec; }

std::int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return nanoseconds(time);
}

constexpr char const* sub_folder = "tegula-cache";

/// Reads "<kernel>-<hash>.<contents>", the name of an entry, or "<any>.tmp". Nothing changes for another name, which no
/// file of the cache has.
void read_name(std::string_view name, CacheFile& file) {
  constexpr std::size_t digits = 32;
  if (name.ends_with(".tmp")) {
    file.kind = CacheFile::Kind::temporary;
    return;
  }
  std::size_t const dot = name.rfind('.');
  if (dot == std::string_view::npos || dot <= digits || name[dot - digits - 1] != '-') return;
  std::string_view const hash = name.substr(dot - digits, digits);
  if (hash.find_first_not_of("0123456789abcdef") != std::string_view::npos) return;
  file.kind = CacheFile::Kind::entry;
  file.kernel = name.substr(0, dot - digits - 1);
  file.hash = hash;
  file.contents = name.substr(dot + 1);
}

/// Describes a file of a folder by its name and its first bytes; false if it is gone.
bool describe(fs::path const& path, CacheFile& file) {
  file.path = path.string();
  struct stat status {};
  if (::lstat(file.path.c_str(), &status) != 0) return false;
  file.bytes = static_cast<std::uint64_t>(status.st_size);
  file.last_use = nanoseconds(status.st_mtim);
  read_name(path.filename().string(), file);
  if (file.kind != CacheFile::Kind::other && !support::is_own_file(file.path, cache_file_mark()))
    file.kind = CacheFile::Kind::other;
  return true;
}

}  // namespace

std::string folder_of_entries(std::string const& named) {
  bool others = false;
  std::error_code error;
  for (fs::directory_iterator it(named, error), end; !error && it != end; it.increment(error)) {
    CacheFile file;
    if (it->path().filename() == sub_folder || !describe(it->path(), file)) continue;
    if (file.kind == CacheFile::Kind::entry) return named;
    others = others || file.kind == CacheFile::Kind::other;
  }
  return others ? named + "/" + sub_folder : named;
}

std::vector<CacheFile> cache_files(std::string const& folder) {
  std::vector<CacheFile> result;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    CacheFile file;
    if (describe(it->path(), file)) result.push_back(std::move(file));
  }
  std::sort(result.begin(), result.end(), [](CacheFile const& a, CacheFile const& b) {
    return std::tie(a.last_use, a.path) < std::tie(b.last_use, b.path);
  });
  return result;
}

CacheDefect defect_of(CacheFile const& file) {
  if (file.kind == CacheFile::Kind::other) return CacheDefect::unknown;
  if (file.kind == CacheFile::Kind::temporary)
    return file.last_use + dead_after < now() ? CacheDefect::abandoned : CacheDefect::none;
  CacheEntry entry;
  switch (read_cache_file(file.path, entry, Use::does_not_count)) {
    case FileState::absent:
      return CacheDefect::none;  // removed meanwhile
    case FileState::foreign:
      return CacheDefect::foreign;
    case FileState::damaged:
      return CacheDefect::damaged;
    case FileState::whole:
      break;
  }
  return support::hash_hex(entry.key) == file.hash ? CacheDefect::none : CacheDefect::renamed;
}

bool remove_cache_file(CacheFile const& file) {
  errno = EPERM;
  return file.kind != CacheFile::Kind::other && support::remove_own_file(file.path, cache_file_mark());
}

int remove_dead_files(std::string const& folder) {
  int count = 0;
  for (CacheFile const& file : cache_files(folder))
    if (file.kind == CacheFile::Kind::temporary && defect_of(file) == CacheDefect::abandoned && remove_cache_file(file))
      ++count;
  return count;
}

Evicted evict(std::string const& folder, std::uint64_t limit) {
  std::vector<CacheFile> const files = cache_files(folder);
  std::uint64_t total = 0;
  for (CacheFile const& file : files) total += file.kind == CacheFile::Kind::entry ? file.bytes : 0;
  Evicted result;
  for (CacheFile const& file : files) {
    if (total <= limit) break;
    if (file.kind != CacheFile::Kind::entry) continue;
    bool const removed = remove_cache_file(file);
    if (!removed && errno != ENOENT) continue;  // its bytes stay
    total -= file.bytes;
    if (!removed) continue;  // by another process
    ++result.entries;
    result.bytes += file.bytes;
  }
  return result;
}

}  // namespace tegula::runtime
