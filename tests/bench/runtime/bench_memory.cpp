// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

/// Memory of training steps: the peak of the define-by-run runtime, next to the need of a static
/// plan of the same operators and the size of all results together. These figures are
/// deterministic, on meta. Then follow libtorch's peak where it was found, and the system's figure
/// on the CPU.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <string>

#include "bench/runtime/process.h"
#include "bench/runtime/trainers.h"
#include "lacuna/runtime/memory_plan.h"

namespace {

namespace rt = lacuna::rt;

bool gJson = false;

void print(const std::string& name, double value, const char* unit) {
  if (gJson) {
    std::printf("{\"name\": \"memory.%s\", \"value\": %.6g, \"unit\": \"%s\"}\n", name.c_str(),
                value, unit);
  } else {
    std::printf("memory.%-36s %12.5g %s\n", name.c_str(), value, unit);
  }
  std::fflush(stdout);
}

double mebibytes(std::size_t bytes) {
  return static_cast<double>(bytes) / 1048576;
}

double ratio(std::size_t a, std::size_t b) {
  return static_cast<double>(a) / static_cast<double>(b);
}

/// Runs `body` in a process of its own, so that nothing is cached from before.
void alone(const std::function<void()>& body) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      body();
      std::fflush(stdout);
      std::_Exit(0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "bench_memory: %s\n", error.what());
      std::_Exit(1);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) std::exit(1);
}

void onMeta(const std::string& model) {
  const bench::Trainer trainer = bench::makeTrainer(model, rt::kMeta);
  // The first step makes what stays: the optimizer's state.
  trainer.step();
  const rt::OperatorList list = rt::recordOperators([&] { trainer.step(); }, rt::kMeta);
  const std::size_t bound = rt::lastUseBound(list);
  print(model + "_peak_mib", mebibytes(list.peak), "MiB");
  print(model + "_static_mib", mebibytes(bound), "MiB");
  print(model + "_dynamic_over_static", ratio(list.peak, bound), "ratio");
  print(model + "_keepall_over_static", ratio(rt::keepAllBound(list), bound), "ratio");
  const rt::MemoryStats stats = rt::memoryStats(rt::kMeta);
  print(model + "_reserved_over_active", ratio(stats.peakReserved, list.peak), "ratio");
}

/// Of the second step: the first makes what stays.
std::size_t peakOf(const std::string& model, rt::Device device, bench::Precision precision) {
  const bench::Trainer trainer = bench::makeTrainer(model, device, precision);
  for (int i = 0; i < 2; ++i) {
    rt::synchronize();
    rt::resetPeakMemory(device);
    trainer.step();
  }
  rt::synchronize();
  return rt::memoryStats(device).peakActive;
}

/// The peak with products in 16 bits over that in f32; parameters, gradients and state stay f32. On
/// the CPU the memory that kernels work in counts too.
void inShortTypes(const std::string& model) {
  constexpr std::pair<const char*, bench::Precision> kTypes[] = {{"bf16", bench::Precision::Amp},
                                                                 {"f16", bench::Precision::F16}};
  for (const rt::Device device : {rt::kMeta, rt::kCpu}) {
    const char* const where = device == rt::kMeta ? "" : "_cpu";
    const std::size_t wide = peakOf(model, device, bench::Precision::F32);
    for (const auto& [name, precision] : kTypes) {
      const std::size_t peak = peakOf(model, device, precision);
      print(model + "_" + name + where + "_peak_mib", mebibytes(peak), "MiB");
      print(model + "_" + name + where + "_over_f32", ratio(peak, wide), "ratio");
    }
  }
}

/// The same with the iterations planned.
void planned(const std::string& model) {
  const bench::PlannedMemory measured = bench::measurePlanned(model);
  const rt::MemoryPlanStats& plan = measured.plan;
  if (plan.fallbacks > 0) rt::fail("bench_memory", model + " left its plan: " + plan.lastFallback);
  print(model + "_arena_over_bound", ratio(plan.bytes, plan.bound), "ratio");
  print(model + "_planned_reserved_over_static",
        ratio(measured.memory.peakReserved, measured.bound), "ratio");
  print(model + "_planned_reserved_over_active",
        ratio(measured.memory.peakReserved, measured.memory.peakActive), "ratio");
}

void againstTorch(const std::string& model, const std::string& server) {
  bench::Process torch({server});
  const double theirs = torch.ask("peak_" + model, 1);
  const bench::Trainer trainer = bench::makeTrainer(model, rt::kMeta);
  trainer.step();
  print(model + "_libtorch_peak_mib", theirs / 1048576, "MiB");
  print(model + "_peak_over_libtorch",
        static_cast<double>(rt::memoryStats(rt::kMeta).peakActive) / theirs, "ratio");
}

std::size_t residentBytes(const char* field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field))
      return std::strtoull(line.c_str() + std::strlen(field), nullptr, 10) * 1024;
  }
  return 0;
}

void onCpu(const std::string& model) {
  rt::synchronize();
  const std::size_t before = residentBytes("VmRSS:");
  const bench::Trainer trainer = bench::makeTrainer(model, rt::kCpu);
  for (int i = 0; i < 2; ++i) trainer.step();
  rt::synchronize();
  const std::size_t taken = residentBytes("VmHWM:") - before;
  const rt::MemoryStats stats = rt::memoryStats();
  print(model + "_cpu_peak_mib", mebibytes(stats.peakActive), "MiB");
  const auto workspace = static_cast<std::size_t>(rt::Role::Workspace);
  print(model + "_cpu_workspace_mib", mebibytes(stats.peakByRole[workspace]), "MiB");
  print(model + "_cpu_reserved_mib", mebibytes(stats.peakReserved), "MiB");
  print(model + "_rss_mib", mebibytes(taken), "MiB");
  print(model + "_rss_over_peak", ratio(taken, stats.peakActive), "ratio");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 || (argc == 2 && std::strcmp(argv[1], "--json") != 0)) {
    const bool help =
        argc == 2 && (std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "-h") == 0);
    std::fprintf(help ? stdout : stderr,
                 "usage: bench_memory [--json]\n\nPeak memory of training steps next to a static "
                 "plan, to keeping every result, and to libtorch.\n");
    return help ? 0 : 2;
  }
  gJson = argc == 2;
  const std::filesystem::path bin = LACUNA_BIN_DIR;
  for (const char* model : {"stylegan2", "resnet18", "resnet50", "transformer", "mlp"})
    alone([&] { onMeta(model); });
  for (const char* model : {"stylegan2", "resnet18", "resnet50", "transformer", "mlp"})
    alone([&] { planned(model); });
  for (const char* model : {"resnet18", "transformer", "mlp"}) alone([&] { inShortTypes(model); });
  const std::string server = bin / "torch_server";
  if (std::filesystem::exists(server)) {
    for (const char* model : {"mlp", "resnet18", "transformer"})
      alone([&] { againstTorch(model, server); });
  }
  for (const char* model : {"stylegan2", "resnet18", "resnet50", "transformer"})
    alone([&] { onCpu(model); });
  return 0;
}
