// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/replay.h"
#include "lacuna/prof/bounds.h"

#include <algorithm>

namespace lacuna::analyzer {
namespace {

/// Before any time of a replay, with room to subtract.
constexpr std::int64_t kLongAgo = INT64_MIN / 2;

}  // namespace

LoaderLine::LoaderLine(const Scenario& scenario)
    : scenario_(scenario), free_(std::max(1u, scenario.loader.workers), kLongAgo) {}

std::int64_t LoaderLine::take(const HostItem& item, std::int64_t now) {
  if (!scenario_.pipelined) return recorded(item, now);
  const LoaderModel& loader = scenario_.loader;
  const std::size_t ahead = std::size_t{loader.workers} * loader.prefetch;
  std::int64_t begin = taken_.size() < ahead ? kLongAgo / 2 : taken_[taken_.size() - ahead];
  auto& worker = *std::min_element(free_.begin(), free_.end());
  if (item.beginsEpoch) epochBeganAt_ = now;
  begin = std::max({begin, worker, epochBeganAt_});
  worker = begin + loader.batchNs;
  const std::int64_t has = std::max(now, worker) + loader.handoverNs;
  taken_.push_back(has);
  return has;
}

std::int64_t LoaderLine::recorded(const HostItem& item, std::int64_t now) {
  const std::int64_t arrives = now + item.durNs;
  ready_ = item.periodNs == 0 || ready_ == INT64_MIN ? arrives : std::max(now, ready_ + item.periodNs);
  return ready_;
}

Replay::Replay(const Scenario& scenario)
    : scenario_(scenario),
      base_(*scenario.base),
      loader_(scenario),
      end_(scenario.nodes.size(), 0),
      queueEnd_(base_.queues + 1, kLongAgo) {}

void Replay::draw(std::int64_t fromNs, std::int64_t toNs, std::vector<DrawnStep::Stretch>* into) {
  from_ = fromNs;
  to_ = toNs;
  drawn_ = into;
}

Completions Replay::pass() {
  Completions out;
  out.atNs.assign(base_.steps, INT64_MIN);
  out.runLength = runLengthOf(scenario_.loader, base_.steps);
  const std::int64_t from = host_;
  for (const HostItem& item : scenario_.items) {
    play(item);
    std::int64_t& at = out.atNs[item.step];
    at = std::max(at, std::max(host_, item.kind == HostItemKind::Launch ? end_[item.node] : INT64_MIN));
  }
  prof::addTo(host_, base_.tailNs);
  std::int64_t latest = from;  // a step without items ends with the one before
  for (std::int64_t& at : out.atNs) at = latest = std::max(latest, at);
  out.totalNs = std::max(host_, last_) - from;
  return out;
}

void Replay::play(const HostItem& item) {
  add(host_, host_ + item.gapNs, {});
  prof::addTo(host_, item.gapNs);
  const std::int64_t before = host_;
  if (item.kind == HostItemKind::Launch) {
    launch(item);
    add(before, host_, {.kind = item.blocks ? DrawnStep::Kind::SyncWait : DrawnStep::Kind::Host, .name = {}});
  } else if (item.kind == HostItemKind::Sync) {
    if (item.node != kNowhere) host_ = std::max(host_, end_[item.node]);
    prof::addTo(host_, item.durNs);
    add(before, host_, {.kind = DrawnStep::Kind::SyncWait, .name = {}});
  } else {
    host_ = scenario_.loader.serial ? host_ + item.durNs : loader_.take(item, host_);
    add(before, host_, {.kind = DrawnStep::Kind::LoaderWait, .name = {}});
  }
}

void Replay::add(std::int64_t startNs, std::int64_t endNs, DrawnStep::Stretch stretch) {
  if (drawn_ == nullptr || endNs <= from_ || startNs >= to_ || startNs >= endNs) return;
  stretch.startNs = std::max(startNs, from_) - from_;
  stretch.endNs = std::min(endNs, to_) - from_;
  const bool onHost = stretch.kind != DrawnStep::Kind::Work;
  if (onHost && !drawn_->empty() && drawn_->back().kind == stretch.kind && drawn_->back().endNs == stretch.startNs) {
    drawn_->back().endNs = stretch.endNs;
  } else {
    drawn_->push_back(stretch);
  }
}

void Replay::launch(const HostItem& item) {
  if (item.room != kNowhere) host_ = std::max(host_, end_[item.room]);
  if (!item.blocks) prof::addTo(host_, item.durNs);
  const DeviceNode& node = scenario_.nodes[item.node];
  if (scenario_.removed[item.node]) {
    end_[item.node] = std::max(host_, queueEnd_[node.queue]);
    return;
  }
  std::int64_t start = std::max(host_ + node.launchDelayNs, queueEnd_[node.queue] + node.queueGapNs);
  if (node.after != kNowhere) start = std::max(start, end_[node.after] + node.afterGapNs);
  end_[item.node] = start + node.durNs;
  queueEnd_[node.queue] = std::max(queueEnd_[node.queue], end_[item.node]);
  last_ = std::max(last_, end_[item.node]);
  add(start, end_[item.node],
      {.kind = DrawnStep::Kind::Work, .work = node.work, .queue = node.queue, .name = node.name});
  if (item.blocks) host_ = std::max(host_, end_[item.node]) + item.durNs;
}

double computedPerStep(const Scenario& scenario) {
  const Simulator::Model& base = *scenario.base;
  double sum = 0;
  for (const HostItem& item : scenario.items) {
    sum += static_cast<double>(item.gapNs);
    if (item.kind == HostItemKind::Launch) {
      sum += static_cast<double>(item.durNs);
      if (!scenario.removed[item.node])
        sum += static_cast<double>(scenario.nodes[item.node].durNs) * static_cast<double>(base.queueCores);
    } else if (item.kind == HostItemKind::LoaderWait) {
      sum += static_cast<double>(scenario.loader.batchNs) * std::max(0.0, scenario.loader.cpuShare);
    }
  }
  return sum / static_cast<double>(base.steps);
}

std::int64_t replay(const Scenario& scenario, GainLimits* limits) {
  Replay run(scenario);
  if (scenario.pipelined) run.pass();
  const std::int64_t step = run.pass().typicalNs();
  if (!scenario.pipelined || scenario.base->hostCores == 0) return step;
  const double cores = scenario.base->hostCores;
  const auto shared = prof::wholeOf<std::int64_t>(computedPerStep(scenario) / cores);
  // The recorded run had the same cores, so sharing them makes nothing slower than that.
  const std::int64_t leastNs = std::min(shared, scenario.base->measured.typicalNs());
  GainLimits unseen;
  return (limits == nullptr ? unseen : *limits)
      .atLeast({.name = "cores", .reason = "all that a step computes shares the host's cores"}, step, leastNs);
}

}  // namespace lacuna::analyzer
