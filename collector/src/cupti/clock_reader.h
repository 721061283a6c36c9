// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "cupti/capture.h"
#include "cupti/clock_map.h"
#include "cupti/library.h"

namespace lacuna::collector::cupti {

/// Reads the clock of CUPTI's records beside CLOCK_MONOTONIC, now and then, and keeps the readings.
/// Not thread-safe. `library` stays where it is for as long as the reader lives.
class ClockReader {
 public:
  explicit ClockReader(const Library& library) : library_(library) {}

  /// The time now on the clock of the records' stamps, whichever that is: cuptiGetTimestamp is
  /// documented to return it. None where CUPTI gives no time.
  [[nodiscard]] std::optional<std::int64_t> stamp() const;
  /// Adds a reading of both clocks to the map, and to `capture` unless that is null. False where
  /// CUPTI gives no time.
  bool read(CaptureWriter* capture);
  /// The same where the last reading is at least so old; else true.
  bool readAgain(std::chrono::nanoseconds age, CaptureWriter* capture);
  /// Empty until a reading succeeds.
  [[nodiscard]] const ClockMap& map() const { return map_; }

 private:
  const Library& library_;
  ClockMap map_;
  std::chrono::steady_clock::time_point readAt_;
};

}  // namespace lacuna::collector::cupti
