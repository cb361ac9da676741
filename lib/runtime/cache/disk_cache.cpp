#include "runtime/cache/disk_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <set>

#include "support/diagnostics.hpp"
#include "support/dump.hpp"
#include "support/key_text.hpp"

namespace tegula::runtime {
namespace {
namespace fs = std::filesystem;

/// Holds the first bytes of a file. All fields are little-endian on the platforms that Tegula runs on. A file that does
/// not match byte for byte is ignored, so a foreign byte order is only a miss.
struct Header {
  char magic[8];
  std::uint64_t version;
  std::uint64_t key_bytes;
  std::uint64_t payload_bytes;
  XXH128_hash_t key_hash;
  XXH128_hash_t payload_hash;
  std::uint64_t header_hash;  ///< of all fields before
};
static_assert(sizeof(Header) == 72);

constexpr char magic[8] = {'T', 'E', 'G', 'U', 'L', 'A', 'C', '\n'};
constexpr std::uint64_t file_version = 1;

std::uint64_t hash_of(Header const& header) { return XXH3_64bits(&header, offsetof(Header, header_hash)); }

bool same(XXH128_hash_t a, XXH128_hash_t b) { return a.low64 == b.low64 && a.high64 == b.high64; }

Header header_for(std::string_view key, std::string_view payload) {
  Header header{};
  std::memcpy(header.magic, magic, sizeof magic);
  header.version = file_version;
  header.key_bytes = key.size();
  header.payload_bytes = payload.size();
  header.key_hash = XXH3_128bits(key.data(), key.size());
  header.payload_hash = XXH3_128bits(payload.data(), payload.size());
  header.header_hash = hash_of(header);
  return header;
}

/// Warns once per text and process.
void warn_once(std::string const& text) {
  static std::mutex mutex;
  static auto* seen = new std::set<std::string>;
  {
    std::lock_guard lock(mutex);
    if (!seen->insert(text).second) return;
  }
  support::report_warning(text);
}

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(File const&) = delete;
  File& operator=(File const&) = delete;
  [[nodiscard]] int get() const { return descriptor_; }
  /// Closes and tells whether that worked (some file systems report a full disk here).
  bool close() {
    int const descriptor = descriptor_;
    descriptor_ = -1;
    return ::close(descriptor) == 0;
  }

 private:
  int descriptor_;
};

bool write_all(int descriptor, void const* data, std::size_t bytes) {
  auto const* at = static_cast<char const*>(data);
  while (bytes > 0) {
    ssize_t const written = ::write(descriptor, at, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return true;
}

bool read_all(int descriptor, void* data, std::size_t bytes) {
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    ssize_t const got = ::read(descriptor, at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

enum class ReadResult { absent, foreign, damaged, whole };

ReadResult read_file(std::string const& path, CacheEntry& entry) {
  File const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.get() < 0) return errno == ENOENT ? ReadResult::absent : ReadResult::foreign;
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid())
    return ReadResult::foreign;
  if (static_cast<std::uint64_t>(status.st_size) < sizeof(Header)) return ReadResult::damaged;
  Header header{};
  if (!read_all(file.get(), &header, sizeof header)) return ReadResult::damaged;
  std::uint64_t const rest = static_cast<std::uint64_t>(status.st_size) - sizeof header;
  if (std::memcmp(header.magic, magic, sizeof magic) != 0 || header.version != file_version ||
      header.header_hash != hash_of(header) || header.key_bytes > rest ||
      header.payload_bytes != rest - header.key_bytes)
    return ReadResult::damaged;
  std::string bytes(rest, '\0');  // never more than the header, which is whole, names
  if (!read_all(file.get(), bytes.data(), bytes.size())) return ReadResult::damaged;
  std::string_view const key = std::string_view(bytes).substr(0, header.key_bytes);
  std::string_view const payload = std::string_view(bytes).substr(header.key_bytes);
  if (!same(header.key_hash, XXH3_128bits(key.data(), key.size())) ||
      !same(header.payload_hash, XXH3_128bits(payload.data(), payload.size())))
    return ReadResult::damaged;
  entry.key = key;
  entry.payload = payload;
  return ReadResult::whole;
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
    std::error_code ignored;
    fs::create_directories(fs::path(folder).parent_path(), ignored);
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
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

/// Removes files of a process that died while it wrote; once per folder and process.
void remove_stale_files(std::string const& folder) {
  static std::mutex mutex;
  static auto* done = new std::set<std::string>;
  {
    std::lock_guard lock(mutex);
    if (!done->insert(folder).second) return;
  }
  std::error_code error;
  std::time_t const now = std::time(nullptr);
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() != ".tmp") continue;
    struct stat status {};
    if (::lstat(it->path().c_str(), &status) == 0 && status.st_mtime + 3600 < now) ::unlink(it->path().c_str());
  }
}

}  // namespace

CacheCounters& cache_counters() {
  static CacheCounters counters;
  return counters;
}

DiskCache::DiskCache(support::Options const& options) : writable_(options.cache == support::CacheMode::on) {
  if (options.cache == support::CacheMode::off) return;
  folder_ = options.cache_dir.empty() ? default_folder() : options.cache_dir;
  if (folder_.empty()) warn_once("cache: neither TEGULA_CACHE_DIR nor a home folder is known; kernels are not cached");
  while (folder_.size() > 1 && folder_.back() == '/') folder_.pop_back();
}

std::string DiskCache::path_of(std::string_view kernel, std::string_view kind, std::string_view key) const {
  if (folder_.empty()) return {};
  return fmt::format("{}/{}-{}.{}", folder_, support::file_name_of(kernel), support::hash_hex(key), kind);
}

std::optional<std::string> DiskCache::find(std::string_view kernel, std::string_view kind, std::string_view key) const {
  if (folder_.empty() || !usable(folder_, false)) {
    ++cache_counters().misses;
    return std::nullopt;
  }
  std::string const path = path_of(kernel, kind, key);
  CacheEntry entry;
  ReadResult const result = read_file(path, entry);
  if (result == ReadResult::whole && entry.key == key) {
    ++cache_counters().hits;
    return std::move(entry.payload);
  }
  ++cache_counters().misses;
  if (result == ReadResult::damaged || result == ReadResult::foreign) {
    ++cache_counters().damaged;
    support::report_warning(fmt::format("cache: {} is {}; it is ignored and replaced", path,
                                        result == ReadResult::damaged ? "damaged" : "not a file of this user"));
  }
  return std::nullopt;
}

void DiskCache::store(std::string_view kernel, std::string_view kind, std::string_view key,
                      std::string_view payload) const {
  if (!writable_ || folder_.empty() || !usable(folder_, true)) return;
  remove_stale_files(folder_);
  static std::atomic<std::uint64_t> serial = 0;
  std::string const path = path_of(kernel, kind, key);
  std::string const temporary = fmt::format("{}.{}.{}.tmp", path, static_cast<long>(::getpid()), ++serial);
  ::unlink(temporary.c_str());  // of a dead process that had our number
  File file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) {
    warn_once(fmt::format("cache: cannot write to {}: {}", folder_, std::strerror(errno)));
    return;
  }
  Header const header = header_for(key, payload);
  bool const written = write_all(file.get(), &header, sizeof header) && write_all(file.get(), key.data(), key.size()) &&
                       write_all(file.get(), payload.data(), payload.size());
  if (!file.close() || !written || ::rename(temporary.c_str(), path.c_str()) != 0) {
    warn_once(fmt::format("cache: cannot write to {}: {}", folder_, std::strerror(errno)));
    ::unlink(temporary.c_str());
    return;
  }
  ++cache_counters().stores;
}

std::optional<CacheEntry> read_cache_entry(std::string const& path) {
  CacheEntry entry;
  if (read_file(path, entry) != ReadResult::whole) return std::nullopt;
  return entry;
}

}  // namespace tegula::runtime
