// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/hurry.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace lacuna::collector {
namespace {

constexpr int kAskWhetherOverEveryMs = 50;

bool wantsTheEnd(int number) {
  return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

}  // namespace

Hurry::Hurry(SignalRelay& signals, std::filesystem::path recording)
    : signals_(signals), recording_(std::move(recording)) {
  (void)signals_.relay(0);
  thread_ = std::thread([this] { work(); });
}

Hurry::~Hurry() {
  over_ = true;
  thread_.join();
}

void Hurry::work() {
  while (!over_) {
    pollfd wake{signals_.fd(), POLLIN, 0};
    if (poll(&wake, 1, kAskWhetherOverEveryMs) <= 0) continue;
    for (const int number : signals_.relay(0)) {
      if (!wantsTheEnd(number) || signals_.wasIgnored(number)) continue;
      if (wanted_.exchange(true)) endBy(number);
    }
  }
}

void Hurry::endBy(int number) const {
  std::error_code error;
  if (std::filesystem::exists(recording_, error)) {
    const std::string text = fmt::format(
        "lacuna: ended by a second signal before the trace was finished. The recorded events are "
        "kept: lacuna recover {}\n",
        recording_.string());
    (void)!write(STDERR_FILENO, text.data(), text.size());
  }
  signal(number, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  kill(getpid(), number);
  _exit(128 + number);
}

}  // namespace lacuna::collector
