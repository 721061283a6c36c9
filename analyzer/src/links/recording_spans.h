// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Finds the ranges in which Kineto notes how long it recorded, on a thread that is none. Keep the
/// store.
class RecordingSpans {
 public:
  explicit RecordingSpans(const Store& store) : store_(store), category_(store.find("Trace")) {}
  [[nodiscard]] bool has(prof::StringId category, prof::StringId name) const {
    return category_ && category == category_ && store_.text(name).starts_with("PyTorch Profiler");
  }

 private:
  const Store& store_;
  prof::StringId category_;
};

}  // namespace lacuna::analyzer
