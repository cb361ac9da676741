// Creates, replaces, reads and removes files without harm to files of others. All of lib/ writes and removes files
// through here. Three rules hold:
// - a name that the program made up is never followed through a link;
// - a link under a name that the user gave is followed, except in a folder where others may write;
// - a file is removed only if it belongs to this user and begins with the mark of its kind.
// The functions report failures in errno and do not throw.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace tegula::support {

/// Owns the descriptor of an open file; -1: none.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File();
  File(File const&) = delete;
  File& operator=(File const&) = delete;
  [[nodiscard]] int get() const { return descriptor_; }
  /// Reads or writes all bytes, or returns false.
  bool read(void* data, std::size_t bytes);
  bool write(std::string_view text);
  /// Closes and tells whether that worked (some file systems report a full disk here).
  bool close();

 private:
  int descriptor_;
};

/// Says who may read a new file.
enum class Readers : std::uint8_t {
  user,  ///< the user alone
  all,   ///< whomever the umask allows
};

/// Writes a file in place of an earlier one: others see the old file or the whole new one. A link of this name is
/// replaced, not followed. A folder, device or pipe is refused. After a failure nothing is left.
bool replace_file(std::string const& path, std::initializer_list<std::string_view> parts, Readers readers);

/// Writes a file that the user named, for all readers. Devices and pipes, and what a link leads to, are written in
/// place; a link in a folder where others may write is refused (ELOOP).
bool write_named_file(std::string const& path, std::string_view text);

/// Opens a file that the user named to read it and to append to it, and creates it if it is missing. A link in a folder
/// where others may write is refused (ELOOP).
File open_to_append(std::string const& path);

/// Creates a file that only the user may read. Returns false if anything has this name, with EEXIST.
bool create_file(std::string const& path, std::string_view text);

/// Creates a file "<folder>/<stem>-<six characters><ending>" under a name that nobody can foretell, which only the user
/// may read. Returns its path; empty if that failed.
std::string create_unique_file(std::string const& folder, std::string_view stem, std::string_view ending,
                               std::string_view text);

/// Creates a folder and those that hold it. New ones are the user's alone. Returns true if the folder exists then.
bool make_folders(std::string const& path);

/// Returns the text of a file that the user named.
std::optional<std::string> read_file(std::string const& path);

/// Opens a regular file to read it; a link is not followed, and a pipe does not block.
File open_without_links(std::string const& path);

/// Tells whether a regular file, not a link, belongs to this user and begins with `mark`.
bool is_own_file(std::string const& path, std::string_view mark);

/// Removes a file for which is_own_file() holds. Returns true if it is gone by this call; ENOENT: it was gone before.
bool remove_own_file(std::string const& path, std::string_view mark);

/// Makes a private folder, which is removed with its contents at the end. Throws UserError if that fails.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(TemporaryFolder const&) = delete;
  TemporaryFolder& operator=(TemporaryFolder const&) = delete;
  [[nodiscard]] std::string file(char const* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace tegula::support
