// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analysis/device_trace.h"

/// Devices that --device and --rank choose, and what is answered where they choose none.
namespace lacuna::analyzer {
namespace {

AnalysisOptions optionsOf(std::string device, std::optional<std::int32_t> rank = {}) {
  AnalysisOptions options;
  options.device = std::move(device);
  options.rank = rank;
  return options;
}

/// Two processes that each call their device cuda:0, and neither has a rank.
void withoutRanks(DeviceTrace& trace) {
  trace.process(1, 100).process(2, 200).device(1, 0).device(2, 0).queue(1, 1, 1).queue(2, 2, 2);
  trace.kernel(1, 0, 1).kernel(2, 0, 1);
}
void idle(DeviceTrace& trace) {
  trace.device(1, 0).queue(1, 1);
}

TEST(DeviceChoice, OptionsChooseByLabelAndRank) {
  struct Case {
    AnalysisOptions options;
    std::vector<std::uint32_t> ids;
  };
  for (const Case& one : {Case{optionsOf(""), {1, 2}}, Case{optionsOf("cuda:0"), {1}},
                          Case{optionsOf("cuda:1"), {2}}, Case{optionsOf("", 0), {1}},
                          Case{optionsOf("", 1), {2}}, Case{optionsOf("cuda:1", 1), {2}}}) {
    DeviceTrace trace;
    twoRanks(trace);
    std::vector<std::uint32_t> ids;
    for (const DeviceAccount& device : trace.list({}, one.options)) ids.push_back(device.id.value);
    EXPECT_EQ(ids, one.ids) << one.options.device;
  }
  DeviceTrace both;
  withoutRanks(both);
  EXPECT_EQ(both.list({}, optionsOf("cuda:0")).size(), 2U) << "each process has its own";
}

TEST(DeviceChoice, AChoiceOfNoneListsTheChoices) {
  struct Case {
    void (*fill)(DeviceTrace&);
    AnalysisOptions options;
    const char* message;
  };
  for (const Case& one : {
           Case{twoRanks, optionsOf("cpu:0"),
                "no device 'cpu:0' did any work here; there is: cuda:0, cuda:1"},
           Case{twoRanks, optionsOf("cuda", 0),
                "no device 'cuda' did any work here; there is: cuda:0, cuda:1"},
           Case{twoRanks, optionsOf("", 2),
                "no device of rank 2 did any work here; there is: rank 0 on cuda:0, rank 1 on "
                "cuda:1"},
           Case{twoRanks, optionsOf("cuda:0", 1),
                "no device 'cuda:0' of rank 1 did any work here; there is: rank 0 on cuda:0, rank "
                "1 on cuda:1"},
           Case{withoutRanks, optionsOf("cuda:1"),
                "no device 'cuda:1' did any work here; there is: cuda:0"},
           Case{withoutRanks, optionsOf("", 0),
                "the trace does not name its rank, so --rank 0 selects nothing; leave it out"},
           Case{idle, optionsOf("cuda:0"),
                "no device did any work here, so --device selects nothing; leave it out"},
           Case{idle, optionsOf("", 3),
                "no device did any work here, so --rank selects nothing; leave it out"},
       }) {
    DeviceTrace trace;
    one.fill(trace);
    const auto devices = listDevices(*trace.build(), {}, one.options);
    ASSERT_FALSE(devices) << one.message;
    EXPECT_EQ(devices.error().message, std::string("t.lcn: ") + one.message);
  }
}

TEST(DeviceChoice, SixteenOfManyAreNamed) {
  for (const std::uint32_t count : {16U, 17U, 40U}) {
    DeviceTrace trace;
    for (std::uint32_t i = 1; i <= count; ++i) trace.device(i, i - 1).queue(i, i).kernel(i, 0, 1);
    const std::string message = listDevices(*trace.build(), {}, optionsOf("cpu:7")).error().message;
    EXPECT_THAT(message, testing::HasSubstr("there is: cuda:0, cuda:1, "));
    const std::string end =
        count == 16 ? "cuda:15" : "cuda:15, and " + std::to_string(count - 16) + " more";
    EXPECT_THAT(message, testing::EndsWith(end));
  }
}

}  // namespace
}  // namespace lacuna::analyzer
