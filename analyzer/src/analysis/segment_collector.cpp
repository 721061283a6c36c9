// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/segment_collector.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <unordered_set>

#include "analyses/time/mean_step.h"
#include "analyses/work/graph_replays.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::StringId;
using prof::TimeNs;

constexpr std::size_t kLongestKept = 5;

/// The share of `bandNs` that falls to a part of the segment.
std::int64_t bandShare(std::int64_t bandNs, std::int64_t partNs, const LedgerSegment& segment) {
  if (bandNs == 0 || partNs == segment.durNs()) return bandNs;
  return std::llround(static_cast<double>(bandNs) * static_cast<double>(partNs) /
                      static_cast<double>(segment.durNs()));
}

}  // namespace

SegmentCollector::SegmentCollector(Analysis& analysis)
    : analysis_(analysis), counted_(stepsOfMean(analysis)) {
  countedSteps_ = std::count(counted_.begin(), counted_.end(), true);
  analysis.ledgers.steps.resize(analysis.steps.all.size());
  analysis.of<GraphReplays>().unknownOfSteps.resize(analysis.steps.all.size());
  analysis.ledgers.bands.steps.resize(analysis.steps.all.size());
}

void SegmentCollector::add(DeviceAccount& device, const LedgerSegment& segment,
                           std::int64_t bandNs) {
  addToSteps(segment, bandNs);
  addToPauses(segment);
  addHostWork(device.id, segment);
  const TimeNs from = std::max(segment.startNs, device.window.startNs);
  const TimeNs to = std::min(segment.endNs, device.window.endNs);
  if (from >= to) return;
  device.ledger.add(segment.cause, to - from);
  if (segment.cause == Cause::Unknown) addUnknown(from, to);
  if (segment.unrecorded) {
    prof::addTo(analysis_.of<UnknownPlaces>().unrecordedNs, to - from);
    analysis_.of<GraphReplays>().unknownOfRun.add(segment.cause, to - from);
  }
  if (countedSteps_ == 0) addCall(segment, to - from);
  device.bands.add(segment.cause, bandShare(bandNs, to - from, segment));
  if (segment.cause == Cause::Compute) return;
  DeviceSegment inside{segment, device.id};
  inside.startNs = from;
  inside.endNs = to;
  keepLongest(inside);
  if (!isBusy(segment.cause)) addIdle(segment, to - from);
}

void SegmentCollector::addIdle(const LedgerSegment& segment, std::int64_t durNs) {
  const bool named = segment.cause != Cause::Launch && segment.cause != Cause::Dependency;
  auto& detail = details_[{segment.cause, named ? segment.name : StringId()}];
  detail.first += durNs;
  ++detail.second;
}

/// Segments that follow each other are one stretch, whatever the work is called.
void SegmentCollector::addHostWork(prof::DeviceId device, const LedgerSegment& segment) {
  constexpr prof::TimeWindow kNone{0, 0};
  prof::TimeWindow& stretch = hostWork_.try_emplace(device, kNone).first->second;
  const bool isWork = segment.cause == Cause::HostWork;
  if (isWork && segment.startNs == stretch.endNs) {
    stretch.endNs = segment.endNs;
    return;
  }
  endHostWork(stretch);
  stretch = isWork ? prof::TimeWindow{segment.startNs, segment.endNs} : kNone;
}

void SegmentCollector::endHostWork(prof::TimeWindow stretch) {
  if (stretch.endNs <= stretch.startNs) return;
  std::int64_t countedNs = 0;
  const auto& steps = analysis_.steps.all;
  for (std::size_t at = countBy(steps, &Step::endNs, stretch.startNs);
       at < steps.size() && steps[at].startNs < stretch.endNs; ++at) {
    if (!counted_[at]) continue;
    prof::addTo(countedNs, std::min(steps[at].endNs, stretch.endNs) -
                               std::max(steps[at].startNs, stretch.startNs));
  }
  if (countedNs > 0) pauses_.add(stretch.endNs - stretch.startNs, countedNs);
}

void SegmentCollector::finish() {
  for (const auto& [device, stretch] : hostWork_) endHostWork(stretch);
  analysis_.of<IdleCauses>().longPauseNs = pauses_.longNs();
  analysis_.of<IdleCauses>().longHostWorkNs =
      pauses_.countedLongNs() / partsOfMean(analysis_, countedSteps_);
  fillDetails();
  analysis_.of<IdleCauses>().stepCalls = ofMeanStep(calls_);
  analysis_.of<IdleCauses>().stepPhases = ofMeanStep(phases_);
  for (const DeviceAccount& device : analysis_.devices) {
    analysis_.ledgers.run += device.ledger;
    analysis_.ledgers.bands.run += device.bands;
  }
}

/// Steps that are numbered each by its name are one thing.
void SegmentCollector::fillDetails() {
  std::unordered_set<std::string_view> markers;
  for (const Step& step : analysis_.steps.all) markers.insert(step.name);
  std::map<std::pair<Cause, std::string>, std::pair<std::int64_t, std::uint64_t>> byName;
  for (const auto& [key, sum] : details_) {
    const std::string_view name = analysis_.store->text(key.second);
    const bool isNumbered = markers.size() > 1 && markers.contains(name);
    auto& detail = byName[{key.first, std::string(isNumbered ? "step" : name)}];
    detail.first += sum.first;
    detail.second += sum.second;
  }
  for (const auto& [key, sum] : byName)
    analysis_.of<IdleCauses>().details.push_back({key.first, key.second, sum.first, sum.second});
  std::sort(analysis_.of<IdleCauses>().details.begin(), analysis_.of<IdleCauses>().details.end(),
            [](const CauseDetail& a, const CauseDetail& b) { return a.ns > b.ns; });
}

std::vector<CauseDetail> SegmentCollector::ofMeanStep(const Sums& sums) const {
  const std::int64_t parts = partsOfMean(analysis_, countedSteps_);
  std::vector<CauseDetail> details;
  for (const auto& [key, sum] : sums)
    details.push_back(
        {key.first, std::string(analysis_.store->text(key.second)), sum.first / parts, sum.second});
  return details;
}

void SegmentCollector::addToSteps(const LedgerSegment& segment, std::int64_t bandNs) {
  const auto& steps = analysis_.steps.all;
  std::size_t at = countBy(steps, &Step::endNs, segment.startNs);
  for (; at < steps.size() && steps[at].startNs < segment.endNs; ++at) {
    const prof::TimeWindow part{std::max(steps[at].startNs, segment.startNs),
                                std::min(steps[at].endNs, segment.endNs)};
    const TimeNs dur = part.endNs - part.startNs;
    analysis_.ledgers.steps[at].add(segment.cause, dur);
    if (segment.unrecorded) analysis_.of<GraphReplays>().unknownOfSteps[at].add(segment.cause, dur);
    analysis_.ledgers.bands.steps[at].add(segment.cause, bandShare(bandNs, dur, segment));
    if (!counted_[at]) continue;
    addCall(segment, dur);
    if (!isBusy(segment.cause)) addPhases(segment.cause, part);
  }
}

void SegmentCollector::addToPauses(const LedgerSegment& segment) {
  const auto& steps = analysis_.steps.all;
  for (std::size_t next = std::max<std::size_t>(1, countBy(steps, &Step::startNs, segment.startNs));
       next < steps.size() && steps[next - 1].endNs < segment.endNs; ++next) {
    const TimeNs from = std::max(steps[next - 1].endNs, segment.startNs);
    const TimeNs to = std::min(steps[next].startNs, segment.endNs);
    if (from < to && counted_[next - 1] && counted_[next])
      analysis_.ledgers.pauses.add(segment.cause, to - from);
  }
}

void SegmentCollector::addUnknown(TimeNs from, TimeNs to) {
  const auto& steps = analysis_.steps.all;
  if (steps.empty()) return;
  UnknownPlaces& places = analysis_.of<UnknownPlaces>();
  const TimeNs begin = std::clamp(steps.front().startNs, from, to),
               end = std::clamp(steps.back().endNs, from, to);
  std::int64_t inSteps = 0;
  for (std::size_t at = countBy(steps, &Step::endNs, begin);
       at < steps.size() && steps[at].startNs < end; ++at)
    prof::addTo(inSteps, std::min(steps[at].endNs, end) - std::max(steps[at].startNs, begin));
  prof::addTo(places.beforeNs, begin - from);
  prof::addTo(places.inStepsNs, inSteps);
  prof::addTo(places.betweenNs, end - begin - inSteps);
  prof::addTo(places.behindNs, to - end);
}

void SegmentCollector::addCall(const LedgerSegment& segment, std::int64_t durNs) {
  if (segment.cause != Cause::DriverCall && segment.cause != Cause::Synchronisation) return;
  auto& call = calls_[{segment.cause, segment.name}];
  prof::addTo(call.first, durNs);
  ++call.second;
}

void SegmentCollector::addPhases(Cause cause, prof::TimeWindow wait) {
  const auto& phases = analysis_.steps.phases;  // one after the other
  for (auto phase = std::ranges::upper_bound(phases, wait.startNs, {}, &PhaseSpan::endNs);
       phase != phases.end() && phase->startNs < wait.endNs; ++phase) {
    auto& sum = phases_[{cause, phase->name}];
    prof::addTo(sum.first,
                std::min(phase->endNs, wait.endNs) - std::max(phase->startNs, wait.startNs));
    ++sum.second;
  }
}

void SegmentCollector::keepLongest(const DeviceSegment& segment) {
  auto& kept = analysis_.of<IdleCauses>().longest[static_cast<std::size_t>(segment.cause)];
  if (kept.size() == kLongestKept && kept.back().durNs() >= segment.durNs()) return;
  const auto at = std::find_if(kept.begin(), kept.end(),
                               [&](const DeviceSegment& k) { return k.durNs() < segment.durNs(); });
  kept.insert(at, segment);
  if (kept.size() > kLongestKept) kept.pop_back();
}

}  // namespace lacuna::analyzer
