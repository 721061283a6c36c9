// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "lacuna/runtime/tensor.h"

/// Queues of a device. Operators run in order within a queue, and beside one another on different
/// queues. Each thread enqueues to one queue of a device, the first until it opens a QueueScope.
///
/// The runtime orders queues by the tensors that they share. Before a queue reads a tensor it waits
/// for the queue that wrote it last, and before it writes one, for all that used it since. Memory
/// that several queues use is free only when all of them are done with it. Events order everything
/// else.
namespace lacuna::rt {

/// The queues of a device are numbered from 0. One is made when it is first used, and lives for
/// good.
struct Queue {
  Device device = kCpu;
  int index = 0;
  friend bool operator==(const Queue&, const Queue&) = default;
};
inline constexpr int kMostQueues = 32;  ///< of a device

/// The queue to which this thread enqueues. Throws where the device has no queues, as meta.
[[nodiscard]] Queue currentQueue(Device device = kCpu);

/// While it lives this thread enqueues to that queue. A backward runs each operator on the queue of
/// its forward.
class QueueScope {
 public:
  /// Throws where there is no such queue.
  explicit QueueScope(Queue queue);
  ~QueueScope();
  QueueScope(const QueueScope&) = delete;
  QueueScope& operator=(const QueueScope&) = delete;

 private:
  Queue before_;
};

/// A point in a queue: all that was enqueued before it. A copy is the same point.
class Event {
 public:
  /// One that has passed.
  Event() = default;
  /// The end of `queue` as it is now.
  explicit Event(Queue queue);
  [[nodiscard]] bool passed() const;
  /// The host waits. Errors stay with their queue, whose next wait throws them.
  void wait() const;
  /// What is enqueued to `queue` from now on runs after this point.
  void block(Queue queue) const;

 private:
  Queue queue_;
  std::uint64_t sequence_ = 0;
};

/// Waits until the queue has run all that was enqueued, then throws its first error, if there was
/// one.
void synchronize(Queue queue);

}  // namespace lacuna::rt
