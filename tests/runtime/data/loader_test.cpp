// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>

#include "lacuna/runtime/data.h"
#include "support/message_of.h"

namespace lacuna::rt {
namespace {

using std::chrono::milliseconds;
using test::messageOf;
using testing::ElementsAre;
using testing::HasSubstr;

struct Mode {
  const char* name;
  unsigned workers;
  WorkerKind kind;
  bool pin;  ///< batches in staging buffers
};
void PrintTo(const Mode& mode, std::ostream* out) {
  *out << mode.name;
}
constexpr Mode kModes[] = {
    {"Serial", 0, WorkerKind::Thread, false},
    {"Threads", 3, WorkerKind::Thread, false},
    {"Processes", 3, WorkerKind::Process, false},
    {"SerialStaged", 0, WorkerKind::Thread, true},
    {"ThreadsStaged", 3, WorkerKind::Thread, true},
    {"ProcessesStaged", 3, WorkerKind::Process, true},
};

std::size_t threadsNow() {
  namespace fs = std::filesystem;
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator{}));
}

/// A thread that was joined is listed for a moment longer.
bool onlyThreadsLeft(std::size_t count) {
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (threadsNow() != count && std::chrono::steady_clock::now() < patience)
    std::this_thread::yield();
  return threadsNow() == count;
}

/// The device queue's thread starts with the first operator; here, so that thread counts can be
/// compared.
void startQueue() {
  (void)ones({1}).item();
}

bool hasChildren() {
  return ::waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD;
}

/// A dataset whose example i is the number i, made by a function.
std::shared_ptr<Dataset> numbers(std::size_t size,
                                 std::function<void(std::size_t, WorkerContext&)> also = {}) {
  return std::make_shared<FunctionDataset>(size, [also](std::size_t index, WorkerContext& context) {
    if (also) also(index, context);
    Tensor value = emptyHost({}, DType::I64);
    *static_cast<std::int64_t*>(value.data()) = static_cast<std::int64_t>(index);
    return Example{value};
  });
}

/// A dataset of random numbers.
std::shared_ptr<Dataset> noise(std::size_t size) {
  return std::make_shared<FunctionDataset>(size, [](std::size_t, WorkerContext& context) {
    Tensor value = emptyHost({}, DType::F64);
    *static_cast<double*>(value.data()) = context.random.uniform();
    return Example{value};
  });
}

std::vector<double> drainNoise(DataLoader& loader) {
  std::vector<double> all;
  for (Batch& batch : loader) {
    for (const double value : batch[0].toVector<double>()) all.push_back(value);
  }
  return all;
}

std::vector<std::int64_t> drain(DataLoader& loader) {
  std::vector<std::int64_t> all;
  for (Batch& batch : loader) {
    for (const std::int64_t value : batch[0].toVector<std::int64_t>()) all.push_back(value);
  }
  return all;
}

class Loader : public testing::TestWithParam<Mode> {
 protected:
  void SetUp() override { startQueue(); }
  void TearDown() override { EXPECT_FALSE(hasChildren()) << "a worker process was left behind"; }
  static LoaderOptions options(std::size_t batch) {
    LoaderOptions options;
    options.batch = batch;
    options.workers = GetParam().workers;
    options.kind = GetParam().kind;
    options.pin = GetParam().pin;
    return options;
  }
};

TEST_P(Loader, DeliversEveryExampleInOrder) {
  DataLoader loader(numbers(10), options(4));
  EXPECT_EQ(loader.size(), 3u);
  EXPECT_THAT(drain(loader), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_EQ(drain(loader).size(), 10u) << "a second epoch";
}

TEST_P(Loader, KeepsTheOrderWhenWorkersAreUnevenlyFast) {
  DataLoader loader(numbers(24,
                            [](std::size_t i, WorkerContext&) {
                              if (i % 3 == 0) std::this_thread::sleep_for(milliseconds(3));
                            }),
                    options(1));
  const auto all = drain(loader);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  EXPECT_EQ(all.size(), 24u);
}

TEST_P(Loader, LeavesOutTheLastBatchWhenAsked) {
  LoaderOptions chosen = options(4);
  chosen.dropLast = true;
  DataLoader loader(numbers(10), chosen);
  EXPECT_EQ(loader.size(), 2u);
  EXPECT_EQ(drain(loader).size(), 8u);
}

TEST_P(Loader, HasNoBatchesWhenTheDatasetIsEmpty) {
  DataLoader loader(numbers(0), options(4));
  EXPECT_EQ(loader.size(), 0u);
  EXPECT_TRUE(drain(loader).empty());
}

TEST_P(Loader, MayDeliverOutOfOrderWhenAllowed) {
  LoaderOptions chosen = options(1);
  chosen.keepOrder = false;
  DataLoader loader(numbers(12), chosen);
  auto all = drain(loader);
  std::sort(all.begin(), all.end());
  EXPECT_THAT(all, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
}

TEST_P(Loader, GivesTheSameRandomNumbersForEveryNumberOfWorkers) {
  const auto values = [&](LoaderOptions chosen) {
    chosen.shuffle = true;
    chosen.seed = 7;
    DataLoader loader(noise(16), chosen);
    return drainNoise(loader);
  };
  LoaderOptions serial;
  serial.batch = 4;
  EXPECT_EQ(values(options(4)), values(serial));
}

TEST_P(Loader, GivesEachOfSeveralPassesTheRandomNumbersOfAnEpoch) {
  LoaderOptions chosen = options(3);
  DataLoader epochs(noise(4), chosen);
  std::vector<double> wanted = drainNoise(epochs);
  for (const double value : drainNoise(epochs)) wanted.push_back(value);
  chosen.examples = 8;
  DataLoader passes(noise(4), chosen);
  EXPECT_EQ(drainNoise(passes), wanted);
  EXPECT_EQ(std::set<double>(wanted.begin(), wanted.end()).size(), 8u);
}

TEST_P(Loader, GoesOnWhereARunStopped) {
  for (const std::size_t examples : {std::size_t{0}, std::size_t{40}}) {
    LoaderOptions chosen = options(2);
    chosen.batch = 4;
    chosen.shuffle = true;
    chosen.examples = examples;
    DataLoader whole(noise(16), chosen);
    (void)drainNoise(whole);
    std::vector<double> wanted = drainNoise(whole);
    wanted.erase(wanted.begin(), wanted.begin() + 3 * 4);
    const std::vector<double> after = drainNoise(whole);
    chosen.firstEpoch = 1;
    chosen.firstBatch = 3;
    DataLoader again(noise(16), chosen);
    EXPECT_EQ(drainNoise(again), wanted);
    EXPECT_EQ(drainNoise(again), after) << "the next epoch is a whole one";
    chosen.firstBatch = 100;
    DataLoader behind(noise(16), chosen);
    EXPECT_TRUE(drainNoise(behind).empty());
    EXPECT_EQ(drainNoise(behind), after);
  }
}

TEST_P(Loader, RaisesAWorkersErrorWithTheExampleNamed) {
  DataLoader loader(numbers(20,
                            [](std::size_t i, WorkerContext&) {
                              if (i == 9) throw std::runtime_error("the picture is broken");
                            }),
                    options(2));
  const std::string message = messageOf([&] { drain(loader); });
  EXPECT_THAT(message, HasSubstr("the picture is broken"));
  EXPECT_THAT(message, HasSubstr("example 9"));
}

std::vector<std::int64_t> nextOf(DataLoader& loader) {
  return loader.next().value()[0].toVector<std::int64_t>();
}

TEST_P(Loader, RaisesAnErrorInItsTurnAndEndsTheEpochThere) {
  DataLoader loader(numbers(10,
                            [](std::size_t i, WorkerContext&) {
                              if (i == 5) throw std::runtime_error("the picture is broken");
                            }),
                    options(2));
  for (int epoch = 0; epoch < 2; ++epoch) {
    loader.start();
    EXPECT_THAT(nextOf(loader), ElementsAre(0, 1));
    EXPECT_THAT(nextOf(loader), ElementsAre(2, 3));
    EXPECT_THAT(messageOf([&] { (void)loader.next(); }),
                HasSubstr("example 5: the picture is broken"));
    EXPECT_FALSE(loader.next().has_value());
    EXPECT_FALSE(loader.next().has_value());
  }
}

TEST_P(Loader, WorksAgainAfterAnError) {
  std::atomic<bool> broken = true;
  DataLoader loader(numbers(8,
                            [&](std::size_t i, WorkerContext&) {
                              if (i == 3 && broken) throw 42;
                            }),
                    options(2));
  EXPECT_THAT(messageOf([&] { drain(loader); }), HasSubstr("not a std::exception"));
  broken = false;
  // Worker processes have a copy of the flag from when they were forked.
  if (GetParam().kind != WorkerKind::Process) {
    EXPECT_EQ(drain(loader).size(), 8u);
  } else {
    EXPECT_NE(messageOf([&] { drain(loader); }), "(nothing was thrown)");
  }
}

TEST_P(Loader, EndsCleanlyWhenTheConsumerStopsEarly) {
  const std::size_t before = threadsNow();
  {
    DataLoader loader(numbers(1000), options(1));
    int seen = 0;
    for ([[maybe_unused]] Batch& batch : loader) {
      if (++seen == 3) break;
    }
    EXPECT_EQ(drain(loader).size(), 1000u) << "leftovers of the first epoch must not show up";
  }
  EXPECT_TRUE(onlyThreadsLeft(before));
}

TEST_P(Loader, EndsCleanlyWhenTheTrainingLoopThrows) {
  const std::size_t before = threadsNow();
  const auto train = [&] {
    DataLoader loader(numbers(100), options(1));
    for ([[maybe_unused]] Batch& batch : loader) throw Error("loss is not a number");
  };
  EXPECT_EQ(messageOf(train), "loss is not a number");
  EXPECT_TRUE(onlyThreadsLeft(before));
}

TEST_P(Loader, EndsCleanlyAfterAnErrorThatNobodyFollowsUp) {
  const std::size_t before = threadsNow();
  {
    DataLoader loader(numbers(100,
                              [](std::size_t i, WorkerContext&) {
                                if (i % 2 == 1) throw std::runtime_error("odd");
                              }),
                      options(1));
    EXPECT_THAT(messageOf([&] { drain(loader); }), HasSubstr(": odd"));
  }
  EXPECT_TRUE(onlyThreadsLeft(before));
}

TEST_P(Loader, EndsCleanlyWithoutAnEpochAndInTheMiddleOfABatch) {
  const std::size_t before = threadsNow();
  { const DataLoader unused(numbers(100), options(1)); }
  {
    DataLoader loader(numbers(100, [](std::size_t, WorkerContext&) { std::this_thread::yield(); }),
                      options(4));
    loader.start();
  }
  EXPECT_TRUE(onlyThreadsLeft(before));
}

TEST_P(Loader, DeliversTensorsOfEveryShapeAndSize) {
  const auto data = std::make_shared<FunctionDataset>(6, [](std::size_t i, WorkerContext&) {
    Tensor none = emptyHost({0, 3}, DType::F32);
    Tensor big = emptyHost({50, static_cast<std::int64_t>(100 * (i + 1))}, DType::U8);
    std::fill_n(static_cast<std::uint8_t*>(big.data()), big.numel(), static_cast<std::uint8_t>(i));
    return Example{none, big};
  });
  DataLoader loader(data, options(1));
  std::int64_t i = 0;
  for (Batch& batch : loader) {
    EXPECT_EQ(batch[0].shape(), Shape({1, 0, 3}));
    EXPECT_EQ(batch[1].shape(), Shape({1, 50, 100 * (i + 1)}));
    EXPECT_THAT(batch[1].toVector<std::uint8_t>(), testing::Each(i));
    ++i;
  }
  EXPECT_EQ(i, 6);
}

/// A matrix of two rows, {0, 1, 2} and {3, 4, 5}, with 10 times the index added.
Tensor matrixOf(std::size_t index) {
  Tensor matrix = emptyHost({2, 3}, DType::I64);
  auto* at = static_cast<std::int64_t*>(matrix.data());
  std::iota(at, at + 6, static_cast<std::int64_t>(10 * index));
  return matrix;
}

TEST_P(Loader, StacksViewsByTheirElements) {
  const auto views = std::make_shared<FunctionDataset>(2, [](std::size_t i, WorkerContext&) {
    const Tensor matrix = matrixOf(i);
    const Tensor one = matrix.slice(0, 1, 2).slice(1, 2, 3);
    return Example{matrix.transpose(0, 1), matrix.slice(1, 1, 3), matrix.slice(1, 0, 3, 2),
                   one.expand({2, 3}), one.squeeze(0).expand({1 << 20})};
  });
  DataLoader loader(views, options(2));
  loader.start();
  const Batch batch = *loader.next();
  EXPECT_EQ(batch[0].shape(), Shape({2, 3, 2}));
  EXPECT_THAT(batch[0].toVector<std::int64_t>(),
              ElementsAre(0, 3, 1, 4, 2, 5, 10, 13, 11, 14, 12, 15));
  EXPECT_THAT(batch[1].toVector<std::int64_t>(), ElementsAre(1, 2, 4, 5, 11, 12, 14, 15));
  EXPECT_THAT(batch[2].toVector<std::int64_t>(), ElementsAre(0, 2, 3, 5, 10, 12, 13, 15));
  EXPECT_THAT(batch[3].toVector<std::int64_t>(),
              ElementsAre(5, 5, 5, 5, 5, 5, 15, 15, 15, 15, 15, 15));
  EXPECT_THAT(batch[4].select(0, 1).toVector<std::int64_t>(), testing::Each(15));
}

TEST_P(Loader, DeliversABatchThatIsAView) {
  LoaderOptions chosen = options(2);
  chosen.collate = [](const std::vector<Example>& examples) {
    return Batch{examples[0][0].permute({1, 0}), examples[1][0].slice(1, 2, 3)};
  };
  const auto matrices = std::make_shared<FunctionDataset>(
      2, [](std::size_t i, WorkerContext&) { return Example{matrixOf(i)}; });
  DataLoader loader(matrices, chosen);
  loader.start();
  const Batch batch = *loader.next();
  EXPECT_EQ(batch[0].shape(), Shape({3, 2}));
  EXPECT_THAT(batch[0].toVector<std::int64_t>(), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(batch[1].toVector<std::int64_t>(), ElementsAre(12, 15));
}

TEST_P(Loader, MakesAnEpochOfSeveralPasses) {
  LoaderOptions chosen = options(4);
  chosen.examples = 10;
  DataLoader loader(numbers(4), chosen);
  EXPECT_EQ(loader.size(), 3u);
  EXPECT_THAT(drain(loader), ElementsAre(0, 1, 2, 3, 0, 1, 2, 3, 0, 1));
  chosen.examples = 3;
  DataLoader part(numbers(4), chosen);
  EXPECT_THAT(drain(part), ElementsAre(0, 1, 2));
  DataLoader nothing(numbers(0), chosen);
  EXPECT_TRUE(drain(nothing).empty());
}

TEST_P(Loader, GivesEachOfSeveralPassesAnOrderOfItsOwn) {
  LoaderOptions chosen = options(3);
  chosen.examples = 16;
  chosen.shuffle = true;
  chosen.seed = 5;
  DataLoader loader(numbers(8), chosen);
  for (std::uint64_t pass = 0; pass < 4; pass += 2) {
    std::vector<std::int64_t> wanted;
    for (const std::uint64_t one : {pass, pass + 1}) {
      for (const std::size_t index : ShuffleSampler(5).order(8, one)) {
        wanted.push_back(static_cast<std::int64_t>(index));
      }
    }
    EXPECT_EQ(drain(loader), wanted);
  }
}

/// Asks in its second pass for one example more than there are.
class GreedySampler : public Sampler {
 public:
  [[nodiscard]] std::vector<std::size_t> order(std::size_t datasetSize,
                                               std::uint64_t epoch) const override {
    return SequentialSampler().order(datasetSize + (epoch == 1 ? 1 : 0), epoch);
  }
};

TEST_P(Loader, RefusesASamplerThatAsksForMoreThanThereIs) {
  LoaderOptions chosen = options(2);
  chosen.sampler = std::make_shared<GreedySampler>();
  DataLoader loader(numbers(4), chosen);
  EXPECT_EQ(drain(loader).size(), 4u);
  EXPECT_THAT(messageOf([&] { drain(loader); }),
              HasSubstr("the sampler asks for example 4 of a dataset of 4, in pass 1"));
  EXPECT_THAT(messageOf([&] { (void)loader.next(); }), HasSubstr("without start()"));
  EXPECT_EQ(drain(loader).size(), 4u) << "the next epoch is as good as the first";
  chosen.examples = 8;
  DataLoader longer(numbers(4), chosen);
  longer.start();
  EXPECT_THAT(nextOf(longer), ElementsAre(0, 1));
  EXPECT_THAT(nextOf(longer), ElementsAre(2, 3));
  EXPECT_THAT(messageOf([&] { (void)longer.next(); }), HasSubstr("in pass 1"));
  EXPECT_FALSE(longer.next().has_value());
}

INSTANTIATE_TEST_SUITE_P(Modes, Loader, testing::ValuesIn(kModes),
                         [](const auto& info) { return std::string(info.param.name); });

LoaderOptions hurried(WorkerKind kind, milliseconds timeout) {
  LoaderOptions options;
  options.workers = 2;
  options.kind = kind;
  options.timeout = timeout;
  return options;
}

/// Expects `attempt` to report of a loader that waits so long that batch 3 is missing. One that is
/// given less time than this machine takes over the batches before it is right to give up at one of
/// those; the next is given more.
template <class Attempt>
void expectBatch3Missing(Attempt&& attempt) {
  std::string message;
  for (const milliseconds timeout : {milliseconds(100), milliseconds(3000), milliseconds(30'000)}) {
    message = attempt(timeout);
    const std::string wanted =
        "no batch for " + std::to_string(timeout.count()) + " ms while waiting for batch 3";
    if (message.find(wanted) != std::string::npos) return;
  }
  ADD_FAILURE() << message;
}

void hangPolitely(std::size_t i, WorkerContext& context) {
  while (i == 3 && !context.stopping()) std::this_thread::sleep_for(milliseconds(1));
}

TEST(LoaderTimeout, AHungWorkerThreadIsAnErrorAndIsStopped) {
  startQueue();
  const std::size_t before = threadsNow();
  expectBatch3Missing([](milliseconds timeout) {
    DataLoader loader(numbers(8, hangPolitely), hurried(WorkerKind::Thread, timeout));
    return messageOf([&] { drain(loader); });
  });
  EXPECT_TRUE(onlyThreadsLeft(before));
}

TEST(LoaderTimeout, AHungWorkerProcessIsAnErrorAndIsKilled) {
  const auto hanging = numbers(8, [](std::size_t i, WorkerContext&) {
    while (i == 3) std::this_thread::sleep_for(milliseconds(1));
  });
  expectBatch3Missing([&](milliseconds timeout) {
    DataLoader loader(hanging, hurried(WorkerKind::Process, timeout));
    std::string failure = messageOf([&] { drain(loader); });
    EXPECT_FALSE(hasChildren()) << failure;
    return failure;
  });
}

TEST(LoaderProcesses, ADeadWorkerIsAnErrorThatNamesItsDeath) {
  LoaderOptions options;
  options.workers = 2;
  options.kind = WorkerKind::Process;
  DataLoader killed(numbers(8,
                            [](std::size_t i, WorkerContext&) {
                              if (i == 5) ::raise(SIGKILL);
                            }),
                    options);
  EXPECT_THAT(messageOf([&] { drain(killed); }), HasSubstr("was killed by signal 9"));
  DataLoader exited(numbers(8,
                            [](std::size_t i, WorkerContext&) {
                              if (i == 5) ::_exit(3);
                            }),
                    options);
  EXPECT_THAT(messageOf([&] { drain(exited); }), HasSubstr("ended with exit status 3"));
}

TEST(LoaderProcesses, EndWhenTheTrainingProcessIsKilled) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t trainer = ::fork();
  if (trainer == 0) {
    LoaderOptions options;
    options.workers = 2;
    options.kind = WorkerKind::Process;
    DataLoader loader(numbers(1000), options);
    loader.start();
    (void)loader.next();
    ::raise(SIGKILL);
  }
  ::close(ends[1]);
  ::waitpid(trainer, nullptr, 0);
  // The workers hold the pipe's other end: reading ends when the last of them is gone.
  char byte = 0;
  EXPECT_EQ(::read(ends[0], &byte, 1), 0);
  ::close(ends[0]);
}

LoaderOptions processes(unsigned workers, milliseconds timeout = milliseconds(0)) {
  LoaderOptions options;
  options.workers = workers;
  options.kind = WorkerKind::Process;
  options.timeout = timeout;
  return options;
}

/// Examples are a number that the worker finds out about itself.
std::shared_ptr<Dataset> fromTheWorker(std::size_t size, std::function<std::int64_t()> find) {
  return std::make_shared<FunctionDataset>(size, [find](std::size_t, WorkerContext&) {
    Tensor value = emptyHost({}, DType::I64);
    *static_cast<std::int64_t*>(value.data()) = find();
    return Example{value};
  });
}

TEST(LoaderProcesses, AreReplacedWhenOneDiesBetweenEpochs) {
  for (const unsigned workers : {1u, 2u}) {
    DataLoader loader(fromTheWorker(8, [] { return ::getpid(); }), processes(workers));
    const auto pid = static_cast<pid_t>(drain(loader).back());
    ::kill(pid, SIGKILL);
    siginfo_t ended{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT), 0);
    EXPECT_THAT(messageOf([&] { drain(loader); }), HasSubstr("was killed by signal 9"))
        << workers << " workers";
    for (int epoch = 0; epoch < 2; ++epoch)
      EXPECT_EQ(drain(loader).size(), 8u) << workers << " workers";
  }
  EXPECT_FALSE(hasChildren());
}

TEST(LoaderProcesses, AreWaitedForAcrossSignals) {
  struct sigaction ignored {};
  struct sigaction before {};
  ignored.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGUSR1, &ignored, &before), 0);
  const auto interrupting = numbers(2, [](std::size_t, WorkerContext&) {
    for (int i = 0; i < 5; ++i) {
      std::this_thread::sleep_for(milliseconds(10));  // while the consumer waits
      ::kill(::getppid(), SIGUSR1);
    }
    std::this_thread::sleep_for(milliseconds(10));
  });
  for (const milliseconds timeout : {milliseconds(0), milliseconds(100'000), milliseconds::max()}) {
    DataLoader loader(interrupting, processes(1, timeout));
    EXPECT_EQ(drain(loader).size(), 2u) << timeout.count();
  }
  ::sigaction(SIGUSR1, &before, nullptr);
}

/// More than a socket holds.
constexpr std::size_t kHugeBatch = 100'000;

TEST(LoaderProcesses, TakeBatchesOfMoreExamplesThanASocketHolds) {
  LoaderOptions options = processes(2);
  options.batch = kHugeBatch;
  DataLoader loader(numbers(4 * kHugeBatch), options);
  const auto all = drain(loader);
  ASSERT_EQ(all.size(), 4 * kHugeBatch);
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<std::int64_t>(i));
}

TEST(LoaderTimeout, HoldsForAHungWorkerThatDoesNotTakeItsTasks) {
  LoaderOptions options = processes(1, milliseconds(100));
  options.batch = kHugeBatch;
  DataLoader loader(numbers(4 * kHugeBatch,
                            [](std::size_t i, WorkerContext&) {
                              while (i == 0) std::this_thread::sleep_for(milliseconds(1));
                            }),
                    options);
  EXPECT_THAT(messageOf([&] { drain(loader); }), HasSubstr("waiting for batch 0"));
  EXPECT_FALSE(hasChildren());
}

std::int64_t openSockets() {
  namespace fs = std::filesystem;
  std::int64_t count = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    count += fs::read_symlink(entry.path(), error).string().starts_with("socket:") ? 1 : 0;
  }
  return count;
}

TEST(LoaderProcesses, HoldNoSocketOfAnotherLoader) {
  const auto sockets = fromTheWorker(4, openSockets);
  std::int64_t alone = 0;
  {
    DataLoader first(sockets, processes(1));
    alone = drain(first).front();
  }
  DataLoader older(sockets, processes(3));
  drain(older);
  DataLoader younger(sockets, processes(2));
  EXPECT_THAT(drain(younger), testing::Each(alone));
}

/// The exit status of another process of this program that runs one of its tests with
/// LACUNA_SYNC=1.
int withoutTheQueue(const std::string& test) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  return std::system(
      ("LACUNA_SYNC=1 LACUNA_THREADS=2 '" + self + "' --gtest_filter=" + test).c_str());
}

TEST(LoaderProcesses, StartWhileOtherThreadsUseTheRuntime) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a fork may catch the other threads in the sanitizer's own allocator";
#endif
  std::atomic<bool> stop = false;
  std::vector<std::thread> busy;
  busy.emplace_back([&] {
    while (!stop) (void)emptyHost({256}, DType::F32);
  });
  busy.emplace_back([&] {
    while (!stop) (void)zeros({16}, {DType::F32, kMeta}).setName("a");
  });
  for (int i = 0; i < 30; ++i) {
    DataLoader loader(numbers(2), processes(2, milliseconds(100'000)));
    EXPECT_EQ(drain(loader).size(), 2u);
  }
  stop = true;
  for (std::thread& thread : busy) thread.join();
}

TEST(LoaderProcesses, StartWhileOtherThreadsUseTheRuntimeWithoutItsQueue) {
  EXPECT_EQ(withoutTheQueue("LoaderProcesses.StartWhileOtherThreadsUseTheRuntime"), 0);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
std::size_t addressSpace() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(LoaderThreads, ThatCannotAllBeStartedAreAnError) {
  startQueue();
  const pid_t child = ::fork();
  if (child == 0) {
    const rlim_t most = addressSpace() + (rlim_t{512} << 20);  // each stack takes 8 MiB of it
    const rlimit limit{most, most};
    ::setrlimit(RLIMIT_AS, &limit);
    LoaderOptions options;
    options.workers = 10'000;
    DataLoader loader(numbers(1), options);
    const std::string message = messageOf([&] { loader.start(); });
    std::fprintf(stderr, "%s\n", message.c_str());
    ::_exit(message.find("of 10000 worker threads could be started: ") != std::string::npos &&
                    onlyThreadsLeft(1)
                ? 0
                : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

/// Its text is longer than the memory of the worker that throws it.
class LongComplaint : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return text().c_str(); }
  static const std::string& text() {
    static const std::string one(std::size_t{64} << 20, 'x');
    return one;
  }
};

TEST(LoaderProcesses, EndWhereTheirMemoryEndsAndDoNotRunTheProgram) {
  EXPECT_FALSE(LongComplaint::text().empty()) << "made before the fork";
  const pid_t self = ::getpid();
  DataLoader loader(numbers(2,
                            [](std::size_t, WorkerContext&) {
                              const rlimit none{0, 0};
                              ::setrlimit(RLIMIT_CORE, &none);
                              const rlim_t most = addressSpace();
                              const rlimit limit{most, most};
                              ::setrlimit(RLIMIT_AS, &limit);
                              throw LongComplaint();
                            }),
                    processes(1));
  std::string message;
  try {
    drain(loader);
  } catch (const std::exception& error) {
    message = error.what();
  }
  if (::getpid() != self) ::_exit(0);
  EXPECT_THAT(message, HasSubstr("was killed by signal 6"));
}
#endif

/// A counter that worker processes share with their parent.
class SharedCounter {
 public:
  SharedCounter()
      : page_(::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (page_ == MAP_FAILED) throw std::bad_alloc();
    value_ = new (page_) std::atomic<std::size_t>(0);
  }
  ~SharedCounter() { ::munmap(page_, kPage); }
  SharedCounter(const SharedCounter&) = delete;
  SharedCounter& operator=(const SharedCounter&) = delete;
  std::atomic<std::size_t>& operator*() const { return *value_; }

 private:
  static constexpr std::size_t kPage = 4096;
  void* page_;
  std::atomic<std::size_t>* value_;
};

/// Examples that wait for each other: each ends only when all of its `together` have begun.
std::shared_ptr<Dataset> meeting(std::size_t size, std::size_t together,
                                 const SharedCounter& begun) {
  return numbers(size, [together, &count = *begun](std::size_t i, WorkerContext& context) {
    ++count;
    while (count < (i / together + 1) * together && !context.stopping()) std::this_thread::yield();
  });
}

LoaderOptions oneAtATimeEach(unsigned workers, WorkerKind kind, milliseconds timeout) {
  LoaderOptions options;
  options.workers = workers;
  options.prefetch = 1;
  options.kind = kind;
  options.timeout = timeout;
  return options;
}

TEST(LoaderWorkers, WorkAtTheSameTime) {
  for (const WorkerKind kind : {WorkerKind::Thread, WorkerKind::Process}) {
    for (const unsigned workers : {1u, 2u, 4u}) {
      const SharedCounter begun;
      DataLoader loader(meeting(5 * workers, workers, begun),
                        oneAtATimeEach(workers, kind, milliseconds(100'000)));
      EXPECT_EQ(drain(loader).size(), 5 * workers);
    }
  }
}

/// Examples with a picture in f32 that is a view, a number in f64 and a label; also whole batches
/// at once, if asked to.
class MixedDataset : public Dataset {
 public:
  explicit MixedDataset(bool whole) : whole_(whole) {}
  [[nodiscard]] std::size_t size() const override { return 7; }
  [[nodiscard]] Example get(std::size_t index, WorkerContext& /*context*/) const override {
    Example out{emptyHost({3, 2}, DType::F32), emptyHost({}, DType::F64),
                emptyHost({}, DType::I64)};
    auto* pixels = static_cast<float*>(out[0].data());
    for (int i = 0; i < 6; ++i) pixels[i] = static_cast<float>(index) + static_cast<float>(i) / 7;
    *static_cast<double*>(out[1].data()) = 1.0 / 3;
    *static_cast<std::int64_t*>(out[2].data()) = static_cast<std::int64_t>(index);
    out[0] = out[0].t();
    return out;
  }
  [[nodiscard]] std::optional<Batch> getBatch(std::span<const std::size_t> indices,
                                              WorkerContext& context) const override {
    if (!whole_) return std::nullopt;
    std::vector<Example> examples;
    for (const std::size_t index : indices) examples.push_back(get(index, context));
    return stackExamples(std::move(examples));
  }

 private:
  bool whole_;
};

TEST_P(Loader, CarriesF32FieldsInAShorterTypeWhenAsked) {
  for (const bool whole : {false, true}) {
    for (const DType type : {DType::F32, DType::F16, DType::BF16}) {
      LoaderOptions own = options(3);
      own.dtype = type;
      DType collated = DType::U8;
      if (own.workers == 0 && !whole) {
        own.collate = [&](std::vector<Example> examples) {
          collated = examples[0][0].dtype();
          return stackExamples(std::move(examples));
        };
      }
      DataLoader loader(std::make_shared<MixedDataset>(whole), own);
      std::size_t seen = 0;
      for (Batch& batch : loader) {
        ASSERT_EQ(batch[0].dtype(), DType::F32);
        EXPECT_EQ(batch[1].dtype(), DType::F64);
        EXPECT_EQ(batch[1].toVector<double>()[0], 1.0 / 3);
        const auto labels = batch[2].toVector<std::int64_t>();
        const auto pixels = batch[0].toVector<float>();
        for (std::size_t i = 0; i < pixels.size(); ++i) {
          const std::size_t at = i % 6 % 3 * 2 + i % 6 / 3;  // as it lies: the other way round
          const float exact = static_cast<float>(labels[i / 6]) + static_cast<float>(at) / 7;
          EXPECT_EQ(pixels[i], scalar(exact).to(type).item()) << name(type);
        }
        seen += labels.size();
      }
      EXPECT_EQ(seen, 7U);
      EXPECT_EQ(own.collate ? collated : type, type);
    }
  }
}

/// The count once it has come to `wanted` (or too much time has passed), and has had some time to
/// go beyond.
std::size_t settledAt(const SharedCounter& counter, std::size_t wanted) {
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (*counter < wanted && std::chrono::steady_clock::now() < patience)
    std::this_thread::sleep_for(milliseconds(1));
  std::this_thread::sleep_for(milliseconds(20));
  return *counter;
}

TEST_P(Loader, FetchesAheadAsFarAsConfigured) {
  constexpr std::size_t kBatch = 2;
  for (const unsigned prefetch : {1U, 2U, 4U}) {
    const SharedCounter fetched;
    LoaderOptions own = options(kBatch);
    own.prefetch = prefetch;
    DataLoader loader(numbers(1000, [&](std::size_t, WorkerContext&) { ++*fetched; }), own);
    loader.start();
    const std::size_t ahead = own.workers * prefetch;
    EXPECT_EQ(settledAt(fetched, ahead * kBatch), ahead * kBatch)
        << "while the consumer stands still";
    std::vector<Batch> held;
    for (std::size_t taken = 1; taken <= 2; ++taken) {
      held.push_back(*loader.next());
      EXPECT_EQ(settledAt(fetched, (ahead + taken) * kBatch), (ahead + taken) * kBatch)
          << taken << " taken";
    }
  }
}

TEST(LoaderWorkers, AreNoMoreThanWereAskedFor) {
  for (const WorkerKind kind : {WorkerKind::Thread, WorkerKind::Process}) {
    const SharedCounter begun;
    DataLoader loader(meeting(4, 4, begun), oneAtATimeEach(3, kind, milliseconds(100)));
    EXPECT_THAT(messageOf([&] { drain(loader); }), HasSubstr("waiting for batch 0"));
    EXPECT_LE(*begun, 3U);
  }
  EXPECT_FALSE(hasChildren());
}

TEST(LoaderTimeout, IsFollowedByAnEpochWithNewWorkers) {
  for (const WorkerKind kind : {WorkerKind::Thread, WorkerKind::Process}) {
    expectBatch3Missing([kind](milliseconds timeout) {
      const SharedCounter hung;
      const auto once = numbers(8, [&count = *hung](std::size_t i, WorkerContext& context) {
        if (i != 3 || count++ > 0) return;
        while (!context.stopping()) std::this_thread::sleep_for(milliseconds(1));
      });
      DataLoader loader(once, oneAtATimeEach(2, kind, timeout));
      const std::string failure = messageOf([&] { drain(loader); });
      // Where the machine is held up in this epoch the next loader is given more time, too.
      std::size_t delivered = 0;
      (void)messageOf([&] { delivered = drain(loader).size(); });
      return delivered == 8 ? failure : std::string("the epoch after it was not whole");
    });
  }
}

TEST(LoaderTimeout, IsForWorkersOnly) {
  LoaderOptions serial;
  serial.timeout = milliseconds(1);
  DataLoader loader(
      numbers(2, [](std::size_t, WorkerContext&) { std::this_thread::sleep_for(milliseconds(3)); }),
      serial);
  EXPECT_EQ(drain(loader).size(), 2u);
}

TEST(LoaderMisuse, IsRefusedWithAReason) {
  const auto refusal = [](std::size_t batch, unsigned workers, unsigned prefetch) {
    LoaderOptions options;
    options.batch = batch;
    options.workers = workers;
    options.prefetch = prefetch;
    return messageOf([&] { DataLoader(numbers(1), options); });
  };
  EXPECT_THAT(messageOf([] { DataLoader(nullptr, {}); }), HasSubstr("no dataset"));
  LoaderOptions doubles;
  doubles.dtype = DType::F64;
  EXPECT_THAT(messageOf([&] { DataLoader(numbers(1), doubles); }),
              HasSubstr("f32, f16 or bf16, not in f64"));
  EXPECT_THAT(refusal(0, 0, 2), HasSubstr("at least 1"));
  EXPECT_THAT(refusal(1, 2, 0), HasSubstr("prefetch"));
  EXPECT_THAT(messageOf([] { (void)DataLoader(numbers(1), {}).next(); }),
              HasSubstr("without start()"));
  EXPECT_THAT(messageOf([] { DataLoader(numbers(1), processes(1, milliseconds(-1))); }),
              HasSubstr("negative"));
}

}  // namespace
}  // namespace lacuna::rt
