// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/flight_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/clock.h"
#include "lacuna/prof/amounts.h"
#include "lacuna/prof/bounds.h"
#include "lacuna/prof/recording.h"
#include "supervise/live_line.h"

namespace lacuna::collector {
namespace {

namespace fs = std::filesystem;

/// A run whose steps are all slow in turn must not fill the disk.
constexpr int kMostSlowDumps = 16;
constexpr std::int64_t kTrimEvery = 200'000'000;

}  // namespace

FlightRecorder::FlightRecorder(fs::path recording, fs::path output, const RunOptions& options)
    : recording_(std::move(recording)),
      key_(prof::recordingKey(recording_)),
      output_(std::move(output)),
      options_(options),
      steps_(options.slowDeviations),
      trimmer_(recording_),
      thread_([this] { work(); }) {}

FlightRecorder::~FlightRecorder() {
  finish();
}

void FlightRecorder::dump(const std::string& reason, std::uint32_t wish) {
  const std::lock_guard guard(mutex_);
  if (wish != 0) wish_ = wish;
  wanted_ += wanted_.empty() ? reason : "; " + reason;
  wake_.notify_all();
}

FlightRecorder::Answer FlightRecorder::answer() const {
  const std::lock_guard guard(mutex_);
  return answer_;
}

void FlightRecorder::setExitCode(int pid, int code) {
  const std::lock_guard guard(mutex_);
  exitCodes_[static_cast<std::uint32_t>(pid)] = code;
}

void FlightRecorder::setNotes(const std::vector<std::string>& notes) {
  const std::lock_guard guard(mutex_);
  notes_ = notes;
}

std::size_t FlightRecorder::dumpCount() const {
  const std::lock_guard guard(mutex_);
  return dumps_.size();
}

void FlightRecorder::tend(Control& control) {
  if (options_.dumpOn.slowStep) watchSteps(control);
  const auto now = nowNs();
  const std::unique_lock guard(mutex_);
  // A dump that is being copied must not lose files meanwhile.
  if (writing_ || !wanted_.empty() || now - trimmedNs_ < kTrimEvery) return;
  trimmedNs_ = now;
  prof::addTo(forgotten_, trimmer_.trim(options_.ringBytes));
}

void FlightRecorder::watchSteps(Control& control) {
  std::int64_t durationNs = 0;
  int process = 0;
  const auto read = [&](const StepNote& note) {
    durationNs = note.durationNs;
    process = note.process;
  };
  followNotes(control.steps, control.stepCount, stepsSeen_, read, [&] {
    const auto slow = steps_.add(process, durationNs);
    if (!slow || slowDumps_ >= kMostSlowDumps) return;
    ++slowDumps_;
    dump(fmt::format("slow step of process {}: {}, usual {} ± {}", process,
                     prof::timeText(slow->durationNs), prof::timeText(slow->medianNs),
                     prof::timeText(slow->deviationNs)));
  });
}

void FlightRecorder::work() {
  std::unique_lock guard(mutex_);
  while (true) {
    wake_.wait(guard, [&] { return stopping_ || !wanted_.empty(); });
    if (wanted_.empty()) return;
    const std::string reason = std::exchange(wanted_, {});
    const std::uint32_t wish = std::exchange(wish_, 0);
    writing_ = true;
    guard.unlock();
    const bool written = write(reason);
    guard.lock();
    writing_ = false;
    if (wish != 0) answer_ = {wish, number_, written};
  }
}

fs::path flightDumpName(const fs::path& output, std::uint32_t number) {
  const fs::path stem = output.parent_path() / output.stem();
  return fmt::format("{}.dump-{}{}", stem.string(), number, output.extension().string());
}

bool FlightRecorder::write(const std::string& reason) {
  prof::SnapshotOptions how;
  how.reason = reason;
  how.key = key_;
  {
    const std::lock_guard guard(mutex_);
    how.notes = notes_;
    how.exitCodes = exitCodes_;
    how.forgotten = forgotten_;
  }
  const auto names = [this, next = number_ + 1](unsigned tries) {
    number_ = next + static_cast<int>(tries);
    return flightDumpName(output_, static_cast<std::uint32_t>(number_));
  };
  const auto file = prof::snapshotBesideOthers(recording_, names, how);
  const std::lock_guard guard(mutex_);
  if (file) {
    dumps_.push_back({file->path, reason, file->stats});
  } else if (failure_.ok()) {
    failure_ = file.status();
  }
  return file.ok();
}

const std::vector<RunReport::Dump>& FlightRecorder::finish() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  return dumps_;
}

}  // namespace lacuna::collector
