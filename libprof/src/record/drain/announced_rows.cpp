// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "record/drain/announced_rows.h"

#include <algorithm>
#include <string>

namespace lacuna::prof::recording {

void AnnouncedRows::end(const QueueData& announced, ProcessId process, ThreadId thread,
                        const OpenRange& range, TimeNs endNs) {
  NvtxEvent event;
  event.thread = thread;
  event.startNs = range.startNs;
  event.durNs = std::max<TimeNs>(endNs - range.startNs, 0);
  event.name = tables_.name(range.name).name;
  event.flags = range.flags;
  AnnouncedExecution execution = announced.execution;
  if (announced.wait) {
    return trace_.append(
        placed(mapWait({execution.sequence, execution.queue, execution.kind}, event)));
  }
  if (execution.enqueueStartNs != 0) {
    execution.enqueueThread = trace_.threadOf(process, execution.enqueueThread).value;
  }
  mapExecution(execution, event, *this);
}

void AnnouncedRows::memory(const AnnouncedMemory& announced, ThreadId thread, TimeNs timeNs) {
  AnnouncedMemory named = announced;
  named.op = tables_.text(announced.op).value;
  named.tensor = tables_.text(announced.tensor).value;
  NvtxEvent event;
  event.thread = thread;
  event.startNs = timeNs;
  take(mapMemory(named, event));
}

// The rows of an execution join nothing to their constants.
StringId AnnouncedRows::join(std::string_view prefix, StringId) {
  if (prefix.data() != lastPrefix_.data()) {
    lastJoined_ = trace_.writer().intern(prefix);
    lastPrefix_ = prefix;
  }
  return lastJoined_;
}

}  // namespace lacuna::prof::recording
