// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <unordered_set>

#include "lacuna/analyzer/lanes.h"

namespace lacuna::analyzer {

/// Bounds the tracks that are laid out of a trace: an event can name any thread, and a track takes
/// more memory than its event. Tracks beyond the budget of this process are counted and not made,
/// so that the error names how many there are.
class TrackBudget {
 public:
  /// `made`: tracks that are there already.
  explicit TrackBudget(const Store& store, std::uint64_t made = 0)
      : path_(store.path()), made_(made) {
    std::error_code unknown;
    const auto bytes = std::filesystem::file_size(path_, unknown);
    bytes_ = unknown ? 0 : bytes;
    most_ = prof::Budget::ofProcess().most(prof::Budget::Item::Tracks, bytes_);
  }

  /// True when one more may be made; to be asked again for one that was not.
  bool take(TrackKind kind, std::uint32_t id) {
    return takeKey(std::uint64_t{static_cast<std::uint32_t>(kind)} << 32 | id);
  }
  /// The same of a device's memory, of one role or Track::kAllRoles.
  bool takeMemory(std::uint32_t device, std::uint32_t role) {
    return takeKey(std::uint64_t{kTrackKinds + (role & kAnyRole)} << 32 | device);
  }
  [[nodiscard]] prof::Status status() const {
    return prof::Budget::ofProcess().allow(prof::Budget::Item::Tracks, made_ + beyond_.size(),
                                           path_, bytes_);
  }

 private:
  static constexpr std::uint32_t kAnyRole = 0xffff;

  bool takeKey(std::uint64_t key) {
    if (made_ < most_) {
      ++made_;
      return true;
    }
    beyond_.insert(key);
    return false;
  }

  std::filesystem::path path_;
  std::uint64_t bytes_ = 0;
  std::uint64_t most_ = 0;
  std::uint64_t made_ = 0;
  std::unordered_set<std::uint64_t> beyond_;
};

}  // namespace lacuna::analyzer
