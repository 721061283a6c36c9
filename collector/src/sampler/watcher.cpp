// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "sampler/watcher.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "core/clock.h"
#include "sampler/exec_lines.h"
#include "symbols/symbolizer.h"

namespace lacuna::collector::sampler {
namespace {

/// A record is stamped a moment before it can be read.
constexpr prof::TimeNs kSettleNs = 5'000'000;
constexpr prof::TimeNs kForever = INT64_MAX;
constexpr std::int64_t kScanEveryNs = 100'000'000;
/// A full buffer wakes earlier. Each time takes a core from the program where it computes on all of
/// them.
constexpr int kReadEveryMs = 100;
/// Where only the tree is followed, the kernel wakes when somebody begins or ends. Records that
/// come soon after are taken together.
constexpr int kFollowEveryMs = 2000;
constexpr int kTogetherMs = 20;
/// Looking at /proc for thread states, where the kernel's account cannot be had. A look costs some
/// 0.1 ms of a core, so looks for the states alone are rarer.
constexpr std::int64_t kStateEveryNs = 10'000'000;
constexpr std::int64_t kStateBesideTimersEveryNs = 20'000'000;
/// Somebody may run one program after another without a pause.
constexpr int kReadsForLines = 4;
/// A look for the tree alone may take this part of the time, however many threads there are.
constexpr std::int64_t kScanPart = 50;

/// Waits until the descriptor can be read, or so long.
void waitFor(int fd, int milliseconds) {
  pollfd polled{fd, POLLIN, 0};
  poll(&polled, 1, milliseconds);
}

}  // namespace

Watcher::Watcher(const RunOptions& options, prof::Drainer& drainer, const Control& control,
                 std::filesystem::path recording, Choice sampler, ExecutedFiles::Visit executed)
    : options_(options),
      drainer_(drainer),
      recording_(std::move(recording)),
      sampler_(std::move(sampler)),
      window_(control),
      tree_(options.sources.samples ? options.samplePeriodNs : 0),
      frames_(Journal::framesOf(recording_)),
      executed_(std::move(executed)),
      stopFd_(eventfd(0, EFD_CLOEXEC)) {
  if (!samplesPython(options)) return;
  const auto isOn = [&control] { return control.enabled.load(std::memory_order_relaxed) != 0; };
  python_.emplace(python::PythonSampler::Settings{prof::segmentFolder(recording_),
                                                  options.pythonPeriodNs, isOn},
                  drainer);
}

Watcher::~Watcher() {
  stop();
  if (stopFd_ >= 0) close(stopFd_);
}

void Watcher::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  eventfd_write(stopFd_, 1);
  thread_.join();
}

void Watcher::start(pid_t pid) {
  window_.update(nowNs(), pending_);
  if (sampler_.use == Sampler::Perf) {
    startKernel(pid);
  } else {
    startScanning(pid);
  }
  if (options_.sources.samples) {
    if (rings_.isOpen()) noteSource("perf", "the kernel");
    if (scan_)
      timers_ ? noteSource("timer", "timers in the programs")
              : noteSource("proc", "looking at /proc");
    if ((rings_.isOpen() || timers_) && !symbols::Symbolizer::available()) {
      notes_.push_back(
          "CPU samples have addresses, not names: this lacuna was built without elfutils. Remedy: "
          "install libdw-dev and build it again.");
    }
  }
  if (python_) python_->start();
  thread_ = std::thread([this] { work(); });
}

void Watcher::startKernel(pid_t pid) {
  PerfRecord first;
  first.kind = PerfRecord::Kind::Fork;
  first.timeNs = nowNs();
  first.pid = first.tid = static_cast<std::uint32_t>(pid);
  const bool samples = options_.sources.samples;
  rings_.wakeAtOnce(!samples && !options_.sources.counters);
  if (const int error = rings_.open(pid, samples ? options_.samplePeriodNs : 0); error != 0) {
    sampler_ = {Sampler::Proc, fmt::format("perf_event_open: {}", std::strerror(error))};
    return startScanning(pid);
  }
  pending_.push_back(first);
  if (samples && !rings_.seesKernel()) {
    notes_.push_back(
        "CPU samples leave out the time that programs spend in the kernel (perf_event_paranoid). "
        "Remedy: sudo sysctl kernel.perf_event_paranoid=1");
  }
}

void Watcher::startScanning(pid_t pid) {
  const bool samples = options_.sources.samples;
  scan_.emplace(static_cast<std::uint32_t>(pid), samples);
  if (!samples) return;
  const std::string why = sampler_.why.empty() ? "as asked for" : sampler_.why;
  if (sampler_.use == Sampler::Timer) {
    timers_.emplace(prof::segmentFolder(recording_), *scan_);
    notes_.push_back(fmt::format(
        "CPU samples come from timers in the programs ({}): the kernel's tick bounds how many "
        "there are, and thread states were read every 20 ms from /proc.{}",
        why,
        sampler_.why.empty() ? "" : " lacuna doctor explains how to get the kernel's samples."));
  } else {
    notes_.push_back(fmt::format(
        "threads were read every 10 ms from /proc ({}): states and CPU time, no call stacks.{}",
        why, sampler_.why.empty() ? "" : " lacuna doctor has the remedy."));
  }
}

/// A reader of the trace should know what its samples are.
void Watcher::noteSource(std::string_view name, std::string_view words) {
  source_ = words;
  drainer_.with([&](prof::Drainer::Access& access) {
    prof::Writer& out = access.writer();
    out.append(
        prof::Environment{.key = out.intern("cpu_samples.source"), .value = out.intern(name)});
    access.countRows(1);
  });
}

void Watcher::work() {
  // Here, because the driver may take its time to start.
  if (options_.sources.counters && options_.sources.cuda) {
    gpus_.emplace();
    if (!gpus_->available()) gpus_.reset();
  }
  while (!stopping_) {
    rest();
    const prof::TimeNs now = nowNs();
    window_.update(now, pending_);
    scanWhenDue(now);
    collect(now - kSettleNs);
  }
}

/// Until there is something to read or to look at, or the end.
void Watcher::rest() {
  const auto& sources = options_.sources;
  if (!rings_.isOpen()) {
    const int withoutSamples = sources.counters ? 50 : 100;
    return waitFor(stopFd_, timers_ ? 20 : sources.samples ? 10 : withoutSamples);
  }
  if (sources.samples || sources.counters) return rings_.wait(kReadEveryMs, stopFd_);
  // A record that has just come and is not yet to be taken wakes nobody again.
  if (pending_.empty()) rings_.wait(kFollowEveryMs, stopFd_);
  waitFor(stopFd_, kTogetherMs);
}

/// Looks at what nobody reports.
void Watcher::scanWhenDue(prof::TimeNs now) {
  if (scan_ && now - scannedNs_ >= scanEveryNs_) {
    scannedNs_ = now;
    scanProcesses(now);
    const std::int64_t stateEveryNs = timers_ ? kStateBesideTimersEveryNs : kStateEveryNs;
    scanEveryNs_ = options_.sources.samples ? stateEveryNs
                                            : std::max(kScanEveryNs, kScanPart * (nowNs() - now));
  }
  if (!options_.sources.counters) return;
  if (const auto openings = std::exchange(openings_, window_.openings()); openings != openings_) {
    counters_.restart();
    if (gpus_) gpus_->restart();
  } else if (now - countedNs_ < countEveryNs_) {
    return;
  }
  countedNs_ = now;
  if (!window_.isOpen()) return;
  drainer_.with([&](prof::Drainer::Access& access) {
    counters_.sample(tree_, access);
    if (gpus_) gpus_->sample(now, access);
  });
  // Hundreds of threads must not cost a core.
  countEveryNs_ = std::max(kScanEveryNs, 20 * (nowNs() - now));
}

void Watcher::scanProcesses(prof::TimeNs now) {
  // Processes that report themselves come first: they know since when they are here.
  if (timers_) timers_->update(now, pending_);
  // A thread that is gone now has sampled itself before now.
  scan_->scan(nowNs(), window_.isOpen(), pending_);
}

/// The line of a process is an image's as long as the kernel reports no next one, so look again
/// after reading it.
void Watcher::readKernel() {
  for (int attempt = 0; attempt < kReadsForLines; ++attempt) {
    const std::size_t known = pending_.size();
    rings_.read(pending_);
    if (!readExecLines(pending_, known)) break;
  }
  forgetLinesOfNext(pending_);
}

void Watcher::collect(prof::TimeNs untilNs) {
  if (rings_.isOpen()) readKernel();
  std::stable_sort(pending_.begin(), pending_.end(),
                   [](const PerfRecord& a, const PerfRecord& b) { return a.timeNs < b.timeNs; });
  const auto end = std::find_if(pending_.begin(), pending_.end(),
                                [&](const PerfRecord& record) { return record.timeNs > untilNs; });
  if (end == pending_.begin()) return;
  std::for_each(pending_.begin(), end, [&](PerfRecord& record) {
    executed_.take(record);
    if (options_.sources.samples && record.kind == PerfRecord::Kind::Map) files_.learn(record);
  });
  drainer_.with([&](prof::Drainer::Access& access) {
    for (auto at = pending_.begin(); at != end; ++at) tree_.take(*at, access);
    // Before anybody can save a state of the trace that needs them.
    frames_.append(tree_.stacks().takeJournal());
  });
  pending_.erase(pending_.begin(), end);
}

void Watcher::finish(const std::function<bool()>& namesUnwanted) {
  if (!thread_.joinable()) return;
  stop();
  if (python_) {
    python_->finish();
    notes_.insert(notes_.end(), python_->notes().begin(), python_->notes().end());
  }
  const prof::TimeNs now = nowNs();
  window_.update(now, pending_);
  if (scan_) scanProcesses(now);
  if (timers_ && timers_->untimed() > 0) {
    notes_.push_back(
        fmt::format("{} threads have no call stacks, for the kernel gave them no timer. Remedy: "
                    "raise ulimit -i",
                    timers_->untimed()));
  }
  collect(kForever);
  drainer_.with([&](prof::Drainer::Access& access) { tree_.finish(now, access); });
  rings_.close();
  if (tree_.stacks().size() == 0) return;
  const auto fileOf = [&](const symbols::ModuleFile& module) { return files_.fileOf(module); };
  const FrameNames names = tree_.stacks().name({fileOf, namesUnwanted, {}});
  notes_.insert(notes_.end(), names.notes.begin(), names.notes.end());
  drainer_.with([&](prof::Drainer::Access& access) { tree_.stacks().write(names, access); });
}

}  // namespace lacuna::collector::sampler
