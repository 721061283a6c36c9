// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <simdjson.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "lacuna/analyzer/lanes.h"
#include "lacuna/analyzer/links.h"
#include "lacuna/analyzer/store.h"

/// Imports Kineto JSON to a store with all its links, with two threads. Beside it, simdjson touches
/// the same fields of the text in memory (warm, one thread), and Python's json.load reads the file.
/// All take turns on one generated file of a million events; medians count. Then the derived parts
/// of a recording's file are measured: lanes and level-of-detail pyramids of every track. Then
/// group by name over a million rows.
namespace lacuna::analyzer {
namespace {

constexpr int kRounds = 5;
constexpr int kEvents = 1'000'000;

bool json = false;

void report(std::string_view name, double value, std::string_view unit) {
  if (json) {
    fmt::print("{{\"name\": \"{}\", \"value\": {:.6g}, \"unit\": \"{}\"}}\n", name, value, unit);
  } else {
    fmt::print("{:<28} {:>12.6g} {}\n", name, value, unit);
  }
  std::fflush(stdout);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

template <class Work>
double seconds(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Half operators with shapes, a quarter each of launches and kernels, and the kernels' flows, as a
/// training step has them.
void generate(const std::filesystem::path& path) {
  std::ofstream out(path, std::ios::binary);
  out << R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU", "numSms": 108}], "traceEvents": [)";
  std::string text;
  for (int i = 0; i < kEvents; ++i) {
    text = i == 0 ? "\n" : ",\n";
    const std::string ts = fmt::format("{}.{:03}", 4203669604595 + i * 3LL, i % 1000);
    switch (i % 5) {
      case 2:
        text += fmt::format(
            "  {{\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", "
            "\"pid\": 4711, \"tid\": 4711,\n"
            "    \"ts\": {}, \"dur\": {}.{:03},\n    \"args\": {{\n      \"External id\": {}, "
            "\"cbid\": 211, \"correlation\": {}\n    }}\n  }}",
            ts, 4 + i % 7, i % 991, i, i);
        break;
      case 3:
        text += fmt::format(
            "  {{\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void "
            "at::native::elementwise_kernel<{}, 4>(int)\", \"pid\": 0, \"tid\": 7,\n    \"ts\": "
            "{}, \"dur\": {}.{:03},\n    \"args\": {{\n      \"External id\": {},\n      "
            "\"queued\": 0, \"device\": 0, \"context\": 1,\n      \"stream\": 7, \"correlation\": "
            "{},\n      \"registers per thread\": {},\n      \"shared memory\": 0,\n"
            "      \"grid\": [{}, 1, 1],\n      \"block\": [128, 1, 1],\n      \"est. achieved "
            "occupancy %\": {}\n    }}\n  }}",
            i / 5 % 150, ts, 20 + i % 90, i % 997, i - 2, i - 1, 16 + i / 5 % 40, 1 + i / 5 % 900,
            i / 5 % 100);
        break;
      case 4:
        text += fmt::format(
            "  {{\n    \"ph\": \"s\", \"id\": {}, \"pid\": 4711, \"tid\": 4711, \"ts\": {},\n    "
            "\"cat\": \"ac2g\", \"name\": \"ac2g\"\n  }}",
            i - 2, fmt::format("{}.{:03}", 4203669604595 + (i - 2) * 3LL, (i - 2) % 1000));
        break;
      default:
        text += fmt::format(
            "  {{\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::op_{}\", \"pid\": "
            "4711, \"tid\": {},\n    \"ts\": {}, \"dur\": {}.{:03},\n    \"args\": {{\n      "
            "\"External id\": {},\"Record function id\": {}, \"Sequence number\": {}, \"Fwd thread "
            "id\": 1, \"Ev Idx\": {},\n      \"Input Dims\": [[{}, 3, 224, 224], [64, 3, 7, 7], "
            "[]],\n      \"Input type\": [\"float\", \"float\", \"\"]\n    }}\n  }}",
            i / 5 % 90, 4711 + i / 5 % 2, ts, 10 + i % 60, i % 983, i, i, i / 9, i, i / 5 % 64);
    }
    out << text;
  }
  out << "\n], \"traceName\": \"x.json\", \"baseTimeNanoseconds\": 1735632360000000000}\n";
}

std::uint64_t sink = 0;

/// The work of simdjson's users on such a file: each event's fields and arguments, in place.
void touch(const simdjson::padded_string& text) {
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document = parser.iterate(text);
  for (auto event : document["traceEvents"].get_array()) {
    for (auto field : event.get_object()) {
      const simdjson::ondemand::raw_json_string key = field.key();
      if (key == "args") {
        for (auto argument : field.value().get_object()) {
          sink += static_cast<std::uint64_t>(argument.key().raw()[0]);
          sink += argument.value().raw_json_token().value().size();
        }
      } else if (key == "ts" || key == "dur") {
        sink += static_cast<std::uint64_t>(field.value().get_double().value());
      } else {
        sink += field.value().raw_json_token().value().size();
      }
    }
  }
}

/// Runs `work` in a child and answers its peak memory in bytes.
template <class Work>
std::uint64_t peakOf(Work&& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  rusage usage{};
  int status = 0;
  wait4(child, &status, 0, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

std::shared_ptr<const Store> open(const std::filesystem::path& path) {
  auto store = Store::open(path);
  if (store) return *store;
  fmt::print(stderr, "bench_import: {}\n", store.error().message);
  std::exit(1);
}

/// Each kind of link is computed for all rows when it is first asked for.
void link(const Store& store) {
  const Links& links = store.links();
  const EventRef kernel{EventRef::Table::Kernel, 0};
  sink += links.owners().processes.size();
  sink += links.launchOf(kernel).row;
  sink += links.operatorOf(kernel);
  sink += links.parentOf(0);
  sink += links.allocationPartner(0);
  sink += links.nextInFlow(0);
}

std::shared_ptr<const Store> import(const std::filesystem::path& path) {
  auto store = open(path);
  link(*store);
  return store;
}

double groupByMs(const Store& store) {
  return 1e3 * seconds([&] {
           const auto names = store.column<&prof::Range::name>();
           const auto lengths = store.column<&prof::Range::durNs>();
           std::vector<std::pair<std::uint64_t, prof::TimeNs>> groups(store.stringCount());
           for (std::size_t i = 0; i < names.size(); ++i) {
             ++groups[names[i].value].first;
             groups[names[i].value].second += lengths[i];
           }
           for (const auto& [count, total] : groups) sink += count;
         });
}

int run() {
  const auto path =
      std::filesystem::temp_directory_path() / fmt::format("lacuna-bench-{}.json", getpid());
  generate(path);
  const double bytes = static_cast<double>(std::filesystem::file_size(path));
  const std::uint64_t peak = peakOf([&] { import(path); });
  std::vector<double> ours, simd, python;
  const std::string load =
      fmt::format("python3 -c 'import json; json.load(open(\"{}\"))'", path.string());
  {
    const simdjson::padded_string text = simdjson::padded_string::load(path.string());
    for (int round = 0; round < kRounds; ++round) {
      std::shared_ptr<const Store> store;
      ours.push_back(seconds([&] { store = import(path); }));
      simd.push_back(seconds([&] { touch(text); }));
      if (round < 3)
        python.push_back(
            seconds([&] { sink += static_cast<std::uint64_t>(std::system(load.c_str())); }));
    }
  }
  report("import.file_mb", bytes / 1e6, "MB");
  report("import.mb_per_s", bytes / 1e6 / median(ours), "MB/s");
  report("import.simdjson_mb_per_s", bytes / 1e6 / median(simd), "MB/s");
  report("import.over_simdjson", median(simd) / median(ours), "ratio");
  report("import.over_python", median(python) / median(ours), "ratio");
  report("import.peak_over_size", static_cast<double>(peak) / bytes, "ratio");
  const auto store = open(path);
  report("import.links_ms", 1e3 * seconds([&] { link(*store); }), "ms");
  report("import.tracks_ms", 1e3 * seconds([&] { sink += (*buildTracks(*store))->events; }), "ms");
  std::vector<double> grouped;
  for (int round = 0; round < 15; ++round) grouped.push_back(groupByMs(*store));
  const double rows = static_cast<double>(store->rows<prof::Range>());
  report("analyze.group_by_ms_1m", median(grouped) * 1e6 / rows, "ms");
  std::filesystem::remove(path);
  return sink == 0 ? 1 : 0;
}

}  // namespace
}  // namespace lacuna::analyzer

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) lacuna::analyzer::json |= std::string_view(argv[i]) == "--json";
  return lacuna::analyzer::run();
}
