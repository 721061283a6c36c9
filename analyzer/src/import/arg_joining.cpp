// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/arg_joining.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "formats/arg_rules.h"
#include "store/table_sort.h"

namespace lacuna::analyzer {
namespace {

class ArgJoining {
 public:
  ArgJoining(StoreBuilder& builder, const std::vector<ArgJoin>& joins)
      : builder_(builder),
        joins_(joins),
        sets_(builder.columns<prof::ArgSet>()),
        args_(builder.columns<prof::Arg>()),
        targets_(sets_.id.empty() ? 1 : sets_.id.back().value + std::size_t{1}) {
    std::iota(targets_.begin(), targets_.end(), 0U);
    for (const ArgJoin& join : joins) targets_[join.from.value] = join.to.value;
  }

  void run() {
    joinShapes();
    moveArgs();
  }

 private:
  [[nodiscard]] bool isMoved(prof::ArgSetId set) const { return targets_[set.value] != set.value; }

  prof::StringId* shapeOf(prof::ArgSetId set) {
    const auto at = std::ranges::lower_bound(sets_.id, set);
    return at == sets_.id.end() || *at != set
               ? nullptr
               : &sets_.shape[static_cast<std::size_t>(at - sets_.id.begin())];
  }

  void joinShapes() {
    for (const ArgJoin& join : joins_) {
      const prof::StringId* end = shapeOf(join.from);
      prof::StringId* begin = shapeOf(join.to);
      if (begin != nullptr && end != nullptr) *begin = joined(*begin, *end);
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < sets_.id.size(); ++i) {
      if (isMoved(sets_.id[i])) continue;
      sets_.id[kept] = sets_.id[i];
      sets_.shape[kept++] = sets_.shape[i];
    }
    sets_.id.resize(kept);
    sets_.shape.resize(kept);
  }

  static bool isArgument(std::string_view line) {
    return !line.empty() && (line[0] == kShapeStored || line[0] == kShapeRepeated);
  }
  template <class Visit>
  static void eachLine(std::string_view shape, Visit&& visit) {
    for (std::size_t end = 0; end != std::string_view::npos;
         shape.remove_prefix(std::min(end + 1, shape.size()))) {
      end = shape.find('\n');
      visit(shape.substr(0, end));
      if (end == std::string_view::npos) return;
    }
  }

  prof::StringId joined(prof::StringId begin, prof::StringId end) {
    const auto [at, isNew] = shapes_.try_emplace({begin, end}, prof::StringId());
    if (!isNew) return at->second;
    const std::string endLines(builder_.text(end));
    std::set<std::string_view> replaced;
    eachLine(endLines, [&](std::string_view line) {
      if (isArgument(line)) replaced.insert(line.substr(1));
    });
    std::string lines;
    eachLine(builder_.text(begin), [&](std::string_view line) {
      // An empty list of arguments is none any more.
      const bool isEmptyList =
          line.size() > 1 && line[0] == kShapeConstant && line.substr(1) == kShapeNoArgs;
      if (!isEmptyList && !(isArgument(line) && replaced.contains(line.substr(1))))
        lines.append(line) += '\n';
    });
    return at->second = builder_.intern(lines + endLines);
  }

  void moveArgs() {
    RowOrder order;
    order.reserve(args_.set.size());
    fromEnd_.resize(args_.set.size());
    for (std::uint32_t from = 0; from < args_.set.size();) {
      std::uint32_t to = from;
      bool moved = false;
      for (; to < args_.set.size() && args_.key[to] == args_.key[from] &&
             args_.scope[to] == args_.scope[from];
           ++to) {
        if (!isMoved(args_.set[to])) continue;
        moved = true;
        fromEnd_[to] = true;
        args_.set[to].value = targets_[args_.set[to].value];
      }
      for (std::uint32_t row = from; row < to; ++row) order.push_back(row);
      if (moved) sortRun(order, from, to);
      from = to;
    }
    args_.forEach([&]<class T>(std::vector<T>& values) {
      std::vector<T> sorted(order.size());
      for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = values[order[i]];
      values = std::move(sorted);
    });
  }

  /// Sorts the rows of one name, which are the last of `order`, by set. A set keeps one value: the
  /// end's, and the last one's of several ends.
  void sortRun(RowOrder& order, std::uint32_t from, std::uint32_t to) {
    const auto first = order.end() - (to - from);
    const auto setOf = [&](std::uint32_t row) { return args_.set[row]; };
    const auto place = [&](std::uint32_t row) {
      return std::pair(setOf(row), bool(fromEnd_[row]));
    };
    std::stable_sort(first, order.end(), [&](auto a, auto b) { return place(a) < place(b); });
    auto kept = first;
    for (auto at = first; at != order.end(); ++at) {
      const bool isReplaced = at + 1 != order.end() && setOf(at[0]) == setOf(at[1]);
      if (setOf(*at) && !isReplaced) *kept++ = *at;
    }
    order.erase(kept, order.end());
  }

  StoreBuilder& builder_;
  const std::vector<ArgJoin>& joins_;
  prof::ArgSet::Columns& sets_;
  prof::Arg::Columns& args_;
  std::vector<std::uint32_t> targets_;  ///< by set: where its arguments go, itself where they stay
  std::vector<bool> fromEnd_;           ///< by row of args_
  std::map<std::pair<prof::StringId, prof::StringId>, prof::StringId> shapes_;
};

}  // namespace

void joinArgs(StoreBuilder& builder, const std::vector<ArgJoin>& joins) {
  if (!joins.empty()) ArgJoining(builder, joins).run();
}

}  // namespace lacuna::analyzer
