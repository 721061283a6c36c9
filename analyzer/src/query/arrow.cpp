// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/arrow.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>
#include <vector>

#include "lacuna/analyzer/text.h"
#include "query/arrow_source.h"

namespace lacuna::analyzer {
namespace {

/// Owns the memory of an exported schema, of the rows or of a column.
struct SchemaNode {
  std::string name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
};

void releaseSchema(ArrowSchema* schema) {
  auto* node = static_cast<SchemaNode*>(schema->private_data);
  for (ArrowSchema& child : node->children) {
    if (child.release != nullptr) child.release(&child);
  }
  delete node;
  schema->release = nullptr;
}

ArrowSchema schemaOf(std::string name, const char* format, std::vector<ArrowSchema> children = {}) {
  auto* node = new SchemaNode{std::move(name), std::move(children), {}};
  for (ArrowSchema& child : node->children) node->pointers.push_back(&child);
  ArrowSchema schema{};
  schema.format = format;
  schema.name = node->name.c_str();
  schema.flags = node->children.empty() ? ARROW_FLAG_NULLABLE : 0;
  schema.n_children = static_cast<std::int64_t>(node->children.size());
  schema.children = node->pointers.data();
  schema.release = releaseSchema;
  schema.private_data = node;
  return schema;
}

/// Owns the memory of an exported batch.
struct BatchNode {
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
  const void* validity = nullptr;  ///< rows are never null themselves
};

void releaseBatch(ArrowArray* batch) {
  auto* node = static_cast<BatchNode*>(batch->private_data);
  for (ArrowArray& child : node->children) {
    if (child.release != nullptr) child.release(&child);
  }
  delete node;
  batch->release = nullptr;
}

/// Leaves the columns empty.
ArrowArray batchOf(std::vector<ArrowColumn>& columns) {
  auto* node = new BatchNode;
  node->children.resize(columns.size());
  ArrowArray batch{};
  batch.length = columns.front().rows();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i].take(node->children[i]);
    node->pointers.push_back(&node->children[i]);
  }
  batch.n_buffers = 1;
  batch.buffers = &node->validity;
  batch.n_children = static_cast<std::int64_t>(columns.size());
  batch.children = node->pointers.data();
  batch.release = releaseBatch;
  batch.private_data = node;
  return batch;
}

class RowBatches {
 public:
  RowBatches(std::unique_ptr<ArrowSource> source, std::uint64_t batchRows)
      : source_(std::move(source)), batchRows_(std::max<std::uint64_t>(batchRows, 1)) {}

  /// Reads the first batch, which decides the types.
  prof::Status begin() {
    columns_ = source_->columns();
    if (prof::Status read = fill(); !read) return read;
    names_ = source_->names();
    for (ArrowColumn& column : columns_)
      column.fix(hasMore_ && column.type() == ArrowType::Null ? ArrowType::Utf8 : column.type());
    return {};
  }

  [[nodiscard]] ArrowSchema schema() const {
    std::vector<ArrowSchema> children;
    for (std::size_t i = 0; i < columns_.size(); ++i)
      children.push_back(schemaOf(validUtf8(names_[i]), formatOf(columns_[i].type())));
    return schemaOf("", "+s", std::move(children));
  }

  /// A batch that is released marks the end.
  prof::Result<ArrowArray> next() {
    if (!error_.empty()) return prof::Error{error_};
    if (columns_.front().rows() == 0 && hasMore_) {
      if (const prof::Status read = fill(); !read) {
        error_ = read.error().message;
        return read.error();
      }
    }
    return columns_.front().rows() == 0 ? ArrowArray{} : batchOf(columns_);
  }

  std::string lastError;

 private:
  prof::Status fill() {
    if (isBegun_) {
      for (ArrowColumn& column : columns_) column.reserve(batchRows_);
    }
    const auto more = source_->fill(columns_, batchRows_);
    if (!more) return more.status();
    hasMore_ = *more;
    isBegun_ = true;
    return {};
  }

  std::unique_ptr<ArrowSource> source_;
  std::uint64_t batchRows_;
  std::vector<ArrowColumn> columns_;
  std::vector<std::string> names_;
  bool hasMore_ = true;
  bool isBegun_ = false;  ///< one batch was full, so more full ones are likely
  std::string error_;     ///< the one that ended it
};

RowBatches& rowBatchesOf(ArrowArrayStream* stream) {
  return *static_cast<RowBatches*>(stream->private_data);
}

int noMemory(ArrowArrayStream* stream) noexcept {
  rowBatchesOf(stream).lastError.clear();
  return ENOMEM;
}

int giveSchema(ArrowArrayStream* stream, ArrowSchema* out) {
  try {
    *out = rowBatchesOf(stream).schema();
    return 0;
  } catch (const std::bad_alloc&) {
    return noMemory(stream);
  }
}

int giveBatch(ArrowArrayStream* stream, ArrowArray* out) {
  try {
    const auto batch = rowBatchesOf(stream).next();
    if (batch) {
      *out = *batch;
      return 0;
    }
    rowBatchesOf(stream).lastError = batch.error().message;
    return EINVAL;
  } catch (const std::bad_alloc&) {
    return noMemory(stream);
  }
}

const char* giveError(ArrowArrayStream* stream) {
  const std::string& error = rowBatchesOf(stream).lastError;
  return error.empty() ? nullptr : error.c_str();
}

void releaseBatches(ArrowArrayStream* stream) {
  delete &rowBatchesOf(stream);
  stream->release = nullptr;
  stream->private_data = nullptr;
}

prof::Status exportBatches(std::unique_ptr<ArrowSource> source, ArrowArrayStream& out,
                           std::uint64_t batchRows) {
  auto batches = std::make_unique<RowBatches>(std::move(source), batchRows);
  if (prof::Status begun = batches->begin(); !begun) return begun;
  out = {giveSchema, giveBatch, giveError, releaseBatches, batches.release()};
  return {};
}

}  // namespace

prof::Status exportStatement(std::unique_ptr<Query> query, std::string_view sql,
                             ArrowArrayStream& out, std::uint64_t batchRows) {
  auto source = statementSource(std::move(query), sql);
  if (!source) return source.status();
  return exportBatches(*std::move(source), out, batchRows);
}

prof::Status exportTable(std::shared_ptr<const Store> store, std::size_t table,
                         ArrowArrayStream& out, std::uint64_t batchRows) {
  return exportBatches(tableSource(std::move(store), table), out, batchRows);
}

}  // namespace lacuna::analyzer
