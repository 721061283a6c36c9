// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "core/regular_file.h"
#include "symbols/demangled.h"
#include "symbols/module_file.h"
#include "symbols/symbolizer.h"

namespace lacuna::collector::symbols {
namespace {

char* gDebugPath = nullptr;
const std::filesystem::path kDebugRoot = "/usr/lib/debug";

/// A file that is open and has that build id, or -1.
int openWithBuildId(const std::string& path, const std::string& buildId) {
  const int fd = openRegularFile(path);
  if (fd < 0 || buildIdOf(fd) == buildId) return fd;
  close(fd);
  return -1;
}

std::string moduleBuildId(Dwfl_Module* module) {
  const unsigned char* bytes = nullptr;
  GElf_Addr address = 0;
  const int size = dwfl_module_build_id(module, &bytes, &address);
  return size > 0
             ? std::string(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size))
             : std::string();
}

/// Finds separate debug information by the build id, or by the link in the file, where the build id
/// is the same. libdw's own search opens any file beside the program, and a pipe there would hold
/// it for ever.
int findDebugInfo(Dwfl_Module* module, void** userdata, const char* name, Dwarf_Addr base,
                  const char* path, const char* link, GElf_Word checksum, char** found) {
  const int byId =
      dwfl_build_id_find_debuginfo(module, userdata, name, base, path, link, checksum, found);
  const std::string buildId = moduleBuildId(module);
  if (byId >= 0 || path == nullptr || link == nullptr || buildId.empty()) return byId;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (const auto& place : {folder, folder / ".debug", kDebugRoot / folder.relative_path()}) {
    const std::string candidate = place / std::filesystem::path(link).filename();
    const int fd = openWithBuildId(candidate, buildId);
    if (fd < 0) continue;
    *found = strdup(candidate.c_str());
    return fd;
  }
  return -1;
}

const Dwfl_Callbacks kCallbacks = {.find_elf = dwfl_build_id_find_elf,
                                   .find_debuginfo = findDebugInfo,
                                   .section_address = nullptr,
                                   .debuginfo_path = &gDebugPath};

struct Function {
  std::uint64_t address;
  std::uint64_t size;
  const char* name;  ///< in the module's string table
};

/// One program or library, with its functions by address.
class Module {
 public:
  Module(int fd, const std::string& path) : dwfl_(dwfl_begin(&kCallbacks)) {
    if (dwfl_ == nullptr) return;
    const int own =
        fcntl(fd, F_DUPFD_CLOEXEC, 0);  // closed by libdwfl, unless that takes no module
    if (own < 0) return;
    module_ = dwfl_report_elf(dwfl_, path.c_str(), path.c_str(), own, 0, true);
    if (module_ == nullptr) close(own);
    dwfl_report_end(dwfl_, nullptr, nullptr);
    if (module_ == nullptr) return;
    readSegments();
    readFunctions();
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module() { dwfl_end(dwfl_); }

  Symbol find(std::uint64_t fileOffset) {
    Symbol symbol;
    symbol.address = fileOffset;
    const auto segment =
        std::find_if(segments_.begin(), segments_.end(), [&](const GElf_Phdr& header) {
          return fileOffset >= header.p_offset && fileOffset - header.p_offset < header.p_filesz;
        });
    if (segment == segments_.end()) return symbol;
    symbol.address = fileOffset - segment->p_offset + segment->p_vaddr;
    nameFunction(symbol);
    if (Dwfl_Line* line = dwfl_module_getsrc(module_, symbol.address + bias_); line != nullptr) {
      int number = 0;
      const char* file = dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr);
      if (file != nullptr) symbol.file = file;
      symbol.line = static_cast<std::uint32_t>(number);
    }
    return symbol;
  }

 private:
  void readSegments() {
    Elf* elf = dwfl_module_getelf(module_, &bias_);
    std::size_t count = 0;
    if (elf == nullptr || elf_getphdrnum(elf, &count) != 0) return;
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Phdr header;
      if (gelf_getphdr(elf, static_cast<int>(i), &header) != nullptr && header.p_type == PT_LOAD) {
        segments_.push_back(header);
      }
    }
  }

  /// libdwfl's own search walks the whole table for each address.
  void readFunctions() {
    const int count = dwfl_module_getsymtab(module_);
    for (int i = 1; i < count; ++i) {
      GElf_Sym symbol;
      GElf_Addr address = 0;
      const char* name =
          dwfl_module_getsym_info(module_, i, &symbol, &address, nullptr, nullptr, nullptr);
      const auto type = GELF_ST_TYPE(symbol.st_info);
      const bool code =
          type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && symbol.st_size > 0);
      if (name == nullptr || *name == '\0' || !code || symbol.st_shndx == SHN_UNDEF) continue;
      functions_.push_back({address - bias_, symbol.st_size, name});
    }
    std::sort(functions_.begin(), functions_.end(),
              [](const Function& a, const Function& b) { return a.address < b.address; });
  }

  void nameFunction(Symbol& symbol) const {
    auto at = std::upper_bound(
        functions_.begin(), functions_.end(), symbol.address,
        [](std::uint64_t address, const Function& f) { return address < f.address; });
    // Aliases lie on one address; one without a size reaches to the next.
    for (int tries = 0; at != functions_.begin() && tries < 8; ++tries) {
      --at;
      if (at->size != 0 && symbol.address - at->address >= at->size) continue;
      symbol.function = demangled(at->name);
      return;
    }
  }

  Dwfl* dwfl_;
  Dwfl_Module* module_ = nullptr;
  GElf_Addr bias_ = 0;
  std::vector<GElf_Phdr> segments_;
  std::vector<Function> functions_;
};

}  // namespace

struct Symbolizer::Impl {
  Impl(int fd, const std::string& path) : module(fd, path) {}
  Module module;
};

Symbolizer::Symbolizer(int fd, const std::string& path) {
  // With that set, libdw would ask servers for debug information.
  unsetenv("DEBUGINFOD_URLS");
  impl_ = std::make_unique<Impl>(fd, path);
}
Symbolizer::~Symbolizer() = default;

bool Symbolizer::available() {
  return true;
}

Symbol Symbolizer::find(std::uint64_t fileOffset) {
  return impl_->module.find(fileOffset);
}

}  // namespace lacuna::collector::symbols
