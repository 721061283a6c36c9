// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "base/file.h"
#include "format/encoding.h"
#include "format/layout.h"

namespace lacuna::prof::format {

/// The file as a row of blocks: appends each whole, keeps the index, and writes the end. Remembers
/// its first failure.
class BlockSink {
 public:
  static Result<BlockSink> create(const std::filesystem::path& path);
  /// Continues a file: cuts it after its last block and goes on with its index.
  static Result<BlockSink> extend(const std::filesystem::path& path,
                                  std::vector<BlockEntry> blocks);

  Status moveTo(const std::filesystem::path& path, Existing existing) {
    return file_.moveTo(path, existing);
  }
  /// Writes header and body; pads the body as the header asks, and gives each section its checksum.
  void append(BlockHeader& header, Bytes& body);
  /// A block as it stands in another file.
  void appendRaw(BlockEntry entry, std::span<const std::byte> bytes);
  /// Takes back every block from this place of the file on, and with it a failure to write one of
  /// them.
  Status cut(std::uint64_t offset);
  /// The index and the footer; brings the file onto the disk, and closes it.
  Status finish(Encoder& encoder);
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] std::uint64_t size() const { return file_.size(); }

 private:
  explicit BlockSink(base::OutputFile file) : file_(std::move(file)) {}

  base::OutputFile file_;
  std::vector<BlockEntry> blocks_;
  Status status_;
};

/// A block that holds one blob.
BlockHeader blobBlock(BlockKind kind, std::uint32_t rows, std::span<const std::byte> blob,
                      Encoder& encoder, Bytes& body);

}  // namespace lacuna::prof::format
