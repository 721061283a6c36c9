// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "data/host_copy.h"
#include "lacuna/runtime/data.h"

namespace lacuna::rt {

SampleRandom::result_type SampleRandom::operator()() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

double SampleRandom::uniform() {
  return static_cast<double>((*this)() >> 11) * 0x1p-53;
}

std::uint64_t SampleRandom::below(std::uint64_t bound) {
  if (bound == 0) fail("SampleRandom", "no number is below 0");
  // Rejects the few values that would make small results a little more likely.
  const std::uint64_t limit = max() - max() % bound;
  std::uint64_t value = (*this)();
  while (value >= limit) value = (*this)();
  return value % bound;
}

std::optional<Batch> Dataset::getBatch(std::span<const std::size_t> /*indices*/,
                                       WorkerContext& /*context*/) const {
  return std::nullopt;
}

namespace {

Shape rowShape(const Tensor& tensor) {
  Shape shape = tensor.shape();
  shape.erase(0);
  return shape;
}

Shape batchShape(const Shape& example, std::size_t count) {
  Shape shape = example;
  shape.insert(0, static_cast<std::int64_t>(count));
  return shape;
}

void copyRow(const Tensor& rows, std::size_t row, std::size_t rowBytes, Tensor& target,
             std::size_t at) {
  if (row >= static_cast<std::size_t>(rows.size(0))) {
    fail("TensorDataset",
         "there is no example " + std::to_string(row) + " among " + std::to_string(rows.size(0)));
  }
  if (rowBytes == 0) return;
  std::memcpy(static_cast<std::byte*>(target.data()) + at * rowBytes,
              static_cast<const std::byte*>(rows.data()) + row * rowBytes, rowBytes);
}

}  // namespace

TensorDataset::TensorDataset(std::vector<Tensor> tensors) {
  if (tensors.empty()) fail("TensorDataset", "needs at least one tensor");
  for (Tensor& tensor : tensors) {
    if (!tensor.defined() || tensor.rank() == 0)
      fail("TensorDataset", "each tensor needs a first dimension of examples");
    if (tensor.isMeta())
      fail("TensorDataset", "a tensor on meta has no elements to make examples of");
    if (tensor.size(0) != tensors.front().size(0)) {
      fail("TensorDataset", "first sizes differ: " + std::to_string(tensors.front().size(0)) +
                                " and " + std::to_string(tensor.size(0)));
    }
    tensors_.push_back(tensor.detach().contiguous());
  }
  size_ = static_cast<std::size_t>(tensors_.front().size(0));
  synchronize();
}

Example TensorDataset::get(std::size_t index, WorkerContext& /*context*/) const {
  Example example;
  for (const Tensor& rows : tensors_) {
    example.push_back(emptyHost(rowShape(rows), rows.dtype()));
    copyRow(rows, index, example.back().sizeBytes(), example.back(), 0);
  }
  return example;
}

std::optional<Batch> TensorDataset::getBatch(std::span<const std::size_t> indices,
                                             WorkerContext& /*context*/) const {
  Batch batch;
  for (const Tensor& rows : tensors_) {
    batch.push_back(emptyHost(batchShape(rowShape(rows), indices.size()), rows.dtype()));
    for (std::size_t i = 0; i < indices.size(); ++i) {
      copyRow(rows, indices[i], batch.back().sizeBytes() / indices.size(), batch.back(), i);
    }
  }
  return batch;
}

namespace {

std::size_t fieldBytes(const RecordField& field) {
  return static_cast<std::size_t>(field.shape.numel()) * itemSize(field.dtype);
}

/// False where the file ends before that, or cannot be read. One call reads 2 GiB at most.
bool readAt(int file, void* data, std::size_t bytes, off_t offset) {
  auto* to = static_cast<std::byte*>(data);
  while (bytes > 0) {
    const ssize_t got = ::pread(file, to, bytes, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    offset += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

RecordFileDataset::RecordFileDataset(std::filesystem::path path, std::vector<RecordField> fields,
                                     std::size_t headerBytes)
    : path_(std::move(path)), fields_(std::move(fields)), headerBytes_(headerBytes) {
  for (const RecordField& field : fields_) recordBytes_ += fieldBytes(field);
  if (recordBytes_ == 0) fail("RecordFileDataset", "the fields of a record hold no bytes");
  file_ = ::open(path_.c_str(),
                 O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // does not wait for the writer of a pipe
  struct stat status {};
  if (file_ < 0 || ::fstat(file_, &status) != 0) {
    fail("RecordFileDataset", "cannot open " + path_.string() + ": " + std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(file_);
    fail("RecordFileDataset", path_.string() + " is not a regular file");
  }
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (bytes < headerBytes_ || (bytes - headerBytes_) % recordBytes_ != 0) {
    ::close(file_);
    fail("RecordFileDataset", path_.string() + " has " + std::to_string(bytes) + " bytes: not " +
                                  std::to_string(headerBytes_) +
                                  " of header and whole records of " +
                                  std::to_string(recordBytes_));
  }
  size_ = (bytes - headerBytes_) / recordBytes_;
}

RecordFileDataset::~RecordFileDataset() {
  ::close(file_);
}

Example RecordFileDataset::get(std::size_t index, WorkerContext& /*context*/) const {
  if (index >= size_) {
    fail("RecordFileDataset", "there is no record " + std::to_string(index) + " among the " +
                                  std::to_string(size_) + " of " + path_.string());
  }
  Example example;
  auto offset = static_cast<off_t>(headerBytes_ + index * recordBytes_);
  for (const RecordField& field : fields_) {
    const std::size_t bytes = fieldBytes(field);
    example.push_back(emptyHost(field.shape, field.dtype));
    if (!readAt(file_, example.back().data(), bytes, offset)) {
      fail("RecordFileDataset", "cannot read record " + std::to_string(index) + " of " +
                                    path_.string() +
                                    ": it is shorter than when it was opened, or the disk failed");
    }
    offset += static_cast<off_t>(bytes);
  }
  return example;
}

Batch stackExamples(std::vector<Example> examples) {
  Batch batch;
  if (examples.empty()) return batch;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    if (examples[i].size() == examples.front().size()) continue;
    fail("collate", "example " + std::to_string(i) + " has " + std::to_string(examples[i].size()) +
                        " fields, the first one " + std::to_string(examples.front().size()));
  }
  for (std::size_t field = 0; field < examples.front().size(); ++field) {
    const Tensor& first = examples.front()[field];
    batch.push_back(emptyHost(batchShape(first.shape(), examples.size()), first.dtype()));
    for (std::size_t i = 0; i < examples.size(); ++i) {
      const Tensor& one = examples[i][field];
      if (!(one.shape() == first.shape()) || one.dtype() != first.dtype()) {
        fail("collate",
             "field " + std::to_string(field) + " is " + name(first.dtype()) +
                 first.shape().toString() + " in the first example, but " + name(one.dtype()) +
                 one.shape().toString() + " in example " + std::to_string(i) +
                 "; make them equal in the dataset or give the loader a collate function");
      }
      copyElements(one, static_cast<std::byte*>(batch.back().data()) + i * first.sizeBytes());
    }
  }
  return batch;
}

std::vector<std::size_t> SequentialSampler::order(std::size_t datasetSize,
                                                  std::uint64_t /*epoch*/) const {
  std::vector<std::size_t> order(datasetSize);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

std::vector<std::size_t> ShuffleSampler::order(std::size_t datasetSize, std::uint64_t epoch) const {
  std::vector<std::size_t> order = SequentialSampler().order(datasetSize, epoch);
  SampleRandom random(seed_ ^ (epoch + 1) * 0xd1342543de82ef95u);
  // Not std::shuffle: its result differs between standard libraries.
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

DistributedSampler::DistributedSampler(std::size_t rank, std::size_t ranks, std::uint64_t seed,
                                       bool shuffle)
    : rank_(rank), ranks_(ranks), seed_(seed), shuffle_(shuffle) {
  if (rank >= ranks) {
    fail("DistributedSampler", "rank " + std::to_string(rank) +
                                   " is not below the number of ranks, " + std::to_string(ranks));
  }
}

std::vector<std::size_t> DistributedSampler::order(std::size_t datasetSize,
                                                   std::uint64_t epoch) const {
  const std::vector<std::size_t> all = shuffle_ ? ShuffleSampler(seed_).order(datasetSize, epoch)
                                                : SequentialSampler().order(datasetSize, epoch);
  std::vector<std::size_t> mine;
  const std::size_t each = (all.size() + ranks_ - 1) / ranks_;
  for (std::size_t i = 0; i < each; ++i) mine.push_back(all[(rank_ + i * ranks_) % all.size()]);
  return mine;
}

}  // namespace lacuna::rt
