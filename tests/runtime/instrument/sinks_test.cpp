// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <thread>

#include "instrument/observer.h"
#include "lacuna/runtime/data.h"
#include "lacuna/runtime/nn.h"
#include "lacuna/runtime/profile.h"
#include "runtime/instrument/tool.h"

namespace lacuna::rt {
namespace {

TEST(LoaderDepth, IsReportedWhenABatchIsTaken) {
  for (const WorkerKind kind : {WorkerKind::Thread, WorkerKind::Process}) {
    LoaderOptions options;
    options.workers = 2;
    options.kind = kind;
    options.batch = 2;
    DataLoader loader(std::make_shared<TensorDataset>(std::vector<Tensor>{zeros({12, 2})}),
                      options);
    int batches = 0;
    for ([[maybe_unused]] Batch& batch : loader) ++batches;
    EXPECT_EQ(batches, 6);
    std::int64_t depth = -1;
    for (const auto& [name, value] : tool::samples()) {
      if (name == LACUNA_RT_COUNTER_LOADER_DEPTH) depth = value;
    }
    EXPECT_EQ(depth, 0) << "all of them were taken";
  }
}

TEST(ModulePath, IsFoundByTwoThreadsAtOnce) {
  nn::Linear layer(4, 4);
  const Tensor x = ones({1, 4});
  const auto work = [&] {
    for (int i = 0; i < 50; ++i) EXPECT_EQ(layer(x).shape(), x.shape());
  };
  std::thread other(work);
  work();
  other.join();
}

TEST(ProfileTable, LeavesOutAnExecutionThatBeganBeforeIt) {
  static const Name kName{"early"};
  const ProfileTable table = profile([] {
    instrument::Execution execution;
    execution.name = &kName;
    instrument::executionEnd(execution, 0);
  });
  EXPECT_TRUE(table.rows.empty()) << table.toString();
}

}  // namespace
}  // namespace lacuna::rt
