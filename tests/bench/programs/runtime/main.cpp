// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/checkpoint.h"
#include "lacuna/runtime/instrument.h"
#include "lacuna/runtime/memory.h"
#include "lacuna/runtime/optim.h"
#include "lacuna/runtime/random.h"
#include "networks.h"
#include "turns.h"
#include "work.h"

namespace {

using namespace lacuna;
using drawn::Plan;
using rt::Tensor;

constexpr std::int64_t kEvaluateEvery = 25, kEvaluationBatches = 3, kLogEvery = 20;
constexpr std::size_t kBatchesOfASet = 12;  ///< of workers that are started anew
constexpr std::size_t kMostKeptBytes = std::size_t{6} << 30;

std::unique_ptr<rt::optim::Optimizer> makeOptimizer(const Plan& plan,
                                                    std::vector<Tensor> parameters) {
  if (plan.optimizer == "adam")
    return std::make_unique<rt::optim::Adam>(std::move(parameters), rt::optim::AdamOptions{});
  if (plan.optimizer == "adamw")
    return std::make_unique<rt::optim::AdamW>(std::move(parameters),
                                              rt::optim::AdamOptions{.weightDecay = 0.01});
  if (plan.optimizer == "lamb")
    return std::make_unique<rt::optim::Lamb>(std::move(parameters), rt::optim::LambOptions{});
  return std::make_unique<rt::optim::Sgd>(std::move(parameters),
                                          rt::optim::SgdOptions{.rate = 0.01, .momentum = 0.9});
}

/// Where batches come from: a loader, or memory.
class Source {
 public:
  explicit Source(const Plan& plan) : plan_(plan), data_(std::make_shared<drawn::Batches>(plan)) {
    if (plan.loader == "memory") {
      constexpr std::uint64_t kKept = 4;
      for (std::uint64_t seed = 0; seed < kKept; ++seed)
        kept_.push_back(data_->make(plan.batch, seed));
    }
  }
  rt::Batch next() {
    if (!kept_.empty()) return kept_[taken_++ % kept_.size()];
    std::optional<rt::Batch> batch = loader_ ? loader_->next() : std::nullopt;
    if (!batch) {
      begin();
      batch = loader_->next();
    }
    return *std::move(batch);
  }

 private:
  /// An epoch. Workers last as long as their loader does.
  void begin() {
    if (!loader_ || plan_.has("workers-restarted")) {
      rt::LoaderOptions options;
      options.batch = static_cast<std::size_t>(plan_.batch);
      options.shuffle = options.dropLast = true;
      options.workers = plan_.loader == "own" || plan_.has("no-workers") ? 0 : plan_.workers;
      options.prefetch = plan_.prefetch;
      options.kind = plan_.loader == "processes" ? rt::WorkerKind::Process : rt::WorkerKind::Thread;
      options.seed = plan_.seed;
      const std::size_t batches =
          plan_.has("workers-restarted") ? kBatchesOfASet : std::size_t{1} << 20;
      options.examples = options.batch * batches;
      loader_.emplace(data_, options);
    }
    loader_->start();
  }

  const Plan& plan_;
  std::shared_ptr<const drawn::Batches> data_;
  std::optional<rt::DataLoader> loader_;
  std::vector<rt::Batch> kept_;
  std::size_t taken_ = 0;
};

class Training {
 public:
  explicit Training(const Plan& plan)
      : plan_(plan),
        network_(drawn::makeNetwork(plan)),
        optimizer_(makeOptimizer(plan, network_->parameters())),
        source_(plan),
        debug_(plan.has("anomaly-detection")) {
    network_->nameTree("net");
    optimizer_->setFused(!plan.has("looped-optimizer"));
    if (plan.has("copies-weights")) {
      const rt::NoGrad noGrad;
      for (const Tensor& parameter : network_->parameters())
        averages_.push_back(parameter.detach().clone());
    }
    std::string name = (std::filesystem::temp_directory_path() / "drawn.XXXXXX").string();
    folder_ = mkdtemp(name.data()) != nullptr ? name : std::string();
    log_ = std::fopen((folder_ / "log").c_str(), "w");
    if (log_ == nullptr) throw std::runtime_error("no folder for the log");
  }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;
  ~Training() {
    std::fclose(log_);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  void iterate(std::int64_t number) {
    Tensor loss;
    {
      const rt::StepScope scope(static_cast<std::uint64_t>(number),
                                static_cast<std::uint64_t>(plan_.batch * plan_.accumulates));
      for (std::int64_t part = 0; part < plan_.accumulates; ++part) loss = learn(source_.next());
      update();
    }
    betweenSteps(number, loss);
    if (plan_.evaluates && number % kEvaluateEvery == kEvaluateEvery - 1) evaluate();
  }

 private:
  Tensor learn(const rt::Batch& batch) {
    Tensor inputs = batch[0];
    if (plan_.has("double-precision-round-trip") && rt::isFloating(inputs.dtype()))
      inputs = inputs.to(rt::DType::F64).to(rt::DType::F32);
    Tensor loss;
    {
      const rt::PhaseScope forward(rt::Phase::Forward);
      loss = plan_.has("sample-by-sample") ? oneByOne(inputs, batch[1])
                                           : drawn::lossOf(plan_, *network_, inputs, batch[1]);
      // Looks at the outputs once more, and learns nothing from that.
      if (plan_.has("double-forward"))
        watched_ = drawn::lossOf(plan_, *network_, inputs, batch[1]).detach();
    }
    const bool keeps = plan_.has("keeps-graphs") && rt::memoryStats().active < kMostKeptBytes;
    loss.backward({}, keeps);
    if (keeps) kept_.push_back(loss);
    return loss;
  }

  /// In pieces that the device hardly has work with.
  Tensor oneByOne(const Tensor& inputs, const Tensor& targets) {
    const std::int64_t piece = std::max<std::int64_t>(2, inputs.size(0) / 16);
    Tensor sum;
    std::int64_t pieces = 0;
    for (std::int64_t at = 0; at + piece <= inputs.size(0); at += piece, ++pieces) {
      const Tensor part = drawn::lossOf(plan_, *network_, inputs.slice(0, at, at + piece),
                                        targets.slice(0, at, at + piece));
      sum = pieces == 0 ? part : sum + part;
    }
    return sum / static_cast<double>(pieces);
  }

  void update() {
    if (plan_.clips) norm_ = rt::optim::clipGradNorm(network_->parameters(), 1.0);
    optimizer_->step();
    optimizer_->zeroGrad(!plan_.has("gradients-zeroed"));
    if (plan_.has("copies-weights")) average();
    if (plan_.has("returns-memory")) churn();
    if (plan_.has("large-temporary")) (void)rt::sum(rt::full({1 << 26}, 0.5));
  }

  void average() {
    const rt::NoGrad noGrad;
    const std::vector<Tensor> parameters = network_->parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      averages_[i].mul_(0.99);
      averages_[i].add_(parameters[i], 0.01);
    }
  }

  /// Gives everything back to the system, so that the next step has to ask for it again.
  void churn() {
    ++churned_;
    for (std::int64_t i = 0; i < 8; ++i)
      (void)rt::sum(rt::full({1 + (churned_ * 7 + i * 13) % 17, 1 << 16}, 1));
    rt::releaseCachedMemory();
  }

  void betweenSteps(std::int64_t number, const Tensor& loss) {
    if (plan_.has("computes-metrics")) drawn::compute(plan_.faultUs);
    if (plan_.has("sorts-metrics")) drawn::sort(plan_.faultUs);
    if (plan_.has("parses-settings")) drawn::parse(plan_.faultUs);
    if (plan_.has("sleeps")) drawn::sleepFor(plan_.faultUs);
    if (plan_.has("waits-for-a-lock")) drawn::waitForLock(plan_.faultUs);
    if (plan_.has("waits-for-a-server")) drawn::waitForServer(plan_.faultUs);
    const bool flushes = plan_.has("flushed-log");
    if (flushes || plan_.has("reads-the-loss") || number % kLogEvery == 0)
      writeLog(number, loss, flushes);
    if (plan_.has("checkpoint-each-step") ||
        (plan_.has("checkpoint-now-and-then") && number % plan_.saveEvery == 0))
      save();
  }

  void writeLog(std::int64_t number, const Tensor& loss, bool flush) {
    std::fprintf(log_, "%lld %.6f\n", static_cast<long long>(number), loss.item());
    if (!flush) return;
    std::fflush(log_);
    fsync(fileno(log_));
  }

  void save() {
    rt::saveModule(folder_ / "network", *network_);
    rt::saveOptimizer(folder_ / "optimizer", *optimizer_);
  }

  void evaluate() {
    network_->eval();
    std::optional<rt::NoGrad> noGrad;
    if (!plan_.has("evaluates-with-gradients")) noGrad.emplace();
    double sum = 0;
    for (std::int64_t i = 0; i < kEvaluationBatches; ++i) {
      const rt::Batch batch = source_.next();
      sum += drawn::lossOf(plan_, *network_, batch[0], batch[1]).item();
    }
    std::fprintf(log_, "evaluation %.6f\n", sum);
    network_->train();
  }

  const Plan& plan_;
  std::shared_ptr<rt::nn::Module> network_;
  std::unique_ptr<rt::optim::Optimizer> optimizer_;
  Source source_;
  rt::AnomalyMode debug_;
  std::filesystem::path folder_;
  std::FILE* log_ = nullptr;
  std::vector<Tensor> averages_, kept_;
  Tensor watched_, norm_;
  std::int64_t churned_ = 0;
};

void run(const samples::Flags& flags) {
  const Plan plan(flags);
  rt::manualSeed(plan.seed);
  Training training(plan);
  drawn::Turns turns(flags.text("turns"), flags.number("seconds"));
  std::int64_t number = 0;
  do {
    training.iterate(number++);
  } while (!turns.over());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    samples::Flags flags(
        "Trains a drawn network of the runtime with drawn faults; see runtime_programs.py.");
    drawn::addPlanFlags(flags);
    flags.add("seconds", "3", "how long")
        .add("turns", "", "descriptors that begin a turn and take its result");
    flags.parse(argc, argv);
    run(flags);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "drawn_training: %s\n", error.what());
    return 1;
  }
}
