// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <set>
#include <thread>

#include "lacuna/runtime/data.h"
#include "lacuna/runtime/ops.h"
#include "runtime/held.h"

/// Staged batches: a buffer is never written while the consumer or the queue may still read it,
/// nothing waits for ever, and the memory is used again.
namespace lacuna::rt {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kWidth = 3000;

/// Example i is a row full of the number i.
std::shared_ptr<Dataset> rows(std::size_t size) {
  return std::make_shared<FunctionDataset>(size, [](std::size_t index, WorkerContext&) {
    Tensor row = emptyHost({kWidth}, DType::F32);
    std::fill_n(static_cast<float*>(row.data()), kWidth, static_cast<float>(index));
    return Example{row, emptyHost({0}, DType::U8)};
  });
}

enum class StagedLoader { Serial, Threads, Processes };

class Staging : public testing::TestWithParam<StagedLoader> {
 protected:
  static LoaderOptions options() {
    LoaderOptions options;
    options.pin = true;
    options.workers = GetParam() == StagedLoader::Serial ? 0 : 2;
    options.kind = GetParam() == StagedLoader::Processes ? WorkerKind::Process : WorkerKind::Thread;
    return options;
  }
  static std::size_t slots() { return GetParam() == StagedLoader::Serial ? 2 : 6; }
};

TEST_P(Staging, KeepsOrderAndValuesWhileItsBuffersAreUsedAgain) {
  DataLoader loader(rows(40), options());
  std::set<const void*> addresses;
  for (int epoch = 0; epoch < 2; ++epoch) {
    float i = 0;
    for (Batch& batch : loader) {
      EXPECT_THAT(batch[0].toVector<float>(), testing::Each(i++));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(batch[0].data()) % 64, 0U);
      addresses.insert(batch[0].data());
    }
    EXPECT_EQ(i, 40);
  }
  EXPECT_EQ(loader.stagingStats().slots, slots());
  EXPECT_LE(addresses.size(), 2 * slots()) << "pieces may grow once";
  EXPECT_EQ(loader.stagingStats().batches, 80U);
  EXPECT_EQ(loader.stagingStats().beside, 0U);
}

// Without the wait for the queue, workers would write later rows over those that the enqueued sums
// are yet to read.
TEST_P(Staging, ABufferIsNotFilledAgainBeforeTheQueueHasReadIt) {
  DataLoader loader(rows(24), options());
  std::vector<Tensor> means;
  loader.start();
  synchronize();
  Held queue;
  std::atomic<int> delivered = 0;
  std::thread opener([&] {
    while (loader.stagingStats().waits == 0) std::this_thread::yield();
    EXPECT_LE(delivered, static_cast<int>(slots()))
        << "the loader waits for the queue instead of running ahead";
    queue.letGo();
  });
  while (std::optional<Batch> batch = loader.next()) {
    ++delivered;
    means.push_back(mean((*batch)[0]));
  }
  opener.join();
  ASSERT_EQ(means.size(), 24U);
  for (std::size_t i = 0; i < means.size(); ++i) EXPECT_EQ(means[i].item(), static_cast<double>(i));
  EXPECT_EQ(loader.stagingStats().beside, 0U);
}

TEST_P(Staging, AConsumerThatKeepsEveryBatchGetsOrdinaryMemory) {
  DataLoader loader(rows(30), options());
  std::vector<Batch> kept;
  for (Batch& batch : loader) kept.push_back(batch);
  ASSERT_EQ(kept.size(), 30U);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_THAT(kept[i][0].toVector<float>(), testing::Each(static_cast<float>(i)));
  }
  EXPECT_GE(loader.stagingStats().beside, 30 - slots());
}

TEST_P(Staging, BatchesOutliveTheirLoader) {
  std::vector<Batch> kept;
  {
    DataLoader loader(rows(8), options());
    loader.start();
    for (int i = 0; i < 3; ++i) kept.push_back(*loader.next());
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_THAT(kept[i][0].toVector<float>(), testing::Each(static_cast<float>(i)));
  }
}

TEST_P(Staging, EndsWhileTheQueueStillReadsItsBuffers) {
  std::vector<Tensor> means;
  std::optional<Held> queue;
  std::thread opener;
  {
    DataLoader loader(rows(24), options());
    loader.start();
    synchronize();
    queue.emplace();
    for (int i = 0; i < 2; ++i) means.push_back(mean((*loader.next())[0]));
    // Threads that enqueued something, if only the release of an example, wait for the queue when
    // they end.
    opener = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      queue->letGo();
    });
  }
  opener.join();
  for (std::size_t i = 0; i < means.size(); ++i) EXPECT_EQ(means[i].item(), static_cast<double>(i));
}

INSTANTIATE_TEST_SUITE_P(Modes, Staging,
                         testing::Values(StagedLoader::Serial, StagedLoader::Threads,
                                         StagedLoader::Processes),
                         [](const auto& info) {
                           return std::string(info.param == StagedLoader::Serial    ? "Serial"
                                              : info.param == StagedLoader::Threads ? "Threads"
                                                                                    : "Processes");
                         });

TEST(StagingOfAWholeBatch, IsHandedOverWithoutACopy) {
  LoaderOptions options;
  options.pin = true;
  options.workers = 1;
  options.batch = 2;
  std::atomic<const void*> collated = nullptr;
  options.collate = [&](std::vector<Example> examples) {
    Batch batch = stackExamples(std::move(examples));
    collated = batch[0].data();
    return batch;
  };
  options.prefetch = 1;
  DataLoader loader(rows(2), options);
  loader.start();
  const Batch batch = *loader.next();
  EXPECT_EQ(batch[0].data(), collated.load());
}

TEST(StagingForADevice, NeedsABuildAndAMachineWithIt) {
  LoaderOptions options;
  options.pin = true;
  options.device = kMeta;
  DataLoader loader(rows(2), options);
  loader.start();
  try {
    (void)loader.next();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("batches cannot be staged for meta"));
  }
}

}  // namespace
}  // namespace lacuna::rt
