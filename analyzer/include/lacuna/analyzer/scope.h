// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lacuna/analyzer/store.h"
#include "lacuna/analyzer/timeline.h"

namespace lacuna::analyzer {

// When the recorder itself ran on the host's cores, and when threads of the program may have waited
// for that: from the counters "recorder CPU" and "waiting for a core".
// docs/analyses/self-overhead.md.

struct Selection;

/// A share of a core, or of the time, that changes from moment to moment; 0 before the first of
/// them.
class ShareCurve {
 public:
  /// From there on. Moments rise.
  void set(prof::TimeNs atNs, double share);
  [[nodiscard]] bool empty() const { return points_.empty(); }
  [[nodiscard]] double at(prof::TimeNs atNs) const;
  /// The share times the time, in nanoseconds.
  [[nodiscard]] double between(prof::TimeNs fromNs, prof::TimeNs toNs) const;
  /// When the share changes next; `untilNs` where it does not before.
  [[nodiscard]] prof::TimeNs changeAfter(prof::TimeNs atNs, prof::TimeNs untilNs) const;

 private:
  struct Point {
    prof::TimeNs atNs;
    double sumNs;  ///< of all before
    double share;
  };
  [[nodiscard]] std::vector<Point>::const_iterator firstAfter(prof::TimeNs atNs) const;
  [[nodiscard]] double sumBefore(prof::TimeNs atNs) const;

  std::vector<Point> points_;
};

/// Cores that the recorder ran on; empty: not known.
prof::Result<ShareCurve> recorderUse(const Store& store);
/// Cores that had nothing to do, of those that the program may use; empty: not known. Recordings of
/// one machine that were merged each have them, so the most of them count.
prof::Result<ShareCurve> idleCores(const Store& store);

/// The share of the time for which the recorder may have held the program up by taking cores. It is
/// the time that the recorder ran, but no more than the selected threads together waited for a
/// core. Empty: not known.
prof::Result<ShareCurve> takenCores(const Store& store, const Selection& only);

enum class StepSource : std::uint8_t {
  None,    ///< neither markers nor a period
  Marker,  ///< ranges that mark steps
  Period,  ///< the repetition of the work on the busiest queue
};

/// One iteration: from its marker's begin to the next one's, unless something unusual lies between.
struct Step {
  std::uint64_t index = 0;  ///< 0, 1, 2, … in the trace
  std::string name;         ///< the marker's own name, "period 3" where there was none
  prof::TimeNs startNs = 0;
  prof::TimeNs endNs = 0;
  prof::TimeNs markEndNs = 0;  ///< where its marker ends
  std::uint64_t samples = 0;   ///< batch size if the marker has it
  bool warmUp = false;
  /// Recorded without operators, modules and allocations: it shows how long a step takes, and not
  /// for what.
  bool isPlain = false;
  bool isCut =
      false;  ///< the last one, where others have pauses after their markers: its own is not known

  [[nodiscard]] std::int64_t durNs() const { return endNs - startNs; }
  [[nodiscard]] bool within(prof::TimeWindow window) const {
    return startNs >= window.startNs && endNs <= window.endNs;
  }
};

/// A phase of a program other than those that make up an iteration (load, forward, backward,
/// optimizer). It is an evaluation with all of its batches, a checkpoint, a garbage collection, or
/// one that the program names itself.
struct PhaseSpan {
  prof::TimeNs startNs = 0;
  prof::TimeNs endNs = 0;
  prof::StringId name;
};

struct Steps {
  StepSource source = StepSource::None;
  prof::ProcessId process;
  prof::ThreadId thread;  ///< that set the markers
  std::vector<Step> all;
  std::vector<PhaseSpan> phases;  ///< of that thread, by start; none lies in another

  /// Those after the warm-up, plain ones too; empty only when there are no steps.
  [[nodiscard]] std::span<const Step> afterWarmUp() const;
  /// Those after the warm-up that were recorded in detail.
  [[nodiscard]] std::vector<Step> steady() const;
  /// Those after the warm-up that lie within the window, plain ones too.
  [[nodiscard]] std::vector<Step> afterWarmUpWithin(prof::TimeWindow window) const;
  /// The steady ones that lie within the window.
  [[nodiscard]] std::vector<Step> steadyWithin(prof::TimeWindow window) const;
  /// The median of the steady ones; 0 without steps.
  [[nodiscard]] std::int64_t medianNs() const;
  /// Median absolute deviation of the steady ones.
  [[nodiscard]] std::int64_t spreadNs() const;
};

/// The name of a device in reports and options: "cuda:3", "cpu:0".
std::string deviceLabel(prof::DeviceKind kind, std::uint32_t index);

/// Number of these, in their order, that have begun (&Step::startNs) or ended (&Step::endNs) by
/// then.
std::size_t countBy(std::span<const Step> steps, prof::TimeNs Step::*edge, prof::TimeNs at);
/// The one that runs then; null between steps.
const Step* stepAt(std::span<const Step> steps, prof::TimeNs at);

/// The steps of one process, or of the first one (by rank, then by id) that has any.
prof::Result<Steps> findSteps(const Store& store, prof::ProcessId process = {});

/// Work of a name, by its time.
struct PauseWork {
  prof::TimeWindow window;
  prof::StringId name;
};

/// Lets each step last until the next one begins, for what every iteration does there (metrics,
/// logging, asking for a batch) is part of it. An unusually long pause stays between two steps, as
/// far as it is longer than the usual one. So does a pause for work that fewer than half of the
/// pauses have (an evaluation, a checkpoint). The usual pause is the median, or the shortest where
/// steps are few.
void joinUsualPauses(std::vector<Step>& steps, std::span<const PauseWork> work = {});

/// Lets a step begin after the evaluation that opens it: asking for the first batch of an
/// evaluation looks like asking for a batch to train on. `evaluations` come by start. Where half of
/// the steps open with one (a network that teaches), it is part of the iteration.
void leaveOutEvaluations(std::vector<Step>& steps, std::span<const prof::TimeWindow> evaluations,
                         std::span<const prof::TimeNs> backwardStarts);

/// Marks the leading steps that take clearly longer than the second half of the run; never all of
/// them. Plain steps are quicker than others, so only the others are compared.
void markWarmUp(std::vector<Step>& steps);

/// The smallest number of positions after which `sequence` repeats over nearly all of its length,
/// and where a repetition begins; period 0 when it does not repeat at least three times.
struct Period {
  std::size_t period = 0;
  std::size_t offset = 0;
};
Period findPeriod(std::span<const std::uint32_t> sequence);

/// The middle value, of two middle ones their mean; 0 for none.
std::int64_t medianOf(std::vector<std::int64_t> values);

/// The rows that somebody asked for: of some devices' queues, and of the processes that fill them.
/// By default all.
struct Selection {
  bool everything = true;
  std::unordered_set<prof::QueueId> queues;
  std::unordered_set<prof::DeviceId> devices;
  std::unordered_set<prof::ProcessId> processes;
  std::unordered_map<prof::ThreadId, prof::ProcessId> processOfThread;

  /// Only what lies in a device's memory.
  static Selection memoryOf(prof::DeviceId device);

  [[nodiscard]] bool holds(prof::QueueId queue) const {
    return everything || queues.contains(queue);
  }
  [[nodiscard]] bool holds(prof::DeviceId device) const {
    return everything || devices.contains(device);
  }
  [[nodiscard]] bool holds(prof::ProcessId process) const {
    return everything || processes.contains(process);
  }
  [[nodiscard]] bool holds(prof::ThreadId thread) const;
  /// Memory of a device, or the host's where `device` is none.
  [[nodiscard]] bool holdsMemory(prof::DeviceId device, prof::ThreadId thread) const {
    return holds(device) || (!device && holds(thread));
  }
  /// The rows of the timeline that are held, and what belongs to no thread.
  [[nodiscard]] Timeline of(const Timeline& timeline) const;
};

/// Decides if a moment lies in a step of a window that was recorded in detail. Where there are no
/// steps, every moment does.
class StepSpans {
 public:
  StepSpans() = default;
  StepSpans(const Steps& steps, prof::TimeWindow window);

  [[nodiscard]] bool everything() const { return spans_.empty(); }
  [[nodiscard]] bool hold(prof::TimeNs at) const;
  /// The same of all moments from the first of these to the second.
  [[nodiscard]] bool holdAll(prof::TimeWindow stretch) const;
  /// Steps that are numbered each by its name are one thing: what to call a range of that name.
  [[nodiscard]] std::string_view foldedName(std::string_view name) const;

 private:
  std::vector<prof::TimeWindow>
      spans_;  ///< disjoint, in order; steps that follow each other without a gap are one
  std::set<std::string, std::less<>>
      markers_;  ///< what steps are called, where they are not all called the same
};

/// The rows that a table is about, and the steps that its figures per step refer to.
struct TableScope {
  Selection only;
  StepSpans steps;
  ShareCurve taken;  ///< cores that the recorder may have kept from the selected threads
};

}  // namespace lacuna::analyzer
