// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "record/drain/open_log.h"
#include "record/drain/range_stacks.h"
#include "record/drain/started_ranges.h"

namespace lacuna::prof::recording {

/// Ranges that recorders had open when a checkpoint was made, written and read back in entries of
/// an OpenLog.
class OpenStates {
 public:
  using ThreadKey = std::pair<std::uint32_t, std::uint32_t>;  ///< index and generation of its entry
  struct Recorder {
    std::map<ThreadKey, RangeStacks> threads;
    StartedRanges started;
  };

  /// Logs what has changed since the last save; with `anew` all there is. The log keeps it only
  /// when saved() follows.
  static void save(const std::string& recorder, const ThreadKey& thread, RangeStacks& stacks,
                   bool anew, OpenLog& log);
  static void save(const std::string& recorder, StartedRanges& started, bool anew, OpenLog& log);
  static void saved(RangeStacks& stacks);
  static void saved(StartedRanges& started);

  /// Takes up an entry. Its open ranges count as saved. False where the entry makes no sense.
  [[nodiscard]] bool load(std::string_view entry, OpenBudget& budget);
  /// Gives what a recorder had open.
  Recorder take(const std::string& recorder);

 private:
  static void loadRanges(Loader& loader, OpenStack& stack, OpenBudget& budget);
  static void loadQueueData(Loader& loader, RangeStacks& stacks);
  static void loadStarted(Loader& loader, StartedRanges& started, OpenBudget& budget);

  std::map<std::string, Recorder> recorders_;
};

}  // namespace lacuna::prof::recording
