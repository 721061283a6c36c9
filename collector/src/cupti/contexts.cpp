// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/contexts.h"

#include <dlfcn.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

namespace lacuna::collector::cupti {
namespace {

struct Driver {
  CUresult (*getCurrent)(CUcontext*) = nullptr;
  CUresult (*push)(CUcontext) = nullptr;
  CUresult (*pop)(CUcontext*) = nullptr;
  CUresult (*synchronize)() = nullptr;

  bool resolve(const char* name) {
    void* library = ::dlopen(name, RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) return false;
    const auto find = [&]<class Function>(Function& function, const char* symbol) {
      function = reinterpret_cast<Function>(::dlsym(library, symbol));
      return function != nullptr;
    };
    return find(getCurrent, "cuCtxGetCurrent") && find(push, "cuCtxPushCurrent_v2") &&
           find(pop, "cuCtxPopCurrent_v2") && find(synchronize, "cuCtxSynchronize");
  }

  void settle(CUcontext context) const {
    if (push(context) != CUDA_SUCCESS) return;
    (void)synchronize();
    CUcontext same = nullptr;
    (void)pop(&same);
  }
};

/// Outlives a caller that gives up waiting.
struct Settled {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
};

}  // namespace

void Contexts::created(CUcontext context) {
  std::lock_guard lock(mutex_);
  living_.push_back(context);
}

void Contexts::destroyed(CUcontext context) {
  std::lock_guard lock(mutex_);
  std::erase(living_, context);
}

void Contexts::captureEnded() {
  // One that began before anybody reported it ends here, too.
  int captures = captures_;
  while (captures > 0 && !captures_.compare_exchange_weak(captures, captures - 1)) {
  }
}

void Contexts::forget() {
  std::lock_guard lock(mutex_);
  living_.clear();
  captures_ = 0;
}

bool Contexts::settle(const char* name, std::chrono::milliseconds most) {
  Driver driver;
  if (isCapturing()) return false;
  if (!driver.resolve(name)) return true;
  std::unique_lock lock(mutex_);
  std::vector<CUcontext> waited = living_;
  lock.unlock();
  CUcontext current = nullptr;
  if (driver.getCurrent(&current) == CUDA_SUCCESS && current != nullptr &&
      std::find(waited.begin(), waited.end(), current) == waited.end()) {
    waited.push_back(current);
  }
  if (waited.empty()) return true;
  const auto settled = std::make_shared<Settled>();
  try {
    // A thread of its own, for nothing ends the wait for a kernel that never does.
    std::thread([driver, settled, waited = std::move(waited)] {
      for (CUcontext context : waited) driver.settle(context);
      std::lock_guard done(settled->mutex);
      settled->done = true;
      settled->changed.notify_all();
    }).detach();
  } catch (const std::system_error&) {
    return false;
  }
  std::unique_lock waiting(settled->mutex);
  return settled->changed.wait_for(waiting, most, [&] { return settled->done; });
}

}  // namespace lacuna::collector::cupti
