// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace lacuna::analyzer {

namespace {

constexpr std::array<const FindingRule*, kFindingCount> kRules{
#define LACUNA_FINDING_PLACE(name) &k##name##Rule,
    LACUNA_FINDINGS(LACUNA_FINDING_PLACE)
#undef LACUNA_FINDING_PLACE
};

constexpr std::array kUnclaimed{
    UnclaimedCause{
        Cause::Compute,
        "The devices do the network's own work; findings about that work price kernels."},
    UnclaimedCause{Cause::Profiler,
                   "Another profiler's own time; it goes with that profiler, and under-utilisation "
                   "names it where it is large."},
    UnclaimedCause{
        Cause::Dependency,
        "A queue waits for another queue of its device, which works: no device is idle."},
    UnclaimedCause{Cause::Unknown,
                   "The trace holds no cause; under-utilisation reports it where it is large."},
};

}  // namespace

Rules allRules() {
  return kRules;
}

const FindingRule& ruleOf(FindingId id) {
  return *kRules[static_cast<std::size_t>(id)];
}

std::span<const UnclaimedCause> unclaimedCauses() {
  return kUnclaimed;
}

bool comesBefore(const FindingRule& first, const FindingRule& second) {
  if (first.id == second.id) return false;
  const bool explains =
      std::ranges::find(first.explains, second.id, &Explained::what) != first.explains.end();
  return explains || (!first.claims.empty() && second.skipsClaimed) ||
         (!first.readsLeftovers && second.readsLeftovers);
}

prof::Result<std::vector<const FindingRule*>> runOrder(Rules rules) {
  std::vector<const FindingRule*> waiting(rules.begin(), rules.end());
  std::vector<const FindingRule*> order;
  while (!waiting.empty()) {
    const auto next = std::ranges::find_if(waiting, [&](const FindingRule* rule) {
      return std::ranges::none_of(
          waiting, [&](const FindingRule* other) { return comesBefore(*other, *rule); });
    });
    if (next == waiting.end()) {
      std::vector<std::string_view> keys;
      for (const FindingRule* rule : waiting) keys.push_back(rule->key);
      return prof::Error{
          fmt::format("these rules wait for each other in a circle, or for one that does: {}",
                      fmt::join(keys, ", "))};
    }
    order.push_back(*next);
    waiting.erase(next);
  }
  return order;
}

std::string_view findingKey(FindingId id) {
  return ruleOf(id).key;
}

std::optional<FindingId> findFindingId(std::string_view key) {
  const auto found =
      std::ranges::find(kRules, key, [](const FindingRule* rule) { return rule->key; });
  return found == kRules.end() ? std::nullopt : std::optional((*found)->id);
}

FindingArea findingArea(FindingId id) {
  return ruleOf(id).area;
}

std::string_view findingAreaName(FindingArea area) {
  constexpr std::string_view kNames[]{"loader", "host", "device", "memory", "ranks"};
  return kNames[static_cast<std::size_t>(area)];
}

}  // namespace lacuna::analyzer
