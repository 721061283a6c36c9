// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/prof/recording.h"
#include "record/trace_book.h"

namespace lacuna::prof::recording {

/// The access of somebody outside to the trace that is being written.
class BookAccess final : public Drainer::Access {
 public:
  explicit BookAccess(TraceBook& book) : book_(book) {}
  Writer& writer() override { return book_.writer(); }
  ProcessId process(std::uint32_t osPid) override { return book_.processOf(osPid); }
  ThreadId thread(std::uint32_t osPid, std::uint32_t osTid) override {
    return book_.threadOf(book_.processOf(osPid), osTid);
  }
  DeviceId newDevice() override { return DeviceId{book_.newNumber(Numbered::Device)}; }
  QueueId newQueue() override { return QueueId{book_.newNumber(Numbered::Queue)}; }
  TrackId newTrack() override { return TrackId{book_.newNumber(Numbered::Track)}; }
  FrameId newFrame() override { return FrameId{book_.newNumber(Numbered::Frame)}; }
  std::optional<DeviceId> deviceOf(const std::string& uuid) const override { return book_.deviceOf(uuid); }

  ProcessId beginProcess(std::uint32_t osPid, ProcessId parent, TimeNs startNs) override {
    return book_.beginProcess(osPid, parent, startNs);
  }
  ProcessId execProcess(ProcessId process, TimeNs timeNs) override { return book_.execProcess(process, timeNs); }
  void nameProcess(ProcessId process, std::string_view name, std::string_view commandLine) override;
  void endProcess(ProcessId process, TimeNs endNs) override { book_.processInfo(process).endNs = endNs; }
  ThreadId beginThread(ProcessId process, std::uint32_t osTid, TimeNs startNs) override {
    return book_.beginThread(process, osTid, startNs);
  }
  void nameThread(ThreadId thread, std::string_view name) override;
  void endThread(ThreadId thread, TimeNs endNs) override;
  void drop(TimeNs timeNs, std::uint64_t count, std::string_view reason) override {
    book_.drop(timeNs, {}, {}, count, reason);
  }
  void countRows(std::uint64_t rows) override { book_.stats().rows += rows; }

 private:
  TraceBook& book_;
};

}  // namespace lacuna::prof::recording
