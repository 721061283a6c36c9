// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/recorded_work.h"

#include <algorithm>
#include <map>
#include <span>

#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {

using prof::ProcessId;
using prof::QueueId;
using prof::TimeNs;
using prof::TimeWindow;

class RecordedWork::Reader {
 public:
  Reader(const Store& store, ProcessId process, RecordedWork& out)
      : store_(store), links_(store.links()), process_(process), out_(out) {}

  prof::Status run() {
    for (const prof::Status& status :
         {readWork<prof::Kernel>(EventRef::Table::Kernel),
          readWork<prof::Memcpy>(EventRef::Table::Memcpy),
          readWork<prof::Memset>(EventRef::Table::Memset), readCalls(), readSyncs()}) {
      if (!status) return status;
    }
    std::ranges::sort(out_.pieces_, {}, &Piece::startNs);
    std::ranges::sort(out_.waits_, {}, &Wait::startNs);
    return {};
  }

 private:
  template <class Row>
  prof::Status readWork(EventRef::Table table) {
    return store_.scan<&Row::startNs, &Row::durNs, &Row::queue, &Row::correlation>(
        {}, [&](std::uint64_t first, auto start, auto dur, auto queue, auto correlation) {
          for (std::size_t i = 0; i < start.size(); ++i) {
            if (links_.owners().processOf(queue[i]) != process_) continue;
            Piece piece{start[i], start[i] + dur[i], start[i], correlation[i], queue[i], {}};
            piece.device = links_.owners().deviceOf(queue[i]);
            setLaunch(links_.launchOf({table, first + i}), piece);
            out_.pieces_.push_back(piece);
          }
        });
  }

  void setLaunch(const EventRef& launch, Piece& piece) {
    if (!launch) return;
    if (callStarts_.empty() && rangeStarts_.empty()) {
      callStarts_ = store_.column<&prof::ApiCall::startNs>();
      rangeStarts_ = store_.column<&prof::Range::startNs>();
    }
    piece.launchNs =
        (launch.table == EventRef::Table::ApiCall ? callStarts_ : rangeStarts_)[launch.row];
    piece.hasLaunch = true;
  }

  /// "cudaDeviceSynchronize", "cuCtxSynchronize", "hipDeviceSynchronize".
  [[nodiscard]] bool waitsForAll(prof::StringId name) {
    const auto [known, isNew] = waitsForAll_.try_emplace(name, false);
    const std::string_view text = isNew ? store_.text(name) : std::string_view();
    if (isNew)
      known->second =
          text.find("DeviceSynchronize") < text.size() || text.find("CtxSynchronize") < text.size();
    return known->second;
  }

  prof::Status readCalls() {
    using prof::ApiCall;
    return store_.scan<&ApiCall::startNs, &ApiCall::durNs, &ApiCall::thread, &ApiCall::name>(
        {}, [&](std::uint64_t, auto start, auto dur, auto thread, auto name) {
          for (std::size_t i = 0; i < start.size(); ++i) {
            if (waitsForAll(name[i]) && links_.owners().processOf(thread[i]) == process_)
              out_.waits_.push_back({start[i], start[i] + dur[i], {}});
          }
        });
  }

  prof::Status readSyncs() {
    using prof::Sync;
    return store_.scan<&Sync::startNs, &Sync::durNs, &Sync::thread, &Sync::queue,
                       &Sync::kind>({}, [&](std::uint64_t, auto start, auto dur, auto thread,
                                            auto queue, auto kind) {
      for (std::size_t i = 0; i < start.size(); ++i) {
        const bool isOfQueue = kind[i] == prof::SyncKind::Stream && queue[i];
        if (!isOfQueue && kind[i] != prof::SyncKind::Context) continue;
        const ProcessId owner =
            thread[i] ? links_.owners().processOf(thread[i]) : links_.owners().processOf(queue[i]);
        if (owner == process_)
          out_.waits_.push_back({start[i], start[i] + dur[i], isOfQueue ? queue[i] : QueueId()});
      }
    });
  }

  const Store& store_;
  const Links& links_;
  ProcessId process_;
  RecordedWork& out_;
  std::span<const TimeNs> callStarts_, rangeStarts_;
  std::map<prof::StringId, bool> waitsForAll_;
};

prof::Result<RecordedWork> RecordedWork::read(const Store& store, ProcessId process) {
  RecordedWork work;
  work.span_ = {store.span().startNs, store.span().endNs + 1};
  if (auto status = Reader(store, process, work).run(); !status) return status.error();
  return work;
}

std::vector<RecordedWork::Piece>::const_iterator RecordedWork::firstFrom(TimeNs at) const {
  return std::ranges::lower_bound(pieces_, at, {}, &Piece::startNs);
}

/// Queues work in order. So what was handed over later begins later, and what has no launch is
/// later if it begins later.
bool RecordedWork::isLater(const Piece& piece, const GraphReplay& replay) {
  if (piece.correlation == replay.correlation) return false;
  if (replay.hasCall() && piece.hasLaunch) return piece.launchNs > replay.launchNs;
  return piece.startNs >= std::max(replay.lastNs, replay.launchNs);
}

TimeNs RecordedWork::nextStart(const GraphReplay& replay) const {
  for (auto at = firstFrom(std::max(replay.lastNs, replay.launchNs)); at != pieces_.end(); ++at) {
    if (at->queue == replay.queue && isLater(*at, replay)) return at->startNs;
  }
  return span_.endNs;
}

TimeNs RecordedWork::waitedUntil(const GraphReplay& replay) const {
  for (auto at = std::ranges::lower_bound(waits_, replay.launchNs, {}, &Wait::startNs);
       at != waits_.end(); ++at) {
    if ((!at->queue || at->queue == replay.queue) && at->endNs >= replay.lastNs) return at->endNs;
  }
  return span_.endNs;
}

/// The end of the last work in the queue that was handed over before the replay.
TimeNs RecordedWork::doneBefore(const GraphReplay& replay, TimeNs untilNs) const {
  for (auto at = firstFrom(std::min(replay.firstNs, untilNs)); at != pieces_.begin();) {
    --at;
    if (at->queue == replay.queue && at->correlation != replay.correlation && !isLater(*at, replay))
      return at->endNs;
  }
  return span_.startNs;
}

TimeWindow RecordedWork::stretchOf(const GraphReplay& replay) const {
  const TimeNs untilNs = std::max(std::min(nextStart(replay), waitedUntil(replay)), replay.lastNs);
  const TimeNs launchedNs = replay.hasCall() ? replay.launchNs : span_.startNs;
  const TimeNs fromNs = std::min(std::max(launchedNs, doneBefore(replay, untilNs)), replay.firstNs);
  return {std::min(fromNs, untilNs), untilNs};
}

std::int64_t RecordedWork::idleNs(QueueId queue, TimeWindow stretch) const {
  const auto own = std::ranges::find(pieces_, queue, &Piece::queue);
  std::int64_t idle = 0;
  TimeNs doneNs = stretch.startNs;
  for (auto at = firstFrom(stretch.startNs); at != pieces_.end() && at->startNs < stretch.endNs;
       ++at) {
    if (own == pieces_.end() || at->device != own->device) continue;
    prof::addTo(idle, std::max<std::int64_t>(0, at->startNs - doneNs));
    doneNs = std::max(doneNs, at->endNs);
  }
  prof::addTo(idle, std::max<std::int64_t>(0, stretch.endNs - doneNs));
  return idle;
}

bool RecordedWork::hasUnlinkedIn(TimeWindow stretch) const {
  for (auto at = firstFrom(stretch.startNs); at != pieces_.end() && at->startNs <= stretch.endNs;
       ++at) {
    if (!at->hasLaunch) return true;
  }
  return false;
}

bool RecordedWork::beginsWith(const GraphReplay& replay) const {
  return !pieces_.empty() && replay.recorded > 0 && pieces_.front().startNs >= replay.firstNs;
}

QueueId RecordedWork::busiest() const {
  std::map<QueueId, std::uint64_t> counts;
  for (const Piece& piece : pieces_) ++counts[piece.queue];
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  return most == counts.end() ? QueueId() : most->first;
}

}  // namespace lacuna::analyzer
