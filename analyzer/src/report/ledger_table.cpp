// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "report/ledger_table.h"

#include <string>
#include <vector>

#include "report/section.h"

namespace lacuna::analyzer {
namespace {

struct Sums {
  std::int64_t totalNs = 0, unknownNs = 0, recordingNs = 0;
};

const Column<Sums> kSums[]{
    {{"total_ns", "", ColumnKind::Time, "all entries together"}, kValueOf<&Sums::totalNs>},
    {{"unknown_ns", "", ColumnKind::Time, "the entry `unknown`"}, kValueOf<&Sums::unknownNs>},
    {{"recording_ns", "", ColumnKind::Time, "what recording may have added to all entries"},
     kValueOf<&Sums::recordingNs>},
};

struct Entry {
  Cause cause = Cause::Unknown;
  std::int64_t ns = 0;
};

const Column<Entry> kEntries[]{
    {{"cause", "", ColumnKind::Text, "`compute`, `launch`, …"},
     [](const Entry& row) -> TableCell { return std::string(causeKey(row.cause)); }},
    {{"ns", "", ColumnKind::Time, "of the devices' time"}, kValueOf<&Entry::ns>},
};

std::vector<Entry> entriesOf(const Ledger& ledger, bool isEach) {
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    if (isEach || ledger.ns[i] != 0) entries.push_back({static_cast<Cause>(i), ledger.ns[i]});
  }
  return entries;
}

}  // namespace

Table ledgerTable(const Ledger& ledger, const Ledger& bands) {
  const Sums sums{ledger.totalNs(), ledger[Cause::Unknown], bands.totalNs()};
  return holding(recordOf("ledger", "the sum of the devices' ledgers", kSums, sums),
                 [ledger, bands](std::size_t) {
                   return std::vector{
                       placed("entries", tableOf("ledger_entries", "every cause with its time",
                                                 kEntries, entriesOf(ledger, true))),
                       placed("recording", tableOf("ledger_recording",
                                                   "what recording may have added to the entries",
                                                   kEntries, entriesOf(bands, false)))};
                 });
}

}  // namespace lacuna::analyzer
