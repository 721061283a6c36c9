// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/links.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <semaphore>
#include <thread>
#include <unordered_map>
#include <utility>

#include "lacuna/analyzer/store.h"
#include "links/correlation_map.h"
#include "store/lcn_writer.h"
#include "support/temp_dir.h"

namespace lacuna::analyzer {
namespace {

using Table = EventRef::Table;
using prof::DeviceId, prof::ProcessId, prof::QueueId, prof::ThreadId, prof::TimeNs;

constexpr std::uint32_t kNone = Links::kNone;

/// Two processes with a thread and a queue each: thread 1 and queue 1 belong to process 1, 2 and 2
/// to process 2.
class LinksTest : public testing::Test {
 protected:
  LinksTest() {
    for (std::uint32_t i = 1; i <= 2; ++i) {
      trace_.append(prof::Process{.id = ProcessId(i), .parent = ProcessId(i - 1)});
      trace_.append(prof::Thread{.id = ThreadId(i), .process = ProcessId(i)});
      trace_.append(prof::Queue{.id = QueueId(i), .device = DeviceId(1), .process = ProcessId(i)});
    }
    trace_.append(prof::Device{.id = DeviceId(1)});
  }
  void range(TimeNs start, TimeNs end, std::uint32_t thread = 1, std::uint64_t correlation = 0) {
    trace_.append(prof::Range{.startNs = start,
                              .durNs = end - start,
                              .thread = ThreadId(thread),
                              .correlation = correlation});
  }
  void call(TimeNs start, TimeNs end, std::uint64_t correlation, std::uint32_t thread = 1) {
    trace_.append(prof::ApiCall{.startNs = start,
                                .durNs = end - start,
                                .thread = ThreadId(thread),
                                .correlation = correlation});
  }
  void kernel(TimeNs start, std::uint64_t correlation, std::uint32_t queue = 1) {
    trace_.append(prof::Kernel{
        .startNs = start, .durNs = 5, .queue = QueueId(queue), .correlation = correlation});
  }
  void allocation(TimeNs time, prof::MemoryAction action, std::uint64_t address,
                  std::uint32_t thread = 1) {
    trace_.append(prof::Allocation{.timeNs = time,
                                   .thread = ThreadId(thread),
                                   .device = DeviceId(1),
                                   .action = action,
                                   .address = address,
                                   .bytes = 1});
  }
  void flow(TimeNs time, std::uint64_t id, prof::FlowPhase phase, std::string_view name = "f") {
    trace_.append(
        prof::Flow{.timeNs = time, .id = id, .phase = phase, .name = trace_.intern(name)});
  }
  const Links& build() {
    store_ = trace_.build();
    return store_->links();
  }
  StoreBuilder trace_;
  std::shared_ptr<const Store> store_;
};

TEST_F(LinksTest, WorkBelongsToTheCallWithItsCorrelationInItsProcess) {
  call(0, 10, 7, 1);
  call(1, 11, 7, 2);
  kernel(20, 7, 1);
  kernel(21, 7, 2);
  kernel(22, 8, 1);
  const Links& links = build();
  EXPECT_EQ(links.launchOf({Table::Kernel, 0}), (EventRef{Table::ApiCall, 0}));
  EXPECT_EQ(links.launchOf({Table::Kernel, 1}), (EventRef{Table::ApiCall, 1}));
  EXPECT_FALSE(links.launchOf({Table::Kernel, 2}));
  EXPECT_FALSE(links.launchOf({Table::Kernel, 99}));
  EXPECT_EQ(links.launchedBy({Table::ApiCall, 1}), (std::vector{EventRef{Table::Kernel, 1}}));
}

TEST_F(LinksTest, LaunchesThatWereCalledOffAreComputedWhenAskedForAgain) {
  range(0, 100);
  call(1, 10, 7);
  kernel(20, 7);
  const Links& links = build();
  EXPECT_FALSE(links.prepareLaunches([] { return false; }));
  EXPECT_FALSE(links.launchesReady());
  EXPECT_EQ(links.bytes(), 0u);
  EXPECT_TRUE(links.prepareLaunches([] { return true; }));
  EXPECT_TRUE(links.launchesReady());
  EXPECT_EQ(links.launchOf({Table::Kernel, 0}), (EventRef{Table::ApiCall, 0}));
  EXPECT_EQ(links.operatorOf({Table::Kernel, 0}), 0u);
}

TEST_F(LinksTest, WhoNoLongerWantsLaunchesDoesNotWaitForThem) {
  range(0, 100);
  call(1, 10, 7);
  kernel(20, 7);
  const Links& links = build();
  std::binary_semaphore begun(0), goOn(0);
  bool computed = false;
  std::thread other([&] {
    computed = links.prepareLaunches([&, first = true]() mutable {
      if (std::exchange(first, false)) {
        begun.release();
        goOn.acquire();
      }
      return true;
    });
  });
  begun.acquire();
  EXPECT_FALSE(links.prepareLaunches([] { return false; }));
  goOn.release();
  other.join();
  EXPECT_TRUE(computed);
  EXPECT_TRUE(links.launchesReady());
}

TEST_F(LinksTest, ACallIsALaunchBeforeARangeAndTheInnermostRangeBeforeAnother) {
  range(0, 100, 1, 5);
  range(10, 50, 1, 5);
  range(60, 70, 1, 6);
  call(62, 65, 6);
  kernel(200, 5);
  kernel(201, 6);
  const Links& links = build();
  EXPECT_EQ(links.launchOf({Table::Kernel, 0}), (EventRef{Table::Range, 1}));
  EXPECT_EQ(links.launchOf({Table::Kernel, 1}), (EventRef{Table::ApiCall, 0}));
  EXPECT_EQ(links.operatorOf({Table::Kernel, 0}), 1u);
  EXPECT_EQ(links.operatorOf({Table::Kernel, 1}), 2u);
}

TEST_F(LinksTest, OneLaunchMayStartWorkOfEveryKind) {
  call(0, 10, 3);
  kernel(20, 3);
  kernel(30, 3);
  trace_.append(prof::Memcpy{.startNs = 40, .durNs = 5, .queue = QueueId(1), .correlation = 3});
  trace_.append(prof::Memset{.startNs = 15, .durNs = 5, .queue = QueueId(1), .correlation = 3});
  const Links& links = build();
  const std::vector<EventRef> all{
      {Table::Kernel, 0}, {Table::Kernel, 1}, {Table::Memcpy, 0}, {Table::Memset, 0}};
  EXPECT_EQ(links.launchedBy({Table::ApiCall, 0}), all);
  EXPECT_EQ(links.launchedBy({Table::ApiCall, 0}, 2).size(), 2u);
}

TEST_F(LinksTest, RangesNestPerThread) {
  range(0, 100);    // 0
  range(0, 40);     // 1, in 0
  range(5, 50, 2);  // 2, another thread
  range(10, 30);    // 3, in 1
  range(35, 60);    // 4, reaches out of 1: in 0
  range(36, 38);    // 5, in 4, which began last
  range(100, 110);  // 6, begins when 0 ends
  trace_.append(prof::Range{.startNs = 12,
                            .durNs = 3,
                            .thread = ThreadId(1),
                            .kind = prof::RangeKind::StartEnd});  // after 3: no nesting
  const Links& links = build();
  ASSERT_EQ(store_->column<&prof::Range::startNs>()[4], 12);
  EXPECT_EQ(links.parentOf(0), kNone);
  EXPECT_EQ(links.parentOf(1), 0u);
  EXPECT_EQ(links.parentOf(2), kNone);
  EXPECT_EQ(links.parentOf(3), 1u);
  EXPECT_EQ(links.parentOf(4), kNone);
  EXPECT_EQ(links.parentOf(5), 0u);
  EXPECT_EQ(links.parentOf(6), 5u);
  EXPECT_EQ(links.parentOf(7), kNone);
}

TEST_F(LinksTest, AnOperatorHasTheWorkOfWhatItEncloses) {
  range(0, 100);
  range(10, 50);
  range(60, 70);
  call(12, 15, 1);
  call(62, 65, 2);
  call(110, 115, 3);
  for (std::uint64_t id = 1; id <= 3; ++id) kernel(200 + static_cast<TimeNs>(id) * 10, id);
  const Links& links = build();
  const auto under = [&](std::uint64_t row) {
    std::vector<std::uint64_t> rows;
    links.workUnder(row, [&](const EventRef& work) { rows.push_back(work.row); });
    return rows;
  };
  EXPECT_EQ(under(0), (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(under(1), (std::vector<std::uint64_t>{0}));
  EXPECT_EQ(under(2), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(links.operatorOf({Table::Kernel, 2}), kNone);
}

TEST_F(LinksTest, AFreeFindsItsAllocation) {
  using enum prof::MemoryAction;
  allocation(0, Reserve, 0x10);
  allocation(1, Allocate, 0x10);
  allocation(2, Allocate, 0x10, 2);  // the same address in another process
  allocation(3, Free, 0x10);
  allocation(4, Allocate, 0x10);
  allocation(5, Free, 0x99);  // never seen allocated
  allocation(6, ExternalFree, 0x10);
  allocation(7, Release, 0x10);
  const Links& links = build();
  const std::vector<std::uint32_t> expected{7, 3, kNone, 1, kNone, kNone, kNone, 0};
  for (std::uint64_t row = 0; row < expected.size(); ++row)
    EXPECT_EQ(links.allocationPartner(row), expected[row]);
}

TEST_F(LinksTest, AFlowRunsFromBeginToEnd) {
  using enum prof::FlowPhase;
  flow(0, 1, Begin);
  flow(1, 1, Begin, "other");
  flow(2, 1, Step);
  flow(3, 1, End);
  flow(4, 1, Step);  // after its end: starts anew
  flow(5, 1, Begin);
  flow(6, 1, End);
  const Links& links = build();
  const std::vector<std::uint32_t> next{2, kNone, 3, kNone, kNone, 6, kNone};
  for (std::uint32_t row = 0; row < next.size(); ++row) {
    EXPECT_EQ(links.nextInFlow(row), next[row]);
    if (next[row] != kNone) {
      EXPECT_EQ(links.previousInFlow(next[row]), row);
    }
  }
  EXPECT_EQ(links.previousInFlow(5), kNone);
}

TEST_F(LinksTest, OwnersFormATree) {
  const OwnerTree& tree = build().owners();
  ASSERT_EQ(tree.processes.size(), 2u);
  EXPECT_EQ(tree.process(ProcessId(1))->children, std::vector{ProcessId(2)});
  EXPECT_EQ(tree.process(ProcessId(2))->threads, std::vector{ThreadId(2)});
  EXPECT_EQ(tree.process(ProcessId(2))->devices, std::vector{DeviceId(1)});
  EXPECT_EQ(tree.device(DeviceId(1))->queues, (std::vector{QueueId(1), QueueId(2)}));
  EXPECT_EQ(tree.processOf(ThreadId(2)), ProcessId(2));
  EXPECT_EQ(tree.processOf(QueueId(2)), ProcessId(2));
  EXPECT_EQ(tree.deviceOf(QueueId(2)), DeviceId(1));
  EXPECT_EQ(tree.processOf(ThreadId(9)), ProcessId());
  EXPECT_EQ(tree.process(ProcessId(9)), nullptr);
}

TEST(CorrelationMap, HoldsIdsThatCountUpAndIdsThatAreScattered) {
  std::mt19937_64 random(1);
  CorrelationMap map;
  std::unordered_map<std::uint64_t, std::uint32_t> expected;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    const std::uint64_t id = i < 5'000 ? i + 1 : random();
    map.set(id, i);
    expected[id] = i;
  }
  for (const auto& [id, row] : expected) EXPECT_EQ(map.find(id), row);
  EXPECT_EQ(map.find(5'001), CorrelationMap::kNone);
}

/// Random traces against the definitions, found by looking at every pair.
class RandomLinksTest : public LinksTest, public testing::WithParamInterface<int> {
 protected:
  void fill(std::size_t events) {
    std::mt19937_64 random(static_cast<std::uint64_t>(GetParam()));
    const auto below = [&](std::uint64_t n) { return static_cast<TimeNs>(random() % n); };
    for (std::size_t i = 0; i < events; ++i) {
      const TimeNs start = below(events);
      const auto who = static_cast<std::uint32_t>(1 + random() % 2);
      range(start, start + below(random() % 4 == 0 ? events : 20), who,
            random() % 8 == 0 ? 1 + random() % events : 0);
      call(start + below(5), start + 5 + below(10), 1 + random() % events, who);
      kernel(start + below(50), random() % events, who);
    }
  }

  EventRef naiveLaunch(std::uint64_t correlation, std::uint32_t process) const {
    EventRef best;
    if (correlation == 0) return best;
    const auto check = [&](Table table, auto threads, auto correlations) {
      for (std::size_t i = threads.size(); i-- > 0 && !best;) {
        if (correlations[i] == correlation && threads[i].value == process) best = {table, i};
      }
    };
    check(Table::ApiCall, store_->column<&prof::ApiCall::thread>(),
          store_->column<&prof::ApiCall::correlation>());
    check(Table::Range, store_->column<&prof::Range::thread>(),
          store_->column<&prof::Range::correlation>());
    return best;
  }

  std::uint32_t naiveAround(TimeNs start, TimeNs end, ThreadId thread, std::size_t before) const {
    const auto starts = store_->column<&prof::Range::startNs>();
    const auto lengths = store_->column<&prof::Range::durNs>();
    const auto threads = store_->column<&prof::Range::thread>();
    for (std::size_t i = std::min(before, starts.size()); i-- > 0;) {
      const TimeNs itsEnd = starts[i] + lengths[i];
      if (threads[i] == thread && starts[i] <= start && itsEnd > start && itsEnd >= end) {
        return static_cast<std::uint32_t>(i);
      }
    }
    return kNone;
  }

  void expectAllAsDefined() const {
    const Links& links = store_->links();
    const auto starts = store_->column<&prof::Range::startNs>();
    const auto lengths = store_->column<&prof::Range::durNs>();
    const auto threads = store_->column<&prof::Range::thread>();
    for (std::size_t i = 0; i < starts.size(); ++i) {
      ASSERT_EQ(links.parentOf(i), naiveAround(starts[i], starts[i] + lengths[i], threads[i], i))
          << i;
    }
    const auto callStarts = store_->column<&prof::ApiCall::startNs>();
    const auto callLengths = store_->column<&prof::ApiCall::durNs>();
    const auto callThreads = store_->column<&prof::ApiCall::thread>();
    for (std::size_t i = 0; i < callStarts.size(); ++i) {
      ASSERT_EQ(links.rangeAround(i), naiveAround(callStarts[i], callStarts[i] + callLengths[i],
                                                  callThreads[i], SIZE_MAX))
          << i;
    }
    const auto queues = store_->column<&prof::Kernel::queue>();
    const auto correlations = store_->column<&prof::Kernel::correlation>();
    for (std::size_t i = 0; i < queues.size(); ++i) {
      const EventRef launch = links.launchOf({Table::Kernel, i});
      ASSERT_EQ(launch, naiveLaunch(correlations[i], queues[i].value)) << i;
      if (!launch) continue;
      const auto back = links.launchedBy(launch);
      ASSERT_NE(std::ranges::find(back, EventRef{Table::Kernel, i}), back.end()) << i;
    }
  }
};

TEST_P(RandomLinksTest, InMemoryTheyAreAsDefined) {
  fill(400);
  build();
  expectAllAsDefined();
}

TEST_P(RandomLinksTest, StreamedFromAFileOfSmallBlocksTheyAreAsDefined) {
  fill(400);
  build();
  const test::TempDir folder;
  LcnWriteOptions small;
  small.blockRows = 64;
  ASSERT_TRUE(writeLcn(*store_, folder / "t.lcn", small));
  store_ = *Store::open(folder / "t.lcn");
  expectAllAsDefined();
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomLinksTest, testing::Range(1, 6));

}  // namespace
}  // namespace lacuna::analyzer
