// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/forward_passes.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>

#include "analyses/parts.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::Range;
using prof::StringId;
using prof::ThreadId;
using prof::TimeNs;
using prof::TimeWindow;

/// Forward passes of one size.
struct Passes {
  std::uint64_t count = 0;
  std::int64_t ns = 0;
};
using PassesByShapes = std::map<StringId, Passes>;

/// One thread. Ranges come by start, those that enclose others first.
class PassesOfThread {
 public:
  PassesOfThread(const StepSpans& steps, ForwardPasses& out, PassesByShapes& all)
      : steps_(steps), out_(out), all_(all) {}

  void addForward(TimeWindow time) {
    // A module that another one calls runs within its pass.
    if (time.startNs < forward_.endNs) return;
    endForward();
    forward_ = time;
    if (waiting_.empty()) startNs_ = time.startNs;
  }
  void addOperator(TimeNs startNs, StringId shapes) {
    if (shapes && !shapes_ && startNs < forward_.endNs) shapes_ = shapes;
  }
  void addBackward(TimeWindow time) {
    endForward();
    const auto most = std::ranges::max_element(
        waiting_, {}, [](const auto& passes) { return passes.second.count; });
    if (most != waiting_.end() && steps_.hold(time.startNs))
      answer(most->first, most->second, time);
    waiting_.clear();
  }

 private:
  void endForward() {
    if (shapes_) {
      Passes& passes = waiting_[shapes_];
      ++passes.count;
      prof::addTo(passes.ns, forward_.endNs - forward_.startNs);
    }
    shapes_ = {};
  }
  void answer(StringId shapes, const Passes& alike, TimeWindow backward) {
    std::uint64_t all = 0;
    for (const auto& [other, passes] : waiting_) all += passes.count;
    const double share = static_cast<double>(alike.count) / static_cast<double>(all);
    std::int64_t ns =
        prof::wholeOf<std::int64_t>(share * static_cast<double>(backward.endNs - backward.startNs));
    prof::addTo(ns, alike.ns);
    ++out_.backwards;
    out_.alike += alike.count;
    prof::addTo(out_.ns, ns);
    all_[shapes].count += alike.count;
    const TimeWindow whole{startNs_, backward.endNs};
    if (whole.endNs - whole.startNs > out_.longest.endNs - out_.longest.startNs)
      out_.longest = whole;
  }

  const StepSpans& steps_;
  ForwardPasses& out_;
  PassesByShapes& all_;       ///< of all threads, as far as they are alike
  TimeWindow forward_{0, 0};  ///< the last one
  StringId shapes_{};         ///< of its first operator
  TimeNs startNs_ = 0;        ///< of the first pass since the last backward
  PassesByShapes waiting_;    ///< since the last backward
};

bool isDigit(std::string_view character) {
  return !character.empty() && character.front() >= '0' && character.front() <= '9';
}

/// The ranges that count, by the ids of their names.
struct Names {
  explicit Names(const Store& store)
      : phase(store.find("phase")),
        operators(store.find("operator")),
        forward(store.find("forward")),
        backward(store.find("backward")) {}
  StringId phase, operators, forward, backward;
};

}  // namespace

FirstTensor firstTensorOf(std::string_view shapes) {
  // Lists of tensors have brackets, too, and tensors without dimensions have nothing in theirs.
  std::size_t open = shapes.find('[');
  while (open < shapes.size() && !isDigit(shapes.substr(open + 1, 1)))
    open = shapes.find('[', open + 1);
  const std::size_t close = shapes.find(']', std::min(open, shapes.size()));
  if (close == std::string_view::npos) return {};
  const std::size_t end = shapes.find_last_of(" [{,", open == 0 ? 0 : open - 1);
  const std::size_t begin = open == 0 || end == std::string_view::npos ? 0 : end + 1;
  FirstTensor out{shapes.substr(begin, close + 1 - begin)};
  std::from_chars(shapes.data() + open + 1, shapes.data() + close, out.rows);
  return out;
}

prof::Result<ForwardPasses> forwardPasses(const Store& store, TimeWindow window,
                                          const TableScope& scope) {
  ForwardPasses out;
  const Names names(store);
  if (!names.phase || !names.forward || !names.backward) return out;
  PassesByShapes all;
  std::unordered_map<ThreadId, PassesOfThread> threads;
  const auto status = store.scan<&Range::startNs, &Range::durNs, &Range::thread, &Range::category,
                                 &Range::name, &Range::text, &Range::queue>(
      window, [&](std::uint64_t, auto start, auto dur, auto thread, auto category, auto name,
                  auto text, auto queue) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          if (queue[i] || start[i] < window.startNs || start[i] >= window.endNs ||
              !scope.only.holds(thread[i]))
            continue;
          const bool isPhase = category[i] == names.phase;
          if (!isPhase && category[i] != names.operators) continue;
          PassesOfThread& passes =
              threads.try_emplace(thread[i], scope.steps, out, all).first->second;
          const TimeWindow time{start[i], start[i] + dur[i]};
          if (!isPhase) passes.addOperator(start[i], text[i]);
          if (isPhase && name[i] == names.forward) passes.addForward(time);
          if (isPhase && name[i] == names.backward) passes.addBackward(time);
        }
      });
  if (!status) return status.error();
  const auto most =
      std::ranges::max_element(all, {}, [](const auto& passes) { return passes.second.count; });
  if (most == all.end()) return out;
  const FirstTensor input = firstTensorOf(store.text(most->first));
  out.input = input.text;
  out.inputRows = input.rows;
  return out;
}

namespace of_forward_passes {
namespace {

prof::Status compute(Analysis& analysis) {
  return keep(analysis, analyzer::forwardPasses(*analysis.store, analysis.window, analysis.scope));
}

}  // namespace
}  // namespace of_forward_passes

constinit const AnalysisPart parts::forwardPasses{
    .name = "forward passes",
    .compute = of_forward_passes::compute,
};

}  // namespace lacuna::analyzer
