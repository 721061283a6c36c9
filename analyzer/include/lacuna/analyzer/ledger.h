// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/timeline.h"

namespace lacuna::analyzer {

/// The entries of the gap ledger. Every nanosecond of a queue's or device's window belongs to exactly one.
enum class Cause : std::uint8_t {
  Compute,
  ExposedCommunication,
  ExposedCopy,
  Profiler,
  Synchronisation,
  LoaderWait,
  DriverCall,
  OffCpu,
  HostWork,
  Launch,
  Dependency,
  Unknown,
};
inline constexpr std::size_t kCauseCount = 12;

/// The key used in JSON and by options: "compute", "exposed_communication", "loader_wait", …
std::string_view causeKey(Cause cause);
/// The words used in reports: "waiting for the loader", …
std::string_view causeLabel(Cause cause);
std::optional<Cause> findCause(std::string_view key);
constexpr bool isBusy(Cause cause) {
  return cause <= Cause::ExposedCopy;
}

/// One stretch of one cause. For HostWork `name` is the operator, for Synchronisation, DriverCall and LoaderWait the
/// call or range, for idle causes `thread` is who was at it (none when nobody in particular).
struct LedgerSegment {
  prof::TimeNs startNs = 0;
  prof::TimeNs endNs = 0;
  Cause cause = Cause::Unknown;
  prof::StringId name;
  prof::ThreadId thread;

  [[nodiscard]] std::int64_t durNs() const { return endNs - startNs; }
  friend bool operator==(const LedgerSegment&, const LedgerSegment&) = default;
};

/// Sums of segments.
struct Ledger {
  std::array<std::int64_t, kCauseCount> ns{};

  [[nodiscard]] std::int64_t operator[](Cause cause) const { return ns[static_cast<std::size_t>(cause)]; }
  [[nodiscard]] std::int64_t totalNs() const;
  [[nodiscard]] std::int64_t busyNs() const;
  [[nodiscard]] std::int64_t idleNs() const { return totalNs() - busyNs(); }
  void add(Cause cause, std::int64_t durNs) { ns[static_cast<std::size_t>(cause)] += durNs; }
  Ledger& operator+=(const Ledger& other);
  friend bool operator==(const Ledger&, const Ledger&) = default;
};

/// Whose time is accounted for: one queue, or a device as a whole (any of its queues busy counts as busy).
struct LedgerScope {
  prof::DeviceId device;
  prof::QueueId queue;  ///< none: the whole device
};

/// Called with contiguous segments in time order that cover the window exactly; neighbours may share a cause.
using LedgerSink = std::function<void(const LedgerSegment&)>;

/// What every launching thread did, resolved once and shared by the ledgers of all queues and devices.
/// Building is O(n log n) in the timeline's host spans; each account() is linear in the device spans of its process
/// plus O(log n) per idle stretch. Immutable once built; account() may be called from many threads.
class LedgerAccountant {
 public:
  /// The timeline must outlive the accountant.
  explicit LedgerAccountant(const Timeline& timeline);
  ~LedgerAccountant();
  LedgerAccountant(LedgerAccountant&&) noexcept;

  /// Hands out what every moment of the window went to.
  void account(const LedgerScope& scope, prof::TimeWindow window, const LedgerSink& sink) const;
  /// The sums of it: they add up to the window.
  [[nodiscard]] Ledger sum(const LedgerScope& scope, prof::TimeWindow window) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lacuna::analyzer
