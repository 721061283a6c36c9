// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

#include "analyses/work/patterns.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/prof/nvtx_mapper.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

std::uint64_t repeatedLaunches(const char* kernel, std::string_view call) {
  StoreBuilder builder;
  builder.append(Process{.id = ProcessId(1), .osPid = 1});
  builder.append(Thread{.id = ThreadId(1), .process = ProcessId(1)});
  builder.append(Device{.id = DeviceId(1), .kind = DeviceKind::Cpu});
  builder.append(Queue{.id = QueueId(1), .device = DeviceId(1), .process = ProcessId(1)});
  for (std::uint64_t i = 1; i <= 200; ++i) {
    const auto at = static_cast<TimeNs>(10'000 * i);
    builder.append(Range{.startNs = at,
                         .durNs = 2'000,
                         .thread = ThreadId(1),
                         .category = builder.intern("op"),
                         .name = builder.intern(kernel),
                         .correlation = i});
    builder.append(ApiCall{.startNs = at + 1'000,
                           .thread = ThreadId(1),
                           .name = builder.intern(call),
                           .correlation = i});
    builder.append(Kernel{.startNs = at + 3'000,
                          .durNs = 700,
                          .queue = QueueId(1),
                          .device = DeviceId(1),
                          .correlation = i,
                          .name = builder.intern(kernel)});
  }
  return analyse(builder.build())->of<PatternStats>().repeatedLaunches;
}

TEST(Patterns, UpkeepOfTheRuntimeIsNoLoopOfTheProgram) {
  EXPECT_GE(repeatedLaunches("relu", kEnqueueCall), 100U);
  EXPECT_GE(repeatedLaunches("release_host", kEnqueueCall), 100U)
      << "a program may call its work so";
  EXPECT_EQ(repeatedLaunches("release_host", kUpkeepCall), 0U);
}

}  // namespace
}  // namespace lacuna::analyzer
