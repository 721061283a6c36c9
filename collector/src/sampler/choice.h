// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lacuna/collector/options.h"
#include "lacuna/prof/result.h"

namespace lacuna::collector::sampler {

/// Where CPU samples will come from.
struct Choice {
  Sampler use = Sampler::Perf;  ///< never Auto
  std::string why;  ///< why it is not the kernel, in words; empty where it is or was not asked for
};

/// Tries what the kernel permits. Fails, with a remedy, where the user asked for the kernel's
/// samples and may not have them.
prof::Result<Choice> chooseSampler(const RunOptions& options);
/// 0, or the errno with which the kernel refuses its samples to this process.
int kernelRefusal(std::int64_t periodNs);

}  // namespace lacuna::collector::sampler
