// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "record/folder.h"

namespace lacuna::prof::recording {

/// Where folders of segments are made, one for each recording.
inline constexpr const char* kSharedPlace = "/dev/shm";
inline constexpr const char* kSharedPrefix = "lacuna-";

/// The recording to which a folder in shared memory belongs, as createRecording() noted it there.
struct SegmentOwner {
  std::uint64_t key = 0;
  std::filesystem::path directory;
};
std::optional<SegmentOwner> ownerOf(const Folder& shared);

/// A private folder in shared memory for the recording `directory`, or nothing when there is too
/// little room to bother.
std::optional<Folder> makeSharedFolder(const std::filesystem::path& directory, std::uint64_t key,
                                       std::uint64_t roomBytes);

/// Removes one in which nobody has made anything yet.
void discardShared(const Folder& shared);

/// The folder in shared memory at `path`, if it is ours and was made for the recording of that key.
std::optional<Folder> openSharedFolder(const std::filesystem::path& path, std::uint64_t key);

/// Where the link of a recording leads. A link is text that anybody may have written: only a folder
/// that names this recording as its owner is read or removed.
struct SharedLink {
  enum class State : std::uint8_t { None, Gone, Ours, Foreign };
  State state = State::None;
  std::filesystem::path target;
  std::optional<Folder> folder;  ///< of Ours
};
SharedLink sharedLinkOf(const Folder& recording, std::uint64_t key);

}  // namespace lacuna::prof::recording
