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
#include <thread>
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
  double profiledOverOwn;  ///< median of the rounds' ratios
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
  std::vector<double> ratios;
  for (std::size_t i = 0; i < all[1].size(); ++i) ratios.push_back(all[1][i] / all[0][i]);
  return {medianOf(all[0]), medianOf(all[1]), medianOf(all[2]), medianOf(ratios)};
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

/// Whole training steps. The profiled one is compared pair by pair, so that slow changes of the machine cancel out.
void models(Sides& sides) {
  const std::array<std::pair<std::string, int>, 3> networks{{{"mlp", 40}, {"transformer", 1}, {"resnet18", 1}}};
  double worst = 0;
  for (const auto& [name, count] : networks) {
    const Times times = measure(sides, "step_" + name, count, name == "resnet18" ? 9 : 15);
    print("runtime." + name + "_step_ms", times.own / 1e6, "ms");
    if (sides.torch) {
      print("runtime." + name + "_libtorch_step_ms", times.torch / 1e6, "ms");
      print("runtime." + name + "_over_libtorch", times.own / times.torch, "ratio");
    }
    if (!sides.profiled || name == "mlp") continue;
    print("runtime." + name + "_profiled_step_over_plain", times.profiledOverOwn, "ratio");
    worst = std::max(worst, times.profiledOverOwn);
  }
  if (sides.profiled) print("runtime.profiled_step_over_plain", worst, "ratio");
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
  // All sides compute with the same number of threads.
  ::setenv("OMP_NUM_THREADS", std::to_string(std::thread::hardware_concurrency()).c_str(), 0);
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
  if (part != "dispatch") models(sides);
  return 0;
}
