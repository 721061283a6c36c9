// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "symbols/module_file.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "proc/proc_file.h"

namespace lacuna::collector::symbols {
namespace {

constexpr unsigned kMostSegments = 256;
constexpr std::size_t kMostNotes = 64 << 10;

template <class T>
bool readAt(int fd, std::uint64_t offset, T& value) {
  return pread(fd, &value, sizeof value, static_cast<off_t>(offset)) ==
         static_cast<ssize_t>(sizeof value);
}

std::string buildIdAmong(std::string_view notes) {
  Elf64_Nhdr note;
  while (notes.size() >= sizeof note) {
    std::memcpy(&note, notes.data(), sizeof note);
    notes.remove_prefix(sizeof note);
    const std::size_t name = (std::size_t{note.n_namesz} + 3) / 4 * 4;
    const std::size_t body = (std::size_t{note.n_descsz} + 3) / 4 * 4;
    if (name > notes.size() || note.n_descsz > notes.size() - name) return {};
    const bool gnu = note.n_namesz == 4 && notes.starts_with(std::string_view("GNU", 4));
    if (gnu && note.n_type == NT_GNU_BUILD_ID)
      return std::string(notes.substr(name, note.n_descsz));
    notes.remove_prefix(std::min(name + body, notes.size()));
  }
  return {};
}

}  // namespace

std::string buildIdOf(int fd) {
  Elf64_Ehdr header;
  if (!readAt(fd, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return {};
  for (unsigned i = 0; i < header.e_phnum && i < kMostSegments; ++i) {
    Elf64_Phdr segment;
    if (!readAt(fd, header.e_phoff + i * sizeof segment, segment)) return {};
    if (segment.p_type != PT_NOTE) continue;
    std::string notes(std::min<std::uint64_t>(segment.p_filesz, kMostNotes), '\0');
    const ssize_t got = pread(fd, notes.data(), notes.size(), static_cast<off_t>(segment.p_offset));
    notes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    if (std::string id = buildIdAmong(notes); !id.empty()) return id;
  }
  return {};
}

bool readMappedAs(int fd, std::uint64_t& device, std::uint64_t& inode) {
  constexpr std::size_t kBytes = 1;
  void* at = mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE, fd, 0);
  if (at == MAP_FAILED) return false;
  const std::string maps = "\n" + proc::read("/proc/self/maps");
  munmap(at, kBytes);
  char start[32];
  std::snprintf(start, sizeof start, "\n%llx-",
                static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(at)));
  const auto line = maps.find(start);
  if (line == std::string::npos) return false;
  // "start-end rwxp offset major:minor inode   path"
  unsigned long long major = 0, minor = 0, number = 0;
  if (std::sscanf(maps.c_str() + line, "%*s %*s %*s %llx:%llx %llu", &major, &minor, &number) != 3)
    return false;
  device = major << 32 | minor;
  inode = number;
  return true;
}

bool isFileOf(const ModuleFile& module, int fd) {
  if (!module.buildId.empty()) {
    const std::string own = buildIdOf(fd);
    if (!own.empty()) return own == module.buildId;
  }
  if (module.inode == 0) return module.buildId.empty();
  std::uint64_t device = 0, inode = 0;
  return readMappedAs(fd, device, inode) && device == module.device && inode == module.inode;
}

}  // namespace lacuna::collector::symbols
