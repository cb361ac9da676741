#include "tegula/tune/tune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <thread>

#include "jit/choose.hpp"
#include "jit/estimate.hpp"
#include "jit/kernel_memo.hpp"
#include "jit/launch_options.hpp"
#include "runtime/tuned_table.hpp"
#include "tegula/support/error.hpp"
#include "trace/traced_kernel.hpp"
#include "tune/copies.hpp"
#include "tune/log.hpp"
#include "tune/snapshot.hpp"
#include "tune/timing.hpp"

namespace tegula {
namespace tuning {
namespace {

using State = TunedKernel::State;
using Clock = std::chrono::steady_clock;

constexpr int max_sets = 64;            // as many as a graph has launches
constexpr double short_launch = 40e-6;  // the calling thread may not keep up with shorter ones

/// Searches for the fastest kernel of one problem.
class Search {
 public:
  Search(stream const& order, TuneOptions const& options, jit::KernelRef const& kernels, call::ArgumentList arguments,
         GridOverride const& grid)
      : order_(order), options_(options), kernels_(kernels), list_(arguments), grid_(grid) {
    result_.kernel = kernels.name;
    result_.problem = runtime::problem_of(given());
    for (std::string const& label : jit::labels_of(kernels))
      result_.kernels.push_back({label, State::unknown, 0, false, {}});
    joined_.resize(result_.kernels.size());
    prepared_.resize(result_.kernels.size());
    for (int i = 0; i < kernels.members; ++i) members_.push_back(jit::member_of(kernels, i, joined_[at(i)]));
  }

  TuneResult run() {
    leave_out_by_estimate();
    compile();
    Snapshot const before(order_, parameters(), given());
    try {
      compare(before);
      before.restore(order_);
      measure(Copies(order_, given(), options_.cold_bytes, max_sets));
    } catch (...) {
      before.restore(order_);
      throw;
    }
    before.restore(order_);
    choose_best();
    prepared_[at(result_.best)].front()(order_);
    order_.synchronize();
    result_.seconds = spent();
    return std::move(result_);
  }

 private:
  static std::size_t at(int number) { return static_cast<std::size_t>(number); }
  [[nodiscard]] std::span<Argument const> given() const { return {list_.first, at(list_.count)}; }
  [[nodiscard]] double spent() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  [[nodiscard]] bool in_time() const { return spent() < options_.max_seconds; }
  void say(std::string const& line) const {
    if (options_.progress != nullptr) options_.progress(fmt::format("{}: {}", kernels_.name, line).c_str());
  }
  std::span<ParameterInfo const> parameters() {
    trace_ = jit::traced(members_[0]);
    return trace_->kernel.parameters();
  }
  [[nodiscard]] std::vector<int> left() const {
    std::vector<int> numbers;
    for (std::size_t i = 0; i < result_.kernels.size(); ++i)
      if (result_.kernels[i].state == State::unknown) numbers.push_back(static_cast<int>(i));
    return numbers;
  }

  [[noreturn]] void refuse() const {
    std::string reasons;
    for (TunedKernel const& kernel : result_.kernels) reasons += fmt::format("\n  {}: {}", kernel.label, kernel.why);
    throw UserError(fmt::format("{}: tune: no kernel runs:{}", kernels_.name, reasons));
  }

  void leave_out_by_estimate() {
    jit::Executor const executor = jit::executor_of(order_.where());
    std::vector<double> estimates;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      std::shared_ptr<jit::Traced const> const traced = jit::traced(members_[i]);
      double& seconds = estimates.emplace_back(std::numeric_limits<double>::infinity());
      try {
        seconds = jit::estimate(traced->kernel, given(), grid_, jit::chosen_options(members_[i]), executor).seconds;
      } catch (UserError const& error) {
        result_.kernels[i].state = State::refused;
        result_.kernels[i].why = error.what();
      }
    }
    double const least = *std::ranges::min_element(estimates);
    in_graphs_ = order_.where().is_cuda() && least < short_launch;
    for (std::size_t i = 0; i < estimates.size(); ++i) {
      if (result_.kernels[i].state == State::refused || estimates[i] <= least * options_.max_estimate) continue;
      result_.kernels[i].state = State::estimated;
      result_.kernels[i].why = fmt::format("estimated {:.3g} us, the best {:.3g} us", estimates[i] * 1e6, least * 1e6);
    }
  }

  void compile() {
    std::vector<int> const numbers = left();
    std::atomic<std::size_t> next = 0;
    auto const work = [&] {
      for (std::size_t i = next++; i < numbers.size(); i = next++) {
        TunedKernel& kernel = result_.kernels[at(numbers[i])];
        try {
          device const where = order_.where();
          prepared_[at(numbers[i])].emplace_back(jit::prepare(&where, members_[at(numbers[i])], list_, grid_));
        } catch (Error const& error) {
          kernel.state = State::refused;
          kernel.why = error.what();
        }
      }
    };
    std::vector<std::thread> threads;
    std::size_t const most = std::max(std::thread::hardware_concurrency(), 1U);
    for (std::size_t i = 1; i < std::min(most, numbers.size()); ++i) threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
    say(fmt::format("{} of {} kernels compiled in {:.1f} s", left().size(), kernels_.members, spent()));
    if (left().empty()) refuse();
  }

  /// Runs each kernel once on the same memory and compares the results with those of the first one.
  void compare(Snapshot const& before) {
    std::optional<Snapshot> first;
    for (int const number : left()) {
      TunedKernel& kernel = result_.kernels[at(number)];
      before.restore(order_);
      try {
        prepared_[at(number)].front()(order_);
        order_.synchronize();
      } catch (UserError const& error) {
        kernel.state = State::refused;
        kernel.why = error.what();
        continue;
      }
      Snapshot const results(order_, trace_->kernel.parameters(), given());
      if (!first) {
        first.emplace(results);
        kernel.identical = true;
        continue;
      }
      Snapshot::Difference const difference = first->difference(results);
      kernel.identical = difference.identical;
      if (difference.why.empty()) continue;
      kernel.state = State::differs;
      kernel.why = difference.why;
    }
  }

  /// Gives each kernel a launch for each set, and lets it rotate over them.
  std::vector<Candidate> candidates_of(Copies const& copies) {
    device const where = order_.where();
    std::vector<Candidate> candidates(result_.kernels.size());
    for (int const number : left()) {
      std::vector<prepared>& launches = prepared_[at(number)];
      for (int set = 1; set < copies.count(); ++set)
        launches.emplace_back(jit::prepare(&where, members_[at(number)], {copies.set(set).data(), list_.count}, grid_));
      candidates[at(number)] = {
          result_.kernels[at(number)].label, [this, number](int set) { prepared_[at(number)][at(set)](order_); }, {}};
      if (in_graphs_) candidates[at(number)] = in_graph(order_, candidates[at(number)], copies.count());
    }
    return candidates;
  }

  /// Halves the kernels until two are left, with more samples each time.
  void measure(Copies const& copies) {
    std::vector<Candidate> const all = candidates_of(copies);
    CoolClock settings{options_.idle_seconds, 1, options_.busy_seconds / 4, 1};
    for (;;) {
      std::vector<int> const numbers = left();
      bool const last = numbers.size() <= 2 || !in_time();
      if (last) settings = {options_.idle_seconds, 3, options_.busy_seconds, std::max(options_.rounds, 1)};
      std::vector<Candidate> candidates;
      for (int const number : numbers) candidates.push_back(all[at(number)]);
      if (in_time() || sampled_ == 0) {
        time_in_turns(order_, candidates, copies.count(), settings);
        ++sampled_;
        for (std::size_t i = 0; i < numbers.size(); ++i)
          result_.kernels[at(numbers[i])].seconds = median(candidates[i].seconds);
      }
      if (last) break;
      drop_slower_half(numbers);
      say(fmt::format("{} left after {:.1f} s", left().size(), spent()));
      settings.rounds = std::min(settings.rounds + 1, std::max(options_.rounds, 1));
    }
    for (int const number : left())
      if (result_.kernels[at(number)].seconds > 0) result_.kernels[at(number)].state = State::measured;
  }

  void drop_slower_half(std::vector<int> numbers) {
    std::ranges::sort(numbers, {}, [&](int number) { return result_.kernels[at(number)].seconds; });
    double const least = result_.kernels[at(numbers[0])].seconds;
    constexpr double near = 1.02;  // few samples do not tell these apart
    std::size_t kept = (numbers.size() + 1) / 2;
    while (kept + 1 < numbers.size() && result_.kernels[at(numbers[kept])].seconds < near * least) ++kept;
    for (std::size_t i = kept; i < numbers.size(); ++i) result_.kernels[at(numbers[i])].state = State::slower;
  }

  void choose_best() {
    for (std::size_t i = 0; i < result_.kernels.size(); ++i) {
      TunedKernel const& kernel = result_.kernels[i];
      if (kernel.state != State::measured) continue;
      if (result_.best < 0 || kernel.seconds < result_.kernels[at(result_.best)].seconds)
        result_.best = static_cast<int>(i);
    }
    if (result_.best < 0) refuse();
  }

  stream order_;
  TuneOptions const& options_;
  jit::KernelRef const& kernels_;
  call::ArgumentList list_;
  GridOverride const& grid_;
  TuneResult result_;
  std::shared_ptr<jit::Traced const> trace_;
  std::vector<std::optional<CompileOptions>> joined_;  ///< that members_ refer to
  std::vector<jit::KernelRef> members_;
  std::vector<std::vector<prepared>> prepared_;  ///< for each set of arguments
  bool in_graphs_ = false;
  int sampled_ = 0;
  Clock::time_point start_ = Clock::now();
};

/// Refuses numbers with which no search can be made; NaN is none of those that are allowed.
void check_options(char const* kernels, TuneOptions const& options) {
  struct Rule {
    char const* name;
    double value, min, max;
  };
  constexpr double day = 86400, any = 1e18;
  for (Rule const& rule :
       {Rule{"max_seconds", options.max_seconds, 0, any}, Rule{"idle_seconds", options.idle_seconds, 0, day},
        Rule{"busy_seconds", options.busy_seconds, 0, day}, Rule{"cold_bytes", options.cold_bytes, 0, any},
        Rule{"rounds", static_cast<double>(options.rounds), 0, 1e6},
        Rule{"max_estimate", options.max_estimate, 1, any}})
    if (!(rule.value >= rule.min && rule.value <= rule.max))
      throw UserError(
          fmt::format("{}: tune: {} is {}; take {} to {}", kernels, rule.name, rule.value, rule.min, rule.max));
}

bool same_kernels(TuneResult const& result, jit::KernelRef const& kernels) {
  std::vector<std::string> const labels = jit::labels_of(kernels);
  return std::ranges::equal(result.kernels, labels, {}, &TunedKernel::label);
}

}  // namespace

TuneResult tune(stream const& order, TuneOptions const& options, jit::KernelRef const& kernels,
                call::ArgumentList arguments, GridOverride const& grid) {
  check_options(kernels.name, options);
  std::vector<std::int64_t> const problem =
      runtime::problem_of({arguments.first, static_cast<std::size_t>(arguments.count)});
  if (problem.size() > TunedChoice::max_numbers)
    throw UserError(fmt::format("{}: tune: the kernel has {} extents and integers, a table holds {} at most",
                                kernels.name, problem.size(), static_cast<int>(TunedChoice::max_numbers)));
  Place const place = place_of(order.where());
  if (!options.log.empty()) {
    std::vector<LogEntry> entries = read_log(options.log);
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry)
      if (entry->place == place && entry->result.kernel == kernels.name && entry->result.problem == problem &&
          same_kernels(entry->result, kernels))
        return std::move(entry->result);
  }
  TuneResult result = Search(order, options, kernels, arguments, grid).run();
  if (!options.log.empty()) add_to_log(options.log, {place, result});
  return result;
}

}  // namespace tuning

std::string TuneResult::str() const {
  std::string text =
      fmt::format("{} ({}): {:.1f} s{}\n", kernel, fmt::join(problem, ", "), seconds, from_log ? ", from the log" : "");
  static constexpr char const* states[] = {"", "dropped early", "left out: ", "refused: ", "differs: ", "not measured"};
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    TunedKernel const& each = kernels[i];
    bool const timed = each.seconds > 0;
    std::string const why = each.why.substr(0, each.why.find('\n'));
    text += fmt::format("{} {:<28} {:>12} {}{}\n", static_cast<int>(i) == best ? "*" : " ", each.label,
                        timed ? fmt::format("{:.2f} us", each.seconds * 1e6) : "",
                        states[static_cast<std::size_t>(each.state)], why);
  }
  return text;
}

}  // namespace tegula
