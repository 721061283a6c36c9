// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "data/outcome_inbox.h"
#include "lacuna/runtime/error.h"

/// Any bytes and files from a worker process that went wrong. The input is a list of {files, size,
/// length 16 bits} bytes…: what the worker sends at a time, with up to two files of some kind
/// beside it. The loader refuses it in words, or gets tensors that lie within the worker's memory,
/// and it never waits and keeps no file.
namespace {

using namespace lacuna::rt;

constexpr unsigned kSlots = 3;

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz_wire: %s\n", what);
  std::abort();
}

Descriptor memoryFile(std::size_t bytes, unsigned seals) {
  Descriptor file(::memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  must(file.get() >= 0 && ::ftruncate(file.get(), static_cast<off_t>(bytes)) == 0,
       "there is no memory file");
  must(::fcntl(file.get(), F_ADD_SEALS, seals) == 0, "a memory file is not sealed");
  return file;
}

Descriptor fileOf(unsigned kind, std::size_t bytes) {
  switch (kind % 4) {
    case 0:
      return memoryFile(bytes, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    case 1:
      return memoryFile(bytes, 0);
    case 2:
      return memoryFile(0, F_SEAL_SHRINK);
    default:
      return Descriptor(::open("/dev/null", O_RDWR | O_CLOEXEC));
  }
}

/// A stream whose worker's end never waits either: what does not fit is not sent.
class Stream {
 public:
  Stream() {
    must(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()) == 0,
         "there is no socket");
  }
  ~Stream() {
    closeWorker();
    ::close(ends_[0]);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  [[nodiscard]] int loader() const { return ends_[0]; }
  void closeWorker() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  void send(const std::uint8_t* data, std::size_t size, const std::array<int, 2>& files,
            std::size_t count) const {
    iovec part{const_cast<std::uint8_t*>(data), size};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof files)> control{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (count > 0) {
      header.msg_control = control.data();
      header.msg_controllen = CMSG_SPACE(count * sizeof(int));
      cmsghdr* first = CMSG_FIRSTHDR(&header);
      first->cmsg_level = SOL_SOCKET;
      first->cmsg_type = SCM_RIGHTS;
      first->cmsg_len = CMSG_LEN(count * sizeof(int));
      std::memcpy(CMSG_DATA(first), files.data(), count * sizeof(int));
    }
    (void)::sendmsg(ends_[1], &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

void sendSome(const Stream& stream, unsigned files, std::size_t fileBytes, const std::uint8_t* data,
              std::size_t size) {
  const Descriptor first = fileOf(files, fileBytes), second = fileOf(files >> 2, fileBytes);
  stream.send(data, size, {first.get(), second.get()}, std::min<std::size_t>(files >> 4 & 3, 2));
}

void mustBeReadable(const ArrivedOutcome& outcome) {
  must(outcome.error.size() <= kMaxErrorBytes && outcome.tensors.size() <= kMaxTensors,
       "an outcome is too large");
  for (const ArrivedTensor& tensor : outcome.tensors) {
    const std::size_t bytes =
        static_cast<std::size_t>(tensor.shape.numel()) * itemSize(tensor.dtype);
    must(tensor.bytes.size() == bytes, "a tensor has not as many bytes as its shape");
    unsigned sum = 0;
    for (const std::byte byte : tensor.bytes) sum += static_cast<unsigned>(byte);
    must(sum == 0, "a tensor lies outside of the worker's memory");
  }
}

/// Takes what has arrived. False where the worker is of no use any more.
bool receiveAll(OutcomeInbox& inbox) {
  for (;;) {
    ArrivedOutcome outcome;
    const Received received = inbox.receive(outcome);
    if (received != Received::Complete) return received == Received::Partly;
    mustBeReadable(outcome);
  }
}

void talk(const std::uint8_t* data, std::size_t size) {
  Stream stream;
  OutcomeInbox inbox(stream.loader(), kSlots);
  constexpr std::size_t kHead = 4;
  try {
    while (size > kHead) {
      const std::size_t bytes = std::min<std::size_t>(1 + (data[2] | data[3] << 8), size - kHead);
      sendSome(stream, data[0], std::size_t{1} << data[1] % 21, data + kHead, bytes);
      if (!receiveAll(inbox)) return;
      data += kHead + bytes;
      size -= kHead + bytes;
    }
    stream.closeWorker();
    must(!receiveAll(inbox), "a worker that is gone is not noticed");
  } catch (const Error& error) {
    must(std::string_view(error.what()).starts_with("DataLoader: "), "a refusal has no words");
  }
}

/// The number that the next file would get.
int nextFile() {
  const int file = ::dup(STDERR_FILENO);
  ::close(file);
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int before = nextFile();
  talk(data, size);
  must(nextFile() == before, "a file stays open");
  return 0;
}
