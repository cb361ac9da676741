#include "support/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "tegula/support/error.hpp"

namespace tegula::support {
namespace fs = std::filesystem;
namespace {

constexpr mode_t of_user = 0600, of_all = 0666, folder_of_user = 0700;

mode_t mode_of(Readers readers) { return readers == Readers::user ? of_user : of_all; }

std::string folder_of(std::string const& path) {
  std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// Tells whether others than this user and the administrator may put a link into the folder.
bool is_shared(std::string const& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return false;
  return (status.st_mode & (S_IWGRP | S_IWOTH)) != 0 || (status.st_uid != ::geteuid() && status.st_uid != 0);
}

bool is_link(std::string const& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

/// Creates a new file beside `path` under a random name.
int create_beside(std::string const& path, mode_t mode, std::string& name) {
  for (int attempt = 0; attempt < 16; ++attempt) {
    std::uint64_t number = 0;
    if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) return -1;
    name = fmt::format("{}/tegula-{:016x}.tmp", folder_of(path), number);
    int const file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

/// Writes through a descriptor that is open; the reason of a failure stays in errno.
bool write_and_close(int descriptor, std::initializer_list<std::string_view> parts) {
  File file(descriptor);
  if (file.get() < 0) return false;
  for (std::string_view const part : parts)
    if (!file.write(part)) return false;
  return file.close();
}

/// Removes a file that this process has made, and keeps the reason of the failure before.
void discard(std::string const& path) {
  int const reason = errno;
  ::unlink(path.c_str());
  errno = reason;
}

/// Opens a file of this user that begins with `mark`; tells its identity.
bool find_own(std::string const& path, std::string_view mark, struct stat& status) {
  File file = open_without_links(path);
  if (file.get() < 0) return false;
  std::string beginning(mark.size(), '\0');
  errno = EPERM;
  return ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
         file.read(beginning.data(), beginning.size()) && beginning == mark;
}

}  // namespace

File::~File() {
  if (descriptor_ < 0) return;
  int const reason = errno;
  ::close(descriptor_);
  errno = reason;
}

bool File::read(void* data, std::size_t bytes) {
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    ssize_t const got = ::read(descriptor_, at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool File::write(std::string_view text) {
  while (!text.empty()) {
    ssize_t const written = ::write(descriptor_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool File::close() {
  int const descriptor = descriptor_;
  descriptor_ = -1;
  return ::close(descriptor) == 0;
}

bool replace_file(std::string const& path, std::initializer_list<std::string_view> parts, Readers readers) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) {
    errno = S_ISDIR(status.st_mode) ? EISDIR : EEXIST;
    return false;
  }
  std::string temporary;
  int const file = create_beside(path, mode_of(readers), temporary);
  if (file < 0) return false;
  if (write_and_close(file, parts) && ::rename(temporary.c_str(), path.c_str()) == 0) return true;
  discard(temporary);
  return false;
}

bool write_named_file(std::string const& path, std::string_view text) {
  bool const link = is_link(path);
  if (link && is_shared(folder_of(path))) {
    errno = ELOOP;
    return false;
  }
  struct stat status {};
  bool const special = ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  if (!link && !special) return replace_file(path, {text}, Readers::all);
  int const flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | (link ? 0 : O_NOFOLLOW);
  return write_and_close(::open(path.c_str(), flags, of_all), {text});
}

File open_to_append(std::string const& path) {
  int const links = is_shared(folder_of(path)) ? O_NOFOLLOW : 0;
  return File(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | links, of_all));
}

bool create_file(std::string const& path, std::string_view text) {
  int const file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, of_user);
  if (file < 0) return false;
  if (write_and_close(file, {text})) return true;
  discard(path);
  return false;
}

std::string create_unique_file(std::string const& folder, std::string_view stem, std::string_view ending,
                               std::string_view text) {
  std::string path = fmt::format("{}/{}-XXXXXX{}", folder, stem, ending);
  int const file = ::mkostemps(path.data(), static_cast<int>(ending.size()), O_CLOEXEC);
  if (file < 0) return {};
  if (write_and_close(file, {text})) return path;
  discard(path);
  return {};
}

bool make_folders(std::string const& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return true;
  fs::path so_far;
  for (fs::path const& part : fs::path(path)) {
    so_far /= part;
    if (!part.empty() && ::mkdir(so_far.c_str(), folder_of_user) != 0 && errno != EEXIST && errno != EISDIR) {
      int const reason = errno;
      if (!fs::is_directory(so_far, ignored)) {
        errno = reason;
        return false;
      }
    }
  }
  if (fs::is_directory(path, ignored)) return true;
  errno = ENOTDIR;
  return false;
}

std::optional<std::string> read_file(std::string const& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return std::nullopt;
  std::ostringstream text;
  text << stream.rdbuf();
  return std::move(text).str();
}

File open_without_links(std::string const& path) {
  return File(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
}

bool is_own_file(std::string const& path, std::string_view mark) {
  struct stat status {};
  return find_own(path, mark, status);
}

bool remove_own_file(std::string const& path, std::string_view mark) {
  struct stat opened {
  }, named{};
  if (!find_own(path, mark, opened)) return false;
  if (::lstat(path.c_str(), &named) != 0) return false;
  if (named.st_dev != opened.st_dev || named.st_ino != opened.st_ino) {
    errno = EPERM;  // another file has the name by now
    return false;
  }
  return ::unlink(path.c_str()) == 0;
}

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  fs::path const base = fs::temp_directory_path(error);
  std::string pattern = ((error ? fs::path("/tmp") : base) / "tegula-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    throw UserError(
        fmt::format("cannot create a temporary folder {}: {}; free space there, or name another one in "
                    "TMPDIR",
                    pattern, std::strerror(errno)));
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace tegula::support
