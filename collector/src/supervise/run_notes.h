// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "lacuna/prof/ids.h"
#include "lacuna/prof/recording.h"
#include "lacuna/prof/result.h"
#include "supervise/program.h"

/// The sentences in which a run reports what its trace lacks and why: the fault, its place and the
/// remedy.
namespace lacuna::collector::run_notes {

/// Programs that no recorder could enter.
class Unrecorded {
 public:
  void add(const std::string& image, const Obstacle& obstacle);
  [[nodiscard]] bool empty() const { return programs_.empty(); }
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::string> programs_;
  std::set<std::string> remedies_;
};

/// A process that came to run as a user who cannot reach the recording.
std::string otherUser(pid_t pid, uid_t user);
/// The first process joined so long after the start, when the recording was over.
std::string joinedTooLate(prof::TimeNs joinedNs);
/// Processes whose files of events became shorter while they were read.
std::string truncated(const prof::DrainStats& stats, const std::filesystem::path& segments);
/// The first of the processes that could not be read, and how many there are.
std::string unreadable(const std::string& why, std::uint32_t processes);
/// The recording was never switched on; `captureRange` is empty where it waited for a time.
std::string neverOn(const std::string& captureRange);
/// A recorder that waited for slow steps, and saw none at all.
std::string noSteps(const std::string& stepRange);

/// Why there is no trace, where its file or the recording was deleted.
std::string traceGone(const std::filesystem::path& trace);
std::string recordingGone(const std::filesystem::path& recording,
                          const std::filesystem::path& trace);
std::string ringsGone(const std::filesystem::path& recording);
/// A failure that leaves the events in the recording; `what` is "The recorded events".
std::string kept(const char* what, const prof::Error& error,
                 const std::filesystem::path& recording);

}  // namespace lacuna::collector::run_notes
