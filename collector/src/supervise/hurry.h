// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <thread>

#include "supervise/signals.h"

namespace lacuna::collector {

/// Takes the signals that ask for the end while a trace is finished (SIGINT, SIGTERM, SIGHUP,
/// SIGQUIT), on a thread of its own. The first one leaves out what is not needed. The second one
/// ends this process by that signal, and the recorded data stays for `lacuna recover`.
class Hurry {
 public:
  /// Signals that came before were the program's. Nobody else may relay while it is there.
  Hurry(SignalRelay& signals, std::filesystem::path recording);
  Hurry(const Hurry&) = delete;
  Hurry& operator=(const Hurry&) = delete;
  ~Hurry();
  [[nodiscard]] bool wanted() const { return wanted_.load(std::memory_order_relaxed); }

 private:
  void work();
  [[noreturn]] void endBy(int number) const;

  SignalRelay& signals_;
  std::filesystem::path recording_;
  std::atomic<bool> wanted_{false};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace lacuna::collector
