// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/python_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyses/work/python_places.h"
#include "analyzer/rules/cpu_training.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/store.h"
#include "support/python_samples.h"

namespace lacuna::analyzer {
namespace {

using prof::FrameId;
using prof::TimeNs;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kTrain = "/home/me/train.py";
constexpr const char* kNumpy = "/v/lib/python3.11/site-packages/numpy/core/fromnumeric.py";

/// A training of 12 steps of 10 ms, with samples every 0.5 ms. An operator takes the first 6 ms of
/// a step.
class SampledTraining : public CpuTraining {
 public:
  SampledTraining() : samples(out) {
    work(0, 6 * kMs, "aten::add");
    loop = samples.frame("main", kTrain, 10);
  }
  SampledTraining& at(TimeNs from, TimeNs to, FrameId stack) {
    for (int step = 0; step < 12; ++step)
      samples.during(step * 10 * kMs + from, step * 10 * kMs + to, stack, kMs / 2);
    return *this;
  }
  PythonLines lines() { return analysed().of<PythonLines>(); }

  test::PythonSamples samples;
  FrameId loop;
};

const PythonLine& lineOf(const PythonLines& lines, std::string_view place) {
  static const PythonLine kNone{};
  const auto found = std::ranges::find(lines.step, place, &PythonLine::place);
  EXPECT_NE(found, lines.step.end()) << place;
  return found == lines.step.end() ? kNone : *found;
}

TEST(PythonLines, HaveTheTimeOfAMeanStepAndWhatItWas) {
  SampledTraining run;
  const FrameId forward = run.samples.frame("forward", kTrain, 20, run.loop);
  const FrameId metrics = run.samples.frame("metrics", kTrain, 42, run.loop);
  run.each(9 * kMs, kMs, "loader", "wait");
  const PythonLines lines = run.at(0, 6 * kMs, forward)
                                .at(6 * kMs, 9 * kMs, metrics)
                                .at(9 * kMs, 10 * kMs, run.loop)
                                .lines();
  ASSERT_THAT(lines.step, SizeIs(3));
  EXPECT_EQ(lines.step[0].place, "train.py:20");
  EXPECT_EQ(lines.step[0].function, "forward");
  EXPECT_EQ(lines.step[0].file, kTrain);
  EXPECT_EQ(lines.step[0].ns, 6 * kMs);
  EXPECT_EQ(lines.step[0].operatorsNs, 6 * kMs);
  EXPECT_EQ(lines.step[0].idleNs, 0);
  EXPECT_EQ(lineOf(lines, "train.py:42").hostNs, 3 * kMs);
  EXPECT_EQ(lineOf(lines, "train.py:42").idleNs, 3 * kMs);
  EXPECT_EQ(lineOf(lines, "train.py:10").loaderNs, kMs);
  EXPECT_EQ(lineOf(lines, "train.py:10").hostNs, 0);
  for (const PythonLine& line : lines.step)
    EXPECT_EQ(line.ns, line.hostNs + line.operatorsNs + line.loaderNs + line.deviceNs)
        << line.place;
}

TEST(PythonLines, AreOfTheUsersCodeWithTheLibraryFunctionBesideThem) {
  SampledTraining run;
  const FrameId metrics = run.samples.frame("metrics", kTrain, 42, run.loop);
  const FrameId wrapped =
      run.samples.frame("_wrapfunc", kNumpy, 57, metrics, "numpy.core.fromnumeric");
  const FrameId sort = run.samples.frame("sort", kNumpy, 1017, wrapped, "numpy.core.fromnumeric");
  const PythonLines lines = run.at(6 * kMs, 9 * kMs, sort).at(9 * kMs, 10 * kMs, metrics).lines();
  ASSERT_THAT(lines.step, SizeIs(1));
  EXPECT_EQ(lines.step[0].place, "train.py:42");
  EXPECT_EQ(lines.step[0].inside, "numpy sort");
  EXPECT_EQ(lines.step[0].ns, 4 * kMs);
}

TEST(PythonLines, OfLibrariesAloneAreThoseOfTheOutermostFrame) {
  SampledTraining run;
  const FrameId main = run.samples.frame("main", "/usr/lib/python3.11/runpy.py", 86, {}, "runpy");
  const FrameId sort = run.samples.frame("sort", kNumpy, 1017, main, "numpy.core.fromnumeric");
  const PythonLines lines = run.at(6 * kMs, 10 * kMs, sort).lines();
  ASSERT_THAT(lines.step, SizeIs(1));
  EXPECT_EQ(lines.step[0].place, "runpy.py:86");
  EXPECT_EQ(lines.step[0].inside, "numpy sort");
}

TEST(PythonLines, TheHookIsNothingThatTheProgramCalls) {
  SampledTraining run;
  const FrameId next = run.samples.frame("wait", "/opt/lacuna/python/lacuna_torch.py", 424,
                                         run.loop, "lacuna_torch");
  const PythonLines lines = run.at(6 * kMs, 10 * kMs, next).lines();
  ASSERT_THAT(lines.step, SizeIs(1));
  EXPECT_EQ(lines.step[0].place, "train.py:10");
  EXPECT_EQ(lines.step[0].inside, "");
}

TEST(PythonLines, ACallThatPassesThroughTheHookIsTheProgramsOwn) {
  SampledTraining run;
  const FrameId flush = run.samples.frame("flush", kTrain, 57, run.loop);
  const FrameId hook = run.samples.frame("install_checkpoint.<locals>.syncs.<locals>.through",
                                         "/opt/lacuna/python/lacuna_training.py", 196, flush);
  const PythonLine line = lineOf(run.at(6 * kMs, 10 * kMs, hook).lines(), "train.py:57");
  EXPECT_EQ(line.idleNs, 4 * kMs);
  EXPECT_EQ(line.frameworkNs, 0);
}

TEST(PythonLines, OurOwnCodeIsNoLineOfTheProgram) {
  SampledTraining run;
  const FrameId ours =
      run.samples.frame("call", "/opt/lacuna/python/lacuna_torch.py", 599, {}, "lacuna_torch");
  const FrameId library =
      run.samples.frame("get", "/usr/lib/python3.11/queue.py", 171, ours, "queue");
  const PythonLines lines = run.at(6 * kMs, 8 * kMs, ours).at(8 * kMs, 10 * kMs, library).lines();
  ASSERT_THAT(lines.step, SizeIs(1));
  EXPECT_EQ(lines.step[0].place, "queue.py:171");
}

TEST(PythonLines, HaveThePhaseThatMostOfThemIsIn) {
  SampledTraining run;
  const FrameId forward = run.samples.frame("forward", kTrain, 20, run.loop);
  run.each(0, 5 * kMs, "phase", "forward");
  const PythonLines lines = run.at(0, 6 * kMs, forward).at(6 * kMs, 9 * kMs, run.loop).lines();
  EXPECT_EQ(lineOf(lines, "train.py:20").phase, "forward");
  EXPECT_EQ(lineOf(lines, "train.py:10").phase, "");
}

TEST(PythonLines, ShortPausesBetweenOperatorsAreNoWaitOfTheDevice) {
  SampledTraining run;
  run.work(6 * kMs + 400'000, 3 * kMs, "aten::mul");
  const FrameId metrics = run.samples.frame("metrics", kTrain, 42, run.loop);
  for (int step = 0; step < 12; ++step)
    run.samples.sample(step * 10 * kMs + 6 * kMs + 200'000, metrics, 400'000);
  const PythonLines lines = run.lines();
  EXPECT_EQ(lineOf(lines, "train.py:42").hostNs, 400'000);
  EXPECT_EQ(lineOf(lines, "train.py:42").idleNs, 0);
}

TEST(PythonLines, APauseIsLongWhereTheOthersAreShort) {
  SampledTraining run;
  for (int i = 0; i < 10; ++i) run.work(6 * kMs + 400'000 + i * 300'000, 290'000, "aten::mul");
  const FrameId metrics = run.samples.frame("metrics", kTrain, 42, run.loop);
  for (int step = 0; step < 12; ++step)
    run.samples.sample(step * 10 * kMs + 6 * kMs + 200'000, metrics, 400'000);
  EXPECT_EQ(lineOf(run.lines(), "train.py:42").idleNs, 400'000)
      << "most pauses take 10 µs, this one 400";
}

/// The same training with 24 plain steps behind it, in which samples see two lines.
PythonLines linesWithPlainSteps(TimeNs loopNs, TimeNs metricsNs) {
  SampledTraining run;
  const FrameId metrics = run.samples.frame("metrics", kTrain, 42, run.loop);
  run.at(0, 6 * kMs, run.loop).at(6 * kMs, 10 * kMs, metrics);
  run.plainSteps(24);
  for (int step = 12; step < 36; ++step) {
    run.samples.during(step * 10 * kMs, step * 10 * kMs + loopNs, run.loop, kMs / 2);
    run.samples.during(step * 10 * kMs + loopNs, step * 10 * kMs + loopNs + metricsNs, metrics,
                       kMs / 2);
  }
  return run.lines();
}

TEST(PythonLines, TakeTheirTimeFromPlainStepsToo) {
  const PythonLines lines = linesWithPlainSteps(3 * kMs, 7 * kMs);
  EXPECT_EQ(lineOf(lines, "train.py:10").ns, 4 * kMs) << "a third of the steps 6 ms, the others 3";
  EXPECT_EQ(lineOf(lines, "train.py:42").ns, 6 * kMs);
  EXPECT_EQ(lines.samples, 36U * 20);
}

TEST(PythonLines, DoInPlainStepsAsInThoseInDetail) {
  const PythonLines lines = linesWithPlainSteps(3 * kMs, 7 * kMs);
  EXPECT_EQ(lineOf(lines, "train.py:10").operatorsNs, 4 * kMs);
  EXPECT_EQ(lineOf(lines, "train.py:42").idleNs, 6 * kMs);
  EXPECT_EQ(lineOf(lines, "train.py:42").idleSamples, 12U * 8 + 24 * 14);
}

TEST(PythonLines, WhatAPhaseWithAFindingOfItsOwnTakesIsNoWaitForALine) {
  SampledTraining run;
  const FrameId saves = run.samples.frame("save", kTrain, 50, run.loop);
  run.each(6 * kMs, 3 * kMs, "phase", "checkpoint");
  const PythonLines lines = run.at(6 * kMs, 9 * kMs, saves).lines();
  EXPECT_EQ(lineOf(lines, "train.py:50").phase, "checkpoint");
  EXPECT_EQ(lineOf(lines, "train.py:50").hostNs, 3 * kMs);
  EXPECT_EQ(lineOf(lines, "train.py:50").idleNs, 0);
}

TEST(PythonLines, OfOtherThreadsAreNoPartOfAStep) {
  SampledTraining run;
  run.out.append(prof::Thread{.id = prof::ThreadId(2), .process = prof::ProcessId(1)});
  run.samples.during(0, 100 * kMs, run.loop, kMs, 2);
  EXPECT_THAT(run.lines().step, IsEmpty());
}

TEST(PythonLines, OfWorkersAreThoseOfTheDataset) {
  SampledTraining run;
  run.out.append(prof::Process{.id = prof::ProcessId(2), .parent = prof::ProcessId(1)});
  run.out.append(prof::Thread{.id = prof::ThreadId(2), .process = prof::ProcessId(2)});
  constexpr const char* kLoader =
      "/v/lib/python3.11/site-packages/torch/utils/data/_utils/fetch.py";
  // A worker that was forked stands on the frames of its parent.
  const FrameId fetch =
      run.samples.frame("fetch", kLoader, 54, run.loop, "torch.utils.data._utils.fetch");
  const FrameId item = run.samples.frame("__getitem__", "/home/me/data.py", 7, fetch, "data");
  const FrameId decode = run.samples.frame("open", "/v/lib/python3.11/site-packages/PIL/Image.py",
                                           3, fetch, "PIL.Image");
  for (int batch = 0; batch < 12; ++batch) {
    const TimeNs start = batch * 10 * kMs;
    run.out.append(prof::Range{.startNs = start,
                               .durNs = 6 * kMs,
                               .thread = prof::ThreadId(2),
                               .category = run.out.intern("loader"),
                               .name = run.out.intern("fetch"),
                               .payloadType = prof::PayloadType::U64,
                               .payload = static_cast<std::uint64_t>(batch)});
    run.samples.during(start, start + 4 * kMs, item, kMs, 2);
    run.samples.during(start + 4 * kMs, start + 6 * kMs, decode, kMs, 2);
    run.samples.during(start + 6 * kMs, start + 10 * kMs, run.loop, kMs, 2);
  }
  run.each(9 * kMs, kMs, "loader", "wait");
  const PythonLines lines = run.lines();
  ASSERT_THAT(lines.workers, SizeIs(2)) << "what it does between two batches is no work on them";
  EXPECT_EQ(lines.workers[0].place, "data.py:7");
  EXPECT_EQ(lines.workers[0].ns, 4 * kMs);
  EXPECT_EQ(lines.workers[1].place, "Image.py:3");
  EXPECT_EQ(lines.workers[1].ns, 2 * kMs);
}

TEST(PythonLines, OfTheTimeBeforeTheFirstStepStandApart) {
  CpuTraining run;
  run.work(0, 6 * kMs, "aten::add");
  // The device works long before the first step.
  run.out.append(prof::Kernel{
      .startNs = -50 * kMs, .durNs = kMs, .queue = prof::QueueId(1), .device = prof::DeviceId(1)});
  test::PythonSamples samples(run.out);
  samples.during(-40 * kMs, -10 * kMs, samples.frame("build", kTrain, 5), kMs);
  const PythonLines lines = run.analysed().of<PythonLines>();
  EXPECT_THAT(lines.step, IsEmpty());
  ASSERT_THAT(lines.before, SizeIs(1));
  EXPECT_EQ(lines.before[0].place, "train.py:5");
  EXPECT_EQ(lines.before[0].ns, 30 * kMs);
}

TEST(PythonLines, TheTimeBeforeTheFirstStepIsOfThePackageThatRuns) {
  SampledTraining run;
  const auto importing = run.samples.frame("<module>", kTrain, 1);
  const auto torch = run.samples.frame(
      "<module>", "/v/lib/python3.11/site-packages/torch/__init__.py", 9, importing);
  const auto numpy =
      run.samples.frame("<module>", "/v/lib/python3.11/site-packages/numpy/__init__.py", 9, torch);
  const auto compiling = run.samples.frame("compile", "/usr/lib/python3.11/re.py", 9, numpy);
  run.samples.during(-100 * kMs, -40 * kMs, torch, kMs);
  run.samples.during(-40 * kMs, -20 * kMs, compiling, kMs);
  run.samples.during(-20 * kMs, -5 * kMs, importing, kMs);
  run.samples.during(-5 * kMs, -1 * kMs,
                     run.samples.frame("<module>", "/usr/lib/python3.11/site.py", 9), kMs);
  std::vector<std::pair<std::string, std::int64_t>> parts;
  for (const SetUpPart& part : run.lines().setUp) parts.emplace_back(part.name, part.ns / kMs);
  EXPECT_THAT(parts, ElementsAre(std::pair("torch", 60), std::pair("numpy", 20),
                                 std::pair("train.py", 15), std::pair("Python", 4)));
}

TEST(PythonLines, WithoutSamplesThereAreNone) {
  SampledTraining run;
  const PythonLines lines = run.lines();
  EXPECT_THAT(lines.step, IsEmpty());
  EXPECT_THAT(lines.waitedFor(0), IsEmpty());
}

TEST(PythonLines, RowsThatMakeNoSenseAreLeftOutOrCut) {
  SampledTraining run;
  run.out.append(prof::StackFrame{
      .id = FrameId(70), .parent = FrameId(71), .file = run.out.intern(kTrain), .line = 1});
  run.out.append(prof::StackFrame{
      .id = FrameId(71), .parent = FrameId(70), .file = run.out.intern(kTrain), .line = 2});
  run.samples.sample(7 * kMs, FrameId(70), std::numeric_limits<std::uint64_t>::max());
  run.samples.sample(8 * kMs, FrameId(99), 1'000);
  run.samples.sample(9 * kMs, FrameId(), 1'000);
  const Analysis analysis = run.analysed();
  const PythonLines& lines = analysis.of<PythonLines>();
  ASSERT_THAT(lines.step, SizeIs(1))
      << "frames that are their own callers end; stacks that are not there have no line";
  EXPECT_LE(lines.step[0].ns, analysis.window.endNs - analysis.window.startNs);
}

std::vector<std::string> textsOf(const std::vector<PythonStretch>& waits) {
  std::vector<std::string> texts;
  for (const PythonStretch& wait : waits) texts.push_back(wait.text);
  return texts;
}

TEST(PythonWaits, NeighbouringLinesOfOneFunctionAreOnePlace) {
  SampledTraining run;
  const FrameId first = run.samples.frame("metrics", kTrain, 42, run.loop);
  const FrameId second = run.samples.frame("metrics", kTrain, 44, run.loop);
  const FrameId other = run.samples.frame("metrics", kTrain, 48, run.loop);
  run.at(6 * kMs, 7 * kMs, first).at(7 * kMs, 9 * kMs, second).at(9 * kMs, 10 * kMs, other);
  const auto waits = run.lines().waitedFor(4 * kMs);
  EXPECT_THAT(textsOf(waits), ElementsAre("train.py:42–44 in metrics", "train.py:48 in metrics"));
  EXPECT_EQ(waits[0].ns, 3 * kMs);
  EXPECT_EQ(listOf(waits), "train.py:42–44 in metrics 3.00 ms; train.py:48 in metrics 1.00 ms");
}

TEST(PythonWaits, ALineNeedsEnoughSamplesToBeNamed) {
  const auto waitsOf = [](int samples) {
    SampledTraining run;
    const FrameId metrics = run.samples.frame("metrics", kTrain, 42, run.loop);
    for (int i = 0; i < samples; ++i) run.samples.sample(i * 10 * kMs + 8 * kMs, metrics, 3 * kMs);
    return run.lines().waitedFor(3 * kMs).size();
  };
  EXPECT_EQ(waitsOf(static_cast<int>(kLeastLineSamples) - 1), 0u);
  EXPECT_EQ(waitsOf(static_cast<int>(kLeastLineSamples)), 1u);
}

TEST(PythonWaits, KeepTheLongestStretchesAsPlacesToShow) {
  SampledTraining run;
  const FrameId metrics = run.samples.frame("metrics", kTrain, 42, run.loop);
  run.samples.during(16 * kMs, 20 * kMs, metrics, kMs / 2);
  run.samples.during(27 * kMs, 30 * kMs, metrics, kMs / 2);
  const auto waits = run.lines().waitedFor(kMs / 2);
  ASSERT_THAT(waits, SizeIs(1));
  ASSERT_THAT(waits[0].idle, SizeIs(2));
  EXPECT_EQ(waits[0].idle[0].startNs, 16 * kMs - 1);
  EXPECT_EQ(waits[0].idle[0].endNs, 20 * kMs - 1);
}

TEST(PythonLines, KnowWhichOperatorsTheyCallBesideTheTraining) {
  SampledTraining run;
  run.each(6 * kMs + kMs / 4, kMs / 4, "phase", "optimizer")
      .work(7 * kMs, 2 * kMs, "aten::mul_")
      .each(9 * kMs, kMs, "phase", "load");
  const FrameId step = run.samples.frame("learn", kTrain, 20, run.loop);
  const FrameId average = run.samples.frame("average", kTrain, 42, run.loop);
  run.at(0, 6 * kMs, step).at(7 * kMs, 9 * kMs, average);
  const PythonLines lines = run.lines();
  EXPECT_EQ(lineOf(lines, "train.py:20").sideNs, 0);
  EXPECT_EQ(lineOf(lines, "train.py:42").sideNs, 2 * kMs);
  EXPECT_EQ(listOf(lines.beside(2 * kMs)), "train.py:42 in average 2.00 ms");
  EXPECT_THAT(lines.beside(100 * kMs), IsEmpty()) << "a small part of what is asked for";
}

TEST(PythonLibrary, IsWhatIsInstalled) {
  for (const char* file :
       {kNumpy, "/usr/lib/python3/dist-packages/yaml/__init__.py",
        "/usr/lib/python3.9/json/decoder.py", "<frozen importlib._bootstrap>",
        "<__array_function__ internals>", "", "/opt/lacuna/python/lacuna_torch.py"}) {
    EXPECT_TRUE(isPythonLibrary(file)) << file;
  }
  for (const char* file : {kTrain, "train.py", "/home/me/lib/python3.tools/a.py", "<string>",
                           "<stdin>", "<ipython-input-3-1>", "/srv/python3.11/train.py"}) {
    EXPECT_FALSE(isPythonLibrary(file)) << file;
  }
}

}  // namespace
}  // namespace lacuna::analyzer
