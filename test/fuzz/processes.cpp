// Forks the processes, hands jobs to them and collects the results.
#include "fuzz/processes.hpp"

#include <fmt/format.h>

#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <vector>

#include "tegula/support/error.hpp"

namespace tegula::fuzz {
namespace {

using End = JobResult::End;

/// Holds the data that all processes see.
struct Shared {
  std::atomic<std::uint64_t> next = 0;  ///< the next job that nobody has begun
};

/// Begins a message of a worker; a job's begin has no text.
struct Head {
  std::uint64_t job;
  std::uint64_t bytes;
  bool begins;
  End end;
};

struct Worker {
  pid_t id = 0;
  int from = -1;       ///< the end of its pipe that this process reads
  std::string unread;  ///< part of a message
  std::optional<std::uint64_t> job;
  double since = 0;
};

void write_all(int to, void const* data, std::size_t size) {
  auto const* at = static_cast<char const*>(data);
  while (size != 0) {
    ssize_t const written = ::write(to, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) ::_exit(1);  // nobody reads any more
    at += written, size -= static_cast<std::size_t>(written);
  }
}

[[noreturn]] void work_on(Shared& shared, std::uint64_t count, int to,
                          std::function<std::string(std::uint64_t)> const& work) {
  for (std::uint64_t job = shared.next++; job < count; job = shared.next++) {
    Head head{job, 0, true, End::returned};
    write_all(to, &head, sizeof head);
    std::string text;
    head.begins = false;
    try {
      text = work(job);
    } catch (std::exception const& error) {
      head.end = End::threw;
      text = error.what();
    }
    head.bytes = text.size();
    write_all(to, &head, sizeof head);
    write_all(to, text.data(), text.size());
  }
  ::_exit(0);
}

class Processes {
 public:
  Processes(std::uint64_t count, ProcessOptions const& options, std::function<std::string(std::uint64_t)> const& work,
            std::function<void(JobResult const&)> const& done)
      : count_(count), options_(options), work_(work), done_(done) {
    void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw UserError(std::string("cannot share memory: ") + std::strerror(errno));
    shared_ = new (memory) Shared;
  }
  Processes(Processes const&) = delete;
  Processes& operator=(Processes const&) = delete;
  ~Processes() {
    for (Worker& worker : workers_) end(worker, SIGKILL);
    ::munmap(shared_, sizeof(Shared));
  }

  std::uint64_t run(std::function<bool()> const& go_on) {
    auto const wanted = std::min<std::uint64_t>(count_, static_cast<std::uint64_t>(std::max(options_.processes, 1)));
    for (std::uint64_t i = 0; i < wanted; ++i) begin();
    while (!workers_.empty()) {
      if (go_on && !go_on()) shared_->next = count_;
      std::vector<pollfd> ready;
      for (Worker const& worker : workers_) ready.push_back({worker.from, POLLIN, 0});
      if (::poll(ready.data(), ready.size(), 200) < 0 && errno != EINTR)
        throw UserError(std::string("poll: ") + std::strerror(errno));
      for (std::size_t i = workers_.size(); i-- > 0;)
        if (ready[i].revents != 0 && !read(workers_[i])) buried(i);
      for (Worker& worker : workers_)
        if (worker.job && now() - worker.since > options_.seconds_per_job) {
          note({*worker.job, End::took_too_long, fmt::format("took more than {} s", options_.seconds_per_job)});
          worker.job.reset();
          ::kill(worker.id, SIGKILL);  // buried when its pipe closes
        }
    }
    return ended_;
  }

 private:
  [[nodiscard]] double now() const {
    if (options_.clock) return options_.clock();
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  void begin() {
    int ends[2];
    if (::pipe(ends) != 0) throw UserError(std::string("cannot make a pipe: ") + std::strerror(errno));
    std::fflush(nullptr);
    pid_t const id = ::fork();
    if (id < 0) throw UserError(std::string("cannot fork: ") + std::strerror(errno));
    if (id == 0) {
      ::close(ends[0]);
      for (Worker const& other : workers_) ::close(other.from);
      work_on(*shared_, count_, ends[1], work_);
    }
    ::close(ends[1]);
    workers_.push_back({id, ends[0], {}, {}, now()});
  }

  /// Reads the output of a worker. False: it has ended.
  bool read(Worker& worker) {
    char part[1 << 16];
    ssize_t const size = ::read(worker.from, part, sizeof part);
    if (size < 0 && errno == EINTR) return true;
    if (size <= 0) return false;
    worker.unread.append(part, static_cast<std::size_t>(size));
    Head head{};
    while (worker.unread.size() >= sizeof head) {
      std::memcpy(&head, worker.unread.data(), sizeof head);
      if (worker.unread.size() < sizeof head + head.bytes) break;
      std::string text = worker.unread.substr(sizeof head, head.bytes);
      worker.unread.erase(0, sizeof head + head.bytes);
      if (head.begins) {
        worker.job = head.job;
        worker.since = now();
      } else if (worker.job) {
        worker.job.reset();
        note({head.job, head.end, std::move(text)});
      }
    }
    return true;
  }

  static std::string end(Worker& worker, int signal) {
    if (signal != 0) ::kill(worker.id, signal);
    int status = 0;
    while (::waitpid(worker.id, &status, 0) < 0 && errno == EINTR) {
    }
    ::close(worker.from);
    if (WIFSIGNALED(status))
      return fmt::format("ended by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
    return fmt::format("ended with status {}", WEXITSTATUS(status));
  }

  /// Retires a worker whose pipe is closed; another one takes its place while there are jobs.
  void buried(std::size_t place) {
    std::string const cause = end(workers_[place], 0);
    auto const job = workers_[place].job;
    workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(place));
    if (job) note({*job, End::died, cause});
    if (shared_->next < count_) begin();
  }

  void note(JobResult const& result) {
    ++ended_;
    done_(result);
  }

  std::uint64_t count_, ended_ = 0;
  ProcessOptions options_;
  std::function<std::string(std::uint64_t)> const& work_;
  std::function<void(JobResult const&)> const& done_;
  Shared* shared_ = nullptr;
  std::vector<Worker> workers_;
};

}  // namespace

std::uint64_t run_in_processes(std::uint64_t count, ProcessOptions const& options,
                               std::function<std::string(std::uint64_t job)> const& work,
                               std::function<void(JobResult const&)> const& done, std::function<bool()> const& go_on) {
  return Processes(count, options, work, done).run(go_on);
}

}  // namespace tegula::fuzz
