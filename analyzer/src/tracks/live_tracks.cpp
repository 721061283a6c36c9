// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "lacuna/analyzer/lanes.h"
#include "store/backend.h"
#include "tracks/track_assembly.h"
#include "tracks/track_budget.h"
#include "tracks/track_feed.h"

namespace lacuna::analyzer {

using prof::StringId;
using prof::TimeNs;

namespace {

/// The length of the end that is laid out anew each time: at first, and at most.
constexpr TimeNs kShortestTail = 2'000'000'000;
constexpr TimeNs kLongestTail = 10'000'000'000;

/// The tables whose rows tracks are made of, see TrackFeed. Others come late as they may: a
/// thread's when it has long ended, a state's when what slept wakes.
constexpr std::array kTablesOfTracks{prof::Range::kTable,        prof::ApiCall::kTable,
                                     prof::Kernel::kTable,       prof::Memcpy::kTable,
                                     prof::Memset::kTable,       prof::Allocation::kTable,
                                     prof::CounterSample::kTable};

/// Everything that tracks are made of, as far as it is known.
struct Layout {
  std::array<std::map<std::uint32_t, LaneStack>, kTrackKinds> stacks;
  std::map<std::uint32_t, CounterLane> counters;
  std::map<std::uint32_t, MemoryCurves> memory;

  [[nodiscard]] std::uint64_t tracks() const {
    std::uint64_t count = counters.size();
    for (const auto& row : stacks) count += row.size();
    for (const auto& [device, curves] : memory) count += 1 + curves.byRole.size();
    return count;
  }
};

LaneStack copyOf(const LaneStack& from) {
  LaneStack out;
  for (const Lane& lane : from.lanes) out.lanes.push_back(lane.copy());
  out.open = from.open;
  out.events = from.events;
  out.deeper = from.deeper;
  return out;
}

MemoryCurves copyOf(const MemoryCurves& from) {
  MemoryCurves out;
  out.all = {from.all.lane.copy(), from.all.bytes};
  for (const auto& [role, curve] : from.byRole) out.byRole[role] = {curve.lane.copy(), curve.bytes};
  out.alive = from.alive;
  return out;
}

CounterLane copyOf(const CounterLane& from) {
  return from.copy();
}

/// Puts what starts before a moment into the layout that stays, and the rest after a copy of it.
class Splitter {
 public:
  Splitter(Layout& settled, const Store& store, TimeNs until, const Progress& progress,
           std::uint64_t total)
      : settled_(settled),
        budget_(store, settled.tracks()),
        until_(until),
        progress_(progress),
        total_(total) {}

  void event(TrackKind kind, std::uint32_t id, TimeNs start, TimeNs length, StringId name) {
    const auto k = static_cast<std::size_t>(kind);
    LaneStack* stack = at(settled_.stacks[k], shown_.stacks[k], kind, id, start);
    if (stack != nullptr) stack->add(start, length, name);
  }
  void sample(std::uint32_t id, TimeNs time, double value) {
    CounterLane* lane = at(settled_.counters, shown_.counters, TrackKind::Counter, id, time);
    if (lane != nullptr) lane->add(time, value);
  }
  void allocation(std::uint32_t device, TimeNs time, prof::MemoryAction action, std::uint8_t role,
                  std::uint64_t address, std::uint64_t bytes) {
    MemoryCurves* curves = at(settled_.memory, shown_.memory, std::nullopt, device, time);
    if (curves == nullptr || (curves->isNew(action, role) && !budget_.takeMemory(device, role)))
      return;
    curves->apply(time, action, role, address, bytes);
  }
  bool advance(std::uint64_t rows) {
    done_ += rows;
    return !progress_ ||
           progress_(total_ == 0 ? 1.0
                                 : 0.9 * static_cast<double>(done_) / static_cast<double>(total_));
  }
  [[nodiscard]] std::uint64_t rows() const { return done_; }
  [[nodiscard]] prof::Status status() const { return budget_.status(); }

  /// All of it; what settled is ready for the next time.
  Layout take() {
    for (auto& row : settled_.stacks) {
      for (auto& [id, stack] : row) {
        for (Lane& lane : stack.lanes) lane.keepPyramid();
      }
    }
    for (std::size_t k = 0; k < kTrackKinds; ++k) complete(settled_.stacks[k], shown_.stacks[k]);
    complete(settled_.counters, shown_.counters);
    complete(settled_.memory, shown_.memory);
    return std::move(shown_);
  }

 private:
  /// A part's rows come in time order, so that its copy is made when all that settles is in it.
  /// Null beyond the budget.
  template <class Part>
  Part* at(std::map<std::uint32_t, Part>& settled, std::map<std::uint32_t, Part>& shown,
           std::optional<TrackKind> kind, std::uint32_t id, TimeNs time) {
    if (time >= until_) {
      if (const auto found = shown.find(id); found != shown.end()) return &found->second;
    }
    if (!settled.contains(id) &&
        !(kind ? budget_.take(*kind, id) : budget_.takeMemory(id, Track::kAllRoles))) {
      return nullptr;
    }
    return time < until_ ? &settled[id] : &shown.emplace(id, copyOf(settled[id])).first->second;
  }
  template <class Part>
  static void complete(const std::map<std::uint32_t, Part>& settled,
                       std::map<std::uint32_t, Part>& shown) {
    for (const auto& [id, part] : settled) {
      if (!shown.contains(id)) shown.emplace(id, copyOf(part));
    }
  }

  Layout& settled_;
  Layout shown_;
  TrackBudget budget_;
  TimeNs until_;
  const Progress& progress_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
};

std::shared_ptr<const TrackSet> assemble(const Store& store, Layout layout) {
  TrackAssembly assembly(store);
  for (std::size_t k = 0; k < kTrackKinds; ++k) {
    for (auto& [id, stack] : layout.stacks[k]) {
      if (stack.events == 0) continue;
      Track& track = assembly.track(static_cast<TrackKind>(k), id);
      track.lanes = std::move(stack.lanes);
      track.events = stack.events;
      track.deeper = stack.deeper;
    }
  }
  for (auto& [id, counter] : layout.counters)
    assembly.track(TrackKind::Counter, id).counter = std::move(counter);
  for (auto& [device, curves] : layout.memory) {
    if (curves.all.lane.size() == 0) continue;
    assembly.memory(device, Track::kAllRoles).counter = std::move(curves.all.lane);
    for (auto& [role, curve] : curves.byRole)
      assembly.memory(device, role).counter = std::move(curve.lane);
  }
  return assembly.finish();
}

std::map<std::uint32_t, std::uint32_t> processes(const Store& store) {
  std::map<std::uint32_t, std::uint32_t> out;
  for (std::uint64_t i = 0; i < store.rows<prof::Thread>(); ++i) {
    const auto thread = store.row<prof::Thread>(i);
    out[thread.id.value] = thread.process.value;
  }
  return out;
}

std::uint64_t rowsOf(const Store& store) {
  return store.rows<prof::Range>() + store.rows<prof::ApiCall>() + store.rows<prof::Kernel>() +
         store.rows<prof::Memcpy>() + store.rows<prof::Memset>() + store.rows<prof::Allocation>() +
         store.rows<prof::CounterSample>();
}

}  // namespace

struct LiveTracks::State {
  Layout settled;
  TimeNs until = INT64_MIN;  ///< what starts before has settled
  TimeNs tail = kShortestTail;
  std::uint64_t seenBlocks = 0;  ///< those at places before this one
  std::uint64_t rowsRead = 0;
  std::map<std::uint32_t, std::uint32_t>
      processOf;  ///< of threads; where they are learnt of late, tracks move

  /// The first start in blocks that were not there last time.
  [[nodiscard]] TimeNs firstNew(const prof::Reader& reader) const {
    TimeNs first = INT64_MAX;
    for (const std::uint16_t id : kTablesOfTracks) {
      const prof::TableInfo* table = reader.table(id);
      if (table == nullptr) continue;
      for (auto block = table->blocks.rbegin();
           block != table->blocks.rend() && block->offset >= seenBlocks; ++block) {
        first = std::min(first, block->time.startNs);
      }
    }
    return first;
  }
  /// True when settled events belong to another process than was known. Their thread has gone to
  /// another process, or nothing was known of the process, so its ranges across threads lie with
  /// those of no process.
  [[nodiscard]] bool moved(const std::map<std::uint32_t, std::uint32_t>& now) const {
    const bool changed = std::any_of(processOf.begin(), processOf.end(), [&](const auto& was) {
      return !now.contains(was.first) || now.at(was.first) != was.second;
    });
    const auto& across = settled.stacks[static_cast<std::size_t>(TrackKind::AsyncRanges)];
    const auto ofNone = across.find(0);
    if (changed || ofNone == across.end() || ofNone->second.events == 0) return changed;
    return std::any_of(now.begin(), now.end(),
                       [&](const auto& is) { return !processOf.contains(is.first); });
  }
  void see(const prof::Reader& reader) {
    for (const prof::TableInfo& table : reader.tables()) {
      if (!table.blocks.empty()) seenBlocks = std::max(seenBlocks, table.blocks.back().offset + 1);
    }
  }
  void startOver() {
    settled = {};
    until = INT64_MIN;
    seenBlocks = 0;
  }
};

LiveTracks::LiveTracks() : state_(std::make_unique<State>()) {}
LiveTracks::~LiveTracks() = default;

std::uint64_t LiveTracks::rowsRead() const {
  return state_->rowsRead;
}

prof::Result<std::shared_ptr<const TrackSet>> LiveTracks::layOut(const Store& store,
                                                                 const Progress& progress) {
  const prof::Reader* reader = store.backend().reader();
  if (reader == nullptr) return buildTracks(store, progress);
  State& s = *state_;
  const TimeNs end = store.span().endNs;
  const TimeNs first = s.firstNew(*reader);
  const auto processOf = processes(store);
  if (first < s.until || s.moved(processOf)) {
    const TimeNs back = end - std::min(first, end);
    s.tail = std::clamp(std::min(2 * back, kLongestTail), s.tail, kLongestTail);
    s.startOver();
  }
  const TimeNs from = s.until;
  const TimeNs until = std::max(from, end - s.tail);
  Splitter splitter(s.settled, store, until, progress, from == INT64_MIN ? rowsOf(store) : 0);
  TrackFeed feed(store, splitter, from);
  prof::Status status = feed.read();
  if (status) status = splitter.status();
  if (!status) {
    s.startOver();
    return status.error();
  }
  s.until = until;
  s.see(*reader);
  s.processOf = processOf;
  s.rowsRead = splitter.rows();
  return assemble(store, splitter.take());
}

}  // namespace lacuna::analyzer
