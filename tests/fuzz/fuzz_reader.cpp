// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "lacuna/prof/reader.h"

/// Any bytes as a trace file: open it in both ways, read everything that it claims to have.
namespace {

using namespace lacuna::prof;

void readAll(const Reader& reader, std::size_t fileBytes) {
  for (const TableInfo& table : reader.tables()) {
    // The format promises that rows are bounded by the size of the file.
    if (table.rows > fileBytes * 16) std::abort();
    const std::span columns(table.spec.columns, table.spec.columnCount);
    (void)reader.scanColumns(table.spec.id, {}, columns, [](std::size_t, const void* const*) {});
    for (const BlockInfo& block : table.blocks) (void)reader.storedColumns(block);
  }
  for (const DerivedBlock& block : reader.derivedBlocks()) {
    const auto sections = reader.derivedSections(block, "tracks");
    if (!sections.ok()) continue;
    for (const DerivedSection& section : *sections) {
      // They lie in the file, so their readers need no more room than that.
      if (section.bytes > fileBytes) std::abort();
      std::vector<std::byte> bytes(section.bytes);
      (void)reader.readSection(section, bytes);
    }
  }
  (void)reader.table<Range>();
  (void)reader.table<Kernel>({0, 1000});
  for (std::uint32_t id = 0; id < reader.stringCount() && id < 1000; ++id)
    (void)reader.text(StringId(id));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int kFile = ::memfd_create("fuzz", 0);
  static const std::string kPath = "/proc/self/fd/" + std::to_string(kFile);
  if (::ftruncate(kFile, 0) != 0 || ::pwrite(kFile, data, size, 0) != static_cast<ssize_t>(size))
    std::abort();
  for (const auto verify : {ReaderOptions::Verify::Always, ReaderOptions::Verify::Never}) {
    auto reader = Reader::open(kPath, {verify});
    if (!reader.ok()) continue;
    readAll(*reader, size);
    (void)reader->refresh();
  }
  return 0;
}
