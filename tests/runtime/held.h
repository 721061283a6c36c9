// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <future>

#include "backend/common/queue.h"
#include "lacuna/runtime/queue.h"

namespace lacuna::rt {

/// Work of a queue that does not end before it is let go.
class Held {
 public:
  explicit Held(Queue queue = {}) {
    CpuQueue::of(queue.index).enqueue(kName, {}, [gate = gate_.get_future().share()] {
      gate.wait();
    });
  }
  ~Held() { letGo(); }
  void letGo() {
    if (!gone_.exchange(true)) gate_.set_value();
  }

 private:
  static inline const Name kName{"held"};
  std::promise<void> gate_;
  std::atomic<bool> gone_ = false;
};

}  // namespace lacuna::rt
