// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "work.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

namespace lacuna::drawn {
namespace {

double cpuUs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

/// Number of times that a piece of work is done in a microsecond of a core.
template <class Piece>
double rateOf(Piece&& piece) {
  constexpr double kLongEnoughUs = 20'000;
  const double began = cpuUs();
  double times = 0;
  while (cpuUs() - began < kLongEnoughUs) {
    piece();
    ++times;
  }
  return times / (cpuUs() - began);
}

template <class Piece>
void repeat(std::int64_t us, double perUs, Piece&& piece) {
  const auto times = static_cast<std::int64_t>(static_cast<double>(us) * perUs);
  for (std::int64_t i = 0; i < times; ++i) piece();
}

void checksum() {
  std::uint32_t sum = 1;
  for (std::uint32_t byte = 0; byte < 64; ++byte) {
    sum ^= byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0xedb88320U : 0U);
  }
  volatile std::uint32_t keep = sum;
  (void)keep;
}

void sortOnce() {
  std::vector<std::uint32_t> numbers(200);
  std::uint32_t state = 12345;
  for (std::uint32_t& number : numbers) number = state = state * 1664525U + 1013904223U;
  std::sort(numbers.begin(), numbers.end());
  volatile std::uint32_t keep = numbers[100];
  (void)keep;
}

void parseOnce() {
  std::string text;
  for (int i = 0; i < 20; ++i) text += std::to_string(i * 1.25) + ",";
  double sum = 0;
  for (const char* at = text.c_str(); *at != '\0';) {
    char* end = nullptr;
    sum += std::strtod(at, &end);
    at = *end == ',' ? end + 1 : end;
  }
  volatile double keep = sum;
  (void)keep;
}

}  // namespace

void compute(std::int64_t us) {
  static const double rate = rateOf(checksum);
  repeat(us, rate, checksum);
}

void sleepFor(std::int64_t us) {
  std::this_thread::sleep_for(std::chrono::microseconds(us));
}

void sort(std::int64_t us) {
  static const double rate = rateOf(sortOnce);
  repeat(us, rate, sortOnce);
}

void parse(std::int64_t us) {
  static const double rate = rateOf(parseOnce);
  repeat(us, rate, parseOnce);
}

void waitForLock(std::int64_t us) {
  static std::mutex mutex;
  std::binary_semaphore isHeld(0);
  std::thread holder([&isHeld, us] {
    const std::lock_guard<std::mutex> hold(mutex);
    isHeld.release();
    sleepFor(us);
  });
  isHeld.acquire();
  { const std::lock_guard<std::mutex> wait(mutex); }
  holder.join();
}

void waitForServer(std::int64_t us) {
  static int ask[2] = {-1, -1}, answer[2] = {-1, -1};
  if (ask[0] < 0) {
    if (pipe(ask) != 0 || pipe(answer) != 0) std::abort();
    std::thread([us] {
      for (char byte = 0; read(ask[0], &byte, 1) == 1;) {
        sleepFor(us);
        if (write(answer[1], &byte, 1) != 1) return;
      }
    }).detach();
  }
  char byte = 'q';
  if (write(ask[1], &byte, 1) != 1 || read(answer[0], &byte, 1) != 1) std::abort();
}

}  // namespace lacuna::drawn
