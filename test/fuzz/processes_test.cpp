// Tests jobs in several processes: each gives one result, also if it fails or its process ends.
#include "fuzz/processes.hpp"

#include <unistd.h>

#include <csignal>
#include <map>
#include <stdexcept>

#include "support/catch.hpp"

using namespace tegula::fuzz;
using tegula::test::ContainsSubstring;

TEST_CASE("fuzz: jobs that throw, die or hang lose their own results alone", "[N2]") {
  ProcessOptions options;
  options.processes = 3;
  options.seconds_per_job = 1;
  std::map<std::uint64_t, JobResult> results;
  options.clock = [&] { return results.size() < 39 ? 0.0 : 2.0; };  // time passes for the job that hangs alone
  std::uint64_t const ended = run_in_processes(
      40, options,
      [](std::uint64_t job) -> std::string {
        if (job == 7) throw std::runtime_error("no seven");
        if (job == 11) ::raise(SIGKILL);
        if (job == 12) ::_exit(3);
        while (job == 13) ::usleep(1000);
        return std::string(job == 20 ? 300000 : 3, static_cast<char>('a' + job % 20));
      },
      [&](JobResult const& result) {
        CHECK(results.count(result.job) == 0);
        results[result.job] = result;
      });
  CHECK(ended == 40);
  REQUIRE(results.size() == 40);
  for (auto const& [job, result] : results) {
    INFO("job " << job << ": " << result.text.substr(0, 80));
    if (job == 7)
      CHECK((result.end == JobResult::End::threw && result.text == "no seven"));
    else if (job == 11)
      CHECK((result.end == JobResult::End::died && result.text.find("signal 9") != std::string::npos));
    else if (job == 12)
      CHECK((result.end == JobResult::End::died && result.text == "ended with status 3"));
    else if (job == 13)
      CHECK(result.end == JobResult::End::took_too_long);
    else
      CHECK(result.text == std::string(job == 20 ? 300000 : 3, static_cast<char>('a' + job % 20)));
  }
}

TEST_CASE("fuzz: jobs that have not begun are skipped at the time limit", "[N2]") {
  ProcessOptions options;
  options.processes = 2;
  std::uint64_t seen = 0;
  std::uint64_t const ended = run_in_processes(
      100000, options,
      [](std::uint64_t) {
        ::usleep(2000);
        return std::string();
      },
      [&](JobResult const&) { ++seen; }, [&] { return seen < 10; });
  CHECK(ended == seen);
  CHECK(ended >= 10);
  CHECK(ended < 100000);
  CHECK(run_in_processes(0, options, {}, {}) == 0);
}
