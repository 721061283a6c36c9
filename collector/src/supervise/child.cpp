// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace lacuna::collector {
namespace {

std::vector<char*> pointersTo(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const auto& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// Runs in the child: only async-signal-safe calls.
[[noreturn]] void becomeProgram(const char* path, char** arguments, char** environment, const sigset_t& mask, int goFd,
                                int errorFd) {
  char go = 0;
  while (read(goFd, &go, 1) < 0 && errno == EINTR) {
  }
  if (go != 1) _exit(127);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execve(path, arguments, environment);
  // As a shell does for a script without an interpreter line.
  if (errno == ENOEXEC) {
    std::array<char*, 64> words{const_cast<char*>("/bin/sh"), const_cast<char*>(path)};
    for (std::size_t i = 1; arguments[i] != nullptr && i + 2 < words.size(); ++i) words[i + 1] = arguments[i];
    execve("/bin/sh", words.data(), environment);
  }
  const int error = errno;
  (void)!write(errorFd, &error, sizeof(error));
  _exit(127);
}

}  // namespace

prof::Result<pid_t> spawn(const SpawnRequest& request) {
  std::array<int, 2> go{};
  std::array<int, 2> failure{};
  if (pipe2(go.data(), O_CLOEXEC) != 0 || pipe2(failure.data(), O_CLOEXEC) != 0) {
    return prof::Error{fmt::format("cannot start a process: {}. Remedy: raise ulimit -n", std::strerror(errno))};
  }
  auto arguments = pointersTo(request.arguments);
  auto environment = pointersTo(request.environment);
  const pid_t pid = fork();
  if (pid < 0) {
    return prof::Error{fmt::format("cannot start a process: {}. Remedy: raise ulimit -u", std::strerror(errno))};
  }
  if (pid == 0) {
    close(go[1]);
    becomeProgram(request.program.c_str(), arguments.data(), environment.data(), request.signalMask, go[0], failure[1]);
  }
  close(go[0]);
  close(failure[1]);
  if (request.beforeExec) request.beforeExec(pid);
  const char start = 1;
  (void)!write(go[1], &start, 1);
  close(go[1]);
  int error = 0;
  const auto got = read(failure[0], &error, sizeof(error));
  close(failure[0]);
  if (got == sizeof(error)) {
    waitpid(pid, nullptr, 0);
    // The program itself was found before.
    const char* remedy = error == ENOENT ? " Its interpreter is missing, the one in its first line or its loader." : "";
    return prof::Error{fmt::format("cannot run {}: {}.{}", request.program.string(), std::strerror(error), remedy)};
  }
  return pid;
}

Reaped reap(pid_t watched) {
  Reaped result;
  int status = 0;
  pid_t pid = 0;
  while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
    if (WIFSTOPPED(status)) {
      result.stopped |= pid == watched;
    } else {
      Exit exit;
      if (WIFSIGNALED(status)) {
        exit.signal = WTERMSIG(status);
      } else {
        exit.code = WEXITSTATUS(status);
      }
      result.ended[pid] = exit;
    }
  }
  result.childless = pid < 0 && errno == ECHILD;
  return result;
}

void adoptOrphans() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void exitLike(Exit exit) {
  if (exit.signal != 0) {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(exit.signal, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, exit.signal);
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
    raise(exit.signal);
  }
  std::_Exit(exit.shellCode());
}

}  // namespace lacuna::collector
