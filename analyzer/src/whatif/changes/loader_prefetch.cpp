// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/bounds.h"
#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {
namespace {

/// More batches than this no memory holds.
constexpr std::uint32_t kMostAhead = 1024;

}  // namespace

constinit const ChangeType changes::loaderPrefetch{
    .info = {.name = "loader.prefetch",
             .form = "loader.prefetch=N",
             .brief = "each worker may be N batches ahead",
             .effect = "each worker may be N batches ahead of the consumer, as [above](#formula)",
             .argument = ChangeArgument::Number,
             .least = 1,
             .most = kMostAhead,
             .error = kMeasuredOnLoaders},
    .apply =
        [](Scenario& scenario, const Change& change, Bound) {
          scenario.loader.prefetch = prof::wholeOf<std::uint32_t>(change.factor);
          playLoader(scenario);
        },
    .removesStalls = alwaysStalls,
};

}  // namespace lacuna::analyzer
