// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/worker_pool.h"

/// What a loader and its worker processes say to each other over a stream socket. Small messages go through the socket;
/// the tensors of a batch go through a memory file that is passed once and used again.
namespace lacuna::rt {

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  [[nodiscard]] int get() const { return number_; }

 private:
  int number_;
};

/// A mapped memory file that one side fills and the other reads.
class SharedBuffer {
 public:
  SharedBuffer() = default;
  SharedBuffer(SharedBuffer&& other) noexcept;
  SharedBuffer& operator=(SharedBuffer&& other) noexcept;
  ~SharedBuffer();
  /// A new one; throws Error when there is no memory.
  static SharedBuffer create(std::size_t bytes);
  /// Maps one that the other side created.
  static SharedBuffer adopt(Descriptor file);
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] int file() const { return file_.get(); }

 private:
  Descriptor file_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// The loader's way to a worker. Never waits for it: the worker may hang, and a long list of examples is more than a
/// socket takes at once. What the socket does not take is kept.
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

/// The worker's end, which waits until the loader takes what it sends: `slots` buffers used in turn, so that a batch
/// stays valid until `slots` - 1 further ones were sent.
class OutcomeSender {
 public:
  OutcomeSender(int socket, unsigned slots) : socket_(socket), slots_(slots) {}
  bool send(const LoaderOutcome& outcome);

 private:
  int socket_;
  std::vector<SharedBuffer> slots_;
  std::size_t next_ = 0;
};

enum class Received : std::uint8_t { Whole, Partly, Gone };

/// The loader's end. Copies the batch out, so the worker may use the buffer again at once. Never waits for the worker,
/// which may stop in the middle of a message: what came of it is kept.
class OutcomeReceiver {
 public:
  OutcomeReceiver(int socket, unsigned slots);
  /// Takes what the socket holds of the next outcome, which is in `outcome` once it is whole. Throws Error on a message
  /// that makes no sense.
  Received receive(LoaderOutcome& outcome);

 private:
  [[nodiscard]] std::size_t bytesWanted() const;
  LoaderOutcome unpack();

  int socket_;
  std::vector<SharedBuffer> slots_;
  std::vector<std::byte> message_;  ///< what came of it
  Descriptor file_;                 ///< that came with it
};

}  // namespace lacuna::rt
