// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "data/wire.h"

#include <gmock/gmock.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace lacuna::rt {
namespace {

constexpr unsigned kSlots = 2;

/// Both ends of a stream between a worker and its loader.
struct Stream {
  Stream() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0); }
  ~Stream() {
    closeWorker();
    ::close(ends[0]);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  [[nodiscard]] int loader() const { return ends[0]; }
  [[nodiscard]] int worker() const { return ends[1]; }
  void closeWorker() {
    if (ends[1] >= 0) ::close(ends[1]);
    ends[1] = -1;
  }
  std::array<int, 2> ends{-1, -1};
};

/// Signals that interrupt system calls, whose handler only counts them.
class Interruptions {
 public:
  Interruptions() {
    seen_ = 0;
    struct sigaction counted {};
    counted.sa_handler = [](int) { ++seen_; };
    for (std::size_t i = 0; i < 2; ++i) ::sigaction(kSignals[i], &counted, &before_[i]);
  }
  ~Interruptions() {
    everyMicroseconds(0);
    for (std::size_t i = 0; i < 2; ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  Interruptions(const Interruptions&) = delete;
  Interruptions& operator=(const Interruptions&) = delete;
  void everyMicroseconds(suseconds_t period) {
    const itimerval timer{{0, period}, {0, period}};
    ::setitimer(ITIMER_REAL, &timer, nullptr);
  }
  [[nodiscard]] static int seen() { return seen_; }

 private:
  static constexpr int kSignals[] = {SIGALRM, SIGUSR1};
  static inline std::atomic<int> seen_{0};
  struct sigaction before_[2]{};
};

Tensor bytesOf(std::int64_t count, std::uint8_t value) {
  Tensor tensor = emptyHost({count}, DType::U8);
  std::fill_n(static_cast<std::uint8_t*>(tensor.data()), count, value);
  return tensor;
}

/// The bytes that the worker's end writes to send `outcome`.
std::string bytesFor(const LoaderOutcome& outcome) {
  Stream stream;
  OutcomeSender sender(stream.worker(), kSlots);
  EXPECT_TRUE(sender.send(outcome));
  stream.closeWorker();
  std::string all;
  std::array<char, 4096> some{};
  for (ssize_t got = 0; (got = ::read(stream.loader(), some.data(), some.size())) > 0;)
    all.append(some.data(), static_cast<std::size_t>(got));
  return all;
}

TEST(Wire, AMessageThatStopsInTheMiddleIsKeptUntilItGoesOn) {
  const std::string bytes = bytesFor({7, {}, "the picture is broken"});
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    Stream stream;
    OutcomeReceiver receiver(stream.loader(), kSlots);
    LoaderOutcome outcome;
    ASSERT_EQ(::write(stream.worker(), bytes.data(), cut), static_cast<ssize_t>(cut));
    ASSERT_EQ(receiver.receive(outcome), Received::Partly) << cut;
    ASSERT_EQ(receiver.receive(outcome), Received::Partly) << cut;
    ASSERT_EQ(::write(stream.worker(), bytes.data() + cut, bytes.size() - cut),
              static_cast<ssize_t>(bytes.size() - cut));
    ASSERT_EQ(receiver.receive(outcome), Received::Complete) << cut;
    EXPECT_EQ(outcome.ticket, 7u);
    EXPECT_EQ(outcome.error, "the picture is broken");
    stream.closeWorker();
    EXPECT_EQ(receiver.receive(outcome), Received::Gone);
  }
}

TEST(Wire, AWorkerThatEndsInTheMiddleOfAMessageIsGone) {
  const std::string bytes = bytesFor({7, {}, "the picture is broken"});
  Stream stream;
  OutcomeReceiver receiver(stream.loader(), kSlots);
  LoaderOutcome outcome;
  ASSERT_EQ(::write(stream.worker(), bytes.data(), 50), 50);
  stream.closeWorker();
  EXPECT_EQ(receiver.receive(outcome), Received::Gone);
}

TEST(Wire, BatchesFollowEachOtherThroughBuffersThatGrow) {
  Stream stream;
  OutcomeSender sender(stream.worker(), kSlots);
  OutcomeReceiver receiver(stream.loader(), kSlots);
  for (std::uint64_t i = 0; i < 6; ++i) {
    const auto count = static_cast<std::int64_t>(i % 3 * 1000 * (i + 1));
    ASSERT_TRUE(
        sender.send({i, {bytesOf(count, static_cast<std::uint8_t>(i)), bytesOf(3, 9)}, ""}));
    if (i % 2 == 0) continue;  // two at a time
    for (const std::uint64_t ticket : {i - 1, i}) {
      LoaderOutcome outcome;
      ASSERT_EQ(receiver.receive(outcome), Received::Complete);
      EXPECT_EQ(outcome.ticket, ticket);
      EXPECT_EQ(outcome.batch.at(0).numel(),
                static_cast<std::int64_t>(ticket % 3 * 1000 * (ticket + 1)));
      EXPECT_THAT(outcome.batch[0].toVector<std::uint8_t>(), testing::Each(ticket));
      EXPECT_THAT(outcome.batch[1].toVector<std::uint8_t>(), testing::ElementsAre(9, 9, 9));
    }
  }
}

TEST(Wire, ABatchOfTooManyTensorsIsRefusedAndTheNextOneSent) {
  Stream stream;
  OutcomeSender sender(stream.worker(), kSlots);
  const LoaderOutcome tooMany{1, Batch(4097, bytesOf(0, 0)), ""};
  EXPECT_THAT([&] { (void)sender.send(tooMany); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("a batch of 4097 tensors")));
  ASSERT_TRUE(sender.send({2, {bytesOf(3, 9)}, ""}));
  OutcomeReceiver receiver(stream.loader(), kSlots);
  LoaderOutcome outcome;
  ASSERT_EQ(receiver.receive(outcome), Received::Complete);
  EXPECT_EQ(outcome.ticket, 2u);
}

TEST(Wire, BuffersAreReservedAcrossSignals) {
  Interruptions interruptions;
  interruptions.everyMicroseconds(2000);
  while (Interruptions::seen() < 50) {
    const SharedBuffer buffer = SharedBuffer::create(std::size_t{32} << 20);
    ASSERT_EQ(buffer.size(), std::size_t{32} << 20);
  }
}

/// Sends what a worker that went wrong may send: a message, and a memory file beside it.
void sendWith(int socket, std::string message, int file) {
  iovec part{message.data(), message.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof file)> control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  cmsghdr* first = CMSG_FIRSTHDR(&header);
  first->cmsg_level = SOL_SOCKET;
  first->cmsg_type = SCM_RIGHTS;
  first->cmsg_len = CMSG_LEN(sizeof file);
  std::memcpy(CMSG_DATA(first), &file, sizeof file);
  ASSERT_EQ(::sendmsg(socket, &header, 0), static_cast<ssize_t>(message.size()));
}

/// The message for a batch of bytes in two dimensions, with others in their place.
std::string bytesWithDims(std::array<std::int64_t, 2> dims) {
  const std::array<std::int64_t, 2> sound{11, 13};
  std::string bytes = bytesFor({7, {emptyHost({11, 13}, DType::U8)}, ""});
  const std::string_view was(reinterpret_cast<const char*>(sound.data()), sizeof sound);
  const std::size_t at = bytes.find(was);
  EXPECT_NE(at, std::string::npos);
  return bytes.replace(at, sizeof dims, reinterpret_cast<const char*>(dims.data()), sizeof dims);
}

TEST(Wire, ATensorLargerThanItsBufferIsRefusedBeforeMemoryIsTakenForIt) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 32;
  const std::vector<std::array<std::int64_t, 2>> wrong{
      {11, 1 << 20}, {kHuge, kHuge}, {kHuge, kHuge + 1}, {(kHuge << 30) + 1, 4},
      {1 << 30, 16}, {-1, 13},       {11, -13}};
  for (const auto& dims : wrong) {
    Stream stream;
    OutcomeReceiver receiver(stream.loader(), kSlots);
    LoaderOutcome outcome;
    const SharedBuffer buffer = SharedBuffer::create(4096);
    sendWith(stream.worker(), bytesWithDims(dims), buffer.file());
    EXPECT_THAT([&] { (void)receiver.receive(outcome); },
                testing::ThrowsMessage<Error>(testing::HasSubstr("makes no sense")))
        << dims[0] << " x " << dims[1];
  }
}

TEST(Wire, AMemoryFileThatCouldBeShortenedIsRefused) {
  Stream stream;
  OutcomeReceiver receiver(stream.loader(), kSlots);
  LoaderOutcome outcome;
  const Descriptor file(::memfd_create("unsealed", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), 4096), 0);
  sendWith(stream.worker(), bytesWithDims({11, 13}), file.get());
  EXPECT_THAT([&] { (void)receiver.receive(outcome); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("makes no sense")));
}

TEST(Wire, ABufferCannotBeShortenedByEitherSide) {
  const SharedBuffer buffer = SharedBuffer::create(4096);
  EXPECT_NE(::ftruncate(buffer.file(), 0), 0);
}

/// True while the thread sleeps in the system.
bool sleeps(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string stat;
  std::getline(file, stat);
  return stat.find(") S ") != std::string::npos;
}

TEST(Wire, BatchesAreSentAcrossSignals) {
  const Interruptions interruptions;
  Stream stream;
  std::size_t ahead =
      0;  // the socket is full, so that the sender waits with all of its message before it
  for (const std::string junk(4096, 'j');;) {
    const ssize_t sent = ::send(stream.worker(), junk.data(), junk.size(), MSG_DONTWAIT);
    if (sent < 0) break;
    ahead += static_cast<std::size_t>(sent);
  }
  std::atomic<pid_t> id = 0;
  std::atomic<bool> ended = false;
  bool complete = false;
  std::thread worker([&] {
    OutcomeSender sender(stream.worker(), kSlots);
    id = ::gettid();
    complete = sender.send({1, {bytesOf(100, 5)}, std::string(300'000, 'e')});
    if (!complete) stream.closeWorker();
    ended = true;
  });
  while (Interruptions::seen() < 20 && !ended) {
    if (id != 0 && sleeps(id)) ::pthread_kill(worker.native_handle(), SIGUSR1);
    std::this_thread::yield();
  }
  std::string junk(ahead, '\0');
  ASSERT_EQ(::recv(stream.loader(), junk.data(), ahead, MSG_WAITALL), static_cast<ssize_t>(ahead));
  OutcomeReceiver receiver(stream.loader(), kSlots);
  LoaderOutcome outcome;
  Received received = Received::Partly;
  while (received == Received::Partly) received = receiver.receive(outcome);
  worker.join();
  EXPECT_TRUE(complete);
  ASSERT_EQ(received, Received::Complete);
  EXPECT_EQ(outcome.error.size(), 300'000u);
  EXPECT_THAT(outcome.batch.at(0).toVector<std::uint8_t>(), testing::Each(5));
}

}  // namespace
}  // namespace lacuna::rt
