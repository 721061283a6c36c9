// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <algorithm>
#include <string_view>

namespace lacuna::cli {
namespace {

/// Insertions, deletions, replacements and exchanges of neighbours between two short words.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      cost[i][j] = std::min(
          {cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string nearest(const std::vector<std::string>& words, const std::string& typed) {
  std::string closest;
  std::size_t best = 3;
  for (const std::string& word : words) {
    // The distance is at least the difference in length; a very long word would take long to
    // compare.
    if (word.size() + best <= typed.size() || typed.size() + best <= word.size()) continue;
    const std::size_t far = distance(typed, word);
    if (far >= best) continue;
    best = far;
    closest = word;
  }
  return closest;
}

std::string didYouMean(const std::vector<std::string>& words, const std::string& typed) {
  const std::string closest = nearest(words, typed);
  return closest.empty() ? "" : "; did you mean '" + closest + "'?";
}

}  // namespace lacuna::cli
