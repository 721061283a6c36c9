// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/event_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/byte_source.h"
#include "import/chrome/json_walker.h"
#include "support/temp_file.h"

namespace lacuna::analyzer {
namespace {

using testing::HasSubstr;

/// The windows of a text, which is a file as long as this lives.
class WindowedText {
 public:
  explicit WindowedText(std::string_view text, const WindowSizes& sizes = {})
      : file_(".json", text) {
    auto source = ByteSource::open(file_.path());
    EXPECT_TRUE(source.ok());
    windows = std::make_unique<EventWindows>(std::move(*source), sizes);
    status = windows->findList();
  }

  std::unique_ptr<EventWindows> windows;
  prof::Status status;

 private:
  test::TempFile file_;
};

TEST(EventWindows, FindTheListAmongTheMembersOfTheFile) {
  struct Case {
    std::string_view text, head;
    std::string_view rest;
  };
  const Case cases[] = {
      {"[]", "", "]"},
      {" \n[ {}]", "", " {}]"},
      {R"({"traceEvents":[{"ph":"X"}]})", "{", R"({"ph":"X"}]})"},
      {R"({"a": 1, "traceEvents" : [ ], "b": 2})", R"({"a": 1, )", R"( ], "b": 2})"},
      {R"({"a":{"traceEvents":[1]},"traceEvents":[2]})", R"({"a":{"traceEvents":[1]},)", "2]}"},
      {R"({"a":"traceEvents","b":[1],"traceEvents":[2]})", R"({"a":"traceEvents","b":[1],)", "2]}"},
      {R"({"a":["traceEvents",[1]],"traceEvents":[2]})", R"({"a":["traceEvents",[1]],)", "2]}"},
      {R"({"a":"\"traceEvents\":[","traceEvents":[2]})", R"({"a":"\"traceEvents\":[",)", "2]}"},
      {R"({"traceEvents":{"x":[1]},"traceEvents":[2]})", R"({"traceEvents":{"x":[1]},)", "2]}"},
      {R"({"traceEvents":null,"b":[1],"traceEvents":[2]})", R"({"traceEvents":null,"b":[1],)",
       "2]}"},
      {"\xef\xbb\xbf{\"traceEvents\":[2]}", "{", "2]}"},
      {"\xef\xbb\xbf[2]", "", "2]"},
  };
  for (const Case& one : cases) {
    WindowedText text(one.text);
    ASSERT_TRUE(text.status.ok()) << one.text;
    EXPECT_EQ(text.windows->head(), one.head) << one.text;
    EXPECT_EQ(text.windows->isBareList(), one.head.empty()) << one.text;
    EventWindow window;
    ASSERT_TRUE(text.windows->next(window)) << one.text;
    EXPECT_EQ(window.view(), one.rest) << one.text;
    EXPECT_EQ(window.offset, one.text.size() - one.rest.size()) << one.text;
    EXPECT_TRUE(window.last);
    EXPECT_FALSE(text.windows->next(window));
  }
}

TEST(EventWindows, AFileWithoutAListIsRefusedWithTheByteThatShowsIt) {
  const std::pair<std::string_view, std::size_t> cases[] = {{"", 0},
                                                            {"hello", 0},
                                                            {"  7", 2},
                                                            {"{}", 1},
                                                            {R"({"a": 1})", 7},
                                                            {R"({"a": [1]} [2])", 9},
                                                            {R"({"a": "traceEvents)", 18},
                                                            {R"({"x": {"traceEvents": [1]}})", 26}};
  for (const auto& [text, byte] : cases) {
    WindowedText windows(text);
    ASSERT_FALSE(windows.status.ok()) << text;
    EXPECT_EQ(windows.status.error().message,
              "no event list (\"traceEvents\": […]) up to byte " + std::to_string(byte))
        << text;
  }
  EXPECT_THAT(
      WindowedText(
          R"({"schema": "1.1", "nodes": {"name": "[pytorch|profiler|execution_trace|thread]"}})")
          .status.error()
          .message,
      HasSubstr("export_chrome_trace()"));
}

TEST(EventWindows, AListBehindALongBeginningIsFound) {
  const std::string head = R"({"note": ")" + std::string(300'000, '[') + R"(", )";
  WindowedText text(head + R"("traceEvents": [{"ph":"X"}]})", {.windowBytes = 1000});
  ASSERT_TRUE(text.status.ok());
  EXPECT_EQ(text.windows->head(), head);
}

/// A list of events of 20 to 2000 bytes, and what stands after it.
std::string longList(std::mt19937& random) {
  std::string text = R"({"traceEvents":[)";
  for (int i = 0; i < 300; ++i) {
    text += std::string(i > 0 ? (random() % 2 == 0 ? "," : " ,\n  ") : "") +
            R"({"ph":"X","name":")" + std::string(random() % 2000, 'n') +
            R"(","args":{"list":[{"k":1},{"k":2}]}})";
  }
  return text + R"(], "more": [{"ph":"Y"}]})";
}

TEST(EventWindows, JoinToTheWholeTextAndEndBehindEvents) {
  std::mt19937 random(23);
  const std::string text = longList(random);
  ASSERT_GT(text.size(), 200'000U);
  for (const std::size_t windowBytes : {100, 5'000, 70'000, 10'000'000}) {
    WindowedText list(text, {.windowBytes = windowBytes});
    ASSERT_TRUE(list.status.ok());
    EventWindow window;
    std::string joined = text.substr(0, std::string_view(R"({"traceEvents":[)").size());
    std::uint64_t count = 0;
    double share = 0;
    bool last = false;
    for (; list.windows->next(window); ++count) {
      ASSERT_FALSE(last);
      last = window.last;
      EXPECT_EQ(window.number, count);
      EXPECT_GE(window.share, share);
      share = window.share;
      joined += window.gap;
      ASSERT_EQ(window.offset, joined.size());
      joined += window.view();
      ASSERT_EQ(window.view().front(), '{');
      ASSERT_EQ(window.view().back(), '}');
      ASSERT_GE(window.text.size(), window.size + JsonWalker::kPadding);
      EXPECT_EQ(window.text.substr(window.size, JsonWalker::kPadding),
                std::string(JsonWalker::kPadding, ' '));
    }
    EXPECT_TRUE(last);
    EXPECT_TRUE(joined == text) << windowBytes;
    EXPECT_EQ(share, 1.0);
    EXPECT_EQ(list.windows->problem(), "");
    EXPECT_TRUE(windowBytes < 100'000 ? count > 3 : count == 1) << count;
  }
}

TEST(EventWindows, AnEventWithoutAnEndStopsReadingWithinBounds) {
  std::string text = "[";
  for (int i = 0; i < 5'000; ++i) text += R"({"ph":"X","name":"small"},)";
  const std::size_t start = text.size();
  text += R"({"ph":"X","name":")" + std::string(3'000'000, 'x');
  WindowedText list(text, {.windowBytes = 10'000, .mostBytes = 200'000});
  ASSERT_TRUE(list.status.ok());
  EventWindow window;
  std::uint64_t end = 0;
  while (list.windows->next(window)) {
    EXPECT_LE(window.size, 200'000U);
    end = window.offset + window.size;
  }
  EXPECT_TRUE(window.last);
  EXPECT_GT(end, start);
  EXPECT_LT(end, start + 300'000);
  EXPECT_EQ(list.windows->problem(), "byte " + std::to_string(window.offset) +
                                         ": what begins here goes on for more than 200000 bytes, "
                                         "longer than any event; reading stopped there");
  EXPECT_EQ(text.substr(window.offset, 5), "{\"ph\"");
}

TEST(EventWindows, PassOnWhatEndedTheReadingOfThePackedFile) {
  const std::string text = R"([{"ph":"X"}])";
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 1));
  WindowedText list(packed + packed.substr(0, 5));
  ASSERT_TRUE(list.status.ok());
  EventWindow window;
  ASSERT_TRUE(list.windows->next(window));
  EXPECT_EQ(window.view(), text.substr(1));
  EXPECT_EQ(list.windows->problem(), "the compressed data ends early, after 12 bytes of text");
}

}  // namespace
}  // namespace lacuna::analyzer
