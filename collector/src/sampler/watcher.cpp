// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "sampler/watcher.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>

#include "symbols/symbolizer.h"

namespace lacuna::collector::sampler {
namespace {

/// A record is stamped a moment before it can be read.
constexpr prof::TimeNs kSettleNs = 5'000'000;
constexpr prof::TimeNs kForever = INT64_MAX;
constexpr std::int64_t kLookEveryNs = 100'000'000;
/// Looking at /proc for thread states, where the kernel's account cannot be had.
constexpr std::int64_t kStateEveryNs = 10'000'000;

prof::TimeNs nowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * prof::TimeNs{1'000'000'000} + now.tv_nsec;
}

bool wantsScan() {
  const char* wanted = std::getenv("LACUNA_SAMPLER");
  return wanted != nullptr && std::strcmp(wanted, "proc") == 0;
}

}  // namespace

Watcher::Watcher(const RunOptions& options, prof::Drainer& drainer, const Control& control)
    : options_(options), drainer_(drainer), control_(control), tree_(options.samplePeriodNs) {}

Watcher::~Watcher() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

void Watcher::start(pid_t pid) {
  const bool samples = options_.sources.samples;
  PerfRecord first;
  first.kind = PerfRecord::Kind::Fork;
  first.timeNs = nowNs();
  first.pid = first.tid = static_cast<std::uint32_t>(pid);
  int error = wantsScan() ? EPERM : rings_.open(pid, samples ? options_.samplePeriodNs : 0);
  if (error == 0) {
    pending_.push_back(first);
    if (samples && !rings_.seesKernel()) {
      notes_.push_back(
          "CPU samples leave out the time that programs spend in the kernel (perf_event_paranoid). Remedy: sudo sysctl "
          "kernel.perf_event_paranoid=1");
    }
    if (samples && !symbols::Symbolizer::available()) {
      notes_.push_back(
          "CPU samples have addresses, not names: this lacuna was built without elfutils. Remedy: install libdw-dev "
          "and "
          "build it again.");
    }
  } else {
    scan_.emplace(static_cast<std::uint32_t>(pid), samples);
    if (samples) {
      notes_.push_back(fmt::format(
          "the kernel's CPU samples cannot be had ({}), so threads were looked at every 10 ms in /proc: states "
          "and CPU time, no call stacks. lacuna doctor says what to do.",
          std::strerror(error)));
    }
  }
  thread_ = std::thread([this] { work(); });
}

void Watcher::work() {
  // Here, because the driver may take its time to start.
  if (options_.sources.counters && options_.sources.cuda) {
    gpus_.emplace();
    if (!gpus_->available()) gpus_.reset();
  }
  while (!stopping_) {
    if (rings_.isOpen()) {
      rings_.wait(40);
    } else {
      usleep(options_.sources.samples ? 10'000 : 50'000);
    }
    const prof::TimeNs now = nowNs();
    lookAround(now);
    collect(now - kSettleNs);
  }
}

/// What has to be looked at, because nobody tells.
void Watcher::lookAround(prof::TimeNs now) {
  const std::int64_t scanEvery = options_.sources.samples ? kStateEveryNs : kLookEveryNs;
  if (scan_ && now - scannedNs_ >= scanEvery) {
    scannedNs_ = now;
    scan_->look(now, pending_);
  }
  if (!options_.sources.counters || now - countedNs_ < countEveryNs_) return;
  countedNs_ = now;
  if (control_.enabled.load(std::memory_order_relaxed) == 0) return;
  drainer_.with([&](prof::Drainer::Access& access) {
    counters_.look(tree_, now, access);
    if (gpus_) gpus_->look(now, access);
  });
  // Hundreds of threads must not cost a core.
  countEveryNs_ = std::max(kLookEveryNs, 20 * (nowNs() - now));
}

void Watcher::collect(prof::TimeNs untilNs) {
  if (rings_.isOpen()) rings_.read(pending_);
  std::stable_sort(pending_.begin(), pending_.end(),
                   [](const PerfRecord& a, const PerfRecord& b) { return a.timeNs < b.timeNs; });
  const auto end =
      std::find_if(pending_.begin(), pending_.end(), [&](const PerfRecord& record) { return record.timeNs > untilNs; });
  if (end == pending_.begin()) return;
  const bool recording = control_.enabled.load(std::memory_order_relaxed) != 0;
  drainer_.with([&](prof::Drainer::Access& access) {
    for (auto at = pending_.begin(); at != end; ++at) tree_.take(*at, recording, access);
  });
  pending_.erase(pending_.begin(), end);
}

void Watcher::finish() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  thread_.join();
  const prof::TimeNs now = nowNs();
  if (scan_) scan_->look(now, pending_);
  collect(kForever);
  drainer_.with([&](prof::Drainer::Access& access) { tree_.finish(now, access); });
  rings_.close();
  if (tree_.stacks().size() > 0) tree_.stacks().write(drainer_);
}

}  // namespace lacuna::collector::sampler
