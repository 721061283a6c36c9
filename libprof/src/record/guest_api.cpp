// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstring>

#include "lacuna/prof/said.h"
#include "lacuna/prof/said_whole.h"
#include "lacuna/prof/trace.h"
#include "record/guest.h"
#include "record/guest_threads.h"

namespace lacuna::prof::recording {
namespace {

constexpr std::size_t kAhead = 512;  ///< bytes after a record that are fetched when it is written

/// As lacunaPut_ in prof.h, for records of several slots: the first word of all is stored last.
template <std::size_t Slots>
inline std::uint64_t* reserve(std::uint64_t word) {
#ifdef __x86_64__
  const std::uint64_t* gate = __atomic_load_n(&lacunaGate_, __ATOMIC_RELAXED);
  if (gate == nullptr) return nullptr;
  const std::uintptr_t cursor = lacunaThread_.cursor;
  const std::size_t room = (0 - cursor) & (kSegmentBytes - 1);
  if (lacunaThread_.epoch == __atomic_load_n(gate, __ATOMIC_RELAXED) && room >= Slots * kSlotBytes) {
    lacunaThread_.cursor = cursor + Slots * kSlotBytes;
    // Segments come back from the drainer's core; the line that a later record begins is fetched meanwhile.
    __builtin_prefetch(reinterpret_cast<const void*>(cursor + kAhead), 1);
    return reinterpret_cast<std::uint64_t*>(cursor);
  }
#endif
  return reserveSlow(word, Slots);
}

inline void commit(std::uint64_t* slot, std::uint64_t word) {
  slot[1] = word;
#ifdef __x86_64__
  const bool tsc = (lacunaThread_.epoch & kSlowClock) == 0;
  if (__builtin_expect(tsc, 1)) {
    __atomic_store_n(slot, __builtin_ia32_rdtsc(), __ATOMIC_RELEASE);
    return;
  }
#endif
  Mapping* active = mapping();
  if (active != nullptr) __atomic_store_n(slot, stamp(*active), __ATOMIC_RELEASE);
}

/// The slot of a record that is whole but for its word and stamp; nullptr when it was dropped.
template <class... Words>
inline std::uint64_t* fill(std::uint64_t word, Words... words) {
  constexpr std::size_t kSlots = 1 + sizeof...(Words) / 2;
  static_assert(sizeof...(Words) % 2 == 0);
  std::uint64_t* slot = reserve<kSlots>(word);
  if (slot == nullptr) return nullptr;
  std::uint64_t* to = slot + 2;
  ((*to++ = static_cast<std::uint64_t>(words)), ...);
  return slot;
}

template <class... Words>
inline void put(std::uint64_t word, Words... words) {
  if (std::uint64_t* slot = fill(word, words...)) commit(slot, word);
}

/// With a stamp that was taken before; later than those of the thread's other records all the same.
template <class... Words>
void putAt(std::uint64_t stamp, std::uint64_t word, Words... words) {
  std::uint64_t* slot = fill(word, words...);
  if (slot == nullptr) return;
  slot[1] = word;
  __atomic_store_n(slot, stamp, __ATOMIC_RELEASE);
}

constexpr std::uint64_t kNoClock = 1;
constexpr std::uint64_t kNumberedLook = std::uint64_t{LacunaPayloadU64} << 32;

/// With few branches: it is asked at every operator.
bool fits(const SaidWhole& said) {
  const std::uint64_t start = said.startStamp - said.beginStamp;
  const std::uint64_t stop = said.stopStamp - said.beginStamp;
  const std::uint64_t end = said.endStamp - said.beginStamp;  // huge where it is 0
  const std::uint64_t behind = said.execution.sequence - said.memory.sequence;
  const std::uint64_t tooLarge = end >> 32 | behind >> Whole::kBehindBits | said.memory.bytes >> Whole::kMemoryBits |
                                 said.execution.bytes >> Whole::kExecutionBits;
  const std::uint64_t different = (said.correlation ^ said.execution.correlation) |
                                  (said.execution.queue ^ said.memory.queue) |
                                  static_cast<std::uint64_t>(said.execution.enqueueStartNs);
  return (tooLarge | different) == 0 && start <= stop && stop <= end && said.hasMemory;
}

void putWhole(const SaidWhole& said) {
  const std::uint64_t head = word(Kind::Whole, said.domain, said.name);
  std::uint64_t* slot = reserve<1 + sizeof(Whole) / kSlotBytes>(head);
  if (slot == nullptr) return;
  const std::uint64_t behind = said.execution.sequence - said.memory.sequence;
  *reinterpret_cast<Whole*>(slot + 2) = {.start = static_cast<std::uint32_t>(said.startStamp - said.beginStamp),
                                         .stop = static_cast<std::uint32_t>(said.stopStamp - said.beginStamp),
                                         .end = static_cast<std::uint32_t>(said.endStamp - said.beginStamp),
                                         .executionName = said.executionName,
                                         .correlation = said.correlation,
                                         .operatorSequence = said.sequence,
                                         .sequence = said.execution.sequence,
                                         .shapes = said.shapes,
                                         .tensor = said.memory.tensor,
                                         .address = said.memory.address,
                                         .sizes = said.execution.bytes << Whole::kMemoryBits | said.memory.bytes,
                                         .memoryWhat = memoryWhat(said.memory),
                                         .run = behind << 8 | said.execution.kind};
  slot[1] = head;
  __atomic_store_n(slot, said.beginStamp, __ATOMIC_RELEASE);
}

[[gnu::noinline, gnu::cold]] void putParts(const SaidWhole& said) {
  const std::uint64_t pop = word(Kind::Pop, said.domain, 0);
  putAt(said.beginStamp, word(Kind::PushEvent, said.domain, said.name), kNumberedLook, said.sequence, said.shapes,
        said.correlation);
  const std::uint64_t start = said.startStamp != 0 ? said.startStamp : said.beginStamp;
  if (said.hasMemory) {
    const SaidMemory& memory = said.memory;
    putAt(start, word(Kind::Memory, 0, memory.tensor), memory.address, memory.bytes, memory.sequence,
          memoryWhat(memory));
  }
  if (said.startStamp != 0) {
    const SaidExecution& run = said.execution;
    putAt(start, word(Kind::Execution, said.domain, said.executionName), packWhat(0, run.kind, run.queue),
          run.correlation, run.sequence, run.bytes, run.enqueueStartNs, packPair(run.enqueueNs, run.enqueueThread));
  }
  if (said.stopStamp != 0) putAt(said.stopStamp, pop);
  if (said.endStamp != 0) putAt(said.endStamp, pop);
}

std::uint64_t lookOf(const LacunaEvent& event) {
  return static_cast<std::uint64_t>(event.category & 0xffffff) << 40 |
         static_cast<std::uint64_t>(event.payloadType & 0xff) << 32 | event.colour;
}

}  // namespace
}  // namespace lacuna::prof::recording

using namespace lacuna::prof::recording;

extern "C" {

void lacunaPutSlow_(uint64_t word) {
  std::uint64_t* slot = reserveSlow(word, 1);
  if (slot != nullptr) commit(slot, word);
}

LacunaName lacunaNameN(const char* text, size_t length) {
  const int savedErrno = errno;
  const LacunaName name = internText(text, length);
  errno = savedErrno;
  return name;
}

LacunaName lacunaName(const char* text) {
  return text == nullptr ? 0 : lacunaNameN(text, std::strlen(text));
}

LacunaName lacunaSite(LacunaName name, LacunaName domain, LacunaName category, uint32_t colour) {
  if (domain == 0 && category == 0 && colour == 0) return name;
  const int savedErrno = errno;
  const LacunaName site = internSite({name, domain, category, colour});
  errno = savedErrno;
  return site;
}

void lacunaRangePushEvent(const LacunaEvent* event) {
  if (event->category == 0 && event->colour == 0 && event->payloadType == 0 && event->text == 0 &&
      event->correlation == 0) {
    return lacunaDomainRangePush(event->domain, event->name);
  }
  put(word(Kind::PushEvent, event->domain, event->name), lookOf(*event), event->payload, event->text,
      event->correlation);
}

uint64_t lacunaRangeStart(const LacunaEvent* event) {
  static std::atomic<std::uint64_t> serial;
  if (lacunaIsRecording() == 0) return 0;
  const std::uint64_t range = serial.fetch_add(1, std::memory_order_relaxed) + 1;
  put(word(Kind::Start, event->domain, event->name), lookOf(*event), event->payload, event->text, event->correlation,
      range, 0);
  return range;
}

void lacunaRangeEnd(uint64_t range) {
  if (range == 0) return;  // nothing recorded when it began
  put(word(Kind::End, 0, 0), range, 0);
}

void lacunaMarkEvent(const LacunaEvent* event) {
  put(word(Kind::MarkEvent, event->domain, event->name), lookOf(*event), event->payload, event->text,
      event->correlation);
}

uint32_t lacunaCounterTrack(LacunaName name, LacunaName unit) {
  // A counter is a site of its own kind: name and unit in a place where no domain can be. Its id is its number.
  return lacunaSite(name, unit, 0xffffffffu, 0);
}

void lacunaCounter(uint32_t track, double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  put(word(Kind::Counter, 0, track), bits, 0);
}

void lacunaAllocate(uint64_t address, uint64_t bytes, LacunaName name, uint8_t role) {
  put(word(Kind::Allocate, role, name), address, bytes);
}

void lacunaFree(uint64_t address) {
  put(word(Kind::Free, 0, 0), address, 0);
}

void lacunaFlow(uint64_t id, enum LacunaFlowPhase phase, LacunaName name, LacunaName category) {
  put(word(Kind::Flow, phase, name), id, category);
}

void lacunaThreadName(LacunaName name) {
  setThreadName(name);
}

void lacunaLog(uint8_t level, LacunaName source, LacunaName text) {
  put(word(Kind::Log, source, text), level, 0);
}

}  // extern "C"

namespace lacuna::prof {
namespace {

/// True for rows that others refer to, or that hold for the whole process: a ring that overwrote them would make the
/// newer events unreadable.
constexpr bool outlivesTheRing(std::uint32_t table) {
  return table == Thread::kTable || table == Device::kTable || table == Queue::kTable || table == Environment::kTable ||
         table == CounterTrack::kTable || table == StackFrame::kTable;
}

}  // namespace

extern "C" void lacunaRow_(std::uint32_t table, const void* packed, std::size_t bytes) {
  const std::size_t further = (bytes + kSlotBytes - 1) / kSlotBytes;
  if (further + 1 > kMaxSlots) return;
  const std::uint64_t head = word(Kind::Row, static_cast<std::uint32_t>(further << 16 | bytes), table);
  if (outlivesTheRing(table) && keepRow(head, packed, bytes)) return;
  std::uint64_t* slot = reserveSlow(head, further + 1);
  if (slot == nullptr) return;
  std::memcpy(slot + 2, packed, bytes);
  commit(slot, head);
}

extern "C" void lacunaPushExecution_(LacunaName domain, LacunaName name, LacunaName category,
                                     const SaidExecution* said) {
  put(word(Kind::Execution, domain, name), packWhat(category, said->kind, said->queue), said->correlation,
      said->sequence, said->bytes, said->enqueueStartNs, packPair(said->enqueueNs, said->enqueueThread));
}

extern "C" void lacunaPushWait_(LacunaName domain, LacunaName name, LacunaName category, const SaidWait* said) {
  put(word(Kind::Wait, domain, name), packWhat(category, said->kind, said->queue), said->sequence);
}

extern "C" void lacunaMemory_(std::uint64_t address, std::uint64_t bytes, std::uint64_t sequence, LacunaName tensor,
                              std::uint64_t what) {
  put(word(Kind::Memory, 0, tensor), address, bytes, sequence, what);
}

extern "C" std::uint64_t lacunaStamp_() {
#ifdef __x86_64__
  const std::uint64_t* gate = __atomic_load_n(&lacunaGate_, __ATOMIC_RELAXED);
  // A thread that has recorded in this recording knows its clock without asking.
  if (gate != nullptr && lacunaThread_.epoch == __atomic_load_n(gate, __ATOMIC_RELAXED)) return __builtin_ia32_rdtsc();
#endif
  const Mapping* active = mapping();
  return active != nullptr ? stamp(*active) : kNoClock;
}

extern "C" void lacunaWhole_(const SaidWhole* said) {
  if (said->beginStamp == kNoClock) return;  // nothing recorded when it began
  if (fits(*said)) [[likely]]
    return putWhole(*said);
  putParts(*said);
}

}  // namespace lacuna::prof
