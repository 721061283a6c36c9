// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace lacuna::cli {

/// From here on every byte of standard output and standard error passes one place, which shows what
/// a terminal would obey. Control characters, marks that turn the direction of text, and bytes that
/// are no UTF-8 become escapes such as \x1b and \u202e. Line ends and tabs stay. Names in traces
/// and of files are what others chose.
///
/// To be called once, before anything is printed. A failure to write is an error of the stream, as
/// ever.
void makeOutputSafe();

/// Standard output carries data for a program: its bytes stay as they are, unless it goes to a
/// terminal.
void sendOutputAsData();

/// A sequence of our own for the terminal, such as a colour, that passes unchanged. Nothing else
/// can look like it: its mark is made anew in each process.
std::string own(std::string_view sequence);
/// A text of ours whose colours are to pass; names in it have been made visible (oneLine()).
std::string withOwnColours(std::string_view text);

/// True when a stream goes to a terminal.
bool isTerminal(std::FILE* stream);
/// The descriptor behind a stream.
int descriptorOf(std::FILE* stream);

}  // namespace lacuna::cli
