// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/timeline.h"

#include <algorithm>
#include <tuple>

#include "links/graph_nodes.h"
#include "links/range_launches.h"

namespace lacuna::analyzer {
namespace {

using prof::ApiCall;
using prof::Kernel;
using prof::Memcpy;
using prof::Memset;
using prof::Range;
using prof::TimeNs;
using prof::TimeWindow;

bool touches(TimeWindow window, TimeNs startNs, TimeNs durNs) {
  return startNs < window.endNs && (startNs + durNs > window.startNs || startNs >= window.startNs);
}

prof::Status loadRanges(const Store& store, TimeWindow window, NameClasses& classes,
                        Timeline& out) {
  // The runtime's synchronisations are rows of their own besides the ranges that announce them.
  const prof::StringId runtime =
      store.rows<prof::Sync>() > 0 ? store.find("lacuna.rt") : prof::StringId();
  const RangeLaunches launches(store);
  return store
      .scan<&Range::startNs, &Range::durNs, &Range::thread, &Range::domain, &Range::category,
            &Range::name, &Range::correlation, &Range::queue, &Range::text>(
          window, [&](std::uint64_t, auto start, auto dur, auto thread, auto domain, auto category,
                      auto name, auto link, auto queue, auto text) {
            for (std::size_t i = 0; i < start.size(); ++i) {
              if (!thread[i] || queue[i] || !touches(window, start[i], dur[i])) continue;
              const Activity activity = classes.ofRange(domain[i], category[i], name[i]);
              if (activity == Activity::None) continue;
              if (activity == Activity::Sync && runtime && domain[i] == runtime) continue;
              out.host.push_back({.startNs = start[i],
                                  .endNs = start[i] + dur[i],
                                  .correlation = link[i],
                                  .thread = thread[i],
                                  .name = name[i],
                                  .wokenBy = {},
                                  .activity = activity,
                                  .launches = launches(link[i], domain[i]),
                                  .text = text[i]});
            }
          });
}

/// A call of the operating system, which a tracer notes because it may sleep. A device's own call
/// of no driver that we know shows what it launched.
bool isSystemCall(prof::ApiKind kind, std::uint64_t correlation) {
  return kind == prof::ApiKind::Other && correlation == 0;
}

prof::Status loadCalls(const Store& store, TimeWindow window, NameClasses& classes, Timeline& out) {
  return store.scan<&ApiCall::startNs, &ApiCall::durNs, &ApiCall::thread, &ApiCall::kind,
                    &ApiCall::name, &ApiCall::correlation>(
      window,
      [&](std::uint64_t, auto start, auto dur, auto thread, auto kind, auto name, auto link) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          if (!touches(window, start[i], dur[i])) continue;
          out.host.push_back({.startNs = start[i],
                              .endNs = start[i] + dur[i],
                              .correlation = link[i],
                              .thread = thread[i],
                              .name = name[i],
                              .wokenBy = {},
                              .activity = isSystemCall(kind[i], link[i]) ? Activity::OffCpu
                                                                         : classes.ofCall(name[i]),
                              .launches = link[i] != 0});
        }
      });
}

prof::Status loadThreadStates(const Store& store, TimeWindow window, Timeline& out) {
  using prof::ThreadSpan;
  return store.scan<&ThreadSpan::startNs, &ThreadSpan::durNs, &ThreadSpan::thread,
                    &ThreadSpan::state, &ThreadSpan::wokenBy>(
      window, [&](std::uint64_t, auto start, auto dur, auto thread, auto state, auto wokenBy) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          const bool running =
              state[i] == prof::ThreadState::Running || state[i] == prof::ThreadState::Unknown;
          if (running || !touches(window, start[i], dur[i])) continue;
          out.host.push_back({.startNs = start[i],
                              .endNs = start[i] + dur[i],
                              .correlation = 0,
                              .thread = thread[i],
                              .name = {},
                              .wokenBy = wokenBy[i],
                              .activity = Activity::OffCpu,
                              .launches = false});
        }
      });
}

/// Sleep that the scheduler reports has no name; a call of the system around it is what it was for.
void nameSleep(Timeline& timeline) {
  std::vector<HostSpan*> sleeps;
  for (HostSpan& span : timeline.host) {
    if (span.activity == Activity::OffCpu) sleeps.push_back(&span);
  }
  std::sort(sleeps.begin(), sleeps.end(), [](const HostSpan* a, const HostSpan* b) {
    return std::tuple(a->thread, a->startNs, b->endNs) <
           std::tuple(b->thread, b->startNs, a->endNs);
  });
  std::vector<const HostSpan*> calls;
  for (HostSpan* span : sleeps) {
    while (!calls.empty() &&
           (calls.back()->thread != span->thread || calls.back()->endNs <= span->startNs))
      calls.pop_back();
    if (span->name) {
      calls.push_back(span);
    } else if (!calls.empty()) {
      span->name = calls.back()->name;
    }
  }
}

prof::Status loadOverhead(const Store& store, TimeWindow window, Timeline& out) {
  using prof::Overhead;
  return store.scan<&Overhead::startNs, &Overhead::durNs, &Overhead::thread, &Overhead::name>(
      window, [&](std::uint64_t, auto start, auto dur, auto thread, auto name) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          if (!touches(window, start[i], dur[i])) continue;
          out.host.push_back({.startNs = start[i],
                              .endNs = start[i] + dur[i],
                              .correlation = 0,
                              .thread = thread[i],
                              .name = name[i],
                              .wokenBy = {},
                              .activity = Activity::Profiler,
                              .launches = false});
        }
      });
}

prof::Status loadSyncs(const Store& store, TimeWindow window, Timeline& out) {
  using prof::Sync;
  return store
      .scan<&Sync::startNs, &Sync::durNs, &Sync::thread, &Sync::queue, &Sync::kind, &Sync::name>(
          window,
          [&](std::uint64_t, auto start, auto dur, auto thread, auto queue, auto kind, auto name) {
            for (std::size_t i = 0; i < start.size(); ++i) {
              if (!touches(window, start[i], dur[i])) continue;
              const TimeNs end = start[i] + dur[i];
              if (kind[i] == prof::SyncKind::StreamWait) {
                out.waits.push_back({start[i], end, queue[i]});
              } else if (thread[i]) {
                out.host.push_back({.startNs = start[i],
                                    .endNs = end,
                                    .correlation = 0,
                                    .thread = thread[i],
                                    .name = name[i],
                                    .wokenBy = {},
                                    .activity = Activity::Sync,
                                    .launches = false});
              }
            }
          });
}

/// Ties work of a graph to the moment at which its node was made.
void setOrigin(const GraphNodes& nodes, const Topology& topology, std::uint64_t node,
               DeviceSpan& span) {
  if (node == 0 || nodes.empty()) return;
  const auto process = topology.processOfQueue.find(span.queue);
  if (process == topology.processOfQueue.end()) return;
  if (const GraphNodes::Origin* origin = nodes.originOf(process->second, node)) {
    span.madeBy = origin->thread;
    span.madeNs = origin->atNs;
  }
}

prof::Status loadKernels(const Store& store, TimeWindow window, const GraphNodes& nodes,
                         NameClasses& classes, Timeline& out) {
  return store.scan<&Kernel::startNs, &Kernel::durNs, &Kernel::queue, &Kernel::name,
                    &Kernel::correlation, &Kernel::graphNodeId>(
      window,
      [&](std::uint64_t, auto start, auto dur, auto queue, auto name, auto link, auto node) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          if (!touches(window, start[i], dur[i])) continue;
          out.device.push_back({.startNs = start[i],
                                .endNs = start[i] + dur[i],
                                .correlation = link[i],
                                .queue = queue[i],
                                .name = name[i],
                                .work = classes.ofKernel(name[i]),
                                .kind = DeviceSpanKind::Kernel});
          setOrigin(nodes, out.topology, node[i], out.device.back());
        }
      });
}

template <class Row>
prof::Status loadTransfers(const Store& store, TimeWindow window, const GraphNodes& nodes,
                           DeviceSpanKind kind, Timeline& out) {
  return store.scan<&Row::startNs, &Row::durNs, &Row::queue, &Row::name, &Row::correlation,
                    &Row::bytes, &Row::graphNodeId>(
      window, [&](std::uint64_t, auto start, auto dur, auto queue, auto name, auto link, auto bytes,
                  auto node) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          if (!touches(window, start[i], dur[i])) continue;
          out.device.push_back({.startNs = start[i],
                                .endNs = start[i] + dur[i],
                                .correlation = link[i],
                                .queue = queue[i],
                                .name = name[i],
                                .work = Work::Copy,
                                .kind = kind,
                                .bytes = bytes[i]});
          setOrigin(nodes, out.topology, node[i], out.device.back());
        }
      });
}

}  // namespace

Topology loadTopology(const Store& store) {
  Topology topology;
  for (std::uint64_t i = 0; i < store.rows<prof::Thread>(); ++i) {
    const auto thread = store.row<prof::Thread>(i);
    topology.processOfThread[thread.id] = thread.process;
  }
  for (std::uint64_t i = 0; i < store.rows<prof::Queue>(); ++i) {
    const auto queue = store.row<prof::Queue>(i);
    topology.processOfQueue[queue.id] = queue.process;
    topology.deviceOfQueue[queue.id] = queue.device;
  }
  return topology;
}

prof::Result<Timeline> loadTimeline(const Store& store, TimeWindow window) {
  Timeline out;
  out.topology = loadTopology(store);
  const GraphNodes& nodes = store.links().graphNodes();
  NameClasses classes(store);
  for (const prof::Status& status :
       {loadRanges(store, window, classes, out), loadCalls(store, window, classes, out),
        loadThreadStates(store, window, out), loadOverhead(store, window, out),
        loadSyncs(store, window, out), loadKernels(store, window, nodes, classes, out),
        loadTransfers<Memcpy>(store, window, nodes, DeviceSpanKind::Copy, out),
        loadTransfers<Memset>(store, window, nodes, DeviceSpanKind::Memset, out)}) {
    if (!status) return status.error();
  }
  nameSleep(out);
  std::sort(out.device.begin(), out.device.end(), [](const DeviceSpan& a, const DeviceSpan& b) {
    return std::tuple(a.startNs, a.queue, a.endNs) < std::tuple(b.startNs, b.queue, b.endNs);
  });
  return out;
}

}  // namespace lacuna::analyzer
