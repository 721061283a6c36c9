// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

/// Throughput of data loaders over the number of their workers, threads and processes, on examples
/// that wait (storage) and on ones that compute (decoding). All are measured in turns, and held
/// against loading on the training thread and against what the workers could do at best.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lacuna/runtime/data.h"

namespace {

namespace rt = lacuna::rt;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kExample{2000};
constexpr std::size_t kBatch = 4;
constexpr std::size_t kExamples = 40 * kBatch;  // shared out evenly among 1, 2 and 4 workers
constexpr int kRounds = 5;

bool gJson = false;

void print(const std::string& name, double value, const char* unit) {
  if (gJson) {
    std::printf("{\"name\": \"loader.%s\", \"value\": %.6g, \"unit\": \"%s\"}\n", name.c_str(),
                value, unit);
  } else {
    std::printf("loader.%-36s %10.4g %s\n", name.c_str(), value, unit);
  }
  std::fflush(stdout);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A chain of products, which no compiler and no wider processor cuts short.
std::uint64_t compute(std::uint64_t value, std::uint64_t products) {
  for (; products > 0; --products) value = value * 6364136223846793005U + 1442695040888963407U;
  return value;
}

/// So many take as long as an example shall.
std::uint64_t productsOfAnExample() {
  constexpr std::uint64_t kTried = 1'000'000;
  double best = 1e9;
  volatile std::uint64_t keep = 1;
  for (int i = 0; i < 20; ++i) {
    const auto start = Clock::now();
    keep = compute(keep, kTried);
    best = std::min(best, secondsSince(start));
  }
  return static_cast<std::uint64_t>(kTried * std::chrono::duration<double>(kExample).count() /
                                    best);
}

template <class Make>
std::shared_ptr<rt::Dataset> numbers(Make make) {
  return std::make_shared<rt::FunctionDataset>(
      kExamples, [make](std::size_t index, rt::WorkerContext&) {
        rt::Tensor value = rt::emptyHost({}, rt::DType::I64);
        *static_cast<std::int64_t*>(value.data()) = static_cast<std::int64_t>(make(index));
        return rt::Example{value};
      });
}

struct Way {
  std::string name;
  rt::WorkerKind kind;
  unsigned workers;
  std::vector<double> rates;  ///< examples a second, of each round
};

std::vector<Way> allWays() {
  std::vector<Way> ways{{"serial", rt::WorkerKind::Thread, 0, {}}};
  for (const unsigned workers : {1U, 2U, 4U}) {
    ways.push_back({"threads_" + std::to_string(workers), rt::WorkerKind::Thread, workers, {}});
    ways.push_back({"processes_" + std::to_string(workers), rt::WorkerKind::Process, workers, {}});
  }
  return ways;
}

/// The rate of an epoch after the one in which the workers start.
double examplesPerSecond(const std::shared_ptr<rt::Dataset>& dataset, const Way& way) {
  rt::LoaderOptions options;
  options.batch = kBatch;
  options.workers = way.workers;
  options.kind = way.kind;
  rt::DataLoader loader(dataset, options);
  double seconds = 0;
  for (int epoch = 0; epoch < 2; ++epoch) {
    const auto start = Clock::now();
    std::size_t seen = 0;
    for (const rt::Batch& batch : loader) seen += static_cast<std::size_t>(batch[0].size(0));
    seconds = secondsSince(start);
    if (seen != kExamples) rt::fail("bench_loader", "an epoch lacks examples");
  }
  return kExamples / seconds;
}

/// `atBest`: how many workers can be at work at the same time.
void measure(const std::string& name, const std::shared_ptr<rt::Dataset>& dataset,
             unsigned atBest) {
  std::vector<Way> ways = allWays();
  for (int round = 0; round < kRounds; ++round) {
    for (Way& way : ways) way.rates.push_back(examplesPerSecond(dataset, way));
  }
  const std::vector<double> serial = ways.front().rates;
  for (const Way& way : ways) {
    print(name + "_" + way.name, median(way.rates), "examples/s");
    if (way.workers == 0) continue;
    std::vector<double> ratios;
    for (std::size_t i = 0; i < serial.size(); ++i) ratios.push_back(way.rates[i] / serial[i]);
    const double ratio = median(ratios);
    print(name + "_" + way.name + "_over_serial", ratio, "ratio");
    print(name + "_" + way.name + "_over_ideal", ratio / std::min(way.workers, atBest), "ratio");
  }
}

int usage(int code) {
  std::fprintf(code == 0 ? stdout : stderr,
               "usage: bench_loader [--json]\n\nExamples a second of a data loader by the number "
               "of its workers.\n");
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") != 0)
      return usage(std::strcmp(argv[i], "--help") == 0 ? 0 : 2);
    gJson = true;
  }
  try {
    const auto sleeping = numbers([](std::size_t index) {
      std::this_thread::sleep_for(kExample);
      return index;
    });
    measure("sleep", sleeping, ~0U);
    const auto computing =
        numbers([products = productsOfAnExample()](std::size_t i) { return compute(i, products); });
    measure("compute", computing, std::max(1U, std::thread::hardware_concurrency()));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_loader: %s\n", error.what());
    return 1;
  }
}
