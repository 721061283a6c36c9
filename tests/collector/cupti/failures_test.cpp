// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// Each call of CUPTI and of the driver may fail, once or always. The recording goes on and reports
// what it lacks, or ends with one clear line; the program never sees it.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "cupti/tracer.h"
#include "row_collector.h"

namespace lacuna::collector::cupti {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kCalls[] = {
#define FAILURES_NAME(name, required) #name,
    LACUNA_CUPTI_FUNCTIONS(FAILURES_NAME)
#undef FAILURES_NAME
        "cuCtxGetCurrent",
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuCtxSynchronize",
    "ProfilerInitialize",
    "DeviceGetChipName",
    "ProfilerHostInitialize",
    "ProfilerHostDeinitialize",
    "ProfilerHostConfigAddMetrics",
    "ProfilerHostGetConfigImageSize",
    "ProfilerHostGetConfigImage",
    "ProfilerHostGetNumOfPasses",
    "ProfilerHostEvaluateToGpuValues",
    "PmSamplingGetCounterAvailability",
    "PmSamplingEnable",
    "PmSamplingDisable",
    "PmSamplingSetConfig",
    "PmSamplingStart",
    "PmSamplingStop",
    "PmSamplingGetCounterDataSize",
    "PmSamplingCounterDataImageInitialize",
    "PmSamplingDecodeData",
    "PmSamplingGetCounterDataInfo",
    "PmSamplingCounterDataGetSampleInfo"};

class Failures : public testing::TestWithParam<std::tuple<const char*, int, int>> {
 protected:
  void SetUp() override {
    cupti_ = ::dlopen(FAKE_CUPTI, RTLD_NOW);
    ASSERT_NE(cupti_, nullptr) << ::dlerror();
    fake<void(int, std::uint32_t)>("fakeReset")(CUPTI_SUCCESS, sizeof(CUpti_ActivityKernel10));
    fake<void(int)>("fakeHardware")(CUPTI_SUCCESS);
  }
  template <class Function>
  Function* fake(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(cupti_, name));
  }
  /// A recording of kernels, with their calls and the nodes of a graph.
  void record() {
    TracerOptions options;
    options.driver = FAKE_CUPTI;
    options.flushEvery = std::chrono::milliseconds(2);
    options.hardwareInterval = std::chrono::milliseconds(10);
    const auto tracer = Tracer::start(Library::load(FAKE_CUPTI), rows_, options);
    fake<void(int, int)>("fakeContext")(1, 1);
    for (int i = 1; i <= kNodes; ++i) fake<void(int, int)>("fakeNodeMade")(i, 0);
    for (std::uint32_t i = 1; i <= kKernels && tracer->report().state == TracerState::Running; ++i)
      fake<void(const char*, std::uint32_t)>("fakeKernel")("kernel", i);
    tracer->stop();
    report_ = tracer->report();
  }
  static constexpr std::uint32_t kKernels = 500;
  static constexpr int kNodes = 3;

  void* cupti_ = nullptr;
  RowCollector rows_;
  TracerReport report_;
};

/// All of CUPTI's own that have a word for the user when they always fail.
const char* wordsFor(const std::string& call) {
  static const std::map<std::string, const char*> words = {
      {"GetVersion", "does not report its version"},
      {"GetCallbackName", "no calls of CUDA are recorded"},
      {"Subscribe", "no usable NVIDIA driver"},
      {"Unsubscribe", "does not let go"},
      {"EnableCallback", "does not report contexts or captures"},
      {"SetThreadIdType", "calls have no thread"},
      {"GetTimestamp", "does not report its time"},
      {"ActivityRegisterCallbacks", "takes no buffers"},
      {"ActivityEnable", "refused activity kinds"},
      {"ActivityEnableRuntimeApi", "refused to record 1 calls"},
      {"GetGraphNodeId", "3 nodes of graphs could not be followed"},
      {"ActivityGetNextRecord", "how long its records are"},
      {"ActivityGetNumDroppedRecords", "how many records it dropped"},
      {"ActivityFlushAll", "the last CUDA records are missing"}};
  const auto found = words.find(call);
  return found != words.end() ? found->second : nullptr;
}

TEST_P(Failures, LeaveARecordingThatReportsThem) {
  const auto& [call, after, times] = GetParam();
  fake<void(const char*, int, int, int)>("fakeFail")(call, CUPTI_ERROR_UNKNOWN, after, times);
  record();
  if (times < 0 && after == 0) {
    const char* words = wordsFor(call);
    EXPECT_THAT(report_.text, HasSubstr(words != nullptr ? words : ""));
  }
  if (report_.state != TracerState::Running) {
    EXPECT_THAT(report_.text, StartsWith("no CUDA timeline: "));
    EXPECT_EQ(std::ranges::count(report_.text, '\n'), 0);
    EXPECT_TRUE(rows_.all<prof::Kernel>().empty());
    return;
  }
  if (report_.text.find("records are missing") == std::string::npos) {
    EXPECT_EQ(rows_.all<prof::Kernel>().size() + report_.droppedByCupti, kKernels);
    EXPECT_EQ(rows_.all<prof::ApiCall>().size(), kKernels);
  }
  EXPECT_EQ(fake<int()>("fakeMisuses")(), 0);
}

std::string nameOf(const testing::TestParamInfo<std::tuple<const char*, int, int>>& info) {
  const auto& [call, after, times] = info.param;
  return std::string(call) + (after > 0 ? "Later" : "AtFirst") + (times > 0 ? "Once" : "Always");
}

INSTANTIATE_TEST_SUITE_P(OfEachCall, Failures,
                         testing::Combine(testing::ValuesIn(kCalls), testing::Values(0, 3),
                                          testing::Values(1, -1)),
                         nameOf);

}  // namespace
}  // namespace lacuna::collector::cupti
