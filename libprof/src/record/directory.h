// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lacuna/prof/recording.h"
#include "record/layout.h"
#include "record/segment_folder.h"

namespace lacuna::prof::recording {

/// The files of a recording, by place.
struct RecordingFiles {
  std::vector<std::filesystem::path> recorders;  ///< one per process and recorder
  std::vector<std::filesystem::path> failures;   ///< notes of processes that could not record
};
RecordingFiles listRecording(const std::filesystem::path& directory);

/// Checks by the folders' times whether files may have come to a recording. Listing it costs more
/// than all else that an idle drainer does.
class RecordingFolder {
 public:
  explicit RecordingFolder(const std::filesystem::path& directory);
  /// Call it before listing.
  void noteListing();
  /// True too often rather than too rarely: where a folder's time may be too coarse, and now and
  /// then.
  [[nodiscard]] bool mayHaveChanged() const;

 private:
  using Times = std::array<TimeNs, 2>;
  [[nodiscard]] Times times() const;

  std::array<std::string, 2> folders_;
  TimeNs listedNs_ = 0;
  Times seen_{};
};

Result<Settings> readSettings(const std::filesystem::path& directory);
/// True when somebody has deleted or moved the recording with this recordingKey(), and perhaps made
/// another one in its place. Without a key (0) any recording will do.
bool isGone(const std::filesystem::path& directory, std::uint64_t key);

std::filesystem::path checkpointPath(const std::filesystem::path& directory);
/// Where the drainer writes its trace, for recover() to find.
std::filesystem::path outputNotePath(const std::filesystem::path& directory);
/// Replaces a file in one step, so that a reader sees the old or the new one whole.
Status replaceFile(const std::filesystem::path& path, const std::string& bytes);
/// Larger notes than that are none of ours.
inline constexpr std::size_t kMostNote = std::size_t{64} << 10;
/// The contents of a file in a recording, or elsewhere. Answers an errno in `error`.
Result<std::string> readFile(const std::filesystem::path& path, std::size_t most = kMostNote,
                             int* error = nullptr);

/// As removeRecording(), but that other things lie in the folder is no failure: answers what stays,
/// or an empty text.
Result<std::string> removeFolder(const std::filesystem::path& directory);
Result<std::string> removeFolder(const std::filesystem::path& directory,
                                 const std::filesystem::path& segments, std::uint64_t key);

/// Held by the drainer of the recording; another one takes it when that process ends, however that
/// ends.
class DrainLock {
 public:
  static Result<DrainLock> take(const std::filesystem::path& directory);
  DrainLock(DrainLock&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), shared_(std::move(other.shared_)) {}
  DrainLock& operator=(DrainLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(shared_, other.shared_);
    return *this;
  }
  ~DrainLock();

 private:
  explicit DrainLock(int fd) : fd_(fd) {}
  int fd_ = -1;
  std::optional<Folder> shared_;
};

}  // namespace lacuna::prof::recording
