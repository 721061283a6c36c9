// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/edits.h"

#include <algorithm>

#include "lacuna/analyzer/text.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {

namespace {

/// Host work in front of a launch that takes so many times the usual is not for the launch alone.
constexpr std::int64_t kOwnWork = 10;

}  // namespace

double pick(const DurationFactor& factor, Bound bound) {
  return bound == Bound::Likely ? factor.likely : bound == Bound::Low ? factor.low : factor.high;
}

bool isNamed(const Change& change, std::string_view name) {
  return change.exact ? name == change.pattern : matchesPattern(name, change.pattern);
}

std::int64_t scaled(std::int64_t ns, double factor) {
  return prof::wholeOf<std::int64_t>(static_cast<double>(ns) * factor);
}

void removeLaunch(Scenario& scenario, HostItem& item) {
  scenario.removed[item.node] = 1;
  scenario.nodes[item.node].durNs = 0;
  const std::int64_t usualNs = scenario.base->usualGapNs;
  item.gapNs =
      item.gapNs > kOwnWork * std::max<std::int64_t>(1, usualNs) ? item.gapNs - usualNs : 0;
  item.driverNs = std::min(item.driverNs, item.gapNs);
  item.durNs = 0;
}

void scaleLoader(Scenario& scenario, double factor) {
  for (HostItem& item : scenario.items) {
    if (item.kind != HostItemKind::LoaderWait) continue;
    item.periodNs = scaled(item.periodNs, factor);
    // Behind a batch that came late, only handing it over is left of the wait.
    item.durNs = scaled(item.durNs, factor);
  }
  LoaderModel& loader = scenario.loader;
  loader.batchNs = std::max<std::int64_t>(1, scaled(loader.batchNs, factor));
  // A worker that prepares the next batch is slow to hand the last one over.
  loader.handoverNs = loader.idleHandoverNs +
                      scaled(loader.handoverNs - loader.idleHandoverNs, std::min(1.0, factor));
}

void playLoader(Scenario& scenario) {
  scenario.loader.serial = scenario.loader.workers == 0;
  scenario.pipelined = scenario.loader.canBePlayed();
  scenario.touched = scenario.pipelined;
}

namespace {

void shortenWork(DeviceNode& node, std::size_t kind, double factor) {
  const std::int64_t ns = std::min(node.durNs, node.avoidableNs[kind]);
  prof::addTo(node.durNs, scaled(ns, factor) - ns);
}

}  // namespace

void scaleAvoidableWork(Scenario& scenario, AvoidableWork kind, double factor) {
  const auto at = static_cast<std::size_t>(kind);
  for (HostItem& item : scenario.items) {
    const std::int64_t ns = std::min(item.gapNs, item.avoidableNs[at]);
    prof::addTo(item.gapNs, scaled(ns, factor) - ns);
    item.driverNs = std::min(item.driverNs, item.gapNs);
    if ((item.avoidable >> at & 1) == 0) {
      if (item.kind == HostItemKind::Launch) shortenWork(scenario.nodes[item.node], at, factor);
      continue;
    }
    if (item.kind == HostItemKind::Launch && factor == 0) {
      const std::int64_t before = item.gapNs;
      removeLaunch(scenario, item);
      item.gapNs = before;
    } else if (item.kind == HostItemKind::Launch) {
      item.durNs = scaled(item.durNs, factor);
      scenario.nodes[item.node].durNs = scaled(scenario.nodes[item.node].durNs, factor);
    } else {
      if (factor == 0) item.node = kNowhere;
      item.durNs = scaled(item.durNs, factor);
    }
  }
}

}  // namespace lacuna::analyzer
