// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace lacuna::analyzer {

/// Numbers of what was looked up last, which is mostly what is looked up next.
class Recent {
 public:
  template <class Is>
  [[nodiscard]] std::uint32_t* find(Is&& is) {
    const auto found = std::find_if(numbers_.begin(), numbers_.end(), is);
    return found == numbers_.end() ? nullptr : &*found;
  }
  void add(std::uint32_t number) { numbers_[next_++ % numbers_.size()] = number; }

 private:
  std::array<std::uint32_t, 8> numbers_{};
  std::size_t next_ = 0;
};

}  // namespace lacuna::analyzer
