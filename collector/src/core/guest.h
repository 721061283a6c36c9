// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

/// What the recorder inside a program and the supervisor outside agree on, besides the recording itself.
namespace lacuna::collector {

/// Names a file that holds one Control; set by the supervisor for the whole process tree.
inline constexpr const char* kControlVariable = "LACUNA_CONTROL";
/// The range name that switches the recording on while it is open; empty or unset: always on.
inline constexpr const char* kCaptureVariable = "LACUNA_CAPTURE_RANGE";

/// A page that supervisor and guests map. Anyone in the process tree could write it, so the supervisor believes nothing
/// in it that could hurt.
struct Control {
  static constexpr std::uint32_t kMagic = 0x4c435431;  // LCT1
  std::uint32_t magic = kMagic;
  /// Process id of the supervisor.
  std::int32_t supervisor = 0;
  /// 1: record. Guests look at it with every event.
  std::atomic<std::uint32_t> enabled{1};
  /// Capture ranges that are open somewhere in the process tree.
  std::atomic<std::uint32_t> captures{0};
  /// Rises with every wish for a dump of the flight recorder.
  std::atomic<std::uint32_t> dumpsWanted{0};
  /// Rises with every start and stop from outside, so that --delay and --duration give way to it.
  std::atomic<std::uint32_t> switches{0};
};

namespace guest {

/// The `enabled` of the control page, or one that says "record" where there is none. Never null.
extern const std::atomic<std::uint32_t>* enabled;
inline bool on() {
  return __builtin_expect(enabled->load(std::memory_order_relaxed) != 0, 1);
}

/// Joins the recording named by the environment. Idempotent; false when there is none or it cannot be joined, or in a
/// program that runs with more rights than its caller.
bool join();
/// The control page, or null.
Control* control();
const char* captureRange();

}  // namespace guest
}  // namespace lacuna::collector
