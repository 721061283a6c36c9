// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "mcp/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

namespace lacuna::cli::mcp {
namespace {

using Clock = std::chrono::steady_clock;

/// From the signal that asks a child to end to the one that ends it.
constexpr std::chrono::milliseconds kChildGrace{2000};

class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) error_ = errno;
  }
  ~Pipe() {
    closeReader();
    closeWriter();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] int reader() const { return ends_[0]; }
  [[nodiscard]] int writer() const { return ends_[1]; }
  void closeReader() { close(ends_[0]); }
  void closeWriter() { close(ends_[1]); }

 private:
  static void close(int& end) {
    if (end >= 0) ::close(std::exchange(end, -1));
  }
  std::array<int, 2> ends_{-1, -1};
  int error_ = 0;
};

volatile sig_atomic_t runningChild = 0;

/// The handler is gone by then (SA_RESETHAND), so raising the signal ends this process.
void endWithChild(int number) {
  if (runningChild > 0) ::kill(runningChild, SIGKILL);
  ::raise(number);
}

/// While it lives, signals that end this process end the child first. Ignored signals stay ignored.
class ChildGuard {
 public:
  explicit ChildGuard(pid_t child) {
    runningChild = child;
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      ::sigaction(kSignals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler == SIG_IGN) continue;
      struct sigaction action {};
      action.sa_handler = endWithChild;
      action.sa_flags = static_cast<int>(SA_RESETHAND);
      ::sigaction(kSignals[i], &action, nullptr);
    }
  }
  ~ChildGuard() {
    runningChild = 0;
    for (std::size_t i = 0; i < kSignals.size(); ++i)
      ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  ChildGuard(const ChildGuard&) = delete;
  ChildGuard& operator=(const ChildGuard&) = delete;

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  std::array<struct sigaction, 4> before_{};
};

/// Answers the error of the system; 0: it runs.
int spawnSelf(const std::vector<std::string>& words, const Pipe& out, const Pipe& err,
              pid_t& child) {
  std::vector<char*> argv{const_cast<char*>("lacuna")};
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  if (const int error = ::posix_spawn_file_actions_init(&actions); error != 0) return error;
  int error = ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (error == 0) error = ::posix_spawn_file_actions_adddup2(&actions, out.writer(), STDOUT_FILENO);
  if (error == 0) error = ::posix_spawn_file_actions_adddup2(&actions, err.writer(), STDERR_FILENO);
  if (error == 0)
    error = ::posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

/// Reads what a running child prints until both of its streams have ended.
class ChildReader {
 public:
  ChildReader(pid_t child, const ChildBounds& bounds, Pipe& out, Pipe& err, Inbox& inbox)
      : child_(child), bounds_(bounds), out_(out), err_(err), inbox_(inbox) {
    if (bounds.time.count() > 0) deadline_ = Clock::now() + bounds.time;
  }

  void readAll(ChildResult& result) {
    while (out_.reader() >= 0 || err_.reader() >= 0) {
      std::array<pollfd, 4> files{{{out_.reader(), POLLIN, 0},
                                   {err_.reader(), POLLIN, 0},
                                   {inboxFile(), POLLIN, 0},
                                   {answersFile(), 0, 0}}};
      const int ready = ::poll(files.data(), files.size(), waitMs());
      if (ready < 0 && errno != EINTR) return static_cast<void>(::kill(child_, SIGKILL));
      if (deadline_ && Clock::now() >= *deadline_) end(ChildResult::End::TookTooLong);
      if (ready <= 0) continue;
      if (files[0].revents != 0) take(out_, result.out);
      if (files[1].revents != 0) take(err_, result.err);
      if (files[2].revents != 0) inbox_.receive();
      if (inbox_.isCancelled() || (files[3].revents & (POLLERR | POLLHUP)) != 0)
        end(ChildResult::End::Cancelled);
    }
  }
  [[nodiscard]] std::optional<ChildResult::End> ended() const { return ended_; }

 private:
  /// Once the child is to end, only its end is waited for.
  [[nodiscard]] int inboxFile() const { return ended_ ? -1 : inbox_.file(); }
  [[nodiscard]] int answersFile() const { return ended_ ? -1 : STDOUT_FILENO; }

  [[nodiscard]] int waitMs() const {
    if (!deadline_) return -1;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  }

  void take(Pipe& pipe, StreamHead& head) const {
    std::array<char, std::size_t{64} << 10> bytes{};
    const ssize_t got = ::read(pipe.reader(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) return pipe.closeReader();
    const auto size = static_cast<std::size_t>(got);
    head.bytes += size;
    head.text.append(bytes.data(),
                     std::min(size, bounds_.bytes - std::min(bounds_.bytes, head.text.size())));
  }

  /// Asks the child to end; the second time ends it.
  void end(ChildResult::End why) {
    if (!ended_) {
      ended_ = why;
      ::kill(child_, SIGTERM);
      deadline_ = Clock::now() + kChildGrace;
    } else if (deadline_ && Clock::now() >= *deadline_) {
      ::kill(child_, SIGKILL);
      deadline_.reset();
    }
  }

  pid_t child_;
  ChildBounds bounds_;
  Pipe& out_;
  Pipe& err_;
  Inbox& inbox_;
  std::optional<Clock::time_point> deadline_;
  std::optional<ChildResult::End> ended_;
};

void reap(pid_t child, std::optional<ChildResult::End> ended, ChildResult& result) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.end = WIFEXITED(status) ? ChildResult::End::Exited : ChildResult::End::Crashed;
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
  if (ended) result.end = *ended;
}

}  // namespace

ChildResult runSelf(const std::vector<std::string>& words, const ChildBounds& bounds,
                    Inbox& inbox) {
  ChildResult result;
  Pipe out;
  Pipe err;
  result.code = out.error() != 0 ? out.error() : err.error();
  if (result.code != 0) return result;
  pid_t child = 0;
  result.code = spawnSelf(words, out, err, child);
  if (result.code != 0) return result;
  out.closeWriter();
  err.closeWriter();
  std::optional<ChildResult::End> ended;
  {
    const ChildGuard guard(child);
    ChildReader reader(child, bounds, out, err, inbox);
    reader.readAll(result);
    ended = reader.ended();
  }
  reap(child, ended, result);
  return result;
}

}  // namespace lacuna::cli::mcp
