// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>

namespace lacuna::rt::cpu {

/// The values made for the last `most` keys or so: one not asked for while half of that many others
/// came is dropped. A find of a value that is used all the time is one lookup in a hash map. A
/// value stays where it is until it is dropped, which one found since was not.
template <class Value>
class BoundedCache {
 public:
  explicit BoundedCache(std::size_t most) : half_(most / 2) {}

  template <class Make>
  Value& find(const std::string& key, const Make& make) {
    const auto known = young_.find(key);
    if (known != young_.end()) [[likely]]
      return known->second;
    if (auto older = old_.extract(key)) {
      makeRoom();
      return young_.insert(std::move(older)).position->second;
    }
    Value value = make();  // which may find others
    makeRoom();
    return young_.emplace(key, std::move(value)).first->second;
  }
  [[nodiscard]] std::size_t size() const { return young_.size() + old_.size(); }

 private:
  void makeRoom() {
    if (young_.size() < half_) return;
    old_ = std::move(young_);
    young_.clear();
  }

  std::size_t half_;
  std::unordered_map<std::string, Value> young_, old_;
};

/// Limit for each kind of plan, which takes some 50 KiB with its code. Networks have some hundred
/// shapes; inputs whose sizes never repeat would fill the memory.
inline constexpr std::size_t kMostPlans = 1024;

}  // namespace lacuna::rt::cpu
