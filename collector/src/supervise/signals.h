// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <csignal>
#include <vector>

namespace lacuna::collector {

/// Takes the signals that arrive at this process instead of their default action. One per process;
/// the caller's mask comes back when it is destroyed. Construct before any thread is started, so
/// that threads inherit the blocked signals.
class SignalRelay {
 public:
  SignalRelay();
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;
  ~SignalRelay();

  /// Readable when a signal has arrived.
  [[nodiscard]] int fd() const { return fd_; }
  /// The mask before construction: what the recorded program shall have.
  [[nodiscard]] const sigset_t& callersMask() const { return callersMask_; }
  /// True when this process was started to ignore the signal, as nohup does.
  [[nodiscard]] bool wasIgnored(int number) const { return sigismember(&ignored_, number) == 1; }
  /// Signals from `sender` are not heard from here on.
  void disregard(pid_t sender) { disregarded_ = sender; }
  /// Hands what has arrived on to `target` and returns the signals seen. A signal that the terminal
  /// sent to the process group has reached a target in it already, so it is reported but not sent
  /// twice. A target of 0 gets nothing, and nobody gets the signal `kept`.
  std::vector<int> relay(pid_t target, int kept = 0);

 private:
  int fd_ = -1;
  sigset_t callersMask_{};
  sigset_t ignored_{};
  pid_t disregarded_ = 0;
};

}  // namespace lacuna::collector
