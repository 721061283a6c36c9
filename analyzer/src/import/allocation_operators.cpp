// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/allocation_operators.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "import/pytorch_names.h"

namespace lacuna::analyzer {
namespace {

using prof::MemoryAction;
using prof::StringId;
using prof::TimeNs;

/// The operators that are open on a thread, outermost first.
struct Open {
  TimeNs endNs = 0;
  StringId name;
};
using Stack = std::vector<Open>;

class OperatorNames {
 public:
  explicit OperatorNames(StoreBuilder& builder) : builder_(builder) {}

  [[nodiscard]] StringId around(const Stack& open) {
    for (auto it = open.rbegin(); it != open.rend(); ++it) {
      if (!onlyMakesRoom(it->name)) return shown(it->name);
    }
    return open.empty() ? StringId() : open.back().name;
  }

 private:
  enum class Makes : std::uint8_t { Unseen, Room, More };
  bool onlyMakesRoom(StringId name) {
    if (name.value >= makes_.size()) makes_.resize(std::max<std::size_t>(2 * makes_.size(), name.value + 1));
    Makes& makes = makes_[name.value];
    if (makes == Makes::Unseen) makes = pytorch::onlyMakesRoom(builder_.text(name)) ? Makes::Room : Makes::More;
    return makes == Makes::Room;
  }
  // By value: interning may move the texts.
  StringId shown(StringId name) { return builder_.intern(std::string(pytorch::withoutEngine(builder_.text(name)))); }

  StoreBuilder& builder_;
  std::vector<Makes> makes_;  ///< by name
};

}  // namespace

void addAllocationOperators(StoreBuilder& builder) {
  auto& rows = builder.columns<prof::Allocation>();
  std::vector<std::size_t> order(rows.timeNs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(
      order, [&](std::size_t i) { return rows.op[i] || !rows.thread[i] || rows.action[i] != MemoryAction::Allocate; });
  if (order.empty()) return;
  std::ranges::sort(order, {}, [&](std::size_t i) { return rows.timeNs[i]; });
  const auto& ranges = builder.columns<prof::Range>();
  const StringId op = builder.intern(pytorch::kOperators), olderOp = builder.intern(pytorch::kOlderOperators);
  std::vector<Stack> stacks(builder.columns<prof::Thread>().id.size() + 1);
  OperatorNames names(builder);
  std::size_t next = 0;
  for (const std::size_t i : order) {
    for (; next < ranges.startNs.size() && ranges.startNs[next] <= rows.timeNs[i]; ++next) {
      if (ranges.category[next] != op && ranges.category[next] != olderOp) continue;
      Stack& open = stacks[ranges.thread[next].value];
      std::erase_if(open, [&](const Open& one) { return one.endNs <= ranges.startNs[next]; });
      open.push_back({ranges.startNs[next] + ranges.durNs[next], ranges.name[next]});
    }
    Stack& open = stacks[rows.thread[i].value];
    std::erase_if(open, [&](const Open& one) { return one.endNs < rows.timeNs[i]; });
    rows.op[i] = names.around(open);
  }
}

}  // namespace lacuna::analyzer
