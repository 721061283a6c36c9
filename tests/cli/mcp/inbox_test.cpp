// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "mcp/inbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

namespace {

using namespace lacuna::cli::mcp;

/// An inbox with the other end of its pipe.
class McpInbox : public testing::Test {
 protected:
  ~McpInbox() override {
    ::close(ends_[0]);
    end();
  }

  void send(std::string_view text) const {
    ASSERT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void end() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  /// The id of the next message; "end" behind the last.
  std::string nextId() {
    const auto message = inbox_.next();
    return message ? message->id : "end";
  }

  static std::array<int, 2> newPipe() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    return ends;
  }

  std::array<int, 2> ends_ = newPipe();
  Inbox inbox_{ends_[0]};
};

std::string request(int id) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":"ping"})";
}

std::string cancellation(int id) {
  return R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" +
         std::to_string(id) + "}}\n";
}

TEST_F(McpInbox, MessagesComeInOrderWhateverTheirPieces) {
  send(request(1) + "\n\r\n  \n" + request(2).substr(0, 10));
  EXPECT_EQ(nextId(), "1");
  send(request(2).substr(10) + "\r\n" + request(3));
  EXPECT_EQ(nextId(), "2");
  end();
  EXPECT_EQ(nextId(), "3") << "the last line needs no end";
  EXPECT_EQ(nextId(), "end");
}

TEST_F(McpInbox, ACancelledRequestThatWaitsIsDropped) {
  send(request(1) + "\n" + request(2) + "\n" + request(3) + "\n" + cancellation(2));
  end();
  EXPECT_EQ(nextId(), "1");
  EXPECT_EQ(nextId(), "3");
  EXPECT_EQ(nextId(), "end");
}

TEST_F(McpInbox, TheRunningRequestLearnsOfItsCancellation) {
  send(request(1) + "\n");
  const auto running = inbox_.next();
  inbox_.begin(*running);
  send(cancellation(9));
  inbox_.receive();
  EXPECT_FALSE(inbox_.isCancelled());
  send(cancellation(1));
  inbox_.receive();
  EXPECT_TRUE(inbox_.isCancelled());
  inbox_.begin({});
  EXPECT_FALSE(inbox_.isCancelled());
}

TEST_F(McpInbox, NothingIsReadBehindTheEnd) {
  EXPECT_GE(inbox_.file(), 0);
  end();
  inbox_.receive();
  EXPECT_EQ(inbox_.file(), -1);
}

}  // namespace
