// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <csignal>
#include <vector>

namespace lacuna::collector {

/// Takes the signals that arrive at this process instead of their default action. One per process; the caller's mask
/// comes back when it is destroyed. Construct before any thread is started, so that threads inherit the blocked
/// signals.
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
  /// Hands what has arrived on to `target` and returns the signals seen. A signal that the terminal sent has reached
  /// the target already, because it shares our process group, so it is reported but not sent twice. A target of 0 gets
  /// nothing, and nobody gets the signal `kept`.
  std::vector<int> relay(pid_t target, int kept = 0);

 private:
  int fd_ = -1;
  sigset_t callersMask_{};
};

}  // namespace lacuna::collector
