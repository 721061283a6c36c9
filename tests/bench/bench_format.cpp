// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "lacuna/prof/generate.h"
#include "lacuna/prof/reader.h"
#include "lacuna/prof/writer.h"
#include "support/temp_dir.h"

/// Size and speed of .lcn files on the generator's mix of ranges, API calls, kernels and
/// allocations, on one thread. All figures are taken at the writer's default compression level,
/// encode, load and floor in turns; medians.
namespace lacuna::prof {
namespace {

constexpr int kRounds = 9;
constexpr std::uint64_t kEvents = 3'000'000;
constexpr std::uint64_t kLargeEvents = 100'000'000;

bool json = false;

void report(const char* name, double value, const char* unit, const char* note = "") {
  if (json) {
    std::printf("{\"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"}\n", name, value, unit);
  } else {
    std::printf("%-36s %14.6g %-10s %s\n", name, value, unit, note);
  }
  std::fflush(stdout);
}

void check(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "bench_format: %s\n", status.error().message.c_str());
  std::exit(1);
}

double seconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// The generated rows of the four main kinds, with the texts they refer to.
struct Mix {
  GeneratedRows rows;
  std::vector<std::string> texts;

  [[nodiscard]] std::uint64_t events() const {
    return rows.ranges.startNs.size() + rows.apiCalls.startNs.size() + rows.kernels.startNs.size() +
           rows.allocations.timeNs.size();
  }
};

Mix makeMix(std::uint32_t processes) {
  Mix mix;
  GenerateOptions options;
  options.processes = processes;
  TraceGenerator generator(options, [&](std::string_view text) {
    const auto found = std::find(mix.texts.begin(), mix.texts.end(), text);
    if (found == mix.texts.end()) {
      mix.texts.emplace_back(text);
      return StringId(static_cast<std::uint32_t>(mix.texts.size()));
    }
    return StringId(static_cast<std::uint32_t>(found - mix.texts.begin() + 1));
  });
  while (mix.events() < kEvents) generator.step(mix.rows);
  return mix;
}

std::uint64_t encode(const Mix& mix, const std::filesystem::path& path) {
  auto writer = Writer::create(path);
  check(writer.status());
  for (const std::string& text : mix.texts) writer->intern(text);
  writer->append<Range>(mix.rows.ranges);
  writer->append<ApiCall>(mix.rows.apiCalls);
  writer->append<Kernel>(mix.rows.kernels);
  writer->append<Allocation>(mix.rows.allocations);
  check(writer->finish());
  return writer->bytesWritten();
}

template <class Row>
std::uint64_t scanAll(const Reader& reader) {
  constexpr auto kColumns = Row::columns();
  std::uint64_t rows = 0;
  check(reader.scanColumns(Row::kTable, {}, kColumns,
                           [&](std::size_t count, const void* const*) { rows += count; }));
  return rows;
}

template <class Row>
std::uint64_t tableAll(const Reader& reader) {
  const auto table = reader.table<Row>();
  check(table.status());
  return reader.rows<Row>();
}

/// The floor of loading: copying the decoded rows.
template <class Columns>
void copyAll(const Columns& columns) {
  std::vector<std::byte> buffer(std::size_t{1} << 19);
  columns.forEach([&](const auto& values) {
    const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
    const std::size_t size = values.size() * sizeof values[0];
    for (std::size_t at = 0; at < size; at += buffer.size()) {
      std::memcpy(buffer.data(), bytes + at, std::min(buffer.size(), size - at));
      asm volatile("" : : "r"(buffer.data()) : "memory");
    }
  });
}

void measure(const Mix& mix, const std::filesystem::path& path) {
  const auto events = static_cast<double>(mix.events());
  std::vector<double> encoded, loaded, tables, copied;
  std::uint64_t bytes = 0;
  std::uint64_t seen = 0;
  for (int round = 0; round < kRounds; ++round) {
    encoded.push_back(seconds([&] { bytes = encode(mix, path); }));
    const auto reader = Reader::open(path, {ReaderOptions::Verify::Never});
    check(reader.status());
    loaded.push_back(seconds([&] {
      seen = scanAll<Range>(*reader) + scanAll<ApiCall>(*reader) + scanAll<Kernel>(*reader) +
             scanAll<Allocation>(*reader);
    }));
    tables.push_back(seconds([&] {
      seen = tableAll<Range>(*reader) + tableAll<ApiCall>(*reader) + tableAll<Kernel>(*reader) +
             tableAll<Allocation>(*reader);
    }));
    copied.push_back(seconds([&] {
      copyAll(mix.rows.ranges);
      copyAll(mix.rows.apiCalls);
      copyAll(mix.rows.kernels);
      copyAll(mix.rows.allocations);
    }));
  }
  if (seen != mix.events()) check(Error{"the file does not hold the rows that were written"});
  report("format.bytes_per_event", static_cast<double>(bytes) / events, "B",
         "goal: at most 3.5, all fields");
  report("format.encode_events_per_s", events / median(encoded), "1/s",
         "goal: at least 10 M on one core");
  report("format.load_events_per_s", events / median(loaded), "1/s",
         "goal: at least 20 M a core; all columns, by block");
  report("format.load_tables_events_per_s", events / median(tables), "1/s",
         "the same into vectors of the whole table");
  report("format.copy_floor_events_per_s", events / median(copied), "1/s",
         "memcpy of the same columns");
  report("format.load_over_copy_floor", median(loaded) / median(copied), "x");
}

void measureRanks(const std::filesystem::path& path) {
  const Mix mix = makeMix(4);
  report("format.bytes_per_event_4_ranks",
         static_cast<double>(encode(mix, path)) / static_cast<double>(mix.events()), "B",
         "four processes in one file");
}

/// The bytes read from the disk by opening a large file and reading one column of it.
void measureOneColumn(const std::filesystem::path& path, std::uint64_t events) {
  {
    auto writer = Writer::create(path);
    check(writer.status());
    GenerateOptions options;
    options.events = events;
    check(generateTrace(*writer, options).status());
    check(writer->finish());
  }
  std::vector<double> opened;
  for (int i = 0; i < kRounds; ++i) {
    opened.push_back(
        seconds([&] { check(Reader::open(path, {ReaderOptions::Verify::Never}).status()); }));
  }
  const auto reader = Reader::open(path, {ReaderOptions::Verify::Never});
  const std::uint64_t before = reader->bytesRead();
  std::uint64_t longest = 0;
  const double took = seconds([&] {
    check(reader->scan<&Kernel::correlation>(
        {}, [&](auto values) { longest = std::max(longest, values.back()); }));
  });
  const std::uint64_t read = reader->bytesRead() - before;
  std::uint64_t column = 0;
  for (const BlockInfo& block : reader->table(Kernel::kTable)->blocks) {
    const auto columns = reader->storedColumns(block);
    check(columns.status());
    for (const StoredColumn& stored : *columns) {
      if (stored.name == "correlation") column += stored.storedBytes;
    }
  }
  report("format.large_file_bytes", static_cast<double>(reader->fileBytes()), "B");
  report("format.open_ms", median(opened) * 1e3, "ms", "index and strings");
  report("format.open_bytes_read", static_cast<double>(before), "B");
  report("format.one_column_bytes_stored", static_cast<double>(column), "B", "kernel.correlation");
  report("format.one_column_bytes_read", static_cast<double>(read), "B",
         "the column, what it is predicted from, and its blocks' headers");
  report("format.one_column_ms", took * 1e3, "ms");
}

}  // namespace
}  // namespace lacuna::prof

int main(int argc, char** argv) {
  using namespace lacuna::prof;
  bool small = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    json = json || argument == "--json";
    small = small || argument == "--small";
    if (argument != "--json" && argument != "--small") {
      std::fprintf(stderr,
                   "usage: bench_format [--json] [--small]\n  --small  read one column of a file "
                   "of 3 M events instead of 100 M\n");
      return 2;
    }
  }
  const lacuna::test::TempDir dir;
  measure(makeMix(1), dir / "mix.lcn");
  measureRanks(dir / "ranks.lcn");
  measureOneColumn(dir / "large.lcn", small ? kEvents : kLargeEvents);
  return 0;
}
