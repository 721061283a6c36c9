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
#include <vector>

#include "lacuna/analyzer/store_builder.h"

namespace lacuna::test {

/// A trace with rows of every table and random values in every column: two processes with threads, a CPU and two CUDA
/// devices with queues. What must hold in any trace holds: ids exist, lengths are not negative, ranges of a thread
/// nest.
inline std::shared_ptr<const analyzer::Store> randomStore(unsigned seed, unsigned rows = 60) {
  using namespace prof;
  std::mt19937_64 random(seed);
  analyzer::StoreBuilder builder;
  const auto pick = [&](std::uint64_t n) { return random() % n; };
  const std::vector<std::string> texts = {"",          "aten::mm", "a \"quoted\"\nname", "été", "[[2, 3]]",
                                          "kernel<1>", "x;y",      "[1, {\"y\": null}]"};
  const auto text = [&] { return builder.intern(texts[pick(texts.size())]); };
  for (std::uint32_t p = 1; p <= 2; ++p) {
    builder.append(Process{ProcessId(p), ProcessId(p - 1), 100 + p, 0, 1000000, text(), text(), -1,
                           static_cast<std::int32_t>(p) - 1});
    builder.append(
        Device{DeviceId(p), DeviceKind::Cuda, p - 1, {}, text(), text(), pick(1000), pick(1000), 108, 1410000, 8, 0});
  }
  builder.append(Device{DeviceId(3), DeviceKind::Cpu, 0, ProcessId(1), text(), {}, 0, 0, 4, 0, 0, 0});
  for (std::uint32_t t = 1; t <= 4; ++t) {
    builder.append(Thread{ThreadId(t), ProcessId(1 + t % 2), 1000 + t, 0, 1000000, text()});
    builder.append(Queue{QueueId(t), DeviceId(1 + t % 3), ProcessId(1 + t % 2), 7 + t, text()});
    builder.append(CounterTrack{TrackId(t),
                                ProcessId(1 + t % 2),
                                ThreadId(t),
                                {},
                                builder.intern(fmt::format("c{}", t)),
                                builder.intern("bytes")});
    builder.append(StackFrame{FrameId(t), FrameId(t - 1), pick(1 << 20), text(), text(), text(), t});
  }
  builder.append(Clock{5, 1700000000000000005, 0, {}});
  builder.append(Environment{ProcessId(1), builder.intern("key"), text()});
  std::uint32_t sets = 0;
  const auto argSet = [&]() -> ArgSetId {
    if (pick(2) == 0) return {};
    const ArgSetId id(++sets);
    builder.append(ArgSet{id, builder.intern("+size\n+list")});
    builder.append(Arg{id, ArgScope::Argument, builder.intern("size"), ArgType::I64, pick(100)});
    builder.append(Arg{id, ArgScope::Argument, builder.intern("list"), ArgType::Json, builder.intern("[1]").value});
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
          row.startNs = static_cast<TimeNs>(i / 8 * 1000 + i / 4 % 2 * 100);
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

/// Every row of a table as text, ids of texts as the texts, sorted; what a test compares. Columns named in `without`
/// are left out.
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
std::string difference(const analyzer::Store& one, const analyzer::Store& other, std::string_view without = "") {
  const auto first = rowsAsText<Row>(one, without);
  const auto second = rowsAsText<Row>(other, without);
  std::vector<std::string> left, right;
  std::set_difference(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(left));
  std::set_difference(second.begin(), second.end(), first.begin(), first.end(), std::back_inserter(right));
  if (left.empty() && right.empty()) return {};
  return fmt::format("{}: {} and {} rows differ\n  {}\n  {}", Row::kName, left.size(), right.size(),
                     left.empty() ? "" : left.front(), right.empty() ? "" : right.front());
}

}  // namespace lacuna::test
