// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/in_process.h"

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string_view>

#include "core/clock.h"
#include "cupti/record_sink.h"
#include "cupti/tracer.h"
#include "lacuna/prof/prof.h"

namespace lacuna::collector::cupti {
namespace {

/// Never destroyed: CUPTI may call back while the process runs its exit handlers.
Tracer* tracer = nullptr;
RecordSink* sink = nullptr;

void tell(bool warning, const std::string& text) {
  lacunaLog(warning ? 2 : 1, lacunaName("lacuna"), lacunaNameN(text.data(), text.size()));
}

TracerOptions settings() {
  TracerOptions options;
  const char* text = std::getenv(kSettingsVariable);
  std::string_view left = text != nullptr ? text : "";
  while (!left.empty()) {
    const std::string_view word = left.substr(0, left.find(','));
    left.remove_prefix(std::min(left.size(), word.size() + 1));
    if (word == "graph-launches") {
      options.graphNodes = false;
    } else if (word == "no-memory") {
      options.memory = false;
    } else if (word == "environment") {
      options.environment = true;
    } else if (word == "gpu-counters") {
      options.hardwareInterval = std::chrono::milliseconds(10);
    } else if (word.substr(0, 8) == "capture=") {
      options.capturePath = std::string(word.substr(8)) + "/cupti-" + std::to_string(::getpid()) + ".raw";
    } else if (!word.empty()) {
      tell(true, std::string(kSettingsVariable) + " does not know '" + std::string(word) +
                     "'. Known: graph-launches, no-memory, environment, gpu-counters, capture=DIR.");
    }
  }
  return options;
}

void recordDrops(std::uint64_t count, const char* reason) {
  if (count == 0) return;
  prof::record(prof::Drop{
      .timeNs = nowNs(), .process = prof::ProcessId(1), .count = count, .reason = prof::StringId(lacunaName(reason))});
}

void tellOddities(const DecodeStats& stats) {
  if (stats.zeroStart > 0) {
    tell(true,
         "CUPTI gave " + std::to_string(stats.zeroStart) +
             " device events without a start time; they are left out. CUDA graphs on some drivers do this: record one "
             "event per graph launch instead");
  }
  if (stats.endBeforeStart > 0) {
    tell(true, "CUPTI gave " + std::to_string(stats.endBeforeStart) +
                   " device events that end before they start; their "
                   "length is shown as 0");
  }
}

}  // namespace

void startCudaTimeline() {
  if (tracer != nullptr) return;
  sink = new RecordSink;
  tracer = Tracer::start(Library::load(), *sink, settings()).release();
  const TracerReport report = tracer->report();
  if (!report.text.empty()) tell(true, report.text);
}

void stopCudaTimeline() {
  if (tracer == nullptr) return;
  tracer->stop();
  const TracerReport report = tracer->report();
  recordDrops(report.droppedByCupti, "CUPTI had no buffer");
  tellOddities(report.decoded);
  if (!report.hardwareText.empty()) tell(true, report.hardwareText);
  if (report.hardwareOverflows > 0) {
    tell(true, "the GPU's hardware counters came faster than they were read " +
                   std::to_string(report.hardwareOverflows) + " times: samples are missing there");
  }
  if (report.truncated > 0) {
    tell(true, std::to_string(report.truncated) +
                   " CUPTI buffers ended within a record or held an unknown kind; their rest is left out");
  }
  // Kept, not deleted: CUPTI may still call back. A program that records itself may start another.
  tracer = nullptr;
}

}  // namespace lacuna::collector::cupti
