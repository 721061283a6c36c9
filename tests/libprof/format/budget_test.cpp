// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/budget.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "lacuna/prof/reader.h"
#include "lacuna/prof/recover.h"
#include "lacuna/prof/writer.h"
#include "support/temp_file.h"

namespace lacuna::prof {
namespace {

using Item = Budget::Item;

TEST(Budget, GrowsWithTheFileAndIsTheSameForSmallOnes) {
  const Budget budget;
  EXPECT_EQ(budget.most(Item::Rows, 10), budget.most(Item::Rows, 1000));
  EXPECT_EQ(budget.most(Item::Rows, 1'000'000'000), 6'000'000'000U);
  EXPECT_EQ(budget.most(Item::Text, UINT64_MAX), UINT64_MAX);
  EXPECT_EQ(budget.most(Item::Tracks, 10), 100'000U);
  EXPECT_EQ(budget.most(Item::Tracks, 64'000'000), 1'000'000U);
}

TEST(Budget, IsRaisedByItem) {
  Budget budget;
  ASSERT_TRUE(budget.raise("rows=20M,text=4G"));
  EXPECT_EQ(budget.most(Item::Rows, 10), 20'000'000U);
  EXPECT_EQ(budget.most(Item::Text, 10), 4'000'000'000U);
  EXPECT_EQ(budget.most(Item::Values, 10), Budget().most(Item::Values, 10));
}

TEST(Budget, IsUnchangedByWhatItCannotRead) {
  for (const char* text : {"", "rows", "rows=", "rows=x", "rows=1T", "rows=0", "rows=5,cows=3",
                           "rows=99999999999999999G", "rows=5,"}) {
    Budget budget;
    EXPECT_FALSE(budget.raise(text)) << text;
    EXPECT_EQ(budget.most(Item::Rows, 10), Budget().most(Item::Rows, 10)) << text;
  }
}

/// Equal rows take a sixteenth of a byte each.
void writeEqualRows(const std::filesystem::path& path, std::size_t blocks) {
  auto writer = *Writer::create(path);
  Mark::Columns columns;
  for (int i = 0; i < 65536; ++i) columns.push({.timeNs = 1000});
  for (std::size_t i = 0; i < blocks; ++i) writer.append<Mark>(columns);
  ASSERT_TRUE(writer.finish());
}

TEST(Budget, RefusesAFileOfFewBytesThatClaimsManyRows) {
  const test::TempFile file(".lcn");
  writeEqualRows(file.path(), 64);
  const auto refused = Reader::open(file.path());
  ASSERT_FALSE(refused);
  const std::string& message = refused.error().message;
  EXPECT_NE(message.find("claims 4194304 rows"), std::string::npos) << message;
  EXPECT_NE(message.find("beyond the budget of 4000000"), std::string::npos) << message;
  EXPECT_NE(message.find("--budget rows=4194304"), std::string::npos) << message;
  ReaderOptions trusting;
  ASSERT_TRUE(trusting.budget.raise("rows=4194304"));
  const auto opened = Reader::open(file.path(), trusting);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->rows<Mark>(), 4194304U);
}

TEST(Budget, KeepsRecoverFromAFileThatNothingWouldOpen) {
  const test::TempFile file(".lcn"), recovered(".lcn");
  writeEqualRows(file.path(), 64);
  std::ofstream(file.path(), std::ios::binary | std::ios::app) << std::string(1 << 20, 'x');
  ASSERT_TRUE(Reader::open(file.path()));
  const auto refused = recoverFile(file.path(), recovered.path(), Existing::Replace);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("--budget rows=4194304"), std::string::npos)
      << refused.error().message;
  EXPECT_FALSE(std::filesystem::exists(recovered.path()));
}

TEST(Budget, AllowsEqualRowsOfAUsualNumber) {
  const test::TempFile file(".lcn");
  writeEqualRows(file.path(), 50);
  EXPECT_TRUE(Reader::open(file.path()));
}

}  // namespace
}  // namespace lacuna::prof
