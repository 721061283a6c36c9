// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// Track events of a Perfetto trace: from packets to rows, which are completed at the end.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "import/perfetto/packed_values.h"
#include "import/perfetto/perfetto_import.h"

namespace lacuna::analyzer {

using proto::Field;
using proto::Wire;

namespace {

/// The type here for a phase of Chrome's trace events.
perfetto::EventType typeOf(char phase, perfetto::EventType otherwise) {
  switch (phase) {
    case 'B':
    case 'X':
    case 'b':
    case 'S':
      return perfetto::EventType::Begin;
    case 'E':
    case 'e':
    case 'F':
      return perfetto::EventType::End;
    case 'i':
    case 'I':
    case 'n':
    case 'T':
    case 'p':
      return perfetto::EventType::Instant;
    default:
      return otherwise;
  }
}

bool isAsync(char phase) {
  return phase != 0 && std::string_view("beSF").find(phase) != std::string_view::npos;
}
bool isFlow(char phase) {
  return phase != 0 && std::string_view("stf").find(phase) != std::string_view::npos;
}

}  // namespace

bool PerfettoImport::legacyEvent(std::string_view bytes, Sequence& sequence, Event& event) {
  namespace l = perfetto::legacy;
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    switch (field.number) {
      case l::kNameIid:
        event.name = sequence.names[field.value];
        break;
      case l::kPhase:
        if (field.value > ' ' && field.value < 0x7f) event.phase = static_cast<char>(field.value);
        break;
      case l::kDurationUs:
        event.durationUs = field.signedValue();
        break;
      case l::kUnscopedId:
        event.id.scope = LegacyId::Scope::Unscoped;
        event.id.number = field.value;
        break;
      case l::kLocalId:
        event.id.scope = LegacyId::Scope::Local;
        event.id.number = field.value;
        break;
      case l::kGlobalId:
        event.id.scope = LegacyId::Scope::Global;
        event.id.number = field.value;
        break;
      case l::kBindId:
        event.bindId = field.value;
        break;
      case l::kFlowDirection:
        event.isBound = field.value != 0;
        break;
      case l::kPidOverride:
        event.pid = static_cast<std::uint32_t>(field.value);
        break;
      case l::kTidOverride:
        event.tid = static_cast<std::uint32_t>(field.value);
        break;
      case l::kIdScope:
        if (field.wire == Wire::Bytes) event.id.namespaceOf = builder_.intern(field.bytes);
        break;
      default:
        break;
    }
  }
  event.type = typeOf(event.phase, event.type);
  return !reader.malformed();
}

/// The older form counts microseconds of CLOCK_MONOTONIC, whatever clock its packets have.
prof::TimeNs PerfettoImport::monotonicUs(std::uint64_t us, Sequence& sequence) {
  return clocks_.traceTime(us * 1000, perfetto::kMonotonic, sequence.clocks);
}

/// Takes counters' values, and the numbers of flows and tracks.
bool PerfettoImport::takeNumbers(const Field& field, Event& event) {
  namespace e = perfetto::event;
  const auto into = [&](std::vector<std::uint64_t>& list, Wire packed) {
    return eachValue(field, packed, [&](std::uint64_t value) { list.push_back(value); });
  };
  switch (field.number) {
    case e::kCounter:
      event.counter = field.signedValue();
      event.hasCounter = true;
      break;
    case e::kDoubleCounter:
      event.counterReal = field.real();
      event.hasReal = true;
      break;
    case e::kFlow:
      return into(event.flows, Wire::Fixed64);
    case e::kFlowOld:
      return into(event.flows, Wire::Varint);
    case e::kEndFlow:
      return into(event.endFlows, Wire::Fixed64);
    case e::kEndFlowOld:
      return into(event.endFlows, Wire::Varint);
    case e::kExtraTrack:
      return into(event.extraTracks, Wire::Varint);
    case e::kExtraDoubleTrack:
      return into(event.extraDoubleTracks, Wire::Varint);
    case e::kExtraValue:
      return eachValue(field, Wire::Varint, [&](std::uint64_t value) {
        event.extraValues.push_back(static_cast<std::int64_t>(value));
      });
    case e::kExtraDoubleValue:
      return eachValue(field, Wire::Fixed64, [&](std::uint64_t value) {
        event.extraReals.push_back(std::bit_cast<double>(value));
      });
    default:
      break;
  }
  return true;
}

bool PerfettoImport::readEvent(std::string_view bytes, Sequence& sequence, Event& event) {
  namespace e = perfetto::event;
  const auto addCategory = [&](std::string_view text) {
    event.category =
        event.category ? builder_.intern(fmt::format("{},{}", builder_.text(event.category), text))
                       : builder_.intern(text);
  };
  bool complete = true;
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    switch (field.number) {
      case e::kType:
        event.type = static_cast<perfetto::EventType>(std::min<std::uint64_t>(field.value, 5));
        break;
      case e::kTrack:
        event.track = field.value;
        event.hasTrack = true;
        break;
      case e::kName:
        if (field.wire == Wire::Bytes) event.name = builder_.intern(field.bytes);
        break;
      case e::kNameIid:
        event.name = sequence.names[field.value];
        break;
      case e::kCategory:
        if (field.wire == Wire::Bytes) addCategory(field.bytes);
        break;
      case e::kCategoryIid:
        complete &= eachValue(field, Wire::Varint, [&](std::uint64_t iid) {
          addCategory(builder_.text(sequence.categories[iid]));
        });
        break;
      case e::kAnnotation:
        if (field.wire == Wire::Bytes) event.annotations.push_back(field.bytes);
        break;
      case e::kCorrelation:
        event.correlation = field.value;
        break;
      case e::kDeltaUs:
        sequence.legacyUs =
            static_cast<std::int64_t>(static_cast<std::uint64_t>(sequence.legacyUs) + field.value);
        event.timeNs = monotonicUs(static_cast<std::uint64_t>(sequence.legacyUs), sequence);
        break;
      case e::kAbsoluteUs:
        event.timeNs = monotonicUs(field.value, sequence);
        break;
      case e::kLegacy:
        if (field.wire == Wire::Bytes) complete &= legacyEvent(field.bytes, sequence, event);
        break;
      default:
        complete &= takeNumbers(field, event);
    }
  }
  return complete && !reader.malformed();
}

bool PerfettoImport::trackEvent(std::string_view bytes, Sequence& sequence, prof::TimeNs timeNs) {
  if (ownRows_.any()) return true;  // the rows themselves are in the file
  Event event;
  event.timeNs = timeNs;
  event.track = sequence.defaultTrack;
  const bool complete = readEvent(bytes, sequence, event);
  if (event.pid || event.tid) event.track = tracks_.trackOfOther(event.track, event.pid, event.tid);
  addEvent(event, sequence);
  return complete;
}

void PerfettoImport::addCounter(std::uint64_t track, prof::TimeNs timeNs, double value) {
  prof::CounterSample sample;
  sample.timeNs = timeNs;
  sample.value = value;
  auto& samples = builder_.columns<prof::CounterSample>();
  samples_.push_back({track, samples.timeNs.size()});
  samples.push(sample);
}

/// A value as the track's description has it: perhaps the difference to the one before, in units of
/// its own.
void PerfettoImport::addValue(std::uint64_t track, const Event& event, double value,
                              Sequence& sequence) {
  const PerfettoTracks::Track* known = tracks_.find(track);
  if (known == nullptr) return addCounter(track, event.timeNs, value);
  if (known->isIncremental) value = sequence.counters[track] += value;
  addCounter(track, event.timeNs, value * static_cast<double>(known->multiplier));
}

void PerfettoImport::addFlows(const Event& event) {
  for (const std::uint64_t id : event.flows)
    flows_.push_back({id, event.track, event.timeNs, false});
  for (const std::uint64_t id : event.endFlows)
    flows_.push_back({id, event.track, event.timeNs, true});
  if (event.isBound) flows_.push_back({event.bindId, event.track, event.timeNs, false});
  if (isFlow(event.phase)) {
    flows_.push_back({event.id.number, event.track, event.timeNs, event.phase == 'f', event.name,
                      event.category});
  }
}

/// The number of an asynchronous range; 0 for a slice of its track.
std::uint32_t PerfettoImport::asyncOf(const Event& event) {
  if (!isAsync(event.phase)) return 0;
  LegacyId id = event.id;
  id.category = event.category;
  if (event.phase == 'S' || event.phase == 'F') id.name = event.name;
  return asyncs_.try_emplace(id, static_cast<std::uint32_t>(asyncs_.size()) + 1).first->second;
}

void PerfettoImport::addBegin(const Event& event, const Sequence& sequence) {
  prof::Range row;
  row.startNs = event.timeNs;
  row.durNs =
      event.durationUs >= 0 && event.durationUs < INT64_MAX / 1000 ? event.durationUs * 1000 : -1;
  row.name = event.name;
  row.category = event.category;
  row.correlation = event.correlation;
  if (isAsync(event.phase)) row.kind = prof::RangeKind::StartEnd;
  row.args = annotations_.add(event.annotations, sequence.annotations);
  auto& ranges = builder_.columns<prof::Range>();
  if (row.durNs < 0) {
    row.flags = prof::kUnfinished;
    edges_.push_back({event.track, event.timeNs, ranges.startNs.size(), {}, asyncOf(event)});
  }
  rangePlaces_.push_back({event.track, ranges.startNs.size()});
  ranges.push(row);
}

void PerfettoImport::addEvent(const Event& event, Sequence& sequence) {
  const auto& extra = event.extraTracks.empty() ? sequence.extraTracks : event.extraTracks;
  for (std::size_t i = 0; i < std::min(extra.size(), event.extraValues.size()); ++i) {
    addValue(extra[i], event, static_cast<double>(event.extraValues[i]), sequence);
  }
  const auto& extraReal =
      event.extraDoubleTracks.empty() ? sequence.extraDoubleTracks : event.extraDoubleTracks;
  for (std::size_t i = 0; i < std::min(extraReal.size(), event.extraReals.size()); ++i) {
    addValue(extraReal[i], event, event.extraReals[i], sequence);
  }
  addFlows(event);
  switch (event.type) {
    case perfetto::EventType::Counter:
      addValue(event.track, event,
               event.hasReal ? event.counterReal : static_cast<double>(event.counter), sequence);
      break;
    case perfetto::EventType::Begin:
      addBegin(event, sequence);
      break;
    case perfetto::EventType::End:
      edges_.push_back({event.track, event.timeNs, Edge::kEnd,
                        annotations_.add(event.annotations, sequence.annotations), asyncOf(event)});
      break;
    case perfetto::EventType::Instant: {
      prof::Mark row;
      row.timeNs = event.timeNs;
      row.name = event.name;
      row.category = event.category;
      row.args = annotations_.add(event.annotations, sequence.annotations);
      auto& marks = builder_.columns<prof::Mark>();
      marks_.push_back({event.track, marks.timeNs.size()});
      marks.push(row);
      break;
    }
    default:
      if (event.phase != 0 && !isFlow(event.phase)) ++unreadPhases_[event.phase];
      break;
  }
}

}  // namespace lacuna::analyzer
