// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <vector>

namespace lacuna::collector::cupti {

/// The CUDA contexts that live in this process, and whether streams are being captured into graphs,
/// as far as CUPTI has reported that. From any thread.
class Contexts {
 public:
  void created(CUcontext context);
  void destroyed(CUcontext context);
  /// A capture that was begun twice, as by the runtime and by the driver that it calls, also ends
  /// twice.
  void captureBegan() { ++captures_; }
  void captureEnded();
  [[nodiscard]] bool isCapturing() const { return captures_ > 0; }
  /// Forgets them all: nobody reports any more when they end.
  void forget();
  /// Waits until the devices have done the work of these contexts and of the calling thread's
  /// context. Waits at most `most`: work may never end, and the program is about to. False when
  /// some may still run. `name` is the driver's library; where the process has not loaded it,
  /// nothing runs. During a capture it does not wait, which would break it.
  bool settle(const char* name, std::chrono::milliseconds most);

 private:
  std::mutex mutex_;
  std::vector<CUcontext> living_;
  std::atomic<int> captures_ = 0;
};

}  // namespace lacuna::collector::cupti
