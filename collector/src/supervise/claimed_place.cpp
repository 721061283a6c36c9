// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/claimed_place.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/shell_word.h"

namespace lacuna::collector {
namespace {

namespace fs = std::filesystem;

/// True when anything has the name, even a link to nothing.
bool isTaken(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

/// python train.py is called train, not python.
std::string nameOfRun(const std::vector<std::string>& command) {
  const std::string program = fs::path(command[0]).filename().string();
  if (program.rfind("python", 0) != 0 && program != "sh" && program != "bash") return program;
  for (std::size_t i = 1; i < command.size(); ++i) {
    if (command[i] == "-m" && i + 1 < command.size()) return command[i + 1];
    if (command[i][0] == '-') continue;
    std::error_code error;
    // For a folder (`python ./app/`, `python .`), its own name.
    const fs::path script = fs::absolute(command[i], error).lexically_normal();
    const std::string name =
        (script.has_filename() ? script : script.parent_path()).filename().string();
    return !name.empty() && fs::exists(command[i], error) ? name : program;
  }
  return program;
}

/// The command that deletes a recording: its folder alone would leave what lies in shared memory.
std::string deleting(const fs::path& recording) {
  const fs::path segments = prof::segmentFolder(recording);
  std::error_code error;
  const bool shared = segments.parent_path() == "/dev/shm" && fs::is_directory(segments, error);
  return fmt::format("rm -r {}{}", shellWord(recording.string()),
                     shared ? " " + shellWord(segments.string()) : "");
}

class Claim {
 public:
  Claim(const RunOptions& options, const prof::RecordingOptions& how)
      : options_(options), how_(how) {}

  prof::Result<ClaimedPlace> make() {
    if (auto status = options_.output.empty() ? claimFreeName() : claimNamed(); !status)
      return status.error();
    return place_;
  }

 private:
  prof::Status claimNamed() {
    std::error_code error;
    place_.output = fs::absolute(options_.output, error);
    if (auto status = checkOutput(true); !status) return status;
    const auto status = prof::createRecording(place_.recording, how_);
    return status.ok() ? status : withRemedy(status.error().message);
  }

  /// train.lcn, train-2.lcn, …: a trace that was not named never replaces another. Making the
  /// folder of the recording claims the name in one step, so runs that start at the same time
  /// (mpirun) get a number each.
  prof::Status claimFreeName() {
    const std::string stem = fs::path(nameOfRun(options_.command)).stem().string();
    std::error_code error;
    for (int number = 1;; ++number) {
      place_.output =
          fs::absolute(number == 1 ? stem + ".lcn" : fmt::format("{}-{}.lcn", stem, number), error);
      if (isTaken(place_.output)) continue;
      if (auto status = checkOutput(false); !status) return status;
      const bool claimed = mkdir(place_.recording.c_str(), 0700) == 0;
      if (!claimed && errno == EEXIST) continue;
      // A run leaves its trace before its recording goes, and may have ended since the first check.
      if (claimed && isTaken(place_.output)) {
        rmdir(place_.recording.c_str());
        continue;
      }
      const auto status = prof::createRecording(place_.recording, how_);
      if (status.ok()) return status;
      // Somebody who named this trace may have taken the folder while it was empty.
      if (!claimed || rmdir(place_.recording.c_str()) == 0 || errno != ENOTEMPTY)
        return withRemedy(status.error().message);
    }
  }

  static prof::Error withRemedy(std::string message) {
    if (message.find("Remedy") == std::string::npos)
      message += ". Remedy: choose a file elsewhere with -o.";
    return prof::Error{std::move(message)};
  }

  /// Nothing is touched that is there.
  prof::Status checkOutput(bool named) {
    std::error_code error;
    fs::path& output = place_.output;
    // The target of a link is written, and the link stays.
    if (fs::is_symlink(output, error)) {
      const fs::path target = fs::canonical(output, error);
      if (error)
        return prof::Error{fmt::format(
            "cannot write {}: it is a link to nothing. Remedy: choose another file with -o.",
            output.string())};
      output = target;
    }
    const fs::path folder = output.parent_path();
    if (!fs::is_directory(folder, error)) {
      return prof::Error{
          fmt::format("cannot write {}: there is no folder {}. Remedy: create it, or choose "
                      "another file with -o.",
                      output.string(), folder.string())};
    }
    // A path that leads through the folder that we are in would end with that.
    if (const fs::path real = fs::canonical(folder, error); !error)
      output = real / output.filename();
    const fs::file_status there = fs::status(output, error);
    if (fs::exists(there) && !fs::is_regular_file(there)) {
      return prof::Error{
          fmt::format("cannot write {}: it is {}. Remedy: choose a file with -o.", output.string(),
                      fs::is_directory(there) ? "a folder" : "not a file that can hold a trace")};
    }
    if (access(folder.c_str(), W_OK) != 0) {
      return prof::Error{
          fmt::format("cannot write {}: nothing can be made in {}: {}. Remedy: choose a file "
                      "elsewhere with -o.",
                      output.string(), folder.string(), std::strerror(errno))};
    }
    if (fs::exists(there) && access(output.c_str(), W_OK) != 0) {
      return prof::Error{fmt::format("cannot write {}: {}. Remedy: choose another file with -o.",
                                     output.string(), std::strerror(errno))};
    }
    place_.recording = output.string() + ".recording";
    if (named && fs::exists(place_.recording, error)) {
      return prof::Error{fmt::format(
          "{0} is there: another run records there now, or one did not end well. Remedy: choose "
          "another file with -o; or lacuna recover {0}, or delete it: {1}",
          place_.recording.string(), deleting(place_.recording))};
    }
    // A flight recorder writes no file of this name.
    const bool writesIt = named && options_.ringBytes == 0;
    if (writesIt && fs::exists(there) && existingOf(options_) == prof::Existing::Keep)
      return prof::fileInTheWay(output);
    return {};
  }

  const RunOptions& options_;
  const prof::RecordingOptions& how_;
  ClaimedPlace place_;
};

}  // namespace

prof::Result<ClaimedPlace> claimPlace(const RunOptions& options,
                                      const prof::RecordingOptions& how) {
  return Claim(options, how).make();
}

prof::Existing existingOf(const RunOptions& options) {
  return options.replace ? prof::Existing::Replace : prof::Existing::Keep;
}

}  // namespace lacuna::collector
