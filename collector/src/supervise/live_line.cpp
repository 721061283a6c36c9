// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/live_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstring>

#include "lacuna/prof/amounts.h"

namespace lacuna::collector {
namespace {

void writeOut(std::string_view text) {
  (void)!write(STDERR_FILENO, text.data(), text.size());
}

std::size_t terminalWidth() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

LiveLine::LiveLine(bool wanted) {
  const char* terminal = getenv("TERM");
  active_ = wanted && isatty(STDERR_FILENO) != 0 && terminal != nullptr &&
            std::strcmp(terminal, "dumb") != 0;
}

void LiveLine::show(std::int64_t elapsedNs, const prof::DrainStats& stats, const char* state) {
  if (!active_) return;
  put(fmt::format("lacuna: {} {} · {} events · {} dropped · {} · {} process{}", state,
                  prof::timeText(elapsedNs), prof::scaledCount(stats.rows),
                  prof::scaledCount(stats.dropped), prof::bytesText(stats.fileBytes), stats.living,
                  stats.living == 1 ? "" : "es"));
}

void LiveLine::show(std::int64_t elapsedNs, std::size_t dumps, const char* state) {
  if (!active_) return;
  put(fmt::format("lacuna: {} {} · {} dump{} written", state, prof::timeText(elapsedNs), dumps,
                  dumps == 1 ? "" : "s"));
}

void LiveLine::put(std::string line) {
  // A line that wrapped could not be taken back. Columns are counted, and a character is never cut
  // in two.
  std::size_t columns = 0;
  const std::size_t width = terminalWidth() - 1;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if ((line[i] & 0xc0) == 0x80 || ++columns <= width) continue;
    line.resize(i);
    break;
  }
  writeOut(fmt::format("\r\033[2m{}\033[0m\033[K", line));
  shown_ = true;
}

void LiveLine::clear() {
  if (shown_) writeOut("\r\033[K");
  shown_ = false;
}

}  // namespace lacuna::collector
