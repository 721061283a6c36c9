// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "lacuna/prof/result.h"

namespace lacuna::analyzer {
class Store;
}
namespace lacuna::prof {
struct Damage;
}

namespace lacuna::cli {

/// `lacuna: error: …` on standard error, on one line. Answers kError, so that a command can return
/// it.
int printError(std::string_view message);
/// The same of a call that is wrong, whatever the files hold. Answers kUsage.
int printMisuse(std::string_view message);
/// `lacuna: warning: …` on standard error.
void printWarning(std::string_view message);
/// Prints what is wrong with a trace, a warning each; after its name where there are several
/// traces.
void printWarnings(const analyzer::Store& store, std::string_view name = {});

/// True when `stream` is a terminal that wants colours (NO_COLOR is honoured).
bool wantsColour(std::FILE* stream);

/// Escape sequences where standard output is a terminal that wants colours (NO_COLOR is honoured);
/// empty elsewhere.
struct Style {
  std::string_view bold;
  std::string_view dim;
  std::string_view red;
  std::string_view green;
  std::string_view yellow;
  std::string_view reset;
};
const Style& style();

/// In lines of so many columns, which break at blanks. All but the first stand after `indent`
/// blanks.
std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent = 0);
/// A text that begins at this column, in the width of the terminal; the other lines begin there,
/// too. As it is where standard output is no terminal, as scripts read lines.
std::string fitted(std::string_view text, int column);
/// The width of lists on standard output; no limit where that is no terminal.
int listWidth();
/// Prints the file that a command has written, with its size; a device or a pipe has none. Prints
/// nothing for /dev/stdout, where a note would come among what was written.
void printWritten(const std::string& path);
/// With quotes; bytes that are no UTF-8 become U+FFFD, and what a terminal obeys is written as
/// \\u001b.
std::string jsonString(std::string_view text);
/// A list of what `toJson` makes of each.
template <class List, class ToJson>
std::string jsonList(const List& list, ToJson&& toJson) {
  std::string out;
  for (const auto& each : list) out += (out.empty() ? "" : ", ") + toJson(each);
  return "[" + out + "]";
}
/// A list with an object for each.
std::string damageJson(std::span<const prof::Damage> list);

}  // namespace lacuna::cli
