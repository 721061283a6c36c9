// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "mcp/tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "mcp/schema_text.h"

namespace {

using namespace lacuna::cli::mcp;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using Texts = std::vector<std::string>;

Argument text(std::string value) {
  return value;
}

Texts words(const char* tool, const Arguments& arguments,
            milliseconds limit = milliseconds(300'000)) {
  EXPECT_TRUE(checkArguments(*findTool(tool), arguments).ok());
  return findTool(tool)->words(arguments, limit);
}

std::string faultOf(const char* tool, const Arguments& arguments) {
  const auto status = checkArguments(*findTool(tool), arguments);
  return status.ok() ? "none" : status.error().message;
}

TEST(McpTools, ACallBecomesACommandLine) {
  EXPECT_THAT(words("report", {{"file", text("a.lcn")}, {"sections", Texts{"steps", "memory"}}}),
              ElementsAre("report", "--width", "100", "--section", "steps,memory", "--", "a.lcn"));
  EXPECT_THAT(words("whatif", {{"file", text("a.lcn")}, {"changes", Texts{"amp=on", "copy*0"}}}),
              ElementsAre("whatif", "--", "a.lcn", "amp=on", "copy*0"));
  EXPECT_THAT(words("diff", {{"before", text("a")}, {"after", text("b")}}),
              ElementsAre("diff", "--rows", "20", "--", "a", "b"));
  EXPECT_THAT(
      words("query", {{"file", text("a")}, {"sql", text("SELECT 1")}, {"rows", std::int64_t{5}}}),
      ElementsAre("query", "--csv", "--rows", "5", "--time-limit", "305.000", "--", "a",
                  "SELECT 1"));
}

TEST(McpTools, AListMayBeOneText) {
  EXPECT_THAT(words("report", {{"file", text("a")}, {"sections", text("steps")}}),
              testing::Contains("steps"));
}

TEST(McpTools, WithoutALimitAQueryHasNone) {
  EXPECT_THAT(words("query", {{"file", text("a")}, {"sql", text("SELECT 1")}}, milliseconds(0)),
              testing::Contains("0"));
}

TEST(McpTools, AFileThatBeginsWithADashIsNoOption) {
  EXPECT_EQ(words("report", {{"file", text("--help")}}).back(), "./--help");
  EXPECT_EQ(words("diff", {{"before", text("--")}, {"after", text("-h")}}),
            (Texts{"diff", "--rows", "20", "--", "./--", "./-h"}));
}

TEST(McpTools, WrongArgumentsAreNamed) {
  EXPECT_THAT(faultOf("report", {}), HasSubstr("the argument `file` is missing"));
  EXPECT_THAT(faultOf("report", {{"file", text("")}}), HasSubstr("is empty"));
  EXPECT_THAT(faultOf("report", {{"file", text(std::string("a\0b", 3))}}), HasSubstr("NUL"));
  EXPECT_THAT(faultOf("report", {{"file", std::int64_t{1}}}), HasSubstr("is not a text"));
  EXPECT_THAT(faultOf("report", {{"file", text("a")}, {"section", text("steps")}}),
              HasSubstr("there is no argument `section`; there are: file, sections"));
  EXPECT_THAT(faultOf("report", {{"file", text("a")}, {"sections", Texts{"stepz"}}}),
              HasSubstr("does not know 'stepz'; there are: summary, "));
  EXPECT_THAT(faultOf("whatif", {{"file", text("a")}, {"changes", Texts{}}}),
              HasSubstr("is an empty list"));
  EXPECT_THAT(faultOf("whatif", {{"file", text("a")}, {"changes", Argument()}}),
              HasSubstr("is not a list of texts"));
  EXPECT_THAT(
      faultOf("query", {{"file", text("a")}, {"sql", text("s")}, {"rows", std::int64_t{0}}}),
      HasSubstr("is 0; it takes 1 to 10000"));
}

TEST(McpTools, TheSchemaHasEveryTableAndItsColumns) {
  const std::string list = tableListText();
  EXPECT_THAT(list, HasSubstr("\nkernel: startNs, durNs, queue, "));
  EXPECT_THAT(list, HasSubstr("\ncollective: "));
  EXPECT_THAT(list, HasSubstr("\nreport_findings: id, kind, "));
  EXPECT_LT(list.size(), 24U << 10) << "a reply has room for it";
  const auto table = tableText("collective");
  ASSERT_TRUE(table.ok());
  EXPECT_THAT(*table, HasSubstr("| column | type | what |"));
  EXPECT_THAT(*table, Not(HasSubstr("# ")));
  EXPECT_THAT(tableText("kernels").error().message, HasSubstr("did you mean 'kernel'?"));
  EXPECT_FALSE(tableText(std::string(100'000, 'k')).ok());
}

}  // namespace
