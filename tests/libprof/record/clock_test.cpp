// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <new>
#include <thread>

#include "lacuna/prof/announced_operator.h"
#include "libprof/record/recorded.h"

/// The times on machines whose stamp counter is no clock.
namespace lacuna::prof {
namespace {

TimeNs now() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

/// A moment that lies between two readings of the clock.
struct Between {
  TimeNs before = 0, after = 0;

  template <class Work>
  void around(Work&& work) {
    before = now();
    work();
    after = now();
  }
  void expect(TimeNs time, const std::string& what) const {
    EXPECT_GE(time, before) << what;
    EXPECT_LE(time, after) << what;
  }
};

/// Shared by the test and its child: when the child did what.
struct Moments {
  struct {
    Between begin, end;
  } plain, carrying, started, onThread;
  Between mark, counter, allocation, stamp;
  TimeNs stampNs = 0;
  std::atomic<bool> mayBegin = false;
};

constexpr auto kLength = std::chrono::milliseconds(3);

void lastALittle() {
  std::this_thread::sleep_for(kLength);
}

/// Each range is named as its moments are.
void recordEverything(Moments& moments) {
  LacunaEvent event{};
  event.name = lacunaName("carrying");
  event.text = lacunaName("text");
  moments.plain.begin.around([] { lacunaRangePush(lacunaName("plain")); });
  moments.carrying.begin.around([&] { lacunaRangePushEvent(&event); });
  lastALittle();
  moments.mark.around([] { lacunaMark(lacunaName("mark")); });
  moments.carrying.end.around([] { lacunaRangePop(); });
  moments.plain.end.around([] { lacunaRangePop(); });
  event.name = lacunaName("started");
  std::uint64_t range = 0;
  moments.started.begin.around([&] { range = lacunaRangeStart(&event); });
  std::thread([&] {
    moments.onThread.begin.around([] { lacunaRangePush(lacunaName("onThread")); });
    lastALittle();
    moments.onThread.end.around([] { lacunaRangePop(); });
    moments.started.end.around([&] { lacunaRangeEnd(range); });
  }).join();
  const std::uint32_t track = lacunaCounterTrack(lacunaName("counter"), 0);
  moments.counter.around([&] { lacunaCounter(track, 1); });
  moments.allocation.around([] { lacunaAllocate(0x1000, 8, 0, 0); });
  moments.stamp.around([&] { moments.stampNs = static_cast<TimeNs>(lacunaStamp_()); });
}

class ClockTest : public RecordingTest {
 protected:
  void SetUp() override {
    RecordingTest::SetUp();
    void* shared =
        mmap(nullptr, sizeof(Moments), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    moments_ = new (shared) Moments;
    ASSERT_OK(createRecording(recordingDir()));
  }
  void TearDown() override {
    munmap(moments_, sizeof(Moments));
    RecordingTest::TearDown();
  }
  /// It waits until it may begin.
  pid_t forkRecorder() {
    return forkChild([this] {
      for (int i = 0; i < 100'000 && !moments_->mayBegin; ++i) usleep(100);
      setenv("LACUNA_CLOCK", "monotonic", 1);
      if (lacunaAttach(recordingDir().c_str()) != 0) _exit(1);
      recordEverything(*moments_);
    });
  }
  void expectTheTimesOfTheClock() {
    Trace file(trace());
    std::map<std::string, Range> ranges;
    for (const Range& range : file.rows<Range>()) ranges[file.text(range.name)] = range;
    EXPECT_EQ(ranges.size(), 4u);
    const auto expectRange = [&](const std::string& name, const auto& moments) {
      moments.begin.expect(ranges[name].startNs, name);
      moments.end.expect(ranges[name].startNs + ranges[name].durNs, name);
      EXPECT_GE(ranges[name].durNs, std::chrono::nanoseconds(kLength).count()) << name;
    };
    expectRange("plain", moments_->plain);
    expectRange("carrying", moments_->carrying);
    expectRange("started", moments_->started);
    expectRange("onThread", moments_->onThread);
    ASSERT_EQ(file.rows<Mark>().size(), 1u);
    moments_->mark.expect(file.rows<Mark>()[0].timeNs, "mark");
    ASSERT_EQ(file.rows<CounterSample>().size(), 1u);
    moments_->counter.expect(file.rows<CounterSample>()[0].timeNs, "counter");
    ASSERT_EQ(file.rows<Allocation>().size(), 1u);
    moments_->allocation.expect(file.rows<Allocation>()[0].timeNs, "allocation");
    moments_->stamp.expect(moments_->stampNs, "a stamp is the clock itself");
  }

  Moments* moments_ = nullptr;
};

TEST_F(ClockTest, WithoutStampCounterTimesAreThoseOfTheSystemsClock) {
  const pid_t child = forkRecorder();
  moments_->mayBegin = true;
  ASSERT_EQ(endOf(child), 0);
  ASSERT_OK(recover(recordingDir(), trace()));
  expectTheTimesOfTheClock();
}

TEST_F(ClockTest, WithoutStampCounterTheyAreWhileItIsDrainedToo) {
  // While this process has one thread yet: the child of one with more may wait for ever for a
  // sanitizer's own locks.
  const pid_t child = forkRecorder();
  auto drainer = Drainer::create(recordingDir(), trace());
  ASSERT_OK(drainer);
  (*drainer).start();
  moments_->mayBegin = true;
  ASSERT_EQ(endOf(child), 0);
  ASSERT_OK((*drainer).finish());
  expectTheTimesOfTheClock();
}

}  // namespace
}  // namespace lacuna::prof
