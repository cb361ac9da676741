// Writes the files of a profile.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

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
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    throw UserError(fmt::format("profile: cannot make the folder {}: {}; name another one", folder, failed.message()));
  std::filesystem::path const base = std::filesystem::path(folder) / file_name(kernel);
  // Two kernels may have one name: the second takes a number.
  std::string stem = base.string();
  for (int number = 2; std::filesystem::exists(stem + ".trace.json", failed); ++number)
    stem = base.string() + "." + std::to_string(number);
  auto const write = [&](char const* ending, std::string const& text) {
    std::string const path = stem + ending;
    std::ofstream out(path, std::ios::binary);
    out << text;
    out.close();
    if (!out) throw UserError(fmt::format("profile: cannot write {}; name a folder that can be written", path));
    return path;
  };
  Files files;
  files.trace = write(".trace.json", trace());
  files.page = write(".html", page());
  files.svg = write(".svg", svg());
  files.summary = write(".txt", str());
  return files;
}

}  // namespace tegula
