// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/in_process.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/guest.h"
#include "cupti/record_sink.h"
#include "cupti/tracer.h"
#include "lacuna/prof/prof.h"

namespace lacuna::collector::cupti {
namespace {

void warn(const std::string& text) {
  lacunaLog(2, lacunaName("lacuna"), lacunaNameN(text.data(), text.size()));
}

/// Puts failures into the recording: at first sight, since a killed process reports nothing at its
/// end, and later their total.
class Losses {
 public:
  /// Drain thread, and after that has ended any; `last` at the end.
  void record(const TracerReport& report, bool last) {
    recordText(report.text, reported_.text);
    recordText(report.captureText, reported_.captureText);
    recordText(report.hardwareText, reported_.hardwareText);
    recordDrops(report.droppedByCupti - reported_.droppedByCupti);
    reported_.droppedByCupti = report.droppedByCupti;
    recordCount(last, report.decoded.zeroStart, reported_.decoded.zeroStart,
                [](const std::string& count) {
                  return "CUPTI gave " + count +
                         " device events without a start time; they are left out. CUDA graphs on "
                         "some drivers do this: record one event per graph launch instead";
                });
    recordCount(last, report.decoded.endBeforeStart, reported_.decoded.endBeforeStart,
                [](const std::string& count) {
                  return "CUPTI gave " + count +
                         " device events that end before they start; their length is shown as 0";
                });
    recordCount(last, report.decoded.unfinished, reported_.decoded.unfinished,
                [](const std::string& count) {
                  return "CUPTI gave " + count +
                         " device events before they had ended; their length is not known, and "
                         "they are marked unfinished";
                });
    recordCount(last, report.hardwareOverflows, reported_.hardwareOverflows,
                [](const std::string& count) {
                  return "the GPU's hardware counters came faster than they were read " + count +
                         " times: samples are missing there";
                });
    recordCount(last, report.clockTimesSet, reported_.clockTimesSet, [&](const std::string& count) {
      return "the clock of CUPTI's stamps was set " + count +
             " times while it recorded, by up to " +
             std::to_string(report.clockMostSetNs / 1'000'000) +
             " ms; CUDA events from around these moments may be misplaced by as much";
    });
    recordCount(last, report.truncated, reported_.truncated, [](const std::string& count) {
      return count +
             " CUPTI buffers ended within a record or held an unknown kind; their rest is left out";
    });
    recordCount(
        last, report.decoded.unknownKinds, reported_.decoded.unknownKinds,
        [](const std::string& count) {
          return "CUPTI gave " + count +
                 " records of kinds that this version of Lacuna does not know; they are left out";
        });
  }

 private:
  static void recordText(const std::string& text, std::string& reported) {
    if (text != reported) warn(text);
    reported = text;
  }
  static void recordDrops(std::uint64_t count) {
    if (count == 0) return;
    prof::record(prof::Drop{.timeNs = nowNs(),
                            .process = prof::ProcessId(1),
                            .count = count,
                            .reason = prof::StringId(lacunaName("CUPTI had no buffer"))});
  }
  template <class Text>
  static void recordCount(bool last, std::uint64_t count, std::uint64_t& reported, Text&& text) {
    if (count == reported || (reported != 0 && !last)) return;
    warn(text(std::to_string(count)));
    reported = count;
  }

  TracerReport reported_;
};

/// Never destroyed: CUPTI may call back while the process runs its exit handlers.
Tracer* tracer = nullptr;
RecordSink* sink = nullptr;
Losses* losses = nullptr;
pid_t owner = 0;

TracerOptions settings() {
  TracerOptions options;
  // A capture range may be short, and the page keeps only so many switches.
  if (guest::captureRange() != nullptr) options.pollEvery = std::chrono::milliseconds(50);
  options.onReport = [](const TracerReport& report) { losses->record(report, false); };
  const char* text = std::getenv(kSettingsVariable);
  std::string_view left = text != nullptr ? text : "";
  while (!left.empty()) {
    const std::string_view word = left.substr(0, left.find(','));
    left.remove_prefix(std::min(left.size(), word.size() + 1));
    if (word == "graph-launches") {
      options.graphNodes = false;
    } else if (word == "device-work") {
      options.calls = options.memory = false;
    } else if (word == "no-memory") {
      options.memory = false;
    } else if (word == "environment") {
      options.environment = true;
    } else if (word == "gpu-counters") {
      options.hardwareInterval = std::chrono::milliseconds(10);
    } else if (word.substr(0, 8) == "capture=") {
      options.capturePath =
          std::string(word.substr(8)) + "/cupti-" + std::to_string(::getpid()) + ".raw";
    } else if (!word.empty()) {
      warn(std::string(kSettingsVariable) + " does not know '" + std::string(word) +
           "'. Known: graph-launches, device-work, no-memory, environment, gpu-counters, "
           "capture=DIR.");
    }
  }
  return options;
}

void start() {
  owner = ::getpid();
  losses = new Losses;
  sink = new RecordSink(guest::control());
  tracer = Tracer::start(Library::load(), *sink, settings()).release();
  // Otherwise its thread does.
  if (const TracerReport report = tracer->report(); report.state != TracerState::Running)
    losses->record(report, false);
}

void stop() {
  tracer->stop();
  if (owner != ::getpid()) return;
  sink->finish();
  losses->record(tracer->report(), true);
}

/// The program lives on where memory runs out in ours.
void guarded(void (*work)()) noexcept {
  try {
    work();
  } catch (const std::exception&) {
    lacunaLog(2, lacunaName("lacuna"),
              lacunaName("no CUDA timeline, or not all of it: memory has run out"));
  }
}

}  // namespace

void startCudaTimeline() {
  if (tracer == nullptr) guarded(&start);
}

void stopCudaTimeline() {
  if (tracer == nullptr) return;
  guarded(&stop);
  // Kept, not deleted: CUPTI may still call back. A program that records itself may start another.
  tracer = nullptr;
}

}  // namespace lacuna::collector::cupti
