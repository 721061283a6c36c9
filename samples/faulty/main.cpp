// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <thread>

#include "common/digit_dataset.h"
#include "common/flags.h"
#include "common/training.h"
#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/instrument.h"
#include "lacuna/runtime/memory.h"
#include "lacuna/runtime/nn.h"
#include "lacuna/runtime/optim.h"
#include "lacuna/runtime/random.h"

namespace {

using namespace lacuna;
using rt::Tensor;
using samples::Flags;

constexpr const char* kFaults =
    "none|slow-loader|starved-workers|heavy-decode|sync-each-step|tiny-ops|alloc-churn|leak|memory-"
    "spike|bias-before-norm|zero-grad-memset|debug-mode|unfused-optimizer";

Flags parseFlags(int argc, char** argv) {
  Flags flags(
      "Trains a small network on synthetic digits with one planted fault, for trying out what "
      "finds it.\n"
      "The fault is real: it costs time or memory. `--fault none` is clean.");
  flags.add("fault", "none", "what is wrong", kFaults)
      .add("slowness", "100",
           "percent of its time that a fault of the loader takes; more where the training hides it")
      .add("data", "", "a file of digits as scikit-learn's digits.csv.gz; drawn digits without it")
      .add("steps", "200", "training steps")
      .knob("batch", "256", "pictures per step")
      .add("hidden", "512", "width of the hidden layers")
      .add("seed", "1", "seed of everything random")
      .add("device", "cpu", "where to train", "cpu")
      .add("log", "50", "steps between two lines of progress")
      .add("waits", "",
           "file that gets each wait for a batch: its begin and end in ns of CLOCK_MONOTONIC")
      .knob("loader.workers", "", "loader threads, or processes; empty: 2, or what the fault wants")
      .knob("loader.prefetch", "2", "ready batches per worker")
      .knob("loader.processes", "off", "load in worker processes instead of threads", "on|off")
      .knob("loader.pin", "off", "lay batches into staging buffers that are used again", "on|off")
      .knob("loader.dtype", "f32", "type in which pictures leave the workers", "f32|f16|bf16")
      .knob("zero_grad", "",
            "drop gradients, or fill them with zeros; empty: none, or what the fault wants",
            "|none|zero")
      .knob("optimizer.fused", "",
            "one execution for all parameters; empty: on, or what the fault wants", "|on|off")
      .add(
          "pieces", "",
          "parameters that make up a norm's scale, or its shift; empty: 1, or what the fault wants")
      .knob("conv_bias", "", "a bias in layers before a norm; empty: off, or what the fault wants",
            "|on|off")
      .knob("debug", "", "debug mode (anomaly detection); empty: off, or what the fault wants",
            "|on|off");
  flags.parse(argc, argv);
  return flags;
}

/// A knob's value: the user's, or the fault's if this is its run, or the sane one.
std::string chosen(const Flags& flags, const char* knob, const char* fault, const char* faulty,
                   const char* sane) {
  const std::string& given = flags.text(knob);
  const std::string value = !given.empty() ? given : flags.text("fault") == fault ? faulty : sane;
  if (given.empty()) Flags::announce(knob, value);
  return value;
}

/// Updates one by one cost what they cost where there are many of them, and small ones.
std::int64_t piecesOf(const Flags& flags) {
  const bool wanted = flags.text("pieces").empty();
  return !wanted ? flags.integer("pieces", 1) : flags.text("fault") == "unfused-optimizer" ? 64 : 1;
}

/// When the training thread waited for batches, as the program itself sees it: to hold a profiler's
/// account against.
class Waits {
 public:
  ~Waits() {
    if (file_ != nullptr) std::fclose(file_);
  }
  explicit Waits(const std::string& path) {
    if (path.empty()) return;
    file_ = std::fopen(path.c_str(), "w");
    if (file_ == nullptr) samples::usageError("--waits " + path + ": cannot be written");
  }
  Waits(const Waits&) = delete;
  Waits& operator=(const Waits&) = delete;

  rt::Batch next(rt::DataLoader& loader) {
    const std::int64_t from = nowNs();
    rt::Batch batch = *loader.next();
    const std::int64_t to = nowNs();
    if (file_ != nullptr)
      std::fprintf(file_, "%lld %lld\n", static_cast<long long>(from), static_cast<long long>(to));
    return batch;
  }

 private:
  // The steady clock of Linux is CLOCK_MONOTONIC, as in a trace.
  static std::int64_t nowNs() {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  std::FILE* file_ = nullptr;
};

/// A vector that is kept in pieces, each a parameter of its own, as adapters, experts and heads
/// are.
class PiecewiseVector {
 public:
  PiecewiseVector(std::int64_t size, std::int64_t pieces)
      : size_(size), pieces_(std::min(size, pieces)) {}

  /// `add` makes a tensor a parameter.
  template <class Add>
  void fill(double value, const std::string& name, Add&& add) {
    for (std::int64_t i = 0; i < pieces_; ++i) {
      const std::int64_t length = size_ * (i + 1) / pieces_ - size_ * i / pieces_;
      parts_.push_back(
          add(pieces_ == 1 ? name : name + "_" + std::to_string(i), rt::full({length}, value)));
    }
  }
  [[nodiscard]] Tensor joined() const {
    return parts_.size() == 1 ? parts_[0] : rt::concat(parts_, 0);
  }

 private:
  std::int64_t size_, pieces_;
  std::vector<Tensor> parts_;
};

/// Three hidden layers, each followed by a batch norm, in training as in many a vision model.
class Net : public rt::nn::Module {
 public:
  Net(std::int64_t hidden, bool bias, std::int64_t pieces)
      : one_(addModule("one",
                       std::make_shared<rt::nn::Linear>(samples::kDigitPixels, hidden, bias))),
        two_(addModule("two", std::make_shared<rt::nn::Linear>(hidden, hidden, bias))),
        three_(addModule("three", std::make_shared<rt::nn::Linear>(hidden, hidden, bias))),
        head_(addModule("head", std::make_shared<rt::nn::Linear>(hidden, 10))),
        scales_(3, PiecewiseVector(hidden, pieces)),
        shifts_(scales_) {
    const auto add = [this](const std::string& name, Tensor value) {
      return addParameter(name.c_str(), std::move(value));
    };
    constexpr const char* kLayers[]{"one", "two", "three"};
    for (std::size_t i = 0; i < 3; ++i) scales_[i].fill(1, std::string("scale_") + kLayers[i], add);
    for (std::size_t i = 0; i < 3; ++i) shifts_[i].fill(0, std::string("shift_") + kLayers[i], add);
  }
  [[nodiscard]] const char* kind() const override { return "Net"; }
  bool syncs = false;  ///< looks at every layer's values on the host

 protected:
  Tensor forward(const Tensor& x) override {
    Tensor h = layer((*one_)(x), 0);
    h = layer((*two_)(h), 1);
    h = layer((*three_)(h), 2);
    return (*head_)(h);
  }

 private:
  Tensor layer(const Tensor& x, std::size_t number) const {
    const Tensor normal =
        rt::batchNorm(x, scales_[number].joined(), shifts_[number].joined(), {}, {}, true);
    Tensor out = rt::relu(normal);
    if (syncs) watched_ += rt::mean(out.detach()).item();
    return out;
  }

  std::shared_ptr<rt::nn::Linear> one_, two_, three_, head_;
  std::vector<PiecewiseVector> scales_, shifts_;
  mutable double watched_ = 0;
};

samples::Digits digitsOf(const Flags& flags) {
  const std::string& data = flags.text("data");
  return data.empty()
             ? samples::syntheticDigits(4000, static_cast<std::uint64_t>(flags.integer("seed")))
             : samples::readDigits(data);
}

class Run {
 public:
  explicit Run(const Flags& flags)
      : flags_(flags),
        fault_(flags.text("fault")),
        waits_(flags.text("waits")),
        digits_(std::make_shared<const samples::Digits>(digitsOf(flags))),
        net_(flags.integer("hidden", 1),
             chosen(flags, "conv_bias", "bias-before-norm", "on", "off") == "on", piecesOf(flags)),
        optimizer_(net_.parameters(), {.rate = 0.02, .momentum = 0.9}),
        toNone_(chosen(flags, "zero_grad", "zero-grad-memset", "zero", "none") == "none") {
    net_.nameTree("net");
    net_.syncs = fault_ == "sync-each-step";
    optimizer_.setFused(chosen(flags, "optimizer.fused", "unfused-optimizer", "off", "on") == "on");
  }

  void train() {
    const rt::AnomalyMode debug(chosen(flags_, "debug", "debug-mode", "on", "off") == "on");
    const std::int64_t steps = flags_.integer("steps", 1);
    const std::int64_t log = flags_.integer("log", 1);
    rt::DataLoader loader(std::make_shared<samples::DigitDataset>(digits_, hooks()),
                          loaderOptions());
    loader.start();
    for (std::int64_t step = 0; step < steps; ++step) {
      const rt::StepScope scope(static_cast<std::uint64_t>(step),
                                static_cast<std::uint64_t>(flags_.integer("batch")));
      const Tensor loss = trainStep(loader);
      if (fault_ == "memory-spike" && step % 20 == 19) evaluateWithHistory();
      if (step % log == 0 || step + 1 == steps) report(step, loss);
    }
  }

 private:
  rt::LoaderOptions loaderOptions() const {
    rt::LoaderOptions options;
    options.batch = static_cast<std::size_t>(flags_.integer("batch", 2, samples::kMostBatch));
    options.prefetch =
        static_cast<unsigned>(flags_.integer("loader.prefetch", 1, samples::kMostPrefetch));
    options.kind = flags_.on("loader.processes") ? rt::WorkerKind::Process : rt::WorkerKind::Thread;
    options.pin = flags_.on("loader.pin");
    options.dtype = samples::loaderDtype(flags_);
    options.seed = static_cast<std::uint64_t>(flags_.integer("seed"));
    options.shuffle = true;
    options.examples =
        static_cast<std::size_t>(flags_.integer("steps", 1, samples::kMostSteps)) * options.batch;
    const bool starved = fault_ == "starved-workers";
    const char* const fault = starved                    ? "starved-workers"
                              : fault_ == "heavy-decode" ? "heavy-decode"
                                                         : "slow-loader";
    const std::string workers = chosen(flags_, "loader.workers", fault, starved ? "1" : "0", "2");
    options.workers = static_cast<unsigned>(
        samples::wholeNumber("loader.workers", workers, 0, samples::kMostWorkers));
    return options;
  }

  samples::DigitDataset::Hooks hooks() const {
    samples::DigitDataset::Hooks hooks;
    // Storage that takes its time: the thread sleeps, so more workers help.
    const std::int64_t percent = flags_.integer("slowness", 1, 1'000'000);
    const std::int64_t delayMs = fault_ == "slow-loader"       ? 20
                                 : fault_ == "starved-workers" ? 25
                                                               : 0;
    if (delayMs > 0) {
      const std::chrono::microseconds delay(delayMs * 10 * percent);
      hooks.onFetch = [delay](std::size_t) { std::this_thread::sleep_for(delay); };
    }
    if (fault_ == "heavy-decode")
      hooks.onDecode = [percent](std::size_t number) { decodeSlowly(number, percent); };
    return hooks;
  }

  /// A decoder that computes: a checksum, bit by bit, of as much data as takes some 12 ms.
  static void decodeSlowly(std::size_t number, std::int64_t percent) {
    std::uint32_t sum = static_cast<std::uint32_t>(number);
    for (std::int64_t byte = 0; byte < 15'000 * percent; ++byte) {
      sum ^= static_cast<std::uint32_t>(byte) & 0xff;
      for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0xedb88320U : 0U);
    }
    volatile std::uint32_t keep = sum;
    (void)keep;
  }

  Tensor trainStep(rt::DataLoader& loader) {
    rt::Batch batch = waits_.next(loader);
    Tensor loss;
    {
      const rt::PhaseScope forward(rt::Phase::Forward);
      const Tensor scores = net_(batch[0]);
      loss = rt::crossEntropy(scores, batch[1]);
      if (fault_ == "tiny-ops") confidence_ = confidenceOneByOne(scores.detach());
    }
    if (fault_ == "leak")
      losses_.push_back(loss);  // with its whole graph and all that the graph saved
    loss.backward({}, fault_ == "leak");
    if (fault_ == "alloc-churn") churn();
    optimizer_.step();
    optimizer_.zeroGrad(toNone_);
    return loss;
  }

  // The mean confidence, sample by sample instead of in one operator each.
  static Tensor confidenceOneByOne(const Tensor& scores) {
    const rt::NoGrad noGrad;
    Tensor sum = rt::zeros({});
    for (std::int64_t i = 0; i < scores.size(0); ++i)
      sum.add_(rt::max(rt::softmax(scores.select(0, i), 0)));
    return sum / static_cast<double>(scores.size(0));
  }

  // Gives everything back to the system every step, so that the next one has to ask for it again.
  void churn() {
    ++churned_;
    for (std::int64_t i = 0; i < 8; ++i) {
      const Tensor scratch = rt::full({1 + (churned_ * 7 + i * 13) % 17, 1 << 16}, 1);
      (void)rt::sum(scratch);
    }
    rt::releaseCachedMemory();
  }

  // An evaluation of the whole data set at once that forgot NoGrad.
  void evaluateWithHistory() {
    const auto count = static_cast<std::int64_t>(digits_->size());
    const Tensor pictures =
        rt::fromVector(digits_->pixels, {count, samples::kDigitPixels}) * (1.0 / 16);
    const Tensor loss = rt::crossEntropy(net_(pictures), rt::fromVector(digits_->labels, {count}));
    std::printf("  evaluation loss %.6f\n", loss.item());
  }

  static void report(std::int64_t step, const Tensor& loss) {
    const rt::MemoryStats memory = rt::memoryStats();
    std::printf("step %lld loss %.6f, memory %.1f MiB, peak %.1f MiB\n",
                static_cast<long long>(step), loss.item(),
                static_cast<double>(memory.active) / 1048576,
                static_cast<double>(memory.peakActive) / 1048576);
    std::fflush(stdout);
  }

  const Flags& flags_;
  std::string fault_;
  Waits waits_;
  std::shared_ptr<const samples::Digits> digits_;
  Net net_;
  rt::optim::Sgd optimizer_;
  bool toNone_;
  Tensor confidence_;
  std::vector<Tensor> losses_;
  std::int64_t churned_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    const Flags flags = parseFlags(argc, argv);
    rt::manualSeed(static_cast<std::uint64_t>(flags.integer("seed")));
    Run(flags).train();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "faulty: %s\n", error.what());
    return 1;
  }
}
