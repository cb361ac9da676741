// tegula-fuzz: random kernels through the passes, the simulator as judge.
//
//   tegula-fuzz --pass pipeline --seed 1 --count 1000    the whole cuda pipeline; every 39th kernel also behind each
//                                                        pass that changed it, six times: its loops as deep as their
//                                                        rings, and less, and more
//   tegula-fuzz --pass circular-buffer --count 100       passes up to this one, each text that the simulator takes
//   tegula-fuzz --replay failure.txt                     one case, as a failure leaves it
//
// A wrong result is shrunk and printed with its seed and the pass behind which it shows first. Exit status: 0, 1 for a
// wrong result, 2 for bad arguments. TEGULA_FUZZ_KERNELS and TEGULA_FUZZ_SEED stand for --count and --seed.
#include <CLI/CLI.hpp>

#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

#include "fuzz/pipeline_case.hpp"
#include "support/sanitized.hpp"
#include "tegula/support/error.hpp"
#include "transform/pipeline.hpp"

namespace {

using namespace tegula;
using namespace tegula::fuzz;

struct Arguments {
  std::string pass = "pipeline";
  std::string replay;
  std::string directory;
  std::uint64_t seed = 1;
  std::uint64_t count = test::schedules(700);  ///< two minutes
  std::uint64_t each_pass_every = 39;          ///< coprime to the kinds of kernels
  int schedules = 1;
  bool print = false;
  bool keep_going = false;
  bool no_shrinking = false;
};

/// Refusals by their text, without what differs from kernel to kernel.
std::string reason_of(std::string const& what) {
  std::string text;
  for (char const c : what.substr(0, what.find('('))) {
    if (c >= '0' && c <= '9') {
      if (text.empty() || text.back() != '#') text += '#';
    } else {
      text += c;
    }
  }
  return text;
}

void report(PipelineCase const& one, Judgement const& found, std::string const& name, Arguments const& arguments,
            JudgeOptions const& options) {
  std::cout << name << ": wrong behind " << found.pass << ": " << found.what << "\n" << std::flush;
  PipelineCase const small = arguments.no_shrinking ? one.clone() : shrink(one, found, options);
  Judgement const again = judge(small, options);
  std::string text = case_text(small);
  std::cout << "shrunk: wrong behind " << again.pass << ": " << again.what << "\n" << text << std::flush;
  if (arguments.directory.empty()) return;
  std::ofstream(arguments.directory + "/" + name + ".txt") << text;
}

int run(Arguments const& arguments) {
  JudgeOptions options;
  options.schedules = arguments.schedules;
  if (arguments.pass != "pipeline") {
    if (transform::find_pass(arguments.pass) == nullptr) throw UserError("--pass: there is no " + arguments.pass);
    options.until = arguments.pass;
    options.each_pass = true;
  }
  if (!arguments.replay.empty()) {
    std::ifstream stream(arguments.replay, std::ios::binary);
    if (!stream) throw UserError("cannot read " + arguments.replay);
    std::string const text((std::istreambuf_iterator<char>(stream)), {});
    options.each_pass = true;
    PipelineCase const one = read_case(text);
    Judgement const found = judge(one, options);
    if (!found.wrong()) {
      std::cout << (found.kind == Judgement::Kind::right ? "right" : found.what) << "\n";
      return found.kind == Judgement::Kind::right ? 0 : 2;
    }
    report(one, found, "replay", arguments, options);
    return 1;
  }
  auto const start = std::chrono::steady_clock::now();
  std::map<std::string, std::uint64_t> refusals;
  std::uint64_t right = 0, refused = 0, wrong = 0, closely = 0;
  auto const run_one = [&](PipelineCase const& one, std::string const& name, JudgeOptions const& own) {
    if (arguments.print) std::cout << case_text(one) << std::flush;
    Judgement const found = judge(one, own);
    right += found.kind == Judgement::Kind::right ? 1 : 0;
    wrong += found.wrong() ? 1 : 0;
    closely += own.each_pass && found.kind == Judgement::Kind::right ? 1 : 0;
    if (found.kind == Judgement::Kind::refused) {
      ++refused;
      ++refusals[found.pass + ": " + reason_of(found.what)];
    }
    if (found.kind == Judgement::Kind::invalid)
      throw InternalError(name + ": the generator's kernel is no good: " + found.what + "\n" + case_text(one));
    if (found.wrong()) report(one, found, name, arguments, own);
    return !found.wrong() || arguments.keep_going;
  };
  bool go_on = true;
  for (std::uint64_t seed = arguments.seed; go_on && seed < arguments.seed + arguments.count; ++seed) {
    std::string const name = "seed-" + std::to_string(seed);
    JudgeOptions own = options;
    go_on = run_one(random_case(seed), name, own);
    if (arguments.each_pass_every == 0 || seed % arguments.each_pass_every != 0) continue;
    own.each_pass = true;
    for (int trips = 0; go_on && trips < trips_count; ++trips)
      go_on = run_one(random_case(seed, static_cast<Trips>(trips)), name + "-trips-" + std::to_string(trips), own);
  }
  double const spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::cout << "from seed " << arguments.seed << ": " << right << " right (" << closely
            << " of them behind each pass), " << refused << " refused, " << wrong << " wrong in " << spent << " s\n";
  for (auto const& [reason, times] : refusals) std::cout << "  " << times << " refused: " << reason << "\n";
  if (wrong == 0 && right < refused)
    throw InternalError("more kernels are refused than run: the generator has lost its aim");
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Runs random kernels through the passes and compares what they compute.");
  app.add_option("--pass", arguments.pass, "pipeline, or the last pass to run, with the text after each judged");
  app.add_option("--seed", arguments.seed, "the first seed")->envname("TEGULA_FUZZ_SEED");
  app.add_option("--count", arguments.count, "how many kernels")->envname("TEGULA_FUZZ_KERNELS");
  app.add_option("--each-pass-every", arguments.each_pass_every,
                 "every so many kernels are judged after each pass; 0: none");
  app.add_option("--schedules", arguments.schedules, "seeds of schedules for each run");
  app.add_option("--replay", arguments.replay, "a file left by a failure");
  app.add_option("--directory", arguments.directory, "where shrunk failures are written");
  app.add_flag("--print", arguments.print, "print every kernel before it runs");
  app.add_flag("--keep-going", arguments.keep_going, "do not stop at the first wrong result");
  app.add_flag("--no-shrinking", arguments.no_shrinking, "print wrong kernels as they were made");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(arguments);
  } catch (std::exception const& error) {
    std::cerr << "tegula-fuzz: " << error.what() << "\n";
    return 2;
  }
}
