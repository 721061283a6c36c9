// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/prof/generate.h"

/// The cost of the full report of a generated run of 10 M and of 100 M events, each in a process of
/// its own, and of grouping a million rows by name.
namespace lacuna::analyzer {
namespace {

bool json = false;

void report(std::string_view name, double value, std::string_view unit) {
  if (json) {
    fmt::print("{{\"name\": \"{}\", \"value\": {:.6g}, \"unit\": \"{}\"}}\n", name, value, unit);
  } else {
    fmt::print("{:<34} {:>12.6g} {}\n", name, value, unit);
  }
  std::fflush(stdout);
}

double seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

bool generate(const std::filesystem::path& path, std::uint64_t events) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return true;
  auto writer = prof::Writer::create(path);
  if (!writer) return false;
  prof::GenerateOptions options;
  options.events = events;
  return prof::generateTrace(*writer, options).ok() && writer->finish().ok();
}

struct Cost {
  double seconds = 0;
  double peakGib = 0;
  bool ok = false;
};

/// In a child, so that its peak is its own.
Cost reportCost(const std::filesystem::path& path) {
  Cost cost;
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    auto store = Store::open(path);
    if (!store) _exit(1);
    const auto analysis = analyse(*store);
    if (!analysis) _exit(2);
    _exit(renderText(*analysis).empty() || renderJson(*analysis).empty() ? 3 : 0);
  }
  int state = 0;
  rusage usage{};
  if (wait4(child, &state, 0, &usage) != child) return cost;
  cost.seconds = seconds(start);
  cost.peakGib = static_cast<double>(usage.ru_maxrss) / (1 << 20);
  cost.ok = state == 0;
  return cost;
}

double groupByMs(const Store& store) {
  struct Sum {
    std::int64_t total = 0;
    std::uint64_t count = 0;
  };
  const auto names = store.column<&prof::Range::name>();
  const auto lengths = store.column<&prof::Range::durNs>();
  const std::size_t rows = std::min<std::size_t>(names.size(), 1'000'000);
  const auto start = std::chrono::steady_clock::now();
  std::vector<Sum> sums(store.stringCount());
  for (std::size_t i = 0; i < rows; ++i) {
    Sum& sum = sums[names[i].value];
    sum.total += lengths[i];
    ++sum.count;
  }
  const double ms = seconds(start) * 1e3;
  return sums.empty() || rows == 0 ? 0 : ms * 1e6 / static_cast<double>(rows);
}

int run(const std::filesystem::path& folder, bool large) {
  double ten = 0;
  for (const auto& [tag, events] : {std::pair{"10m", 10'000'000}, std::pair{"100m", 100'000'000}}) {
    if (events > 10'000'000 && !large) break;
    const auto path = folder / fmt::format("lacuna_bench_analyze_{}.lcn", tag);
    if (!generate(path, static_cast<std::uint64_t>(events))) {
      fmt::print(stderr, "bench_analyze: cannot write {}\n", path.string());
      return 1;
    }
    const Cost cost = reportCost(path);
    if (!cost.ok) {
      fmt::print(stderr, "bench_analyze: the report of {} failed\n", path.string());
      return 1;
    }
    report(fmt::format("analyze.report_s_{}", tag), cost.seconds, "s");
    report(fmt::format("analyze.peak_gib_{}", tag), cost.peakGib, "GiB");
    if (events == 10'000'000) {
      ten = cost.seconds;
      auto store = Store::open(path);
      if (!store) return 1;
      std::vector<double> grouped;
      for (int round = 0; round < 15; ++round) grouped.push_back(groupByMs(**store));
      std::ranges::sort(grouped);
      report("analyze.group_by_ms_1m", grouped[grouped.size() / 2], "ms");
    } else {
      report("analyze.growth_100m_over_10m", cost.seconds / ten, "ratio");
    }
  }
  return 0;
}

}  // namespace
}  // namespace lacuna::analyzer

int main(int argc, char** argv) {
  std::filesystem::path folder = std::filesystem::temp_directory_path();
  bool large = true;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--json") {
      lacuna::analyzer::json = true;
    } else if (argument == "--small") {
      large = false;
    } else if (argument.starts_with("--data=")) {
      folder = argument.substr(7);
    } else {
      fmt::print(stderr,
                 "usage: bench_analyze [--json] [--small] [--data=FOLDER]   (--small: 10 M events "
                 "only)\n");
      return argument == "--help" ? 0 : 2;
    }
  }
  return lacuna::analyzer::run(folder, large);
}
