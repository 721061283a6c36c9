// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/host_before_steps.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyses/disturbance/thread_share.h"

namespace lacuna::analyzer {
namespace {

using prof::TimeNs;
using prof::TimeWindow;

/// From the first work of any device; empty where the first step was there before.
TimeWindow beforeSteps(const Analysis& analysis) {
  if (analysis.devices.empty() || analysis.steps.all.empty()) return {0, 0};
  TimeNs work = analysis.devices.front().window.startNs;
  for (const DeviceAccount& device : analysis.devices) work = std::min(work, device.window.startNs);
  return {work, std::max(work, analysis.steps.all.front().startNs)};
}

/// Time that a thread's samples within the window stand for, by the innermost frame.
prof::Result<std::unordered_map<prof::FrameId, double>> sampledNs(const Store& store,
                                                                  prof::ThreadId wanted,
                                                                  TimeWindow window) {
  using prof::CpuSample;
  std::unordered_map<prof::FrameId, double> out;
  const auto status =
      store.scan<&CpuSample::timeNs, &CpuSample::thread, &CpuSample::stack, &CpuSample::weightNs>(
          window, [&](std::uint64_t, auto time, auto thread, auto stack, auto weight) {
            for (std::size_t i = 0; i < time.size(); ++i) {
              if (thread[i] != wanted || time[i] < window.startNs || time[i] >= window.endNs)
                continue;
              out[stack[i]] += static_cast<double>(weight[i]);
            }
          });
  if (!status) return status.error();
  return out;
}

prof::Result<std::vector<UnknownPlaces::Library>> librariesOf(const Store& store,
                                                              prof::ThreadId thread,
                                                              TimeWindow window) {
  using prof::StackFrame;
  const auto sampled = sampledNs(store, thread, window);
  if (!sampled) return sampled.error();
  std::vector<UnknownPlaces::Library> out;
  if (sampled->empty()) return out;
  std::unordered_map<prof::StringId, double> byModule;
  double sum = 0;
  const auto status = store.scan<&StackFrame::id, &StackFrame::module>(
      {}, [&](std::uint64_t, auto id, auto module) {
        for (std::size_t i = 0; i < id.size(); ++i) {
          if (const auto found = sampled->find(id[i]); found != sampled->end())
            byModule[module[i]] += found->second;
        }
      });
  if (!status) return status.error();
  for (const auto& [frame, ns] : *sampled) sum += ns;
  for (const auto& [module, ns] : byModule) {
    if (module && sum > 0) out.push_back({std::string(store.text(module)), ns / sum});
  }
  std::ranges::sort(out, [](const auto& a, const auto& b) {
    return std::tie(b.share, a.path) < std::tie(a.share, b.path);
  });
  return out;
}

}  // namespace

prof::Status findHostBeforeSteps(Analysis& analysis) {
  const TimeWindow window = beforeSteps(analysis);
  if (analysis.of<UnknownPlaces>().beforeNs == 0 || window.startNs >= window.endNs) return {};
  const Store& store = *analysis.store;
  for (const auto& [name, into] :
       {std::pair(kThreadCpu, &analysis.of<UnknownPlaces>().ranShare),
        std::pair(kWaitingForCore, &analysis.of<UnknownPlaces>().waitedShare)}) {
    const auto share = threadShare(store, analysis.steps.thread, name, window);
    if (!share) return share.error();
    *into = *share;
  }
  auto libraries = librariesOf(store, analysis.steps.thread, window);
  if (!libraries) return libraries.error();
  analysis.of<UnknownPlaces>().libraries = std::move(*libraries);
  return {};
}

}  // namespace lacuna::analyzer
