// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "data/shared_buffer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "lacuna/runtime/error.h"

namespace lacuna::rt {
namespace {

constexpr std::size_t kReservedAtOnce = std::size_t{1} << 20;

/// Memory of the file for all of its bytes; 0, or why not. A signal ends the call with nothing
/// done, so it goes on by pieces that take less time than lies between the ticks of a timer.
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

void refuseMessage() {
  fail("DataLoader", "a worker process sent a message that makes no sense");
}

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
  if (error == 0 &&
      ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    error = errno;
  if (error != 0) {
    fail("DataLoader", "no memory for a batch of " + std::to_string(bytes) +
                           " bytes between worker and consumer: " + std::strerror(error));
  }
  return adopt(std::move(file));
}

SharedBuffer SharedBuffer::adopt(Descriptor file) {
  // One that could be shortened would end whoever reads it with SIGBUS.
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) refuseMessage();
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || status.st_size <= 0) refuseMessage();
  SharedBuffer buffer;
  buffer.size_ = static_cast<std::size_t>(status.st_size);
  void* data = ::mmap(nullptr, buffer.size_, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (data == MAP_FAILED)
    fail("DataLoader", std::string("cannot map a worker's batch: ") + std::strerror(errno));
  buffer.data_ = static_cast<std::byte*>(data);
  buffer.file_ = std::move(file);
  return buffer;
}

}  // namespace lacuna::rt
