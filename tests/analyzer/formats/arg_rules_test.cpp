// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "formats/arg_rules.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "formats/json_text.h"

namespace lacuna::analyzer {
namespace {

std::string rendered(ArgRule rule, const ArgSource& source) {
  std::string out;
  renderArg(rule, source, out);
  return out;
}

constexpr auto kLastRule = static_cast<int>(ArgRule::GraphNodeId);

TEST(ArgRules, AKeyRepeatsAColumnOnlyOfTheTablesThatHaveIt) {
  using enum ArgTable;
  const std::set<ArgTable> deviceWork{Kernel, Memcpy, Memset, Sync};
  std::set<ArgTable> withCalls = deviceWork;
  withCalls.insert(ApiCall);
  std::set<ArgTable> withRanges = withCalls;
  withRanges.insert(Range);
  const struct {
    std::string_view key;
    std::set<ArgTable> tables;
    ArgRule rule;
  } cases[] = {
      {"External id", withRanges, ArgRule::Correlation},
      {"External Id", {Range}, ArgRule::Correlation},
      {"correlation", withCalls, ArgRule::Correlation},
      {"device", deviceWork, ArgRule::Device},
      {"Device Id", {Allocation}, ArgRule::Device},
      {"stream", deviceWork, ArgRule::Stream},
      {"bytes", {Memcpy, Memset}, ArgRule::Bytes},
      {"Bytes", {Allocation}, ArgRule::SignedBytes},
      {"Addr", {Allocation}, ArgRule::Address},
      {"memory bandwidth (GB/s)", {Memcpy, Memset}, ArgRule::Bandwidth},
      {"registers per thread", {Kernel}, ArgRule::Registers},
      {"grid", {Kernel}, ArgRule::Grid},
      {"warps per SM", {Kernel}, ArgRule::WarpsPerSm},
      {"graph id", {Kernel, Memcpy, Memset}, ArgRule::GraphId},
      {"graph node id", {Kernel, Memcpy, Memset}, ArgRule::GraphNodeId},
      {"cuda_sync_kind", {Sync}, ArgRule::Name},
      {"Input Dims", {Range}, ArgRule::Text},
      {"Sequence number", {Range}, ArgRule::Payload},
      {"", {}, ArgRule::None},
      {"gri", {}, ArgRule::None},
      {"grid ", {}, ArgRule::None},
      {"GRID", {}, ArgRule::None},
  };
  for (const auto& [key, tables, rule] : cases) {
    for (std::size_t i = 0; i < kArgTables; ++i) {
      const auto table = static_cast<ArgTable>(i);
      EXPECT_EQ(argRule(table, key), tables.contains(table) ? rule : ArgRule::None)
          << key << " of table " << i;
    }
  }
}

TEST(ArgRules, EachRuleWritesItsOwnColumn) {
  const ArgSource source{.correlation = 11,
                         .deviceIndex = 12,
                         .stream = 13,
                         .bytes = 14,
                         .address = 15,
                         .registers = 16,
                         .sharedBytes = 17,
                         .grid = {2, 3, 4},
                         .block = {5, 6, 7},
                         .payload = 18,
                         .eventId = 19,
                         .graphId = 20,
                         .graphNodeId = 21,
                         .text = "[[2, 3]]",
                         .name = "Stream \"7\"\n"};
  const struct {
    ArgRule rule;
    std::string_view json;
  } cases[] = {{ArgRule::None, "null"},
               {ArgRule::Correlation, "11"},
               {ArgRule::Device, "12"},
               {ArgRule::Stream, "13"},
               {ArgRule::Bytes, "14"},
               {ArgRule::SignedBytes, "14"},
               {ArgRule::Address, "15"},
               {ArgRule::Registers, "16"},
               {ArgRule::SharedBytes, "17"},
               {ArgRule::Grid, "[2, 3, 4]"},
               {ArgRule::Block, "[5, 6, 7]"},
               {ArgRule::Payload, "18"},
               {ArgRule::GraphId, "20"},
               {ArgRule::GraphNodeId, "21"},
               {ArgRule::EventId, "19"},
               {ArgRule::Text, "[[2, 3]]"},
               {ArgRule::Name, R"("Stream \"7\"\n")"}};
  for (const auto& [rule, json] : cases)
    EXPECT_EQ(rendered(rule, source), json) << static_cast<int>(rule);
}

TEST(ArgRules, AValueIsAppendedToWhatIsThere) {
  std::string out = "\"stream\": ";
  renderArg(ArgRule::Stream, {.stream = 7, .text = {}, .name = {}}, out);
  EXPECT_EQ(out, "\"stream\": 7");
}

TEST(ArgRules, FreedBytesAreNegative) {
  EXPECT_EQ(rendered(ArgRule::SignedBytes, {.bytes = 4096, .freed = true, .text = {}, .name = {}}),
            "-4096");
  EXPECT_EQ(rendered(ArgRule::Bytes, {.bytes = 4096, .freed = true, .text = {}, .name = {}}),
            "4096")
      << "of a copy";
}

TEST(ArgRules, NumbersKeepAllTheirDigits) {
  EXPECT_EQ(rendered(ArgRule::Correlation, {.correlation = UINT64_MAX, .text = {}, .name = {}}),
            "18446744073709551615");
  EXPECT_EQ(rendered(ArgRule::Address, {.address = 140'737'488'355'327, .text = {}, .name = {}}),
            "140737488355327");
  EXPECT_EQ(rendered(ArgRule::Payload,
                     {.payload = static_cast<std::uint64_t>(-5), .text = {}, .name = {}}),
            "-5")
      << "a number with a sign";
}

TEST(ArgRules, BandwidthIsBytesInEachNanosecond) {
  EXPECT_EQ(rendered(ArgRule::Bandwidth, {.bytes = 3000, .durNs = 2000, .text = {}, .name = {}}),
            "1.5");
  for (const std::int64_t length : {0, -1}) {
    EXPECT_EQ(std::stod(rendered(ArgRule::Bandwidth,
                                 {.bytes = 3000, .durNs = length, .text = {}, .name = {}})),
              0)
        << length;
  }
}

TEST(ArgRules, OccupancyIsCountedInSinglePrecisionAsKinetoDoes) {
  const ArgSource source{
      .multiprocessors = 2, .grid = {3, 1, 1}, .block = {4, 2, 2}, .text = {}, .name = {}};
  EXPECT_EQ(rendered(ArgRule::BlocksPerSm, source), "1.5");
  EXPECT_EQ(rendered(ArgRule::WarpsPerSm, source),
            "0.75");  // 1.5 blocks of 16 threads, which are half a warp
  EXPECT_EQ(rendered(ArgRule::BlocksPerSm,
                     {.multiprocessors = 3, .grid = {1, 1, 1}, .text = {}, .name = {}}),
            "0.33333334");
  EXPECT_EQ(std::stof(rendered(ArgRule::BlocksPerSm,
                               {.multiprocessors = 0, .grid = {3, 1, 1}, .text = {}, .name = {}})),
            0);
  EXPECT_EQ(
      std::stof(rendered(
          ArgRule::WarpsPerSm,
          {.multiprocessors = 0, .grid = {3, 1, 1}, .block = {32, 1, 1}, .text = {}, .name = {}})),
      0);
}

TEST(ArgRules, AGridThatNoDeviceHasDoesNotWrapAround) {
  // (2^32 - 1)^3 is beyond 64 bits; 2^22 · 2^22 · 2^22 = 2^66 would be 4 times 2^64 and come out as
  // 0.
  for (const std::uint32_t side : {UINT32_MAX, 1U << 22}) {
    const ArgSource source{.multiprocessors = 1,
                           .grid = {side, side, side},
                           .block = {1, 1, 1},
                           .text = {},
                           .name = {}};
    EXPECT_EQ(std::stof(rendered(ArgRule::BlocksPerSm, source)), 0x1p63F) << side;
  }
}

TEST(ArgRules, WhateverARowHoldsIsOneValueOfJson) {
  const ArgSource sources[] = {
      {},
      {.correlation = UINT64_MAX,
       .deviceIndex = UINT32_MAX,
       .multiprocessors = UINT32_MAX,
       .stream = UINT64_MAX,
       .bytes = UINT64_MAX,
       .freed = true,
       .address = UINT64_MAX,
       .registers = UINT32_MAX,
       .sharedBytes = UINT64_MAX,
       .grid = {UINT32_MAX, UINT32_MAX, UINT32_MAX},
       .block = {UINT32_MAX, UINT32_MAX, UINT32_MAX},
       .durNs = 1,
       .payload = UINT64_MAX,
       .eventId = UINT64_MAX,
       .text = "[1, NaN",
       .name = "\xff\x1b\"\\"},
      {.durNs = INT64_MIN, .text = "[NaN]", .name = "\u202e"},
  };
  for (const ArgSource& source : sources) {
    for (int rule = 0; rule <= kLastRule; ++rule) {
      const std::string json = rendered(static_cast<ArgRule>(rule), source);
      EXPECT_TRUE(json::isValid(json)) << rule << ": " << json;
    }
  }
}

}  // namespace
}  // namespace lacuna::analyzer
