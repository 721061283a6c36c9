// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/prof/recording.h"
#include "record/drain/trace_state.h"

namespace lacuna::prof::recording {

/// Lets callers of the drainer add to the trace that is being written.
class TraceStateAccess final : public Drainer::Access {
 public:
  explicit TraceStateAccess(TraceState& trace) : trace_(trace) {}
  Writer& writer() override { return trace_.writer(); }
  ProcessId process(std::uint32_t osPid) override { return trace_.processOf(osPid); }
  ThreadId thread(std::uint32_t osPid, std::uint32_t osTid) override {
    return trace_.threadOf(trace_.processOf(osPid), osTid);
  }
  DeviceId newDevice() override { return DeviceId{trace_.newNumber(Numbered::Device)}; }
  QueueId newQueue() override { return QueueId{trace_.newNumber(Numbered::Queue)}; }
  TrackId newTrack() override { return TrackId{trace_.newNumber(Numbered::Track)}; }
  FrameId newFrame() override { return FrameId{trace_.newNumber(Numbered::Frame)}; }
  std::optional<DeviceId> deviceOf(const std::string& uuid) const override {
    return trace_.deviceOf(uuid);
  }

  ProcessId beginProcess(std::uint32_t osPid, ProcessId parent, TimeNs startNs) override {
    return trace_.beginProcess(osPid, parent, startNs);
  }
  ProcessId execProcess(ProcessId process, TimeNs timeNs) override {
    return trace_.execProcess(process, timeNs);
  }
  void nameProcess(ProcessId process, std::string_view name, std::string_view commandLine) override;
  void endProcess(ProcessId process, TimeNs endNs) override {
    trace_.processInfo(process).endNs = endNs;
  }
  ThreadId beginThread(ProcessId process, std::uint32_t osTid, TimeNs startNs) override {
    return trace_.beginThread(process, osTid, startNs);
  }
  void nameThread(ThreadId thread, std::string_view name) override;
  void endThread(ThreadId thread, TimeNs endNs) override;
  void drop(TimeNs timeNs, std::uint64_t count, std::string_view reason) override {
    trace_.drop(timeNs, {}, {}, count, reason);
  }
  void countRows(std::uint64_t rows) override { trace_.stats().rows += rows; }

 private:
  TraceState& trace_;
};

}  // namespace lacuna::prof::recording
