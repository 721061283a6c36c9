// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "formats/markdown.h"

#include <gtest/gtest.h>

namespace lacuna::analyzer {
namespace {

TEST(Markdown, AShortItemIsOneLine) {
  EXPECT_EQ(markdownItem("one `two`"), "- one `two`\n");
  EXPECT_EQ(markdownItem("an inner one", 1), "  - an inner one\n");
}

TEST(Markdown, ALongItemGoesOnBelowItsText) {
  const std::string half(58, 'a');
  EXPECT_EQ(markdownItem(half + " " + half + " b"), "- " + half + " " + half + "\n  b\n");
  EXPECT_EQ(markdownItem(half + " " + half, 1), "  - " + half + "\n    " + half + "\n");
}

TEST(Markdown, CountsCharactersAndNotBytes) {
  std::string half;
  for (int i = 0; i < 58; ++i) half += "µ";
  EXPECT_EQ(markdownItem(half + " " + half), "- " + half + " " + half + "\n");
}

TEST(Markdown, AWordThatIsLongerThanALineStandsAlone) {
  const std::string word(200, 'w');
  EXPECT_EQ(markdownItem("a " + word + " b"), "- a\n  " + word + "\n  b\n");
}

}  // namespace
}  // namespace lacuna::analyzer
