// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "python/layout.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace lacuna::collector::python {
namespace {

constexpr const char* kObjects =
    "pid 17\nnamespace 4026531836\nback 24\nbytes_data 32\nbytes_size 16\ncode 32\ncode_size "
    "176\ncode_type 4096\n"
    "file 104\nfirst_line 40\nframe 24\nframe_type 8192\nid 176\ninterpreter 65536\nlasti "
    "96\nlines 2\nname 112\n"
    "next 8\ntable 120\ntext_ascii 48\ntext_kind_shift 2\ntext_length 16\ntext_state 32\ntext_wide "
    "72\nthreads 8\n"
    "tid 720\ntype 8\nend 1\n";
constexpr const char* kStack =
    "pid 17\nback 48\nbytecode 184\nbytes_data 32\nbytes_size 16\ncframe 56\ncframe_frame 8\nchunk "
    "296\ncode 32\n"
    "code_size 192\ncode_type 4096\nfile 112\nfirst_line 72\nframe_size 80\nid 152\ninstruction "
    "56\ninterpreter 65536\n"
    "lines 3\nname 128\nnext 8\nowner 69\ntable 136\ntext_ascii 48\ntext_kind_shift 2\ntext_length "
    "16\ntext_state 32\n"
    "text_wide 72\nthreads 16\ntid 720\ntype 8\nunits 16\nend 1\n";

std::string with(std::string text, const std::string& name, const std::string& value) {
  const auto at = text.find("\n" + name + " ") + 1;
  return text.replace(at, text.find('\n', at) - at, value.empty() ? "nothing" : name + " " + value);
}

TEST(Layout, FramesThatAreObjects) {
  const auto layout = parseLayout(kObjects);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->pid, 17u);
  EXPECT_EQ(layout->pidNamespace, 4026531836u);
  EXPECT_EQ(layout->frameType, 8192u);
  EXPECT_EQ(layout->frame.size, 100u) << "as far as the instruction's number";
  EXPECT_FALSE(layout->frame.instruction);
  EXPECT_EQ(layout->code.lines, LineTable::Ranges);
}

TEST(Layout, FramesOnAStackOfTheirOwn) {
  const auto layout = parseLayout(kStack);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->thread.cframe, 56u);
  EXPECT_EQ(layout->thread.chunk, 296u);
  EXPECT_EQ(layout->frame.instruction, 56u);
  EXPECT_EQ(layout->code.units, 16u);
}

TEST(Layout, AHelperIsMarkedSo) {
  EXPECT_FALSE(parseLayout(kStack)->isHelper);
  EXPECT_TRUE(parseLayout(std::string("helper 1\n") + kStack)->isHelper);
}

TEST(Layout, AnAnnouncementThatIsCutIsNone) {
  const std::string full = kStack;
  for (std::size_t size = 0; size + 1 < full.size(); ++size) {
    EXPECT_FALSE(parseLayout(full.substr(0, size)).has_value() && size + 6 < full.size()) << size;
  }
}

TEST(Layout, WhatMustBeThereMayNotBeMissing) {
  for (const char* name :
       {"interpreter", "code_type", "threads", "next", "id", "tid", "back", "code", "file", "name",
        "first_line", "table", "lines", "owner", "frame_size", "text_state", "bytes_size"}) {
    EXPECT_FALSE(parseLayout(with(kStack, name, ""))) << name;
  }
  EXPECT_FALSE(parseLayout(with(kStack, "cframe", ""))) << "nothing leads to a frame";
  EXPECT_FALSE(parseLayout(with(kObjects, "frame", "")));
}

TEST(Layout, NumbersOutOfBoundsAreRefused) {
  EXPECT_FALSE(parseLayout(with(kStack, "threads", "70000")));
  EXPECT_FALSE(parseLayout(with(kStack, "lines", "4")));
  EXPECT_FALSE(parseLayout(with(kStack, "lines", "0")));
  EXPECT_FALSE(parseLayout(with(kStack, "text_kind_shift", "30"))) << "the state has 32 bits";
  EXPECT_FALSE(parseLayout(with(kStack, "back", "76"))) << "the frame ends in front of it";
  EXPECT_FALSE(parseLayout(with(kStack, "table", "190")));
  EXPECT_FALSE(parseLayout(with(kStack, "code_size", "60000")));
  EXPECT_FALSE(parseLayout(with(kStack, "interpreter", "18446744073709551615")));
  EXPECT_FALSE(parseLayout(with(kStack, "id", "-8")));
}

TEST(Layout, AnyBytesAreReadToTheirEnd) {
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    std::string text = round % 2 == 0 ? kObjects : kStack;
    for (int i = 0; i < 4; ++i) text[random() % text.size()] = static_cast<char>(random());
    const auto layout = parseLayout(text);
    if (!layout) continue;
    EXPECT_LE(layout->code.table + 8, layout->code.size);
    EXPECT_LE(layout->frame.back + 8, layout->frame.size);
  }
}

}  // namespace
}  // namespace lacuna::collector::python
