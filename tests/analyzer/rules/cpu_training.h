// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/store.h"

/// A training as PyTorch's is recorded on a CPU: the thread that calls operators executes them.
namespace lacuna::analyzer {

class CpuTraining {
 public:
  static constexpr prof::TimeNs kMs = 1'000'000;
  static constexpr prof::ThreadId kThread{1};

  explicit CpuTraining(int steps = 12, prof::TimeNs stepNs = 10 * kMs)
      : steps_(steps), stepNs_(stepNs) {
    out.append(prof::Process{.id = prof::ProcessId(1)});
    out.append(prof::Thread{.id = kThread, .process = prof::ProcessId(1)});
    out.append(prof::Device{.id = prof::DeviceId(1), .kind = prof::DeviceKind::Cpu});
    out.append(prof::Queue{
        .id = prof::QueueId(1), .device = prof::DeviceId(1), .process = prof::ProcessId(1)});
    for (int step = 0; step < steps; ++step) range(step * stepNs, stepNs, "step", "step");
  }

  /// A range in each step, counted from its begin; with a number in the graph of gradients that is
  /// the step's own.
  CpuTraining& each(prof::TimeNs at, prof::TimeNs dur, const char* category, const char* name,
                    std::uint64_t sequence = 0, const char* text = "") {
    for (int step = 0; step < steps_; ++step)
      range(step * stepNs_ + at, dur, category, name,
            sequence == 0 ? 0 : sequence + 1'000 * std::uint64_t(step), text);
    return *this;
  }
  /// An operator in each step, which the thread executes.
  CpuTraining& work(prof::TimeNs at, prof::TimeNs dur, const char* name, std::uint64_t sequence = 0,
                    const char* shapes = "") {
    each(at, dur, "operator", name, sequence, shapes);
    for (int step = 0; step < steps_; ++step) {
      const prof::TimeNs start = step * stepNs_ + at;
      out.append(prof::ApiCall{.startNs = start,
                               .thread = kThread,
                               .name = out.intern("enqueue"),
                               .correlation = ++correlation_});
      out.append(prof::Kernel{.startNs = start,
                              .durNs = dur,
                              .queue = prof::QueueId(1),
                              .device = prof::DeviceId(1),
                              .correlation = correlation_,
                              .name = out.intern(name)});
    }
    return *this;
  }
  /// Plain steps behind the others.
  CpuTraining& plainSteps(int steps) {
    for (int step = steps_; step < steps_ + steps; ++step)
      range(step * stepNs_, stepNs_, "step", "plain step");
    return *this;
  }
  /// The counters of the thread that trains, or of another, ten times a second, in percent.
  CpuTraining& ran(double percent, double waitedPercent = 0, prof::ThreadId thread = kThread) {
    for (const auto& [id, name, value] :
         {Counter{2 * thread.value, "thread CPU", percent},
          {2 * thread.value + 1, "waiting for a core", waitedPercent}}) {
      out.append(
          prof::CounterTrack{.id = prof::TrackId(id), .thread = thread, .name = out.intern(name)});
      for (prof::TimeNs at = 0; at <= steps_ * stepNs_; at += 100 * kMs)
        out.append(prof::CounterSample{.timeNs = at, .track = prof::TrackId(id), .value = value});
    }
    return *this;
  }
  [[nodiscard]] Analysis analysed() { return *analyse(out.build()); }

  StoreBuilder out;

 private:
  struct Counter {
    std::uint32_t id;
    const char* name;
    double value;
  };

  void range(prof::TimeNs at, prof::TimeNs dur, const char* category, const char* name,
             std::uint64_t sequence = 0, const char* text = "") {
    out.append(
        prof::Range{.startNs = at,
                    .durNs = dur,
                    .thread = kThread,
                    .category = out.intern(category),
                    .name = out.intern(name),
                    .text = out.intern(text),
                    .payloadType = sequence == 0 ? prof::PayloadType::None : prof::PayloadType::U64,
                    .payload = sequence});
  }

  int steps_;
  prof::TimeNs stepNs_;
  std::uint64_t correlation_ = 0;
};

inline constexpr prof::TimeNs kMs = CpuTraining::kMs;

}  // namespace lacuna::analyzer
