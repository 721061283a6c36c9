// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/recover.h"

#include <fmt/format.h>

#include "base/file.h"
#include "format/block_list.h"
#include "format/block_sink.h"
#include "lacuna/prof/budget.h"

namespace fs = std::filesystem;

namespace lacuna::prof {
namespace {

/// Every block that is whole, whether an index names it or not.
Result<format::BlockList> completeBlocks(const base::InputFile& file, std::uint64_t fileBytes) {
  if (auto indexed = format::listFromIndex(file, fileBytes)) {
    format::dropDamaged(file, *indexed);
    return *std::move(indexed);
  }
  format::BlockList list;
  if (Status status = format::walkBlocks(file, fileBytes, true, list); !status.ok())
    return status.error();
  if (list.tail != 0)
    list.damage.push_back({fileBytes - list.tail, list.tail, "the file ends inside a block"});
  return list;
}

Status copyBlocks(const base::InputFile& file, const format::BlockList& list,
                  format::BlockSink& sink, RecoverSummary& summary) {
  format::Bytes bytes;
  for (const format::BlockEntry& entry : list.blocks) {
    // They describe blocks that may have gone, and a reader that needs them derives them again.
    if (entry.kind == format::BlockKind::Derived) continue;
    bytes.resize(entry.bytes());
    if (Status status = file.read(entry.offset, bytes); !status.ok()) return status;
    sink.appendRaw(entry, bytes);
    ++summary.blocks;
    if (entry.kind == format::BlockKind::Rows) summary.rows += entry.rows;
  }
  return sink.status();
}

/// Writes what is whole of a trace, and an end.
Status writeTrace(const base::InputFile& file, const format::BlockList& list, const fs::path& to,
                  RecoverSummary& summary) {
  auto sink = format::BlockSink::create(to);
  if (!sink.ok()) return sink.error();
  if (Status status = copyBlocks(file, list, *sink, summary); !status.ok()) return status;
  format::Encoder encoder(1);
  return sink->finish(encoder);
}

}  // namespace

Result<RecoverSummary> recoverFile(const fs::path& from, const fs::path& to, Existing existing) {
  const Result<fs::path> output = behindLinks(to);
  if (!output.ok()) return output.error();
  std::error_code error;
  if (fs::equivalent(from, *output, error)) {
    return Error{
        fmt::format("{} cannot be recovered onto itself: name another file", from.string())};
  }
  // Reader::open reports what is wrong with a file of another kind or of a newer version.
  const auto reader = Reader::open(from, {ReaderOptions::Verify::Never});
  if (!reader.ok()) return reader.error();
  const auto file = base::InputFile::open(from);
  if (!file.ok()) return file.error();
  auto list = completeBlocks(*file, reader->fileBytes());
  if (!list.ok()) return list.error();
  RecoverSummary summary;
  summary.wasComplete = list->complete;
  summary.damage = list->damage;
  const auto write = [&](const fs::path& part) -> Status {
    if (Status status = writeTrace(*file, *list, part, summary); !status.ok()) return status;
    // The damaged bytes made the file large enough for its rows; nothing would open it without
    // them.
    return Budget::ofProcess().allow(Budget::Item::Rows, summary.rows, from,
                                     fs::file_size(part, error));
  };
  if (Status status = writeAtomically(*output, write, existing); !status.ok())
    return status.error();
  return summary;
}

}  // namespace lacuna::prof
