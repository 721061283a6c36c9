// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lacuna/prof/events.h"
#include "lacuna/prof/place_file.h"
#include "lacuna/prof/result.h"
#include "lacuna/prof/writer.h"

/// The outside of a recording: the directory that processes join, and what empties it into a trace.
///
/// A recording is a directory. Each process that joins it (lacunaAttach, the environment, a fork)
/// keeps its segments in one file there, or in the shared-memory directory that `shm` in it points
/// to. The segments survive their process, and the directory survives its drainer: recover() makes
/// a trace of what is left.
namespace lacuna::prof {

/// The environment variable by which children find the recording.
inline constexpr const char* kRecordingVariable = "LACUNA_RECORDING";

/// The name of a trace in its recording, where it is until it gets its own: recover() takes this
/// one if it is there.
inline constexpr const char* kUnnamedTrace = "trace";

struct RecordingOptions {
  /// Memory of each process that records: taken at once, which takes some 1 ms for each MiB, and
  /// the most it may grow to.
  std::uint64_t poolBytes = 512ull << 10;
  std::uint64_t maxPoolBytes = 256ull << 20;
  /// When the pool is full: false drops (and counts) what is new, true overwrites (and counts) what
  /// is oldest.
  bool flightRecorder = false;
  /// Put segments in /dev/shm when it has room, otherwise (and with false) in the directory itself.
  bool sharedMemory = true;
  /// A process finds that it has room where so much is free, or twice the memory that it may have
  /// if that is less.
  std::uint64_t sharedRoomBytes = 32ull << 20;
};

/// Makes `directory` a recording that processes can join. It must not exist, or be an empty folder
/// of this user's in which nobody else may write, and no link; it gets mode 0700. When several
/// processes make the same one, one succeeds; a failure leaves nothing behind.
Status createRecording(const std::filesystem::path& directory,
                       const RecordingOptions& options = {});
/// Deletes a recording, shared memory included. Processes that still record lose what they record
/// from here on. Only files that a recording makes are deleted, and shared memory only where it
/// names this recording as its owner; an error names what stays.
Status removeRecording(const std::filesystem::path& directory);
/// The same for a caller that asked for its segmentFolder() and its recordingKey() in time. The
/// segments go even if somebody has deleted or moved the directory meanwhile, which is an error. A
/// recording that was made in its place is left alone.
Status removeRecording(const std::filesystem::path& directory,
                       const std::filesystem::path& segments, std::uint64_t key);

/// The key that no other recording made in the same directory has; 0 where none can be read.
std::uint64_t recordingKey(const std::filesystem::path& directory);
/// Where what is in flight is kept: shared memory that names this recording as its owner, or the
/// directory itself.
std::filesystem::path segmentFolder(const std::filesystem::path& directory);

struct DrainCounts {
  std::uint64_t events =
      0;  ///< events read from segments; events + dropped = emitted, and a range is one
  std::uint64_t rows = 0;       ///< rows given to the trace
  std::uint64_t dropped = 0;    ///< events that could not be recorded
  std::uint64_t damaged = 0;    ///< records that made no sense and were left out
  std::uint64_t fileBytes = 0;  ///< size of the trace so far
  std::uint32_t processes = 0;  ///< processes that ever joined
  std::uint32_t living = 0;     ///< of these, those still there
  std::uint32_t truncated =
      0;  ///< processes whose file somebody shortened while it was read; the log names the files
  std::uint32_t unable = 0;  ///< processes that wanted to join and could not; see the log
  TimeNs firstJoinNs = 0;    ///< when the first joined; 0 when none has
};

struct DrainStats : DrainCounts {
  std::string left;  ///< names what stays where the recording was removed, as no recording makes
                     ///< it; mostly empty
};

struct DrainOptions {
  WriterOptions writer;
  /// A drainer writes the trace through at least this often, so that a reader can follow it.
  std::chrono::milliseconds flushEvery{2000};
};

/// Empties a recording into a trace, while it is recorded or after. Works in another process, or in
/// the recorded process itself. Trusts nothing that it reads from the segments. One thread at a
/// time, unless start() was called: then a thread of its own drains, and stats(), with() and
/// finish() may be called from any one other thread.
class Drainer {
 public:
  /// Starts the trace `output` for the recording in `directory`.
  static Result<Drainer> create(const std::filesystem::path& directory,
                                const std::filesystem::path& output,
                                const DrainOptions& options = {});
  Drainer(Drainer&&) noexcept;
  Drainer& operator=(Drainer&&) noexcept;
  /// Stops where it is; without finish() the directory stays for recover().
  ~Drainer();

  /// Gives the trace its name, in one step. It is for a trace that was begun elsewhere on the same
  /// file system (kUnnamedTrace), so that nothing is lost where there is nothing to record. After a
  /// failure it may be called again, and recover() finds the trace where it is.
  Status moveTo(const std::filesystem::path& output, Existing existing = Existing::Replace);

  /// Reads everything that was recorded before the call. True when there was anything.
  Result<bool> drain();
  /// Drains on a thread of its own until finish(), every few milliseconds when there is work.
  void start();
  /// Everything recorded so far is in the file, for a reader to see.
  Status flush();
  /// Drains what is left, closes open ranges (kUnfinished), writes process and thread rows and the
  /// index, and removes the recording. Processes that still record are cut off here.
  Status finish();

  [[nodiscard]] DrainStats stats() const;
  /// The message of the first process that could not join; empty when all could.
  [[nodiscard]] std::string whyUnable() const;
  /// Sets the end of a process, for its row: an exit code, or 128 + signal.
  void setExitCode(std::uint32_t osPid, int code);

  /// For rows that come from outside the recorded processes (CPU samples, device counters): runs
  /// `work` with the trace while nothing else touches it.
  class Access;
  void with(const std::function<void(Access&)>& work);

 private:
  struct Impl;
  Drainer() = default;
  std::unique_ptr<Impl> impl_;
};

/// The trace behind a Drainer. Ids here are those of the file.
class Drainer::Access {
 public:
  virtual Writer& writer() = 0;
  virtual ProcessId process(std::uint32_t osPid) = 0;
  virtual ThreadId thread(std::uint32_t osPid, std::uint32_t osTid) = 0;
  /// Fresh ids.
  virtual DeviceId newDevice() = 0;
  virtual QueueId newQueue() = 0;
  virtual TrackId newTrack() = 0;
  virtual FrameId newFrame() = 0;
  /// The device of that uuid, once some process has described it.
  virtual std::optional<DeviceId> deviceOf(const std::string& uuid) const = 0;

  /// Processes and threads as somebody outside sees them. Their recorders, met before or after, are
  /// the same rows. A process that begins, with all but its number of the one it was forked from.
  virtual ProcessId beginProcess(std::uint32_t osPid, ProcessId parent, TimeNs startNs) = 0;
  /// It runs another program from here on: the same row, or the next where a recorder reported the
  /// program before.
  virtual ProcessId execProcess(ProcessId process, TimeNs timeNs) = 0;
  /// Names what it runs, unless its recorder has done so; an empty line where that is not known.
  virtual void nameProcess(ProcessId process, std::string_view name,
                           std::string_view commandLine) = 0;
  virtual void endProcess(ProcessId process, TimeNs endNs) = 0;
  virtual ThreadId beginThread(ProcessId process, std::uint32_t osTid, TimeNs startNs) = 0;
  virtual void nameThread(ThreadId thread, std::string_view name) = 0;
  virtual void endThread(ThreadId thread, TimeNs endNs) = 0;
  /// Events that were lost.
  virtual void drop(TimeNs timeNs, std::uint64_t count, std::string_view reason) = 0;
  /// Rows appended to writer() directly, for the statistics.
  virtual void countRows(std::uint64_t rows) = 0;

 protected:
  ~Access() = default;
};

struct SnapshotOptions {
  WriterOptions writer;
  /// Goes into the trace, as a line of its log and as `dump.reason` of its environment.
  std::string reason;
  std::vector<std::string> notes;          ///< warnings for its log
  std::map<std::uint32_t, int> exitCodes;  ///< by process id, as in Drainer::setExitCode
  std::uint64_t forgotten = 0;             ///< events that a FlightTrimmer took away
  std::uint64_t key = 0;  ///< with the recordingKey() another recording in its place is refused
};
/// Writes what a flight recorder holds at this moment into a finished trace of its own, while
/// everybody goes on recording. Needs as much room in the recording's directory as the recorders
/// hold, until it returns. Events that are overwritten meanwhile are left out, and counted. One at
/// a time for a recording.
Result<DrainStats> snapshot(const std::filesystem::path& directory,
                            const std::filesystem::path& output,
                            const SnapshotOptions& options = {});

/// The same where no file is to be replaced: the finished trace gets the first of the names that no
/// file has then.
struct SnapshotFile {
  std::filesystem::path path;
  DrainStats stats;
};
Result<SnapshotFile> snapshotBesideOthers(const std::filesystem::path& directory,
                                          const FileNames& names,
                                          const SnapshotOptions& options = {});

/// Keeps a flight recorder's memory bounded although processes come and go.
class FlightTrimmer {
 public:
  /// For the recording that is in `directory` now, and no other that is made there later.
  explicit FlightTrimmer(std::filesystem::path directory)
      : directory_(std::move(directory)), key_(recordingKey(directory_)) {}
  /// Deletes events of processes that were found to have ended, until the rest holds at most
  /// `bytes` of events. The last one stays in any case. The processes found first go first. Those
  /// found by one search or the next may have ended in any order, so the one whose last event is
  /// oldest goes first. Returns the events that are gone.
  std::uint64_t trim(std::uint64_t bytes);

 private:
  struct Dead {
    std::filesystem::path path;
    std::uint64_t lastStamp = 0;
    std::uint64_t search = 0;  ///< by which it was found
  };
  void findDead();

  std::filesystem::path directory_;
  std::uint64_t key_;
  std::uint64_t searches_ = 0;
  std::vector<Dead> dead_;
};

/// Makes a trace of a recording whose drainer died. It continues from the drainer's own trace
/// (found through the recording, or beside it when both were moved), so that nothing is lost or
/// doubled. Refuses while a process still records or a drainer still drains. With `keep` the
/// recording is left in place. `add` may append data that somebody outside had kept beside the
/// recording. It is called when the dead drainer's rows are in the new trace, and before the rest
/// is drained.
Result<DrainStats> recover(const std::filesystem::path& directory,
                           const std::filesystem::path& output, bool keep = false,
                           const std::function<void(Drainer::Access&)>& add = {},
                           Existing existing = Existing::Replace);

}  // namespace lacuna::prof
