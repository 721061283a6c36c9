// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/perfetto/perfetto_import.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <memory>
#include <optional>
#include <utility>

#include "import/byte_source.h"
#include "import/importers.h"

namespace lacuna::analyzer {

using proto::Field;
using proto::Wire;

namespace {

/// Perfetto's own limit is 512 KiB for a compressed packet; ours is for files that were made otherwise.
constexpr std::uint64_t kMaxPacketBytes = 256 << 20;
constexpr std::size_t kMaxUnpackedBytes = 64 << 20;

/// One number, or many packed into bytes.
template <class Take>
bool eachNumber(const Field& field, Take&& take) {
  if (field.wire != Wire::Bytes) return take(field.value), true;
  std::string_view rest = field.bytes;
  for (std::uint64_t value = 0; !rest.empty(); take(value)) {
    if (!proto::takeVarint(rest, value)) return false;
  }
  return true;
}

std::int64_t plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t minus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
std::int64_t times(std::int64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * b);
}

/// Takes memory as it goes: a frame need not say how long it is. False where it breaks off or is too long.
bool unpackZstd(std::string_view bytes, std::string& out) {
  constexpr std::size_t kPart = 1 << 16;
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  for (std::size_t left = 1; left != 0 || in.pos < in.size;) {
    const std::size_t before = out.size();
    if (before >= kMaxUnpackedBytes) return false;
    out.resize(before + kPart);
    ZSTD_outBuffer to{out.data() + before, kPart, 0};
    left = ZSTD_decompressStream(context.get(), &to, &in);
    out.resize(before + to.pos);
    if (ZSTD_isError(left) != 0) return false;
    if (left != 0 && in.pos == in.size && to.pos < to.size) return false;
  }
  return true;
}

void appendWord(std::string& commandLine, std::string_view word) {
  if (!commandLine.empty()) commandLine += ' ';
  commandLine += word;
}

/// Clocks that each sequence has for itself.
bool isLocalClock(std::uint64_t clock) {
  return clock >= 64 && clock < 128;
}

}  // namespace

bool PerfettoImport::packet(std::string_view bytes, int depth) {
  namespace p = perfetto::packet;
  ++packets_;
  std::uint64_t timestamp = 0, number = 0, flags = 0;
  std::optional<std::uint64_t> clock;
  bool cleared = false, dropped = false, hasTime = false;
  std::vector<Field> payloads;
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.number == p::kTimestamp) {
      timestamp = field.value;
      hasTime = true;
    }
    if (field.number == p::kClock && field.wire == Wire::Varint) clock = field.value;
    if (field.number == p::kSequence) number = field.value;
    if (field.number == p::kFlags) flags = field.value;
    if (field.number == p::kCleared) cleared = field.value != 0;
    if (field.number == p::kDropped) dropped = field.value != 0;
    if (field.wire == Wire::Bytes) payloads.push_back(field);
  }
  if (reader.malformed()) return false;
  const auto [at, isNew] = sequences_.try_emplace(number);
  Sequence& sequence = at->second;
  cleared |= (flags & perfetto::kFlagCleared) != 0;
  // The service marks each sequence's first packet as if something had been lost before it.
  if (dropped && !isNew && !cleared) sequence.valid = false;
  const bool needsState = (flags & perfetto::kFlagNeedsState) != 0;
  if (needsState && isNew && dropped) sequence.valid = false;
  if (cleared) {
    // Clocks are no part of the state that packets build up.
    auto clocks = std::move(sequence.clocks);
    sequence = Sequence();
    sequence.clocks = std::move(clocks);
  } else if (needsState && !sequence.valid) {
    ++skipped_;
    return true;
  }
  bool whole = true;
  bool setsClocks = false;
  for (const Field& field : payloads) {
    if (field.number == p::kInterned) whole &= interned(field.bytes, sequence);
    if (field.number == p::kDefaults) whole &= defaults(field.bytes, sequence);
    if (field.number == p::kClockSnapshot) whole &= clockSnapshot(field.bytes, sequence);
    if (field.number == p::kOwn) whole &= ownData(field.bytes);
    setsClocks |= field.number == p::kClockSnapshot;
  }
  // Whatever a packet holds, its time moves an incremental clock on; only that of a snapshot is in no such clock.
  std::optional<prof::TimeNs> time;
  if (hasTime && !setsClocks) time = traceTime(timestamp, clock.value_or(sequence.defaultClock), sequence);
  for (const Field& field : payloads) {
    switch (field.number) {
      case p::kTrackEvent:
        if (!time) time = traceTime(timestamp, clock.value_or(sequence.defaultClock), sequence);
        unknownClocks_ += explains(clock.value_or(sequence.defaultClock), sequence) ? 0 : 1;
        whole &= trackEvent(field.bytes, sequence, *time);
        break;
      case p::kTrackDescriptor:
        whole &= trackDescriptor(field.bytes);
        break;
      case p::kCompressed:
      case p::kZstdCompressed:
        whole &= unpack(field.bytes, field.number == p::kZstdCompressed, depth);
        break;
      case p::kThreadDescriptor:
        whole &= threadDescriptor(field.bytes, number | std::uint64_t{1} << 63, &sequence);
        if (!sequence.hasDefaultTrack) sequence.defaultTrack = number | std::uint64_t{1} << 63;
        break;
      case p::kProcessDescriptor:
        whole &= processDescriptor(field.bytes, tracks_[number | std::uint64_t{3} << 62]);
        break;
      case p::kProcessTree:
        whole &= processTree(field.bytes);
        break;
      case p::kInterned:
      case p::kDefaults:
      case p::kClockSnapshot:
      case p::kOwn:
        break;
      default:
        ++unread_[field.number];
    }
  }
  return whole;
}

bool PerfettoImport::unpack(std::string_view bytes, bool isZstd, int depth) {
  if (depth > 0) return false;
  std::string out;
  if (isZstd) {
    if (!unpackZstd(bytes, out)) return false;
  } else {
    z_stream stream{};
    if (inflateInit(&stream) != Z_OK) return false;
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    int code = Z_OK;
    while (code == Z_OK && out.size() < kMaxUnpackedBytes) {
      const std::size_t before = out.size();
      out.resize(before + (1 << 16));
      stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
      stream.avail_out = 1 << 16;
      code = inflate(&stream, Z_NO_FLUSH);
      out.resize(out.size() - stream.avail_out);
    }
    inflateEnd(&stream);
    if (code != Z_STREAM_END) return false;
  }
  bool whole = true;
  proto::Reader reader(out);
  for (Field field; reader.next(field);) {
    if (field.number == 1 && field.wire == Wire::Bytes) whole &= packet(field.bytes, depth + 1);
  }
  return whole && !reader.malformed();
}

bool PerfettoImport::interned(std::string_view bytes, Sequence& sequence) {
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    auto* to = field.number == 1    ? &sequence.categories
               : field.number == 2  ? &sequence.names
               : field.number == 3  ? &sequence.annotationNames
               : field.number == 29 ? &sequence.texts
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
    if (field.number == perfetto::packet::kClock && field.wire == Wire::Varint) sequence.defaultClock = field.value;
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
          !eachNumber(part, [&](std::uint64_t uuid) { sequence.extraTracks.push_back(uuid); })) {
        return false;
      }
      if (part.number == perfetto::event::kExtraDoubleTrack &&
          !eachNumber(part, [&](std::uint64_t uuid) { sequence.extraDoubleTracks.push_back(uuid); })) {
        return false;
      }
    }
    if (event.malformed()) return false;
  }
  return !reader.malformed();
}

/// The trace's clock is BOOTTIME (or MONOTONIC where a snapshot lacks it); times go over to MONOTONIC at the end.
bool PerfettoImport::clockSnapshot(std::string_view bytes, Sequence& sequence) {
  struct Reading {
    std::uint64_t id = 0, timestamp = 0, multiplier = 1;
    bool incremental = false;
    [[nodiscard]] std::int64_t ns() const { return times(static_cast<std::int64_t>(timestamp), multiplier); }
  };
  std::vector<Reading> readings;
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.number != 1 || field.wire != Wire::Bytes) continue;
    Reading reading;
    proto::Reader clock(field.bytes);
    for (Field part; clock.next(part);) {
      if (part.number == 1) reading.id = part.value;
      if (part.number == 2) reading.timestamp = part.value;
      if (part.number == 3) reading.incremental = part.value != 0;
      if (part.number == 4 && part.value != 0) reading.multiplier = part.value;
    }
    if (clock.malformed()) return false;
    readings.push_back(reading);
  }
  if (reader.malformed()) return false;
  const auto find = [&](std::uint64_t id) -> const Reading* {
    for (const Reading& reading : readings) {
      if (reading.id == id) return &reading;
    }
    return nullptr;
  };
  const Reading* monotonic = find(perfetto::kMonotonic);
  const Reading* reference = find(perfetto::kBoottime);
  if (reference == nullptr) reference = monotonic;
  for (const Reading& reading : readings) {
    ClockState& state = (isLocalClock(reading.id) ? sequence.clocks : clocks_)[reading.id];
    state.multiplier = reading.multiplier;
    state.incremental = reading.incremental;
    state.last = static_cast<std::int64_t>(reading.timestamp);
    state.offsetNs = reference == nullptr ? 0 : minus(reference->ns(), reading.ns());
  }
  if (!hasClocks_ && reference != nullptr) {
    hasClocks_ = true;
    if (monotonic != nullptr) toMonotonicNs_ = minus(monotonic->ns(), reference->ns());
    const Reading* realtime = find(perfetto::kRealtime);
    if (realtime != nullptr) {
      clock_ = prof::Clock{plus(reference->ns(), toMonotonicNs_), realtime->ns(), 0, {}};
    }
  }
  return true;
}

/// Whether a clock's times can be told in the trace's.
bool PerfettoImport::explains(std::uint64_t clock, const Sequence& sequence) const {
  return (isLocalClock(clock) ? sequence.clocks : clocks_).contains(clock) || clock == perfetto::kBoottime ||
         clock == perfetto::kMonotonic;
}

prof::TimeNs PerfettoImport::traceTime(std::uint64_t timestamp, std::uint64_t clock, Sequence& sequence) {
  auto& clocks = isLocalClock(clock) ? sequence.clocks : clocks_;
  const auto found = clocks.find(clock);
  if (found == clocks.end()) return static_cast<prof::TimeNs>(timestamp);
  ClockState& state = found->second;
  if (state.incremental) {
    state.last = plus(state.last, static_cast<std::int64_t>(timestamp));
    return plus(times(state.last, state.multiplier), state.offsetNs);
  }
  return plus(times(static_cast<std::int64_t>(timestamp), state.multiplier), state.offsetNs);
}

bool PerfettoImport::trackDescriptor(std::string_view bytes) {
  namespace t = perfetto::track;
  std::uint64_t uuid = 0;
  proto::Reader first(bytes);
  for (Field field; first.next(field);) {
    if (field.number == t::kUuid) uuid = field.value;
  }
  if (first.malformed()) return false;
  Track& track = tracks_[uuid];
  bool whole = true;
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.number == t::kParent) track.parent = field.value;
    if (field.wire != Wire::Bytes) continue;
    if (field.number == t::kName || field.number == t::kStaticName) track.name = builder_.intern(field.bytes);
    if (field.number == t::kProcess) whole &= processDescriptor(field.bytes, track);
    if (field.number == t::kThread) whole &= threadDescriptor(field.bytes, uuid, nullptr);
    if (field.number == t::kCounter) whole &= counterDescriptor(field.bytes, track);
  }
  return whole;
}

bool PerfettoImport::processDescriptor(std::string_view bytes, Track& track) {
  track.isProcess = true;
  std::string commandLine;
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.number == 1) track.pid = static_cast<std::uint32_t>(field.value);
    if (field.number == 2 && field.wire == Wire::Bytes) appendWord(commandLine, field.bytes);
    if (field.number == 6 && field.wire == Wire::Bytes) track.name = builder_.intern(field.bytes);
  }
  if (!commandLine.empty()) track.commandLine = builder_.intern(commandLine);
  return !reader.malformed();
}

/// Processes and threads that the recorder saw in the system; only of those that have tracks.
bool PerfettoImport::processTree(std::string_view bytes) {
  bool whole = true;
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.wire != Wire::Bytes) continue;
    if (field.number == 1) whole &= listedProcess(field.bytes);
    if (field.number == 2) whole &= listedThread(field.bytes);
  }
  return whole && !reader.malformed();
}

bool PerfettoImport::listedProcess(std::string_view bytes) {
  std::uint32_t pid = 0;
  std::string program, commandLine;
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.number == 1) pid = static_cast<std::uint32_t>(field.value);
    if (field.number != 3 || field.wire != Wire::Bytes) continue;
    if (commandLine.empty()) program = field.bytes;
    appendWord(commandLine, field.bytes);
  }
  if (!commandLine.empty()) processTexts_[pid] = {builder_.intern(program), builder_.intern(commandLine)};
  return !reader.malformed();
}

bool PerfettoImport::listedThread(std::string_view bytes) {
  std::uint32_t pid = 0, tid = 0;
  prof::StringId name;
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.number == 1) tid = static_cast<std::uint32_t>(field.value);
    if (field.number == 2 && field.wire == Wire::Bytes) name = builder_.intern(field.bytes);
    if (field.number == 3) pid = static_cast<std::uint32_t>(field.value);
  }
  if (name) threadNames_[{pid, tid}] = name;
  return !reader.malformed();
}

bool PerfettoImport::threadDescriptor(std::string_view bytes, std::uint64_t uuid, Sequence* sequence) {
  Track& track = tracks_[uuid];
  track.isThread = true;
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.number == 1) track.pid = static_cast<std::uint32_t>(field.value);
    if (field.number == 2) track.tid = static_cast<std::uint32_t>(field.value);
    if (field.number == 5 && field.wire == Wire::Bytes) track.name = builder_.intern(field.bytes);
    if (field.number == 6 && sequence != nullptr) sequence->legacyUs = field.signedValue();
  }
  return !reader.malformed();
}

bool PerfettoImport::counterDescriptor(std::string_view bytes, Track& track) {
  static constexpr std::string_view kUnits[] = {"", "ns", "count", "bytes"};
  static constexpr std::pair<std::string_view, std::string_view> kBuiltIn[] = {
      {}, {"thread time", "ns"}, {"thread instruction count", "count"}};
  track.isCounter = true;
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.number == 1 && field.value > 0 && field.value < std::size(kBuiltIn)) {
      if (!track.name) track.name = builder_.intern(kBuiltIn[field.value].first);
      if (!track.unit) track.unit = builder_.intern(kBuiltIn[field.value].second);
    }
    if (field.number == 3 && field.value < 4) track.unit = builder_.intern(kUnits[field.value]);
    if (field.number == 6 && field.wire == Wire::Bytes) track.unit = builder_.intern(field.bytes);
    if (field.number == 4 && field.value != 0) track.multiplier = field.signedValue();
    if (field.number == 5) track.isIncremental = field.value != 0;
  }
  return !reader.malformed();
}

namespace {

/// Takes packets from a file, one at a time.
class PacketReader {
 public:
  explicit PacketReader(ByteSource& source) : source_(source) {}

  /// False at the end; problem() says whether it came early.
  bool next(std::string& packet) {
    for (;;) {
      start_ = offset_;
      std::uint64_t tag = 0;
      if (!varint(tag)) return false;
      std::uint64_t size = 0;
      const auto wire = static_cast<Wire>(tag & 7);
      if (wire == Wire::Varint) {
        if (!varint(size)) return breakOff();
        continue;
      }
      if (wire != Wire::Bytes || tag >> 3 == 0) return stop("is not a packet");
      if (!varint(size)) return breakOff();
      if (size > kMaxPacketBytes) return stop(fmt::format("claims {} bytes, which is no packet's size", size));
      if (!bytes(packet, static_cast<std::size_t>(size))) return breakOff();
      if (tag >> 3 == 1) return true;
    }
  }
  [[nodiscard]] std::uint64_t packetOffset() const { return start_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// The problem is the end of the file, within a packet.
  [[nodiscard]] bool breaksOff() const { return breaksOff_; }

 private:
  bool breakOff() {
    breaksOff_ = true;
    return stop("breaks off");
  }
  bool stop(std::string_view what) {
    problem_ = fmt::format("byte {}: the packet {}", start_, what);
    return false;
  }
  bool fill() {
    at_ = 0;
    have_ = source_.read(buffer_.data(), buffer_.size());
    return have_ > 0;
  }
  bool varint(std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      if (at_ == have_ && !fill()) {
        if (shift > 0) breakOff();
        return false;
      }
      const auto byte = static_cast<unsigned char>(buffer_[at_++]);
      ++offset_;
      if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return stop("is not a packet");
  }
  /// Grows with what is really there, so that a packet's claim alone takes no memory.
  bool bytes(std::string& to, std::size_t size) {
    to.clear();
    while (to.size() < size) {
      if (at_ == have_ && !fill()) return false;
      const std::size_t part = std::min(size - to.size(), have_ - at_);
      to.append(buffer_.data() + at_, part);
      at_ += part;
      offset_ += part;
    }
    return true;
  }

  ByteSource& source_;
  std::vector<char> buffer_ = std::vector<char>(1 << 18);
  std::size_t at_ = 0, have_ = 0;
  std::uint64_t offset_ = 0, start_ = 0;
  std::string problem_;
  bool breaksOff_ = false;
};

/// Of a file in which there is no whole packet.
std::string withoutPackets(const PacketReader& packets, const std::string& sourceProblem) {
  if (!packets.breaksOff())
    return "is not a Perfetto trace: " + (packets.problem().empty() ? "it has no packets" : packets.problem());
  return fmt::format("is not a Perfetto trace, or only the beginning of one: {}, and it is the first{}",
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
    if (import.packets() % 4096 == 0 && options.progress && !options.progress((*source)->progress())) {
      return prof::Error{fmt::format("{}: the import was cancelled", path.string())};
    }
  }
  if (import.packets() == 0) {
    return prof::Error{fmt::format("{}: {}", path.string(), withoutPackets(packets, (*source)->problem()))};
  }
  if (malformed > 0) {
    builder.addWarning(
        fmt::format("{} packets are not well-formed, the first at byte {}; what is readable of them was read",
                    malformed, firstMalformed));
  }
  if (!packets.problem().empty()) builder.addWarning(packets.problem() + "; what comes before was read");
  if (!(*source)->problem().empty()) builder.addWarning((*source)->problem());
  import.finish();
  bool hasEvents = false;
  prof::forEachTable([&]<class Row>() {
    if constexpr (Row::kTable >= prof::Range::kTable) {
      builder.columns<Row>().forEach([&](const auto& values) { hasEvents |= !values.empty(); });
    }
  });
  if (!hasEvents) {
    return prof::Error{
        fmt::format("{}: the Perfetto trace has {} packets, but no track events", path.string(), import.packets())};
  }
  return builder.build();
}

}  // namespace lacuna::analyzer
