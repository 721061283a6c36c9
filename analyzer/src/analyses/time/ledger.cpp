// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/ledger.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "analyses/work/host_nesting.h"
#include "analyses/work/host_profile.h"
#include "analyses/work/launch_index.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::DeviceId;
using prof::ProcessId;
using prof::QueueId;
using prof::ThreadId;
using prof::TimeNs;
using prof::TimeWindow;

/// A kernel must start this soon after another queue's work to count as having waited for it.
constexpr TimeNs kHandoverNs = 10'000;
/// Waiting threads are followed to the one that woke them at most this far.
constexpr int kWakeChain = 4;

struct CauseName {
  Cause cause;
  std::string_view key;
  std::string_view label;
};
constexpr std::array<CauseName, kCauseCount> kNames{{
    {Cause::Compute, "compute", "computing"},
    {Cause::ExposedCommunication, "exposed_communication", "exposed communication"},
    {Cause::ExposedCopy, "exposed_copy", "exposed copies"},
    {Cause::Profiler, "profiler", "held up by the profiler"},
    {Cause::Synchronisation, "synchronisation", "synchronisation"},
    {Cause::LoaderWait, "loader_wait", "waiting for the loader"},
    {Cause::DriverCall, "driver_call", "allocator or driver calls"},
    {Cause::OffCpu, "off_cpu", "host thread not running"},
    {Cause::HostWork, "host_work", "host work"},
    {Cause::Launch, "launch", "launch-bound"},
    {Cause::Dependency, "dependency", "waiting for another queue"},
    {Cause::Unknown, "unknown", "unknown"},
}};

Cause causeOf(Activity activity) {
  switch (activity) {
    case Activity::Profiler:
      return Cause::Profiler;
    case Activity::Sync:
      return Cause::Synchronisation;
    case Activity::LoaderWait:
      return Cause::LoaderWait;
    case Activity::Driver:
      return Cause::DriverCall;
    case Activity::OffCpu:
      return Cause::OffCpu;
    case Activity::Operator:
    case Activity::Annotation:
      return Cause::HostWork;
    case Activity::Launch:
      return Cause::Launch;
    case Activity::None:
      break;
  }
  return Cause::Unknown;
}

Cause causeOf(Work work) {
  constexpr std::array kCauses{Cause::Compute, Cause::ExposedCommunication, Cause::ExposedCopy,
                               Cause::Unknown};
  return kCauses[static_cast<std::size_t>(work)];
}

/// Joins neighbours of one cause and name before they reach the sink.
class Joiner {
 public:
  explicit Joiner(const LedgerSink& sink) : sink_(sink) {}
  void add(const LedgerSegment& segment) {
    if (segment.startNs >= segment.endNs) return;
    const bool joins = pending_.endNs == segment.startNs && pending_.cause == segment.cause &&
                       pending_.name == segment.name && pending_.thread == segment.thread &&
                       pending_.unrecorded == segment.unrecorded;
    if (any_ && joins) {
      pending_.endNs = segment.endNs;
      return;
    }
    flush();
    pending_ = segment;
    any_ = true;
  }
  void flush() {
    if (any_) sink_(pending_);
    any_ = false;
  }

 private:
  const LedgerSink& sink_;
  LedgerSegment pending_;
  bool any_ = false;
};

struct QueueEnd {
  TimeNs endNs;
  TimeNs startNs;
  QueueId queue;
};

}  // namespace

std::string_view causeKey(Cause cause) {
  return kNames[static_cast<std::size_t>(cause)].key;
}
std::string_view causeLabel(Cause cause) {
  return kNames[static_cast<std::size_t>(cause)].label;
}

std::optional<Cause> findCause(std::string_view key) {
  for (const CauseName& name : kNames) {
    if (name.key == key) return name.cause;
  }
  return std::nullopt;
}

std::int64_t Ledger::totalNs() const {
  std::int64_t sum = 0;
  for (const std::int64_t part : ns) prof::addTo(sum, part);
  return sum;
}

std::int64_t Ledger::busyNs() const {
  return (*this)[Cause::Compute] + (*this)[Cause::ExposedCommunication] +
         (*this)[Cause::ExposedCopy];
}

Ledger& Ledger::operator+=(const Ledger& other) {
  for (std::size_t i = 0; i < kCauseCount; ++i) prof::addTo(ns[i], other.ns[i]);
  return *this;
}

struct LedgerAccountant::Impl {
  const Timeline& timeline;
  StepPauses pauses;
  LaunchIndex launches;
  std::unordered_map<ThreadId, HostProfile> profiles;
  std::unordered_map<ProcessId, HostProfile> processProfiles;
  std::unordered_map<ProcessId, std::vector<QueueEnd>> endsOfProcess;
  std::unordered_map<QueueId, std::vector<QueueWait>> waitsOfQueue;
  std::unordered_map<QueueId, std::vector<const DeviceSpan*>> spansOfQueue;
  std::unordered_map<DeviceId, std::vector<const DeviceSpan*>> spansOfDevice;

  Impl(const Timeline& t, StepPauses between, std::span<const DeviceSpan> unrecorded)
      : timeline(t), pauses(std::move(between)), launches(t, unrecorded) {
    // A thread that launches nothing holds no device up.
    if (!launches.isLaunching(pauses.thread)) pauses.windows.clear();
    buildProfiles();
    buildDevices();
    addUnrecorded(unrecorded);
  }

  void buildProfiles();
  void buildDevices();
  void addUnrecorded(std::span<const DeviceSpan> unrecorded);

  [[nodiscard]] DeviceId deviceOf(QueueId queue) const {
    const auto found = timeline.topology.deviceOfQueue.find(queue);
    return found == timeline.topology.deviceOfQueue.end() ? DeviceId() : found->second;
  }
  void splitIdle(const LedgerScope& scope, TimeNs from, TimeNs to, const DeviceSpan* ender,
                 Joiner& out) const;
  void walkThread(ThreadId thread, ProcessId process, TimeNs from, TimeNs to, Joiner& out) const;
  void walkProcess(ProcessId process, TimeNs from, TimeNs to, const HostPiece* annotation,
                   Joiner& out) const;
  void emitNothing(ProcessId process, TimeNs from, TimeNs to, Joiner& out) const;
  void emitPiece(const HostPiece& piece, TimeNs from, TimeNs to, int depth, Joiner& out) const;
  [[nodiscard]] TimeNs dependencyEnd(const LedgerScope& scope, const DeviceSpan& ender, TimeNs from,
                                     TimeNs to) const;
};

void LedgerAccountant::Impl::buildProfiles() {
  std::vector<const HostSpan*> sorted;
  std::vector<const HostSpan*> everywhere;
  sorted.reserve(timeline.host.size());
  for (const HostSpan& span : timeline.host) (span.thread ? sorted : everywhere).push_back(&span);
  sortOuterFirst(sorted);
  std::unordered_map<ThreadId, std::vector<const HostSpan*>> ofThread;
  std::unordered_map<ProcessId, std::vector<const HostSpan*>> ofProcess;
  for (const HostSpan* span : sorted) {
    ofThread[span->thread].push_back(span);
    if (launches.isLaunching(span->thread))
      ofProcess[launches.processOf(span->thread)].push_back(span);
  }
  const auto finish = [&](std::vector<const HostSpan*>& spans) {
    if (!everywhere.empty()) {
      spans.insert(spans.end(), everywhere.begin(), everywhere.end());
      sortOuterFirst(spans);
    }
    return flatten(spans);
  };
  for (auto& [thread, spans] : ofThread) profiles[thread] = finish(spans);
  for (auto& [process, spans] : ofProcess) processProfiles[process] = finish(spans);
}

void LedgerAccountant::Impl::buildDevices() {
  for (const DeviceSpan& span : timeline.device) {
    spansOfQueue[span.queue].push_back(&span);
    spansOfDevice[deviceOf(span.queue)].push_back(&span);
    endsOfProcess[launches.processOf(span.queue)].push_back({span.endNs, span.startNs, span.queue});
  }
  for (auto& [process, ends] : endsOfProcess) {
    std::sort(ends.begin(), ends.end(), [](const QueueEnd& a, const QueueEnd& b) {
      return std::tuple(a.endNs, a.startNs, a.queue) < std::tuple(b.endNs, b.startNs, b.queue);
    });
  }
  for (const QueueWait& wait : timeline.waits) waitsOfQueue[wait.queue].push_back(wait);
  for (auto& [queue, waits] : waitsOfQueue) {
    std::sort(waits.begin(), waits.end(),
              [](const QueueWait& a, const QueueWait& b) { return a.endNs < b.endNs; });
  }
}

/// A stretch in which work may have run ends an idle stretch as work does: its launch shows who was
/// waited for.
void LedgerAccountant::Impl::addUnrecorded(std::span<const DeviceSpan> unrecorded) {
  for (const DeviceSpan& span : unrecorded) {
    for (auto* spans : {&spansOfQueue[span.queue], &spansOfDevice[deviceOf(span.queue)]}) {
      spans->insert(std::ranges::upper_bound(*spans, span.startNs, {}, &DeviceSpan::startNs),
                    &span);
    }
  }
}

void LedgerAccountant::Impl::emitPiece(const HostPiece& piece, TimeNs from, TimeNs to, int depth,
                                       Joiner& out) const {
  const auto emitSelf = [&](TimeNs a, TimeNs b) {
    out.add({a, b, causeOf(piece.activity), piece.name, piece.thread});
  };
  const auto waker = profiles.find(piece.wokenBy);
  if (piece.activity != Activity::OffCpu || waker == profiles.end() || depth >= kWakeChain) {
    emitSelf(from, to);
    return;
  }
  TimeNs t = from;
  for (auto it = pieceAt(waker->second, from);
       it != waker->second.end() && it->startNs < to && t < to; ++it) {
    if (it->activity <= Activity::Annotation) continue;
    emitSelf(t, std::max(t, it->startNs));
    const TimeNs a = std::max(t, it->startNs);
    const TimeNs b = std::min(to, it->endNs);
    emitPiece(*it, a, b, depth + 1, out);
    t = b;
  }
  emitSelf(t, to);
}

/// Nothing was recorded there.
void LedgerAccountant::Impl::emitNothing(ProcessId process, TimeNs from, TimeNs to,
                                         Joiner& out) const {
  TimeNs t = from;
  if (process == pauses.process) {
    const auto& windows = pauses.windows;
    auto it = std::partition_point(windows.begin(), windows.end(),
                                   [&](const TimeWindow& w) { return w.endNs <= from; });
    for (; it != windows.end() && it->startNs < to; ++it) {
      const TimeNs a = std::max(t, it->startNs), b = std::min(to, it->endNs);
      out.add({t, a, Cause::Unknown, {}, {}});
      out.add({a, b, Cause::HostWork, pauses.name, pauses.thread});
      t = b;
    }
  }
  out.add({t, to, Cause::Unknown, {}, {}});
}

void LedgerAccountant::Impl::walkProcess(ProcessId process, TimeNs from, TimeNs to,
                                         const HostPiece* annotation, Joiner& out) const {
  const auto hole = [&](TimeNs a, TimeNs b) {
    if (annotation != nullptr) {
      out.add({a, b, Cause::HostWork, annotation->name, annotation->thread});
    } else {
      emitNothing(process, a, b, out);
    }
  };
  const auto found = processProfiles.find(process);
  TimeNs t = from;
  if (found != processProfiles.end()) {
    const HostProfile& profile = found->second;
    for (auto it = pieceAt(profile, from); it != profile.end() && it->startNs < to; ++it) {
      const TimeNs a = std::max(t, it->startNs);
      const TimeNs b = std::min(to, it->endNs);
      hole(t, a);
      if (it->activity == Activity::Annotation && annotation != nullptr) {
        hole(a, b);
      } else {
        emitPiece(*it, a, b, 0, out);
      }
      t = b;
    }
  }
  hole(t, to);
}

void LedgerAccountant::Impl::walkThread(ThreadId thread, ProcessId process, TimeNs from, TimeNs to,
                                        Joiner& out) const {
  const auto found = profiles.find(thread);
  TimeNs t = from;
  if (found != profiles.end()) {
    const HostProfile& profile = found->second;
    for (auto it = pieceAt(profile, from); it != profile.end() && it->startNs < to; ++it) {
      const TimeNs a = std::max(t, it->startNs);
      const TimeNs b = std::min(to, it->endNs);
      if (t < a) walkProcess(process, t, a, nullptr, out);
      if (it->activity == Activity::Annotation) {
        walkProcess(process, a, b, &*it, out);
      } else {
        emitPiece(*it, a, b, 0, out);
      }
      t = b;
    }
  }
  if (t < to) walkProcess(process, t, to, nullptr, out);
}

/// Until when the ender's queue waited for other work: an explicit wait of the queue, or work
/// elsewhere in the process that was still running at `from` and whose end set the ender off.
TimeNs LedgerAccountant::Impl::dependencyEnd(const LedgerScope& scope, const DeviceSpan& ender,
                                             TimeNs from, TimeNs to) const {
  TimeNs until = from;
  const auto waits = waitsOfQueue.find(ender.queue);
  if (waits != waitsOfQueue.end()) {
    auto it = std::upper_bound(waits->second.begin(), waits->second.end(), from,
                               [](TimeNs t, const QueueWait& wait) { return t < wait.endNs; });
    for (; it != waits->second.end() && it->startNs < to; ++it)
      until = std::max(until, std::min(to, it->endNs));
  }
  const auto ends = endsOfProcess.find(launches.processOf(ender.queue));
  if (ends == endsOfProcess.end()) return until;
  auto it = std::upper_bound(ends->second.begin(), ends->second.end(), to,
                             [](TimeNs t, const QueueEnd& end) { return t < end.endNs; });
  while (it != ends->second.begin()) {
    --it;
    if (it->endNs <= until || it->endNs < to - kHandoverNs) break;
    const bool elsewhere =
        scope.queue ? it->queue != scope.queue : deviceOf(it->queue) != scope.device;
    if (elsewhere && it->startNs <= from) return it->endNs;
  }
  return until;
}

void LedgerAccountant::Impl::splitIdle(const LedgerScope& scope, TimeNs from, TimeNs to,
                                       const DeviceSpan* ender, Joiner& out) const {
  const ProcessId process =
      ender != nullptr ? launches.processOf(ender->queue) : launches.processOf(scope);
  const HostSpan* launch = ender != nullptr ? launches.find(*ender) : nullptr;
  if (launch == nullptr) {
    walkProcess(process, from, to, nullptr, out);
    return;
  }
  const TimeNs launched = std::clamp(launch->endNs, from, to);
  walkThread(launch->thread, process, from, launched, out);
  const TimeNs freed = dependencyEnd(scope, *ender, launched, to);
  out.add({launched, freed, Cause::Dependency, ender->name, launch->thread});
  out.add({freed, to, Cause::Launch, ender->name, launch->thread});
}

StepPauses stepPauses(const Store& store, const Steps& steps) {
  StepPauses out{.process = steps.process, .thread = steps.thread, .name = {}, .windows = {}};
  if (steps.source != StepSource::Marker || steps.all.empty()) return out;
  out.name = store.find(steps.all.front().name);
  for (const Step& step : steps.all) {
    if (step.markEndNs < step.endNs) out.windows.push_back({step.markEndNs, step.endNs});
  }
  return out;
}

LedgerAccountant::LedgerAccountant(const Timeline& timeline, StepPauses pauses,
                                   std::span<const DeviceSpan> unrecorded)
    : impl_(std::make_unique<Impl>(timeline, std::move(pauses), unrecorded)) {}
LedgerAccountant::~LedgerAccountant() = default;
LedgerAccountant::LedgerAccountant(LedgerAccountant&&) noexcept = default;

void LedgerAccountant::account(const LedgerScope& scope, TimeWindow window,
                               const LedgerSink& sink) const {
  static const std::vector<const DeviceSpan*> kNone;
  const auto pick = [&](const auto& map, auto id) -> const std::vector<const DeviceSpan*>& {
    const auto found = map.find(id);
    return found == map.end() ? kNone : found->second;
  };
  const auto& spans = scope.queue ? pick(impl_->spansOfQueue, scope.queue)
                                  : pick(impl_->spansOfDevice, scope.device);
  Joiner out(sink);
  // Spans are sorted by start, so the union of one kind of work is known by the latest end seen so
  // far.
  std::array<TimeNs, kWorkCount> busyUntil;
  busyUntil.fill(window.startNs);
  TimeNs t = window.startNs;
  const auto advance = [&](TimeNs to, const DeviceSpan* ender) {
    while (t < to) {
      std::size_t work = 0;
      while (work < kWorkCount && busyUntil[work] <= t) ++work;
      if (work == kWorkCount) {
        impl_->splitIdle(scope, t, to, ender, out);
        t = to;
      } else {
        const TimeNs end = std::min(busyUntil[work], to);
        const auto kind = static_cast<Work>(work);
        out.add({t, end, causeOf(kind), {}, {}, kind == Work::Unrecorded});
        t = end;
      }
    }
  };
  for (const DeviceSpan* span : spans) {
    if (span->startNs >= window.endNs) {
      advance(window.endNs, span);
      break;
    }
    advance(span->startNs, span);
    TimeNs& until = busyUntil[static_cast<std::size_t>(span->work)];
    until = std::max(until, std::min(span->endNs, window.endNs));
  }
  advance(window.endNs, nullptr);
  out.flush();
}

Ledger LedgerAccountant::sum(const LedgerScope& scope, TimeWindow window) const {
  Ledger ledger;
  account(scope, window,
          [&](const LedgerSegment& segment) { ledger.add(segment.cause, segment.durNs()); });
  return ledger;
}

}  // namespace lacuna::analyzer
