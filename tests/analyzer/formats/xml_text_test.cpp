// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "lacuna/analyzer/text.h"
#include "support/random_store.h"

namespace lacuna::analyzer {
namespace {

TEST(XmlText, MarksOfTheLanguageAreTexts) {
  EXPECT_EQ(xmlText("<a b=\"c\">&amp;]]>"), "&lt;a b=&quot;c&quot;&gt;&amp;amp;]]&gt;");
  EXPECT_EQ(xmlText("été 'µ'"), "été 'µ'");
}

TEST(XmlText, CharactersThatXmlForbidsAreEscapesThatPeopleRead) {
  EXPECT_EQ(xmlText(std::string_view("\0\x01\x1b[2J\x7f", 7)), R"(\x00\x01\x1b[2J\x7f)");
  EXPECT_EQ(xmlText("\ufffe|\uffff|\ufffd"), "\\ufffe|\\uffff|\ufffd");
  EXPECT_EQ(xmlText("\xff\xed\xa0\x80"), R"(\xff\xed\xa0\x80)");
  EXPECT_EQ(xmlText("a\u202eb\u2028c"), R"(a\u202eb\u2028c)");
  EXPECT_EQ(xmlText("two\r\nlines"), "two  lines");
}

/// XML 1.0, section 2.2.
bool isXmlCharacter(std::uint32_t code) {
  return code == 0x9 || code == 0xa || code == 0xd || (code >= 0x20 && code <= 0xd7ff) ||
         (code >= 0xe000 && code <= 0xfffd) || (code >= 0x10000 && code <= 0x10ffff);
}

TEST(XmlText, EveryTextBecomesCharactersOfXml) {
  for (const std::string& hostile : test::hostileTexts().names) {
    const std::string text = xmlText(hostile);
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t length = utf8SequenceLength(rest);
      ASSERT_GT(length, 0U) << text;
      EXPECT_TRUE(isXmlCharacter(codeOf(rest.substr(0, length)))) << text;
      EXPECT_EQ(rest.find_first_of("<>\""), std::string_view::npos);
      rest.remove_prefix(length);
    }
  }
}

}  // namespace
}  // namespace lacuna::analyzer
