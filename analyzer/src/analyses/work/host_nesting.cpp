// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/host_nesting.h"

#include <algorithm>
#include <tuple>

namespace lacuna::analyzer {

void sortOuterFirst(std::vector<const HostSpan*>& spans) {
  std::stable_sort(spans.begin(), spans.end(), [](const HostSpan* a, const HostSpan* b) {
    return std::tuple(a->startNs, b->endNs) < std::tuple(b->startNs, a->endNs);
  });
}

ByThread sortedByThread(const Timeline& timeline, bool (*wanted)(const HostSpan&)) {
  ByThread out;
  for (const HostSpan& span : timeline.host) {
    if (wanted(span)) out[span.thread].push_back(&span);
  }
  for (auto& [thread, spans] : out) sortOuterFirst(spans);
  return out;
}

std::vector<std::size_t> parentsOf(const std::vector<const HostSpan*>& spans) {
  std::vector<std::size_t> parents(spans.size(), kNoSpan);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    while (!open.empty() && spans[open.back()]->endNs <= spans[i]->startNs) open.pop_back();
    if (!open.empty()) parents[i] = open.back();
    open.push_back(i);
  }
  return parents;
}

std::size_t spanAt(const std::vector<const HostSpan*>& spans,
                   const std::vector<std::size_t>& parents, prof::TimeNs t) {
  const auto after =
      std::upper_bound(spans.begin(), spans.end(), t,
                       [](prof::TimeNs at, const HostSpan* s) { return at < s->startNs; });
  if (after == spans.begin()) return kNoSpan;
  auto at = static_cast<std::size_t>(after - spans.begin()) - 1;
  while (at != kNoSpan && spans[at]->endNs < t) at = parents[at];
  return at;
}

const HostSpan* operatorAt(const std::vector<const HostSpan*>& spans,
                           const std::vector<std::size_t>& parents, prof::TimeNs t) {
  const std::size_t at = spanAt(spans, parents, t);
  return at == kNoSpan ? nullptr : spans[at];
}

}  // namespace lacuna::analyzer
