// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
//
// planted_traces FOLDER: writes made-up runs as traces, those with known faults and a hundred by
// chance. A part of the script tests/tools/same_reports.py.
#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "lacuna/analyzer/files.h"
#include "support/graph_program.h"
#include "support/planted_runs.h"

namespace {

using lacuna::test::RunPlan;

/// Runs with the findings that are no planted faults, and those that chance plants too seldom.
constexpr std::array kOthers{
    RunPlan{.steps = 60,
            .batchNs = 500'000,
            .workers = 2,
            .stepsPerEpoch = 20,
            .restartNs = 80'000'000},
    RunPlan{.steps = 60,
            .batchNs = 30'000'000,
            .workers = 2,
            .stepsPerEpoch = 20,
            .restartNs = 300'000'000},
    RunPlan{.largeBytes = 30 << 20, .runsOut = true},
    RunPlan{.deviceBytes = 125 << 20},
    RunPlan{.steps = 20,
            .operators = 10,
            .kernelNs = 4'000,
            .batchNs = 1'000,
            .syncEachStep = true,
            .roundTrips = 10},
    RunPlan{.kernelName = "sgemm_128x64", .syncEachStep = true},
    RunPlan{.kernelName = "sgemm_128x64", .knob = "autotune", .knobValue = "off"},
    RunPlan{.ranks = 2, .dataParallel = true},
    RunPlan{.syncEveryOperators = 8, .knob = "debug", .knobValue = "anomaly detection"},
    RunPlan{.profilerNs = 20'000'000},
    RunPlan{.steps = 40, .cpuDevice = true, .largeBytes = 200 << 20},
};

bool write(const lacuna::analyzer::Store& store, const std::filesystem::path& path) {
  const auto status = lacuna::analyzer::exportTrace(store, path, lacuna::analyzer::Format::Lcn);
  if (!status) fmt::print(stderr, "planted_traces: {}\n", status.error().message);
  return status.ok();
}
bool write(const RunPlan& plan, const std::filesystem::path& path) {
  return write(*lacuna::test::makeRun(plan), path);
}

/// Steps that replay two graphs: recorded whole, with losses in some replays, without any work of a
/// graph, and cut off.
bool writeGraphs(const std::filesystem::path& folder) {
  lacuna::test::GraphProgram program;
  program.captures(1, 12, "aten::mm").captures(2, 5, "aten::add");
  for (int step = 0; step < 20; ++step)
    program.beginsStep().works(40).replays(1, 12).replays(2, 5).launches().synchronises();
  program.endStep();
  const lacuna::test::GraphRecording how{.making = true};
  lacuna::test::GraphProgram some = program, none = program, cut = program;
  some.keeps([](int replay, int node) { return replay % 8 != 3 || node < 2; });
  none.keeps([](int, int) { return false; });
  cut.recordsUntil(program.deviceUs() - 60);
  return write(*program.recorded(how), folder / "graphs-whole.lcn") &&
         write(*some.recorded(how), folder / "graphs-lacking.lcn") &&
         write(*none.recorded(), folder / "graphs-none.lcn") &&
         write(*cut.recorded(), folder / "graphs-cut.lcn");
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::uint32_t kByChance = 100;
  if (argc != 2) {
    fmt::print(stderr, "planted_traces: name the folder to write to\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::size_t number = 0;
  for (const lacuna::test::PlantedRun& run : lacuna::test::plantedRuns()) {
    if (!write(run.plan, folder / fmt::format("planted-{:02}.lcn", number++))) return 1;
  }
  for (const RunPlan& plan : kOthers) {
    if (!write(plan, folder / fmt::format("planted-{:02}.lcn", number++))) return 1;
  }
  for (std::uint32_t seed = 0; seed < kByChance; ++seed) {
    if (!write(lacuna::test::anyPlan(seed), folder / fmt::format("chance-{:02}.lcn", seed)))
      return 1;
  }
  return writeGraphs(folder) ? 0 : 1;
}
