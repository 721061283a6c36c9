// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>

#include <cstring>
#include <vector>

#include "core/guest.h"
#include "lacuna/prof/trace.h"
#include "nvtx/install.h"
#include "nvtx/schema.h"
#include "nvtx/thread.h"
#include "nvtx/time.h"

namespace lacuna::collector::nvtx {
namespace {

/// One number of a counter or counter group.
struct Series {
  std::uint32_t track = 0;
  std::uint64_t type = 0;
  std::size_t offset = 0;
  bool delta = false;
  double scale = 1;
  std::atomic<double> sum{0};
};

struct Counter {
  const Domain* domain;
  std::uint64_t id;
  std::size_t size = 0;
  std::vector<Series*> series;
  std::uint64_t timeDomain = 0;  ///< of the times of batches
  Counter* next = nullptr;
};

std::atomic<Counter*> counters{nullptr};
std::atomic<std::uint64_t> nextId{NVTX_COUNTER_ID_DYNAMIC_START};

const Counter* find(const Domain& domain, std::uint64_t id) {
  for (const auto* counter = counters.load(std::memory_order_acquire); counter != nullptr;
       counter = counter->next) {
    if (counter->id == id && counter->domain == &domain) return counter;
  }
  return nullptr;
}

struct Meaning {
  std::string unit;
  double scale = 1;
  bool delta = false;
};

Meaning meaningOf(const nvtxSemanticsHeader_t* semantics) {
  Meaning meaning;
  for (; semantics != nullptr; semantics = semantics->next) {
    if (semantics->semanticId != NVTX_SEMANTIC_ID_COUNTERS_V1) continue;
    const auto* counter = reinterpret_cast<const nvtxSemanticsCounter_t*>(semantics);
    if (counter->unit != nullptr) meaning.unit = counter->unit;
    if (counter->unitScaleNumerator != 0 && counter->unitScaleDenominator != 0) {
      meaning.scale = static_cast<double>(counter->unitScaleNumerator) /
                      static_cast<double>(counter->unitScaleDenominator);
    }
    constexpr std::uint64_t kValueType = 3 << 4;
    meaning.delta = (counter->flags & kValueType) == NVTX_COUNTER_FLAG_VALUETYPE_DELTA;
  }
  return meaning;
}

void addSeries(Counter& counter, const std::string& name, std::uint64_t type, std::size_t offset,
               const Meaning& meaning) {
  auto* series = new Series;
  series->track = lacunaCounterTrack(prof::name(name), prof::name(meaning.unit));
  series->type = type;
  series->offset = offset;
  series->delta = meaning.delta;
  series->scale = meaning.scale;
  counter.series.push_back(series);
}

std::uint64_t NVTX_API counterRegister(nvtxDomainHandle_t handle,
                                       const nvtxCounterAttr_t* attributes) {
  if (attributes == nullptr) return NVTX_COUNTER_ID_NONE;
  const auto& domain = Domain::of(handle);
  std::string name = attributes->name != nullptr ? attributes->name : "counter";
  if (!domain.text().empty()) name = domain.text() + "." + name;
  auto* counter = new Counter{
      &domain, attributes->counterId, 0, {}, timeDomainOf(attributes->semantics), nullptr};
  if (counter->id == NVTX_COUNTER_ID_NONE) counter->id = nextId.fetch_add(1);
  const auto meaning = meaningOf(attributes->semantics);
  if (const auto* schema = findSchema(domain, attributes->schemaId); schema != nullptr) {
    counter->size = schema->size;
    for (const auto& entry : schema->entries) {
      if (!entry.placed || sizeOfType(entry.type) == 0) continue;
      Meaning own = meaning;
      if (!entry.unit.empty()) own.unit = entry.unit;
      addSeries(*counter, name + "." + entry.name, entry.type, entry.offset, own);
    }
  } else {
    counter->size = sizeOfType(attributes->schemaId);
    addSeries(*counter, name, attributes->schemaId, 0, meaning);
  }
  counter->next = counters.load(std::memory_order_relaxed);
  while (!counters.compare_exchange_weak(counter->next, counter, std::memory_order_release)) {
  }
  return counter->id;
}

/// The count of the series now. To be asked for every sample: those that are not recorded add up,
/// too.
double settle(Series& series, double value) {
  value *= series.scale;
  if (!series.delta) return value;
  double sum = series.sum.load(std::memory_order_relaxed);
  while (!series.sum.compare_exchange_weak(sum, sum + value, std::memory_order_relaxed)) {
  }
  return sum + value;
}

void put(Series& series, double value, bool on) {
  if (!on && !series.delta) return;
  const double settled = settle(series, value);
  if (on) lacunaCounter(series.track, settled);
}

double valueAt(const Series& series, const unsigned char* at) {
  const std::uint64_t bits = readNumber(series.type, at);
  if (series.type == NVTX_PAYLOAD_ENTRY_TYPE_INT128 ||
      series.type == NVTX_PAYLOAD_ENTRY_TYPE_UINT128) {
    const bool isSigned = series.type == NVTX_PAYLOAD_ENTRY_TYPE_INT128;
    const std::uint64_t high = readNumber(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, at + sizeof bits);
    const double most =
        isSigned ? static_cast<double>(static_cast<std::int64_t>(high)) : static_cast<double>(high);
    return most * 0x1p64 + static_cast<double>(bits);
  }
  switch (kindOf(series.type)) {
    case NumberKind::Real: {
      double value = 0;
      std::memcpy(&value, &bits, sizeof value);
      return value;
    }
    case NumberKind::Signed:
      return static_cast<double>(static_cast<std::int64_t>(bits));
    default:
      return static_cast<double>(bits);
  }
}

void sampleOne(nvtxDomainHandle_t domain, std::uint64_t id, double value) {
  const auto* counter = find(Domain::of(domain), id);
  if (counter == nullptr || counter->series.empty()) return;
  put(*counter->series.front(), value, guest::on());
}

void NVTX_API sampleInt64(nvtxDomainHandle_t domain, std::uint64_t id, std::int64_t value) {
  sampleOne(domain, id, static_cast<double>(value));
}
void NVTX_API sampleFloat64(nvtxDomainHandle_t domain, std::uint64_t id, double value) {
  sampleOne(domain, id, value);
}

void NVTX_API sample(nvtxDomainHandle_t domain, std::uint64_t id, const void* values,
                     std::size_t size) {
  if (values == nullptr) return;
  const auto* counter = find(Domain::of(domain), id);
  if (counter == nullptr) return;
  const bool on = guest::on();
  for (auto* series : counter->series) {
    if (series->offset + sizeOfType(series->type) > size) continue;
    put(*series, valueAt(*series, static_cast<const unsigned char*>(values) + series->offset), on);
  }
}

void NVTX_API sampleNoValue(nvtxDomainHandle_t domain, std::uint64_t id, std::uint8_t reason) {
  if (reason == NVTX_COUNTER_SAMPLE_ZERO) sampleOne(domain, id, 0);
}

/// The header's own constants for these overflow.
constexpr std::uint64_t kTimesBeginAndInterval = std::uint64_t{1} << 32;
constexpr std::uint64_t kTimesEndAndInterval = std::uint64_t{2} << 32;

/// When the sample was taken, on the program's clock; false for a batch that gives no times.
bool stampOf(const nvtxCounterBatch_t& batch, std::size_t index, std::size_t count,
             std::int64_t& stamp) {
  if (batch.timestamps == nullptr) return false;
  const auto at = static_cast<std::int64_t>(index);
  if ((batch.flags & (kTimesBeginAndInterval | kTimesEndAndInterval)) != 0) {
    if (batch.timestampsSize < 2 * sizeof(std::int64_t)) return false;
    const bool end = (batch.flags & kTimesEndAndInterval) != 0;
    const std::int64_t steps = end ? at - static_cast<std::int64_t>(count) + 1 : at;
    stamp = batch.timestamps[0] + steps * batch.timestamps[1];
    return true;
  }
  if (batch.timestampsSize < count * sizeof(std::int64_t)) return false;
  stamp = batch.timestamps[index];
  return true;
}

/// A batch without times, or with those of a clock that nobody described, is stamped on arrival.
void NVTX_API batchSubmit(nvtxDomainHandle_t handle, const nvtxCounterBatch_t* batch) {
  if (batch == nullptr || batch->counters == nullptr) return;
  const auto* counter = find(Domain::of(handle), batch->counterId);
  if (counter == nullptr || counter->size == 0) return;
  const std::size_t count = batch->countersSize / counter->size;
  for (std::size_t i = 0; i < count; ++i) {
    const auto* at = static_cast<const unsigned char*>(batch->counters) + i * counter->size;
    std::int64_t stamp = 0;
    prof::TimeNs timeNs = 0;
    if (!guest::on() || !stampOf(*batch, i, count, stamp) ||
        !toMonotonic(counter->timeDomain, stamp, timeNs)) {
      sample(handle, batch->counterId, at, counter->size);
      continue;
    }
    for (auto* series : counter->series) {
      prof::CounterSample row;
      row.timeNs = timeNs;
      row.track = prof::TrackId(series->track);
      row.value = settle(*series, valueAt(*series, at + series->offset));
      prof::record(row);
    }
  }
}

}  // namespace

void installCounters(intptr_t* slots, std::size_t count) {
  setSlot(slots, count, NVTX3EXT_CBID_nvtxCounterRegister, counterRegister);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxCounterSampleInt64, sampleInt64);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxCounterSampleFloat64, sampleFloat64);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxCounterSample, sample);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxCounterSampleNoValue, sampleNoValue);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxCounterBatchSubmit, batchSubmit);
}

}  // namespace lacuna::collector::nvtx
