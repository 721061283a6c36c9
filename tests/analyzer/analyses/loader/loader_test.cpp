// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "analyses/loader/loader.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

/// Appends what a thread does for a loader: (thread, start, duration, stage).
auto loaderRanges(StoreBuilder& builder) {
  return [&builder](std::uint32_t thread, TimeNs start, TimeNs dur, const char* name) {
    builder.append(Range{.startNs = start,
                         .durNs = dur,
                         .thread = ThreadId(thread),
                         .category = builder.intern("loader"),
                         .name = builder.intern(name)});
  };
}

TEST(Loader, ABatchThatTheConsumerLoadsHidesNoWorkers) {
  StoreBuilder builder;
  for (std::uint32_t thread = 1; thread <= 5; ++thread)
    builder.append(Thread{.id = ThreadId(thread)});
  const auto range = loaderRanges(builder);
  for (TimeNs i = 0; i < 20; ++i) {
    range(2 + static_cast<std::uint32_t>(i % 4), 100 * i, 300, "fetch");
    range(1, 100 * i + 320, 10, "wait");
  }
  range(1, 3000, 500, "wait");
  range(1, 3010, 400, "fetch");
  const auto loader = loaderStats(*builder.build(), {0, 5000});
  ASSERT_TRUE(loader);
  EXPECT_EQ(loader->workers, 4U);
  EXPECT_EQ(loader->batches, 21U);
  EXPECT_EQ(loader->batchNs(), 300);
}

/// Two epochs of six batches, prepared by two processes each, which are children of the consumer's.
std::shared_ptr<const Store> twoEpochs(TimeNs secondFrom) {
  StoreBuilder builder;
  builder.append(Process{.id = ProcessId(1), .osPid = 1});
  builder.append(Thread{.id = ThreadId(1), .process = ProcessId(1)});
  for (std::uint32_t worker = 2; worker <= 5; ++worker) {
    builder.append(Process{.id = ProcessId(worker), .parent = ProcessId(1), .osPid = worker});
    builder.append(Thread{.id = ThreadId(worker), .process = ProcessId(worker)});
  }
  const auto range = loaderRanges(builder);
  for (const bool second : {false, true}) {
    const TimeNs from = second ? secondFrom : 0;
    if (second && from > 700) range(1, 700, from + 40 - 700, "wait");
    for (TimeNs i = 0; i < 6; ++i) {
      range((second ? 4 : 2) + static_cast<std::uint32_t>(i % 2), from + 100 * i, 150, "fetch");
      if (i > 0) range(1, from + 100 * i + 20, 30, "wait");
    }
  }
  return builder.build();
}

// As lacuna run --torch records an epoch's workers: they are ended, and the next ones are started.
TEST(Loader, WhatStartsAndEndsWorkersIsWaitedForAndTakesNoBatch) {
  StoreBuilder builder;
  for (std::uint32_t worker = 1; worker <= 3; ++worker) {
    builder.append(
        Process{.id = ProcessId(worker), .parent = ProcessId(worker > 1 ? 1 : 0), .osPid = worker});
    builder.append(Thread{.id = ThreadId(worker), .process = ProcessId(worker)});
  }
  const auto range = loaderRanges(builder);
  for (const TimeNs epoch : {0, 10'000}) {
    range(1, epoch, 1000, "start");
    for (TimeNs i = 0; i < 4; ++i) {
      range(epoch == 0 ? 2 : 3, epoch + 1100 + 200 * i, 200, "fetch");
      range(1, epoch + 1100 + 200 * i, 200, "wait");
    }
    range(1, epoch + 1900, 500, "stop");
  }
  const auto loader = loaderStats(*builder.build(), {0, 20'000});
  ASSERT_TRUE(loader);
  EXPECT_EQ(loader->batches, 8U);
  EXPECT_EQ(loader->waitNs, 2 * (1000 + 4 * 200 + 500));
  EXPECT_EQ(loader->restarts, 1U);
  EXPECT_EQ(loader->restartNs, 500 + 1000) << "the first set's end and the second one's beginning";
}

TEST(Loader, WorkersThatTakeTheirPredecessorsPlaceAreNotMore) {
  const auto loader = loaderStats(*twoEpochs(5000), {0, 10'000});
  ASSERT_TRUE(loader);
  EXPECT_EQ(loader->workers, 2U);
  EXPECT_EQ(loader->restarts, 1U);
  // The first set's last batch was ready at 650; the wait for the second began at 700. Its other
  // worker began 100 later, and between the first batches of both the program waited from 5220 to
  // 5250.
  EXPECT_EQ(loader->restartNs, 5000 - 700 + 30);
  EXPECT_EQ(loader->longestRestart.startNs, 700);
  EXPECT_EQ(loader->longestRestart.endNs, 5000);
  EXPECT_EQ(loader->busyNs, 12 * 150);
  EXPECT_EQ(loader->spanNs, 5650 - (5000 - 700 + 30));
}

TEST(Loader, AWorkerThatIsStartedBehindTheOthersIsWaitedFor) {
  // Two sets of two workers that take 100 for each batch, two for each worker. In the second set
  // the other worker begins 40 later; then the program waits for its first batch from 5105 to 5140,
  // or, where it comes late itself, not at all.
  for (const bool waits : {true, false}) {
    StoreBuilder builder;
    for (std::uint32_t worker = 1; worker <= 5; ++worker) {
      builder.append(Process{
          .id = ProcessId(worker), .parent = ProcessId(worker > 1 ? 1 : 0), .osPid = worker});
      builder.append(Thread{.id = ThreadId(worker), .process = ProcessId(worker)});
    }
    const auto range = loaderRanges(builder);
    for (const TimeNs from : {0, 5000}) {
      for (TimeNs i = 0; i < 4; ++i) {
        const TimeNs late = from > 0 && i % 2 == 1 ? 40 : 0;
        range((from > 0 ? 4 : 2) + static_cast<std::uint32_t>(i % 2), from + late + 100 * (i / 2),
              100, "fetch");
      }
    }
    range(1, 300, 4700 + 100, "wait");
    if (waits) range(1, 5105, 35, "wait");
    const auto loader = loaderStats(*builder.build(), {0, 10'000});
    ASSERT_TRUE(loader);
    EXPECT_EQ(loader->workers, 2U);
    EXPECT_EQ(loader->restarts, 1U);
    EXPECT_EQ(loader->restartNs, 4700 + (waits ? 35 : 0));
  }
}

TEST(Loader, WorkersThatWorkAtTheSameTimeAreSoMany) {
  // A second loader's, whose first worker begins before the others are done.
  const auto loader = loaderStats(*twoEpochs(500), {0, 10'000});
  ASSERT_TRUE(loader);
  EXPECT_EQ(loader->workers, 4U);
  EXPECT_EQ(loader->restarts, 0U);
  EXPECT_EQ(loader->restartNs, 0);
}

TEST(Loader, AWaitInsideOfAWaitIsPartOfIt) {
  StoreBuilder builder;
  builder.append(Thread{.id = ThreadId(1)});
  for (TimeNs i = 0; i < 10; ++i) {
    const auto range = [&](TimeNs start, TimeNs dur, const char* name) {
      builder.append(Range{.startNs = 100 * i + start,
                           .durNs = dur,
                           .thread = ThreadId(1),
                           .name = builder.intern(name)});
    };
    range(0, 50, "data_wait");
    range(5, 40, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
  }
  const auto loader = loaderStats(*builder.build(), {0, 1000});
  ASSERT_TRUE(loader);
  EXPECT_EQ(loader->waitNs, 500);
  EXPECT_EQ(loader->stepWaitNs, 500);
  EXPECT_EQ(loader->batches, 10U);
}

LoaderStats loaderOf(std::uint32_t workers, std::int64_t fetchNs, std::int64_t decodeNs) {
  LoaderStats loader;
  loader.present = true;
  loader.batches = 10;
  loader.workers = workers;
  loader.stageNs = {fetchNs, decodeNs, 0, 0};
  loader.busyNs = fetchNs + decodeNs;
  loader.spanNs = 150'000'000;
  return loader;
}

TEST(LoaderVerdict, NamesTheBottleneckAndWhatWouldHideIt) {
  // A batch takes 10 of a step's 15 ms; the other 5 ms use one up in the time.
  const LoaderVerdict reading =
      loaderVerdict(loaderOf(0, 80'000'000, 20'000'000), 15'000'000, 10'000'000, 0);
  EXPECT_EQ(reading.bound, LoaderBound::Reading);
  EXPECT_EQ(reading.workersNeeded, 2u);
  EXPECT_EQ(reading.prefetchNeeded, 2u);
  const auto bound = [](const LoaderStats& loader, std::int64_t wait, std::int64_t copy) {
    return loaderVerdict(loader, 15'000'000, wait, copy).bound;
  };
  EXPECT_EQ(bound(loaderOf(0, 20'000'000, 80'000'000), 10'000'000, 0), LoaderBound::Computing);
  EXPECT_EQ(bound(loaderOf(2, 20'000'000, 10'000'000), 10'000'000, 0), LoaderBound::HandOver);
  EXPECT_EQ(bound(loaderOf(2, 20'000'000, 10'000'000), 1'000'000, 3'000'000), LoaderBound::Copy);
  EXPECT_EQ(bound(loaderOf(2, 20'000'000, 10'000'000), 100'000, 0), LoaderBound::None);
}

}  // namespace
}  // namespace lacuna::analyzer
