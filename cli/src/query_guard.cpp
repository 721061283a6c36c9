// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "query_guard.h"

#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "commands.h"

namespace lacuna::cli {
namespace {

analyzer::Query* guarded = nullptr;
volatile sig_atomic_t interruptedBy = 0;

constexpr std::chrono::seconds kGrace{5};

void interruptQuery(int number) {
  interruptedBy = number;
  if (guarded != nullptr) guarded->interrupt();
}

void endOverdue(int) {
  constexpr std::string_view kText =
      "lacuna: error: SQL: one step of the query runs beyond the time limit; raise it with "
      "--time-limit SECONDS (0 is none), or search in shorter texts\n";
  if (::write(STDERR_FILENO, kText.data(), kText.size()) < 0) ::_exit(kError);
  ::_exit(kError);
}

void setTimer(std::chrono::milliseconds in) {
  itimerval timer{};
  timer.it_value.tv_sec = in.count() / 1000;
  timer.it_value.tv_usec = in.count() % 1000 * 1000;
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

QueryGuard::QueryGuard(analyzer::Query& query, std::chrono::milliseconds limit) {
  guarded = &query;
  query.setTimeLimit(limit);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction action {};
    action.sa_handler = kSignals[i] == SIGALRM ? endOverdue : interruptQuery;
    // The second interrupt ends the program; reads and writes go on after the first.
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN || kSignals[i] == SIGALRM)
      ::sigaction(kSignals[i], &action, nullptr);
  }
  if (limit.count() > 0) setTimer(limit + kGrace);
}

QueryGuard::~QueryGuard() {
  setTimer({});
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  guarded = nullptr;
}

void QueryGuard::endAsInterrupted() {
  if (interruptedBy == 0) return;
  std::fflush(stdout);
  ::signal(interruptedBy, SIG_DFL);
  ::raise(interruptedBy);
}

}  // namespace lacuna::cli
