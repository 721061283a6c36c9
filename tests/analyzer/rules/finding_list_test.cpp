// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include "lacuna/analyzer/findings.h"
#include "rules/registry.h"

namespace lacuna::analyzer {
namespace {

/// The text without the line breaks inside of items.
std::string unwrapped(const std::string& text) {
  return std::regex_replace(text, std::regex("\n +(?![- ])"), " ");
}

TEST(FindingList, HasEveryFindingWithItsNumbers) {
  for (const std::string& text : {findingListText(200), findingListJson(), findingsMarkdown()}) {
    for (const FindingRule* rule : allRules())
      EXPECT_THAT(text, testing::HasSubstr(std::string(rule->key)));
    EXPECT_THAT(text, testing::Not(testing::HasSubstr("{least}")));
  }
  EXPECT_THAT(findingListText(200),
              testing::HasSubstr("confidence: 90 % (the workers' times are recorded), 70 % ("));
  EXPECT_THAT(findingsMarkdown(), testing::HasSubstr("| `slow-launches` | slow | 50 µs | "));
  EXPECT_THAT(unwrapped(findingsMarkdown()),
              testing::HasSubstr("; not with `launch-bound` where a single kernel repeats\n"));
}

/// The page with the tables between its two marks replaced.
std::string withTables(const std::string& page) {
  constexpr std::string_view kBegin = "<!-- tables of the findings -->\n",
                             kEnd = "<!-- end of the tables -->\n";
  const std::size_t begin = page.find(kBegin), end = page.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos) return "the page has lost its marks";
  return page.substr(0, begin + kBegin.size()) + "\n" + findingsMarkdown() + "\n" +
         page.substr(end);
}

TEST(FindingList, ThePageOfFindingsHasTheTablesOfTheRules) {
  const std::string path = LACUNA_DOCS "/analyses/findings.md";
  std::stringstream page;
  page << std::ifstream(path).rdbuf();
  if (std::getenv("LACUNA_WRITE_DOCS") != nullptr) std::ofstream(path) << withTables(page.str());
  EXPECT_EQ(page.str(), withTables(page.str()))
      << "run: LACUNA_WRITE_DOCS=1 analyzer_rules_test --gtest_filter=FindingList.*";
}

}  // namespace
}  // namespace lacuna::analyzer
