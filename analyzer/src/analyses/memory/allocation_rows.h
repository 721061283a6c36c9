// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/analyzer/memory.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Calls visit(row, number) for each allocation row before `until`, in order of time and in bounded
/// memory, until it answers false. A row has what memory is about: time, thread, device, action,
/// role, address, bytes, tensor and op.
template <class Visit>
prof::Status forEachAllocation(const Store& store, prof::TimeNs until, Visit&& visit) {
  using A = prof::Allocation;
  return store.scan<&A::timeNs, &A::thread, &A::device, &A::action, &A::role, &A::address,
                    &A::bytes, &A::tensor, &A::op>(
      {INT64_MIN, until}, [&](std::uint64_t first, auto time, auto thread, auto device, auto action,
                              auto role, auto address, auto bytes, auto tensor, auto op) {
        for (std::size_t i = 0; i < time.size(); ++i) {
          if (time[i] >= until) return false;
          A row;
          row.timeNs = time[i];
          row.thread = thread[i];
          row.device = device[i];
          row.action = action[i];
          row.role = knownRole(role[i]);
          row.address = address[i];
          row.bytes = bytes[i];
          row.tensor = tensor[i];
          row.op = op[i];
          if (!visit(row, first + i)) return false;
        }
        return true;
      });
}

}  // namespace lacuna::analyzer
