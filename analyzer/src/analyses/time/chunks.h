// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "lacuna/analyzer/timeline.h"

namespace lacuna::analyzer {

/// Calls visit(timeline, window) for consecutive windows that together are `window`, so that a
/// trace of any size is analysed in bounded memory. A timeline reaches beyond its window on both
/// sides, so that launches before it and the work after it are seen. Only a launch more than that
/// margin away from its work goes unseen.
prof::Status forEachChunk(
    const Store& store, prof::TimeWindow window,
    const std::function<prof::Status(const Timeline&, prof::TimeWindow)>& visit);

/// The window with so much more on both sides, but no further than the trace goes: its ends may be
/// as far as times go.
prof::TimeWindow widened(const Store& store, prof::TimeWindow window, prof::TimeNs margin);

/// Rows that a timeline of the whole trace would hold.
std::uint64_t timelineRows(const Store& store);

}  // namespace lacuna::analyzer
