// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <chrono>
#include <mutex>
#include <vector>

namespace lacuna::collector::cupti {

/// The CUDA contexts that live in this process, as far as CUPTI has reported them. From any thread.
class Contexts {
 public:
  void created(CUcontext context);
  void destroyed(CUcontext context);
  /// Forgets them all: nobody reports any more when they end.
  void forget();
  /// Waits until the devices have done the work of these contexts and of the calling thread's context. Waits at most
  /// `most`: work may never end, and the program is about to. False when some may still run. `driver` is the library's
  /// name; where the process has not loaded it, nothing runs.
  bool settle(const char* driver, std::chrono::milliseconds most);

 private:
  std::mutex mutex_;
  std::vector<CUcontext> living_;
};

}  // namespace lacuna::collector::cupti
