// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdint>

namespace lacuna::collector {

namespace {

/// From the kernel, and about this process alone: our children, our files, our use of the processor
/// and the terminal.
bool isOurOwn(int number) {
  for (const int own : {SIGCHLD, SIGPIPE, SIGXFSZ, SIGXCPU, SIGIO, SIGURG, SIGTTIN, SIGTTOU}) {
    if (number == own) return true;
  }
  return false;
}

/// For the signals that the kernel sends: true when the terminal sends it to a whole process group,
/// and the target is in ours. A hangup goes to the leader of the session alone; from anyone else it
/// has been to the group.
bool hasReached(int number, pid_t target) {
  const bool toGroup = number == SIGINT || number == SIGQUIT || number == SIGTSTP ||
                       number == SIGWINCH || (number == SIGHUP && getsid(0) != getpid());
  return toGroup && getpgid(target) == getpgrp();
}

}  // namespace

SignalRelay::SignalRelay() {
  sigemptyset(&ignored_);
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction inherited {};
    if (sigaction(number, nullptr, &inherited) == 0 && inherited.sa_handler == SIG_IGN)
      sigaddset(&ignored_, number);
  }
  sigset_t taken;
  sigfillset(&taken);
  // Our own crashes stay crashes, and job control stops us for real (SIGSTOP) once the program has
  // stopped.
  for (const int own : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS})
    sigdelset(&taken, own);
  pthread_sigmask(SIG_BLOCK, &taken, &callersMask_);
  // A program that shortens a file which we share must not end us: see MappingGuard.
  sigset_t bus;
  sigemptyset(&bus);
  sigaddset(&bus, SIGBUS);
  pthread_sigmask(SIG_UNBLOCK, &bus, nullptr);
  // An inherited SIG_IGN would let the kernel reap children behind our back.
  signal(SIGCHLD, SIG_DFL);
  fd_ = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
}

SignalRelay::~SignalRelay() {
  // A signal too late for the program must not end us in its place, nor one from a full disk or a
  // closed pipe.
  (void)relay(0);
  close(fd_);
  pthread_sigmask(SIG_SETMASK, &callersMask_, nullptr);
}

std::vector<int> SignalRelay::relay(pid_t target, int kept) {
  std::vector<int> seen;
  signalfd_siginfo info{};
  while (read(fd_, &info, sizeof(info)) == sizeof(info)) {
    const int number = static_cast<int>(info.ssi_signo);
    const bool fromKernel = info.ssi_code > 0;
    if (!fromKernel && disregarded_ != 0 && static_cast<pid_t>(info.ssi_pid) == disregarded_)
      continue;
    seen.push_back(number);
    if (number == SIGCHLD || number == SIGPIPE || number == kept || target <= 0) continue;
    if (fromKernel && (isOurOwn(number) || hasReached(number, target))) continue;
    if (info.ssi_code == SI_QUEUE) {
      sigqueue(target, number, sigval{.sival_ptr = reinterpret_cast<void*>(info.ssi_ptr)});
    } else {
      kill(target, number);
    }
  }
  return seen;
}

}  // namespace lacuna::collector
