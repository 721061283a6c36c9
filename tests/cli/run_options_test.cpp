// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// Options of `lacuna run` that would do nothing are refused, before the program starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/programs.h"

namespace lacuna {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class RunOptions : public testing::Test {
 protected:
  RunOptions() { fs::create_directories(folder_); }
  ~RunOptions() override { fs::remove_all(folder_); }

  int run(const std::string& options) {
    const int status = std::system(("cd " + folder_.string() + " && " + test::program("lacuna") +
                                    " run " + options + " -- touch ran 2>err.txt")
                                       .c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string errorText() {
    std::ifstream file(folder_ / "err.txt");
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  std::string refused(const std::string& options) {
    EXPECT_EQ(run(options), 2) << options;
    EXPECT_FALSE(fs::exists(folder_ / "ran")) << options;
    return errorText();
  }

  fs::path folder_ =
      fs::temp_directory_path() / ("lacuna-run-options-test-" + std::to_string(::getpid()));
};

TEST_F(RunOptions, AnEmptyValueIsNotTheDefault) {
  for (const std::string option :
       {"-o", "--trace", "--cuda", "--sample-rate", "--sampler", "--detail", "--python-hz",
        "--raw-capture", "--delay", "--duration", "--capture-range", "--memory-limit", "--ring",
        "--dump-on", "--step-range", "--step-mad"}) {
    EXPECT_THAT(refused(option + " ''"), AllOf(HasSubstr(option), HasSubstr("empty")));
  }
}

TEST_F(RunOptions, TheTraceIsNamedAfterTheRank) {
  EXPECT_THAT(refused("-o 'rank-{rank}.lcn'"), HasSubstr("this process has no rank"));
  setenv("SLURM_PROCID", "3", 1);
  EXPECT_EQ(run("-o 'rank-{rank}.lcn'"), 0) << errorText();
  unsetenv("SLURM_PROCID");
  EXPECT_TRUE(fs::exists(folder_ / "rank-3.lcn"));
}

TEST_F(RunOptions, TheSummaryHasSizesForPeople) {
  EXPECT_EQ(run("--no-report"), 0);
  EXPECT_THAT(errorText(),
              testing::ContainsRegex(
                  "touch\\.lcn · .* events from .* in .* · [0-9.]+ ([KM]i)?B · 0 dropped\n"));
}

TEST_F(RunOptions, ARateOfSamplesNeedsSamples) {
  EXPECT_THAT(refused("--sample-rate 100"), HasSubstr("Add samples to --trace"));
  EXPECT_THAT(refused("--trace nvtx --sample-rate 1000"), HasSubstr("Add samples to --trace"));
  EXPECT_THAT(refused("--trace samples --sample-rate 0"), HasSubstr("--sample-rate has to be"));
  EXPECT_EQ(run("-q --trace samples --sample-rate 100"), 0);
}

TEST_F(RunOptions, ARateOfPythonSamplesNeedsTheHook) {
  EXPECT_THAT(refused("--no-torch --python-hz 100"), HasSubstr("Choose one of the two"));
  EXPECT_THAT(refused("--no-torch --set amp=on"), HasSubstr("Choose one of the two"));
  EXPECT_THAT(refused("--python-hz 100 --trace cuda"), HasSubstr("Add it: --trace nvtx"));
  EXPECT_THAT(refused("--torch --ring 64M --python-hz 100"),
              HasSubstr("Leave --python-hz out, or --ring"));
  for (const std::string number : {"inf", "nan", "-1", "0.5", "1001"}) {
    EXPECT_THAT(refused("--torch --python-hz " + number),
                HasSubstr("--python-hz has to be from 1 to 1000"));
  }
  EXPECT_EQ(run("-q --torch --python-hz 0"), 0);
  EXPECT_EQ(run("-q --force --torch --ring 64M --python-hz 0"), 0);
}

TEST_F(RunOptions, StepsInDetailAreCountedFromTheStartOfAWholeRecording) {
  EXPECT_THAT(refused("--detail most"),
              HasSubstr("--detail does not know 'most'. Known: all, some."));
  for (const std::string part : {"--delay 1s", "--capture-range epoch", "--ring 64M"}) {
    EXPECT_THAT(refused("--detail some " + part),
                HasSubstr(part.substr(0, part.find(' ')) + " records a part of the program"));
  }
  EXPECT_EQ(run("-q --detail some"), 0);
  EXPECT_EQ(run("-q --force --detail all --ring 64M"), 0);
}

TEST_F(RunOptions, AModeOfCudaNeedsCuda) {
  EXPECT_THAT(refused("--cuda some"),
              HasSubstr("--cuda does not know 'some'. Known: full, kernels, graphs, off."));
  EXPECT_THAT(refused("--cuda full --trace nvtx"), HasSubstr("Add it: --trace cuda"));
  EXPECT_THAT(refused("--cuda off --trace gpu-counters"),
              HasSubstr("gpu-counters needs CUDA's timeline"));
  EXPECT_THAT(refused("--cuda off --raw-capture captures"),
              HasSubstr("--raw-capture keeps CUDA's records"));
  for (const std::string mode : {"full", "kernels", "graphs", "off"})
    EXPECT_EQ(run("-q --force --cuda " + mode), 0);
}

TEST_F(RunOptions, WhatIsNoNumberIsCalledThat) {
  for (const std::string option : {"--sample-rate", "--step-mad"}) {
    EXPECT_THAT(refused("--trace samples " + option + " fast"),
                HasSubstr("'fast' is not a number, or not one that " + option + " takes"));
  }
}

TEST_F(RunOptions, ToRecordForNoTimeIsRefused) {
  EXPECT_THAT(refused("--duration 0"), HasSubstr("--duration is 0"));
  EXPECT_THAT(refused("--duration 0ms"), HasSubstr("--duration is 0"));
  EXPECT_EQ(run("-q --delay 0"), 0);
}

TEST_F(RunOptions, HowSlowAStepIsNeedsSlowSteps) {
  EXPECT_THAT(refused("--step-mad 3"), HasSubstr("Add --dump-on slow-step"));
  EXPECT_THAT(refused("--ring 64M --step-mad 5"), HasSubstr("Add --dump-on slow-step"));
  for (const std::string number : {"inf", "nan", "0"}) {
    EXPECT_THAT(refused("--ring 64M --dump-on slow-step --step-mad " + number),
                HasSubstr("--step-mad has to be"));
  }
  EXPECT_EQ(run("-q --ring 64M --dump-on slow-step --step-mad 3"), 0);
}

}  // namespace
}  // namespace lacuna
