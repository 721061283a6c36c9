// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// A communication kernel, with what its arguments tell.
struct Collective {
  prof::TimeNs startNs = 0;
  prof::TimeNs endNs = 0;
  prof::QueueId queue;
  prof::StringId name;
  prof::StringId communicator;  ///< what people call it; none where the trace does not tell
  prof::StringId group = {};    ///< the process group, of which several may be called the same
  std::uint64_t bytes = 0;      ///< that a rank puts in; 0 where the trace does not tell
};
/// What starts within the window, in the order of the trace.
prof::Result<std::vector<Collective>> listCollectives(const Store& store, prof::TimeWindow window);

}  // namespace lacuna::analyzer
