// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <unordered_map>
#include <vector>

#include "lacuna/prof/mapping_guard.h"
#include "record/drain/announced_rows.h"
#include "record/drain/guest_tables.h"
#include "record/drain/open_states.h"
#include "record/drain/proc_files.h"
#include "record/drain/range_stacks.h"
#include "record/drain/row_batches.h"
#include "record/drain/row_decoder.h"
#include "record/drain/started_ranges.h"

namespace lacuna::prof::recording {

/// A recording file in this process. Unmaps at the end. Where somebody shortens the file meanwhile,
/// it is broken, and what is gone reads as zero.
class MappedFile {
 public:
  /// Checks everything that later accesses rely on. `shared` false gives a private copy that can be
  /// written without effect. Answers an errno in `system` where the system lacked room or the disk
  /// failed, and the file may be sound.
  static Result<MappedFile> open(const std::filesystem::path& path, bool shared,
                                 int* system = nullptr);
  MappedFile(MappedFile&& other) noexcept
      : view_(std::exchange(other.view_, View{})),
        shared_(other.shared_),
        guard_(std::move(other.guard_)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(view_, other.view_);
    std::swap(shared_, other.shared_);
    std::swap(guard_, other.guard_);
    return *this;
  }
  ~MappedFile();
  [[nodiscard]] const View& view() const { return view_; }
  [[nodiscard]] bool shared() const { return shared_; }
  [[nodiscard]] bool broken() const { return guard_.broken(); }

 private:
  MappedFile(View view, bool shared)
      : view_(view), shared_(shared), guard_(view.base, view.offsets.end) {}
  View view_;
  bool shared_;
  MappingGuard guard_;
};

/// Reads one recorder's segments in order and appends their rows to the trace. Emptied segments go
/// back to the recorder only in recycle(): until then a new reader could start again from the last
/// save().
class ProcessReader {
 public:
  ProcessReader(MappedFile file, std::filesystem::path path, TraceState& trace,
                RowBatches& batches);

  /// Reads what was stamped up to `tick`; with `all` everything there is. True when there was
  /// something. Gives the recorder more segments when it runs short of them meanwhile, unless this
  /// is the end.
  bool drain(const ClockLine& clock, const Tick& tick, bool all);
  /// Segments that were read to their end so far.
  [[nodiscard]] std::uint64_t segmentsRead() const { return segmentsRead_; }
  /// The recorder is gone (or cut off): closes open ranges and threads. After this nothing may be
  /// read.
  void close(TimeNs endNs);
  /// Gives drained segments and threads back. Their rows must be in the file, and the state saved,
  /// before.
  void recycle();
  void cutOff();

  [[nodiscard]] Life life() const;
  /// As far as anybody knows.
  [[nodiscard]] bool alive() const { return life() != Life::Ended; }
  [[nodiscard]] bool wantsRecycling() const;
  [[nodiscard]] bool flightRecorder() const { return header().flightRecorder != 0; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] const Header& header() const { return file_.view().header(); }
  [[nodiscard]] bool closed() const { return closed_; }
  /// Somebody has shortened the file: nothing that is read from here on means anything.
  [[nodiscard]] bool broken() const { return file_.broken(); }

  void save(Saver& saver);
  void load(Loader& loader, OpenStates::Recorder open);
  /// Saves what is open into a log of its own, see OpenStates.
  void saveOpen(const std::string& name, bool anew, OpenLog& log);
  void savedOpen();

 private:
  struct Thread {
    std::uint32_t index = 0;
    std::uint32_t generation = 0;
    ThreadId id;  ///< none for what a flight recorder keeps apart from its ring
    std::uint32_t segment = 0;
    std::uint32_t offset = 0;
    std::uint32_t lap = 0;  ///< that of its segment
    bool savedAtEnd = false;
    bool stuck = false;   ///< its chain of segments is damaged
    bool closed = false;  ///< it exited and all is read
    TimeNs lastNs = 0;
    std::uint64_t dropped = 0;  ///< events that its Drop rows count
    std::uint64_t unseen = 0;   ///< ranges with a row although the ring overwrote their begin
    std::uint64_t notKept =
        0;  ///< ranges for which there was no room, since the last Drop row of them
    std::uint32_t lastGapRead = 0;  ///< number of the last gap whose record was read
    bool mayEndUnseen =
        false;  ///< a gap lost track: its ends without a begin may be of ranges that were dropped
    RangeStacks stacks;
  };

  [[nodiscard]] const View& view() const { return file_.view(); }
  [[nodiscard]] TimeNs timeOf(std::uint64_t stamp, const ClockLine& clock) const;
  void enter(Thread& thread, ThreadEntry& entry, const ClockLine& clock);
  bool drainThread(Thread& thread, ThreadEntry& entry, const ClockLine& clock, std::uint64_t limit);
  bool moveOn(Thread& thread);
  void goTo(Thread& thread, std::uint32_t segment);
  /// `further` events are lost beside those that the entry counts.
  void noteDrops(Thread& thread, const ThreadEntry& entry, TimeNs nowNs, std::uint64_t further = 0);
  void noteDrops(TimeNs nowNs);
  void noteLostStarts(TimeNs nowNs);
  [[nodiscard]] const char* whyDropped() const;
  [[nodiscard]] bool owns(std::uint32_t segment, const Thread& thread) const;
  [[nodiscard]] bool atEnd(const Thread& thread) const;
  void release(Thread& thread);
  void saveThread(Saver& saver, Thread& thread);
  std::unique_ptr<Thread> loadThread(Loader& loader, std::uint32_t index);
  void emptyInPlace(Thread& thread);
  /// Keeps some segments in reserve, so that the recorder does not have to ask for them itself.
  void growAhead();
  void emptySegment(std::uint32_t segment);

  void decode(Thread& thread, const std::uint64_t* slot, std::uint64_t word, TimeNs timeNs);
  void decodeOperator(Thread& thread, const std::uint64_t* slot, std::uint64_t stamp,
                      std::uint64_t word, const ClockLine& clock);
  void decodeGap(Thread& thread, const std::uint64_t* slot, std::uint64_t word, TimeNs timeNs);
  void decodeRow(const std::uint64_t* slot, std::uint64_t word);
  /// Ends the innermost range of `open`, or up to `most` that began unseen together. These give one
  /// row, and all but one count as not kept. Returns how many.
  std::uint64_t closeTop(Thread& thread, OpenStack& open, TimeNs endNs, std::uint8_t flags = 0,
                         std::uint64_t most = 1);
  /// The same for as many as `count` of a domain's ranges.
  void closeTops(Thread& thread, std::uint32_t domain, std::uint64_t count, TimeNs endNs);
  void notKept(Thread& thread, std::uint64_t ranges);
  /// False where there is no room for it.
  bool open(Thread& thread, const OpenRange& range);
  void closeAll(Thread& thread, TimeNs endNs);
  void start(Thread& thread, std::uint64_t number, const OpenRange& range);
  void noteNotKept(Thread& thread, TimeNs nowNs);
  void openQueueRange(Thread& thread, const std::uint64_t* slot, std::uint64_t word, TimeNs timeNs);
  void pop(Thread& thread, std::uint32_t domain, TimeNs timeNs);
  void endAnywhere(Thread& thread, std::uint64_t range, TimeNs timeNs);
  void emit(const OpenRange& open, ThreadId thread, TimeNs endNs, std::size_t depth, RangeKind kind,
            ThreadId endThread);
  void closeThread(Thread& thread, TimeNs endNs);
  void forget(std::unique_ptr<Thread>& thread);
  /// Ends whose beginnings would have been read by now. With `all` those that came in this pass,
  /// too.
  void closeUnseen(bool all);

  MappedFile file_;
  std::filesystem::path path_;
  TraceState& trace_;
  RowBatches& batches_;
  GuestTables tables_;
  AnnouncedRows announcedRows_;
  ProcessId process_;
  std::uint32_t maxSegments_;
  std::uint64_t headerDropped_ = 0;
  std::uint64_t droppedStarts_ = 0;  ///< of threads that are closed
  std::uint64_t startsNotKept_ = 0;  ///< for want of room among the open ranges
  std::uint64_t unseenStarts_ = 0;   ///< ranges that have a row although their Start was not read
  std::uint64_t pass_ = 0;
  bool closed_ = false;
  bool growing_ = false;  ///< the recorder goes on while this reads
  TimeNs lastNs_ = 0;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::uint64_t segmentsRead_ = 0;
  std::vector<bool> drained_;  ///< segments that are read but not given back
  std::vector<std::uint32_t> toRecycle_;
  std::uint32_t closedThreads_ = 0;  ///< since the last recycle()
  struct Ended {
    TimeNs timeNs;
    ThreadId thread;
    std::uint64_t pass;  ///< in which it was read
  };
  StartedRanges started_;
  std::unordered_map<std::uint64_t, Ended>
      ended_;  ///< their beginnings are yet to be read, or were dropped
};

}  // namespace lacuna::prof::recording
