// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "report/text_details.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <cstddef>
#include <functional>
#include <map>

#include "analysis/devices.h"
#include "formats/kernel_name.h"
#include "lacuna/analyzer/utf8.h"
#include "lacuna/prof/amounts.h"
#include "rules/registry.h"
#include "rules/words.h"

namespace lacuna::analyzer {
namespace {

constexpr int kHostNameWidth = 60;

double ratio(double part, double whole) {
  return whole <= 0 ? 0 : part / whole;
}

/// What figures per step are called: without steps they are of the whole run.
std::string_view perStep(const Analysis& analysis) {
  return analysis.steps.all.empty() ? "in all" : "a step";
}

std::string inBrackets(std::string_view band) {
  return band.empty() ? "" : fmt::format(" ({})", band);
}
std::string bandInBrackets(std::int64_t bandNs, std::int64_t ns) {
  return inBrackets(humanBand(bandNs, ns));
}

std::size_t commonPrefix(std::string_view a, std::string_view b) {
  const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return static_cast<std::size_t>(differ - a.begin());
}

/// Letters, digits and the bytes of what is no ASCII.
bool isPartOfWord(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || std::isalnum(byte) != 0;
}

/// Of recording, from where on the reader should know what to do about it.
bool isMuchOfAStep(const Analysis& analysis, std::int64_t ns) {
  constexpr double kMuch = 0.1;
  return ratio(double(ns), double(analysis.meanStepNs())) >= kMuch;
}

std::string whyRecordingCosts(const Analysis& analysis) {
  const std::int64_t coresNs = analysis.overhead.coresNsPerStep();
  if (isMuchOfAStep(analysis, coresNs)) {
    return fmt::format(
        ", {} of it by taking cores that the program's threads waited for: leave the recorder a core (taskset), or "
        "record less (--trace)",
        prof::timeText(coresNs));
  }
  const bool isMuch = isMuchOfAStep(analysis, analysis.overhead.nsPerStep);
  return isMuch ? ", for its events follow each other closely: record less (--trace)" : "";
}

/// The memory of a device, and " of cuda:1" where there are several.
struct Memory {
  const MemoryStats* stats = nullptr;
  const DeviceMemory* device = nullptr;  ///< null where the trace does not tell devices apart
  std::string where;
};

/// Highest peak first.
std::vector<Memory> memoriesOf(const Analysis& analysis) {
  std::vector<Memory> out;
  if (analysis.memoryStatsByDevice.empty()) {
    const bool isOne = analysis.memoryByDevice.size() == 1;
    out.push_back({&analysis.memory, isOne ? analysis.memoryByDevice.data() : nullptr, {}});
  }
  for (std::size_t i = 0; i < analysis.memoryStatsByDevice.size(); ++i) {
    const DeviceMemory& memory = analysis.memoryByDevice[i];
    if (memory.peakBytes == 0) continue;
    out.push_back({&analysis.memoryStatsByDevice[i], &memory, " of " + whoseMemory(analysis, memory.device)});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Memory& a, const Memory& b) { return a.stats->peakBytes > b.stats->peakBytes; });
  return out;
}

void addLive(const MemoryStats& memory, int width, int rows, Lines& out) {
  const int nameWidth = std::max(8, width - 51);
  if (!memory.live.empty() && rows > 0)
    out.push_back(fmt::format(" {:>11}  {:10}  {} {:>11} {:>11}", "alive then", "role",
                              padded("tensor (operator)", nameWidth), "for", "and for"));
  for (std::size_t i = 0; i < memory.live.size() && static_cast<int>(i) < rows; ++i) {
    const LiveTensor& tensor = memory.live[i];
    out.push_back(fmt::format(" {:>11}  {:10}  {} {:>11} {:>11}", prof::bytesText(tensor.bytes), roleWords(tensor.role),
                              padded(liveName(tensor), nameWidth), ageText(memory, i), stayText(memory, i)));
  }
}

std::string peakLine(const MemoryStats& memory, std::string_view where) {
  std::string roles;
  for (std::size_t i = 1; i < kRoleCount; ++i) {
    if (memory.peakByRole[i] > 0)
      roles += fmt::format("{}{} {}", roles.empty() ? "" : ", ", roleName(static_cast<prof::MemoryRole>(i)),
                           prof::bytesText(memory.peakByRole[i]));
  }
  if (roles.empty()) roles = "what it is for is not known";
  if (const std::uint64_t rest = memory.peakByRole[0]; rest > 0 && rest < memory.peakBytes)
    roles += ", not known " + prof::bytesText(rest);
  return fmt::format(
      " peak{} {} ({}){}", where, prof::bytesText(memory.peakBytes), roles,
      memory.peakReservedBytes > 0 ? fmt::format("; {} reserved", prof::bytesText(memory.peakReservedBytes)) : "");
}

std::string allocatorLine(const AllocatorState& state) {
  const std::string why = state.fragmented()      ? "; no piece was large enough: fragmentation"
                          : state.freeBytes() > 0 ? ""
                                                  : "; none of it was free";
  return fmt::format(
      " allocator: took {} more when it held {} in {}, {} of it free (largest piece {}, fragmentation {}){}",
      prof::bytesText(state.requestedBytes), prof::bytesText(state.reservedBytes),
      prof::countText(state.segments, "segment"), prof::bytesText(state.freeBytes()),
      prof::bytesText(state.largestFreeBytes), prof::shareText(state.fragmentation()), why);
}

void addEdits(const Analysis& analysis, const Memory& memory, int width, int rows, Lines& out) {
  int listed = 0;
  for (const PeakEdit& edit : analysis.peakEdits) {
    if (edit.device && (memory.device == nullptr || edit.device != memory.device->device)) continue;
    if (++listed > rows) break;
    if (listed == 1) out.push_back(fmt::format(" to bring the peak{} down:", memory.where));
    const std::string cost = edit.kind == PeakEditKind::FreeEarlier ? "costs nothing"
                             : edit.costNsPerStep < 0               ? "cost unknown"
                                                      : "costs " + prof::timeText(edit.costNsPerStep) + " a step";
    out.push_back(shortened(fmt::format(" {:>11}  {}  peak then {:>11}  {}: {}", prof::bytesText(edit.bytes),
                                        padded(cost, 22), prof::bytesText(edit.peakAfterBytes), edit.origin, edit.why),
                            width));
  }
}

void addRanks(const Analysis& analysis, Lines& out) {
  const RankStats& ranks = analysis.ranks;
  if (ranks.rows.empty()) return;
  out.push_back(fmt::format(
      " {} of {} ranks matched{}: {} of the time in them is waiting for the last rank; compute differs by {}",
      prof::countText(ranks.matched, "collective"), ranks.rows.size(),
      ranks.unmatched > 0 ? fmt::format(" ({} not)", prof::countText(ranks.unmatched, "call")) : "",
      prof::shareText(ranks.waitShare()), prof::shareText(ranks.imbalance)));
  std::size_t deviceWidth = 6;
  for (const RankRow& row : ranks.rows) deviceWidth = std::max(deviceWidth, row.device.size());
  const auto add = [&](auto rank, std::string_view device, std::string_view waits, std::string_view transfers,
                       std::string_view last, std::string_view behind, std::string_view computes) {
    out.push_back(fmt::format(" {:>4} {} {:>9} {:>9} {:>6} {:>9} {:>9}", rank,
                              padded(device, static_cast<int>(deviceWidth)), waits, transfers, last, behind, computes));
  };
  add("rank", "device", "waits", "transfers", "last", "behind", "computes");
  for (const RankRow& row : ranks.rows) {
    add(row.rank, row.device, prof::timeText(row.waitNs), prof::timeText(row.transferNs), fmt::format("{}×", row.last),
        prof::timeText(row.heldUpNs), prof::timeText(row.computeNs));
    if (row.waitRecordingNs + row.transferRecordingNs + row.heldUpRecordingNs + row.computeRecordingNs == 0) continue;
    // Below the figures, as a line has no room for both.
    add("", "", humanBand(row.waitRecordingNs, row.waitNs), humanBand(row.transferRecordingNs, row.transferNs), "",
        humanBand(row.heldUpRecordingNs, row.heldUpNs), humanBand(row.computeRecordingNs, row.computeNs));
  }
}

/// What does not fit loses what all of NCCL's kernels are called first.
std::string collectiveName(const CollectiveRow& row, int width) {
  const std::string where = row.communicator.empty() ? "" : row.communicator + ": ";
  const std::string kernel = plainName(row.name);
  if (columns(where + kernel) <= width) return where + kernel;
  return where + std::string(withoutLibrary(kernel));
}

/// "456 GiB/s", or nothing where nothing is known to have been moved.
std::string rateOf(double bytes, std::int64_t ns) {
  return bytes > 0 && ns > 0 ? prof::bytesText(bytes * 1e9 / double(ns)) + "/s" : std::string();
}

/// Without the columns that no row fills.
void addCollectives(const CommunicationStats& comm, int width, int rows, Lines& out) {
  const auto& all = comm.collectives;
  const bool banded = std::ranges::any_of(all, [](const CollectiveRow& row) { return row.recordingNs > 0; });
  const bool rated = std::ranges::any_of(all, [](const CollectiveRow& row) { return row.bytes > 0; });
  const int bandWidth = banded ? 9 : 0;
  const int nameWidth = std::max(10, width - (rated ? 58 : 37) - bandWidth);
  const auto add = [&](std::string_view name, auto count, std::string_view total, std::string_view band,
                       std::string_view exposed, std::string_view rate, std::string_view busRate) {
    out.push_back(fmt::format(" {} {:>6} {:>11}{} {:>11}", padded(name, nameWidth), count, total,
                              padded(band.empty() ? "" : fmt::format(" {}", band), bandWidth), exposed));
    if (rated) out.back() += fmt::format(" {:>9} {:>10}", rate, busRate);
  };
  add("collective", "count", "total", banded ? "±" : "", "exposed", "rate", "bus rate");
  for (std::size_t i = 0; i < all.size() && static_cast<int>(i) < rows; ++i) {
    const CollectiveRow& row = all[i];
    // Where it is not known how large the whole buffer is, what a rank puts in.
    const bool isWhole = row.algorithmBytes > 0;
    const std::string speed =
        rateOf(double(isWhole ? row.algorithmBytes : row.bytes), isWhole ? row.algorithmNs : row.bytesNs);
    add(collectiveName(row, nameWidth), row.count, prof::timeText(row.totalNs), humanBand(row.recordingNs, row.totalNs),
        prof::timeText(row.exposedNs), speed, rateOf(row.busBytes, row.busNs));
  }
}

std::string numbersLine(const EfficiencyStats& stats) {
  std::string numbers;
  for (std::size_t i = 0; i < kNumberCount; ++i) {
    if (stats.nsByNumber[i] > 0)
      numbers += fmt::format("{}{} {}", numbers.empty() ? "" : ", ", numberName(static_cast<Number>(i)),
                             prof::shareText(ratio(double(stats.nsByNumber[i]), double(stats.matrixNs))));
  }
  return fmt::format(" matrix kernels: {} of their {} on tensor cores; by number type {}",
                     prof::shareText(stats.tensorCoreNsOfMatrix()), prof::timeText(stats.matrixNs), numbers);
}

}  // namespace

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
  return tensor.tensor.empty() ? tensor.op
         : tensor.op.empty()   ? tensor.tensor
                               : fmt::format("{} ({})", tensor.tensor, tensor.op);
}

int columns(std::string_view text) {
  int count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("\x1b[")) {
      i = std::min(text.find('m', i), text.size());
    } else {
      count += (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80 ? 1 : 0;
    }
  }
  return count;
}

std::string shortened(std::string_view name, int width) {
  const std::string text = oneLine(name);
  if (columns(text) <= width) return text;
  std::string out;
  for (std::size_t i = 0; i < text.size() && width > 1;) {
    std::size_t next = i + 1;
    while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xc0) == 0x80) ++next;
    out.append(text, i, next - i);
    i = next;
    --width;
  }
  return out + "…";
}

std::string padded(std::string_view text, int width) {
  std::string out = shortened(text, width);
  out.append(static_cast<std::size_t>(std::max(0, width - columns(out))), ' ');
  return out;
}

std::vector<std::string> paddedNames(const std::vector<std::string_view>& names, int width) {
  std::vector<std::string> texts, out;
  std::map<std::string, std::vector<std::size_t>> alike;  // those that do not fit, by how they begin
  for (const std::string_view name : names) {
    texts.push_back(columns(name) <= width ? oneLine(name) : oneLine(withoutScopes(name)));
    out.push_back(padded(texts.back(), width));
    if (columns(texts.back()) > width) alike[shortened(texts.back(), width * 3 / 4)].push_back(texts.size() - 1);
  }
  for (const auto& [begin, members] : alike) {
    std::string_view common = texts[members.front()];
    for (const std::size_t at : members) common = common.substr(0, commonPrefix(common, texts[at]));
    // The word in which they differ is shown whole.
    while (!common.empty() && isPartOfWord(common.back())) common.remove_suffix(1);
    if (members.size() < 2 || columns(common) <= width / 3) continue;
    for (const std::size_t at : members) {
      const std::string rest = texts[at].substr(common.size());
      if (!rest.empty()) out[at] = padded(shortened(texts[at], width / 3) + rest, width);
    }
  }
  return out;
}

Lines loaderLines(const Analysis& analysis) {
  const LoaderStats& loader = analysis.loader;
  Lines out;
  if (!loader.present) return out;
  const std::string batches = prof::countText(loader.batches, "batch", "batches");
  if (2 * loader.stepWaitNs < loader.waitNs) {
    out.push_back(fmt::format(" {}; the training thread waited {} in all, most of it outside of the marked steps",
                              batches, prof::timeText(loader.waitNs / analysis.processCount())));
  } else {
    const std::int64_t waitNs = loader.stepWaitNs / (analysis.stepCount() * analysis.processCount());
    out.push_back(fmt::format(" {}; the training thread waited {} {}{}", batches, prof::timeText(waitNs),
                              perStep(analysis), bandInBrackets(analysis.meanStepBands()[Cause::LoaderWait], waitNs)));
  }
  if (!loader.workersKnown)
    out.push_back(" the number of workers is unknown: the trace tells of the waits alone, not of who prepares batches");
  if (loader.busyNs == 0) return out;
  std::string stages;
  for (std::size_t i = 0; i < kLoaderStages.size(); ++i) {
    if (loader.stageNs[i] > 0)
      stages += fmt::format("{}{} {}", stages.empty() ? "" : ", ", kLoaderStages[i],
                            prof::shareText(ratio(double(loader.stageNs[i]), double(loader.busyNs))));
  }
  const std::string who = loader.workers == 0 ? "the training thread prepares them"
                                              : fmt::format("{}, busy {}", prof::countText(loader.workers, "worker"),
                                                            prof::shareText(loader.utilisation()));
  out.push_back(fmt::format(" {}; a batch takes {} ({})", who, prof::timeText(loader.batchNs()), stages));
  if (loader.meanDepth >= 0) out.push_back(fmt::format(" {:.1f} batches were ready on average", loader.meanDepth));
  const LoaderVerdict& verdict = analysis.loaderVerdict;
  if (verdict.bound == LoaderBound::None) return out;
  // A finding that has replayed more workers knows better how many help.
  const bool found =
      std::ranges::any_of(analysis.findings, [](const Finding& finding) { return ruleOf(finding.id).playsWorkers; });
  const std::string remedy =
      found || verdict.bound == LoaderBound::HandOver || verdict.bound == LoaderBound::Copy
          ? ""
          : fmt::format("; {} with {} each would hide it", prof::countText(verdict.workersNeeded, "worker"),
                        prof::countText(verdict.prefetchNeeded, "batch", "batches"));
  out.push_back(fmt::format(" bound by {}{}", loaderBoundName(verdict.bound), remedy));
  return out;
}

namespace {

/// The queues whose work waited longest.
void addQueueLengths(const Analysis& analysis, int width, int rows, Lines& out) {
  std::vector<const QueueLength*> order;
  for (const QueueLength& row : analysis.queueLengths) order.push_back(&row);
  std::ranges::stable_sort(order, std::greater(), &QueueLength::waitedNs);
  if (order.empty()) return;
  // Five columns of figures beside the name.
  constexpr int kFigures = 56;
  const int nameWidth = std::max(10, width - kFigures);
  out.push_back(fmt::format(" {} {:>8} {:>10} {:>8} {:>11} {:>12}", padded("waiting in", nameWidth), "launches", "mean",
                            "most", "any", fmt::format("{} or more", kFullQueue)));
  const auto listed = std::min(order.size(), static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < listed; ++i) {
    const QueueLength& row = *order[i];
    const QueuePlace place = placeOf(analysis, row.queue);
    const auto ofSpan = [&](std::int64_t ns) { return prof::shareText(ratio(double(ns), double(row.spanNs))); };
    out.push_back(fmt::format(" {} {:>8} {:>10.2f} {:>8} {:>11} {:>12}",
                              padded(shortened(fmt::format("{} {}", place.device, place.queue), nameWidth), nameWidth),
                              row.work, row.mean(), row.most, ofSpan(row.waitingNs), ofSpan(row.fullNs)));
  }
  if (order.size() > listed) out.push_back(fmt::format("    and {} more", order.size() - listed));
}

}  // namespace

Lines rangeLines(const Analysis& analysis, int width, int rows) {
  Lines out;
  if (analysis.projectedRanges.empty()) return out;
  constexpr int kFigures = 59;
  const int nameWidth = std::max(10, width - kFigures);
  out.push_back(fmt::format(" {} {:>8} {:>8} {:>12} {:>12} {:>12}", padded("name", nameWidth), "count", "work",
                            "on the host", "on a device", "busy"));
  const auto listed = std::min(analysis.projectedRanges.size(), static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < listed; ++i) {
    const ProjectedRange& row = analysis.projectedRanges[i];
    out.push_back(fmt::format(" {} {:>8} {:>8} {:>12} {:>12} {:>12}", padded(shortened(row.name, nameWidth), nameWidth),
                              row.count, row.work, prof::timeText(row.hostNs), prof::timeText(row.projectedNs),
                              prof::timeText(row.busyNs)));
  }
  if (analysis.projectedRanges.size() > listed)
    out.push_back(fmt::format("    and {} more", analysis.projectedRanges.size() - listed));
  return out;
}

namespace {

std::string_view boundWords(BoundBy bound) {
  return bound == BoundBy::Other ? "waits between queues or without a cause" : boundName(bound);
}

}  // namespace

std::string bottleneckLine(const Analysis& analysis) {
  const Bottleneck& bottleneck = analysis.bottleneck;
  if (bottleneck.by == BoundBy::Nothing) return {};
  std::string others;
  for (std::size_t i = 0; i < kBoundCount; ++i) {
    const auto bound = static_cast<BoundBy>(i);
    const BoundShare& part = bottleneck.shares[i];
    if (bound == bottleneck.by || bound == BoundBy::Device || part.tier == Tier::None) continue;
    others += fmt::format("{}{} {} ({})", others.empty() ? "; also " : ", ", boundWords(bound),
                          prof::shareText(part.share), tierName(part.tier));
  }
  return fmt::format("bound by: {} ({} of {}){}", boundWords(bottleneck.by),
                     prof::shareText(bottleneck[bottleneck.by].share), analysis.steps.all.empty() ? "all" : "a step",
                     others);
}

Lines launchLines(const Analysis& analysis, int width, int rows) {
  const LaunchStats& stats = analysis.launches;
  if (stats.launches == 0) return {" no launch could be joined to device work"};
  const auto share = [&](std::uint64_t count) { return prof::shareText(ratio(double(count), double(stats.launches))); };
  const Ledger step = analysis.meanStepLedger();
  Lines out{
      fmt::format(
          " {}{}; call {}{} (median), from its end to the start {}{}",
          prof::countText(stats.launches, "launch", "launches"),
          analysis.steps.all.empty()
              ? std::string()
              : fmt::format(", {} a step", stats.stepLaunches / static_cast<std::uint64_t>(analysis.stepCount() *
                                                                                           analysis.processCount())),
          prof::timeText(stats.medianCallNs), bandInBrackets(stats.callRecordingNs, stats.medianCallNs),
          prof::timeText(stats.medianDelayNs), bandInBrackets(stats.delayRecordingNs, stats.medianDelayNs)),
      fmt::format(" {} found an empty queue, {} launched work shorter than the call; {:.1f} in the queue on average",
                  share(stats.foundQueueEmpty), share(stats.shorterThanCall), stats.meanQueueDepth),
      fmt::format(" launch-bound: the device waits {} {}{} for launches ({} of it)",
                  prof::timeText(step[Cause::Launch]), perStep(analysis),
                  bandInBrackets(analysis.meanStepBands()[Cause::Launch], step[Cause::Launch]),
                  prof::shareText(ratio(double(step[Cause::Launch]), double(analysis.meanStepNs()))))};
  addQueueLengths(analysis, width, rows, out);
  return out;
}

Lines memoryLines(const Analysis& analysis, int width, int rows) {
  Lines out;
  if (!analysis.memory.present) return out;
  const std::vector<Memory> memories = memoriesOf(analysis);
  for (std::size_t i = 0; i < memories.size(); ++i) {
    const Memory& memory = memories[i];
    const MemoryStats& stats = *memory.stats;
    // In full only where that was asked for; else of the fullest.
    const bool full = i == 0 || rows == INT_MAX;
    out.push_back(shortened(peakLine(stats, memory.where), 4 * width));
    if (full) addLive(stats, width, rows, out);
    if (stats.leakBytesPerStep > 0)
      out.push_back(
          fmt::format(" grows by {} a step", prof::bytesText(static_cast<std::uint64_t>(stats.leakBytesPerStep))));
    if (full && memory.device != nullptr && memory.device->allocator.present)
      out.push_back(allocatorLine(memory.device->allocator));
    if (full) addEdits(analysis, memory, width, rows, out);
  }
  return out;
}

Lines communicationLines(const Analysis& analysis, int width, int rows) {
  const CommunicationStats& comm = analysis.communication;
  Lines out;
  if (comm.totalNs == 0) return out;
  out.push_back(fmt::format(" {} in all{}, {} of it exposed", prof::timeText(comm.totalNs),
                            bandInBrackets(comm.recordingNs, comm.totalNs),
                            prof::shareText(ratio(double(comm.exposedNs), double(comm.totalNs)))));
  addCollectives(comm, width, rows, out);
  addRanks(analysis, out);
  return out;
}

Lines copyLines(const Analysis& analysis) {
  Lines out;
  const auto& kinds = analysis.copies.byKind;
  if (std::ranges::any_of(kinds, [](const CopyRow& row) { return row.count > 0; }))
    out.push_back(
        fmt::format(" {} {:>8} {:>11} {:>11} {:>12}", padded("from and to", 18), "count", "bytes", "total", "rate"));
  for (std::size_t i = 0; i < kCopyKindCount; ++i) {
    const CopyRow& row = analysis.copies.byKind[i];
    if (row.count == 0) continue;
    const std::string speed = rateOf(double(row.bytes), row.ns);
    out.push_back(fmt::format(" {} {:>8} {:>11} {:>11} {:>12}{}", padded(copyKindName(i), 18), row.count,
                              prof::bytesText(row.bytes), prof::timeText(row.ns), speed,
                              bandInBrackets(row.recordingNs, row.ns)));
  }
  if (analysis.copies.pageableCount > 0)
    out.push_back(fmt::format(" {} of them from or to pageable memory, {}", analysis.copies.pageableCount,
                              prof::timeText(analysis.copies.pageableNs)));
  return out;
}

Lines efficiencyLines(const Analysis& analysis, int width, int rows) {
  const EfficiencyStats& stats = analysis.efficiency;
  Lines out;
  if (stats.rows.empty() && (stats.matrixNs == 0 || stats.occupancy < 0)) return out;
  const bool onlyHost = std::all_of(analysis.devices.begin(), analysis.devices.end(),
                                    [](const DeviceAccount& device) { return device.kind == prof::DeviceKind::Cpu; });
  if (stats.matrixNs > 0 && !onlyHost) out.push_back(shortened(numbersLine(stats), 2 * width));
  if (stats.occupancy >= 0)
    out.push_back(fmt::format(" occupancy {} over kernel time", prof::shareText(stats.occupancy)));
  if (stats.mfu >= 0)
    out.push_back(fmt::format(" MFU at least {} (peaks of {}), from operators whose arithmetic is known",
                              prof::shareText(stats.mfu), stats.peaks.source));
  if (stats.rows.empty()) {
    out.emplace_back(" no operator tells the shapes of its inputs, so no roofline");
    return out;
  }
  const bool banded =
      std::any_of(stats.rows.begin(), stats.rows.end(), [](const RooflineRow& row) { return row.recordingNs > 0; });
  const bool hasRoof = std::ranges::any_of(stats.rows, [](const RooflineRow& row) { return row.ofRoof >= 0; });
  if (!hasRoof) out.emplace_back(" what this device could do at most is not known, so no row says how near it comes");
  const int bandWidth = banded ? 9 : 0;
  const int nameWidth = std::max(12, width - 58 - bandWidth);
  out.push_back(fmt::format(" {} {:>10}{} {:>14} {:>12} {:>16}", padded("operator and shapes", nameWidth), "device",
                            padded(banded ? " ±" : "", bandWidth), "arithmetic", "bytes",
                            hasRoof ? "of the roof" : ""));
  for (std::size_t i = 0; i < stats.rows.size() && static_cast<int>(i) < rows; ++i) {
    const RooflineRow& row = stats.rows[i];
    const std::string roof =
        row.ofRoof < 0 ? "" : fmt::format("{} {}", prof::shareText(row.ofRoof), row.memoryBound ? "memory" : "compute");
    const std::string band = banded ? " " + humanBand(row.recordingNs, row.deviceNs) : "";
    out.push_back(fmt::format(" {} {:>10}{} {:>14} {:>12} {:>16}", padded(row.name + " " + row.shapes, nameWidth),
                              prof::timeText(row.deviceNs), padded(band, bandWidth),
                              row.demand.flops > 0 ? prof::scaledCount(row.flopsPerSecond()) + "FLOP/s" : "",
                              prof::bytesText(row.bytesPerSecond()) + "/s", roof));
  }
  return out;
}

std::string ledgerWindowLine(const Analysis& analysis) {
  if (analysis.devices.empty()) return {};
  const std::string total = prof::timeText(analysis.ledger.totalNs());
  std::string out = analysis.devices.size() == 1
                        ? fmt::format("of {} between the first and the last device work", total)
                        : fmt::format("of {} of {} devices, between the first and the last work of each", total,
                                      analysis.devices.size());
  for (const auto& [stretch, where] : {std::pair(&analysis.before, "before"), std::pair(&analysis.after, "after")}) {
    if (100 * stretch->ns < analysis.window.endNs - analysis.window.startNs || stretch->ns == 0) continue;
    out += fmt::format("; {} {} it, ", prof::timeText(stretch->ns), where);
    const std::string name = shortened(withoutScopes(stretch->longest), kHostNameWidth);
    if (name.empty() || stretch->isHardlyKnown()) {
      out += "with hardly anything recorded";
    } else {
      out += stretch->isMostly() ? fmt::format("mostly {} on the host", name)
                                 : fmt::format("{} of it in {} on the host", prof::timeText(stretch->longestNs), name);
    }
  }
  return out;
}

namespace {

/// The libraries that the program was in, where samples tell.
std::string setUpWords(const UnknownPlaces& places) {
  constexpr std::size_t kNamed = 3;
  std::string out;
  for (std::size_t i = 0; i < places.libraries.size() && i < kNamed; ++i) {
    const UnknownPlaces::Library& library = places.libraries[i];
    const std::string_view path = library.path;
    out += fmt::format("{}{:.0f} % in {}", out.empty() ? "of its CPU samples " : ", ", 100 * library.share,
                       path.substr(path.rfind('/') + 1));
  }
  return out.empty() ? "imports and set-up tell of nothing" : out;
}

}  // namespace

std::string unknownLine(const Analysis& analysis) {
  constexpr int kTold = 100;  // from a hundredth of the ledger on
  const UnknownPlaces& places = analysis.unknown;
  const std::int64_t unknownNs = analysis.ledger[Cause::Unknown];
  if (unknownNs == 0 || kTold * unknownNs < analysis.ledger.totalNs() || analysis.steps.all.empty()) return {};
  std::string out;
  const auto add = [&](std::int64_t ns, std::string_view where) {
    if (kTold * ns >= unknownNs)
      out += fmt::format("{}{} {}", out.empty() ? "unknown: " : ", ", prof::timeText(ns), where);
  };
  add(places.beforeNs, "before the first step");
  if (2 * places.beforeNs >= unknownNs) {
    const auto did = [](double share, std::string_view what) {
      return share < 0 ? std::string() : fmt::format("{} {:.0f} %", what, 100 * share);
    };
    const std::string ran = did(places.ranShare, "the host's thread ran");
    const std::string waited =
        places.waitedShare < 0.01 ? "" : did(places.waitedShare, " of that time and waited for a core");
    out += fmt::format(" ({}{}{}{})", ran, waited, ran.empty() ? "" : "; ", setUpWords(places));
  }
  add(places.inStepsNs, "in steps");
  add(places.betweenNs, "between steps");
  add(places.behindNs, "behind the last step");
  return out;
}

std::string overheadLine(const Analysis& analysis) {
  const SelfOverhead& overhead = analysis.overhead;
  if (!overhead.known) return {};
  return fmt::format("Recording added about {} {} ({}){}; ± says how much of a figure that may be.",
                     prof::timeText(overhead.nsPerStep), analysis.steps.all.empty() ? "in all" : "to a step",
                     prof::shareText(ratio(double(overhead.nsPerStep), double(analysis.meanStepNs()))),
                     whyRecordingCosts(analysis));
}

}  // namespace lacuna::analyzer
