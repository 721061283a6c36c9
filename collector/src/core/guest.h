// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "core/clock.h"
#include "core/notes.h"

/// The agreement of the recorder inside a program and the supervisor outside, besides the recording
/// itself.
namespace lacuna::collector {

/// Names a file that holds one Control; set by the supervisor for the whole process tree.
inline constexpr const char* kControlVariable = "LACUNA_CONTROL";
/// The range name that switches the recording on while it is open; empty or unset: always on.
inline constexpr const char* kCaptureVariable = "LACUNA_CAPTURE_RANGE";
/// The range name that is a step, kAnyStep for the usual ones; empty or unset: the supervisor gets
/// no steps.
inline constexpr const char* kStepVariable = "LACUNA_STEP_RANGE";
inline constexpr const char* kAnyStep = "*";

/// A step that has ended, for a supervisor that looks for slow ones.
struct StepNote {
  std::atomic<std::uint64_t> sequence{0};
  std::int64_t durationNs = 0;
  std::int32_t process = 0;
  std::int32_t thread = 0;
};

/// A moment at which the recording was switched.
struct SwitchNote {
  std::atomic<std::uint64_t> sequence{0};
  std::atomic<std::int64_t> timeNs{0};
  std::atomic<bool> on{false};
};

/// The capture ranges that one process has open. A process takes a slot with its first; the
/// supervisor gives the slots of processes that have ended back, with what those had open.
struct CaptureSlot {
  std::atomic<std::uint64_t> owner{0};  ///< as ownerOf() gives it; 0 when the slot is free
  std::atomic<std::uint32_t> open{0};

  /// A process, by its number as it knows it and the inode of its PID namespace.
  static constexpr std::uint64_t ownerOf(std::uint32_t pid, std::uint64_t pidNamespace) {
    return static_cast<std::uint64_t>(pid) << 32 | static_cast<std::uint32_t>(pidNamespace);
  }
  static constexpr std::uint32_t pidOf(std::uint64_t owner) {
    return static_cast<std::uint32_t>(owner >> 32);
  }
  static constexpr std::uint32_t namespaceOf(std::uint64_t owner) {
    return static_cast<std::uint32_t>(owner);
  }
};

/// The page that supervisor and guests map. Anyone in the process tree could write it, so the
/// supervisor believes nothing in it that could hurt.
struct Control {
  static constexpr std::uint32_t kMagic = 0x4c435435;  // LCT5
  std::uint32_t magic = kMagic;
  /// Process id of the supervisor.
  std::int32_t supervisor = 0;
  /// 1: record. Guests look at it with every event. Switched with switchTo().
  std::atomic<std::uint32_t> enabled{1};
  /// Open capture ranges of processes that found no slot free.
  std::atomic<std::uint32_t> captures{0};
  /// Rises with every wish for a dump.
  std::atomic<std::uint32_t> dumpsWanted{0};
  /// 0 until the first start or stop from outside, to which --delay, --duration and capture ranges
  /// give way. From then on its lowest bit is the last one's word, and the others rise with each.
  std::atomic<std::uint32_t> switches{0};
  /// The latest steps.
  static constexpr std::size_t kSteps = 128;
  std::atomic<std::uint64_t> stepCount{0};
  StepNote steps[kSteps];
  CaptureSlot captureSlots[128];
  /// The latest moments of switching.
  static constexpr std::size_t kSwitchNotes = 256;
  std::atomic<std::uint64_t> switchCount{0};
  SwitchNote switchNotes[kSwitchNotes];
  /// The last requested dump that is over. Its number and its outcome are stored first, then the
  /// count of requests up to it.
  std::atomic<std::uint32_t> dumpNumber{0};  ///< in its name; 0: it went into the trace itself
  std::atomic<std::uint32_t> dumpFailed{0};
  std::atomic<std::uint32_t> dumpsDone{0};

  /// Switches the recording, and notes when, for events that are judged long after they happened.
  void switchTo(bool on) {
    const std::int64_t timeNs = nowNs();
    if (enabled.exchange(on ? 1 : 0) == (on ? 1u : 0u)) return;
    appendNote(switchNotes, switchCount, [&](SwitchNote& note) {
      note.timeNs.store(timeNs, std::memory_order_relaxed);
      note.on.store(on, std::memory_order_relaxed);
    });
  }
  /// Some process has a capture range open.
  [[nodiscard]] bool capturing() const {
    if (captures.load() != 0) return true;
    for (const CaptureSlot& slot : captureSlots) {
      if (slot.open.load() != 0) return true;
    }
    return false;
  }
  /// To be called when one has closed.
  void stopUnlessCapturing() {
    if (capturing()) return;
    switchUnlessOrdered(false);
    // One that has opened since may have switched on just before.
    if (capturing()) switchUnlessOrdered(true);
  }
  /// A start or stop from outside.
  void order(bool on) {
    std::uint32_t before = switches.load();
    while (!switches.compare_exchange_weak(before, (before | 1) + (on ? 2 : 1))) {
    }
    obey();
  }
  /// For all others. `meanwhile()` is what somebody else may do between the check and the
  /// switching, for tests.
  template <class Meanwhile = void (*)()>
  void switchUnlessOrdered(
      bool on, Meanwhile&& meanwhile = [] {}) {
    if (switches.load() != 0) return;
    meanwhile();
    switchTo(on);
    // A start or stop from outside may have come just before.
    if (switches.load() != 0) obey();
  }

 private:
  /// The last one to switch obeys the last order.
  void obey() {
    for (std::uint32_t seen = switches.load();;) {
      switchTo((seen & 1) != 0);
      const std::uint32_t last = switches.load();
      if (last == seen) return;
      seen = last;
    }
  }
};
static_assert(sizeof(Control) <= 16384);

namespace guest {

/// The `enabled` of the control page, or one that stands for "record" where there is none. Never
/// null.
extern const std::atomic<std::uint32_t>* enabled __attribute__((visibility("hidden")));
inline bool on() {
  return __builtin_expect(enabled->load(std::memory_order_relaxed) != 0, 1);
}

/// Joins the recording named by the environment. Idempotent; false when there is none or it cannot
/// be joined, or in a program that runs with more rights than its caller.
bool join();
/// For a program that records itself: joins the recording in `directory`, or leaves it. 0, or a
/// negative errno.
int joinRecording(const char* directory);
void leaveRecording();
[[nodiscard]] bool isRecording();
/// The control page, or null.
Control* control();
const char* captureRange();
/// The name of the steps to report, or null.
const char* stepRange();
/// Switches the recording on when a capture range opens, and off when the last one of all processes
/// closes. An earlier start or stop from outside takes precedence.
void noteCapture(bool open);
/// Reports a step of this thread to the supervisor.
void noteStep(std::int64_t durationNs);

}  // namespace guest
}  // namespace lacuna::collector
