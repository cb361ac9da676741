#include "rig/comparison_runner.hpp"

#include <fmt/format.h>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <stdexcept>

namespace tegula::bench {
namespace {

constexpr int max_runs = 200;

/// Returns this program's arguments and one more turn.
std::vector<std::string> arguments_of(std::vector<int> const& turn) {
  std::vector<std::string> words;
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  words.push_back("--turn");
  for (int value : turn) words.push_back(fmt::to_string(value));
  return words;
}

}  // namespace

void ComparisonRunner::want(std::vector<int> const& turn) {
  if (turn.size() != 3) return;
  group_wanted_ = turn[0];
  comparison_wanted_ = turn[1];
  side_wanted_ = turn[2];
}

double ComparisonRunner::now() const {
  if (cpu_time_) {
    timespec spent{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void ComparisonRunner::print_times(std::function<void()> const& run) const {
  run();  // not counted: caches and threads are cold
  double spent = 0;
  for (int i = 0; i < max_runs && (i == 0 || spent < budget_); ++i) {
    double const start = now();
    run();
    double const time = now() - start;
    spent += time;
    std::printf("%.9g\n", time);
  }
}

std::vector<double> ComparisonRunner::times_of(int side) const {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("bench: no pipe");
  std::fflush(stdout);
  pid_t const child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    std::vector<std::string> words = arguments_of({group_, comparison_, side});
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    execv("/proc/self/exe", argv.data());
    _exit(127);
  }
  close(ends[1]);
  std::vector<double> times;
  std::FILE* const lines = fdopen(ends[0], "r");
  for (double spent = 0; std::fscanf(lines, "%lf", &spent) == 1;) times.push_back(spent);
  std::fclose(lines);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0 || times.empty()) throw std::runtime_error("bench: a measurement failed");
  return times;
}

bool ComparisonRunner::skip(int comparisons) {
  if (!is_turn() || (comparison_ < comparison_wanted_ && comparison_wanted_ <= comparison_ + comparisons)) return false;
  comparison_ += comparisons;
  return true;
}

std::optional<Pair> ComparisonRunner::compare(std::function<void()> const& ours, std::function<void()> const& rival) {
  ++comparison_;
  if (is_turn()) {
    if (comparison_ == comparison_wanted_) print_times(side_wanted_ == 0 ? ours : rival);
    return {};
  }
  Pair result;
  for (int round = 0; round < rounds_; ++round)
    for (int side : {0, 1}) {
      std::vector<double> const some = times_of(side);
      std::vector<double>& all = side == 0 ? result.ours : result.rival;
      all.insert(all.end(), some.begin(), some.end());
    }
  ours();
  rival();
  return result;
}

bool ComparisonRunner::group(std::map<std::string, std::string> const& environment, std::function<void()> const& body) {
  ++group_;
  comparison_ = -1;
  if (is_turn()) {  // in such a child already
    if (group_ == group_wanted_) body();
    return true;
  }
  std::fflush(stdout);
  pid_t const child = fork();
  if (child == 0) {
    for (auto const& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    int status = 0;
    try {
      body();
    } catch (std::exception const& error) {
      std::printf("%s\n", error.what());
      status = 1;
    }
    std::fflush(stdout);
    _exit(status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0;
}

}  // namespace tegula::bench
