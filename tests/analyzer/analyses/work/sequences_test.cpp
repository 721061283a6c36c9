// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/sequences.h"

#include <gtest/gtest.h>

#include <random>
#include <sstream>
#include <string>

#include "analyses/work/launch_index.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using prof::QueueId;
using prof::TimeNs;

/// Writes what queues do as text: "a b|c" are kernels of 10 ns each with 5 ns between them, in two
/// steps. '.' is 20 ns more before the next kernel. '=' is a copy of 1 ns. Work behind "2:" runs on
/// queue 2.
class SequencesTest : public testing::Test {
 protected:
  void run(const std::string& text) {
    std::uint32_t queue = 1;
    stepStarts_.push_back(now_);
    std::string word;
    for (std::istringstream words(text); words >> word;) {
      if (word == "|") {
        now_ += 1000;
        stepStarts_.push_back(now_);
      } else if (word == ".") {
        now_ += 20;
      } else if (word.back() == ':') {
        queue = static_cast<std::uint32_t>(std::stoul(word));
      } else if (word == "=") {
        add(queue, "copy", 1, Work::Copy, DeviceSpanKind::Copy);
      } else {
        add(queue, word, 10, Work::Compute, DeviceSpanKind::Kernel);
        now_ += 5;
      }
    }
    now_ += 1000;
  }

  SequenceStats found() {
    for (std::size_t i = 0; i < stepStarts_.size(); ++i) {
      const TimeNs end = i + 1 < stepStarts_.size() ? stepStarts_[i + 1] : now_;
      steps_.all.push_back({.index = i,
                            .name = "step",
                            .startNs = stepStarts_[i],
                            .endNs = end,
                            .samples = 0,
                            .warmUp = false});
    }
    store_ = builder_.build();
    return kernelSequences(*store_, timeline_, LaunchIndex(timeline_), {}, steps_,
                           StepSpans(steps_, {}));
  }
  /// "a b: 4 in 2, 80 + 20" for two kernels that ran four times in two stretches, for 80 ns with 20
  /// ns between them.
  std::string text(const std::vector<SequenceRow>& rows) const {
    std::string out;
    for (const SequenceRow& row : rows) {
      out += out.empty() ? "" : "; ";
      for (const prof::StringId kernel : row.kernels)
        out += (out.empty() || out.back() == ' ' ? "" : " ") + std::string(store_->text(kernel));
      out += ": " + std::to_string(row.count) + " in " + std::to_string(row.runs) + ", " +
             std::to_string(row.deviceNs) + " + " + std::to_string(row.gapNs);
    }
    return out;
  }
  std::string repeated() { return text(found().repeated); }
  std::string pointwise() { return text(found().pointwise); }

  TimeNs now_ = 0;
  Timeline timeline_;
  std::shared_ptr<const Store> store_;

 private:
  void add(std::uint32_t queue, const std::string& name, TimeNs durNs, Work work,
           DeviceSpanKind kind) {
    timeline_.device.push_back({.startNs = now_,
                                .endNs = now_ + durNs,
                                .correlation = 0,
                                .queue = QueueId(queue),
                                .name = builder_.intern(name),
                                .work = work,
                                .kind = kind});
    now_ += durNs;
  }
  StoreBuilder builder_;
  Steps steps_;
  std::vector<TimeNs> stepStarts_;
};

TEST_F(SequencesTest, WhatComesTwiceAStepIsCountedWithItsGaps) {
  // Four times, each with gaps of 5 and 25 ns. Kernels that repeat only from step to step are no
  // sequence of their own.
  run("x a b . c y a b . c z | x a b . c y a b . c z");
  EXPECT_EQ(repeated(), "a b c: 4 in 4, 120 + 120");
}

TEST_F(SequencesTest, OneBehindTheOtherIsOneStretchWithTheGapsBetween) {
  // Six kernels in a row have five gaps, in each of two steps.
  run("a b a b a b | a b a b a b");
  EXPECT_EQ(repeated(), "a b: 6 in 2, 120 + 50");
}

TEST_F(SequencesTest, AKernelThatFollowsItselfIsASequenceOfOne) {
  run("a a a a x | a a a a y");
  EXPECT_EQ(repeated(), "a: 8 in 2, 80 + 30");
}

TEST_F(SequencesTest, TheLongerOneTakesItsKernels) {
  // "a b" alone would be there six times; four of them belong to the longer one.
  run("a b c d x a b c d y a b | a b c d x a b c d y a b | a b v a b c d a b c d");
  EXPECT_EQ(repeated(), "a b c d: 6 in 5, 240 + 95");
}

TEST_F(SequencesTest, CopiesAndTheEndsOfStepsEndThem) {
  // "a b c" would be there as often, and from step to step "c a".
  run("a b = c | a b = c | a b = c x a b = c x a b = c x a b = c");
  EXPECT_EQ(repeated(), "a b: 6 in 6, 120 + 30");
}

TEST_F(SequencesTest, QueuesAreExaminedOneByOne) {
  run("1: a 2: b 1: a 2: b 1: a 2: b 1: a 2: b 1: a 2: b");
  // From one a to the next, b runs elsewhere: 5 + 10 + 5 ns.
  EXPECT_EQ(repeated(), "a: 5 in 1, 50 + 80; b: 5 in 1, 50 + 80");
}

TEST_F(SequencesTest, PointwiseKernelsInARowAreOneRun) {
  run("add_kernel relu_kernel gemm add_kernel relu_kernel . add_kernel | gemm add_kernel "
      "relu_kernel add_kernel");
  EXPECT_EQ(
      pointwise(),
      "add_kernel relu_kernel add_kernel: 2 in 2, 60 + 40; add_kernel relu_kernel: 1 in 1, 20 + 5");
}

TEST_F(SequencesTest, PartsAddUp) {
  run("x a b . c y a b . c z | x a b . c y a b . c z");
  SequenceStats stats = found();
  const SequenceStats same = stats;
  mergeSequences(stats, same);
  EXPECT_EQ(text(stats.repeated), "a b c: 8 in 8, 240 + 240");
  SequenceStats none;
  mergeSequences(none, same);
  EXPECT_EQ(text(none.repeated), text(same.repeated));
}

TEST_F(SequencesTest, NoKernelIsInTwoOfThem) {
  std::mt19937 random(1);
  std::string words;
  for (int i = 0; i < 4000; ++i) {
    words += static_cast<char>('a' + random() % 3);
    words += i % 500 == 499 ? " | " : random() % 40 == 0 ? " = " : " ";
  }
  run(words);
  const SequenceStats stats = found();
  ASSERT_FALSE(stats.repeated.empty());
  std::uint64_t launches = 0;
  for (const SequenceRow& row : stats.repeated) {
    launches += row.launches();
    EXPECT_EQ(row.deviceNs, static_cast<std::int64_t>(10 * row.launches()));
    // Nothing but 5 ns lies between two kernels here.
    EXPECT_EQ(row.gapNs, static_cast<std::int64_t>(5 * (row.launches() - row.runs)));
  }
  EXPECT_LE(launches, 4000u);
}

}  // namespace
}  // namespace lacuna::analyzer
