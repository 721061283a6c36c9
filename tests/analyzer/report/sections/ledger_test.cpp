// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "analyzer/report/report_text.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/analyzer/table.h"
#include "support/analysed_run.h"

namespace lacuna::analyzer {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(LedgerSection, EveryMomentOfTheDeviceHasACause) {
  const Analysis analysis = threeLaunches();
  // From 20 to 360 µs the device computes for 100, 10 and 100 µs. From 130 to 200 µs nobody does
  // anything; the third launch takes from 200 until its kernel begins at 260.
  const std::string text = sectionText(analysis, "ledger");
  EXPECT_THAT(text, ContainsRegex(" computing +61\\.8 % +210 µs\n"));
  EXPECT_THAT(text, ContainsRegex(" unknown +20\\.6 % +70\\.0 µs\n"));
  EXPECT_THAT(text, ContainsRegex(" launch-bound +17\\.6 % +60\\.0 µs\n"));
  EXPECT_THAT(withoutBreaks(text),
              HasSubstr("of 340 µs between the first and the last device work; 20.0 µs before it, "
                        "mostly cudaLaunchKernel on the host"));
  EXPECT_EQ(jsonAt(analysis, "/ledger/total_ns"), "340000");
  EXPECT_EQ(jsonAt(analysis, "/ledger/unknown_ns"), "70000");
  EXPECT_EQ(jsonAt(analysis, "/ledger/recording_ns"), "0");
  EXPECT_EQ(jsonAt(analysis, "/ledger/entries/0"), R"({"cause":"compute","ns":210000})");
  EXPECT_EQ(jsonAt(analysis, "/ledger/entries/9"), R"({"cause":"launch","ns":60000})");
  EXPECT_EQ(jsonAt(analysis, "/ledger_window/before_ns"), "20000");
  EXPECT_EQ(jsonAt(analysis, "/ledger_window/after_ns"), "0");
}

TEST(LedgerSection, NamesTheBottleneckOfAStepAndItsOtherLargeParts) {
  const Analysis analysis = threeLaunches();
  // 70 and 60 of 340 µs: each more than 15 %.
  EXPECT_THAT(withoutBreaks(sectionText(analysis, "ledger")),
              HasSubstr("bound by: waits between queues or without a cause (20.6 % of all); also "
                        "host 17.6 % (high)"));
  EXPECT_EQ(jsonAt(analysis, "/bottleneck/bound_by"), R"("other")");
  const Table parts = reportTable(analysis, "bottleneck");
  ASSERT_EQ(parts.rows.size(), 6U);
  EXPECT_THAT(cellsOf(parts, 0, {"part", "ns_per_step", "share"}),
              ElementsAre("device", "210 µs", "61.8 %"));
  EXPECT_THAT(cellsOf(parts, 2, {"part", "ns_per_step", "share", "tier"}),
              ElementsAre("host", "60.0 µs", "17.6 %", "high"));
  EXPECT_EQ(jsonAt(analysis, "/bottleneck/parts/5/ns_per_step"), "70000");
}

TEST(LedgerSection, WithoutDevicesGivesTheReason) {
  EXPECT_EQ(
      sectionText(withoutResults(), "ledger"),
      "\nWhere the device's time goes\n the trace holds nothing of it; no device did any work\n");
  EXPECT_EQ(jsonAt(withoutResults(), "/ledger/total_ns"), "0");
  EXPECT_EQ(jsonAt(withoutResults(), "/bottleneck/bound_by"), R"("nothing")");
  EXPECT_THAT(renderText(withoutResults()), Not(HasSubstr("Where the device's time goes")));
}

/// Work of the device, then 400 ms of nothing, then three steps of 100 ms with 20 ms of nothing in
/// each. 30 and 100 ms lie between the steps, and 50 ms before the last work.
Analysis withUnknownTime(bool counted, bool sampled = false) {
  StoreBuilder builder;
  const prof::ThreadId thread(1);
  builder.append(prof::Process{.id = prof::ProcessId(1)});
  builder.append(prof::Thread{.id = thread, .process = prof::ProcessId(1)});
  builder.append(prof::Device{.id = prof::DeviceId(1), .kind = prof::DeviceKind::Cuda});
  builder.append(prof::Queue{
      .id = prof::QueueId(1), .device = prof::DeviceId(1), .process = prof::ProcessId(1)});
  const auto work = [&](prof::TimeNs startMs, std::int64_t ms) {
    builder.append(prof::Kernel{.startNs = startMs * 1'000'000,
                                .durNs = ms * 1'000'000,
                                .queue = prof::QueueId(1),
                                .device = prof::DeviceId(1),
                                .name = builder.intern("k")});
  };
  work(0, 10);
  for (const prof::TimeNs at : {410, 540, 740}) {
    builder.append(prof::Range{.startNs = at * 1'000'000,
                               .durNs = 100'000'000,
                               .thread = thread,
                               .category = builder.intern("step"),
                               .name = builder.intern("step")});
    work(at, 40);
    work(at + 60, 40);
  }
  work(890, 10);
  for (int i = 1; counted && i <= 4; ++i) {
    for (const auto& [track, percent] : {std::pair(1u, 60.0), std::pair(2u, 30.0)})
      builder.append(prof::CounterSample{
          .timeNs = i * 100'000'000, .track = prof::TrackId(track), .value = percent});
  }
  if (counted) {
    builder.append(prof::CounterTrack{
        .id = prof::TrackId(1), .thread = thread, .name = builder.intern("thread CPU")});
    builder.append(prof::CounterTrack{
        .id = prof::TrackId(2), .thread = thread, .name = builder.intern("waiting for a core")});
  }
  // Seven samples of libpython, two of libc, one of no library that is known; others' and later
  // ones do not count.
  for (int i = 0; sampled && i < 12; ++i) {
    builder.append(prof::CpuSample{.timeNs = (i < 11 ? 20 + 30 * i : 420) * 1'000'000,
                                   .thread = i == 10 ? prof::ThreadId(2) : thread,
                                   .stack = prof::FrameId(i < 7   ? 1
                                                          : i < 9 ? 2
                                                                  : 3),
                                   .weightNs = 1'000'000});
  }
  if (sampled) {
    builder.append(prof::StackFrame{.id = prof::FrameId(1),
                                    .module = builder.intern("/usr/lib/libpython3.11.so.1.0")});
    builder.append(prof::StackFrame{.id = prof::FrameId(2),
                                    .parent = prof::FrameId(1),
                                    .module = builder.intern("/usr/lib/libc.so.6")});
    builder.append(prof::StackFrame{.id = prof::FrameId(3)});
  }
  auto analysis = analyse(builder.build());
  EXPECT_TRUE(analysis) << analysis.error().message;
  return std::move(*analysis);
}

TEST(LedgerSection, NamesTheLibrariesInWhichAProgramSetsItselfUp) {
  const Analysis analysis = withUnknownTime(false, true);
  ASSERT_EQ(analysis.of<UnknownPlaces>().libraries.size(), 2U);
  EXPECT_THAT(withoutBreaks(renderText(analysis, {{"ledger"}, 100, false})),
              HasSubstr("before the first step (of its CPU samples 70 % in libpython3.11.so.1.0, "
                        "20 % in libc.so.6), 120"));
  EXPECT_THAT(renderJson(analysis), HasSubstr("\"path\": \"/usr/lib/libc.so.6\""));
}

TEST(LedgerSection, ShowsWhereTimeWithoutACauseLies) {
  const Analysis analysis = withUnknownTime(true);
  EXPECT_EQ(analysis.of<UnknownPlaces>().beforeNs, 400'000'000);
  EXPECT_EQ(analysis.of<UnknownPlaces>().inStepsNs, 120'000'000) << "with the usual pause";
  EXPECT_EQ(analysis.of<UnknownPlaces>().betweenNs, 70'000'000);
  EXPECT_EQ(analysis.of<UnknownPlaces>().behindNs, 50'000'000);
  const UnknownPlaces& places = analysis.of<UnknownPlaces>();
  EXPECT_EQ(places.beforeNs + places.inStepsNs + places.betweenNs + places.behindNs,
            analysis.ledgers.run[Cause::Unknown]);
  const std::string sentence =
      "unknown: 400 ms before the first step (the host's thread ran 60 % of that time and waited "
      "for a core 30 %; imports and setup record no events), 120 ms in steps, 70.0 ms between "
      "steps, 50.0 ms behind the last step";
  EXPECT_THAT(withoutBreaks(renderText(analysis, {{"ledger"}, 100, false})), HasSubstr(sentence));
  EXPECT_THAT(renderJson(analysis), HasSubstr("\"before_steps_ns\": 400000000"));
  EXPECT_THAT(renderHtml(analysis), HasSubstr("400 ms before the first step"));
  const std::string uncounted =
      withoutBreaks(renderText(withUnknownTime(false), {{"ledger"}, 100, false}));
  EXPECT_THAT(
      uncounted,
      HasSubstr("before the first step (imports and setup record no events), 120 ms in steps"));
  EXPECT_THAT(renderText(analysed({}), {{"ledger"}, 100, false}), Not(HasSubstr("unknown:")));
}

TEST(LedgerSection, StepsOfTheLedgerSumToTheStep) {
  const Analysis analysis = analysed({.ranks = 2, .collectiveNs = 500'000});
  for (std::size_t i = 0; i < analysis.steps.all.size(); ++i)
    EXPECT_EQ(analysis.ledgers.steps[i].totalNs(), 2 * analysis.steps.all[i].durNs());
  for (const DeviceAccount& device : analysis.devices)
    EXPECT_EQ(device.ledger.totalNs(), device.window.endNs - device.window.startNs);
}

TEST(LedgerSection, TheLedgerNamesTheBasisOfItsSharesAndTimes) {
  const ReportOptions narrow{{"ledger"}, 80, false};
  const std::string run = renderText(analysed(kSlow), narrow);
  // The heads end where their columns do.
  EXPECT_THAT(run, HasSubstr("\n                           of the run       steady steps\n"));
  EXPECT_THAT(run, testing::ContainsRegex("computing +[0-9.]+ % +[0-9.]+ ms a step"));
  EXPECT_THAT(
      renderText(analysed(kSlow), {{"ledger"}, 160, false}),
      testing::ContainsRegex("of the run       steady steps {37,}of the run       steady steps\n"));
  AnalysisOptions some;
  some.steps = {2, 5};
  EXPECT_THAT(renderText(analysed(kSlow, some), narrow),
              HasSubstr("of these steps       steady steps\n"));
  EXPECT_THAT(renderHtml(analysed(kSlow)),
              HasSubstr("shares of the run · times in steady steps, on average"));
  // Without steps both are of the run.
  EXPECT_THAT(renderText(analysed({.steps = 1, .stepsMarked = false}), narrow),
              Not(HasSubstr("steady")));
}

/// A device that works from 40 to 60 s of a run of 0 to 61 s. The host spends 30 s of the first 40
/// in one call. Two longer ranges are around the call.
Analysis analysedLate(std::int64_t callNs) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  StoreBuilder builder;
  const prof::ThreadId thread(1);
  builder.append(prof::Process{.id = prof::ProcessId(1)});
  builder.append(prof::Thread{.id = thread, .process = prof::ProcessId(1)});
  builder.append(prof::Device{.id = prof::DeviceId(1), .kind = prof::DeviceKind::Cuda});
  builder.append(prof::Queue{
      .id = prof::QueueId(1), .device = prof::DeviceId(1), .process = prof::ProcessId(1)});
  builder.append(prof::Range{
      .startNs = 0, .durNs = 61 * kSecond, .thread = thread, .name = builder.intern("main")});
  builder.append(prof::Range{
      .startNs = 0, .durNs = 39 * kSecond, .thread = thread, .name = builder.intern("prepare")});
  builder.append(prof::ApiCall{.startNs = kSecond,
                               .durNs = callNs,
                               .thread = thread,
                               .name = builder.intern("cudaDeviceGetStreamPriority")});
  for (const std::int64_t at : {40, 59}) {
    builder.append(prof::Kernel{.startNs = at * kSecond,
                                .durNs = kSecond,
                                .queue = prof::QueueId(1),
                                .device = prof::DeviceId(1),
                                .name = builder.intern("gemm")});
  }
  return std::move(*analyse(builder.build()));
}

TEST(LedgerSection, TheLedgerNamesItsTimeAndTheTimeOutside) {
  const Analysis analysis = analysedLate(30'000'000'000);
  EXPECT_EQ(analysis.ledgers.run.totalNs(), 20'000'000'000);
  EXPECT_EQ(analysis.of<StretchesWithoutDevices>().before.ns, 40'000'000'000);
  EXPECT_EQ(analysis.of<StretchesWithoutDevices>().before.longest, "cudaDeviceGetStreamPriority");
  EXPECT_EQ(analysis.of<StretchesWithoutDevices>().before.longestNs, 30'000'000'000);
  EXPECT_EQ(analysis.of<StretchesWithoutDevices>().after.ns, 1'000'000'000);
  const char* line =
      "of 20.0 s between the first and the last device work; 40.0 s before it, mostly "
      "cudaDeviceGetStreamPriority on the host; 1.00 s after it, mostly main on the host";
  EXPECT_THAT(renderText(analysis, {{"ledger"}, 200, false}),
              HasSubstr(std::string("\n ") + line + "\n"));
  EXPECT_THAT(renderHtml(analysis), HasSubstr(line));
  EXPECT_THAT(renderJson(analysis),
              testing::ContainsRegex("\"before_ns\": 40000000000,[^}]*\"before_longest\": "
                                     "\"cudaDeviceGetStreamPriority\",[^}]*30000000000"));
  // A call of 10 s is not most of it: the range around it is.
  EXPECT_EQ(analysedLate(10'000'000'000).of<StretchesWithoutDevices>().before.longest, "prepare");
}

TEST(LedgerSection, TimeOutsideOfTheLedgerIsReportedOnlyWhereItMatters) {
  const std::string text = renderText(analysed({.ranks = 2}), {{"ledger"}, 160, false});
  EXPECT_THAT(text,
              testing::ContainsRegex(
                  "of [0-9.]+ m?s of 2 devices, between the first and the last work of each"));
  StoreBuilder builder;
  builder.append(prof::Thread{.id = prof::ThreadId(1)});
  builder.append(prof::Range{.startNs = 1, .durNs = 10, .thread = prof::ThreadId(1)});
  const auto host = analyse(builder.build());
  ASSERT_TRUE(host);
  EXPECT_EQ(
      host->of<StretchesWithoutDevices>().before.ns + host->of<StretchesWithoutDevices>().after.ns,
      0);
}

}  // namespace
}  // namespace lacuna::analyzer
