// Finds ptxas for tests in its usual places, and reads its report on a PTX text.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

namespace tegula::test {

inline std::string find_ptxas() {
  for (std::string const& path : {std::string("/usr/local/cuda/bin/ptxas"), std::string("/usr/bin/ptxas")})
    if (std::filesystem::exists(path)) return path;
  std::istringstream path(std::getenv("PATH") != nullptr ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(path, folder, ':');)
    if (std::filesystem::exists(folder + "/ptxas")) return folder + "/ptxas";
  return "";
}

/// Returns the output of ptxas for the text with -v.
inline std::string assemble(std::string const& ptxas, std::string const& ptx,
                            std::string const& architecture = "sm_90a") {
  std::string const file =
      (std::filesystem::temp_directory_path() / fmt::format("tegula_ptx_test_{}.ptx", std::random_device()())).string();
  std::ofstream(file) << ptx;
  std::string output;
  std::FILE* pipe = ::popen((ptxas + " -arch=" + architecture + " -v " + file + " -o /dev/null 2>&1").c_str(), "r");
  if (pipe == nullptr) return "ptxas failed\n";
  for (char buffer[4096]; std::fgets(buffer, sizeof buffer, pipe) != nullptr;) output += buffer;
  int const status = ::pclose(pipe);
  std::filesystem::remove(file);
  return output + (status == 0 ? "" : "ptxas failed\n");
}

/// Names the errors in ptxas's output: an error, a warning, a note of serialised or ignored instructions (C75xx,
/// C76xx), spills or a stack frame. Empty when nothing is. `frames`: a stack frame that nothing is spilled to counts,
/// too.
inline std::string ptxas_complaints(std::string const& output, bool frames = true) {
  std::string result;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    bool const frame =
        line.find("bytes stack frame") != std::string::npos &&
        line.find(frames ? " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"
                         : " bytes stack frame, 0 bytes spill stores, 0 bytes spill loads") == std::string::npos;
    for (char const* word : {"error", "warning", "C75", "C76", "ptxas failed", "fatal"})
      if (line.find(word) != std::string::npos || (frame && word == std::string("error"))) {
        result += line + "\n";
        break;
      }
  }
  return result;
}

}  // namespace tegula::test
