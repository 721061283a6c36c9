// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "merge/align.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/links.h"
#include "lacuna/analyzer/timeline.h"

namespace lacuna::analyzer {
namespace {

using prof::TimeNs;

/// Later than any clock that counts from the start of a machine: CLOCK_REALTIME in this century.
constexpr TimeNs kTimeOfDayNs = 946'684'800'000'000'000;

struct Marker {
  TimeNs startNs = 0, endNs = 0;
  std::string name;
};

/// Step markers of the host in time order; markers of the same name are numbered.
std::vector<Marker> markersOf(const Store& store) {
  std::vector<Marker> markers;
  std::map<std::pair<prof::StringId, prof::StringId>, bool> known;
  std::map<std::string, std::uint64_t> count;
  const auto categories = store.column<&prof::Range::category>();
  const auto names = store.column<&prof::Range::name>();
  const auto starts = store.column<&prof::Range::startNs>();
  const auto lengths = store.column<&prof::Range::durNs>();
  const auto threads = store.column<&prof::Range::thread>();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!threads[i]) continue;
    const auto [at, isNew] = known.try_emplace({categories[i], names[i]}, false);
    if (isNew) at->second = isStepMarker(store.text(categories[i]), store.text(names[i]));
    if (!at->second) continue;
    std::string name(store.text(names[i]));
    const std::uint64_t number = count[name]++;
    markers.push_back({starts[i], starts[i] + lengths[i], name + '\n' + std::to_string(number)});
  }
  return markers;
}

/// Identifies a collective that ranks have in common: its step, its kernel and its process group.
struct CollectiveKey {
  std::string step, kernel, group;
  auto operator<=>(const CollectiveKey&) const = default;
};
using CollectiveEnds = std::map<CollectiveKey, std::vector<TimeNs>>;

/// Ends of collectives. Those outside of all steps have a step of their own.
CollectiveEnds collectivesOf(const Store& store, const std::vector<Marker>& markers, bool byGroup) {
  CollectiveEnds out;
  const auto found = listCollectives(store, {});
  if (!found) return out;
  for (const Collective& one : found->calls) {
    // The last step that began before it: device work may outlive its step's marker.
    const auto step = std::ranges::upper_bound(markers, one.startNs, {}, &Marker::startNs);
    const Communicator& among = found->communicatorOf(one);
    out[{.step = step == markers.begin() ? std::string() : std::prev(step)->name,
         .kernel = std::string(store.text(one.name)),
         .group = byGroup ? among.group + '\n' + among.name : std::string()}]
        .push_back(one.endNs);
  }
  return out;
}

bool hasGroups(const CollectiveEnds& ends) {
  return std::ranges::any_of(ends, [](const auto& entry) { return entry.first.group != "\n"; });
}

/// The median of differences, and their median distance from it.
Alignment summary(AlignedBy how, std::vector<std::int64_t> differences) {
  const auto median = [](std::vector<std::int64_t>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
  };
  Alignment out;
  out.how = how;
  out.matches = differences.size();
  out.offsetNs = median(differences);
  for (std::int64_t& value : differences) value = std::abs(value - out.offsetNs);
  out.spreadNs = median(differences);
  return out;
}

std::vector<std::int64_t> differencesOf(const CollectiveEnds& first, const CollectiveEnds& second) {
  std::vector<std::int64_t> differences;
  for (const auto& [key, ends] : first) {
    const auto match = second.find(key);
    if (match == second.end() || match->second.size() != ends.size()) continue;
    for (std::size_t i = 0; i < ends.size(); ++i) differences.push_back(ends[i] - match->second[i]);
  }
  return differences;
}

std::optional<Alignment> byCollectives(const Store& reference, const Store& other,
                                       const std::vector<Marker>& ours,
                                       const std::vector<Marker>& theirs) {
  const CollectiveEnds first = collectivesOf(reference, ours, true);
  const CollectiveEnds second = collectivesOf(other, theirs, true);
  std::vector<std::int64_t> differences = differencesOf(first, second);
  // Where only one of the two has communicators, their kernels' names are what they have in common.
  if (differences.empty() && hasGroups(first) != hasGroups(second)) {
    differences =
        differencesOf(collectivesOf(reference, ours, false), collectivesOf(other, theirs, false));
  }
  if (differences.empty()) return std::nullopt;
  return summary(AlignedBy::Collectives, std::move(differences));
}

std::optional<Alignment> byMarkers(const std::vector<Marker>& ours,
                                   const std::vector<Marker>& theirs) {
  std::map<std::string, TimeNs> starts;
  for (const Marker& marker : ours) starts[marker.name] = marker.startNs;
  std::vector<std::int64_t> differences;
  for (const Marker& marker : theirs) {
    if (const auto match = starts.find(marker.name); match != starts.end()) {
      differences.push_back(match->second - marker.startNs);
    }
  }
  if (differences.empty()) return std::nullopt;
  return summary(AlignedBy::Markers, std::move(differences));
}

}  // namespace

std::optional<std::int64_t> timeOfDay(const Store& store) {
  if (store.rows<prof::Clock>() == 0) return std::nullopt;
  const auto clock = store.row<prof::Clock>(0);
  if (clock.realtimeNs < kTimeOfDayNs) return std::nullopt;
  return clock.realtimeNs - clock.timeNs;
}

Alignment alignTo(const Store& reference, const Store& other) {
  const auto ours = markersOf(reference);
  const auto theirs = markersOf(other);
  if (const auto found = byCollectives(reference, other, ours, theirs)) return *found;
  Alignment out;
  const auto our = timeOfDay(reference);
  const auto their = timeOfDay(other);
  if (our && their) {
    out.how = AlignedBy::Clocks;
    out.offsetNs = *their - *our;
    out.matches = 1;
    return out;
  }
  if (const auto found = byMarkers(ours, theirs)) return *found;
  out.how = AlignedBy::Start;
  out.offsetNs = reference.span().startNs - other.span().startNs;
  return out;
}

}  // namespace lacuna::analyzer
