// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace lacuna::collector::symbols {

/// The file that code was mapped from, as far as its mapping shows.
struct ModuleFile {
  std::string path;          ///< as its process names it, which another may name otherwise
  std::uint64_t device = 0;  ///< as mappings give it: major << 32 | minor
  std::uint64_t inode = 0;   ///< 0 where that is unknown
  std::string buildId;       ///< bytes; empty where it is unknown or there is none
};

/// The identifier that the linker has given the file; empty where there is none. Reads little, and
/// nothing hangs or fails on what the file holds.
std::string buildIdOf(int fd);
/// Device and inode as a mapping of the file gives them. Some file systems (overlayfs, btrfs) give
/// fstat() others.
bool readMappedAs(int fd, std::uint64_t& device, std::uint64_t& inode);
/// True when code of the module comes from that file, and where nothing is known that could differ.
bool isFileOf(const ModuleFile& module, int fd);

}  // namespace lacuna::collector::symbols
