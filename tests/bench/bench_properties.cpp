// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
/// Draws made-up runs by seed and counts the predictions about them that break a rule. More speed
/// gains no less. No change gains more than it takes away. A change of nothing gains nothing.
/// Prints each that does, and with --write leaves the traces of its run in a folder, for `lacuna
/// whatif --explain`.
#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>

#include "lacuna/analyzer/files.h"
#include "support/prediction_properties.h"
#include "support/synthetic_run.h"

namespace {

struct Options {
  std::uint64_t seeds = 1'000;
  std::uint64_t from = 0;
  std::string folder;
  bool json = false;
};

bool readNumber(std::string_view text, std::uint64_t& into) {
  return std::from_chars(text.data(), text.data() + text.size(), into).ptr ==
         text.data() + text.size();
}

bool readOptions(int argc, char** argv, Options& options) {
  options.from = std::random_device()();
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--json") {
      options.json = true;
    } else if (word == "--write" && i + 1 < argc) {
      options.folder = argv[++i];
    } else if (i + 1 >= argc ||
               !readNumber(argv[i + 1], word == "--seeds" ? options.seeds : options.from) ||
               (word != "--seeds" && word != "--from")) {
      return false;
    } else {
      ++i;
    }
  }
  return true;
}

bool writeRun(const std::string& path, const lacuna::test::RunPlan& plan) {
  const auto status = lacuna::analyzer::exportTrace(*lacuna::test::makeRun(plan), path,
                                                    lacuna::analyzer::Format::Lcn);
  if (!status) fmt::print(stderr, "bench_properties: {}\n", status.error().message);
  return status.ok();
}

bool writeRuns(const std::string& folder, std::uint64_t seed) {
  const lacuna::test::RunPlan plan = lacuna::test::drawnPlan(seed);
  return writeRun(fmt::format("{}/seed{}.lcn", folder, seed), plan) &&
         writeRun(fmt::format("{}/seed{}-stretched.lcn", folder, seed),
                  lacuna::test::stretched(plan));
}

void print(bool json, std::string_view name, std::uint64_t value) {
  if (json) {
    fmt::print("{{\"name\": \"{}\", \"value\": {}, \"unit\": \"1\"}}\n", name, value);
  } else {
    fmt::print("{:24} {}\n", name, value);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!readOptions(argc, argv, options)) {
    fmt::print(stderr,
               "usage: bench_properties [--seeds N] [--from SEED] [--write FOLDER] [--json]\n");
    return 2;
  }
  fmt::print(stderr, "seeds {} to {}\n", options.from, options.from + options.seeds - 1);
  std::uint64_t broken = 0, runs = 0;
  for (std::uint64_t seed = options.from; seed < options.from + options.seeds; ++seed) {
    const auto lines = lacuna::test::brokenProperties(lacuna::test::drawnPlan(seed));
    for (const std::string& line : lines) fmt::print(stderr, "seed {}: {}\n", seed, line);
    broken += lines.size();
    runs += lines.empty() ? 0 : 1;
    if (!lines.empty() && !options.folder.empty() && !writeRuns(options.folder, seed)) return 1;
  }
  print(options.json, "properties.seeds", options.seeds);
  print(options.json, "properties.broken_runs", runs);
  print(options.json, "properties.broken", broken);
  return 0;
}
