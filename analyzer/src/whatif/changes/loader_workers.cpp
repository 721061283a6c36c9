// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/loader/loader.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/prof/bounds.h"
#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {
namespace {

/// No host has cores for more.
constexpr std::uint32_t kMostWorkers = 1024;
/// A slider to here has a mark for each number; a run with more makes it longer.
constexpr std::uint32_t kUsualMostWorkers = 16;

RecordedNumber recordedWorkers(const Analysis& analysis) {
  const LoaderStats& loader = analysis.of<LoaderStats>();
  RecordedNumber out{.value = loader.workers, .known = loader.present && loader.workersKnown};
  if (loader.workers > 0) return out;
  // Processes of their own are in no trace of the training process.
  out.words = !loader.present        ? "not recorded"
              : !loader.workersKnown ? "unknown"
              : loader.busyNs == 0   ? "as recorded"
                                     : "none";
  return out;
}

std::string noteOfCores(const Change& change, const Simulator::Model& model) {
  if (model.hostCores > 0 && model.loader.cpuShare >= 0) return {};
  return change.text() + " assumes that the host has the cores to run the workers";
}

}  // namespace

constinit const ChangeType changes::loaderWorkers{
    .info = {.name = "loader.workers",
             .form = "loader.workers=N",
             .brief = "N workers prepare batches",
             .effect = "batches are prepared by N workers, as [above](#formula)",
             .argument = ChangeArgument::Number,
             .least = 1,
             .most = kMostWorkers,
             .error = kMeasuredOnLoaders,
             .control = ChangeControl::Slider,
             .label = "loader workers",
             .usualMost = kUsualMostWorkers,
             .recorded = recordedWorkers},
    .apply =
        [](Scenario& scenario, const Change& change, Bound) {
          scenario.loader.workers = prof::wholeOf<std::uint32_t>(change.factor);
          playLoader(scenario);
        },
    .removesStalls = alwaysStalls,
    .note = noteOfCores,
};

}  // namespace lacuna::analyzer
