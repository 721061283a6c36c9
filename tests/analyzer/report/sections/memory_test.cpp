// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/memory.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/report/report_text.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/analyzer/table.h"
#include "lacuna/prof/bounds.h"
#include "lacuna/prof/events.h"
#include "support/analysed_run.h"
#include "support/small_trace.h"

namespace lacuna::analyzer {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kOneMiB = 1 << 20;

TEST(MemorySection, ShowsWhatIsAliveAtThePeak) {
  using prof::MemoryAction;
  // 8 MiB from 10 µs to the end, and 4 MiB from 20 to 50 µs: the peak of 12 MiB is at 20 µs.
  const Analysis analysis =
      test::SmallTrace()
          .memory(5, MemoryAction::Reserve, 1 << 30, 16 * kOneMiB, prof::MemoryRole::Cached)
          .memory(10, MemoryAction::Allocate, 1 << 30, 8 * kOneMiB, prof::MemoryRole::Parameter,
                  "init")
          .memory(20, MemoryAction::Allocate, (1 << 30) + 8 * kOneMiB, 4 * kOneMiB,
                  prof::MemoryRole::Activation, "conv")
          .memory(50, MemoryAction::Free, (1 << 30) + 8 * kOneMiB, 0)
          .analysed();
  const std::string text = sectionText(analysis, "memory");
  EXPECT_THAT(
      text,
      HasSubstr("\n peak 12.0 MiB (parameter 8.00 MiB, activation 4.00 MiB); 16.0 MiB reserved\n"));
  EXPECT_THAT(text, ContainsRegex("\n +8\\.00 MiB  parameter   init +10\\.0 µs  to the end\n"));
  EXPECT_THAT(text, ContainsRegex("\n +4\\.00 MiB  activation  conv +0 ns +30\\.0 µs\n"));
  EXPECT_EQ(jsonAt(analysis, "/memory/peak_bytes"), "12582912");
  EXPECT_EQ(jsonAt(analysis, "/memory/at_ns"), "20000");
  EXPECT_EQ(jsonAt(analysis, "/memory/reserved_peak_bytes"), "16777216");
  EXPECT_EQ(jsonAt(analysis, "/memory_devices/0/peak_bytes"), "12582912");
  EXPECT_EQ(jsonAt(analysis, "/memory/live/0/role"), R"("parameter")");
  EXPECT_EQ(jsonAt(analysis, "/memory/live/0/freed"), "false");
  EXPECT_EQ(jsonAt(analysis, "/memory/live/1/freed_ns"), "50000");
  EXPECT_THAT(cellsOf(reportTable(analysis, "live"), 1,
                      {"name", "bytes", "device", "allocated_ns", "freed"}),
              ElementsAre("conv", "4.00 MiB", "cuda:0", "20.0 µs", "yes"));
}

/// 12 MiB of a device whose allocator had to take 4 MiB more though 8 of its 20 MiB were free, in
/// pieces of 2 MiB.
Analysis fragmentedMemory() {
  Analysis analysis = withSteps(10);
  MemoryTables& memory = analysis.of<MemoryTables>();
  memory.all.present = true;
  memory.all.peakBytes = 12 * kOneMiB;
  memory.all.leakBytesPerStep = 2 * kOneMiB;
  memory.devices.push_back(
      {.device = prof::DeviceId(1), .peakBytes = 12 * kOneMiB, .curve = {}, .allocator = {}});
  AllocatorState& state = memory.devices.back().allocator;
  state.present = true;
  state.requestedBytes = 4 * kOneMiB;
  state.reservedBytes = 20 * kOneMiB;
  state.liveBytes = 12 * kOneMiB;
  state.largestFreeBytes = 2 * kOneMiB;
  state.segments = 5;
  return analysis;
}

TEST(MemorySection, GivesTheReasonsWhyTheAllocatorTookMore) {
  const Analysis analysis = fragmentedMemory();
  // 2 of 8 MiB are in the largest piece.
  EXPECT_THAT(sectionText(analysis, "memory", 200),
              HasSubstr("\n grows by 2.00 MiB a step\n allocator: took 4.00 MiB more when it held "
                        "20.0 MiB in 5 segments, 8.00 MiB of it free (largest piece 2.00 MiB, "
                        "fragmentation 75.0 %); no piece was large enough: fragmentation\n"));
  EXPECT_EQ(jsonAt(analysis, "/memory_devices/0/allocator/fragmentation"), "0.75");
  EXPECT_EQ(jsonAt(analysis, "/memory_devices/0/allocator/segments"), "5");
  EXPECT_EQ(jsonAt(analysis, "/memory/leak_bytes_per_step"), "2097152");
}

TEST(MemorySection, EditsHaveTheirCostAndThePeakBehindThem) {
  Analysis analysis = fragmentedMemory();
  PeakEdit edit;
  edit.kind = PeakEditKind::Recompute;
  edit.origin = "conv";
  edit.bytes = 8 * kOneMiB;
  edit.count = 2;
  edit.costNsPerStep = 1'500'000;
  edit.peakAfterBytes = 4 * kOneMiB;
  edit.why = "needed later";
  analysis.of<PeakEdits>() = {edit};
  EXPECT_THAT(sectionText(analysis, "memory"),
              ContainsRegex("\n to bring the peak down:\n +frees +costs +peak then  change\n"
                            " 8\\.00 MiB  1\\.50 ms a step +4\\.00 MiB  conv: needed later\n"));
  EXPECT_THAT(cellsOf(reportTable(analysis, "peak_edits"), 0,
                      {"kind", "origin", "bytes", "count", "peak_after_bytes"}),
              ElementsAre("recompute", "conv", "8.00 MiB", "2", "4.00 MiB"));
  EXPECT_EQ(jsonAt(analysis, "/peak_edits/0/cost_ns_per_step"), "1500000");
}

TEST(MemorySection, WithoutAllocationsShowsHowToRecordThem) {
  EXPECT_THAT(withoutBreaks(sectionText(withoutResults(), "memory")),
              HasSubstr(" the trace holds nothing of it; `lacuna run` records PyTorch's "
                        "allocations, PyTorch's profiler does with profile_memory=True"));
  EXPECT_EQ(jsonAt(withoutResults(), "/memory/peak_bytes"), "0");
  EXPECT_EQ(jsonAt(withoutResults(), "/memory_devices"), "[]");
  EXPECT_EQ(jsonAt(withoutResults(), "/peak_edits"), "[]");
}

TEST(MemorySection, MemoryAndDevicesOfSeveralRanksNameTheRank) {
  const Analysis several = analysed({.ranks = 2, .leakBytes = 1 << 20});
  ASSERT_EQ(several.of<MemoryTables>().byDevice.size(), 2U);
  const std::string text = renderText(several, {{"memory"}, 120, false});
  const std::string page = renderHtml(several);
  for (const char* whose : {"peak of cuda:0 of rank 0 ", "peak of cuda:1 of rank 1 "})
    EXPECT_THAT(text, HasSubstr(whose));
  for (const char* whose :
       {"Memory of cuda:0 of rank 0: peak", "Memory of cuda:1 of rank 1: peak", ", rank 1</div>"})
    EXPECT_THAT(page, HasSubstr(whose));
  Analysis nameless = several;
  nameless.devices.back().name.clear();
  EXPECT_THAT(renderHtml(nameless), HasSubstr("cuda:1, rank 1</div>"));
  EXPECT_THAT(renderText(analysed({.leakBytes = 1 << 20}), {{"memory"}, 120, false}),
              testing::Not(HasSubstr("of rank")));
}

TEST(MemorySection, ALongNameThatManyBlocksShareIsCut) {
  StoreBuilder builder;
  const auto name = builder.intern(std::string(3'000'000, 'x'));
  constexpr std::uint64_t kBlocks = 1000;
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    builder.append(prof::Allocation{.timeNs = static_cast<std::int64_t>(i),
                                    .address = 512 * (i + 1),
                                    .bytes = 512,
                                    .tensor = name,
                                    .op = name});
  }
  const auto analysis = analyse(builder.build());
  ASSERT_TRUE(analysis) << analysis.error().message;
  ASSERT_EQ(analysis->of<MemoryTables>().all.live.size(), kBlocks);
  EXPECT_EQ(analysis->of<MemoryTables>().all.live.front().op.size(), prof::kLongestText);
  const std::string json = renderJson(*analysis);
  EXPECT_LT(json.size(), 3'000'000U);
  EXPECT_THAT(json, HasSubstr("\"op\": \"" + std::string(999, 'x') + "…\""));
}

TEST(MemorySection, OfManyDevicesThoseWithTheHighestPeaksAreShown) {
  StoreBuilder builder;
  constexpr std::uint32_t kDevices = 3000;
  for (std::uint32_t i = 1; i <= kDevices; ++i) {
    builder.append(prof::Device{.id = prof::DeviceId(i), .index = i - 1});
    builder.append(
        prof::Allocation{.timeNs = i, .device = prof::DeviceId(i), .address = 512, .bytes = i});
  }
  const auto analysis = analyse(builder.build());
  ASSERT_TRUE(analysis) << analysis.error().message;
  ASSERT_EQ(analysis->of<MemoryTables>().devices.size(), kDevices);
  ASSERT_EQ(analysis->of<MemoryTables>().byDevice.size(), kMostMemories);
  for (std::size_t i = 0; i < kDevices; ++i) {
    const std::size_t before = i < kMostMemories ? kDevices - kMostMemories : 0;
    const std::size_t at = i < kMostMemories ? i : i - kMostMemories;
    EXPECT_EQ(analysis->of<MemoryTables>().devices[i].device.value, before + at + 1);
    if (i < kMostMemories) {
      EXPECT_EQ(analysis->of<MemoryTables>().byDevice[i].peakBytes,
                analysis->of<MemoryTables>().devices[i].peakBytes);
    }
  }
  for (const std::string& page :
       {renderText(*analysis, {{"memory"}, 120, false}), renderHtml(*analysis)})
    EXPECT_THAT(page,
                HasSubstr("memory of 2,936 further devices is not shown; none has a higher peak"));
  const std::string json = renderJson(*analysis);
  const auto count = [&](std::string_view key) {
    std::size_t found = 0;
    for (std::size_t at = json.find(key); at != std::string::npos; at = json.find(key, at + 1))
      ++found;
    return found;
  };
  // One more is of all devices together.
  EXPECT_EQ(count("\"reserved_peak_bytes\""), kDevices + 1);
  EXPECT_EQ(count("\"leak_bytes_per_step\""), kMostMemories + 1);
}

TEST(MemorySection, EachDeviceHasTheMeansThatLowerItsPeak) {
  // The devices' peaks are 400 ns apart; together they have the first one's only.
  StoreBuilder builder;
  builder.append(prof::Process{.id = prof::ProcessId(1), .osPid = 1});
  builder.append(prof::Thread{.id = prof::ThreadId(1), .process = prof::ProcessId(1)});
  for (std::uint32_t i = 0; i < 2; ++i)
    builder.append(
        prof::Device{.id = prof::DeviceId(i + 1), .kind = prof::DeviceKind::Cuda, .index = i});
  for (int i = 0; i < 2; ++i)
    builder.append(prof::Range{.startNs = 1000 * i,
                               .durNs = 1000,
                               .thread = prof::ThreadId(1),
                               .name = builder.intern("step")});
  const auto block = [&](prof::TimeNs at, std::uint32_t device, const char* op, std::uint64_t mib) {
    builder.append(prof::Allocation{.timeNs = at,
                                    .device = prof::DeviceId(device),
                                    .action = prof::MemoryAction::Allocate,
                                    .role = prof::MemoryRole::Activation,
                                    .address = mib << 20,
                                    .bytes = mib << 20,
                                    .op = builder.intern(op)});
    builder.append(prof::Allocation{.timeNs = at + 100,
                                    .device = prof::DeviceId(device),
                                    .action = prof::MemoryAction::Free,
                                    .address = mib << 20});
  };
  block(1100, 1, "conv", 8);
  block(1500, 2, "gelu", 6);
  const auto analysis = analyse(builder.build());
  ASSERT_TRUE(analysis);
  std::string edits;
  for (const PeakEdit& edit : analysis->of<PeakEdits>())
    edits +=
        fmt::format("{} of {} leaves {}; ", edit.origin, edit.device.value, edit.peakAfterBytes);
  EXPECT_EQ(edits, "conv of 1 leaves 0; gelu of 2 leaves 0; ");
  const std::string text = renderText(*analysis, {{"memory"}, 100, false});
  EXPECT_THAT(text,
              testing::ContainsRegex("peak of cuda:0 8.00 MiB(.|\n)*peak of cuda:1 6.00 MiB"));
  EXPECT_THAT(text, HasSubstr("to bring the peak of cuda:1 down:"));
  const std::string json = renderJson(*analysis);
  EXPECT_THAT(json, testing::ContainsRegex("\"device\": \"cuda:1\",\n *\"origin\": \"gelu\""));
  EXPECT_THAT(renderHtml(*analysis), HasSubstr("Memory of cuda:1: peak 6.00 MiB"));
}

}  // namespace
}  // namespace lacuna::analyzer
