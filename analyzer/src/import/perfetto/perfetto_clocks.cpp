// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/perfetto/perfetto_clocks.h"

#include <vector>

#include "formats/perfetto_schema.h"
#include "formats/proto_wire.h"

namespace lacuna::analyzer {
namespace {

using proto::Field;
using proto::Wire;

std::int64_t plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t minus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
std::int64_t times(std::int64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * b);
}

/// Clocks that each sequence has for itself.
bool isLocalClock(std::uint64_t clock) {
  return clock >= 64 && clock < 128;
}

/// One clock of a snapshot.
struct Reading {
  std::uint64_t id = 0, timestamp = 0, multiplier = 1;
  bool incremental = false;
  [[nodiscard]] std::int64_t ns() const {
    return times(static_cast<std::int64_t>(timestamp), multiplier);
  }
};

bool readClock(std::string_view bytes, Reading& reading) {
  proto::Reader clock(bytes);
  for (Field part; clock.next(part);) {
    if (part.number == 1) reading.id = part.value;
    if (part.number == 2) reading.timestamp = part.value;
    if (part.number == 3) reading.incremental = part.value != 0;
    if (part.number == 4 && part.value != 0) reading.multiplier = part.value;
  }
  return !clock.malformed();
}

}  // namespace

bool PerfettoClocks::readSnapshot(std::string_view bytes, Local& local) {
  std::vector<Reading> readings;
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.number != 1 || field.wire != Wire::Bytes) continue;
    Reading reading;
    if (!readClock(field.bytes, reading)) return false;
    readings.push_back(reading);
  }
  if (reader.malformed()) return false;
  const auto find = [&](std::uint64_t id) -> const Reading* {
    for (const Reading& reading : readings) {
      if (reading.id == id) return &reading;
    }
    return nullptr;
  };
  const Reading* monotonic = find(perfetto::kMonotonic);
  const Reading* reference = find(perfetto::kBoottime);
  if (reference == nullptr) reference = monotonic;
  for (const Reading& reading : readings) {
    State& state = (isLocalClock(reading.id) ? local : clocks_)[reading.id];
    state.multiplier = reading.multiplier;
    state.incremental = reading.incremental;
    state.last = static_cast<std::int64_t>(reading.timestamp);
    state.offsetNs = reference == nullptr ? 0 : minus(reference->ns(), reading.ns());
  }
  if (!hasClocks_ && reference != nullptr) {
    hasClocks_ = true;
    if (monotonic != nullptr) toMonotonicNs_ = minus(monotonic->ns(), reference->ns());
    const Reading* realtime = find(perfetto::kRealtime);
    if (realtime != nullptr) {
      clock_ = prof::Clock{plus(reference->ns(), toMonotonicNs_), realtime->ns(), 0, {}};
    }
  }
  return true;
}

bool PerfettoClocks::explains(std::uint64_t clock, const Local& local) const {
  return (isLocalClock(clock) ? local : clocks_).contains(clock) || clock == perfetto::kBoottime ||
         clock == perfetto::kMonotonic;
}

prof::TimeNs PerfettoClocks::traceTime(std::uint64_t timestamp, std::uint64_t clock, Local& local) {
  auto& clocks = isLocalClock(clock) ? local : clocks_;
  const auto found = clocks.find(clock);
  if (found == clocks.end()) return static_cast<prof::TimeNs>(timestamp);
  State& state = found->second;
  if (state.incremental) {
    state.last = plus(state.last, static_cast<std::int64_t>(timestamp));
    return plus(times(state.last, state.multiplier), state.offsetNs);
  }
  return plus(times(static_cast<std::int64_t>(timestamp), state.multiplier), state.offsetNs);
}

}  // namespace lacuna::analyzer
