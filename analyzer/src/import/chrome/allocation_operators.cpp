// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/chrome/allocation_operators.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "import/chrome/pytorch_names.h"
#include "import/open_ranges.h"

namespace lacuna::analyzer {
namespace {

using prof::MemoryAction;
using prof::StringId;

class OperatorNames {
 public:
  explicit OperatorNames(StoreBuilder& builder) : builder_(builder) {}

  /// `open`: operators, outermost first.
  [[nodiscard]] StringId around(const std::vector<std::size_t>& open) {
    const auto& names = builder_.columns<prof::Range>().name;
    for (auto it = open.rbegin(); it != open.rend(); ++it) {
      if (!onlyMakesRoom(names[*it])) return shown(names[*it]);
    }
    return open.empty() ? StringId() : names[open.back()];
  }

 private:
  enum class Makes : std::uint8_t { Unseen, Room, More };
  bool onlyMakesRoom(StringId name) {
    if (name.value >= makes_.size())
      makes_.resize(std::max<std::size_t>(2 * makes_.size(), name.value + 1));
    Makes& makes = makes_[name.value];
    if (makes == Makes::Unseen)
      makes = pytorch::onlyMakesRoom(builder_.text(name)) ? Makes::Room : Makes::More;
    return makes == Makes::Room;
  }
  // By value: interning may move the texts.
  StringId shown(StringId name) {
    return builder_.intern(std::string(pytorch::withoutEngine(builder_.text(name))));
  }

  StoreBuilder& builder_;
  std::vector<Makes> makes_;  ///< by name
};

}  // namespace

void addAllocationOperators(StoreBuilder& builder) {
  auto& rows = builder.columns<prof::Allocation>();
  std::vector<std::size_t> order(rows.timeNs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) {
    return rows.op[i] || !rows.thread[i] || rows.action[i] != MemoryAction::Allocate;
  });
  if (order.empty()) return;
  std::ranges::sort(order, {}, [&](std::size_t i) { return rows.timeNs[i]; });
  const auto& category = builder.columns<prof::Range>().category;
  const StringId op = builder.intern(pytorch::kOperators),
                 olderOp = builder.intern(pytorch::kOlderOperators);
  OpenRanges open(builder,
                  [&](std::size_t i) { return category[i] == op || category[i] == olderOp; });
  OperatorNames names(builder);
  for (const std::size_t i : order)
    rows.op[i] = names.around(open.at(rows.thread[i], rows.timeNs[i]));
}

}  // namespace lacuna::analyzer
