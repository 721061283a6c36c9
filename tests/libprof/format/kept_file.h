// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "lacuna/prof/events.h"
#include "lacuna/prof/writer.h"

namespace lacuna::prof {

/// The contents of the files of earlier format versions that are kept in tests/data: this function,
/// compiled with the writer of that version, made them. It never changes. Numbers repeat, rise,
/// follow other columns and jump about, so that each encoding is needed.
inline void writeKept(Writer& writer) {
  constexpr int kRows = 700;
  std::uint64_t noise = 88172645463325252;
  const auto random = [&noise](std::uint64_t below) {
    noise ^= noise << 13;
    noise ^= noise >> 7;
    noise ^= noise << 17;
    return noise % below;
  };
  StringId names[12];
  for (int i = 0; i < 12; ++i) names[i] = writer.intern("operator " + std::to_string(i));
  writer.append(
      Process{.id = ProcessId(1), .osPid = 4711, .startNs = 900, .name = writer.intern("train")});
  for (std::uint32_t i = 1; i <= 3; ++i) {
    writer.append(
        Thread{.id = ThreadId(i), .process = ProcessId(1), .osTid = 4710 + i, .name = names[i]});
  }
  TimeNs nowNs = 1'000'000;
  TimeNs freeNs[2] = {nowNs, nowNs};
  TimeNs copiedNs = nowNs;
  std::uint64_t live = 0;
  for (int i = 0; i < kRows; ++i) {
    nowNs += 2000 + static_cast<TimeNs>(random(3000));
    const StringId name = names[random(12)];
    const ThreadId thread(1 + static_cast<std::uint32_t>(random(3)));
    const auto correlation = static_cast<std::uint64_t>(i) + 100;
    const auto queue = static_cast<std::uint32_t>(random(2));
    const TimeNs callNs = 800 + static_cast<TimeNs>(random(200));
    writer.append(Range{.startNs = nowNs, .durNs = 1500 + callNs, .thread = thread, .name = name});
    writer.append(ApiCall{.startNs = nowNs + 100,
                          .durNs = callNs,
                          .thread = thread,
                          .name = names[0],
                          .correlation = correlation});
    TimeNs& startNs = freeNs[queue];
    startNs = std::max(startNs, nowNs + 100 + callNs) + static_cast<TimeNs>(random(64));
    const TimeNs lengthNs =
        2500 * (1 + static_cast<TimeNs>(name.value)) + static_cast<TimeNs>(random(16));
    writer.append(Kernel{.startNs = startNs,
                         .durNs = lengthNs,
                         .queue = QueueId(1 + queue),
                         .device = DeviceId(1),
                         .correlation = correlation,
                         .name = name,
                         .gridX = 128 * (1 + static_cast<std::uint32_t>(random(4)))});
    startNs += lengthNs;
    const TimeNs copyNs = 1000 + static_cast<TimeNs>(random(5000));
    writer.append(
        Memcpy{.startNs = copiedNs, .durNs = copyNs, .queue = QueueId(3), .device = DeviceId(1)});
    copiedNs += copyNs + 40;
    const std::uint64_t bytes = std::uint64_t{512} << random(12);
    live += bytes;
    writer.append(Allocation{.timeNs = nowNs + 50,
                             .thread = thread,
                             .address = 0x7f0000000000 + (random(64) << 21),
                             .bytes = bytes});
    writer.append(
        Mark{.timeNs = nowNs, .thread = thread, .name = name, .payload = random(UINT64_MAX)});
    writer.append(CounterSample{
        .timeNs = nowNs, .track = TrackId(1), .value = static_cast<double>(live) / 1048576});
    writer.append(Clock{.timeNs = nowNs,
                        .realtimeNs = nowNs + 1'700'000'000'000'000'000,
                        .tsc = static_cast<std::uint64_t>(nowNs) * 5 / 2,
                        .process = ProcessId(1)});
  }
  // One that lasts as long as all of them: such rows have blocks of their own.
  writer.append(Range{
      .startNs = 1'000'000, .durNs = nowNs - 1'000'000, .thread = ThreadId(1), .name = names[11]});
}

}  // namespace lacuna::prof
