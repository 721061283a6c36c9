// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "analyses/time/chunks.h"
#include "analyses/work/host_nesting.h"
#include "analyses/work/launch_index.h"
#include "compare/path_times.h"
#include "lacuna/analyzer/diff.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::StringId;
using prof::TimeNs;

constexpr int kResamples = 1000;
/// A change of less than this share of the step is nobody's concern.
constexpr double kFloor = 0.002;

/// A name without the parts that change in the next run, or after an edit elsewhere in a file.
/// These are addresses
/// ("<built-in method at 0x7f…>") and the lines of Python's functions ("train.py(22): step").
std::string nameAlike(std::string_view name) {
  constexpr std::string_view kAddress = " at 0x", kHex = "0123456789abcdefABCDEF",
                             kDigits = "0123456789";
  std::string out(name);
  for (std::size_t at = out.find(kAddress); at != std::string::npos; at = out.find(kAddress, at))
    out.erase(at, std::min(out.find_first_not_of(kHex, at + kAddress.size()), out.size()) - at);
  const std::size_t open = out.find(".py(");
  if (open == std::string::npos) return out;
  const std::size_t digits = open + 4, close = out.find_first_not_of(kDigits, digits);
  if (close != std::string::npos && close > digits && out.compare(close, 3, "): ") == 0)
    out.erase(open + 3, close + 1 - (open + 3));
  return out;
}

/// Ranges of a thread as they nest, each with the path of names above it.
class TreeBuilder {
 public:
  /// `tree` is shared by both runs.
  TreeBuilder(const Analysis& analysis, std::vector<Step> steps, PathTree& tree)
      : store_(*analysis.store),
        only_(analysis.scope.only),
        steps_(std::move(steps)),
        feeder_(analysis.steps.thread),
        tree_(tree) {}

  /// Markers bear the number of their step in their name, and their category may be all that
  /// identifies them, as it is of the frames of a Python program.
  prof::Status sortNames() {
    using prof::Range;
    const StringId python = store_.find("python_function");
    std::unordered_set<std::uint64_t> seen;
    return store_.scan<&Range::category, &Range::name>(
        {}, [&](std::uint64_t, auto category, auto name) {
          for (std::size_t i = 0; i < name.size(); ++i) {
            if (!seen.insert((std::uint64_t{category[i].value} << 32) | name[i].value).second)
              continue;
            if (isStepMarker(store_.text(category[i]), store_.text(name[i])))
              leftOut_.insert(name[i]);
            if (category[i] == python && python) frames_.insert(name[i]);
          }
        });
  }

  [[nodiscard]] bool hasFrames() const { return !frames_.empty(); }
  void leaveFramesOut() { leftOut_.insert(frames_.begin(), frames_.end()); }

  void add(const Timeline& timeline, prof::TimeWindow window) {
    firstWindowNs_ = std::min(firstWindowNs_, window.startNs);
    const LaunchIndex launches(timeline);
    nest(timeline, window, launches);
    for (const DeviceSpan& span : timeline.device) {
      if (span.startNs < window.startNs || span.startNs >= window.endNs || !only_.holds(span.queue))
        continue;
      const HostSpan* launch = launches.find(span);
      // Work that the host itself executed in place is in its own time.
      if (launch == nullptr || launch->startNs == span.startNs) continue;
      const std::size_t step = indexAt(launch->startNs);
      if (step == kNone) continue;
      times_.addDevice(
          {pathAt(*launch), static_cast<std::uint32_t>(step), span.endNs - span.startNs});
    }
  }

  /// The times of all that was added; leaves none.
  PathTimeSums takeTimes() { return std::move(times_); }

 private:
  using Path = PathTree::Path;
  static constexpr std::size_t kNone = SIZE_MAX;
  struct Nested {
    TimeNs startNs, endNs;
    Path path;
    std::size_t up;
  };

  [[nodiscard]] std::size_t indexAt(TimeNs at) const {
    const Step* step = stepAt(steps_, at);
    return step == nullptr ? kNone : static_cast<std::size_t>(step - steps_.data());
  }
  Path below(Path parent, StringId name) {
    const auto [alike, isNew] = namesAlike_.try_emplace(name);
    if (isNew) alike->second = tree_.nameOf(nameAlike(store_.text(name)));
    return tree_.below(parent, alike->second);
  }

  /// Only of threads that feed the device: what workers and queues do meanwhile is no part of a
  /// step's progress.
  void nest(const Timeline& timeline, prof::TimeWindow window, const LaunchIndex& launches) {
    nested_.clear();
    std::unordered_map<prof::ThreadId, std::vector<const HostSpan*>> byThread;
    for (const HostSpan& span : timeline.host) {
      const bool names = span.activity == Activity::Operator ||
                         span.activity == Activity::Annotation ||
                         span.activity == Activity::LoaderWait;
      const bool feeds = launches.isLaunching(span.thread) || span.thread == feeder_;
      if (feeds && names && only_.holds(span.thread) && !leftOut_.contains(span.name))
        byThread[span.thread].push_back(&span);
    }
    for (auto& [thread, spans] : byThread) {
      sortOuterFirst(spans);
      auto& list = nested_[thread];
      std::vector<std::size_t> stack;
      for (const HostSpan* span : spans) {
        while (!stack.empty() && list[stack.back()].endNs <= span->startNs) stack.pop_back();
        const std::size_t up = stack.empty() ? kNone : stack.back();
        const Path path = below(up == kNone ? PathTree::kRoot : list[up].path, span->name);
        stack.push_back(list.size());
        list.push_back({span->startNs, span->endNs, path, up});
        addHost(list.back(), up == kNone ? nullptr : &list[up], window);
      }
    }
  }
  /// A range may be longer than a step: each has its part. A child may end after its parent; it is
  /// then a part of that only as long as the parent lasts.
  void addHost(const Nested& span, const Nested* parent, prof::TimeWindow window) {
    const bool beganBefore = span.startNs < window.startNs && window.startNs > firstWindowNs_;
    if (beganBefore || span.startNs >= window.endNs) return;
    share(span.path, 1, span.startNs, span.endNs);
    if (parent != nullptr)
      share(parent->path, -1, span.startNs, std::min(span.endNs, parent->endNs));
  }
  void share(Path path, int sign, TimeNs startNs, TimeNs endNs) {
    auto step = std::partition_point(steps_.begin(), steps_.end(),
                                     [&](const Step& s) { return s.endNs <= startNs; });
    for (; step != steps_.end() && step->startNs < endNs; ++step) {
      const TimeNs ns = std::min(endNs, step->endNs) - std::max(startNs, step->startNs);
      times_.add({path, static_cast<std::uint32_t>(step - steps_.begin()), sign * ns});
    }
  }
  /// The innermost range around a launch.
  [[nodiscard]] Path pathAt(const HostSpan& launch) const {
    const auto found = nested_.find(launch.thread);
    if (found == nested_.end()) return PathTree::kRoot;
    const auto& list = found->second;
    const auto after = std::upper_bound(list.begin(), list.end(), launch.startNs,
                                        [](TimeNs at, const Nested& n) { return at < n.startNs; });
    auto at = after == list.begin() ? kNone : static_cast<std::size_t>(after - list.begin()) - 1;
    while (at != kNone && list[at].endNs < launch.startNs) at = list[at].up;
    return at == kNone ? PathTree::kRoot : list[at].path;
  }

  const Store& store_;
  const Selection& only_;
  std::unordered_set<StringId> frames_, leftOut_;
  std::vector<Step> steps_;
  TimeNs firstWindowNs_ = INT64_MAX;
  prof::ThreadId feeder_;  ///< that sets the steps' markers
  PathTree& tree_;
  std::unordered_map<StringId, PathTree::Name> namesAlike_;
  PathTimeSums times_;
  std::unordered_map<prof::ThreadId, std::vector<Nested>> nested_;
};

/// The steady steps inside of what was analysed, or the whole of it.
std::vector<Step> stepsOf(const Analysis& analysis) {
  std::vector<Step> steps = analysis.steps.steadyWithin(analysis.window);
  if (!steps.empty()) return steps;
  Step all;
  all.startNs = analysis.window.startNs;
  all.endNs = analysis.window.endNs;
  steps.push_back(all);
  return steps;
}

prof::Status build(const Analysis& analysis, TreeBuilder& builder) {
  return forEachChunk(*analysis.store, analysis.window,
                      [&](const Timeline& timeline, prof::TimeWindow window) {
                        builder.add(timeline, window);
                        return prof::Status();
                      });
}

/// Stacks of one run alone would leave nothing in the place that it has in the other.
prof::Result<std::pair<PathTimeSums, PathTimeSums>> timesOf(const Analysis& before,
                                                            const Analysis& after, PathTree& tree,
                                                            bool& framesLeftOut) {
  TreeBuilder a(before, stepsOf(before), tree), b(after, stepsOf(after), tree);
  for (TreeBuilder* builder : {&a, &b}) {
    if (auto status = builder->sortNames(); !status) return status.error();
  }
  framesLeftOut = a.hasFrames() != b.hasFrames();
  if (framesLeftOut) (a.hasFrames() ? a : b).leaveFramesOut();
  if (auto status = build(before, a); !status) return status.error();
  if (auto status = build(after, b); !status) return status.error();
  return std::pair(a.takeTimes(), b.takeTimes());
}

std::vector<std::int64_t> durationsOf(const Analysis& analysis) {
  std::vector<std::int64_t> values;
  for (const Step& step : stepsOf(analysis)) values.push_back(step.durNs());
  return values;
}

std::int64_t mean(std::int64_t sum, std::size_t count) {
  return count == 0 ? 0 : sum / static_cast<std::int64_t>(count);
}

/// A small generator with the same numbers everywhere.
class Draws {
 public:
  std::size_t below(std::size_t count) {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t x = state_;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return static_cast<std::size_t>((x ^ (x >> 31)) % count);
  }

 private:
  std::uint64_t state_ = 1;
};

std::int64_t resampledMedian(std::span<const std::int64_t> values, Draws& draws) {
  std::vector<std::int64_t> drawn(values.size());
  for (std::int64_t& value : drawn) value = values[draws.below(values.size())];
  return medianOf(std::move(drawn));
}

}  // namespace

std::string_view diffVerdictName(DiffVerdict verdict) {
  static constexpr std::string_view kNames[] = {"same", "slower", "faster", "new", "gone"};
  return kNames[static_cast<std::size_t>(verdict)];
}

Spread spreadOf(std::span<const std::int64_t> values) {
  Spread spread{medianOf({values.begin(), values.end()}), 0, values.size()};
  std::vector<std::int64_t> distances;
  for (const std::int64_t value : values) distances.push_back(std::abs(value - spread.medianNs));
  spread.madNs = medianOf(std::move(distances));
  return spread;
}

std::pair<std::int64_t, std::int64_t> bootstrapInterval(std::span<const std::int64_t> before,
                                                        std::span<const std::int64_t> after) {
  if (before.empty() || after.empty()) return {0, 0};
  Draws draws;
  std::vector<std::int64_t> changes(kResamples);
  for (std::int64_t& change : changes) {
    const std::int64_t a = resampledMedian(before, draws);
    change = resampledMedian(after, draws) - a;
  }
  std::sort(changes.begin(), changes.end());
  return {changes[kResamples * 25 / 1000], changes[kResamples * 975 / 1000 - 1]};
}

Difference compareSteps(std::string path, std::span<const std::int64_t> before,
                        std::span<const std::int64_t> after, std::int64_t floorNs) {
  Difference difference{
      .path = std::move(path), .before = spreadOf(before), .after = spreadOf(after)};
  difference.changeNs = difference.after.medianNs - difference.before.medianNs;
  difference.lowNs = difference.highNs = difference.changeNs;
  if (before.empty() || after.empty()) {
    const bool counts = std::abs(difference.changeNs) > floorNs;
    difference.verdict = !counts          ? DiffVerdict::Same
                         : before.empty() ? DiffVerdict::New
                                          : DiffVerdict::Gone;
    return difference;
  }
  // One step shows nothing of its noise.
  if (before.size() < 2 || after.size() < 2) return difference;
  std::tie(difference.lowNs, difference.highNs) = bootstrapInterval(before, after);
  if (std::abs(difference.changeNs) <= floorNs) return difference;
  if (difference.lowNs > 0) difference.verdict = DiffVerdict::Slower;
  if (difference.highNs < 0) difference.verdict = DiffVerdict::Faster;
  return difference;
}

prof::Result<RunDiff> diffRuns(const Analysis& before, const Analysis& after) {
  RunDiff diff;
  PathTree tree;
  auto sums = timesOf(before, after, tree, diff.framesLeftOut);
  if (!sums) return sums.error();
  const std::vector<PathTimes> a = sums->first.byPath(), b = sums->second.byPath();
  const auto stepsA = durationsOf(before);
  const auto stepsB = durationsOf(after);
  const auto floor = static_cast<std::int64_t>(kFloor * static_cast<double>(medianOf(stepsA)));
  diff.stepsBefore = !before.steps.steadyWithin(before.window).empty();
  diff.stepsAfter = !after.steps.steadyWithin(after.window).empty();
  diff.step =
      compareSteps(diff.stepsBefore || diff.stepsAfter ? "step" : "run", stepsA, stepsB, floor);
  if (diff.stepsBefore) diff.meanBeforeNs = before.meanStepNs();
  if (diff.stepsAfter) diff.meanAfterNs = after.meanStepNs();
  diff.pathsBefore = a.size();
  diff.pathsAfter = b.size();
  // Either may be null.
  const auto add = [&](const PathTimes* x, const PathTimes* y) {
    const auto from = x == nullptr ? std::vector<std::int64_t>() : x->byStep(stepsA.size());
    const auto to = y == nullptr ? std::vector<std::int64_t>() : y->byStep(stepsB.size());
    if (std::abs(medianOf(to) - medianOf(from)) <= floor) return;
    const std::string path = tree.text((x == nullptr ? y : x)->path);
    Difference difference =
        compareSteps(path.empty() ? "(outside of operators)" : path, from, to, floor);
    if (x != nullptr) difference.deviceBeforeNs = mean(x->deviceNs, stepsA.size());
    if (y != nullptr) difference.deviceAfterNs = mean(y->deviceNs, stepsB.size());
    diff.tree.push_back(std::move(difference));
  };
  for (auto x = a.begin(), y = b.begin(); x != a.end() || y != b.end();) {
    const bool isOfA = x != a.end() && (y == b.end() || x->path <= y->path);
    const bool isOfB = y != b.end() && (x == a.end() || y->path <= x->path);
    diff.pathsCommon += isOfA && isOfB ? 1 : 0;
    add(isOfA ? &*x : nullptr, isOfB ? &*y : nullptr);
    if (isOfA) ++x;
    if (isOfB) ++y;
  }
  std::sort(diff.tree.begin(), diff.tree.end(), [](const Difference& x, const Difference& y) {
    return std::abs(x.changeNs) != std::abs(y.changeNs)
               ? std::abs(x.changeNs) > std::abs(y.changeNs)
               : x.path < y.path;
  });
  return diff;
}

}  // namespace lacuna::analyzer
