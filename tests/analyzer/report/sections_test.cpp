// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "analyses/work/kernels.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/table.h"
#include "report/section.h"
#include "support/synthetic_run.h"

namespace lacuna::analyzer {
namespace {

using testing::HasSubstr;

TEST(Sections, DescribeThemselves) {
  std::set<std::string_view> names;
  for (const Section* section : allSections()) {
    EXPECT_TRUE(names.insert(section->name).second) << section->name;
    EXPECT_FALSE(section->title.empty()) << section->name;
    EXPECT_FALSE(section->about.empty()) << section->name;
    EXPECT_TRUE(section->text != nullptr || section->notes != nullptr || section->tables != nullptr)
        << section->name;
    EXPECT_FALSE(jsonKeysOf(*section).empty()) << section->name;
  }
}

TEST(Sections, TablesHaveColumnsOfTheirOwnWithAMeaning) {
  std::set<std::string_view> tables;
  for (const Table& table : reportTables(Analysis{})) {
    EXPECT_TRUE(tables.insert(table.key).second) << table.key;
    EXPECT_FALSE(table.about.empty()) << table.key;
    std::set<std::string_view> keys;
    for (const ColumnInfo& column : table.columns) {
      EXPECT_TRUE(keys.insert(column.key).second) << table.key << '.' << column.key;
      EXPECT_FALSE(column.meaning.empty()) << table.key << '.' << column.key;
      EXPECT_EQ(column.kind == ColumnKind::Band, !column.figure.empty())
          << table.key << '.' << column.key;
    }
    for (const ColumnInfo& column : table.columns) {
      EXPECT_TRUE(column.figure.empty() || keys.contains(column.figure))
          << table.key << '.' << column.key;
    }
  }
}

/// A run in which every part of the report has something to show.
Analysis fullRun() {
  auto analysis = analyse(test::makeRun({.batchNs = 8'000'000, .syncEachStep = true}));
  EXPECT_TRUE(analysis) << analysis.error().message;
  return std::move(*analysis);
}

TEST(Sections, AreInTextJsonAndHtmlAlike) {
  const Analysis analysis = fullRun();
  const std::string json = renderJson(analysis);
  const std::string page = renderHtml(analysis);
  for (const Section* section : allSections()) {
    const std::string text = renderText(analysis, {{std::string(section->name)}, 100, false});
    EXPECT_FALSE(text.empty()) << section->name;
    for (const std::string& key : jsonKeysOf(*section)) {
      EXPECT_THAT(json, HasSubstr("\n  \"" + key + "\": ")) << section->name;
    }
  }
  for (const Section* section : allSections()) {
    const bool isShown = page.find(">" + std::string(section->title) + "</a>") != std::string::npos;
    const auto isForPeople = [](const Table& table) {
      return !table.rows.empty() && !table.shownColumns().empty();
    };
    const bool hasRows = section->tables != nullptr && section->html == nullptr &&
                         std::ranges::any_of(readable(section->tables(analysis)), isForPeople);
    EXPECT_TRUE(isShown || !hasRows) << section->name;
  }
}

TEST(Sections, ATableIsTheSameInJsonAndCsv) {
  const Analysis analysis = fullRun();
  for (const Table& table : reportTables(analysis)) {
    if (table.key != "kernels") continue;
    ASSERT_FALSE(table.rows.empty());
    const std::string csv = tableCsv(table);
    EXPECT_TRUE(csv.starts_with("name,count,total_ns,recording_ns,share,mean_ns,min_ns,max_ns\n"))
        << csv;
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(csv, '\n')), table.rows.size() + 1);
    const KernelRow& first = analysis.of<KernelTable>().front();
    EXPECT_THAT(csv, HasSubstr("\n" + first.name + "," + std::to_string(first.count) + "," +
                               std::to_string(first.totalNs)));
    EXPECT_THAT(renderJson(analysis), HasSubstr("\"total_ns\": " + std::to_string(first.totalNs)));
  }
}

struct Shelf {
  std::string name;
  std::int64_t books = 0;
};

const Column<Shelf> kShelf[]{
    {{"name", "", ColumnKind::Text, "of the shelf"}, kValueOf<&Shelf::name>},
    {{"books", "", ColumnKind::Count, "on it; nothing where nobody counted"},
     [](const Shelf& row) -> TableCell {
       return row.books < 0 ? TableCell() : TableCell(row.books);
     }},
};

/// A room with two shelves, and with the words on the door beside it.
std::vector<Table> room(const Analysis&) {
  const std::vector<Shelf> shelves{{"left", 7}, {"right", -1}};
  Table door = groupOf("door", {});
  door.columns.push_back({"words", "", ColumnKind::Text, "on the door"});
  door.rows = {{TextList{"push", "a \"bell\""}}};
  return {placed("room", holding(recordOf("library", "one room", kShelf, Shelf{"all", 7}),
                                 [shelves](std::size_t) {
                                   return std::vector{placed(
                                       "shelves", tableOf("shelf", "each", kShelf, shelves))};
                                 })),
          placed({}, recordOf("sum", "of the report", kShelf, Shelf{"sum", 1})), door};
}
const Section kRoom{.name = "room", .title = "Room", .about = "shelves", .tables = room};

TEST(Sections, HaveTablesInsideOfRecordsInJson) {
  JsonWriter json;
  json.beginObject();
  writeJson(kRoom, json, {});
  EXPECT_EQ(json.endObject().take(), R"({
  "room": {
    "name": "all",
    "books": 7,
    "shelves": [
      {
        "name": "left",
        "books": 7
      },
      {
        "name": "right"
      }
    ]
  },
  "name": "sum",
  "books": 1,
  "door": {
    "words": [
      "push",
      "a \"bell\""
    ]
  }
}
)");
  EXPECT_EQ(jsonKeysOf(kRoom), (std::vector<std::string>{"room", "name", "books", "door"}));
}

TEST(Sections, HaveTablesInsideOfRecordsThatCanBeReadAlone) {
  const std::vector<Table> tables = readable(room({}));
  ASSERT_EQ(tables.size(), 4U);
  EXPECT_EQ(tables[1].key, "shelf");
  EXPECT_EQ(tables[1].place, "room.shelves");
  EXPECT_EQ(tableCsv(tables[1]), "name,books\nleft,7\nright,\n");
  EXPECT_EQ(tables[1].text(1, 1), "") << "nobody counted";
  EXPECT_EQ(tableCsv(tables[3]), "words\n\"[\"\"push\"\", \"\"a \\\"\"bell\\\"\"\"\"]\"\n");
  EXPECT_EQ(tables[3].text(0, 0), "push, a \"bell\"");
  for (const Table& table : tables) EXPECT_FALSE(table.inside) << table.key;
}

/// The page with the part between its two marks replaced.
std::string withTables(const std::string& page) {
  constexpr std::string_view kBegin = "<!-- sections and tables -->\n",
                             kEnd = "<!-- end of the sections -->\n";
  const std::size_t begin = page.find(kBegin), end = page.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos) return "the page has lost its marks";
  return page.substr(0, begin + kBegin.size()) + "\n" + sectionListMarkdown() + "\n" +
         page.substr(end);
}

TEST(Sections, ThePageOfTheJsonReportHasTheirTables) {
  const std::string path = LACUNA_DOCS "/report-json.md";
  std::stringstream page;
  page << std::ifstream(path).rdbuf();
  if (std::getenv("LACUNA_WRITE_DOCS") != nullptr) std::ofstream(path) << withTables(page.str());
  EXPECT_EQ(page.str(), withTables(page.str()))
      << "run: LACUNA_WRITE_DOCS=1 analyzer_report_test --gtest_filter=Sections.*";
}

}  // namespace
}  // namespace lacuna::analyzer
