// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/tracer.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "core/clock.h"
#include "cupti/capture.h"
#include "records.h"
#include "row_collector.h"

namespace lacuna::collector::cupti {
namespace {

using testing::HasSubstr;

/// CUPTI as the test wants it.
class TracerTest : public testing::Test {
 protected:
  void SetUp() override {
    handle_ = ::dlopen(FAKE_CUPTI, RTLD_NOW);
    ASSERT_NE(handle_, nullptr) << ::dlerror();
    reset(CUPTI_SUCCESS);
  }
  void TearDown() override {
    tracer_.reset();
    EXPECT_EQ(fake<int()>("fakeMisuses")(), 0) << "a call that hangs in the real CUPTI";
  }
  template <class Function>
  Function* fake(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(handle_, name));
  }
  void reset(int subscribeResult, std::uint32_t kernelStride = sizeof(CUpti_ActivityKernel10)) {
    kernelStride_ = kernelStride;
    fake<void(int, std::uint32_t)>("fakeReset")(subscribeResult, kernelStride);
  }
  void start(TracerOptions options = {},
             std::chrono::milliseconds flushEvery = std::chrono::milliseconds(5)) {
    options.flushEvery = flushEvery;
    options.driver = FAKE_CUPTI;
    tracer_ = Tracer::start(Library::load(FAKE_CUPTI), rows_, options);
  }
  /// A kernel that starts now.
  void emit(std::uint32_t correlation) {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    const std::uint64_t start = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
                                static_cast<std::uint64_t>(now.tv_nsec);
    const auto record = kernelRecord("kernel", start, start + 1000, correlation);
    fake<void(const void*, std::size_t)>("fakeEmit")(&record, kernelStride_);
  }

  template <class Condition>
  static bool waitFor(Condition&& holds) {
    for (int i = 0; i < 12'000 && !holds(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return holds();
  }

  void* handle_ = nullptr;
  std::uint32_t kernelStride_ = 0;
  RowCollector rows_;
  std::unique_ptr<Tracer> tracer_;
};

TEST_F(TracerTest, EveryRecordArrivesInOrderOnTheMonotonicClock) {
  start();
  ASSERT_EQ(tracer_->report().state, TracerState::Running);
  const prof::TimeNs beforeNs = nowNs();
  emit(1);
  const prof::TimeNs afterNs = nowNs();
  for (std::uint32_t i = 2; i <= 50'000; ++i) emit(i);
  tracer_->stop();
  const auto& kernels = rows_.all<prof::Kernel>();
  ASSERT_EQ(kernels.size(), 50'000u);
  for (std::uint32_t i = 0; i < kernels.size(); ++i) ASSERT_EQ(kernels[i].correlation, i + 1);
  constexpr prof::TimeNs kClocksDiffer = 500'000'000;
  EXPECT_GE(kernels[0].startNs, beforeNs - kClocksDiffer);
  EXPECT_LE(kernels[0].startNs, afterNs + kClocksDiffer);
  EXPECT_EQ(kernels[0].durNs, 1000);
  EXPECT_EQ(tracer_->report().droppedByCupti, 0u);
}

TEST_F(TracerTest, StampsOfAnyClockArriveOnTheMonotonicClock) {
  constexpr std::int64_t kHour = 3'600'000'000'000;
  const std::pair<clockid_t, std::int64_t> clocks[] = {
      {CLOCK_REALTIME, 0}, {CLOCK_MONOTONIC_RAW, 0}, {CLOCK_MONOTONIC, 0}, {CLOCK_BOOTTIME, kHour}};
  for (const auto& [clock, offset] : clocks) {
    reset(CUPTI_SUCCESS);
    fake<void(int, std::int64_t)>("fakeClock")(clock, offset);
    rows_ = {};
    start();
    ASSERT_EQ(tracer_->report().state, TracerState::Running) << tracer_->report().text;
    const prof::TimeNs beforeNs = nowNs();
    fake<void(const char*, std::uint32_t)>("fakeKernel")("kernel", 1);
    const prof::TimeNs afterNs = nowNs();
    tracer_->stop();
    ASSERT_EQ(rows_.all<prof::Kernel>().size(), 1u);
    const prof::TimeNs startNs = rows_.all<prof::Kernel>()[0].startNs;
    // Half of a bad reading of the clocks, on a busy machine.
    constexpr prof::TimeNs kReading = 20'000'000;
    EXPECT_GE(startNs, beforeNs - kReading) << "clock " << clock;
    EXPECT_LE(startNs, afterNs + kReading) << "clock " << clock;
  }
}

TEST_F(TracerTest, RecordsThatCannotBePlacedInTimeAreRefused) {
  fake<void(const char*, int, int, int)>("fakeFail")("GetTimestamp", CUPTI_ERROR_UNKNOWN, 0, -1);
  start();
  EXPECT_EQ(tracer_->report().state, TracerState::Failed);
  EXPECT_THAT(tracer_->report().text, HasSubstr("does not report its time"));
  EXPECT_EQ(fake<int()>("fakeSubscribers")(), 0) << "another may have its place";
}

TEST_F(TracerTest, RecordsOfALaterVersionAreCountedAndReadPast) {
  constexpr std::uint32_t kLater = CUPTI_ACTIVITY_KIND_COUNT + 9;
  struct {
    std::uint32_t kind = kLater;
    std::uint32_t content[5] = {1, 2, 3, 4, 5};
  } const record;
  fake<void(std::uint32_t, std::uint32_t)>("fakeLaterKind")(kLater, sizeof record);
  start();
  for (std::uint32_t i = 1; i <= 10; ++i) {
    emit(i);
    fake<void(const void*, std::size_t)>("fakeEmit")(&record, sizeof record);
  }
  tracer_->stop();
  EXPECT_EQ(rows_.all<prof::Kernel>().size(), 10u);
  EXPECT_EQ(tracer_->report().decoded.unknownKinds, 10u);
  EXPECT_EQ(tracer_->report().truncated, 0u);
}

TEST_F(TracerTest, CallsHaveNoThreadWhereCuptiNumbersThreadsItsOwnWay) {
  // "CUPTI_ERROR_NOT_SUPPORTED if type is not supported on the platform" (cupti_activity.h,
  // cuptiSetThreadIdType)
  fake<void(const char*, int, int, int)>("fakeFail")("SetThreadIdType", CUPTI_ERROR_NOT_SUPPORTED,
                                                     0, -1);
  start();
  fake<void(const char*, std::uint32_t)>("fakeKernel")("kernel", 1);
  tracer_->stop();
  ASSERT_EQ(rows_.all<prof::ApiCall>().size(), 1u);
  EXPECT_EQ(rows_.all<prof::ApiCall>()[0].thread, prof::ThreadId(0));
  EXPECT_THAT(tracer_->report().text, HasSubstr("CUDA calls have no thread"));
}

TEST_F(TracerTest, ALaunchIsOneRowAlthoughTheRuntimeAndTheDriverRecordIt) {
  fake<void(int)>("fakeDriverRows")(1);
  start();
  for (std::uint32_t i = 1; i <= 500; ++i)
    fake<void(const char*, std::uint32_t)>("fakeKernel")("kernel", i);
  tracer_->stop();
  EXPECT_EQ(rows_.all<prof::Kernel>().size(), 500u);
  ASSERT_EQ(rows_.all<prof::ApiCall>().size(), 500u);
  for (const prof::ApiCall& call : rows_.all<prof::ApiCall>())
    EXPECT_EQ(call.kind, prof::ApiKind::Runtime);
  EXPECT_EQ(tracer_->report().decoded.nestedCalls, 500u);
}

TEST_F(TracerTest, WorkIsInItsPlaceAfterTheClockOfStampsWasSet) {
  for (const std::int64_t step : {3'600'000'000'000, -3'600'000'000'000}) {
    reset(CUPTI_SUCCESS);
    rows_ = {};
    start();
    const prof::TimeNs begin = nowNs();
    fake<void(std::uint32_t)>("fakeBegin")(1);
    fake<void(const char*, std::uint32_t)>("fakeKernel")("before", 2);
    fake<void(std::int64_t)>("fakeClockStep")(step);
    fake<void(const char*, std::uint32_t)>("fakeKernel")("after", 3);
    fake<void(std::uint32_t)>("fakeEnd")(1);
    const prof::TimeNs end = nowNs();
    tracer_->stop();
    ASSERT_EQ(rows_.all<prof::Kernel>().size(), 3u);
    constexpr prof::TimeNs kReading = 20'000'000;
    for (const prof::Kernel& kernel : rows_.all<prof::Kernel>()) {
      EXPECT_GE(kernel.startNs, begin - kReading) << kernel.correlation;
      EXPECT_LE(kernel.startNs, end + kReading) << kernel.correlation;
      EXPECT_LE(kernel.durNs, end - begin + kReading) << kernel.correlation;
    }
    EXPECT_EQ(tracer_->report().clockTimesSet, 1u);
    EXPECT_NEAR(static_cast<double>(tracer_->report().clockMostSetNs), 3.6e12, 1e6);
  }
}

TEST_F(TracerTest, EmittedIsRecordedPlusDropped) {
  TracerOptions options;
  options.bufferBytes = 4096;
  options.buffers = 1;
  options.maxBuffers = 1;
  start(options);
  for (std::uint32_t i = 1; i <= 20'000; ++i) emit(i);
  tracer_->stop();
  const TracerReport report = tracer_->report();
  EXPECT_EQ(rows_.all<prof::Kernel>().size() + report.droppedByCupti, 20'000u);
  EXPECT_EQ(report.droppedByCupti > 0, report.lostBuffers > 0);
}

TEST_F(TracerTest, ShorterRecordsOfAnOlderLibraryAreUnderstood) {
  reset(CUPTI_SUCCESS, offsetof(CUpti_ActivityKernel10, clusterX));
  start();
  for (std::uint32_t i = 1; i <= 100; ++i) emit(i);
  tracer_->stop();
  EXPECT_EQ(rows_.all<prof::Kernel>().size(), 100u);
}

TEST_F(TracerTest, AHolderOfCuptiIsExplained) {
  reset(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  start();
  EXPECT_EQ(tracer_->report().state, TracerState::HeldByAnother);
  EXPECT_THAT(tracer_->report().text, HasSubstr("another profiler"));
}

TEST_F(TracerTest, AHolderThatHasANameIsNamed) {
#ifndef CUpti_SubscriberParams_STRUCT_SIZE
  GTEST_SKIP() << "these headers of CUPTI know no names of subscribers";
#endif
  fake<void(const char*)>("fakeHolder")("CUPTI for Kineto");
  start();
  EXPECT_EQ(tracer_->report().state, TracerState::HeldByAnother);
  EXPECT_THAT(tracer_->report().text, HasSubstr("already uses CUPTI (CUPTI for Kineto), and"));
}

TEST_F(TracerTest, ASecondTracerIsRefusedAndTheFirstGoesOn) {
  start();
  RowCollector none;
  const auto second = Tracer::start(Library::load(FAKE_CUPTI), none, {});
  EXPECT_EQ(second->report().state, TracerState::HeldByAnother);
  emit(1);
  tracer_->stop();
  EXPECT_EQ(rows_.all<prof::Kernel>().size(), 1u);
  EXPECT_EQ(fake<int()>("fakeMisuses")(), 1);
  reset(CUPTI_SUCCESS);
}

TEST_F(TracerTest, AMissingDriverIsExplained) {
  reset(CUPTI_ERROR_UNKNOWN);
  start();
  EXPECT_EQ(tracer_->report().state, TracerState::NoDriver);
  EXPECT_THAT(tracer_->report().text, HasSubstr("no usable NVIDIA driver"));
}

TEST_F(TracerTest, WhereCuptiTakesNoBuffersItsPlaceIsFreeForAnother) {
  fake<void(int)>("fakeRefuseBuffers")(CUPTI_ERROR_INVALID_PARAMETER);
  start();
  EXPECT_EQ(tracer_->report().state, TracerState::Failed);
  EXPECT_THAT(tracer_->report().text, HasSubstr("takes no buffers"));
  EXPECT_EQ(fake<int()>("fakeSubscribers")(), 0);
}

TEST_F(TracerTest, AMissingLibraryIsExplained) {
  tracer_ = Tracer::start(Library::load("/nonexistent/libcupti.so"), rows_, {});
  EXPECT_EQ(tracer_->report().state, TracerState::NoLibrary);
  EXPECT_THAT(tracer_->report().text, HasSubstr("LD_LIBRARY_PATH"));
}

TEST_F(TracerTest, WhatCuptiRefusesIsNamedAndTheRestRecorded) {
  start();
  EXPECT_THAT(tracer_->report().text, HasSubstr("refused activity kinds " +
                                                std::to_string(CUPTI_ACTIVITY_KIND_MEMORY_POOL)));
  EXPECT_EQ(tracer_->report().state, TracerState::Running);
}

TEST_F(TracerTest, OnlyCallsThatMatterAreTraced) {
  start();
  EXPECT_EQ(fake<int()>("fakeEnabledCalls")(), 1) << "cudaLaunchKernel, not cudaGetDeviceCount";
}

TEST_F(TracerTest, DeviceWorkAloneNeedsNoCalls) {
  TracerOptions options;
  options.calls = options.memory = false;
  start(options);
  EXPECT_EQ(fake<int()>("fakeEnabledCalls")(), 0);
  const int kinds = fake<int()>("fakeEnabledKinds")();
  emit(1);
  tracer_->stop();
  EXPECT_EQ(rows_.all<prof::Kernel>().size(), 1u);
  start();
  EXPECT_GT(fake<int()>("fakeEnabledKinds")(), kinds);
}

TEST_F(TracerTest, StoppingSwitchesEverythingOff) {
  start();
  EXPECT_GT(fake<int()>("fakeEnabledKinds")(), 5);
  tracer_->stop();
  EXPECT_EQ(fake<int()>("fakeEnabledKinds")(), 0);
  EXPECT_EQ(fake<int()>("fakeEnabledCalls")(), 0);
  tracer_->stop();
}

TEST_F(TracerTest, SetsUpAndEndsInTheOrderThatCuptiWants) {
  start();
  fake<void(int, int)>("fakeContext")(1, 1);
  tracer_->stop();
  EXPECT_STREQ(fake<const char*()>("fakeOrder")(), "STBKCOWDF")
      << "subscribe, thread ids, buffers, kinds, callbacks; calls off, wait, kinds off, forced "
         "flush";
}

TEST_F(TracerTest, WhatStillRunsAtTheEndIsWaitedFor) {
  start();
  fake<void(int, int)>("fakeContext")(1, 1);
  fake<void()>("fakeRunningKernel")();
  tracer_->stop();
  ASSERT_EQ(rows_.all<prof::Kernel>().size(), 1u);
  EXPECT_EQ(rows_.all<prof::Kernel>()[0].durNs, 1000);
  EXPECT_EQ(tracer_->report().decoded.unfinished, 0u);
}

TEST_F(TracerTest, TheContextOfWhoeverEndsTheRecordingIsWaitedForToo) {
  start();
  fake<void(int)>("fakeCurrent")(7);  // from before the recording
  fake<void()>("fakeRunningKernel")();
  tracer_->stop();
  EXPECT_EQ(tracer_->report().decoded.unfinished, 0u);
}

TEST_F(TracerTest, ACaptureIsNotBrokenByTheWaitAtTheEnd) {
  const std::pair<int, int> seenBy[] = {{1, 0}, {0, 1}, {1, 1}};
  for (const auto& [runtime, driver] : seenBy) {
    reset(CUPTI_SUCCESS);
    start();
    const auto capture = fake<void(int, int, int, int)>("fakeCapture");
    fake<void(int, int)>("fakeContext")(1, 1);
    // One has ended, one ends invalid, one fails to begin, and one goes on.
    capture(1, CUDA_SUCCESS, runtime, driver);
    capture(0, CUDA_SUCCESS, runtime, driver);
    capture(1, CUDA_SUCCESS, runtime, driver);
    capture(0, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, runtime, driver);
    capture(1, CUDA_ERROR_ILLEGAL_STATE, runtime, driver);
    capture(1, CUDA_SUCCESS, runtime, driver);
    tracer_->stop();
    EXPECT_EQ(fake<int()>("fakeMisuses")(), 0) << "the capture is broken";
    EXPECT_THAT(tracer_->report().text, HasSubstr("being captured into a graph"));
  }
}

TEST_F(TracerTest, AfterACaptureTheDeviceIsWaitedFor) {
  start();
  const auto capture = fake<void(int, int, int, int)>("fakeCapture");
  fake<void(int, int)>("fakeContext")(1, 1);
  capture(0, CUDA_SUCCESS, 1, 1);  // it began before the recording
  fake<void(int)>("fakeCapturesNow")(0);
  capture(1, CUDA_SUCCESS, 1, 1);
  capture(0, CUDA_SUCCESS, 1, 1);
  fake<void()>("fakeRunningKernel")();
  tracer_->stop();
  ASSERT_EQ(rows_.all<prof::Kernel>().size(), 1u);
  EXPECT_EQ(rows_.all<prof::Kernel>()[0].durNs, 1000);
}

TEST_F(TracerTest, NodesOfGraphsComeWithTheMomentAtWhichTheProgramMadeThem) {
  start();
  const auto made = fake<void(int, int)>("fakeNodeMade");
  const prof::TimeNs before = nowNs();
  made(1, 0);
  made(2, 1);
  const prof::TimeNs after = nowNs();
  tracer_->stop();
  made(3, 1);
  const auto& nodes = rows_.all<prof::GraphNode>();
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].id, 1001u);
  EXPECT_EQ(nodes[0].original, 0u);
  EXPECT_EQ(nodes[1].id, 1002u);
  EXPECT_EQ(nodes[1].original, 1001u);
  EXPECT_EQ(nodes[0].thread.value, static_cast<std::uint32_t>(::gettid()));
  EXPECT_GE(nodes[0].timeNs, before);
  EXPECT_LE(nodes[1].timeNs, after);
}

TEST_F(TracerTest, GraphsThatAreRecordedAsAWholeHaveNoNodes) {
  TracerOptions options;
  options.graphNodes = false;
  start(options);
  fake<void(int, int)>("fakeNodeMade")(1, 0);
  tracer_->stop();
  EXPECT_TRUE(rows_.all<prof::GraphNode>().empty());
}

TEST_F(TracerTest, ContextsThatHaveEndedAreNotTouched) {
  start();
  fake<void(int, int)>("fakeContext")(1, 1);
  fake<void(int, int)>("fakeContext")(1, 0);
  tracer_->stop();
  EXPECT_STREQ(fake<const char*()>("fakeOrder")(), "STBKCODF");
}

TEST_F(TracerTest, WorkThatNeverEndsHoldsNobodyUpForLong) {
  TracerOptions options;
  options.settle = std::chrono::milliseconds(50);
  start(options);
  fake<void(int, int)>("fakeContext")(1, 1);
  fake<void()>("fakeEndless")();
  fake<void()>("fakeRunningKernel")();
  tracer_->stop();
  EXPECT_EQ(rows_.all<prof::Kernel>().size(), 1u);
  EXPECT_EQ(tracer_->report().decoded.unfinished, 1u);
  reset(CUPTI_SUCCESS);  // lets the waiting thread go
}

TEST_F(TracerTest, ClocksAreReadTenTimesASecondHoweverSeldomItFlushes) {
  TracerOptions options;
  options.capturePath = testing::TempDir() + "tracer_clocks_" + std::to_string(::getpid());
  start(options, std::chrono::minutes(1));
  const auto pairs = [&] {
    const auto capture = readCapture(options.capturePath);
    return capture.ok() ? (*capture).clocks : decltype((*capture).clocks)();
  };
  EXPECT_TRUE(waitFor([&] { return pairs().size() >= 4; }));
  tracer_->stop();
  const auto clocks = pairs();
  std::filesystem::remove(options.capturePath);
  for (std::size_t i = 1; i + 1 < clocks.size(); ++i) {
    EXPECT_GE(clocks[i].second - clocks[i - 1].second, 99'000'000) << "and no oftener";
  }
  EXPECT_EQ(fake<int()>("fakeFlushes")(), 1) << "the one at the end";
}

TEST_F(TracerTest, ABufferThatComesLateIsHarmless) {
  start();
  emit(1);
  tracer_->stop();
  const std::size_t seen = rows_.all<prof::Kernel>().size();
  emit(2);  // asks for a buffer after the end
  EXPECT_EQ(rows_.all<prof::Kernel>().size(), seen);
}

TEST_F(TracerTest, ABufferThatIsHeldAcrossTheEndIsHarmless) {
  start();
  emit(1);
  fake<void(int)>("fakeHold")(1);
  tracer_->stop();
  fake<void(int)>("fakeHold")(0);
  EXPECT_TRUE(rows_.all<prof::Kernel>().empty());
}

TEST_F(TracerTest, ABufferOfAnEarlierTracerIsNotTakenForOnesOwn) {
  start();
  emit(1);
  fake<void(int)>("fakeHold")(1);
  tracer_->stop();
  start();
  fake<void(int)>("fakeHold")(0);
  emit(2);
  tracer_->stop();
  ASSERT_EQ(rows_.all<prof::Kernel>().size(), 1u);
  EXPECT_EQ(rows_.all<prof::Kernel>()[0].correlation, 2u);
}

TEST_F(TracerTest, BuffersThatKeepComingDoNotMakeItFlushOftener) {
  TracerOptions options;
  options.bufferBytes = 4096;
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::steady_clock::now() - begin; };
  start(options, std::chrono::milliseconds(200));
  for (std::uint32_t i = 1; elapsed() < std::chrono::seconds(1); ++i) emit(i);
  const int flushes = fake<int()>("fakeFlushes")();
  EXPECT_LE(flushes, elapsed() / std::chrono::milliseconds(200) + 1);
  tracer_->stop();
}

TEST_F(TracerTest, DroppedRecordsAreReportedWhileItRuns) {
  std::atomic<std::uint64_t> dropped = 0;
  TracerOptions options;
  options.onReport = [&](const TracerReport& report) { dropped = report.droppedByCupti; };
  start(options);
  fake<void(std::size_t)>("fakeDrop")(5);
  EXPECT_TRUE(waitFor([&] { return dropped == 5; }));
  tracer_->stop();
}

TEST_F(TracerTest, AThreadThatCannotBeStartedIsExplained) {
  pthread_attr_t usual;
  pthread_attr_t huge;
  ::pthread_getattr_default_np(&usual);
  ::pthread_getattr_default_np(&huge);
  ::pthread_attr_setstacksize(&huge, std::size_t{1} << 50);
  ::pthread_setattr_default_np(&huge);
  start();
  ::pthread_setattr_default_np(&usual);
  EXPECT_EQ(tracer_->report().state, TracerState::Failed);
  EXPECT_THAT(tracer_->report().text, HasSubstr("no thread could be started"));
  EXPECT_EQ(fake<int()>("fakeEnabledKinds")(), 0);
  tracer_->stop();
}

TEST_F(TracerTest, ACaptureThatBreaksOffIsReportedAndTheRowsAreComplete) {
  TracerOptions options;
  options.capturePath = testing::TempDir() + "tracer_broken_" + std::to_string(::getpid());
  start(options);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit full{4096, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &full);
  for (std::uint32_t i = 1; i <= 1000; ++i) emit(i);
  EXPECT_TRUE(waitFor([&] { return !tracer_->report().captureText.empty(); }));
  ::setrlimit(RLIMIT_FSIZE, &before);
  tracer_->stop();
  std::filesystem::remove(options.capturePath);
  EXPECT_THAT(tracer_->report().captureText, HasSubstr(options.capturePath + ": File too large"));
  EXPECT_EQ(rows_.all<prof::Kernel>().size(), 1000u);
}

TEST_F(TracerTest, AForkedChildLeavesCuptiAlone) {
  start();
  emit(1);
  const pid_t child = ::fork();
  if (child == 0) {
    (void)tracer_->report();
    tracer_->stop();
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  tracer_->stop();
  EXPECT_EQ(rows_.all<prof::Kernel>().size(), 1u);
}

TEST_F(TracerTest, AForkedChildMayGoOnToUseCuda) {
  start();
  emit(1);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);  // should it wait for a thread that it lacks
    for (std::uint32_t i = 2; i < 50'000; ++i)
      fake<void(const char*, std::uint32_t)>("fakeKernel")("of the child", i);
    fake<void(int, int)>("fakeNodeMade")(1, 0);
    tracer_->stop();
    ::_exit(0);
  }
  for (std::uint32_t i = 2; i <= 1000; ++i) emit(i);
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  tracer_->stop();
  EXPECT_EQ(rows_.all<prof::Kernel>().size(), 1000u);
  EXPECT_TRUE(rows_.all<prof::GraphNode>().empty());
}

TEST_F(TracerTest, HardwareCountersOfTheDevicesInUseAreCounterTracks) {
  fake<void(int)>("fakeHardware")(CUPTI_SUCCESS);
  TracerOptions options;
  options.hardwareInterval = std::chrono::milliseconds(10);
  start(options);
  emit(1);
  ASSERT_TRUE(waitFor([&] { return fake<int()>("fakeHardwareReads")() >= 2; }));
  tracer_->stop();
  EXPECT_EQ(rows_.all<prof::CounterTrack>().size(), 7u);
  EXPECT_EQ(rows_.all<prof::CounterSample>().size(), 35u);
  EXPECT_TRUE(rows_.all<prof::CounterTrack>()[0].device);
  EXPECT_EQ(tracer_->report().hardwareOverflows, 1u);
}

TEST_F(TracerTest, RefusedHardwareCountersLeaveTheTimeline) {
  fake<void(int)>("fakeHardware")(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
  TracerOptions options;
  options.hardwareInterval = std::chrono::milliseconds(10);
  start(options);
  emit(1);
  ASSERT_TRUE(waitFor([&] { return !tracer_->report().hardwareText.empty(); }));
  tracer_->stop();
  EXPECT_THAT(tracer_->report().hardwareText, HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
  EXPECT_EQ(rows_.all<prof::Kernel>().size(), 1u);
  EXPECT_TRUE(rows_.all<prof::CounterTrack>().empty());
}

TEST_F(TracerTest, ACaptureOfTheRunReplaysToTheSameRows) {
  TracerOptions options;
  options.capturePath = testing::TempDir() + "tracer_capture_" + std::to_string(::getpid());
  start(options);
  for (std::uint32_t i = 1; i <= 1000; ++i) emit(i);
  tracer_->stop();
  RowCollector replayed;
  const auto capture = readCapture(options.capturePath);
  ASSERT_TRUE(capture.ok());
  (void)replay(*capture, replayed);
  std::filesystem::remove(options.capturePath);
  ASSERT_EQ(replayed.all<prof::Kernel>().size(), 1000u);
  for (std::size_t i = 0; i < 1000; ++i) {
    // The live run knows fewer clock pairs than the whole capture does.
    EXPECT_NEAR(static_cast<double>(replayed.all<prof::Kernel>()[i].startNs -
                                    rows_.all<prof::Kernel>()[i].startNs),
                0, 1e5);
    EXPECT_EQ(replayed.all<prof::Kernel>()[i].correlation,
              rows_.all<prof::Kernel>()[i].correlation);
  }
}

}  // namespace
}  // namespace lacuna::collector::cupti
