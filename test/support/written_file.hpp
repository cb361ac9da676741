// Writes a file for a test.
#pragma once

#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

namespace tegula::test {

/// Writes a file that is removed again.
class WrittenFile {
 public:
  WrittenFile(std::string path, std::string_view bytes) : path_(std::move(path)) {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  WrittenFile(WrittenFile const&) = delete;
  WrittenFile& operator=(WrittenFile const&) = delete;
  ~WrittenFile() { std::remove(path_.c_str()); }
  [[nodiscard]] std::string const& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace tegula::test
