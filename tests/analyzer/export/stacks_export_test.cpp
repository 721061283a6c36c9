// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/store.h"
#include "support/temp_file.h"

/// Stacks as flame graphs take them, against the ranges that are open in each nanosecond.
namespace lacuna::analyzer {
namespace {

using prof::ThreadId;
using prof::TimeNs;
using testing::ElementsAre;

struct StackRange {
  std::uint32_t thread;
  TimeNs startNs, endNs;
  std::string name;
};

std::shared_ptr<const Store> storeOf(const std::vector<StackRange>& ranges,
                                     std::uint32_t threads = 3) {
  StoreBuilder builder;
  builder.append(prof::Process{.id = prof::ProcessId(1), .osPid = 7});
  for (std::uint32_t id = 1; id <= threads; ++id) {
    builder.append(prof::Thread{.id = ThreadId(id),
                                .process = prof::ProcessId(1),
                                .osTid = 10 + id,
                                .name = builder.intern(id == 1 ? "main" : "")});
  }
  for (const StackRange& range : ranges) {
    builder.append(prof::Range{.startNs = range.startNs,
                               .durNs = range.endNs - range.startNs,
                               .thread = ThreadId(range.thread),
                               .name = builder.intern(range.name)});
  }
  return builder.build();
}

std::string exported(const Store& store, Format format) {
  const test::TempFile file(format == Format::Folded ? ".folded" : ".speedscope.json");
  EXPECT_TRUE(exportTrace(store, file.path(), format));
  std::ostringstream out;
  out << std::ifstream(file.path(), std::ios::binary).rdbuf();
  return out.str();
}

/// Own times by "thread;outer;inner".
using OwnTimes = std::map<std::string, std::int64_t>;

OwnTimes foldedTimes(const std::string& text) {
  OwnTimes out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blank = line.rfind(' ');
    EXPECT_TRUE(out.emplace(line.substr(0, blank), std::stoll(line.substr(blank))).second)
        << line << " twice";
  }
  return out;
}

/// Sums of the events of speedscope's profiles. They must nest, and time must not go back.
OwnTimes speedscopeTimes(const std::string& text) {
  simdjson::dom::parser parser;
  const simdjson::dom::element root = parser.parse(text);
  std::vector<std::string> frames;
  for (const simdjson::dom::element frame : root["shared"]["frames"].get_array())
    frames.emplace_back(frame["name"].get_string().value());
  OwnTimes out;
  for (const simdjson::dom::element profile : root["profiles"].get_array()) {
    EXPECT_EQ(profile["type"].get_string().value(), "evented");
    EXPECT_EQ(profile["unit"].get_string().value(), "nanoseconds");
    std::vector<std::uint64_t> open;
    std::int64_t since = profile["startValue"].get_int64();
    for (const simdjson::dom::element event : profile["events"].get_array()) {
      const std::int64_t at = event["at"].get_int64();
      EXPECT_GE(at, since);
      std::string path(profile["name"].get_string().value());
      for (const std::uint64_t frame : open) path += ';' + frames.at(frame);
      if (at > since && !open.empty()) out[path] += at - since;
      since = at;
      const std::uint64_t frame = event["frame"].get_uint64();
      if (event["type"].get_string().value() == "O") {
        open.push_back(frame);
        continue;
      }
      EXPECT_FALSE(open.empty() || open.back() != frame) << "closes what is not open";
      if (!open.empty()) open.pop_back();
    }
    EXPECT_TRUE(open.empty());
    EXPECT_EQ(profile["endValue"].get_int64().value(), since);
  }
  EXPECT_EQ(std::set<std::string>(frames.begin(), frames.end()).size(), frames.size());
  return out;
}

/// By the nanosecond: the ranges that are open then, an inner one no longer than the one around it.
OwnTimes slowTimes(std::vector<StackRange> ranges) {
  std::ranges::stable_sort(ranges, [](const StackRange& a, const StackRange& b) {
    return a.startNs != b.startNs ? a.startNs < b.startNs : a.endNs > b.endNs;
  });
  OwnTimes out;
  for (std::uint32_t thread = 1; thread <= 3; ++thread) {
    std::vector<StackRange> cut;
    for (StackRange range : ranges) {
      if (range.thread != thread) continue;
      for (const StackRange& around : cut) {
        if (around.startNs <= range.startNs && range.startNs < around.endNs)
          range.endNs = std::min(range.endNs, around.endNs);
      }
      cut.push_back(range);
    }
    for (TimeNs at = 0; at < 1'000; ++at) {
      std::string path = thread == 1 ? "main" : fmt::format("thread {}", 10 + thread);
      bool any = false;
      for (const StackRange& range : cut) {
        if (at < range.startNs || at >= range.endNs) continue;
        path += ';' + range.name;
        any = true;
      }
      if (any) ++out[path];
    }
  }
  return out;
}

TEST(StacksExport, RandomRangesAddUpInBothFormats) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    std::mt19937 random(seed);
    std::vector<StackRange> ranges;
    for (int i = 0; i < 60; ++i) {
      const auto start = static_cast<TimeNs>(random() % 900);
      const auto end =
          std::min<TimeNs>(1'000, start + static_cast<TimeNs>(random() % (i % 4 == 0 ? 400 : 40)));
      ranges.push_back({1 + static_cast<std::uint32_t>(random() % 3), start, end,
                        std::string(1, "abcd"[random() % 4])});
    }
    const auto store = storeOf(ranges);
    const OwnTimes expected = slowTimes(ranges);
    EXPECT_EQ(foldedTimes(exported(*store, Format::Folded)), expected) << seed;
    EXPECT_EQ(speedscopeTimes(exported(*store, Format::Speedscope)), expected) << seed;
  }
}

TEST(StacksExport, ARangeThatOutlastsTheOneAroundItIsCut) {
  const auto store = storeOf({{1, 0, 50, "outer"}, {1, 30, 90, "inner"}, {1, 60, 70, "next"}});
  EXPECT_EQ(exported(*store, Format::Folded), "main;next 10\nmain;outer 30\nmain;outer;inner 20\n");
}

TEST(StacksExport, RangesThatTouchAreNeighbours) {
  const auto store =
      storeOf({{1, 0, 10, "a"}, {1, 10, 20, "b"}, {1, 20, 20, "moment"}, {1, 20, 30, "a"}});
  EXPECT_EQ(exported(*store, Format::Folded), "main;a 20\nmain;b 10\n");
}

TEST(StacksExport, ARecursiveNameIsAFrameEachTime) {
  const auto store = storeOf({{1, 0, 30, "f"}, {1, 5, 25, "f"}, {1, 10, 20, "f"}});
  EXPECT_EQ(exported(*store, Format::Folded), "main;f 10\nmain;f;f 10\nmain;f;f;f 10\n");
}

TEST(StacksExport, NamesKeepNothingThatSeparates) {
  const auto store = storeOf(
      {{1, 0, 10, "a;b 7"}, {1, 10, 20, ""}, {1, 20, 30, "a:b 7"}, {1, 30, 40, "two\nlines"}});
  const std::string text = exported(*store, Format::Folded);
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
  const OwnTimes times = foldedTimes(text);
  EXPECT_EQ(times.at("main;a:b 7"), 20);
  EXPECT_EQ(times.at("main;(no name)"), 10);
  EXPECT_EQ(
      speedscopeTimes(exported(*store, Format::Speedscope)),
      (OwnTimes{{"main;a;b 7", 10}, {"main;", 10}, {"main;a:b 7", 10}, {"main;two\nlines", 10}}));
}

TEST(StacksExport, LinesAreInOrderOfThreadsAndNames) {
  const auto store =
      storeOf({{2, 0, 9, "z"}, {2, 0, 3, "y"}, {1, 5, 8, "b"}, {1, 1, 2, "c"}, {3, 0, 1, "a"}});
  EXPECT_EQ(exported(*store, Format::Folded),
            "main;b 3\nmain;c 1\nthread 12;z 6\nthread 12;z;y 3\nthread 13;a 1\n");
}

TEST(StacksExport, OfNoRangesThereAreNoStacks) {
  const auto store = storeOf({});
  EXPECT_EQ(exported(*store, Format::Folded), "");
  EXPECT_TRUE(speedscopeTimes(exported(*store, Format::Speedscope)).empty());
  EXPECT_EQ(exported(*storeOf({{1, 5, 5, "moment"}}), Format::Folded), "");
}

TEST(StacksExport, AnUnknownThreadHasItsNumber) {
  const auto store = storeOf({{9, 0, 10, "a"}});
  EXPECT_EQ(exported(*store, Format::Folded), "thread #9;a 10\n");
}

TEST(StacksExport, SpeedscopeCountsFromTheTracesBegin) {
  const auto store =
      storeOf({{1, 1'000'000'100, 1'000'000'200, "a"}, {2, 1'000'000'000, 1'000'000'010, "b"}});
  simdjson::dom::parser parser;
  const std::string text = exported(*store, Format::Speedscope);
  const simdjson::dom::element root = parser.parse(text);
  std::vector<std::int64_t> starts;
  for (const simdjson::dom::element profile : root["profiles"].get_array())
    starts.push_back(profile["startValue"].get_int64());
  EXPECT_THAT(starts, ElementsAre(100, 0));
  EXPECT_EQ(root["exporter"].get_string().value(), "lacuna");
}

}  // namespace
}  // namespace lacuna::analyzer
