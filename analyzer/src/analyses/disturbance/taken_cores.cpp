// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "analyses/disturbance/thread_share.h"
#include "lacuna/analyzer/scope.h"

namespace lacuna::analyzer {
namespace {

using prof::ThreadId;
using prof::TimeNs;
using prof::TrackId;

/// The value of a track from some moment on.
struct TrackValue {
  TimeNs atNs;
  TrackId track;
  double share;
};

/// Percent as a share; nothing where a damaged trace has an impossible value.
double shareOf(double percent) {
  return std::isfinite(percent) && percent > 0 ? percent / 100 : 0;
}

/// The samples of those tracks, in any order.
prof::Result<std::vector<TrackValue>> valuesOf(const Store& store,
                                               const std::unordered_set<TrackId>& tracks) {
  using prof::CounterSample;
  std::vector<TrackValue> values;
  if (tracks.empty()) return values;
  const auto status =
      store.scan<&CounterSample::timeNs, &CounterSample::track, &CounterSample::value>(
          {}, [&](std::uint64_t, auto time, auto track, auto value) {
            for (std::size_t i = 0; i < time.size(); ++i) {
              if (tracks.contains(track[i]))
                values.push_back({time[i], track[i], shareOf(value[i])});
            }
          });
  if (!status) return status.error();
  return values;
}

void sortByTime(std::vector<TrackValue>& values) {
  std::stable_sort(values.begin(), values.end(),
                   [](const TrackValue& a, const TrackValue& b) { return a.atNs < b.atNs; });
}

/// Tracks of threads that wait for a core, each with the moment from which it has no value any
/// more.
std::unordered_map<TrackId, TimeNs> waitsOf(const Store& store, const Selection& only) {
  std::unordered_map<ThreadId, TimeNs> ends;
  for (std::uint64_t i = 0; i < store.rows<prof::Thread>(); ++i) {
    const auto thread = store.row<prof::Thread>(i);
    if (thread.endNs > 0) ends[thread.id] = thread.endNs;
  }
  std::unordered_map<TrackId, TimeNs> tracks;
  for (std::uint64_t i = 0; i < store.rows<prof::CounterTrack>(); ++i) {
    const auto track = store.row<prof::CounterTrack>(i);
    if (!track.thread || !only.holds(track.thread) || store.text(track.name) != kWaitingForCore)
      continue;
    const auto end = ends.find(track.thread);
    tracks[track.id] = end == ends.end() ? INT64_MAX : end->second;
  }
  return tracks;
}

/// Tracks that recorders write: several where the traces of several runs were merged. By name
/// alone, for a trace that went through Chrome's form has a process for every counter.
std::unordered_set<TrackId> tracksNamed(const Store& store, std::string_view name) {
  std::unordered_set<TrackId> tracks;
  for (std::uint64_t i = 0; i < store.rows<prof::CounterTrack>(); ++i) {
    const auto track = store.row<prof::CounterTrack>(i);
    if (store.text(track.name) == name) tracks.insert(track.id);
  }
  return tracks;
}
std::unordered_set<TrackId> recorderTracks(const Store& store) {
  return tracksNamed(store, "recorder CPU");
}

/// The present values of tracks, and the sum of all of them.
class Shares {
 public:
  void set(TrackId track, double share) {
    double& now = now_[track];
    // Sums of doubles keep what was rounded: none may be left when the last track is at zero.
    nonZero_ += (share > 0 ? 1 : 0) - (now > 0 ? 1 : 0);
    sum_ = nonZero_ == 0 ? 0 : sum_ + share - now;
    now = share;
  }
  [[nodiscard]] double sum() const { return std::max(0.0, sum_); }

 private:
  std::unordered_map<TrackId, double> now_;
  std::int64_t nonZero_ = 0;
  double sum_ = 0;
};

}  // namespace

prof::Result<ShareCurve> recorderUse(const Store& store) {
  auto values = valuesOf(store, recorderTracks(store));
  if (!values) return values.error();
  sortByTime(*values);
  ShareCurve curve;
  Shares recorder;
  for (const TrackValue& value : *values) {
    recorder.set(value.track, value.share);
    curve.set(value.atNs, recorder.sum());
  }
  return curve;
}

prof::Result<ShareCurve> idleCores(const Store& store) {
  auto values = valuesOf(store, tracksNamed(store, "idle cores"));
  if (!values) return values.error();
  sortByTime(*values);
  ShareCurve curve;
  std::unordered_map<TrackId, double> now;
  for (const TrackValue& value : *values) {
    now[value.track] = value.share;
    curve.set(value.atNs, std::ranges::max_element(now, {}, [](const auto& track) {
                            return track.second;
                          })->second);
  }
  return curve;
}

prof::Result<ShareCurve> takenCores(const Store& store, const Selection& only) {
  ShareCurve curve;
  const auto recorders = recorderTracks(store);
  if (recorders.empty()) return curve;
  const auto waits = waitsOf(store, only);
  std::unordered_set<TrackId> tracks = recorders;
  for (const auto& [track, end] : waits) tracks.insert(track);
  auto values = valuesOf(store, tracks);
  if (!values) return values.error();
  std::erase_if(*values, [&](const TrackValue& value) {
    const auto thread = waits.find(value.track);
    return thread != waits.end() && value.atNs >= thread->second;
  });
  for (const auto& [track, end] : waits) {
    if (end != INT64_MAX) values->push_back({end, track, 0});
  }
  sortByTime(*values);
  Shares recorder, waiting;
  for (const TrackValue& value : *values) {
    (recorders.contains(value.track) ? recorder : waiting).set(value.track, value.share);
    curve.set(value.atNs, std::min({recorder.sum(), waiting.sum(), 1.0}));
  }
  return curve;
}

void ShareCurve::set(TimeNs atNs, double share) {
  if (points_.empty()) {
    points_.push_back({atNs, 0, share});
    return;
  }
  const double sumNs = sumBefore(atNs);
  if (points_.back().atNs == atNs) {
    points_.back().share = share;
  } else if (points_.back().share != share) {
    points_.push_back({atNs, sumNs, share});
  }
}

std::vector<ShareCurve::Point>::const_iterator ShareCurve::firstAfter(TimeNs atNs) const {
  return std::partition_point(points_.begin(), points_.end(),
                              [&](const Point& point) { return point.atNs <= atNs; });
}

double ShareCurve::sumBefore(TimeNs atNs) const {
  const auto next = firstAfter(atNs);
  if (next == points_.begin()) return 0;
  const Point& point = *std::prev(next);
  return point.sumNs + point.share * (static_cast<double>(atNs) - static_cast<double>(point.atNs));
}

double ShareCurve::at(TimeNs atNs) const {
  const auto next = firstAfter(atNs);
  return next == points_.begin() ? 0 : std::prev(next)->share;
}

double ShareCurve::between(TimeNs fromNs, TimeNs toNs) const {
  return points_.empty() || fromNs >= toNs ? 0 : std::max(0.0, sumBefore(toNs) - sumBefore(fromNs));
}

TimeNs ShareCurve::changeAfter(TimeNs atNs, TimeNs untilNs) const {
  const auto next = firstAfter(atNs);
  return next == points_.end() ? untilNs : std::min(next->atNs, untilNs);
}

}  // namespace lacuna::analyzer
