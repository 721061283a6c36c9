// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

/// Speed of the runtime next to libtorch, and what recording it costs. Every side is a process of its own that serves
/// workloads; they take turns, and medians count.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "process.h"

namespace {

using bench::Process;

bool gJson = false;

void print(const std::string& name, double value, const char* unit) {
  if (gJson) {
    std::printf("{\"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"}\n", name.c_str(), value, unit);
  } else {
    std::printf("%-44s %12.4g %s\n", name.c_str(), value, unit);
  }
  std::fflush(stdout);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

struct Sides {
  Process own;
  std::optional<Process> profiled;
  std::optional<Process> torch;
};

/// Medians of nanoseconds per operator or step; NaN for a side that is not there.
struct Times {
  double own, profiled, torch;
};

double medianOf(const std::vector<double>& values) {
  return values.empty() ? __builtin_nan("") : median(values);
}

Times measure(Sides& sides, const std::string& name, int count, int rounds) {
  std::array<std::vector<double>, 3> all;
  std::array<Process*, 3> processes{&sides.own, sides.profiled ? &*sides.profiled : nullptr,
                                    sides.torch ? &*sides.torch : nullptr};
  for (int round = -1; round < rounds; ++round) {
    for (std::size_t i = 0; i < processes.size(); ++i) {
      if (processes[i] == nullptr) continue;
      const double took = processes[i]->ask(name, count) / count;
      if (round >= 0) all[i].push_back(took);
    }
  }
  return {medianOf(all[0]), medianOf(all[1]), medianOf(all[2])};
}

void dispatch(Sides& sides) {
  double hook = 0;
  for (const std::string name : {"plain", "grad", "fwdbwd"}) {
    const Times times = measure(sides, "dispatch_" + name, 100000, 11);
    print("runtime.dispatch_" + name + "_ns", times.own, "ns");
    if (sides.torch) {
      print("runtime.dispatch_" + name + "_libtorch_ns", times.torch, "ns");
      print("runtime.dispatch_" + name + "_over_libtorch", times.own / times.torch, "ratio");
      if (name == "plain") print("runtime.dispatch_wall_over_libtorch", times.own / times.torch, "ratio");
    }
    if (name == "plain") hook = times.profiled - times.own;
  }
  if (sides.profiled) print("runtime.hook_ns_per_op", hook, "ns");
}

int usage(int code) {
  std::fprintf(
      code == 0 ? stdout : stderr,
      "usage: bench_runtime [--json] [dispatch|models]\n\n"
      "Times operators and training steps of the runtime, plain, under `lacuna run`, and next to libtorch where\n"
      "it was found when this was built. Times of operators include the final wait for the queue.\n");
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  std::string part;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--json") {
      gJson = true;
    } else if (argument == "--help" || argument == "-h") {
      return usage(0);
    } else if (argument == "dispatch" || argument == "models") {
      part = argument;
    } else {
      return usage(2);
    }
  }
  const std::filesystem::path bin = LACUNA_BIN_DIR;
  const std::string server = bin / "runtime_server";
  const bench::TempFolder folder;
  Sides sides{Process({server}), {}, {}};
  if (exists(bin / "lacuna")) {
    sides.profiled.emplace(
        std::vector<std::string>{bin / "lacuna", "run", "-q", "-o", folder.path() / "bench.lcn", "--", server});
  }
  if (exists(bin / "torch_server")) sides.torch.emplace(std::vector<std::string>{bin / "torch_server"});
  if (part != "models") dispatch(sides);
  return 0;
}
