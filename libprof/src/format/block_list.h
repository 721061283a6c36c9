// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "base/file.h"
#include "format/layout.h"
#include "lacuna/prof/reader.h"

namespace lacuna::prof::format {

/// Reads the header of a block; fails when it is damaged. `bytes` keeps what the header's views
/// point to.
Result<BlockHeader> readHeader(const base::InputFile& file, const BlockEntry& entry, Bytes& bytes);

/// Checks that every section of the block has its checksum and its padding is zero.
Status verifyBlock(const base::InputFile& file, const BlockEntry& entry, Bytes& scratch);

/// The blob of a strings or index block.
Result<Bytes> readBlob(const base::InputFile& file, const BlockEntry& entry);

/// The contents of a file: its blocks in file order, and what is not to be had.
struct BlockList {
  std::vector<BlockEntry> blocks;
  std::vector<Damage> damage;
  bool complete = false;
  std::uint64_t end = kFileHeaderBytes;  ///< everything before is accounted for
  /// Bytes after `end` that may still become a block, when the file is growing.
  std::uint64_t tail = 0;
};

/// Takes the list from the index at the end of the file. Nothing when there is none, or it is
/// damaged.
std::optional<BlockList> listFromIndex(const base::InputFile& file, std::uint64_t fileBytes);

/// Continues the list from list.end by walking from block to block; where one is damaged, goes on
/// at the next sync marker. Blocks it reports are `verify`ed if asked.
Status walkBlocks(const base::InputFile& file, std::uint64_t fileBytes, bool verify,
                  BlockList& list);

/// Takes the blocks that fail verifyBlock out of the list and names them.
void dropDamaged(const base::InputFile& file, BlockList& list);

/// For people: "a block of 65536 rows of table kernel".
std::string describe(const base::InputFile& file, const BlockEntry& entry);

}  // namespace lacuna::prof::format
