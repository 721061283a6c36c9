// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "lacuna/prof/bounds.h"
#include "rules/rule.h"

namespace lacuna::analyzer {
namespace {

/// So many of the slowest steps are evidence enough.
constexpr std::size_t kMostSlowSteps = 20;

bool copies(const CallRow& row) {
  return row.name.find("emcpy") != std::string::npos;
}
bool sets(const CallRow& row) {
  return row.name.find("emset") != std::string::npos;
}

/// In the steps; with `andCopies` also what waits until it has copied or set memory.
std::uint64_t syncCalls(const Analysis& analysis, bool andCopies = true) {
  std::uint64_t count = 0;
  for (const CallRow& row : analysis.calls) {
    const bool counts = row.activity == Activity::Sync && (andCopies || (!copies(row) && !sets(row)));
    count += counts ? row.stepCount : 0;
  }
  return count;
}

/// In the steps, as what takes longest may belong to the set-up, and of those that no other finding tells of.
const CallRow* costliest(const RuleContext& context, Activity activity) {
  const CallRow* most = nullptr;
  for (const CallRow& row : context.analysis.calls) {
    if (row.activity != activity || context.isClaimed(row.name)) continue;
    if (most == nullptr || row.stepNs > most->stepNs) most = &row;
  }
  return most;
}

/// What the device waited for longest of a cause, and no other finding tells of; null where that has no name.
const CauseDetail* longestWait(const RuleContext& context, Cause cause) {
  const CauseDetail* most = nullptr;
  for (const CauseDetail& detail : context.analysis.details) {
    if (detail.cause != cause || detail.name.empty() || context.isClaimed(detail.name)) continue;
    if (most == nullptr || detail.ns > most->ns) most = &detail;
  }
  return most;
}

/// A synchronisation behind nearly every launch: blocking launches, or a debug mode. `blockedNs` of a step belong to
/// calls that are told of already.
bool debugMode(RuleContext& context, std::int64_t blockedNs) {
  const Analysis& analysis = context.analysis;
  const std::string_view mode = context.knob("debug").value_or("off");
  const bool announced = !isOneOf(mode, kOffWords);
  const bool isNamed = announced && !isOneOf(mode, kOnWords);
  const auto launches = static_cast<double>(analysis.launches.stepLaunches);
  // A step of few launches, as of a captured graph, may wait once for its loss. A program that reads a number behind
  // each launch waits for its copies; no mode does that.
  const std::uint64_t synchronised = syncCalls(analysis, false);
  const bool everyLaunch =
      context.timesAStep(analysis.launches.stepLaunches) >= 20 && static_cast<double>(synchronised) >= 0.5 * launches;
  // Anomaly detection looks at the numbers of every operator and waits for the answer.
  const double checks = context.timesAStep(analysis.patterns.numberChecks);
  const bool checksAll = checks >= 8 && context.timesAStep(syncCalls(analysis)) >= 8;
  if (!announced && !everyLaunch && !checksAll) return false;
  const auto gain = context.play("debug=off");
  Finding finding;
  finding.id = "debug-mode";
  finding.kind = FindingKind::Fault;
  finding.costNsPerStep =
      std::max(context.unclaimedCostOf(Cause::Synchronisation), gain ? gain->gainNs() - blockedNs : 0);
  finding.title =
      announced ? fmt::format("a debug mode is switched on{}{{: cost}}", isNamed ? fmt::format(" ({})", mode) : "")
      : checksAll
          ? fmt::format("{:.0f} times a step the host waits for a check whether numbers are finite{{: cost}}", checks)
          : fmt::format("the host waits for the device {:.1f} times per launch{{: cost}}",
                        static_cast<double>(synchronised) / launches);
  finding.confidence = 0.9;
  finding.count = syncCalls(analysis);
  finding.knob = "debug=off";
  finding.advice =
      "switch the debug mode off (anomaly detection, blocking launches, gradient checks), or take the synchronisation "
      "out of the loop";
  finding.evidence = context.evidenceOf(Cause::Synchronisation);
  context.add(std::move(finding), "debug=off");
  return true;
}

void syncInStep(RuleContext& context, std::int64_t blockedNs) {
  const Analysis& analysis = context.analysis;
  const CallRow* call = costliest(context, Activity::Sync);
  if (call == nullptr) return;
  std::uint64_t calls = 0;
  std::int64_t waited = 0;
  std::vector<Change> without;
  for (const CallRow& row : analysis.calls) {
    if (row.activity != Activity::Sync || context.isClaimed(row.name)) continue;
    const bool some = context.claimedShare(row.name) > 0;
    without.push_back(withoutCall(row.name));
    if (some) without.back().uptoBytes = kStagedBytes;
    calls += row.stepCount - (some ? row.stepLargeCount : 0);
    prof::addTo(waited, row.stepNs - (some ? row.stepLargeNs : 0));
  }
  // What is told of already waits as before.
  if (blockedNs == 0) without = {*parseChange("sync=off")};
  const auto gain = context.play(without);
  const std::int64_t idle = context.unclaimedCostOf(Cause::Synchronisation);
  // Those in front of memory that goes back to the system are the allocator's.
  const std::uint64_t syncs = calls - std::min(calls, analysis.patterns.releaseSyncs);
  const double perStep = context.timesAStep(syncs);
  // Without the wait other idle time would be hidden too; it has causes of its own. A single wait for a loss is usual,
  // so the host work behind it is not its fault either.
  std::int64_t others = context.costOf(Cause::DriverCall) + context.costOf(Cause::OffCpu) +
                        context.costOf(Cause::LoaderWait) + analysis.betweenSteps().loaderWaitNs;
  if (perStep < 2) prof::addTo(others, context.costOf(Cause::HostWork));
  const std::int64_t cost = std::max(idle, gain ? gain->gainNs() - others : 0);
  // Several waits in every step stop the host from running ahead, whatever they cost today.
  const bool several = perStep >= 2.5 && context.shareOfStep(context.perStep(waited)) >= 0.1;
  if (!several && (context.shareOfStep(cost) < 0.05 || perStep < 0.9)) return;
  Finding finding;
  finding.id = "sync-in-step";
  finding.kind = FindingKind::Fault;
  finding.costNsPerStep = cost;
  finding.count = calls;
  finding.title = cost > 0
                      ? fmt::format("{:.1f} synchronisations a step let the queue run dry ({{share}} of it)", perStep)
                      : fmt::format("the host waits for the device {:.1f} times a step, {} of it", perStep,
                                    humanShare(context.shareOfStep(context.perStep(waited))));
  finding.confidence = 0.8;
  finding.advice = fmt::format("avoid {}{}: read losses and metrics every N steps, keep the rest on the device",
                               call->name, call->caller.empty() ? "" : " in " + call->caller);
  finding.evidence = context.evidenceOf(Cause::Synchronisation);
  context.add(std::move(finding), without);
}

void launchBound(RuleContext& context) {
  const Analysis& analysis = context.analysis;
  const std::int64_t cost = (context.costOf(Cause::HostWork) + context.costOf(Cause::Launch));
  const double perStep = context.timesAStep(analysis.launches.stepLaunches);
  if (context.shareOfStep(cost) < 0.15 || perStep < 20) return;
  // Who idles so long for each launch waits for work between launches, and a graph launches no sooner. An operator of
  // the CPU is called in microseconds.
  const double mostIdlePerLaunchNs = context.onlyHost() ? 50'000 : 1'000'000;
  if (static_cast<double>(cost) > mostIdlePerLaunchNs * perStep) return;
  const auto launches = static_cast<double>(std::max<std::uint64_t>(1, analysis.launches.launches));
  const bool starved = static_cast<double>(analysis.launches.foundQueueEmpty) >= 0.3 * launches;
  const bool tiny = static_cast<double>(analysis.launches.shorterThanCall) >= 0.3 * launches;
  if (!starved && !tiny) return;
  const auto graph = context.play("static_graph=on");
  const auto fuse = context.play("fuse=on");
  const bool fuseWins = graph && fuse && fuse->gainNs() > graph->gainNs();
  Finding finding;
  finding.id = "launch-bound";
  finding.kind = FindingKind::Fault;
  finding.costNsPerStep = cost;
  finding.count = analysis.launches.launches;
  finding.title = fmt::format(
      "the host cannot keep up: {:.0f} small launches a step leave the device idle {{share}} of it", perStep);
  finding.confidence = 0.75;
  finding.advice = fmt::format("{}{}; {} of the launches found an empty queue",
                               fuseWins ? "fuse small operators, or capture the step as a graph"
                                        : "capture the step as a graph, or fuse small operators",
                               // What feeds a CPU's queue runs on the same cores, so a larger batch hides nothing.
                               context.onlyHost() ? "" : "; a larger batch hides it too",
                               humanShare(static_cast<double>(analysis.launches.foundQueueEmpty) / launches));
  finding.evidence = context.evidenceOf(
      analysis.ledger[Cause::HostWork] > analysis.ledger[Cause::Launch] ? Cause::HostWork : Cause::Launch);
  context.add(std::move(finding), fuseWins ? "fuse=on" : "static_graph=on");
}

/// Copies and memsets that hold the caller until they are done: what they take of a step's time.
std::int64_t blockingCalls(RuleContext& context) {
  const Analysis& analysis = context.analysis;
  std::int64_t sum = 0;
  for (const CallRow& row : analysis.calls) {
    if (row.activity != Activity::Sync || (!copies(row) && !sets(row))) continue;
    // Small copies from the host are staged by the driver and return at once; who reads a number waits for it.
    const bool told = copies(row) && row.copies > 0;
    const std::int64_t ns = told ? row.stepLargeNs : row.stepNs;
    const std::uint64_t count = told ? row.stepLargeCount : row.stepCount;
    const std::int64_t cost = context.perStep(ns);
    if (context.shareOfStep(cost) < 0.02) continue;
    Finding finding;
    finding.id = copies(row) ? "blocking-copy" : "blocking-memset";
    finding.kind = FindingKind::Fault;
    finding.costNsPerStep = cost;
    finding.count = count;
    finding.title =
        fmt::format("{:.1f} {} calls a step hold the host for {{cost}}", context.timesAStep(count), row.name);
    finding.confidence = 0.9;
    finding.advice = copies(row) ? "copy asynchronously from pinned memory, on a queue of its own"
                                 : "use the asynchronous memset, or let the kernel that writes first overwrite";
    finding.evidence = context.evidenceOf(Cause::Synchronisation);
    Change without = withoutCall(row.name);
    if (told) without.aboveBytes = kStagedBytes;
    context.add(std::move(finding), std::span<const Change>(&without, 1));
    context.claim(row.name, static_cast<double>(ns) / static_cast<double>(row.stepNs));
    prof::addTo(sum, cost);
  }
  return sum;
}

/// Launch calls that take long by themselves: a tracing tool, a virtual machine, a driver that is held up.
bool slowLaunches(RuleContext& context) {
  const LaunchStats& launches = context.analysis.launches;
  const std::int64_t calls =
      context.perStep(prof::productOf(launches.medianCallNs, static_cast<std::int64_t>(launches.stepLaunches)));
  // A call inside of an operator is host work to the ledger.
  const std::int64_t cost = std::min(calls, context.costOf(Cause::Launch) + context.costOf(Cause::HostWork));
  if (launches.medianCallNs < 50'000 || context.shareOfStep(cost) < 0.05) return false;
  Finding finding;
  finding.id = "slow-launches";
  finding.kind = FindingKind::Fault;
  finding.costNsPerStep = cost;
  finding.count = launches.launches;
  finding.title = fmt::format("half of the launch calls take {} or more{{: cost}}", humanTime(launches.medianCallNs));
  finding.confidence = 0.8;
  finding.advice =
      "look for a debugger or a second profiler, other processes of the driver, and a busy host; "
      "a captured graph launches many kernels in one call";
  finding.evidence = context.evidenceOf(Cause::Launch);
  context.add(std::move(finding), "static_graph=on");
  return true;
}

/// Without those that other findings tell of.
std::vector<Change> withoutDriverCalls(const RuleContext& context) {
  std::vector<Change> changes;
  for (const CallRow& row : context.analysis.calls) {
    if (row.activity == Activity::Driver && !context.isClaimed(row.name)) changes.push_back(withoutCall(row.name));
  }
  return changes;
}

void driverCalls(RuleContext& context) {
  const std::int64_t cost = context.unclaimedCostOf(Cause::DriverCall);
  if (context.shareOfStep(cost) < 0.05 || costliest(context, Activity::Driver) == nullptr) return;
  const CauseDetail* call = longestWait(context, Cause::DriverCall);
  Finding finding;
  finding.id = "driver-calls";
  finding.kind = FindingKind::Fault;
  finding.costNsPerStep = cost;
  if (call != nullptr) finding.count = call->count;
  finding.title = "allocator and driver calls hold the device up {cost} a step";
  finding.confidence = 0.7;
  finding.advice = fmt::format("{}keep memory in the caching allocator, create handles and events before the loop",
                               call == nullptr ? "" : call->name + " takes the most: ");
  finding.evidence = context.evidenceOf(Cause::DriverCall);
  context.add(std::move(finding), withoutDriverCalls(context));
}

void offCpu(RuleContext& context) {
  const std::int64_t cost = context.costOf(Cause::OffCpu);
  if (context.shareOfStep(cost) < 0.05) return;
  Finding finding;
  finding.id = "host-not-running";
  finding.kind = FindingKind::Fault;
  finding.costNsPerStep = cost;
  const CauseDetail* call = longestWait(context, Cause::OffCpu);
  if (call != nullptr) finding.count = call->count;
  finding.title = fmt::format("the thread that feeds the device was not running {{cost}} a step{}",
                              call == nullptr ? "" : ", most of it in " + call->name);
  finding.confidence = 0.7;
  finding.advice =
      "look for locks, sleeps and files in the training loop, and for more runnable threads than cores (loader "
      "workers, thread pools)";
  finding.evidence = context.evidenceOf(Cause::OffCpu);
  context.addBounded(std::move(finding), "off-cpu*0");
}

/// The host's cores were not the program's alone. What that cost the threads is in all of the run's times.
void displaced(RuleContext& context) {
  const Analysis& analysis = context.analysis;
  const CoreContention& contention = analysis.contention;
  const std::int64_t windowNs = contention.window.endNs - contention.window.startNs;
  if (contention.threads.empty() || windowNs <= 0 || contention.lostShare() < kNoContention) return;
  const DisplacedThread& most = contention.threads.front();
  const double share = static_cast<double>(most.lostNs) / static_cast<double>(windowNs);
  if (share < kNoContention) return;
  Finding finding;
  finding.id = "cores-taken";
  finding.kind = FindingKind::Fault;
  const std::int64_t stepNs = std::max(analysis.meanStepNs(), context.unchangedStepNs());
  finding.costNsPerStep = static_cast<std::int64_t>(share * static_cast<double>(stepNs));
  finding.title = fmt::format("other programs keep {} off the cores {{cost}} a step ({{share}} of it)",
                              most.name.empty() ? std::string("a thread") : "thread '" + most.name + "'");
  finding.confidence = 0.8;
  finding.count = contention.threads.size();
  for (const prof::TimeWindow& stretch : most.longest) {
    finding.evidence.push_back({.startNs = stretch.startNs,
                                .endNs = stretch.endNs,
                                .what = "kept off the cores: " + most.name,
                                .thread = most.thread});
  }
  finding.advice =
      "record on a machine that nothing else uses, or give the program cores of its own; until then times, and gains "
      "that are predicted from them, hold only for a machine as busy";
  context.add(std::move(finding), "cores-taken*0");
}

/// Work that starts long after its launch although its queue has nothing else to do.
void lateStarts(RuleContext& context) {
  const std::int64_t cost = context.costOf(Cause::Launch);
  const bool explained = std::any_of(context.findings.begin(), context.findings.end(), [](const Finding& f) {
    return f.id == "launch-bound" || f.id == "debug-mode" || f.id == "slow-launches";
  });
  // The queue of a CPU is a thread, which takes its time to wake up.
  if (explained || context.onlyHost() || context.shareOfStep(cost) < 0.15) return;
  Finding finding;
  finding.id = "late-starts";
  finding.kind = FindingKind::Fault;
  finding.costNsPerStep = cost;
  finding.title = "launched work starts {cost} a step late ({share} of it) though its queue has nothing else to do";
  finding.confidence = 0.5;
  finding.count = context.analysis.launches.launches;
  finding.advice =
      "look at the longest of these stretches: the queue may wait for an event of work that was not recorded (a "
      "sampled or cut trace, another process), the device may be shared, or the clocks of host and device may disagree";
  finding.evidence = context.evidenceOf(Cause::Launch);
  context.addBounded(std::move(finding), "start-delay*0");
}

/// What launch calls of a step took beyond what as many usual ones do.
std::int64_t longLaunchesNs(const RuleContext& context) {
  const std::int64_t usualNs = context.analysis.launches.medianCallNs;
  std::int64_t ns = 0;
  for (const CallRow& row : context.analysis.calls) {
    if (row.activity == Activity::Launch)
      prof::addTo(ns, row.stepNs - prof::productOf(usualNs, static_cast<std::int64_t>(row.stepCount)));
  }
  return context.perStep(std::max<std::int64_t>(0, ns));
}

void unnamedHostWork(RuleContext& context) {
  const std::int64_t cost = context.costOf(Cause::HostWork);
  const bool explained = std::any_of(context.findings.begin(), context.findings.end(), [](const Finding& f) {
    return f.id == "launch-bound" || f.id == "debug-mode" || f.id == "slow-launches";
  });
  if (explained || context.shareOfStep(cost) < 0.15) return;
  const CauseDetail* where = longestWait(context, Cause::HostWork);
  Finding finding;
  finding.id = "host-work";
  finding.kind = FindingKind::Fault;
  finding.costNsPerStep = cost;
  // What the host does in a launch call it does not do for the program.
  const std::int64_t longNs = longLaunchesNs(context);
  const bool inLaunches = 2 * longNs >= cost;
  finding.title = fmt::format(
      "the device waits for host work {{cost}} a step{}",
      where == nullptr ? "" : fmt::format(", most of it in {}{}", inLaunches ? "launch calls of " : "", where->name));
  finding.confidence = 0.6;
  finding.advice =
      inLaunches ? fmt::format(
                       "launch calls take {} {} longer than as many usual ones: a kernel's first launch loads its "
                       "code; launch each once in front of the loop, or look at the steps behind it (--steps)",
                       humanTime(longNs), context.analysis.steps.all.empty() ? "in all" : "a step")
                 : "move this work out of the loop, into loader workers, or onto the device";
  finding.evidence = context.evidenceOf(Cause::HostWork);
  context.addBounded(std::move(finding), "host*0");
}

void slowSteps(RuleContext& context) {
  // What is said of a stretch of the run is of its steps.
  Steps steps;
  steps.all = context.analysis.steps.steadyWithin(context.analysis.window);
  const std::int64_t median = steps.medianNs();
  // Where the host runs ahead and is held back now and then, its steps say nothing one by one.
  if (4 * steps.spreadNs() > median) return;
  const std::int64_t limit = median + std::max(median / 2, 8 * steps.spreadNs());
  const bool isAhead = hostRunsAhead(context.analysis);
  const auto devices = static_cast<std::int64_t>(std::max<std::size_t>(1, context.analysis.devices.size()));
  std::int64_t lost = 0;
  Finding finding;
  for (const Step& step : steps.all) {
    if (step.durNs() <= limit) continue;
    // Who is held back loses nothing that the devices do not wait for.
    const std::int64_t mostNs = isAhead ? context.analysis.stepLedgers.at(step.index).idleNs() / devices : INT64_MAX;
    prof::addTo(lost, std::min(step.durNs() - median, mostNs));
    ++finding.count;
    finding.evidence.push_back({step.startNs, step.endNs, step.name});
  }
  const std::int64_t cost = lost / std::max<std::int64_t>(1, static_cast<std::int64_t>(steps.all.size()));
  if (finding.count == 0 || context.shareOfStep(cost) < 0.03) return;
  std::ranges::stable_sort(finding.evidence, std::ranges::greater(),
                           [](const Evidence& evidence) { return evidence.endNs - evidence.startNs; });
  if (finding.evidence.size() > kMostSlowSteps) finding.evidence.resize(kMostSlowSteps);
  finding.id = "slow-steps";
  finding.costNsPerStep = cost;
  finding.title =
      fmt::format("{} took more than {}{{: cost}} on average", humanCount(finding.count, "step"), humanTime(limit));
  // Read off the steps: what they would take if all were usual ones. Some of what slows them may be wanted.
  finding.gainBasis = GainBasis::Trace;
  finding.predictedGainNsPerStep = cost;
  finding.baseNsPerStep = std::max(cost, context.analysis.meanStepNs());
  finding.gainHighNsPerStep = cost;
  finding.confidence = 0.4;
  finding.advice =
      "compare a slow step with its neighbours on the timeline: evaluation, checkpoints and garbage collection are "
      "usual";
  context.addAsItIs(std::move(finding));
}

}  // namespace

bool hostRunsAhead(const Analysis& analysis) {
  const auto parts = static_cast<double>(analysis.stepCount() * analysis.processCount());
  const double perStep = static_cast<double>(analysis.launches.stepLaunches) / parts;
  return !analysis.steps.all.empty() && perStep > 0 && analysis.launches.meanQueueDepth >= perStep;
}

void hostRules(RuleContext& context) {
  const std::int64_t blockedNs = blockingCalls(context);
  // A debug mode is why the host cannot keep up, and why it waits.
  if (!debugMode(context, blockedNs)) {
    syncInStep(context, blockedNs);
    if (!slowLaunches(context)) launchBound(context);
  }
  driverCalls(context);
  offCpu(context);
  displaced(context);
  unnamedHostWork(context);
  lateStarts(context);
  slowSteps(context);
}

}  // namespace lacuna::analyzer
