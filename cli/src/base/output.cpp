// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "base/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>

#include "base/outcome.h"
#include "base/report_text.h"
#include "base/safe_output.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/analyzer/text_table.h"
#include "lacuna/prof/amounts.h"
#include "lacuna/prof/file_error.h"
#include "lacuna/prof/place_file.h"
#include "lacuna/prof/reader.h"

namespace lacuna::cli {
namespace {

void printProblem(std::string_view kind, std::string_view colour, std::string_view message) {
  std::fflush(stdout);
  const bool coloured = wantsColour(stderr);
  // Where that does not arrive either, nothing more can be printed, which is no reason to end
  // another way.
  std::fputs(fmt::format("lacuna: {}{}:{} {}\n", coloured ? own(colour) : "", kind,
                         coloured ? own("\033[0m") : "", analyzer::oneLine(message))
                 .c_str(),
             stderr);
}

}  // namespace

bool wantsColour(std::FILE* stream) {
  const char* noColour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return isTerminal(stream) && (noColour == nullptr || *noColour == '\0') && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

int printError(std::string_view message) {
  printProblem("error", "\033[31m", message);
  return kError;
}

int printMisuse(std::string_view message) {
  (void)printError(message);
  return kUsage;
}

void printWarning(std::string_view message) {
  printProblem("warning", "\033[33m", message);
}

void printWarnings(const analyzer::Store& store, std::string_view name) {
  for (const std::string& warning : store.warnings()) {
    printWarning(name.empty() ? warning : fmt::format("{}: {}", name, warning));
  }
}

const Style& style() {
  static const std::string kBold = own("\033[1m"), kDim = own("\033[2m"), kRed = own("\033[31m"),
                           kGreen = own("\033[32m"), kYellow = own("\033[33m"),
                           kReset = own("\033[0m");
  static const Style kColours{kBold, kDim, kRed, kGreen, kYellow, kReset};
  static const Style kPlain{};
  static const bool kWanted = wantsColour(stdout);
  return kWanted ? kColours : kPlain;
}

std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent) {
  const auto width = static_cast<int>(columns);
  std::string out;
  for (const std::string& line : analyzer::brokenLines(text, width, width)) {
    if (!out.empty()) out.append("\n").append(indent, ' ');
    out += line;
  }
  return out;
}

int listWidth() {
  return isTerminal(stdout) ? terminalWidth(stdout) : std::numeric_limits<std::int16_t>::max();
}

std::string fitted(std::string_view text, int column) {
  if (!isTerminal(stdout)) return std::string(text);
  const int room = std::max(1, terminalWidth(stdout) - column);
  const std::string indent = "\n" + std::string(static_cast<std::size_t>(column), ' ');
  std::string out;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find('\n', from), text.size());
    const std::string_view line = text.substr(from, to - from);
    for (const std::string& piece : analyzer::brokenLines(line, room, room))
      out += (out.empty() ? "" : indent) + piece;
    from = to + 1;
  }
  return out;
}

void printWritten(const std::string& path) {
  if (prof::isOpenFile(path)) return;
  std::error_code none;
  const std::uintmax_t bytes = std::filesystem::file_size(path, none);
  fmt::print("{}{}\n", analyzer::oneLine(path), none ? "" : ": " + prof::bytesText(bytes));
}

std::string jsonString(std::string_view text) {
  return analyzer::jsonText(text);
}

std::string damageJson(std::span<const prof::Damage> list) {
  std::string out;
  for (const prof::Damage& damage : list) {
    out += fmt::format(R"({}{{"offset": {}, "bytes": {}, "what": {}}})", out.empty() ? "" : ", ",
                       damage.offset, damage.bytes, jsonString(damage.what));
  }
  return "[" + out + "]";
}

}  // namespace lacuna::cli
