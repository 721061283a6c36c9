// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include "alloc/staging_ring.h"
#include "data/wire.h"
#include "data/worker_pool.h"

namespace lacuna::rt {
namespace {

/// Time that a busy worker may take to notice that its loader is gone, before it is killed.
constexpr std::chrono::milliseconds kProcessGrace{200};

struct Worker {
  pid_t pid = -1;
  int socket = -1;  ///< one of LoaderSockets
  TaskSender sender;
  OutcomeReceiver receiver;
  unsigned outstanding = 0;
};

/// The ends of all loaders' sockets that this process reads. A new worker closes those that it
/// inherits: while it held one, the worker at the other end would not see its loader go.
struct LoaderSockets {
  std::mutex mutex;  ///< held over the fork of a worker, so that it inherits just these
  std::vector<int> numbers;
  static LoaderSockets& all() {
    static auto* const one = new LoaderSockets;
    return *one;
  }
  void close(int number) {
    const std::lock_guard lock(mutex);
    std::erase(numbers, number);
    ::close(number);
  }
};

/// The life of a worker process; it ends when the parent's end of the socket closes, however the
/// parent went. (Not PR_SET_PDEATHSIG: that fires when the forking thread ends, while the loader
/// may live on.) Never returns into the caller's code, and lets no exception go there: the stack
/// above belongs to the parent's program.
[[noreturn]] void workerMain(const LoaderJob& parents, int number, int socket,
                             unsigned slots) noexcept {
  LoaderJob job = parents;
  job.staging.reset();  // the consumer's
  // Ctrl-C reaches the whole foreground group; the training process decides what it means.
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGTERM, SIG_DFL);
  nameThread(("loader " + std::to_string(number)).c_str());
  // The parent closes its end when it wants no more, which a long get() can see here.
  const std::function<bool()> stop = [socket] {
    pollfd waiting{socket, POLLRDHUP, 0};
    return ::poll(&waiting, 1, 0) > 0 && (waiting.revents & (POLLRDHUP | POLLHUP)) != 0;
  };
  OutcomeSender sender(socket, slots);
  LoaderTask task;
  std::uint64_t lastBatch = 0;
  const auto receive = [&] {
    LoaderScope scope(LoaderStage::Put, job.loader, number, lastBatch);
    return receiveTask(socket, task);
  };
  while (receive()) {
    LoaderOutcome outcome = runTask(job, task, number, stop);
    lastBatch = task.ticket;
    try {
      if (!sender.send(outcome)) break;
    } catch (const std::exception& error) {
      if (!sender.send({task.ticket, {}, error.what()})) break;
    }
  }
  ::_exit(0);
}

/// The exit status of a child, which is killed if it has not ended when the grace is over. None
/// when somebody else has waited for it.
std::optional<int> reap(pid_t pid, std::chrono::steady_clock::time_point deadline) {
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(pid, &status, WNOHANG)) == 0 &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (ended == 0) {
    ::kill(pid, SIGKILL);
    do ended = ::waitpid(pid, &status, 0);
    while (ended < 0 && errno == EINTR);
  }
  return ended == pid ? std::optional(status) : std::nullopt;
}

std::string howItEnded(pid_t pid) {
  const std::optional<int> ended = reap(pid, std::chrono::steady_clock::now() + kProcessGrace);
  if (!ended) return "ended";
  const int status = *ended;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const char* hint = signal == SIGKILL ? " (the system does this when memory runs out)" : "";
    return std::string("was killed by signal ") + std::to_string(signal) + ", " +
           ::strsignal(signal) + hint;
  }
  return "ended with exit status " + std::to_string(WEXITSTATUS(status));
}

class ProcessPool : public WorkerPool {
 public:
  ProcessPool(LoaderJob job, unsigned workers, unsigned prefetch)
      : job_(std::move(job)), prefetch_(prefetch) {
    synchronize();              // nothing may be half done in the queue when its memory is copied
    workers_.reserve(workers);  // a worker that runs is never lost for want of memory
    try {
      for (unsigned i = 0; i < workers; ++i) start(static_cast<int>(i));
    } catch (...) {
      endAll();
      throw;
    }
  }

  ~ProcessPool() override { endAll(); }

  void submit(LoaderTask task) override {
    waiting_.push_back(std::move(task));
    hand();
  }

  std::optional<LoaderOutcome> take(std::chrono::milliseconds timeout) override {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (outcomes_.empty()) {  // a signal ends a wait early, and so does a worker that takes more
                                 // of its tasks
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      // Where this process was stopped meanwhile the time is over, but what it waits for may be
      // there.
      receiveSome(timeout.count() > 0
                      ? static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT_MAX))
                      : -1);
      if (timeout.count() > 0 && left.count() <= 0 && outcomes_.empty()) return std::nullopt;
    }
    LoaderOutcome outcome = std::move(outcomes_.front());
    outcomes_.pop_front();
    loaderQueueDepth(job_.loader, static_cast<std::int64_t>(outcomes_.size()));
    return outcome;
  }

  void forget() override { waiting_.clear(); }

  std::size_t ready() override {
    receiveSome(0);
    return outcomes_.size();
  }

 private:
  void start(int number) {
    LoaderSockets& inherited = LoaderSockets::all();
    std::unique_lock lock(inherited.mutex);
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      fail("DataLoader",
           std::string("cannot make a socket for a worker process: ") + std::strerror(errno));
    }
    const Descriptor theirs(ends[1]);
    inherited.numbers.push_back(ends[0]);
    const unsigned slots = prefetch_ + 1;
    const pid_t pid = ::fork();
    if (pid == 0) {
      for (const int socket : inherited.numbers) ::close(socket);
      inherited.numbers.clear();
      lock.unlock();
      workerMain(job_, number, ends[1], slots);
    }
    const int error = errno;
    lock.unlock();
    if (pid < 0) {
      inherited.close(ends[0]);
      fail("DataLoader", std::string("cannot start a worker process: ") + std::strerror(error));
    }
    workers_.push_back({pid, ends[0], TaskSender(ends[0]), OutcomeReceiver(ends[0], slots), 0});
  }

  /// Gives waiting tasks to the workers that have the fewest.
  void hand() {
    while (!waiting_.empty()) {
      auto free = std::min_element(
          workers_.begin(), workers_.end(),
          [](const Worker& a, const Worker& b) { return a.outstanding < b.outstanding; });
      if (free->outstanding >= prefetch_) return;
      free->sender.add(waiting_.front());
      ++free->outstanding;
      waiting_.pop_front();
      flush(*free);
    }
  }

  void flush(Worker& worker) {
    if (!worker.sender.flush()) died(worker);
  }

  void receiveSome(int timeoutMs) {
    std::vector<pollfd> polled;
    for (const Worker& worker : workers_) {
      const int wanted = worker.sender.pending() ? POLLIN | POLLOUT : POLLIN;
      polled.push_back({worker.socket, static_cast<short>(wanted), 0});
    }
    const int answered = ::poll(polled.data(), polled.size(), timeoutMs);
    if (answered < 0 && errno != EINTR)
      fail("DataLoader", std::string("poll failed: ") + std::strerror(errno));
    for (std::size_t i = 0; answered > 0 && i < polled.size(); ++i) {
      if ((polled[i].revents & POLLOUT) != 0) flush(workers_[i]);
      if ((polled[i].revents & ~POLLOUT) != 0) receiveFrom(workers_[i]);
    }
    if (answered > 0) loaderQueueDepth(job_.loader, static_cast<std::int64_t>(outcomes_.size()));
    hand();
  }

  void receiveFrom(Worker& worker) {
    LoaderOutcome outcome;
    Received received{};
    {
      const StagingFill fill(job_.staging, true, job_.loader, -1, 0);
      received = worker.receiver.receive(outcome);
    }
    if (received == Received::Gone) died(worker);
    if (received == Received::Partly) return;
    --worker.outstanding;
    outcomes_.push_back(std::move(outcome));
  }

  /// The pool is of no use after that: its owner ends it.
  [[noreturn]] void died(Worker& worker) {
    const auto number = &worker - workers_.data();
    const pid_t pid = std::exchange(worker.pid, -1);
    const std::string how = pid < 0 ? "ended before" : howItEnded(pid);
    fail("DataLoader",
         "worker process " + std::to_string(number) + " (pid " + std::to_string(pid) + ") " + how);
  }

  void endAll() {
    for (const Worker& worker : workers_) LoaderSockets::all().close(worker.socket);
    const auto deadline = std::chrono::steady_clock::now() + kProcessGrace;
    for (const Worker& worker : workers_) {
      if (worker.pid > 0) reap(worker.pid, deadline);
    }
  }

  LoaderJob job_;
  unsigned prefetch_;
  std::vector<Worker> workers_;
  std::deque<LoaderTask> waiting_;
  std::deque<LoaderOutcome> outcomes_;
};

}  // namespace

std::unique_ptr<WorkerPool> makeProcessPool(LoaderJob job, unsigned workers, unsigned prefetch) {
  return std::make_unique<ProcessPool>(std::move(job), workers, prefetch);
}

}  // namespace lacuna::rt
