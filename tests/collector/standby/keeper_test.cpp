// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "standby/keeper.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/standby_page.h"
#include "lacuna/prof/process.h"
#include "supervise/control_file.h"
#include "support/temp_dir.h"

namespace lacuna::collector {
namespace {

namespace fs = std::filesystem;
using standby::Rank;
using standby::Request;

/// This process is the keeper and the program on standby.
class KeeperTest : public testing::Test {
 protected:
  KeeperTest() {
    auto made = standby::Keeper::create(options_, job_.path(), std::nullopt);
    EXPECT_TRUE(made.ok());
    keeper_ = *std::move(made);
    auto page = StandbyFile::open(keeper_->page());
    EXPECT_TRUE(page.ok());
    page_.emplace(*std::move(page));
    slot().step = 7;
    slot().rank = 0;
    slot().world = 1;
    slot().owner =
        CaptureSlot::ownerOf(static_cast<std::uint32_t>(getpid()), prof::ownPidNamespace());
    keeper_->check();
  }

  StandbySlot& slot() { return (*page_)->slots[0]; }
  Rank rank() { return standby::readRanks(job_.path()).at(0); }

  void requests(Request::Phase phase) {
    request_.phase = phase;
    ASSERT_TRUE(standby::write(job_.path(), request_).ok());
    keeper_->check();
  }
  /// The program records the steps of a request of that token. Answers with the file.
  fs::path records(const std::string& token, std::uint32_t number) {
    request_.token = token;
    request_.number = number;
    request_.from = 9;
    request_.steps = 1;
    requests(Request::Phase::Ask);
    requests(Request::Phase::Go);
    EXPECT_EQ(rank().state, Rank::State::Armed);
    for (const StandbyState state : {StandbyState::Recording, StandbyState::Done}) {
      slot().state = state;
      keeper_->check();
    }
    EXPECT_EQ(rank().state, Rank::State::Finished) << rank().reason;
    return rank().file;
  }

  test::TempDir job_;
  RunOptions options_;
  std::unique_ptr<standby::Keeper> keeper_;
  std::optional<StandbyFile> page_;
  Request request_;
};

TEST_F(KeeperTest, CountsTheFilesThatItRecorded) {
  EXPECT_TRUE(fs::exists(records("first", 1)));
  EXPECT_TRUE(fs::exists(records("second", 2)));
  EXPECT_EQ(keeper_->captures(), 2);
}

TEST_F(KeeperTest, RemovesTheFileOfTheRequestThatAnotherReplaces) {
  const fs::path first = records("first", 1);
  request_.instead = "first";
  EXPECT_TRUE(fs::exists(records("second", 2)));
  EXPECT_FALSE(fs::exists(first));
  EXPECT_EQ(keeper_->captures(), 1);
}

TEST_F(KeeperTest, KeepsTheFileOfAnEarlierTriggerWhereItMissedTheRequestThatIsReplaced) {
  const fs::path first = records("first", 1);
  request_.instead = "second, which did not arrive here";
  records("third", 3);
  EXPECT_TRUE(fs::exists(first));
  EXPECT_EQ(keeper_->captures(), 2);
}

}  // namespace
}  // namespace lacuna::collector
