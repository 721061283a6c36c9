// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/live_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#include "lacuna/prof/amounts.h"

namespace lacuna::collector {
namespace {

void writeOut(std::string_view text) {
  if (!text.empty()) (void)!write(STDERR_FILENO, text.data(), text.size());
}

struct TerminalSize {
  unsigned rows = 24, columns = 80;
};

TerminalSize terminalSize() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    return {};
  return {size.ws_row, size.ws_col};
}

/// False for a job in the background: the terminal is the shell's then.
bool isInFront() {
  const pid_t front = tcgetpgrp(STDERR_FILENO);
  return front < 0 || front == getpgrp();
}

/// As many columns as there are; a character is never cut in two.
std::string cutToWidth(std::string line, std::size_t width) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if ((line[i] & 0xc0) == 0x80 || ++columns <= width) continue;
    line.resize(i);
    break;
  }
  return line;
}

// Terminals have understood these since the VT100. Saving the cursor saves its colours, too.
constexpr std::string_view kSaveCursor = "\0337", kRestoreCursor = "\0338";
/// Moves down in the same column, and scrolls on the last row.
constexpr std::string_view kDown = "\033D", kUp = "\033[A";
constexpr std::string_view kAllRowsScroll = "\033[r";

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

void LiveLine::put(const std::string& line) {
  if (!isInFront()) return;
  const TerminalSize size = terminalSize();
  if (size.rows < kFewestRows) return clear();
  // One call, so that nothing of the program comes between.
  std::string out;
  if (size.rows != rows_) out += setApart(size.rows);
  out += fmt::format("{}\033[{};1H\033[2m{}\033[0m\033[K{}", kSaveCursor, size.rows,
                     cutToWidth(line, size.columns), kRestoreCursor);
  writeOut(out);
}

std::string LiveLine::setApart(unsigned rows) {
  std::string out = withoutLine();
  rows_ = rows;
  // The program may be on the last row. Setting the rows that scroll moves the cursor.
  return out + fmt::format("{}{}\033[1;{}r{}{}", kDown, kSaveCursor, rows - 1, kRestoreCursor, kUp);
}

std::string LiveLine::withoutLine() const {
  if (rows_ == 0) return {};
  return fmt::format("{}{}\033[{};1H\033[2K{}", kSaveCursor, kAllRowsScroll, rows_, kRestoreCursor);
}

void LiveLine::clear() {
  writeOut(withoutLine());
  rows_ = 0;
}

void LiveLine::hide() {
  clear();
  active_ = false;
}

}  // namespace lacuna::collector
