// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "mcp/message.h"

namespace lacuna::cli::mcp {

/// The client's messages, one a line. While a request runs, receive() takes in what arrives
/// meanwhile.
class Inbox {
 public:
  /// The caller keeps the file.
  explicit Inbox(int file) : file_(file) {}

  /// The next message; waits for it. Nothing once the input has ended.
  std::optional<Message> next();

  /// The request that runs from here on.
  void begin(const Message& request);
  /// True when the client has cancelled it.
  [[nodiscard]] bool isCancelled() const { return isCancelled_; }

  /// The file to poll while a request runs; -1 where nothing more is to be read now.
  [[nodiscard]] int file() const;
  /// Reads once; waits where nothing is there.
  void receive();

 private:
  struct Waiting {
    Message message;
    std::size_t bytes = 0;
  };

  void takeLines();
  void take(std::string_view line);
  void cancel(const std::string& id);

  int file_;
  MessageParser parser_;
  std::deque<Waiting> waiting_;
  std::size_t waitingBytes_ = 0;
  std::string open_;  ///< a line that has not ended
  bool isTooLong_ = false;
  bool hasEnded_ = false;
  std::string running_;  ///< the id of the request
  bool isCancelled_ = false;
};

}  // namespace lacuna::cli::mcp
