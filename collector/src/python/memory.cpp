// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "python/memory.h"

#include <signal.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace lacuna::collector::python {

std::size_t ProcessMemory::read(std::span<const Piece> pieces) {
  constexpr std::size_t kAtOnce = 64;
  std::size_t done = 0;
  while (done < pieces.size()) {
    const std::size_t count = std::min(kAtOnce, pieces.size() - done);
    std::array<iovec, kAtOnce> local{}, remote{};
    for (std::size_t i = 0; i < count; ++i) {
      const Piece& piece = pieces[done + i];
      local[i] = {piece.into.data(), piece.into.size()};
      // An address of that process, which this one only hands on.
      remote[i] = {reinterpret_cast<void*>(piece.address),
                   piece.into.size()};  // NOLINT(performance-no-int-to-ptr)
    }
    const ssize_t got = process_vm_readv(pid_, local.data(), count, remote.data(), count, 0);
    if (got < 0) {
      error_ = errno;
      return done;
    }
    auto left = static_cast<std::size_t>(got);
    std::size_t full = 0;
    while (full < count && left >= pieces[done + full].into.size())
      left -= pieces[done + full++].into.size();
    done += full;
    if (full < count) {
      error_ = EFAULT;
      return done;
    }
  }
  return done;
}

int memoryRefusal() {
  const std::uint64_t secret = 0x6c6163756e61;
  const pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) {
    for (;;) pause();
  }
  ProcessMemory memory(child);
  std::uint64_t seen = 0;
  const bool read = memory.get(reinterpret_cast<std::uintptr_t>(&secret), seen) && seen == secret;
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return read ? 0 : memory.error();
}

}  // namespace lacuna::collector::python
