// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/ranks/ranks.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analyses/parts.h"
#include "lacuna/analyzer/ledger.h"
#include "lacuna/analyzer/links.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

constexpr std::size_t kLatestKept = 20;

/// Time that any of several windows covers. Collectives of one rank may wait side by side, and are
/// over together.
class Windows {
 public:
  void add(prof::TimeNs fromNs, std::int64_t durNs) {
    if (durNs > 0) windows_.push_back({fromNs, fromNs + durNs});
  }
  [[nodiscard]] std::int64_t length() {
    std::ranges::sort(windows_, {}, &prof::TimeWindow::startNs);
    std::int64_t sum = 0;
    prof::TimeNs until = INT64_MIN;
    for (const prof::TimeWindow& window : windows_) {
      const prof::TimeNs from = std::max(window.startNs, until);
      prof::addTo(sum, std::max<std::int64_t>(0, window.endNs - from));
      until = std::max(until, window.endNs);
    }
    return sum;
  }

 private:
  std::vector<prof::TimeWindow> windows_;
};

/// The waits of a rank, while its row is being made.
struct Waits {
  Windows inSteps, heldUp, stepHeldUp, stepAlone;
};

/// The same collective as its ranks saw it.
void account(const std::vector<const CollectiveCall*>& calls, RankStats& stats,
             std::map<std::int32_t, RankRow>& rows, std::map<std::int32_t, Waits>& waits) {
  std::vector<const CollectiveCall*> byStart = calls;
  std::ranges::stable_sort(byStart, {}, &CollectiveCall::startNs);
  // The first in the list of those that enter last.
  const CollectiveCall* last =
      *std::ranges::lower_bound(byStart, byStart.back()->startNs, {}, &CollectiveCall::startNs);
  // A rank that leaves before the last one enters, as a send that is buffered may, waits no longer.
  const auto waitOf = [&](const CollectiveCall* call) {
    return std::min(last->startNs, call->endNs) - call->startNs;
  };
  // The earlier of two middle ones: of two ranks, the one that was not late.
  const CollectiveCall* middle = byStart[(byStart.size() - 1) / 2];
  for (const CollectiveCall* call : calls) {
    RankRow& row = rows[call->rank];
    ++row.collectives;
    prof::addTo(row.waitNs, waitOf(call));
    prof::addTo(row.transferNs, call->endNs - call->startNs - waitOf(call));
    if (call->inSteps) waits[call->rank].inSteps.add(call->startNs, waitOf(call));
  }
  ++stats.matched;
  ++rows[last->rank].last;
  Waits& late = waits[last->rank];
  late.heldUp.add(middle->startNs, waitOf(middle));
  // Without this rank the others wait for the next-latest one all the same.
  const CollectiveCall* next = nullptr;
  for (const CollectiveCall* call : byStart) next = call == last ? next : call;
  if (last->inSteps) late.stepHeldUp.add(middle->startNs, waitOf(middle));
  if (last->inSteps && next != nullptr)
    late.stepAlone.add(std::max(next->startNs, middle->startNs),
                       std::min(waitOf(next), waitOf(middle)));
  stats.latest.push_back(
      {middle->startNs, middle->startNs + waitOf(middle), last->rank, last->device, last->queue});
}

/// A rank's own cost of recording is in its devices' ledgers. While it waits for another rank, that
/// one's cost counts.
void bandRanks(RankStats& ranks, const std::vector<DeviceAccount>& devices) {
  std::unordered_map<std::int32_t, Ledger> costs;
  for (const DeviceAccount& device : devices) costs[device.rank] += device.bands;
  for (RankRow& row : ranks.rows) {
    std::int64_t others = 0;
    for (const auto& [rank, cost] : costs) {
      if (rank != row.rank) others = std::max(others, cost.totalNs());
    }
    const Ledger& own = costs[row.rank];
    row.waitRecordingNs = std::min(row.waitNs, others);
    row.transferRecordingNs = std::min(row.transferNs, own[Cause::ExposedCommunication]);
    row.heldUpRecordingNs = std::min(row.heldUpNs, own.totalNs());
    row.computeRecordingNs = std::min(row.computeNs, own[Cause::Compute]);
  }
}

}  // namespace

double RankStats::waitShare() const {
  std::int64_t wait = 0, transfer = 0;
  for (const RankRow& row : rows) {
    prof::addTo(wait, row.waitNs);
    prof::addTo(transfer, row.transferNs);
  }
  return wait + transfer == 0 ? 0
                              : static_cast<double>(wait) / static_cast<double>(wait + transfer);
}

RankStats rankStats(std::vector<CollectiveCall> calls) {
  RankStats stats;
  std::erase_if(calls, [](const CollectiveCall& call) { return call.rank < 0; });
  std::map<std::string_view, std::map<std::int32_t, std::vector<const CollectiveCall*>>> groups;
  std::map<std::int32_t, RankRow> rows;
  std::map<std::int32_t, Waits> waits;
  std::sort(calls.begin(), calls.end(),
            [](const CollectiveCall& a, const CollectiveCall& b) { return a.startNs < b.startNs; });
  for (const CollectiveCall& call : calls) {
    groups[call.group][call.rank].push_back(&call);
    rows[call.rank].rank = call.rank;
  }
  if (rows.size() < 2) return stats;
  for (const auto& [group, ranks] : groups) {
    const std::size_t count = ranks.begin()->second.size();
    const bool even =
        ranks.size() > 1 && std::all_of(ranks.begin(), ranks.end(),
                                        [&](const auto& r) { return r.second.size() == count; });
    for (const auto& [rank, list] : ranks) stats.unmatched += even ? 0 : list.size();
    for (std::size_t k = 0; even && k < count; ++k) {
      std::vector<const CollectiveCall*> same;
      for (const auto& [rank, list] : ranks) same.push_back(list[k]);
      account(same, stats, rows, waits);
    }
  }
  std::sort(stats.latest.begin(), stats.latest.end(), [](const LateEntry& a, const LateEntry& b) {
    return a.toNs - a.fromNs > b.toNs - b.fromNs;
  });
  if (stats.latest.size() > kLatestKept) stats.latest.resize(kLatestKept);
  for (auto& [rank, row] : rows) {
    Waits& of = waits[rank];
    row.stepWaitNs = of.inSteps.length();
    row.heldUpNs = of.heldUp.length();
    row.stepHeldUpNs = of.stepHeldUp.length();
    row.stepAloneNs = of.stepAlone.length();
    stats.rows.push_back(std::move(row));
  }
  return stats;
}

prof::Result<RankStats> rankStats(const Store& store, prof::TimeWindow window,
                                  std::span<const DeviceAccount> devices, const StepSpans& steps) {
  std::unordered_map<prof::QueueId, const DeviceAccount*> deviceOf;
  for (const DeviceAccount& device : devices) {
    for (const QueueAccount& queue : device.queues) {
      if (device.rank >= 0) deviceOf[queue.id] = &device;
    }
  }
  if (deviceOf.empty()) return RankStats();
  auto found = listCollectives(store, window);
  if (!found) return found.error();
  std::set<std::string> groups;
  std::vector<CollectiveCall> calls;
  for (const Collective& one : found->calls) {
    const auto device = deviceOf.find(one.queue);
    if (device == deviceOf.end()) continue;
    std::string group(store.text(one.name));
    const Communicator& among = found->communicatorOf(one);
    group.append(1, '\n').append(among.group).append(1, '\n').append(among.name);
    calls.push_back({one.startNs, one.endNs, device->second->rank,
                     *groups.insert(std::move(group)).first, steps.hold(one.startNs),
                     device->second->id, one.queue});
  }
  RankStats stats = rankStats(std::move(calls));
  std::int64_t most = 0, sum = 0;
  for (RankRow& row : stats.rows) {
    for (const DeviceAccount& device : devices) {
      if (device.rank != row.rank) continue;
      row.device = device.label;
      row.computeNs += device.ledger[Cause::Compute];
    }
    most = std::max(most, row.computeNs);
    prof::addTo(sum, row.computeNs);
  }
  if (sum > 0)
    stats.imbalance = static_cast<double>(most) * static_cast<double>(stats.rows.size()) /
                          static_cast<double>(sum) -
                      1;
  return stats;
}

namespace of_ranks {
namespace {

prof::Status compute(Analysis& analysis) {
  auto stats = rankStats(*analysis.store, analysis.window, analysis.devices, analysis.scope.steps);
  if (stats) bandRanks(*stats, analysis.devices);
  return keep(analysis, std::move(stats));
}

}  // namespace
}  // namespace of_ranks

constinit const AnalysisPart parts::ranks{
    .name = "ranks",
    .compute = of_ranks::compute,
};

}  // namespace lacuna::analyzer
