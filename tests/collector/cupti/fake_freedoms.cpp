// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "fake_freedoms.h"

#include <cupti.h>
#include <time.h>

#include <cstddef>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "records.h"

namespace {

std::mutex freedomMutex;

struct StampClock {
  clockid_t source = CLOCK_REALTIME;
  std::int64_t offsetNs = 0;
  std::int64_t driftPerMillion = 0;
  std::int64_t driftSinceNs = 0;  ///< on the source

  [[nodiscard]] std::int64_t raw() const {
    timespec at{};
    ::clock_gettime(source, &at);
    return std::int64_t{at.tv_sec} * 1'000'000'000 + at.tv_nsec;
  }
  [[nodiscard]] std::int64_t drifted(std::int64_t rawNs) const {
    return (rawNs - driftSinceNs) / 1'000 * driftPerMillion / 1'000;
  }
};
StampClock stampClock;

struct Refusal {
  std::string call;
  int result = 0;
  int after = 0;  ///< calls that succeed before it
  int times = 0;  ///< negative: always from then on
};
std::vector<Refusal> refusals;

}  // namespace

std::uint64_t stampNow() {
  std::lock_guard lock(freedomMutex);
  const std::int64_t raw = stampClock.raw();
  return static_cast<std::uint64_t>(raw + stampClock.offsetNs + stampClock.drifted(raw));
}

int refusalOf(const char* call) {
  std::lock_guard lock(freedomMutex);
  for (Refusal& refusal : refusals) {
    if (refusal.call != call || refusal.times == 0) continue;
    if (refusal.after-- > 0) continue;
    refusal.after = 0;
    if (refusal.times > 0) --refusal.times;
    return refusal.result;
  }
  return 0;
}

void holdFreedoms() {
  freedomMutex.lock();
}
void releaseFreedoms() {
  freedomMutex.unlock();
}

void resetFreedoms() {
  std::lock_guard lock(freedomMutex);
  stampClock = {};
  refusals.clear();
}

extern "C" {

void fakeEmit(const void* record, std::size_t bytes);
int fakeRecordsGraphs();

/// The clock of all stamps. The header allows any: cuptiGetTimestamp "returns a timestamp
/// normalized to correspond with the start and end timestamps reported in the CUPTI activity
/// records" (cupti_activity.h), and names none.
void fakeClock(int clock, std::int64_t offsetNs) {
  std::lock_guard lock(freedomMutex);
  stampClock = {};
  stampClock.source = clock;
  stampClock.offsetNs = offsetNs;
}

/// Somebody sets that clock, as the same words allow: no line of the header calls it steady.
void fakeClockStep(std::int64_t byNs) {
  std::lock_guard lock(freedomMutex);
  stampClock.offsetNs += byNs;
}

/// From here on that clock runs so many millionths too fast (adjtimex(2): up to 500).
void fakeClockDrift(std::int64_t perMillion) {
  std::lock_guard lock(freedomMutex);
  const std::int64_t raw = stampClock.raw();
  stampClock.offsetNs += stampClock.drifted(raw);
  stampClock.driftSinceNs = raw;
  stampClock.driftPerMillion = perMillion;
}

/// A call fails, after some that succeed, so often (always: negative). Each of CUPTI's calls may:
/// "CUPTI_ERROR_UNKNOWN: an unknown internal error has occurred" (cupti_result.h); and each of the
/// driver's: "this function may also return error codes from previous, asynchronous launches"
/// (cuda.h).
void fakeFail(const char* call, int result, int after, int times) {
  std::lock_guard lock(freedomMutex);
  refusals.push_back({call, result, after, times});
}

/// One replay of a graph, with the call that launches it: a record for the whole
/// ("execution for a graph without giving visibility about the execution of its nodes",
/// cupti_activity.h, CUpti_ActivityGraphTrace2), or one for each node. A node of the set `lost`
/// leaves no record that anybody counts. One of the set `unstamped` has none of its times: "a value
/// of 0 for both the start and end timestamps indicates that timestamp information could not be
/// collected for the kernel" (cupti_activity.h). Returns the number of records.
int fakeReplay(std::uint32_t correlation, std::uint32_t graph, const std::uint64_t* nodes,
               int count, std::uint32_t lost, std::uint32_t unstamped) {
  using namespace lacuna::collector::cupti;
  const auto call = callRecord(CUPTI_ACTIVITY_KIND_RUNTIME, stampNow(), correlation);
  fakeEmit(&call, sizeof call);
  if (fakeRecordsGraphs() != 0) {
    auto whole = graphRecord(stampNow());
    whole.correlationId = correlation;
    whole.graphId = graph;
    fakeEmit(&whole, sizeof whole);
    return 2;
  }
  int records = 1;
  for (int i = 0; i < count; ++i) {
    if ((lost >> i & 1u) != 0) continue;
    const std::uint64_t start = (unstamped >> i & 1u) != 0 ? 0 : stampNow();
    auto node = kernelRecord("node", start, start != 0 ? start + 1000 : 0, correlation);
    node.graphId = graph;
    node.graphNodeId = nodes[i];
    fakeEmit(&node, sizeof node);
    ++records;
  }
  return records;
}
}
