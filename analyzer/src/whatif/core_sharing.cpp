// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/core_sharing.h"

#include <algorithm>
#include <cmath>

#include "whatif/edits.h"

namespace lacuna::analyzer {
namespace {

/// Workers that share cores are busy for longer, and so share more. Each round halves the range of
/// the share of time that they are busy.
constexpr int kRounds = 24;

/// The share of a core that each of so many threads gets.
double coreShare(double cores, double threads) {
  return threads <= cores ? 1 : cores / threads;
}

/// The mean of `rate(n)` where each of `workers` computes for a share of the time, independently of
/// the others.
template <class Rate>
double meanRate(std::uint32_t workers, double busyShare, Rate&& rate) {
  const double p = std::clamp(busyShare, 0.0, 1.0);
  if (p == 0 || workers == 0) return rate(0u);
  if (p == 1) return rate(workers);
  double sum = 0;
  const double all = std::lgamma(workers + 1.0);
  for (std::uint32_t n = 0; n <= workers; ++n) {
    const double logOfChance = all - std::lgamma(n + 1.0) - std::lgamma(workers - n + 1.0) +
                               n * std::log(p) + (workers - n) * std::log1p(-p);
    sum += std::exp(logOfChance) * rate(n);
  }
  return sum;
}

struct Sums {
  double hostNs = 0;
  double workNs = 0;
  double batches = 0;
};

/// The sums of a mean step.
Sums sumsOf(const Simulator::Model& model, const std::vector<HostItem>& items,
            const std::vector<DeviceNode>& nodes, const std::vector<char>* removed) {
  Sums sums;
  for (const HostItem& item : items) {
    sums.hostNs += static_cast<double>(item.gapNs);
    if (item.kind == HostItemKind::LoaderWait) ++sums.batches;
    if (item.kind != HostItemKind::Launch) continue;
    sums.hostNs += static_cast<double>(item.durNs);
    if (model.queueCores > 0 && (removed == nullptr || (*removed)[item.node] == 0))
      sums.workNs += static_cast<double>(nodes[item.node].durNs);
  }
  const auto steps = static_cast<double>(model.steps);
  return {sums.hostNs / steps, sums.workNs / steps, sums.batches / steps};
}

}  // namespace

Stretch stretchOf(const CoreDemand& demand) {
  const double cores = demand.cores;
  const double team = std::max(1u, demand.team);
  const auto single = [&](std::uint32_t busy) { return coreShare(cores, 1.0 + busy); };
  const auto together = [&](std::uint32_t busy) {
    return team < 2 ? single(busy) : std::pow(coreShare(cores, team + busy), demand.teamPower);
  };
  const double host = meanRate(demand.workers, demand.busyShare, single);
  const double withTeam = meanRate(demand.workers, demand.busyShare, together);
  const double idleShare = std::max(0.0, 1 - demand.teamShare - demand.singleShare);
  const std::uint32_t others = std::max(1u, demand.workers) - 1;
  const double batch = meanRate(others, demand.busyShare, [&](std::uint32_t busy) {
    return demand.teamShare * coreShare(cores, team + 1 + busy) +
           demand.singleShare * coreShare(cores, 2.0 + busy) +
           idleShare * coreShare(cores, 1.0 + busy);
  });
  // The parts of the work that one thread computes take longer by its rate, the others by the
  // team's.
  const double work = demand.teamOfWork / withTeam + (1 - demand.teamOfWork) / host;
  return {.host = 1 / host, .work = work, .batch = 1 / batch};
}

bool CoreSharing::applies(const Scenario& scenario) {
  return scenario.pipelined && scenario.base->hostCores > 0 && scenario.loader.cpuShare > 0 &&
         scenario.base->measured.typicalNs() > 0;
}

double CoreSharing::teamPower(Bound bound) {
  // Two threads coincide. At least each only shares its core; the cube is above all products that
  // were measured but one.
  constexpr double kLikely = 2, kLeast = 1, kMost = 3;
  return bound == Bound::Likely ? kLikely : bound == Bound::Low ? kLeast : kMost;
}

CoreSharing::CoreSharing(const Scenario& scenario)
    : cores_(scenario.base->hostCores),
      team_(std::max(1u, scenario.base->queueCores)),
      teamOfWork_(scenario.base->teamOfWork),
      power_(teamPower(scenario.bound)) {
  const Simulator::Model& base = *scenario.base;
  const auto computing = [](const LoaderModel& loader) {
    return static_cast<double>(loader.batchNs) * std::clamp(loader.cpuShare, 0.0, 1.0);
  };
  const Sums before = sumsOf(base, base.items, base.nodes, nullptr);
  const bool hadWorkers = !base.loader.serial;
  const Load was{.hostNs = before.hostNs,
                 .workNs = before.workNs,
                 .batchNs = hadWorkers ? before.batches * computing(base.loader) : 0,
                 .workers = hadWorkers ? base.loader.workers : 0};
  recorded_ = stretchOf(demandOf(was, static_cast<double>(base.measured.typicalNs())));
  const Sums after = sumsOf(base, scenario.items, scenario.nodes, &scenario.removed);
  alone_ = {.hostNs = after.hostNs / recorded_.host,
            .workNs = after.workNs / recorded_.work,
            .batchNs = after.batches * computing(scenario.loader) / recorded_.batch,
            .workers = scenario.loader.workers};
}

/// `load` is in the time that its parts take, whoever they share cores with.
CoreDemand CoreSharing::demandOf(const Load& load, double stepNs) const {
  CoreDemand demand{.cores = cores_,
                    .workers = load.workers,
                    .team = team_,
                    .teamOfWork = teamOfWork_,
                    .teamPower = power_};
  if (load.workers > 0) demand.busyShare = std::min(1.0, load.batchNs / stepNs / load.workers);
  demand.teamShare = team_ < 2 ? 0 : std::min(1.0, load.workNs * teamOfWork_ / stepNs);
  demand.singleShare =
      std::min(1 - demand.teamShare, (load.hostNs + load.workNs) / stepNs - demand.teamShare);
  return demand;
}

Stretch CoreSharing::alone() const {
  return {1 / recorded_.host, 1 / recorded_.work, 1 / recorded_.batch};
}

double CoreSharing::wantedCores(std::int64_t stepNs) const {
  const CoreDemand demand = demandOf(alone_, std::max(1.0, static_cast<double>(stepNs)));
  return demand.teamShare * demand.team + demand.singleShare + demand.busyShare * demand.workers;
}

Stretch CoreSharing::against(std::int64_t stepNs) const {
  const double step = std::max(1.0, static_cast<double>(stepNs));
  CoreDemand demand = demandOf(alone_, step);
  const auto withBusy = [&](double busyShare) {
    demand.busyShare = busyShare;
    const Stretch first = stretchOf(demand);
    Load load = alone_;
    load.hostNs *= first.host;
    load.workNs *= first.work;
    demand = demandOf(load, step);
    demand.busyShare = busyShare;
    return stretchOf(demand);
  };
  const double aloneShare = alone_.workers == 0 ? 0 : alone_.batchNs / step / alone_.workers;
  double least = 0, most = 1;
  Stretch now = withBusy(most);
  if (aloneShare * now.batch < 1) {
    for (int round = 0; round < kRounds; ++round) {
      const double busy = (least + most) / 2;
      now = withBusy(busy);
      (aloneShare * now.batch > busy ? least : most) = busy;
    }
  }
  return {now.host / recorded_.host, now.work / recorded_.work, now.batch / recorded_.batch};
}

Scenario stretched(const Scenario& scenario, const Stretch& by) {
  Scenario out = scenario;
  for (HostItem& item : out.items) {
    item.gapNs = scaled(item.gapNs, by.host);
    if (item.kind == HostItemKind::Launch) item.durNs = scaled(item.durNs, by.host);
  }
  if (scenario.base->queueCores > 0) {
    for (DeviceNode& node : out.nodes) node.durNs = scaled(node.durNs, by.work);
  }
  const double computes = std::clamp(scenario.loader.cpuShare, 0.0, 1.0);
  out.loader.batchNs = scaled(scenario.loader.batchNs, 1 - computes + computes * by.batch);
  return out;
}

}  // namespace lacuna::analyzer
