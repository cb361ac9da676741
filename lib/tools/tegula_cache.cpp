// Shows, compares, checks and shrinks the cache of compiled kernels on disk.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <iostream>

#include "runtime/cache/cache_folder.hpp"
#include "runtime/cache/disk_cache.hpp"
#include "support/key_text.hpp"
#include "support/option_values.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using runtime::CacheDefect;
using runtime::CacheEntry;
using runtime::CacheFile;

namespace {

constexpr std::size_t shown_digits = 12;

std::string time_text(std::int64_t nanoseconds) {
  std::time_t const seconds = nanoseconds / 1'000'000'000;
  std::tm local{};
  ::localtime_r(&seconds, &local);
  char text[32];
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local));
}

std::string limit_text(std::uint64_t limit) {
  return limit == UINT64_MAX ? "without a limit" : fmt::format("of at most {}", limit);
}

std::vector<CacheFile> entries_in(std::string const& folder) {
  std::vector<CacheFile> files = runtime::cache_files(folder);
  std::erase_if(files, [](CacheFile const& file) { return file.kind != CacheFile::Kind::entry; });
  return files;
}

int list(std::string const& folder, std::uint64_t limit) {
  std::vector<CacheFile> const entries = entries_in(folder);
  std::uint64_t total = 0;
  if (!entries.empty())
    std::cout << fmt::format("{:<{}}  {:<20}  {:<7}  {:<14}  {:>10}  {}\n", "id", shown_digits, "kernel", "holds",
                             "architecture", "bytes", "last use");
  for (auto at = entries.rbegin(); at != entries.rend(); ++at) {
    std::optional<CacheEntry> const entry = runtime::read_cache_entry(at->path);
    std::string_view const architecture =
        entry ? support::key_field(entry->key, "architecture").value_or("?") : "(damaged)";
    std::cout << fmt::format("{:<{}}  {:<20}  {:<7}  {:<14}  {:>10}  {}\n", at->hash.substr(0, shown_digits),
                             shown_digits, at->kernel, at->contents, architecture, at->bytes, time_text(at->last_use));
    total += at->bytes;
  }
  std::cout << fmt::format("{} entries, {} bytes {} in {}\n", entries.size(), total, limit_text(limit), folder);
  return 0;
}

/// Holds one side of a comparison.
struct Side {
  std::string name;
  CacheEntry entry;
};

Side side_of(std::string const& path, std::string name) {
  std::optional<CacheEntry> entry = runtime::read_cache_entry(path);
  if (!entry)
    throw UserError(fmt::format("{} is not a whole file of the cache; `tegula-cache verify` names the defect", path));
  return {std::move(name), *std::move(entry)};
}

Side side_of(CacheFile const& file) {
  return side_of(file.path, fmt::format("{} of kernel {}, last used {}", file.hash.substr(0, shown_digits), file.kernel,
                                        time_text(file.last_use)));
}

/// Lists the entries that a word names: the beginning of an id, or the name of a kernel; the one used last first.
std::vector<CacheFile> named(std::string const& folder, std::string const& word) {
  std::vector<CacheFile> found = entries_in(folder);
  std::erase_if(found, [&](CacheFile const& file) { return file.kernel != word && !file.hash.starts_with(word); });
  return {found.rbegin(), found.rend()};
}

Side resolved(std::string const& folder, std::string const& word) {
  if (word.find('/') != std::string::npos) return side_of(word, word);
  std::vector<CacheFile> const found = named(folder, word);
  if (found.size() == 1) return side_of(found.front());
  std::string ids;
  for (CacheFile const& file : found)
    ids += (ids.empty() ? "" : ", ") + file.hash.substr(0, shown_digits) + " (" + file.contents + ")";
  throw UserError(found.empty() ? fmt::format("no entry in {} has the id or the kernel {}; `tegula-cache list` shows "
                                              "them",
                                              folder, word)
                                : fmt::format("{} names {} entries: {}; give an id", word, found.size(), ids));
}

/// Compares two entries, or the two that were used last of one kernel.
int why(std::string const& folder, std::vector<std::string> const& words) {
  std::vector<Side> sides;
  if (words.size() == 1) {
    std::vector<CacheFile> found = named(folder, words[0]);
    if (!found.empty())
      std::erase_if(found, [contents = found[0].contents](CacheFile const& file) { return file.contents != contents; });
    if (found.size() < 2)
      throw UserError(fmt::format("{} names {} entries of one kind in {}; two are needed, or two ids", words[0],
                                  found.size(), folder));
    sides = {side_of(found[1]), side_of(found[0])};
  } else {
    for (std::string const& word : words) sides.push_back(resolved(folder, word));
  }
  std::cout << fmt::format("A: {}\nB: {}\n{}", sides[0].name, sides[1].name,
                           support::explain_difference(sides[0].entry.key, sides[1].entry.key));
  return 0;
}

int prune(std::string const& folder, std::uint64_t limit) {
  int const dead = runtime::remove_dead_files(folder);
  runtime::Evicted const evicted = runtime::evict(folder, limit);
  std::uint64_t left = 0;
  std::vector<CacheFile> const entries = entries_in(folder);
  for (CacheFile const& file : entries) left += file.bytes;
  std::cout << fmt::format(
      "removed {} entries with {} bytes and {} abandoned files; {} entries with {} bytes are left\n", evicted.entries,
      evicted.bytes, dead, entries.size(), left);
  if (left <= limit) return 0;
  throw UserError(fmt::format("{} bytes are left, more than {}; the folder {} does not let entries be removed", left,
                              limit, folder));
}

char const* text_of(CacheDefect defect) {
  switch (defect) {
    case CacheDefect::none:
      break;
    case CacheDefect::damaged:
      return "damaged: torn, altered or of another version";
    case CacheDefect::foreign:
      return "foreign: others may write to it";
    case CacheDefect::renamed:
      return "renamed: it holds the key of another name";
    case CacheDefect::abandoned:
      return "abandoned by a process that died while it wrote";
    case CacheDefect::unknown:
      return "not a file of the cache";
  }
  return "";
}

/// Lists the files with a defect. Launches ignore such files. 1 if there are any after `remove` took those of the
/// cache away.
int verify(std::string const& folder, bool remove) {
  std::vector<CacheFile> const files = runtime::cache_files(folder);
  int defects = 0;
  for (CacheFile const& file : files) {
    CacheDefect const defect = runtime::defect_of(file);
    if (defect == CacheDefect::none) continue;
    bool const gone = remove && runtime::remove_cache_file(file);
    defects += gone ? 0 : 1;
    std::cout << fmt::format("{}: {}{}\n", file.path, text_of(defect), gone ? "; removed" : "");
  }
  std::cout << fmt::format("{} files in {}, {} with a defect\n", files.size(), folder, defects);
  return defects == 0 ? 0 : 1;
}

int run(int argc, char** argv) {
  support::Options options = support::options();
  CLI::App app("Shows, compares, checks and shrinks the cache of compiled kernels on disk.", "tegula-cache");
  app.require_subcommand(1);
  app.add_option("--dir", options.cache_dir, "the folder; as TEGULA_CACHE_DIR says if not given");
  CLI::App* const to_list = app.add_subcommand("list", "list the entries, the one used last first");
  std::vector<std::string> words;
  CLI::App* const to_why = app.add_subcommand(
      "why", "print the fields in which the keys of two entries differ: why the second one was compiled");
  to_why->add_option("entries", words, "two ids, files or kernels; or one kernel: the two entries of it used last")
      ->required()
      ->expected(1, 2);
  CLI::App* const to_prune = app.add_subcommand("prune", "remove the entries used least recently");
  std::string limit;
  to_prune->add_option("--limit", limit,
                       "bytes that may stay, such as 512M, or none; as TEGULA_CACHE_LIMIT says if not given");
  CLI::App* const to_verify = app.add_subcommand("verify", "list torn, foreign and stray files; exit status 1 for any");
  bool remove = false;
  to_verify->add_flag("--remove", remove, "remove them, except files that are not of the cache");
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  options.cache = support::CacheMode::read_only;
  std::string const folder = runtime::DiskCache(options).folder();
  if (folder.empty()) throw UserError("the folder of the cache is not known; name it with --dir");
  if (!limit.empty()) {
    std::optional<std::uint64_t> const bytes = support::parse_bytes(limit);
    if (!bytes)
      throw UserError(fmt::format("--limit {}: a number of bytes is expected, such as 4096, 512M or none", limit));
    options.cache_limit = *bytes;
  }
  if (to_list->parsed()) return list(folder, options.cache_limit);
  if (to_why->parsed()) return why(folder, words);
  if (to_prune->parsed()) return prune(folder, options.cache_limit);
  return to_verify->parsed() ? verify(folder, remove) : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    int const status = run(argc, argv);
    if (!std::cout.flush()) throw UserError("cannot write the output: " + std::string(std::strerror(errno)));
    return status;
  } catch (std::exception const& error) {
    std::cerr << "tegula-cache: " << error.what() << "\n";
    return 1;
  }
}
