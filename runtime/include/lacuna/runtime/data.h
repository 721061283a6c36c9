// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lacuna/runtime/instrument.h"
#include "lacuna/runtime/tensor.h"

/// Data loading: datasets give examples by index, a DataLoader turns them into batches ahead of the
/// training loop.
namespace lacuna::rt {

/// One example: its tensors in a fixed order, such as input and label. Host memory, filled without
/// the queue (emptyHost), or views of it (transpose, slice, expand).
using Example = std::vector<Tensor>;
/// The tensors of several examples, stacked along a new first dimension.
using Batch = std::vector<Tensor>;

/// A small random generator (splitmix64) with the state in one word. Meets
/// UniformRandomBitGenerator.
class SampleRandom {
 public:
  using result_type = std::uint64_t;
  explicit SampleRandom(std::uint64_t seed) : state_(seed) {}
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }
  result_type operator()();
  /// Uniform in [0, 1).
  double uniform();
  /// Uniform in 0 … bound - 1.
  std::uint64_t below(std::uint64_t bound);

 private:
  std::uint64_t state_;
};

/// The things that a dataset may use while it makes an example.
class WorkerContext {
 public:
  WorkerContext(std::uint32_t loader, int worker, std::uint64_t batch, std::uint64_t seed,
                const std::function<bool()>* stop)
      : random(seed), loader_(loader), worker_(worker), batch_(batch), stop_(stop) {}

  /// Seeded by loader seed, pass over the dataset and index of the example: results do not depend
  /// on the number of workers.
  SampleRandom random;
  /// -1 when the consumer itself does the work.
  [[nodiscard]] int worker() const { return worker_; }
  /// Marks a stage on the timeline until the scope ends; `bytes` is what it works on, if known.
  [[nodiscard]] LoaderScope stage(LoaderStage stage, std::uint64_t bytes = 0) const {
    return LoaderScope(stage, loader_, worker_, batch_, bytes);
  }
  /// True when nobody wants the result any more. Long waits inside get() should look at it.
  [[nodiscard]] bool stopping() const { return stop_ != nullptr && *stop_ && (*stop_)(); }

 private:
  std::uint32_t loader_;
  int worker_;
  std::uint64_t batch_;
  const std::function<bool()>* stop_;
};

/// Examples by index. The functions are called from several worker threads at the same time, or in
/// forked worker processes where changes to the dataset are not seen by anybody else. They must not
/// enqueue operators; what they throw reaches the training loop as an Error with the worker and the
/// example named.
class Dataset {
 public:
  virtual ~Dataset() = default;
  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual Example get(std::size_t index, WorkerContext& context) const = 0;
  /// Whole batches at once, for datasets that can do better than one example after the other;
  /// empty: use get() and collate.
  [[nodiscard]] virtual std::optional<Batch> getBatch(std::span<const std::size_t> indices,
                                                      WorkerContext& context) const;
};

/// Rows of tensors in memory: example i is {a[i], b[i], …}.
class TensorDataset : public Dataset {
 public:
  /// Throws where the first sizes differ. Waits for the queue once and copies what is not
  /// contiguous.
  explicit TensorDataset(std::vector<Tensor> tensors);
  [[nodiscard]] std::size_t size() const override { return size_; }
  [[nodiscard]] Example get(std::size_t index, WorkerContext& context) const override;
  [[nodiscard]] std::optional<Batch> getBatch(std::span<const std::size_t> indices,
                                              WorkerContext& context) const override;

 private:
  std::vector<Tensor> tensors_;
  std::size_t size_ = 0;
};

/// A dataset from a function.
class FunctionDataset : public Dataset {
 public:
  using Get = std::function<Example(std::size_t index, WorkerContext& context)>;
  FunctionDataset(std::size_t size, Get get) : size_(size), get_(std::move(get)) {}
  [[nodiscard]] std::size_t size() const override { return size_; }
  [[nodiscard]] Example get(std::size_t index, WorkerContext& context) const override {
    return get_(index, context);
  }

 private:
  std::size_t size_;
  Get get_;
};

/// One field of a fixed-size record in a file.
struct RecordField {
  Shape shape;
  DType dtype = DType::F32;
};

/// Records of fixed size, one after the other in a file, each the bytes of its fields in order.
/// Reads with pread, so any number of workers share the file. Throws where the file cannot be
/// opened or its size is not a whole number of records.
class RecordFileDataset : public Dataset {
 public:
  RecordFileDataset(std::filesystem::path path, std::vector<RecordField> fields,
                    std::size_t headerBytes = 0);
  ~RecordFileDataset() override;
  [[nodiscard]] std::size_t size() const override { return size_; }
  [[nodiscard]] Example get(std::size_t index, WorkerContext& context) const override;

 private:
  std::filesystem::path path_;
  std::vector<RecordField> fields_;
  std::size_t headerBytes_;
  std::size_t recordBytes_ = 0;
  std::size_t size_ = 0;
  int file_ = -1;
};

/// The order in which a pass visits a dataset. An epoch is one pass, unless LoaderOptions::examples
/// makes it several, which then count on: with three passes an epoch, the second epoch has the
/// orders 3, 4 and 5.
class Sampler {
 public:
  virtual ~Sampler() = default;
  [[nodiscard]] virtual std::vector<std::size_t> order(std::size_t datasetSize,
                                                       std::uint64_t epoch) const = 0;
};

class SequentialSampler : public Sampler {
 public:
  [[nodiscard]] std::vector<std::size_t> order(std::size_t datasetSize,
                                               std::uint64_t epoch) const override;
};

/// A new permutation each epoch, the same for the same seed.
class ShuffleSampler : public Sampler {
 public:
  explicit ShuffleSampler(std::uint64_t seed) : seed_(seed) {}
  [[nodiscard]] std::vector<std::size_t> order(std::size_t datasetSize,
                                               std::uint64_t epoch) const override;

 private:
  std::uint64_t seed_;
};

/// The part of a shuffled epoch that belongs to one of `ranks` processes. All parts have the same
/// length, so no rank waits for another at the end. Where needed, the last examples repeat the
/// first ones.
class DistributedSampler : public Sampler {
 public:
  DistributedSampler(std::size_t rank, std::size_t ranks, std::uint64_t seed, bool shuffle = true);
  [[nodiscard]] std::vector<std::size_t> order(std::size_t datasetSize,
                                               std::uint64_t epoch) const override;

 private:
  std::size_t rank_;
  std::size_t ranks_;
  std::uint64_t seed_;
  bool shuffle_;
};

enum class WorkerKind : std::uint8_t { Thread, Process };
using Collate = std::function<Batch(std::vector<Example>)>;

/// Stacks each field; throws where shapes or types differ between examples.
[[nodiscard]] Batch stackExamples(std::vector<Example> examples);

struct LoaderOptions {
  std::size_t batch = 1;
  bool shuffle = false;   ///< ignored when a sampler is given
  bool dropLast = false;  ///< leave out a last batch that is not full
  /// Examples in an epoch, of as many passes over the dataset as that takes, so that no worker
  /// pauses between two of them; 0: of one pass. Each pass has an order of its own from the
  /// sampler, and random numbers of its own.
  std::size_t examples = 0;
  bool keepOrder = true;  ///< batches come in the sampler's order, however fast each worker is
  unsigned workers = 0;   ///< 0: the consumer makes each batch itself when it asks for it
  unsigned prefetch = 2;  ///< batches in the making or ready, per worker
  WorkerKind kind = WorkerKind::Thread;
  std::uint64_t seed = 0;
  /// For a run that goes on: the epochs that it had, and the batches of the one that it stopped in.
  /// The loader's first epoch is then that one, in its order and with its random numbers, without
  /// these batches.
  std::uint64_t firstEpoch = 0;
  std::size_t firstBatch = 0;
  /// Time to wait for a batch before giving up with an Error; 0: for ever. Without workers there is
  /// nobody to wait for.
  std::chrono::milliseconds timeout{0};
  /// Batches lie in a ring of staging buffers that is used again and again: one for each batch
  /// ahead and two for the consumer. It is page-locked memory for a device that copies from it, and
  /// whole pages on the CPU. A buffer is filled again when its batch was dropped and the queue has
  /// run what was enqueued with it. The knob is called loader.pin.
  bool pin = false;
  /// f16 or bf16: fields in f32 travel in this type, in half of the memory, from before they are
  /// collated until the consumer takes them. Then the device's queue makes f32 of them again. The
  /// knob is called loader.dtype.
  DType dtype = DType::F32;
  Device device = kCpu;  ///< that the batches are for
  std::shared_ptr<const Sampler> sampler;
  Collate collate;  ///< stackExamples when empty
};

/// State of the staging buffers (LoaderOptions::pin).
struct StagingStats {
  std::size_t slots = 0;
  std::size_t bytes = 0;      ///< in all of them
  std::size_t inUse = 0;      ///< slots that are filled, held, or waited for by the queue
  std::uint64_t batches = 0;  ///< that were filled into a slot
  std::uint64_t waits = 0;    ///< times that a batch had to wait for a slot
  std::uint64_t beside =
      0;  ///< batches in ordinary memory, because the consumer itself held every slot
};

class StagingRing;
class WorkerPool;
struct LoaderTask;

/// Makes batches ahead of the training loop.
///
///     for (Batch& batch : loader) { … }   // one epoch
///
/// Workers start with the first epoch and live as long as the loader. A worker process is forked
/// from the calling process: start the first epoch before other threads hold locks that a dataset
/// needs (the runtime sees to its own). Leaving an epoch early, by break or by an exception, is
/// fine in every mode; so is a new epoch after an error, with new workers where one was lost. One
/// consumer at a time.
class DataLoader {
 public:
  DataLoader(std::shared_ptr<const Dataset> dataset, LoaderOptions options);
  ~DataLoader();
  DataLoader(const DataLoader&) = delete;
  DataLoader& operator=(const DataLoader&) = delete;

  /// Batches in an epoch, a whole one.
  [[nodiscard]] std::size_t size() const;
  /// Starts the next epoch (ends the one that runs).
  void start();
  /// The next batch of the epoch, none at its end. An exception of a dataset or a sampler is thrown
  /// where its batch would have come, after the batches before it. With workers and without
  /// keepOrder it is thrown as soon as it is known. A worker that died or was too slow gives an
  /// Error. The epoch is over with that, however many workers there are: there are no more batches
  /// until start().
  [[nodiscard]] std::optional<Batch> next();
  /// All zero without LoaderOptions::pin.
  [[nodiscard]] StagingStats stagingStats() const;

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(DataLoader* loader) : loader_(loader) { ++*this; }
    Iterator() = default;
    Batch& operator*() { return *batch_; }
    Batch* operator->() { return &*batch_; }
    Iterator& operator++() {
      batch_.reset();  // its memory can serve the next one
      batch_ = loader_->next();
      return *this;
    }
    friend bool operator==(const Iterator& a, std::default_sentinel_t) { return !a.batch_; }

   private:
    DataLoader* loader_ = nullptr;
    std::optional<Batch> batch_;
  };
  Iterator begin() {
    start();
    return Iterator(this);
  }
  [[nodiscard]] std::default_sentinel_t end() const { return {}; }

 private:
  struct Epoch;
  [[nodiscard]] std::size_t aheadLimit() const;
  void submitAhead();
  /// The task of the next batch; none where that failed, which is kept for the batch's turn.
  std::optional<LoaderTask> cutOrFail(std::uint64_t ticket);
  void widen(Batch& batch) const;
  std::optional<Batch> nextFromHere();
  std::optional<Batch> nextFromWorkers();
  void receive();
  void abandon();

  std::shared_ptr<const Dataset> dataset_;
  LoaderOptions options_;
  std::uint32_t number_;
  std::uint64_t epochs_ = 0;
  std::uint64_t ticket_ = 0;  ///< of the next task, over all epochs
  std::shared_ptr<StagingRing> staging_;
  std::unique_ptr<WorkerPool> pool_;
  std::unique_ptr<Epoch> epoch_;
};

}  // namespace lacuna::rt
