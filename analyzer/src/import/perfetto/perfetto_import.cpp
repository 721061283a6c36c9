// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/perfetto/perfetto_import.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "import/byte_source.h"
#include "import/importers.h"
#include "import/perfetto/packed_values.h"
#include "import/perfetto/packet_reader.h"
#include "import/perfetto/packet_unpacking.h"

namespace lacuna::analyzer {

using proto::Field;
using proto::Wire;

bool PerfettoImport::packet(std::string_view bytes, int depth) {
  ++packets_;
  Head head;
  if (!readHead(bytes, head)) return false;
  Sequence* sequence = sequenceOf(head);
  if (sequence == nullptr) {
    ++skipped_;
    return true;
  }
  std::optional<prof::TimeNs> time;
  bool complete = takeState(head, *sequence, time);
  for (const Field& field : head.payloads)
    complete &= takePayload(field, head, *sequence, time, depth);
  return complete;
}

bool PerfettoImport::readHead(std::string_view bytes, Head& head) {
  namespace p = perfetto::packet;
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.number == p::kTimestamp) {
      head.timestamp = field.value;
      head.hasTime = true;
    }
    if (field.number == p::kClock && field.wire == Wire::Varint) head.clock = field.value;
    if (field.number == p::kSequence) head.sequence = field.value;
    if (field.number == p::kFlags) head.flags = field.value;
    if (field.number == p::kCleared) head.cleared = field.value != 0;
    if (field.number == p::kDropped) head.dropped = field.value != 0;
    if (field.wire == Wire::Bytes) head.payloads.push_back(field);
  }
  return !reader.malformed();
}

/// The state that the packet is read with; null where packets that it needs were lost.
PerfettoImport::Sequence* PerfettoImport::sequenceOf(const Head& head) {
  const auto [at, isNew] = sequences_.try_emplace(head.sequence);
  Sequence& sequence = at->second;
  const bool cleared = head.cleared || (head.flags & perfetto::kFlagCleared) != 0;
  // The service marks each sequence's first packet as if something had been lost before it.
  if (head.dropped && !isNew && !cleared) sequence.valid = false;
  const bool needsState = (head.flags & perfetto::kFlagNeedsState) != 0;
  if (needsState && isNew && head.dropped) sequence.valid = false;
  if (cleared) {
    // Clocks are no part of the state that packets build up.
    auto clocks = std::move(sequence.clocks);
    sequence = Sequence();
    sequence.clocks = std::move(clocks);
  } else if (needsState && !sequence.valid) {
    return nullptr;
  }
  return &sequence;
}

prof::TimeNs PerfettoImport::timeOf(const Head& head, Sequence& sequence) {
  return clocks_.traceTime(head.timestamp, head.clock.value_or(sequence.defaultClock),
                           sequence.clocks);
}

/// Takes what the packet's other parts are read with, and its time where that is in a clock known
/// by now.
bool PerfettoImport::takeState(const Head& head, Sequence& sequence,
                               std::optional<prof::TimeNs>& time) {
  namespace p = perfetto::packet;
  bool complete = true;
  bool setsClocks = false;
  for (const Field& field : head.payloads) {
    if (field.number == p::kInterned) complete &= interned(field.bytes, sequence);
    if (field.number == p::kDefaults) complete &= defaults(field.bytes, sequence);
    if (field.number == p::kClockSnapshot)
      complete &= clocks_.readSnapshot(field.bytes, sequence.clocks);
    if (field.number == p::kOwn) complete &= ownRows_.read(field.bytes);
    setsClocks |= field.number == p::kClockSnapshot;
  }
  // Whatever a packet holds, its time moves an incremental clock on; only that of a snapshot is in
  // no such clock.
  if (head.hasTime && !setsClocks) time = timeOf(head, sequence);
  return complete;
}

bool PerfettoImport::takePayload(const Field& field, const Head& head, Sequence& sequence,
                                 std::optional<prof::TimeNs>& time, int depth) {
  namespace p = perfetto::packet;
  const std::uint64_t ownTrack = head.sequence | std::uint64_t{1} << 63;
  switch (field.number) {
    case p::kTrackEvent:
      if (!time) time = timeOf(head, sequence);
      unknownClocks_ +=
          clocks_.explains(head.clock.value_or(sequence.defaultClock), sequence.clocks) ? 0 : 1;
      return trackEvent(field.bytes, sequence, *time);
    case p::kTrackDescriptor:
      return tracks_.readTrack(field.bytes);
    case p::kCompressed:
    case p::kZstdCompressed:
      return unpack(field.bytes, field.number == p::kZstdCompressed, depth);
    case p::kThreadDescriptor:
      if (!sequence.hasDefaultTrack) sequence.defaultTrack = ownTrack;
      return tracks_.readThread(field.bytes, ownTrack, &sequence.legacyUs);
    case p::kProcessDescriptor:
      return tracks_.readProcess(field.bytes, tracks_.at(head.sequence | std::uint64_t{3} << 62));
    case p::kProcessTree:
      return tracks_.readProcessTree(field.bytes);
    case p::kInterned:
    case p::kDefaults:
    case p::kClockSnapshot:
    case p::kOwn:
      break;
    default:
      ++unread_[field.number];
  }
  return true;
}

bool PerfettoImport::unpack(std::string_view bytes, bool isZstd, int depth) {
  if (depth > 0) return false;
  std::string out;
  if (!(isZstd ? unpackZstd(bytes, out) : unpackZlib(bytes, out))) return false;
  bool complete = true;
  proto::Reader reader(out);
  for (Field field; reader.next(field);) {
    if (field.number == 1 && field.wire == Wire::Bytes) complete &= packet(field.bytes, depth + 1);
  }
  return complete && !reader.malformed();
}

bool PerfettoImport::interned(std::string_view bytes, Sequence& sequence) {
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    auto* to = field.number == 1    ? &sequence.categories
               : field.number == 2  ? &sequence.names
               : field.number == 3  ? &sequence.annotations.names
               : field.number == 29 ? &sequence.annotations.texts
                                    : nullptr;
    if (to == nullptr || field.wire != Wire::Bytes) continue;
    std::uint64_t iid = 0;
    prof::StringId text;
    proto::Reader entry(field.bytes);
    for (Field part; entry.next(part);) {
      if (part.number == 1) iid = part.value;
      if (part.number == 2 && part.wire == Wire::Bytes) text = builder_.intern(part.bytes);
    }
    if (entry.malformed()) return false;
    (*to)[iid] = text;
  }
  return !reader.malformed();
}

bool PerfettoImport::defaults(std::string_view bytes, Sequence& sequence) {
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.number == perfetto::packet::kClock && field.wire == Wire::Varint)
      sequence.defaultClock = field.value;
    if (field.number != perfetto::packet::kTrackEvent || field.wire != Wire::Bytes) continue;
    proto::Reader event(field.bytes);
    sequence.extraTracks.clear();
    sequence.extraDoubleTracks.clear();
    for (Field part; event.next(part);) {
      if (part.number == perfetto::event::kTrack) {
        sequence.defaultTrack = part.value;
        sequence.hasDefaultTrack = true;
      }
      if (part.number == perfetto::event::kExtraTrack &&
          !eachValue(part, Wire::Varint,
                     [&](std::uint64_t uuid) { sequence.extraTracks.push_back(uuid); })) {
        return false;
      }
      if (part.number == perfetto::event::kExtraDoubleTrack &&
          !eachValue(part, Wire::Varint,
                     [&](std::uint64_t uuid) { sequence.extraDoubleTracks.push_back(uuid); })) {
        return false;
      }
    }
    if (event.malformed()) return false;
  }
  return !reader.malformed();
}

namespace {

/// The problem of a file in which there is no whole packet.
std::string withoutPackets(const PacketReader& packets, const std::string& sourceProblem) {
  if (!packets.breaksOff())
    return "is not a Perfetto trace: " +
           (packets.problem().empty() ? "it has no packets" : packets.problem());
  return fmt::format(
      "is not a Perfetto trace, or only the beginning of one: {}, and it is the first{}",
      packets.problem(), sourceProblem.empty() ? "" : "; " + sourceProblem);
}

}  // namespace

StoreResult importPerfetto(const std::filesystem::path& path, const OpenOptions& options) {
  const auto source = ByteSource::open(path, options.budget);
  if (!source) return source.error();
  StoreBuilder builder;
  builder.setPath(path);
  PerfettoImport import(builder);
  PacketReader packets(**source);
  std::uint64_t malformed = 0;
  std::uint64_t firstMalformed = 0;
  for (std::string packet; packets.next(packet);) {
    if (!import.packet(packet) && malformed++ == 0) firstMalformed = packets.packetOffset();
    if (import.packets() % 4096 == 0 && options.progress &&
        !options.progress((*source)->progress())) {
      return prof::Error{fmt::format("{}: the import was cancelled", path.string())};
    }
  }
  if (import.packets() == 0) {
    return prof::Error{
        fmt::format("{}: {}", path.string(), withoutPackets(packets, (*source)->problem()))};
  }
  if (malformed > 0) {
    builder.addWarning(fmt::format(
        "{} packets are not well-formed, the first at byte {}; what is readable of them was read",
        malformed, firstMalformed));
  }
  if (!packets.problem().empty())
    builder.addWarning(packets.problem() + "; what comes before was read");
  if (!(*source)->problem().empty()) builder.addWarning((*source)->problem());
  import.finish();
  bool hasEvents = false;
  prof::forEachTable([&]<class Row>() {
    if constexpr (Row::kTable >= prof::Range::kTable) {
      builder.columns<Row>().forEach([&](const auto& values) { hasEvents |= !values.empty(); });
    }
  });
  if (!hasEvents) {
    return prof::Error{fmt::format("{}: the Perfetto trace has {} packets, but no track events",
                                   path.string(), import.packets())};
  }
  return builder.build();
}

constinit const Importer kPerfettoImporter{
    .kind = SourceKind::Perfetto,
    .name = "Perfetto trace",
    .plural = "Perfetto traces",
    .recognises =
        [](std::string_view head) {
          return head.front() == '\x0a';
        },  // a packet: field 1, with its length
    .open = importPerfetto,
};

}  // namespace lacuna::analyzer
