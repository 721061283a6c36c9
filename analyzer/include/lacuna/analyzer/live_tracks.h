// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lacuna/analyzer/lanes.h"

namespace lacuna::analyzer {

/// Lays out a trace that grows: what buildTracks() gives, at a cost of what came since and not of what there is. The
/// last seconds are laid out anew each time, since a range is written when it ends and may then lie above what was
/// there; what is older is kept. A range that began before that, such as the one around a whole run, lays out
/// everything once. One thread at a time; the sets are independent of it.
class LiveTracks {
 public:
  LiveTracks();
  ~LiveTracks();

  /// The tracks of a store of an .lcn file that holds all that the one before held, as a StoreFollower gives them.
  prof::Result<std::shared_ptr<const TrackSet>> layOut(const Store& store, const Progress& progress = {});
  /// Rows that the last layOut() read.
  [[nodiscard]] std::uint64_t rowsRead() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lacuna::analyzer
