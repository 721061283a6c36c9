// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lacuna::collector::python {

/// The variable that names the folder for announcements, and what the names of these begin with.
/// Written by collector/python/lacuna_frames.py.
inline constexpr const char* kFolderVariable = "LACUNA_PYTHON_FRAMES";
inline constexpr std::string_view kFilePrefix = "python-";

/// The format of a code object's table of lines.
enum class LineTable : std::uint8_t {
  Pairs = 1,      ///< co_lnotab, up to 3.9
  Ranges = 2,     ///< co_linetable of 3.10
  Locations = 3,  ///< co_linetable from 3.11 on
};

/// Where one process keeps the frames of its interpreter, as that process has measured it. Offsets
/// are in bytes.
struct Layout {
  std::uint32_t pid = 0;
  std::uint64_t pidNamespace = 0;
  bool isHelper = false;          ///< it prepares what another process waits for
  bool drawsBar = false;          ///< it draws a progress bar on the terminal
  std::uint64_t interpreter = 0;  ///< address of the main interpreter's state
  std::uint64_t codeType = 0;     ///< address of the type of code objects
  std::uint64_t frameType = 0;    ///< of frames that are objects (up to 3.10); 0 for later ones

  struct {
    std::uint32_t threads = 0;            ///< in the interpreter's state: the first thread's
    std::uint32_t next = 0, id = 0;       ///< in a thread's
    std::optional<std::uint32_t> frame;   ///< the innermost frame, or
    std::optional<std::uint32_t> cframe;  ///< what points to it there,
    std::uint32_t cframeFrame = 0;        ///< and where in that
    std::optional<std::uint32_t>
        chunk;              ///< the memory that holds most frames, and after it where that ends
    std::uint32_t tid = 0;  ///< in what the thread's id points to: its number for the kernel
  } thread;
  struct {
    std::uint32_t size = 0;
    std::uint32_t back = 0, code = 0;
    std::uint32_t lastInstruction = 0;         ///< up to 3.10: an index
    std::optional<std::uint32_t> instruction;  ///< later: an address
    std::uint32_t owner = 0;
  } frame;
  struct {
    std::uint32_t size = 0, type = 0, file = 0, name = 0, firstLine = 0, table = 0, bytecode = 0;
    std::optional<std::uint32_t> units;  ///< from 3.11 on: how many code units it has
    LineTable lines = LineTable::Locations;
  } code;
  struct {
    std::uint32_t size = 0, data = 0;
  } bytes;
  struct {
    std::uint32_t length = 0, state = 0, kindShift = 0, ascii = 0, wide = 0;
  } text;
};

/// Nothing where the announcement is not whole or makes no sense.
std::optional<Layout> parseLayout(std::string_view announcement);

}  // namespace lacuna::collector::python
