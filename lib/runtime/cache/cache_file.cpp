#include "runtime/cache/cache_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cerrno>
#include <cstring>

#include "support/files.hpp"

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

constexpr std::string_view magic = "TEGULAC\n";
constexpr std::uint64_t file_version = 1;

std::uint64_t hash_of(Header const& header) { return XXH3_64bits(&header, offsetof(Header, header_hash)); }

bool same(XXH128_hash_t a, XXH128_hash_t b) { return a.low64 == b.low64 && a.high64 == b.high64; }

Header header_for(std::string_view key, std::string_view payload) {
  Header header{};
  std::memcpy(header.magic, magic.data(), sizeof header.magic);
  header.version = file_version;
  header.key_bytes = key.size();
  header.payload_bytes = payload.size();
  header.key_hash = XXH3_128bits(key.data(), key.size());
  header.payload_hash = XXH3_128bits(payload.data(), payload.size());
  header.header_hash = hash_of(header);
  return header;
}

}  // namespace

std::string_view cache_file_mark() { return magic; }

FileState read_cache_file(std::string const& path, CacheEntry& entry, Use use) {
  support::File file = support::open_without_links(path);
  if (file.get() < 0) return errno == ENOENT ? FileState::absent : FileState::foreign;
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid() ||
      (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return FileState::foreign;
  if (static_cast<std::uint64_t>(status.st_size) < sizeof(Header)) return FileState::damaged;
  Header header{};
  if (!file.read(&header, sizeof header)) return FileState::damaged;
  std::uint64_t const rest = static_cast<std::uint64_t>(status.st_size) - sizeof header;
  if (std::string_view(header.magic, sizeof header.magic) != magic || header.version != file_version ||
      header.header_hash != hash_of(header) || header.key_bytes > rest ||
      header.payload_bytes != rest - header.key_bytes)
    return FileState::damaged;
  std::string bytes(rest, '\0');  // never more than the header, which is whole, names
  if (!file.read(bytes.data(), bytes.size())) return FileState::damaged;
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
  Header const header = header_for(key, payload);
  std::string_view const bytes(reinterpret_cast<char const*>(&header), sizeof header);
  return support::replace_file(path, {bytes, key, payload}, support::Readers::user);
}

std::uint64_t cache_file_bytes(std::string_view key, std::string_view payload) {
  return sizeof(Header) + key.size() + payload.size();
}

}  // namespace tegula::runtime
