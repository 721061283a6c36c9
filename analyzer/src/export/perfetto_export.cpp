// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <unordered_set>

#include "export/export_meter.h"
#include "export/exporters.h"
#include "formats/arg_rules.h"
#include "formats/json_text.h"
#include "formats/perfetto_schema.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/analyzer/text.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;
namespace p = perfetto::packet;
namespace e = perfetto::event;

/// Tracks of processes, threads, queues and counters have numbers of their own ranges.
constexpr std::uint64_t kProcessTracks = std::uint64_t{1} << 40,
                        kThreadTracks = std::uint64_t{2} << 40,
                        kQueueTracks = std::uint64_t{3} << 40,
                        kCounterTracks = std::uint64_t{4} << 40,
                        kDeviceTracks = std::uint64_t{5} << 40;

/// Readers may refuse a message for a string that is no UTF-8. Our extension keeps the bytes as
/// they are.
void putText(std::string& to, std::uint32_t number, std::string_view text) {
  if (simdjson::validate_utf8(text)) return proto::putBytes(to, number, text);
  proto::putBytes(to, number, validUtf8(text));
}

class PerfettoExport {
 public:
  PerfettoExport(const Store& store, ByteSink& sink, const ExportOptions& options)
      : store_(store), sink_(sink), meter_(store, options.progress), args_(store) {}

  prof::Status run() {
    writeTexts();
    writeClocks();
    writeTracks();
    forEachTable([&]<class Row>() { writeTable<Row>(); });
    return meter_.status();
  }

 private:
  void give(std::string_view packet) {
    out_.clear();
    proto::putBytes(out_, 1, packet);
    sink_.write(out_);
  }
  /// Every packet of ours belongs to one sequence, whose state begins with the first one.
  std::string packet() {
    std::string out;
    proto::putNumber(out, p::kSequence, 1);
    proto::putNumber(out, p::kFlags, isFirst_ ? perfetto::kFlagCleared : perfetto::kFlagNeedsState);
    isFirst_ = false;
    return out;
  }

  /// Texts of ours, numbered from 1, and the same as interned names and categories: both by the
  /// number of the text.
  void writeTexts() {
    std::string own, names;
    const auto flush = [&] {
      std::string out = packet();
      proto::putBytes(out, p::kInterned, names);
      proto::putBytes(out, p::kOwn, own);
      give(out);
      own.clear();
      names.clear();
    };
    for (std::uint32_t i = 1; i < store_.stringCount() && meter_.tick(); ++i) {
      const std::string_view text = store_.wholeText(StringId(i));
      proto::putBytes(own, perfetto::own::kText, text);
      std::string entry;
      proto::putNumber(entry, 1, i);
      putText(entry, 2, text);
      proto::putBytes(names, 1, entry);
      proto::putBytes(names, 2, entry);
      if (own.size() > 1 << 16) flush();
    }
    flush();
  }

  void writeClocks() {
    for (std::uint64_t i = 0; i < store_.rows<Clock>(); ++i) {
      const auto row = store_.row<Clock>(i);
      std::string snapshot;
      const auto clock = [&](std::uint32_t id, TimeNs timeNs) {
        std::string reading;
        proto::putNumber(reading, 1, id);
        proto::putNumber(reading, 2, static_cast<std::uint64_t>(timeNs));
        proto::putBytes(snapshot, 1, reading);
      };
      clock(perfetto::kBoottime, row.timeNs);
      clock(perfetto::kMonotonic, row.timeNs);
      clock(perfetto::kRealtime, row.realtimeNs);
      std::string out = packet();
      proto::putNumber(out, p::kTimestamp, static_cast<std::uint64_t>(row.timeNs));
      proto::putBytes(out, p::kClockSnapshot, snapshot);
      give(out);
    }
  }

  void giveTrack(std::uint64_t uuid, std::uint64_t parent, std::string_view name,
                 std::uint32_t kind = 0, const std::string& what = {}) {
    std::string track;
    proto::putNumber(track, perfetto::track::kUuid, uuid);
    if (parent != 0) proto::putNumber(track, perfetto::track::kParent, parent);
    if (!name.empty()) putText(track, perfetto::track::kName, name);
    if (kind != 0) proto::putBytes(track, kind, what);
    std::string out = packet();
    proto::putBytes(out, p::kTrackDescriptor, track);
    give(out);
  }

  void writeTracks() {
    for (std::uint64_t i = 0; i < store_.rows<Process>(); ++i) {
      const auto row = store_.row<Process>(i);
      std::string what;
      proto::putNumber(what, 1, row.osPid);
      if (row.name) putText(what, 6, store_.text(row.name));
      giveTrack(kProcessTracks + row.id.value, 0, {}, perfetto::track::kProcess, what);
      pids_[row.id] = row.osPid;
    }
    for (std::uint64_t i = 0; i < store_.rows<Thread>(); ++i) {
      const auto row = store_.row<Thread>(i);
      std::string what;
      proto::putNumber(what, 1, pids_[row.process]);
      proto::putNumber(what, 2, row.osTid);
      if (row.name) putText(what, 5, store_.text(row.name));
      giveTrack(kThreadTracks + row.id.value, kProcessTracks + row.process.value, {},
                perfetto::track::kThread, what);
    }
    std::unordered_map<DeviceId, std::string> devices;
    for (std::uint64_t i = 0; i < store_.rows<Device>(); ++i) {
      const auto row = store_.row<Device>(i);
      static constexpr std::string_view kKinds[] = {"device", "cpu", "cuda", "rocm"};
      const auto kind = static_cast<std::size_t>(row.kind);
      devices[row.id] =
          fmt::format("{}:{} {}", kKinds[kind < 4 ? kind : 0], row.index, store_.text(row.name));
      giveTrack(kDeviceTracks + row.id.value, 0, devices[row.id]);
    }
    for (std::uint64_t i = 0; i < store_.rows<Queue>(); ++i) {
      const auto row = store_.row<Queue>(i);
      const std::string name = fmt::format("queue {} {}", row.nativeId, store_.text(row.name));
      giveTrack(kQueueTracks + row.id.value, kDeviceTracks + row.device.value, name);
    }
    for (std::uint64_t i = 0; i < store_.rows<CounterTrack>(); ++i) {
      const auto row = store_.row<CounterTrack>(i);
      std::string what;
      const std::string_view unit = store_.text(row.unit);
      proto::putNumber(what, 3, unit == "ns" ? 1 : unit == "count" ? 2 : unit == "bytes" ? 3 : 0);
      if (!unit.empty()) putText(what, 6, unit);
      const std::uint64_t process = row.process ? kProcessTracks + row.process.value : 0;
      const std::uint64_t parent = row.thread ? kThreadTracks + row.thread.value : process;
      giveTrack(kCounterTracks + row.id.value, parent, store_.text(row.name),
                perfetto::track::kCounter, what);
    }
  }

  template <class Row>
  void writeTable() {
    std::string own;
    meter_.eachRow<Row>([&](const Row& row) {
      perfetto::putRow(own, row);
      if constexpr (Row::kTable >= Range::kTable) {
        if (show(row, own)) own.clear();
      }
      if (own.size() > 1 << 16) giveOwn(own);
    });
    if (!own.empty()) giveOwn(own);
  }
  void giveOwn(std::string& own) {
    std::string out = packet();
    proto::putBytes(out, p::kOwn, own);
    give(out);
    own.clear();
  }

  std::string event(perfetto::EventType type, std::uint64_t track) {
    std::string out;
    proto::putNumber(out, e::kType, static_cast<std::uint64_t>(type));
    proto::putNumber(out, e::kTrack, track);
    return out;
  }
  void giveEvent(TimeNs timeNs, std::string_view event, std::string_view own) {
    std::string out = packet();
    proto::putNumber(out, p::kTimestamp, static_cast<std::uint64_t>(timeNs));
    proto::putBytes(out, p::kTrackEvent, event);
    if (!own.empty()) proto::putBytes(out, p::kOwn, own);
    give(out);
  }
  void annotate(std::string& event, std::string_view name, std::string_view text) {
    std::string annotation;
    putText(annotation, 10, name);
    putText(annotation, 6, text);
    proto::putBytes(event, e::kAnnotation, annotation);
  }
  void annotate(std::string& event, std::string_view name, std::uint64_t value) {
    std::string annotation;
    putText(annotation, 10, name);
    proto::putNumber(annotation, 3, value);
    proto::putBytes(event, e::kAnnotation, annotation);
  }
  /// Adds what a person wants to see beside the name: the columns that have a value, by their
  /// names.
  template <class Row>
  void annotateColumns(std::string& event, const Row& row) {
    std::size_t at = 0;
    Row::forEachMember([&]<auto Member>() {
      const ColumnSpec& spec = tableSpec<Row>().columns[at++];
      const auto& value = row.*Member;
      using T = std::remove_cvref_t<decltype(value)>;
      if (spec.hint == Hint::Time || spec.hint == Hint::Length || spec.name == "name" ||
          spec.name == "category")
        return;
      if constexpr (std::is_same_v<T, StringId>) {
        if (value) annotate(event, spec.name, store_.text(value));
      } else if constexpr (!std::is_class_v<T> && !std::is_same_v<T, double>) {
        if (value != T{}) annotate(event, spec.name, static_cast<std::uint64_t>(value));
      }
    });
    if constexpr (requires { row.args; }) annotateArgs(event, row.args);
  }
  /// The arguments that no column holds.
  void annotateArgs(std::string& event, ArgSetId set) {
    if (!set) return;
    std::string_view shape = store_.wholeText(args_.shape(set));
    while (!shape.empty()) {
      const std::size_t end = std::min(shape.find('\n'), shape.size());
      if (shape[0] == kShapeStored) annotateArg(event, set, shape.substr(1, end - 1));
      shape.remove_prefix(std::min(end + 1, shape.size()));
    }
  }
  void annotateArg(std::string& event, ArgSetId set, std::string_view key) {
    std::string scratch;
    const std::string quoted = '"' + std::string(key) + '"';
    const std::string_view name = json::textOf(quoted, scratch);
    const auto value = args_.find(set, name);
    if (!value || value->type == ArgType::Null) return;
    std::string annotation;
    putText(annotation, 10, name);
    const bool isText = value->type == ArgType::Text || value->type == ArgType::Json;
    if (isText && value->bits < store_.stringCount()) {
      const StringId text(static_cast<std::uint32_t>(value->bits));
      if (value->type == ArgType::Text) {
        putText(annotation, 6, store_.text(text));
      } else {
        std::string sound;
        json::appendChecked(sound, store_.wholeText(text));
        proto::putBytes(annotation, 9, sound);
      }
    } else if (value->type == ArgType::F64) {
      proto::putFixed(annotation, 5, value->bits);
    } else if (!isText) {
      proto::putNumber(annotation, value->type == ArgType::Bool ? 2 : 4, value->bits);
    }
    proto::putBytes(event, e::kAnnotation, annotation);
  }

  /// Slices of one track must nest. Pushed ranges do; what else a thread has lies on tracks under
  /// the thread's, one for each table.
  template <class Row>
  std::uint64_t threadTrack(const Row& row) {
    const std::uint64_t thread = kThreadTracks + row.thread.value;
    bool isNested = !requires {
      row.durNs;
    };
    if constexpr (std::is_same_v<Row, Range>) isNested = row.kind == RangeKind::PushPop;
    if (isNested) return thread;
    const std::uint64_t uuid = std::uint64_t{Row::kTable} << 48 | row.thread.value;
    if (asides_.insert(uuid).second) giveTrack(uuid, thread, Row::kName);
    return uuid;
  }
  template <class Row>
  std::uint64_t trackOf(const Row& row) {
    if constexpr (requires { row.queue; }) {
      if (row.queue) return kQueueTracks + row.queue.value;
    }
    if constexpr (requires { row.thread; }) {
      if (row.thread) return threadTrack(row);
    }
    return kProcessTracks;
  }

  /// True when the row became packets that carry it.
  template <class Row>
  bool show(const Row& row, std::string_view own) {
    if constexpr (std::is_same_v<Row, CounterSample>) {
      std::string out = event(perfetto::EventType::Counter, kCounterTracks + row.track.value);
      proto::putFixed(out, e::kDoubleCounter, std::bit_cast<std::uint64_t>(row.value));
      giveEvent(row.timeNs, out, own);
      return true;
    } else if constexpr (std::is_same_v<Row, Flow>) {
      std::string out = event(perfetto::EventType::Instant, trackOf(row));
      proto::putNumber(out, e::kNameIid, row.name.value);
      proto::putFixed(out, row.phase == FlowPhase::End ? e::kEndFlow : e::kFlow, row.id);
      giveEvent(row.timeNs, out, own);
      return true;
    } else if constexpr (requires { row.durNs; }) {
      showSlice(row, own);
      return true;
    } else if constexpr (std::is_same_v<Row, Mark> || std::is_same_v<Row, Allocation> ||
                         std::is_same_v<Row, LogLine> || std::is_same_v<Row, Drop>) {
      std::string out = event(perfetto::EventType::Instant, trackOf(row));
      name(out, row);
      annotateColumns(out, row);
      giveEvent(row.timeNs, out, own);
      return true;
    } else {
      return false;
    }
  }
  template <class Row>
  void name(std::string& out, const Row& row) {
    if constexpr (requires { row.name; }) {
      if (row.name) {
        proto::putNumber(out, e::kNameIid, row.name.value);
      } else {
        proto::putBytes(out, e::kName, "");
      }
    } else {
      proto::putBytes(out, e::kName, Row::kName);
    }
    if constexpr (requires { row.category; }) {
      if (row.category) proto::putNumber(out, e::kCategoryIid, row.category.value);
    } else {
      proto::putBytes(out, e::kCategory, Row::kName);
    }
  }
  template <class Row>
  void showSlice(const Row& row, std::string_view own) {
    std::string begin = event(perfetto::EventType::Begin, trackOf(row));
    name(begin, row);
    annotateColumns(begin, row);
    giveEvent(row.startNs, begin, own);
    giveEvent(row.startNs + row.durNs, event(perfetto::EventType::End, trackOf(row)), {});
  }

  const Store& store_;
  ByteSink& sink_;
  ExportMeter meter_;
  Args args_;
  std::unordered_map<ProcessId, std::uint32_t> pids_;
  std::unordered_set<std::uint64_t> asides_;
  std::string out_;
  bool isFirst_ = true;
};

}  // namespace

prof::Status exportPerfetto(const Store& store, ByteSink& sink, const ExportOptions& options) {
  return PerfettoExport(store, sink, options).run();
}

}  // namespace lacuna::analyzer
