// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "lacuna/prof/result.h"
#include "rules/rule.h"

namespace lacuna::analyzer {

using Rules = std::span<const FindingRule* const>;

/// Every rule, in the order of LACUNA_FINDINGS.
Rules allRules();
const FindingRule& ruleOf(FindingId id);

/// True when `first` must have run before `second` can: it explains that one, claims calls that it
/// shares, or leaves what it reads.
bool comesBefore(const FindingRule& first, const FindingRule& second);
/// The rules so that each comes after those that must run before it, otherwise as given. Fails on a
/// circle and names the rules in it.
prof::Result<std::vector<const FindingRule*>> runOrder(Rules rules);

/// A ledger cause that no finding prices or names, on purpose.
struct UnclaimedCause {
  Cause cause;
  std::string_view why;
};
std::span<const UnclaimedCause> unclaimedCauses();

}  // namespace lacuna::analyzer
