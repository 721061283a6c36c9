// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// Whatever times a trace has, the whole analysis ends, and its sums hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "analyses/parts.h"
#include "analysis/account.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/store.h"
#include "support/random_store.h"
#include "support/seeds.h"
#include "support/temp_dir.h"
#include "support/trace_faults.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

/// A program with random times. It has calls of no length, and work that begins before its launch
/// has returned or ends with it. It has launches without work, work without a launch, and threads
/// that do nothing. Its steps overlap or are not there.
class ThrownTrace {
 public:
  explicit ThrownTrace(unsigned seed) : random_(seed) {
    devices_ = 1 + pick(3);
    unit_ = pick(2) == 0 ? 1 : 1000;
    from_ = pick(2) == 0 ? 0 : 1'700'000'000'000'000'000;  // as clocks that count from 1970 have it
    out_.append(Process{.id = ProcessId(1), .osPid = 100, .name = out_.intern("program")});
    for (std::uint32_t d = 1; d <= devices_; ++d) {
      out_.append(Device{.id = DeviceId(d),
                         .kind = pick(4) == 0 ? DeviceKind::Cpu : DeviceKind::Cuda,
                         .index = d - 1});
      for (std::uint32_t q = 2 * d - 1; q <= 2 * d; ++q)
        out_.append(
            Queue{.id = QueueId(q), .device = DeviceId(d), .process = ProcessId(1), .nativeId = q});
    }
    if (pick(4) > 0) steps();
    for (std::uint32_t t = 1; t <= 2; ++t) {
      out_.append(
          Thread{.id = ThreadId(t), .process = ProcessId(1), .name = out_.intern("thread")});
      host(ThreadId(t));
    }
    for (std::uint64_t i = pick(6); i > 0; --i) memory();
  }
  std::shared_ptr<const Store> build() { return out_.build(); }

 private:
  std::uint64_t pick(std::uint64_t n) { return random_() % n; }
  /// Often nothing.
  TimeNs length(std::uint64_t most) {
    return pick(3) == 0 ? 0 : static_cast<TimeNs>(pick(most)) * unit_;
  }
  StringId one(std::initializer_list<const char*> names) {
    return out_.intern(std::data(names)[pick(names.size())]);
  }

  void steps() {
    TimeNs at = from_ + length(20);
    for (std::uint64_t i = 0; i < 1 + pick(8); ++i) {
      const TimeNs dur = length(300) + 1;
      out_.append(Range{.startNs = at,
                        .durNs = dur,
                        .thread = ThreadId(1),
                        .name = out_.intern("ProfilerStep#" + std::to_string(i))});
      at += dur + length(30) - (pick(4) == 0 ? 1 : 0);
    }
  }
  void host(ThreadId thread) {
    TimeNs at = from_ + length(50);
    for (std::uint64_t i = pick(60); i > 0; --i) {
      at += length(20);
      const TimeNs dur = length(30);
      if (pick(3) == 0) {
        out_.append(Range{
            .startNs = at,
            .durNs = dur,
            .thread = thread,
            .category = one({"cpu_op", "loader", "user_annotation", ""}),
            .name =
                one({"aten::mm", "wait",
                     "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "aten::item",
                     "Optimizer.step#SGD.step", "autograd::engine::evaluate_function: X"})});
        if (pick(2) == 0) continue;  // what follows lies in it
      } else {
        out_.append(ApiCall{.startNs = at,
                            .durNs = dur,
                            .thread = thread,
                            .name = one({"cudaLaunchKernel", "cudaLaunchKernel", "cudaLaunchKernel",
                                         "cudaMemcpyAsync", "cudaStreamSynchronize",
                                         "cudaDeviceSynchronize", "cudaMalloc", "cudaEventRecord"}),
                            .correlation = ++correlation_});
        if (pick(4) > 0) work(at, dur);
      }
      at += dur;
    }
  }
  void work(TimeNs called, TimeNs dur) {
    const auto device = static_cast<std::uint32_t>(1 + pick(devices_));
    const QueueId queue(static_cast<std::uint32_t>(2 * device - pick(2)));
    const TimeNs start = pick(3) == 0   ? called + dur / 2
                         : pick(2) == 0 ? called + dur
                                        : called + length(100);
    const TimeNs end = pick(3) == 0 ? std::max(start, called + dur) : start + length(60);
    const std::uint64_t correlation = pick(8) == 0 ? 0 : correlation_;
    const auto append = [&](auto row) {
      row.startNs = start;
      row.durNs = end - start;
      row.queue = queue;
      row.device = DeviceId(device);
      row.correlation = correlation;
      out_.append(row);
    };
    const std::uint64_t kind = pick(6);
    if (kind == 0) {
      append(Memcpy{.bytes = pick(1 << 20)});
    } else if (kind == 1) {
      append(Memset{.bytes = pick(1 << 20)});
    } else {
      append(
          Kernel{.name = one({"gemm", "add", "add", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"})});
    }
  }
  void memory() {
    out_.append(Allocation{.timeNs = from_ + length(500),
                           .thread = ThreadId(1),
                           .device = DeviceId(1),
                           .action = pick(2) == 0 ? MemoryAction::Allocate : MemoryAction::Free,
                           .address = pick(4),
                           .bytes = pick(1 << 20),
                           .op = one({"aten::mm", ""})});
  }

  std::mt19937_64 random_;
  StoreBuilder out_;
  std::uint64_t devices_ = 1;
  TimeNs unit_ = 1;
  TimeNs from_ = 0;
  std::uint64_t correlation_ = 0;
};

class AnyTrace : public testing::TestWithParam<unsigned> {};

TEST_P(AnyTrace, OfThrownTimesIsAnalysedToTheEnd) {
  for (unsigned round = 0; round < 50; ++round) {
    SCOPED_TRACE(round);
    ASSERT_EQ(test::faultOf(ThrownTrace(GetParam() * 1000 + round).build()), "");
  }
}

TEST_P(AnyTrace, OfRandomRowsIsAnalysedToTheEnd) {
  EXPECT_EQ(test::faultOf(test::randomStore(GetParam())), "");
}

std::string reportOf(const std::shared_ptr<const Store>& store, PartList parts) {
  Analysis analysis;
  analysis.store = store;
  WorkProgress progress({});
  const auto status = account(analysis, progress, parts);
  return status ? renderJson(analysis) : status.error().message;
}

/// An analysis that reads a result without naming it as an input finds nothing there in one of the
/// two orders.
TEST_P(AnyTrace, GivesTheSameResultsInEveryOrderThatInputsAllow) {
  std::vector<const AnalysisPart*> backwards(listedParts().begin(), listedParts().end());
  std::ranges::reverse(backwards);
  for (unsigned round = 0; round < 5; ++round) {
    SCOPED_TRACE(round);
    const auto store = ThrownTrace(GetParam() * 1000 + round).build();
    EXPECT_EQ(reportOf(store, inputsFirst(backwards)), reportOf(store, allParts()));
  }
}

/// The files that the fuzzers start from, and those that once went wrong.
TEST(AnyFile, OfTheCorpusPassesThroughEveryCommand) {
  const test::TempDir folder;
  int files = 0;
  for (const char* kind : {"reader", "chrome", "nsys", "perfetto", "snapshot", "any_trace"}) {
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(LACUNA_FUZZ_CORPUS) / kind)) {
      SCOPED_TRACE(entry.path().string());
      EXPECT_EQ(test::faultOfFile(entry.path(), folder.path()), "");
      ++files;
    }
  }
  EXPECT_GT(files, 20);
}

INSTANTIATE_TEST_SUITE_P(Seeds, AnyTrace, testing::Range(0u, test::seeds(20)));

}  // namespace
}  // namespace lacuna::analyzer
