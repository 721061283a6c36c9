// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "lacuna/analyzer/timeline.h"

namespace lacuna::analyzer {

/// One thing that a thread did, after precedence: profiles hold disjoint pieces in time order with
/// holes where nothing is known.
struct HostPiece {
  prof::TimeNs startNs = 0;
  prof::TimeNs endNs = 0;
  prof::StringId name;
  prof::ThreadId thread;
  prof::ThreadId wokenBy;
  Activity activity = Activity::None;
};
using HostProfile = std::vector<HostPiece>;

/// Flattens spans (sorted by start) into a profile: the greatest activity wins, and within one the
/// latest begun. O(n log n).
HostProfile flatten(std::span<const HostSpan* const> sortedByStart);

/// The first piece that ends after `t`.
HostProfile::const_iterator pieceAt(const HostProfile& profile, prof::TimeNs t);

}  // namespace lacuna::analyzer
