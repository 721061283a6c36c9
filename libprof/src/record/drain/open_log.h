// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "record/drain/saver.h"

namespace lacuna::prof::recording {

/// A file beside the checkpoint that records how the open ranges changed from one checkpoint to the
/// next. Ranges that stay open are thus written once. A checkpoint names the file and how much of
/// it holds. Anything after that belongs to a save that did not come to its end. Written anew when
/// most of it is past.
class OpenLog {
 public:
  struct Place {
    std::uint64_t number = 0;  ///< of the file; 0 for none
    std::uint64_t bytes = 0;
  };
  explicit OpenLog(std::filesystem::path directory) : directory_(std::move(directory)) {}

  /// Begins a save after the last one that was kept. True in `anew` where all there is must be
  /// written once more, as it is for `liveBytes` that are open.
  Status begin(std::uint64_t liveBytes, bool& anew);
  void put(const Saver& entry);
  /// All is in the file. The place is for the checkpoint.
  Result<Place> end();
  /// The checkpoint is saved.
  void keep();

  /// Calls `take` with each entry up to the place. Fails on a file that is not what was written,
  /// and where `take` answers false.
  static Status read(const std::filesystem::path& directory, const Place& place,
                     const std::function<bool(std::string_view)>& take);

 private:
  static std::filesystem::path fileOf(const std::filesystem::path& directory, std::uint64_t number);
  void writeOut();

  std::filesystem::path directory_;
  Place kept_;
  Place now_;
  base::FileHandle file_;  ///< of `now_`
  std::string buffer_;
  int error_ = 0;
};

}  // namespace lacuna::prof::recording
