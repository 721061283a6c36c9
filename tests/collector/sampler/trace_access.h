// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lacuna/prof/reader.h"
#include "lacuna/prof/recording.h"

namespace lacuna::collector {

/// Writes what it is given into a trace of its own, to be read again. Each id is a new one.
class TraceAccess final : public prof::Drainer::Access {
 public:
  TraceAccess() : writer_(std::move(*prof::Writer::create(path_))) {}
  TraceAccess(const TraceAccess&) = delete;
  TraceAccess& operator=(const TraceAccess&) = delete;
  ~TraceAccess() { std::filesystem::remove(path_); }
  /// Everything that was written so far, for good.
  prof::Reader read() {
    EXPECT_TRUE(writer_.finish().ok());
    return std::move(*prof::Reader::open(path_));
  }

  /// When threads and processes ended, in the order in which that was reported.
  [[nodiscard]] const std::vector<prof::TimeNs>& threadEnds() const { return threadEnds_; }
  [[nodiscard]] const std::vector<prof::TimeNs>& processEnds() const { return processEnds_; }

  prof::Writer& writer() override { return writer_; }
  prof::FrameId newFrame() override { return prof::FrameId{++last_}; }
  prof::ProcessId process(std::uint32_t) override { return {}; }
  prof::ThreadId thread(std::uint32_t, std::uint32_t) override { return {}; }
  prof::DeviceId newDevice() override { return prof::DeviceId{++last_}; }
  prof::QueueId newQueue() override { return prof::QueueId{++last_}; }
  prof::TrackId newTrack() override { return prof::TrackId{++last_}; }
  std::optional<prof::DeviceId> deviceOf(const std::string&) const override { return {}; }
  prof::ProcessId beginProcess(std::uint32_t, prof::ProcessId, prof::TimeNs) override {
    return prof::ProcessId{++last_};
  }
  prof::ProcessId execProcess(prof::ProcessId, prof::TimeNs) override {
    return prof::ProcessId{++last_};
  }
  void nameProcess(prof::ProcessId, std::string_view, std::string_view) override {}
  void endProcess(prof::ProcessId, prof::TimeNs endNs) override { processEnds_.push_back(endNs); }
  prof::ThreadId beginThread(prof::ProcessId, std::uint32_t, prof::TimeNs) override {
    return prof::ThreadId{++last_};
  }
  void nameThread(prof::ThreadId, std::string_view) override {}
  void endThread(prof::ThreadId, prof::TimeNs endNs) override { threadEnds_.push_back(endNs); }
  void drop(prof::TimeNs, std::uint64_t, std::string_view) override {}
  void countRows(std::uint64_t) override {}

 private:
  std::filesystem::path path_ = std::filesystem::temp_directory_path() /
                                ("lacuna-sampler-test-" + std::to_string(getpid()) + ".lcn");
  prof::Writer writer_;
  std::uint32_t last_ = 0;
  std::vector<prof::TimeNs> threadEnds_;
  std::vector<prof::TimeNs> processEnds_;
};

}  // namespace lacuna::collector
