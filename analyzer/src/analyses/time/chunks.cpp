// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/time/chunks.h"

#include <algorithm>

namespace lacuna::analyzer {
namespace {

/// A timeline of this many rows takes some 300 MB together with its profiles.
constexpr std::uint64_t kChunkRows = 2'000'000;

}  // namespace

std::uint64_t timelineRows(const Store& store) {
  return store.rows<prof::Range>() + store.rows<prof::ApiCall>() + store.rows<prof::Kernel>() +
         store.rows<prof::Memcpy>() + store.rows<prof::Memset>() + store.rows<prof::ThreadSpan>() +
         store.rows<prof::Sync>() + store.rows<prof::Overhead>();
}

prof::TimeWindow widened(const Store& store, prof::TimeWindow window, prof::TimeNs margin) {
  const prof::TimeWindow span = store.span();
  return {window.startNs - span.startNs <= margin ? span.startNs : window.startNs - margin,
          span.endNs + 1 - window.endNs <= margin ? span.endNs + 1 : window.endNs + margin};
}

prof::Status forEachChunk(
    const Store& store, prof::TimeWindow window,
    const std::function<prof::Status(const Timeline&, prof::TimeWindow)>& visit) {
  const prof::TimeWindow span = store.span();
  const prof::TimeNs from = std::max(window.startNs, span.startNs);
  const prof::TimeNs to = std::min(window.endNs, span.endNs + 1);
  if (from >= to) return {};
  const double share =
      static_cast<double>(to - from) / static_cast<double>(span.endNs + 1 - span.startNs);
  const auto rows = static_cast<std::uint64_t>(share * static_cast<double>(timelineRows(store)));
  const auto chunks = static_cast<prof::TimeNs>(rows / kChunkRows + 1);
  const prof::TimeNs width = (to - from) / chunks + 1;
  const prof::TimeNs margin = chunks == 1 ? span.endNs - span.startNs + 1 : width / 8;
  for (prof::TimeNs start = from; start < to; start += width) {
    const prof::TimeNs end = std::min(to, start + width);
    auto timeline = loadTimeline(store, widened(store, {start, end}, margin));
    if (!timeline) return timeline.error();
    if (auto status = visit(*timeline, {start, end}); !status) return status;
  }
  return {};
}

}  // namespace lacuna::analyzer
