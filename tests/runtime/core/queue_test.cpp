// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "lacuna/runtime/nn.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/optim.h"
#include "lacuna/runtime/profile.h"
#include "lacuna/runtime/random.h"

namespace lacuna::rt {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Queue, ErrorsSurfaceAtTheNextWaitWithTheOperator) {
  const Tensor table = zeros({3, 2});
  const Tensor picked = embedding(table, fromVector<std::int64_t>({1, 7}, {2}));
  EXPECT_THAT([] { synchronize(); },
              ThrowsMessage<Error>(HasSubstr("embedding: index 7 is outside a dimension of size 3")));
  EXPECT_NO_THROW(synchronize()) << "it is told once";
}

TEST(Queue, KeepsTheOrderOfManyMoreTasksThanItHolds) {
  Tensor x = zeros({8});
  for (int i = 0; i < 5000; ++i) x.add_(ones({8}));
  EXPECT_EQ(sum(x).item(), 40000);
}

TEST(Queue, TakesWorkFromSeveralThreads) {
  std::vector<std::thread> threads;
  std::vector<double> sums(4);
  for (std::size_t t = 0; t < sums.size(); ++t) {
    threads.emplace_back([&sums, t] {
      Tensor x = zeros({100});
      for (int i = 0; i < 300; ++i) x = x + static_cast<double>(t);
      sums[t] = sum(x).item();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(sums, testing::ElementsAre(0, 30000, 60000, 90000));
}

TEST(Queue, AForkedChildGoesOnByItself) {
  const Tensor x = ones({1000});
  const Tensor y = x + 1.0;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(sum(y * 2.0).item() == 4000 ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(sum(y).item(), 2000);
}

TEST(Profile, ListsOperatorsWithMemoryAndCalls) {
  const Tensor x = ones({256, 256});
  ProfileTable table = profile([&] {
    Tensor y;
    for (int i = 0; i < 3; ++i) y = x + x;
  });
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.rows[0].name, "add");
  EXPECT_EQ(table.rows[0].calls, 3U);
  EXPECT_EQ(table.rows[0].selfCpuMemory, 3 * 256 * 256 * 4);
  EXPECT_GT(table.rows[0].deviceNs, 0);
  EXPECT_THAT(table.toString(), HasSubstr("Self CPU Mem"));
  const ProfileTable grouped = profile([&] { (void)(x + x.slice(0, 0, 1)); }, {.groupByShape = true});
  EXPECT_EQ(grouped.rows.at(0).shapes, "f32[256,256] f32[1,256]");
}

TEST(Meta, TrainsWithoutValues) {
  const Options meta{DType::F32, kMeta};
  nn::Linear layer(4, 3, true, meta);
  optim::Adam adam(layer.parameters(), {});
  const Tensor loss = mean(square(layer(zeros({2, 4}, meta))));
  loss.backward();
  EXPECT_EQ(layer.weight.grad().shape(), (Shape{3, 4}));
  EXPECT_TRUE(layer.weight.grad().isMeta());
  adam.step();
  EXPECT_THROW((void)loss.item(), Error);
}

}  // namespace
}  // namespace lacuna::rt
