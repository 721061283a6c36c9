// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Sees an .lcn file grow. One thread at a time; the stores it gives are as any other, and independent of it.
class StoreFollower {
 public:
  explicit StoreFollower(std::filesystem::path path) : path_(std::move(path)) {}

  /// A store of what is in the file by now, when that is more than last time; null when nothing was added. Costs one
  /// look at the file's size where nothing was added, else the headers and texts of what was. An error when the file
  /// cannot be read, as while its first bytes are written; the next poll may do better.
  prof::Result<std::shared_ptr<const Store>> poll();
  /// True once the writer has finished the file: there will be no more.
  [[nodiscard]] bool finished() const { return finished_; }

 private:
  std::filesystem::path path_;
  std::optional<prof::Reader> reader_;
  std::uint64_t seenContent_ = 0;
  bool any_ = false;
  bool finished_ = false;
};

}  // namespace lacuna::analyzer
