// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lacuna/prof/prof.h"

/// The contents of a process's recording file, as the guest writes it and the drainer reads it. One
/// file:
///
///   Header | free-list links | thread table | strings | segments
///
/// Sizes follow from Header::maxSegments alone. Segments and threads are named by index + 1, 0 for
/// none. Everything that both sides touch at the same time is atomic; the drainer checks every
/// value before it uses it.
namespace lacuna::prof::recording {

inline constexpr std::uint64_t kMagic = 0x3143455241434c00;  // "\0LCAREC1"
inline constexpr std::uint32_t kVersion = 9;
inline constexpr const char* kFileSuffix = ".lcr";
inline constexpr const char* kSettingsFile = "settings";
inline constexpr const char* kSettingsDraft = "settings.new";
inline constexpr const char* kSharedLink = "shm";
/// A snapshot's trace until it is whole.
inline constexpr const char* kSnapshotDraft = "snapshot.lcn";
/// In the folder in shared memory: the key of the recording that it belongs to, and where that was
/// made.
inline constexpr const char* kOwnerFile = "owner";

inline constexpr std::size_t kSlotBytes = 16;
inline constexpr std::size_t kSegmentBytes = LACUNA_SEGMENT_BYTES;
inline constexpr std::size_t kSegmentHead = 64;
inline constexpr std::uint32_t kMaxThreads = 2048;
inline constexpr std::uint32_t kMaxSegments = 1u << 18;
inline constexpr std::size_t kStringsBytes = 16u << 20;
inline constexpr std::size_t kStringsStep = 256u << 10;
inline constexpr std::size_t kMaxName = 4095;
inline constexpr std::size_t kMaxSlots = 17;
inline constexpr std::size_t kGapDomains = 8;

/// The settings that createRecording() leaves for the processes that join.
struct Settings {
  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t flightRecorder = 0;
  std::uint64_t poolBytes = 0;
  std::uint64_t maxPoolBytes = 0;
  std::uint64_t key = 0;              ///< see recordingKey()
  std::uint64_t sharedRoomBytes = 0;  ///< free room without which shared memory is full
};

enum class ClockKind : std::uint32_t { Monotonic = 1, Tsc = 2 };

struct ClockTuple {
  std::atomic<std::uint64_t> valid;  ///< written last
  std::int64_t monotonicNs;
  std::int64_t realtimeNs;
  std::uint64_t stamp;
};
inline constexpr std::size_t kTuples = 64;

struct Header {
  std::uint64_t magic;
  std::uint32_t version;
  ClockKind clock;
  std::uint32_t osPid;
  std::uint32_t parentPid;
  std::uint64_t
      startTicks;  ///< of the process, from /proc, distinguishes it from a later one with its pid
  std::uint8_t image[16];  ///< the same for all recorders of one program image
  char bootId[40];
  char name[64];
  char commandLine[1024];
  std::int32_t rank;
  /// The highest number of a thread's entry that was ever taken. A drainer reads no further while
  /// the process lives; 0: all.
  std::atomic<std::uint32_t> entriesUsed;
  std::uint32_t maxSegments;
  std::uint32_t flightRecorder;
  std::uint64_t pidNamespace;  ///< in which osPid and parentPid are numbers, and all thread ids
  /// The numbers of the process and its parent for an observer in another namespace. The observer
  /// notes them.
  std::atomic<std::uint32_t> seenPid;
  std::atomic<std::uint32_t> seenParent;

  std::atomic<std::uint32_t> segmentCount;
  std::atomic<std::uint64_t>
      freeHead;  ///< tag << 32 | segment, against reuse between load and exchange
  std::atomic<std::uint32_t> freeCount;
  std::atomic<std::uint32_t> stringsUsed;  ///< bytes
  std::atomic<std::uint32_t> closing;      ///< the drainer is at its end: take nothing over
  std::atomic<std::uint32_t> detached;
  std::atomic<std::uint64_t> dropped;  ///< by threads that could not get an entry
  std::atomic<std::uint64_t> droppedStarts;
  /// Ranges that those threads have open. They count as dropped unless their end is recorded.
  std::atomic<std::uint64_t> droppedOpen;
  std::atomic<std::uint64_t> sequence;
  std::atomic<std::uint32_t> tupleCount;
  ClockTuple tuples[kTuples];
};
inline constexpr std::size_t kHeaderBytes = 4096;
static_assert(sizeof(Header) <= kHeaderBytes);

/// Kept is no thread. In a flight recorder it stands for the rows that the ring never overwrites.
/// It also counts what was overwritten of threads whose entries others have.
enum class EntryState : std::uint32_t { Free, Live, Exited, Kept };
/// The entry of those. The first, so that they are read before the rows that refer to them.
inline constexpr std::uint32_t kKeptEntry = 1;

/// Ranges of a domain in a gap.
struct GapDomain {
  std::uint32_t domain;
  std::uint32_t pops;  ///< of ranges opened before the gap
  /// Begun in the gap: those that have ended, and are lost << 32 | those that are still open. One
  /// goes from these to those in one store, for a process may be killed after any instruction.
  std::uint64_t ranges;
  [[nodiscard]] std::uint32_t pushes() const {
    return static_cast<std::uint32_t>(__atomic_load_n(&ranges, __ATOMIC_RELAXED));
  }
  [[nodiscard]] std::uint64_t ended() const {
    return __atomic_load_n(&ranges, __ATOMIC_RELAXED) >> 32;
  }
};
static_assert(sizeof(GapDomain) == 16);

struct ThreadEntry {
  std::atomic<EntryState> state;
  std::atomic<std::uint32_t> generation;
  std::uint32_t osTid;
  std::atomic<std::uint32_t> name;
  std::atomic<std::uint32_t> first;  ///< its oldest segment
  std::atomic<std::uint32_t> current;
  std::uint64_t startStamp;
  std::uint64_t endStamp;
  std::atomic<std::uint64_t>
      dropped;  ///< events, see eventsOf(); without ranges that began in a gap
  std::atomic<std::uint64_t> droppedStarts;
  char comm[16];
  // Only the thread itself uses these while it lives. A gap is what was dropped since the last
  // record.
  std::uint64_t gapRecords;
  std::uint32_t gapDomains;
  std::uint32_t gapNumber;  ///< of this gap, or the next one; its record has it, too
  GapDomain gap[kGapDomains];
  std::uint64_t ended;  ///< ranges that began and ended in the gaps before this one, and are lost
  std::uint64_t endedNext;  ///< the same with this gap, once its record is written
};
inline constexpr std::size_t kThreadBytes = 256;
static_assert(sizeof(ThreadEntry) <= kThreadBytes);

struct Segment {
  std::atomic<std::uint32_t> next;
  std::atomic<std::uint32_t> owner;  ///< thread entry
  std::atomic<std::uint32_t> generation;
  std::atomic<std::uint32_t> lap;    ///< times the drainer emptied it in place
  std::atomic<std::uint32_t> reset;  ///< one of kSegment…
  std::uint32_t unused;
  std::atomic<std::uint64_t> sequence;
};
static_assert(sizeof(Segment) <= kSegmentHead);
/// A thread that finds no other segment seals its own; the drainer empties it, and the thread
/// starts over in it.
inline constexpr std::uint32_t kSegmentNormal = 0;
inline constexpr std::uint32_t kSegmentSealed = 1;
inline constexpr std::uint32_t kSegmentEmptied = 2;

/// A name in the strings region: this head, then the bytes, padded to 8. Its id is its offset / 8.
struct StringHead {
  static constexpr std::uint32_t kPresent = 0x80000000u;
  static constexpr std::uint32_t kSite = 0x40000000u;
  static constexpr std::uint32_t kLength = 0xffffu;
  std::atomic<std::uint32_t> word;  ///< written last: flags and length
  std::uint32_t hash;
};
struct SiteBody {
  std::uint32_t name, domain, category, colour;
};

/// A record: slots of two words. The first word of the first slot is the stamp; it is written last
/// and is never 0. Its second word is kind << 56 | domain << 32 | name for most kinds; what the
/// further slots hold is beside each kind.
enum class Kind : std::uint8_t {
  Push = LacunaRecordPush,
  Pop = LacunaRecordPop,
  Mark = LacunaRecordMark,
  PushEvent = 4,  ///< {category 24 | payloadType 8 | colour 32, payload} {text, correlation}
  MarkEvent = 5,  ///< the same
  Start = 6,      ///< the same, and {range, 0}
  End = 7,        ///< {range, 0}
  Counter = 8,    ///< name: track; {value, 0}
  Allocate = 9,   ///< domain: role; {address, bytes}
  Free = 10,      ///< {address, 0}
  Flow = 11,      ///< domain: phase; {id, category}
  Log = 12,       ///< domain: source; name: text; {level, 0}
  Row = 13,       ///< domain: further slots << 16 | bytes; name: table; the packed row
  Gap = 14,  ///< domain: further slots; {records, number << 1 | too many domains}, then per domain
             ///< {domain, pops << 32 | pushes}
  Execution = 15,  ///< a push: {what, correlation} {sequence, bytes} {enqueueStart, enqueueNs << 32
                   ///< | enqueueThread}
  Wait = 16,       ///< a push: {what, sequence}
  Memory = 17,  ///< name: tensor; {address, bytes} {sequence, what: of op, action and role << 16 |
                ///< queue}
  Operator = 18,  ///< an operator, its allocation and its execution: see OperatorRecord below
};

/// A record of Kind::Operator stands for PushEvent, Memory, Execution, Pop and Pop, with all their
/// times. It is stamped with the first one and names the operator. An operator that does not fit is
/// recorded as those five.
struct OperatorRecord {
  std::uint32_t start, stop;  ///< stamps of the execution, from the record's
  std::uint32_t end;          ///< of the operator
  std::uint32_t executionName;
  std::uint64_t correlation;
  std::uint64_t operatorSequence;
  std::uint64_t sequence;
  std::uint32_t shapes;
  std::uint32_t tensor;
  std::uint64_t address;
  // No bit fields: writing one reads what the last one has just written.
  std::uint64_t sizes;       ///< of the memory 40 | of what the execution touches 24
  std::uint64_t memoryWhat;  ///< as in Memory
  std::uint64_t
      run;  ///< 40 unused | how far memory's sequence is behind 16 | kind of the execution 8

  static constexpr unsigned kMemoryBits = 40, kExecutionBits = 24, kBehindBits = 16;
  [[nodiscard]] std::uint64_t bytes() const {
    return sizes & ((std::uint64_t{1} << kMemoryBits) - 1);
  }
  [[nodiscard]] std::uint64_t executionBytes() const { return sizes >> kMemoryBits; }
  [[nodiscard]] std::uint8_t kind() const { return static_cast<std::uint8_t>(run); }
  [[nodiscard]] std::uint64_t behind() const {
    return run >> 8 & ((std::uint64_t{1} << kBehindBits) - 1);
  }
};
static_assert(sizeof(OperatorRecord) == 5 * kSlotBytes);

constexpr bool opensRange(Kind kind) {
  return kind == Kind::Push || kind == Kind::PushEvent || kind == Kind::Execution ||
         kind == Kind::Wait;
}

/// `what` of the kinds above: category 24 | kind 8 | queue 32.
constexpr std::uint64_t packWhat(std::uint32_t category, std::uint8_t kind, std::uint32_t queue) {
  return static_cast<std::uint64_t>(category & 0xffffff) << 40 |
         static_cast<std::uint64_t>(kind) << 32 | queue;
}
constexpr std::uint64_t packPair(std::uint32_t high, std::uint32_t low) {
  return static_cast<std::uint64_t>(high) << 32 | low;
}

constexpr std::uint64_t word(Kind kind, std::uint32_t domain, std::uint32_t name) {
  return static_cast<std::uint64_t>(kind) << 56 |
         static_cast<std::uint64_t>(domain & 0xffffff) << 32 | name;
}
constexpr Kind kindOf(std::uint64_t word) {
  return static_cast<Kind>(word >> 56);
}
constexpr std::uint32_t domainOf(std::uint64_t word) {
  return static_cast<std::uint32_t>(word >> 32) & 0xffffff;
}
constexpr std::uint32_t nameOf(std::uint64_t word) {
  return static_cast<std::uint32_t>(word);
}

/// Slots of the record that begins with this word; 0 when it is not one.
constexpr std::size_t slotsOf(std::uint64_t word) {
  switch (kindOf(word)) {
    case Kind::Push:
    case Kind::Pop:
    case Kind::Mark:
      return 1;
    case Kind::End:
    case Kind::Counter:
    case Kind::Allocate:
    case Kind::Free:
    case Kind::Flow:
    case Kind::Log:
    case Kind::Wait:
      return 2;
    case Kind::PushEvent:
    case Kind::MarkEvent:
    case Kind::Memory:
      return 3;
    case Kind::Start:
    case Kind::Execution:
      return 4;
    case Kind::Operator:
      return 1 + sizeof(OperatorRecord) / kSlotBytes;
    case Kind::Row:
    case Kind::Gap: {
      const std::size_t slots = 1 + (domainOf(word) >> 16);
      return slots >= 2 && slots <= kMaxSlots ? slots : 0;
    }
  }
  return 0;
}

/// Events that the record counts for. A range is one event, and its begin stands for it.
constexpr std::uint64_t eventsOf(std::uint64_t word) {
  switch (kindOf(word)) {
    case Kind::Pop:
    case Kind::End:
    case Kind::Gap:
      return 0;
    case Kind::Operator:
      return 3;
    default:
      return 1;
  }
}

/// Events that are lost. A range of Kind::Start is lost only if its end, on any thread, is lost
/// too.
struct LostEvents {
  std::uint64_t events = 0;
  std::uint64_t starts = 0;
  void add(std::uint64_t word) {
    (kindOf(word) == Kind::Start ? starts : events) += eventsOf(word);
  }
};

/// Calls `visit` with the first slot of each record in a segment that its thread has left behind.
template <class Visit>
void forEachRecord(const unsigned char* segment, Visit&& visit) {
  for (std::size_t at = kSegmentHead; at < kSegmentBytes;) {
    const auto* slot = reinterpret_cast<const std::uint64_t*>(segment + at);
    const std::size_t slots = slot[0] != 0 ? slotsOf(slot[1]) : 0;
    if (slots == 0) return;
    visit(slot);
    at += slots * kSlotBytes;
  }
}

/// Ranges that a gap has opened and not closed.
inline std::uint64_t openIn(const std::uint64_t* gap) {
  std::uint64_t open = 0;
  for (std::size_t i = 2; i < slotsOf(gap[1]); ++i) open += gap[2 * i + 1] & 0xffffffff;
  return open;
}
/// Ranges that began in the gap that the thread is in.
struct GapRanges {
  std::uint64_t open = 0;
  std::uint64_t lost = 0;
  [[nodiscard]] std::uint64_t all() const { return open + lost; }
};
inline GapRanges rangesInGap(const ThreadEntry& entry) {
  GapRanges ranges;
  if (__atomic_load_n(&entry.gapRecords, __ATOMIC_RELAXED) == 0) return ranges;
  const std::uint32_t domains = __atomic_load_n(&entry.gapDomains, __ATOMIC_RELAXED);
  // With too many domains nobody can know which ends belong to ranges of the gap, so all of these
  // are lost.
  std::uint64_t& open = domains > kGapDomains ? ranges.lost : ranges.open;
  for (std::size_t i = 0; i < domains && i < kGapDomains; ++i) {
    open += entry.gap[i].pushes();
    ranges.lost += entry.gap[i].ended();
  }
  return ranges;
}
/// Ranges that are lost for a thread that writes no more, and whose records of all gaps to
/// `lastGapRead` were read.
inline std::uint64_t rangesLost(const ThreadEntry& entry, std::uint32_t lastGapRead) {
  // It was killed when the record was written and the gap not yet over.
  if (entry.gapRecords != 0 && entry.gapNumber == lastGapRead) return entry.endedNext;
  return entry.ended + rangesInGap(entry).all();
}

/// The events that are lost with such a segment.
inline LostEvents eventsIn(const unsigned char* segment) {
  LostEvents lost;
  forEachRecord(segment, [&](const std::uint64_t* slot) {
    lost.add(slot[1]);
    if (kindOf(slot[1]) == Kind::Gap) lost.events += openIn(slot);
  });
  return lost;
}

constexpr std::size_t roundUp(std::size_t value, std::size_t to) {
  return (value + to - 1) / to * to;
}

/// Where the parts are in a file with this many segments at most.
struct Offsets {
  std::size_t links, threads, strings, segments, end;
  constexpr explicit Offsets(std::uint32_t maxSegments)
      : links(kHeaderBytes),
        threads(links + roundUp((static_cast<std::size_t>(maxSegments) + 1) * 4, 4096)),
        strings(threads + kMaxThreads * kThreadBytes),
        segments(roundUp(strings + kStringsBytes, kSegmentBytes)),
        end(segments + maxSegments * kSegmentBytes) {}
};

/// A mapped recording file, with typed access to its parts.
struct View {
  unsigned char* base = nullptr;
  Offsets offsets{0};

  [[nodiscard]] Header& header() const { return *reinterpret_cast<Header*>(base); }
  [[nodiscard]] std::atomic<std::uint32_t>& link(std::uint32_t segment) const {
    return reinterpret_cast<std::atomic<std::uint32_t>*>(base + offsets.links)[segment];
  }
  [[nodiscard]] ThreadEntry& thread(std::uint32_t index) const {
    return *reinterpret_cast<ThreadEntry*>(base + offsets.threads + (index - 1) * kThreadBytes);
  }
  [[nodiscard]] unsigned char* strings() const { return base + offsets.strings; }
  [[nodiscard]] unsigned char* segmentBase(std::uint32_t segment) const {
    return base + offsets.segments + (segment - 1) * kSegmentBytes;
  }
  [[nodiscard]] Segment& segment(std::uint32_t segment) const {
    return *reinterpret_cast<Segment*>(segmentBase(segment));
  }

  /// The free list, for both sides. Links are bounded so that a damaged one ends the list instead
  /// of leading astray.
  void pushFree(std::uint32_t segment) const {
    std::uint64_t head = header().freeHead.load(std::memory_order_relaxed);
    std::uint64_t wanted = 0;
    do {
      link(segment).store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
      wanted = ((head >> 32) + 1) << 32 | segment;
    } while (!header().freeHead.compare_exchange_weak(head, wanted, std::memory_order_acq_rel,
                                                      std::memory_order_relaxed));
    header().freeCount.fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint32_t popFree(std::uint32_t maxSegments) const {
    std::uint64_t head = header().freeHead.load(std::memory_order_acquire);
    for (;;) {
      const auto segment = static_cast<std::uint32_t>(head);
      if (segment == 0 || segment > maxSegments) return 0;
      const std::uint64_t wanted =
          ((head >> 32) + 1) << 32 | link(segment).load(std::memory_order_relaxed);
      if (header().freeHead.compare_exchange_weak(head, wanted, std::memory_order_acq_rel,
                                                  std::memory_order_acquire)) {
        header().freeCount.fetch_sub(1, std::memory_order_relaxed);
        return segment;
      }
    }
  }
};

}  // namespace lacuna::prof::recording
