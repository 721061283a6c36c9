// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "mcp/inbox.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace lacuna::cli::mcp {
namespace {

/// A word of a command line has at most 128 KiB, and JSON may need six bytes for one of it.
constexpr std::size_t kLongestLine = std::size_t{1} << 20;
/// With more than this waiting, nothing further is read before a request is done.
constexpr std::size_t kMostWaiting = std::size_t{8} << 20;
constexpr std::size_t kReadBytes = std::size_t{64} << 10;

}  // namespace

std::optional<Message> Inbox::next() {
  while (waiting_.empty() && !hasEnded_) receive();
  if (waiting_.empty()) return std::nullopt;
  Waiting first = std::move(waiting_.front());
  waiting_.pop_front();
  waitingBytes_ -= first.bytes;
  return std::move(first.message);
}

void Inbox::begin(const Message& request) {
  running_ = request.id;
  isCancelled_ = false;
}

int Inbox::file() const {
  return hasEnded_ || waitingBytes_ > kMostWaiting ? -1 : file_;
}

void Inbox::receive() {
  std::array<char, kReadBytes> bytes{};
  const ssize_t got = ::read(file_, bytes.data(), bytes.size());
  if (got < 0 && errno == EINTR) return;
  if (got < 0 && errno == EAGAIN) {  // another program may have made the file so
    pollfd more{file_, POLLIN, 0};
    ::poll(&more, 1, -1);
    return;
  }
  if (got > 0) {
    open_.append(bytes.data(), static_cast<std::size_t>(got));
    takeLines();
    return;
  }
  hasEnded_ = true;
  if (!open_.empty() || isTooLong_) take(std::exchange(open_, {}));
}

void Inbox::takeLines() {
  std::size_t from = 0;
  for (std::size_t end = 0; (end = open_.find('\n', from)) != std::string::npos; from = end + 1)
    take(std::string_view(open_).substr(from, end - from));
  open_.erase(0, from);
  if (open_.size() <= kLongestLine) return;
  isTooLong_ = true;
  open_.clear();
}

void Inbox::take(std::string_view line) {
  Message message;
  if (std::exchange(isTooLong_, false)) {
    message.refusal = {Fault::NoRequest,
                       fmt::format("a message has at most {} MiB", kLongestLine >> 20)};
  } else if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
    return;
  } else {
    message = parser_.parse(line);
  }
  if (message.method == "notifications/cancelled") return cancel(message.cancelled);
  const std::size_t bytes = sizeof(Waiting) + line.size();
  waiting_.push_back({std::move(message), bytes});
  waitingBytes_ += bytes;
}

void Inbox::cancel(const std::string& id) {
  if (id.empty()) return;
  if (id == running_) isCancelled_ = true;
  std::erase_if(waiting_, [&](const Waiting& one) {
    if (one.message.id != id) return false;
    waitingBytes_ -= one.bytes;
    return true;
  });
}

}  // namespace lacuna::cli::mcp
