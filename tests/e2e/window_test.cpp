// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "e2e/run_fixture.h"

namespace lacuna {
namespace {

using prof::Reader;

/// Ranges and processes around whose beginning or end the recording is switched, or goes another
/// way.
class WindowTest : public RunTest {
 protected:
  struct Span {
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
  };

  WindowTest() { ::setenv("LACUNA", program("lacuna").c_str(), 1); }  // for window_program

  int window(const std::string& options, const std::string& mode) {
    return WEXITSTATUS(
        lacuna("-o out.lcn " + options + " -- " + program("window_program") + " " + mode));
  }

  std::map<std::string, Span> spans() const {
    std::map<std::string, Span> spans;
    std::ifstream file(folder_ / "spans.txt");
    std::string name;
    for (Span span; file >> name >> span.startNs >> span.endNs;) spans[name] = span;
    return spans;
  }

  /// Each range that the program has written down lies where the program put it.
  void expectRangesWhereTheyWere(const Reader& reader) {
    constexpr std::int64_t kClocksDiffer = 1'000'000;
    const auto known = spans();
    const auto ranges = *reader.table<prof::Range>();
    for (std::size_t i = 0; i < ranges.name.size(); ++i) {
      const auto span = known.find(std::string(reader.text(ranges.name[i])));
      if (span == known.end()) continue;
      EXPECT_GE(ranges.startNs[i], span->second.startNs - kClocksDiffer) << span->first;
      EXPECT_LE(ranges.startNs[i] + ranges.durNs[i], span->second.endNs + kClocksDiffer)
          << span->first;
      EXPECT_EQ(ranges.flags[i] & (prof::kNoStart | prof::kUnfinished), 0) << span->first;
    }
  }
};

TEST_F(WindowTest, ARangeAcrossAStopEndsWhenItEnded) {
  ASSERT_EQ(window("", "stops"), 0) << errorText();
  const Reader reader = trace();
  expectRangesWhereTheyWere(reader);
  EXPECT_EQ(rangesOf(reader), (std::map<std::string, int>{{"begun-on", 1},
                                                          {"base", 1},
                                                          {"on-in-off", 1},
                                                          {"innermost", 1},
                                                          {"sibling", 1},
                                                          {"last-in-base", 1},
                                                          {"anywhere", 1},
                                                          {"after", 1}}));
}

TEST_F(WindowTest, ACounterOfDifferencesKeepsItsSumAcrossAStop) {
  ASSERT_EQ(window("--trace nvtx", "counter"), 0) << errorText();
  const Reader reader = trace();
  const auto values = *reader.column<&prof::CounterSample::value>();
  EXPECT_EQ(std::vector<double>(values.begin(), values.end()), (std::vector<double>{1, 7}));
}

TEST_F(WindowTest, RangesAcrossTheEndsOfCaptureWindowsKeepTheirLength) {
  ASSERT_EQ(window("--capture-range CAP", "captures"), 0) << errorText();
  const Reader reader = trace();
  expectRangesWhereTheyWere(reader);
  const auto counts = rangesOf(reader);
  ASSERT_EQ(counts.count("CAP"), 1u);
  EXPECT_EQ(counts.at("CAP"), 10);
  EXPECT_GT(counts.size(), 2u) << "the other thread was there";
}

TEST_F(WindowTest, AForkedChildDoesNotCloseItsParentsCapture) {
  ASSERT_EQ(window("--capture-range CAP", "fork-capture"), 0) << errorText();
  const auto counts = rangesOf(trace());
  EXPECT_EQ(counts.count("outside"), 0u);
  ASSERT_EQ(counts.count("inside"), 1u);
  EXPECT_EQ(counts.at("inside"), 5);
}

TEST_F(WindowTest, AProcessThatDiesInsideItsCaptureLeavesTheRecordingOff) {
  ASSERT_EQ(window("--capture-range CAP", "kill-capture"), 0) << errorText();
  const auto counts = rangesOf(trace());
  EXPECT_EQ(counts.count("outside"), 0u);
  ASSERT_EQ(counts.count("inside"), 1u);
  EXPECT_EQ(counts.at("inside"), 2);
}

TEST_F(WindowTest, AThreadThatEndsInsideItsCaptureLeavesTheRecordingOff) {
  ASSERT_EQ(window("--capture-range CAP", "thread-capture"), 0) << errorText();
  EXPECT_EQ(rangesOf(trace()), (std::map<std::string, int>{{"CAP", 1}, {"inside", 1}}));
}

TEST_F(WindowTest, NamesOutsideTheCaptureTakeNoRoomOfThoseInside) {
  ASSERT_EQ(window("--capture-range CAP --trace nvtx", "many-names"), 0) << errorText();
  EXPECT_EQ(rangesOf(trace()), (std::map<std::string, int>{{"CAP", 1}, {"inside", 1}}));
}

/// A command that runs another one as the first process of a PID namespace, or nothing where that
/// is not allowed.
std::string inNamespace() {
  for (const std::string command : {"unshare -pf --mount-proc", "unshare -Urpf --mount-proc"}) {
    if (std::system((command + " true 2>/dev/null").c_str()) == 0) return command;
  }
  return {};
}

TEST_F(WindowTest, AProcessThatNumbersItselfOtherwiseIsRecordedToItsEnd) {
  const std::string unshare = inNamespace();
  if (unshare.empty()) GTEST_SKIP() << "PID namespaces are not allowed here";
  ASSERT_EQ(WEXITSTATUS(shell(lingering() + program("lacuna") + " run --force -q -o out.lcn -- " +
                              unshare + " " + program("window_program") + " work 2>stderr.txt")),
            0)
      << errorText();
  const Reader reader = trace();
  EXPECT_EQ(rangesOf(reader), (std::map<std::string, int>{{"work", 100}}));
  std::uint32_t recorded = 0;
  const auto processes = *reader.table<prof::Process>();
  for (std::size_t i = 0; i < processes.osPid.size(); ++i) {
    EXPECT_NE(processes.osPid[i], 1u) << "its own number";
    if (std::string(reader.text(processes.name[i])).starts_with("window_program")) ++recorded;
  }
  EXPECT_EQ(recorded, 1u) << "seen from outside and from inside it is one";
  const auto threads = *reader.table<prof::Thread>();
  for (std::size_t i = 0; i < threads.osTid.size(); ++i) EXPECT_NE(threads.osTid[i], 1u);
}

TEST_F(WindowTest, AFlightRecorderKeepsAProcessThatNumbersItselfOtherwise) {
  const std::string unshare = inNamespace();
  if (unshare.empty()) GTEST_SKIP() << "PID namespaces are not allowed here";
  // Beside it others come and go until the ring forgets the first that ended.
  EXPECT_EQ(WEXITSTATUS(lacuna(
                "-o out.lcn --ring 1M --dump-on crash -- sh -c '" + unshare + " " +
                program("window_program") + " work done & " + untilThere("spans.txt", "$!") +
                program("ending_program") + " children; for i in $(seq 300); do " +
                "[ $(ls $LACUNA_RECORDING $LACUNA_RECORDING/shm/ | wc -l) -lt 50 ] && break; " +
                "sleep 0.1; done; touch done; wait $!; exit 1'")),
            1);
  const std::string lines = textOf("spans.txt");
  const auto counts = rangesOf(trace("out.dump-1.lcn"));
  ASSERT_EQ(counts.count("work"), 1u);
  EXPECT_EQ(counts.at("work"), std::count(lines.begin(), lines.end(), '\n'));
}

}  // namespace
}  // namespace lacuna
