// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "lacuna/prof/ids.h"

namespace lacuna::prof::format {

/// The writer's side: texts to ids, and the texts that no block holds yet.
class StringInterner {
 public:
  StringInterner();
  StringId intern(std::string_view text);
  [[nodiscard]] bool hasPending() const { return written_ < texts_.size(); }
  /// Takes the next piece of what is pending (about a megabyte): its blob, and how many texts are
  /// in it.
  std::uint32_t takePending(base::Bytes& blob);
  /// For a file that is extended: everything so far is in the file already.
  void markWritten() { written_ = texts_.size(); }
  /// Reserves ids up to `count`, as damaged files have holes.
  void skipTo(std::uint32_t count);

 private:
  struct Hash {
    std::size_t operator()(std::string_view text) const;
  };

  std::string_view keep(std::string_view text);

  std::vector<std::unique_ptr<char[]>> chunks_;
  std::size_t chunkUsed_ = 0;
  std::size_t chunkSize_ = 0;
  std::vector<std::string_view> texts_;
  std::unordered_map<std::string_view, std::uint32_t, Hash> ids_;
  std::size_t written_ = 0;
};

/// The reader's side: ids to texts. Texts stay where they are while more are added.
class StringStore {
 public:
  StringStore() : texts_(1) {}
  /// Takes the strings block at this place of the file. False when its lengths contradict its size,
  /// or its ids leave out more than can have been lost.
  bool add(base::Bytes blob, std::uint64_t offset);
  [[nodiscard]] std::string_view text(StringId id) const {
    return id.value < texts_.size() ? texts_[id.value] : std::string_view();
  }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(texts_.size()); }

 private:
  std::vector<std::shared_ptr<const base::Bytes>> blobs_;  ///< shared by copies
  std::vector<std::string_view> texts_;
  std::uint64_t missing_ = 0;  ///< ids that no block had when a later one came
};

}  // namespace lacuna::prof::format
