// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/snapshot/memory_roles.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "import/chrome/pytorch_names.h"
#include "import/open_ranges.h"

namespace lacuna::analyzer {
namespace {

using prof::MemoryAction;
using prof::MemoryRole;
using prof::StringId;
using prof::TimeNs;

constexpr TimeNs kNever = INT64_MAX;

enum class Phase : std::uint8_t { Unseen, None, Operator, Backward, Recompute, Optimizer, Load };

/// When the passes of a process begin, in the order of time.
struct Passes {
  std::vector<TimeNs> backward, optimizer;
};

TimeNs firstFrom(const std::vector<TimeNs>& times, TimeNs from) {
  const auto found = std::ranges::lower_bound(times, from);
  return found == times.end() ? kNever : *found;
}

class Roles {
 public:
  explicit Roles(StoreBuilder& builder)
      : builder_(builder),
        rows_(builder.columns<prof::Allocation>()),
        ranges_(builder.columns<prof::Range>()),
        op_(builder.intern(pytorch::kOperators)),
        olderOp_(builder.intern(pytorch::kOlderOperators)),
        open_(builder, [this](std::size_t i) { return phaseOf(i) != Phase::None; }) {}

  void add() {
    findPasses();
    std::vector<std::size_t> order(rows_.timeNs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return rows_.timeNs[i]; });
    for (const std::size_t i : order) {
      if (rows_.action[i] != MemoryAction::Allocate && rows_.action[i] != MemoryAction::Free)
        continue;
      const auto found = alive_.find({rows_.device[i], rows_.address[i]});
      if (found != alive_.end()) {
        setRole(found->second, rows_.timeNs[i]);
        alive_.erase(found);
      }
      if (rows_.action[i] == MemoryAction::Allocate && rows_.thread[i])
        alive_.emplace(std::pair(rows_.device[i], rows_.address[i]), bornAs(i));
    }
    for (const auto& [address, born] : alive_) setRole(born, kNever);
  }

 private:
  struct Born {
    std::size_t row = 0;
    Phase phase = Phase::None;
    TimeNs doneNs = 0;  ///< when what asked for it had done its work
  };

  Phase phaseOf(std::size_t range) {
    const bool isOperator = ranges_.category[range] == op_ || ranges_.category[range] == olderOp_;
    const StringId name = ranges_.name[range];
    if (name.value >= phases_.size())
      phases_.resize(std::max<std::size_t>(2 * phases_.size(), name.value + 1));
    Phase& phase = phases_[name.value];
    if (phase == Phase::Unseen) {
      const std::string_view text = builder_.text(name);
      const bool isEngine = text.starts_with(pytorch::kEngine);
      // Its backward computes the forward again.
      const bool recomputes = isEngine && text.find("Checkpoint") != std::string_view::npos;
      phase = recomputes                                  ? Phase::Recompute
              : isEngine                                  ? Phase::Backward
              : text.starts_with(pytorch::kOptimizerStep) ? Phase::Optimizer
              : text.starts_with(pytorch::kLoaderWait)    ? Phase::Load
                                                          : Phase::None;
    }
    return phase == Phase::None && isOperator ? Phase::Operator : phase;
  }

  [[nodiscard]] prof::ProcessId processOf(prof::ThreadId thread) const {
    return builder_.columns<prof::Thread>().process[thread.value - 1];
  }

  void findPasses() {
    for (std::size_t i = 0; i < ranges_.startNs.size(); ++i) {
      const Phase phase = phaseOf(i);
      if (!ranges_.thread[i] || (phase != Phase::Backward && phase != Phase::Optimizer)) continue;
      Passes& passes = passes_[processOf(ranges_.thread[i])];
      (phase == Phase::Backward ? passes.backward : passes.optimizer).push_back(ranges_.startNs[i]);
    }
  }

  Born bornAs(std::size_t row) {
    Born born{.row = row};
    for (const std::size_t range : open_.at(rows_.thread[row], rows_.timeNs[row])) {
      const Phase phase = phaseOf(range);
      if (phase == Phase::Operator && born.phase != Phase::None) continue;
      born.phase = phase;
      born.doneNs = open_.endOf(range);
    }
    return born;
  }

  void setRole(const Born& born, TimeNs freedNs) { rows_.role[born.row] = roleOf(born, freedNs); }

  [[nodiscard]] MemoryRole roleOf(const Born& born, TimeNs freedNs) {
    if (born.phase == Phase::None || born.phase == Phase::Recompute) return MemoryRole::Other;
    if (born.phase == Phase::Load) return MemoryRole::Input;
    if (freedNs <= born.doneNs) return MemoryRole::Workspace;
    if (born.phase == Phase::Backward) return MemoryRole::Gradient;
    if (born.phase == Phase::Optimizer) return MemoryRole::Optimizer;
    return isActivation(born, freedNs) ? MemoryRole::Activation : MemoryRole::Other;
  }

  /// Made by an operator in front of a backward pass, and gone when the optimizer begins after
  /// that.
  bool isActivation(const Born& born, TimeNs freedNs) {
    const Passes& passes = passes_[processOf(rows_.thread[born.row])];
    const TimeNs bornNs = rows_.timeNs[born.row];
    const TimeNs optimizerNs = firstFrom(passes.optimizer, bornNs);
    return freedNs != kNever && firstFrom(passes.backward, bornNs) < optimizerNs &&
           freedNs <= optimizerNs;
  }

  StoreBuilder& builder_;
  prof::Allocation::Columns& rows_;
  const prof::Range::Columns& ranges_;
  StringId op_, olderOp_;
  std::vector<Phase> phases_;  ///< by name
  OpenRanges open_;
  std::map<prof::ProcessId, Passes> passes_;
  std::map<std::pair<prof::DeviceId, std::uint64_t>, Born> alive_;
};

bool hasRoles(const prof::Allocation::Columns& rows) {
  return std::ranges::any_of(rows.role, [](MemoryRole role) {
    return role != MemoryRole::Other && role != MemoryRole::Cached;
  });
}

}  // namespace

void addMemoryRoles(StoreBuilder& builder) {
  if (!hasRoles(builder.columns<prof::Allocation>())) Roles(builder).add();
}

}  // namespace lacuna::analyzer
