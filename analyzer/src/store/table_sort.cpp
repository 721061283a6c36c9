// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "store/table_sort.h"

#include <cassert>

namespace lacuna::analyzer {
namespace {

struct Key {
  prof::TimeNs time;
  prof::TimeNs length;
  std::uint32_t row;

  bool operator<(const Key& other) const {
    if (time != other.time) return time < other.time;
    return length != other.length ? length > other.length : row < other.row;
  }
};

}  // namespace

RowOrder timeOrder(const std::vector<prof::TimeNs>& times,
                   const std::vector<prof::TimeNs>* lengths) {
  const auto key = [&](std::size_t row) {
    return Key{times[row], lengths != nullptr ? (*lengths)[row] : 0,
               static_cast<std::uint32_t>(row)};
  };
  std::size_t sorted = 1;
  while (sorted < times.size() && key(sorted - 1) < key(sorted)) ++sorted;
  if (sorted >= times.size()) return {};
  assert(times.size() < UINT32_MAX);
  std::vector<Key> keys;
  keys.reserve(times.size());
  // Profilers write a few interleaved streams that are each in order, so merging the runs beats a
  // sort from scratch.
  std::vector<std::size_t> runs{0};
  for (std::size_t row = 0; row < times.size(); ++row) {
    keys.push_back(key(row));
    if (row > 0 && keys[row] < keys[row - 1]) runs.push_back(row);
  }
  runs.push_back(times.size());
  if (runs.size() > times.size() / 16) {
    std::sort(keys.begin(), keys.end());
  } else {
    while (runs.size() > 2) {
      std::vector<std::size_t> merged;
      for (std::size_t i = 0; i + 1 < runs.size(); i += 2) {
        merged.push_back(runs[i]);
        if (i + 2 < runs.size()) {
          const auto at = [&](std::size_t run) {
            return keys.begin() + static_cast<std::ptrdiff_t>(runs[run]);
          };
          std::inplace_merge(at(i), at(i + 1), at(i + 2));
        }
      }
      merged.push_back(times.size());
      runs = std::move(merged);
    }
  }
  RowOrder order(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) order[i] = keys[i].row;
  return order;
}

}  // namespace lacuna::analyzer
