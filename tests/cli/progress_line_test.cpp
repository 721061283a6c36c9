// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "base/progress_line.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace lacuna::cli {
namespace {

/// A terminal, and what was written to it.
class Terminal {
 public:
  Terminal() {
    screen_ = ::posix_openpt(O_RDWR | O_NOCTTY);
    if (screen_ >= 0 && ::grantpt(screen_) == 0 && ::unlockpt(screen_) == 0)
      stream_ = std::fopen(::ptsname(screen_), "w");
  }
  ~Terminal() {
    if (stream_ != nullptr) std::fclose(stream_);
    if (screen_ >= 0) ::close(screen_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  [[nodiscard]] std::FILE* stream() const { return stream_; }
  /// Nobody looks any more, and what is written fails.
  void hangUp() {
    ::close(screen_);
    screen_ = -1;
  }
  /// The text written since the last time. A terminal hands it over when it comes to that, so a
  /// mark shows where it ends.
  std::string shown() {
    std::fputc(kMark, stream_);
    std::fflush(stream_);
    std::string text;
    for (char c = 0; ::read(screen_, &c, 1) == 1 && c != kMark;) text += c;
    return text;
  }

 private:
  static constexpr char kMark = '|';
  int screen_ = -1;
  std::FILE* stream_ = nullptr;
};

TEST(ProgressLine, ShowsWholePercentsAndIsGoneInTheEnd) {
  Terminal terminal;
  ASSERT_NE(terminal.stream(), nullptr);
  {
    ProgressLine line("analysing", {}, terminal.stream());
    const analyzer::Progress hook = line.hook();
    ASSERT_TRUE(hook);
    for (const double share : {0.5, 0.501, 0.52}) EXPECT_TRUE(hook(share));
    EXPECT_EQ(terminal.shown(), "\ranalysing  50 %\ranalysing  52 %");
  }
  EXPECT_EQ(terminal.shown(), "\r\033[K");
}

TEST(ProgressLine, IsNotThereForWhatTakesAMoment) {
  Terminal terminal;
  ASSERT_NE(terminal.stream(), nullptr);
  {
    ProgressLine line("analysing", std::chrono::hours(1), terminal.stream());
    line.hook()(0.5);
  }
  EXPECT_EQ(terminal.shown(), "");
}

TEST(ProgressLine, ATerminalThatIsGoneStopsNoWork) {
  Terminal terminal;
  ASSERT_NE(terminal.stream(), nullptr);
  std::setvbuf(terminal.stream(), nullptr, _IONBF, 0);  // as standard error is
  const auto before = std::signal(SIGHUP, SIG_IGN);
  {
    ProgressLine line("analysing", {}, terminal.stream());
    const analyzer::Progress hook = line.hook();
    ASSERT_TRUE(hook);
    terminal.hangUp();
    EXPECT_TRUE(hook(0.5));
  }
  EXPECT_NE(std::ferror(terminal.stream()), 0);
  std::signal(SIGHUP, before);
}

TEST(ProgressLine, AFileIsNoTerminal) {
  std::FILE* file = std::tmpfile();
  EXPECT_FALSE(ProgressLine("analysing", {}, file).hook());
  std::fclose(file);
}

}  // namespace
}  // namespace lacuna::cli
