// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "lacuna/analyzer/lanes.h"
#include "lacuna/prof/bounds.h"
#include "lacuna/prof/draft.h"
#include "lacuna/prof/file_error.h"
#include "lacuna/prof/writer.h"
#include "store/backend.h"
#include "tracks/byte_stream.h"
#include "tracks/track_assembly.h"

namespace lacuna::analyzer {

namespace {

/// Reads ahead no more than this; of larger sets the rest waits until it is needed.
constexpr std::uint64_t kReadAheadBytes = std::uint64_t{768} << 20;

}  // namespace

/// A picture deep inside a trace touches a thousand chunks at once, too many to be read within a
/// frame.
struct TrackSet::ReadAhead {
  explicit ReadAhead(const TrackSet& set) : thread([this, &set] { run(set); }) {}
  ~ReadAhead() {
    stop = true;
    thread.join();
  }

  void run(const TrackSet& set) const {
    std::uint64_t bytes = 0;
    for (const TrackGroup& group : set.groups) {
      for (const Track& track : group.tracks) {
        for (const Lane& lane : track.lanes) {
          for (std::size_t i = 0; i < lane.events().chunkCount(); ++i) {
            if (stop || bytes > kReadAheadBytes) return;
            bytes += lane.events().chunkBytes(i).size();
          }
        }
      }
    }
  }

  std::atomic<bool> stop = false;
  std::thread thread;
};
void TrackSet::EndReadAhead::operator()(ReadAhead* ahead) const {
  delete ahead;
}

namespace {

constexpr std::string_view kProduct = "tracks";
constexpr std::uint32_t kMagic = 0x544E434C;  // "LCNT"
constexpr std::uint32_t kVersion = 2;
constexpr std::uint32_t kMemory = 6;  // beside the numbers of TrackKind
/// The number of a track's events that have no lane: its kind stands for the role, the number for
/// the offset. A version of lacuna that does not know this lays the tracks out anew.
constexpr std::uint32_t kDeeper = 7;
/// The most that a block of chunks may hold; the format's limits are a little higher.
constexpr std::size_t kMostChunks = 900;
constexpr std::uint64_t kMostBytes = std::uint64_t{200} << 20;
/// The most that the cache folder may hold.
constexpr std::uint64_t kCacheBytes = std::uint64_t{8} << 30;

struct TrackEntry {
  std::uint32_t kind = 0, id = 0, role = 0, lane = 0;
  std::uint64_t offset = 0;
};

std::uint32_t idOf(const Track& track) {
  switch (track.kind) {
    case TrackKind::Ranges:
    case TrackKind::Calls:
      return track.thread.value;
    case TrackKind::AsyncRanges:
      return track.process.value;
    case TrackKind::Annotations:
    case TrackKind::Work:
      return track.queue.value;
    case TrackKind::Counter:
      break;
  }
  return track.isMemory ? track.device.value : track.counterTrack.value;
}

class TrackWriter {
 public:
  explicit TrackWriter(prof::Writer& writer, Progress progress = {})
      : writer_(writer), progress_(std::move(progress)) {}

  prof::Status write(const TrackSet& set, std::uint64_t content) {
    for (const TrackGroup& group : set.groups) {
      for (const Track& track : group.tracks) writeTrack(track);
    }
    ByteOutput out;
    out.put(kMagic);
    out.put(kVersion);
    out.put(content);
    out.put(set.events);
    out.put(static_cast<std::uint32_t>(entries_.size()));
    for (const TrackEntry& entry : entries_) {
      for (const std::uint32_t value : {entry.kind, entry.id, entry.role, entry.lane})
        out.put(value);
      out.put(entry.offset);
    }
    if (stopped_) return prof::Error{"keeping tracks was cancelled"};
    if (tooLarge_) return prof::Error{"a track is too large to be kept"};
    append({out.bytes()});
    return writer_.status();
  }

 private:
  std::uint64_t append(const std::vector<std::span<const std::byte>>& sections) {
    return writer_.appendDerived(kProduct, sections);
  }

  void writeTrack(const Track& track) {
    TrackEntry entry{track.isMemory ? kMemory : static_cast<std::uint32_t>(track.kind), idOf(track),
                     track.memoryRole, 0, 0};
    if (track.kind == TrackKind::Counter) {
      ByteOutput out;
      track.counter.write(out);
      if (out.bytes().size() > kMostBytes) tooLarge_ = true;
      if (tooLarge_) return;
      entry.offset = append({out.bytes()});
      entries_.push_back(entry);
      return;
    }
    for (std::size_t lane = 0; lane < track.lanes.size() && goesOn(); ++lane) {
      entry.lane = static_cast<std::uint32_t>(lane);
      entry.offset = writeLane(track.lanes[lane]);
      entries_.push_back(entry);
    }
    if (track.deeper > 0) entries_.push_back({kDeeper, entry.id, entry.kind, 0, track.deeper});
  }

  std::uint64_t writeLane(const Lane& lane) {
    ByteOutput head;
    lane.write(head);
    if (head.bytes().size() > kMostBytes) tooLarge_ = true;
    if (tooLarge_) return 0;
    std::vector<std::span<const std::byte>> sections{head.bytes()};
    std::uint64_t bytes = head.bytes().size();
    std::uint64_t first = 0;
    const auto flush = [&] {
      const std::uint64_t at = append(sections);
      if (first == 0) first = at;
      sections.clear();
      bytes = 0;
    };
    for (std::size_t i = 0; i < lane.events().chunkCount() && goesOn(); ++i) {
      const auto chunk = lane.events().chunkBytes(i);
      if (sections.size() > kMostChunks || bytes + chunk.size() > kMostBytes) flush();
      sections.push_back(chunk);
      bytes += chunk.size();
    }
    flush();
    return first;
  }

  bool goesOn() {
    stopped_ = stopped_ || (progress_ && !progress_(0));
    return !stopped_;
  }

  prof::Writer& writer_;
  Progress progress_;
  std::vector<TrackEntry> entries_;
  bool tooLarge_ = false;
  bool stopped_ = false;
};

/// Reads a product; nothing of it is used unless all of it can be.
class TrackReader {
 public:
  TrackReader(const Store& store, std::shared_ptr<const prof::Reader> reader)
      : reader_(std::move(reader)), assembly_(store) {}

  std::shared_ptr<const TrackSet> read(std::uint64_t content) {
    const auto blocks = reader_->derivedBlocks();
    if (blocks.empty() || !readDirectory(blocks.back(), content)) return nullptr;
    if (!std::ranges::all_of(entries_, [&](const TrackEntry& entry) { return readEntry(entry); }))
      return nullptr;
    auto set = assembly_.finish(false);
    set->readAhead.reset(new TrackSet::ReadAhead(*set));
    return set;
  }

 private:
  bool load(const prof::DerivedSection& section) {
    // The largest section of a lane is megabytes: not cleared first.
    head_.resizeForOverwrite(section.bytes);
    return reader_->readSection(section, {head_.data(), head_.size()}).ok();
  }

  bool readDirectory(const prof::DerivedBlock& block, std::uint64_t content) {
    const auto sections = reader_->derivedSections(block, kProduct);
    if (!sections || sections->size() != 1 || !load(sections->front())) return false;
    ByteInput in(head_.view());
    const bool known = in.take<std::uint32_t>() == kMagic && in.take<std::uint32_t>() == kVersion;
    if (!known || in.take<std::uint64_t>() != content) return false;
    (void)in.take<std::uint64_t>();
    const auto count = in.take<std::uint32_t>();
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
      TrackEntry& entry = entries_.emplace_back();
      for (std::uint32_t* value : {&entry.kind, &entry.id, &entry.role, &entry.lane})
        *value = in.take<std::uint32_t>();
      entry.offset = in.take<std::uint64_t>();
    }
    return in.ok();
  }

  bool readDeeper(const TrackEntry& entry) {
    if (entry.role >= static_cast<std::uint32_t>(TrackKind::Counter)) return false;
    Track& track = assembly_.track(static_cast<TrackKind>(entry.role), entry.id);
    if (track.lanes.empty()) return false;
    track.deeper = entry.offset;
    prof::addTo(track.events, entry.offset);
    return true;
  }

  bool readEntry(const TrackEntry& entry) {
    if (entry.kind == kDeeper) return readDeeper(entry);
    const auto blocks = reader_->derivedBlocks();
    auto block = std::ranges::lower_bound(blocks, entry.offset, {}, &prof::DerivedBlock::offset);
    if (block == blocks.end() || block->offset != entry.offset || entry.kind > kMemory)
      return false;
    // One block must not stand for lanes without end.
    if (entry.offset < behindLast_) return false;
    behindLast_ = entry.offset + 1;
    auto sections = reader_->derivedSections(*block, kProduct);
    if (!sections || sections->empty() || !load(sections->front())) return false;
    ByteInput in(head_.view());
    // Each is there once.
    const auto readCounter = [&](CounterLane& counter) {
      return counter.size() == 0 && counter.read(in);
    };
    if (entry.kind == kMemory) return readCounter(assembly_.memory(entry.id, entry.role).counter);
    const auto kind = static_cast<TrackKind>(entry.kind);
    Track& track = assembly_.track(kind, entry.id);
    if (kind == TrackKind::Counter) return readCounter(track.counter);
    if (entry.lane != track.lanes.size() || entry.lane >= kMostLanes) return false;
    return readLane(in, block, *std::move(sections), track);
  }

  bool readLane(ByteInput& in, std::span<const prof::DerivedBlock>::iterator block,
                std::vector<prof::DerivedSection> sections, Track& track) {
    ByteInput peek = in;
    const auto events = peek.take<std::uint64_t>();
    const std::uint64_t chunks =
        events / EventChunks::kChunk + (events % EventChunks::kChunk != 0 ? 1 : 0);
    sections.erase(sections.begin());
    while (sections.size() < chunks) {
      if (++block == reader_->derivedBlocks().end()) return false;
      const auto more = reader_->derivedSections(*block, kProduct);
      if (!more || more->empty()) return false;
      sections.insert(sections.end(), more->begin(), more->end());
    }
    behindLast_ = block->offset + 1;
    std::vector<std::uint32_t> sizes;
    for (const auto& section : sections) sizes.push_back(section.bytes);
    Lane& lane = track.lanes.emplace_back();
    track.events += events;
    return lane.read(in, std::move(sizes),
                     [reader = reader_, sections = std::move(sections)](std::size_t chunk,
                                                                        std::span<std::byte> out) {
                       return reader->readSection(sections[chunk], out).ok();
                     });
  }

  std::shared_ptr<const prof::Reader> reader_;
  TrackAssembly assembly_;
  std::vector<TrackEntry> entries_;
  std::uint64_t behindLast_ = 0;
  PodArray<std::byte> head_;
};

/// True when a reader would take all of it. A trace whose times make no sense is shown as it is,
/// built each time.
bool canBeKept(const TrackSet& set) {
  return std::ranges::all_of(set.groups, [](const TrackGroup& group) {
    return std::ranges::all_of(group.tracks, [](const Track& track) {
      return std::ranges::all_of(track.lanes,
                                 [](const Lane& lane) { return lane.events().canBeKept(); });
    });
  });
}

/// Files with the same content key by chance get different names. A file that moves gets a new one.
std::uint64_t cacheName(const std::filesystem::path& path, std::uint64_t content) {
  std::error_code ignored;
  const std::string resolved = std::filesystem::weakly_canonical(path, ignored).string();
  return XXH3_64bits_withSeed(resolved.data(), resolved.size(), content);
}

/// Removes the files longest unused until the folder holds no more than it may.
void trimCache(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  std::uint64_t total = 0;
  for (const auto& file : fs::directory_iterator(folder, error)) {
    files.emplace_back(file.last_write_time(error), file.path());
    total += file.file_size(error);
  }
  std::ranges::sort(files);
  for (const auto& [time, path] : files) {
    if (total <= kCacheBytes) return;
    total -= std::min<std::uint64_t>(total, fs::file_size(path, error));
    fs::remove(path, error);
  }
}

prof::Status writeCache(const std::filesystem::path& path, const TrackSet& tracks,
                        std::uint64_t content, const Progress& progress) {
  if (prof::Status status = prof::createDraft(path); !status) return status;
  auto writer = prof::Writer::create(path);
  if (!writer) return writer.status();
  if (prof::Status status = TrackWriter(*writer, progress).write(tracks, content); !status)
    return status;
  return writer->finish();
}

}  // namespace

std::filesystem::path trackCacheFolder() {
  if (const char* given = std::getenv("XDG_CACHE_HOME"); given != nullptr && *given == '/') {
    return std::filesystem::path(given) / "lacuna" / "tracks";
  }
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/'
             ? std::filesystem::path(home) / ".cache" / "lacuna" / "tracks"
             : std::filesystem::path();
}

std::shared_ptr<const TrackSet> loadTracks(const Store& store) {
  const prof::Reader* own = store.backend().reader();
  if (own == nullptr) return nullptr;
  const std::uint64_t content = own->contentKey();
  if (auto set = TrackReader(store, std::make_shared<const prof::Reader>(*own)).read(content))
    return set;
  const auto folder = trackCacheFolder();
  const auto path = folder / fmt::format("{:016x}.lcn", cacheName(store.path(), content));
  std::error_code error;
  if (folder.empty() || !std::filesystem::exists(path, error)) return nullptr;
  auto cache = prof::Reader::open(path, {prof::ReaderOptions::Verify::Never});
  if (!cache) return nullptr;
  auto set =
      TrackReader(store, std::make_shared<const prof::Reader>(*std::move(cache))).read(content);
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now(), error);
  return set;
}

prof::Result<std::shared_ptr<const TrackSet>> openTracks(const Store& store,
                                                         const Progress& progress) {
  if (auto set = loadTracks(store)) return set;
  return buildTracks(store, progress);
}

prof::Status keepTracks(const Store& store, const TrackSet& tracks, std::uint64_t leastEvents,
                        const Progress& progress) {
  const prof::Reader* own = store.backend().reader();
  const auto folder = trackCacheFolder();
  if (own == nullptr || folder.empty() || tracks.kept || tracks.events < leastEvents ||
      !own->complete())
    return {};
  if (!canBeKept(tracks)) return {};
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return prof::Error{
        fmt::format("cannot create {}: {}", folder.string(), prof::fileProblem(error.value()))};
  const std::uint64_t content = own->contentKey();
  const auto path = folder / fmt::format("{:016x}.lcn", cacheName(store.path(), content));
  // Another process may read or write the same: only whole files get the name.
  const std::filesystem::path unfinished = path.string() + fmt::format(".{}", ::getpid());
  prof::Status status = writeCache(unfinished, tracks, content, progress);
  if (status) {
    std::filesystem::rename(unfinished, path, error);
    trimCache(folder);
  } else {
    std::filesystem::remove(unfinished, error);
  }
  return status;
}

namespace {

/// Tracks are built in memory, and are then written: measured at 8 bytes a row, at the most.
constexpr std::uint64_t kBytesPerRow = 9;
/// The most memory for that at the end of a recording, where nobody asked for it; who opens the
/// trace builds them then.
constexpr std::uint64_t kMostBuildBytes = std::uint64_t{1} << 30;

/// The memory that this machine can spare, by its own account; no limit where it gives none.
std::uint64_t availableBytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    std::uint64_t kilobytes = 0;
    if (word == "MemAvailable:" && file >> kilobytes) return kilobytes << 10;
  }
  return UINT64_MAX;
}

}  // namespace

prof::Status addTracks(const std::filesystem::path& path, const Progress& progress,
                       std::uint64_t leastEvents) {
  auto store = Store::open(path);
  if (!store) return store.error();
  const prof::Reader* reader = (*store)->backend().reader();
  if (reader == nullptr) return prof::Error{fmt::format("{} is no .lcn file", path.string())};
  std::uint64_t rows = 0;
  for (const prof::TableInfo& table : reader->tables()) rows += table.rows;
  if (rows < leastEvents || rows * kBytesPerRow > std::min(kMostBuildBytes, availableBytes() / 4))
    return {};
  if (loadTracks(**store)) return {};
  auto tracks = buildTracks(**store, progress);
  if (!tracks) return tracks.error();
  if ((*tracks)->events < leastEvents || !canBeKept(**tracks)) return {};
  const std::uint64_t content = reader->contentKey();
  auto writer = prof::Writer::extend(path);
  if (!writer) return writer.status();
  prof::Status status = TrackWriter(*writer).write(**tracks, content);
  if (status) status = writer->finish();
  if (status) return status;
  // The trace matters more: without them it is as whole as it was.
  if (prof::Status back = writer->withdrawDerived(); !back) return back;
  if (prof::Status end = writer->finish(); !end) return end;
  return status;
}

}  // namespace lacuna::analyzer
