// Measures the registers that the kernels of the corpus need and writes the table; prints it beside the model.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <thread>

#include "codegen/ptxas.hpp"
#include "compiler/compile.hpp"
#include "fuzz/processes.hpp"
#include "registers/corpus.hpp"
#include "registers/model.hpp"
#include "registers/needs.hpp"
#include "registers/sass.hpp"
#include "support/files.hpp"
#include "support/key_text.hpp"
#include "tegula/support/error.hpp"
#include "tegula/target/target_info.hpp"

namespace {

using namespace tegula;
using namespace tegula::registers;

constexpr int least = 24;  ///< the lowest limit that the assembler takes

struct Arguments {
  std::string needs = needs_file();
  std::string disassembler;
  std::vector<std::uint64_t> draw;  ///< seed and number of kernels
  bool again = false;
  bool print = false;
};

struct Output {
  int status = 0;
  std::string text;
};

Output run_command(std::string const& command) {
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw UserError("registers: cannot run " + command);
  Output output;
  for (char buffer[4096]; std::fgets(buffer, sizeof buffer, pipe) != nullptr;) output.text += buffer;
  output.status = ::pclose(pipe);
  return output;
}

std::string output_of(std::string const& command) {
  Output output = run_command(command);
  if (output.status != 0) throw UserError("registers: " + command + ": " + output.text);
  return std::move(output.text);
}

std::string version_of(std::string const& ptxas) {
  std::smatch found;
  std::string const text = output_of(ptxas + " --version");
  return std::regex_search(text, found, std::regex("V([0-9.]+)")) ? found[1].str() : "unknown";
}

struct Assembled {
  int registers = 0;
  int spilled = 0;  ///< bytes
};

/// Assembles a file as the project does, with a limit of registers (0: none).
Assembled assembled(std::string const& ptxas, std::string const& file, int limit, std::string const& object) {
  auto const [status, output] =
      run_command(fmt::format("{} -arch=sm_90a -O3 -v {} {} -o {}", ptxas,
                              limit == 0 ? "" : fmt::format("--maxrregcount {}", limit), file, object));
  Assembled result;
  // Some instructions need more registers than a limit leaves.
  for (char const* more : {"register target constraints", "(C7602)"})
    if (status != 0 && output.find(more) != std::string::npos) return {limit, 1};
  if (status != 0) throw UserError("registers: ptxas: " + output);
  std::smatch found;
  if (std::regex_search(output, found, std::regex("Used ([0-9]+) registers"))) result.registers = std::stoi(found[1]);
  std::regex const spills("([0-9]+) bytes spill stores");  // of each function
  for (std::sregex_iterator at(output.begin(), output.end(), spills), end; at != end; ++at)
    result.spilled += std::stoi((*at)[1]);
  return result;
}

std::string without_name(std::string ptx, std::string const& kernel) {
  std::string const name = "tegula_" + kernel, other = "tegula_k";
  for (std::size_t at = 0; (at = ptx.find(name, at)) != std::string::npos; at += other.size())
    ptx.replace(at, name.size(), other);
  return ptx;
}

std::string without_limits(std::string const& ptx) {
  return std::regex_replace(
      ptx, std::regex("\n\\s*(\\.maxntid|\\.minnctapersm|\\.maxnreg|\\.reqntid|setmaxnreg)[^\n]*"), "");
}

int bisected(std::string const& ptxas, std::string const& ptx, support::TemporaryFolder const& folder) {
  std::string const file = folder.file("free.ptx");
  std::ofstream(file) << without_limits(ptx);
  Assembled const unlimited = assembled(ptxas, file, 0, "/dev/null");
  if (unlimited.spilled != 0) return 0;
  int low = least, high = std::max(unlimited.registers, least);
  while (low < high) {
    int const middle = (low + high) / 2;
    if (assembled(ptxas, file, middle, "/dev/null").spilled == 0)
      high = middle;
    else
      low = middle + 1;
  }
  return high;
}

/// Finds the code of each partition by the registers that it sets. Nothing where the code has other parts than the
/// kernel.
std::vector<RoleNeed> matched(std::vector<RoleEstimate> const& expected, std::vector<RoleCode> found) {
  std::vector<RoleNeed> result;
  if (found.size() != expected.size()) return result;
  for (RoleEstimate const& role : expected) {
    auto const at =
        std::find_if(found.begin(), found.end(), [&](RoleCode const& code) { return code.set == role.limit; });
    if (at == found.end()) return {};
    result.push_back({at->set, at->highest, at->spills});
    found.erase(at);
  }
  return result;
}

/// Measures a kernel; a kernel whose text has not changed since `known` keeps what was found. Empty text: the kernel is
/// refused.
std::string measured(std::string const& name, Arguments const& arguments, std::string const& ptxas,
                     std::string const& version, Need const* known) {
  CorpusKernel const kernel = corpus_kernel(name);
  ir::Module lowered;
  CompiledKernel compiled;
  try {
    lowered = compiler::lower(kernel.module, kernel.options);
    compiled = compiler::emit(lowered, kernel.options);
  } catch (UserError const&) {
    return {};
  }
  Need need;
  std::string const ptx = without_name(compiled.image, compiled.name);
  need.name = name;
  need.ptx = support::hash_hex(ptx).substr(0, 16);
  need.ptxas = version;
  Estimate const estimate = estimate_of(lowered.kernel());
  need.estimate = estimate.kernel;
  need.threads = lowered.kernel().warps * sm_90a.lanes;
  need.limit = sm_90a.registers_at_start(
      static_cast<int>(lowered.kernel().warps * std::max<std::int64_t>(lowered.kernel().ctas, 1)));
  // Roles that set as many registers all share the code's limit.
  auto const& roles = estimate.roles;
  bool const alike = std::all_of(roles.begin(), roles.end(),
                                 [&](RoleEstimate const& role) { return role.limit == roles.front().limit; });
  if (known != nullptr && known->ptx == need.ptx && known->ptxas == version && !arguments.again &&
      (known->need != 0 || (!known->roles.empty() && !alike))) {
    need.need = known->need;
    need.spilled = known->spilled;
    need.roles = known->roles;
    return to_json_line(need);
  }
  support::TemporaryFolder const folder;
  std::string const file = folder.file("kernel.ptx"), object = folder.file("kernel.cubin");
  std::ofstream(file) << ptx;
  need.spilled = assembled(ptxas, file, 0, object).spilled;
  if (alike) {
    need.need = bisected(ptxas, ptx, folder);
  } else if (!arguments.disassembler.empty()) {
    need.roles = matched(estimate.roles, roles_of(output_of(arguments.disassembler + " " + object)));
  }
  return to_json_line(need);
}

void print(std::vector<Need> const& needs) {
  for (Need const& need : needs) {
    CorpusKernel const kernel = corpus_kernel(need.name);
    ir::Module const lowered = compiler::lower(kernel.module, kernel.options);
    Estimate const estimate = estimate_of(lowered.kernel());
    char const* const half = is_for_fit(need.name) ? "fit" : "judged";
    if (need.roles.empty())
      fmt::print("{}, {}: {} threads, limit {}, need {}, foretold {}{}\n", need.name, half, need.threads, need.limit,
                 need.need, estimate.kernel, need.spilled != 0 ? ", spills" : "");
    for (std::size_t i = 0; i < std::min(need.roles.size(), estimate.roles.size()); ++i)
      fmt::print("{}, {}: role {}, limit {}, need {}, foretold {}{}\n", need.name, half, i, need.roles[i].limit,
                 need.roles[i].highest, estimate.roles[i].registers, need.roles[i].spills != 0 ? ", spills" : "");
  }
}

int run(Arguments const& arguments) {
  std::vector<Need> const known = read_needs(arguments.needs);
  if (arguments.print) {
    print(known);
    return 0;
  }
  std::string const ptxas = test::find_ptxas();
  if (ptxas.empty()) throw UserError("registers: no ptxas; install the CUDA toolkit, or add its folder to PATH");
  std::string const version = version_of(ptxas);
  std::map<std::string, Need const*> by_name;
  for (Need const& need : known) by_name[need.name] = &need;
  if (!arguments.draw.empty()) draw_kernels(arguments.draw.at(0), static_cast<int>(arguments.draw.at(1)));
  std::vector<std::string> const names = names_of_corpus();
  std::map<std::uint64_t, std::string> lines;
  fuzz::ProcessOptions processes;
  processes.processes = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::uint64_t failed = 0;
  fuzz::run_in_processes(
      names.size(), processes,
      [&](std::uint64_t job) {
        auto const found = by_name.find(names[job]);
        return measured(names[job], arguments, ptxas, version, found == by_name.end() ? nullptr : found->second);
      },
      [&](fuzz::JobResult const& result) {
        if (result.end == fuzz::JobResult::End::returned) {
          lines[result.job] = result.text;
        } else {
          ++failed;
          fmt::print(stderr, "{}: {}\n", names[result.job], result.text);
        }
        if (lines.size() % 20 == 0) fmt::print(stderr, "{} of {}\n", lines.size(), names.size());
      });
  std::map<std::string, bool> seen;
  std::ofstream stream(arguments.needs);
  for (auto const& [job, line] : lines) {
    std::size_t const at = line.find("\"ptx\"");
    if (line.empty() || std::exchange(seen[line.substr(at, 26)], true)) continue;  // the same text under another name
    stream << line;
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Measures the registers that the kernels of the corpus need.");
  app.add_option("--needs", arguments.needs, "the table that is read and written");
  app.add_option("--nvdisasm", arguments.disassembler, "a disassembler; without one, roles are left out");
  app.add_flag("--again", arguments.again, "measure kernels, too, whose text has not changed");
  app.add_option("--draw", arguments.draw, "a seed and a number: adds so many kernels of each generator first")
      ->expected(2);
  app.add_flag("--print", arguments.print, "measure nothing; print the table beside the model");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(arguments);
  } catch (UserError const& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
