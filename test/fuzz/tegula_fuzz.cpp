// Draws random cases and judges them, in several processes: kernels through the passes with the simulator as judge, and
// all that generators.hpp lists.
//
//   tegula-fuzz --generator all --minutes 10 --seed 7    every generator in turn; the driver behind ./dev fuzz
//   tegula-fuzz --pass pipeline --seed 1 --count 1000    the whole cuda pipeline; every 39th kernel also after each
//                                                        pass that changed it, six times: its loops as deep as their
//                                                        rings, and less, and more
//   tegula-fuzz --count 200000 --keep-going --minutes 20 --processes 32
//                                                        all that is wrong among many, within a time
//   tegula-fuzz --pass circular-buffer --count 100       passes up to this one, each text that the simulator takes
//   tegula-fuzz --replay failure.txt                     one case, as a failure leaves it
//
// Wrong results are shrunk, one for each pass and kind of failure. They are printed with their seeds and the first pass
// after which they show, and written to --directory as test/fuzz/kept takes them. A crash is a wrong result too. A
// kernel that takes too long, or a proof that stays open, is reported and is not wrong. At the end: how many were
// right, refused and why, unsettled, slow, wrong. Exit status: 0, 1 for a wrong result, 2 for bad arguments.
#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <thread>

#include "fuzz/generators.hpp"
#include "fuzz/pipeline_case.hpp"
#include "fuzz/processes.hpp"
#include "support/sanitized.hpp"
#include "tegula/support/error.hpp"
#include "transform/pipeline.hpp"

namespace {

using namespace tegula;
using namespace tegula::fuzz;

struct Arguments {
  std::string generator = "pipeline";
  std::string pass = "pipeline";
  std::string replay;
  std::string directory;
  std::uint64_t seed = 1;
  std::uint64_t count = test::schedules(700);  ///< two minutes
  std::uint64_t each_pass_every = 39;          ///< coprime to the kinds of kernels
  std::uint64_t step = 1;                      ///< from seed to seed
  int schedules = 1;
  int processes = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  double minutes = 0;                                        ///< 0: no limit
  double seconds_per_kernel = test::sanitized ? 1500 : 300;  ///< 0: no limit
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

/// Lists seeds that one process judges one after the other.
struct Job {
  Generator const* generator;
  std::uint64_t seed;
  std::uint64_t count = 1;
};

/// Holds one judgement on its way between processes, and its seed.
struct Record {
  Generator const* generator = nullptr;
  std::uint64_t seed = 0;
  int trips = -1;      ///< as a Trips where each pass is judged; -1: the whole pipeline
  double seconds = 0;  ///< of one core
  Judgement found = {};
  bool unsettled = false;

  [[nodiscard]] std::string name() const {
    return fmt::format("{}-{}{}", generator->name, seed, trips < 0 ? "" : fmt::format("-trips-{}", trips));
  }
  /// Returns a key that is equal for judgements that are likely to be one fault.
  [[nodiscard]] std::string kind() const { return found.pass + ": " + reason_of(found.reason.substr(0, 60)); }
};

constexpr char between = '\x1f', behind = '\x1e';

std::string to_text(Record const& record) {
  std::string reason = record.found.reason.substr(0, 2000);
  for (char& c : reason)
    if (c == between || c == behind) c = ' ';
  return fmt::format("{}{}{}{}{}{}{}{}{}{}{}{}{}{}", record.seed, between, record.trips, between, record.seconds,
                     between, static_cast<int>(record.found.kind), between, record.unsettled ? 1 : 0, between,
                     record.found.pass, between, reason, behind);
}

std::vector<Record> read_records(Generator const& generator, std::string_view text) {
  std::vector<Record> result;
  while (!text.empty()) {
    Record record;
    record.generator = &generator;
    auto const field = [&](char end) {
      std::size_t const size = std::min(text.find(end), text.size());
      std::string value(text.substr(0, size));
      text.remove_prefix(std::min(size + 1, text.size()));
      return value;
    };
    record.seed = std::strtoull(field(between).c_str(), nullptr, 10);
    record.trips = std::atoi(field(between).c_str());
    record.seconds = std::strtod(field(between).c_str(), nullptr);
    record.found.kind = static_cast<Judgement::Kind>(std::atoi(field(between).c_str()));
    record.unsettled = field(between) == "1";
    record.found.pass = field(between);
    record.found.reason = field(behind);
    result.push_back(std::move(record));
  }
  return result;
}

/// Counts the results of one generator.
struct Count {
  std::uint64_t right = 0, refused = 0, unsettled = 0, slow = 0, wrong = 0;

  [[nodiscard]] std::uint64_t all() const { return right + refused + unsettled + slow + wrong; }
  [[nodiscard]] std::string str() const {
    return fmt::format("{} tried: {} right, {} refused, {} unsettled, {} slow, {} wrong", all(), right, refused,
                       unsettled, slow, wrong);
  }
};

class Run {
 public:
  Run(Arguments const& arguments, JudgeOptions options) : arguments_(arguments), options_(std::move(options)) {
    if (arguments.generator == "all")
      for (Generator const& each : generators()) generators_.push_back(&each);
    else
      generators_.push_back(&generator_named(arguments.generator));
  }

  int run() {
    std::uint64_t const jobs = arguments_.count;
    run_in_processes(
        jobs, processes(), [this](std::uint64_t job) { return judged(job_of(job)); },
        [this](JobResult const& result) { take(job_of(result.job), result); }, [this] { return go_on(); });
    double const spent = seconds_since(start_);
    find_crashes();
    if (!arguments_.no_shrinking) shrink_all();
    report(spent);
    Count const& pipeline = counts_[&generators()[0]];
    if (wrong_.empty() && pipeline.right < pipeline.refused)
      throw InternalError("more kernels are refused than run: the generator has lost its aim");
    return wrong_.empty() ? 0 : 1;
  }

 private:
  [[nodiscard]] ProcessOptions processes() const {
    ProcessOptions result;
    result.processes = arguments_.processes;
    result.seconds_per_job = arguments_.seconds_per_kernel == 0 ? 1e18 : arguments_.seconds_per_kernel;
    return result;
  }
  /// Returns generators in turn. One alone gets single seeds, several get as many as take about the same time.
  [[nodiscard]] Job job_of(std::uint64_t job) const {
    std::uint64_t const turn = job / generators_.size();
    Generator const* const generator = generators_[job % generators_.size()];
    std::uint64_t const draws = generators_.size() > 1 ? generator->draws : 1;
    return {generator, arguments_.seed + turn * draws * arguments_.step, draws};
  }
  [[nodiscard]] JudgeOptions options_of(Record const& record) const {
    JudgeOptions own = options_;
    if (record.trips >= 0) own.each_pass = true;
    return own;
  }
  static PipelineCase case_of(Record const& record) {
    return record.trips < 0 ? random_case(record.seed) : random_case(record.seed, static_cast<Trips>(record.trips));
  }
  /// Tells whether a record is a kernel through the pipeline that this program judges with its own options.
  [[nodiscard]] bool is_pipeline(Record const& record) const {
    return record.generator == &generators()[0] && generators_.size() == 1;
  }

  /// Runs all judgements of a job in a process of its own.
  [[nodiscard]] std::string judged(Job const& job) const {
    std::string text;
    for (std::uint64_t i = 0; i < job.count; ++i) {
      std::uint64_t const seed = job.seed + i * arguments_.step;
      text += is_pipeline({job.generator}) ? judged_closely(seed) : to_text(judged_once({job.generator, seed}));
    }
    return text;
  }
  [[nodiscard]] Record judged_once(Record record) const {
    std::clock_t const start = std::clock();
    try {
      std::string const text = record.generator->draw(record.seed);
      if (arguments_.print) std::cout << text << std::flush;
      record.found = as_judgement(record.generator->judge(text), record.unsettled);
    } catch (std::exception const& error) {
      record.found = {Judgement::Kind::wrong, std::string(record.generator->name), error.what()};
    }
    record.seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    return record;
  }
  [[nodiscard]] static Judgement as_judgement(Verdict const& found, bool& unsettled) {
    unsettled = found.kind == Verdict::Kind::unsettled;
    return {found.wrong()                          ? Judgement::Kind::wrong
            : found.kind == Verdict::Kind::refused ? Judgement::Kind::refused
                                                   : Judgement::Kind::right,
            "", found.reason};
  }
  [[nodiscard]] std::string judged_closely(std::uint64_t seed) const {
    std::string text;
    std::string last;  // some kernels do not ask how often loops run
    bool const closely = arguments_.each_pass_every != 0 && seed % arguments_.each_pass_every == 0;
    for (int trips = -1; trips < (closely ? trips_count : 0); ++trips) {
      Record record{&generators()[0], seed, trips};
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

  void take(Job const& job, JobResult const& result) {
    if (result.end == JobResult::End::took_too_long) {
      ++counts_[job.generator].slow;
      std::string const line = fmt::format("{} from seed {}: {}", job.generator->name, job.seed, result.text);
      fmt::print("slow: {}\n", line);
      open_.push_back("slow: " + line);
    } else if (result.end == JobResult::End::returned) {
      for (Record const& record : read_records(*job.generator, result.text)) take(record);
    } else if (job.count == 1) {
      take(Record{job.generator, job.seed, -1, 0, {Judgement::Kind::wrong, "no pass", result.text}});
    } else {
      crashed_.push_back(job);
    }
  }
  void take(Record const& record) {
    seconds_ += record.seconds;
    if (record.seconds > slowest_.seconds) slowest_ = record;
    Count& count = counts_[record.generator];
    switch (record.found.kind) {
      case Judgement::Kind::right:
        ++(record.unsettled ? count.unsettled : count.right);
        if (record.unsettled) open_.push_back("unsettled: " + record.name() + ": " + record.found.reason);
        closely_ += record.trips >= 0 || options_.each_pass ? 1 : 0;
        break;
      case Judgement::Kind::refused:
        ++count.refused;
        if (is_pipeline(record)) ++refusals_[record.found.pass + ": " + reason_of(record.found.reason)];
        break;
      case Judgement::Kind::invalid:
      case Judgement::Kind::wrong:
        ++count.wrong;
        wrong_.push_back(record);
        if (record.found.kind == Judgement::Kind::invalid) wrong_.back().found.pass = "the generator";
        fmt::print("{}: wrong{}\n", record.name(), failure(wrong_.back().found));
        std::fflush(stdout);
    }
  }
  static std::string failure(Judgement const& found) {
    return (found.pass.empty() ? "" : " after " + found.pass) + ": " + found.reason;
  }

  bool go_on() {
    double const spent = seconds_since(start_);
    if (spent >= next_progress_) {
      Count all;
      for (auto const& [generator, count] : counts_) {
        all.right += count.right, all.refused += count.refused, all.unsettled += count.unsettled;
        all.slow += count.slow, all.wrong += count.wrong;
      }
      fmt::print(stderr, "{:.0f} s: {}\n", spent, all.str());
      next_progress_ = spent + 20;
    }
    return (wrong_.empty() || arguments_.keep_going) && (arguments_.minutes == 0 || spent < 60 * arguments_.minutes);
  }

  /// Judges the seeds of jobs whose process died one at a time, to find those that do it.
  void find_crashes() {
    std::vector<Job> single;
    for (Job const& job : std::exchange(crashed_, {}))
      for (std::uint64_t i = 0; i < job.count; ++i) single.push_back({job.generator, job.seed + i * arguments_.step});
    run_in_processes(
        single.size(), processes(), [&](std::uint64_t job) { return judged(single[job]); },
        [&](JobResult const& result) { take(single[result.job], result); }, {});
  }

  /// Makes the first wrong case of each kind small, and writes it down as test/fuzz/kept takes it.
  void shrink_all() {
    std::map<std::string, Record const*> firsts;
    for (Record const& one : wrong_)
      if (one.found.wrong()) firsts.emplace(std::string(one.generator->name) + one.kind(), &one);
    std::vector<Record const*> cases;
    for (auto const& [kind, one] : firsts)
      if (cases.size() < 64) cases.push_back(one);
    run_in_processes(
        cases.size(), processes(),
        [&](std::uint64_t job) {
          Record const& one = *cases[job];
          if (one.found.pass == "no pass") return drawn(one);  // judging it again ends the process
          if (!is_pipeline(one)) {
            Verdict const found{Verdict::Kind::wrong, one.found.reason};
            return kept_text(*one.generator, one.generator->shrink(one.generator->draw(one.seed), found));
          }
          return case_text(shrink(case_of(one), one.found, options_of(one)));
        },
        [&](JobResult const& result) {
          Record const& one = *cases[result.job];
          std::string text = result.text;
          if (result.end != JobResult::End::returned) {
            try {
              text = drawn(one);
            } catch (std::exception const&) {  // drawing alone fails, as was printed
              return;
            }
          }
          fmt::print("{}, shrunk:\n{}\n", one.name(), text);
          std::fflush(stdout);
          if (arguments_.directory.empty()) return;
          std::string const file = arguments_.directory + "/" + one.name() + ".tir";
          std::filesystem::create_directories(arguments_.directory);
          std::ofstream(file, std::ios::binary) << text;
          fmt::print("written to {}\n", file);
        });
  }
  [[nodiscard]] std::string drawn(Record const& one) const {
    return is_pipeline(one) ? case_text(case_of(one)) : kept_text(*one.generator, one.generator->draw(one.seed));
  }

  void report(double spent) {
    fmt::print("from seed {}, in {:.1f} s:\n", arguments_.seed, spent);
    for (Generator const* generator : generators_)
      fmt::print("  {:13} {}\n", generator->name, counts_[generator].str());
    if (closely_ != 0) fmt::print("  {} of them after each pass\n", closely_);
    if (slowest_.generator != nullptr)
      fmt::print("  {:.1f} s of one core, {:.2f} for {}, the slowest\n", seconds_, slowest_.seconds, slowest_.name());
    for (auto const& [reason, times] : refusals_) fmt::print("  {} refused: {}\n", times, reason);
    for (std::string const& line : open_) fmt::print("  {}\n", line.substr(0, line.find('\n')));
    for (Record const& one : wrong_) {
      std::string const line = failure(one.found);
      fmt::print("  wrong: {}{}\n", one.name(), line.substr(0, line.find('\n')));
    }
  }

  Arguments const& arguments_;
  JudgeOptions options_;
  std::vector<Generator const*> generators_;
  Clock::time_point start_ = Clock::now();
  double next_progress_ = 20;
  std::map<std::string, std::uint64_t> refusals_;
  std::map<Generator const*, Count> counts_;
  std::uint64_t closely_ = 0;
  double seconds_ = 0;
  Record slowest_;
  std::vector<Record> wrong_;
  std::vector<std::string> open_;  ///< slow and unsettled cases
  std::vector<Job> crashed_;
};

int replay(Arguments const& arguments, JudgeOptions options) {
  std::ifstream stream(arguments.replay, std::ios::binary);
  if (!stream) throw UserError("cannot read " + arguments.replay);
  std::string const text((std::istreambuf_iterator<char>(stream)), {});
  if (KeptCase const kept = read_kept(text); &kept.generator != &generators()[0]) {
    Verdict const found = kept.generator.judge(kept.text);
    std::cout << (found.wrong() ? "wrong: " : "") << (found.reason.empty() ? "right" : found.reason) << "\n";
    if (!found.wrong()) return found.kind == Verdict::Kind::refused ? 2 : 0;
    if (!arguments.no_shrinking)
      std::cout << "shrunk:\n" << kept_text(kept.generator, kept.generator.shrink(kept.text, found)) << std::flush;
    return 1;
  }
  options.each_pass = true;
  PipelineCase const one = read_case(text);
  Judgement const found = judge(one, options);
  if (!found.wrong()) {
    std::cout << (found.kind == Judgement::Kind::right ? "right" : found.reason) << "\n";
    return found.kind == Judgement::Kind::right ? 0 : 2;
  }
  std::cout << "wrong after " << found.pass << ": " << found.reason << "\n" << std::flush;
  PipelineCase const small = arguments.no_shrinking ? one.clone() : shrink(one, found, options);
  Judgement const again = judge(small, options);
  std::cout << "shrunk: wrong after " << again.pass << ": " << again.reason << "\n" << case_text(small) << std::flush;
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
  app.add_option("--generator", arguments.generator, "all, or the name of one; pipeline is judged as --pass says");
  app.add_option("--pass", arguments.pass, "pipeline, or the last pass to run, with the text after each judged");
  app.add_option("--seed", arguments.seed, "the first seed");
  app.add_option("--step", arguments.step, "from one seed to the next; with 8, --seed 3 draws attention alone");
  app.add_option("--count", arguments.count, "how many kernels; with all generators, how many turns of one of them");
  app.add_option("--each-pass-every", arguments.each_pass_every,
                 "every so many kernels are judged after each pass; 0: none");
  app.add_option("--processes", arguments.processes, "how many work at one time")->check(CLI::Range(1, 1024));
  app.add_option("--minutes", arguments.minutes, "begin no more kernels after this time; 0: no limit");
  app.add_option("--seconds-per-kernel", arguments.seconds_per_kernel,
                 "a kernel, or a turn of several, that takes longer is reported as slow; 0: no limit");
  app.add_option("--schedules", arguments.schedules, "seeds of schedules for each run");
  app.add_option("--replay", arguments.replay, "the replay file of a failed compilation, or a file of a finding");
  app.add_option("--directory", arguments.directory, "where shrunk findings are written, as test/fuzz/kept takes them");
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
