// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

/// The agreement of programs on standby and their keeper, who arms them. Nothing is recorded
/// meanwhile.
namespace lacuna::collector {

/// Names a file that holds one StandbyPage; set by the keeper for the whole process tree.
inline constexpr const char* kStandbyVariable = "LACUNA_STANDBY";
/// Names the folder in which `lacuna trigger` meets the keeper; for who looks at a process from
/// outside.
inline constexpr const char* kJobVariable = "LACUNA_JOB";

enum class StandbyState : std::uint32_t {
  Waiting,
  Armed,      ///< by the keeper: to record from step `from` on
  Recording,  ///< by the process, as the others
  Done,       ///< the process has left the recording
  Missed,     ///< step `from` had begun when the process saw that it was armed
  Failed      ///< the process could not join the recording; `error` has the reason
};

/// A process on standby. The first word is written last when it takes the slot.
struct StandbySlot {
  static constexpr std::uint64_t kTaken = 1;  ///< an owner that is not written yet
  static constexpr std::size_t kPathBytes = 1024;

  std::atomic<std::uint64_t> owner{
      0};  ///< as CaptureSlot::ownerOf() gives it; 0 when the slot is free
  /// 1: record. The process and its forked children look at it with every event.
  std::atomic<std::uint32_t> enabled{0};
  std::atomic<StandbyState> state{StandbyState::Waiting};
  std::atomic<std::int64_t> step{0};  ///< steps that have ended, which is the number of the next
  std::atomic<std::int64_t> from{0};  ///< the steps to record: from this one on,
  std::atomic<std::int64_t> to{0};    ///< and this one no more
  std::atomic<std::int32_t> error{0};
  std::atomic<std::int32_t> rank{-1};   ///< of the environment; -1: none
  std::atomic<std::int32_t> world{-1};  ///< number of ranks; -1: not known
  char recording[kPathBytes] = {};      ///< the keeper writes it before it arms the process
};

/// The page that keeper and processes map. Anyone in the process tree could write it, so the keeper
/// believes nothing in it that could hurt.
struct StandbyPage {
  static constexpr std::uint32_t kMagic = 0x4c435331;  // LCS1
  static constexpr std::size_t kSlots = 256;
  std::uint32_t magic = kMagic;
  std::int32_t supervisor = 0;  ///< process id of the keeper
  StandbySlot slots[kSlots];
};

}  // namespace lacuna::collector
