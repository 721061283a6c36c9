// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "lacuna/analyzer/query.h"
#include "lacuna/analyzer/store.h"

extern "C" {

// The Arrow C data and stream interfaces, laid out as
// https://arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html specify. Their
// guards let a program include the same structures from Arrow's own headers.
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};

#endif  // ARROW_C_DATA_INTERFACE

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};

#endif  // ARROW_C_STREAM_INTERFACE

}  // extern "C"

namespace lacuna::analyzer {

/// Rows of a batch, at most.
inline constexpr std::uint64_t kArrowBatchRows = 65'536;
/// A batch ends early where its texts have more bytes.
inline constexpr std::uint64_t kArrowBatchText = 32 << 20;

/// Starts a statement and hands its rows over in batches: `out` becomes a stream of struct arrays
/// whose children are null ("n"), int64 ("l"), float64 ("g") or utf8 ("u"). Only one batch is held
/// at a time. The first one is read here: a column gets the narrowest type that holds its declared
/// type and the values of that batch. One without a declared type and without a value there becomes
/// utf8 if more rows may follow. Later numbers fit into utf8 and whole numbers into float64; any
/// other misfit makes get_next() fail.
///
/// Fails where Query::run() does, and then leaves `out` alone. The stream keeps the query; one
/// thread at a time.
prof::Status exportStatement(std::unique_ptr<Query> query, std::string_view sql,
                             ArrowArrayStream& out, std::uint64_t batchRows = kArrowBatchRows);

/// The same for all rows of a store's table, by its number, with the answers of SELECT * but
/// without SQL: the columns are copied block by block.
prof::Status exportTable(std::shared_ptr<const Store> store, std::size_t table,
                         ArrowArrayStream& out, std::uint64_t batchRows = kArrowBatchRows);

}  // namespace lacuna::analyzer
