// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "data/wire.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "data/host_copy.h"

namespace lacuna::rt {
namespace {

/// The indices of the examples and their seeds follow.
struct TaskHeader {
  std::uint64_t ticket;
  std::uint64_t count;
};

/// The text of the error and a TensorHeader for each tensor follow.
struct OutcomeHeader {
  std::uint64_t ticket;
  std::uint64_t errorBytes;
  std::uint32_t tensors;
  std::uint32_t slot;
  std::uint32_t newBuffer;  ///< 1: a file descriptor came with the first byte
  std::uint32_t reserved;
};

struct TensorHeader {
  std::array<std::int64_t, kMaxRank> dims;
  std::int32_t rank;
  std::uint32_t dtype;
};

constexpr std::uint64_t kMaxErrorBytes = 1u << 20;
constexpr std::uint32_t kMaxTensors = 4096;
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kReservedAtOnce = std::size_t{1} << 20;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

using Message = std::vector<std::byte>;

void append(Message& message, const void* data, std::size_t bytes) {
  const auto* at = static_cast<const std::byte*>(data);
  message.insert(message.end(), at, at + bytes);
}

/// What goes through a socket in one call, and room for one file descriptor beside it.
struct Parcel {
  Parcel(void* data, std::size_t bytes) : part{data, bytes} {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
  }
  Parcel(const Parcel&) = delete;
  Parcel& operator=(const Parcel&) = delete;

  void add(int file) {
    cmsghdr* first = CMSG_FIRSTHDR(&header);
    first->cmsg_level = SOL_SOCKET;
    first->cmsg_type = SCM_RIGHTS;
    first->cmsg_len = CMSG_LEN(sizeof file);
    std::memcpy(CMSG_DATA(first), &file, sizeof file);
  }
  void addNone() { header.msg_controllen = 0; }
  /// The one that came along, or none.
  Descriptor takeFile() {
    const cmsghdr* first = CMSG_FIRSTHDR(&header);
    if (first == nullptr || first->cmsg_type != SCM_RIGHTS) return Descriptor();
    std::array<int, CMSG_SPACE(sizeof(int)) / sizeof(int)> files{};
    const std::size_t count = std::min((first->cmsg_len - CMSG_LEN(0)) / sizeof(int), files.size());
    std::memcpy(files.data(), CMSG_DATA(first), count * sizeof(int));
    for (std::size_t i = 1; i < count; ++i) ::close(files[i]);  // what is padding here has room for another one
    return Descriptor(count > 0 ? files[0] : -1);
  }

  iovec part;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
};

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
  for (int i = 0; i < tensor.rank(); ++i) header.dims[static_cast<std::size_t>(i)] = tensor.shape()[i];
  header.dtype = static_cast<std::uint32_t>(tensor.dtype());
  return header;
}

[[noreturn]] void nonsense() {
  fail("DataLoader", "a worker process sent a message that makes no sense");
}

/// Bytes of a tensor as it is described, which must lie within `room`.
std::size_t bytesOf(const TensorHeader& header, std::size_t room) {
  if (header.rank < 0 || header.rank > kMaxRank || header.dtype >= kDTypeCount) nonsense();
  std::size_t bytes = itemSize(static_cast<DType>(header.dtype));
  for (int i = 0; i < header.rank; ++i) {
    const std::int64_t dim = header.dims[static_cast<std::size_t>(i)];
    // Also where another dimension is 0: whoever multiplies them in another order must not overflow either.
    if (dim < 0 || __builtin_mul_overflow(bytes, std::max<std::size_t>(static_cast<std::size_t>(dim), 1), &bytes) ||
        bytes > static_cast<std::size_t>(INT64_MAX)) {
      nonsense();
    }
  }
  const bool empty =
      std::find(header.dims.begin(), header.dims.begin() + header.rank, 0) != header.dims.begin() + header.rank;
  if (empty) return 0;
  if (bytes > room) nonsense();
  return bytes;
}

Tensor makeTensor(const TensorHeader& header) {
  Shape shape;
  for (int i = 0; i < header.rank; ++i) shape.push(header.dims[static_cast<std::size_t>(i)]);
  return emptyHost(shape, static_cast<DType>(header.dtype));
}

/// Memory of the file for all of its bytes; 0, or why not. A signal ends the call with nothing done, so it goes on by
/// pieces that take less time than lies between the ticks of a timer.
int reserve(int file, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes;) {
    const std::size_t piece = std::min(kReservedAtOnce, bytes - at);
    const int error = ::posix_fallocate(file, static_cast<off_t>(at), static_cast<off_t>(piece));
    if (error == EINTR) continue;
    if (error != 0) return error;
    at += piece;
  }
  return 0;
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
  Descriptor file(::memfd_create("lacuna-loader", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  // Reserved at once: a memory file that grows into a full system would end the worker with SIGBUS.
  int error = file.get() < 0 ? errno : reserve(file.get(), bytes);
  if (error == 0 && ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) error = errno;
  if (error != 0) {
    fail("DataLoader", "no memory for a batch of " + std::to_string(bytes) +
                           " bytes between worker and consumer: " + std::strerror(error));
  }
  return adopt(std::move(file));
}

SharedBuffer SharedBuffer::adopt(Descriptor file) {
  // One that could be shortened would end whoever reads it with SIGBUS.
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) nonsense();
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
  const TaskHeader header{task.ticket, task.indices.size()};
  append(unsent_, &header, sizeof header);
  append(unsent_, task.indices.data(), task.indices.size() * sizeof task.indices[0]);
  append(unsent_, task.seeds.data(), task.seeds.size() * sizeof task.seeds[0]);
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
  if (!receiveAll(socket, &header, sizeof header)) return false;
  task.ticket = header.ticket;
  task.indices.resize(header.count);
  task.seeds.resize(header.count);
  return receiveAll(socket, task.indices.data(), header.count * sizeof task.indices[0]) &&
         receiveAll(socket, task.seeds.data(), header.count * sizeof task.seeds[0]);
}

// Nothing is said before the batch lies in its buffer.
bool OutcomeSender::send(const LoaderOutcome& outcome) {
  if (outcome.batch.size() > kMaxTensors) {
    fail("DataLoader", "a batch of " + std::to_string(outcome.batch.size()) +
                           " tensors; one from a worker process may have " + std::to_string(kMaxTensors));
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

OutcomeReceiver::OutcomeReceiver(int socket, unsigned slots) : socket_(socket), slots_(slots) {}

/// As far as is known: the header says how long the rest is.
std::size_t OutcomeReceiver::bytesWanted() const {
  OutcomeHeader header{};
  if (message_.size() < sizeof header) return sizeof header;
  std::memcpy(&header, message_.data(), sizeof header);
  if (header.errorBytes > kMaxErrorBytes || header.tensors > kMaxTensors || header.slot >= slots_.size()) nonsense();
  return sizeof header + header.errorBytes + header.tensors * sizeof(TensorHeader);
}

Received OutcomeReceiver::receive(LoaderOutcome& outcome) {
  for (std::size_t wanted = bytesWanted(); message_.size() < wanted; wanted = bytesWanted()) {
    const std::size_t had = message_.size();
    message_.resize(wanted);
    Parcel parcel(message_.data() + had, wanted - had);
    const ssize_t got = ::recvmsg(socket_, &parcel.header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    const int error = errno;
    message_.resize(had + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got < 0 && error == EINTR) continue;
    if (got < 0 && error == EAGAIN) return Received::Partly;
    if (got <= 0) return Received::Gone;
    if (Descriptor file = parcel.takeFile(); file.get() >= 0) file_ = std::move(file);
  }
  outcome = unpack();
  message_.clear();
  return Received::Whole;
}

LoaderOutcome OutcomeReceiver::unpack() {
  OutcomeHeader header{};
  std::memcpy(&header, message_.data(), sizeof header);
  const auto* error = reinterpret_cast<const char*>(message_.data() + sizeof header);
  LoaderOutcome outcome{header.ticket, {}, std::string(error, header.errorBytes)};
  std::vector<TensorHeader> described(header.tensors);
  const auto* first = reinterpret_cast<const std::byte*>(error) + header.errorBytes;
  std::copy_n(first, described.size() * sizeof(TensorHeader), reinterpret_cast<std::byte*>(described.data()));
  if (header.newBuffer != 0) {
    if (file_.get() < 0) nonsense();
    slots_[header.slot] = SharedBuffer::adopt(std::exchange(file_, Descriptor()));
  }
  std::size_t offset = 0;
  for (const TensorHeader& one : described) {
    const SharedBuffer& slot = slots_[header.slot];
    const std::size_t bytes = bytesOf(one, slot.size() - std::min(offset, slot.size()));
    Tensor tensor = makeTensor(one);
    if (bytes > 0) std::memcpy(tensor.data(), slot.data() + offset, bytes);
    offset += aligned(bytes);
    outcome.batch.push_back(std::move(tensor));
  }
  return outcome;
}

}  // namespace lacuna::rt
