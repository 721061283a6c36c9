// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "base/file.h"
#include "format/encoding.h"

namespace lacuna::prof::format {

/// Decodes columns of one block after another. It reads only the sections that are needed: a
/// column's own, and those of the columns that it was predicted from. One thread at a time; keeps
/// its memory.
class BlockDecoder : private ColumnSource {
 public:
  explicit BlockDecoder(const base::InputFile& file) : file_(file) {}

  Status open(const BlockEntry& entry);
  /// Fills `out` with one value of the wanted type for every row.
  Status decode(const ColumnSpec& wanted, void* out);
  [[nodiscard]] const BlockHeader& header() const { return header_; }

 private:
  struct Decoded {
    bool busy = false;  ///< a column that is predicted from itself, through others
    bool done = false;
    Bytes values;
  };

  const void* decoded(std::uint8_t column, ColumnType& type) override;
  Status decodeTo(std::size_t column, void* out);
  [[nodiscard]] Error damaged(const Section& section, const char* why) const;

  const base::InputFile& file_;
  BlockHeader header_;
  Bytes headerBytes_;
  std::vector<Decoded> decoded_;
  std::vector<Bytes> stored_;
  std::size_t depth_ = 0;
  std::size_t others_ = 0;  ///< decoded for the column that is wanted
};

}  // namespace lacuna::prof::format
