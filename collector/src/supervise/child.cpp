// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "supervise/program.h"

namespace lacuna::collector {
namespace {

std::vector<char*> pointersTo(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const auto& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// Runs in the child: only async-signal-safe calls.
[[noreturn]] void becomeProgram(const char* path, char** arguments, char** script,
                                char** environment, const SpawnRequest& request, int goFd,
                                int errorFd) {
  char go = 0;
  while (read(goFd, &go, 1) < 0 && errno == EINTR) {
  }
  if (go != 1) _exit(127);
  if (request.ignoresChildren) signal(SIGCHLD, SIG_IGN);
  if (request.ignoresBus) signal(SIGBUS, SIG_IGN);
  if (request.ownGroup) setpgid(0, 0);
  if (request.input >= 0) dup2(request.input, STDIN_FILENO);
  for (const int standard : {STDOUT_FILENO, STDERR_FILENO}) {
    if (request.output >= 0) dup2(request.output, standard);
  }
  sigprocmask(SIG_SETMASK, &request.signalMask, nullptr);
  execve(path, arguments, environment);
  // As a shell does for a script without an interpreter line.
  if (errno == ENOEXEC && script != nullptr) execve(script[0], script, environment);
  const int error = errno;
  (void)!write(errorFd, &error, sizeof(error));
  _exit(127);
}

const char* whatIsWrong(int error) {
  if (error == ENOENT)
    return " Its interpreter is missing, the one in its first line or its loader.";
  if (error == ENOEXEC) return " It is damaged, or built for another kind of machine.";
  return "";
}

/// The command that a shell makes of a script without an interpreter line.
std::vector<std::string> scriptCommand(const SpawnRequest& request) {
  std::vector<std::string> words{"/bin/sh", request.program.string()};
  if (!request.arguments.empty())
    words.insert(words.end(), request.arguments.begin() + 1, request.arguments.end());
  return words;
}

uid_t userOf(pid_t pid) {
  struct stat info {};
  return stat(fmt::format("/proc/{}", pid).c_str(), &info) == 0 ? info.st_uid : geteuid();
}

bool isStopped(const char* statFile) {
  char text[512] = {};
  const int fd = open(statFile, O_RDONLY | O_CLOEXEC);
  const bool known = fd >= 0 && read(fd, text, sizeof text - 1) > 0;
  if (fd >= 0) close(fd);
  const char* name = known ? std::strrchr(text, ')') : nullptr;
  return name != nullptr && name[1] == ' ' && (name[2] == 'T' || name[2] == 't');
}

/// Runs in a child of its own, with async-signal-safe calls only. Again and again, for the parent
/// may be about to stop.
[[noreturn]] void wakeParentAfter(const char* statFile, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const timespec pause{0, 20'000'000};
  while (getppid() == parent) {
    nanosleep(&pause, nullptr);
    if (!isStopped(statFile)) kill(parent, SIGCONT);
  }
  _exit(0);
}

}  // namespace

prof::Result<pid_t> spawn(const SpawnRequest& request) {
  std::array<int, 2> go{};
  std::array<int, 2> failure{};
  if (pipe2(go.data(), O_CLOEXEC) != 0 || pipe2(failure.data(), O_CLOEXEC) != 0) {
    return prof::Error{
        fmt::format("cannot start a process: {}. Remedy: raise ulimit -n", std::strerror(errno))};
  }
  auto arguments = pointersTo(request.arguments);
  const auto script = scriptCommand(request);
  auto scriptArguments = pointersTo(script);
  auto environment = pointersTo(request.environment);
  const bool binary = isElf(request.program);
  const pid_t pid = fork();
  if (pid < 0) {
    return prof::Error{
        fmt::format("cannot start a process: {}. Remedy: raise ulimit -u", std::strerror(errno))};
  }
  if (pid == 0) {
    close(go[1]);
    becomeProgram(request.program.c_str(), arguments.data(),
                  binary ? nullptr : scriptArguments.data(), environment.data(), request, go[0],
                  failure[1]);
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
    return prof::Error{fmt::format("cannot run {}: {}.{}", request.program.string(),
                                   std::strerror(error), whatIsWrong(error))};
  }
  return pid;
}

Reaped reap(pid_t watched) {
  Reaped result;
  for (;;) {
    // Looked at before it is gone.
    siginfo_t next{};
    if (waitid(P_ALL, 0, &next, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) != 0) {
      result.childless = errno == ECHILD;
      return result;
    }
    if (next.si_pid == 0) return result;
    Exit exit;
    exit.user = userOf(next.si_pid);
    int status = 0;
    if (waitpid(next.si_pid, &status, WNOHANG | WUNTRACED) != next.si_pid) continue;
    if (WIFSTOPPED(status)) {
      result.stopped |= next.si_pid == watched;
      continue;
    }
    if (WIFSIGNALED(status)) {
      exit.signal = WTERMSIG(status);
    } else {
      exit.code = WEXITSTATUS(status);
    }
    result.ended[next.si_pid] = exit;
  }
}

pid_t stopAlong(pid_t child) {
  const std::string statFile = fmt::format("/proc/{}/stat", child);
  const pid_t self = getpid();
  const pid_t helper = fork();
  if (helper == 0) wakeParentAfter(statFile.c_str(), self);
  raise(SIGSTOP);
  if (helper < 0) return 0;
  kill(helper, SIGKILL);
  while (waitpid(helper, nullptr, 0) < 0 && errno == EINTR) {
  }
  return helper;
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
