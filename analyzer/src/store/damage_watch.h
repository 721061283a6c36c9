// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Shows if data read of a store from here on is damaged and came as zeros. A report can live with
/// that; an answer or a copy cannot.
class DamageWatch {
 public:
  explicit DamageWatch(const Store& store);
  /// An error that names the damage, once there was some.
  [[nodiscard]] prof::Status status() const;

 private:
  const Store& store_;
  std::vector<std::string> before_;
  std::uint64_t reads_ = 0;
};

}  // namespace lacuna::analyzer
