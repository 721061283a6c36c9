// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "analyses/time/queue_length.h"
#include "analyses/work/launches.h"
#include "analysis/devices.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/prof/amounts.h"
#include "report/phrases.h"
#include "report/sections/registry.h"

namespace lacuna::analyzer::sections {
namespace of_launches {
namespace {

/// A queue with its place.
struct Queue {
  const QueueLength* row;
  QueuePlace place;
};

const Column<Queue> kColumns[]{
    {{"device", "device", ColumnKind::Text, "as in `devices[]`"},
     [](const Queue& queue) -> TableCell { return std::string(queue.place.device); }},
    {{"queue", "queue", ColumnKind::Text, "as in `devices[]`"},
     [](const Queue& queue) -> TableCell { return std::string(queue.place.queue); }},
    {{"launches", "launches", ColumnKind::Count, "work whose launch is in the trace"},
     [](const Queue& queue) -> TableCell { return queue.row->work; }},
    {{"mean", "mean", ColumnKind::Number, "launches that waited, on average over the time"},
     [](const Queue& queue) -> TableCell { return queue.row->mean(); }},
    {{"max", "most", ColumnKind::Count, "launches that waited at once"},
     [](const Queue& queue) -> TableCell { return queue.row->most; }},
    {{"max_at_ns", "", ColumnKind::Time, "when that was"},
     [](const Queue& queue) -> TableCell { return queue.row->mostAtNs; }},
    {{"span_ns", "", ColumnKind::Time, "the time analysed"},
     [](const Queue& queue) -> TableCell { return queue.row->spanNs; }},
    {{"waiting_ns", "any waits", ColumnKind::Time, "while any launch waited"},
     [](const Queue& queue) -> TableCell { return queue.row->waitingNs; }},
    {{"full_ns", "1024 wait", ColumnKind::Time,
      "while 1024 or more waited, which fills a CUDA stream"},
     [](const Queue& queue) -> TableCell { return queue.row->fullNs; }},
};

bool lacksCalls(const Analysis& analysis) {
  return analysis.of<LaunchStats>().unmatched > 0 && analysis.store != nullptr &&
         analysis.store->rows<prof::ApiCall>() == 0;
}

Lines notes(const Analysis& analysis) {
  const LaunchStats& stats = analysis.of<LaunchStats>();
  if (lacksCalls(analysis))
    return {
        " the trace has device work without calls (as lacuna run --cuda kernels records it): "
        "launches, waits and memory are not visible in it, and idle time that they cause is "
        "unknown"};
  if (stats.launches == 0) return {" no launch could be joined to device work"};
  const auto share = [&](std::uint64_t count) {
    return prof::shareText(ratio(double(count), double(stats.launches)));
  };
  const Ledger step = analysis.meanStepLedger();
  return {
      fmt::format(
          " {}{}; call {}{} (median), from its end to the start {}{}",
          prof::countText(stats.launches, "launch", "launches"),
          analysis.steps.all.empty()
              ? std::string()
              : fmt::format(", {} a step", stats.stepLaunches /
                                               static_cast<std::uint64_t>(analysis.stepCount() *
                                                                          analysis.processCount())),
          prof::timeText(stats.medianCallNs),
          bandInBrackets(stats.callRecordingNs, stats.medianCallNs),
          prof::timeText(stats.medianDelayNs),
          bandInBrackets(stats.delayRecordingNs, stats.medianDelayNs)),
      fmt::format(" {} found an empty queue, {} launched work shorter than the call; {:.1f} in the "
                  "queue on average",
                  share(stats.foundQueueEmpty), share(stats.shorterThanCall), stats.meanQueueDepth),
      fmt::format(
          " launch-bound: the device waits {} {}{} for launches ({} of it)",
          prof::timeText(step[Cause::Launch]), perStep(analysis),
          bandInBrackets(analysis.meanStepBands()[Cause::Launch], step[Cause::Launch]),
          prof::shareText(ratio(double(step[Cause::Launch]), double(analysis.meanStepNs()))))};
}

/// The queues whose work waited longest.
void writeQueueLengths(TextPage& page, const Analysis& analysis, int rows) {
  std::vector<const QueueLength*> order;
  for (const QueueLength& row : analysis.of<QueueLengths>()) order.push_back(&row);
  std::ranges::stable_sort(order, std::greater(), &QueueLength::waitedNs);
  TextTable table({{"waiting in", TextColumn::Kind::Name},
                   {"launches"},
                   {"mean"},
                   {"most"},
                   {"any"},
                   {fmt::format("{} or more", kFullQueue), TextColumn::Kind::Figure, 1}});
  const auto listed = std::min(order.size(), static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < listed; ++i) {
    const QueueLength& row = *order[i];
    const QueuePlace place = placeOf(analysis, row.queue);
    const auto ofSpan = [&](std::int64_t ns) {
      return prof::shareText(ratio(double(ns), double(row.spanNs)));
    };
    table.add({fmt::format("{} {}", place.device, place.queue), std::to_string(row.work),
               fmt::format("{:.2f}", row.mean()), std::to_string(row.most), ofSpan(row.waitingNs),
               ofSpan(row.fullNs)});
  }
  page.table(table);
  page.more(order.size() - listed);
}

const Column<LaunchStats> kLaunches[]{
    {{"count", "", ColumnKind::Count, "launches whose work is in the trace"},
     kValueOf<&LaunchStats::launches>},
    {{"median_call_ns", "", ColumnKind::Time, "how long the call takes"},
     kValueOf<&LaunchStats::medianCallNs>},
    {{"call_recording_ns", "", ColumnKind::Time,
      "what recording may have added to `median_call_ns`"},
     kValueOf<&LaunchStats::callRecordingNs>},
    {{"median_delay_ns", "", ColumnKind::Time, "from the end of the call to the begin of its work"},
     kValueOf<&LaunchStats::medianDelayNs>},
    {{"delay_recording_ns", "", ColumnKind::Time,
      "what recording may have added to `median_delay_ns`"},
     kValueOf<&LaunchStats::delayRecordingNs>},
    {{"shorter_than_call", "", ColumnKind::Count,
      "device work that is shorter than its launch call"},
     kValueOf<&LaunchStats::shorterThanCall>},
    {{"found_queue_empty", "", ColumnKind::Count,
      "launches when nothing ran or waited on the queue"},
     kValueOf<&LaunchStats::foundQueueEmpty>},
    {{"in_place", "", ColumnKind::Count,
      "executed by the thread that launches, as a CPU's operators are"},
     kValueOf<&LaunchStats::inPlace>},
    {{"mean_queue_depth", "", ColumnKind::Number,
      "work launched and not finished, as each launch finds it"},
     kValueOf<&LaunchStats::meanQueueDepth>},
    {{"unmatched", "", ColumnKind::Count, "device work without a recorded launch"},
     kValueOf<&LaunchStats::unmatched>},
};

const Column<QueueLengthPoint> kCurve[]{
    {{"time_ns", "", ColumnKind::Time, "from here to the next row"},
     kValueOf<&QueueLengthPoint::timeNs>},
    {{"max", "", ColumnKind::Count, "launches that waited at once"},
     kValueOf<&QueueLengthPoint::most>},
};

std::vector<Table> tables(const Analysis& analysis) {
  std::vector<Queue> queues;
  for (const QueueLength& row : analysis.of<QueueLengths>())
    queues.push_back({&row, placeOf(analysis, row.queue)});
  return {recordOf("launches", "the calls that launch work", kLaunches, analysis.of<LaunchStats>()),
          holding(tableOf("queue_lengths", "launches that wait in each queue", kColumns, queues),
                  [&](std::size_t row) {
                    return std::vector{tableOf("curve", "the length over time", kCurve,
                                               analysis.of<QueueLengths>()[row].curve)};
                  })};
}

void text(TextPage& page, const Analysis& analysis, int rows) {
  writeLines(page, sections::launches, notes(analysis));
  if (analysis.of<LaunchStats>().launches > 0) writeQueueLengths(page, analysis, rows);
}

}  // namespace
}  // namespace of_launches

constinit const Section launches{
    .name = "launches",
    .title = "Launches",
    .about = "how long launching takes, and what waits in the queues",
    .notes = of_launches::notes,
    .tables = of_launches::tables,
    .text = of_launches::text,
};

}  // namespace lacuna::analyzer::sections
