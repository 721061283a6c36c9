// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "analyses/ranks/communication.h"
#include "analyses/ranks/ranks.h"
#include "formats/kernel_name.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/prof/amounts.h"
#include "report/phrases.h"
#include "report/sections/registry.h"
#include "report/text_cells.h"
#include "rules/words.h"

namespace lacuna::analyzer::sections {
namespace of_communication {
namespace {

const Column<CollectiveRow> kCollectives[]{
    {{"name", "collective", ColumnKind::Name, "the kernel"}, kValueOf<&CollectiveRow::name>},
    {{"communicator", "communicator", ColumnKind::Text, "empty where the trace does not record it"},
     kValueOf<&CollectiveRow::communicator>},
    {{"kind", "", ColumnKind::Text, "`all_reduce`, …; empty: not known"},
     kValueOf<&CollectiveRow::kind>},
    {{"ranks", "", ColumnKind::Count, "of the communicator; 0: not known"},
     kValueOf<&CollectiveRow::ranks>},
    {{"count", "count", ColumnKind::Count, "kernels"}, kValueOf<&CollectiveRow::count>},
    {{"calls", "", ColumnKind::Count, "of the program, that the kernels carried out; 0: not known"},
     kValueOf<&CollectiveRow::calls>},
    {{"total_ns", "total", ColumnKind::Time, "all of them together"},
     kValueOf<&CollectiveRow::totalNs>},
    {{"exposed_ns", "exposed", ColumnKind::Time, "of it, while the device computed nothing"},
     kValueOf<&CollectiveRow::exposedNs>},
    {{"recording_ns", "±", ColumnKind::Band,
      "what recording may have added to `total_ns` and to `exposed_ns`", "total_ns"},
     kValueOf<&CollectiveRow::recordingNs>},
    {{"bytes", "", ColumnKind::Bytes, "that the ranks put in"}, kValueOf<&CollectiveRow::bytes>},
    {{"bytes_ns", "", ColumnKind::Time, "of the kernels whose `bytes` are known"},
     kValueOf<&CollectiveRow::bytesNs>},
    {{"algorithm_bytes", "", ColumnKind::Bytes, "of the whole buffers"},
     kValueOf<&CollectiveRow::algorithmBytes>},
    {{"algorithm_ns", "", ColumnKind::Time, "of the kernels whose `algorithm_bytes` are known"},
     kValueOf<&CollectiveRow::algorithmNs>},
    {{"bus_bytes", "", ColumnKind::Number, "that had to cross the ranks' links"},
     kValueOf<&CollectiveRow::busBytes>},
    {{"bus_ns", "", ColumnKind::Time, "of the kernels whose `bus_bytes` are known"},
     kValueOf<&CollectiveRow::busNs>},
};

const Column<RankRow> kRanks[]{
    {{"rank", "rank", ColumnKind::Count, "its number"}, kValueOf<&RankRow::rank>},
    {{"device", "device", ColumnKind::Text, "as in `devices[]`"}, kValueOf<&RankRow::device>},
    {{"collectives", "", ColumnKind::Count, "calls that could be matched"},
     kValueOf<&RankRow::collectives>},
    {{"wait_ns", "waits", ColumnKind::Time, "in collectives, for ranks that entered later"},
     kValueOf<&RankRow::waitNs>},
    {{"wait_recording_ns", "±", ColumnKind::Band, "what recording may have added to `wait_ns`",
      "wait_ns"},
     kValueOf<&RankRow::waitRecordingNs>},
    {{"transfer_ns", "transfers", ColumnKind::Time, "in collectives, behind the last entry"},
     kValueOf<&RankRow::transferNs>},
    {{"transfer_recording_ns", "±", ColumnKind::Band,
      "what recording may have added to `transfer_ns`", "transfer_ns"},
     kValueOf<&RankRow::transferRecordingNs>},
    {{"last", "last", ColumnKind::Count, "how often it entered last"}, kValueOf<&RankRow::last>},
    {{"behind_ns", "behind", ColumnKind::Time, "how long the middle rank then waited for it"},
     kValueOf<&RankRow::heldUpNs>},
    {{"behind_recording_ns", "±", ColumnKind::Band, "what recording may have added to `behind_ns`",
      "behind_ns"},
     kValueOf<&RankRow::heldUpRecordingNs>},
    {{"compute_ns", "computes", ColumnKind::Time, "of its device"}, kValueOf<&RankRow::computeNs>},
    {{"compute_recording_ns", "±", ColumnKind::Band,
      "what recording may have added to `compute_ns`", "compute_ns"},
     kValueOf<&RankRow::computeRecordingNs>},
};

struct Sums {
  const CommunicationStats& communication;
  const RankStats& ranks;
};

const Column<Sums> kSums[]{
    {{"total_ns", "", ColumnKind::Time, "all collectives together"},
     [](const Sums& row) -> TableCell { return row.communication.totalNs; }},
    {{"exposed_ns", "", ColumnKind::Time, "of it, while the device computed nothing"},
     [](const Sums& row) -> TableCell { return row.communication.exposedNs; }},
    {{"recording_ns", "", ColumnKind::Time, "what recording may have added to either"},
     [](const Sums& row) -> TableCell { return row.communication.recordingNs; }},
    {{"matched", "", ColumnKind::Count, "calls that every rank made"},
     [](const Sums& row) -> TableCell { return cellOf(row.ranks.matched); }},
    {{"unmatched", "", ColumnKind::Count, "calls of groups that not every rank made as often"},
     [](const Sums& row) -> TableCell { return cellOf(row.ranks.unmatched); }},
    {{"imbalance", "", ColumnKind::Number, "the most compute of a rank over the mean, less one"},
     [](const Sums& row) -> TableCell { return row.ranks.imbalance; }},
};

std::vector<Table> tables(const Analysis& analysis) {
  const CommunicationStats& communication = analysis.of<CommunicationStats>();
  const RankStats& ranks = analysis.of<RankStats>();
  return {holding(
      recordOf("communication", "the sums of the table of collectives", kSums,
               Sums{communication, ranks}),
      [&](std::size_t) {
        return std::vector{
            tableOf("collectives", "collectives by kernel and communicator, most exposed first",
                    kCollectives, communication.collectives),
            tableOf("ranks", "each rank's part in the collectives", kRanks, ranks.rows)};
      })};
}

Lines notes(const Analysis& analysis) {
  const CommunicationStats& comm = analysis.of<CommunicationStats>();
  if (comm.totalNs == 0) return {};
  return {fmt::format(" {} in all{}, {} of it exposed", prof::timeText(comm.totalNs),
                      bandInBrackets(comm.recordingNs, comm.totalNs),
                      prof::shareText(ratio(double(comm.exposedNs), double(comm.totalNs))))};
}

std::string ranksLine(const RankStats& ranks) {
  return fmt::format(
      " {} of {} ranks matched{}: {} of the time in them is waiting for the last rank; compute "
      "differs by {}",
      prof::countText(ranks.matched, "collective"), ranks.rows.size(),
      ranks.unmatched > 0 ? fmt::format(" ({} not)", prof::countText(ranks.unmatched, "call")) : "",
      prof::shareText(ranks.waitShare()), prof::shareText(ranks.imbalance));
}

TextTable rankTable(const RankStats& ranks) {
  TextTable table({{"rank"},
                   {"device", TextColumn::Kind::Text},
                   {"waits"},
                   {"transfers"},
                   {"last"},
                   {"behind"},
                   {"computes", TextColumn::Kind::Figure, 1}});
  for (const RankRow& row : ranks.rows) {
    table.add({std::to_string(row.rank), oneLine(row.device), prof::timeText(row.waitNs),
               prof::timeText(row.transferNs), fmt::format("{}×", row.last),
               prof::timeText(row.heldUpNs), prof::timeText(row.computeNs)});
    if (row.waitRecordingNs + row.transferRecordingNs + row.heldUpRecordingNs +
            row.computeRecordingNs ==
        0)
      continue;
    // Below the figures, as a line has no room for both.
    table.add({"", "", humanBand(row.waitRecordingNs, row.waitNs),
               humanBand(row.transferRecordingNs, row.transferNs), "",
               humanBand(row.heldUpRecordingNs, row.heldUpNs),
               humanBand(row.computeRecordingNs, row.computeNs)});
  }
  return table;
}

/// A name that does not fit loses what all of NCCL's kernels are called first.
std::string collectiveName(const CollectiveRow& row, int width) {
  const std::string where = row.communicator.empty() ? "" : row.communicator + ": ";
  const std::string kernel = plainName(row.name);
  if (columns(where + kernel) <= width) return where + kernel;
  return where + std::string(withoutLibrary(kernel));
}

/// "456 GB/s", or nothing where nothing is known to have been moved.
std::string rateOf(double bytes, std::int64_t ns) {
  return bytes > 0 && ns > 0 ? prof::rateText(bytes * 1e9 / double(ns)) : std::string();
}

TextTable collectiveTable(const CommunicationStats& comm, int width, int rows) {
  constexpr int kFigures = 58;
  TextTable table({{"collective", TextColumn::Kind::Name},
                   {"count"},
                   {"total"},
                   {"±", TextColumn::Kind::Band},
                   {"exposed"},
                   {"rate", TextColumn::Kind::Figure, 2},
                   {"bus rate", TextColumn::Kind::Figure, 1}});
  for (std::size_t i = 0; i < comm.collectives.size() && static_cast<int>(i) < rows; ++i) {
    const CollectiveRow& row = comm.collectives[i];
    // Where it is not known how large the whole buffer is, what a rank puts in.
    const bool hasAlgorithm = row.algorithmBytes > 0;
    const std::string speed = rateOf(double(hasAlgorithm ? row.algorithmBytes : row.bytes),
                                     hasAlgorithm ? row.algorithmNs : row.bytesNs);
    table.add({collectiveName(row, std::max(24, width - kFigures)), std::to_string(row.count),
               prof::timeText(row.totalNs), humanBand(row.recordingNs, row.totalNs),
               prof::timeText(row.exposedNs), speed, rateOf(row.busBytes, row.busNs)});
  }
  return table;
}

void text(TextPage& page, const Analysis& analysis, int rows) {
  const Lines lines = notes(analysis);
  writeLines(page, sections::communication, lines);
  if (lines.empty()) return;
  page.table(collectiveTable(analysis.of<CommunicationStats>(), page.width(), rows));
  const RankStats& ranks = analysis.of<RankStats>();
  if (ranks.rows.empty()) return;
  page.line(ranksLine(ranks));
  page.table(rankTable(ranks));
}

}  // namespace
}  // namespace of_communication

constinit const Section communication{
    .name = "communication",
    .title = "Communication",
    .about = "collectives, and which rank waits for which",
    .notes = of_communication::notes,
    .tables = of_communication::tables,
    .overviewRows = 3,
    .text = of_communication::text,
};

}  // namespace lacuna::analyzer::sections
