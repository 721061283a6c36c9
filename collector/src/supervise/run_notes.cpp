// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/run_notes.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "lacuna/prof/amounts.h"

namespace lacuna::collector::run_notes {
namespace {

/// Number of programs that a note names among those that could not be recorded.
constexpr std::size_t kImagesListed = 8;

}  // namespace

void Unrecorded::add(const std::string& image, const Obstacle& obstacle) {
  programs_.push_back(fmt::format("{} ({})", image, obstacle.what));
  remedies_.insert(obstacle.remedy);
}

std::string Unrecorded::text() const {
  const std::size_t listed = std::min(programs_.size(), kImagesListed);
  const std::size_t more = programs_.size() - listed;
  return fmt::format(
      "{} program{} could not be recorded: {}{}. NVTX and CUDA events of {} are missing. Remedy: "
      "{}.",
      programs_.size(), programs_.size() == 1 ? "" : "s",
      fmt::join(programs_.data(), programs_.data() + listed, ", "),
      more > 0 ? fmt::format(" and {} more", more) : "", programs_.size() == 1 ? "it" : "them",
      fmt::join(remedies_, "; "));
}

std::string otherUser(pid_t pid, uid_t user) {
  return fmt::format(
      "process {} ran as user {}, who cannot reach the recording of user {}: what such processes "
      "did is missing, unless they had begun to record before they changed users. Remedy: start "
      "lacuna run itself as user {}.",
      pid, user, geteuid(), user);
}

std::string joinedTooLate(prof::TimeNs joinedNs) {
  return fmt::format(
      "no NVTX or CUDA event was recorded: the first process with an event began {} after the "
      "start, when --duration was over. Remedy: a longer --duration",
      prof::timeText(joinedNs));
}

std::string truncated(const prof::DrainStats& stats, const std::filesystem::path& segments) {
  return fmt::format(
      "{} process{} shortened the file that held {} events, and lost what it held. Remedy: leave "
      "alone what lies in {}.",
      stats.truncated, stats.truncated == 1 ? "" : "es", stats.truncated == 1 ? "its" : "their",
      segments.string());
}

std::string unreadable(const std::string& why, std::uint32_t processes) {
  const std::uint32_t others = processes > 0 ? processes - 1 : 0;
  if (others == 0) return why;
  return fmt::format("{}; nor could {} other{}", why, others, others == 1 ? "" : "s");
}

std::string neverOn(const std::string& captureRange) {
  if (captureRange.empty())
    return "nothing was recorded: the program ended before --delay was over. Remedy: a shorter "
           "--delay";
  return fmt::format(
      "nothing was recorded: no NVTX range '{}' was opened. Remedy: give --capture-range the name "
      "of a range exactly as the program opens it.",
      captureRange);
}

std::string noSteps(const std::string& stepRange) {
  return fmt::format(
      "no step was seen, so none could be slow: no NVTX range named {} was pushed. Remedy: give "
      "--step-range the name of a range that the program pushes for each step",
      stepRange.empty() ? "step, train_step or ProfilerStep#…" : stepRange);
}

std::string traceGone(const std::filesystem::path& trace) {
  return fmt::format("{} is gone: it was deleted or moved while it was written", trace.string());
}

std::string recordingGone(const std::filesystem::path& recording,
                          const std::filesystem::path& trace) {
  return fmt::format(
      "{} is gone: it was deleted or moved while the program ran. {} has what processes recorded "
      "that had begun before",
      recording.string(), trace.string());
}

std::string ringsGone(const std::filesystem::path& recording) {
  return fmt::format(
      "{} is gone: it was deleted or moved while the program ran, and no dump can be written "
      "without it",
      recording.string());
}

std::string kept(const char* what, const prof::Error& error,
                 const std::filesystem::path& recording) {
  return fmt::format("{}. {} are kept; when that is fixed: lacuna recover {}", error.message, what,
                     recording.string());
}

}  // namespace lacuna::collector::run_notes
