// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/scope.h"
#include "lacuna/analyzer/timeline.h"

namespace lacuna::analyzer {

struct LoaderStats {
  bool present = false;
  std::uint64_t batches = 0;          ///< taken by the consumer
  std::uint64_t preparedBatches = 0;  ///< of them, those that busyNs went into; 0: all
  std::int64_t waitNs = 0;            ///< the consumer's, in the window
  std::int64_t stepWaitNs = 0;        ///< of it, in the steps
  std::int64_t busyNs = 0;  ///< fetch to collate, all workers; the consumer's where it is alone
  std::int64_t spanNs = 0;  ///< from the first stage's start to the last one's end, in the window
  std::int64_t blockedNs = 0;  ///< workers waiting for room
  std::uint32_t workers =
      0;  ///< that prepared batches at a time; 0 when the consumer did it itself
  bool workersKnown =
      true;  ///< false: batches are waited for, and nothing shows who prepares them; workers is 0
  std::uint32_t restarts = 0;                 ///< of all workers: how often others took their place
  std::int64_t restartNs = 0;                 ///< of waitNs, what the consumer waited for that
  std::int64_t stepRestartNs = 0;             ///< of it, in the steps
  prof::TimeWindow longestRestart{0, 0};      ///< the longest such wait
  std::array<std::int64_t, 4> stageNs{};      ///< fetch, decode, augment, collate; self time
  double meanDepth = -1;                      ///< ready batches, -1 when not recorded
  std::vector<prof::ThreadId> workerThreads;  ///< all that ever prepared batches and took none
  /// The part of busyNs in which threads computed or waited for a core; -1 when not recorded.
  double cpuShare = -1;
  [[nodiscard]] std::int64_t batchNs() const;  ///< one batch on one worker
  [[nodiscard]] double utilisation()
      const;  ///< of the workers, while there were batches to prepare
  /// Workers prepare batches quicker than they are used, so a wait is not for the next one to be
  /// prepared.
  [[nodiscard]] bool hasTimeToSpare() const;
};
inline constexpr std::array<std::string_view, 4> kLoaderStages{"fetch", "decode", "augment",
                                                               "collate"};

/// The reason why batches come late.
enum class LoaderBound : std::uint8_t {
  None,       ///< nothing: the consumer hardly waits
  Reading,    ///< workers that wait for storage
  Computing,  ///< workers that decode, augment, collate
  HandOver,   ///< idle workers: what lies between them and the consumer
  Copy,       ///< the copy to the device
  Unknown,    ///< nothing shows who prepares them
};
std::string_view loaderBoundName(LoaderBound bound);
struct LoaderVerdict {
  LoaderBound bound = LoaderBound::None;
  /// So many prepare batches as fast as a step uses them; 0 where the time that one batch takes is
  /// not known.
  std::uint32_t workersNeeded = 0;
  std::uint32_t prefetchNeeded = 0;  ///< batches that each of these must be ahead
};
/// `waitNs` and `copyNs`: what a step waits for batches and for copies that nothing hides.
LoaderVerdict loaderVerdict(const LoaderStats& loader, std::int64_t stepNs, std::int64_t waitNs,
                            std::int64_t copyNs);

prof::Result<LoaderStats> loaderStats(const Store& store, prof::TimeWindow window,
                                      const TableScope& scope = {});

}  // namespace lacuna::analyzer
