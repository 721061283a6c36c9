// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

/// The workloads of bench_runtime on the runtime itself.
#include "bench/runtime/trainers.h"
#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/instrument.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/static_graph.h"
#include "picture_orders.h"
#include "workloads.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

namespace {

namespace rt = lacuna::rt;

rt::Tensor one(bool grad) {
  return rt::ones({1}).setRequiresGrad(grad);
}

bench::Workload adds(bool grad) {
  return [a = one(grad), b = one(grad)](int count) {
    rt::Tensor c;
    for (int i = 0; i < count; ++i) c = rt::add(a, b);
    rt::synchronize();
  };
}

bench::Workload chain() {
  return [w = one(true)](int count) {
    for (int done = 0; done < count; done += 1000) {
      rt::Tensor y = w;
      for (int i = 0; i < 1000; ++i) y = rt::add(y, w);
      y.backward();
      w.setGrad({});
    }
    rt::synchronize();
  };
}

/// As chain(), launched by replays.
bench::Workload replays() {
  const auto graph = std::make_shared<rt::StaticGraph>();
  const auto run = [graph, w = one(true)] {
    return graph->run({}, [&](const std::vector<rt::Tensor>&) {
      rt::Tensor y = w;
      for (int i = 0; i < 1000; ++i) y = rt::add(y, w);
      return y.detach();
    });
  };
  for (int traced = 0; traced < 2; ++traced) run();
  return [run](int count) {
    for (int done = 0; done < count; done += 1000) run();
    rt::synchronize();
  };
}

bench::Workload staticSteps(const std::string& network, bench::Precision precision) {
  const auto graph = std::make_shared<rt::StaticGraph>();
  return [graph, trainer = bench::makeTrainer(network, rt::kCpu, precision),
          number = std::uint64_t{0}](int count) mutable {
    for (int i = 0; i < count; ++i) {
      const rt::StepScope scope(number++);
      graph->run({}, [&](const std::vector<rt::Tensor>&) { return trainer.step(); });
    }
    rt::synchronize();
  };
}

/// The host's nanoseconds for each operator of a replay, or of the run that it stands for, without
/// the wait for the queue.
double hostNsOfOperator(bool replayed) {
  constexpr int kOperators = 1000, kRounds = 21;
  rt::StaticGraph graph(replayed);
  const rt::Tensor x = rt::ones({32, 32});
  const auto run = [&] {
    return graph.run({}, [&](const std::vector<rt::Tensor>&) {
      rt::Tensor y = x;
      for (int i = 0; i < kOperators; ++i) y = rt::add(y, x);
      return y;
    });
  };
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) {
    rt::synchronize();
    const auto from = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - from;
    times.push_back(took.count() / kOperators);
  }
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

bench::Workload steps(const std::string& network, bench::Precision precision) {
  return [trainer = bench::makeTrainer(network, rt::kCpu, precision),
          number = std::uint64_t{0}](int count) mutable {
    for (int i = 0; i < count; ++i) {
      const rt::StepScope scope(number++);
      trainer.step();
    }
    rt::synchronize();
  };
}

/// A picture at a time through ResNet-18. With `kept` weights stay in the library's order, as those
/// of modules do.
bench::Workload inference(bool kept) {
  const auto trainer = bench::makeTrainer("resnet18", rt::kCpu);
  trainer.net->train(false);
  if (!kept) {
    for (rt::Tensor parameter : trainer.net->parameters()) parameter.setRole(rt::Role::Other);
  }
  return [trainer, picture = rt::zeros({1, 3, 32, 32})](int count) {
    const rt::NoGrad guard;
    for (int i = 0; i < count; ++i) (*trainer.net)(picture);
    rt::synchronize();
  };
}

double convolutions(bench::PictureOrder order) {
  static std::map<bench::PictureOrder, bench::Convolutions> made;
  return made.try_emplace(order, order).first->second.step();
}

}  // namespace

int main() {
  bench::Workloads workloads{{"dispatch_plain", [] { return adds(false); }},
                             {"dispatch_grad", [] { return adds(true); }},
                             {"dispatch_fwdbwd", [] { return chain(); }},
                             {"replay_fwd", [] { return replays(); }},
                             {"infer_kept", [] { return inference(true); }},
                             {"infer_arranged", [] { return inference(false); }}};
  for (const std::string network : {"mlp", "resnet18", "transformer"}) {
    workloads["step_" + network] = [=] { return steps(network, bench::Precision::F32); };
    workloads["step_" + network + "_amp"] = [=] { return steps(network, bench::Precision::Amp); };
    workloads["step_" + network + "_static"] = [=] {
      return staticSteps(network, bench::Precision::F32);
    };
  }
  const bench::Values values{
      {"host_ns_replayed", [] { return hostNsOfOperator(true); }},
      {"host_ns_plain", [] { return hostNsOfOperator(false); }},
      {"convolutions_channels_last",
       [] { return convolutions(bench::PictureOrder::ChannelsLast); }},
      {"convolutions_blocked", [] { return convolutions(bench::PictureOrder::Blocked); }},
      {"convolutions_reordered", [] { return convolutions(bench::PictureOrder::Reordered); }}};
  return bench::serve(workloads, values);
}
