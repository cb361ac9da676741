#include "runtime/cache/cache_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace tegula::runtime {
namespace {

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

}  // namespace

FileState read_cache_file(std::string const& path, CacheEntry& entry, Use use) {
  File const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.get() < 0) return errno == ENOENT ? FileState::absent : FileState::foreign;
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid() ||
      (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return FileState::foreign;
  if (static_cast<std::uint64_t>(status.st_size) < sizeof(Header)) return FileState::damaged;
  Header header{};
  if (!read_all(file.get(), &header, sizeof header)) return FileState::damaged;
  std::uint64_t const rest = static_cast<std::uint64_t>(status.st_size) - sizeof header;
  if (std::memcmp(header.magic, magic, sizeof magic) != 0 || header.version != file_version ||
      header.header_hash != hash_of(header) || header.key_bytes > rest ||
      header.payload_bytes != rest - header.key_bytes)
    return FileState::damaged;
  std::string bytes(rest, '\0');  // never more than the header, which is whole, names
  if (!read_all(file.get(), bytes.data(), bytes.size())) return FileState::damaged;
  std::string_view const key = std::string_view(bytes).substr(0, header.key_bytes);
  std::string_view const payload = std::string_view(bytes).substr(header.key_bytes);
  if (!same(header.key_hash, XXH3_128bits(key.data(), key.size())) ||
      !same(header.payload_hash, XXH3_128bits(payload.data(), payload.size())))
    return FileState::damaged;
  if (use == Use::counts) ::futimens(file.get(), nullptr);  // the last use; a read-only file system keeps the old one
  entry.key = key;
  entry.payload = payload;
  return FileState::whole;
}

bool write_cache_file(std::string const& path, std::string_view key, std::string_view payload) {
  static std::atomic<std::uint64_t> serial = 0;
  std::string const temporary = fmt::format("{}.{}.{}.tmp", path, static_cast<long>(::getpid()), ++serial);
  ::unlink(temporary.c_str());  // of a dead process that had our number
  File file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) return false;
  Header const header = header_for(key, payload);
  bool const written = write_all(file.get(), &header, sizeof header) && write_all(file.get(), key.data(), key.size()) &&
                       write_all(file.get(), payload.data(), payload.size());
  if (written && file.close() && ::rename(temporary.c_str(), path.c_str()) == 0) return true;
  int const reason = errno;
  ::unlink(temporary.c_str());
  errno = reason;
  return false;
}

std::uint64_t cache_file_bytes(std::string_view key, std::string_view payload) {
  return sizeof(Header) + key.size() + payload.size();
}

}  // namespace tegula::runtime
