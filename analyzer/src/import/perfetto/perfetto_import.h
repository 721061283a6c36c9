// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "formats/perfetto_schema.h"
#include "formats/proto_wire.h"
#include "import/arg_joining.h"
#include "import/perfetto/annotations.h"
#include "import/perfetto/own_rows.h"
#include "import/perfetto/perfetto_clocks.h"
#include "import/perfetto/perfetto_tracks.h"

namespace lacuna::analyzer {

/// Reads the packets of a Perfetto trace: track events with interned texts and the state of their
/// sequences, tracks, counters, flows, annotations, clocks. Used once: packets in the order of the
/// file, then finish().
class PerfettoImport {
 public:
  explicit PerfettoImport(StoreBuilder& builder)
      : builder_(builder), tracks_(builder), annotations_(builder), ownRows_(builder) {}

  /// False when the packet is not well-formed; what was read of it before that counts.
  bool packet(std::string_view bytes, int depth = 0);
  void finish();
  [[nodiscard]] std::uint64_t packets() const { return packets_; }

 private:
  /// The parts of a packet that apply to its other parts.
  struct Head {
    std::uint64_t timestamp = 0, sequence = 0, flags = 0;
    std::optional<std::uint64_t> clock;
    bool cleared = false, dropped = false, hasTime = false;
    std::vector<proto::Field> payloads;
  };
  struct Sequence {
    bool valid = true;
    std::uint64_t defaultTrack = 0;
    bool hasDefaultTrack = false;
    std::uint64_t defaultClock = perfetto::kBoottime;
    std::vector<std::uint64_t> extraTracks, extraDoubleTracks;
    std::unordered_map<std::uint64_t, prof::StringId> categories, names;
    PerfettoAnnotations::Interned annotations;
    PerfettoClocks::Local clocks;
    std::map<std::uint64_t, double> counters;  ///< of incremental counter tracks
    std::int64_t legacyUs = 0;
  };
  /// The id that joins the events of an asynchronous range, or of a flow, in the older form:
  /// Chrome's phases.
  struct LegacyId {
    enum class Scope : std::uint8_t { None, Unscoped, Local, Global };
    Scope scope = Scope::None;
    std::uint64_t number = 0;
    prof::StringId namespaceOf, category, name;
    friend auto operator<=>(const LegacyId&, const LegacyId&) = default;
  };
  struct Event {
    perfetto::EventType type = perfetto::EventType::Unspecified;
    std::uint64_t track = 0;
    prof::TimeNs timeNs = 0;
    prof::StringId name, category;
    std::uint64_t correlation = 0;
    std::int64_t counter = 0;
    double counterReal = 0;
    bool hasCounter = false, hasReal = false, hasTrack = false;
    std::int64_t durationUs = -1;
    char phase = 0;  ///< of the older form
    LegacyId id;
    std::uint64_t bindId = 0;
    bool isBound = false;  ///< a point of the flow bindId, too
    std::optional<std::uint32_t> pid,
        tid;  ///< whose event it is, where its writer's track does not show it
    std::vector<std::uint64_t> flows, endFlows, extraTracks, extraDoubleTracks;
    std::vector<std::int64_t> extraValues;
    std::vector<double> extraReals;
    std::vector<std::string_view> annotations;
  };
  /// A begin or an end that waits for its counterpart.
  struct Edge {
    std::uint64_t track = 0;
    prof::TimeNs timeNs = 0;
    std::size_t range = kEnd;
    prof::ArgSetId args{};    ///< of an end
    std::uint32_t async = 0;  ///< counts asyncs_ from 1; 0 for a slice of its track
    static constexpr std::size_t kEnd = SIZE_MAX;
  };
  struct FlowPoint {
    std::uint64_t id = 0;
    std::uint64_t track = 0;
    prof::TimeNs timeNs = 0;
    bool ends = false;
    prof::StringId name{}, category{};  ///< which join the points of the older form, too
  };
  /// A row whose thread is known when all tracks are: an index into a table's column.
  struct Placed {
    std::uint64_t track = 0;
    std::size_t row = 0;
  };

  static bool readHead(std::string_view bytes, Head& head);
  Sequence* sequenceOf(const Head& head);
  prof::TimeNs timeOf(const Head& head, Sequence& sequence);
  bool takeState(const Head& head, Sequence& sequence, std::optional<prof::TimeNs>& time);
  bool takePayload(const proto::Field& field, const Head& head, Sequence& sequence,
                   std::optional<prof::TimeNs>& time, int depth);
  bool interned(std::string_view bytes, Sequence& sequence);
  bool defaults(std::string_view bytes, Sequence& sequence);
  bool trackEvent(std::string_view bytes, Sequence& sequence, prof::TimeNs timeNs);
  bool readEvent(std::string_view bytes, Sequence& sequence, Event& event);
  static bool takeNumbers(const proto::Field& field, Event& event);
  bool legacyEvent(std::string_view bytes, Sequence& sequence, Event& event);
  bool unpack(std::string_view bytes, bool isZstd, int depth);
  void addEvent(const Event& event, Sequence& sequence);
  void addFlows(const Event& event);
  void addBegin(const Event& event, const Sequence& sequence);
  std::uint32_t asyncOf(const Event& event);
  void addValue(std::uint64_t track, const Event& event, double value, Sequence& sequence);
  void addCounter(std::uint64_t track, prof::TimeNs timeNs, double value);
  prof::TimeNs monotonicUs(std::uint64_t us, Sequence& sequence);

  void pairEdges();
  void sortArgs();
  void placeFlows();
  void placeCounters();
  void placeRows();
  void shiftTimes();
  void warnOfLosses();
  void warnOfUnread();

  StoreBuilder& builder_;
  std::uint64_t packets_ = 0;
  std::uint64_t skipped_ = 0;
  std::uint64_t unknownClocks_ = 0;
  std::uint64_t unmatchedEnds_ = 0;
  std::map<char, std::uint64_t> unreadPhases_;
  std::map<std::uint64_t, Sequence> sequences_;
  PerfettoClocks clocks_;
  PerfettoTracks tracks_;
  std::vector<Edge> edges_;
  std::map<LegacyId, std::uint32_t> asyncs_;
  std::vector<ArgJoin> joins_;
  std::vector<FlowPoint> flows_;
  std::vector<Placed> marks_, samples_;
  std::vector<Placed> rangePlaces_, endPlaces_;
  std::map<std::uint32_t, std::uint64_t> unread_;
  PerfettoAnnotations annotations_;
  PerfettoOwnRows ownRows_;
};

}  // namespace lacuna::analyzer
