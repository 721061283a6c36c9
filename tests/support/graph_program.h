// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::test {

/// What a profiler writes of a graph's work.
struct GraphRecording {
  bool graphIds = true;
  bool nodeIds = true;
  bool calls = true;
  bool making = false;    ///< when the program made the nodes
  bool oneGraph = false;  ///< the graphs are instances of one, and have its number
};

/// A program that replays graphs on one queue. Times are in microseconds. The host works and hands
/// over; the queue works off in order. What is lost is chosen afterwards, so that the same program
/// can be recorded well and badly.
class GraphProgram {
 public:
  static constexpr std::int64_t kCallUs = 5;   ///< of a launch
  static constexpr std::int64_t kStartUs = 2;  ///< from its end to the first work
  static constexpr std::int64_t kGapUs = 1;    ///< between nodes

  /// An operator of the host.
  GraphProgram& works(std::int64_t us, std::string name = "aten::stack") {
    ranges_.push_back({.startUs = hostUs_, .endUs = hostUs_ + us, .name = std::move(name)});
    hostUs_ += us;
    return *this;
  }
  /// The host, without a trace of what it does.
  GraphProgram& pauses(std::int64_t us) {
    hostUs_ += us;
    return *this;
  }
  /// Captures a graph of so many kernels and instantiates it: calls of an operator that the device
  /// hears nothing of.
  GraphProgram& captures(std::uint32_t graph, int kernels, const std::string& inOperator) {
    for (int node = 0; node < kernels; ++node) {
      ranges_.push_back({.startUs = hostUs_, .endUs = hostUs_ + kCallUs + 2, .name = inOperator});
      hostUs_ += 1;
      made_.push_back({hostUs_ + 1, originalOf(graph, node), 0});
      call("cudaLaunchKernel", kCallUs);
      hostUs_ += 1;
    }
    for (int node = 0; node < kernels; ++node)
      made_.push_back({hostUs_ + 1, nodeOf(graph, node), originalOf(graph, node)});
    call("cudaGraphInstantiate", kCallUs);
    return *this;
  }
  /// A replay of a graph of so many kernels.
  GraphProgram& replays(std::uint32_t graph, int kernels, std::int64_t kernelUs = 10) {
    const std::uint64_t correlation = call("cudaGraphLaunch", kCallUs);
    deviceUs_ = std::max(deviceUs_, hostUs_ + kStartUs);
    for (int node = 0; node < kernels; ++node) {
      add(correlation, kernelUs, "node_" + std::to_string(node), graph, node);
      deviceUs_ += kGapUs;
    }
    ++replays_;
    return *this;
  }
  /// A kernel that is launched by itself.
  GraphProgram& launches(std::int64_t kernelUs = 10) {
    const std::uint64_t correlation = call("cudaLaunchKernel", kCallUs);
    deviceUs_ = std::max(deviceUs_, hostUs_ + kStartUs);
    add(correlation, kernelUs, "eager", 0, -1);
    return *this;
  }
  GraphProgram& synchronises() {
    call("cudaDeviceSynchronize", std::max<std::int64_t>(1, deviceUs_ - hostUs_));
    return *this;
  }
  GraphProgram& beginsStep() {
    endStep();
    stepUs_ = hostUs_;
    return *this;
  }
  GraphProgram& endStep() {
    if (stepUs_ >= 0) steps_.push_back({.startUs = stepUs_, .endUs = hostUs_, .name = "step"});
    stepUs_ = -1;
    return *this;
  }

  /// The recorder writes these; the rest is lost. Replays and the nodes of each count from 0.
  using Keeps = std::function<bool(int replay, int node)>;
  GraphProgram& keeps(Keeps keeps) {
    keeps_ = std::move(keeps);
    return *this;
  }
  /// Loses these nodes of one replay.
  GraphProgram& loses(int replay, int fromNode, int toNode) {
    return keeps([=, before = keeps_](int r, int n) {
      return (!before || before(r, n)) && (r != replay || n < fromNode || n >= toNode);
    });
  }
  /// What was handed over before is not in the recording, though its work may be.
  GraphProgram& recordsFrom(std::int64_t us) {
    fromUs_ = us;
    return *this;
  }
  GraphProgram& recordsUntil(std::int64_t us) {
    untilUs_ = us;
    return *this;
  }
  [[nodiscard]] std::int64_t hostUs() const { return hostUs_; }
  [[nodiscard]] std::int64_t deviceUs() const { return deviceUs_; }
  [[nodiscard]] int replayCount() const { return replays_; }

  [[nodiscard]] std::shared_ptr<const analyzer::Store> recorded(
      const GraphRecording& how = {}) const {
    analyzer::StoreBuilder builder;
    builder.setPath("graphs.lcn");
    builder.append(prof::Process{.id = prof::ProcessId(1), .osPid = 100, .rank = -1});
    builder.append(
        prof::Thread{.id = prof::ThreadId(1), .process = prof::ProcessId(1), .osTid = 101});
    builder.append(prof::Device{.id = prof::DeviceId(1), .kind = prof::DeviceKind::Cuda});
    builder.append(prof::Queue{.id = prof::QueueId(1),
                               .device = prof::DeviceId(1),
                               .process = prof::ProcessId(1),
                               .nativeId = 7});
    for (const Host& step : steps_) appendRange(builder, step, "step");
    for (const Host& range : ranges_) appendRange(builder, range, "cpu_op");
    for (const Host& made : calls_) {
      if (how.calls) appendCall(builder, made);
    }
    for (const Work& work : work_) appendWork(builder, work, how);
    for (const Made& made : made_) {
      if (how.making)
        builder.append(prof::GraphNode{.timeNs = 1000 * made.atUs,
                                       .thread = prof::ThreadId(1),
                                       .id = made.id,
                                       .original = made.original});
    }
    return builder.build();
  }
  [[nodiscard]] analyzer::Analysis analysed(const GraphRecording& how = {}) const {
    auto analysis = analyzer::analyse(recorded(how));
    if (!analysis) throw std::runtime_error(analysis.error().message);
    return *std::move(analysis);
  }

 private:
  struct Host {
    std::int64_t startUs = 0, endUs = 0;
    std::string name;
    std::uint64_t correlation = 0;
  };
  struct Made {
    std::int64_t atUs = 0;
    std::uint64_t id = 0, original = 0;
  };
  struct Work {
    std::int64_t startUs = 0, endUs = 0;
    std::string name;
    std::uint64_t correlation = 0;
    std::uint32_t graph = 0;
    int replay = 0, node = 0;
  };

  static std::uint64_t nodeOf(std::uint32_t graph, int node) {
    return (std::uint64_t{graph} << 32) + static_cast<std::uint64_t>(node) + 1;
  }
  static std::uint64_t originalOf(std::uint32_t graph, int node) {
    return nodeOf(graph + 1000, node);
  }
  std::uint64_t call(std::string name, std::int64_t us) {
    calls_.push_back({hostUs_, hostUs_ + us, std::move(name), ++correlation_});
    hostUs_ += us;
    return correlation_;
  }
  void add(std::uint64_t correlation, std::int64_t us, std::string name, std::uint32_t graph,
           int node) {
    work_.push_back(
        {deviceUs_, deviceUs_ + us, std::move(name), correlation, graph, replays_, node});
    deviceUs_ += us;
  }
  [[nodiscard]] bool isWithin(std::int64_t startUs, std::int64_t endUs) const {
    return startUs >= fromUs_ && endUs <= untilUs_;
  }
  void appendRange(analyzer::StoreBuilder& builder, const Host& range, const char* category) const {
    if (!isWithin(range.startUs, range.endUs)) return;
    builder.append(prof::Range{.startNs = 1000 * range.startUs,
                               .durNs = 1000 * (range.endUs - range.startUs),
                               .thread = prof::ThreadId(1),
                               .category = builder.intern(category),
                               .name = builder.intern(range.name)});
  }
  void appendCall(analyzer::StoreBuilder& builder, const Host& made) const {
    if (!isWithin(made.startUs, made.endUs)) return;
    builder.append(prof::ApiCall{.startNs = 1000 * made.startUs,
                                 .durNs = 1000 * (made.endUs - made.startUs),
                                 .thread = prof::ThreadId(1),
                                 .name = builder.intern(made.name),
                                 .correlation = made.correlation});
  }
  void appendWork(analyzer::StoreBuilder& builder, const Work& work,
                  const GraphRecording& how) const {
    if (!isWithin(work.startUs, work.endUs)) return;
    if (work.graph != 0 && keeps_ && !keeps_(work.replay, work.node)) return;
    const bool isNode = work.graph != 0 && how.nodeIds;
    builder.append(prof::Kernel{.startNs = 1000 * work.startUs,
                                .durNs = 1000 * (work.endUs - work.startUs),
                                .queue = prof::QueueId(1),
                                .device = prof::DeviceId(1),
                                .correlation = work.correlation,
                                .name = builder.intern(work.name),
                                .graphId = !how.graphIds || work.graph == 0 ? 0
                                           : how.oneGraph                   ? 1
                                                                            : work.graph,
                                .graphNodeId = isNode ? nodeOf(work.graph, work.node) : 0});
  }

  std::vector<Host> steps_, ranges_, calls_;
  std::vector<Work> work_;
  std::vector<Made> made_;
  Keeps keeps_;
  std::int64_t hostUs_ = 0, deviceUs_ = 0, stepUs_ = -1;
  std::int64_t fromUs_ = INT64_MIN, untilUs_ = INT64_MAX;
  std::uint64_t correlation_ = 0;
  int replays_ = 0;
};

}  // namespace lacuna::test
