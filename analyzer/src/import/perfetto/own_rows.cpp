// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/perfetto/own_rows.h"

#include <type_traits>

#include "formats/perfetto_schema.h"
#include "formats/proto_wire.h"

namespace lacuna::analyzer {

bool PerfettoOwnRows::read(std::string_view bytes) {
  proto::Reader reader(bytes);
  for (proto::Field field; reader.next(field);) {
    if (field.wire != proto::Wire::Bytes) continue;
    if (field.number == perfetto::own::kText) texts_.push_back(builder_.intern(field.bytes));
    if (field.number != perfetto::own::kRow) continue;
    any_ = true;
    std::string_view rest = field.bytes;
    std::uint64_t table = 0;
    if (!proto::takeVarint(rest, table)) return false;
    prof::forEachTable([&]<class Row>() {
      if (table != Row::kTable) return;
      Row row;
      perfetto::takeRow(rest, row);
      Row::forEachMember([&]<auto Member>() {
        using T = std::remove_cvref_t<decltype(row.*Member)>;
        if constexpr (std::is_same_v<T, prof::StringId>) {
          const std::uint32_t text = (row.*Member).value;
          row.*Member = text < texts_.size() ? texts_[text] : prof::StringId();
        }
      });
      if constexpr (std::is_same_v<Row, prof::Arg>) {
        const bool isText = row.type == prof::ArgType::Text || row.type == prof::ArgType::Json;
        if (isText) row.value = row.value < texts_.size() ? texts_[row.value].value : 0;
      }
      builder_.append(row);
    });
  }
  return !reader.malformed();
}

}  // namespace lacuna::analyzer
