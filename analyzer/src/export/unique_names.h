// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

namespace lacuna::analyzer {

/// Gives every name once. A trace may ask for one name a million times, so the numbers that were
/// tried are kept.
class UniqueNames {
 public:
  /// `name`, or where it is taken the first free one of those that numbered(2), numbered(3) … make.
  /// Calls whose numbered names are alike have the same `like`.
  template <class Numbered>
  std::string take(std::string name, const std::string& like, const Numbered& numbered) {
    if (taken_.insert(name).second) return name;
    int& last = last_.try_emplace(like, 1).first->second;
    do {
      name = numbered(++last);
    } while (!taken_.insert(name).second);
    return name;
  }

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> last_;
};

}  // namespace lacuna::analyzer
