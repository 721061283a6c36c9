// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "python/objects.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "image.h"

namespace lacuna::collector::python {
namespace {

constexpr std::uint64_t kObject = 0x1000;

Layout layout() {
  Layout layout;
  layout.text = {16, 32, 2, 48, 72};
  layout.bytes = {16, 32};
  return layout;
}

/// A str object as CPython 3.11 lays it out.
ImageMemory text(std::int64_t length, std::uint32_t kind, bool compact, bool ascii,
                 std::string_view characters) {
  std::string object(ascii ? 48 : 72, '\0');
  const std::uint32_t state = kind << 2 | (compact ? 1u << 5 : 0) | (ascii ? 1u << 6 : 0);
  std::memcpy(object.data() + 16, &length, sizeof length);
  std::memcpy(object.data() + 32, &state, sizeof state);
  object += characters;
  return ImageMemory({{kObject, object}});
}

std::optional<std::string> read(ImageMemory memory, std::size_t most = 100) {
  return readText(memory, layout(), kObject, most);
}

TEST(Text, OfEachWidth) {
  using namespace std::string_view_literals;
  EXPECT_EQ(read(text(5, 1, true, true, "train")), "train");
  EXPECT_EQ(read(text(2, 1, true, false, "\xe9!"sv)), "\u00e9!");
  EXPECT_EQ(read(text(2, 2, true, false, "\xac\x20!\0"sv)), "\u20ac!");
  EXPECT_EQ(read(text(2, 4, true, false, "\0\xf6\x01\0!\0\0\0"sv)), "\U0001f600!");
  EXPECT_EQ(read(text(0, 1, true, true, "")), "");
}

TEST(Text, LongOnesAreCut) {
  EXPECT_EQ(read(text(5, 1, true, true, "train"), 3), "tra");
  EXPECT_EQ(read(text(INT64_MAX, 1, true, true, "train"), 5), "train");
}

TEST(Text, WhatUtf8CannotHoldIsReplaced) {
  using namespace std::string_view_literals;
  EXPECT_EQ(read(text(2, 2, true, false, "\x80\xdc!\0"sv)), "\ufffd!") << "half a surrogate";
  EXPECT_EQ(read(text(1, 4, true, false, "\xff\xff\xff\xff"sv)), "\ufffd");
}

TEST(Text, WhatIsNoTextIsNone) {
  EXPECT_EQ(read(text(-1, 1, true, true, "train")), std::nullopt);
  EXPECT_EQ(read(text(5, 1, false, true, "train")), std::nullopt) << "its characters are elsewhere";
  EXPECT_EQ(read(text(5, 3, true, true, "train")), std::nullopt) << "no such width";
  EXPECT_EQ(read(text(6, 1, true, true, "train")), std::nullopt) << "memory ends";
  ImageMemory nothing({});
  EXPECT_EQ(readText(nothing, layout(), kObject, 5), std::nullopt);
}

TEST(Bytes, AreReadCompletely) {
  std::string object(32, '\0');
  object[16] = 3;
  object += "abc";
  ImageMemory memory({{kObject, object}});
  EXPECT_EQ(readBytes(memory, layout(), kObject, 3)->size(), 3u);
  EXPECT_EQ(readBytes(memory, layout(), kObject, 2), std::nullopt) << "more than there may be";
  ImageMemory cut({{kObject, object.substr(0, 33)}});
  EXPECT_EQ(readBytes(cut, layout(), kObject, 3), std::nullopt);
}

}  // namespace
}  // namespace lacuna::collector::python
