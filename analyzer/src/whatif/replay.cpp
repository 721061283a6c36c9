// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/replay.h"

#include <algorithm>

#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

/// Before any time of a replay, with room to subtract.
constexpr std::int64_t kLongAgo = INT64_MIN / 2;
/// A step is known well enough within this share of it.
constexpr double kSettled = 0.002;

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

std::int64_t LoaderLine::changeNs(const HostItem& item) const {
  const std::uint32_t recorded = scenario_.base->loader.workers;
  if (!scenario_.pipelined && !scenario_.loader.serial) return item.durNs;
  return recorded == 0
             ? item.durNs
             : prof::productOf(item.durNs, std::int64_t{scenario_.loader.workers}) / recorded;
}

std::int64_t LoaderLine::recorded(const HostItem& item, std::int64_t now) {
  const std::int64_t arrives = now + item.durNs;
  if (item.periodNs == 0 || ready_ == INT64_MIN) return ready_ = arrives;
  ready_ = std::max(item.handsOver ? arrives : now, ready_ + item.periodNs);
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
    at = std::max(at,
                  std::max(host_, item.kind == HostItemKind::Launch ? end_[item.node] : INT64_MIN));
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
    add(before, host_,
        {.kind = item.blocks ? DrawnStep::Kind::SyncWait : DrawnStep::Kind::Host, .name = {}});
  } else if (item.kind == HostItemKind::Sync) {
    if (item.node != kNowhere) host_ = std::max(host_, end_[item.node]);
    prof::addTo(host_, item.durNs);
    add(before, host_, {.kind = DrawnStep::Kind::SyncWait, .name = {}});
  } else if (item.kind == HostItemKind::WorkerChange) {
    prof::addTo(host_, loader_.changeNs(item));
    add(before, host_, {.kind = DrawnStep::Kind::LoaderWait, .name = {}});
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
  if (onHost && !drawn_->empty() && drawn_->back().kind == stretch.kind &&
      drawn_->back().endNs == stretch.startNs) {
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
  std::int64_t start =
      std::max(host_ + node.launchDelayNs, queueEnd_[node.queue] + node.queueGapNs);
  if (node.after != kNowhere) start = std::max(start, end_[node.after] + node.afterGapNs);
  end_[item.node] = start + node.durNs;
  queueEnd_[node.queue] = std::max(queueEnd_[node.queue], end_[item.node]);
  last_ = std::max(last_, end_[item.node]);
  add(start, end_[item.node],
      {.kind = DrawnStep::Kind::Work, .work = node.work, .queue = node.queue, .name = node.name});
  if (item.blocks) host_ = std::max(host_, end_[item.node]) + item.durNs;
}

namespace {

/// The time in which the workers prepare the batches of a step.
std::int64_t preparedNsPerStep(const Scenario& scenario) {
  const auto batches =
      std::ranges::count(scenario.items, HostItemKind::LoaderWait, &HostItem::kind);
  const double perWorker =
      static_cast<double>(batches) / static_cast<double>(std::max(1u, scenario.loader.workers));
  return prof::wholeOf<std::int64_t>(perWorker * static_cast<double>(scenario.loader.batchNs) /
                                     static_cast<double>(scenario.base->steps));
}

}  // namespace

std::int64_t replayUnshared(const Scenario& scenario) {
  Replay run(scenario);
  if (!scenario.pipelined && !scenario.unstalled) return scenario.base->shortenedNs(run.pass());
  if (!scenario.pipelined) return run.pass().typicalNs();
  run.pass();
  // Batches that lie ready when a pass begins may last it to its end, and no longer.
  return std::max(run.pass().typicalNs(), preparedNsPerStep(scenario));
}

/// In shorter steps workers are busier, and that makes steps longer. So the step lies between any
/// one and the step that follows from it.
SharedStep onSharedCores(const Scenario& scenario) {
  if (!CoreSharing::applies(scenario)) return {replayUnshared(scenario), {}};
  const CoreSharing sharing(scenario);
  const auto followingNs = [&](const Stretch& by) {
    return replayUnshared(stretched(scenario, by));
  };
  std::int64_t leastNs = followingNs(sharing.alone());
  std::int64_t mostNs = std::max(leastNs, followingNs(sharing.against(leastNs)));
  while (static_cast<double>(mostNs - leastNs) >
         std::max(1.0, kSettled * static_cast<double>(mostNs))) {
    const std::int64_t stepNs = leastNs + (mostNs - leastNs) / 2;
    (followingNs(sharing.against(stepNs)) > stepNs ? leastNs : mostNs) = stepNs;
  }
  return {mostNs, sharing.against(leastNs)};
}

std::int64_t replay(const Scenario& scenario) {
  return onSharedCores(scenario).ns;
}

}  // namespace lacuna::analyzer
