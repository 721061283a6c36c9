// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/limited_child.h"
#include "symbols/module_file.h"
#include "symbols/symbolizer.h"

namespace lacuna::collector::symbols {

enum class Naming : std::uint8_t {
  Done,
  NotThere,     ///< no file of that name
  NoFile,       ///< a pipe, a device or the like has the name
  Differs,      ///< another file has the name
  TookTooLong,  ///< as what follows, the file may have been made for it
  Failed,
  Stopped,  ///< by `stop`
};

struct NamingLimits : ChildLimits {
  std::uint64_t moreMemory = std::uint64_t{4} << 30;  ///< beside what the file takes
};

/// Names places of one module, by offset in its file: `fd` where it is 0 or more, which stays the
/// caller's, else whatever has the module's path. A child process reads the file, so that nothing
/// in it can hurt this one. `symbols` gets one for each offset; those without a name have the
/// offset as their address. `stop` is asked often.
Naming nameModule(const ModuleFile& module, int fd, const std::vector<std::uint64_t>& offsets,
                  const NamingLimits& limits, const std::function<bool()>& stop,
                  std::vector<Symbol>& symbols);

}  // namespace lacuna::collector::symbols
