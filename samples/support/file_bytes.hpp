#pragma once
// Holds the bytes of a file that a program reads; needs Boost.Interprocess.

#include "text.hpp"

#include <boost/interprocess/file_mapping.hpp>
#include <boost/interprocess/mapped_region.hpp>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace samples {

/// Reports a file that cannot be read, is damaged, or holds another kind of data.
class FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Prints a name that a file holds: bytes that do not print become dots, and a long one is cut.
inline std::string printable(std::string_view name) {
  std::string result(name.substr(0, 80));
  for (char& c : result)
    if (c < ' ' || c > '~') c = '.';
  return result;
}

/// Maps a file, or owns the bytes of one that was made in memory.
class FileBytes {
 public:
  /// Maps the file; `kind` names it in the error. Throws FileError.
  FileBytes(std::string const& path, char const* kind) {
    using namespace boost::interprocess;
    try {
      file_mapping const file(path.c_str(), read_only);
      region_ = mapped_region(file, read_only);
    } catch (interprocess_exception const& error) {
      throw FileError(text(path, ": cannot be mapped (", error.what(), "); give the path of ", kind));
    }
  }
  explicit FileBytes(std::string bytes) : own_(std::move(bytes)), owns_(true) {}

  template <class Byte = std::byte>
  [[nodiscard]] std::span<Byte const> as() const {
    if (owns_) return {reinterpret_cast<Byte const*>(own_.data()), own_.size()};
    return {static_cast<Byte const*>(region_.get_address()), region_.get_size()};
  }

 private:
  boost::interprocess::mapped_region region_;
  std::string own_;
  bool owns_ = false;
};

}  // namespace samples
