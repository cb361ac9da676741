// Reads and writes one file of the disk cache: a header, the key as text, the payload. A file is used whole or not at
// all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tegula::runtime {

/// Holds key and payload of an entry's file.
struct CacheEntry {
  std::string key;
  std::string payload;
};

enum class FileState : std::uint8_t {
  absent,
  foreign,  ///< a link, of another user, or others may write to it
  damaged,  ///< torn, altered, of another version, or never a file of the cache
  whole,
};

/// Says whether reading a file makes it the one used last.
enum class Use : std::uint8_t { counts, does_not_count };

/// Reads a file; fills `entry` if the file is whole. Links are not followed.
FileState read_cache_file(std::string const& path, CacheEntry& entry, Use use);

/// Writes a file, in place of an earlier one: others see the old file or the whole new one. Only its user may read it.
/// False if the disk refuses, with the reason in errno; then nothing is left.
bool write_cache_file(std::string const& path, std::string_view key, std::string_view payload);

/// Returns the first bytes of every file of the cache, of this and of other versions.
std::string_view cache_file_mark();

/// Returns the bytes of a file that holds this entry.
std::uint64_t cache_file_bytes(std::string_view key, std::string_view payload);

}  // namespace tegula::runtime
