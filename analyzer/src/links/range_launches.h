// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// The mark of a Chrome file of ours among its members, so that its ranges' ids are read as what
/// they are.
inline constexpr std::string_view kOwnChromeMember = "lacuna";

/// Decides if the correlation of a store's ranges names the device work that they launch. In
/// recordings it does; Kineto's `External id` counts operators, in numbers that correlations have
/// too.
class RangeLaunches {
 public:
  explicit RangeLaunches(const Store& store);

  [[nodiscard]] bool operator()(std::uint64_t correlation, prof::StringId domain) const {
    return correlation != 0 && (!countsOperators_ || domain);
  }

 private:
  bool countsOperators_ = false;
};

}  // namespace lacuna::analyzer
