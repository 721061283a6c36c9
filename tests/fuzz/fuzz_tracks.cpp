// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lacuna/analyzer/lanes.h"
#include "lacuna/prof/reader.h"
#include "lacuna/prof/writer.h"
#include "support/temp_dir.h"

/// Any bytes in the tracks that a trace keeps as derived blocks. The first byte decides how they
/// come there. They change sections that are then written anew, as another version or a faulty
/// writer would leave them, or they change the file, as a faulty disk does. A fuzzer's build
/// accepts every checksum. The rest is a list of patches {section from the last, offset 24 bits,
/// length} bytes… to sound ones. In patches to the file the first number does not count: they go
/// anywhere in the derived blocks.
namespace {

using namespace lacuna;
using analyzer::Lane;
using analyzer::TrackSet;

/// More than a chunk, so that there are several.
constexpr int kRanges = 20'000;
constexpr int kPixels = 64;

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz_tracks: %s failed\n", what);
  std::abort();
}

void writeTrace(const std::filesystem::path& path) {
  auto writer = prof::Writer::create(path);
  must(writer.ok(), "creating the trace");
  writer->append(prof::Thread{.id = prof::ThreadId(1), .name = writer->intern("main")});
  writer->append(prof::Queue{.id = prof::QueueId(1), .device = prof::DeviceId(1)});
  writer->append(prof::CounterTrack{.id = prof::TrackId(1), .name = writer->intern("depth")});
  const prof::StringId names[] = {writer->intern("forward"), writer->intern("backward"),
                                  writer->intern("step")};
  for (int i = 0; i < kRanges; ++i) {
    const prof::TimeNs start = 1'000'000 + 1'000 * i;
    writer->append(prof::Range{.startNs = start,
                               .durNs = 100 + i % 7 * 90,
                               .thread = prof::ThreadId(1),
                               .name = names[i / 100 % 3]});
    if (i % 8 == 0) {
      writer->append(prof::Kernel{.startNs = start + 50,
                                  .durNs = 400,
                                  .queue = prof::QueueId(1),
                                  .device = prof::DeviceId(1)});
    }
    if (i % 64 != 0) continue;
    writer->append(prof::CounterSample{
        .timeNs = start, .track = prof::TrackId(1), .value = static_cast<double>(i % 9)});
    writer->append(prof::Allocation{.timeNs = start,
                                    .device = prof::DeviceId(1),
                                    .address = static_cast<std::uint64_t>(i + 1),
                                    .bytes = 8});
  }
  must(writer->finish().ok(), "writing the trace");
}

void readLane(const Lane& lane, const analyzer::PixelGrid& grid,
              std::vector<analyzer::Cell>& cells) {
  cells.resize(static_cast<std::size_t>(grid.width));
  lane.query(grid, cells);
  for (const analyzer::Cell& cell : cells)
    must(cell.busy >= 0 && cell.busy <= 1, "a share of a pixel's time");
}

/// Looks at everything from afar, nearer, and at single events.
void readTracks(const TrackSet& set, prof::TimeWindow span) {
  std::vector<analyzer::Cell> cells;
  std::vector<analyzer::CounterCell> values(kPixels);
  for (const analyzer::TrackGroup& group : set.groups) {
    for (const analyzer::Track& track : group.tracks) {
      for (const double zoom : {0.5, 1.0, 30.0, 900.0, 40'000.0}) {
        const double npp = static_cast<double>(span.endNs - span.startNs) / kPixels / zoom;
        for (const prof::TimeNs from : {span.startNs, span.startNs / 2 + span.endNs / 2}) {
          for (const Lane& lane : track.lanes) readLane(lane, {from, npp, kPixels}, cells);
          track.counter.query({from, npp, kPixels}, values);
        }
        for (const Lane& lane : track.lanes) readLane(lane, {span.startNs, npp, 1}, cells);
      }
      for (const Lane& lane : track.lanes) {
        must(lane.lowerBound(span.startNs) <= lane.size(), "finding an event");
        for (std::size_t i = 0; i < lane.size(); i += 61) {
          (void)lane.endNs(i);
          (void)lane.name(i);
        }
        (void)lane.at(span.endNs - 1);
      }
      (void)track.counter.at(span.endNs);
    }
  }
}

void mustBeSame(const Lane& kept, const Lane& built, prof::TimeWindow span) {
  std::vector<analyzer::Cell> mine, theirs;
  must(kept.size() == built.size(), "comparing how many events there are");
  for (const double zoom : {1.0, 50.0, 4'000.0}) {
    const double npp = static_cast<double>(span.endNs - span.startNs) / kPixels / zoom;
    readLane(kept, {span.startNs, npp, kPixels}, mine);
    readLane(built, {span.startNs, npp, kPixels}, theirs);
    for (std::size_t x = 0; x < mine.size(); ++x)
      must(mine[x].busy == theirs[x].busy && mine[x].name == theirs[x].name, "comparing pictures");
  }
  must(!kept.events().damaged(), "reading events");
  for (std::size_t i = 0; i < kept.size(); i += 17)
    must(kept.startNs(i) == built.startNs(i) && kept.durNs(i) == built.durNs(i),
         "comparing events");
}

void mustBeSame(const TrackSet& kept, const TrackSet& built) {
  must(kept.groups.size() == built.groups.size(), "comparing groups");
  for (std::size_t g = 0; g < kept.groups.size(); ++g) {
    const auto& mine = kept.groups[g].tracks;
    const auto& theirs = built.groups[g].tracks;
    must(mine.size() == theirs.size(), "comparing tracks");
    for (std::size_t t = 0; t < mine.size(); ++t) {
      must(mine[t].lanes.size() == theirs[t].lanes.size(), "comparing lanes");
      for (std::size_t i = 0; i < mine[t].lanes.size(); ++i)
        mustBeSame(mine[t].lanes[i], theirs[t].lanes[i], built.span);
      must(mine[t].counter.size() == theirs[t].counter.size(), "comparing counters");
      for (std::size_t i = 0; i < mine[t].counter.size(); ++i)
        must(mine[t].counter.value(i) == theirs[t].counter.value(i), "comparing samples");
    }
  }
}

/// A trace with its tracks in it, in sections and as it lies in its file.
class Victim {
 public:
  Victim() : path_(folder_ / "trace.lcn") {
    // Nobody's cache is looked into.
    must(::setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1) == 0, "setenv");
    writeTrace(path_);
    must(analyzer::addTracks(path_, {}, 1).ok(), "adding tracks");
    bytes_.resize(std::filesystem::file_size(path_));
    std::ifstream(path_, std::ios::binary)
        .read(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
    const auto store = analyzer::Store::open(path_);
    must(store.ok(), "opening the trace");
    auto built = analyzer::buildTracks(**store);
    must(built.ok(), "building tracks");
    built_ = *std::move(built);
    const auto reader = prof::Reader::open(path_);
    must(reader.ok() && !reader->derivedBlocks().empty(), "opening the trace's tracks");
    for (const prof::DerivedBlock& block : reader->derivedBlocks()) readBlock(*reader, block);
    from_ = reader->derivedBlocks().front().offset;
    to_ = reader->derivedBlocks().back().offset + reader->derivedBlocks().back().bytes;
    // Without patches they are found; otherwise nothing below would be reached.
    writeSections(blocks_);
    const auto kept = check();
    must(kept != nullptr, "finding the sound tracks");
    mustBeSame(*kept, *built_);
  }

  void patchSections(const std::uint8_t* data, std::size_t size) {
    Blocks patched = blocks_;
    std::vector<std::vector<char>*> sections;
    for (auto& block : patched) {
      for (auto& section : block) sections.push_back(&section);
    }
    forEachPatch(data, size,
                 [&](std::size_t section, std::size_t offset, std::span<const std::uint8_t> bytes) {
                   std::vector<char>& target =
                       *sections[sections.size() - 1 - section % sections.size()];
                   if (!target.empty()) write(target, offset % target.size(), bytes);
                 });
    writeSections(patched);
    (void)check();
  }

  void patchFile(const std::uint8_t* data, std::size_t size) {
    std::vector<char> patched = bytes_;
    forEachPatch(data, size,
                 [&](std::size_t, std::size_t offset, std::span<const std::uint8_t> bytes) {
                   const std::size_t at = from_ + offset % (to_ - from_);
                   write(patched, at, bytes.first(std::min(bytes.size(), to_ - at)));
                 });
    writeFile(patched);
    (void)check();
  }

 private:
  using Blocks = std::vector<std::vector<std::vector<char>>>;

  static void write(std::vector<char>& into, std::size_t at, std::span<const std::uint8_t> bytes) {
    const std::size_t count = std::min(bytes.size(), into.size() - at);
    std::copy_n(bytes.begin(), count, into.begin() + static_cast<std::ptrdiff_t>(at));
  }

  template <class Patch>
  static void forEachPatch(const std::uint8_t* data, std::size_t size, Patch&& patch) {
    constexpr std::size_t kHead = 5;
    while (size > kHead) {
      const std::size_t offset =
          std::size_t{data[1]} | std::size_t{data[2]} << 8 | std::size_t{data[3]} << 16;
      const std::size_t count = std::min<std::size_t>(1 + data[4] % 64, size - kHead);
      patch(std::size_t{data[0]}, offset, std::span(data + kHead, count));
      data += kHead + count;
      size -= kHead + count;
    }
  }

  void readBlock(const prof::Reader& reader, const prof::DerivedBlock& block) {
    const auto sections = reader.derivedSections(block, "tracks");
    must(sections.ok(), "finding sections");
    auto& out = blocks_.emplace_back();
    for (const prof::DerivedSection& section : *sections) {
      std::vector<char>& bytes = out.emplace_back(section.bytes);
      must(reader.readSection(section, std::as_writable_bytes(std::span(bytes))).ok(),
           "reading a section");
    }
  }

  void writeFile(const std::vector<char>& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  void writeSections(const Blocks& blocks) const {
    writeFile(bytes_);
    auto writer = prof::Writer::extend(path_);
    must(writer.ok(), "extending the trace");
    for (const auto& block : blocks) {
      std::vector<std::span<const std::byte>> sections;
      for (const std::vector<char>& section : block)
        sections.push_back(std::as_bytes(std::span(section)));
      (void)writer->appendDerived("tracks", sections);
    }
    must(writer->finish().ok(), "writing the sections");
  }

  /// The tracks that were found, which may hold anything, but are read in bounds and in time; null
  /// for none.
  [[nodiscard]] std::shared_ptr<const TrackSet> check() const {
    const auto store = analyzer::Store::open(path_);
    if (!store.ok()) return nullptr;
    auto kept = analyzer::loadTracks(**store);
    if (kept != nullptr) readTracks(*kept, built_->span);
    return kept;
  }

  test::TempDir folder_;
  std::filesystem::path path_;
  std::vector<char> bytes_;
  Blocks blocks_;
  std::size_t from_ = 0, to_ = 0;
  std::shared_ptr<const TrackSet> built_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Victim victim;
  if (size == 0) return 0;
  if (data[0] % 2 == 0) {
    victim.patchSections(data + 1, size - 1);
  } else {
    victim.patchFile(data + 1, size - 1);
  }
  return 0;
}
