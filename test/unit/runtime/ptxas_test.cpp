// Tests ptxas as a subprocess: found or missed with one clear message.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "runtime/cuda/ptxas.hpp"
#include "support/catch.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using namespace tegula::runtime::cuda;
using tegula::test::ContainsSubstring;

namespace {

constexpr char const* empty_kernel =
    ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry empty(.param .u64 n) { ret; }\n";

/// Empties PATH while it lives.
class NoPath {
 public:
  NoPath() : former_(std::getenv("PATH")) { ::setenv("PATH", "", 1); }
  ~NoPath() { ::setenv("PATH", former_.c_str(), 1); }

 private:
  std::string former_;
};

}  // namespace

TEST_CASE("nvdisasm prints the code of a cubin, and what it refuses is reported") {
  support::Options const options;
  if (find_ptxas(options).empty() || find_nvdisasm(options).empty()) TEGULA_SKIP("no ptxas and nvdisasm in PATH");
  CHECK_THAT(disassemble(options, assemble(options, empty_kernel, "sm_90a", "empty").cubin), ContainsSubstring("EXIT"));
  CHECK_THROWS_WITH(disassemble(options, "no cubin"), ContainsSubstring("refused the code"));
}

TEST_CASE("a requested ptxas that is missing is one clear message", "[F46]") {
  NoPath const none;
  support::Options options;
  CHECK(find_ptxas(options).empty());
  CHECK_THROWS_AS(assemble(options, empty_kernel, "sm_90a", "empty"), UserError);
  CHECK_THROWS_WITH(assemble(options, empty_kernel, "sm_90a", "empty"),
                    ContainsSubstring("TEGULA_PTXAS") && !ContainsSubstring("\n"));
  options.ptxas = "/nonexistent/ptxas";
  CHECK_THROWS_WITH(find_ptxas(options), ContainsSubstring("TEGULA_PTXAS=/nonexistent/ptxas"));
}

TEST_CASE("nvdisasm that is missing is one clear message", "[F46]") {
  NoPath const none;
  CHECK(find_nvdisasm({}).empty());
  CHECK_THROWS_AS(disassemble({}, "cubin"), UserError);
  CHECK_THROWS_WITH(disassemble({}, "cubin"), ContainsSubstring("install it from the CUDA toolkit"));
}

TEST_CASE("ptxas makes a cubin and its refusal is reported with its log") {
  support::Options const options;
  if (find_ptxas(options).empty()) TEGULA_SKIP("no ptxas in PATH");
  Assembly const assembly = assemble(options, empty_kernel, "sm_90a", "empty");
  CHECK(assembly.cubin.substr(1, 3) == "ELF");
  CHECK_THAT(assembly.log, ContainsSubstring("registers"));
  CHECK_THROWS_AS(assemble(options, "nonsense", "sm_90a", "empty"), InternalError);
}

namespace {

/// Makes a folder with a script that stands for ptxas.
class Script {
 public:
  Script() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tegula-ptxas-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Script() { std::filesystem::remove_all(folder_); }
  Script(Script const&) = delete;
  Script& operator=(Script const&) = delete;
  void write(std::string const& text) const {
    std::ofstream(path()) << text;
    ::chmod(path().c_str(), 0700);
  }
  [[nodiscard]] std::string path() const { return folder_ / "ptxas"; }
  [[nodiscard]] std::string other() const { return folder_ / "version"; }

 private:
  std::filesystem::path folder_;
};

}  // namespace

TEST_CASE("the key of a cubin names the assembler that makes it") {
  Script const script;
  support::Options options;
  options.ptxas = script.path();
  auto const key = [&](std::string const& ptx = "ptx") { return cubin_key(options, ptx, "sm_90a"); };
  script.write("#!/bin/sh\necho release 12.4\n");
  std::string const first = key();
  CHECK_THAT(first, ContainsSubstring("ptxas=") && ContainsSubstring("architecture=sm_90a"));
  CHECK(key() == first);
  CHECK(key("other ptx") != first);
  // Another program at the same path, of the same size.
  script.write("#!/bin/sh\necho release 12.8\n");
  std::string const second = key();
  CHECK(second != first);
  // A script that stays the same and calls another program. Its file's dates change with the next write only.
  script.write("#!/bin/sh\ncat \"" + script.other() + "\"\n");
  std::ofstream(script.other()) << "release 13.0";
  std::string const third = key();
  CHECK(third != second);
  std::ofstream(script.other()) << "release 13.1";
  script.write("#!/bin/sh\ncat \"" + script.other() + "\"\n");
  CHECK(key() != third);
  script.write("#!/bin/sh\necho release 12.4\n");
  CHECK(key() == first);

  NoPath const none;
  CHECK(cubin_key({}, "ptx", "sm_90a").empty());
}
