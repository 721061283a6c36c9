// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analyses/work/graph_replays.h"
#include "lacuna/prof/amounts.h"
#include "report/phrases.h"
#include "report/sections/registry.h"

namespace lacuna::analyzer::sections {
namespace of_graphs {
namespace {

const Column<ReplayedGraph> kGraphs[]{
    {{"graph", "graph", ColumnKind::Text, "the driver's number of it; empty: not recorded"},
     [](const ReplayedGraph& row) -> TableCell {
       return row.id == 0 ? std::string() : fmt::format("{}", row.id);
     }},
    {{"nodes", "nodes", ColumnKind::Count,
      "kernels, copies and memsets of a whole replay; 0: not known"},
     kValueOf<&ReplayedGraph::nodes>},
    {{"replays", "replays", ColumnKind::Count, "launches of it"},
     kValueOf<&ReplayedGraph::replays>},
    {{"under_recorded", "lacking", ColumnKind::Count, "replays that lack work in the trace"},
     kValueOf<&ReplayedGraph::underRecorded>},
    {{"cut", "cut", ColumnKind::Count,
      "replays that the begin or the end of the recording cuts off"},
     kValueOf<&ReplayedGraph::cut>},
    {{"missing", "missing", ColumnKind::Count,
      "kernels, copies and memsets that under-recorded replays lack"},
     kValueOf<&ReplayedGraph::missing>},
};

struct Totals {
  std::uint64_t replays = 0, underRecorded = 0, cut = 0, missing = 0;
  std::int64_t unknownNs = 0;
  double unknownShare = 0;
};

const Column<Totals> kTotals[]{
    {{"replays", "", ColumnKind::Count, "launches of graphs"}, kValueOf<&Totals::replays>},
    {{"under_recorded", "", ColumnKind::Count, "launches whose work the trace lacks in part"},
     kValueOf<&Totals::underRecorded>},
    {{"cut", "", ColumnKind::Count, "that the begin or the end of the recording cuts off"},
     kValueOf<&Totals::cut>},
    {{"missing", "", ColumnKind::Count,
      "kernels, copies and memsets that under-recorded replays lack; of a graph that is not known, "
      "1 a replay"},
     kValueOf<&Totals::missing>},
    {{"unknown_ns", "", ColumnKind::Time,
      "in which missing work may have run and no device worked; a part of the ledger's `unknown`"},
     kValueOf<&Totals::unknownNs>},
    {{"unknown_share", "", ColumnKind::Share, "that time's part of the ledger"},
     kValueOf<&Totals::unknownShare>},
};

Totals totalsOf(const Analysis& analysis) {
  const GraphReplays& replays = analysis.of<GraphReplays>();
  Totals totals{.replays = replays.replays.size(),
                .underRecorded = replays.underRecorded(),
                .cut = 0,
                .missing = replays.missing(),
                .unknownNs = analysis.of<UnknownPlaces>().unrecordedNs};
  for (const ReplayedGraph& graph : replays.graphs) totals.cut += graph.cut;
  totals.unknownShare = ratio(static_cast<double>(totals.unknownNs),
                              static_cast<double>(analysis.ledgers.run.totalNs()));
  return totals;
}

std::vector<Table> tables(const Analysis& analysis) {
  std::vector<ReplayedGraph> graphs;
  for (const ReplayedGraph& graph : analysis.of<GraphReplays>().graphs) {
    if (graph.replays > 0) graphs.push_back(graph);
  }
  std::ranges::stable_sort(graphs, std::ranges::greater(), [](const ReplayedGraph& graph) {
    return std::pair(graph.missing, graph.replays);
  });
  return {
      recordOf("graph_replays",
               "replays of CUDA or HIP graphs, and what of them is missing in the trace", kTotals,
               totalsOf(analysis)),
      tableOf("graphs", "graphs that were replayed; those that lack most first", kGraphs, graphs)};
}

Lines notes(const Analysis& analysis) {
  const std::string lacking = lackingReplays(analysis);
  return lacking.empty() ? Lines{} : Lines{" " + lacking};
}

}  // namespace
}  // namespace of_graphs

constinit const Section graphs{
    .name = "graphs",
    .title = "Graphs",
    .about = "replays of CUDA or HIP graphs, and what of them is missing in the trace",
    .notes = of_graphs::notes,
    .tables = of_graphs::tables,
};

}  // namespace lacuna::analyzer::sections
