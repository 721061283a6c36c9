// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

/// Steps of 10 ms on a CPU whose training thread executes its operators: a forward of 2 ms and its backward, and where
/// that is asked for a second forward that has none.
class CpuTraining {
 public:
  explicit CpuTraining(bool runsForwardTwice) {
    out_.append(Process{.id = ProcessId(1)});
    out_.append(Thread{.id = ThreadId(1), .process = ProcessId(1)});
    out_.append(Device{.id = DeviceId(1), .kind = DeviceKind::Cpu});
    out_.append(Queue{.id = QueueId(1), .device = DeviceId(1), .process = ProcessId(1)});
    for (TimeNs at = 0; at < 12 * kStepNs; at += kStepNs) {
      range(at, kStepNs, "step", "step", 0);
      const std::uint64_t sequence = ++sequence_;
      work(at + 100'000, 2'000'000, "aten::linear", sequence);
      if (runsForwardTwice) work(at + 2'200'000, 2'000'000, "aten::linear", ++sequence_);
      work(at + 5'000'000, 4'000'000, "AddmmBackward0", sequence);
    }
  }
  Analysis analysed() { return *analyse(out_.build()); }

 private:
  static constexpr TimeNs kStepNs = 10'000'000;

  void range(TimeNs at, TimeNs dur, const char* category, const char* name, std::uint64_t sequence) {
    out_.append(Range{.startNs = at,
                      .durNs = dur,
                      .thread = ThreadId(1),
                      .category = out_.intern(category),
                      .name = out_.intern(name),
                      .payloadType = sequence == 0 ? PayloadType::None : PayloadType::U64,
                      .payload = sequence});
  }
  void work(TimeNs at, TimeNs dur, const char* name, std::uint64_t sequence) {
    range(at, dur, "operator", name, sequence);
    out_.append(
        ApiCall{.startNs = at, .thread = ThreadId(1), .name = out_.intern("enqueue"), .correlation = ++correlation_});
    out_.append(Kernel{.startNs = at,
                       .durNs = dur,
                       .queue = QueueId(1),
                       .device = DeviceId(1),
                       .correlation = correlation_,
                       .name = out_.intern(name)});
  }

  StoreBuilder out_;
  std::uint64_t sequence_ = 0, correlation_ = 0;
};

TEST(UnusedGradientsFinding, AForwardThatRunsTwiceIsFoundWithItsCost) {
  const Analysis analysis = CpuTraining(true).analysed();
  const Finding* finding = find(analysis, FindingId::UnusedGradients);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->costNsPerStep, 2'000'000);
  EXPECT_EQ(finding->count, 12U);
  EXPECT_THAT(finding->title, testing::HasSubstr("50.0 % of the forward operators record gradients that no backward"));
  EXPECT_THAT(finding->title, testing::HasSubstr("aten::linear"));
  EXPECT_FALSE(finding->notPredicted.empty());
}

TEST(UnusedGradientsFinding, AForwardWithItsBackwardIsNone) {
  EXPECT_EQ(find(CpuTraining(false).analysed(), FindingId::UnusedGradients), nullptr);
}

}  // namespace
}  // namespace lacuna::analyzer
