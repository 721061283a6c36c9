// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>

#include "lacuna/analyzer/charts.h"
#include "lacuna/analyzer/store.h"
#include "support/synthetic_run.h"

namespace lacuna::analyzer {
namespace {

TEST(Histogram, CountsEveryEventOnce) {
  StoreBuilder trace;
  const auto name = trace.intern("gemm");
  prof::TimeNs at = 0;
  for (const std::int64_t length : {10, 10, 10, 20, 1000}) {
    trace.append(
        prof::Kernel{.startNs = at, .durNs = length, .queue = prof::QueueId(1), .name = name});
    at += 2000;
  }
  trace.append(prof::Kernel{
      .startNs = at, .durNs = 7, .queue = prof::QueueId(1), .name = trace.intern("relu")});
  const auto tracks = *buildTracks(*trace.build());
  const DurationHistogram h = durationHistogram(*tracks, TrackKind::Work, name, 10);
  EXPECT_EQ(h.events, 5u);
  EXPECT_EQ(h.counts[0], 3u);
  EXPECT_EQ(h.counts[9], 1u);
  EXPECT_EQ(h.medianNs, 10);
  EXPECT_EQ(h.longestNs, 1000);
  EXPECT_EQ(h.totalNs, 1050);
  EXPECT_NEAR(h.bucketStartNs(10), 1000, 1e-6);
  EXPECT_EQ(durationHistogram(*tracks, TrackKind::Ranges, name).events, 0u);
}

}  // namespace
}  // namespace lacuna::analyzer
