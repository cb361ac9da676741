// Tests the disk cache and the bytes of compiled kernels: whole or not at all.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include "runtime/cache/cache_folder.hpp"
#include "runtime/cache/disk_cache.hpp"
#include "runtime/cache/serialize.hpp"
#include "support/catch.hpp"
#include "support/diagnostics.hpp"
#include "support/key_text.hpp"

using namespace tegula;
using namespace tegula::runtime;
using tegula::test::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

/// Provides a fresh cache folder and no warnings on the terminal.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "tegula-cache-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
    options.cache_dir = path_ / "cache";
    warnings = 0;
    former_ = support::set_warning_handler([](std::string_view) { ++warnings; });
  }
  ~Folder() {
    support::set_warning_handler(former_);
    fs::remove_all(path_);
  }
  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> result;
    for (auto const& entry : fs::directory_iterator(options.cache_dir)) result.push_back(entry.path());
    return result;
  }
  support::Options options;
  static inline std::atomic<int> warnings = 0;

 private:
  fs::path path_;
  support::WarningHandler former_;
};

std::string contents(fs::path const& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return std::move(text).str();
}

void overwrite(fs::path const& path, std::string const& text) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream << text;
}

CompiledKernel some_kernel() {
  CompiledKernel kernel;
  kernel.name = "softmax";
  kernel.architecture = "x86-64-v3";
  ParameterInfo info;
  info.direction = Direction::inout;
  info.element = Element::f64;
  info.rank = 3;
  info.facts = {true, false};
  kernel.parameters = {info, {}};
  kernel.launch.steps = {{LaunchOp::extent, 0, 1, 0, 0}, {LaunchOp::constant, 0, 0, 0, -12345678901234}};
  kernel.launch.grid = {0, 1, -1};
  kernel.launch.requirements = {{1, "a row must fit", "k.cpp", 77}};
  kernel.image = std::string(
      "\x7f"
      "ELF\0\0binary",
      12);
  kernel.phases = {{"pack", 0}, {"main", -1}};
  kernel.workspace_bytes = 1;
  kernel.scratch_bytes = 4096;
  kernel.entry = "entry";
  kernel.threads_per_cta = 128;
  kernel.shared_bytes = 200000;
  kernel.tensor_maps = {{0, {1, 0, 2}, {1, 64, 256}, Swizzle::b128, L2Promotion::b256, true}, {1, {}, {8}}};
  kernel.cluster = 2;
  kernel.dependent_launch = true;
  return kernel;
}

}  // namespace

TEST_CASE("a compiled kernel survives its bytes, and no damage to them is harmful") {
  CompiledKernel const kernel = some_kernel();
  std::string const bytes = serialize(kernel);
  CHECK(deserialize(bytes) == kernel);
  CHECK_FALSE(deserialize(bytes + '\0').has_value());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    REQUIRE_FALSE(deserialize(std::string_view(bytes).substr(0, size)).has_value());
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string broken = bytes;
    for (int flips = 0; flips < 3; ++flips) broken[random() % broken.size()] ^= static_cast<char>(1U << random() % 8);
    auto const result = deserialize(broken);  // must neither crash nor allocate without bound
    if (result) REQUIRE(serialize(*result) == broken);
  }
}

TEST_CASE("an entry is found by its whole key, in private files", "[N11]") {
  Folder folder;
  DiskCache const cache(folder.options);
  CHECK_FALSE(cache.find("softmax", "kernel", "a=1\n").has_value());
  cache.store("softmax", "kernel", "a=1\n", "payload");
  CHECK(cache.find("softmax", "kernel", "a=1\n") == "payload");
  CHECK_FALSE(cache.find("softmax", "kernel", "a=2\n").has_value());
  CHECK_FALSE(cache.find("softmax", "cubin", "a=1\n").has_value());
  CHECK(DiskCache(folder.options).find("softmax", "kernel", "a=1\n") == "payload");
  REQUIRE(folder.files().size() == 1);
  CHECK(fs::status(folder.files()[0]).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(fs::status(folder.options.cache_dir).permissions() == fs::perms::owner_all);
  auto const entry = read_cache_entry(folder.files()[0]);
  REQUIRE(entry.has_value());
  CHECK(entry->key == "a=1\n");
  CHECK_THAT(contents(folder.files()[0]), ContainsSubstring("a=1\n"));
}

TEST_CASE("two architectures share a folder, each finds its own", "[F18]") {
  Folder folder;
  DiskCache const cache(folder.options);
  auto const key = [](char const* architecture) {
    return support::KeyText().add("name", "k").add("architecture", architecture).str();
  };
  cache.store("k", "kernel", key("sm_90a"), "ninety");
  cache.store("k", "kernel", key("sm_100a"), "hundred");
  CHECK(cache.find("k", "kernel", key("sm_90a")) == "ninety");
  CHECK(cache.find("k", "kernel", key("sm_100a")) == "hundred");
  CHECK(support::explain_difference(key("sm_90a"), key("sm_100a")) == "architecture: sm_90a | sm_100a\n");
}

TEST_CASE("off and read-only caches write nothing") {
  Folder folder;
  folder.options.cache = support::CacheMode::off;
  DiskCache(folder.options).store("k", "kernel", "a=1\n", "x");
  folder.options.cache = support::CacheMode::read_only;
  DiskCache(folder.options).store("k", "kernel", "a=1\n", "x");
  CHECK_FALSE(fs::exists(folder.options.cache_dir));
  folder.options.cache = support::CacheMode::on;
  DiskCache(folder.options).store("k", "kernel", "a=1\n", "x");
  folder.options.cache = support::CacheMode::read_only;
  CHECK(DiskCache(folder.options).find("k", "kernel", "a=1\n") == "x");
  folder.options.cache = support::CacheMode::off;
  CHECK_FALSE(DiskCache(folder.options).find("k", "kernel", "a=1\n").has_value());
}

TEST_CASE("torn, truncated, flipped and foreign files are ignored with a warning and replaced", "[N11]") {
  Folder folder;
  DiskCache const cache(folder.options);
  std::string const payload(3000, 'p');
  std::string const key = "a=1\nb=two\n";
  cache.store("k", "kernel", key, payload);
  fs::path const path = cache.path_of("k", "kernel", key);
  std::string const whole = contents(path);
  std::vector<std::string> broken = {"",
                                     "x",
                                     whole.substr(0, 40),
                                     whole.substr(0, 72),
                                     whole.substr(0, 80),
                                     whole.substr(0, whole.size() - 1),
                                     whole + "x",
                                     std::string(whole.size(), '\0'),
                                     "not a cache file\n"};
  for (std::size_t at = 0; at < whole.size(); at += at < 90 ? 1 : 37) {
    broken.push_back(whole);
    broken.back()[at] ^= 0x10;
  }
  std::string torn = whole;
  std::fill(torn.begin() + 1024, torn.end(), '\0');
  broken.push_back(torn);
  for (std::string const& text : broken) {
    overwrite(path, text);
    int const before = folder.warnings;
    REQUIRE_FALSE(cache.find("k", "kernel", key).has_value());
    REQUIRE(folder.warnings == before + 1);
    cache.store("k", "kernel", key, payload);
    REQUIRE(cache.find("k", "kernel", key) == payload);
  }
  // A file far larger than memory, all holes after its first bytes, is damaged like any other and not read.
  for (std::string const& beginning : {std::string("x"), whole}) {
    overwrite(path, beginning);
    fs::resize_file(path, std::uintmax_t{1} << 40);
    CHECK_FALSE(cache.find("k", "kernel", key).has_value());
    cache.store("k", "kernel", key, payload);
    CHECK(cache.find("k", "kernel", key) == payload);
  }
  // A whole file that others may write to is not trusted.
  ::chmod(path.c_str(), 0620);
  CHECK_FALSE(cache.find("k", "kernel", key).has_value());
  cache.store("k", "kernel", key, payload);
  CHECK(cache.find("k", "kernel", key) == payload);
  CHECK(fs::status(path).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  // A whole file of another key under this name (a collision of hashes): a plain miss.
  cache.store("k", "kernel", "other=1\n", "other");
  fs::rename(cache.path_of("k", "kernel", "other=1\n"), path);
  int const before = folder.warnings;
  CHECK_FALSE(cache.find("k", "kernel", key).has_value());
  CHECK(folder.warnings == before);
  // A link to a file elsewhere is not followed.
  fs::remove(path);
  fs::path const elsewhere = fs::path(folder.options.cache_dir).parent_path() / "elsewhere";
  overwrite(elsewhere, whole);
  fs::create_symlink(elsewhere, path);
  CHECK_FALSE(cache.find("k", "kernel", key).has_value());
  cache.store("k", "kernel", key, payload);
  CHECK(cache.find("k", "kernel", key) == payload);
  CHECK(contents(elsewhere) == whole);
}

TEST_CASE("a cache path that others can write to, or that is not a folder, is not used") {
  Folder folder;
  fs::create_directories(folder.options.cache_dir);
  ::chmod(folder.options.cache_dir.c_str(), 0777);
  DiskCache(folder.options).store("k", "kernel", "a=1\n", "x");
  CHECK(folder.files().empty());
  CHECK(folder.warnings == 1);
  folder.options.cache_dir += "/file";
  overwrite(folder.options.cache_dir, "");
  DiskCache(folder.options).store("k", "kernel", "a=1\n", "x");
  CHECK(folder.warnings == 2);
  if (::geteuid() == 0) {
    folder.options.cache_dir += "-other";
    fs::create_directories(folder.options.cache_dir);
    REQUIRE(::chown(folder.options.cache_dir.c_str(), 12345, 12345) == 0);
    DiskCache(folder.options).store("k", "kernel", "a=1\n", "x");
    CHECK(folder.warnings == 3);
    CHECK(folder.files().empty());
  }
}

TEST_CASE("a dead writer's temporary file is removed, a live one's is not") {
  Folder folder;
  fs::create_directories(folder.options.cache_dir);
  ::chmod(folder.options.cache_dir.c_str(), 0700);
  fs::path const old_file = fs::path(folder.options.cache_dir) / "k-1.kernel.1.1.tmp";
  fs::path const new_file = fs::path(folder.options.cache_dir) / "k-2.kernel.2.1.tmp";
  overwrite(old_file, std::string(cache_file_mark()) + "x");
  overwrite(new_file, std::string(cache_file_mark()) + "x");
  fs::last_write_time(old_file, fs::file_time_type::clock::now() - std::chrono::hours(2));
  DiskCache(folder.options).store("k", "kernel", "a=1\n", "x");
  CHECK_FALSE(fs::exists(old_file));
  CHECK(fs::exists(new_file));
}

TEST_CASE("threads that read and write one entry see it whole or not at all", "[F20]") {
  Folder folder;
  std::string const payload(100000, 'q');
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      DiskCache const cache(folder.options);
      for (int round = 0; round < 100; ++round) {
        auto const found = cache.find("k", "kernel", "a=1\n");
        if (found && *found != payload) ++wrong;
        cache.store("k", "kernel", "a=1\n", payload);
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(folder.warnings == 0);
  CHECK(folder.files().size() == 1);
}

TEST_CASE("keys compare field by field, long fields line by line", "[N11]") {
  std::string const a = support::KeyText().add("name", "k").add("warps", 4).add("ir", "one\ntwo\nthree\n").str();
  std::string const b =
      support::KeyText().add("name", "k").add("warps", 8).add("ir", "one\n2\nthree\nfour\n").add("x", "").str();
  CHECK(a == "name=k\nwarps=4\nir=one\nir=two\nir=three\n");
  CHECK(support::explain_difference(a, b) == "warps: 4 | 8\nir:2: two | 2\nx: (absent) | \n");
  CHECK(support::explain_difference(a, a) == "the keys are equal\n");
  CHECK(support::key_differences(a, b).size() == 3);
  CHECK(support::key_field(a, "ir") == "one");
  CHECK_FALSE(support::key_field(a, "x").has_value());
}

namespace {

std::string key_of(int number) { return support::KeyText().add("n", number).str(); }

/// Makes an entry the one used `seconds` ago.
void used_before(DiskCache const& cache, int number, int seconds) {
  fs::last_write_time(cache.path_of("k", "kernel", key_of(number)),
                      fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
}

/// Runs in a child of fork(); returns its exit status, 255 for a child that dies.
template <class Function>
int in_child(Function const& work) {
  pid_t const child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 255;
  return WEXITSTATUS(status);
}

std::string last_warning;

}  // namespace

TEST_CASE("a cache keeps its limit: the entries used least recently are removed", "[N11]") {
  Folder folder;
  folder.options.cache_limit = 10000;
  DiskCache const cache(folder.options);
  std::string const payload(1800, 'p');  // five fit
  for (int i = 0; i < 5; ++i) {
    cache.store("k", "kernel", key_of(i), payload);
    used_before(cache, i, 100 - i);
  }
  REQUIRE(folder.files().size() == 5);
  CHECK(cache.find("k", "kernel", key_of(0)) == payload);  // now used last
  cache.store("k", "kernel", key_of(5), payload);
  CHECK(cache.find("k", "kernel", key_of(0)) == payload);
  CHECK_FALSE(cache.find("k", "kernel", key_of(1)).has_value());
  CHECK(cache.find("k", "kernel", key_of(2)) == payload);
  CHECK(cache.find("k", "kernel", key_of(5)) == payload);

  // A look without writing does not count as a use.
  folder.options.cache = support::CacheMode::read_only;
  used_before(cache, 3, 1000);
  CHECK(DiskCache(folder.options).find("k", "kernel", key_of(3)) == payload);
  (void)read_cache_entry(cache.path_of("k", "kernel", key_of(3)));
  CHECK(cache_files(folder.options.cache_dir).front().hash == support::hash_hex(key_of(3)));

  // Whatever is stored, the bytes stay below the limit; files of others stay.
  fs::path const other = fs::path(folder.options.cache_dir) / "notes.txt";
  overwrite(other, std::string(20000, 'n'));
  std::mt19937 random(11);
  for (int i = 0; i < 200; ++i) {
    cache.store("k", "kernel", key_of(100 + i), std::string(random() % 3000, 'q'));
    std::uint64_t total = 0;
    for (CacheFile const& file : cache_files(folder.options.cache_dir))
      total += file.kind == CacheFile::Kind::entry ? file.bytes : 0;
    REQUIRE(total <= folder.options.cache_limit);
  }
  CHECK(fs::exists(other));
  CHECK(folder.warnings == 0);
  cache.store("k", "kernel", key_of(7), std::string(20000, 'x'));
  CHECK_FALSE(cache.find("k", "kernel", key_of(7)).has_value());
  CHECK(folder.warnings == 1);

  Evicted const all = evict(folder.options.cache_dir, 0);
  CHECK(all.entries > 0);
  CHECK(folder.files() == std::vector<fs::path>{other});
}

TEST_CASE("files of a cache folder are told apart by their defects", "[N11]") {
  Folder folder;
  DiskCache const cache(folder.options);
  for (int i = 0; i < 4; ++i) cache.store("k", "kernel", key_of(i), "payload");
  auto const path = [&](int i) { return cache.path_of("k", "kernel", key_of(i)); };
  fs::resize_file(path(1), 75);
  ::chmod(path(2).c_str(), 0666);
  fs::rename(path(3), cache.path_of("k", "kernel", key_of(9)));
  fs::path const dead = fs::path(folder.options.cache_dir) / "k-1.kernel.1.1.tmp";
  overwrite(dead, std::string(cache_file_mark()) + "x");
  fs::last_write_time(dead, fs::file_time_type::clock::now() - std::chrono::hours(2));
  overwrite(fs::path(folder.options.cache_dir) / "k-2.kernel.1.1.tmp", std::string(cache_file_mark()));
  overwrite(fs::path(folder.options.cache_dir) / "notes.txt", "x");
  std::vector<CacheDefect> found;
  for (CacheFile const& file : cache_files(folder.options.cache_dir)) found.push_back(defect_of(file));
  std::sort(found.begin(), found.end());
  CHECK(found == std::vector<CacheDefect>{CacheDefect::none, CacheDefect::none, CacheDefect::damaged,
                                          CacheDefect::foreign, CacheDefect::renamed, CacheDefect::abandoned,
                                          CacheDefect::unknown});
  CHECK(cache_files(folder.options.cache_dir + "/missing").empty());
}

TEST_CASE("a cache in a folder with files of the user removes none of them", "[N11]") {
  Folder folder;
  folder.options.cache_limit = 20000;
  fs::path const named = folder.options.cache_dir;
  fs::create_directories(named);
  ::chmod(named.c_str(), 0700);
  std::vector<fs::path> const theirs = {named / "thesis.tmp", named / "photo-d41d8cd98f00b204e9800998ecf8427e.jpg",
                                        named / ("k-" + support::hash_hex(key_of(500)) + ".kernel"),
                                        named / "link-d41d8cd98f00b204e9800998ecf8427e.kernel", named / "empty.tmp"};
  std::set<fs::path> const all(theirs.begin(), theirs.end());
  for (fs::path const& path : theirs) {
    if (path == theirs[3])
      fs::create_symlink(theirs[0], path);
    else
      overwrite(path, path == theirs[4] ? "" : std::string(30000, 'x'));
    if (path != theirs[3]) fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(9));
  }
  auto const left = [&] {
    std::set<fs::path> result;
    for (fs::path const& path : folder.files())
      if (!fs::is_directory(path)) result.insert(path);
    return result;
  };
  DiskCache const cache(folder.options);
  for (int i = 0; i < 40; ++i) cache.store("k", "kernel", key_of(i), std::string(1800, 'p'));
  CHECK(cache.find("k", "kernel", key_of(39)) == std::string(1800, 'p'));
  CHECK(cache.folder() == named / "tegula-cache");
  CHECK(fs::status(cache.folder()).permissions() == fs::perms::owner_all);
  CHECK(left() == all);
  CHECK(folder.warnings == 0);
  // The commands of tegula-cache keep them too, where entries and files of the user lie side by side.
  for (fs::directory_iterator at(cache.folder()), end; at != end; ++at)
    fs::copy_file(at->path(), named / at->path().filename());
  CHECK(folder_of_entries(named) == named);  // it holds entries now
  CHECK(remove_dead_files(named) == 0);
  CHECK(evict(named, 0).entries > 0);
  for (CacheFile const& file : cache_files(named)) CHECK_FALSE(remove_cache_file(file));
  CHECK(left() == all);
}

TEST_CASE("an entry that cannot be removed counts as left", "[N11]") {
  Folder folder;
  DiskCache const cache(folder.options);
  for (int i = 0; i < 4; ++i) {
    cache.store("k", "kernel", key_of(i), std::string(1000, 'p'));
    used_before(cache, i, 100 - i);
  }
  std::uint64_t const one = cache_files(folder.options.cache_dir).front().bytes;
  int const status = in_child([&] {
    if (::geteuid() == 0) {  // whom permissions do not stop
      fs::path const folder_path = folder.options.cache_dir;
      std::vector<fs::path> paths = folder.files();
      paths.insert(paths.end(), {folder_path.parent_path(), folder_path});
      for (fs::path const& path : paths)
        if (::chown(path.c_str(), 65534, 65534) != 0) return 100;
      if (::setresuid(65534, 65534, 65534) != 0) return 100;
    }
    ::chmod(folder.options.cache_dir.c_str(), 0500);
    Evicted const none = evict(folder.options.cache_dir, 2 * one);
    ::chmod(folder.options.cache_dir.c_str(), 0700);
    if (none.entries != 0 || none.bytes != 0 || folder.files().size() != 4) return 1;
    Evicted const two = evict(folder.options.cache_dir, 2 * one);
    return two.entries == 2 && two.bytes == 2 * one && folder.files().size() == 2 ? 0 : 2;
  });
  if (status == 100) TEGULA_SKIP("this process cannot become another user");
  CHECK(status == 0);
}

TEST_CASE("a full disk is a warning with the reason and a remedy, and leaves no file", "[N11]") {
  Folder folder;
  support::set_warning_handler([](std::string_view text) { last_warning = text; });
  int const status = in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit const small{5000, 5000};  // of a file: writes beyond fail as on a full disk
    if (::setrlimit(RLIMIT_FSIZE, &small) != 0) return 1;
    DiskCache const cache(folder.options);
    cache.store("k", "kernel", "a=1\n", "small");
    if (!last_warning.empty()) return 2;
    cache.store("k", "kernel", "b=1\n", std::string(100000, 'b'));
    if (last_warning.find("File too large; kernels run, but the next process compiles them again; free space") ==
        std::string::npos)
      return 3;
    if (cache.find("k", "kernel", "b=1\n")) return 4;
    return cache.find("k", "kernel", "a=1\n") == "small" ? 0 : 5;
  });
  CHECK(status == 0);
  CHECK(folder.files().size() == 1);
}

TEST_CASE("a file system without room is a warning, and entries that fit are kept", "[N11]") {
  Folder folder;
  support::set_warning_handler([](std::string_view text) { last_warning = text; });
  ::mkdir(folder.options.cache_dir.c_str(), 0700);
  int const status = in_child([&] {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", folder.options.cache_dir.c_str(), "tmpfs", 0, "size=64k,mode=0700") != 0)
      return 100;
    DiskCache const cache(folder.options);
    for (int i = 0; i < 8; ++i) cache.store("k", "kernel", key_of(i), std::string(20000, 'p'));
    if (last_warning.find("No space left on device; kernels run") == std::string::npos) return 1;
    int kept = 0;
    for (int i = 0; i < 8; ++i) {
      auto const found = cache.find("k", "kernel", key_of(i));
      if (found && *found != std::string(20000, 'p')) return 2;
      kept += found ? 1 : 0;
    }
    return kept >= 1 && kept < 8 && static_cast<int>(folder.files().size()) == kept ? 0 : 3;
  });
  if (status == 100) TEGULA_SKIP("file systems cannot be mounted here");
  CHECK(status == 0);
}

TEST_CASE("a read-only folder serves what it holds, with one warning", "[N11]") {
  Folder folder;
  support::set_warning_handler([](std::string_view text) {
    last_warning = text;
    ++Folder::warnings;
  });
  DiskCache(folder.options).store("k", "kernel", "a=1\n", "kept");
  int const status = in_child([&] {
    if (::geteuid() == 0) {  // whom permissions do not stop
      fs::path const folder_path = folder.options.cache_dir;
      for (fs::path const& path : {folder_path.parent_path(), folder_path, folder.files().at(0)})
        if (::chown(path.c_str(), 65534, 65534) != 0) return 100;
      if (::setresuid(65534, 65534, 65534) != 0) return 100;
    }
    ::chmod(folder.options.cache_dir.c_str(), 0500);
    DiskCache const cache(folder.options);
    if (cache.find("k", "kernel", "a=1\n") != "kept") return 1;
    if (Folder::warnings != 0) return 2;
    for (int i = 0; i < 3; ++i) cache.store("k", "kernel", key_of(i), "x");
    if (Folder::warnings != 1) return 3;
    if (last_warning.find("Permission denied") == std::string::npos) return 4;
    ::chmod(folder.options.cache_dir.c_str(), 0700);
    return folder.files().size() == 1 ? 0 : 5;
  });
  if (status == 100) TEGULA_SKIP("this process cannot become another user");
  CHECK(status == 0);
}
