// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

/// Speed of the runtime next to libtorch, and what recording it costs. Every side is a process of
/// its own that serves workloads; they take turns, and medians count.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "process.h"

namespace {

using bench::Process;

bool gJson = false;

void print(const std::string& name, double value, const char* unit) {
  if (gJson) {
    std::printf("{\"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"}\n", name.c_str(), value,
                unit);
  } else {
    std::printf("%-44s %12.4g %s\n", name.c_str(), value, unit);
  }
  std::fflush(stdout);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
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

/// Each turn begins after a `pause`.
Times measure(const std::array<Process*, 3>& sides, const std::string& name, int count, int rounds,
              std::chrono::milliseconds pause = {}) {
  std::array<std::vector<double>, 3> all;
  for (int round = -1; round < rounds; ++round) {
    for (std::size_t i = 0; i < sides.size(); ++i) {
      if (sides[i] == nullptr) continue;
      std::this_thread::sleep_for(pause);
      const double took = sides[i]->ask(name, count) / count;
      if (round >= 0) all[i].push_back(took);
    }
  }
  return {medianOf(all[0]), medianOf(all[1]), medianOf(all[2])};
}

Process* orNull(std::optional<Process>& side) {
  return side ? &*side : nullptr;
}

struct Ratio {
  double median;
  double halfWidth;  ///< of the interval that holds the true median with 95 %
};

/// The ratio of all rounds. A process keeps what its addresses and the places of its threads cost
/// it, so rounds differ by more than their steps do, and the interval is that of rounds.
Ratio ratioOf(const std::vector<std::vector<double>>& rounds) {
  std::vector<double> all, medians;
  for (const std::vector<double>& round : rounds) {
    all.insert(all.end(), round.begin(), round.end());
    medians.push_back(median(round));
  }
  const auto count = static_cast<double>(medians.size());
  double mean = 0, squares = 0;
  for (const double one : medians) mean += one / count;
  for (const double one : medians) squares += (one - mean) * (one - mean);
  return {median(std::move(all)), 2 * std::sqrt(squares / (count - 1) / count)};
}

constexpr int kRounds = 12;

/// The addition of recording to a step, in rounds with processes of their own. Each round takes
/// plain and profiled steps in the order A B B A, so a machine that grows faster or slower favours
/// neither. Each step is compared only with its neighbour, because slow spells are short. No other
/// process takes turns: its threads would still spin when the next step begins.
Ratio addedToStep(const std::vector<std::string>& plainCommand,
                  const std::vector<std::string>& profiledCommand, const std::string& step,
                  double seconds) {
  using Clock = std::chrono::steady_clock;
  std::vector<std::vector<double>> rounds(kRounds);
  for (std::vector<double>& ratios : rounds) {
    Process plain(plainCommand), profiled(profiledCommand);
    for (int warmUp = 0; warmUp < 2; ++warmUp) {
      plain.ask(step, 1);
      profiled.ask(step, 1);
    }
    const auto end = Clock::now() + std::chrono::duration<double>(seconds / kRounds);
    while (ratios.size() < 6 || Clock::now() < end) {
      const double before = plain.ask(step, 1);
      ratios.push_back(profiled.ask(step, 1) / before);
      const double with = profiled.ask(step, 1);
      ratios.push_back(with / plain.ask(step, 1));
    }
  }
  return ratioOf(rounds);
}

/// The addition of recording to an operator, measured in two ways. With a pause before it, earlier
/// records are drained and the recorder's own process sleeps. Without a pause, the recorder writes
/// six million operators a second to disk meanwhile. It slows the measured process where two
/// hardware threads share a core, as on many small machines.
void hook(Sides& sides) {
  constexpr std::chrono::milliseconds kDrained{60};
  const auto added = [&](std::chrono::milliseconds pause) {
    const Times times =
        measure({&sides.own, &*sides.profiled, nullptr}, "dispatch_plain", 100000, 21, pause);
    return times.profiled - times.own;
  };
  print("runtime.hook_ns_per_op", added(kDrained), "ns");
  print("runtime.hook_unpaused_ns_per_op", added({}), "ns");
}

void dispatch(Sides& sides) {
  for (const std::string name : {"plain", "grad", "fwdbwd"}) {
    const Times times =
        measure({&sides.own, nullptr, orNull(sides.torch)}, "dispatch_" + name, 100000, 11);
    print("runtime.dispatch_" + name + "_ns", times.own, "ns");
    if (sides.torch) {
      print("runtime.dispatch_" + name + "_libtorch_ns", times.torch, "ns");
      print("runtime.dispatch_" + name + "_over_libtorch", times.own / times.torch, "ratio");
      if (name == "plain")
        print("runtime.dispatch_wall_over_libtorch", times.own / times.torch, "ratio");
    }
  }
  if (sides.profiled) hook(sides);
}

/// The ratio of a step with Autocast: each next to an f32 step of the same process.
void amp(Process& own, const std::string& network, int count, int rounds) {
  std::vector<double> steps, ratios;
  for (int round = -1; round < rounds; ++round) {
    const double wide = own.ask("step_" + network, count) / count;
    const double narrow = own.ask("step_" + network + "_amp", count) / count;
    if (round < 0) continue;
    steps.push_back(narrow);
    ratios.push_back(narrow / wide);
  }
  print("runtime." + network + "_amp_step_ms", median(steps) / 1e6, "ms");
  print("runtime." + network + "_amp_over_f32", median(ratios), "ratio");
}

void models(Sides& sides, const std::vector<std::string>& plain,
            const std::vector<std::string>& profiled) {
  const std::array<std::pair<std::string, int>, 3> networks{
      {{"mlp", 40}, {"transformer", 1}, {"resnet18", 1}}};
  double worst = 0;
  for (const auto& [name, count] : networks) {
    const std::string step = "step_" + name;
    const Times times = measure({&sides.own, nullptr, orNull(sides.torch)}, step, count,
                                name == "resnet18" ? 9 : 15);
    print("runtime." + name + "_step_ms", times.own / 1e6, "ms");
    if (sides.torch) {
      print("runtime." + name + "_libtorch_step_ms", times.torch / 1e6, "ms");
      print("runtime." + name + "_over_libtorch", times.own / times.torch, "ratio");
    }
    amp(sides.own, name, count, name == "resnet18" ? 9 : 15);
    if (profiled.empty() || name == "mlp") continue;
    const Ratio ratio = addedToStep(plain, profiled, step, name == "resnet18" ? 90 : 45);
    print("runtime." + name + "_profiled_step_over_plain", ratio.median, "ratio");
    print("runtime." + name + "_profiled_step_uncertainty", ratio.halfWidth, "ratio");
    worst = std::max(worst, ratio.median);
  }
  if (!profiled.empty()) print("runtime.profiled_step_over_plain", worst, "ratio");
}

/// A replayed operator next to a dispatched one, and steps with a static graph next to steps
/// without, in turns within one process.
void staticGraph(Process& own) {
  std::vector<double> replayed, plain;
  for (int round = 0; round < 9; ++round) {
    replayed.push_back(own.ask("host_ns_replayed", 1));
    plain.push_back(own.ask("host_ns_plain", 1));
  }
  print("runtime.replay_ns", median(replayed), "ns");
  print("runtime.replay_over_dispatch", median(replayed) / median(plain), "ratio");
  const std::array<std::tuple<std::string, std::string, int>, 3> networks{
      {{"mlp", "runtime.mlp_static_over_plain", 40},
       {"transformer", "runtime.transformer_static_over_plain", 1},
       {"resnet18", "runtime.resnet18_static_over_plain", 1}}};
  for (const auto& [name, ratio, count] : networks) {
    std::vector<double> ratios;
    for (int round = -3; round < (name == "resnet18" ? 15 : 31); ++round) {
      const std::string step = "step_" + name;
      const bool first = round % 2 == 0;  // each of the two comes first in turn
      double without = first ? own.ask(step, count) : 0;
      const double with = own.ask(step + "_static", count);
      if (!first) without = own.ask(step, count);
      if (round >= 0) ratios.push_back(with / without);
    }
    print(ratio, median(std::move(ratios)), "ratio");
  }
}

/// A small batch through a network spends much of its time on bringing weights into the order that
/// the library wants.
void inference(Process& own) {
  std::vector<double> kept, ratios;
  for (int round = -1; round < 15; ++round) {
    const double with = own.ask("infer_kept", 20) / 20;
    const double without = own.ask("infer_arranged", 20) / 20;
    if (round < 0) continue;
    kept.push_back(with);
    ratios.push_back(with / without);
  }
  print("runtime.resnet18_inference_ms", median(kept) / 1e6, "ms");
  print("runtime.resnet18_inference_kept_over_arranged", median(ratios), "ratio");
}

/// Convolutions on pictures as operators hand them on, next to the orders that the library chooses:
/// where they lie so already, and where operators in between have them row-major. In a process
/// whose threads nobody else uses.
void pictureOrders(const std::vector<std::string>& command) {
  Process own(command);
  std::vector<double> ours, overBlocked, overReordered;
  for (int round = -1; round < 11; ++round) {
    const double last = own.ask("convolutions_channels_last", 1);
    const double blocked = own.ask("convolutions_blocked", 1);
    const double reordered = own.ask("convolutions_reordered", 1);
    if (round < 0) continue;
    ours.push_back(last);
    overBlocked.push_back(last / blocked);
    overReordered.push_back(last / reordered);
  }
  print("runtime.resnet18_convolutions_ms", median(ours) / 1e6, "ms");
  print("runtime.channels_last_over_blocked", median(overBlocked), "ratio");
  print("runtime.channels_last_over_reordered", median(overReordered), "ratio");
}

int usage(int code) {
  std::fprintf(code == 0 ? stdout : stderr,
               "usage: bench_runtime [--json] [dispatch|inference|models|orders|static]\n\n"
               "Times operators and training steps of the runtime, plain, under `lacuna run`, and "
               "next to libtorch where\n"
               "it was found when this was built. Times of operators include the final wait for "
               "the queue.\n");
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
    } else if (argument == "dispatch" || argument == "inference" || argument == "models" ||
               argument == "orders" || argument == "static") {
      part = argument;
    } else {
      return usage(2);
    }
  }
  // All sides compute with the same number of threads.
  ::setenv("OMP_NUM_THREADS", std::to_string(std::thread::hardware_concurrency()).c_str(), 0);
  const std::filesystem::path bin = LACUNA_BIN_DIR;
  const bench::TempFolder folder;
  const std::vector<std::string> plain{bin / "runtime_server"};
  std::vector<std::string> profiled;
  if (exists(bin / "lacuna")) {
    profiled = {bin / "lacuna", "run",   "-q", "--force", "-o", folder.path() / "bench.lcn",
                "--",           plain[0]};
  }
  Sides sides{Process(plain), {}, {}};
  if (exists(bin / "torch_server"))
    sides.torch.emplace(std::vector<std::string>{bin / "torch_server"});
  if (part.empty() || part == "dispatch") {
    if (!profiled.empty()) sides.profiled.emplace(profiled);
    dispatch(sides);
    sides.profiled.reset();
  }
  if (part.empty() || part == "inference") inference(sides.own);
  if (part.empty() || part == "orders") pictureOrders(plain);
  if (part.empty() || part == "static") staticGraph(sides.own);
  if (part.empty() || part == "models") models(sides, plain, profiled);
  return 0;
}
