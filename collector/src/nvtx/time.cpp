// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "nvtx/time.h"

#include <nvtx3/nvToolsExtSemanticsTime.h>

#include <atomic>
#include <ctime>
#include <vector>

#include "nvtx/domain.h"
#include "nvtx/install.h"
#include "nvtx/thread.h"

namespace lacuna::collector::nvtx {
namespace {

using TimeDomain = std::uint64_t;
constexpr TimeDomain kOurs = NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC;
/// Conversions are chained through at most so many clocks.
constexpr int kMostSteps = 4;
constexpr prof::TimeNs kShortBaseNs = 2'000'000;

/// Readings of two clocks at one moment.
struct Pair {
  std::int64_t from = 0;
  std::int64_t to = 0;
};

/// The relation of one clock to another: through two moments, or one and a slope.
struct Relation {
  TimeDomain from = 0;
  TimeDomain to = 0;
  Pair first, last;
  double slope = 0;  ///< 0: from the moments

  [[nodiscard]] double rate(double otherwise) const {
    if (slope != 0) return slope;
    if (last.from == first.from) return otherwise;
    return static_cast<double>(last.to - first.to) / static_cast<double>(last.from - first.from);
  }
};

/// A clock that the program registered.
struct Registered {
  TimeDomain id = 0;
  TimeDomain type = 0;
  std::int64_t ticksPerSecond = 0;
  std::int64_t (*read)(void*) = nullptr;
  std::int64_t (*readPlain)() = nullptr;
  void* data = nullptr;
  Pair first;  ///< of its source, when that was given
};

/// Both guarded by the registry's lock, and never destroyed: threads may outlive the end of main().
std::vector<Relation>& relations() {
  static auto* all = new std::vector<Relation>;
  return *all;
}
std::vector<Registered>& registered() {
  static auto* all = new std::vector<Registered>;
  return *all;
}

Registered* find(TimeDomain id) {
  for (Registered& clock : registered()) {
    if (clock.id == id) return &clock;
  }
  return nullptr;
}

std::int64_t readTsc() {
#ifdef __x86_64__
  return static_cast<std::int64_t>(__builtin_ia32_rdtsc());
#else
  std::int64_t ticks = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#endif
}

/// The TSC and our clock at the beginning: its rate is known once some time has passed.
Pair tscBase;

std::int64_t throughPair(const Pair& base, const Pair& now, std::int64_t stamp) {
  const double rate =
      static_cast<double>(now.to - base.to) / static_cast<double>(now.from - base.from);
  return base.to + static_cast<std::int64_t>(static_cast<double>(stamp - base.from) * rate);
}

std::int64_t fromTsc(std::int64_t stamp) {
  Pair now;
  do {
    now = {readTsc(), nowNs()};
  } while (now.to - tscBase.to < kShortBaseNs);
  return throughPair(tscBase, now, stamp);
}

/// The distance of a clock to ours. Two readings differ by what lies between them, which must not
/// change the length of a range: it stays until the clock was really set.
std::int64_t fromClock(clockid_t clock, std::int64_t stamp) {
  static std::int64_t distances[16];
  constexpr std::int64_t kSetNs = 100'000;
  std::int64_t& distance = distances[clock];
  const std::int64_t now = nowNs() - clockNs(clock);
  if (now - distance > kSetNs || distance - now > kSetNs) distance = now;
  return stamp + distance;
}

std::int64_t readSource(const Registered& clock) {
  return clock.read != nullptr ? clock.read(clock.data) : clock.readPlain();
}

bool predefined(TimeDomain id, std::int64_t stamp, prof::TimeNs& out) {
  switch (id) {
    case NVTX_TIMESTAMP_TYPE_NONE:
    case NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED:
    case NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC:
    case NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC_COARSE:
    case NVTX_TIMESTAMP_TYPE_CPP_STEADY_CLOCK:
      out = stamp;
      return true;
    case NVTX_TIMESTAMP_TYPE_CPU_TSC:
    case NVTX_TIMESTAMP_TYPE_CPU_TSC_NONVIRTUALIZED:
      out = fromTsc(stamp);
      return true;
    case NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_REALTIME:
    case NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_REALTIME_COARSE:
    case NVTX_TIMESTAMP_TYPE_C_TIMESPEC_GET:
    case NVTX_TIMESTAMP_TYPE_CPP_HIGH_RESOLUTION_CLOCK:  // libstdc++ makes it the system clock
    case NVTX_TIMESTAMP_TYPE_CPP_SYSTEM_CLOCK:
      out = fromClock(CLOCK_REALTIME, stamp);
      return true;
    case NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC_RAW:
      out = fromClock(CLOCK_MONOTONIC_RAW, stamp);
      return true;
    case NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_BOOTTIME:
      out = fromClock(CLOCK_BOOTTIME, stamp);
      return true;
    default:
      return false;
  }
}

bool convert(TimeDomain id, std::int64_t stamp, prof::TimeNs& out, int steps) {
  if (predefined(id, stamp, out)) return true;
  if (steps == 0) return false;
  const Registered* clock = find(id);
  const double otherwise = clock != nullptr && clock->ticksPerSecond > 0
                               ? 1e9 / static_cast<double>(clock->ticksPerSecond)
                               : 1;
  for (const Relation& relation : relations()) {
    std::int64_t there = 0;
    if (relation.from == id) {
      there = relation.first.to +
              static_cast<std::int64_t>(static_cast<double>(stamp - relation.first.from) *
                                        relation.rate(otherwise));
    } else if (relation.to == id) {
      there = relation.first.from +
              static_cast<std::int64_t>(static_cast<double>(stamp - relation.first.to) /
                                        relation.rate(1 / otherwise));
    } else {
      continue;
    }
    if (convert(relation.from == id ? relation.to : relation.from, there, out, steps - 1))
      return true;
  }
  if (clock == nullptr) return false;
  if (clock->read != nullptr || clock->readPlain != nullptr) {
    const Pair now{readSource(*clock), nowNs()};
    if (now.from == clock->first.from) return false;
    out = throughPair(clock->first, now, stamp);
    return true;
  }
  return clock->type != 0 && clock->type != id && convert(clock->type, stamp, out, steps - 1);
}

Registered& entryOf(TimeDomain id) {
  if (Registered* known = find(id)) return *known;
  registered().push_back({});
  registered().back().id = id;
  return registered().back();
}

// The calls.

std::int64_t NVTX_API timestampGet() {
  return nowNs();
}

std::uint64_t NVTX_API timeDomainRegister(nvtxDomainHandle_t,
                                          const nvtxTimeDomainAttr_t* attributes) {
  static std::atomic<TimeDomain> next{NVTX_TIME_DOMAIN_ID_DYNAMIC_START};
  if (attributes == nullptr) return 0;
  const RegistryLock lock;
  Registered& clock =
      entryOf(attributes->timeDomainId != 0 ? attributes->timeDomainId : next.fetch_add(1));
  clock.type = attributes->timestampTypeId;
  clock.ticksPerSecond = attributes->timerResolution;
  return clock.id;
}

void addPoint(TimeDomain from, TimeDomain to, Pair point) {
  for (Relation& relation : relations()) {
    if (relation.from == from && relation.to == to) {
      relation.last = point;
      return;
    }
  }
  relations().push_back({from, to, point, point, 0});
}

void NVTX_API timeSyncPoint(nvtxDomainHandle_t, TimeDomain one, TimeDomain other,
                            std::int64_t stampOne, std::int64_t stampOther) {
  const RegistryLock lock;
  addPoint(one, other, {stampOne, stampOther});
}

void NVTX_API timeSyncPointTable(nvtxDomainHandle_t, TimeDomain from, TimeDomain to,
                                 const nvtxSyncPoint_t* points, std::size_t count) {
  if (points == nullptr) return;
  const RegistryLock lock;
  for (std::size_t i = 0; i < count; ++i) addPoint(from, to, {points[i].src, points[i].dst});
}

void NVTX_API conversionFactor(nvtxDomainHandle_t, TimeDomain from, TimeDomain to, double slope,
                               std::int64_t stampFrom, std::int64_t stampTo) {
  if (slope == 0) return;
  const RegistryLock lock;
  const Pair point{stampFrom, stampTo};
  const Relation stated{from, to, point, point, slope};
  for (Relation& relation : relations()) {
    if (relation.from != from || relation.to != to) continue;
    relation = stated;
    return;
  }
  relations().push_back(stated);
}

void NVTX_API timerSource(nvtxDomainHandle_t, TimeDomain id, std::uint64_t,
                          std::int64_t (*read)()) {
  if (read == nullptr) return;
  const Pair first{read(), nowNs()};
  const RegistryLock lock;
  Registered& clock = entryOf(id);
  clock.readPlain = read;
  clock.first = first;
}

void NVTX_API timerSourceWithData(nvtxDomainHandle_t, TimeDomain id, std::uint64_t,
                                  std::int64_t (*read)(void*), void* data) {
  if (read == nullptr) return;
  const Pair first{read(data), nowNs()};
  const RegistryLock lock;
  Registered& clock = entryOf(id);
  clock.read = read;
  clock.data = data;
  clock.first = first;
}

}  // namespace

std::uint64_t timeDomainOf(const nvtxSemanticsHeader_t* semantics) {
  for (; semantics != nullptr; semantics = semantics->next) {
    if (semantics->semanticId == NVTX_SEMANTIC_ID_TIME_V1) {
      return reinterpret_cast<const nvtxSemanticsTime_t*>(semantics)->timeDomainId;
    }
  }
  return 0;
}

bool toMonotonic(std::uint64_t timeDomain, std::int64_t stamp, prof::TimeNs& out) {
  if (timeDomain == 0 || timeDomain == kOurs) {
    out = stamp;
    return true;
  }
  const RegistryLock lock;
  return convert(timeDomain, stamp, out, kMostSteps);
}

void installTime(intptr_t* slots, std::size_t count) {
  if (tscBase.to == 0) tscBase = {readTsc(), nowNs()};
  setSlot(slots, count, NVTX3EXT_CBID_nvtxTimestampGet, timestampGet);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxTimeDomainRegister, timeDomainRegister);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxTimerSource, timerSource);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxTimerSourceWithData, timerSourceWithData);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxTimeSyncPoint, timeSyncPoint);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxTimeSyncPointTable, timeSyncPointTable);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxTimestampConversionFactor, conversionFactor);
}

}  // namespace lacuna::collector::nvtx
