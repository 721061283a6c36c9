// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/report/report_text.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/analyzer/table.h"
#include "lacuna/prof/events.h"
#include "support/analysed_run.h"
#include "support/small_trace.h"

namespace lacuna::analyzer {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(DevicesSection, QueuesAreCalledWithoutBlanksAtTheEnd) {
  StoreBuilder builder;
  builder.append(prof::Device{.id = prof::DeviceId(1), .kind = prof::DeviceKind::Cuda});
  builder.append(prof::Queue{
      .id = prof::QueueId(1), .device = prof::DeviceId(1), .name = builder.intern("stream 7 ")});
  builder.append(prof::Kernel{
      .startNs = 1, .durNs = 1, .queue = prof::QueueId(1), .device = prof::DeviceId(1)});
  const auto analysis = analyse(builder.build());
  ASSERT_TRUE(analysis);
  EXPECT_THAT(renderJson(*analysis), HasSubstr("\"stream 7\""));
}

/// A device that computes from 0 to 1 ms and from 3 to 4 ms, and copies from 1 to 1.5 ms.
Analysis withWorkAndACopy() {
  return test::SmallTrace()
      .kernel(0, 1'000, "gemm")
      .copy(1'000, 1'500, 4096, prof::CopyKind::HostToDevice)
      .kernel(3'000, 4'000, "relu")
      .analysed();
}

TEST(DevicesSection, SeparateBusyFromIdleTime) {
  const Analysis analysis = withWorkAndACopy();
  // 2.5 of 4 ms.
  EXPECT_THAT(
      sectionText(analysis, "devices"),
      ContainsRegex("\nDevices\n cuda:0 +Testcard  62\\.5 % busy of 4\\.00 ms, 2 kernels\n"));
  EXPECT_THAT(cellsOf(reportTable(analysis, "devices"), 0,
                      {"id", "kind", "name", "process", "span_ns", "busy_ns"}),
              ElementsAre("cuda:0", "cuda", "Testcard", "100", "4.00 ms", "2.50 ms"));
  EXPECT_EQ(jsonAt(analysis, "/devices/0/idle_ns"), "1500000");
  EXPECT_EQ(jsonAt(analysis, "/devices/0/kernel_ns"), "2000000");
  EXPECT_EQ(jsonAt(analysis, "/devices/0/memcpy_ns"), "500000");
  EXPECT_EQ(jsonAt(analysis, "/devices/0/memset_ns"), "0");
  EXPECT_EQ(jsonAt(analysis, "/devices/0/kernels"), "2");
}

TEST(DevicesSection, HaveALedgerEachAndOneOfEachQueue) {
  const Analysis analysis = withWorkAndACopy();
  EXPECT_EQ(jsonAt(analysis, "/devices/0/ledger/entries/0"), R"({"cause":"compute","ns":2000000})");
  EXPECT_EQ(jsonAt(analysis, "/devices/0/ledger/entries/2"),
            R"({"cause":"exposed_copy","ns":500000})");
  EXPECT_EQ(jsonAt(analysis, "/devices/0/queues/0/name"), R"("stream 7")");
  EXPECT_EQ(jsonAt(analysis, "/devices/0/queues/0/ledger/total_ns"), "4000000");
  EXPECT_EQ(jsonAt(analysis, "/devices/0/queues/0/ledger/entries/0/ns"), "2000000");
}

TEST(DevicesSection, TheOverviewHasThemWhereThereAreSeveral) {
  EXPECT_THAT(renderText(withWorkAndACopy()), Not(HasSubstr("\nDevices\n")));
  EXPECT_THAT(renderHtml(withWorkAndACopy()), Not(HasSubstr(">Devices<")));
  const Analysis several = analysed({.ranks = 2});
  // 12 steps of 41 kernels.
  EXPECT_THAT(renderText(several), ContainsRegex("\nDevices\n cuda:0 .*, 492 kernels, rank 0\n"));
  EXPECT_THAT(renderText(several), ContainsRegex("\n cuda:1 .*, 492 kernels, rank 1\n"));
  EXPECT_THAT(renderHtml(several), HasSubstr(">Devices<"));
}

TEST(DevicesSection, WithoutDevicesStatesIt) {
  EXPECT_EQ(sectionText(withoutResults(), "devices"), "\nDevices\n none did any work\n");
  EXPECT_EQ(jsonAt(withoutResults(), "/devices"), "[]");
}

}  // namespace
}  // namespace lacuna::analyzer
