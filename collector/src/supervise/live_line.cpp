// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/live_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstring>

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

std::string formatBytes(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string formatCount(std::uint64_t count) {
  if (count < 10000) return fmt::format("{}", count);
  if (count < 10000000) return fmt::format("{:.1f} k", static_cast<double>(count) / 1e3);
  return fmt::format("{:.1f} M", static_cast<double>(count) / 1e6);
}

std::string formatDuration(std::int64_t ns) {
  const double seconds = static_cast<double>(ns) / 1e9;
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 10) return fmt::format("{:.2f} s", seconds);
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole < 7200) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

LiveLine::LiveLine(bool wanted) {
  const char* terminal = getenv("TERM");
  active_ = wanted && isatty(STDERR_FILENO) != 0 && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

void LiveLine::show(std::int64_t elapsedNs, const prof::DrainStats& stats, const char* state) {
  if (!active_) return;
  put(fmt::format("lacuna: {} {} · {} events · {} dropped · {} · {} process{}", state, formatDuration(elapsedNs),
                  formatCount(stats.rows), formatCount(stats.dropped), formatBytes(stats.fileBytes), stats.living,
                  stats.living == 1 ? "" : "es"));
}

void LiveLine::show(std::int64_t elapsedNs, std::size_t dumps, const char* state) {
  if (!active_) return;
  put(fmt::format("lacuna: {} {} · {} dump{} written", state, formatDuration(elapsedNs), dumps, dumps == 1 ? "" : "s"));
}

void LiveLine::put(std::string line) {
  // A line that wrapped could not be taken back. Columns are counted, and a character is never cut in two.
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
