// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>

#include "analyses/time/chunks.h"
#include "analyses/work/graph_replays.h"
#include "analysis/plain_time.h"
#include "analysis/work_progress.h"
#include "lacuna/analyzer/charts.h"
#include "lacuna/prof/bounds.h"
#include "store/watched_store.h"

namespace lacuna::analyzer {
namespace {

using prof::TimeNs;
using prof::TimeWindow;

constexpr std::int64_t kCoarseBuckets = 1 << 20;

/// Turns a device's segments into lanes, each as it is or summed up in buckets.
class StripBuilder {
 public:
  StripBuilder(const DeviceAccount& device, std::int64_t resolutionNs) : window_(device.window) {
    strip_.device = device.id;
    strip_.label = device.label;
    strip_.window = device.window;
    strip_.resolutionNs = resolutionNs;
    bucketStart_ = window_.startNs;
  }

  void add(const LedgerSegment& segment) {
    const TimeNs from = std::max(segment.startNs, window_.startNs);
    const TimeNs to = std::min(segment.endNs, window_.endNs);
    if (from >= to) return;
    if (strip_.resolutionNs > 0) return addToBuckets(from, to, segment.cause);
    if (pending_ && pending_->endNs == from && pending_->cause == segment.cause &&
        pending_->name == segment.name) {
      pending_->endNs = to;
      return;
    }
    flush();
    pending_ = segment;
    pending_->startNs = from;
    pending_->endNs = to;
  }

  LedgerStrip finish() {
    flush();
    flushBucket();
    for (std::size_t i = 0; i < kCauseCount; ++i) {
      if (lanes_[i].size() == 0) continue;
      lanes_[i].finish();
      strip_.causes.push_back({static_cast<Cause>(i), std::move(lanes_[i])});
    }
    return std::move(strip_);
  }

 private:
  void flush() {
    if (!pending_) return;
    lanes_[static_cast<std::size_t>(pending_->cause)].add(pending_->startNs, pending_->durNs(),
                                                          pending_->name);
    pending_.reset();
  }
  void addToBuckets(TimeNs from, TimeNs to, Cause cause) {
    while (from < to) {
      while (from >= bucketStart_ + strip_.resolutionNs) {
        flushBucket();
        bucketStart_ += strip_.resolutionNs;
      }
      const TimeNs end = std::min(to, bucketStart_ + strip_.resolutionNs);
      bucket_.add(cause, end - from);
      from = end;
    }
  }
  void flushBucket() {
    TimeNs at = bucketStart_;
    for (std::size_t i = 0; i < kCauseCount; ++i) {
      if (bucket_.ns[i] == 0) continue;
      lanes_[i].add(at, bucket_.ns[i], {});
      prof::addTo(at, bucket_.ns[i]);
    }
    bucket_ = {};
  }

  LedgerStrip strip_;
  TimeWindow window_;
  std::array<Lane, kCauseCount> lanes_;
  std::optional<LedgerSegment> pending_;
  Ledger bucket_;
  TimeNs bucketStart_ = 0;
};

}  // namespace

prof::Result<std::vector<LedgerStrip>> ledgerStrips(const Analysis& analysis,
                                                    const LedgerStripOptions& options) {
  const bool exact = timelineRows(*analysis.store) <= options.exactRows;
  std::vector<StripBuilder> builders;
  TimeWindow cover{INT64_MAX, INT64_MIN};
  for (const DeviceAccount& device : analysis.devices) {
    const std::int64_t length = device.window.endNs - device.window.startNs;
    builders.emplace_back(device, exact ? 0 : std::max<std::int64_t>(1, length / kCoarseBuckets));
    cover = {std::min(cover.startNs, device.window.startNs),
             std::max(cover.endNs, device.window.endNs)};
  }
  std::vector<LedgerStrip> strips;
  if (cover.startNs >= cover.endNs) return strips;
  WorkProgress progress(options.progress);
  progress.next(1);
  const auto store = options.progress ? watchScans(analysis.store,
                                                   [&](double share) { return progress.at(share); })
                                      : analysis.store;
  const StepPauses pauses = stepPauses(*analysis.store, analysis.steps);
  const PlainTime plain(analysis.steps.all);
  const auto status =
      forEachChunk(*store, cover, [&](const Timeline& timeline, TimeWindow window) -> prof::Status {
        const std::vector<DeviceSpan> unrecorded =
            analysis.of<GraphReplays>().unrecordedNear(window);
        const LedgerAccountant accountant(timeline, pauses, unrecorded);
        for (std::size_t i = 0; i < builders.size(); ++i) {
          accountant.account({analysis.devices[i].id, {}}, window, [&](const LedgerSegment& whole) {
            plain.outside(whole, [&](const LedgerSegment& segment) { builders[i].add(segment); });
          });
        }
        progress.at(static_cast<double>(window.endNs - cover.startNs) /
                    static_cast<double>(cover.endNs - cover.startNs));
        return {};
      });
  if (progress.stopped()) return prof::Error{"laying out the ledger was cancelled"};
  if (!status) return status.error();
  for (StripBuilder& builder : builders) strips.push_back(builder.finish());
  return strips;
}

CauseAt causeAt(const LedgerStrip& strip, TimeNs timeNs) {
  for (const CauseLane& cause : strip.causes) {
    if (const std::size_t event = cause.lane.at(timeNs); event != Lane::kNone)
      return {&cause, event};
  }
  return {};
}

}  // namespace lacuna::analyzer
