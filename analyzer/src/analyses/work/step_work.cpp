// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/step_work.h"

#include "analyses/parts.h"
#include "analyses/work/launch_index.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {

void addStepWork(const Timeline& timeline, const LaunchIndex& launches, prof::TimeWindow window,
                 const StepSpans& steps, StepWork& work) {
  for (const DeviceSpan& span : timeline.device) {
    if (span.startNs < window.startNs || span.startNs >= window.endNs) continue;
    const HostSpan* launch = launches.find(span);
    if (!steps.hold(launch != nullptr ? launch->startNs : span.startNs)) {
      if (span.kind != DeviceSpanKind::Kernel) work.outside.emplace(span.queue, span.startNs);
      continue;
    }
    work.launches += launch != nullptr ? 1 : 0;
    if (span.kind != DeviceSpanKind::Kernel) continue;
    StepWork::Sum& sum = work.kernels[span.name];
    ++sum.count;
    prof::addTo(sum.ns, span.endNs - span.startNs);
  }
}

namespace of_step_work {
namespace {

void add(Analysis& analysis, const TraceChunk& chunk) {
  addStepWork(chunk.timeline, chunk.index, chunk.inSteps, analysis.scope.steps,
              analysis.of<StepWork>());
}

}  // namespace
}  // namespace of_step_work

constinit const AnalysisPart parts::stepWork{
    .name = "step work",
    .add = of_step_work::add,
};

}  // namespace lacuna::analyzer
