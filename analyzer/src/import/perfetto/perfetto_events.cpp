// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// Track events of a Perfetto trace: from packets to rows.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "formats/arg_rules.h"
#include "formats/json_text.h"
#include "import/perfetto/perfetto_import.h"
#include "store/table_sort.h"

namespace lacuna::analyzer {

using proto::Field;
using proto::Wire;

namespace {

constexpr int kMaxDepth = 64;

template <class Take>
bool eachValue(const Field& field, Wire packed, Take&& take) {
  if (field.wire != Wire::Bytes) return take(field.value), true;
  std::string_view rest = field.bytes;
  while (!rest.empty()) {
    std::uint64_t value = 0;
    if (packed == Wire::Varint) {
      if (!proto::takeVarint(rest, value)) return false;
    } else {
      if (rest.size() < sizeof value) return false;
      std::memcpy(&value, rest.data(), sizeof value);
      rest.remove_prefix(sizeof value);
    }
    take(value);
  }
  return true;
}

/// What a phase of Chrome's trace events is here.
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
  return traceTime(us * 1000, perfetto::kMonotonic, sequence);
}

bool PerfettoImport::readEvent(std::string_view bytes, Sequence& sequence, Event& event) {
  namespace e = perfetto::event;
  const auto addCategory = [&](std::string_view text) {
    event.category = event.category ? builder_.intern(fmt::format("{},{}", builder_.text(event.category), text))
                                    : builder_.intern(text);
  };
  bool whole = true;
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    const auto into = [&](std::vector<std::uint64_t>& list, Wire packed) {
      whole &= eachValue(field, packed, [&](std::uint64_t value) { list.push_back(value); });
    };
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
        whole &= eachValue(field, Wire::Varint,
                           [&](std::uint64_t iid) { addCategory(builder_.text(sequence.categories[iid])); });
        break;
      case e::kAnnotation:
        if (field.wire == Wire::Bytes) event.annotations.push_back(field.bytes);
        break;
      case e::kCounter:
        event.counter = field.signedValue();
        event.hasCounter = true;
        break;
      case e::kDoubleCounter:
        event.counterReal = field.real();
        event.hasReal = true;
        break;
      case e::kFlow:
        into(event.flows, Wire::Fixed64);
        break;
      case e::kFlowOld:
        into(event.flows, Wire::Varint);
        break;
      case e::kEndFlow:
        into(event.endFlows, Wire::Fixed64);
        break;
      case e::kEndFlowOld:
        into(event.endFlows, Wire::Varint);
        break;
      case e::kExtraTrack:
        into(event.extraTracks, Wire::Varint);
        break;
      case e::kExtraDoubleTrack:
        into(event.extraDoubleTracks, Wire::Varint);
        break;
      case e::kExtraValue:
        whole &= eachValue(field, Wire::Varint,
                           [&](std::uint64_t value) { event.extraValues.push_back(static_cast<std::int64_t>(value)); });
        break;
      case e::kExtraDoubleValue:
        whole &= eachValue(field, Wire::Fixed64,
                           [&](std::uint64_t value) { event.extraReals.push_back(std::bit_cast<double>(value)); });
        break;
      case e::kCorrelation:
        event.correlation = field.value;
        break;
      case e::kDeltaUs:
        sequence.legacyUs = static_cast<std::int64_t>(static_cast<std::uint64_t>(sequence.legacyUs) + field.value);
        event.timeNs = monotonicUs(static_cast<std::uint64_t>(sequence.legacyUs), sequence);
        break;
      case e::kAbsoluteUs:
        event.timeNs = monotonicUs(field.value, sequence);
        break;
      case e::kLegacy:
        if (field.wire == Wire::Bytes) whole &= legacyEvent(field.bytes, sequence, event);
        break;
      default:
        break;
    }
  }
  return whole && !reader.malformed();
}

/// The track of the thread on whose behalf another one wrote an event.
std::uint64_t PerfettoImport::trackOfOther(const Event& event) {
  const auto writer = tracks_.find(event.track);
  const std::uint32_t pid = event.pid.value_or(writer == tracks_.end() ? 0 : writer->second.pid);
  const std::uint32_t tid = event.tid.value_or(writer == tracks_.end() ? 0 : writer->second.tid);
  // Process numbers have 22 bits at most, so that the two highest bits are free to tell these tracks from others.
  const std::uint64_t uuid = std::uint64_t{1} << 62 | std::uint64_t{pid & 0x3fffffffU} << 32 | tid;
  Track& track = tracks_[uuid];
  track.isThread = true;
  track.pid = pid;
  track.tid = tid;
  return uuid;
}

bool PerfettoImport::trackEvent(std::string_view bytes, Sequence& sequence, prof::TimeNs timeNs) {
  if (hasOwnRows_) return true;  // the rows themselves are in the file
  Event event;
  event.timeNs = timeNs;
  event.track = sequence.defaultTrack;
  const bool whole = readEvent(bytes, sequence, event);
  if (event.pid || event.tid) event.track = trackOfOther(event);
  addEvent(event, sequence);
  return whole;
}

void PerfettoImport::addCounter(std::uint64_t track, prof::TimeNs timeNs, double value) {
  prof::CounterSample sample;
  sample.timeNs = timeNs;
  sample.value = value;
  auto& samples = builder_.columns<prof::CounterSample>();
  samples_.push_back({track, samples.timeNs.size()});
  samples.push(sample);
}

/// A value as the track's description has it: perhaps the difference to the one before, in units of its own.
void PerfettoImport::addValue(std::uint64_t track, const Event& event, double value, Sequence& sequence) {
  const auto known = tracks_.find(track);
  if (known == tracks_.end()) return addCounter(track, event.timeNs, value);
  if (known->second.isIncremental) value = sequence.counters[track] += value;
  addCounter(track, event.timeNs, value * static_cast<double>(known->second.multiplier));
}

void PerfettoImport::addFlows(const Event& event) {
  for (const std::uint64_t id : event.flows) flows_.push_back({id, event.track, event.timeNs, false});
  for (const std::uint64_t id : event.endFlows) flows_.push_back({id, event.track, event.timeNs, true});
  if (event.isBound) flows_.push_back({event.bindId, event.track, event.timeNs, false});
  if (isFlow(event.phase)) {
    flows_.push_back({event.id.number, event.track, event.timeNs, event.phase == 'f', event.name, event.category});
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
  row.durNs = event.durationUs >= 0 && event.durationUs < INT64_MAX / 1000 ? event.durationUs * 1000 : -1;
  row.name = event.name;
  row.category = event.category;
  row.correlation = event.correlation;
  if (isAsync(event.phase)) row.kind = prof::RangeKind::StartEnd;
  row.args = addArgs(event, sequence);
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
  const auto& extraReal = event.extraDoubleTracks.empty() ? sequence.extraDoubleTracks : event.extraDoubleTracks;
  for (std::size_t i = 0; i < std::min(extraReal.size(), event.extraReals.size()); ++i) {
    addValue(extraReal[i], event, event.extraReals[i], sequence);
  }
  addFlows(event);
  switch (event.type) {
    case perfetto::EventType::Counter:
      addValue(event.track, event, event.hasReal ? event.counterReal : static_cast<double>(event.counter), sequence);
      break;
    case perfetto::EventType::Begin:
      addBegin(event, sequence);
      break;
    case perfetto::EventType::End:
      edges_.push_back({event.track, event.timeNs, Edge::kEnd, addArgs(event, sequence), asyncOf(event)});
      break;
    case perfetto::EventType::Instant: {
      prof::Mark row;
      row.timeNs = event.timeNs;
      row.name = event.name;
      row.category = event.category;
      row.args = addArgs(event, sequence);
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

prof::ArgSetId PerfettoImport::addArgs(const Event& event, const Sequence& sequence) {
  if (event.annotations.empty()) return {};
  const prof::ArgSetId set(sets_ + 1);
  std::string shape;
  for (const std::string_view annotation : event.annotations) {
    if (!addArg(annotation, sequence, set, shape)) ++unreadValues_;
  }
  if (shape.empty()) return {};
  ++sets_;
  builder_.append(prof::ArgSet{set, builder_.intern(shape)});
  return set;
}

bool PerfettoImport::addArg(std::string_view annotation, const Sequence& sequence, prof::ArgSetId set,
                            std::string& shape) {
  prof::Arg arg;
  arg.set = set;
  arg.scope = prof::ArgScope::Argument;
  const auto text = [&](std::string_view value, prof::ArgType type) {
    arg.type = type;
    arg.value = builder_.intern(value).value;
  };
  std::string json;
  bool isCompound = false, hasOther = false, hasValue = false;
  proto::Reader reader(annotation);
  for (Field field; reader.next(field);) {
    hasValue |= field.number >= 2 && field.number <= 9;
    switch (field.number) {
      case 1:
        if (const auto name = sequence.annotationNames.find(field.value); name != sequence.annotationNames.end()) {
          arg.key = name->second;
        }
        break;
      case 10:
        arg.key = builder_.intern(field.bytes);
        break;
      case 2:
        arg.type = prof::ArgType::Bool;
        arg.value = field.value != 0 ? 1 : 0;
        break;
      case 3:
      case 7:
        // Arguments have no unsigned numbers; as JSON a large one is not taken for a negative one.
        if (field.signedValue() < 0) {
          text(std::to_string(field.value), prof::ArgType::Json);
          break;
        }
        [[fallthrough]];
      case 4:
        arg.type = prof::ArgType::I64;
        arg.value = field.value;
        break;
      case 5:
        arg.type = prof::ArgType::F64;
        arg.value = std::bit_cast<std::uint64_t>(field.real());
        break;
      case 6:
        text(field.bytes, prof::ArgType::Text);
        break;
      case 17:
        if (const auto known = sequence.texts.find(field.value); known != sequence.texts.end()) {
          arg.type = prof::ArgType::Text;
          arg.value = known->second.value;
        }
        break;
      case 8:
        if (nestedJson(field.bytes, json, 0)) text(json, prof::ArgType::Json);
        break;
      case 9:
        text(field.bytes, json::isValid(field.bytes) ? prof::ArgType::Json : prof::ArgType::Text);
        break;
      case 11:
      case 12:
        isCompound = true;
        break;
      case 13:  // names of types say nothing of the value
      case 16:
        break;
      default:
        hasOther |= field.number > 12;
        break;
    }
  }
  if (reader.malformed() || !arg.key) return false;
  if (isCompound) {
    if (annotationJson(annotation, sequence, json, 0)) {
      text(json, prof::ArgType::Json);
    } else {
      ++unreadValues_;
    }
  } else if (hasOther && !hasValue && arg.type == prof::ArgType::Null) {
    ++unreadValues_;
  }
  builder_.append(arg);
  if (!shape.empty()) shape += '\n';
  shape += kShapeStored;
  std::string key;
  json::appendQuoted(key, builder_.text(arg.key));
  shape.append(key, 1, key.size() - 2);
  return true;
}

/// The value of an annotation as JSON text, its entries or items included; `key` gets its name.
bool PerfettoImport::annotationJson(std::string_view annotation, const Sequence& sequence, std::string& out, int depth,
                                    std::string* key) {
  if (depth > kMaxDepth) return false;
  std::string leaf = "null", entries, items;
  bool isDictionary = false, isList = false;
  const auto quoted = [](std::string_view text) {
    std::string json;
    json::appendQuoted(json, text);
    return json;
  };
  const auto known = [&](const auto& texts, std::uint64_t id) {
    const auto found = texts.find(id);
    return found == texts.end() ? std::string_view() : builder_.text(found->second);
  };
  proto::Reader reader(annotation);
  for (Field field; reader.next(field);) {
    std::string name, value;
    switch (field.number) {
      case 1:
        if (key != nullptr) *key = known(sequence.annotationNames, field.value);
        break;
      case 10:
        if (key != nullptr) *key = field.bytes;
        break;
      case 2:
        leaf = field.value != 0 ? "true" : "false";
        break;
      case 3:
      case 7:
        leaf = std::to_string(field.value);
        break;
      case 4:
        leaf = std::to_string(field.signedValue());
        break;
      case 5:
        leaf = std::isfinite(field.real()) ? fmt::format("{}", field.real()) : "null";
        break;
      case 6:
        leaf = quoted(field.bytes);
        break;
      case 8:
        leaf.clear();
        if (!nestedJson(field.bytes, leaf, depth + 1)) return false;
        break;
      case 9:
        leaf = json::isValid(field.bytes) ? std::string(field.bytes) : quoted(field.bytes);
        break;
      case 11:
        isDictionary = true;
        if (!annotationJson(field.bytes, sequence, value, depth + 1, &name)) return false;
        entries += (entries.empty() ? "" : ", ") + quoted(name) + ": " + value;
        break;
      case 12:
        isList = true;
        if (!annotationJson(field.bytes, sequence, value, depth + 1)) return false;
        items += (items.empty() ? "" : ", ") + value;
        break;
      case 17:
        leaf = quoted(known(sequence.texts, field.value));
        break;
      default:
        break;
    }
  }
  out += isDictionary ? "{" + entries + "}" : isList ? "[" + items + "]" : leaf;
  return !reader.malformed();
}

/// A nested value as JSON text.
bool PerfettoImport::nestedJson(std::string_view bytes, std::string& out, int depth) {
  if (depth > kMaxDepth) return false;
  std::uint64_t type = 0;
  std::vector<std::string_view> keys, values, items;
  std::string leaf = "null";
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.number == 1) type = field.value;
    if (field.number == 2) keys.push_back(field.bytes);
    if (field.number == 3) values.push_back(field.bytes);
    if (field.number == 4) items.push_back(field.bytes);
    if (field.number == 5) leaf = std::to_string(field.signedValue());
    if (field.number == 6) leaf = std::isfinite(field.real()) ? fmt::format("{}", field.real()) : "null";
    if (field.number == 7) leaf = field.value != 0 ? "true" : "false";
    if (field.number == 8) {
      leaf.clear();
      json::appendQuoted(leaf, field.bytes);
    }
  }
  if (reader.malformed()) return false;
  if (type == 0) return out += leaf, true;
  out += type == 1 ? '{' : '[';
  const auto& list = type == 1 ? values : items;
  for (std::size_t i = 0; i < list.size() && (type != 1 || i < keys.size()); ++i) {
    if (i > 0) out += ", ";
    if (type == 1) {
      json::appendQuoted(out, keys[i]);
      out += ": ";
    }
    if (!nestedJson(list[i], out, depth + 1)) return false;
  }
  out += type == 1 ? '}' : ']';
  return true;
}

prof::ProcessId PerfettoImport::processOf(std::uint64_t uuid, int depth) {
  const auto found = tracks_.find(uuid);
  if (found == tracks_.end() || depth > kMaxDepth) return places_.process(0, 0);
  const Track& track = found->second;
  if (!track.isProcess && !track.isThread) return processOf(track.parent, depth + 1);
  return places_.process(track.pid, track.pid);
}

/// Processes and threads are named by their descriptions wherever those are, what these leave open by the recorder's
/// lists.
void PerfettoImport::namePlaces() {
  auto& processes = builder_.columns<prof::Process>();
  for (const auto& [uuid, track] : tracks_) {
    if (track.isThread && track.name) threadNames_[{track.pid, track.tid}] = track.name;
    const prof::ProcessId id = track.isProcess ? places_.findProcess(track.pid) : prof::ProcessId();
    if (!id) continue;
    if (track.name) processes.name[id.value - 1] = track.name;
    if (track.commandLine) processes.commandLine[id.value - 1] = track.commandLine;
  }
  for (std::size_t i = 0; i < processes.id.size(); ++i) {
    const auto listed = processTexts_.find(processes.osPid[i]);
    if (listed == processTexts_.end()) continue;
    if (!processes.name[i]) processes.name[i] = listed->second.name;
    if (!processes.commandLine[i]) processes.commandLine[i] = listed->second.commandLine;
  }
  auto& threads = builder_.columns<prof::Thread>();
  for (std::size_t i = 0; i < threads.id.size(); ++i) {
    if (threads.name[i] || !threads.process[i]) continue;
    const auto known = threadNames_.find({processes.osPid[threads.process[i].value - 1], threads.osTid[i]});
    if (known != threadNames_.end()) threads.name[i] = known->second;
  }
}

/// A thread's track is the thread; any other track becomes a thread without a number that has the track's name.
prof::ThreadId PerfettoImport::threadOf(std::uint64_t uuid, int depth) {
  Track& track = tracks_[uuid];
  if (track.thread) return track.thread;
  const prof::ProcessId process = processOf(uuid, depth);
  if (track.isThread) {
    const std::uint64_t key = std::uint64_t{track.pid} << 32 | track.tid;
    track.thread = places_.thread(key, process, track.tid);
  } else {
    // Keys of threads have no more than 63 bits used by pids.
    track.thread = places_.thread(uuid ^ 0x9e3779b97f4a7c15ULL, process, 0);
  }
  const prof::StringId name = track.name ? track.name : track.isThread ? track.name : builder_.intern("track");
  if (name) builder_.columns<prof::Thread>().name[track.thread.value - 1] = name;
  return track.thread;
}

/// One run of rows for each name, so that a value is found without a look at every event's.
void PerfettoImport::sortArgs() {
  auto& args = builder_.columns<prof::Arg>();
  RowOrder order(args.set.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](auto row) { return std::pair(args.scope[row], args.key[row].value); });
  args.forEach([&](auto& values) { reorder(values, order); });
}

void PerfettoImport::pairEdges() {
  std::vector<bool> isLocal(asyncs_.size() + 1);
  for (const auto& [id, number] : asyncs_) isLocal[number] = id.scope == LegacyId::Scope::Local;
  // Slices by their track; asynchronous ranges by their number, and by their process where that counts for itself.
  const auto keyOf = [&](const Edge& edge) {
    if (edge.async == 0) return std::pair(std::uint32_t{0}, edge.track);
    return std::pair(edge.async, std::uint64_t{isLocal[edge.async] ? processOf(edge.track).value : 0});
  };
  auto& ranges = builder_.columns<prof::Range>();
  std::ranges::stable_sort(edges_, {}, &Edge::timeNs);
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<const Edge*>> open;
  for (const Edge& edge : edges_) {
    auto& stack = open[keyOf(edge)];
    if (edge.range != Edge::kEnd) {
      stack.push_back(&edge);
      continue;
    }
    if (stack.empty()) {
      ++unmatchedEnds_;
      if (edge.args) joins_.push_back({edge.args, {}});
      continue;
    }
    const Edge& begin = *stack.back();
    stack.pop_back();
    if (__builtin_sub_overflow(edge.timeNs, begin.timeNs, &ranges.durNs[begin.range])) ranges.durNs[begin.range] = 0;
    ranges.flags[begin.range] = 0;
    if (edge.track != begin.track) endPlaces_.push_back({edge.track, begin.range});
    if (edge.args && ranges.args[begin.range]) {
      joins_.push_back({edge.args, ranges.args[begin.range]});
    } else if (edge.args) {
      ranges.args[begin.range] = edge.args;
    }
  }
}

void PerfettoImport::placeFlows() {
  std::ranges::stable_sort(flows_, {}, &FlowPoint::timeNs);
  using Key = std::tuple<prof::StringId, prof::StringId, std::uint64_t>;
  std::map<Key, bool> begun;
  std::map<Key, std::size_t> last;
  auto& rows = builder_.columns<prof::Flow>();
  for (const FlowPoint& point : flows_) {
    prof::Flow row;
    row.timeNs = point.timeNs;
    row.id = point.id;
    row.name = point.name;
    row.category = point.category;
    row.thread = threadOf(point.track);
    const Key key(point.name, point.category, point.id);
    bool& isBegun = begun[key];
    row.phase = point.ends && isBegun ? prof::FlowPhase::End : isBegun ? prof::FlowPhase::Step : prof::FlowPhase::Begin;
    isBegun = !point.ends;
    last[key] = rows.id.size();
    rows.push(row);
  }
  // A flow that nothing terminates ends with its last point.
  for (const auto& [id, at] : last) {
    if (rows.phase[at] == prof::FlowPhase::Step) rows.phase[at] = prof::FlowPhase::End;
  }
}

void PerfettoImport::placeCounters() {
  auto& samples = builder_.columns<prof::CounterSample>();
  std::map<std::uint64_t, prof::TrackId> made;
  for (const Placed& sample : samples_) {
    prof::TrackId& id = made[sample.track];
    if (!id) {
      const Track& track = tracks_[sample.track];
      prof::CounterTrack row;
      row.name = track.name ? track.name : builder_.intern(fmt::format("counter {}", sample.track));
      row.unit = track.unit;
      const auto parent = tracks_.find(track.parent);
      if (parent != tracks_.end() && parent->second.isThread) row.thread = threadOf(track.parent);
      row.process = processOf(sample.track);
      id = places_.track(row);
    }
    samples.track[sample.row] = id;
  }
}

bool PerfettoImport::ownData(std::string_view bytes) {
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.wire != Wire::Bytes) continue;
    if (field.number == perfetto::own::kText) ownTexts_.push_back(builder_.intern(field.bytes));
    if (field.number != perfetto::own::kRow) continue;
    hasOwnRows_ = true;
    std::string_view rest = field.bytes;
    std::uint64_t table = 0;
    if (!proto::takeVarint(rest, table)) return false;
    prof::forEachTable([&]<class Row>() {
      if (table != Row::kTable) return;
      Row row;
      perfetto::takeRow(rest, row);
      Row::forEachMember([&]<auto Member>() {
        using T = std::remove_cvref_t<decltype(row.*Member)>;
        if constexpr (std::is_same_v<T, prof::StringId>) {
          const std::uint32_t text = (row.*Member).value;
          row.*Member = text < ownTexts_.size() ? ownTexts_[text] : prof::StringId();
        }
      });
      if constexpr (std::is_same_v<Row, prof::Arg>) {
        const bool isText = row.type == prof::ArgType::Text || row.type == prof::ArgType::Json;
        if (isText) row.value = row.value < ownTexts_.size() ? ownTexts_[row.value].value : 0;
      }
      builder_.append(row);
    });
  }
  return !reader.malformed();
}

void PerfettoImport::finish() {
  if (hasOwnRows_) {
    renumberIds(builder_);
    return closeUnfinished(builder_);
  }
  builder_.append(prof::Environment{{}, builder_.intern("source.format"), builder_.intern("perfetto")});
  if (clock_) builder_.append(*clock_);
  pairEdges();
  sortArgs();
  joinArgs(builder_, joins_);
  auto& ranges = builder_.columns<prof::Range>();
  for (const Placed& place : rangePlaces_) {
    ranges.thread[place.row] = threadOf(place.track);
  }
  for (const Placed& place : endPlaces_) ranges.endThread[place.row] = threadOf(place.track);
  for (const Placed& place : marks_) builder_.columns<prof::Mark>().thread[place.row] = threadOf(place.track);
  placeFlows();
  placeCounters();
  namePlaces();
  if (toMonotonicNs_ != 0) {
    const auto shift = [&](std::vector<prof::TimeNs>& times) {
      for (prof::TimeNs& time : times) {
        time = static_cast<prof::TimeNs>(static_cast<std::uint64_t>(time) + static_cast<std::uint64_t>(toMonotonicNs_));
      }
    };
    shift(ranges.startNs);
    shift(builder_.columns<prof::Mark>().timeNs);
    shift(builder_.columns<prof::CounterSample>().timeNs);
    shift(builder_.columns<prof::Flow>().timeNs);
  }
  if (skipped_ > 0) {
    builder_.addWarning(
        fmt::format("{} packets were left out: packets before them were lost, and they need those", skipped_));
    prof::Drop drop;
    drop.count = skipped_;
    drop.reason = builder_.intern("packets lost by the recorder");
    builder_.append(drop);
  }
  if (unknownClocks_ > 0) {
    builder_.addWarning(fmt::format(
        "{} packets have a clock that no snapshot explains; their times are taken as they are", unknownClocks_));
  }
  if (unreadValues_ > 0) {
    builder_.addWarning(fmt::format("{} annotations have names or values that lacuna does not read", unreadValues_));
  }
  std::string phases;
  for (const auto& [phase, count] : unreadPhases_) {
    phases += fmt::format("{}{} ({})", phases.empty() ? "" : ", ", phase, count);
  }
  if (!phases.empty()) builder_.addWarning("phases of legacy events that lacuna does not read: " + phases);
  if (unmatchedEnds_ > 0) {
    builder_.addWarning(fmt::format("{} ends of slices have no begin and were left out", unmatchedEnds_));
  }
  std::string kinds;
  for (const auto& [number, count] : unread_) {
    if (number == 33 || number == 35 || number == 36 || number == 45 || number == 69 || number == 89) continue;
    kinds += fmt::format("{}field {} ({})", kinds.empty() ? "" : ", ", number, count);
  }
  if (!kinds.empty()) builder_.addWarning("packets that lacuna does not read: " + kinds);
  closeUnfinished(builder_);
  nestRanges(builder_);
  spanPlaces(builder_);
}

}  // namespace lacuna::analyzer
