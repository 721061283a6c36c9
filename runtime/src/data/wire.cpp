// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "data/wire.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "data/host_copy.h"
#include "lacuna/runtime/error.h"

namespace lacuna::rt {
namespace {

/// The indices of the examples and their seeds follow.
struct TaskHeader {
  std::uint64_t ticket;
  std::uint64_t count;
};

using Message = std::vector<std::byte>;

void append(Message& message, const void* data, std::size_t bytes) {
  const auto* at = static_cast<const std::byte*>(data);
  message.insert(message.end(), at, at + bytes);
}

/// The descriptor, unless it is -1, goes with the first byte.
bool sendAll(int socket, Message& message, int file) {
  for (std::size_t at = 0; at < message.size();) {
    Parcel parcel(message.data() + at, message.size() - at);
    if (file >= 0 && at == 0) {
      parcel.add(file);
    } else {
      parcel.addNone();
    }
    const ssize_t sent = ::sendmsg(socket, &parcel.header, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += static_cast<std::size_t>(sent);
  }
  return true;
}

bool receiveAll(int socket, void* data, std::size_t bytes) {
  auto* at = static_cast<std::byte*>(data);
  while (bytes > 0) {
    const ssize_t got = ::recv(socket, at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

TensorHeader describe(const Tensor& tensor) {
  TensorHeader header{};
  header.rank = tensor.rank();
  for (int i = 0; i < tensor.rank(); ++i)
    header.dims[static_cast<std::size_t>(i)] = tensor.shape()[i];
  header.dtype = static_cast<std::uint32_t>(tensor.dtype());
  return header;
}

}  // namespace

void TaskSender::add(const LoaderTask& task) {
  const TaskHeader header{task.ticket, task.indices.size()};
  append(unsent_, &header, sizeof header);
  append(unsent_, task.indices.data(), task.indices.size() * sizeof task.indices[0]);
  append(unsent_, task.seeds.data(), task.seeds.size() * sizeof task.seeds[0]);
}

bool TaskSender::flush() {
  while (pending()) {
    const ssize_t sent = ::send(socket_, unsent_.data() + sent_, unsent_.size() - sent_,
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return true;
    if (sent <= 0) return false;
    sent_ += static_cast<std::size_t>(sent);
  }
  unsent_.clear();
  sent_ = 0;
  return true;
}

bool receiveTask(int socket, LoaderTask& task) {
  TaskHeader header{};
  if (!receiveAll(socket, &header, sizeof header)) return false;
  task.ticket = header.ticket;
  task.indices.resize(header.count);
  task.seeds.resize(header.count);
  return receiveAll(socket, task.indices.data(), header.count * sizeof task.indices[0]) &&
         receiveAll(socket, task.seeds.data(), header.count * sizeof task.seeds[0]);
}

// Nothing is sent before the batch lies in its buffer.
bool OutcomeSender::send(const LoaderOutcome& outcome) {
  if (outcome.batch.size() > kMaxTensors) {
    fail("DataLoader", "a batch of " + std::to_string(outcome.batch.size()) +
                           " tensors; one from a worker process may have " +
                           std::to_string(kMaxTensors));
  }
  std::size_t bytes = 0;
  for (const Tensor& tensor : outcome.batch) bytes += aligned(tensor.sizeBytes());
  const std::size_t slot = next_++ % slots_.size();
  const bool grow = bytes > slots_[slot].size();
  if (grow) slots_[slot] = SharedBuffer::create(aligned(bytes + bytes / 4));
  const OutcomeHeader header{outcome.ticket,
                             std::min<std::uint64_t>(outcome.error.size(), kMaxErrorBytes),
                             static_cast<std::uint32_t>(outcome.batch.size()),
                             static_cast<std::uint32_t>(slot),
                             grow ? 1u : 0u,
                             0};
  Message message;
  append(message, &header, sizeof header);
  append(message, outcome.error.data(), header.errorBytes);
  std::size_t offset = 0;
  for (const Tensor& tensor : outcome.batch) {
    const TensorHeader described = describe(tensor);
    append(message, &described, sizeof described);
    if (tensor.sizeBytes() > 0) copyElements(tensor, slots_[slot].data() + offset);
    offset += aligned(tensor.sizeBytes());
  }
  return sendAll(socket_, message, grow ? slots_[slot].file() : -1);
}

Received OutcomeReceiver::receive(LoaderOutcome& outcome) {
  ArrivedOutcome arrived;
  const Received received = inbox_.receive(arrived);
  if (received != Received::Complete) return received;
  outcome = {arrived.ticket, {}, std::move(arrived.error)};
  for (const ArrivedTensor& one : arrived.tensors) {
    Tensor tensor = emptyHost(one.shape, one.dtype);
    if (!one.bytes.empty()) std::memcpy(tensor.data(), one.bytes.data(), one.bytes.size());
    outcome.batch.push_back(std::move(tensor));
  }
  return Received::Complete;
}

}  // namespace lacuna::rt
