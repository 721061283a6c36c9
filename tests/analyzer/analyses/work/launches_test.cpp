// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <tuple>

#include "analyses/work/calls.h"
#include "analyses/work/launches.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

/// Calls and copies that all have one correlation.
std::shared_ptr<const Store> oneCorrelation(int calls, int copies, const char* name) {
  StoreBuilder out;
  out.append(Process{.id = ProcessId(1), .osPid = 1, .name = out.intern("program")});
  out.append(Thread{.id = ThreadId(1), .process = ProcessId(1), .osTid = 1});
  out.append(Device{.id = DeviceId(1), .kind = DeviceKind::Cuda});
  out.append(Queue{.id = QueueId(1), .device = DeviceId(1), .process = ProcessId(1)});
  for (int i = 0; i < calls; ++i) {
    out.append(ApiCall{.startNs = i * 10,
                       .durNs = 5,
                       .thread = ThreadId(1),
                       .name = out.intern(name),
                       .correlation = 7});
  }
  for (int i = 0; i < copies; ++i) {
    out.append(Memcpy{.startNs = i * 10 + 3,
                      .durNs = 5,
                      .queue = QueueId(1),
                      .device = DeviceId(1),
                      .correlation = 7,
                      .bytes = i % 2 == 0 ? std::uint64_t{1} << 20 : 8});
  }
  return out.build();
}

TEST(Launches, OfOneCorrelationTakeNoTimeOfTheirProduct) {
  for (const char* name : {"cudaLaunchKernel", "cudaMemcpy"}) {
    const auto store = oneCorrelation(100'000, 100'000, name);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(analyse(store));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10)) << name;
  }
}

TEST(Launches, InPlaceIsWhatBeginsWhereItIsCalledInNoTime) {
  StoreBuilder out;
  out.append(Process{.id = ProcessId(1)});
  out.append(Thread{.id = ThreadId(1), .process = ProcessId(1)});
  out.append(Queue{.id = QueueId(1), .device = DeviceId(1), .process = ProcessId(1)});
  // In place; begun a little later; and by a call that takes time.
  std::uint64_t correlation = 0;
  for (const auto& [at, begin, dur] : {std::tuple(0, 0, 0), {100, 101, 0}, {200, 200, 5}}) {
    ++correlation;
    out.append(ApiCall{.startNs = at,
                       .durNs = dur,
                       .thread = ThreadId(1),
                       .name = out.intern("enqueue"),
                       .correlation = correlation});
    out.append(Kernel{.startNs = begin,
                      .durNs = 50,
                      .queue = QueueId(1),
                      .device = DeviceId(1),
                      .correlation = correlation});
  }
  EXPECT_EQ(analyse(out.build())->of<LaunchStats>().inPlace, 1U);
}

TEST(Launches, EveryCallThatWaitsForCopiesCountsThem) {
  const auto store = oneCorrelation(3, 4, "cudaMemcpy");
  const auto analysis = analyse(store);
  ASSERT_TRUE(analysis);
  ASSERT_EQ(analysis->of<CallTable>().size(), 1U);
  EXPECT_EQ(analysis->of<CallTable>()[0].count, 3U);
  EXPECT_EQ(analysis->of<CallTable>()[0].copies, 12U);
}

}  // namespace
}  // namespace lacuna::analyzer
