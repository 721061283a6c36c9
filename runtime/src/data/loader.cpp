// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <exception>
#include <map>

#include "alloc/staging_ring.h"
#include "data/worker_pool.h"
#include "instrument/own_knobs.h"
#include "instrument/settings.h"
#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/data.h"

namespace lacuna::rt {

/// The state of one epoch.
struct DataLoader::Epoch {
  std::uint64_t number = 0;
  std::size_t examples = 0;        ///< in all of it
  std::size_t submitted = 0;       ///< examples handed to workers
  std::uint64_t pass = 0;          ///< over the dataset, by the sampler's count
  std::vector<std::size_t> order;  ///< of that pass
  std::size_t taken = 0;           ///< of that order
  std::uint64_t firstTicket = 0;   ///< outcomes of earlier epochs have smaller ones
  std::uint64_t nextTicket = 0;    ///< to deliver, when the order is kept
  std::size_t outstanding = 0;     ///< batches submitted and not delivered
  struct Finished {
    Batch batch;
    std::exception_ptr error;  ///< why there is none
  };
  std::map<std::uint64_t, Finished> early;  ///< finished before their turn

  /// Examples of an epoch, where a pass over the dataset has `ofAPass`.
  static std::size_t examplesOf(const LoaderOptions& options, std::size_t ofAPass) {
    const std::size_t all = options.examples > 0 && ofAPass > 0 ? options.examples : ofAPass;
    return options.dropLast ? all / options.batch * options.batch : all;
  }

  void begin(const LoaderOptions& options, std::size_t datasetSize) {
    pass = number;
    order = orderOf(options, datasetSize, pass);
    examples = examplesOf(options, order.size());
    if (options.examples > 0 && !order.empty()) {
      pass = number * ((options.examples + order.size() - 1) / order.size());
      if (pass != number) order = orderOf(options, datasetSize, pass);
    }
  }

  /// Leaves out the first `batches`.
  void skip(std::size_t batches, const LoaderOptions& options, std::size_t datasetSize) {
    for (; batches > 0 && !exhausted(); --batches) (void)cut(0, options, datasetSize);
  }

  [[nodiscard]] bool exhausted() const { return submitted == examples; }

  void finish(std::uint64_t ticket, Batch batch) {
    early.emplace(ticket, Finished{std::move(batch), {}});
  }
  void failed(std::uint64_t ticket, std::exception_ptr error) {
    early.emplace(ticket, Finished{{}, std::move(error)});
  }

  /// Nothing more comes from it.
  void end() {
    examples = submitted = outstanding = 0;
    early.clear();
  }

  /// The task of the next batch.
  LoaderTask cut(std::uint64_t ticket, const LoaderOptions& options, std::size_t datasetSize) {
    LoaderTask task{ticket, {}, {}};
    const std::size_t count = std::min(options.batch, examples - submitted);
    while (task.indices.size() < count) {
      if (taken == order.size()) nextPass(options, datasetSize);
      task.indices.push_back(order[taken++]);
      task.seeds.push_back(seedOf(options.seed + pass * 0x9e3779b97f4a7c15u, task.indices.back()));
    }
    submitted += count;
    return task;
  }

 private:
  static std::uint64_t seedOf(std::uint64_t passSeed, std::size_t index) {
    return SampleRandom(passSeed ^ (static_cast<std::uint64_t>(index) + 1) * 0x9e3779b97f4a7c15u)();
  }

  static std::vector<std::size_t> orderOf(const LoaderOptions& options, std::size_t datasetSize,
                                          std::uint64_t pass) {
    std::vector<std::size_t> order = options.sampler->order(datasetSize, pass);
    const auto largest = std::max_element(order.begin(), order.end());
    if (largest != order.end() && *largest >= datasetSize) {
      fail("DataLoader", "the sampler asks for example " + std::to_string(*largest) +
                             " of a dataset of " + std::to_string(datasetSize) + ", in pass " +
                             std::to_string(pass));
    }
    return order;
  }

  void nextPass(const LoaderOptions& options, std::size_t datasetSize) {
    order = orderOf(options, datasetSize, ++pass);
    taken = 0;
    if (order.empty())
      fail("DataLoader",
           "the sampler gave examples before, but none for pass " + std::to_string(pass));
  }
};

namespace {

/// The batch that the consumer works on, and the one before it, which the queue may still read.
constexpr std::size_t kForConsumer = 2;
constexpr std::string_view kLoader = "rt::DataLoader";
/// Longer time-outs count as this: adding them to the time of day would overflow.
constexpr std::chrono::milliseconds kLongestTimeout = std::chrono::hours(24 * 365);

class ConsumerWaits {
 public:
  explicit ConsumerWaits(StagingRing* ring) : ring_(ring) {
    if (ring_ != nullptr) ring_->consumerWaits(true);
  }
  ~ConsumerWaits() {
    if (ring_ != nullptr) ring_->consumerWaits(false);
  }

 private:
  StagingRing* ring_;
};

void reportKnobs(const LoaderOptions& options) {
  using instrument::OwnKnob;
  if (!observed()) return;
  instrument::reportKnob(OwnKnob::LoaderWorkers, std::to_string(options.workers));
  instrument::reportKnob(OwnKnob::LoaderPrefetch, std::to_string(options.prefetch));
  instrument::reportSwitch(OwnKnob::LoaderProcesses, options.kind == WorkerKind::Process);
  instrument::reportSwitch(OwnKnob::LoaderPin, options.pin);
  instrument::reportKnob(OwnKnob::LoaderDtype, name(options.dtype));
  instrument::reportKnob(OwnKnob::Batch, std::to_string(options.batch));
}

void applyNumber(std::string_view knob, unsigned& value) {
  const auto number = instrument::numberSetting(knob, kLoader);
  if (!number) return;
  instrument::noteSetting(knob, kLoader, std::to_string(value));
  value = *number;
}

/// Applies the settings of the environment to a loader that trains.
void applySettings(LoaderOptions& options) {
  if (!GradMode::enabled()) return;
  applyNumber("loader.workers", options.workers);
  if (instrument::settingOf("loader.prefetch") && options.workers == 0)
    instrument::refuseSetting("loader.prefetch", kLoader, "it has no workers");
  if (options.workers > 0) applyNumber("loader.prefetch", options.prefetch);
  if (options.workers > 0 && options.prefetch == 0) options.prefetch = 1;
  options.pin = instrument::switchAsSet("loader.pin", kLoader, options.pin);
}

std::shared_ptr<const Sampler> samplerFor(const LoaderOptions& options) {
  if (options.sampler) return options.sampler;
  if (options.shuffle) return std::make_shared<ShuffleSampler>(options.seed);
  return std::make_shared<SequentialSampler>();
}

}  // namespace

DataLoader::DataLoader(std::shared_ptr<const Dataset> dataset, LoaderOptions options)
    : dataset_(std::move(dataset)), options_(std::move(options)), number_(registerLoader()) {
  if (!dataset_) fail("DataLoader", "there is no dataset");
  if (options_.batch == 0) fail("DataLoader", "the batch size must be at least 1");
  if (options_.workers > 0 && options_.prefetch == 0) {
    fail("DataLoader", "prefetch must be at least 1 when there are workers (or set workers to 0)");
  }
  if (options_.dtype != DType::F32 && options_.dtype != DType::F16 && options_.dtype != DType::BF16)
    fail("DataLoader",
         std::string("batches travel in f32, f16 or bf16, not in ") + name(options_.dtype));
  if (options_.timeout.count() < 0)
    fail("DataLoader", "the time-out must not be negative (0 waits for ever)");
  options_.timeout = std::min(options_.timeout, kLongestTimeout);
  options_.sampler = samplerFor(options_);
  if (!options_.collate) options_.collate = stackExamples;
  epochs_ = options_.firstEpoch;
}

DataLoader::~DataLoader() {
  if (staging_) staging_->close();
}

StagingStats DataLoader::stagingStats() const {
  return staging_ ? staging_->stats() : StagingStats{};
}

std::size_t DataLoader::size() const {
  const std::size_t ofAPass = options_.sampler->order(dataset_->size(), epochs_).size();
  return (Epoch::examplesOf(options_, ofAPass) + options_.batch - 1) / options_.batch;
}

void DataLoader::start() {
  const bool isFirst = epochs_ == options_.firstEpoch;
  if (isFirst) applySettings(options_);
  if (options_.pin && !staging_)
    staging_ = std::make_shared<StagingRing>(options_.device, aheadLimit() + kForConsumer);
  if (options_.workers > 0 && !pool_) {
    LoaderJob job{dataset_, options_.collate, number_, staging_, options_.dtype};
    pool_ = options_.kind == WorkerKind::Thread
                ? makeThreadPool(std::move(job), options_.workers)
                : makeProcessPool(std::move(job), options_.workers, options_.prefetch);
  }
  if (isFirst) reportKnobs(options_);
  if (pool_) pool_->forget();
  epoch_.reset();
  auto epoch = std::make_unique<Epoch>();
  epoch->number = epochs_++;
  epoch->begin(options_, dataset_->size());
  if (isFirst) epoch->skip(options_.firstBatch, options_, dataset_->size());
  epoch_ = std::move(epoch);
  epoch_->firstTicket = ticket_;
  epoch_->nextTicket = ticket_;
  if (pool_) submitAhead();
}

std::size_t DataLoader::aheadLimit() const {
  return static_cast<std::size_t>(options_.workers) * options_.prefetch;
}

void DataLoader::submitAhead() {
  try {
    while (epoch_->outstanding < aheadLimit() && !epoch_->exhausted()) {
      ++epoch_->outstanding;
      if (std::optional<LoaderTask> task = cutOrFail(ticket_++)) pool_->submit(std::move(*task));
    }
  } catch (...) {
    abandon();
    throw;
  }
}

std::optional<LoaderTask> DataLoader::cutOrFail(std::uint64_t ticket) {
  try {
    return epoch_->cut(ticket, options_, dataset_->size());
  } catch (...) {  // of the sampler
    epoch_->failed(ticket, std::current_exception());
    epoch_->examples = epoch_->submitted;
    return std::nullopt;
  }
}

std::optional<Batch> DataLoader::next() {
  if (!epoch_) fail("DataLoader", "next() without start()");
  PhaseScope phase(Phase::Load);
  std::optional<Batch> batch = options_.workers > 0 ? nextFromWorkers() : nextFromHere();
  if (batch && options_.dtype != DType::F32) widen(*batch);
  return batch;
}

void DataLoader::widen(Batch& batch) const {
  for (Tensor& field : batch) {
    if (field.defined() && field.dtype() == options_.dtype) field = field.to(DType::F32);
  }
}

std::optional<Batch> DataLoader::nextFromHere() {
  if (epoch_->exhausted()) return std::nullopt;
  const LoaderScope scope(LoaderStage::Wait, number_, -1, ticket_);
  try {
    const LoaderTask task = epoch_->cut(ticket_++, options_, dataset_->size());
    LoaderOutcome outcome =
        runTask({dataset_, options_.collate, number_, staging_, options_.dtype}, task, -1, {});
    if (!outcome.error.empty()) throw Error(outcome.error);
    return std::move(outcome.batch);
  } catch (...) {
    epoch_->end();
    throw;
  }
}

std::optional<Batch> DataLoader::nextFromWorkers() {
  if (epoch_->outstanding == 0) return std::nullopt;
  Epoch& epoch = *epoch_;
  LoaderScope scope(LoaderStage::Wait, number_, -1, epoch.nextTicket);
  while (true) {
    const auto found =
        options_.keepOrder ? epoch.early.find(epoch.nextTicket) : epoch.early.begin();
    if (found != epoch.early.end()) {
      Epoch::Finished finished = std::move(found->second);
      epoch.early.erase(found);
      ++epoch.nextTicket;
      --epoch.outstanding;
      if (finished.error) {
        pool_->forget();
        epoch.end();
        std::rethrow_exception(finished.error);
      }
      submitAhead();
      return std::move(finished.batch);
    }
    receive();
  }
}

void DataLoader::receive() {
  std::optional<LoaderOutcome> outcome;
  try {
    const ConsumerWaits waits(staging_.get());
    outcome = pool_->take(options_.timeout);
  } catch (...) {
    abandon();
    throw;
  }
  if (!outcome) {
    const std::uint64_t batch = epoch_->nextTicket;
    abandon();
    fail("DataLoader", "no batch for " + std::to_string(options_.timeout.count()) +
                           " ms while waiting for batch " + std::to_string(batch) +
                           "; a worker hangs, or the time-out is too short for this dataset");
  }
  if (outcome->ticket < epoch_->firstTicket) return;  // of an epoch that was left early
  if (outcome->error.empty()) {
    epoch_->finish(outcome->ticket, std::move(outcome->batch));
  } else {
    epoch_->failed(outcome->ticket, std::make_exception_ptr(Error(outcome->error)));
  }
}

void DataLoader::abandon() {
  epoch_->end();
  if (staging_) staging_->close();
  pool_.reset();
  staging_.reset();
}

}  // namespace lacuna::rt
