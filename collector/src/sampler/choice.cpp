// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "sampler/choice.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>

#include "sampler/perf_ring.h"

namespace lacuna::collector::sampler {

int kernelRefusal(std::int64_t periodNs) {
  PerfRings rings;
  return rings.open(getpid(), periodNs);
}

prof::Result<Choice> chooseSampler(const RunOptions& options) {
  if (!options.sources.samples) return Choice{Sampler::Perf, {}};
  if (options.sampler == Sampler::Timer || options.sampler == Sampler::Proc)
    return Choice{options.sampler, {}};
  const int error = kernelRefusal(options.samplePeriodNs);
  if (error == 0) return Choice{Sampler::Perf, {}};
  const std::string why = fmt::format("perf_event_open: {}", std::strerror(error));
  if (options.sampler == Sampler::Perf) {
    return prof::Error{
        fmt::format("--sampler perf: the kernel refuses its samples ({}). Remedy: see lacuna "
                    "doctor, or leave --sampler out for timers in the programs instead.",
                    why)};
  }
  return Choice{Sampler::Timer, why};
}

}  // namespace lacuna::collector::sampler
