// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/prof/nvtx_mapper.h"
#include "record/drain/guest_tables.h"
#include "record/drain/range_stacks.h"
#include "record/drain/row_batches.h"

namespace lacuna::prof::recording {

/// Makes the rows that follow from a guest's statements on its queues and its memory.
class AnnouncedRows final : private NvtxRowSink {
 public:
  AnnouncedRows(GuestTables& tables, TraceState& trace, RowBatches& batches)
      : tables_(tables), trace_(trace), batches_(batches) {}

  /// The range of `announced` has ended.
  void end(const QueueData& announced, ProcessId process, ThreadId thread, const OpenRange& range,
           TimeNs endNs);
  void memory(const AnnouncedMemory& announced, ThreadId thread, TimeNs timeNs);

 private:
  StringId join(std::string_view prefix, StringId id) override;
  void take(const Device& row) override { trace_.append(row); }
  void take(const Queue& row) override { trace_.append(row); }
  void take(const ApiCall& row) override { batches_.add(row); }
  void take(const Kernel& row) override { batches_.add(placed(row)); }
  void take(const Memcpy& row) override { trace_.append(placed(row)); }
  void take(const Memset& row) override { trace_.append(placed(row)); }
  void take(const Sync& row) override { trace_.append(placed(row)); }
  void take(const Allocation& row) override { batches_.add(placed(row)); }
  void take(const Environment& row) override { trace_.append(row); }

  /// With the trace's numbers of its queue and device.
  template <class Row>
  Row placed(Row row) {
    row.queue = QueueId{tables_.number(Numbered::Queue, row.queue.value)};
    row.device = DeviceId{tables_.number(Numbered::Device, row.device.value)};
    return row;
  }

  GuestTables& tables_;
  TraceState& trace_;
  RowBatches& batches_;
  std::string_view lastPrefix_;  ///< a constant of the mapper, with the id of it alone
  StringId lastJoined_;
};

}  // namespace lacuna::prof::recording
