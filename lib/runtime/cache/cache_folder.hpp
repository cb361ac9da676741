// Lists, checks and shrinks a folder of the disk cache. A file is one of the cache if it belongs to this user and
// begins as its files do, whatever its name is. Other files of the folder are never changed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tegula::runtime {

/// Returns the folder that holds the entries of a cache in the folder that the user named: this one, or its sub-folder
/// "tegula-cache" where it holds files of others and no entry yet.
std::string folder_of_entries(std::string const& named);

/// Describes one file of a cache folder.
struct CacheFile {
  enum class Kind : std::uint8_t {
    entry,
    temporary,  ///< a process writes it, or died while it did
    other,      ///< not of the cache
  };
  Kind kind = Kind::other;
  std::string path;
  std::string kernel;    ///< entries: its name, as far as a file name holds it
  std::string hash;      ///< entries: 32 hexadecimal digits of the key
  std::string contents;  ///< entries: "kernel" or "cubin"
  std::uint64_t bytes = 0;
  std::int64_t last_use = 0;  ///< in nanoseconds since 1970
};

/// Lists the files of a folder, the entry used least recently first. Empty for a folder that cannot be read.
std::vector<CacheFile> cache_files(std::string const& folder);

/// Names the defect of a file.
enum class CacheDefect : std::uint8_t {
  none,
  damaged,    ///< torn, altered or of another version
  foreign,    ///< others may write to it
  renamed,    ///< whole, but the key of another name
  abandoned,  ///< a temporary file older than an hour
  unknown,    ///< not of the cache
};
/// Reads a file and compares it with its hashes and its name.
CacheDefect defect_of(CacheFile const& file);

/// Removes a file if it is one of the cache. Returns true if it is gone by this call; ENOENT: it was gone before.
bool remove_cache_file(CacheFile const& file);

/// Removes temporary files that a process left when it died: those older than an hour. Returns their number.
int remove_dead_files(std::string const& folder);

/// Counts removed entries; those that cannot be removed count as left.
struct Evicted {
  int entries = 0;
  std::uint64_t bytes = 0;
};
/// Removes entries, the one used least recently first, until the others have at most `limit` bytes. Processes that use
/// the folder at the same time keep what they read.
Evicted evict(std::string const& folder, std::uint64_t limit);

}  // namespace tegula::runtime
