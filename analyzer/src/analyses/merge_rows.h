// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lacuna::analyzer {

/// Adds rows to those with the same key, and appends the others.
template <class Row, class KeyOf, class Add>
void mergeRows(std::vector<Row>& into, std::vector<Row> more, KeyOf keyOf, Add add) {
  if (into.empty()) {
    into = std::move(more);
    return;
  }
  std::unordered_map<std::string, std::size_t> at;
  for (std::size_t i = 0; i < into.size(); ++i) at[keyOf(into[i])] = i;
  for (Row& row : more) {
    const auto found = at.find(keyOf(row));
    if (found == at.end()) {
      into.push_back(std::move(row));
    } else {
      add(into[found->second], row);
    }
  }
}

}  // namespace lacuna::analyzer
