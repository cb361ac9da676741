// Tests that files of others are neither overwritten nor removed, whatever lies under a name.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/catch.hpp"
#include "support/dump.hpp"
#include "support/files.hpp"
#include "support/options.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using namespace tegula::support;
namespace fs = std::filesystem;

namespace {

/// Provides a folder, and beside it a letter that nobody may change.
class Place {
 public:
  Place() {
    std::string pattern = (fs::temp_directory_path() / "tegula-files-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
    fs::create_directory(path_ / "folder");
    std::ofstream(letter()) << "the only copy";
  }
  ~Place() { fs::remove_all(path_); }
  Place(Place const&) = delete;
  Place& operator=(Place const&) = delete;
  [[nodiscard]] std::string folder() const { return (path_ / "folder").string(); }
  [[nodiscard]] std::string letter() const { return (path_ / "letter").string(); }
  [[nodiscard]] std::string in(std::string const& name) const { return folder() + "/" + name; }
  /// Puts a link to the letter under a name, as another user would.
  std::string link(std::string const& name) const {
    fs::create_symlink(letter(), in(name));
    return in(name);
  }
  [[nodiscard]] bool whole() const { return read_file(letter()) == "the only copy"; }
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder()), fs::directory_iterator()));
  }

 private:
  fs::path path_;
};

mode_t mode_of(std::string const& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

}  // namespace

TEST_CASE("a file is replaced whole; a link of its name is replaced, not followed") {
  Place const place;
  CHECK(replace_file(place.in("a"), {"one", " two"}, Readers::user));
  CHECK(read_file(place.in("a")) == "one two");
  CHECK(mode_of(place.in("a")) == 0600);
  ::chmod(place.in("a").c_str(), 0666);
  CHECK(replace_file(place.in("a"), {"three"}, Readers::user));
  CHECK(mode_of(place.in("a")) == 0600);
  std::string const link = place.link("b");
  CHECK(replace_file(link, {"mine"}, Readers::user));
  CHECK(read_file(link) == "mine");
  CHECK(place.whole());
  CHECK_FALSE(replace_file(place.folder(), {"x"}, Readers::user));
  CHECK(errno == EISDIR);
  CHECK_FALSE(replace_file("/dev/null", {"x"}, Readers::user));
  CHECK_FALSE(replace_file(place.in("missing/c"), {"x"}, Readers::user));
  CHECK(errno == ENOENT);
  CHECK(place.count() == 2);  // nothing is left of failures
}

TEST_CASE("a new file is not made where a file, a link or a broken link is") {
  Place const place;
  CHECK(create_file(place.in("a"), "text"));
  CHECK(mode_of(place.in("a")) == 0600);
  CHECK_FALSE(create_file(place.in("a"), "other"));
  CHECK(errno == EEXIST);
  CHECK(read_file(place.in("a")) == "text");
  CHECK_FALSE(create_file(place.link("b"), "other"));
  fs::create_symlink(place.in("nothing"), place.in("c"));
  CHECK_FALSE(create_file(place.in("c"), "other"));
  CHECK_FALSE(fs::exists(place.in("nothing")));
  CHECK(place.whole());
  std::string const unique = create_unique_file(place.folder(), "tegula-k", ".tir", "text");
  CHECK(create_unique_file(place.folder(), "tegula-k", ".tir", "text") != unique);
  CHECK(mode_of(unique) == 0600);
  CHECK(create_unique_file(place.in("missing"), "tegula-k", ".tir", "text").empty());
}

TEST_CASE("a link under a name of the user is followed, except in a folder where others may write") {
  Place const place;
  std::string const link = place.link("a");
  for (mode_t const mode : {0770, 01777}) {
    ::chmod(place.folder().c_str(), mode);
    CHECK_FALSE(write_named_file(link, "overwritten"));
    CHECK(errno == ELOOP);
    CHECK(open_to_append(link).get() < 0);
    CHECK(place.whole());
    CHECK(write_named_file(place.in("plain"), "text"));
  }
  ::chmod(place.folder().c_str(), 0755);
  CHECK(write_named_file(link, "new"));
  CHECK(read_file(place.letter()) == "new");
  CHECK(open_to_append(link).write(" line"));
  CHECK(read_file(place.letter()) == "new line");
  CHECK(fs::is_symlink(link));
  CHECK(write_named_file("/dev/null", "text"));
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("a file is removed only with the mark of its kind, and no link is") {
  Place const place;
  std::ofstream(place.in("mine")) << "MARK and more";
  std::ofstream(place.in("short")) << "MAR";
  std::ofstream(place.in("other")) << "thesis";
  CHECK_FALSE(remove_own_file(place.in("short"), "MARK"));
  CHECK_FALSE(remove_own_file(place.in("other"), "MARK"));
  fs::create_symlink(place.in("mine"), place.in("link"));
  CHECK_FALSE(remove_own_file(place.in("link"), "MARK"));
  CHECK_FALSE(remove_own_file(place.in("missing"), "MARK"));
  CHECK(errno == ENOENT);
  if (::geteuid() == 0) {
    REQUIRE(::chown(place.in("mine").c_str(), 12345, 12345) == 0);
    CHECK_FALSE(remove_own_file(place.in("mine"), "MARK"));
    REQUIRE(::chown(place.in("mine").c_str(), 0, 0) == 0);
  }
  CHECK(place.count() == 4);
  CHECK(remove_own_file(place.in("mine"), "MARK"));
  CHECK_FALSE(fs::exists(place.in("mine")));
}

TEST_CASE("folders are made for the user alone") {
  Place const place;
  CHECK(make_folders(place.in("x/y//z/")));
  CHECK(mode_of(place.in("x")) == 0700);
  CHECK(mode_of(place.in("x/y/z")) == 0700);
  CHECK(make_folders(place.in("x")));
  CHECK_FALSE(make_folders(place.letter()));
  CHECK_FALSE(make_folders(place.letter() + "/in"));
  CHECK(errno == ENOTDIR);
}

TEST_CASE("dumps and replay files follow no link", "[B20]") {
  Place const place;
  Options mine;
  mine.dump = {{DumpItem::Kind::ptx, {}}};
  mine.dump_dir = place.folder();
  std::string const link = place.link("k.ptx");
  Dump(mine, "k").write("ptx", "text");
  CHECK(place.whole());
  CHECK(read_file(link) == "text");
  CHECK_FALSE(fs::is_symlink(link));
  CHECK(mode_of(link) == 0600);
  mine.replay_dir = place.folder();
  for (int i = 1; i < 50; ++i) place.link(fmt::format("tegula-k-{}-{}.tir", ::getpid(), i));
  std::string const replay = write_replay_file(mine, "k", "text");
  CHECK(read_file(replay) == "text");
  CHECK(mode_of(replay) == 0600);
  CHECK(place.whole());
  mine.dump_dir = place.letter();
  CHECK_THROWS_WITH(Dump(mine, "k").write("ptx", "text"),
                    test::ContainsSubstring("cannot write") && test::ContainsSubstring("Not a directory"));
}

TEST_CASE("a temporary folder is private and goes with its contents") {
  std::string path;
  {
    TemporaryFolder const folder;
    path = folder.file("a");
    CHECK(create_file(path, "x"));
    CHECK(mode_of(fs::path(path).parent_path()) == 0700);
  }
  CHECK_FALSE(fs::exists(fs::path(path).parent_path()));
}
