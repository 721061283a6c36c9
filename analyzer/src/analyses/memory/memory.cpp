// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "analyses/memory/allocation_rows.h"
#include "lacuna/analyzer/memory.h"

namespace lacuna::analyzer {
namespace {

using prof::Allocation;
using prof::MemoryAction;
using prof::MemoryRole;
using prof::TimeNs;

constexpr std::size_t kCurvePoints = 500;

struct Block {
  std::uint64_t bytes = 0;
  TimeNs allocatedNs = 0;
  prof::StringId tensor;
  prof::StringId op;
  MemoryRole role = MemoryRole::Other;
};
/// Blocks by device and address.
using Blocks = std::map<std::pair<prof::DeviceId, std::uint64_t>, Block>;

/// Follows allocations and frees in time order.
class Tracker {
 public:
  Blocks live;
  std::uint64_t bytes = 0;
  std::uint64_t reserved = 0;

  void allocate(prof::DeviceId device, std::uint64_t address, const Block& block) {
    // An address handed out twice means that its free was not seen.
    release(device, address);
    live[{device, address}] = block;
    bytes += block.bytes;
  }
  void release(prof::DeviceId device, std::uint64_t address) {
    const auto found = live.find({device, address});
    if (found == live.end()) return;
    bytes -= found->second.bytes;
    live.erase(found);
  }
};

void apply(const Allocation& row, Tracker& tracker) {
  switch (row.action) {
    case MemoryAction::Allocate:
    case MemoryAction::ExternalAllocate:
      tracker.allocate(row.device, row.address,
                       {row.bytes, row.timeNs, row.tensor, row.op, row.role});
      break;
    case MemoryAction::Free:
    case MemoryAction::ExternalFree:
      tracker.release(row.device, row.address);
      break;
    case MemoryAction::Reserve:
      tracker.reserved += row.bytes;
      break;
    case MemoryAction::Release:
      tracker.reserved -= std::min(tracker.reserved, row.bytes);
      break;
  }
}

/// Calls visit(time, action) after each row that was applied to the tracker, until it answers
/// false.
template <class Visit>
prof::Status replay(const Store& store, TimeNs until, const Selection& only, Tracker& tracker,
                    Visit&& visit) {
  return forEachAllocation(store, until, [&](const Allocation& row, std::uint64_t) {
    if (!only.holdsMemory(row.device, row.thread)) return true;
    apply(row, tracker);
    return visit(row.timeNs, row.action, tracker);
  });
}

class Curve {
 public:
  explicit Curve(prof::TimeWindow span)
      : start_(span.startNs),
        width_(std::max<TimeNs>(1, (span.endNs - span.startNs) / TimeNs{kCurvePoints} + 1)) {}
  void add(TimeNs time, std::uint64_t bytes) {
    const TimeNs slot = start_ + (time - start_) / width_ * width_;
    if (points_.empty() || points_.back().timeNs != slot) {
      points_.push_back({slot, bytes});
    } else {
      points_.back().bytes = std::max(points_.back().bytes, bytes);
    }
  }
  std::vector<MemoryPoint> take() { return std::move(points_); }

 private:
  TimeNs start_;
  TimeNs width_;
  std::vector<MemoryPoint> points_;
};

LiveTensor describe(const Store& store, const Block& block) {
  return {block.bytes, block.role, store.text(block.tensor), store.text(block.op),
          block.allocatedNs};
}

/// Records what is alive at the end of each step, and the greatest use within it.
class StepMarks {
 public:
  StepMarks(const Steps& steps, MemoryStats& stats) : steps_(steps), stats_(stats) {
    stats_.stepPeakBytes.assign(steps.all.size(), 0);
  }
  /// To be called before the row at `time` is applied; `bytes` is what was alive until then.
  void passTo(TimeNs time, std::uint64_t bytes) {
    while (stats_.stepEndBytes.size() < steps_.all.size() &&
           steps_.all[stats_.stepEndBytes.size()].endNs <= time) {
      stats_.stepEndBytes.push_back(bytes);
      if (stats_.stepEndBytes.size() < steps_.all.size())
        stats_.stepPeakBytes[stats_.stepEndBytes.size()] = bytes;
    }
  }
  /// The bytes that a step begins with count for it too.
  void use(TimeNs time, std::uint64_t bytes) {
    const std::size_t at = stats_.stepEndBytes.size();
    if (at >= steps_.all.size()) return;
    std::uint64_t& peak = stats_.stepPeakBytes[at];
    peak = time < steps_.all[at].startNs ? bytes : std::max(peak, bytes);
  }

 private:
  const Steps& steps_;
  MemoryStats& stats_;
};

/// Growth that nearly every steady step adds to and that stays. One-off growth is no leak. Nor is a
/// queue of batches that fills step by step and empties at once when the device catches up.
std::int64_t leakPerStep(const MemoryStats& stats, const Steps& steps, prof::TimeWindow window) {
  std::vector<std::int64_t> growth;
  std::vector<std::int64_t> levels;
  for (std::size_t i = 1; i < stats.stepEndBytes.size(); ++i) {
    if (steps.all[i - 1].warmUp || steps.all[i].startNs < window.startNs) continue;
    if (steps.all[i - 1].isPlain || steps.all[i].isPlain) continue;
    levels.push_back(static_cast<std::int64_t>(stats.stepEndBytes[i]));
    growth.push_back(static_cast<std::int64_t>(stats.stepEndBytes[i]) -
                     static_cast<std::int64_t>(stats.stepEndBytes[i - 1]));
  }
  if (growth.size() < 3) return 0;
  const auto rising =
      std::count_if(growth.begin(), growth.end(), [](std::int64_t g) { return g > 0; });
  if (rising * 10 < static_cast<std::ptrdiff_t>(growth.size()) * 8) return 0;
  const std::int64_t typical = medianOf(growth);
  // Between the middles of the first and the last third lie two thirds of the steps.
  const std::size_t third = (levels.size() + 2) / 3;
  const auto first =
      medianOf({levels.begin(), levels.begin() + static_cast<std::ptrdiff_t>(third)});
  const auto last = medianOf({levels.end() - static_cast<std::ptrdiff_t>(third), levels.end()});
  const auto apart = static_cast<std::int64_t>(levels.size() - third);
  return 2 * (last - first) < typical * apart ? 0 : std::max<std::int64_t>(0, typical);
}

/// Blocks that were allocated in steady steps and are alive when the last of them ends, by
/// operator. Later a program gives everything back.
prof::Status findLeaked(const Store& store, const std::vector<Step>& steady, const Selection& only,
                        MemoryStats& stats) {
  if (steady.size() < 3) return {};
  const TimeNs from = steady.front().startNs;
  const TimeNs to = steady[steady.size() - 2].endNs;
  Tracker tracker;
  const auto status = replay(store, steady.back().endNs, only, tracker,
                             [](TimeNs, MemoryAction, const Tracker&) { return true; });
  if (!status) return status;
  std::map<std::pair<prof::StringId, prof::StringId>, Block> byOrigin;
  for (const auto& [key, block] : tracker.live) {
    if (block.allocatedNs < from || block.allocatedNs >= to) continue;
    Block& sum = byOrigin
                     .try_emplace({block.op, block.tensor},
                                  Block{0, block.allocatedNs, block.tensor, block.op, block.role})
                     .first->second;
    sum.bytes += block.bytes;
  }
  for (auto& [origin, block] : byOrigin) {
    block.bytes /= steady.size() - 1;
    stats.leaked.push_back(describe(store, block));
  }
  std::sort(stats.leaked.begin(), stats.leaked.end(),
            [](const LiveTensor& a, const LiveTensor& b) { return a.bytes > b.bytes; });
  return {};
}

/// The memory alive at the peak, and the time when it goes, even after the window.
class PeakWatch {
 public:
  /// `isAtStart`: what was alive when the window began is the peak, so no row at its moment makes
  /// it.
  PeakWatch(const MemoryStats& stats, bool isAtStart)
      : peakAtNs_(stats.peakAtNs), peakBytes_(stats.peakBytes), isAtStart_(isAtStart) {}

  /// Once for each row in order; false when everything that follows cannot matter.
  bool see(const Allocation& row) {
    reached_ = reached_ || (isAtStart_ && row.timeNs >= peakAtNs_);
    if (!reached_) {
      apply(row, tracker_);
      reached_ = row.timeNs == peakAtNs_ && tracker_.bytes == peakBytes_;
      return true;
    }
    if (row.action == MemoryAction::Reserve || row.action == MemoryAction::Release) return true;
    // An address handed out again means that its free was not seen.
    if (tracker_.live.contains({row.device, row.address}))
      freedNs_.try_emplace({row.device, row.address}, row.timeNs);
    return freedNs_.size() < tracker_.live.size();
  }
  [[nodiscard]] bool reached() const { return reached_; }

  void addTo(const Store& store, const Steps& steps, MemoryStats& stats) const {
    std::vector<const Blocks::value_type*> order;
    for (const auto& entry : tracker_.live) order.push_back(&entry);
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
      return a->second.bytes != b->second.bytes ? a->second.bytes > b->second.bytes
                                                : a->second.allocatedNs < b->second.allocatedNs;
    });
    for (const auto* entry : order) {
      const auto& [key, block] = *entry;
      const auto freed = freedNs_.find(key);
      stats.live.push_back(describe(store, block));
      stats.peakByRole[static_cast<std::size_t>(block.role)] += block.bytes;
      TensorLife life{.device = key.first};
      life.freed = freed != freedNs_.end();
      life.freedNs = life.freed ? freed->second : 0;
      const std::size_t atPeak = countBy(steps.all, &Step::startNs, peakAtNs_);
      life.stepsOld = atPeak - countBy(steps.all, &Step::startNs, block.allocatedNs);
      life.stepsAhead =
          countBy(steps.all, &Step::startNs, life.freed ? life.freedNs : INT64_MAX) - atPeak;
      stats.lives.push_back(life);
    }
  }

 private:
  TimeNs peakAtNs_;
  std::uint64_t peakBytes_;
  bool isAtStart_;
  Tracker tracker_;
  std::map<Blocks::key_type, TimeNs> freedNs_;
  bool reached_ = false;
};

bool isSegmentCall(MemoryAction action) {
  return action == MemoryAction::Reserve || action == MemoryAction::Release;
}

/// Counts the segments that the allocator takes from the device and gives back to it.
void countSegmentCall(MemoryStats& stats, MemoryAction action, bool inSteps) {
  const bool takes = action == MemoryAction::Reserve;
  ++(takes ? stats.segmentCalls : stats.segmentReleases);
  if (inSteps) ++(takes ? stats.stepSegmentCalls : stats.stepSegmentReleases);
}

}  // namespace

std::string_view roleName(MemoryRole role) {
  constexpr std::array<std::string_view, kRoleCount> kNames{
      "other", "parameter", "gradient",      "activation", "optimizer",
      "input", "workspace", "communication", "cached"};
  const auto at = static_cast<std::size_t>(role);
  return at < kNames.size() ? kNames[at] : kNames[0];
}

std::string_view roleWords(MemoryRole role) {
  return role == MemoryRole::Other ? "not known" : roleName(role);
}

prof::Result<MemoryStats> memoryStats(const Store& store, prof::TimeWindow window,
                                      const Steps& steps, const Selection& only) {
  MemoryStats stats;
  if (store.rows<Allocation>() == 0) return stats;
  stats.present = true;
  Tracker tracker;
  const TimeNs startNs = std::max(window.startNs, store.span().startNs);
  Curve curve({startNs, std::min(window.endNs, store.span().endNs)});
  StepMarks marks(steps, stats);
  std::uint64_t before = 0;
  std::uint64_t reservedBefore = 0;
  bool hasBegun = false;
  bool isAtStart = false;
  // The memory alive when the window begins counts for it too.
  const auto begin = [&] {
    if (std::exchange(hasBegun, true)) return;
    stats.peakReservedBytes = reservedBefore;
    if (before == 0) return;
    isAtStart = true;
    curve.add(startNs, before);
    stats.peakBytes = before;
    stats.peakAtNs = startNs;
  };
  const TimeNs settled = steps.steady().empty() ? window.startNs : steps.steady().front().startNs;
  const StepSpans spans(steps, window);
  auto status = replay(store, window.endNs, only, tracker,
                       [&](TimeNs time, MemoryAction action, const Tracker& now) {
                         marks.passTo(time, before);
                         if (time >= window.startNs) begin();
                         before = now.bytes;
                         reservedBefore = now.reserved;
                         marks.use(time, now.bytes);
                         if (time < window.startNs) return true;
                         ++stats.allocations;
                         if (isSegmentCall(action) && time >= settled)
                           countSegmentCall(stats, action, spans.hold(time));
                         curve.add(time, now.bytes);
                         stats.peakReservedBytes = std::max(stats.peakReservedBytes, now.reserved);
                         if (now.bytes > stats.peakBytes) {
                           isAtStart = false;
                           stats.peakBytes = now.bytes;
                           stats.peakAtNs = time;
                         }
                         return true;
                       });
  if (!status) return status.error();
  begin();
  marks.passTo(window.endNs, before);
  stats.present = only.everything || stats.allocations > 0 || stats.peakBytes > 0;
  stats.curve = curve.take();
  stats.leakBytesPerStep = leakPerStep(stats, steps, window);
  if (stats.leakBytesPerStep > 0) {
    status = findLeaked(store, steps.steadyWithin(window), only, stats);
    if (!status) return status.error();
  }
  PeakWatch watch(stats, isAtStart);
  status = forEachAllocation(store, INT64_MAX, [&](const Allocation& row, std::uint64_t) {
    if (!watch.reached() && !isAtStart && row.timeNs >= window.endNs) return false;
    return !only.holdsMemory(row.device, row.thread) || watch.see(row);
  });
  if (!status) return status.error();
  watch.addTo(store, steps, stats);
  return stats;
}

}  // namespace lacuna::analyzer
