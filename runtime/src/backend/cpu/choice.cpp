// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdlib>
#include <string>

#include "backend/common/queue.h"
#include "instrument/own_knobs.h"
#include "lacuna/runtime/backend.h"
#include "lacuna/runtime/error.h"

namespace lacuna::rt {

namespace {

constexpr const char* kVariable = "LACUNA_BACKEND";

void reportChoice(Backend backend) {
  instrument::reportKnob(instrument::OwnKnob::Backend,
                         backend == Backend::Reference ? "reference" : "tuned");
}

Backend fromEnvironment() {
  const char* text = std::getenv(kVariable);
  if (text == nullptr || *text == '\0') return Backend::Tuned;
  const std::string value = text;
  if (value != "tuned" && value != "reference")
    fail(kVariable, "'" + value + "' is neither tuned nor reference");
  const Backend backend = value == "reference" ? Backend::Reference : Backend::Tuned;
  reportChoice(backend);
  return backend;
}

constexpr int kUnknown = -1;
/// kUnknown until somebody asks. Not a static of a function: a fork could catch another thread
/// inside its guard.
std::atomic<int> gBackend{kUnknown};

}  // namespace

Backend backend() {
  int chosen = gBackend.load(std::memory_order_relaxed);
  if (chosen == kUnknown) [[unlikely]] {
    const int initial = static_cast<int>(fromEnvironment());
    if (gBackend.compare_exchange_strong(chosen, initial)) chosen = initial;
  }
  return static_cast<Backend>(chosen);
}

void setBackend(Backend chosen) {
  if (chosen != backend()) {
    CpuQueue::drainAll();
    gBackend.store(static_cast<int>(chosen));
  }
  reportChoice(chosen);
}

}  // namespace lacuna::rt
