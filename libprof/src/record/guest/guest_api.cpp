// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstring>

#include "lacuna/prof/announced.h"
#include "lacuna/prof/announced_operator.h"
#include "lacuna/prof/trace.h"
#include "record/guest/guest.h"
#include "record/guest/guest_threads.h"

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
  if (lacunaThread_.epoch == __atomic_load_n(gate, __ATOMIC_RELAXED) &&
      room >= Slots * kSlotBytes) {
    lacunaThread_.cursor = cursor + Slots * kSlotBytes;
    // Segments come back from the drainer's core; the line that a later record begins is fetched
    // meanwhile.
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
constexpr std::uint64_t kNumberedDetails = std::uint64_t{LacunaPayloadU64} << 32;

/// With few branches: it is asked at every operator.
bool fits(const AnnouncedOperator& announced) {
  const std::uint64_t start = announced.startStamp - announced.beginStamp;
  const std::uint64_t stop = announced.stopStamp - announced.beginStamp;
  const std::uint64_t end = announced.endStamp - announced.beginStamp;  // huge where it is 0
  const std::uint64_t behind = announced.execution.sequence - announced.memory.sequence;
  const std::uint64_t tooLarge = end >> 32 | behind >> OperatorRecord::kBehindBits |
                                 announced.memory.bytes >> OperatorRecord::kMemoryBits |
                                 announced.execution.bytes >> OperatorRecord::kExecutionBits;
  const std::uint64_t different = (announced.correlation ^ announced.execution.correlation) |
                                  (announced.execution.queue ^ announced.memory.queue) |
                                  static_cast<std::uint64_t>(announced.execution.enqueueStartNs);
  return (tooLarge | different) == 0 && start <= stop && stop <= end && announced.hasMemory;
}

void putOperator(const AnnouncedOperator& announced) {
  const std::uint64_t head = word(Kind::Operator, announced.domain, announced.name);
  std::uint64_t* slot = reserve<1 + sizeof(OperatorRecord) / kSlotBytes>(head);
  if (slot == nullptr) return;
  const std::uint64_t behind = announced.execution.sequence - announced.memory.sequence;
  *reinterpret_cast<OperatorRecord*>(slot + 2) = {
      .start = static_cast<std::uint32_t>(announced.startStamp - announced.beginStamp),
      .stop = static_cast<std::uint32_t>(announced.stopStamp - announced.beginStamp),
      .end = static_cast<std::uint32_t>(announced.endStamp - announced.beginStamp),
      .executionName = announced.executionName,
      .correlation = announced.correlation,
      .operatorSequence = announced.sequence,
      .sequence = announced.execution.sequence,
      .shapes = announced.shapes,
      .tensor = announced.memory.tensor,
      .address = announced.memory.address,
      .sizes = announced.execution.bytes << OperatorRecord::kMemoryBits | announced.memory.bytes,
      .memoryWhat = memoryWhat(announced.memory),
      .run = behind << 8 | announced.execution.kind};
  slot[1] = head;
  __atomic_store_n(slot, announced.beginStamp, __ATOMIC_RELEASE);
}

[[gnu::noinline, gnu::cold]] void putParts(const AnnouncedOperator& announced) {
  const std::uint64_t pop = word(Kind::Pop, announced.domain, 0);
  putAt(announced.beginStamp, word(Kind::PushEvent, announced.domain, announced.name),
        kNumberedDetails, announced.sequence, announced.shapes, announced.correlation);
  const std::uint64_t start =
      announced.startStamp != 0 ? announced.startStamp : announced.beginStamp;
  if (announced.hasMemory) {
    const AnnouncedMemory& memory = announced.memory;
    putAt(start, word(Kind::Memory, 0, memory.tensor), memory.address, memory.bytes,
          memory.sequence, memoryWhat(memory));
  }
  if (announced.startStamp != 0) {
    const AnnouncedExecution& run = announced.execution;
    putAt(start, word(Kind::Execution, announced.domain, announced.executionName),
          packWhat(0, run.kind, run.queue), run.correlation, run.sequence, run.bytes,
          run.enqueueStartNs, packPair(run.enqueueNs, run.enqueueThread));
  }
  if (announced.stopStamp != 0) putAt(announced.stopStamp, pop);
  if (announced.endStamp != 0) putAt(announced.endStamp, pop);
}

std::uint64_t detailsOf(const LacunaEvent& event) {
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
  put(word(Kind::PushEvent, event->domain, event->name), detailsOf(*event), event->payload,
      event->text, event->correlation);
}

uint64_t lacunaRangeStart(const LacunaEvent* event) {
  static std::atomic<std::uint64_t> serial;
  if (lacunaIsRecording() == 0) return 0;
  const std::uint64_t range = serial.fetch_add(1, std::memory_order_relaxed) + 1;
  put(word(Kind::Start, event->domain, event->name), detailsOf(*event), event->payload, event->text,
      event->correlation, range, 0);
  return range;
}

void lacunaRangeEnd(uint64_t range) {
  if (range == 0) return;  // nothing recorded when it began
  put(word(Kind::End, 0, 0), range, 0);
}

void lacunaMarkEvent(const LacunaEvent* event) {
  put(word(Kind::MarkEvent, event->domain, event->name), detailsOf(*event), event->payload,
      event->text, event->correlation);
}

uint32_t lacunaCounterTrack(LacunaName name, LacunaName unit) {
  // A counter is a site of its own kind: name and unit in a place where no domain can be. Its id is
  // its number.
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

/// True for rows that others refer to, or that hold for the whole process: a ring that overwrote
/// them would make the newer events unreadable.
constexpr bool outlivesTheRing(std::uint32_t table) {
  return table == Thread::kTable || table == Device::kTable || table == Queue::kTable ||
         table == Environment::kTable || table == CounterTrack::kTable ||
         table == StackFrame::kTable;
}

}  // namespace

extern "C" void lacunaRow_(std::uint32_t table, const void* packed, std::size_t bytes) {
  const std::size_t further = (bytes + kSlotBytes - 1) / kSlotBytes;
  if (further + 1 > kMaxSlots) return;
  const std::uint64_t head =
      word(Kind::Row, static_cast<std::uint32_t>(further << 16 | bytes), table);
  if (outlivesTheRing(table) && keepRow(head, packed, bytes)) return;
  std::uint64_t* slot = reserveSlow(head, further + 1);
  if (slot == nullptr) return;
  std::memcpy(slot + 2, packed, bytes);
  commit(slot, head);
}

extern "C" void lacunaPushExecution_(LacunaName domain, LacunaName name, LacunaName category,
                                     const AnnouncedExecution* announced) {
  put(word(Kind::Execution, domain, name), packWhat(category, announced->kind, announced->queue),
      announced->correlation, announced->sequence, announced->bytes, announced->enqueueStartNs,
      packPair(announced->enqueueNs, announced->enqueueThread));
}

extern "C" void lacunaPushWait_(LacunaName domain, LacunaName name, LacunaName category,
                                const AnnouncedWait* announced) {
  put(word(Kind::Wait, domain, name), packWhat(category, announced->kind, announced->queue),
      announced->sequence);
}

extern "C" void lacunaMemory_(std::uint64_t address, std::uint64_t bytes, std::uint64_t sequence,
                              LacunaName tensor, std::uint64_t what) {
  put(word(Kind::Memory, 0, tensor), address, bytes, sequence, what);
}

extern "C" std::uint64_t lacunaStamp_() {
#ifdef __x86_64__
  const std::uint64_t* gate = __atomic_load_n(&lacunaGate_, __ATOMIC_RELAXED);
  // A thread that has recorded in this recording knows its clock without asking.
  if (gate != nullptr && lacunaThread_.epoch == __atomic_load_n(gate, __ATOMIC_RELAXED))
    return __builtin_ia32_rdtsc();
#endif
  const Mapping* active = mapping();
  return active != nullptr ? stamp(*active) : kNoClock;
}

extern "C" void lacunaAnnouncedOperator_(const AnnouncedOperator* announced) {
  if (announced->beginStamp == kNoClock) return;  // nothing recorded when it began
  if (fits(*announced)) [[likely]]
    return putOperator(*announced);
  putParts(*announced);
}

}  // namespace lacuna::prof
