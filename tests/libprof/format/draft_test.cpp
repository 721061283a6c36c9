// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/draft.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace lacuna::prof {
namespace {

namespace fs = std::filesystem;

/// A file that is there, and a draft of what is to replace it.
class DraftTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "lacuna-whole-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    home_ = name;
    put(file(), "older");
  }
  void TearDown() override { fs::remove_all(home_); }
  [[nodiscard]] fs::path file() const { return home_ / "file"; }
  [[nodiscard]] fs::path draft() const { return home_ / "draft"; }
  static void put(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string textOf(const fs::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  fs::path home_;
};

TEST_F(DraftTest, ADraftIsNotWrittenThroughALink) {
  fs::create_symlink(file(), draft());
  ASSERT_TRUE(createDraft(draft()).ok());
  EXPECT_FALSE(fs::is_symlink(draft()));
  put(draft(), "newer");
  EXPECT_EQ(textOf(file()), "older");
  ASSERT_TRUE(publishDraft(draft(), file()).ok());
  EXPECT_EQ(textOf(file()), "newer");
  EXPECT_FALSE(fs::exists(draft()));
}

TEST_F(DraftTest, WhatAKilledProcessLeftOfADraftIsReplaced) {
  put(draft(), "half of ano");
  ASSERT_TRUE(createDraft(draft()).ok());
  EXPECT_EQ(textOf(draft()), "");
}

TEST_F(DraftTest, ADraftThatBecameALinkIsNotPublished) {
  put(home_ / "other", "other");
  fs::create_symlink(home_ / "other", draft());
  EXPECT_FALSE(publishDraft(draft(), file()).ok());
  EXPECT_EQ(textOf(file()), "older");
}

TEST_F(DraftTest, AFolderInThePlaceOfADraftStays) {
  fs::create_directory(draft());
  EXPECT_FALSE(createDraft(draft()).ok());
  EXPECT_TRUE(fs::is_directory(draft()));
}

}  // namespace
}  // namespace lacuna::prof
