// Runs random kernels through the passes, with the simulator as judge, in several processes.
//
//   tegula-fuzz --pass pipeline --seed 1 --count 1000    the whole cuda pipeline; every 39th kernel also behind each
//                                                        pass that changed it, six times: its loops as deep as their
//                                                        rings, and less, and more
//   tegula-fuzz --count 200000 --keep-going --minutes 20 --processes 32
//                                                        all that is wrong among many, within a time
//   tegula-fuzz --pass circular-buffer --count 100       passes up to this one, each text that the simulator takes
//   tegula-fuzz --replay failure.txt                     one case, as a failure leaves it
//
// Wrong results are shrunk, one for each pass and kind of failure. They are printed with their seeds and the first pass
// after which they show. A crash or a kernel that takes too long is a wrong result too. At the end: how many were
// right, refused and why, wrong. Exit status: 0, 1 for a wrong result, 2 for bad arguments. TEGULA_FUZZ_KERNELS and
// TEGULA_FUZZ_SEED stand for --count and --seed.
#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <thread>

#include "fuzz/pipeline_case.hpp"
#include "fuzz/processes.hpp"
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
  std::uint64_t step = 1;                      ///< from seed to seed
  int schedules = 1;
  int processes = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  double minutes = 0;  ///< 0: no limit
  double seconds_per_kernel = test::sanitized ? 1500 : 300;
  bool print = false;
  bool keep_going = false;
  bool no_shrinking = false;
};

/// Counts refusals by their text, without the parts that differ from kernel to kernel.
std::string reason_of(std::string const& reason) {
  std::string text;
  for (char const c : reason.substr(0, reason.find('('))) {
    if (c >= '0' && c <= '9') {
      if (text.empty() || text.back() != '#') text += '#';
    } else {
      text += c;
    }
  }
  return text;
}

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Holds one judgement on its way between processes, and its seed.
struct Record {
  std::uint64_t seed = 0;
  int trips = -1;      ///< as a Trips where each pass is judged; -1: the whole pipeline
  double seconds = 0;  ///< of one core
  Judgement found;

  [[nodiscard]] std::string name() const {
    return fmt::format("seed-{}{}", seed, trips < 0 ? "" : fmt::format("-trips-{}", trips));
  }
  /// Gives a key that is equal for judgements that are likely to be one fault.
  [[nodiscard]] std::string kind() const { return found.pass + ": " + reason_of(found.reason.substr(0, 60)); }
};

constexpr char between = '\x1f', behind = '\x1e';

std::string to_text(Record const& record) {
  std::string reason = record.found.reason.substr(0, 2000);
  for (char& c : reason)
    if (c == between || c == behind) c = ' ';
  return fmt::format("{}{}{}{}{}{}{}{}{}{}", record.trips, between, record.seconds, between,
                     static_cast<int>(record.found.kind), between, record.found.pass, between, reason, behind);
}

std::vector<Record> read_records(std::uint64_t seed, std::string_view text) {
  std::vector<Record> result;
  while (!text.empty()) {
    Record record;
    record.seed = seed;
    auto const field = [&](char end) {
      std::size_t const size = std::min(text.find(end), text.size());
      std::string value(text.substr(0, size));
      text.remove_prefix(std::min(size + 1, text.size()));
      return value;
    };
    record.trips = std::atoi(field(between).c_str());
    record.seconds = std::strtod(field(between).c_str(), nullptr);
    record.found.kind = static_cast<Judgement::Kind>(std::atoi(field(between).c_str()));
    record.found.pass = field(between);
    record.found.reason = field(behind);
    result.push_back(std::move(record));
  }
  return result;
}

class Run {
 public:
  Run(Arguments const& arguments, JudgeOptions options) : arguments_(arguments), options_(std::move(options)) {}

  int run() {
    ProcessOptions processes;
    processes.processes = arguments_.processes;
    processes.seconds_per_job = arguments_.seconds_per_kernel;
    std::uint64_t const ended = run_in_processes(
        arguments_.count, processes,
        [this](std::uint64_t job) { return judged(arguments_.seed + job * arguments_.step); },
        [this](JobResult const& result) { take(result); }, [this] { return go_on(); });
    double const spent = seconds_since(start_);
    if (!arguments_.no_shrinking) shrink_all();
    fmt::print(
        "from seed {}: {} of {} kernels, {} right ({} of them behind each pass), {} refused, {} wrong in {:.1f} s\n",
        arguments_.seed, ended, arguments_.count, right_, closely_, refused_, wrong_.size(), spent);
    fmt::print("  {:.1f} s of one core, {:.2f} for {}, the slowest\n", seconds_, slowest_.seconds, slowest_.name());
    for (auto const& [reason, times] : refusals_) fmt::print("  {} refused: {}\n", times, reason);
    for (Record const& one : wrong_)
      fmt::print("  wrong: {} behind {}: {}\n", one.name(), one.found.pass,
                 one.found.reason.substr(0, one.found.reason.find('\n')));
    if (wrong_.empty() && right_ < refused_)
      throw InternalError("more kernels are refused than run: the generator has lost its aim");
    return wrong_.empty() ? 0 : 1;
  }

 private:
  [[nodiscard]] JudgeOptions options_of(Record const& record) const {
    JudgeOptions own = options_;
    if (record.trips >= 0) own.each_pass = true;
    return own;
  }
  static PipelineCase case_of(Record const& record) {
    return record.trips < 0 ? random_case(record.seed) : random_case(record.seed, static_cast<Trips>(record.trips));
  }

  /// Runs all judgements of one seed in a process of its own.
  [[nodiscard]] std::string judged(std::uint64_t seed) const {
    std::string text;
    std::string last;  // some kernels do not ask how often loops run
    bool const closely = arguments_.each_pass_every != 0 && seed % arguments_.each_pass_every == 0;
    for (int trips = -1; trips < (closely ? trips_count : 0); ++trips) {
      Record record{seed, trips, 0, {}};
      PipelineCase const one = case_of(record);
      std::string const own = case_text(one);
      if (trips > 0 && own == last) continue;
      last = own;
      if (arguments_.print) std::cout << own << std::flush;
      std::clock_t const start = std::clock();
      record.found = judge(one, options_of(record));
      record.seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
      text += to_text(record);
      if (record.found.wrong()) break;
    }
    return text;
  }

  void take(JobResult const& result) {
    std::uint64_t const seed = arguments_.seed + result.job * arguments_.step;
    if (result.end != JobResult::End::returned)
      return take(Record{seed, -1, 0, {Judgement::Kind::wrong, "no pass", result.text}});
    for (Record const& record : read_records(seed, result.text)) take(record);
  }
  void take(Record const& record) {
    seconds_ += record.seconds;
    if (record.seconds > slowest_.seconds) slowest_ = record;
    switch (record.found.kind) {
      case Judgement::Kind::right:
        ++right_;
        closely_ += record.trips >= 0 || options_.each_pass ? 1 : 0;
        break;
      case Judgement::Kind::refused:
        ++refused_;
        ++refusals_[record.found.pass + ": " + reason_of(record.found.reason)];
        break;
      case Judgement::Kind::invalid:
      case Judgement::Kind::wrong:
        wrong_.push_back(record);
        if (record.found.kind == Judgement::Kind::invalid) wrong_.back().found.pass = "the generator";
        fmt::print("{}: wrong behind {}: {}\n", record.name(), wrong_.back().found.pass, record.found.reason);
        std::fflush(stdout);
    }
  }

  bool go_on() {
    double const spent = seconds_since(start_);
    if (spent >= next_progress_) {
      std::uint64_t const ended = right_ + refused_ + wrong_.size();
      fmt::print(stderr, "{:.0f} s: {} judged ({:.1f} a second), {} right, {} refused, {} wrong\n", spent, ended,
                 static_cast<double>(ended) / spent, right_, refused_, wrong_.size());
      next_progress_ = spent + 20;
    }
    return (wrong_.empty() || arguments_.keep_going) && (arguments_.minutes == 0 || spent < 60 * arguments_.minutes);
  }

  /// Makes the first wrong case of each kind small, and writes it down.
  void shrink_all() {
    std::map<std::string, Record const*> firsts;
    for (Record const& one : wrong_)
      if (one.found.wrong() && one.found.pass != "no pass") firsts.emplace(one.kind(), &one);
    std::vector<Record const*> cases;
    for (auto const& [kind, one] : firsts)
      if (cases.size() < 64) cases.push_back(one);
    ProcessOptions processes;
    processes.processes = arguments_.processes;
    run_in_processes(
        cases.size(), processes,
        [&](std::uint64_t job) {
          Record const& one = *cases[job];
          PipelineCase const small = shrink(case_of(one), one.found, options_of(one));
          Judgement const again = judge(small, options_of(one));
          return fmt::format("{}, shrunk: wrong behind {}: {}\n{}", one.name(), again.pass, again.reason,
                             case_text(small));
        },
        [&](JobResult const& result) {
          Record const& one = *cases[result.job];
          fmt::print("{}\n", result.text);
          std::fflush(stdout);
          if (arguments_.directory.empty()) return;
          std::string const text = result.end == JobResult::End::returned
                                       ? result.text.substr(std::min(result.text.find("tegula-ir"), result.text.size()))
                                       : case_text(case_of(one));
          std::ofstream(arguments_.directory + "/" + one.name() + ".txt") << text;
        });
  }

  Arguments const& arguments_;
  JudgeOptions options_;
  Clock::time_point start_ = Clock::now();
  double next_progress_ = 20;
  std::map<std::string, std::uint64_t> refusals_;
  std::uint64_t right_ = 0, refused_ = 0, closely_ = 0;
  double seconds_ = 0;
  Record slowest_;
  std::vector<Record> wrong_;
};

int replay(Arguments const& arguments, JudgeOptions options) {
  std::ifstream stream(arguments.replay, std::ios::binary);
  if (!stream) throw UserError("cannot read " + arguments.replay);
  std::string const text((std::istreambuf_iterator<char>(stream)), {});
  options.each_pass = true;
  PipelineCase const one = read_case(text);
  Judgement const found = judge(one, options);
  if (!found.wrong()) {
    std::cout << (found.kind == Judgement::Kind::right ? "right" : found.reason) << "\n";
    return found.kind == Judgement::Kind::right ? 0 : 2;
  }
  std::cout << "wrong behind " << found.pass << ": " << found.reason << "\n" << std::flush;
  PipelineCase const small = arguments.no_shrinking ? one.clone() : shrink(one, found, options);
  Judgement const again = judge(small, options);
  std::cout << "shrunk: wrong behind " << again.pass << ": " << again.reason << "\n" << case_text(small) << std::flush;
  return 1;
}

int run(Arguments const& arguments) {
  JudgeOptions options;
  options.schedules = arguments.schedules;
  if (arguments.pass != "pipeline") {
    if (transform::find_pass(arguments.pass) == nullptr) throw UserError("--pass: there is no " + arguments.pass);
    options.until = arguments.pass;
    options.each_pass = true;
  }
  return arguments.replay.empty() ? Run(arguments, options).run() : replay(arguments, options);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Runs random kernels through the passes and compares what they compute.");
  app.add_option("--pass", arguments.pass, "pipeline, or the last pass to run, with the text after each judged");
  app.add_option("--seed", arguments.seed, "the first seed")->envname("TEGULA_FUZZ_SEED");
  app.add_option("--step", arguments.step, "from one seed to the next; with 8, --seed 3 draws attention alone");
  app.add_option("--count", arguments.count, "how many kernels")->envname("TEGULA_FUZZ_KERNELS");
  app.add_option("--each-pass-every", arguments.each_pass_every,
                 "every so many kernels are judged after each pass; 0: none");
  app.add_option("--processes", arguments.processes, "how many work at one time")->check(CLI::Range(1, 1024));
  app.add_option("--minutes", arguments.minutes, "begin no more kernels after this time; 0: no limit");
  app.add_option("--seconds-per-kernel", arguments.seconds_per_kernel, "a kernel that takes longer is wrong");
  app.add_option("--schedules", arguments.schedules, "seeds of schedules for each run");
  app.add_option("--replay", arguments.replay, "the replay file of a failed compilation");
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
