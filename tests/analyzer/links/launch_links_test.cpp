// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lacuna/analyzer/links.h"
#include "lacuna/analyzer/store.h"
#include "links/link_builders.h"
#include "links/range_launches.h"
#include "links/recording_spans.h"

namespace lacuna::analyzer {
namespace {

using prof::DeviceId, prof::ProcessId, prof::QueueId, prof::ThreadId, prof::TimeNs;

constexpr std::uint32_t kRangeMark = LaunchLinks::kIsRange;

/// Threads and queues 1 and 2 belong to processes 1 and 2; queue 3 belongs to nobody.
class LaunchLinksTest : public testing::Test {
 protected:
  LaunchLinksTest() {
    for (std::uint32_t i = 1; i <= 2; ++i) {
      trace_.append(prof::Process{.id = ProcessId(i)});
      trace_.append(prof::Thread{.id = ThreadId(i), .process = ProcessId(i)});
      trace_.append(prof::Queue{.id = QueueId(i), .device = DeviceId(1), .process = ProcessId(i)});
    }
    trace_.append(prof::Queue{.id = QueueId(3), .device = DeviceId(1)});
  }
  void call(std::uint64_t correlation, std::uint32_t thread = 1) {
    trace_.append(
        prof::ApiCall{.startNs = ++now_, .thread = ThreadId(thread), .correlation = correlation});
  }
  void range(std::uint64_t correlation, std::uint32_t thread = 1, std::string_view domain = "") {
    trace_.append(prof::Range{.startNs = ++now_,
                              .durNs = 1,
                              .thread = ThreadId(thread),
                              .domain = trace_.intern(domain),
                              .correlation = correlation});
  }
  void kernel(std::uint64_t correlation, std::uint32_t queue = 1) {
    trace_.append(
        prof::Kernel{.startNs = ++now_, .queue = QueueId(queue), .correlation = correlation});
  }
  void fact(std::string_view key, std::string_view value) {
    trace_.append(
        prof::Environment{.process = {}, .key = trace_.intern(key), .value = trace_.intern(value)});
  }
  LaunchLinks build() {
    store_ = trace_.build();
    return *buildLaunchLinks(*store_, OwnerTree::read(*store_), {});
  }

  StoreBuilder trace_;
  TimeNs now_ = 0;
  std::shared_ptr<const Store> store_;
};

TEST_F(LaunchLinksTest, WorkIsNumberedThroughKernelsCopiesAndMemsets) {
  LaunchLinks links;
  links.kernels = 3;
  links.copies = 2;
  links.memsets = 1;
  using enum EventRef::Table;
  const EventRef all[] = {{Kernel, 0}, {Kernel, 1}, {Kernel, 2},
                          {Memcpy, 0}, {Memcpy, 1}, {Memset, 0}};
  for (std::uint64_t number = 0; number < 6; ++number) {
    EXPECT_EQ(links.number(all[number]), number);
    EXPECT_EQ(links.work(number), all[number]);
  }
  for (const EventRef& none :
       {EventRef{Kernel, 3}, EventRef{Memcpy, 2}, EventRef{Memset, 1}, EventRef{None, 0},
        EventRef{Range, 0}, EventRef{ApiCall, 0}, EventRef{Sync, 0}}) {
    EXPECT_EQ(links.number(none), UINT64_MAX) << static_cast<int>(none.table);
  }
}

TEST_F(LaunchLinksTest, WithoutWorkNothingIsLinked) {
  call(1);
  range(1);
  const LaunchLinks links = build();
  EXPECT_TRUE(links.launch.empty() && links.next.empty());
  EXPECT_TRUE(links.firstOfCall.empty() && links.firstOfRange.empty());
}

TEST_F(LaunchLinksTest, RowsWithoutCorrelationOrThreadOrOwnerBelongToNobody) {
  call(0);
  call(5, 0);   // on no thread
  range(6, 0);  // for example on a queue
  kernel(0);
  kernel(5);
  kernel(6);
  kernel(7, 3);  // two processes could have filled this queue
  call(7);
  const LaunchLinks links = build();
  EXPECT_EQ(links.launch, (std::vector<std::uint32_t>(4, kNoLink)));
  EXPECT_TRUE(links.firstOfCall.empty() && links.firstOfRange.empty())
      << "no memory for what links nothing";
}

TEST_F(LaunchLinksTest, OneCorrelationInTwoProcessesIsTwo) {
  call(5, 1);
  call(5, 2);
  range(8, 2);
  for (const std::uint32_t queue : {2U, 1U, 2U}) kernel(5, queue);
  for (const std::uint32_t queue : {1U, 2U}) kernel(8, queue);
  const LaunchLinks links = build();
  EXPECT_EQ(links.launch, (std::vector<std::uint32_t>{1, 0, 1, kNoLink, 0 | kRangeMark}));
  EXPECT_EQ(links.firstOfCall, (std::vector<std::uint32_t>{1, 0}));
  EXPECT_EQ(links.firstOfRange, (std::vector<std::uint32_t>{4}));
  EXPECT_EQ(links.next, (std::vector<std::uint32_t>{2, kNoLink, kNoLink, kNoLink, kNoLink}));
}

TEST_F(LaunchLinksTest, ACallGoesBeforeARangeWhicheverBeganFirst) {
  call(1);
  range(1);
  range(2);
  call(2);
  kernel(1);
  kernel(2);
  EXPECT_EQ(build().launch, (std::vector<std::uint32_t>{0, 1}));
}

/// Each block that is read is a chance to call it off; however often somebody was patient, there is
/// no half of an answer.
TEST_F(LaunchLinksTest, CalledOffAtAnyQuestionThereIsNothing) {
  call(1);
  range(2);
  kernel(1);
  trace_.append(prof::Memcpy{.startNs = 90, .queue = QueueId(1), .correlation = 2});
  trace_.append(prof::Memset{.startNs = 95, .queue = QueueId(1), .correlation = 1});
  store_ = trace_.build();
  const OwnerTree owners = OwnerTree::read(*store_);
  int questions = 0;
  ASSERT_TRUE(buildLaunchLinks(*store_, owners, [&] { return ++questions > 0; }));
  EXPECT_GE(questions, 5) << "one for each table at least";
  for (int patience = 0; patience < questions; ++patience) {
    int asked = 0;
    EXPECT_FALSE(buildLaunchLinks(*store_, owners, [&] { return asked++ != patience; }))
        << patience;
    EXPECT_EQ(asked, patience + 1) << "asked again after a no";
  }
}

TEST_F(LaunchLinksTest, RangesOfKinetoCountOperatorsUnlessTheyAreOfADomain) {
  fact("source.format", "kineto");
  range(1);
  range(2, 1, "NCCL");
  kernel(1);
  kernel(2);
  EXPECT_EQ(build().launch, (std::vector<std::uint32_t>{kNoLink, 1 | kRangeMark}));
}

TEST(RangeLaunches, AreThoseOfAllSourcesButKineto) {
  const struct {
    std::vector<std::pair<std::string_view, std::string_view>> facts;
    bool launches;
  } cases[] = {
      {{}, true},
      {{{"source.format", "nsys"}}, true},
      {{{"source.format", "kineto"}}, false},
      {{{"merge.2.source.format", "kineto"}}, false},
      {{{"source.formats", "kineto"}}, true},
      {{{"chrome.lacuna", "{}"}, {"source.format", "kineto"}}, true},
      {{{"source.format", "kineto"}, {"chrome.lacuna", "{}"}}, true},
      {{{"source.format", "kineto"}, {"chrome.lacuna2", "{}"}, {"lacuna", "1"}}, false},
  };
  for (const auto& [facts, launches] : cases) {
    StoreBuilder trace;
    for (const auto& [key, value] : facts)
      trace.append(
          prof::Environment{.process = {}, .key = trace.intern(key), .value = trace.intern(value)});
    const prof::StringId domain = trace.intern("some domain");
    const auto store = trace.build();
    const RangeLaunches asked(*store);
    EXPECT_EQ(asked(7, {}), launches) << facts.size();
    EXPECT_TRUE(asked(7, domain));
    EXPECT_FALSE(asked(0, {}));
    EXPECT_FALSE(asked(0, domain));
  }
}

TEST(RecordingSpans, AreKinetosOwnByCategoryAndName) {
  StoreBuilder trace;
  const auto category = trace.intern("Trace"), other = trace.intern("cpu_op");
  const auto name = trace.intern("PyTorch Profiler (0)"), begin = trace.intern("PyTorch Prof");
  const auto store = trace.build();
  const RecordingSpans spans(*store);
  EXPECT_TRUE(spans.has(category, name));
  EXPECT_FALSE(spans.has(category, begin));
  EXPECT_FALSE(spans.has(other, name));
  EXPECT_FALSE(spans.has({}, name));
  EXPECT_FALSE(spans.has(category, {}));

  StoreBuilder plain;
  const auto alone = plain.intern("PyTorch Profiler (0)");
  const auto without = plain.build();
  EXPECT_FALSE(RecordingSpans(*without).has({}, alone))
      << "no category is not the category that is missing";
}

}  // namespace
}  // namespace lacuna::analyzer
