// A fresh cache for one test case, and kernels of the same name in two translation units.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
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

// launch_unit_a_test.cpp and launch_unit_b_test.cpp each have a kernel "same_name" of their own.
void run_unit_a(stream const& order, std::vector<float> const& x, std::vector<float>& y);
void run_unit_b(stream const& order, std::vector<float> const& x, std::vector<float>& y);

}  // namespace tegula::test
