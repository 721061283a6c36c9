// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/graph_replays.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analyses/time/mean_step.h"
#include "analyses/work/recorded_work.h"
#include "analyses/work/replay_collector.h"
#include "lacuna/prof/bounds.h"
#include "links/graph_nodes.h"

namespace lacuna::analyzer {
namespace {

using prof::ProcessId;
using prof::QueueId;
using prof::StringId;
using prof::ThreadId;
using prof::TimeNs;
using prof::TimeWindow;

/// With more kinds of replays than this nobody looks for kinds that are parts of others.
constexpr std::size_t kMostKinds = 1000;

/// Graphs that the driver does not number: replays with the same work are of one.
struct ReplayKind {
  ProcessId process;
  std::vector<StringId> names;  ///< of the work, sorted
  std::vector<std::size_t> replays;
  std::int64_t workNs = 0;  ///< of all replays
  std::size_t graph = 0;

  [[nodiscard]] std::int64_t meanNs() const {
    return workNs / static_cast<std::int64_t>(replays.size());
  }
};

class ReplayJudge {
 public:
  ReplayJudge(const Store& store, ReplayCollector& collected)
      : store_(store), nodes_(store.links().graphNodes()), in_(collected) {}

  prof::Result<GraphReplays> run() {
    if (auto status = nodes_.findCalls(store_); !status) return status.error();
    countRecorded();
    groupIdentified();
    groupByNames();
    for (std::size_t i = 0; i < in_.replays.size(); ++i) {
      if (auto status = judge(i); !status) return status.error();
    }
    finish();
    return std::move(out_);
  }

 private:
  void countRecorded();
  void groupIdentified();
  void groupByNames();
  void findFullerKinds();
  std::size_t addGraph(ProcessId process, std::uint32_t id, std::uint64_t nodes);
  std::size_t graphOfEmpty(ProcessId process);
  [[nodiscard]] QueueId usualQueue(const GraphReplay& replay, const RecordedWork& recorded) const;
  prof::Result<const RecordedWork*> recordedOf(ProcessId process);

  prof::Status judge(std::size_t at);
  void judgeEmpty(GraphReplay& replay, const RecordedWork& recorded);
  void judgeAgainst(GraphReplay& replay, const ReplayKind& fuller, const RecordedWork& recorded);
  void place(std::size_t at, TimeWindow stretch, const RecordedWork& recorded);
  [[nodiscard]] bool isPart(std::size_t at, bool isBegin);
  [[nodiscard]] const std::unordered_map<std::uint64_t, TimeNs>& orderOf(std::size_t graph);
  void finish();

  const Store& store_;
  GraphNodes nodes_;
  ReplayCollector& in_;
  GraphReplays out_;
  std::vector<bool> leftOut_;  ///< by replay: nobody can say what it should have
  std::vector<ReplayKind> kinds_;
  std::unordered_map<std::size_t, std::size_t>
      fullerKind_;  ///< by replay: a kind that it may be the rest of
  std::map<ProcessId, RecordedWork> recorded_;
  std::unordered_map<std::size_t, std::vector<std::size_t>> replaysOf_;                ///< by graph
  std::unordered_map<std::size_t, std::unordered_map<std::uint64_t, TimeNs>> orders_;  ///< by graph
  std::map<ThreadId, std::map<QueueId, std::uint64_t>> queues_;
};

/// A node of a loop works several times in a replay, and counts once.
std::uint64_t distinctPieces(std::span<const ReplayedWork> work) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < work.size(); ++i)
    count += work[i].node == 0 || i == 0 || work[i].node != work[i - 1].node;
  return count;
}

void addQueueOnce(std::vector<QueueId>& queues, QueueId queue) {
  if (std::ranges::find(queues, queue) == queues.end()) queues.push_back(queue);
}

void ReplayJudge::countRecorded() {
  leftOut_.assign(in_.replays.size(), false);
  for (std::size_t i = 0; i < in_.replays.size(); ++i) {
    GraphReplay& replay = in_.replays[i];
    replay.recorded = distinctPieces(in_.workOf(i));
    if (replay.recorded > 0 && replay.hasCall()) ++queues_[replay.thread][replay.queue];
  }
}

std::size_t ReplayJudge::addGraph(ProcessId process, std::uint32_t id, std::uint64_t nodes) {
  out_.graphs.push_back({.process = process, .id = id, .nodes = nodes});
  return out_.graphs.size() - 1;
}

/// A graph has the nodes that any of its replays has, and those that were copied together with
/// them. Where they are not numbered, it has as many as the fullest.
void ReplayJudge::groupIdentified() {
  std::unordered_map<std::uint32_t, std::size_t> graphs;
  std::unordered_map<std::size_t, std::unordered_set<std::uint64_t>> nodes;
  std::unordered_map<std::size_t, std::uint64_t> unnumbered;
  for (std::size_t i = 0; i < in_.replays.size(); ++i) {
    if (!in_.isIdentified(i)) continue;
    GraphReplay& replay = in_.replays[i];
    const std::uint32_t same = in_.sameGraph(static_cast<std::uint32_t>(i));
    const auto [graph, isNew] = graphs.try_emplace(same, out_.graphs.size());
    if (isNew) addGraph(replay.process, in_.graphIdOf(i), 0);
    replay.graph = graph->second;
    replaysOf_[replay.graph].push_back(i);
    std::uint64_t others = 0;
    for (const ReplayedWork& piece : in_.workOf(i)) {
      addQueueOnce(out_.graphs[replay.graph].queues, piece.queue);
      if (piece.node != 0 && nodes[replay.graph].insert(piece.node).second) {
        const auto& copies = nodes_.copiedWith(replay.process, piece.node);
        nodes[replay.graph].insert(copies.begin(), copies.end());
      }
      others += piece.node == 0;
    }
    unnumbered[replay.graph] = std::max(unnumbered[replay.graph], others);
  }
  for (auto& [graph, most] : unnumbered) out_.graphs[graph].nodes = nodes[graph].size() + most;
  for (std::size_t i = 0; i < in_.replays.size(); ++i) {
    GraphReplay& replay = in_.replays[i];
    if (in_.isIdentified(i)) replay.missing = out_.graphs[replay.graph].nodes - replay.recorded;
  }
}

void ReplayJudge::groupByNames() {
  std::map<std::pair<ProcessId, std::vector<StringId>>, std::size_t> kinds;
  for (std::size_t i = 0; i < in_.replays.size(); ++i) {
    GraphReplay& replay = in_.replays[i];
    if (in_.isIdentified(i) || replay.recorded == 0) continue;
    std::vector<StringId> names;
    for (const ReplayedWork& piece : in_.workOf(i)) names.push_back(piece.name);
    std::ranges::sort(names);
    const auto [kind, isNew] = kinds.try_emplace({replay.process, names}, kinds_.size());
    if (isNew)
      kinds_.push_back(
          {replay.process, std::move(names), {}, 0, addGraph(replay.process, 0, replay.recorded)});
    ReplayKind& own = kinds_[kind->second];
    own.replays.push_back(i);
    prof::addTo(own.workNs, replay.workNs);
    replay.graph = own.graph;
    for (const ReplayedWork& piece : in_.workOf(i))
      addQueueOnce(out_.graphs[own.graph].queues, piece.queue);
  }
  if (kinds_.size() <= kMostKinds) findFullerKinds();
}

/// A replay may be what is left of one of another kind. It then has a part of that kind's work,
/// which is more frequent, and is the only one with just this part or has less than half.
void ReplayJudge::findFullerKinds() {
  for (const ReplayKind& part : kinds_) {
    const ReplayKind* best = nullptr;
    for (const ReplayKind& kind : kinds_) {
      if (kind.process != part.process || kind.replays.size() <= part.replays.size() ||
          kind.names.size() <= part.names.size())
        continue;
      const bool isFew = 2 * part.names.size() < kind.names.size();
      if ((part.replays.size() > 1 && !isFew) || !std::ranges::includes(kind.names, part.names))
        continue;
      if (best == nullptr || kind.replays.size() > best->replays.size()) best = &kind;
    }
    if (best == nullptr) continue;
    for (const std::size_t replay : part.replays)
      fullerKind_[replay] = static_cast<std::size_t>(best - kinds_.data());
  }
}

/// The graph of a launch without any work: the only one of its process, else one that is not known.
std::size_t ReplayJudge::graphOfEmpty(ProcessId process) {
  std::optional<std::size_t> only, unknown;
  std::size_t known = 0;
  for (std::size_t i = 0; i < out_.graphs.size(); ++i) {
    if (out_.graphs[i].process != process) continue;
    if (out_.graphs[i].nodes == 0) {
      unknown = i;
    } else {
      only = i;
      ++known;
    }
  }
  if (known == 1) return *only;
  return unknown ? *unknown : addGraph(process, 0, 0);
}

QueueId ReplayJudge::usualQueue(const GraphReplay& replay, const RecordedWork& recorded) const {
  const auto found = queues_.find(replay.thread);
  if (found == queues_.end()) return recorded.busiest();
  return std::ranges::max_element(found->second, {}, [](const auto& entry) { return entry.second; })
      ->first;
}

prof::Result<const RecordedWork*> ReplayJudge::recordedOf(ProcessId process) {
  auto found = recorded_.find(process);
  if (found == recorded_.end()) {
    auto read = RecordedWork::read(store_, process);
    if (!read) return read.error();
    found = recorded_.emplace(process, *std::move(read)).first;
  }
  return &found->second;
}

prof::Status ReplayJudge::judge(std::size_t at) {
  GraphReplay& replay = in_.replays[at];
  const auto fuller = fullerKind_.find(at);
  if (replay.missing == 0 && replay.recorded > 0 && fuller == fullerKind_.end()) return {};
  const auto recorded = recordedOf(replay.process);
  if (!recorded) return recorded.error();
  if (replay.recorded == 0) judgeEmpty(replay, **recorded);
  if (fuller != fullerKind_.end()) judgeAgainst(replay, kinds_[fuller->second], **recorded);
  if (replay.missing > 0) {
    place(at, (*recorded)->stretchOf(replay), **recorded);
  } else if (replay.recorded == 0) {
    leftOut_[at] = true;
  }
  return {};
}

/// A graph does something. Where nothing of it was recorded, it is missing; unless work without a
/// launch may be its.
void ReplayJudge::judgeEmpty(GraphReplay& replay, const RecordedWork& recorded) {
  replay.queue = usualQueue(replay, recorded);
  if (recorded.empty() || recorded.hasUnlinkedIn(recorded.stretchOf(replay))) return;
  replay.graph = graphOfEmpty(replay.process);
  replay.missing = std::max<std::uint64_t>(1, out_.graphs[replay.graph].nodes);
}

/// A smaller graph looks like a part of a larger one. But work that ran unseen leaves a hole, and
/// where the device did not idle as long as the rest would take, it did not run.
void ReplayJudge::judgeAgainst(GraphReplay& replay, const ReplayKind& fuller,
                               const RecordedWork& recorded) {
  const TimeWindow stretch = recorded.stretchOf(replay);
  if (recorded.isOpen(stretch) ||
      recorded.idleNs(replay.queue, stretch) < fuller.meanNs() - replay.workNs)
    return;
  replay.missing = fuller.names.size() - replay.recorded;
  replay.graph = fuller.graph;
}

/// When the nodes of a graph begin, in a replay that has them all.
const std::unordered_map<std::uint64_t, TimeNs>& ReplayJudge::orderOf(std::size_t graph) {
  const auto [order, isNew] = orders_.try_emplace(graph);
  if (!isNew) return order->second;
  for (const std::size_t replay : replaysOf_[graph]) {
    if (in_.replays[replay].missing > 0) continue;
    for (const ReplayedWork& piece : in_.workOf(replay))
      order->second.try_emplace(piece.node, piece.startNs);
    break;
  }
  return order->second;
}

/// True where what was recorded of a replay may be just its begin, or just its end.
bool ReplayJudge::isPart(std::size_t at, bool isBegin) {
  const auto& order = orderOf(in_.replays[at].graph);
  std::set<std::uint64_t> present;
  for (const ReplayedWork& piece : in_.workOf(at)) present.insert(piece.node);
  TimeWindow have{INT64_MAX, INT64_MIN}, lack{INT64_MAX, INT64_MIN};
  for (const auto& [node, start] : order) {
    TimeWindow& side = present.contains(node) ? have : lack;
    side = {std::min(side.startNs, start), std::max(side.endNs, start)};
  }
  return isBegin ? have.endNs <= lack.startNs : lack.endNs <= have.startNs;
}

/// Shows where the missing work may have run.
void ReplayJudge::place(std::size_t at, TimeWindow stretch, const RecordedWork& recorded) {
  GraphReplay& replay = in_.replays[at];
  replay.state = ReplayState::UnderRecorded;
  if (recorded.isOpen(stretch) && isPart(at, true)) {
    replay.state = ReplayState::Cut;
    stretch.startNs = std::max(stretch.startNs, replay.lastNs);
  } else if (!replay.hasCall() && recorded.beginsWith(replay) && isPart(at, false)) {
    replay.state = ReplayState::Cut;
    stretch = {recorded.span().startNs, replay.firstNs};
  }
  std::vector<QueueId> queues = out_.graphs[replay.graph].queues;
  addQueueOnce(queues, replay.queue);
  for (const QueueId queue : queues) {
    out_.unrecorded.push_back({.startNs = stretch.startNs,
                               .endNs = stretch.endNs,
                               .correlation = replay.correlation,
                               .queue = queue,
                               .name = {},
                               .work = Work::Unrecorded});
  }
}

void ReplayJudge::finish() {
  for (std::size_t i = 0; i < in_.replays.size(); ++i) {
    if (leftOut_[i]) continue;
    const GraphReplay& replay = in_.replays[i];
    ReplayedGraph& graph = out_.graphs[replay.graph];
    ++graph.replays;
    graph.underRecorded += replay.state == ReplayState::UnderRecorded;
    graph.cut += replay.state == ReplayState::Cut;
    if (replay.state == ReplayState::UnderRecorded) graph.missing += replay.missing;
    out_.replays.push_back(replay);
  }
  std::ranges::stable_sort(out_.replays, {}, &GraphReplay::launchNs);
  std::ranges::sort(out_.unrecorded, {}, [](const DeviceSpan& span) {
    return std::tuple(span.startNs, span.queue, span.endNs, span.correlation);
  });
  TimeNs latest = INT64_MIN;
  for (const DeviceSpan& span : out_.unrecorded)
    out_.latestEnds.push_back(latest = std::max(latest, span.endNs));
}

}  // namespace

std::uint64_t GraphReplays::underRecorded() const {
  std::uint64_t sum = 0;
  for (const ReplayedGraph& graph : graphs) sum += graph.underRecorded;
  return sum;
}

std::uint64_t GraphReplays::missing() const {
  std::uint64_t sum = 0;
  for (const ReplayedGraph& graph : graphs) sum += graph.missing;
  return sum;
}

bool GraphReplays::lacksWorkIn(TimeWindow window) const {
  const auto behind = std::ranges::lower_bound(unrecorded, window.endNs, {}, &DeviceSpan::startNs);
  const auto before = static_cast<std::size_t>(behind - unrecorded.begin());
  return before > 0 && latestEnds[before - 1] > window.startNs;
}

std::vector<DeviceSpan> GraphReplays::unrecordedNear(TimeWindow window) const {
  const TimeNs untilNs = window.endNs + (window.endNs - window.startNs) / 8;
  std::vector<DeviceSpan> near;
  std::ranges::copy_if(unrecorded, std::back_inserter(near), [&](const DeviceSpan& span) {
    return span.startNs < untilNs && span.endNs > window.startNs;
  });
  return near;
}

Ledger knownMeanStep(const Analysis& analysis) {
  Ledger known = analysis.meanStepLedger();
  const GraphReplays& replays = analysis.of<GraphReplays>();
  if (replays.unknownOfSteps.size() != analysis.steps.all.size()) return known;
  const Ledger unknown = meanOf(analysis, replays.unknownOfSteps, replays.unknownOfRun);
  known.add(Cause::Unknown, -std::min(unknown[Cause::Unknown], known[Cause::Unknown]));
  return known;
}

prof::Result<GraphReplays> findGraphReplays(const Store& store) {
  ReplayCollector collected(store);
  if (auto status = collected.run(); !status) return status.error();
  return ReplayJudge(store, collected).run();
}

}  // namespace lacuna::analyzer
