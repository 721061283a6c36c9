// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer/whatif/play.h"
#include "lacuna/analyzer/memory.h"

namespace lacuna::analyzer {
namespace {

TEST(Checkpoint, IsRefusedWithTheSectionThatListsWhatCouldBeRecomputed) {
  const auto change = parseChange("checkpoint=on");
  ASSERT_FALSE(change);
  EXPECT_THAT(change.error().message,
              testing::StartsWith("'checkpoint=on' cannot be replayed: which activations"));
  EXPECT_THAT(change.error().message, testing::HasSubstr("lacuna report FILE --section memory"));
}

TEST(Checkpoint, TheReportListsWhatCouldBeRecomputed) {
  const Analysis analysis = analysed({.deviceBytes = 125u << 20});
  const auto edit =
      std::ranges::find(analysis.of<PeakEdits>(), PeakEditKind::Recompute, &PeakEdit::kind);
  ASSERT_NE(edit, analysis.of<PeakEdits>().end());
  EXPECT_EQ(edit->origin, "aten::block");
  EXPECT_EQ(edit->bytes, 40u << 20) << "ten activations of 4 MiB";
}

}  // namespace
}  // namespace lacuna::analyzer
