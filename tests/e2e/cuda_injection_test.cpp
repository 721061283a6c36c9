// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "e2e/run_fixture.h"

namespace lacuna {
namespace {

using prof::Reader;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

using Counts = std::map<std::string, int>;

/// A program that the driver would start the recorder in, with a libcupti of the test's.
class CudaInjectionTest : public RunTest {
 protected:
  CudaInjectionTest() {
    fs::create_symlink(FAKE_CUPTI, folder_ / "libcupti.so.13");
    const char* paths = std::getenv("LD_LIBRARY_PATH");
    ::setenv("LD_LIBRARY_PATH", (folder_.string() + ":" + (paths != nullptr ? paths : "")).c_str(),
             1);
    ::setenv("LACUNA", program("lacuna").c_str(), 1);
    ::unsetenv("LACUNA_CUPTI");
  }

  int cuda(const std::string& mode, const std::string& options = "") {
    const int status = lacuna("-o out.lcn --trace nvtx,cuda " + options + " -- " +
                              program("cuda_program") + " " + mode);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  template <auto Column>
  static auto column(const Reader& reader) {
    return *reader.column<Column>();
  }
  /// Number of kernels of each name.
  static Counts kernels(const Reader& reader) {
    Counts counts;
    for (const auto id : column<&prof::Kernel::name>(reader))
      ++counts[std::string(reader.text(id))];
    return counts;
  }
  static std::vector<std::string> logLines(const Reader& reader) {
    std::vector<std::string> lines;
    for (const auto id : column<&prof::LogLine::text>(reader)) lines.emplace_back(reader.text(id));
    return lines;
  }
  static std::uint64_t dropped(const Reader& reader) {
    const auto counts = column<&prof::Drop::count>(reader);
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  }
  /// Kernels refer to queues, and queues to devices, that the trace has.
  static void expectEveryQueueIsThere(const Reader& reader) {
    const auto queues = *reader.table<prof::Queue>();
    const auto devices = column<&prof::Device::id>(reader);
    for (const auto queue : column<&prof::Kernel::queue>(reader))
      EXPECT_THAT(queues.id, Contains(queue));
    for (const auto device : queues.device) EXPECT_THAT(devices, Contains(device));
  }
};

const std::string kAxpy = "axpy(float*, float const*, float, int)";

TEST_F(CudaInjectionTest, WhatCuptiHandsOverIsInTheTraceWhenTheProgramHasEnded) {
  ASSERT_EQ(cuda("work"), 0) << errorText();
  const Reader reader = trace();
  EXPECT_EQ(kernels(reader), (Counts{{kAxpy, 3}}));
  expectEveryQueueIsThere(reader);
  const auto calls = *reader.table<prof::ApiCall>();
  ASSERT_EQ(calls.name.size(), 3u);
  EXPECT_EQ(reader.text(calls.name[0]), "cudaLaunchKernel");
  EXPECT_EQ(calls.correlation[0], column<&prof::Kernel::correlation>(reader)[0]);
  EXPECT_EQ(dropped(reader), 0u);
  EXPECT_THAT(logLines(reader), Contains(HasSubstr("refused activity kinds")));
  expectNothingLeft();
}

TEST_F(CudaInjectionTest, EveryKindOfRecordBecomesRows) {
  ASSERT_EQ(cuda("kinds"), 0) << errorText();
  const Reader reader = trace();
  EXPECT_EQ(kernels(reader), (Counts{{kAxpy, 1}, {"spin", 1}, {"CUDA graph", 1}}));
  EXPECT_EQ(column<&prof::ApiCall::name>(reader).size(), 1u)
      << "the runtime and the driver record the same launch";
  EXPECT_EQ(column<&prof::Memcpy::bytes>(reader).size(), 2u);
  EXPECT_EQ(column<&prof::Memset::bytes>(reader).size(), 1u);
  EXPECT_EQ(column<&prof::Sync::kind>(reader).size(), 1u);
  EXPECT_EQ(column<&prof::Overhead::name>(reader).size(), 1u);
  EXPECT_EQ(column<&prof::Allocation::bytes>(reader).size(), 1u);
  EXPECT_EQ(column<&prof::CounterTrack::name>(reader).size(), 3u);
  const auto devices = *reader.table<prof::Device>();
  ASSERT_EQ(devices.name.size(), 2u);
  EXPECT_THAT(
      (std::vector<std::string_view>{reader.text(devices.name[0]), reader.text(devices.name[1])}),
      Contains("NVIDIA H100"));
}

TEST_F(CudaInjectionTest, AnotherProfilerIsNamedAndTheProgramRunsOn) {
  ASSERT_EQ(cuda("refused 39"), 4) << errorText();
  EXPECT_THAT(logLines(trace()),
              Contains(HasSubstr("another profiler in this process already uses CUPTI")));
  ASSERT_EQ(cuda("held"), 4) << errorText();
  EXPECT_THAT(logLines(trace()), Contains(HasSubstr("already uses CUPTI")));
}

TEST_F(CudaInjectionTest, WorkThatStillRunsAtTheEndIsReportedWithTheLosses) {
  ASSERT_EQ(cuda("running"), 0) << errorText();
  const Reader reader = trace();
  EXPECT_EQ(kernels(reader), (Counts{{"running", 2}}));
  EXPECT_THAT(logLines(reader), Contains(HasSubstr("2 device events before they had ended")));
}

TEST_F(CudaInjectionTest, AMissingDriverIsNamedAndTheProgramRunsOn) {
  ASSERT_EQ(cuda("refused 999"), 4) << errorText();
  EXPECT_THAT(logLines(trace()), Contains(HasSubstr("no usable NVIDIA driver")));
}

TEST_F(CudaInjectionTest, WithoutAThreadTheProgramRunsOnAndTheTraceReportsIt) {
  ASSERT_EQ(cuda("no-threads"), 6) << errorText();
  EXPECT_THAT(logLines(trace()), Contains(HasSubstr("no thread could be started")));
}

TEST_F(CudaInjectionTest, AForkedChildLeavesTheTimelineToItsParent) {
  ASSERT_EQ(cuda("forks"), 5) << errorText();
  const Reader reader = trace();
  EXPECT_EQ(kernels(reader), (Counts{{"before", 1}, {"after", 1}}));
  EXPECT_EQ(dropped(reader), 0u);
  EXPECT_THAT(logLines(reader), Not(Contains("")));
}

TEST_F(CudaInjectionTest, RecordsThatCuptiDroppedAreReportedAlsoByAProgramThatIsKilled) {
  ASSERT_EQ(cuda("killed"), 128 + SIGKILL) << errorText();
  const Reader reader = trace();
  EXPECT_EQ(kernels(reader), (Counts{{"before", 1}}));
  EXPECT_EQ(dropped(reader), 5u);
  expectEveryQueueIsThere(reader);
}

TEST_F(CudaInjectionTest, ADelayLeavesTheCudaTimelineOutTooButNotItsQueues) {
  ASSERT_EQ(cuda("work", "--delay 1h"), 0) << errorText();
  const Reader reader = trace();
  EXPECT_EQ(kernels(reader), Counts());
  EXPECT_EQ(column<&prof::ApiCall::name>(reader).size(), 0u);
  EXPECT_EQ(column<&prof::Queue::id>(reader).size(), 1u);
}

TEST_F(CudaInjectionTest, ACaptureRangeHoldsForTheCudaTimeline) {
  ASSERT_EQ(cuda("captures", "--capture-range CAP"), 0) << errorText();
  const Reader reader = trace();
  EXPECT_EQ(kernels(reader), (Counts{{"inside", 3}}));
  expectEveryQueueIsThere(reader);
}

TEST_F(CudaInjectionTest, AStopFromOutsideHoldsForTheCudaTimeline) {
  ASSERT_EQ(cuda("stops"), 0) << errorText();
  EXPECT_EQ(kernels(trace()), (Counts{{"before", 1}, {"after", 1}}));
}

TEST_F(CudaInjectionTest, ARawCaptureDecodesToWhatWasRecorded) {
  ASSERT_EQ(cuda("work", "--raw-capture captures"), 0) << errorText();
  ASSERT_EQ(shell("exec $LACUNA convert captures --force -o again.lcn >/dev/null"), 0);
  EXPECT_EQ(kernels(trace("again.lcn")), kernels(trace()));
}

TEST_F(CudaInjectionTest, EachProgramOfAProcessHasARawCaptureOfItsOwn) {
  ASSERT_EQ(cuda("program-by-program", "--raw-capture captures"), 0) << errorText();
  ASSERT_EQ(shell("exec $LACUNA convert captures --force -o again.lcn >/dev/null"), 0);
  EXPECT_EQ(kernels(trace("again.lcn")), (Counts{{kAxpy, 6}}));
}

TEST_F(CudaInjectionTest, ARawCaptureOfAnotherRunIsNotMixedWithThisOne) {
  ASSERT_EQ(cuda("work", "--raw-capture captures"), 0) << errorText();
  EXPECT_EQ(cuda("work", "--raw-capture captures"), 127);
  EXPECT_THAT(errorText(), HasSubstr("holds what another run captured"));
}

TEST_F(CudaInjectionTest, ARawCaptureThatCannotBeWrittenIsReported) {
  const int status = lacuna("-o out.lcn --raw-capture captures -- sh -c 'rmdir captures; exec " +
                            program("cuda_program") + " work'");
  ASSERT_EQ(status, 0) << errorText();
  const Reader reader = trace();
  EXPECT_THAT(logLines(reader), Contains(HasSubstr("the raw capture is not whole")));
  EXPECT_EQ(kernels(reader), (Counts{{kAxpy, 3}}));
}

TEST_F(CudaInjectionTest, AnUnknownSettingIsNamed) {
  ::setenv("LACUNA_CUPTI", "nonsense,no-memory", 1);
  ASSERT_EQ(cuda("work"), 0) << errorText();
  EXPECT_THAT(logLines(trace()), Contains(HasSubstr("does not know 'nonsense'")));
  ::unsetenv("LACUNA_CUPTI");
}

}  // namespace
}  // namespace lacuna
