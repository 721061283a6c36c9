// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "lacuna/analyzer/links.h"
#include "lacuna/analyzer/store.h"
#include "links/link_builders.h"
#include "store/lcn_writer.h"
#include "support/temp_dir.h"

namespace lacuna::analyzer {
namespace {

using prof::QueueId, prof::RangeKind, prof::ThreadId, prof::TimeNs;
using Rows = std::vector<std::uint32_t>;

class NestingLinksTest : public testing::Test {
 protected:
  void range(TimeNs start, TimeNs end, std::uint32_t thread = 1, std::uint32_t queue = 0,
             RangeKind kind = RangeKind::PushPop) {
    trace_.append(prof::Range{.startNs = start,
                              .durNs = end - start,
                              .thread = ThreadId(thread),
                              .kind = kind,
                              .queue = QueueId(queue)});
  }
  void call(TimeNs start, TimeNs end, std::uint32_t thread = 1) {
    trace_.append(
        prof::ApiCall{.startNs = start, .durNs = end - start, .thread = ThreadId(thread)});
  }
  NestingLinks build() {
    store_ = trace_.build();
    return *buildNestingLinks(*store_, {});
  }

  StoreBuilder trace_;
  std::shared_ptr<const Store> store_;
};

TEST_F(NestingLinksTest, WithoutRangesNothingIsLinked) {
  call(0, 10);
  const NestingLinks links = build();
  EXPECT_TRUE(links.parent.empty());
  EXPECT_TRUE(links.aroundCall.empty());
}

TEST_F(NestingLinksTest, RangesThatAreAlikeLieEachInTheOneBefore) {
  for (int i = 0; i < 3; ++i) range(0, 10);
  range(2, 10);
  call(2, 10);
  const NestingLinks links = build();
  EXPECT_EQ(links.parent, (Rows{kNoLink, 0, 1, 2}));
  EXPECT_EQ(links.aroundCall, (Rows{3}));
}

TEST_F(NestingLinksTest, ARangeIsOverAtItsEnd) {
  range(0, 10);   // 0
  range(10, 20);  // 1
  range(19, 20);  // 2
  call(0, 10);
  call(9, 11);  // reaches out of the first
  call(10, 10);
  call(19, 20);
  call(20, 20);
  const NestingLinks links = build();
  EXPECT_EQ(links.parent, (Rows{kNoLink, kNoLink, 1}));
  EXPECT_EQ(links.aroundCall, (Rows{0, kNoLink, 1, 2, kNoLink}));
}

TEST_F(NestingLinksTest, ACallBeforeAllRangesAndOnAnotherThreadIsInNone) {
  range(10, 20);
  call(5, 8);
  call(5, 15);
  call(12, 13, 2);
  call(25, 26);
  EXPECT_EQ(build().aroundCall, (Rows(4, kNoLink)));
}

TEST_F(NestingLinksTest, RangesOfAQueueNestAmongThemselves) {
  range(0, 100, 1);                          // 0, of the thread
  range(10, 50, 1, 7);                       // 1, of the queue, though the thread is known
  range(20, 30, 1, 7, RangeKind::StartEnd);  // 2, in 1: a queue works things off in order
  range(22, 25, 2, 7);                       // 3, in 2, whichever thread it came from
  range(24, 26, 1, 8);                       // 4, of another queue
  range(40, 45, 1);                          // 5, in 0
  range(41, 44, 1, 0, RangeKind::StartEnd);  // 6, begins and ends anywhere
  range(42, 43, 1);                          // 7, in 5
  call(42, 43);
  call(24, 25);
  const NestingLinks links = build();
  EXPECT_EQ(links.parent, (Rows{kNoLink, kNoLink, 1, 2, kNoLink, 0, kNoLink, 5}));
  EXPECT_EQ(links.aroundCall, (Rows{0, 7}));
}

TEST_F(NestingLinksTest, DeepStacksAreLinkedLevelByLevel) {
  constexpr std::uint32_t kDepth = 5000;
  for (TimeNs i = 0; i < TimeNs{kDepth}; ++i) range(i, 4 * TimeNs{kDepth} - i);
  call(2 * TimeNs{kDepth}, 2 * TimeNs{kDepth} + 1);
  call(3 * TimeNs{kDepth} + 1, 3 * TimeNs{kDepth} + 2);  // the innermost is over then
  const NestingLinks links = build();
  EXPECT_EQ(links.parent[0], kNoLink);
  for (std::uint32_t i = 1; i < kDepth; ++i) ASSERT_EQ(links.parent[i], i - 1);
  EXPECT_EQ(links.aroundCall[0], kDepth - 1);
  EXPECT_EQ(links.aroundCall[1], kDepth - 2);
}

TEST_F(NestingLinksTest, CalledOffAtAnyQuestionThereIsNothing) {
  const test::TempDir folder;
  for (TimeNs i = 0; i < 300; ++i) range(10 * i, 10 * i + 5);
  for (const bool withCalls : {false, true}) {
    if (withCalls) {
      for (TimeNs i = 0; i < 300; ++i) range(10 * i, 10 * i + 5);
      call(3, 4);
    }
    LcnWriteOptions options;
    options.blockRows = 64;
    options.zstdLevel = 1;
    ASSERT_TRUE(writeLcn(*trace_.build(), folder / "t.lcn", options));
    store_ = *Store::open(folder / "t.lcn");
    int questions = 0;
    ASSERT_TRUE(buildNestingLinks(*store_, [&] { return ++questions > 0; }));
    EXPECT_GE(questions, 5) << "one for each block";
    for (int patience = 0; patience < questions; ++patience) {
      int asked = 0;
      EXPECT_FALSE(buildNestingLinks(*store_, [&] { return asked++ != patience; })) << patience;
      EXPECT_EQ(asked, patience + 1) << "asked again after a no";
    }
  }
}

/// The innermost range around a span by the definition: of all that enclose it the last one in
/// order.
std::uint32_t lastAround(const Store& store, TimeNs start, TimeNs end, ThreadId thread,
                         QueueId queue, std::uint64_t rows) {
  std::uint32_t found = kNoLink;
  for (std::uint64_t i = 0; i < rows; ++i) {
    const auto one = store.row<prof::Range>(i);
    const bool isSameLine = queue ? one.queue == queue : !one.queue && one.thread == thread;
    const bool nests = one.queue || one.kind == RangeKind::PushPop;
    const TimeNs oneEnd = one.startNs + one.durNs;
    if (isSameLine && nests && one.startNs <= start && oneEnd > start && oneEnd >= end)
      found = static_cast<std::uint32_t>(i);
  }
  return found;
}

TEST_F(NestingLinksTest, ThreadsAndQueuesOfAnyShapeAreLinkedAsDefined) {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 150; ++i) {
      const TimeNs start = random() % 200;
      const TimeNs end = start + static_cast<TimeNs>(random() % (random() % 4 == 0 ? 200 : 12));
      const auto kind = random() % 5 == 0 ? RangeKind::StartEnd : RangeKind::PushPop;
      range(start, end, 1 + random() % 2, random() % 3 == 0 ? 1 + random() % 2 : 0, kind);
      call(start + random() % 3, start + 3 + random() % 5, 1 + random() % 3);
    }
    const NestingLinks links = build();
    for (std::uint64_t i = 0; i < store_->rows<prof::Range>(); ++i) {
      const auto one = store_->row<prof::Range>(i);
      const bool nests = one.queue || one.kind == RangeKind::PushPop;
      const std::uint32_t expected =
          nests
              ? lastAround(*store_, one.startNs, one.startNs + one.durNs, one.thread, one.queue, i)
              : kNoLink;
      ASSERT_EQ(links.parent[i], expected) << i << " of seed " << seed;
    }
    for (std::uint64_t i = 0; i < store_->rows<prof::ApiCall>(); ++i) {
      const auto one = store_->row<prof::ApiCall>(i);
      const std::uint32_t expected = lastAround(*store_, one.startNs, one.startNs + one.durNs,
                                                one.thread, {}, store_->rows<prof::Range>());
      ASSERT_EQ(links.aroundCall[i], expected) << i << " of seed " << seed;
    }
  }
}

}  // namespace
}  // namespace lacuna::analyzer
