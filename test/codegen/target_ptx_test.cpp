// Tests the hand-written kernels of test/ir/target as PTX: ptxas keeps their asynchronous products asynchronous, obeys
// their register counts and keeps everything in registers.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "compiler/compile.hpp"
#include "ir/text/text.hpp"
#include "runtime/cuda/ptxas.hpp"
#include "runtime/cuda/ptxas_log.hpp"
#include "support/catch.hpp"
#include "support/options.hpp"
#include "tegula/support/error.hpp"
#include "tegula/target/target_info.hpp"

using namespace tegula;
using runtime::cuda::AssemblyReport;

namespace {

std::vector<std::filesystem::path> target_files() {
  std::vector<std::filesystem::path> files;
  for (auto const& entry : std::filesystem::directory_iterator(std::string(TEGULA_TEST_DIR) + "/ir/target"))
    if (entry.path().extension() == ".tir") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

CompiledKernel compiled(std::filesystem::path const& file) {
  std::ifstream stream(file, std::ios::binary);
  ir::ParseResult const parsed = ir::parse(std::string(std::istreambuf_iterator<char>(stream), {}));
  INFO(file.string());
  REQUIRE(parsed.ok());
  CompileOptions options;
  options.target = Target::cuda;
  options.architecture = gpu_targets.front()->architecture;
  return compiler::compile(parsed.module, options);
}

/// Names the errors of the assembled kernel; empty if there are none.
std::string complaints(AssemblyReport const& report) {
  std::string text;
  for (auto const& note : report.notes) text += note.code + " " + note.text + "\n";
  if (report.spills())
    text += fmt::format("stack frame {}, spill stores {}, spill loads {} bytes\n", report.stack_bytes,
                        report.spill_store_bytes, report.spill_load_bytes);
  return text;
}

}  // namespace

TEST_CASE("hand-written kernels assemble without notes, spills and stack frames") {
  support::Options const& options = support::options();
  if (runtime::cuda::find_ptxas(options).empty()) TEGULA_SKIP("no ptxas in PATH");
  std::vector<std::filesystem::path> const files = target_files();
  REQUIRE_FALSE(files.empty());
  for (auto const& file : files) {
    INFO(file.string());
    CompiledKernel const kernel = compiled(file);
    REQUIRE(kernel.image_kind == ImageKind::ptx);
    std::string const log = runtime::cuda::assemble(options, kernel.image, kernel.architecture, kernel.name).log;
    AssemblyReport const report = runtime::cuda::parse_assembly_log(log);
    CHECK(complaints(report) == "");
    CHECK(report.registers > 0);
    // One CTA fits a multiprocessor.
    CHECK(report.registers * kernel.threads_per_cta <= 65536);
    CHECK(kernel.shared_bytes + report.shared_bytes <= 232448);
  }
}
