// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/host/calls.h"

#include <algorithm>

#include "analyses/work/calls.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {

bool isCopyCall(const CallRow& row) {
  return row.name.find("emcpy") != std::string::npos;
}

bool isMemsetCall(const CallRow& row) {
  return row.name.find("emset") != std::string::npos;
}

std::uint64_t syncCalls(const Analysis& analysis, bool andCopies) {
  std::uint64_t count = 0;
  for (const CallRow& row : analysis.of<CallTable>()) {
    const bool counts =
        row.activity == Activity::Sync && (andCopies || (!isCopyCall(row) && !isMemsetCall(row)));
    count += counts ? row.stepCount : 0;
  }
  return count;
}

const CallRow* costliestCall(const Facts& facts, Activity activity) {
  const CallRow* most = nullptr;
  for (const CallRow& row : facts.analysis.of<CallTable>()) {
    if (row.activity != activity || facts.isClaimed(row.name)) continue;
    if (most == nullptr || row.stepNs > most->stepNs) most = &row;
  }
  return most;
}

const CauseDetail* longestWait(const Facts& facts, Cause cause,
                               std::span<const std::string_view> except) {
  const CauseDetail* most = nullptr;
  for (const CauseDetail& detail : facts.analysis.of<IdleCauses>().details) {
    if (detail.cause != cause || detail.name.empty() || facts.isClaimed(detail.name)) continue;
    if (std::ranges::find(except, detail.name) != except.end()) continue;
    if (most == nullptr || detail.ns > most->ns) most = &detail;
  }
  return most;
}

std::vector<PythonStretch> linesBehind(const Facts& facts, std::int64_t nsPerStep,
                                       IdleTime counted) {
  const PythonLines& lines = facts.analysis.of<PythonLines>();
  auto waits = lines.waitedFor(nsPerStep, counted);
  if (lines.statesKnown) return waits;
  // The cost may leave out a part of the time that was sampled, as that in which the thread slept.
  std::int64_t allNs = 0;
  for (const PythonLine& line : lines.step) prof::addTo(allNs, line.idleNs);
  if (allNs > nsPerStep) {
    for (PythonStretch& wait : waits)
      wait.ns =
          prof::wholeOf<std::int64_t>(static_cast<double>(nsPerStep) * shareOf(wait.ns, allNs));
  }
  return waits;
}

void nameLines(const Facts& facts, Finding& finding, const std::vector<PythonStretch>& lines) {
  finding.quantities = {Quantity::called("lines", listOf(lines))};
  std::vector<Evidence> evidence;
  for (const PythonStretch& line : lines) {
    for (const prof::TimeWindow& stretch : line.idle)
      evidence.push_back({.startNs = stretch.startNs,
                          .endNs = stretch.endNs,
                          .what = line.text,
                          .thread = facts.analysis.of<PythonLines>().thread});
  }
  finding.evidence.insert(finding.evidence.begin(), evidence.begin(), evidence.end());
}

void findBlockingCalls(const Facts& facts, Outcome& out, bool (*isOne)(const CallRow& row),
                       const Threshold& least, const Confidence& confidence,
                       std::string_view advice) {
  for (const CallRow& row : facts.analysis.of<CallTable>()) {
    if (row.activity != Activity::Sync || !isOne(row)) continue;
    // The driver stages small copies from the host and returns at once; who reads a number waits
    // for it.
    const bool isSized = isCopyCall(row) && row.copies > 0;
    const std::int64_t ns = isSized ? row.stepLargeNs : row.stepNs;
    const std::uint64_t count = isSized ? row.stepLargeCount : row.stepCount;
    const std::int64_t cost = facts.perStep(ns);
    if (facts.shareOfStep(cost) < least) continue;
    Finding finding;
    finding.costNsPerStep = cost;
    finding.count = count;
    finding.words = "{calls} {call} calls {a step} hold the host for {cost}";
    finding.quantities = {Quantity::number("calls", facts.timesAStep(count), 1),
                          Quantity::called("call", row.name)};
    finding.confidence = confidence;
    finding.advice = advice;
    finding.evidence = facts.evidenceOf(Cause::Synchronisation);
    Change without = withoutCall(row.name);
    if (isSized) without.aboveBytes = kStagedBytes;
    out.add(std::move(finding), std::span<const Change>(&without, 1));
    out.claim({.call = row.name,
               .activity = Activity::Sync,
               .share = static_cast<double>(ns) / static_cast<double>(row.stepNs),
               .nsPerStep = cost});
  }
}

}  // namespace lacuna::analyzer
