// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <thread>

#include "lacuna/runtime/nn.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/optim.h"
#include "lacuna/runtime/profile.h"
#include "lacuna/runtime/random.h"
#include "runtime/in_a_child.h"
#include "support/sanitizer.h"

namespace lacuna::rt {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Queue, ErrorsSurfaceAtTheNextWaitWithTheOperator) {
  const Tensor table = zeros({3, 2});
  const Tensor picked = embedding(table, fromVector<std::int64_t>({1, 7}, {2}));
  EXPECT_THAT(
      [] { synchronize(); },
      ThrowsMessage<Error>(HasSubstr("embedding: index 7 is outside dimension 0 of [3,2]")));
  EXPECT_NO_THROW(synchronize()) << "it is reported once";
}

TEST(Queue, KeepsTheOrderOfManyMoreTasksThanItHolds) {
  Tensor x = zeros({8});
  for (int i = 0; i < 5000; ++i) x.add_(ones({8}));
  EXPECT_EQ(sum(x).item(), 40000);
}

std::int64_t nanoseconds(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

TEST(Queue, LetsTheProcessorGoToThoseWhoComputeWhileItIsFull) {
  constexpr std::int64_t kSize = test::kThreadSanitized ? 1 << 14 : 1 << 17;
  Tensor x = zeros({kSize});
  const Tensor one = ones({kSize});
  const std::int64_t start = nanoseconds(CLOCK_MONOTONIC);
  const std::int64_t computed = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < 6000; ++i) x.add_(one);
  const std::int64_t took = nanoseconds(CLOCK_MONOTONIC) - start;
  EXPECT_LT(nanoseconds(CLOCK_THREAD_CPUTIME_ID) - computed, took / 2) << took;
  EXPECT_EQ(x.select(0, 77).item(), 6000);
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

TEST(Queue, EndsAWaitForWhatAnotherThreadEnqueued) {
  std::atomic<int> done = 0;
  std::thread other([&] {
    const Tensor large = ones({test::kThreadSanitized ? 1 << 16 : 1 << 20});
    for (; done < 100; ++done) (void)(large + large);
  });
  while (done < 100) synchronize();
  other.join();
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

TEST(Queue, AForkedChildRunsWhatTheParentRanOnSeveralThreads) {
  const auto both = [] {
    const Tensor x = ones({600, 600});
    const double elementwise = sum(x + x).item();
    return elementwise == 2 * 360000 && sum(linear(x, x)).item() == 600.0 * 360000;
  };
  EXPECT_TRUE(both());
  EXPECT_TRUE(endsWellInAChild(both));
}

TEST(Queue, AForkLeavesNoLockOfAnotherThreadBehind) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a fork may catch the other threads in the sanitizer's own allocator";
#endif
  const Tensor w = ones({1}).setRequiresGrad();
  std::atomic<bool> stop = false;
  std::vector<std::thread> busy;
  for (int i = 0; i < 2; ++i) {
    busy.emplace_back([&] {
      for (std::int64_t n = 1; !stop; n = n % 1000 + 1) {
        (void)emptyHost({n}, DType::F32).setName("host");
        (void)(ones({n}) + zeros({n}));
        (void)randomState();
        (void)zeros({n}, {DType::F32, kMeta});
        (void)(w + w);
      }
    });
  }
  bool well = true;
  (void)profile(
      [&] {
        for (int i = 0; well && i < 100; ++i) {
          well = endsWellInAChild([&w] {
            (void)zeros({3}, {DType::F32, kMeta}).setName("of the child");
            (void)emptyHost({3}, DType::F32);
            (void)randomState();
            (void)(w + w);
            return sum(ones({7, 11, 13}) + ones({13})).item() == 2002;
          });
        }
      },
      {.groupByShape = true});
  EXPECT_TRUE(well);
  stop = true;
  for (std::thread& thread : busy) thread.join();
}

struct Outcome {
  int status;
  std::string text;
};

/// The outcome of another process of this program, which runs some of its tests with these
/// variables.
Outcome inAProcess(const std::string& variables, const std::string& tests) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  FILE* pipe =
      ::popen((variables + " '" + self + "' --gtest_filter='" + tests + "' 2>&1").c_str(), "r");
  Outcome outcome{-1, ""};
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) outcome.text += static_cast<char>(c);
  outcome.status = ::pclose(pipe);
  return outcome;
}

bool isSet(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::string_view(value) == "1";
}

TEST(Queue, DoesSoWithoutItsThreadToo) {
  const Outcome outcome = inAProcess("LACUNA_SYNC=1 LACUNA_THREADS=2", "Queue.AFork*:Queue.Ends*");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
}

Tensor outOfRange() {
  return embedding(zeros({3, 2}), fromVector<std::int64_t>({1, 7}, {2}));
}

TEST(Queue, WithoutItsThreadErrorsSurfaceAtTheCall) {
  if (!isSet("LACUNA_SYNC")) {
    const Outcome outcome = inAProcess("LACUNA_SYNC=1", "Queue.WithoutItsThreadErrors*");
    EXPECT_EQ(outcome.status, 0) << outcome.text;
    return;
  }
  const auto refused = ThrowsMessage<Error>("embedding: index 7 is outside dimension 0 of [3,2]");
  EXPECT_THAT([] { (void)outOfRange(); }, refused);
  EXPECT_NO_THROW(synchronize()) << "it is reported once";
  EXPECT_THAT([] { (void)outOfRange(); }, refused);
  EXPECT_EQ(sum(ones({4})).item(), 4);
}

TEST(Queue, ReportsAtTheEndOfTheProgramAnErrorThatNobodyWaitedFor) {
  if (isSet("LACUNA_TEST_LEAVES")) {
    (void)outOfRange();
    return;
  }
  const Outcome left = inAProcess("LACUNA_SYNC=0 LACUNA_TEST_LEAVES=1", "Queue.ReportsAtTheEnd*");
  EXPECT_THAT(left.text, HasSubstr("lacuna: an operator failed after the last wait for its queue: "
                                   "embedding: index 7 is outside dimension 0 of [3,2]\n"));
  const Outcome waited =
      inAProcess("LACUNA_SYNC=0", "Queue.ErrorsSurfaceAtTheNextWaitWithTheOperator");
  EXPECT_THAT(waited.text, testing::Not(HasSubstr("lacuna:")));
}

TEST(Queue, RefusesNumbersOfThreadsThatAreNone) {
  for (const std::string sync : {"0", "1"}) {
    const auto withThreads = [&](const std::string& threads) {
      return inAProcess("LACUNA_SYNC=" + sync + " LACUNA_THREADS=" + threads,
                        "Queue.KeepsTheOrder*");
    };
    for (const char* wrong : {"abc", "0", "-1", "2x", "5000", "99999999999"}) {
      const Outcome outcome = withThreads(wrong);
      EXPECT_NE(outcome.status, 0) << wrong;
      EXPECT_THAT(outcome.text, HasSubstr("LACUNA_THREADS: '" + std::string(wrong) +
                                          "' is no number of threads"));
      EXPECT_THAT(outcome.text, HasSubstr("1 FAILED TEST"))
          << "an error, not the end of the program";
    }
    for (const char* right : {"1", "2", "''"}) EXPECT_EQ(withThreads(right).status, 0) << right;
  }
}

TEST(Queue, TakesNothingBut0And1ForItsSwitch) {
  for (const char* wrong : {"maybe", "on", "2", "01"}) {
    const Outcome outcome = inAProcess("LACUNA_SYNC=" + std::string(wrong), "Queue.KeepsTheOrder*");
    EXPECT_NE(outcome.status, 0) << wrong;
    EXPECT_THAT(outcome.text,
                HasSubstr("LACUNA_SYNC: '" + std::string(wrong) + "' is neither 0 nor 1"));
    EXPECT_THAT(outcome.text, HasSubstr("1 FAILED TEST")) << "an error, not the end of the program";
  }
  for (const char* right : {"0", "1", "''"})
    EXPECT_EQ(inAProcess("LACUNA_SYNC=" + std::string(right), "Queue.KeepsTheOrder*").status, 0)
        << right;
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
  const ProfileTable grouped =
      profile([&] { (void)(x + x.slice(0, 0, 1)); }, {.groupByShape = true});
  EXPECT_EQ(grouped.rows.at(0).shapes, "f32[256,256] f32[1,256]");
}

TEST(Profile, SeparatesAnOperatorsOwnWorkFromThatOfThoseInIt) {
  const Tensor scores = logSoftmax(randn({64, 10}), 1);
  const Tensor target = zeros({64}, {DType::I64});
  Tensor kept;
  const ProfileTable table = profile([&] { kept = nllLoss(scores, target); });
  const auto outer = std::ranges::find(table.rows, "nll_loss", &ProfileRow::name);
  ASSERT_NE(outer, table.rows.end()) << table.toString();
  EXPECT_EQ(outer->calls, 1U);
  EXPECT_EQ(outer->deviceNs, 0) << "made of others, it executes nothing itself";
  ProfileRow others;
  for (const ProfileRow& row : table.rows) {
    if (row.name == outer->name) continue;
    others.cpuNs += row.cpuNs;
    others.deviceNs += row.deviceNs;
    others.cpuMemory += row.cpuMemory;
    EXPECT_EQ(row.cpuNs, row.selfCpuNs) << row.name << " has none in it";
  }
  EXPECT_GT(others.deviceNs, 0);
  EXPECT_EQ(outer->cpuNs - outer->selfCpuNs, others.cpuNs);
  EXPECT_EQ(outer->cpuMemory - outer->selfCpuMemory, others.cpuMemory);
  EXPECT_GT(outer->selfCpuNs, 0);
}

TEST(Profile, IsSortedByEachOfItsColumns) {
  ProfileTable table;
  table.rows = {{"b", "", 3, 10, 5, 7, -4, 9, 1, 8},
                {"c", "", 1, 30, 1, 8, 6, 2, 2, 9},
                {"a", "", 2, 20, 9, 6, 5, 4, 3, 7}};
  const auto order = [&](ProfileSort by) {
    table.sort(by);
    std::string names;
    for (const ProfileRow& row : table.rows) names += row.name;
    const std::string text = table.toString(by, 1);
    EXPECT_NE(text.find("\n" + table.rows[0].name + " "), std::string::npos) << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2)
        << "a head and as many rows as were asked for";
    return names;
  };
  EXPECT_EQ(order(ProfileSort::Calls), "bac");
  EXPECT_EQ(order(ProfileSort::CpuTime), "cab");
  EXPECT_EQ(order(ProfileSort::SelfCpuTime), "abc");
  EXPECT_EQ(order(ProfileSort::DeviceTime), "cba");
  EXPECT_EQ(order(ProfileSort::CpuMemory), "cab");
  EXPECT_EQ(order(ProfileSort::SelfCpuMemory), "bac");
  EXPECT_EQ(order(ProfileSort::DeviceMemory), "acb");
  EXPECT_EQ(order(ProfileSort::SelfDeviceMemory), "cba");
  EXPECT_EQ(order(ProfileSort::Name), "abc");
}

TEST(Profile, SeparatesMemoryOfTheCpuFromThatOfAnotherDevice) {
  const auto rowOf = [](Device device) {
    const Tensor scores = empty({64, 10}, {DType::F32, device});
    const Tensor target = zeros({64}, {DType::I64, device});
    Tensor kept;
    const ProfileTable table = profile([&] { kept = softmax(scores, 1) * 2.0; });
    const auto row = std::ranges::find(table.rows, "softmax", &ProfileRow::name);
    EXPECT_EQ(table.toString().find("Self Device Mem") != std::string::npos, device == kMeta)
        << table.toString();
    return *row;
  };
  const ProfileRow onCpu = rowOf(kCpu);
  EXPECT_EQ(onCpu.selfCpuMemory, 64 * 10 * 4);
  EXPECT_EQ(onCpu.deviceMemory, 0);
  const ProfileRow onMeta = rowOf(kMeta);
  EXPECT_EQ(onMeta.selfDeviceMemory, 64 * 10 * 4);
  EXPECT_EQ(onMeta.deviceMemory, 64 * 10 * 4);
  EXPECT_EQ(onMeta.cpuMemory, 0);
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
