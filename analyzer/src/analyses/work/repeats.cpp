// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/repeats.h"

#include <algorithm>

#include "analyses/work/name_guesses.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

/// So many repetitions in a row could have been one operator over a batch.
constexpr std::size_t kManyRepeats = 32;
constexpr std::int64_t kTinyNs = 10'000;

}  // namespace

void Repeats::add(prof::StringId name, std::int64_t durNs) {
  recent_.push_back({name, durNs});
  const std::size_t at = recent_.size() - 1;
  for (std::size_t period = 1; period <= kLongest; ++period) {
    auto& streak = streaks_[period - 1];
    if (at >= period && recent_[at].name == recent_[at - period].name) {
      ++streak;
      continue;
    }
    close(period, at);
    streak = 0;
  }
}

void Repeats::finish() {
  for (std::size_t period = 1; period <= kLongest; ++period) close(period, recent_.size());
}

std::string Repeats::sequenceOf(const Run& run) const {
  std::string out;
  for (std::size_t i = run.from; i < run.from + run.period; ++i) {
    if (i > run.from) out += ", ";
    out += store_.text(recent_[i].name);
  }
  return out;
}

/// The streak of this period ends before `at`.
void Repeats::close(std::size_t period, std::size_t at) {
  const std::size_t length = streaks_[period - 1] + period;
  const std::size_t from = at - std::min(at, length);
  // Launches that a shorter period explains were counted with it.
  if (streaks_[period - 1] < period * (kManyRepeats - 1) || from < countedUntil_) return;
  std::int64_t busyNs = 0;
  for (std::size_t i = from; i < at; ++i) prof::addTo(busyNs, recent_[i].durNs);
  if (busyNs > static_cast<std::int64_t>(at - from) * kTinyNs) return;
  if (isOptimizerKernel(store_.text(recent_[from].name))) return;
  countedUntil_ = at;
  found_({from, at, period});
}

}  // namespace lacuna::analyzer
