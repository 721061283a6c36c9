// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor_impl.h"
#include "tensor/trace.h"

namespace lacuna::rt {

// A thread that finds its queue among the users enqueues behind the wait that was enqueued before
// the bit was set.
void orderRead(Storage& storage) {
  if (graph::tTrace != nullptr) graph::tTrace->noteRead(storage);
  if (storage.writer != Storage::kHost) {
    CpuQueue& writer = CpuQueue::of(storage.writer);
    CpuQueue::current().runAfter(writer,
                                 storage.written != 0 ? storage.written : writer.enqueued());
  }
  storage.users.fetch_or(CpuQueue::current().bit(), std::memory_order_acq_rel);
}

void orderWrite(Storage& storage) {
  const QueueMask users = storage.users.load(std::memory_order_acquire);
  if (users == Storage::kEveryQueue) return;
  if (graph::tTrace != nullptr) {
    if ((users & CpuQueue::chosenBit()) != 0) return;  // the trace's own
    graph::tTrace->noteWrite(storage);
  }
  CpuQueue& current = CpuQueue::current();
  CpuQueue::each(users & ~current.bit(), [&](CpuQueue& queue) { current.runAfter(queue); });
  storage.writer = static_cast<std::uint8_t>(current.index());
  storage.users.store(current.bit(), std::memory_order_release);
}

void waitForUsers(const Storage& storage, const Name& what, LacunaRtSyncKind kind) {
  graph::leave("it reads a value on the host; return the tensor, and read it after the run");
  const QueueMask users = storage.users.load(std::memory_order_acquire);
  CpuQueue::each(users != 0 ? users : CpuQueue::chosenBit(),
                 [&](CpuQueue& queue) { queue.synchronize(what, kind); });
}

}  // namespace lacuna::rt
