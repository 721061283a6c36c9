// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdint>

namespace lacuna::collector {

SignalRelay::SignalRelay() {
  sigset_t taken;
  sigfillset(&taken);
  // Our own crashes stay crashes, and job control stops us for real (SIGSTOP) once the program has stopped.
  for (const int own : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS}) sigdelset(&taken, own);
  pthread_sigmask(SIG_BLOCK, &taken, &callersMask_);
  // An inherited SIG_IGN would let the kernel reap children behind our back.
  signal(SIGCHLD, SIG_DFL);
  fd_ = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
}

SignalRelay::~SignalRelay() {
  close(fd_);
  pthread_sigmask(SIG_SETMASK, &callersMask_, nullptr);
}

std::vector<int> SignalRelay::relay(pid_t target, int kept) {
  std::vector<int> seen;
  signalfd_siginfo info{};
  while (read(fd_, &info, sizeof(info)) == sizeof(info)) {
    const int number = static_cast<int>(info.ssi_signo);
    seen.push_back(number);
    const bool fromKernel = info.ssi_code > 0;
    if (number == SIGCHLD || number == SIGPIPE || number == kept || fromKernel || target <= 0) continue;
    if (info.ssi_code == SI_QUEUE) {
      sigqueue(target, number, sigval{.sival_ptr = reinterpret_cast<void*>(info.ssi_ptr)});
    } else {
      kill(target, number);
    }
  }
  return seen;
}

}  // namespace lacuna::collector
