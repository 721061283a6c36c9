// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/queue.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <optional>
#include <set>
#include <thread>

#include "backend/common/queue.h"
#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/memory.h"
#include "lacuna/runtime/nn.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/optim.h"
#include "lacuna/runtime/random.h"
#include "runtime/held.h"
#include "runtime/in_a_child.h"
#include "support/sanitizer.h"

/// Several queues of the CPU device.
namespace lacuna::rt {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr Queue kSecond{kCpu, 1};
constexpr Queue kThird{kCpu, 2};

bool withoutThreads() {
  const char* value = std::getenv("LACUNA_SYNC");
  return value != nullptr && std::string_view(value) == "1";
}

Tensor large(double value) {
  return full({1 << 16}, value);
}

Tensor doubledOn(Queue queue, const Tensor& x) {
  const QueueScope scope(queue);
  return x + x;
}

class Queues : public testing::Test {
 protected:
  void SetUp() override {
    if (withoutThreads()) GTEST_SKIP() << "nothing runs later there";
  }
  void TearDown() override { synchronize(); }
};

TEST_F(Queues, AThreadEnqueuesToTheQueueOfItsScope) {
  EXPECT_EQ(currentQueue(), Queue{});
  {
    const QueueScope outer(kSecond);
    {
      const QueueScope inner(kThird);
      EXPECT_EQ(currentQueue(), kThird);
      std::thread([] {
        EXPECT_EQ(currentQueue(), Queue{}) << "another thread has its own";
      }).join();
    }
    EXPECT_EQ(currentQueue(), kSecond);
  }
  EXPECT_EQ(currentQueue(), Queue{});
}

TEST_F(Queues, RunBesideOneAnother) {
  Held first(Queue{});
  const QueueScope scope(kSecond);
  EXPECT_EQ(sum(large(1)).item(), 1 << 16) << "the first queue is held, the second one is not";
}

TEST_F(Queues, RefusesQueuesThatNoDeviceHas) {
  EXPECT_THAT(
      [] {
        const QueueScope scope({kCpu, kMostQueues});
      },
      ThrowsMessage<Error>(HasSubstr("there is no queue 32; a device has queues 0 to 31")));
  EXPECT_THAT(
      [] {
        const QueueScope scope({kCpu, -1});
      },
      ThrowsMessage<Error>(HasSubstr("there is no queue -1")));
  EXPECT_THAT(
      [] {
        (void)Event({{DeviceType::Cuda, 1}, 0});
      },
      ThrowsMessage<Error>(HasSubstr("this build has no queues of cuda:1")));
  EXPECT_THAT([] { (void)currentQueue(kMeta); },
              ThrowsMessage<Error>(HasSubstr("no queues of meta")));
}

TEST_F(Queues, EventsPassWhenAllBeforeThemHasRun) {
  EXPECT_TRUE(Event().passed());
  Held held(kSecond);
  const Event event(kSecond);
  EXPECT_FALSE(event.passed());
  const Event copy = event;
  std::thread opener([&] { held.letGo(); });
  copy.wait();
  EXPECT_TRUE(event.passed());
  opener.join();
}

TEST_F(Queues, AnEventHoldsAnotherQueueBack) {
  Held held(kSecond);
  Event(kSecond).block(kThird);
  std::optional<Event> after;
  {
    const QueueScope scope(kThird);
    (void)large(1);
    after.emplace(kThird);
  }
  EXPECT_FALSE(after->passed());
  held.letGo();
  after->wait();
}

TEST_F(Queues, AReaderWaitsForTheQueueThatWrote) {
  Held held(kSecond);
  Tensor x;
  {
    const QueueScope scope(kSecond);
    x = large(3);
  }
  const Tensor y = x + x;
  EXPECT_FALSE(Event(Queue{}).passed());
  held.letGo();
  EXPECT_THAT(y.toVector<float>(), Each(6));
}

TEST_F(Queues, ReadersDoNotWaitForOneAnother) {
  const Tensor weights = large(2);
  synchronize();
  (void)doubledOn(kSecond, weights);
  Held held(kSecond);
  (void)doubledOn(kSecond, weights);
  const Tensor y = weights + weights;
  Event(Queue{}).wait();
  EXPECT_THAT(y.toVector<float>(), Each(4));
}

TEST_F(Queues, AWriterWaitsForTheReaders) {
  Tensor x = large(1);
  synchronize();
  Held held(kSecond);
  const Tensor read = doubledOn(kSecond, x);
  x.fill_(100);
  EXPECT_FALSE(Event(Queue{}).passed());
  held.letGo();
  EXPECT_THAT(read.toVector<float>(), Each(2)) << "of the values before";
  EXPECT_THAT(x.toVector<float>(), Each(100));
}

TEST_F(Queues, AnOperatorLeavesMemoryAloneThatAnotherQueueReads) {
  Tensor x = large(1);
  synchronize();
  Held held(kSecond);
  const Tensor read = doubledOn(kSecond, x);
  const Tensor changed = relu(std::move(x));
  held.letGo();
  EXPECT_THAT(read.toVector<float>(), Each(2));
  EXPECT_THAT(changed.toVector<float>(), Each(1));
}

TEST_F(Queues, ACopyIsWaitedForAloneAndNotWhatFollowsIt) {
  const Tensor source = large(5);
  synchronize();
  Tensor batch;
  {
    const QueueScope scope(kSecond);
    batch = source.clone();
  }
  Event(kSecond).wait();
  Held later(kSecond);
  const Tensor y = batch + batch;
  Event(Queue{}).wait();
  EXPECT_THAT(y.toVector<float>(), Each(10));
}

TEST_F(Queues, MemoryOfOneQueueIsNotUsedOnAnotherBeforeItHasPassed) {
  releaseCachedMemory();
  Held held(kSecond);
  std::optional<const void*> address;
  {
    const QueueScope scope(kSecond);
    const Tensor x = large(1);
    address = x.data();
  }
  {
    const QueueScope scope(kSecond);
    EXPECT_EQ(large(2).data(), *address) << "at once on its own queue";
  }
  const Tensor beside = large(3);
  EXPECT_NE(beside.data(), *address);
  held.letGo();
  Event(kSecond).wait();
  const Tensor after = large(4);
  EXPECT_EQ(after.data(), *address) << "the second queue has passed the last use";
  EXPECT_THAT(after.toVector<float>(), Each(4));
  EXPECT_THAT(beside.toVector<float>(), Each(3));
}

TEST_F(Queues, MemoryThatASecondQueueReadsIsFreeWhenThatIsDone) {
  releaseCachedMemory();
  Tensor x = large(1);
  synchronize();
  const void* address = x.data();
  Held held(kSecond);
  const Tensor read = doubledOn(kSecond, x);
  const std::size_t active = memoryStats().active;
  x = Tensor();
  EXPECT_LT(memoryStats().active, active) << "no tensor holds it";
  const Tensor other = large(7);
  EXPECT_NE(other.data(), address);
  held.letGo();
  Event(kSecond).wait();
  std::set<const void*> later;
  const Tensor a = large(8), b = large(9);
  for (const Tensor& tensor : {a, b}) later.insert(tensor.data());
  EXPECT_TRUE(later.contains(address));
  EXPECT_THAT(read.toVector<float>(), Each(2));
}

TEST_F(Queues, ALimitIsKeptByWaitingForQueues) {
  releaseCachedMemory();
  constexpr std::size_t kBytes = sizeof(float) << 16;
  const std::size_t before = memoryStats().reserved;
  setMemoryLimit(before + 2 * kBytes);
  for (int i = 0; i < 20; ++i) {
    const QueueScope scope({kCpu, i % 3});
    const Tensor x = large(i);
    EXPECT_EQ(x.slice(0, 7, 8).item(), i);
  }
  EXPECT_LE(memoryStats().reserved, before + 2 * kBytes);
  setMemoryLimit(0);
}

TEST_F(Queues, ABackwardRunsOnTheQueuesOfItsForward) {
  const Tensor w = full({1 << 16}, 2).setRequiresGrad();
  Tensor left;
  {
    const QueueScope scope(kSecond);
    left = w * w;
  }
  const Tensor right = w * 3.0;
  const Tensor loss = sum(left + right);
  synchronize();
  const std::uint64_t before = CpuQueue::of(1).enqueued();
  loss.backward();
  EXPECT_GT(CpuQueue::of(1).enqueued(), before);
  EXPECT_EQ(currentQueue(), Queue{});
  EXPECT_THAT(w.grad().toVector<float>(), Each(2 * 2 + 3));
}

double trained(bool several) {
  manualSeed(3);
  nn::Linear first(32, 64), second(64, 8), third(64, 8);
  std::vector<Tensor> parameters;
  for (nn::Linear* layer : {&first, &second, &third}) {
    for (const Tensor& parameter : layer->parameters()) parameters.push_back(parameter);
  }
  optim::Adam adam(parameters, {});
  const Tensor x = randn({48, 32});
  double last = 0;
  for (int step = 0; step < 12; ++step) {
    const Tensor hidden = relu(first(x));
    Tensor a, b;
    {
      const QueueScope scope({kCpu, several ? 1 : 0});
      a = second(hidden);
    }
    {
      const QueueScope scope({kCpu, several ? 2 : 0});
      b = third(hidden);
    }
    const Tensor loss = mean(square(a - b)) + mean(square(a + b - 1.0));
    adam.zeroGrad();
    loss.backward();
    adam.step();
    last = loss.item();
  }
  return last;
}

TEST_F(Queues, BranchesOnQueuesOfTheirOwnTrainAsOnOne) {
  const double alone = trained(false);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(trained(true), alone);
}

TEST_F(Queues, TakeWorkFromThreadsThatShareWeights) {
  const Tensor weights = ones({64, 64});
  std::vector<std::thread> threads;
  std::vector<double> sums(3);
  for (std::size_t t = 0; t < sums.size(); ++t) {
    threads.emplace_back([&, t] {
      const QueueScope scope({kCpu, static_cast<int>(t)});
      Tensor x = ones({64, 64});
      for (int i = 0; i < 50; ++i) x = (x + weights) * 1.0;
      sums[t] = sum(x).item();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(sums, Each(64 * 64 * 51));
}

TEST_F(Queues, ErrorsSurfaceAtTheNextWaitForTheirQueue) {
  {
    const QueueScope scope(kSecond);
    (void)embedding(zeros({3, 2}), fromVector<std::int64_t>({1, 7}, {2}));
  }
  EXPECT_NO_THROW(synchronize(Queue{}));
  EXPECT_THAT([] { synchronize(kSecond); },
              ThrowsMessage<Error>(HasSubstr("index 7 is outside dimension 0")));
  EXPECT_NO_THROW(synchronize());
}

TEST_F(Queues, AWaitForAllThrowsTheErrorOfAny) {
  {
    const QueueScope scope(kThird);
    (void)embedding(zeros({3, 2}), fromVector<std::int64_t>({1, 7}, {2}));
  }
  EXPECT_THAT([] { synchronize(); },
              ThrowsMessage<Error>(HasSubstr("index 7 is outside dimension 0")));
}

TEST_F(Queues, AForkFindsBusyQueuesDoneAndLeavesNoLockBehind) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a fork may catch the other threads in the sanitizer's own allocator";
#endif
  std::atomic<bool> stop = false;
  const Tensor shared = ones({5000});
  std::vector<std::thread> busy;
  for (int i = 0; i < 3; ++i) {
    busy.emplace_back([&, i] {
      const QueueScope scope({kCpu, i});
      Tensor x = zeros({5000});
      while (!stop) x = x * 0.5 + shared;
    });
  }
  for (int i = 0; i < 60; ++i) {
    Tensor mine;
    {
      const QueueScope scope({kCpu, i % 4});
      mine = ones({3000}) + ones({3000});
    }
    EXPECT_TRUE(endsWellInAChild([&] {
      const QueueScope scope({kCpu, 5});
      return sum(mine + mine).item() == 12000 && sum(shared).item() == 5000;
    }));
    EXPECT_EQ(sum(mine).item(), 6000);
  }
  stop = true;
  for (std::thread& thread : busy) thread.join();
}

TEST(Launch, OnADeviceThatTheBuildCannotRunIsAnError) {
  const Device cuda{DeviceType::Cuda, 0};
  EXPECT_THAT(
      [&] {
        (void)zeros({3}, {DType::F32, cuda});
      },
      ThrowsMessage<Error>(HasSubstr("CUDA")));
  const Device second{DeviceType::Cpu, 1};
  EXPECT_THAT(
      [&] {
        (void)zeros({3}, {DType::F32, second});
      },
      ThrowsMessage<Error>(HasSubstr("fill: this build runs nothing on cpu")));
}

}  // namespace
}  // namespace lacuna::rt
