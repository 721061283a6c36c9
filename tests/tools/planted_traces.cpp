// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
//
// planted_traces FOLDER: writes made-up runs as traces, those with known faults and a hundred by chance. A part of the
// script tests/tools/same_reports.py.
#include <fmt/format.h>

#include <filesystem>

#include "lacuna/analyzer/export.h"
#include "support/planted_runs.h"

namespace {

bool write(const lacuna::test::RunPlan& plan, const std::filesystem::path& path) {
  const auto status = lacuna::analyzer::exportTrace(*lacuna::test::makeRun(plan), path, lacuna::analyzer::Format::Lcn);
  if (!status) fmt::print(stderr, "planted_traces: {}\n", status.error().message);
  return status.ok();
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
  for (std::uint32_t seed = 0; seed < kByChance; ++seed) {
    if (!write(lacuna::test::anyPlan(seed), folder / fmt::format("chance-{:02}.lcn", seed))) return 1;
  }
  return 0;
}
