// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <utility>
#include <vector>

#include "formats/arg_rules.h"
#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/links.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/prof/writer.h"
#include "support/random_store.h"
#include "support/temp_dir.h"
#include "support/temp_file.h"

namespace lacuna::analyzer {
namespace {

using testing::HasSubstr;

std::string contentOf(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

std::shared_ptr<const Store> open(const std::filesystem::path& path) {
  auto store = Store::open(path);
  EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
  return store.ok() ? *store : nullptr;
}

/// The store as Chrome JSON gives it back, and that once more.
std::vector<std::shared_ptr<const Store>> throughChromeJsonTwice(const Store& store) {
  std::vector<std::shared_ptr<const Store>> back;
  for (const Store* from = &store; back.size() < 2; from = back.back().get()) {
    const test::TempFile file(".json");
    const prof::Status status = exportTrace(*from, file.path(), Format::Chrome);
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
    auto opened = status.ok() ? open(file.path()) : nullptr;
    if (!opened) break;
    back.push_back(std::move(opened));
  }
  return back;
}

/// A trace in Kineto's format with everything that makes conversion hard, of random content.
std::string randomTrace(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](unsigned n) { return random() % n; };
  static const char* const kNames[] = {"aten::mm", "a \\\"quoted\\\" \\n name", "\\u00e9t\\u00e9",
                                       "}, {\\\"ph\\\"", ""};
  static const char* const kCats[] = {"cpu_op", "user_annotation", "python_function",
                                      "something else"};
  std::string text =
      R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU", "numSms": 108}], "traceEvents": [)";
  for (unsigned i = 0; i < 300; ++i) {
    if (i > 0) text += ",\n";
    const std::string ts = std::to_string(1700000000000000 + pick(100000)) +
                           (pick(2) != 0 ? "" : "." + std::to_string(100 + pick(900)));
    const std::string id = std::to_string(pick(50));
    const std::string at = R"("ts": )" + ts + R"(, "name": ")" + kNames[pick(5)] + "\"";
    const std::string host = R"("pid": 77, "tid": )" + std::to_string(pick(3)) + ", " + at;
    const std::string device = R"("pid": 0, "tid": 7, )" + at;
    const std::string dur = R"(, "dur": )" + std::to_string(pick(1000));
    switch (pick(7)) {
      case 0:
        text += R"({"ph": "s", "cat": "ac2g", "id": )" + id + ", " + host + "}";
        break;
      case 1:
        text += R"({"ph": "f", "bp": "e", "cat": "ac2g", "id": )" + id + ", " +
                (pick(2) != 0 ? device : host) + "}";
        break;
      case 2:
        text += R"({"ph": "X", "cat": "cuda_runtime", )" + host + dur +
                R"(, "args": {"cbid": 211, "correlation": )" + id + "}}";
        break;
      case 3:
        text +=
            R"({"ph": "X", "cat": "kernel", )" + device + dur + R"(, "args": {"External id": )" +
            std::to_string(pick(9)) + R"(, "device": 0, "stream": 7, "correlation": )" + id +
            R"(, "grid": [)" + std::to_string(pick(64)) +
            R"(, 1, 1], "block": [128, 1, 1], "blocks per SM": 0.5925926, "x": [1, {"y": null}], "s": "t"}})";
        break;
      case 4:
        text += R"({"ph": "i", "s": "t", )" + host + "}";
        break;
      default:
        text += std::string(R"({"ph": "X", "cat": ")") + kCats[pick(4)] + "\", " + host + dur;
        if (pick(4) != 0)
          text += R"(, "args": {"External id": )" + id +
                  R"(, "f": 0.1, "b": true, "n": null, "Input Dims": [[2, 3]]})";
        if (pick(9) == 0) text += R"(, "args": {})";
        text += "}";
    }
  }
  return text + R"(], "traceName": "x"})";
}

/// Every event as text without what may differ: the place in the file.
std::vector<std::string> eventsOf(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  std::istringstream in(contentOf(path));
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with(',')) line.pop_back();
    lines.push_back(line);
  }
  std::ranges::sort(lines);
  return lines;
}

TEST(Export, AChromeTraceSurvivesTheWayThroughLcnAndBack) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const test::TempFile original(".json", randomTrace(seed));
    const test::TempFile first(".json");
    const test::TempFile lcn(".lcn");
    const test::TempFile second(".json");
    const auto store = open(original.path());
    ASSERT_TRUE(store->warnings().empty());
    ASSERT_TRUE(exportTrace(*store, first.path(), Format::Chrome).ok());
    ASSERT_TRUE(exportTrace(*open(first.path()), lcn.path(), Format::Lcn).ok());
    ASSERT_TRUE(exportTrace(*open(lcn.path()), second.path(), Format::Chrome).ok());
    ASSERT_EQ(eventsOf(first.path()), eventsOf(second.path())) << seed;
    const auto again = open(second.path());
    for (std::size_t table = 0; table < prof::allTables().size(); ++table) {
      ASSERT_EQ(again->rows(table), store->rows(table)) << prof::allTables()[table].name;
    }
  }
}

/// One event as text that does not depend on the order of its fields, nor on how a number is
/// written.
std::string canonical(simdjson::dom::element value) {
  double number = 0;
  if (value.get(number) == simdjson::SUCCESS && !value.is_int64()) return fmt::format("{}", number);
  simdjson::dom::object object;
  if (value.get(object) == simdjson::SUCCESS) {
    std::map<std::string, std::string> fields;
    for (const auto field : object) fields.emplace(field.key, canonical(field.value));
    return fmt::format("{{{}}}", fmt::join(fields, ","));
  }
  simdjson::dom::array list;
  if (value.get(list) == simdjson::SUCCESS) {
    std::vector<std::string> items;
    for (const simdjson::dom::element item : list) items.push_back(canonical(item));
    return fmt::format("[{}]", fmt::join(items, ","));
  }
  return simdjson::minify(value);
}

/// Every event of a file, sorted.
std::vector<std::string> canonicalEvents(const std::filesystem::path& path) {
  simdjson::dom::parser parser;
  simdjson::dom::array list;
  EXPECT_EQ(parser.load(path.string())["traceEvents"].get(list), simdjson::SUCCESS);
  std::vector<std::string> events;
  for (const simdjson::dom::element event : list) events.push_back(canonical(event));
  std::ranges::sort(events);
  return events;
}

TEST(Export, EveryFieldOfEveryEventComesBackFromLcn) {
  for (unsigned seed = 100; seed < 130; ++seed) {
    const test::TempFile original(".json", randomTrace(seed));
    const test::TempFile lcn(".lcn");
    const test::TempFile back(".json");
    ASSERT_TRUE(exportTrace(*open(original.path()), lcn.path(), Format::Lcn).ok());
    ASSERT_TRUE(exportTrace(*open(lcn.path()), back.path(), Format::Chrome).ok());
    const auto before = canonicalEvents(original.path());
    ASSERT_EQ(before.size(), 300U);
    ASSERT_EQ(before, canonicalEvents(back.path())) << seed;
  }
}

TEST(Export, LooseEventsOfAChromeTraceComeBackAsTheSameRows) {
  const test::TempFile original(".json", R"({"traceEvents": [
    {"ph":"B","cat":"x","name":"outer","pid":1,"tid":1,"ts":1,"args":{"a":1,"nan":NaN,"list":[1, Infinity]}},
    {"ph":"E","pid":1,"tid":1,"ts":9.5,"args":{"a":2,"b":"c"}},
    {"ph":"B","name":"open","pid":1,"tid":1,"ts":11},
    {"ph":"b","cat":"net","name":"get","id":"0x1","pid":1,"tid":1,"ts":1,"args":{"url":"x"}},
    {"ph":"b","cat":"net","name":"get","id":"0x2","pid":1,"tid":1,"ts":2},
    {"ph":"n","cat":"net","name":"redirect","id":"0x1","pid":1,"tid":2,"ts":2,"args":{"to":"y"}},
    {"ph":"e","cat":"net","name":"get","id":"0x2","pid":1,"tid":1,"ts":3},
    {"ph":"e","cat":"net","name":"get","id":"0x1","pid":1,"tid":2,"ts":4,"args":{"status":200}},
    {"ph":"b","cat":"net","name":"waits","id2":{"local":"0x1"},"pid":1,"tid":1,"ts":5},
    {"ph":"e","cat":"net","name":"waits","id2":{"local":"0x1"},"pid":1,"tid":1,"ts":7},
    {"ph":"b","cat":"net","name":"never ends","id":3,"pid":1,"tid":1,"ts":6},
    {"ph":"S","cat":"net","name":"A","id":7,"pid":1,"tid":1,"ts":10},
    {"ph":"T","cat":"net","name":"A","id":7,"pid":1,"tid":1,"ts":12,"args":{"step":"half"}},
    {"ph":"F","cat":"net","name":"A","id":7,"pid":1,"tid":1,"ts":15},
    {"ph":"C","name":"mem","pid":1,"tid":1,"ts":5,"args":{"bytes": 12.5}},
    {"ph":"O","name":"object","id":1,"pid":1,"tid":1,"ts":18,"args":{"x":NaN}}]})");
  const auto store = open(original.path());
  ASSERT_EQ(store->rows<prof::Range>(), 7U);
  const test::TempFile back(".json");
  ASSERT_TRUE(exportTrace(*store, back.path(), Format::Chrome).ok());
  simdjson::dom::parser parser;
  EXPECT_EQ(parser.load(back.path().string()).error(), simdjson::SUCCESS) << contentOf(back.path());
  const auto again = open(back.path());
  // Sets of arguments and threads are numbered in the order of the file.
  EXPECT_EQ(test::difference<prof::Range>(*store, *again, " args thread endThread "), "");
  EXPECT_EQ(test::difference<prof::Mark>(*store, *again, " args thread "), "");
  prof::forEachTable(
      [&]<class Row>() { EXPECT_EQ(store->rows<Row>(), again->rows<Row>()) << Row::kName; });
  const test::TempFile twice(".json");
  ASSERT_TRUE(exportTrace(*again, twice.path(), Format::Chrome).ok());
  EXPECT_EQ(canonicalEvents(back.path()), canonicalEvents(twice.path()));
}

TEST(Export, SamplesThatAreNoNumbersAreLeftOutOfChromeJson) {
  StoreBuilder builder;
  builder.append(prof::Process{.id = prof::ProcessId(1), .osPid = 7});
  builder.append(prof::CounterTrack{.id = prof::TrackId(1),
                                    .process = prof::ProcessId(1),
                                    .name = builder.intern("loss"),
                                    .unit = builder.intern("x")});
  const double values[] = {1, std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(), 2};
  for (int i = 0; i < 4; ++i)
    builder.append(prof::CounterSample{.timeNs = i, .track = prof::TrackId(1), .value = values[i]});
  const test::TempFile file(".json");
  std::vector<std::string> warned;
  ExportOptions options;
  options.warn = [&](const std::string& text) { warned.push_back(text); };
  ASSERT_TRUE(exportTrace(*builder.build(), file.path(), Format::Chrome, options).ok());
  EXPECT_EQ(open(file.path())->rows<prof::CounterSample>(), 2U);
  EXPECT_THAT(warned, testing::ElementsAre(HasSubstr("2 samples of counters that are no numbers")));
}

TEST(Export, TextsThatAreNoUtf8BecomeTextsThatAre) {
  StoreBuilder builder;
  builder.append(prof::Thread{prof::ThreadId(1), {}, 11, 0, 100, builder.intern("gr\xfcn")});
  prof::Range row;
  row.thread.value = 1;
  row.name = builder.intern("caf\xe9 \xc3\xa9t\xc3\xa9");
  builder.append(row);
  const test::TempFile file(".json");
  ASSERT_TRUE(exportTrace(*builder.build(), file.path(), Format::Chrome).ok());
  EXPECT_EQ(canonicalEvents(file.path()).size(), 3U);  // the range, the thread's name and its life
  const auto back = open(file.path());
  ASSERT_EQ(back->rows<prof::Range>(), 1U);
  EXPECT_EQ(back->text(back->row<prof::Range>(0).name), "caf\xef\xbf\xbd \xc3\xa9t\xc3\xa9");
  EXPECT_TRUE(back->warnings().empty());
}

TEST(Export, CountersKeepTheProcessOrTheDeviceThatTheyBelongTo) {
  StoreBuilder builder;
  for (std::uint32_t i = 1; i <= 2; ++i) {
    builder.append(prof::Process{.id = prof::ProcessId(i), .osPid = i + 10});
    builder.append(
        prof::Device{.id = prof::DeviceId(i), .kind = prof::DeviceKind::Cuda, .index = i + 4});
    builder.append(prof::CounterTrack{.id = prof::TrackId(i),
                                      .process = prof::ProcessId(i),
                                      .name = builder.intern("RSS"),
                                      .unit = builder.intern("bytes")});
    builder.append(prof::CounterTrack{.id = prof::TrackId(i + 2),
                                      .device = prof::DeviceId(i),
                                      .name = builder.intern("GPU busy"),
                                      .unit = builder.intern("percent")});
  }
  for (std::uint32_t i = 0; i < 8; ++i) {
    builder.append(prof::CounterSample{
        .timeNs = 1000 * i, .track = prof::TrackId(i % 4 + 1), .value = 1.0 * i});
  }
  const test::TempFile file(".json");
  ASSERT_TRUE(exportTrace(*builder.build(), file.path(), Format::Chrome).ok());
  const auto back = open(file.path());
  std::vector<std::string> tracks;
  for (std::uint64_t i = 0; i < back->rows<prof::CounterTrack>(); ++i) {
    const auto track = back->row<prof::CounterTrack>(i);
    tracks.push_back(fmt::format("{} of {}", back->text(track.name),
                                 back->row<prof::Process>(track.process.value - 1).osPid));
  }
  EXPECT_THAT(tracks, testing::UnorderedElementsAre("RSS of 11", "RSS of 12", "GPU busy of 5",
                                                    "GPU busy of 6"));
}

TEST(Export, ACounterWithoutAPidIsStillJson) {
  const test::TempFile original(
      ".json", R"({"traceEvents": [{"ph": "C", "name": "mem", "ts": 1, "args": {"v": 1}}]})");
  const test::TempFile file(".json");
  ASSERT_TRUE(exportTrace(*open(original.path()), file.path(), Format::Chrome).ok());
  EXPECT_EQ(canonicalEvents(file.path()).size(), 1U);
}

TEST(Export, RowsOfPlacesThatAreNotThereAreStillJson) {
  StoreBuilder builder;
  const prof::QueueId queue(7);
  const prof::DeviceId device(5);
  builder.append(prof::Process{.id = prof::ProcessId(1), .osPid = 7});
  const prof::ArgSetId withFlow(1);
  builder.append(prof::ArgSet{withFlow, builder.intern(std::string{kShapeFlow} + "f|ac2g|ac2g|")});
  builder.append(prof::Kernel{.startNs = 1,
                              .durNs = 2,
                              .queue = queue,
                              .device = device,
                              .correlation = 5,
                              .args = withFlow});
  builder.append(prof::Allocation{
      .timeNs = 3, .thread = prof::ThreadId(9), .device = device, .queue = queue, .bytes = 5});
  builder.append(prof::Flow{.timeNs = 4, .queue = queue, .id = 3});
  const auto back = throughChromeJsonTwice(*builder.build());
  ASSERT_EQ(back.size(), 2U);
  EXPECT_EQ(back[1]->rows<prof::Kernel>(), 1U);
  EXPECT_EQ(back[1]->rows<prof::Allocation>(), 1U);
}

TEST(Export, LaunchesByRangesComeBackFromChromeJson) {
  StoreBuilder builder;
  builder.append(prof::Process{.id = prof::ProcessId(1), .osPid = 7});
  builder.append(prof::Thread{.id = prof::ThreadId(1), .process = prof::ProcessId(1), .osTid = 7});
  builder.append(prof::Device{
      .id = prof::DeviceId(1), .kind = prof::DeviceKind::Cpu, .process = prof::ProcessId(1)});
  builder.append(prof::Queue{
      .id = prof::QueueId(1), .device = prof::DeviceId(1), .process = prof::ProcessId(1)});
  builder.append(
      prof::Range{.startNs = 10, .durNs = 30, .thread = prof::ThreadId(1), .correlation = 4});
  builder.append(prof::Kernel{.startNs = 15,
                              .durNs = 20,
                              .queue = prof::QueueId(1),
                              .device = prof::DeviceId(1),
                              .correlation = 4});
  const test::TempFile file(".json");
  ASSERT_TRUE(exportTrace(*builder.build(), file.path(), Format::Chrome).ok());
  const EventRef range{EventRef::Table::Range, 0};
  EXPECT_EQ(open(file.path())->links().launchOf({EventRef::Table::Kernel, 0}), range);
  // And once more, through what was read back.
  const test::TempFile again(".json");
  ASSERT_TRUE(exportTrace(*open(file.path()), again.path(), Format::Chrome).ok());
  EXPECT_EQ(open(again.path())->links().launchOf({EventRef::Table::Kernel, 0}), range);
}

std::shared_ptr<const Store> smallTrace() {
  StoreBuilder builder;
  builder.append(prof::Thread{prof::ThreadId(1), {}, 11, 0, 100, builder.intern("main;x")});
  const auto range = [&](prof::TimeNs start, prof::TimeNs dur, std::string_view name) {
    prof::Range row;
    row.startNs = start;
    row.durNs = dur;
    row.thread.value = 1;
    row.name = builder.intern(name);
    builder.append(row);
  };
  range(0, 100, "step");
  range(10, 30, "forward");
  range(15, 10, "conv");
  range(60, 20, "back,\"ward\"");
  return builder.build();
}

TEST(Export, FoldedStacksHoldSelfTimes) {
  const test::TempFile file(".folded");
  ASSERT_TRUE(exportTrace(*smallTrace(), file.path(), Format::Folded).ok());
  EXPECT_EQ(contentOf(file.path()),
            "main:x;step 50\nmain:x;step;back,\"ward\" 20\nmain:x;step;forward "
            "20\nmain:x;step;forward;conv 10\n");
}

TEST(Export, FoldedStacksOfFarTooManyFramesEndEarly) {
  StoreBuilder builder;
  constexpr std::uint32_t kDepth = 20000;
  for (std::uint32_t i = 0; i < kDepth; ++i) {
    builder.append(prof::Range{.startNs = i,
                               .durNs = 2 * (kDepth - i),
                               .thread = prof::ThreadId(1),
                               .name = builder.intern("function " + std::to_string(i))});
  }
  const auto store = builder.build();
  const test::TempFile file(".folded");
  std::vector<std::string> warned;
  ExportOptions options;
  options.warn = [&](const std::string& text) { warned.push_back(text); };
  ASSERT_TRUE(exportTrace(*store, file.path(), Format::Folded, options).ok());
  EXPECT_THAT(warned, testing::ElementsAre("folded stacks have at most 1,024 frames: 18,976 deeper "
                                           "ranges count to the last of these"));
  std::istringstream lines(contentOf(file.path()));
  std::size_t count = 0;
  std::int64_t sumNs = 0;
  for (std::string line; std::getline(lines, line); ++count)
    sumNs += std::stoll(line.substr(line.rfind(' ')));
  EXPECT_EQ(count, 1024U);
  EXPECT_EQ(sumNs, 2 * kDepth);
}

TEST(Export, StacksHoldNoneOfKinetosOwnRows) {
  StoreBuilder builder;
  builder.append(prof::Thread{prof::ThreadId(1), {}, 11, 0, 100, builder.intern("main")});
  builder.append(
      prof::Thread{prof::ThreadId(2), {}, 0, 0, 100, builder.intern("PyTorch Profiler")});
  builder.append(
      prof::Range{.durNs = 40, .thread = prof::ThreadId(1), .name = builder.intern("forward")});
  builder.append(prof::Range{.durNs = 100,
                             .thread = prof::ThreadId(2),
                             .category = builder.intern("Trace"),
                             .name = builder.intern("PyTorch Profiler (0)")});
  const auto store = builder.build();
  const test::TempFile folded(".folded");
  ASSERT_TRUE(exportTrace(*store, folded.path(), Format::Folded).ok());
  EXPECT_EQ(contentOf(folded.path()), "main;forward 40\n");
  const test::TempFile speedscope(".speedscope.json");
  ASSERT_TRUE(exportTrace(*store, speedscope.path(), Format::Speedscope).ok());
  EXPECT_THAT(contentOf(speedscope.path()), testing::Not(HasSubstr("PyTorch Profiler")));
}

/// Threads with a range each: two of one name in one process, and one of that name in another
/// process of that name.
std::shared_ptr<const Store> namesakes() {
  StoreBuilder builder;
  const auto python = builder.intern("python"), worker = builder.intern("worker"),
             work = builder.intern("work");
  for (std::uint32_t p = 1; p <= 2; ++p)
    builder.append(prof::Process{.id = prof::ProcessId(p), .osPid = 7, .name = python, .rank = -1});
  const std::uint32_t owners[] = {1, 1, 2, 2};
  for (std::uint32_t t = 1; t <= 4; ++t) {
    const auto name = t < 4 ? worker : prof::StringId();
    builder.append(prof::Thread{.id = prof::ThreadId(t),
                                .process = prof::ProcessId(owners[t - 1]),
                                .osTid = 10 + t,
                                .name = name});
    builder.append(prof::Range{.durNs = t, .thread = prof::ThreadId(t), .name = work});
  }
  return builder.build();
}

TEST(Export, StacksOfThreadsOfOneNameAreKeptApart) {
  const test::TempFile folded(".folded");
  ASSERT_TRUE(exportTrace(*namesakes(), folded.path(), Format::Folded).ok());
  EXPECT_EQ(contentOf(folded.path()),
            "python 7 #2;thread 14;work 4\npython 7 #2;worker;work 3\n"
            "python 7;worker (11);work 1\npython 7;worker (12);work 2\n");
  const test::TempFile speedscope(".speedscope.json");
  ASSERT_TRUE(exportTrace(*namesakes(), speedscope.path(), Format::Speedscope).ok());
  for (const char* name :
       {"\"python 7: worker (11)\"", "\"python 7: worker (12)\"", "\"python 7 #2: worker\""})
    EXPECT_THAT(contentOf(speedscope.path()), HasSubstr(name));
}

TEST(Export, RowsThatAreNoStackAreReported) {
  StoreBuilder builder;
  builder.append(
      prof::Range{.durNs = 5, .thread = prof::ThreadId(1), .kind = prof::RangeKind::StartEnd});
  for (int i = 0; i < 3; ++i) builder.append(prof::Mark{.timeNs = i});
  const auto store = builder.build();
  for (const char* ending : {".folded", ".speedscope.json"}) {
    std::vector<std::string> warned;
    ExportOptions options;
    options.warn = [&](const std::string& text) { warned.push_back(text); };
    const test::TempFile file(ending);
    ASSERT_TRUE(exportTrace(*store, file.path(), *formatOf(file.path()), options));
    EXPECT_THAT(warned, testing::ElementsAre(HasSubstr(
                            "no place for 1 ranges that no thread pushed, 3 rows of mark")));
    warned.clear();
    ASSERT_TRUE(exportTrace(*smallTrace(), file.path(), *formatOf(file.path()), options));
    EXPECT_THAT(warned, testing::IsEmpty());
  }
}

TEST(Export, SpeedscopeOpensAndClosesInOrder) {
  const test::TempFile file(".speedscope.json");
  ASSERT_TRUE(exportTrace(*smallTrace(), file.path(), Format::Speedscope).ok());
  const std::string text = contentOf(file.path());
  EXPECT_THAT(text, HasSubstr("\"startValue\": 0, \"endValue\": 100"));
  EXPECT_THAT(text, HasSubstr("{\"type\": \"C\", \"frame\": 2, \"at\": 25},\n{\"type\": \"C\", "
                              "\"frame\": 1, \"at\": 40}"));
  EXPECT_THAT(text, HasSubstr("back,\\\"ward\\\""));
}

TEST(Export, TablesBecomeCsvAndJson) {
  const test::TempFile csv(".csv");
  ExportOptions options;
  options.table = "thread";
  ASSERT_TRUE(exportTrace(*smallTrace(), csv.path(), Format::Csv, options).ok());
  EXPECT_EQ(contentOf(csv.path()), "id,process,osTid,startNs,endNs,name\n1,0,11,0,100,main;x\n");
  const test::TempFile json(".json");
  options.table = "range";
  ASSERT_TRUE(exportTrace(*smallTrace(), json.path(), Format::TableJson, options).ok());
  EXPECT_THAT(contentOf(json.path()), HasSubstr("\"name\": \"back,\\\"ward\\\"\""));
  options.table = "kernels";
  const test::TempFile none(".csv");
  const auto status = exportTrace(*smallTrace(), none.path(), Format::Csv, options);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("api_call"));
  EXPECT_FALSE(std::filesystem::exists(none.path()));
}

TEST(Export, AnEmptyTableIsReported) {
  const test::TempFile csv(".csv");
  std::vector<std::string> warned;
  ExportOptions options;
  options.warn = [&](const std::string& text) { warned.push_back(text); };
  ASSERT_TRUE(exportTrace(*smallTrace(), csv.path(), Format::Csv, options).ok());
  EXPECT_THAT(warned,
              testing::ElementsAre("table kernel has no rows; tables with rows: thread, range"));
  options.table = "range";
  ASSERT_TRUE(exportTrace(*smallTrace(), csv.path(), Format::Csv, options).ok());
  EXPECT_EQ(warned.size(), 1U);
}

/// The test's time limit is far above what is needed when no number is looked for from the first
/// one on.
TEST(Export, ManyThreadsWithoutNumbersGetNumbersOfTheirOwn) {
  constexpr std::uint32_t kThreads = 100'000;
  StoreBuilder builder;
  builder.append(prof::Process{.id = prof::ProcessId(1), .osPid = 7});
  for (std::uint32_t i = 1; i <= kThreads; ++i) {
    const std::uint32_t osTid = i == kThreads ? 5 : 0;
    builder.append(
        prof::Thread{.id = prof::ThreadId(i), .process = prof::ProcessId(1), .osTid = osTid});
  }
  builder.append(
      prof::Range{.durNs = 5, .thread = prof::ThreadId(kThreads), .name = builder.intern("a")});
  const test::TempFile file(".sqlite");
  ASSERT_TRUE(exportTrace(*builder.build(), file.path(), Format::Nsys).ok());
  const auto back = open(file.path());
  ASSERT_EQ(back->rows<prof::Thread>(), kThreads);
  EXPECT_EQ(back->row<prof::Range>(0).thread.value, kThreads);
}

TEST(Export, ArgumentsAreWrittenAsTheirValues) {
  StoreBuilder builder;
  const auto add = [&](prof::ArgType type, std::uint64_t value) {
    builder.append(prof::Arg{
        .set = prof::ArgSetId(1), .key = builder.intern("k"), .type = type, .value = value});
  };
  add(prof::ArgType::I64, static_cast<std::uint64_t>(-42));
  add(prof::ArgType::F64, std::bit_cast<std::uint64_t>(0.5));
  add(prof::ArgType::Text, builder.intern("a,b").value);
  add(prof::ArgType::Json, builder.intern("[1, 2]").value);
  add(prof::ArgType::Bool, 1);
  add(prof::ArgType::Null, 0);
  add(prof::ArgType::Text, 1'000'000);
  const auto store = builder.build();
  ExportOptions options;
  options.table = "arg";
  const test::TempFile csv(".csv");
  ASSERT_TRUE(exportTrace(*store, csv.path(), Format::Csv, options).ok());
  EXPECT_EQ(contentOf(csv.path()),
            "set,scope,key,type,value\n1,0,k,2,-42\n1,0,k,3,0.5\n1,0,k,4,\"a,b\"\n1,0,k,5,\"[1, "
            "2]\"\n1,0,k,1,true\n"
            "1,0,k,0,\n1,0,k,4,\n");
  const test::TempFile json(".json");
  ASSERT_TRUE(exportTrace(*store, json.path(), Format::TableJson, options).ok());
  for (const char* value : {"-42", "0.5", "\"a,b\"", "\"[1, 2]\"", "true", "null", "\"\""})
    EXPECT_THAT(contentOf(json.path()), HasSubstr(fmt::format("\"value\": {}}}\n", value)));
}

/// A recording of ours: the CPU device of a process beside a CUDA device of the same number.
std::shared_ptr<const Store> twoKindsOfDevices() {
  using namespace prof;
  StoreBuilder builder;
  builder.append(Process{ProcessId(1), {}, 100, 0, 50, builder.intern("train"), {}, -1, -1});
  builder.append(Thread{ThreadId(1), ProcessId(1), 101, 0, 50, {}});
  builder.append(
      Device{DeviceId(1), DeviceKind::Cpu, 0, ProcessId(1), builder.intern("host cores")});
  builder.append(Device{DeviceId(2), DeviceKind::Cuda, 0, {}, builder.intern("H100")});
  for (std::uint32_t i = 1; i <= 2; ++i) {
    builder.append(Queue{QueueId(i), DeviceId(i), ProcessId(1), 3, {}});
    builder.append(ApiCall{i * 10, 2, ThreadId(1), ApiKind::Runtime, builder.intern("launch"), i});
    Kernel kernel;
    kernel.startNs = i * 10 + 5;
    kernel.durNs = 4;
    kernel.queue = QueueId(i);
    kernel.device = DeviceId(i);
    kernel.correlation = i;
    kernel.name = builder.intern("gemm");
    builder.append(kernel);
    Allocation block;
    block.timeNs = i * 10;
    block.thread = ThreadId(1);
    block.device = DeviceId(i);
    block.queue = QueueId(i);
    block.bytes = 512;
    builder.append(block);
  }
  return builder.build();
}

TEST(Export, ACpuDeviceComesBackFromChromeJsonAsItself) {
  for (const auto& store : throughChromeJsonTwice(*twoKindsOfDevices())) {
    ASSERT_EQ(store->rows<prof::Device>(), 2U);
    for (std::uint64_t i = 0; i < 2; ++i) {
      const auto kernel = store->row<prof::Kernel>(i);
      const auto block = store->row<prof::Allocation>(i);
      const auto device = store->row<prof::Device>(kernel.device.value - 1);
      EXPECT_EQ(device.kind, i == 0 ? prof::DeviceKind::Cpu : prof::DeviceKind::Cuda);
      EXPECT_EQ(device.index, 0U);
      EXPECT_EQ(store->text(device.name), i == 0 ? "host cores" : "H100");
      EXPECT_EQ(device.process.value, i == 0 ? 1U : 0U);
      EXPECT_EQ(block.device, kernel.device);
      EXPECT_EQ(block.queue, kernel.queue);
      EXPECT_EQ(store->row<prof::Queue>(kernel.queue.value - 1).process.value, 1U);
    }
  }
}

/// The fields that the published description of the trace event format requires of each phase that
/// is written.
const std::map<std::string, std::vector<std::string>>& requiredFields() {
  static const std::map<std::string, std::vector<std::string>> kFields = {
      {"X", {"name", "pid", "tid", "ts", "dur"}},
      {"B", {"name", "pid", "tid", "ts"}},
      {"i", {"name", "pid", "tid", "ts", "s"}},
      {"C", {"name", "pid", "ts", "args"}},
      {"b", {"name", "cat", "id", "pid", "tid", "ts"}},
      {"n", {"name", "cat", "id", "pid", "tid", "ts"}},
      {"e", {"name", "cat", "id", "pid", "tid", "ts"}},
      {"s", {"name", "cat", "id", "pid", "tid", "ts"}},
      {"t", {"name", "cat", "id", "pid", "tid", "ts"}},
      {"f", {"name", "cat", "id", "pid", "tid", "ts"}},
      {"M", {"name", "pid", "args"}}};
  return kFields;
}

std::string textOf(const simdjson::dom::element& event, std::string_view field) {
  std::string_view text;
  EXPECT_EQ(event[field].get(text), simdjson::SUCCESS)
      << field << " is a text in " << simdjson::minify(event);
  return std::string(text);
}

/// Names are texts, times are numbers that are not below 0, and who or what is meant is a whole
/// number or a text.
void expectTypes(const simdjson::dom::element& event) {
  using Type = simdjson::dom::element_type;
  for (const auto& [key, value] : simdjson::dom::object(event)) {
    const Type type = value.type();
    const bool isWhole = type == Type::INT64 || type == Type::UINT64;
    bool fits = true;
    if (key == "ph" || key == "name" || key == "cat" || key == "s" || key == "bp")
      fits = type == Type::STRING;
    if (key == "pid" || key == "tid" || key == "id") fits = isWhole || type == Type::STRING;
    if (key == "ts" || key == "dur")
      fits = (isWhole || type == Type::DOUBLE) && value.get_double().value() >= 0;
    if (key == "args") fits = type == Type::OBJECT;
    EXPECT_TRUE(fits) << key << " in " << simdjson::minify(event);
  }
}

/// Expects the values of a phase that the format requires.
void expectValues(std::string_view phase, const simdjson::dom::element& event) {
  if (phase == "i") {
    EXPECT_THAT(textOf(event, "s"), testing::AnyOf("t", "p", "g"));
  }
  if (phase == "C") {
    for (const auto& [series, value] : simdjson::dom::object(event["args"]))
      EXPECT_TRUE(value.is_number()) << series << " in " << simdjson::minify(event);
  }
  if (phase == "f" && event["bp"].error() == simdjson::SUCCESS) {
    EXPECT_EQ(textOf(event, "bp"), "e");
  }
  if (phase != "M") return;
  const std::string name = textOf(event, "name");
  if (name == "process_name" || name == "thread_name") textOf(event["args"], "name");
  if (name == "process_sort_index" || name == "thread_sort_index") {
    EXPECT_TRUE(event["args"]["sort_index"].is_number()) << simdjson::minify(event);
  }
}

/// A trace of the phases that random rows have none of: ranges that are open, asynchronous ones
/// with steps, whole flows.
std::shared_ptr<const Store> loosePhases() {
  const test::TempFile file(".json", R"({"traceEvents": [
    {"ph":"B","name":"open","pid":1,"tid":1,"ts":11},
    {"ph":"b","cat":"net","name":"get","id":"0x1","pid":1,"tid":1,"ts":1},
    {"ph":"n","cat":"net","name":"redirect","id":"0x1","pid":1,"tid":2,"ts":2},
    {"ph":"e","cat":"net","name":"get","id":"0x1","pid":1,"tid":2,"ts":4},
    {"ph":"b","cat":"net","name":"never ends","id":3,"pid":1,"tid":1,"ts":6},
    {"ph":"s","cat":"way","name":"go","id":5,"pid":1,"tid":1,"ts":12},
    {"ph":"t","cat":"way","name":"go","id":5,"pid":1,"tid":2,"ts":13},
    {"ph":"f","cat":"way","name":"go","id":5,"pid":1,"tid":3,"ts":14,"bp":"e"}]})");
  return open(file.path());
}

TEST(Export, ChromeJsonHasTheFieldsThatTheFormatRequires) {
  std::map<std::string, int> seen;
  std::vector<std::shared_ptr<const Store>> stores{loosePhases()};
  for (unsigned seed = 0; seed < 6; ++seed) stores.push_back(test::randomStore(seed));
  for (const auto& store : stores) {
    const test::TempFile file(".json");
    ASSERT_TRUE(exportTrace(*store, file.path(), Format::Chrome).ok());
    simdjson::dom::parser parser;
    simdjson::dom::element trace;
    ASSERT_EQ(parser.load(file.path().string()).get(trace), simdjson::SUCCESS);
    std::map<std::string, int> open;  // asynchronous ranges by category and id
    simdjson::dom::array events;
    ASSERT_EQ(trace["traceEvents"].get(events), simdjson::SUCCESS);
    for (const simdjson::dom::element event : events) {
      const std::string phase = textOf(event, "ph");
      ++seen[phase];
      const auto fields = requiredFields().find(phase);
      ASSERT_NE(fields, requiredFields().end()) << phase;
      for (const std::string& field : fields->second) {
        EXPECT_EQ(event[field].error(), simdjson::SUCCESS) << phase << " without " << field;
      }
      expectTypes(event);
      expectValues(phase, event);
      if (phase == "b" || phase == "e")
        open[textOf(event, "cat") + "\n" + std::string(simdjson::minify(event["id"].value()))] +=
            phase == "b" ? 1 : -1;
    }
    for (const auto& [key, count] : open) EXPECT_GE(count, 0) << "more ends than begins of " << key;
  }
  for (const auto& [phase, fields] : requiredFields())
    EXPECT_GT(seen[phase], 0) << "nothing of phase " << phase;
}

/// A file with more rows in its tables of ranges, argument sets and arguments than are read at
/// once.
constexpr std::uint64_t kLargeRows = 70'000;
void writeLarge(const std::filesystem::path& path) {
  using namespace prof;
  auto writer = *Writer::create(path);
  writer.append(Process{.id = ProcessId(1), .osPid = 7});
  writer.append(Thread{.id = ThreadId(1), .process = ProcessId(1), .osTid = 7});
  const StringId shape = writer.intern("+first\n+second"), first = writer.intern("first"),
                 second = writer.intern("second");
  for (std::uint32_t i = 1; i <= kLargeRows; ++i) {
    writer.append(ArgSet{.id = ArgSetId(i), .shape = shape});
    writer.append(Arg{.set = ArgSetId(i), .key = first, .type = ArgType::I64, .value = i});
    writer.append(Arg{.set = ArgSetId(i), .key = second, .type = ArgType::I64, .value = 2 * i});
    writer.append(Range{.startNs = 10 * i,
                        .durNs = 5,
                        .thread = ThreadId(1),
                        .name = writer.intern("work"),
                        .args = ArgSetId(i)});
  }
  ASSERT_TRUE(writer.finish());
}

/// The test's time limit is far above what is needed when no row is looked for from the table's
/// beginning.
TEST(Export, LargeFilesAreReadFromFrontToBack) {
  const test::TempFile lcn(".lcn");
  writeLarge(lcn.path());
  for (const char* ending : {".json", ".pftrace", ".sqlite", ".lcn"}) {
    const test::TempFile file(ending);
    ASSERT_TRUE(exportTrace(*open(lcn.path()), file.path(), *formatOf(file.path()))) << ending;
    const auto back = open(file.path());
    ASSERT_EQ(back->rows<prof::Range>(), kLargeRows) << ending;
    const auto last = back->row<prof::Range>(kLargeRows - 1);
    EXPECT_EQ(Args(*back).integer(last.args, "second"), 2 * kLargeRows) << ending;
  }
}

TEST(Export, AFileIsReplacedWhenTheNewOneIsComplete) {
  const test::TempDir folder;
  const test::TempFile lcn(".lcn");
  writeLarge(lcn.path());
  const auto store = open(lcn.path());
  ExportOptions cancelled;
  cancelled.progress = [](double) { return false; };
  for (const char* name : {"x.pftrace", "x.sqlite", "x.lcn"}) {
    const auto file = folder / name;
    std::ofstream(file) << "what was there";
    EXPECT_FALSE(exportTrace(*store, file, *formatOf(file), cancelled)) << name;
    EXPECT_EQ(contentOf(file), "what was there") << name;
    EXPECT_TRUE(exportTrace(*store, file, *formatOf(file))) << name;
    EXPECT_EQ(open(file)->rows<prof::Range>(), kLargeRows) << name;
  }
  const std::filesystem::directory_iterator all(folder.path());
  EXPECT_EQ(std::distance(begin(all), end(all)), 3) << "and nothing unfinished is left";
  EXPECT_TRUE(exportTrace(*smallTrace(), "/dev/null", Format::Chrome));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

/// A recording with a value in each column that Kineto has no words for.
std::shared_ptr<const Store> ownRecording() {
  using namespace prof;
  StoreBuilder builder;
  builder.append(Process{.id = ProcessId(1), .osPid = 7});
  builder.append(Thread{.id = ThreadId(1), .process = ProcessId(1), .osTid = 8});
  builder.append(Device{.id = DeviceId(1), .kind = DeviceKind::Cpu, .process = ProcessId(1)});
  builder.append(
      Queue{.id = QueueId(1), .device = DeviceId(1), .process = ProcessId(1), .nativeId = 3});
  builder.append(Environment{.key = builder.intern("host.cores"), .value = builder.intern("2")});
  builder.append(
      Environment{.key = builder.intern("knob.amp"), .value = builder.intern("a \"b\"")});
  TimeNs at = 1000;
  for (const auto action :
       {MemoryAction::Reserve, MemoryAction::Allocate, MemoryAction::ExternalAllocate,
        MemoryAction::ExternalFree, MemoryAction::Free, MemoryAction::Release}) {
    builder.append(Allocation{.timeNs = at += 10,
                              .thread = ThreadId(1),
                              .device = DeviceId(1),
                              .queue = QueueId(1),
                              .sequence = 5,
                              .action = action,
                              .role = MemoryRole::Gradient,
                              .address = 1U << 30,
                              .bytes = 4096,
                              .tensor = builder.intern("w"),
                              .op = builder.intern("matmul")});
  }
  for (const auto type :
       {PayloadType::None, PayloadType::U64, PayloadType::I64, PayloadType::F64}) {
    const auto payload = type == PayloadType::None  ? 0
                         : type == PayloadType::I64 ? static_cast<std::uint64_t>(-3)
                                                    : std::bit_cast<std::uint64_t>(-1.5);
    builder.append(Range{.startNs = at += 10,
                         .durNs = 5,
                         .thread = ThreadId(1),
                         .domain = builder.intern("lacuna"),
                         .category = builder.intern("op"),
                         .name = builder.intern("matmul"),
                         .text = builder.intern(type == PayloadType::I64 ? "[[2, 3]]" : "f32[2,3]"),
                         .kind = RangeKind::StartEnd,
                         .payloadType = type,
                         .colour = 0xff112233,
                         .payload = payload});
    builder.append(Mark{.timeNs = at,
                        .thread = ThreadId(1),
                        .domain = builder.intern("lacuna"),
                        .name = builder.intern("epoch"),
                        .text = builder.intern("3 of 9"),
                        .payloadType = type,
                        .colour = 5,
                        .payload = payload});
  }
  builder.append(ApiCall{.startNs = at += 10,
                         .durNs = 2,
                         .thread = ThreadId(1),
                         .kind = ApiKind::Other,
                         .returnCode = 2});
  builder.append(Kernel{.startNs = at += 10,
                        .durNs = 2,
                        .queue = QueueId(1),
                        .device = DeviceId(1),
                        .staticSharedBytes = 16,
                        .dynamicSharedBytes = 48,
                        .graphId = 3,
                        .graphNodeId = 4});
  builder.append(Memset{
      .startNs = at += 10, .durNs = 2, .queue = QueueId(1), .device = DeviceId(1), .value = 7});
  builder.append(Memcpy{.startNs = at += 10,
                        .durNs = 2,
                        .queue = QueueId(1),
                        .device = DeviceId(1),
                        .copyKind = CopyKind::HostToHost,
                        .sourceKind = MemoryKind::Pinned,
                        .flags = kAsync});
  return builder.build();
}

TEST(Export, ARecordingComesBackFromChromeJsonWithAllItsColumns) {
  const auto store = ownRecording();
  for (const auto& back : throughChromeJsonTwice(*store)) {
    EXPECT_EQ(test::difference<prof::Allocation>(*store, *back, " args "), "");
    EXPECT_EQ(test::difference<prof::Range>(*store, *back, " args depth "), "");
    EXPECT_EQ(test::difference<prof::Mark>(*store, *back, " args "), "");
    EXPECT_EQ(test::difference<prof::ApiCall>(*store, *back, " args "), "");
    EXPECT_EQ(test::difference<prof::Kernel>(*store, *back, " args "), "");
    EXPECT_EQ(test::difference<prof::Memset>(*store, *back, " args "), "");
    EXPECT_EQ(test::difference<prof::Memcpy>(*store, *back, " args "), "");
    for (const auto& row : test::rowsAsText<prof::Environment>(*store, " process "))
      EXPECT_THAT(test::rowsAsText<prof::Environment>(*back, " process "), testing::Contains(row));
  }
}

TEST(Export, PlacesOfOneNumberStayApartInChromeJson) {
  StoreBuilder builder;
  builder.append(prof::Process{.id = prof::ProcessId(1), .osPid = 7, .rank = -1});
  builder.append(prof::Device{.id = prof::DeviceId(1), .kind = prof::DeviceKind::Cuda});
  for (std::uint32_t i = 1; i <= 3; ++i) {
    const auto name = builder.intern(fmt::format("track {}", i));
    builder.append(prof::Thread{
        .id = prof::ThreadId(i), .process = prof::ProcessId(1), .osTid = 5, .name = name});
    builder.append(
        prof::Range{.startNs = i, .durNs = 10, .thread = prof::ThreadId(i), .name = name});
    const prof::Queue queue{.id = prof::QueueId(i),
                            .device = prof::DeviceId(1),
                            .process = prof::ProcessId(1),
                            .nativeId = 9};
    builder.append(queue);
    builder.append(prof::Kernel{.startNs = i,
                                .durNs = 10,
                                .queue = queue.id,
                                .device = queue.device,
                                .name = builder.intern("k")});
  }
  for (const auto& back : throughChromeJsonTwice(*builder.build())) {
    ASSERT_EQ(back->rows<prof::Thread>(), 3U);
    ASSERT_EQ(back->rows<prof::Queue>(), 3U);
    for (std::uint64_t i = 0; i < 3; ++i) {
      const auto range = back->row<prof::Range>(i);
      const auto thread = back->row<prof::Thread>(range.thread.value - 1);
      EXPECT_EQ(range.depth, 0);
      EXPECT_EQ(thread.osTid, 5U);
      EXPECT_EQ(back->text(thread.name), back->text(range.name));
      EXPECT_EQ(back->row<prof::Queue>(i).nativeId, 9U);
    }
  }
}

TEST(Export, RanksAndTheTimeOfDayComeBackFromChromeJson) {
  StoreBuilder builder;
  for (std::uint32_t p = 1; p <= 3; ++p) {
    const std::int32_t rank = p < 3 ? static_cast<std::int32_t>(p) : -1;
    builder.append(
        prof::Process{.id = prof::ProcessId(p), .osPid = 6 + p, .exitCode = -1, .rank = rank});
    builder.append(
        prof::Thread{.id = prof::ThreadId(p), .process = prof::ProcessId(p), .osTid = p});
    builder.append(prof::Range{
        .startNs = 50, .durNs = 5, .thread = prof::ThreadId(p), .name = builder.intern("a")});
  }
  builder.append(prof::Clock{.timeNs = 40, .realtimeNs = 1'700'000'000'000'000'040});
  for (const auto& back : throughChromeJsonTwice(*builder.build())) {
    std::vector<std::string> ranks;
    for (std::uint64_t i = 0; i < back->rows<prof::Process>(); ++i) {
      const auto process = back->row<prof::Process>(i);
      ranks.push_back(fmt::format("{} is {}", process.osPid, process.rank));
    }
    EXPECT_THAT(ranks, testing::UnorderedElementsAre("7 is 1", "8 is 2", "9 is -1"));
    const auto clock = back->row<prof::Clock>(0);
    EXPECT_EQ(clock.realtimeNs - clock.timeNs, 1'700'000'000'000'000'000);
  }
}

TEST(Export, ParentsAndLivesComeBackFromChromeJson) {
  StoreBuilder builder;
  const prof::ProcessId parent(1), child(2);
  builder.append(prof::Process{.id = parent,
                               .osPid = 7,
                               .startNs = 5,
                               .endNs = 900,
                               .commandLine = builder.intern("python \"a b\"")});
  builder.append(prof::Process{
      .id = child, .parent = parent, .osPid = 8, .startNs = 20, .endNs = 800, .exitCode = -9});
  for (const prof::ProcessId process : {parent, child}) {
    const prof::ThreadId thread(process.value);
    builder.append(prof::Thread{.id = thread,
                                .process = process,
                                .osTid = process.value + 6,
                                .startNs = 10 * process.value,
                                .endNs = 700});
    builder.append(
        prof::Range{.startNs = 50, .durNs = 5, .thread = thread, .name = builder.intern("a")});
  }
  for (const auto& back : throughChromeJsonTwice(*builder.build())) {
    ASSERT_EQ(back->rows<prof::Process>(), 2U);
    const auto first = back->row<prof::Process>(0), second = back->row<prof::Process>(1);
    EXPECT_EQ(back->text(first.commandLine), "python \"a b\"");
    EXPECT_FALSE(first.parent);
    EXPECT_EQ(std::tuple(first.startNs, first.endNs, first.exitCode), std::tuple(5, 900, 0));
    EXPECT_EQ(second.parent, first.id);
    EXPECT_EQ(std::tuple(second.startNs, second.endNs, second.exitCode), std::tuple(20, 800, -9));
    EXPECT_EQ(std::tuple(back->row<prof::Thread>(1).startNs, back->row<prof::Thread>(1).endNs),
              std::tuple(20, 700));
  }
}

TEST(Export, RowsThatChromeJsonCannotHoldAreReported) {
  std::string warned;
  ExportOptions options;
  options.warn = [&](const std::string& text) { warned += text; };
  const test::TempFile file(".json");
  ASSERT_TRUE(exportTrace(*ownRecording(), file.path(), Format::Chrome, options));
  EXPECT_EQ(warned, "");
  ASSERT_TRUE(exportTrace(*test::randomStore(1), file.path(), Format::Chrome, options));
  EXPECT_THAT(warned, HasSubstr("no place for 60 rows of cpu_sample, 60 rows of thread_state, 60 "
                                "rows of log, 60 rows of drop, 4 rows of stack_frame"));
}

TEST(Export, CompressesByTheEndingAndNeverOverItsSource) {
  const test::TempFile original(".json", randomTrace(1));
  const auto store = open(original.path());
  for (const auto* ending : {".json.gz", ".json.zst"}) {
    const test::TempFile packed(ending);
    ASSERT_EQ(formatOf(packed.path()), Format::Chrome);
    ASSERT_TRUE(exportTrace(*store, packed.path(), Format::Chrome).ok());
    EXPECT_EQ(open(packed.path())->rows<prof::Range>(), store->rows<prof::Range>());
  }
  EXPECT_FALSE(exportTrace(*store, original.path(), Format::Chrome).ok());
  const test::TempFile inside(".lcn.gz");
  EXPECT_FALSE(exportTrace(*store, inside.path(), Format::Lcn).ok());
  EXPECT_FALSE(std::filesystem::exists(inside.path()));
  EXPECT_TRUE(std::filesystem::exists(original.path()));
  EXPECT_FALSE(exportTrace(*store, "/nonexistent/x.json", Format::Chrome).ok());
}

TEST(Span, IsTheEventsOwnInEveryForm) {
  // The process was seen, and clocks read, before the first event and after the last one, which has
  // no length.
  StoreBuilder builder;
  builder.append(
      prof::Process{.id = prof::ProcessId(1), .osPid = 7, .startNs = 10, .endNs = 90'000});
  builder.append(prof::Thread{.id = prof::ThreadId(1),
                              .process = prof::ProcessId(1),
                              .osTid = 7,
                              .startNs = 20,
                              .endNs = 80'000});
  for (const prof::TimeNs at : {5, 95'000})
    builder.append(
        prof::Clock{.timeNs = at, .realtimeNs = at + 1'000'000'000, .process = prof::ProcessId(1)});
  builder.append(prof::Range{
      .startNs = 1000, .durNs = 500, .thread = prof::ThreadId(1), .name = builder.intern("a")});
  builder.append(
      prof::Mark{.timeNs = 2000, .thread = prof::ThreadId(1), .name = builder.intern("b")});
  const auto store = builder.build();
  const test::TempDir dir;
  ASSERT_TRUE(exportTrace(*store, dir / "a.lcn", Format::Lcn).ok());
  ASSERT_TRUE(exportTrace(*store, dir / "a.json", Format::Chrome).ok());
  ASSERT_TRUE(exportTrace(*store, dir / "a.pftrace", Format::Perfetto).ok());
  const auto spanOf = [](const Store& trace) {
    return std::pair(trace.span().startNs, trace.span().endNs);
  };
  EXPECT_EQ(spanOf(*store), std::pair(prof::TimeNs{1000}, prof::TimeNs{2001}));
  for (const char* name : {"a.lcn", "a.json", "a.pftrace"})
    EXPECT_EQ(spanOf(*open(dir / name)), spanOf(*store)) << name;
}

}  // namespace
}  // namespace lacuna::analyzer
