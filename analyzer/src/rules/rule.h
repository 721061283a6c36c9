// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "lacuna/analyzer/findings.h"
#include "lacuna/analyzer/ledger.h"

namespace lacuna::analyzer {

class Facts;
class Outcome;

/// The unit of a threshold's number, and the way that a page prints it.
enum class Unit : std::uint8_t {
  Share,  ///< 0 … 1, printed as a percentage
  Ns,
  Bytes,
  Count,
  Times,  ///< a factor
};

/// A number that decides whether a rule has a finding. `name` is what stands in braces in
/// FindingRule::when.
struct Threshold {
  std::string_view name{};
  double value = 0;
  Unit unit = Unit::Share;
  std::string_view why{};

  constexpr operator double() const { return value; }  // NOLINT(google-explicit-constructor)
  [[nodiscard]] constexpr std::int64_t ns() const { return static_cast<std::int64_t>(value); }
  [[nodiscard]] constexpr std::uint64_t count() const { return static_cast<std::uint64_t>(value); }
};

/// Chance that the rule is right, 0 … 1, before the replay's own confidence. `when` is empty where
/// there is only one.
struct Confidence {
  std::string_view when{};
  double value = 0;
  std::string_view why{};

  constexpr operator double() const { return value; }  // NOLINT(google-explicit-constructor)
};

/// Another finding that the run does not need once this one is reported: it has the same reason.
struct Explained {
  FindingId what;
  /// Where it is not always so: whether this finding explains that one here.
  bool (*when)(const Facts& facts, const Finding& finding) = nullptr;
  std::string_view condition{};  ///< the same for readers
};

/// Where a finding's cost lies.
enum class CostIs : std::uint8_t {
  IdleTime,  ///< devices wait
  WorkTime,  ///< devices work
  OfPhases,  ///< in phases of the host; some lie between steps, where no step's ledger has them
};

/// All that there is to know about one finding. To add one: `scripts/new finding NAME` writes a
/// file that defines its rule, with a test, and adds its line to LACUNA_FINDINGS.
struct FindingRule {
  FindingId id{};
  std::string_view key{};  ///< stable, the only place of this text
  FindingArea area{};
  FindingKind kind{};
  /// The severity of a finding that neither costs nor gains time.
  Severity severity = Severity::Low;
  /// The ledger's causes that its cost is part of; none: of any.
  std::span<const Cause> prices{};
  /// The idle causes that it is the reason for. A finding about what is left names another one.
  std::span<const Cause> names{};
  CostIs cost = CostIs::IdleTime;
  /// The phases that its cost is part of, where that lies in phases.
  std::span<const std::string_view> phases{};
  /// Its fix lets the host hand over sooner what the devices then do all the same, so it gains idle
  /// time at most.
  bool leavesWork = false;
  /// It has no cost, as its gain is priced elsewhere: as far as no finding prices it, it accounts
  /// for `prices`.
  bool takesLeftover = false;
  /// It reads what all others leave unpriced and unnamed, so it runs last.
  bool readsLeftovers = false;
  /// It has replayed how many loader workers bring what, so a report need not estimate that.
  bool playsWorkers = false;
  /// The calls that it claims, for readers: rules that share calls then leave these out. Empty:
  /// none.
  std::string_view claims{};
  /// It prices only calls that no other rule claims, so it runs after those that claim.
  bool skipsClaimed = false;
  /// Findings that stay out of the report when this one is in it, so their rules run after it.
  std::span<const Explained> explains{};
  std::span<const Threshold> thresholds{};
  std::span<const Confidence> confidences{};
  std::string_view meaning{};    ///< one sentence: what costs time, or could be switched on
  std::string_view when{};       ///< the formula; "{name}" stands for a threshold
  std::string_view fix{};        ///< the change that is replayed, and what to do
  std::string_view refutedBy{};  ///< an observation that would show the finding to be wrong
  void (*detect)(const Facts& facts, Outcome& out) = nullptr;
};

/// kLoaderWaitRule and so on, each defined in its finding's file.
#define LACUNA_FINDING_RULE(name) extern const FindingRule k##name##Rule;
LACUNA_FINDINGS(LACUNA_FINDING_RULE)
#undef LACUNA_FINDING_RULE

}  // namespace lacuna::analyzer
