// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/static_graph.h"

#include <gmock/gmock.h>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/grad_scaler.h"
#include "lacuna/runtime/memory.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/profile.h"
#include "lacuna/runtime/queue.h"
#include "lacuna/runtime/schedule.h"
#include "runtime/graph/trained.h"

namespace lacuna::rt {
namespace {

using test::expectTheSame;
using test::Trained;
using testing::HasSubstr;

Tensor numbers(std::initializer_list<float> values) {
  return fromVector(std::vector<float>(values), {static_cast<std::int64_t>(values.size())});
}

Tensor batchOf(int step, std::int64_t rows = 8) {
  return sin(arange(rows * 16).to(DType::F32) + step).view({rows, 16});
}
Tensor labelsOf(int step, std::int64_t rows = 8) {
  std::vector<std::int64_t> labels;
  for (std::int64_t row = 0; row < rows; ++row) labels.push_back((row * 3 + step) % 4);
  return fromVector(labels, {rows});
}

/// A network of two layers, trained on batches that differ.
Trained mlp() {
  manualSeed(3);
  auto net = std::make_shared<nn::Sequential>();
  net->add<nn::Linear>(16, 32).add<nn::Relu>().add<nn::Linear>(32, 4);
  net->nameTree("net");
  const auto sgd = std::make_shared<optim::Sgd>(net->parameters(),
                                                optim::SgdOptions{.rate = 0.1, .momentum = 0.9});
  const auto step = [net, sgd](const std::vector<Tensor>& batch) {
    Tensor loss = crossEntropy((*net)(batch[0]), batch[1]);
    loss.backward();
    sgd->step();
    sgd->zeroGrad();
    return loss;
  };
  return {net, sgd, [](int at) { return std::vector{batchOf(at), labelsOf(at)}; }, step};
}

TEST(StaticGraph, TrainsAsThePlainRunDoes) {
  const auto outcome = expectTheSame(mlp, 20);
  EXPECT_EQ(outcome.stats.traces, 2U);
  EXPECT_EQ(outcome.stats.replays, 18U);
  EXPECT_GT(outcome.stats.launches, 8U);
  EXPECT_EQ(outcome.stats.reason, "");
}

TEST(StaticGraph, ReplaysWithoutAnyOperatorOfTheFunction) {
  Trained training = mlp();
  StaticGraph graph;
  int calls = 0;
  const auto counted = [&](const std::vector<Tensor>& batch) {
    ++calls;
    return training.step(batch);
  };
  for (int step = 0; step < 6; ++step) (void)graph.run(training.batch(step), counted);
  EXPECT_EQ(calls, 2);
}

TEST(StaticGraph, ResultsOfEarlierRunsStayAsTheyWere) {
  StaticGraph graph;
  std::vector<Tensor> results;
  for (int step = 0; step < 5; ++step) {
    results.push_back(graph.run({numbers({1, 2}) + step},
                                [](const std::vector<Tensor>& in) { return square(in[0]); }));
  }
  EXPECT_EQ(graph.stats().replays, 3U);
  EXPECT_EQ(results[2].toVector<float>(), (std::vector<float>{9, 16}));
  EXPECT_EQ(results[4].toVector<float>(), (std::vector<float>{25, 36}));
}

TEST(StaticGraph, TakesInputsWhereverTheyLie) {
  StaticGraph graph;
  const auto body = [](const std::vector<Tensor>& in) {
    return sum(in[0] * 2 + in[0].slice(0, 1, 2));
  };
  for (int step = 0; step < 6; ++step) {
    const Tensor input = numbers({1, 2, 3}) + step;
    EXPECT_EQ(graph.run({input}, body).item(), 2 * (6 + 3 * step) + 3 * (2 + step)) << step;
  }
  EXPECT_EQ(graph.stats().replays, 4U);
}

TEST(StaticGraph, TracesEachShapeByItself) {
  const auto shapes = [] {
    Trained training = mlp();
    training.batch = [](int step) {
      const int rows = step % 3 == 2 ? 5 : 8;
      return std::vector{batchOf(step, rows), labelsOf(step, rows)};
    };
    return training;
  };
  const auto outcome = expectTheSame(shapes, 18);
  EXPECT_EQ(outcome.stats.traces, 4U);
  EXPECT_EQ(outcome.stats.replays, 14U);
}

TEST(StaticGraph, FollowsAScheduleOfRates) {
  const auto scheduled = [] {
    Trained training = mlp();
    const auto adam = std::make_shared<optim::AdamW>(training.net->parameters(),
                                                     optim::AdamOptions{.rate = 0.01});
    const auto schedule = std::make_shared<optim::Schedule>(*adam, optim::cosineDecay(12));
    training.optimizer = adam;
    training.step = [net = training.net, adam, schedule](const std::vector<Tensor>& batch) {
      Tensor loss = crossEntropy((*net)(batch[0]), batch[1]);
      loss.backward();
      adam->step();
      schedule->step();
      adam->zeroGrad();
      return loss;
    };
    return training;
  };
  EXPECT_EQ(expectTheSame(scheduled, 12).stats.replays, 10U);
}

TEST(StaticGraph, ClipsGradientsWithinAndLeavesThemToTheProgram) {
  const auto clipped = [] {
    Trained training = mlp();
    training.step = [net = training.net,
                     optimizer = training.optimizer](const std::vector<Tensor>& batch) {
      optimizer->zeroGrad();
      const Tensor loss = crossEntropy((*net)(batch[0]), batch[1]);
      loss.backward();
      optim::clipGradNorm(net->parameters(), 0.5);
      return loss;
    };
    training.between = [optimizer = training.optimizer](int step) {
      if (step > 0) optimizer->step();
    };
    return training;
  };
  EXPECT_EQ(expectTheSame(clipped, 10).stats.replays, 8U);
}

/// Two runs add their gradients up before each step.
Trained accumulating() {
  Trained training = mlp();
  const auto ends = std::make_shared<bool>();
  training.step = [net = training.net, optimizer = training.optimizer,
                   ends](const std::vector<Tensor>& batch) {
    Tensor loss = crossEntropy((*net)(batch[0]), batch[1]);
    loss.backward();
    if (*ends) {
      optimizer->step();
      optimizer->zeroGrad();
    }
    return loss;
  };
  training.between = [ends](int step) { *ends = step % 2 == 1; };
  training.key = [](int step) { return step % 2; };
  return training;
}

TEST(StaticGraph, AddsGradientsUpOverRunsWithKeys) {
  EXPECT_GE(expectTheSame(accumulating, 20).stats.replays, 14U);
}

TEST(StaticGraph, ReportsControlFlowWithoutAKey) {
  const auto keyless = [] {
    Trained training = accumulating();
    training.key = [](int) { return 0; };
    return training;
  };
  const auto outcome = test::outcomeOf(keyless(), true, 8);
  EXPECT_EQ(outcome.stats.replays, 0U);
  EXPECT_THAT(outcome.stats.reason, HasSubstr("give run() a key"));
  expectTheSame(keyless, 8);
}

TEST(StaticGraph, RefusesATensorThatIsNoInput) {
  StaticGraph graph;
  for (int step = 0; step < 8; ++step) {
    const Tensor hidden = numbers({1, 2}) + step;
    const Tensor out =
        graph.run({}, [&](const std::vector<Tensor>&) { return std::vector{sum(hidden)}; })[0];
    EXPECT_EQ(out.item(), 3 + 2 * step);
  }
  EXPECT_EQ(graph.stats().replays, 0U);
  EXPECT_THAT(graph.stats().reason, HasSubstr("give it to run() as an input"));
}

TEST(StaticGraph, TakesPartsOfATensorAsInputs) {
  StaticGraph graph;
  const Tensor all = arange(24).to(DType::F32).view({6, 4});
  for (std::int64_t step = 0; step < 6; ++step) {
    const Tensor out = graph.run({all.slice(0, step, step + 1)}, [](const std::vector<Tensor>& in) {
      return sum(in[0].slice(1, 1, 3) * 2);
    });
    EXPECT_EQ(out.item(), 2 * static_cast<double>(4 * step + 1 + 4 * step + 2)) << step;
  }
  EXPECT_EQ(graph.stats().replays, 4U);
}

TEST(StaticGraph, RefusesAPartWhoseWholeIsUsedToo) {
  StaticGraph graph;
  const Tensor all = arange(24).to(DType::F32).view({6, 4});
  for (std::int64_t step = 0; step < 6; ++step) {
    const Tensor out = graph.run(
        {all.slice(0, step, step + 1)},
        [&](const std::vector<Tensor>& in) { return sum(in[0]) - mean(all.slice(0, 1, 6)); });
    EXPECT_EQ(out.item(), 16 * static_cast<double>(step) + 6 - 13.5) << step;
  }
  EXPECT_THAT(graph.stats().reason, HasSubstr("a part"));
}

TEST(StaticGraph, RefusesAReadOnTheHost) {
  StaticGraph graph;
  for (int step = 0; step < 8; ++step) {
    const Tensor out = graph.run({numbers({1, 2}) + step}, [](const std::vector<Tensor>& in) {
      return sum(in[0]).item() > 8 ? in[0] * 2 : in[0] + 1;
    });
    EXPECT_EQ(sum(out).item(), step > 2 ? 2 * (3 + 2 * step) : 5 + 2 * step);
  }
  EXPECT_EQ(graph.stats().replays, 0U);
  EXPECT_THAT(graph.stats().reason, HasSubstr("reads a value on the host"));
}

TEST(StaticGraph, RefusesATensorThatOutlivesTheRun) {
  StaticGraph graph;
  Tensor kept;
  for (int step = 0; step < 8; ++step) {
    const Tensor out = graph.run({numbers({1, 2}) + step}, [&](const std::vector<Tensor>& in) {
      kept = in[0] * 3;
      return sum(kept);
    });
    EXPECT_EQ(kept.toVector<float>()[0], 3 * (1 + step));
  }
  EXPECT_EQ(graph.stats().replays, 0U);
  EXPECT_THAT(graph.stats().reason, HasSubstr("outlives the run"));
}

TEST(StaticGraph, RefusesAnotherQueue) {
  StaticGraph graph;
  for (int step = 0; step < 4; ++step) {
    const Tensor out = graph.run({numbers({1, 2})}, [](const std::vector<Tensor>& in) {
      const QueueScope other({kCpu, 1});
      return in[0] * 2;
    });
    EXPECT_EQ(out.toVector<float>()[1], 4);
  }
  EXPECT_EQ(graph.stats().replays, 0U);
  EXPECT_THAT(graph.stats().reason, HasSubstr("another queue"));
}

TEST(StaticGraph, LeavesTheTraceWhenAModuleChangesItsMode) {
  const auto switching = [] {
    Trained training = mlp();
    training.between = [net = training.net](int step) {
      if (step != 6) return;
      net->eval();
      net->train();
    };
    return training;
  };
  const auto outcome = expectTheSame(switching, 12);
  EXPECT_EQ(outcome.stats.replays, 9U);
  EXPECT_THAT(outcome.stats.reason, HasSubstr("mode"));
}

TEST(StaticGraph, LeavesTheTraceWhenAParameterIsFrozen) {
  const auto freezing = [] {
    Trained training = mlp();
    training.between = [net = training.net](int step) {
      if (step == 6) net->parameters()[0].setRequiresGrad(false);
    };
    return training;
  };
  EXPECT_EQ(expectTheSame(freezing, 12).stats.replays, 9U);
}

TEST(StaticGraph, ThrowsWhatTheFunctionThrowsAndGoesOn) {
  Trained training = mlp();
  StaticGraph graph;
  EXPECT_THROW((void)graph.run(training.batch(0),
                               [](const std::vector<Tensor>& in) {
                                 const Tensor started = in[0] * 2;
                                 return matmul(started, started);
                               }),
               Error);
  graph.reset();
  for (int step = 0; step < 4; ++step) (void)graph.run(training.batch(step), training.step);
  EXPECT_EQ(graph.stats().replays, 2U);
}

TEST(StaticGraph, FailuresOfAReplayedOperatorNameIt) {
  StaticGraph graph;
  const auto lookUp = [table = arange(8).to(DType::F32)](const std::vector<Tensor>& in) {
    return sum(indexSelect(table, 0, in[0]));
  };
  const auto at = [](std::int64_t index) { return fromVector(std::vector{index}, {1}); };
  for (int step = 0; step < 4; ++step) EXPECT_EQ(graph.run({at(step)}, lookUp).item(), step);
  try {
    (void)graph.run({at(99)}, lookUp).item();
    FAIL() << "an index out of range was taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("index_select"));
  }
  EXPECT_EQ(graph.run({at(5)}, lookUp).item(), 5);
}

TEST(StaticGraph, RunsTheHostsPartsAtTheirPlaces) {
  StaticGraph graph;
  int count = 0;
  for (int step = 0; step < 5; ++step) {
    (void)graph.run({numbers({1, 2})}, [&](const std::vector<Tensor>& in) {
      onHost([&] { ++count; });
      return in[0] * 2;
    });
  }
  EXPECT_EQ(graph.stats().replays, 3U);
  EXPECT_EQ(count, 5);
}

TEST(StaticGraph, GivesItsMemoryBack) {
  Trained training = mlp();
  const auto held = [] { return memoryStats().active; };
  (void)training.step(training.batch(0));
  synchronize();
  const std::size_t before = held();
  const std::size_t reserved = memoryStats().reserved;
  for (int round = 0; round < 50; ++round) {  // more traces than there can be at once
    StaticGraph graph;
    for (int step = 0; step < 4; ++step) (void)graph.run(training.batch(step), training.step);
    EXPECT_EQ(graph.stats().replays, 2U);
  }
  synchronize();
  EXPECT_EQ(held(), before);
  EXPECT_LE(memoryStats().reserved, reserved + (std::size_t{8} << 20));
}

TEST(StaticGraph, SkippedStepsOfAScalerStayWithinAReplay) {
  const auto scaled = [] {
    Trained training = mlp();
    const auto scaler = std::make_shared<optim::GradScaler>(
        optim::GradScalerOptions{.factor = 1024, .growthInterval = 6});
    training.step = [net = training.net, optimizer = training.optimizer,
                     scaler](const std::vector<Tensor>& batch) {
      Tensor loss = crossEntropy((*net)(batch[0]), batch[1]);
      scaler->scale(loss).backward();
      scaler->step(*optimizer);
      scaler->update();
      optimizer->zeroGrad();
      return loss;
    };
    training.batch = [](int step) {
      Tensor pictures = batchOf(step);
      if (step == 9) pictures = pictures * 1e36;  // gradients times the factor are infinite
      return std::vector{pictures, labelsOf(step)};
    };
    return training;
  };
  const auto outcome = expectTheSame(scaled, 30);
  EXPECT_GE(outcome.stats.replays, 20U);
  EXPECT_THAT(outcome.stats.reason, HasSubstr("factor"));
}

TEST(StaticGraph, ATableOfOperatorsHasTheReplayedLaunches) {
  Trained training = mlp();
  StaticGraph graph;
  for (int step = 0; step < 3; ++step) (void)graph.run(training.batch(step), training.step);
  const ProfileTable table = profile([&] {
    (void)graph.run(training.batch(3), training.step);
    synchronize();
  });
  const std::string text = table.toString();
  EXPECT_THAT(text, HasSubstr("static_graph"));
}

}  // namespace
}  // namespace lacuna::rt
