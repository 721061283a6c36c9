// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "report/phrases.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyses/work/graph_replays.h"
#include "lacuna/analyzer/memory.h"
#include "lacuna/prof/amounts.h"

namespace lacuna::analyzer {

double ratio(double part, double total) {
  return total <= 0 ? 0 : part / total;
}

std::string_view perStep(const Analysis& analysis) {
  return analysis.steps.all.empty() ? "in all" : "a step";
}

std::string inBrackets(std::string_view band) {
  return band.empty() ? "" : fmt::format(" ({})", band);
}

std::string bandInBrackets(std::int64_t bandNs, std::int64_t ns) {
  return inBrackets(humanBand(bandNs, ns));
}

std::string ageText(const MemoryStats& memory, std::size_t at) {
  const TensorLife& life = memory.lives[at];
  return life.stepsOld > 0 ? prof::countText(life.stepsOld, "step")
                           : prof::timeText(memory.peakAtNs - memory.live[at].allocatedNs);
}

std::string stayText(const MemoryStats& memory, std::size_t at) {
  const TensorLife& life = memory.lives[at];
  if (!life.freed) return "to the end";
  return life.stepsAhead > 0 ? prof::countText(life.stepsAhead, "step")
                             : prof::timeText(life.freedNs - memory.peakAtNs);
}

std::string liveName(const LiveTensor& tensor) {
  if (tensor.tensor.empty()) return std::string(tensor.op);
  return tensor.op.empty() ? std::string(tensor.tensor)
                           : fmt::format("{} ({})", tensor.tensor, tensor.op);
}

std::string lackingReplays(const Analysis& analysis) {
  const GraphReplays& replays = analysis.of<GraphReplays>();
  const std::uint64_t lacking = replays.underRecorded();
  if (lacking == 0) return {};
  const auto isEmpty = [](const GraphReplay& replay) { return replay.recorded == 0; };
  const bool none = std::ranges::all_of(replays.replays, isEmpty);
  const std::int64_t unknownNs = analysis.of<UnknownPlaces>().unrecordedNs;
  const double share =
      ratio(static_cast<double>(unknownNs), static_cast<double>(analysis.ledgers.run.totalNs()));
  return fmt::format(
      "The trace lacks device work of {} of {} ({}): {} in which it may have run ({} of the "
      "ledger) are unknown, not idle, and steps with such replays are not priced. {}.",
      lacking, prof::countText(replays.replays.size(), "graph replay"),
      prof::shareText(
          ratio(static_cast<double>(lacking), static_cast<double>(replays.replays.size()))),
      prof::timeText(unknownNs), prof::shareText(share),
      none ? "The profiler recorded no work of graphs: record each node (lacuna run; nsys "
             "--cuda-graph-trace=node)"
           : "Profilers drop records when their buffers are full: record fewer steps with larger "
             "buffers, or one record for each replay (lacuna run --cuda graphs; nsys "
             "--cuda-graph-trace=graph)");
}

}  // namespace lacuna::analyzer
