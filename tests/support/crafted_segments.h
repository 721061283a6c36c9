// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <vector>

#include "record/drain/process_reader.h"

namespace lacuna::test {

/// Writes into a recorder's file as a hostile program could: records after a thread's own, further
/// segments, and the words of its entry. No thread of that entry may record meanwhile.
class CraftedSegments {
 public:
  using View = prof::recording::View;
  using ThreadEntry = prof::recording::ThreadEntry;
  using EntryState = prof::recording::EntryState;
  using Words = std::vector<std::uint64_t>;

  explicit CraftedSegments(const std::filesystem::path& file)
      : file_(prof::recording::MappedFile::open(file, true)) {}
  [[nodiscard]] bool ok() const { return file_.ok(); }
  [[nodiscard]] const View& view() const { return (*file_).view(); }

  /// The entries that threads have or had.
  [[nodiscard]] std::vector<std::uint32_t> threads() const {
    std::vector<std::uint32_t> used;
    for (std::uint32_t index = 1; index <= prof::recording::kMaxThreads; ++index) {
      if (view().thread(index).state.load() != EntryState::Free) used.push_back(index);
    }
    return used;
  }
  [[nodiscard]] ThreadEntry& thread(std::uint32_t index) const { return view().thread(index); }

  /// The stamp of the last record of a thread.
  [[nodiscard]] std::uint64_t lastStamp(std::uint32_t index) const {
    std::uint64_t last = 0;
    prof::recording::forEachRecord(
        view().segmentBase(thread(index).current.load()),
        [&](const std::uint64_t* slot) { last = std::max(last, slot[0]); });
    return last;
  }

  /// Puts a record of these words, the stamp first, after the last one. False when the pool has no
  /// room for it.
  bool append(std::uint32_t index, const Words& record) {
    const std::size_t bytes = (record.size() + 1) / 2 * prof::recording::kSlotBytes;
    std::uint32_t segment = thread(index).current.load();
    if (segment != at_.segment) at_ = {segment, endOf(segment)};
    if (at_.offset + bytes > prof::recording::kSegmentBytes) {
      segment = link(index, segment);
      if (segment == 0) return false;
      at_ = {segment, prof::recording::kSegmentHead};
    }
    std::copy(record.begin(), record.end(),
              reinterpret_cast<std::uint64_t*>(view().segmentBase(segment) + at_.offset));
    at_.offset += bytes;
    return true;
  }

  struct Domain {
    std::uint32_t domain = 0;
    std::uint32_t pops = 0;
    std::uint32_t pushes = 0;
  };
  /// The record of a gap, of up to 15 domains.
  static Words gap(std::uint64_t stamp, std::uint32_t number, const std::vector<Domain>& domains,
                   bool isTooMany = false, std::uint64_t records = 1) {
    using prof::recording::Kind;
    const auto further = static_cast<std::uint32_t>(1 + domains.size());
    Words words{stamp, prof::recording::word(Kind::Gap, further << 16, 0), records,
                std::uint64_t{number} << 1 | (isTooMany ? 1 : 0)};
    for (const Domain& one : domains) {
      words.push_back(one.domain);
      words.push_back(prof::recording::packPair(one.pops, one.pushes));
    }
    return words;
  }

 private:
  struct Place {
    std::uint32_t segment = 0;
    std::size_t offset = 0;
  };

  [[nodiscard]] std::size_t endOf(std::uint32_t segment) const {
    std::size_t end = prof::recording::kSegmentHead;
    prof::recording::forEachRecord(view().segmentBase(segment), [&](const std::uint64_t* slot) {
      end += prof::recording::slotsOf(slot[1]) * prof::recording::kSlotBytes;
    });
    return end;
  }

  /// Gives the thread one more segment.
  [[nodiscard]] std::uint32_t link(std::uint32_t index, std::uint32_t last) const {
    const auto most = static_cast<std::uint32_t>((view().offsets.end - view().offsets.segments) /
                                                 prof::recording::kSegmentBytes);
    std::uint32_t next = view().popFree(most);
    if (next == 0 && view().header().segmentCount.load() < most)
      next = view().header().segmentCount.fetch_add(1) + 1;
    if (next == 0) return 0;
    prof::recording::Segment& head = view().segment(next);
    head.owner.store(index);
    head.generation.store(thread(index).generation.load());
    head.sequence.store(view().header().sequence.fetch_add(1) + 1);
    head.next.store(0);
    view().segment(last).next.store(next);
    thread(index).current.store(next);
    return next;
  }

  prof::Result<prof::recording::MappedFile> file_;
  Place at_;
};

}  // namespace lacuna::test
