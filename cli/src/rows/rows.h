// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdint.h>

#include "lacuna/analyzer/arrow.h"

/// liblacuna_rows.so: rows of traces for programs in other languages; the Python package loads it.
/// Texts are UTF-8. The library reads files in the calling process, without the sandbox of the
/// lacuna command. It keeps no state; calls may come from any thread.
#define LACUNA_ROWS_EXPORT extern "C" __attribute__((visibility("default")))

/// The version of Lacuna. Static.
LACUNA_ROWS_EXPORT const char* lacunaRowsVersion();

/// The rows of `what`, one SQL statement or the name of a table, in the trace of any kind at
/// `path`: a stream for lacunaRowsFree() or lacunaRowsCapsule(). Null where that fails: *error is
/// then a message for lacunaRowsFreeText(), or null where there was no memory for it.
LACUNA_ROWS_EXPORT ArrowArrayStream* lacunaRowsOpen(const char* path, const char* what,
                                                    char** error);

/// Releases the stream, unless a consumer has taken it (and set its release to null), and frees it.
LACUNA_ROWS_EXPORT void lacunaRowsFree(ArrowArrayStream* stream);

/// Wraps a stream in a Python capsule, which frees it. The two functions are Python's PyCapsule_New
/// and PyCapsule_GetPointer; the caller holds the interpreter's lock. Where PyCapsule_New fails the
/// stream is freed.
LACUNA_ROWS_EXPORT void* lacunaRowsCapsule(ArrowArrayStream* stream,
                                           void* (*newCapsule)(void* pointer, const char* name,
                                                               void (*end)(void*)),
                                           void* (*pointerOf)(void* capsule, const char* name));

/// All tables, a line each: its name, and behind each tab a column's name, a blank and its type in
/// Arrow's words. A text for lacunaRowsFreeText(), or null where there is no memory for it.
LACUNA_ROWS_EXPORT char* lacunaRowsTables();

LACUNA_ROWS_EXPORT void lacunaRowsFreeText(char* text);
