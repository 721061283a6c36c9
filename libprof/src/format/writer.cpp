// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "format/block_list.h"
#include "format/block_sink.h"
#include "format/string_table.h"
#include "format/table_buffer.h"

namespace lacuna::prof {

using format::BlockHeader;
using format::BlockSink;
using format::Bytes;
using format::ColumnView;
using format::TableBuffer;

struct Writer::Impl {
  Impl(BlockSink sinkToUse, const WriterOptions& options)
      : sink(std::move(sinkToUse)),
        encoder(options.zstdLevel),
        blockRows(std::clamp<std::size_t>(options.blockRows, 1, format::kMaxBlockRows)) {}

  TableBuffer& bufferOf(const TableSpec& spec);
  void emit(TableBuffer& table);
  void emitLong(TableBuffer& table);
  void writeRows(TableBuffer& table, std::span<const ColumnView> views, std::size_t rows,
                 std::uint8_t flags);
  void writeStrings();
  void writeAll();

  BlockSink sink;
  format::Encoder encoder;
  format::StringInterner strings;
  std::size_t blockRows;
  std::vector<std::unique_ptr<TableBuffer>> tables;
  const ColumnSpec* latestColumns =
      nullptr;  ///< which declaration `latest` serves; most rows follow one of their kind
  TableBuffer* latest = nullptr;
  std::vector<std::pair<const ColumnSpec*, TableBuffer*>> byDeclaration;
  std::uint64_t rowsAppended = 0;
  std::uint64_t firstDerived = 0;  ///< where the first derived block went, 0 for none
  Bytes body;
  std::vector<std::uint8_t> isLong;
};

TableBuffer& Writer::Impl::bufferOf(const TableSpec& spec) {
  if (spec.columns == latestColumns && spec.id == latest->table.spec.id) return *latest;
  latestColumns = spec.columns;
  const auto known =
      std::find_if(byDeclaration.begin(), byDeclaration.end(), [&](const auto& entry) {
        return entry.first == spec.columns && entry.second->table.spec.id == spec.id;
      });
  if (known != byDeclaration.end()) return *(latest = known->second);
  tables.push_back(std::make_unique<TableBuffer>(spec, blockRows));
  latest = tables.back().get();
  byDeclaration.emplace_back(spec.columns, latest);
  return *latest;
}

void Writer::Impl::emit(TableBuffer& table) {
  const std::size_t rows = table.rows.rows();
  if (rows == 0) return;
  const auto views = table.rows.views();
  if (findLongRows(table, views, rows, isLong) == 0) {
    writeRows(table, views, rows, 0);
  } else {
    format::RowBuffer kept(table.table.columns, rows);
    for (std::size_t i = 0; i < rows; ++i) {
      if (isLong[i] != 0 && table.longRows.full()) emitLong(table);
      (isLong[i] != 0 ? table.longRows : kept).appendRow(views, i);
    }
    writeRows(table, kept.views(), kept.rows(), 0);
  }
  table.rows.clear();
}

void Writer::Impl::emitLong(TableBuffer& table) {
  if (table.longRows.rows() == 0) return;
  writeRows(table, table.longRows.views(), table.longRows.rows(), format::kLongRows);
  table.longRows.clear();
}

namespace {

/// A column that a block does not have reads as zero, and most of a small block describes its
/// columns. The first column and those that others are predicted from stay.
void leaveOutZeros(std::vector<format::Section>& sections) {
  std::vector<bool> isNeeded(sections.size(), false);
  isNeeded[0] = true;
  const auto references = [](format::Encoding& encoding) {
    return std::array{&encoding.baseColumn, &encoding.groupColumn, &encoding.contextColumn};
  };
  for (format::Section& section : sections) {
    if (section.encoding.scheme != format::Scheme::Predicted) continue;
    for (const std::uint8_t* column : references(section.encoding)) {
      if (*column < sections.size()) isNeeded[*column] = true;
    }
  }
  std::vector<std::uint8_t> place(sections.size(), format::kNoColumn);
  std::vector<format::Section> kept;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const format::Encoding& encoding = sections[i].encoding;
    if (!isNeeded[i] && encoding.scheme == format::Scheme::Constant && encoding.reference == 0)
      continue;
    place[i] = static_cast<std::uint8_t>(kept.size());
    kept.push_back(sections[i]);
  }
  for (format::Section& section : kept) {
    if (section.encoding.scheme != format::Scheme::Predicted) continue;
    for (std::uint8_t* column : references(section.encoding)) {
      if (*column < place.size()) *column = place[*column];
    }
  }
  sections = std::move(kept);
}

}  // namespace

void Writer::Impl::writeRows(TableBuffer& table, std::span<const ColumnView> views,
                             std::size_t rows, std::uint8_t flags) {
  writeStrings();
  BlockHeader header;
  header.entry.table = table.table.spec.id;
  header.entry.rows = static_cast<std::uint32_t>(rows);
  header.entry.flags = flags;
  header.tableName = table.table.name;
  timeRange(table, views, rows, header.entry);
  const auto& plans = table.planner.plans(views, rows, encoder);
  encoder.begin(views, rows);
  body.clear();
  for (std::size_t c = 0; c < views.size(); ++c) {
    const ColumnSpec& column = table.table.columns[c];
    const std::size_t before = body.size();
    format::Section section;
    section.name = column.name;
    section.type = column.type;
    section.refers = column.refers;
    section.hint = column.hint;
    section.encoding = encoder.encode(plans[c], c, body);
    section.storedBytes = static_cast<std::uint32_t>(body.size() - before);
    header.sections.push_back(section);
  }
  leaveOutZeros(header.sections);
  sink.append(header, body);
}

void Writer::Impl::writeStrings() {
  while (strings.hasPending()) {
    Bytes blob;
    const std::uint32_t count = strings.takePending(blob);
    BlockHeader header = format::blobBlock(format::BlockKind::Strings, count, blob, encoder, body);
    sink.append(header, body);
  }
}

void Writer::Impl::writeAll() {
  for (const auto& table : tables) {
    emit(*table);
    emitLong(*table);
  }
  writeStrings();
}

Writer::Writer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;
Writer::~Writer() = default;

Result<Writer> Writer::create(const std::filesystem::path& path, const WriterOptions& options) {
  auto sink = BlockSink::create(path);
  if (!sink.ok()) return sink.error();
  return Writer(std::make_unique<Impl>(*std::move(sink), options));
}

Result<Writer> Writer::extend(const std::filesystem::path& path, const WriterOptions& options) {
  std::vector<format::BlockEntry> blocks;
  format::StringInterner strings;
  {
    auto reader = Reader::open(path);
    if (!reader.ok()) return reader.error();
    if (!reader->complete() || !reader->damage().empty()) {
      return Error{
          fmt::format("{} is not a whole trace: make one with `lacuna recover` before adding to it",
                      path.string())};
    }
    for (std::uint32_t id = 1; id < reader->stringCount(); ++id) {
      strings.skipTo(id);
      strings.intern(reader->text(StringId(id)));
    }
    strings.markWritten();
    auto file = base::InputFile::open(path);
    if (!file.ok()) return file.error();
    auto list = format::listFromIndex(*file, reader->fileBytes());
    if (!list) return Error{fmt::format("{} changed while it was opened", path.string())};
    blocks = std::move(list->blocks);
    while (!blocks.empty() && blocks.back().kind == format::BlockKind::Derived) blocks.pop_back();
  }
  auto sink = BlockSink::extend(path, std::move(blocks));
  if (!sink.ok()) return sink.error();
  auto impl = std::make_unique<Impl>(*std::move(sink), options);
  impl->strings = std::move(strings);
  return Writer(std::move(impl));
}

StringId Writer::intern(std::string_view text) {
  return impl_->strings.intern(text);
}

void Writer::appendRow(const TableSpec& spec, const void* row, PackRow pack) {
  TableBuffer& table = impl_->bufferOf(spec);
  table.rows.reserve(1);
  pack(row, table.rows.columns(), table.rows.rows());
  table.rows.commit(1);
  ++impl_->rowsAppended;
  if (table.rows.full()) impl_->emit(table);
}

void Writer::appendColumns(const TableSpec& spec, std::span<const void* const> columns,
                           std::size_t rows) {
  TableBuffer& table = impl_->bufferOf(spec);
  for (std::size_t done = 0; done < rows;) {
    const std::size_t count = std::min(rows - done, table.rows.room());
    table.rows.append(columns, done, count);
    done += count;
    if (table.rows.full()) impl_->emit(table);
  }
  impl_->rowsAppended += rows;
}

std::uint64_t Writer::appendDerived(std::string_view product,
                                    std::span<const std::span<const std::byte>> sections) {
  impl_->writeAll();
  BlockHeader header;
  header.entry.kind = format::BlockKind::Derived;
  header.tableName = product;
  Bytes& body = impl_->body;
  body.clear();
  for (const auto bytes : sections) {
    format::Section section;
    section.encoding.scheme = format::Scheme::Blob;
    section.encoding.rawBytes = static_cast<std::uint32_t>(bytes.size());
    section.encoding.addPlane({format::PlaneMode::Raw, section.encoding.rawBytes});
    section.storedBytes = section.encoding.rawBytes;
    body.insert(body.end(), bytes.begin(), bytes.end());
    header.sections.push_back(section);
  }
  assert(body.size() <= format::kMaxBodyBytes && sections.size() <= 1000);
  impl_->sink.append(header, body);
  if (!impl_->sink.status().ok()) return 0;
  if (impl_->firstDerived == 0) impl_->firstDerived = header.entry.offset;
  return header.entry.offset;
}

Status Writer::withdrawDerived() {
  // Without one yet, what failed is forgotten all the same: nothing of it is in the file.
  const std::uint64_t first = std::exchange(impl_->firstDerived, 0);
  return impl_->sink.cut(first == 0 ? impl_->sink.size() : first);
}

Status Writer::moveTo(const std::filesystem::path& path, Existing existing) {
  return impl_->sink.moveTo(path, existing);
}

Status Writer::flush() {
  impl_->writeAll();
  return impl_->sink.status();
}

Status Writer::finish() {
  impl_->writeAll();
  return impl_->sink.finish(impl_->encoder);
}

Status Writer::status() const {
  return impl_->sink.status();
}
std::uint64_t Writer::bytesWritten() const {
  return impl_->sink.size();
}
std::uint64_t Writer::rowsAppended() const {
  return impl_->rowsAppended;
}

}  // namespace lacuna::prof
