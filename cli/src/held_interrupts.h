// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <signal.h>

#include <ctime>

namespace lacuna::cli {

/// While it lives, an interrupt (Ctrl-C, a hangup, somebody's wish that we end) ends nothing; with
/// its end the interrupt is forgotten. Holds for the thread that makes it and for those that are
/// started meanwhile. Ignored signals stay ignored.
class HeldInterrupts {
 public:
  HeldInterrupts() {
    sigemptyset(&held_);
    for (const int number : kSignals) {
      struct sigaction now {};
      if (sigaction(number, nullptr, &now) == 0 && now.sa_handler != SIG_IGN)
        sigaddset(&held_, number);
    }
    pthread_sigmask(SIG_BLOCK, &held_, &before_);
  }
  HeldInterrupts(const HeldInterrupts&) = delete;
  HeldInterrupts& operator=(const HeldInterrupts&) = delete;
  ~HeldInterrupts() {
    const timespec atOnce{};
    while (sigtimedwait(&held_, nullptr, &atOnce) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

  /// True when there was one. Any thread may ask.
  [[nodiscard]] bool came() const {
    sigset_t pending;
    if (sigpending(&pending) != 0) return false;
    for (const int number : kSignals) {
      if (sigismember(&held_, number) == 1 && sigismember(&pending, number) == 1) return true;
    }
    return false;
  }

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  sigset_t held_{};
  sigset_t before_{};
};

}  // namespace lacuna::cli
