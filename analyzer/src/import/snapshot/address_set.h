// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace lacuna::analyzer {

/// Addresses that are held, as stretches that do not overlap.
class AddressSet {
 public:
  /// Calls visit(from, bytes) for each part that was not held before.
  template <class Visit>
  void add(std::uint64_t from, std::uint64_t bytes, Visit&& visit) {
    const std::uint64_t end = endOf(from, bytes);
    cut(from, end, visit);
    if (from < end) held_[from] = end;
  }
  /// The same for each part that was not held.
  template <class Visit>
  void remove(std::uint64_t from, std::uint64_t bytes, Visit&& visit) {
    cut(from, endOf(from, bytes), visit);
  }

 private:
  static std::uint64_t endOf(std::uint64_t from, std::uint64_t bytes) {
    return from + std::min(bytes, UINT64_MAX - from);
  }

  template <class Visit>
  void cut(std::uint64_t from, std::uint64_t end, Visit&& visit) {
    std::uint64_t at = from;
    auto piece = held_.upper_bound(from);
    if (piece != held_.begin() && std::prev(piece)->second > from) --piece;
    while (at < end && piece != held_.end() && piece->first < end) {
      const auto [first, last] = *piece;
      if (first > at) visit(at, first - at);
      at = std::min(last, end);
      piece = held_.erase(piece);
      if (first < from) held_[first] = from;
      if (last > end) held_[end] = last;
    }
    if (at < end) visit(at, end - at);
  }

  std::map<std::uint64_t, std::uint64_t> held_;  ///< ends by beginnings
};

}  // namespace lacuna::analyzer
