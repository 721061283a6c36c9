// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "instrument/observer.h"

namespace lacuna::rt::instrument {

/// The forward of a module: its range, and the path that operators within it carry.
class ModuleRange {
 public:
  explicit ModuleRange(const Name& path);
  ~ModuleRange();
  ModuleRange(const ModuleRange&) = delete;
  ModuleRange& operator=(const ModuleRange&) = delete;

 private:
  const Name* before_;
  bool pushed_;
};

/// Name of the tensors allocated meanwhile; `name` must live for good.
class TensorName {
 public:
  explicit TensorName(const char* name) : before_(tState.tensorName) { tState.tensorName = name; }
  ~TensorName() { tState.tensorName = before_; }
  TensorName(const TensorName&) = delete;
  TensorName& operator=(const TensorName&) = delete;

 private:
  const char* before_;
};

}  // namespace lacuna::rt::instrument
