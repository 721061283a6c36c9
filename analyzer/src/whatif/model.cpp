// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/model.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "analyses/disturbance/core_contention.h"
#include "analyses/disturbance/thread_share.h"
#include "analyses/loader/loader.h"
#include "analyses/time/chunks.h"
#include "analyses/work/launch_index.h"
#include "analyses/work/name_guesses.h"
#include "analyses/work/patterns.h"
#include "analyses/work/repeats.h"
#include "lacuna/prof/bounds.h"
#include "whatif/core_shares.h"
#include "whatif/host_phases.h"
#include "whatif/node_links.h"
#include "whatif/queue_room.h"
#include "whatif/replayed_steps.h"

namespace lacuna::analyzer {
namespace {

using prof::QueueId;
using prof::StringId;
using prof::TimeNs;
using prof::TimeWindow;

/// A trace without steps is replayed whole or not at all; it may have so many times
/// kMostReplayedRows.
constexpr std::uint64_t kMostWithoutSteps = 4;
/// A launch waited for room in its queue if it took this long, and so many times the usual call:
/// calls that are merely slow stay below both.
constexpr std::int64_t kStuckCallNs = 50'000, kStuckCalls = 20;
/// A batch was late if the wait for it took more than one part in so many of the time since the
/// last one was ready. Handing over a ready batch takes less.
constexpr std::int64_t kLateParts = 20;
/// Work that was launched in the window may run long after it. It is searched as far on either side
/// as so many rows reach, which is all of a short trace.
constexpr double kMarginRows = kMostReplayedRows / 4.0;

class Builder {
 public:
  Builder(const Analysis& analysis, const Timeline& timeline, const ReplayedSteps& chosen,
          bool isCpu)
      : analysis_(analysis),
        timeline_(timeline),
        window_(chosen.window),
        steps_(chosen.stepStarts),
        launches_(timeline),
        cpuDevice_(isCpu) {}

  bool build(Simulator::Model& model) {
    pickProcess();
    collectNodes(model);
    if (model.nodes.empty()) return false;
    phases_.collect(analysis_, timeline_, window_, launches_, process_);
    collectRepeats(model);
    collectItems();
    linkNodes(model);
    fillItems(model);
    model.hostLostShare = hostLostShare();
    return true;
  }
  /// The time that the typical step takes of each device, whichever of its queues work; the most
  /// that one takes.
  [[nodiscard]] std::int64_t busyPerStep(const Simulator::Model& model) const;

 private:
  struct Launched {
    const DeviceSpan* span;
    const HostSpan* launch;
  };
  struct Item {
    const HostSpan* span;
    HostItemKind kind;
    std::size_t node;
  };

  [[nodiscard]] bool isInPlace(const Launched& item) const {
    return cpuDevice_ && analyzer::isInPlace(*item.launch, *item.span);
  }
  /// When the launching thread could go on.
  [[nodiscard]] TimeNs returned(const Launched& item) const {
    return isInPlace(item) ? item.span->endNs : item.launch->endNs;
  }
  /// From one batch to the next of workers that have no other to wait for.
  [[nodiscard]] std::int64_t leastPeriodNs() const {
    const LoaderStats& loader = analysis_.of<LoaderStats>();
    return std::max<std::int64_t>(1, loader.batchNs() / std::max(1u, loader.workers));
  }
  [[nodiscard]] bool blocks(const Launched& item) const {
    return returned(item) >= item.span->endNs;
  }

  void pickProcess() {
    process_ = analysis_.steps.process;
    if (process_) return;
    for (const DeviceSpan& span : timeline_.device) {
      if (const HostSpan* launch = launches_.find(span)) {
        process_ = launches_.processOf(launch->thread);
        return;
      }
    }
  }
  /// The lost share of the launching thread that lost most to other programs.
  [[nodiscard]] double hostLostShare() const {
    double most = 0;
    for (const DisplacedThread& thread : analysis_.of<CoreContention>().threads) {
      const double wanted = static_cast<double>(thread.ranNs + thread.lostNs);
      if (launches_.isLaunching(thread.thread))
        most = std::max(most, static_cast<double>(thread.lostNs) / wanted);
    }
    return most;
  }
  void collectNodes(Simulator::Model& model);
  void collectRepeats(Simulator::Model& model) const;
  void collectItems();
  void linkNodes(Simulator::Model& model);
  void fillItems(Simulator::Model& model);
  [[nodiscard]] QueueRoom queueRoom(const Simulator::Model& model);
  [[nodiscard]] bool waitedForRoom(const QueueRoom& room, std::size_t node, std::int64_t callNs,
                                   std::int64_t usualNs) const;
  static std::size_t lastEnd(const Simulator::Model& model, TimeNs from, TimeNs to,
                             std::size_t launched);
  void noteCompletion(Simulator::Model& model, const HostItem& item, TimeNs end) const;
  [[nodiscard]] std::size_t stepAt(TimeNs t) const;
  [[nodiscard]] prof::DeviceId deviceOf(QueueId queue) const {
    const auto found = timeline_.topology.deviceOfQueue.find(queue);
    return found == timeline_.topology.deviceOfQueue.end() ? prof::DeviceId() : found->second;
  }

  const Analysis& analysis_;
  const Timeline& timeline_;
  TimeWindow window_;
  const std::vector<TimeNs>& steps_;
  LaunchIndex launches_;
  bool cpuDevice_;
  prof::ProcessId process_;
  std::vector<Launched> work_;
  std::unordered_map<QueueId, std::vector<TimeNs>>
      earlierEnds_;                      ///< of work that was launched before the window
  std::vector<prof::DeviceId> devices_;  ///< by DeviceNode::queue
  std::vector<Item> items_;
  HostPhases phases_;
};

/// Work launched within the window, by launch; one launch of several pieces (a graph) gives several
/// nodes.
void Builder::collectNodes(Simulator::Model& model) {
  for (const DeviceSpan& span : timeline_.device) {
    const HostSpan* launch = launches_.find(span);
    if (launch == nullptr || launches_.processOf(launch->thread) != process_) continue;
    if (launch->startNs >= window_.endNs) continue;
    if (launch->startNs >= window_.startNs) {
      work_.push_back({&span, launch});
    } else {
      earlierEnds_[span.queue].push_back(span.endNs);
    }
  }
  std::sort(work_.begin(), work_.end(), [](const Launched& a, const Launched& b) {
    return std::tuple(a.launch->startNs, a.span->startNs) <
           std::tuple(b.launch->startNs, b.span->startNs);
  });
  std::unordered_map<QueueId, std::size_t> queues;
  for (const Launched& item : work_) {
    DeviceNode node;
    node.durNs = item.span->endNs - item.span->startNs;
    node.queue = queues.try_emplace(item.span->queue, queues.size()).first->second;
    node.measuredEndNs = item.span->endNs;
    node.name = item.span->name;
    node.work = item.span->work;
    node.bytes = item.span->bytes;
    node.isMemset = item.span->kind == DeviceSpanKind::Memset;
    model.names.emplace_back(analysis_.store->text(node.name));
    node.isPageable = item.span->kind == DeviceSpanKind::Copy && isPageableCopy(model.names.back());
    model.nodes.push_back(node);
  }
  model.queues = queues.size();
  devices_.resize(queues.size());
  for (const auto& [queue, at] : queues) devices_[at] = deviceOf(queue);
  model.queueNames.resize(queues.size());
  for (const DeviceAccount& device : analysis_.devices) {
    for (const QueueAccount& queue : device.queues) {
      if (const auto at = queues.find(queue.id); at != queues.end())
        model.queueNames[at->second] = queue.name;
    }
  }
}

/// The kernels of the first round would do the work of all, in each run of rounds.
void Builder::collectRepeats(Simulator::Model& model) const {
  if (analysis_.of<PatternStats>().repeatedLaunches == 0) return;
  model.joins.assign(model.nodes.size(), kNowhere);
  struct Queue {
    std::vector<std::size_t> nodes;
    std::unique_ptr<Repeats> repeats;
  };
  std::vector<Queue> queues(model.queues);
  for (std::size_t i = 0; i < work_.size(); ++i) {
    if (work_[i].span->kind != DeviceSpanKind::Kernel) continue;
    Queue& queue = queues[model.nodes[i].queue];
    if (!queue.repeats) {
      queue.repeats =
          std::make_unique<Repeats>(*analysis_.store, [&model, &queue](const Repeats::Run& run) {
            for (std::size_t k = run.from + run.period; k < run.to; ++k)
              model.joins[queue.nodes[k]] = queue.nodes[run.from + (k - run.from) % run.period];
          });
    }
    queue.nodes.push_back(i);
    queue.repeats->add(work_[i].span->name, model.nodes[i].durNs);
  }
  for (Queue& queue : queues) {
    if (queue.repeats) queue.repeats->finish();
  }
}

void Builder::collectItems() {
  std::array<prof::StringId, kLoaderChanges.size()> workerChanges;
  std::ranges::transform(kLoaderChanges, workerChanges.begin(),
                         [&](std::string_view name) { return analysis_.store->find(name); });
  for (const HostSpan& span : timeline_.host) {
    const bool waits = span.activity == Activity::Sync || span.activity == Activity::LoaderWait;
    if (!waits || span.startNs < window_.startNs || span.startNs >= window_.endNs) continue;
    if (!launches_.isLaunching(span.thread) && span.thread != analysis_.steps.thread) continue;
    if (launches_.processOf(span.thread) != process_) continue;
    const bool isChange = span.activity == Activity::LoaderWait &&
                          std::ranges::find(workerChanges, span.name) != workerChanges.end();
    items_.push_back({&span,
                      isChange                          ? HostItemKind::WorkerChange
                      : span.activity == Activity::Sync ? HostItemKind::Sync
                                                        : HostItemKind::LoaderWait,
                      kNowhere});
  }
  for (std::size_t i = 0; i < work_.size(); ++i)
    items_.push_back({work_[i].launch, HostItemKind::Launch, i});
  std::stable_sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) {
    return std::tuple(a.span->startNs, b.span->endNs, a.node) <
           std::tuple(b.span->startNs, a.span->endNs, b.node);
  });
  // A wait inside a wait is part of it.
  TimeNs waitsUntil = INT64_MIN;
  std::erase_if(items_, [&](const Item& item) {
    if (item.kind == HostItemKind::Launch) return false;
    if (item.span->startNs < waitsUntil) return true;
    waitsUntil = item.span->endNs;
    return false;
  });
}

void Builder::linkNodes(Simulator::Model& model) {
  std::vector<RecordedWork> recorded;
  for (const Launched& item : work_) {
    recorded.push_back({.calledNs = item.launch->startNs,
                        .returnedNs = item.launch->endNs,
                        .startNs = item.span->startNs,
                        .endNs = item.span->endNs,
                        .blocks = blocks(item),
                        .inPlace = isInPlace(item)});
  }
  analyzer::linkNodes(model.nodes, recorded, devices_);
}

/// The last work to end while the host was held in [from, to].
std::size_t Builder::lastEnd(const Simulator::Model& model, TimeNs from, TimeNs to,
                             std::size_t launched) {
  TimeNs latest = from;
  std::size_t found = kNowhere;
  // Work ends about in the order of its launches, so looking back this far finds it.
  constexpr std::size_t kSearchBack = 4096;
  for (std::size_t i = launched; i-- > 0 && launched - i < kSearchBack;) {
    const TimeNs end = model.nodes[i].measuredEndNs;
    if (end > to || end <= latest) continue;
    latest = end;
    found = i;
  }
  return found;
}

QueueRoom Builder::queueRoom(const Simulator::Model& model) {
  std::vector<std::vector<TimeNs>> earlier(model.queues);
  std::vector<QueueRoom::Launch> launches;
  for (std::size_t i = 0; i < work_.size(); ++i) {
    const std::size_t queue = model.nodes[i].queue;
    if (const auto ends = earlierEnds_.find(work_[i].span->queue); ends != earlierEnds_.end()) {
      earlier[queue] = std::move(ends->second);
      earlierEnds_.erase(ends);
    }
    launches.push_back(
        {.queue = queue, .returnedNs = returned(work_[i]), .endNs = work_[i].span->endNs});
  }
  return {std::move(earlier), launches};
}

/// A call that returns when its work is done waits for that instead.
bool Builder::waitedForRoom(const QueueRoom& room, std::size_t node, std::int64_t callNs,
                            std::int64_t usualNs) const {
  if (blocks(work_[node])) return false;
  return room.wasFull(node) || callNs > std::max(kStuckCallNs, kStuckCalls * usualNs);
}

void Builder::fillItems(Simulator::Model& model) {
  TimeNs now = window_.startNs;
  TimeNs lastReady = INT64_MIN;
  std::size_t launched = 0;
  std::vector<std::int64_t> calls;
  for (const Item& from : items_) {
    if (from.kind == HostItemKind::Launch) calls.push_back(from.span->endNs - from.span->startNs);
  }
  const std::int64_t usualCall = medianOf(calls);
  const QueueRoom room = queueRoom(model);
  const std::vector<TimeNs> epochs = epochBegins(*analysis_.store, window_);
  for (const Item& from : items_) {
    HostItem item;
    item.kind = from.kind;
    item.node = from.node;
    item.step = stepAt(from.span->startNs);
    const TimeNs start = std::max(now, from.span->startNs);
    const TimeNs end = std::max(
        start, from.kind == HostItemKind::Launch ? returned(work_[from.node]) : from.span->endNs);
    item.gapNs = start - now;
    item.call = from.span->name;
    if (const auto [name, isNew] = model.callNames.try_emplace(item.call); isNew)
      name->second = analysis_.store->text(item.call);
    phases_.fillGap(model, item, {now, start}, *analysis_.store);
    phases_.mark(item, from.span->startNs);
    item.durNs = end - start;
    if (item.kind == HostItemKind::Launch) {
      if (waitedForRoom(room, from.node, item.durNs, usualCall)) {
        item.room = lastEnd(model, start, end, launched);
        // Work from before the window may have made the room. It is not replayed, so the host does
        // not wait for it.
        item.durNs = item.room != kNowhere ? end - model.nodes[item.room].measuredEndNs
                                           : room.behindWait(from.node, start, end);
      }
      launched = std::max(launched, from.node + 1);
      item.blocks = blocks(work_[from.node]);
      if (isInPlace(work_[from.node])) phases_.fillWork(model.nodes[from.node], {start, end});
      if (item.blocks)
        item.durNs = end - std::clamp(model.nodes[from.node].measuredEndNs, start, end);
    }
    if (item.kind == HostItemKind::Sync) {
      item.node = lastEnd(model, start, end, launched);
      item.durNs = end - (item.node == kNowhere ? start : model.nodes[item.node].measuredEndNs);
    }
    if (item.kind == HostItemKind::LoaderWait) {
      const std::int64_t interval =
          lastReady == INT64_MIN ? end - window_.startNs : end - lastReady;
      item.handsOver = analysis_.of<LoaderStats>().hasTimeToSpare();
      item.periodNs = item.durNs <= interval / kLateParts ? 0
                      : item.handsOver                    ? leastPeriodNs()
                                                          : interval;
      item.beginsEpoch = std::ranges::binary_search(epochs, from.span->startNs);
      lastReady = end;
    }
    now = end;
    model.items.push_back(item);
    noteCompletion(model, item, end);
  }
  std::vector<std::int64_t> gaps;
  for (const HostItem& item : model.items) {
    if (item.kind == HostItemKind::Launch) gaps.push_back(item.gapNs);
  }
  model.usualGapNs = medianOf(std::move(gaps));
  model.tailNs = std::max<TimeNs>(0, window_.endNs - now);
  TimeNs last = window_.endNs;
  for (const DeviceNode& node : model.nodes) last = std::max(last, node.measuredEndNs);
  model.measured.totalNs = last - window_.startNs;
  TimeNs latest = 0;  // a step without items ends with the one before
  for (std::int64_t& at : model.measured.atNs) at = latest = std::max(latest, at);
}

void Builder::noteCompletion(Simulator::Model& model, const HostItem& item, TimeNs end) const {
  auto& at = model.measured.atNs;
  at.resize(model.steps, INT64_MIN);
  at[item.step] = std::max(at[item.step], end - window_.startNs);
  if (item.kind == HostItemKind::Launch)
    at[item.step] = std::max(at[item.step], model.nodes[item.node].measuredEndNs - window_.startNs);
}

std::int64_t Builder::busyPerStep(const Simulator::Model& model) const {
  struct Busy {
    TimeNs untilNs = INT64_MIN;
    Completions sums;
  };
  std::vector<const Launched*> byStart;
  for (const Launched& item : work_) byStart.push_back(&item);
  std::sort(byStart.begin(), byStart.end(), [](const Launched* a, const Launched* b) {
    return a->span->startNs < b->span->startNs;
  });
  std::unordered_map<prof::DeviceId, Busy> byDevice;
  for (const Launched* item : byStart) {
    Busy& busy = byDevice[deviceOf(item->span->queue)];
    busy.sums.atNs.resize(model.steps, 0);
    const TimeNs from = std::max(busy.untilNs, item->span->startNs);
    prof::addTo(busy.sums.atNs[stepAt(item->launch->startNs)],
                std::max<TimeNs>(0, item->span->endNs - from));
    busy.untilNs = std::max(busy.untilNs, item->span->endNs);
  }
  std::int64_t most = 0;
  for (auto& [device, busy] : byDevice) {
    for (std::int64_t& at : busy.sums.atNs) {
      prof::addTo(busy.sums.totalNs, at);
      at = busy.sums.totalNs;
    }
    busy.sums.runLength = model.measured.runLength;
    most = std::max(most, busy.sums.typicalNs());
  }
  return most;
}

std::size_t Builder::stepAt(TimeNs t) const {
  const auto it =
      std::partition_point(steps_.begin(), steps_.end(), [&](TimeNs start) { return start <= t; });
  return it == steps_.begin() ? 0 : static_cast<std::size_t>(it - steps_.begin()) - 1;
}

/// The time that kMarginRows take on average, and no more than the whole trace.
TimeNs marginNs(const Store& store) {
  const TimeWindow span = store.span();
  const double all = static_cast<double>(span.endNs) - static_cast<double>(span.startNs);
  const auto rows = static_cast<double>(std::max<std::uint64_t>(1, timelineRows(store)));
  return static_cast<TimeNs>(all * std::min(1.0, kMarginRows / rows));
}

}  // namespace

std::unique_ptr<Simulator::Model> buildModel(const Analysis& analysis) {
  const ReplayedSteps chosen = chooseReplayed(analysis);
  if (timelineRows(*analysis.store) > kMostWithoutSteps * kMostReplayedRows &&
      analysis.steps.all.empty())
    return nullptr;
  const auto timeline = loadTimeline(
      *analysis.store, widened(*analysis.store, chosen.window, marginNs(*analysis.store)));
  if (!timeline) return nullptr;
  auto model = std::make_unique<Simulator::Model>();
  model->steps = chosen.stepStarts.size();
  model->hasSteps = !analysis.steps.all.empty();
  model->hostCores = analysis.of<ProgramFacts>().hostCores;
  model->calibration = analysis.options.calibration;
  model->lostShare = lostToOthers(analysis.of<CoreContention>());
  const bool cpuDevice =
      !analysis.devices.empty() && analysis.devices.front().kind == prof::DeviceKind::Cpu;
  if (cpuDevice) model->queueCores = std::max(1u, analysis.devices.front().cores);
  Builder builder(analysis, *timeline, chosen, cpuDevice);
  if (!builder.build(*model)) return nullptr;
  model->loader = loaderModel(analysis, *model);
  model->measured.runLength = runLengthOf(model->loader, model->steps);
  model->busyNs = builder.busyPerStep(*model);
  model->teamOfWork = teamOfWork(*model, analysis.of<StepThread>());
  model->steady = steadyProgram(*model);
  model->stepNoise = stepNoise(model->measured);
  return model;
}

}  // namespace lacuna::analyzer
