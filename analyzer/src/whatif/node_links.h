// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "lacuna/prof/ids.h"
#include "whatif/model.h"

namespace lacuna::analyzer {

/// The times of a piece of device work, and how it was launched.
struct RecordedWork {
  prof::TimeNs calledNs = 0;    ///< when its launch call began
  prof::TimeNs returnedNs = 0;  ///< when that returned
  prof::TimeNs startNs = 0;
  prof::TimeNs endNs = 0;
  bool blocks = false;   ///< the call returns when it is done
  bool inPlace = false;  ///< the caller executes it
};

/// Finds what each piece of work waited for: its launch, the work before it on its queue, or work
/// on another queue. The latest of them bound its start; the others get the delays that are usual
/// on this machine. Fills in the nodes' `after`, `behind`, `launchDelayNs`, `queueGapNs` and
/// `afterGapNs`. `devices` has the device of each queue.
void linkNodes(std::span<DeviceNode> nodes, std::span<const RecordedWork> work,
               std::span<const prof::DeviceId> devices);

}  // namespace lacuna::analyzer
