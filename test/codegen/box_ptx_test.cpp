// Tests boxes by TMA from blocks of any number of warps, from their PTX: values, and the lane that issues the copies.
// The machine elects lane 7, which finds code that takes the elected lane for thread 0.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "codegen/ptx_cases.hpp"
#include "codegen/run_target.hpp"
#include "compiler/compile.hpp"
#include "kernels/box_kernels.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

CompiledKernel compile_for_device(std::string const& text) {
  ir::Module const module = read_module(text);
  return compiler::compile(module, cuda_options(text, module.kernel().parameter_count()));
}

/// Fails if an instruction for one lane is executed by a lane other than the elected one of one warp; counts that
/// lane's instructions.
class ElectionMachine : public AsyncMachine {
 public:
  ElectionMachine(std::string_view ptx, int warp) : AsyncMachine(ptx), elected_(warp * 32 + 7) {}
  int issued = 0;

 protected:
  bool together(Instruction const& at, std::vector<int> const& active) override {
    auto const is = [&](std::size_t i, char const* word) { return i < at.words.size() && at.words[i] == word; };
    bool const copy = is(0, "cp") && is(2, "bulk");
    bool const owned = is(0, "mbarrier") && (is(1, "init") || is(2, "expect_tx"));
    if (copy || owned) {
      if (active != std::vector<int>{elected_}) fail("not by the elected lane alone", &at);
      ++issued;
    }
    return AsyncMachine::together(at, active);
  }

 private:
  int elected_;
};

std::vector<std::string> lines_of(std::string const& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Comparisons with the number of a thread; empty: none.
std::string thread_comparisons(std::string const& ptx) {
  std::string found, number;
  for (std::string const& line : lines_of(ptx)) {
    if (line.find("%tid") != std::string::npos) {
      std::size_t const begin = line.find("%r");
      number = line.substr(begin, line.find(',') - begin);
      continue;
    }
    if (line.find("setp") == std::string::npos || number.empty()) continue;
    if (line.find(number + ",") != std::string::npos || line.find(number + ";") != std::string::npos)
      found += line + "\n";
  }
  return found;
}

/// Returns `text` with the regions of one lane moved to another warp.
std::string elected_by(std::string text, int warp) {
  std::string const from = "elect {", to = fmt::format("elect {{warp = {}}} {{", warp);
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

}  // namespace

TEST_CASE("PTX moves a part of a tensor for 1, 32, 128 and 384 threads on the CPU", "[block-ptx][B26]") {
  for (BoxKernel const& kernel : box_kernels()) {
    ir::Module const module = read_module(kernel.text);
    CompiledKernel const compiled = compile_for_device(kernel.text);
    CHECK(compiled.threads_per_cta == std::max(kernel.threads, 32));
    for (auto const& start : box_starts()) {
      INFO(kernel.threads << " threads, start " << start[0] << ", " << start[1]);
      TargetArguments arguments = box_arguments(start);
      AsyncMachine machine(compiled.image);
      CHECK(run_target(machine, compiled, module.kernel(), arguments) == "");
      CHECK(box_error(arguments, start, kernel.factor) == "");
    }
  }
}

TEST_CASE("the elected lane of the requested warp issues copies, from every block", "[block-ptx][B25]") {
  for (int warps : {1, 4, 12}) {
    for (int warp = 0; warp < warps; warp += 3) {
      INFO("warp " << warp << " of " << warps);
      std::string const text = elected_by(box_kernel(warps), warp);
      ir::Module const module = read_module(text);
      CompiledKernel const compiled = compile_for_device(text);
      TargetArguments arguments = box_arguments({12, 32});
      ElectionMachine machine(compiled.image, warp);
      CHECK(run_target(machine, compiled, module.kernel(), arguments) == "");
      CHECK(box_error(arguments, {12, 32}, 2) == "");
      CHECK(machine.issued == 6);  // init, expect, load; store, commit, wait
    }
  }
}

// Protects election: a comparison of thread numbers picks a lane that the block's shape may not have.
TEST_CASE("no kernel of block ops compares the number of its thread", "[block-ptx][B25]") {
  std::vector<std::string> texts;
  for (BoxKernel const& kernel : box_kernels()) texts.push_back(kernel.text);
  for (std::string const& file : kernel_files("ir/target")) texts.push_back(read_file(file));
  CHECK(texts.size() >= 10);
  CHECK(thread_comparisons("mov.u32 %r1, %tid.x;\nsetp.eq.s32 %p1, %r1, 0;\n") != "");
  for (std::string const& text : texts) {
    std::string const ptx = compile_for_device(text).image;
    CHECK(thread_comparisons(ptx) == "");
    CHECK(ptx.find("elect.sync") != std::string::npos);
  }
}
