// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/clock_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>

#include "core/clock.h"

namespace lacuna::collector::cupti {
namespace {

using namespace std::chrono_literals;

/// The records' clock is so far ahead of CLOCK_MONOTONIC.
constexpr std::int64_t kAheadNs = 1'000'000'000'000;
int readings = 0;

CUptiResult CUPTIAPI ahead(std::uint64_t* stamp) {
  ++readings;
  *stamp = static_cast<std::uint64_t>(nowNs() + kAheadNs);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI silent(std::uint64_t* /*stamp*/) {
  return CUPTI_ERROR_UNKNOWN;
}

Library withClock(decltype(Library::GetTimestamp) clock) {
  readings = 0;
  Library library;
  library.GetTimestamp = clock;
  return library;
}

TEST(ClockReader, PlacesStampsOnTheMonotonicClock) {
  const Library library = withClock(&ahead);
  ClockReader reader(library);
  reader.read(nullptr);
  const std::int64_t now = nowNs();
  EXPECT_NEAR(static_cast<double>(reader.map().monotonic(now + kAheadNs) - now), 0, 1e6);
}

TEST(ClockReader, KeepsNoReadingOfAClockThatFails) {
  const Library library = withClock(&silent);
  ClockReader reader(library);
  reader.read(nullptr);
  EXPECT_TRUE(reader.map().empty());
  EXPECT_FALSE(reader.stamp());
}

TEST(ClockReader, ReadsAgainOnlyAfterThatTime) {
  const Library library = withClock(&ahead);
  ClockReader reader(library);
  reader.readAgain(1h, nullptr);
  EXPECT_GT(std::exchange(readings, 0), 0) << "nothing was read before";
  reader.readAgain(1h, nullptr);
  EXPECT_EQ(readings, 0);
  reader.readAgain(0ns, nullptr);
  EXPECT_GT(readings, 0);
}

TEST(ClockReader, GivesEachReadingToTheCapture) {
  const std::string path = testing::TempDir() + "clocks_" + std::to_string(::getpid());
  {
    const Library library = withClock(&ahead);
    CaptureWriter capture(path, 130001, compiledStrides());
    ClockReader reader(library);
    reader.read(&capture);
    reader.read(&capture);
  }
  std::string complaint;
  const auto capture = readCapture(path, &complaint);
  std::filesystem::remove(path);
  ASSERT_TRUE(capture.ok()) << complaint;
  ASSERT_EQ(capture->clocks.size(), 2U);
  EXPECT_NEAR(static_cast<double>(capture->clocks[0].first - capture->clocks[0].second), kAheadNs,
              1e6);
}

}  // namespace
}  // namespace lacuna::collector::cupti
