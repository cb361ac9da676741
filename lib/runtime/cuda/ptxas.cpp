#include "runtime/cuda/ptxas.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>
#include <tuple>
#include <vector>

#include "support/files.hpp"
#include "support/key_text.hpp"
#include "support/locks.hpp"
#include "tegula/support/error.hpp"

extern char** environ;

namespace tegula::runtime::cuda {
namespace {
namespace fs = std::filesystem;

constexpr char const* optimisation = "-O3";

std::string contents_of(std::string const& path) { return support::read_file(path).value_or(std::string()); }

/// Writes the file that a program reads.
void write_input(std::string const& path, std::string_view text) {
  if (!support::create_file(path, text))
    throw UserError(fmt::format("cannot write {}: {}; free space there, or name another folder in TMPDIR", path,
                                std::strerror(errno)));
}

/// Runs a program with its output and errors in a file and returns its exit status, -1 if it was killed.
int run(std::vector<std::string> const& command, std::string const& log) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  std::vector<char*> arguments;
  for (std::string const& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t process = 0;
  int const failure = ::posix_spawn(&process, command[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw UserError(fmt::format("cannot run {}: {}", command[0], std::strerror(failure)));
  int status = 0;
  while (::waitpid(process, &status, 0) < 0)
    if (errno != EINTR) throw InternalError(fmt::format("waiting for {} failed: {}", command[0], std::strerror(errno)));
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool is_program(std::string const& path) {
  std::error_code error;
  return ::access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path, error);
}

/// Finds a program in the folders of PATH; empty if there is none. The current folder is never searched.
std::string in_path(char const* name) {
  char const* path = std::getenv("PATH");
  std::stringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty()) continue;
    std::string const candidate = folder + "/" + name;
    if (is_program(candidate)) return candidate;
  }
  return {};
}

/// Identifies a file by the data of stat(): other contents have other data.
using FileState = std::tuple<std::string, dev_t, ino_t, off_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

FileState state_of(std::string const& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {path, 0, 0, -1, 0, 0, 0, 0};
  return {path,
          status.st_dev,
          status.st_ino,
          status.st_size,
          status.st_mtim.tv_sec,
          status.st_mtim.tv_nsec,
          status.st_ctim.tv_sec,
          status.st_ctim.tv_nsec};
}

}  // namespace

std::string ptxas_identity(std::string const& path) {
  static constinit support::Lock mutex;
  static constinit support::Lasting<std::map<FileState, std::string>> identities;
  std::map<FileState, std::string>& known = identities.get();
  FileState const state = state_of(path);
  {
    std::lock_guard lock(mutex);
    if (auto const found = known.find(state); found != known.end()) return found->second;
  }
  std::string const content = contents_of(path);
  std::string version;
  if (!content.starts_with("\177ELF")) {
    support::TemporaryFolder const folder;
    std::string const log = folder.file("version");
    run({path, "--version"}, log);
    version = contents_of(log);
  }
  std::string const identity = support::hash_hex(content + version);
  std::lock_guard lock(mutex);
  return known.emplace(state, identity).first->second;
}

std::string cubin_key(support::Options const& options, std::string_view ptx, std::string_view architecture) {
  std::string const ptxas = find_ptxas(options);
  if (ptxas.empty()) return {};
  return support::KeyText()
      .add("kind", "cubin and log")
      .add("ptx_hash", support::hash_hex(ptx))
      .add("architecture", architecture)
      .add("ptxas", ptxas_identity(ptxas))
      .add("options", optimisation)
      .str();
}

std::string find_ptxas(support::Options const& options) {
  if (options.ptxas.empty()) return in_path("ptxas");
  if (::access(options.ptxas.c_str(), X_OK) != 0)
    throw UserError(
        fmt::format("TEGULA_PTXAS={}: not a program that can be run ({})", options.ptxas, std::strerror(errno)));
  return options.ptxas;
}

std::string find_nvdisasm(support::Options const& options) {
  std::string const ptxas = find_ptxas(options);
  std::string const beside = (fs::path(ptxas).parent_path() / "nvdisasm").string();
  return !ptxas.empty() && is_program(beside) ? beside : in_path("nvdisasm");
}

bool has_lines(std::string_view ptx) { return ptx.find("\n\t.loc\t") != std::string_view::npos; }

Assembly assemble(support::Options const& options, std::string_view ptx, std::string_view architecture,
                  std::string_view kernel) {
  std::string const ptxas = find_ptxas(options);
  if (ptxas.empty())
    throw UserError(
        "ptxas is requested but is not in PATH: set TEGULA_PTXAS to its path, or leave TEGULA_ASSEMBLER unset and the "
        "driver assembles the PTX itself");
  support::TemporaryFolder const folder;
  std::string const source = folder.file("kernel.ptx");
  std::string const object = folder.file("kernel.cubin");
  std::string const log = folder.file("log");
  write_input(source, ptx);
  std::vector<std::string> command = {ptxas, "-v",   optimisation, fmt::format("-arch={}", architecture),
                                      "-o",  object, source};
  if (has_lines(ptx)) command.emplace_back("-lineinfo");
  int const status = run(command, log);
  Assembly result{contents_of(object), contents_of(log)};
  if (status != 0 || result.cubin.empty())
    throw InternalError(fmt::format("ptxas refused the PTX of kernel {} for {} (exit status {}): {}", kernel,
                                    architecture, status, result.log));
  return result;
}

std::string disassemble(support::Options const& options, std::string_view cubin) {
  std::string const nvdisasm = find_nvdisasm(options);
  if (nvdisasm.empty())
    throw UserError("nvdisasm is neither beside ptxas nor in PATH: install it from the CUDA toolkit");
  support::TemporaryFolder const folder;
  std::string const object = folder.file("kernel.cubin"), text = folder.file("sass");
  write_input(object, cubin);
  int const status = run({nvdisasm, "-c", object}, text);
  std::string result = contents_of(text);
  if (status != 0)
    throw UserError(
        fmt::format("{} refused the code (exit status {}): {}; it may be older than ptxas", nvdisasm, status, result));
  return result;
}

}  // namespace tegula::runtime::cuda
