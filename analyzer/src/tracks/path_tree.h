// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lacuna/analyzer/lanes.h"

namespace lacuna::analyzer {

/// Names below names, as ranges nest, each path with a number. Its memory grows with the paths,
/// where that of their texts would grow with their lengths as well.
class PathTree {
 public:
  using Path = std::uint32_t;
  using Name = std::uint32_t;
  static constexpr Path kRoot = 0;
  /// As many as a track has lanes.
  static constexpr std::size_t kMostNames = kMostLanes;

  PathTree() = default;
  PathTree(const PathTree&) = delete;
  PathTree& operator=(const PathTree&) = delete;

  Name nameOf(std::string_view text);
  /// `parent` itself where that has kMostNames.
  Path below(Path parent, Name name);
  /// The number that the next new path gets.
  [[nodiscard]] std::size_t size() const { return places_.size(); }
  /// "backward > linear.backward > matmul"; empty for the root.
  [[nodiscard]] std::string text(Path path) const;
  /// Calls visit(path, text) for each path but the root: a path before those below it, in order of
  /// their names. The text has `before` in front of each name.
  void walk(char before, const std::function<void(Path path, std::string_view text)>& visit) const;

 private:
  struct Place {
    Path parent = kRoot;
    Name name = 0;
    std::uint32_t depth = 0;
  };
  std::map<std::string, Name, std::less<>> names_;
  std::vector<std::string_view> texts_;  ///< by name
  std::map<std::pair<Path, Name>, Path> below_;
  std::vector<Place> places_{Place()};
};

}  // namespace lacuna::analyzer
