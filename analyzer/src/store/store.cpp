// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/store.h"

#include <fmt/format.h>

#include "lacuna/prof/bounds.h"
#include "store/backend.h"

namespace lacuna::analyzer {

static_assert(prof::kLongestText == 65'536);  // as the warning has it

std::uint64_t Store::rows(std::size_t table) const {
  return backend_->rows(table);
}
ColumnView Store::column(std::size_t table, std::size_t column) const {
  return backend_->column(table, column);
}

void Store::readRow(std::size_t table, std::uint64_t row, std::span<const std::size_t> columns,
                    std::span<std::byte* const> out) const {
  backend_->readRow(table, row, columns, out);
}

prof::Status Store::scanTable(std::size_t table, std::span<const std::size_t> columns,
                              prof::TimeWindow window,
                              const std::function<bool(const RowBlock&)>& visit) const {
  return backend_->scan(table, columns, window, visit);
}

std::string_view Store::text(prof::StringId id) const {
  return prof::boundText(backend_->text(id));
}
std::string_view Store::wholeText(prof::StringId id) const {
  return backend_->text(id);
}
prof::StringId Store::find(std::string_view text) const {
  return backend_->find(text);
}
std::uint32_t Store::stringCount() const {
  return backend_->stringCount();
}
prof::TimeWindow Store::span() const {
  return backend_->span();
}
std::vector<std::string> Store::warnings() const {
  std::vector<std::string> all = backend_->warnings();
  std::uint64_t cut = 0;
  for (std::uint32_t id = 0; id < stringCount(); ++id) {
    if (wholeText(prof::StringId(id)).size() > prof::kLongestText) ++cut;
  }
  if (cut > 0)
    all.push_back(fmt::format("texts cut to 65,536 bytes where they are shown: {}", cut));
  return all;
}
const std::filesystem::path& Store::path() const {
  return backend_->path();
}

}  // namespace lacuna::analyzer
