// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/chunk_tables.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::TimeWindow;

template <class Row>
std::string keyOf(const Row& row) {
  if constexpr (requires { row.shapes; }) return row.name + '\n' + row.shapes;
  if constexpr (requires { row.communicator; }) return row.name + '\n' + row.communicator;
  return row.name;
}

template <class Row, class Merge>
void mergeByName(std::vector<Row>& into, std::vector<Row> more, Merge merge) {
  if (into.empty()) {
    into = std::move(more);
    return;
  }
  std::unordered_map<std::string, std::size_t> at;
  for (std::size_t i = 0; i < into.size(); ++i) at[keyOf(into[i])] = i;
  for (Row& row : more) {
    const auto found = at.find(keyOf(row));
    if (found == at.end()) {
      into.push_back(std::move(row));
    } else {
      merge(into[found->second], row);
    }
  }
}

void addOperator(OperatorRow& a, const OperatorRow& b) {
  a.count += b.count;
  prof::addTo(a.totalNs, b.totalNs);
  prof::addTo(a.selfNs, b.selfNs);
  prof::addTo(a.deviceNs, b.deviceNs);
  prof::addTo(a.stepSelfNs, b.stepSelfNs);
  prof::addTo(a.stepDeviceNs, b.stepDeviceNs);
  prof::addTo(a.memBytes, b.memBytes);
  prof::addTo(a.selfMemBytes, b.selfMemBytes);
  prof::addTo(a.recordingNs, b.recordingNs);
  prof::addTo(a.selfRecordingNs, b.selfRecordingNs);
  prof::addTo(a.deviceRecordingNs, b.deviceRecordingNs);
}

void addCall(CallRow& a, const CallRow& b) {
  a.count += b.count;
  prof::addTo(a.totalNs, b.totalNs);
  a.stepCount += b.stepCount;
  prof::addTo(a.stepNs, b.stepNs);
  prof::addTo(a.recordingNs, b.recordingNs);
  a.copies += b.copies;
  a.stepLargeCount += b.stepLargeCount;
  prof::addTo(a.stepLargeNs, b.stepLargeNs);
  if (a.caller.empty()) a.caller = b.caller;
}

void addCollective(CollectiveRow& a, const CollectiveRow& b) {
  a.count += b.count;
  prof::addTo(a.totalNs, b.totalNs);
  prof::addTo(a.exposedNs, b.exposedNs);
  prof::addTo(a.recordingNs, b.recordingNs);
  a.calls += b.calls;
  prof::addTo(a.bytes, b.bytes);
  prof::addTo(a.bytesNs, b.bytesNs);
  prof::addTo(a.algorithmBytes, b.algorithmBytes);
  prof::addTo(a.algorithmNs, b.algorithmNs);
  prof::addTo(a.busBytes, b.busBytes);
  prof::addTo(a.busNs, b.busNs);
  if (a.ranks == 0) a.ranks = b.ranks;
}

}  // namespace

void ChunkTables::add(const Timeline& timeline, TimeWindow chunk, const RecordedCosts& costs, WorkProgress& progress) {
  ++chunks_;
  const StepSpans& steps = analysis_.scope.steps;
  const LaunchIndex index(timeline);
  const TimeWindow window{std::max(chunk.startNs, analysis_.window.startNs),
                          std::min(chunk.endNs, analysis_.window.endNs)};
  const Chunk part{timeline, index, window, steps.everything() ? window : chunk, costs};
  // A part takes a moment for each; nobody is kept waiting for more than one of them.
  const auto wanted = [&] { return progress.at(0); };
  addOperators(part, GroupBy::Name, steps, analysis_.operators);
  if (!wanted()) return;
  addOperators(part, GroupBy::NameAndShapes, {}, analysis_.operatorShapes);
  if (!wanted()) return;
  addCalls(part);
  if (!wanted()) return;
  addCommunication(part);
  if (!wanted()) return;
  addRepetition(part);
  if (!wanted()) return;
  addQueues(part);
  addLaunches(part);
}

void ChunkTables::finish() {
  analysis_.launches.stepLaunches = stepWork_.launches;
  analysis_.projectedRanges = projection_.take();
  if (chunks_ < 2) return;
  sortOperators(analysis_.operators);
  sortOperators(analysis_.operatorShapes);
  sortCalls(analysis_.calls);
  sortCollectives(analysis_.communication.collectives);
}

void ChunkTables::addOperators(const Chunk& chunk, GroupBy by, const StepSpans& steps,
                               std::vector<OperatorRow>& into) const {
  mergeByName(
      into,
      operatorTable(*analysis_.store, chunk.timeline, chunk.index, chunk.window, by, steps, analysis_.scope.taken),
      addOperator);
}

void ChunkTables::addCalls(const Chunk& chunk) {
  mergeByName(
      analysis_.calls,
      callTable(*analysis_.store, chunk.timeline, chunk.index, chunk.window, &chunk.costs, analysis_.scope.steps),
      addCall);
}

void ChunkTables::addCommunication(const Chunk& chunk) {
  CommunicationStats more = communicationStats(*analysis_.store, chunk.timeline, chunk.window, &chunk.costs);
  CommunicationStats& sum = analysis_.communication;
  prof::addTo(sum.totalNs, more.totalNs);
  prof::addTo(sum.exposedNs, more.exposedNs);
  prof::addTo(sum.recordingNs, more.recordingNs);
  mergeByName(sum.collectives, std::move(more.collectives), addCollective);
}

/// Launches and kernels that come again and again.
void ChunkTables::addRepetition(const Chunk& chunk) {
  const Store& store = *analysis_.store;
  const StepSpans& steps = analysis_.scope.steps;
  mergePatterns(analysis_.patterns,
                launchPatterns(store, chunk.timeline, chunk.index, chunk.inSteps, steps, analysis_.steps));
  mergeSequences(analysis_.sequences,
                 kernelSequences(store, chunk.timeline, chunk.index, chunk.inSteps, analysis_.steps, steps));
}

/// The work of steps and ranges on the devices' queues.
void ChunkTables::addQueues(const Chunk& chunk) {
  const StepSpans& steps = analysis_.scope.steps;
  addStepWork(chunk.timeline, chunk.index, chunk.inSteps, steps, stepWork_);
  addQueueLengths(chunk.timeline, chunk.index, chunk.window, analysis_.window, analysis_.queueLengths);
  projection_.add(chunk.timeline, chunk.index, chunk.window, steps, *analysis_.store);
}

void ChunkTables::addLaunches(const Chunk& chunk) {
  const LaunchStats more = launchStats(chunk.timeline, chunk.index, chunk.window, &chunk.costs);
  LaunchStats& launches = analysis_.launches;
  const auto sum = static_cast<double>(launches.launches + more.launches);
  if (sum > 0) {
    launches.meanQueueDepth = (launches.meanQueueDepth * static_cast<double>(launches.launches) +
                               more.meanQueueDepth * static_cast<double>(more.launches)) /
                              sum;
  }
  // Of several chunks the one with the most launches speaks for the medians.
  if (more.launches > launches.launches) {
    launches.medianCallNs = more.medianCallNs;
    launches.medianDelayNs = more.medianDelayNs;
    launches.callRecordingNs = more.callRecordingNs;
    launches.delayRecordingNs = more.delayRecordingNs;
  }
  launches.launches += more.launches;
  launches.shorterThanCall += more.shorterThanCall;
  launches.foundQueueEmpty += more.foundQueueEmpty;
  launches.unmatched += more.unmatched;
}

}  // namespace lacuna::analyzer
