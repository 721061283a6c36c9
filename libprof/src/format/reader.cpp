// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "base/checksum.h"
#include "format/block_decoder.h"
#include "format/block_list.h"
#include "format/encoding_name.h"
#include "format/string_table.h"
#include "format/table_buffer.h"

namespace lacuna::prof {

using format::BlockEntry;
using format::BlockKind;
using format::Bytes;

namespace {

constexpr std::uint64_t kVerifyAtOnce = std::uint64_t{64} << 20;

BlockInfo infoOf(const BlockEntry& entry) {
  return {entry.offset,
          entry.bytes(),
          entry.rows,
          (entry.flags & format::kLongRows) != 0,
          {entry.minTime, entry.maxTime}};
}

/// Tables without a time column are in every window.
bool touches(const BlockInfo& block, TimeWindow window) {
  const bool timeless = block.time.startNs > block.time.endNs;
  const bool starts = block.time.startNs < window.endNs || window.endNs == INT64_MAX;
  return timeless || (starts && block.time.endNs > window.startNs);
}

/// This program's own knowledge of a table, where no block's header can be read.
TableSpec ownSpecOf(std::uint16_t id) {
  for (const TableSpec& spec : allTables()) {
    if (spec.id == id) return spec;
  }
  return {id, {}, nullptr, 0};
}

/// A block leaves out columns of zeros, which others of its table may have.
void addLeftOut(std::vector<ColumnSpec>& columns, const TableSpec& own) {
  const std::size_t described = columns.size();
  for (const ColumnSpec& column : std::span(own.columns, own.columnCount)) {
    const auto end = columns.begin() + static_cast<std::ptrdiff_t>(described);
    if (std::none_of(columns.begin(), end,
                     [&](const ColumnSpec& c) { return c.name == column.name; }))
      columns.push_back(column);
  }
}

struct Table {
  std::shared_ptr<const format::OwnedTable> declaration;
  TableInfo info;
};

/// Checks the file header; damage of it goes to `list`.
Result<format::FileHeader> readFileHeader(const base::InputFile& file, std::uint64_t fileBytes,
                                          format::BlockList& list) {
  Bytes bytes(
      std::min<std::uint64_t>(format::kFileHeaderBytes + format::kFixedHeaderBytes, fileBytes));
  if (Status status = file.read(0, bytes); !status.ok()) return status.error();
  const auto header = format::parseFileHeader(bytes);
  const std::string path = file.path().string();
  if (header.state == format::HeaderState::TooNew) {
    return Error{fmt::format(
        "{} has format version {}.{}, and this lacuna reads up to {}.x: use a newer lacuna", path,
        header.major, header.minor, format::kMajorVersion)};
  }
  if (header.state == format::HeaderState::Good) return header;
  const bool blockFollows =
      bytes.size() == format::kFileHeaderBytes + format::kFixedHeaderBytes &&
      format::parseFixedHeader(std::span(bytes).subspan(format::kFileHeaderBytes)).has_value();
  if (!header.magic && !blockFollows) {
    return Error{
        fmt::format("{} is not a lacuna trace{}", path, fileBytes == 0 ? ": it is empty" : "")};
  }
  list.damage.push_back({0, std::min<std::uint64_t>(fileBytes, format::kFileHeaderBytes),
                         "the file header is damaged"});
  return header;
}

}  // namespace

struct Reader::Impl {
  explicit Impl(base::InputFile opened)
      : shared(std::make_shared<base::InputFile>(std::move(opened))), file(*shared) {}

  Status load(const ReaderOptions& options);
  Status grow(std::uint64_t bytes);
  Status take(std::size_t firstBlock);
  void takeRows(const BlockEntry& entry);
  void takeStrings(const BlockEntry& entry);
  void noteTail();
  void publish();

  std::shared_ptr<base::InputFile> shared;
  base::InputFile& file;
  format::FileHeader header;
  ReaderOptions options;
  bool verify = false;
  std::uint64_t fileBytes = 0;
  format::BlockList list;
  std::size_t lastingDamage = 0;  ///< entries of list.damage that refresh() cannot repair
  std::map<std::uint16_t, Table> tablesById;
  std::vector<TableInfo> tables;
  std::map<std::uint64_t, BlockEntry> rowBlocks;
  std::vector<DerivedBlock> derived;
  format::StringStore strings;
  TimeWindow span{INT64_MAX, INT64_MIN};
};

Status Reader::Impl::load(const ReaderOptions& wanted) {
  options = wanted;
  const auto size = file.size();
  if (!size.ok()) return size.error();
  fileBytes = *size;
  auto found = readFileHeader(file, fileBytes, list);
  if (!found.ok()) return found.error();
  header = *found;
  auto indexed = format::listFromIndex(file, fileBytes);
  verify =
      options.verify == ReaderOptions::Verify::Always ||
      (options.verify == ReaderOptions::Verify::Auto && (!indexed || fileBytes <= kVerifyAtOnce));
  if (indexed) {
    indexed->damage = std::move(list.damage);
    list = *std::move(indexed);
    if (verify) format::dropDamaged(file, list);
  } else if (Status status = format::walkBlocks(file, fileBytes, verify, list); !status.ok()) {
    return status;
  }
  if (Status status = take(0); !status.ok()) return status;
  noteTail();
  publish();
  return {};
}

Status Reader::Impl::grow(std::uint64_t bytes) {
  list.damage.resize(lastingDamage);
  fileBytes = bytes;
  const std::size_t before = list.blocks.size();
  if (Status status = format::walkBlocks(file, fileBytes, verify, list); !status.ok())
    return status;
  // The walk passes over the index; a file that has a good one now is finished.
  const auto indexed = format::listFromIndex(file, fileBytes);
  list.complete = indexed.has_value() && list.tail == 0;
  if (Status status = take(before); !status.ok()) return status;
  noteTail();
  publish();
  return {};
}

Status Reader::Impl::take(std::size_t firstBlock) {
  using Item = Budget::Item;
  std::uint64_t rows = 0;
  for (const BlockEntry& entry : list.blocks)
    rows += entry.kind == BlockKind::Rows ? entry.rows : 0;
  if (Status status = options.budget.allow(Item::Rows, rows, file.path(), fileBytes); !status.ok())
    return status;
  for (std::size_t i = firstBlock; i < list.blocks.size(); ++i) {
    const BlockEntry& entry = list.blocks[i];
    if (entry.kind == BlockKind::Rows) takeRows(entry);
    if (entry.kind == BlockKind::Derived) derived.push_back({entry.offset, entry.bytes()});
    if (entry.kind != BlockKind::Strings) continue;
    takeStrings(entry);
    if (Status status =
            options.budget.allow(Item::Strings, strings.count(), file.path(), fileBytes);
        !status.ok())
      return status;
  }
  return {};
}

void Reader::Impl::takeRows(const BlockEntry& entry) {
  Table& table = tablesById[entry.table];
  if (!table.declaration) {
    Bytes bytes;
    const auto blockHeader = format::readHeader(file, entry, bytes);
    if (blockHeader.ok()) {
      std::vector<ColumnSpec> columns;
      for (const auto& section : blockHeader->sections) {
        columns.push_back({section.name, section.type, section.refers, section.hint, {}});
      }
      addLeftOut(columns, ownSpecOf(entry.table));
      table.declaration = std::make_unique<format::OwnedTable>(
          TableSpec{entry.table, blockHeader->tableName, columns.data(), columns.size()});
    }
  }
  rowBlocks.emplace(entry.offset, entry);
  table.info.rows += entry.rows;
  table.info.blocks.push_back(infoOf(entry));
  if (holdsEvents(entry.table) && entry.minTime <= entry.maxTime) {
    span.startNs = std::min(span.startNs, entry.minTime);
    span.endNs = std::max(span.endNs, entry.maxTime);
  }
}

void Reader::Impl::takeStrings(const BlockEntry& entry) {
  auto blob = format::readBlob(file, entry);
  if (blob.ok() && strings.add(*std::move(blob), entry.offset)) return;
  list.damage.push_back(
      {entry.offset, entry.bytes(), format::describe(file, entry) + " cannot be read"});
}

void Reader::Impl::noteTail() {
  std::sort(list.damage.begin(), list.damage.end(),
            [](const Damage& a, const Damage& b) { return a.offset < b.offset; });
  lastingDamage = list.damage.size();
  if (list.complete) return;
  std::string what = "the file has no end: it was not finished, or it was cut off";
  if (list.tail != 0) what = "the file ends inside a block: it was not finished, or it was cut off";
  list.damage.push_back({fileBytes - list.tail, list.tail, what});
}

void Reader::Impl::publish() {
  tables.clear();
  for (auto& [id, table] : tablesById) {
    table.info.spec = table.declaration ? table.declaration->spec : ownSpecOf(id);
    tables.push_back(table.info);
  }
}

Reader::Reader(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<Reader> Reader::open(const std::filesystem::path& path, const ReaderOptions& options) {
  auto file = base::InputFile::open(path);
  if (!file.ok()) return file.error();
  auto impl = std::make_shared<Impl>(*std::move(file));
  if (Status status = impl->load(options); !status.ok()) return status.error();
  return Reader(std::move(impl));
}

Result<bool> Reader::refresh() {
  const auto size = impl_->file.size();
  if (!size.ok()) return size.error();
  if (*size == impl_->fileBytes) return false;
  if (*size < impl_->list.end || impl_->list.complete) {
    return Error{fmt::format("{} was rewritten while it was open: open it again",
                             impl_->file.path().string())};
  }
  // Copies go on with what there was.
  if (impl_.use_count() > 1) impl_ = std::make_shared<Impl>(*impl_);
  if (Status status = impl_->grow(*size); !status.ok()) return status.error();
  return true;
}

std::span<const TableInfo> Reader::tables() const {
  return impl_->tables;
}

const TableInfo* Reader::table(std::uint16_t id) const {
  const auto found = std::lower_bound(
      impl_->tables.begin(), impl_->tables.end(), id,
      [](const TableInfo& info, std::uint16_t wanted) { return info.spec.id < wanted; });
  return found != impl_->tables.end() && found->spec.id == id ? &*found : nullptr;
}

std::uint64_t Reader::rowsIn(std::uint16_t id, TimeWindow window) const {
  const TableInfo* info = table(id);
  std::uint64_t rows = 0;
  if (info == nullptr) return rows;
  for (const BlockInfo& block : info->blocks) rows += touches(block, window) ? block.rows : 0;
  return rows;
}

Status Reader::scanColumns(std::uint16_t id, TimeWindow window, std::span<const ColumnSpec> wanted,
                           const VisitBlock& visit) const {
  const TableInfo* info = table(id);
  if (info == nullptr) return {};
  format::BlockDecoder decoder(impl_->file);
  std::vector<Bytes> buffers(wanted.size());
  std::vector<const void*> data(wanted.size());
  for (const BlockInfo& block : info->blocks) {
    if (!touches(block, window)) continue;
    if (Status status = decoder.open(impl_->rowBlocks.at(block.offset)); !status.ok())
      return status;
    for (std::size_t c = 0; c < wanted.size(); ++c) {
      const std::size_t bytes = block.rows * format::widthOf(wanted[c].type);
      if (buffers[c].size() < bytes) buffers[c].resize(bytes);
      data[c] = buffers[c].data();
      if (Status status = decoder.decode(wanted[c], buffers[c].data()); !status.ok()) return status;
    }
    visit(block.rows, data.data());
  }
  return {};
}

Status Reader::readBlock(const BlockInfo& block, std::span<const ColumnSpec> wanted,
                         std::span<void* const> out) const {
  const auto found = impl_->rowBlocks.find(block.offset);
  if (found == impl_->rowBlocks.end())
    return Error{fmt::format("there is no block at byte {}", block.offset)};
  format::BlockDecoder decoder(impl_->file);
  if (Status status = decoder.open(found->second); !status.ok()) return status;
  for (std::size_t c = 0; c < wanted.size(); ++c) {
    if (Status status = decoder.decode(wanted[c], out[c]); !status.ok()) return status;
  }
  return {};
}

Result<std::vector<StoredColumn>> Reader::storedColumns(const BlockInfo& block) const {
  const auto found = impl_->rowBlocks.find(block.offset);
  if (found == impl_->rowBlocks.end())
    return Error{fmt::format("there is no block at byte {}", block.offset)};
  Bytes bytes;
  const auto header = format::readHeader(impl_->file, found->second, bytes);
  if (!header.ok()) return header.error();
  std::vector<StoredColumn> columns;
  const auto& spec = impl_->tablesById.at(found->second.table).info.spec;
  for (std::size_t c = 0; c < header->sections.size(); ++c) {
    const auto& section = header->sections[c];
    // The header's bytes end with this function; the table's own names do not.
    std::string_view name;
    for (std::size_t i = 0; i < spec.columnCount; ++i) {
      if (spec.columns[i].name == section.name) name = spec.columns[i].name;
    }
    columns.push_back({name, format::encodingName(*header, section),
                       block.rows * format::widthOf(section.type), section.storedBytes});
  }
  return columns;
}

std::span<const DerivedBlock> Reader::derivedBlocks() const {
  return impl_->derived;
}

Result<std::vector<DerivedSection>> Reader::derivedSections(const DerivedBlock& block,
                                                            std::string_view product) const {
  const auto& blocks = impl_->list.blocks;
  const auto entry =
      std::lower_bound(blocks.begin(), blocks.end(), block.offset,
                       [](const BlockEntry& e, std::uint64_t offset) { return e.offset < offset; });
  if (entry == blocks.end() || entry->offset != block.offset || entry->kind != BlockKind::Derived) {
    return Error{fmt::format("there is no derived block at byte {}", block.offset)};
  }
  Bytes bytes;
  const auto header = format::readHeader(impl_->file, *entry, bytes);
  if (!header.ok()) return header.error();
  if (header->tableName != product)
    return Error{fmt::format("the block at byte {} is no {}", block.offset, product)};
  std::vector<DerivedSection> sections;
  for (const auto& section : header->sections) {
    sections.push_back({entry->offset + entry->headerBytes + section.offset, section.storedBytes,
                        section.checksum});
  }
  return sections;
}

Status Reader::readSection(const DerivedSection& section, std::span<std::byte> out) const {
  if (Status status = impl_->file.read(section.offset, out); !status.ok()) return status;
  if (base::checksumMatches(out, section.checksum)) return {};
  return Error{fmt::format("{}: derived bytes at {} do not match their checksum", path().string(),
                           section.offset)};
}

std::uint64_t Reader::contentKey() const {
  Bytes bytes;
  base::ByteWriter out(bytes);
  for (const BlockEntry& entry : impl_->list.blocks) {
    if (entry.kind != BlockKind::Rows && entry.kind != BlockKind::Strings) continue;
    for (const std::uint64_t value :
         {entry.offset, entry.bodyBytes, std::uint64_t{entry.rows}, std::uint64_t{entry.table},
          static_cast<std::uint64_t>(entry.minTime), static_cast<std::uint64_t>(entry.maxTime)}) {
      out.number(value);
    }
  }
  return base::checksum(bytes);
}

std::string_view Reader::text(StringId id) const {
  return impl_->strings.text(id);
}
std::uint32_t Reader::stringCount() const {
  return impl_->strings.count();
}

TimeWindow Reader::span() const {
  return impl_->span.startNs <= impl_->span.endNs ? impl_->span : TimeWindow{0, 0};
}

std::span<const Damage> Reader::damage() const {
  return impl_->list.damage;
}
bool Reader::complete() const {
  return impl_->list.complete;
}
const std::filesystem::path& Reader::path() const {
  return impl_->file.path();
}
std::uint64_t Reader::fileBytes() const {
  return impl_->fileBytes;
}
std::string Reader::formatVersion() const {
  return fmt::format("{}.{}", impl_->header.major, impl_->header.minor);
}
std::uint64_t Reader::bytesRead() const {
  return impl_->file.bytesRead();
}

}  // namespace lacuna::prof
