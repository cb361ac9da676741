// Provides a fresh cache for one test case, and kernels of the same name in two translation units.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "jit/kernel_cache.hpp"
#include "support/options.hpp"
#include "tegula/runtime/stream.hpp"

namespace tegula::test {

/// Empties the memory cache and points the disk cache to a folder of its own while it lives.
class FreshCaches {
 public:
  explicit FreshCaches(support::CacheMode mode = support::CacheMode::on)
      : folder_(make_folder()), scope_(options(mode)) {
    jit::clear_memory_cache();
  }
  ~FreshCaches() {
    jit::clear_memory_cache();
    std::filesystem::remove_all(folder_);
  }
  FreshCaches(FreshCaches const&) = delete;
  FreshCaches& operator=(FreshCaches const&) = delete;

  [[nodiscard]] std::string folder() const { return (folder_ / "cache").string(); }
  /// Files in the cache folder, sorted.
  [[nodiscard]] std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> result;
    if (!std::filesystem::exists(folder())) return result;
    for (auto const& entry : std::filesystem::directory_iterator(folder())) result.push_back(entry.path());
    return result;
  }

 private:
  static std::filesystem::path make_folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tegula-launch-XXXXXX").string();
    return ::mkdtemp(pattern.data());
  }
  [[nodiscard]] support::Options options(support::CacheMode mode) const {
    support::Options result = support::options();
    result.cache_dir = folder();
    result.cache = mode;
    return result;
  }

  std::filesystem::path folder_;
  support::ScopedOptions scope_;
};

/// Starts this program with another specification of tests. Its output is dropped, or, with a file, that of both
/// streams goes there.
inline pid_t start_self(std::string const& specification, std::string const& file = {}) {
  std::ifstream stream("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(stream, word, '\0');) words.push_back(word);
  std::vector<std::string> command = {"/proc/self/exe"};
  if (words.size() > 1 && words[1] == "test") command.push_back("test");  // the bundled program wants it
  command.push_back(specification);
  std::vector<char*> arguments;
  for (std::string const& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  std::string const output = file.empty() ? "/dev/null" : file;
  posix_spawn_file_actions_addopen(&quiet, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (!file.empty()) posix_spawn_file_actions_adddup2(&quiet, 1, 2);
  pid_t child = -1;
  if (::posix_spawn(&child, arguments[0], &quiet, nullptr, arguments.data(), environ) != 0) child = -1;
  posix_spawn_file_actions_destroy(&quiet);
  return child;
}
/// Returns the exit status; -1 for a process that was killed or never began.
inline int exit_status(pid_t child) {
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
inline int run_self(std::string const& specification, std::string const& file = {}) {
  return exit_status(start_self(specification, file));
}

// launch_unit_a_test.cpp and launch_unit_b_test.cpp each have a kernel "same_name" of their own.
void run_unit_a(stream const& order, std::vector<float> const& x, std::vector<float>& y);
void run_unit_b(stream const& order, std::vector<float> const& x, std::vector<float>& y);

}  // namespace tegula::test
