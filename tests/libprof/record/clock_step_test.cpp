// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/syscall.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>

#include "libprof/record/recorded.h"

/// The effect of a change of the system's wall-clock time on a recording.
namespace {
std::atomic<std::int64_t> gRealtimeOffsetNs{0};
}

/// In place of the C library's: the same clocks, but the wall clock can be set.
extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const long result = syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && clock == CLOCK_REALTIME) {
    const std::int64_t ns = now->tv_sec * 1'000'000'000 + now->tv_nsec + gRealtimeOffsetNs.load();
    now->tv_sec = ns / 1'000'000'000;
    now->tv_nsec = ns % 1'000'000'000;
  }
  return static_cast<int>(result);
}

namespace lacuna::prof {
namespace {

using ClockStepTest = RecordingTest;
using std::chrono::milliseconds;

/// Marks for a while, then for a while after the wall clock was moved by `stepNs`. Each time the
/// clocks have been read by then, which happens every 100 ms at most.
void recordAcross(Session& session, std::int64_t stepNs) {
  const auto markFor = [](milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
      LACUNA_MARK("tick");
      std::this_thread::sleep_for(milliseconds(5));
    }
  };
  markFor(milliseconds(150));
  EXPECT_TRUE(session.flush().ok());
  gRealtimeOffsetNs += stepNs;
  markFor(milliseconds(250));
  EXPECT_TRUE(session.flush().ok());
}

std::size_t stepsReported(Trace& file) {
  std::size_t steps = 0;
  for (const LogLine& line : file.rows<LogLine>()) {
    steps += file.text(line.text).find("wall clock was set") != std::string::npos ? 1 : 0;
  }
  return steps;
}

TEST_F(ClockStepTest, TimesOfEventsDoNotMoveAndTheStepIsNoted) {
  for (const std::int64_t step : {-3'600'000'000'000l, 2'000'000'000l}) {
    const TimeNs before = std::chrono::steady_clock::now().time_since_epoch().count();
    auto session = Session::start(trace());
    ASSERT_OK(session);
    recordAcross(*session, step);
    ASSERT_OK((*session).stop());
    const TimeNs after = std::chrono::steady_clock::now().time_since_epoch().count();

    Trace file(trace());
    TimeNs last = before;
    for (const Mark& mark : file.rows<Mark>()) {
      EXPECT_GE(mark.timeNs, last);
      EXPECT_LE(mark.timeNs, after);
      last = mark.timeNs;
    }
    EXPECT_EQ(stepsReported(file), 1u);
    // The raw pairs are kept: their distance shows the step.
    const std::vector<Clock> clocks = file.rows<Clock>();
    ASSERT_GE(clocks.size(), 3u);
    const std::int64_t moved = (clocks.back().realtimeNs - clocks.back().timeNs) -
                               (clocks.front().realtimeNs - clocks.front().timeNs);
    EXPECT_NEAR(static_cast<double>(moved), static_cast<double>(step), 1e7);
  }
}

TEST_F(ClockStepTest, AClockThatIsLeftAloneIsNotReportedAsMoved) {
  auto session = Session::start(trace());
  ASSERT_OK(session);
  recordAcross(*session, 0);
  ASSERT_OK((*session).stop());
  Trace file(trace());
  EXPECT_EQ(stepsReported(file), 0u);
}

}  // namespace
}  // namespace lacuna::prof
