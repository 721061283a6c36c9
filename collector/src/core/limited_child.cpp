// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "core/limited_child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

namespace lacuna::collector {
namespace {

constexpr int kAskStopEveryMs = 50;

/// The child's part. Ends it.
[[noreturn]] void workAndEnd(const std::function<void(int out)>& work, pid_t parent, int out) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  signal(SIGPIPE, SIG_DFL);
  work(out);
  _exit(0);
}

/// Reads what the child writes, to its end or ours.
ChildEnd listen(int fd, const ChildLimits& limits, const std::function<bool()>& stop,
                const std::function<bool(std::string& bytes)>& take) {
  using Steady = std::chrono::steady_clock;
  const auto begun = Steady::now();
  auto heard = begun;
  std::string bytes;
  std::array<char, 64 << 10> part{};
  for (;;) {
    if (stop && stop()) return ChildEnd::Stopped;
    const auto now = Steady::now();
    if (now - begun > limits.total || now - heard > limits.silent) return ChildEnd::TookTooLong;
    pollfd polled{fd, POLLIN, 0};
    if (poll(&polled, 1, kAskStopEveryMs) <= 0) continue;
    const ssize_t got = read(fd, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return ChildEnd::Over;
    heard = Steady::now();
    bytes.append(part.data(), static_cast<std::size_t>(got));
    if (!take(bytes)) return ChildEnd::Senseless;
  }
}

}  // namespace

ChildEnd runLimited(const ChildLimits& limits, const std::function<bool()>& stop,
                    const std::function<void(int out)>& work,
                    const std::function<bool(std::string& bytes)>& take) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ChildEnd::NoChild;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) workAndEnd(work, parent, ends[1]);
  close(ends[1]);
  ChildEnd end = ChildEnd::NoChild;
  if (child > 0) {
    end = listen(ends[0], limits, stop, take);
    kill(child, SIGKILL);
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  close(ends[0]);
  return end;
}

void writeAll(int out, const void* bytes, std::size_t size) {
  const auto* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t wrote = write(out, at, size);
    if (wrote < 0 && errno != EINTR) _exit(1);
    if (wrote <= 0) continue;
    at += wrote;
    size -= static_cast<std::size_t>(wrote);
  }
}

void limitMemory([[maybe_unused]] std::uint64_t more) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  unsigned long long pages = 0;
  if (FILE* statm = std::fopen("/proc/self/statm", "re"); statm != nullptr) {
    if (std::fscanf(statm, "%llu", &pages) != 1) pages = 0;
    std::fclose(statm);
  }
  if (pages == 0) return;
  const rlim_t most = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + more;
  const rlimit limit{most, most};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

}  // namespace lacuna::collector
