// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/store.h"
#include "support/random_store.h"
#include "support/temp_file.h"

/// Tables as CSV and JSON, read back by readers that know nothing of how they were written.
namespace lacuna::analyzer {
namespace {

using Record = std::vector<std::string>;

std::string tableText(const Store& store, std::string_view table, Format format) {
  const test::TempFile file(".out");
  ExportOptions options;
  options.table = table;
  const auto status = exportTrace(store, file.path(), format, options);
  EXPECT_TRUE(status) << table;
  std::ostringstream out;
  out << std::ifstream(file.path(), std::ios::binary).rdbuf();
  return out.str();
}

/// Records of a CSV file by RFC 4180, with line feeds between them.
std::vector<Record> csvRecords(std::string_view text) {
  std::vector<Record> out;
  Record record;
  std::string field;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c != '"') {
        field += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        field += text[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      EXPECT_TRUE(field.empty()) << "a quote in a bare field";
      quoted = true;
    } else if (c == ',' || c == '\n') {
      record.push_back(std::exchange(field, {}));
      if (c == '\n') out.push_back(std::exchange(record, {}));
    } else {
      field += c;
    }
  }
  EXPECT_TRUE(field.empty() && record.empty() && !quoted) << "the last record is whole";
  return out;
}

/// A value as a person would write it.
template <class T>
std::string plainText(const Store& store, const T& value) {
  if constexpr (std::is_same_v<T, prof::StringId>) {
    return std::string(store.text(value));
  } else if constexpr (std::is_class_v<T>) {
    return std::to_string(value.value);
  } else if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<unsigned>(value));
  } else {
    return fmt::format("{}", value);
  }
}

/// Names that a separator, a quote or a line end could break. None begins as a formula does.
test::RandomTexts breakingTexts() {
  test::RandomTexts texts;
  texts.names = {"",  "plain", "a,b",    "say \"x\"", "two\nlines", "été",  "\"",
                 ",", "a\r\n", "trail ", "-1",        "7e",         "-1e5", "x=1"};
  texts.shapes = {"size\nlist"};  // without the plus of a stored one, which a spreadsheet would
                                  // take for a formula
  return texts;
}

template <class Row>
void expectCsv(const Store& store) {
  const std::vector<Record> records = csvRecords(tableText(store, Row::kName, Format::Csv));
  ASSERT_EQ(records.size(), store.rows<Row>() + 1) << Row::kName;
  Record names;
  for (const prof::ColumnSpec& column : Row::columns()) names.emplace_back(column.name);
  EXPECT_EQ(records[0], names);
  for (std::uint64_t i = 0; i < store.rows<Row>(); ++i) {
    const Row row = store.row<Row>(i);
    Record expected;
    Row::forEachMember([&]<auto Member>() { expected.push_back(plainText(store, row.*Member)); });
    EXPECT_EQ(records[i + 1], expected) << Row::kName << " " << i;
  }
}

/// A value of a JSON row as plainText() has it.
std::string jsonValue(const simdjson::dom::element& value) {
  if (value.is_string()) return std::string(value.get_string().value());
  if (value.is_int64()) return std::to_string(value.get_int64().value());
  if (value.is_uint64()) return std::to_string(value.get_uint64().value());
  return fmt::format("{}", value.get_double().value());
}

template <class Row>
void expectJson(const Store& store) {
  std::istringstream lines(tableText(store, Row::kName, Format::TableJson));
  simdjson::dom::parser parser;
  std::uint64_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const simdjson::dom::element found = parser.parse(line);
    ASSERT_LT(count, store.rows<Row>());
    const Row row = store.row<Row>(count);
    std::size_t at = 0;
    Row::forEachMember([&]<auto Member>() {
      const std::string_view name = Row::columns()[at++].name;
      EXPECT_EQ(jsonValue(found[name]), plainText(store, row.*Member))
          << Row::kName << " " << count << " " << name;
    });
    EXPECT_EQ(found.get_object().value().size(), at);
  }
  EXPECT_EQ(count, store.rows<Row>()) << Row::kName;
}

TEST(TableExport, EveryTableComesBackFromCsv) {
  const auto store = test::randomStore(3, 30, breakingTexts());
  prof::forEachTable([&]<class Row>() {
    // An argument's value is what it means, not what its column holds.
    if constexpr (!std::is_same_v<Row, prof::Arg>) expectCsv<Row>(*store);
  });
}

TEST(TableExport, EveryTableComesBackFromJson) {
  const auto store = test::randomStore(4, 30, breakingTexts());
  prof::forEachTable([&]<class Row>() {
    if constexpr (!std::is_same_v<Row, prof::Arg>) expectJson<Row>(*store);
  });
}

/// A log of these lines, one a nanosecond.
std::shared_ptr<const Store> logOf(const std::vector<std::string>& texts) {
  StoreBuilder builder;
  prof::TimeNs at = 0;
  for (const std::string& text : texts)
    builder.append(prof::LogLine{.timeNs = ++at, .text = builder.intern(text)});
  return builder.build();
}

TEST(TableExport, NoTextOfACsvFileIsAFormula) {
  const std::vector<std::pair<std::string, std::string>> fields{{"=SUM(A1)", "'=SUM(A1)"},
                                                                {"+1+1", "'+1+1"},
                                                                {"-x", "'-x"},
                                                                {"@cmd", "'@cmd"},
                                                                {"\t=1", "'\t=1"},
                                                                {"\r=1", "'\r=1"},
                                                                {"\n=1", "'\n=1"},
                                                                {"-", "'-"},
                                                                {"-1", "-1"},
                                                                {"=\"a\",b", "'=\"a\",b"},
                                                                {"-1.5e3", "-1.5e3"},
                                                                {"-inf", "-inf"},
                                                                {"a=b", "a=b"},
                                                                {"'=1", "'=1"},
                                                                {"", ""}};
  std::vector<std::string> texts;
  for (const auto& [text, field] : fields) texts.push_back(text);
  const auto records = csvRecords(tableText(*logOf(texts), "log", Format::Csv));
  ASSERT_EQ(records.size(), fields.size() + 1);
  for (std::size_t i = 0; i < fields.size(); ++i)
    EXPECT_EQ(records[i + 1].back(), fields[i].second);
}

TEST(TableExport, BytesThatAreNoUtf8StayInCsvAndAreReplacedInJson) {
  const auto store = logOf({"bad\xff end"});
  EXPECT_EQ(csvRecords(tableText(*store, "log", Format::Csv)).at(1).back(), "bad\xff end");
  simdjson::dom::parser parser;
  const std::string line = tableText(*store, "log", Format::TableJson);
  EXPECT_EQ(parser.parse(line)["text"].get_string().value(), "bad\xef\xbf\xbd end");
}

TEST(TableExport, NumbersKeepEveryDigit) {
  StoreBuilder builder;
  const std::vector<double> values{0.1, 1e300, -2.5e-7, 1234567890123456.0, 0};
  prof::TimeNs at = 0;
  for (const double value : values)
    builder.append(prof::CounterSample{.timeNs = ++at, .value = value});
  builder.append(prof::Kernel{.startNs = -5, .correlation = UINT64_MAX});
  const auto store = builder.build();
  const auto records = csvRecords(tableText(*store, "counter_sample", Format::Csv));
  for (std::size_t i = 0; i < values.size(); ++i) {
    double read = 0;
    const std::string& field = records.at(i + 1).back();
    const auto result = std::from_chars(field.data(), field.data() + field.size(), read);
    EXPECT_TRUE(result.ec == std::errc() && result.ptr == field.data() + field.size()) << field;
    EXPECT_EQ(read, values[i]);
  }
  const auto kernels = csvRecords(tableText(*store, "kernel", Format::Csv));
  EXPECT_EQ(kernels.at(1).at(0), "-5");
  EXPECT_EQ(kernels.at(1).at(4), "18446744073709551615");
}

TEST(TableExport, WhatIsNoNumberIsNullInJson) {
  StoreBuilder builder;
  prof::TimeNs at = 0;
  for (const double value : {1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0})
    builder.append(prof::CounterSample{.timeNs = ++at, .value = value});
  const auto store = builder.build();
  std::istringstream lines(tableText(*store, "counter_sample", Format::TableJson));
  simdjson::dom::parser parser;
  std::string line;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_TRUE(parser.parse(line)["value"].is_null()) << line;
  }
}

TEST(TableExport, EndsOnceItIsNoLongerWanted) {
  const auto store = test::randomStore(1);
  const test::TempFile file(".csv");
  ExportOptions options;
  options.progress = [](double share) { return share < 0.5; };
  const auto status = exportTrace(*store, file.path(), Format::Csv, options);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "the export was cancelled");
  EXPECT_FALSE(std::filesystem::exists(file.path())) << "no half of a table is left";
}

TEST(TableExport, FormatsAreKnownByNameAndEnding) {
  struct Case {
    const char* path;
    std::optional<Format> format;
  };
  for (const Case& one :
       {Case{"a.lcn", Format::Lcn}, Case{"a.json", Format::Chrome},
        Case{"a.json.gz", Format::Chrome}, Case{"dir.csv/a.pftrace", Format::Perfetto},
        Case{"a.perfetto-trace.zst", Format::Perfetto},
        Case{"a.speedscope.json", Format::Speedscope}, Case{"a.folded.gz", Format::Folded},
        Case{"a.csv", Format::Csv}, Case{"a.sqlite", Format::Nsys}, Case{"a.gz", std::nullopt},
        Case{".gz", std::nullopt}, Case{"a.csv.txt", std::nullopt}, Case{"csv", std::nullopt},
        Case{"", std::nullopt}, Case{"A.CSV", std::nullopt}}) {
    EXPECT_EQ(formatOf(one.path), one.format) << one.path;
  }
  std::istringstream names{std::string(formatNames())};
  std::size_t count = 0;
  for (std::string name; std::getline(names >> std::ws, name, ','); ++count)
    EXPECT_TRUE(formatNamed(name)) << name;
  EXPECT_EQ(count, 8U);
  std::istringstream endings{std::string(formatEndings())};
  for (std::string ending; std::getline(endings >> std::ws, ending, ',');)
    EXPECT_TRUE(formatOf("a" + ending)) << ending;
  EXPECT_FALSE(formatNamed("json"));
  EXPECT_FALSE(formatNamed(""));
}

}  // namespace
}  // namespace lacuna::analyzer
