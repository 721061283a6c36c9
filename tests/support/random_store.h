// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "lacuna/analyzer/store.h"

namespace lacuna::test {

/// The texts of a random trace.
struct RandomTexts {
  std::vector<std::string> names{"",          "aten::mm", "a \"quoted\"\nname", "été", "[[2, 3]]",
                                 "kernel<1>", "x;y",      "[1, {\"y\": null}]"};
  std::vector<std::string> shapes{"+size\n+list"};
  std::vector<std::string> lists{"[1]"};  ///< arguments that are lists or objects
  std::vector<std::pair<std::string, std::string>> environment{{"key", ""}};
};

/// Names, arguments and facts that somebody chose to do harm. A terminal obeys some of them, and a
/// spreadsheet calculates others. Some end a string of JSON or a page's script, and some only look
/// like JSON.
inline RandomTexts hostileTexts() {
  RandomTexts texts;
  texts.names = {"\x1b[31mred\x1b]0;title\x07",
                 "right\u202eleft\u2066\u061c",
                 "bad\xff\xc3(utf\xed\xa0\x80",
                 "c1\u009b2J\x7f\b\r",
                 "=HYPERLINK(\"http://x\")",
                 "+1+1",
                 "-2+3",
                 "@SUM(A1)",
                 "\t=1",
                 "</script><!-- \"'&",
                 "a\";b,\nc\\",
                 "\u2028line",
                 "[1, 2",
                 "[01, +7]",
                 "NaN",
                 "{\"a\": 1., \"b\": NaN}"};
  texts.shapes = {
      "+size\n+list\n.field\n!s=\"t\"",
      "+si\"ze\n+list\n!bp=e\n!bad\n~f|ac2g|ac2g|!bp=\"e\"",
      "+list\n.pid\n.name\n=grid\n=nothing\n~\"x\": 01",
      "+list\n+list\n~x|a\n~s|a|b|!c\n!ph=X\n+\x1b\n+\xff\n=Input Dims\n=cuda_sync_kind",
      "{}\n?\n+\n!\n~\n.",
      "~\"lacuna\": {\"a\": 1.}\n~\"list\": 1"};
  texts.lists = {"1.",      "+7",
                 "NaN",     "[1, NaN, -Infinity]",
                 "007",     "{\"a\": 1,}",
                 "\"\\x\"", "nul",
                 "[[[",     "1 2 3",
                 "0x10",    "\"\xff\"",
                 "",        "[1, 2] trailing",
                 "-",       "1e5",
                 ".5",      "[1.0e+]",
                 "[true]"};
  texts.environment = {{"chrome.pid.1", "01"},
                       {"chrome.pid.2", "{\"a\": 1}"},
                       {"chrome.tid.1", "\"un\"quoted\""},
                       {"chrome.tid.2", "+7"},
                       {"chrome.device.1", "nan"},
                       {"chrome.stream.1", "1."},
                       {"chrome.traceEvents", "[]"},
                       {"chrome.displayTimeUnit", "ms"},
                       {"chrome.distributedInfo", "{\"rank\": 1."},
                       {"chrome.\"key\x1b", "{\"a\": NaN}"},
                       {"chrome.twice", "1"},
                       {"chrome.twice", "2"},
                       {"chrome.metadata", "{\"ph\": \"M\", \"pid\": \"7"},
                       {"chrome.event", "[1.,]"},
                       {"merge.flow_stride", "+1"},
                       {"host\u202e", "\x1b[2J"}};
  return texts;
}

/// A trace with rows of every table and random values in every column: two processes with threads,
/// a CPU and two CUDA devices with queues. The rows keep the rules of any trace: ids exist, lengths
/// are not negative, ranges of a thread nest.
inline std::shared_ptr<const analyzer::Store> randomStore(unsigned seed, unsigned rows = 60,
                                                          const RandomTexts& texts = {}) {
  using namespace prof;
  std::mt19937_64 random(seed);
  analyzer::StoreBuilder builder;
  const auto pick = [&](std::uint64_t n) { return random() % n; };
  const auto oneOf = [&](const std::vector<std::string>& list) {
    return builder.intern(list[pick(list.size())]);
  };
  const auto text = [&] { return oneOf(texts.names); };
  for (std::uint32_t p = 1; p <= 2; ++p) {
    builder.append(Process{ProcessId(p), ProcessId(p - 1), 100 + p, 0, 1000000, text(), text(), -1,
                           static_cast<std::int32_t>(p) - 1});
    builder.append(Device{DeviceId(p),
                          DeviceKind::Cuda,
                          p - 1,
                          {},
                          text(),
                          text(),
                          pick(1000),
                          pick(1000),
                          108,
                          1410000,
                          8,
                          0});
  }
  builder.append(
      Device{DeviceId(3), DeviceKind::Cpu, 0, ProcessId(1), text(), {}, 0, 0, 4, 0, 0, 0});
  for (std::uint32_t t = 1; t <= 4; ++t) {
    builder.append(Thread{ThreadId(t), ProcessId(1 + t % 2), 1000 + t, 0, 1000000, text()});
    builder.append(Queue{QueueId(t), DeviceId(1 + t % 3), ProcessId(1 + t % 2), 7 + t, text()});
    builder.append(CounterTrack{TrackId(t),
                                ProcessId(1 + t % 2),
                                ThreadId(t),
                                {},
                                builder.intern(fmt::format("c{}", t)),
                                builder.intern("bytes")});
    builder.append(
        StackFrame{FrameId(t), FrameId(t - 1), pick(1 << 20), text(), text(), text(), t});
  }
  builder.append(Clock{5, 1700000000000000005, 0, {}});
  for (const auto& [key, value] : texts.environment)
    builder.append(Environment{ProcessId(1), builder.intern(key),
                               value.empty() ? text() : builder.intern(value)});
  std::uint32_t sets = 0;
  const auto argSet = [&]() -> ArgSetId {
    if (pick(2) == 0) return {};
    const ArgSetId id(++sets);
    builder.append(ArgSet{id, oneOf(texts.shapes)});
    builder.append(Arg{id, ArgScope::Argument, builder.intern("size"), ArgType::I64, pick(100)});
    builder.append(Arg{id, ArgScope::Argument, builder.intern("list"), ArgType::Json,
                       oneOf(texts.lists).value});
    return id;
  };
  const auto number = [&]<class T>(T& value) {
    if constexpr (std::is_same_v<T, double>) {
      value = static_cast<double>(pick(1000)) / 8;
    } else if constexpr (std::is_same_v<T, StringId>) {
      value = text();
    } else if constexpr (std::is_same_v<T, ArgSetId>) {
      value = argSet();
    } else if constexpr (std::is_same_v<T, DeviceId>) {
      value = T(static_cast<std::uint32_t>(1 + pick(3)));
    } else if constexpr (std::is_same_v<T, ProcessId>) {
      value = T(static_cast<std::uint32_t>(1 + pick(2)));
    } else if constexpr (std::is_class_v<T>) {
      value = T(static_cast<std::uint32_t>(1 + pick(4)));
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(pick(2));
    } else if constexpr (std::is_same_v<T, std::uint8_t>) {
      value = 0;
    } else {
      value = static_cast<T>(pick(10000));
    }
  };
  forEachTable([&]<class Row>() {
    constexpr bool kIsEvent = Row::kTable >= Range::kTable && Row::kTable != CounterTrack::kTable &&
                              Row::kTable != StackFrame::kTable && Row::kTable != ArgSet::kTable &&
                              Row::kTable != Arg::kTable;
    if constexpr (kIsEvent) {
      for (unsigned i = 0; i < rows; ++i) {
        Row row;
        Row::forEachMember([&]<auto Member>() { number(row.*Member); });
        // Ranges of a thread lie side by side, or a short one in a long one.
        if constexpr (std::is_same_v<Row, Range>) {
          row.thread = ThreadId(1 + i % 4);
          row.endThread = {};
          row.queue = {};
          row.kind = RangeKind::PushPop;
          row.startNs = TimeNs{i / 8} * 1000 + TimeNs{i / 4 % 2} * 100;
          row.durNs = i / 4 % 2 == 0 ? 900 : 300;
          row.depth = i / 4 % 2 == 0 ? 0 : 1;
          row.domain = {};
          row.payloadType = PayloadType::I64;
        }
        if constexpr (std::is_same_v<Row, Mark>) row.payloadType = PayloadType::I64;
        builder.append(row);
      }
    }
  });
  return builder.build();
}

/// Every row of a table as text, ids of texts as the texts, sorted; what a test compares. Columns
/// named in `without` are left out.
template <class Row>
std::vector<std::string> rowsAsText(const analyzer::Store& store, std::string_view without = "") {
  std::vector<std::string> all;
  for (std::uint64_t i = 0; i < store.rows<Row>(); ++i) {
    const Row row = store.row<Row>(i);
    std::string line;
    std::size_t at = 0;
    Row::forEachMember([&]<auto Member>() {
      const auto& value = row.*Member;
      using T = std::remove_cvref_t<decltype(value)>;
      const std::string_view name = Row::columns()[at++].name;
      if (without.find(fmt::format(" {} ", name)) != std::string_view::npos) return;
      line += std::string(name) + '=';
      if constexpr (std::is_same_v<T, prof::StringId>) {
        line += store.text(value);
      } else if constexpr (std::is_class_v<T>) {
        line += std::to_string(value.value);
      } else if constexpr (std::is_enum_v<T>) {
        line += std::to_string(static_cast<int>(value));
      } else {
        line += std::to_string(value);
      }
      line += ' ';
    });
    if constexpr (std::is_same_v<Row, prof::Arg>) {
      if (row.type == prof::ArgType::Json || row.type == prof::ArgType::Text) {
        line += store.text(prof::StringId(static_cast<std::uint32_t>(row.value)));
      }
    }
    all.push_back(std::move(line));
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// Empty when both have the same rows; else a row that only one has.
template <class Row>
std::string difference(const analyzer::Store& one, const analyzer::Store& other,
                       std::string_view without = "") {
  const auto first = rowsAsText<Row>(one, without);
  const auto second = rowsAsText<Row>(other, without);
  std::vector<std::string> left, right;
  std::set_difference(first.begin(), first.end(), second.begin(), second.end(),
                      std::back_inserter(left));
  std::set_difference(second.begin(), second.end(), first.begin(), first.end(),
                      std::back_inserter(right));
  if (left.empty() && right.empty()) return {};
  return fmt::format("{}: {} and {} rows differ\n  {}\n  {}", Row::kName, left.size(), right.size(),
                     left.empty() ? "" : left.front(), right.empty() ? "" : right.front());
}

}  // namespace lacuna::test
