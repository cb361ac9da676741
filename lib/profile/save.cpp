// Writes the files of a profile.
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "support/files.hpp"
#include "tegula/profile/profile.hpp"
#include "tegula/support/error.hpp"

namespace tegula {
namespace {

/// Replaces the characters that a file's name should not hold.
std::string file_name(std::string const& kernel) {
  std::string result;
  for (char const c : kernel) {
    bool const plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    result += plain ? c : '_';
  }
  return result.empty() ? "kernel" : result;
}

}  // namespace

Profile::Files Profile::save(std::string const& folder) const {
  if (!support::make_folders(folder))
    throw UserError(
        fmt::format("profile: cannot make the folder {}: {}; name another one", folder, std::strerror(errno)));
  std::string const base = (std::filesystem::path(folder) / file_name(kernel)).string();
  std::array<std::pair<char const*, std::string>, 4> const contents{
      {{".trace.json", trace()}, {".html", page()}, {".svg", svg()}, {".txt", str()}}};
  // Two kernels may have one name: the second takes a number. A file that is there stays.
  std::array<std::string, 4> paths;
  for (int number = 1;; ++number) {
    std::string const stem = number == 1 ? base : fmt::format("{}.{}", base, number);
    std::size_t made = 0;
    for (; made < contents.size(); ++made) {
      paths[made] = stem + contents[made].first;
      if (!support::create_file(paths[made], contents[made].second)) break;
    }
    if (made == contents.size()) break;
    int const reason = errno;
    for (std::size_t i = 0; i < made; ++i) std::filesystem::remove(paths[i]);
    if (reason != EEXIST)
      throw UserError(fmt::format("profile: cannot write {}: {}; name a folder that can be written", paths[made],
                                  std::strerror(reason)));
  }
  return {paths[0], paths[1], paths[2], paths[3]};
}

}  // namespace tegula
