// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "lacuna/analyzer/store.h"
#include "lacuna/prof/writer.h"
#include "support/temp_dir.h"

namespace lacuna::analyzer {
namespace {

class StoreFollowerTest : public testing::Test {
 protected:
  void add(prof::Writer& writer, int rows) {
    for (int i = 0; i < rows; ++i) {
      writer.append(prof::Range{
          .startNs = now_ += 10, .durNs = 5, .name = writer.intern("r" + std::to_string(now_))});
    }
  }
  test::TempDir folder_;
  std::filesystem::path path_ = folder_ / "growing.lcn";
  prof::TimeNs now_ = 0;
};

TEST_F(StoreFollowerTest, EachPollSeesWhatWasFlushedSince) {
  auto writer = *prof::Writer::create(path_);
  StoreFollower follower(path_);
  add(writer, 100);
  ASSERT_TRUE(writer.flush());
  const auto first = follower.poll();
  ASSERT_TRUE(first);
  ASSERT_NE(*first, nullptr);
  EXPECT_EQ((*first)->rows<prof::Range>(), 100u);
  EXPECT_EQ(*follower.poll(), nullptr) << "nothing was added";
  add(writer, 50);
  EXPECT_EQ(*follower.poll(), nullptr) << "nothing was flushed";
  ASSERT_TRUE(writer.flush());
  const auto second = follower.poll();
  ASSERT_TRUE(second && *second);
  EXPECT_EQ((*second)->rows<prof::Range>(), 150u);
  EXPECT_EQ((*second)->text((*second)->row<prof::Range>(149).name), "r1500");
  EXPECT_EQ((*first)->rows<prof::Range>(), 100u) << "a store is immutable";
  EXPECT_EQ((*first)->text((*first)->row<prof::Range>(99).name), "r1000");
  EXPECT_FALSE(follower.finished());
}

TEST_F(StoreFollowerTest, TheEndAddsNoRowsButIsSeen) {
  auto writer = *prof::Writer::create(path_);
  add(writer, 10);
  ASSERT_TRUE(writer.flush());
  StoreFollower follower(path_);
  ASSERT_TRUE(follower.poll());
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(*follower.poll(), nullptr);
  EXPECT_TRUE(follower.finished());
}

TEST_F(StoreFollowerTest, AFileThatIsNotThereYetIsAnErrorUntilItIs) {
  StoreFollower follower(path_);
  EXPECT_FALSE(follower.poll());
  auto writer = *prof::Writer::create(path_);
  const auto empty = follower.poll();
  ASSERT_TRUE(empty && *empty);
  EXPECT_EQ((*empty)->rows<prof::Range>(), 0u);
}

}  // namespace
}  // namespace lacuna::analyzer
