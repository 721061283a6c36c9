// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "lacuna/prof/bounds.h"
#include "lacuna/prof/draft.h"
#include "lacuna/prof/file_error.h"
#include "record/drain/drain_core.h"
#include "record/drain/proc_files.h"

namespace fs = std::filesystem;

namespace lacuna::prof {

using namespace recording;

namespace {

/// Copies word by word upwards. A record's stamp is its first word and is written last, so a copied
/// stamp has the rest of its record after it.
void copyWords(const unsigned char* from, std::uint64_t* to, std::size_t bytes) {
  const auto* words = reinterpret_cast<const std::uint64_t*>(from);
  for (std::size_t i = 0; i < bytes / 8; ++i) to[i] = __atomic_load_n(words + i, __ATOMIC_ACQUIRE);
}

/// A file that is written in places.
class SparseFile {
 public:
  SparseFile(const fs::path& path, std::size_t size)
      : fd_(::open(path.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600)) {
    ok_ = fd_ >= 0 && ftruncate(fd_, static_cast<off_t>(size)) == 0;
  }
  SparseFile(const SparseFile&) = delete;
  SparseFile& operator=(const SparseFile&) = delete;
  ~SparseFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  void put(const void* bytes, std::size_t size, std::size_t offset) {
    const auto* at = static_cast<const char*>(bytes);
    while (ok_ && size > 0) {
      const ssize_t written = pwrite(fd_, at, size, static_cast<off_t>(offset));
      if (written <= 0 && errno != EINTR) ok_ = false;
      if (written <= 0) continue;
      at += written;
      offset += static_cast<std::size_t>(written);
      size -= static_cast<std::size_t>(written);
    }
  }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  int fd_;
  bool ok_ = false;
};

/// Copies one recorder's file while its process writes it.
class Copy {
 public:
  Copy(const View& view, SparseFile& to) : view_(view), to_(to), buffer_(kSegmentBytes / 8) {
    maxSegments_ =
        static_cast<std::uint32_t>((view.offsets.end - view.offsets.segments) / kSegmentBytes);
  }

  void run() {
    copyRegion(0, kHeaderBytes);
    chains_.resize(kMaxThreads + 1);
    entries_.resize(kMaxThreads + 1);
    // A ring that turns faster than it can be copied is tried again, for what it holds then.
    for (int attempt = 0; attempt < 8 && copySegments(); ++attempt) {
      // All at the end: a segment may have gone from one thread to another since its copy was made.
      for (std::uint32_t index = 1; index <= kMaxThreads; ++index)
        keepComplete(chains_[index], view_.thread(index));
    }
    for (std::uint32_t index = 1; index <= kMaxThreads; ++index) copyEntry(index);
    // A name is there before a record uses it, so names come last.
    const std::size_t used =
        std::min<std::size_t>(view_.header().stringsUsed.load(), kStringsBytes);
    copyRegion(view_.offsets.strings, roundUp(used, 8));
    const auto strings = static_cast<std::uint32_t>(used);
    to_.put(&strings, sizeof strings, offsetof(Header, stringsUsed));
    to_.put(&maxSegments_, sizeof maxSegments_, offsetof(Header, segmentCount));
  }

 private:
  void copyRegion(std::size_t offset, std::size_t bytes) {
    while (bytes > 0) {
      const std::size_t part = std::min(bytes, kSegmentBytes);
      copyWords(view_.base + offset, buffer_.data(), part);
      to_.put(buffer_.data(), part, offset);
      offset += part;
      bytes -= part;
    }
  }

  [[nodiscard]] std::size_t offsetOf(std::uint32_t segment) const {
    return view_.offsets.segments + (segment - 1) * kSegmentBytes;
  }

  /// A segment is the one that it was as long as it has its number.
  struct Link {
    std::uint32_t segment;
    std::uint64_t sequence;
  };

  /// A thread's entry as it is at one moment.
  using Entry = std::array<std::uint64_t, kThreadBytes / 8>;

  [[nodiscard]] Entry entryNow(std::uint32_t index) const {
    Entry entry{};
    copyWords(reinterpret_cast<const unsigned char*>(&view_.thread(index)), entry.data(),
              kThreadBytes);
    return entry;
  }
  static const ThreadEntry& in(const Entry& entry) {
    return *reinterpret_cast<const ThreadEntry*>(entry.data());
  }

  /// The segments of the thread whose entry was copied, oldest first, as far as they are its own.
  std::vector<Link> chainOf(std::uint32_t index, const ThreadEntry& entry) const {
    std::vector<Link> chain;
    const std::uint32_t generation = entry.generation.load(std::memory_order_relaxed);
    std::uint32_t segment = entry.first.load(std::memory_order_relaxed);
    while (segment != 0 && segment <= maxSegments_ && chain.size() <= maxSegments_) {
      const Segment& head = view_.segment(segment);
      const bool own = head.owner.load(std::memory_order_acquire) == index &&
                       head.generation.load(std::memory_order_relaxed) == generation;
      const std::uint64_t sequence = head.sequence.load(std::memory_order_relaxed);
      if (!own || (!chain.empty() && sequence <= chain.back().sequence)) break;
      chain.push_back({segment, sequence});
      segment = head.next.load(std::memory_order_acquire);
    }
    return chain;
  }

  /// The part of the chain that was not overwritten before this moment.
  void keepComplete(std::vector<Link>& chain, const ThreadEntry& entry) const {
    // Segments are overwritten oldest first, and the thread's beginning moves on before that:
    // whatever lies after its beginning now was whole when it was copied.
    std::atomic_thread_fence(std::memory_order_acquire);
    const std::uint32_t first = entry.first.load(std::memory_order_acquire);
    const std::uint64_t sequence =
        first != 0 && first <= maxSegments_
            ? view_.segment(first).sequence.load(std::memory_order_relaxed)
            : 0;
    chain.erase(chain.begin(), std::find_if(chain.begin(), chain.end(), [&](const Link& link) {
                  return link.segment == first && link.sequence == sequence;
                }));
  }

  /// Copies the segments of threads without a copied segment. False when there was none.
  bool copySegments() {
    bool any = false;
    for (std::uint32_t index = 1; index <= kMaxThreads; ++index) {
      const ThreadEntry& entry = view_.thread(index);
      if (!chains_[index].empty() ||
          entry.state.load(std::memory_order_acquire) == EntryState::Free)
        continue;
      entries_[index] = entryNow(index);
      chains_[index] = chainOf(index, in(entries_[index]));
      for (const Link& link : chains_[index]) copyRegion(offsetOf(link.segment), kSegmentBytes);
      any |= !chains_[index].empty();
    }
    return any;
  }

  void copyEntry(std::uint32_t index) {
    const std::vector<Link>& chain = chains_[index];
    const std::size_t at = view_.offsets.threads + (index - 1) * kThreadBytes;
    Entry entry = entryNow(index);
    // Since its segments were copied the entry may have gone to another thread.
    if (!chain.empty() && in(entry).generation.load() != in(entries_[index]).generation.load())
      entry = entries_[index];
    if (in(entry).state.load() == EntryState::Free) return;
    to_.put(entry.data(), kThreadBytes, at);
    const std::uint32_t from = chain.empty() ? 0 : chain.front().segment;
    const std::uint32_t to = chain.empty() ? 0 : chain.back().segment;
    to_.put(&from, sizeof from, at + offsetof(ThreadEntry, first));
    to_.put(&to, sizeof to, at + offsetof(ThreadEntry, current));
    const std::uint32_t none = 0;
    if (to != 0) to_.put(&none, sizeof none, offsetOf(to) + offsetof(Segment, next));
  }

  const View& view_;
  SparseFile& to_;
  std::uint32_t maxSegments_;
  std::vector<std::uint64_t> buffer_;
  std::vector<std::vector<Link>> chains_;  ///< by thread
  std::vector<Entry> entries_;             ///< by thread, as when its chain was copied
};

Status copyRecorder(const fs::path& from, const fs::path& folder, std::vector<std::string>& notes) {
  const Result<MappedFile> file = MappedFile::open(from, true);
  // One that is only being made has nothing yet; one that is damaged cannot be copied.
  if (!file.ok()) return {};
  const View& view = (*file).view();
  // A reader of the copy looks for nobody.
  (void)lifeOf(view.header());
  SparseFile to(folder / from.filename(), view.offsets.end);
  if (to.ok()) Copy(view, to).run();
  if ((*file).broken()) {
    notes.push_back(
        fmt::format("{}: was shortened while it was copied, so what its process recorded is lost",
                    from.filename().string()));
  }
  if (to.ok()) return {};
  return cannotBeWritten(folder / from.filename(), errno);
}

/// In a recording that lies beside the trace the draft goes with it, also when its writer is
/// killed. Elsewhere other recordings may have traces of the same name in the making.
fs::path draftOf(const fs::path& directory, const fs::path& output) {
  std::error_code error;
  const fs::path beside = fs::canonical(directory, error).parent_path();
  const bool isBeside =
      !error && fs::equivalent(beside, fs::absolute(output, error).parent_path(), error);
  if (isBeside && !error) return directory / kSnapshotDraft;
  return fmt::format("{}.{:016x}.part", output.string(), recordingKey(directory));
}

/// The copy is a folder of our own, or none at all.
void removeCopy(const fs::path& copy) {
  const Result<Folder> folder = Folder::openItself(copy);
  if (!folder.ok()) return;
  (void)folder->removeFiles();
  (void)folder->removeItself();
}

Status copyRecording(const fs::path& directory, const fs::path& copy,
                     std::vector<std::string>& notes) {
  removeCopy(copy);
  int error = 0;
  if (const Result<Folder> folder = Folder::make(copy, error); !folder.ok()) return folder.status();
  const RecordingFiles files = listRecording(directory);
  for (const fs::path& recorder : files.recorders) {
    if (auto status = copyRecorder(recorder, copy, notes); !status.ok()) return status;
  }
  return {};
}

Result<DrainStats> writeCopy(const fs::path& copy, const fs::path& output,
                             const SnapshotOptions& options) {
  Result<Writer> writer = Writer::create(output, options.writer);
  if (!writer.ok()) return writer.error();
  DrainCore core({copy, false}, std::move(*writer), {});
  TraceState& trace = core.trace();
  const TimeNs nowNs = readClocks().monotonicNs;
  if (!options.reason.empty()) {
    trace.log(nowNs, LogLevel::Info, "flight recorder: " + options.reason);
    trace.append(Environment{.key = trace.writer().intern("dump.reason"),
                             .value = trace.writer().intern(options.reason)});
  }
  for (const std::string& note : options.notes) trace.log(nowNs, LogLevel::Warning, note);
  if (options.forgotten > 0)
    trace.drop(nowNs, {}, {}, options.forgotten, "of processes that ended before the others");
  for (const auto& [pid, code] : options.exitCodes) trace.setExitCode(pid, code);
  if (const Status status = core.finish(); !status.ok()) return status.error();
  return core.stats();
}

std::uint64_t eventsOf(const View& view) {
  const auto count =
      static_cast<std::uint32_t>((view.offsets.end - view.offsets.segments) / kSegmentBytes);
  const Header& header = view.header();
  std::uint64_t events = 0;
  const auto add = [&](auto... counts) { (addTo(events, counts), ...); };
  add(header.dropped.load(), header.droppedStarts.load(), header.droppedOpen.load());
  // A damaged chain may lead around, or to another thread's segments: each segment counts once.
  std::vector<bool> seen(count + 1);
  for (std::uint32_t index = 1; index <= kMaxThreads; ++index) {
    const ThreadEntry& entry = view.thread(index);
    add(entry.dropped.load(), entry.droppedStarts.load(), entry.ended, rangesInGap(entry).all());
    std::uint32_t segment = entry.first.load();
    while (segment != 0 && segment <= count && !seen[segment]) {
      seen[segment] = true;
      const LostEvents lost = eventsIn(view.segmentBase(segment));
      add(lost.events, lost.starts);
      segment = view.segment(segment).next.load();
    }
  }
  return events;
}

/// Stamp of the newest record; 0 when there is none.
std::uint64_t lastStampOf(const View& view) {
  const auto count =
      static_cast<std::uint32_t>((view.offsets.end - view.offsets.segments) / kSegmentBytes);
  std::uint64_t last = 0;
  for (std::uint32_t index = 1; index <= kMaxThreads; ++index) {
    const std::uint32_t segment = view.thread(index).current.load();
    if (segment == 0 || segment > count) continue;
    forEachRecord(view.segmentBase(segment),
                  [&](const std::uint64_t* slot) { last = std::max(last, slot[0]); });
  }
  return last;
}

std::uint64_t bytesOf(const View& view) {
  return view.header().segmentCount.load() * static_cast<std::uint64_t>(kSegmentBytes);
}

}  // namespace

namespace {

/// Makes the whole trace beside `output` and has `publish` give it its name: it appears whole or
/// not at all.
Result<DrainStats> makeSnapshot(const fs::path& directory, const fs::path& output,
                                const SnapshotOptions& options,
                                const std::function<Status(const fs::path& draft)>& publish) {
  const Result<Settings> settings = readSettings(directory);
  if (!settings.ok()) return settings.status().error();
  if (options.key != 0 && isGone(directory, options.key)) {
    return Error{fmt::format("{}: was deleted or moved, and another recording is in its place",
                             directory.string())};
  }
  const MappingGuard::Scope scope;
  const fs::path copy = directory / "snapshot";
  std::error_code error;
  SnapshotOptions how = options;
  if (auto status = copyRecording(directory, copy, how.notes); !status.ok()) {
    removeCopy(copy);
    return status.error();
  }
  // The trace appears whole or not at all.
  const fs::path temporary = draftOf(directory, output);
  const Status made = createDraft(temporary);
  Result<DrainStats> stats = made.ok() ? writeCopy(copy, temporary, how) : made.error();
  removeCopy(copy);
  const Status published = stats.ok() ? publish(temporary) : Status();
  if (stats.ok() && published.ok()) return stats;
  if (made.ok()) fs::remove(temporary, error);
  return published.ok() ? stats : published.error();
}

}  // namespace

Result<DrainStats> snapshot(const fs::path& directory, const fs::path& output,
                            const SnapshotOptions& options) {
  return makeSnapshot(directory, output, options, [&](const fs::path& draft) {
    return publishDraft(draft, output, Existing::Replace);
  });
}

Result<SnapshotFile> snapshotBesideOthers(const fs::path& directory, const FileNames& names,
                                          const SnapshotOptions& options) {
  fs::path path;
  Result<DrainStats> stats = makeSnapshot(directory, names(0), options, [&](const fs::path& draft) {
    Result<fs::path> placed = publishDraftFree(draft, names);
    if (placed.ok()) path = *placed;
    return placed.status();
  });
  if (!stats.ok()) return stats.error();
  return SnapshotFile{std::move(path), *std::move(stats)};
}

void FlightTrimmer::findDead() {
  ++searches_;
  for (const fs::path& path : listRecording(directory_).recorders) {
    if (std::ranges::find(dead_, path, &Dead::path) != dead_.end()) continue;
    const Result<MappedFile> file = MappedFile::open(path, true);
    if (!file.ok()) continue;
    const View& view = (*file).view();
    if (view.header().detached.load() == 0 && lifeOf(view.header()) != Life::Ended) continue;
    dead_.push_back({path, lastStampOf(view), searches_});
  }
  // A search takes its time: what it finds may have ended after what only the next one finds. And a
  // folder of shared memory lists its newest file first.
  const auto unsure =
      std::ranges::find_if(dead_, [&](const Dead& dead) { return dead.search + 1 >= searches_; });
  std::ranges::stable_sort(unsure, dead_.end(), {}, &Dead::lastStamp);
}

std::uint64_t FlightTrimmer::trim(std::uint64_t bytes) {
  const MappingGuard::Scope scope;
  if (isGone(directory_, key_)) return 0;
  findDead();
  std::uint64_t held = 0;
  std::size_t kept = dead_.size();
  while (kept > 0) {
    const Result<MappedFile> file = MappedFile::open(dead_[kept - 1].path, true);
    held += file.ok() ? bytesOf((*file).view()) : 0;
    if (held > bytes && kept < dead_.size()) break;
    --kept;
  }
  std::uint64_t events = 0;
  for (std::size_t i = 0; i < kept; ++i) {
    if (const Result<MappedFile> file = MappedFile::open(dead_[i].path, true); file.ok())
      events += eventsOf((*file).view());
    std::error_code error;
    fs::remove(dead_[i].path, error);
  }
  dead_.erase(dead_.begin(), dead_.begin() + static_cast<std::ptrdiff_t>(kept));
  return events;
}

}  // namespace lacuna::prof
