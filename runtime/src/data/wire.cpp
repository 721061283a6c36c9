// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "data/wire.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "data/host_copy.h"

namespace lacuna::rt {
namespace {

struct TaskHeader {
  std::uint64_t ticket;
  std::uint64_t seed;
  std::uint64_t count;
};

struct OutcomeHeader {
  std::uint64_t ticket;
  std::uint64_t errorBytes;
  std::uint32_t tensors;
  std::uint32_t slot;
  std::uint32_t newBuffer;  ///< 1: a file descriptor comes along
  std::uint32_t reserved;
};

struct TensorHeader {
  std::array<std::int64_t, kMaxRank> dims;
  std::int32_t rank;
  std::uint32_t dtype;
};

constexpr std::uint64_t kMaxIndices = 1u << 24;
constexpr std::uint64_t kMaxErrorBytes = 1u << 20;
constexpr std::uint32_t kMaxTensors = 4096;
constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

bool sendAll(int socket, const void* data, std::size_t bytes) {
  const auto* at = static_cast<const std::byte*>(data);
  while (bytes > 0) {
    const ssize_t sent = ::send(socket, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    bytes -= static_cast<std::size_t>(sent);
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

/// One byte that carries a file descriptor.
bool sendDescriptor(int socket, int file) {
  char byte = 'f';
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &file, sizeof file);
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

Descriptor receiveDescriptor(int socket) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) return Descriptor();
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return Descriptor();
  int file = -1;
  std::memcpy(&file, CMSG_DATA(header), sizeof file);
  return Descriptor(file);
}

TensorHeader describe(const Tensor& tensor) {
  TensorHeader header{};
  header.rank = tensor.rank();
  for (int i = 0; i < tensor.rank(); ++i) header.dims[static_cast<std::size_t>(i)] = tensor.shape()[i];
  header.dtype = static_cast<std::uint32_t>(tensor.dtype());
  return header;
}

[[noreturn]] void nonsense() {
  fail("DataLoader", "a worker process sent a message that makes no sense");
}

Tensor makeTensor(const TensorHeader& header) {
  if (header.rank < 0 || header.rank > kMaxRank || header.dtype >= kDTypeCount) nonsense();
  Shape shape;
  for (int i = 0; i < header.rank; ++i) {
    if (header.dims[static_cast<std::size_t>(i)] < 0) nonsense();
    shape.push(header.dims[static_cast<std::size_t>(i)]);
  }
  return emptyHost(shape, static_cast<DType>(header.dtype));
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

SharedBuffer::SharedBuffer(SharedBuffer&& other) noexcept {
  *this = std::move(other);
}

SharedBuffer& SharedBuffer::operator=(SharedBuffer&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

SharedBuffer::~SharedBuffer() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

SharedBuffer SharedBuffer::create(std::size_t bytes) {
  Descriptor file(::memfd_create("lacuna-loader", MFD_CLOEXEC));
  // Reserved at once: a memory file that grows into a full system would end the worker with SIGBUS.
  if (file.get() < 0 || ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes)) != 0) {
    fail("DataLoader", "no memory for a batch of " + std::to_string(bytes) + " bytes between worker and consumer");
  }
  return adopt(std::move(file));
}

SharedBuffer SharedBuffer::adopt(Descriptor file) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || status.st_size <= 0) nonsense();
  SharedBuffer buffer;
  buffer.size_ = static_cast<std::size_t>(status.st_size);
  void* data = ::mmap(nullptr, buffer.size_, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (data == MAP_FAILED) fail("DataLoader", std::string("cannot map a worker's batch: ") + std::strerror(errno));
  buffer.data_ = static_cast<std::byte*>(data);
  buffer.file_ = std::move(file);
  return buffer;
}

void TaskSender::add(const LoaderTask& task) {
  const TaskHeader header{task.ticket, task.seed, task.indices.size()};
  const auto append = [this](const void* data, std::size_t bytes) {
    const auto* at = static_cast<const std::byte*>(data);
    unsent_.insert(unsent_.end(), at, at + bytes);
  };
  append(&header, sizeof header);
  append(task.indices.data(), task.indices.size() * sizeof task.indices[0]);
}

bool TaskSender::flush() {
  while (pending()) {
    const ssize_t sent = ::send(socket_, unsent_.data() + sent_, unsent_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
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
  if (!receiveAll(socket, &header, sizeof header) || header.count > kMaxIndices) return false;
  task.ticket = header.ticket;
  task.seed = header.seed;
  task.indices.resize(header.count);
  return receiveAll(socket, task.indices.data(), header.count * sizeof task.indices[0]);
}

bool OutcomeSender::send(const LoaderOutcome& outcome) {
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
  if (!sendAll(socket_, &header, sizeof header) || !sendAll(socket_, outcome.error.data(), header.errorBytes))
    return false;
  std::size_t offset = 0;
  for (const Tensor& tensor : outcome.batch) {
    const TensorHeader described = describe(tensor);
    if (tensor.sizeBytes() > 0) copyElements(tensor, slots_[slot].data() + offset);
    offset += aligned(tensor.sizeBytes());
    if (!sendAll(socket_, &described, sizeof described)) return false;
  }
  return !grow || sendDescriptor(socket_, slots_[slot].file());
}

std::optional<LoaderOutcome> OutcomeReceiver::receive() {
  OutcomeHeader header{};
  if (!receiveAll(socket_, &header, sizeof header)) return std::nullopt;
  if (header.errorBytes > kMaxErrorBytes || header.tensors > kMaxTensors || header.slot >= slots_.size()) nonsense();
  LoaderOutcome outcome{header.ticket, {}, std::string(header.errorBytes, '\0')};
  if (!receiveAll(socket_, outcome.error.data(), header.errorBytes)) return std::nullopt;
  std::vector<TensorHeader> described(header.tensors);
  if (!receiveAll(socket_, described.data(), described.size() * sizeof(TensorHeader))) return std::nullopt;
  if (header.newBuffer != 0) {
    Descriptor file = receiveDescriptor(socket_);
    if (file.get() < 0) return std::nullopt;
    slots_[header.slot] = SharedBuffer::adopt(std::move(file));
  }
  std::size_t offset = 0;
  for (const TensorHeader& one : described) {
    Tensor tensor = makeTensor(one);
    const std::size_t bytes = tensor.sizeBytes();
    if (bytes > 0) {
      if (offset + bytes > slots_[header.slot].size()) nonsense();
      std::memcpy(tensor.data(), slots_[header.slot].data() + offset, bytes);
    }
    offset += aligned(bytes);
    outcome.batch.push_back(std::move(tensor));
  }
  return outcome;
}

}  // namespace lacuna::rt
