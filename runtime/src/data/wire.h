// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "data/outcome_inbox.h"
#include "data/shared_buffer.h"
#include "data/worker_pool.h"

/// The messages that a loader and its worker processes send each other over a stream socket. Small
/// messages go through the socket; the tensors of a batch go through a memory file that is passed
/// once and used again.
namespace lacuna::rt {

/// The loader's way to a worker. Never waits for it: the worker may hang, and a long list of
/// examples is more than a socket takes at once. It keeps the bytes that the socket does not take.
class TaskSender {
 public:
  explicit TaskSender(int socket) : socket_(socket) {}
  void add(const LoaderTask& task);
  /// Sends what the socket takes now; false when the worker is gone.
  bool flush();
  /// True when flush() has something left, for when the socket takes more.
  [[nodiscard]] bool pending() const { return sent_ < unsent_.size(); }

 private:
  int socket_;
  std::vector<std::byte> unsent_;
  std::size_t sent_ = 0;
};

/// False when the loader is gone.
bool receiveTask(int socket, LoaderTask& task);

/// The worker's end, which waits until the loader takes what it sends: `slots` buffers used in
/// turn, so that a batch stays valid until `slots` - 1 further ones were sent.
class OutcomeSender {
 public:
  OutcomeSender(int socket, unsigned slots) : socket_(socket), slots_(slots) {}
  bool send(const LoaderOutcome& outcome);

 private:
  int socket_;
  std::vector<SharedBuffer> slots_;
  std::size_t next_ = 0;
};

/// The loader's end. Copies the batch out, so the worker may use the buffer again at once. Never
/// waits for the worker, which may stop in the middle of a message: what came of it is kept.
class OutcomeReceiver {
 public:
  OutcomeReceiver(int socket, unsigned slots) : inbox_(socket, slots) {}
  /// Takes what the socket holds of the next outcome, which is in `outcome` once it is whole.
  /// Throws Error on a message that makes no sense.
  Received receive(LoaderOutcome& outcome);

 private:
  OutcomeInbox inbox_;
};

}  // namespace lacuna::rt
