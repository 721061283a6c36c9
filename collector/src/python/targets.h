// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lacuna/prof/ids.h"
#include "python/frame_reader.h"
#include "python/layout.h"
#include "python/memory.h"

namespace lacuna::collector::python {

/// A process whose frames can be read.
class Target {
 public:
  /// `pid` is its number here.
  Target(const Layout& layout, std::uint32_t pid, bool foreign, NumberOf numberOf)
      : ownPid_(layout.pid),
        pid_(pid),
        foreign_(foreign),
        helper_(layout.isHelper),
        memory_(static_cast<int>(pid)),
        reader_(layout, memory_, std::move(numberOf)) {}

  [[nodiscard]] std::uint32_t pid() const { return pid_; }
  [[nodiscard]] FrameReader& reader() { return reader_; }
  [[nodiscard]] int error() const { return memory_.error(); }
  /// The programs' own work does not wait for where it is, moment by moment.
  [[nodiscard]] bool isHelper() const { return helper_; }
  [[nodiscard]] bool isMain(std::uint32_t ownTid) const { return ownTid == ownPid_; }
  /// The number here of a thread; its own where that is unknown.
  std::uint32_t tidOf(std::uint32_t ownTid);

  int failures = 0;  ///< in a row

 private:
  std::uint32_t ownPid_, pid_;
  bool foreign_, helper_;
  ProcessMemory memory_;
  FrameReader reader_;
  std::map<std::uint32_t, std::uint32_t> tids_;
};

/// Finds what processes announced, in the order in which they did.
class Announcements {
 public:
  explicit Announcements(std::filesystem::path folder) : folder_(std::move(folder)) {}
  struct Found {
    Layout layout;
    std::uint32_t pid = 0;  ///< here
    bool foreign = false;   ///< it has another number for itself
  };
  /// Those that are new. Each is deleted when it has been read.
  std::vector<Found> take();

 private:
  std::filesystem::path folder_;
  std::map<std::string, int> unread_;  ///< how often each was found unfinished
};

}  // namespace lacuna::collector::python
