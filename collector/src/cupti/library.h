// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <cstdint>
#include <span>
#include <string>

#include "cupti/decoder.h"

namespace lacuna::collector::cupti {

/// Every CUPTI function that is used: X(name without "cupti", required).
#define LACUNA_CUPTI_FUNCTIONS(X)       \
  X(GetVersion, true)                   \
  X(GetResultString, true)              \
  X(GetCallbackName, true)              \
  X(Subscribe, true)                    \
  X(Unsubscribe, true)                  \
  X(EnableCallback, true)               \
  X(SetThreadIdType, true)              \
  X(GetTimestamp, true)                 \
  X(ActivityRegisterCallbacks, true)    \
  X(ActivityEnable, true)               \
  X(ActivityDisable, true)              \
  X(ActivityEnableRuntimeApi, false)    \
  X(ActivityEnableDriverApi, false)     \
  X(GetGraphNodeId, false)              \
  X(ActivityGetNextRecord, true)        \
  X(ActivityGetNumDroppedRecords, true) \
  X(ActivityFlushAll, true)

/// CUPTI, found at run time. Never unloaded: unloading it crashes some versions.
class Library {
 public:
  /// Takes the copy that the process already holds, else the first that can be loaded. On failure
  /// loaded() is false and why() names what was tried.
  static Library load(std::span<const std::string> places);
  static Library load(const std::string& path) { return load(std::span(&path, 1)); }
  /// From cuptiPlaces(), for the driver that the process holds.
  static Library load();

  [[nodiscard]] bool loaded() const { return handle_ != nullptr; }
  [[nodiscard]] const std::string& why() const { return why_; }
  [[nodiscard]] std::uint32_t version() const { return version_; }
  /// A CUPTI result in words, with its number.
  [[nodiscard]] std::string describe(CUptiResult result) const;
  /// The stride at which this library lays out records, asked from its own decoder.
  [[nodiscard]] Strides probeStrides() const;
  /// A function that not every version has; null where it is missing.
  [[nodiscard]] void* symbol(const char* name) const;

#define LACUNA_CUPTI_MEMBER(name, required) decltype(&::cupti##name) name = nullptr;
  LACUNA_CUPTI_FUNCTIONS(LACUNA_CUPTI_MEMBER)
#undef LACUNA_CUPTI_MEMBER

 private:
  bool resolve();
  void* handle_ = nullptr;
  std::string why_;
  std::uint32_t version_ = 0;
};

}  // namespace lacuna::collector::cupti
