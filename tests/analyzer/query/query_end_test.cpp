// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <string_view>
#include <thread>

#include "lacuna/analyzer/query.h"
#include "lacuna/analyzer/store.h"
#include "support/sql_answer.h"

namespace lacuna::analyzer {
namespace {

constexpr std::string_view kEndless =
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";

class QueryEnd : public testing::Test {
 protected:
  Query query_{StoreBuilder().build()};
};

TEST_F(QueryEnd, AnEndlessQueryEndsWithItsTime) {
  query_.setTimeLimit(std::chrono::milliseconds(200));
  EXPECT_EQ(test::sqlAnswer(query_, kEndless),
            "error: SQL: stopped after 0.2 s, the time limit of a query");
  EXPECT_EQ(query_.stopped(), Query::Stop::TimeLimit);
  EXPECT_EQ(test::sqlAnswer(query_, "SELECT 7"), "7 \n") << "the next one has its own time";
  EXPECT_EQ(query_.stopped(), Query::Stop::None);
}

TEST_F(QueryEnd, AnotherThreadMayInterruptAQuery) {
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    query_.interrupt();
  });
  EXPECT_EQ(test::sqlAnswer(query_, kEndless), "error: SQL: interrupted");
  other.join();
  EXPECT_EQ(query_.stopped(), Query::Stop::Interrupted);
}

}  // namespace
}  // namespace lacuna::analyzer
