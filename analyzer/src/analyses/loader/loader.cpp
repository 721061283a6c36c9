// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analyses/disturbance/thread_share.h"
#include "analyses/loader/loader.h"
#include "analyses/loader/loader_workers.h"
#include "analyses/parts.h"
#include "analyses/work/name_guesses.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::Range;
using prof::ThreadId;
using prof::TimeNs;

constexpr int kNoStage = -1;
constexpr int kPut = -2;
constexpr int kWait = -3;
constexpr int kChange = -4;  ///< one of kLoaderChanges

/// The role of a range for a loader: a stage's number, or one of the above.
int roleOf(std::string_view domain, std::string_view category, std::string_view name) {
  if (category == "loader" && std::ranges::find(kLoaderChanges, name) != kLoaderChanges.end())
    return kChange;
  if (classifyRange(domain, category, name) == Activity::LoaderWait) return kWait;
  if (category != "loader") return kNoStage;
  if (name == "put") return kPut;
  const auto stage = std::find(kLoaderStages.begin(), kLoaderStages.end(), name);
  return stage == kLoaderStages.end() ? kNoStage : static_cast<int>(stage - kLoaderStages.begin());
}

struct Open {
  TimeNs endNs;
  int stage;
};

/// Adds up stages with nesting respected: an inner stage's time is taken from the outer one.
class StageSums {
 public:
  void add(ThreadId thread, TimeNs start, TimeNs dur, int stage) {
    Sums& sums = byThread_[thread];
    while (!sums.open.empty() && sums.open.back().endNs <= start) sums.open.pop_back();
    if (sums.open.empty()) {
      prof::addTo(sums.busyNs, dur);
    } else {
      prof::takeFrom(sums.stageNs[static_cast<std::size_t>(sums.open.back().stage)], dur);
    }
    prof::addTo(sums.stageNs[static_cast<std::size_t>(stage)], dur);
    if (sums.firstBatchNs == 0 && sums.pieces[static_cast<std::size_t>(stage)] > 0)
      sums.firstBatchNs = sums.lastNs;
    sums.firstNs = std::min(sums.firstNs, start);
    sums.lastNs = std::max(sums.lastNs, start + dur);
    ++sums.pieces[static_cast<std::size_t>(stage)];
    sums.open.push_back({start + dur, stage});
  }
  /// Threads that prepare batches are the workers, unless only consumers do. A consumer may load a
  /// batch or two itself, as for a validation; this makes the workers neither fewer nor quicker.
  /// `taken`: batches by consumer.
  void finish(const Store& store, const std::unordered_map<ThreadId, std::uint64_t>& taken,
              const std::vector<ConsumerWait>& waits, const StepSpans& steps,
              LoaderStats& stats) const {
    std::vector<WorkerSpan> workers;
    for (const auto& [thread, sums] : byThread_) {
      if (taken.contains(thread)) continue;
      const TimeNs firstBatchNs = sums.firstBatchNs > 0 ? sums.firstBatchNs : sums.lastNs;
      workers.push_back({thread, sums.firstNs, firstBatchNs, sums.lastNs, sums.batches()});
    }
    for (const WorkerSpan& worker : workers) stats.workerThreads.push_back(worker.thread);
    const WorkerSets sets = workerSets(store, workers, waits);
    stats.workers = sets.workers;
    stats.restarts = sets.restarts;
    for (const ConsumerWait& wait : sets.restartWaits) {
      const std::int64_t ns = wait.endNs - wait.startNs;
      prof::addTo(stats.restartNs, ns);
      if (steps.hold(wait.startNs)) prof::addTo(stats.stepRestartNs, ns);
      if (ns > stats.longestRestart.endNs - stats.longestRestart.startNs)
        stats.longestRestart = {wait.startNs, wait.endNs};
    }
    for (const auto& [thread, count] : taken) {
      const auto own = byThread_.find(thread);
      const std::uint64_t byItself =
          own == byThread_.end() ? 0 : std::min(count, own->second.batches());
      stats.batches += count;
      stats.preparedBatches += stats.workers > 0 ? count - byItself : count;
    }
    for (const auto& [thread, sums] : byThread_) {
      if (stats.workers > 0 && taken.contains(thread)) continue;
      prof::addTo(stats.busyNs, sums.busyNs);
      for (std::size_t i = 0; i < stats.stageNs.size(); ++i)
        prof::addTo(stats.stageNs[i], sums.stageNs[i]);
    }
  }

 private:
  struct Sums {
    std::int64_t busyNs = 0;
    std::array<std::int64_t, 4> stageNs{};
    std::array<std::uint64_t, 4> pieces{};  ///< by stage; a batch has one of each at most
    TimeNs firstNs = INT64_MAX, lastNs = INT64_MIN;
    TimeNs firstBatchNs = 0;  ///< when the first was done; 0: it is the only one so far
    std::vector<Open> open;
    [[nodiscard]] std::uint64_t batches() const {
      return *std::max_element(pieces.begin(), pieces.end());
    }
  };
  std::unordered_map<ThreadId, Sums> byThread_;
};

/// A counter of no process is everybody's.
bool holds(const Selection& only, const prof::CounterTrack& track) {
  return !track.process || only.holds(track.process);
}

/// Mean of the ready batches over time, from the loader's depth counter.
double meanDepth(const Store& store, prof::TimeWindow window, const Selection& only) {
  std::unordered_set<prof::TrackId> tracks;
  for (std::uint64_t i = 0; i < store.rows<prof::CounterTrack>(); ++i) {
    const auto track = store.row<prof::CounterTrack>(i);
    if (!holds(only, track)) continue;
    if (store.text(track.name).find("loader.queue_depth") != std::string_view::npos)
      tracks.insert(track.id);
  }
  if (tracks.empty()) return -1;
  double sum = 0;
  double value = 0;
  TimeNs last = window.startNs;
  using prof::CounterSample;
  const auto status =
      store.scan<&CounterSample::timeNs, &CounterSample::track, &CounterSample::value>(
          {INT64_MIN, window.endNs}, [&](std::uint64_t, auto time, auto track, auto values) {
            for (std::size_t i = 0; i < time.size(); ++i) {
              if (!tracks.contains(track[i]) || time[i] >= window.endNs) continue;
              if (time[i] > last) {
                sum += value * static_cast<double>(time[i] - last);
                last = time[i];
              }
              value = values[i];
            }
          });
  if (!status || window.endNs <= window.startNs) return -1;
  sum += value * static_cast<double>(window.endNs - last);
  return sum / static_cast<double>(window.endNs - window.startNs);
}

/// Time that the threads of the loaders computed within the window, from the counters that show it;
/// -1 without any.
std::int64_t computedNs(const Store& store, prof::TimeWindow window, const Selection& only) {
  struct Span {
    double first = -1, last = 0;
  };
  std::unordered_map<prof::TrackId, Span> tracks;
  for (std::uint64_t i = 0; i < store.rows<prof::CounterTrack>(); ++i) {
    const auto track = store.row<prof::CounterTrack>(i);
    if (!holds(only, track)) continue;
    if (store.text(track.name).find("loader.cpu_time") != std::string_view::npos)
      tracks[track.id] = {};
  }
  if (tracks.empty()) return -1;
  using prof::CounterSample;
  const auto status =
      store.scan<&CounterSample::timeNs, &CounterSample::track, &CounterSample::value>(
          window, [&](std::uint64_t, auto time, auto track, auto values) {
            for (std::size_t i = 0; i < time.size(); ++i) {
              const auto found = tracks.find(track[i]);
              if (found == tracks.end() || time[i] < window.startNs || time[i] >= window.endNs)
                continue;
              if (found->second.first < 0) found->second.first = values[i];
              found->second.last = values[i];
            }
          });
  if (!status) return -1;
  double sum = 0;
  for (const auto& [id, span] : tracks)
    prof::addTo(sum, span.first < 0 ? 0 : span.last - span.first);
  return static_cast<std::int64_t>(sum);
}

}  // namespace

std::int64_t LoaderStats::batchNs() const {
  const std::uint64_t prepared = preparedBatches > 0 ? preparedBatches : batches;
  return prepared == 0 ? 0 : busyNs / static_cast<std::int64_t>(prepared);
}

double LoaderStats::utilisation() const {
  const double capacity = static_cast<double>(spanNs) * std::max(1u, workers);
  return capacity <= 0 ? 0 : static_cast<double>(busyNs) / capacity;
}

bool LoaderStats::hasTimeToSpare() const {
  constexpr double kBusy = 0.8;
  return workers > 0 && busyNs > 0 && utilisation() < kBusy;
}

std::string_view loaderBoundName(LoaderBound bound) {
  static constexpr std::string_view kNames[] = {"nothing",   "reading", "computing",
                                                "hand-over", "copy",    "unknown"};
  return kNames[static_cast<std::size_t>(bound)];
}

LoaderVerdict loaderVerdict(const LoaderStats& loader, std::int64_t stepNs, std::int64_t waitNs,
                            std::int64_t copyNs) {
  LoaderVerdict verdict;
  const std::int64_t stall = std::max(waitNs, copyNs);
  if (!loader.workersKnown) {
    if (stall * 20 >= stepNs)
      verdict.bound = copyNs > waitNs ? LoaderBound::Copy : LoaderBound::Unknown;
    return verdict;
  }
  const std::int64_t batchNs = loader.batchNs() > 0 ? loader.batchNs() : waitNs;
  const std::int64_t rest = std::max<std::int64_t>(1, stepNs - waitNs);
  const std::int64_t inFlight = (batchNs + rest - 1) / rest;
  verdict.workersNeeded = static_cast<std::uint32_t>(std::clamp<std::int64_t>(inFlight, 1, 64));
  // One batch more than are being prepared lies ready.
  verdict.prefetchNeeded =
      (static_cast<std::uint32_t>(std::min<std::int64_t>(inFlight, 64)) + verdict.workersNeeded) /
      verdict.workersNeeded;
  if (!loader.present || stall * 20 < stepNs) return verdict;
  // An idle worker has nothing that would hold a batch up.
  const bool idle = loader.hasTimeToSpare();
  const std::int64_t computed = loader.stageNs[1] + loader.stageNs[2] + loader.stageNs[3];
  const bool computes =
      loader.cpuShare >= 0 ? loader.cpuShare >= 0.5 : computed > loader.stageNs[0];
  verdict.bound = copyNs > waitNs ? LoaderBound::Copy
                  : idle          ? LoaderBound::HandOver
                  : computes      ? LoaderBound::Computing
                                  : LoaderBound::Reading;
  return verdict;
}

prof::Result<LoaderStats> loaderStats(const Store& store, prof::TimeWindow window,
                                      const TableScope& scope) {
  LoaderStats stats;
  StageSums sums;
  std::unordered_map<std::uint64_t, int> roles;
  std::unordered_map<ThreadId, std::uint64_t> taken;
  std::unordered_map<ThreadId, TimeNs> waitsUntil;
  std::vector<ConsumerWait> waits;
  TimeNs firstNs = INT64_MAX, lastNs = INT64_MIN;
  bool allPrepareInWait = true;
  const auto status = store.scan<&Range::startNs, &Range::durNs, &Range::thread, &Range::domain,
                                 &Range::category, &Range::name>(
      window,
      [&](std::uint64_t, auto start, auto dur, auto thread, auto domain, auto category, auto name) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          const TimeNs from = std::max(start[i], window.startNs);
          const TimeNs to = std::min(start[i] + dur[i], window.endNs);
          if (!thread[i] || from >= to || !scope.only.holds(thread[i])) continue;
          const auto key = (std::uint64_t{category[i].value} << 32) | name[i].value;
          const auto [role, isNew] = roles.try_emplace(key, kNoStage);
          if (isNew) {
            role->second =
                roleOf(store.text(domain[i]), store.text(category[i]), store.text(name[i]));
            const bool isWait = role->second == kWait;
            allPrepareInWait = allPrepareInWait && (!isWait || preparesInWait(store.text(name[i])));
          }
          if (role->second == kNoStage) continue;
          stats.present = true;
          if (role->second == kWait || role->second == kChange) {
            // Programs put a range of their own around the framework's: that is one wait.
            TimeNs& until = waitsUntil.try_emplace(thread[i], INT64_MIN).first->second;
            const std::int64_t ns = std::max<TimeNs>(0, to - std::max(from, until));
            prof::addTo(stats.waitNs, ns);
            if (ns > 0) waits.push_back({thread[i], to - ns, to});
            if (scope.steps.hold(from)) prof::addTo(stats.stepWaitNs, ns);
            const bool takes = role->second == kWait && start[i] >= window.startNs && from >= until;
            taken[thread[i]] += takes ? 1 : 0;
            until = std::max(until, to);
          } else if (role->second == kPut) {
            prof::addTo(stats.blockedNs, to - from);
          } else {
            sums.add(thread[i], from, to - from, role->second);
            firstNs = std::min(firstNs, from);
            lastNs = std::max(lastNs, to);
          }
        }
      });
  if (!status) return status.error();
  stats.workersKnown = !stats.present || firstNs < lastNs || allPrepareInWait;
  sums.finish(store, taken, waits, scope.steps, stats);
  if (firstNs < lastNs) {
    // Nobody prepares anything while workers are started anew.
    stats.spanNs = std::max(lastNs - firstNs - stats.restartNs,
                            stats.busyNs / std::max<std::int64_t>(1, stats.workers));
  }
  stats.meanDepth = meanDepth(store, window, scope.only);
  const std::int64_t computed = computedNs(store, window, scope.only);
  if (computed >= 0 && stats.busyNs > 0)
    stats.cpuShare =
        std::min(1.0, static_cast<double>(computed) / static_cast<double>(stats.busyNs));
  return stats;
}

namespace of_loader {
namespace {

/// Share of the time with batches in work that the workers' threads wanted a core; -1 where that
/// was not recorded.
prof::Result<double> cpuShareOfWorkers(const Analysis& analysis) {
  const LoaderStats& stats = analysis.of<LoaderStats>();
  const auto wanted = wantedNs(*analysis.store, stats.workerThreads, analysis.window);
  if (!wanted || *wanted < 0) return wanted;
  return std::min(1.0, *wanted / static_cast<double>(stats.busyNs));
}

/// The same of a consumer that prepares its batches itself. Where it slept in the steps, it is
/// taken to have slept there.
prof::Result<double> cpuShareOfConsumer(const Analysis& analysis) {
  const auto steady = analysis.steps.steadyWithin(analysis.window);
  if (steady.empty()) return -1.0;
  const prof::TimeWindow window{steady.front().startNs, steady.back().endNs};
  const auto wanted = wantedNs(*analysis.store, std::array{analysis.steps.thread}, window);
  if (!wanted || *wanted < 0) return wanted;
  // Counters are of plain steps, too.
  const auto steps = static_cast<double>(steady.back().index - steady.front().index + 1);
  const double asleepNs = (static_cast<double>(window.endNs - window.startNs) - *wanted) / steps;
  const double waitNs = static_cast<double>(analysis.of<LoaderStats>().stepWaitNs) /
                        static_cast<double>(std::max<std::int64_t>(1, analysis.stepCount()));
  return waitNs <= 0 ? -1 : std::clamp(1 - asleepNs / waitNs, 0.0, 1.0);
}

/// Uses the counters of threads where the loader does not count its own time.
prof::Status addCpuShare(Analysis& analysis) {
  LoaderStats& stats = analysis.of<LoaderStats>();
  if (stats.cpuShare >= 0 || stats.busyNs <= 0) return {};
  const auto share = stats.workers > 0 ? cpuShareOfWorkers(analysis) : cpuShareOfConsumer(analysis);
  if (!share) return share.error();
  stats.cpuShare = *share;
  return {};
}

prof::Status compute(Analysis& analysis) {
  if (const auto kept =
          keep(analysis, loaderStats(*analysis.store, analysis.window, analysis.scope));
      !kept)
    return kept;
  return addCpuShare(analysis);
}

}  // namespace
}  // namespace of_loader

constinit const AnalysisPart parts::loader{
    .name = "loader",
    .compute = of_loader::compute,
};

namespace of_loader_verdict {
namespace {

constexpr std::array kInputs{&parts::loader};

prof::Status compute(Analysis& analysis) {
  const Ledger step = analysis.meanStepLedger();
  analysis.of<LoaderVerdict>() =
      analyzer::loaderVerdict(analysis.of<LoaderStats>(), analysis.meanStepNs(),
                              step[Cause::LoaderWait], step[Cause::ExposedCopy]);
  return {};
}

}  // namespace
}  // namespace of_loader_verdict

constinit const AnalysisPart parts::loaderVerdict{
    .name = "loader verdict",
    .inputs = of_loader_verdict::kInputs,
    .compute = of_loader_verdict::compute,
};

}  // namespace lacuna::analyzer
