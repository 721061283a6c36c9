// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "tracks/path_tree.h"

#include <algorithm>

namespace lacuna::analyzer {

PathTree::Name PathTree::nameOf(std::string_view text) {
  const auto found = names_.find(text);
  if (found != names_.end()) return found->second;
  const auto added = names_.emplace(text, static_cast<Name>(texts_.size())).first;
  texts_.push_back(added->first);
  return added->second;
}

PathTree::Path PathTree::below(Path parent, Name name) {
  if (places_[parent].depth >= kMostNames) return parent;
  const auto [found, isNew] = below_.try_emplace({parent, name}, static_cast<Path>(places_.size()));
  if (isNew) places_.push_back({parent, name, places_[parent].depth + 1});
  return found->second;
}

std::string PathTree::text(Path path) const {
  std::vector<std::string_view> names;
  for (; path != kRoot; path = places_[path].parent) names.push_back(texts_[places_[path].name]);
  std::string text;
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    text += text.empty() ? "" : " > ";
    text += *name;
  }
  return text;
}

void PathTree::walk(char before,
                    const std::function<void(Path path, std::string_view text)>& visit) const {
  struct Next {
    Path path;
    std::size_t aroundLength;  ///< of the text of the path around it
  };
  std::string text;
  std::vector<Next> todo{{kRoot, 0}};
  while (!todo.empty()) {
    const auto [path, aroundLength] = todo.back();
    todo.pop_back();
    text.resize(aroundLength);
    if (path != kRoot) {
      text += before;
      text += texts_[places_[path].name];
      visit(path, text);
    }
    const auto first = static_cast<std::ptrdiff_t>(todo.size());
    for (auto at = below_.lower_bound({path, 0}); at != below_.end() && at->first.first == path;
         ++at) {
      todo.push_back({at->second, text.size()});
    }
    // The next one comes off the end.
    std::ranges::sort(todo.begin() + first, todo.end(), std::greater(),
                      [&](const Next& next) { return texts_[places_[next.path].name]; });
  }
}

}  // namespace lacuna::analyzer
