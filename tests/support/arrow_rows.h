// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/arrow.h"

namespace lacuna::test {

template <class T>
T arrowValue(const ArrowArray& array, std::int64_t row) {
  T value;
  std::memcpy(
      &value,
      static_cast<const char*>(array.buffers[1]) + row * static_cast<std::int64_t>(sizeof value),
      sizeof value);
  return value;
}

/// A value as text; "-" for null.
inline std::string arrowText(const ArrowArray& array, std::string_view format, std::int64_t row) {
  if (format == "n") return "-";
  const auto* validity = static_cast<const unsigned char*>(array.buffers[0]);
  if (validity != nullptr && (validity[row / 8] >> row % 8 & 1) == 0) return "-";
  if (format == "l") return std::to_string(arrowValue<std::int64_t>(array, row));
  if (format == "g") return fmt::format("{}", arrowValue<double>(array, row));
  const auto from = arrowValue<std::int32_t>(array, row);
  const auto to = arrowValue<std::int32_t>(array, row + 1);
  return {static_cast<const char*>(array.buffers[2]) + from, static_cast<std::size_t>(to - from)};
}

/// Reads a stream as a consumer does, and checks what it promises.
class ArrowReader {
 public:
  explicit ArrowReader(ArrowArrayStream& stream) : stream_(stream) {
    ArrowSchema schema;
    EXPECT_EQ(stream_.get_schema(&stream_, &schema), 0);
    EXPECT_STREQ(schema.format, "+s");
    for (std::int64_t i = 0; i < schema.n_children; ++i) {
      names.emplace_back(schema.children[i]->name);
      formats.emplace_back(schema.children[i]->format);
    }
    schema.release(&schema);
    EXPECT_EQ(schema.release, nullptr);
  }

  /// Rows of the next batch as lines; the stream's error, or "end".
  std::string next() {
    ArrowArray batch;
    if (stream_.get_next(&stream_, &batch) != 0) {
      const char* error = stream_.get_last_error(&stream_);
      return std::string("error: ") + (error == nullptr ? "no memory" : error);
    }
    if (batch.release == nullptr) return "end";
    std::string lines;
    for (std::int64_t row = 0; row < batch.length; ++row) {
      for (std::size_t i = 0; i < formats.size(); ++i)
        lines += arrowText(*batch.children[i], formats[i], row) + " ";
      lines += "\n";
    }
    EXPECT_EQ(batch.n_children, static_cast<std::int64_t>(formats.size()));
    for (std::int64_t i = 0; i < batch.n_children; ++i) {
      const ArrowArray& column = *batch.children[i];
      std::int64_t nulls = 0;
      for (std::int64_t row = 0; row < column.length; ++row)
        nulls += arrowText(column, formats[static_cast<std::size_t>(i)], row) == "-" ? 1 : 0;
      EXPECT_EQ(column.length, batch.length);
      EXPECT_EQ(column.null_count, nulls);
    }
    batch.release(&batch);
    EXPECT_EQ(batch.release, nullptr);
    return lines;
  }

  /// The rows of all batches, and how the stream ended unless that was its end.
  std::string all() {
    for (std::string lines;; ++batches) {
      const std::string more = next();
      if (more == "end") return lines;
      lines += more;
      if (more.starts_with("error: ")) return lines;
    }
  }

  std::vector<std::string> names, formats;
  int batches = 0;

 private:
  ArrowArrayStream& stream_;
};

}  // namespace lacuna::test
