// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "format/block_sink.h"

#include "base/checksum.h"

namespace lacuna::prof::format {

Result<BlockSink> BlockSink::create(const std::filesystem::path& path) {
  auto file = base::OutputFile::create(path);
  if (!file.ok()) return file.error();
  BlockSink sink(*std::move(file));
  if (Status status = sink.file_.append(encodeFileHeader(), {}); !status.ok())
    return status.error();
  return sink;
}

Result<BlockSink> BlockSink::extend(const std::filesystem::path& path,
                                    std::vector<BlockEntry> blocks) {
  auto file =
      base::OutputFile::extend(path, blocks.empty() ? kFileHeaderBytes : blocks.back().end());
  if (!file.ok()) return file.error();
  BlockSink sink(*std::move(file));
  sink.blocks_ = std::move(blocks);
  return sink;
}

void BlockSink::append(BlockHeader& header, Bytes& body) {
  if (!status_.ok()) return;
  std::size_t at = 0;
  for (Section& section : header.sections) {
    section.checksum = base::checksum(std::span(body).subspan(at, section.storedBytes));
    at += section.storedBytes;
  }
  const Bytes head = encodeBlockHeader(header);
  body.resize(header.entry.bodyBytes);
  header.entry.offset = file_.size();
  status_ = file_.append(head, body);
  if (status_.ok()) blocks_.push_back(header.entry);
}

void BlockSink::appendRaw(BlockEntry entry, std::span<const std::byte> bytes) {
  if (!status_.ok()) return;
  entry.offset = file_.size();
  status_ = file_.append(bytes, {});
  if (status_.ok()) blocks_.push_back(entry);
}

Status BlockSink::cut(std::uint64_t offset) {
  std::erase_if(blocks_, [&](const BlockEntry& entry) { return entry.offset >= offset; });
  return status_ = file_.cut(offset);
}

Status BlockSink::finish(Encoder& encoder) {
  if (!status_.ok()) return status_;
  Footer footer{.indexOffset = file_.size()};
  Bytes body;
  BlockHeader header = blobBlock(BlockKind::Index, 0, encodeIndex(blocks_), encoder, body);
  append(header, body);
  footer.fileBytes = file_.size() + kFooterBytes;
  if (status_.ok()) status_ = file_.append(encodeFooter(footer), {});
  if (status_.ok()) status_ = file_.sync();
  if (!status_.ok()) {
    // A caller that cuts something off may try again, with another index.
    std::erase_if(blocks_,
                  [&](const BlockEntry& entry) { return entry.offset >= footer.indexOffset; });
    (void)file_.cut(footer.indexOffset);
    return status_;
  }
  return status_ = file_.close();
}

BlockHeader blobBlock(BlockKind kind, std::uint32_t rows, std::span<const std::byte> blob,
                      Encoder& encoder, Bytes& body) {
  BlockHeader header;
  header.entry.kind = kind;
  header.entry.rows = rows;
  body.clear();
  Section section;
  section.name = "blob";
  section.encoding = encoder.encodeBlob(blob, body);
  section.storedBytes = static_cast<std::uint32_t>(body.size());
  header.sections.push_back(section);
  return header;
}

}  // namespace lacuna::prof::format
