// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/host_before_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using prof::FrameId;
using prof::ThreadId;
using prof::TimeNs;
using prof::TrackId;
using testing::ElementsAre;
using testing::IsEmpty;

/// A run whose device begins to work at 100 and whose first step begins at 200, on thread 1.
class SetUpRun {
 public:
  SetUpRun() {
    made.devices.emplace_back().window = {100, 900};
    made.steps.thread = ThreadId(1);
    made.steps.all = {{.name = "step", .startNs = 200, .endNs = 300},
                      {.name = "step", .startNs = 300, .endNs = 400}};
    made.of<UnknownPlaces>().beforeNs = 60;
  }

  SetUpRun& counter(std::string_view name, const std::vector<std::pair<TimeNs, double>>& samples,
                    std::uint32_t thread = 1) {
    const TrackId track(++tracks_);
    out_.append(
        prof::CounterTrack{.id = track, .thread = ThreadId(thread), .name = out_.intern(name)});
    for (const auto& [time, value] : samples)
      out_.append(prof::CounterSample{.timeNs = time, .track = track, .value = value});
    return *this;
  }
  SetUpRun& frame(std::uint32_t id, std::string_view module) {
    out_.append(prof::StackFrame{.id = FrameId(id), .module = out_.intern(module)});
    return *this;
  }
  SetUpRun& sample(TimeNs time, std::uint32_t frame, std::uint64_t weightNs,
                   std::uint32_t thread = 1) {
    out_.append(prof::CpuSample{
        .timeNs = time, .thread = ThreadId(thread), .stack = FrameId(frame), .weightNs = weightNs});
    return *this;
  }
  const UnknownPlaces& find() {
    made.store = out_.build();
    EXPECT_TRUE(findHostBeforeSteps(made));
    return made.of<UnknownPlaces>();
  }
  std::vector<std::pair<std::string, double>> libraries() {
    std::vector<std::pair<std::string, double>> out;
    for (const UnknownPlaces::Library& library : find().libraries)
      out.emplace_back(library.path, library.share);
    return out;
  }

  Analysis made;

 private:
  StoreBuilder out_;
  std::uint32_t tracks_ = 0;
};

TEST(HostBeforeSteps, AShareIsTheMeanOfACounterOverTheTimeThatItKnows) {
  struct Case {
    std::vector<std::pair<TimeNs, double>> samples;
    double share;
  };
  for (const Case& one : {
           Case{{}, -1},
           Case{{{100, 80}}, -1},            // of the time before the device's work
           Case{{{50, 80}, {201, 80}}, -1},  // after the first step's begin
           Case{{{199, 80}}, 0.8},
           Case{{{150, 40}, {200, 80}}, 0.6},
           Case{{{120, 50}, {150, 100}},
                0.8},  // 20 ns of half and 30 of all; nothing is known after
           Case{{{90, 0}, {110, 100}, {200, 0}, {300, 100}}, 0.1},
           Case{{{150, 250}}, 1},
           Case{{{150, -20}}, 0},
       }) {
    SetUpRun run;
    run.counter("thread CPU", one.samples);
    const UnknownPlaces& places = run.find();
    EXPECT_DOUBLE_EQ(places.ranShare, one.share);
    EXPECT_EQ(places.waitedShare, -1) << "it was not counted";
  }
}

TEST(HostBeforeSteps, ASampleAsTheFirstStepBeginsIsOfTheTimeBeforeIt) {
  // Beside an earlier sample it counts, see above; alone, its block does not touch the time that is
  // scanned.
  SetUpRun run;
  EXPECT_DOUBLE_EQ(run.counter("thread CPU", {{200, 80}}).find().ranShare, 0.8);
}

TEST(HostBeforeSteps, EachShareHasItsCounterOfTheStepsThread) {
  SetUpRun run;
  run.counter("waiting for a core", {{190, 90}}, 2)
      .counter("thread CPU", {{190, 80}}, 2)
      .counter("memory", {{190, 70}})
      .counter("waiting for a core", {{190, 25}})
      .counter("thread CPU", {{190, 50}});
  const UnknownPlaces& places = run.find();
  EXPECT_DOUBLE_EQ(places.ranShare, 0.5);
  EXPECT_DOUBLE_EQ(places.waitedShare, 0.25);
}

TEST(HostBeforeSteps, NothingIsFoundWhereNothingIsAsked) {
  const auto isEmpty = [](auto change) {
    SetUpRun run;
    run.counter("thread CPU", {{190, 80}}).frame(1, "libc.so").sample(150, 1, 10);
    change(run.made);
    const UnknownPlaces& places = run.find();
    return places.ranShare == -1 && places.waitedShare == -1 && places.libraries.empty();
  };
  EXPECT_FALSE(isEmpty([](Analysis&) {}));
  EXPECT_TRUE(isEmpty([](Analysis& made) { made.of<UnknownPlaces>().beforeNs = 0; }));
  EXPECT_TRUE(isEmpty([](Analysis& made) { made.devices.clear(); }));
  EXPECT_TRUE(isEmpty([](Analysis& made) { made.steps.all.clear(); }));
  EXPECT_TRUE(isEmpty([](Analysis& made) { made.steps.all.front().startNs = 100; }));
  EXPECT_TRUE(isEmpty([](Analysis& made) { made.steps.all.front().startNs = 20; }));
  EXPECT_TRUE(isEmpty([](Analysis& made) { made.steps.thread = ThreadId(); }));
}

TEST(HostBeforeSteps, TheTimeBeginsWithTheFirstDevice) {
  SetUpRun run;
  run.made.devices.emplace_back().window = {40, 60};
  run.made.devices.emplace_back().window = {80, 990};
  run.counter("thread CPU", {{40, 100}, {90, 20}, {140, 70}});
  EXPECT_DOUBLE_EQ(run.find().ranShare, 0.45) << "50 ns of each";
}

TEST(HostBeforeSteps, LibrariesAreThoseOfTheSamplesByWeight) {
  SetUpRun run;
  run.frame(1, "python")
      .frame(2, "libtorch.so")
      .frame(3, "")
      .frame(4, "python")
      .frame(5, "libz.so")
      .frame(6, "liba.so");
  run.sample(100, 1, 10)
      .sample(150, 2, 40)
      .sample(160, 3, 20)
      .sample(170, 4, 10)
      .sample(199, 5, 10)
      .sample(120, 6, 10);
  // Before the work, at the first step's begin, and of another thread.
  run.sample(99, 5, 500).sample(200, 5, 500).sample(150, 5, 500, 2);
  EXPECT_THAT(run.libraries(), ElementsAre(std::pair("libtorch.so", 0.4), std::pair("python", 0.2),
                                           std::pair("liba.so", 0.1), std::pair("libz.so", 0.1)))
      << "a fifth is in no library that is known";
}

TEST(HostBeforeSteps, SamplesWithoutWeightOrFramesNameNoLibrary) {
  EXPECT_THAT(SetUpRun().frame(1, "python").sample(150, 1, 0).libraries(), IsEmpty());
  EXPECT_THAT(SetUpRun().frame(1, "python").sample(150, 7, 10).libraries(), IsEmpty());
  EXPECT_THAT(SetUpRun().frame(1, "python").libraries(), IsEmpty());
}

}  // namespace
}  // namespace lacuna::analyzer
