// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstring>

#include "lacuna/prof/said.h"
#include "lacuna/prof/trace.h"
#include "record/guest.h"
#include "record/guest_threads.h"

namespace lacuna::prof::recording {
namespace {

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

template <class... Words>
inline void put(std::uint64_t word, Words... words) {
  constexpr std::size_t kSlots = 1 + sizeof...(Words) / 2;
  static_assert(sizeof...(Words) % 2 == 0);
  std::uint64_t* slot = reserve<kSlots>(word);
  if (slot == nullptr) return;
  std::uint64_t* to = slot + 2;
  ((*to++ = static_cast<std::uint64_t>(words)), ...);
  commit(slot, word);
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

extern "C" void lacunaRow_(std::uint32_t table, const void* packed, std::size_t bytes) {
  const std::size_t further = (bytes + kSlotBytes - 1) / kSlotBytes;
  if (further + 1 > kMaxSlots) return;
  const std::uint64_t head = word(Kind::Row, static_cast<std::uint32_t>(further << 16 | bytes), table);
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

extern "C" void lacunaMemory_(const SaidMemory* said) {
  put(word(Kind::Memory, 0, said->tensor), said->address, said->bytes, said->sequence,
      packWhat(said->op, said->action, static_cast<std::uint32_t>(said->role) << 16 | said->queue));
}

}  // namespace lacuna::prof
