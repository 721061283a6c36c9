// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "models/sql_model.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "base/words.h"

namespace lacuna::gui {

namespace {

using CellKind = SqlChunk::Kind;

unsigned char lower(char c) {
  return static_cast<unsigned char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/// The key that a cell is sorted by. A long double holds every number that SQL has.
struct Key {
  CellKind kind = CellKind::Null;
  long double number = 0;
  std::string_view text;

  explicit Key(const SqlRows::Cell& cell) : kind(cell.kind), text(cell.text) {
    if (kind == CellKind::Number) std::from_chars(text.data(), text.data() + text.size(), number);
  }
  friend bool operator<(const Key& a, const Key& b) {
    if (a.kind != b.kind) return a.kind < b.kind;
    if (a.kind == CellKind::Number) return a.number < b.number;
    return std::lexicographical_compare(a.text.begin(), a.text.end(), b.text.begin(), b.text.end(),
                                        [](char x, char y) { return lower(x) < lower(y); });
  }
};

void sortBy(const SqlRows& rows, int column, Qt::SortOrder direction,
            std::vector<std::uint32_t>& order) {
  std::vector<Key> keys;
  keys.reserve(rows.all);
  for (std::size_t row = 0; row < rows.all; ++row) keys.emplace_back(rows.given(row, column));
  const bool up = direction == Qt::AscendingOrder;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return up ? keys[a] < keys[b] : keys[b] < keys[a];
  });
}

class Filter {
 public:
  explicit Filter(const QString& text) : text_(text), bytes_(text.toLower().toStdString()) {
    plain_ = std::none_of(bytes_.begin(), bytes_.end(),
                          [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  }
  [[nodiscard]] bool keeps(std::string_view cell) const {
    if (!plain_)
      return QString::fromUtf8(cell.data(), static_cast<qsizetype>(cell.size()))
          .contains(text_, Qt::CaseInsensitive);
    return std::search(cell.begin(), cell.end(), bytes_.begin(), bytes_.end(),
                       [](char x, char y) { return lower(x) == lower(y); }) != cell.end();
  }

 private:
  QString text_;
  std::string bytes_;
  bool plain_ = true;
};

std::vector<std::uint32_t> kept(const SqlRows& rows, const QString& text,
                                const Job::Wanted& wanted) {
  std::vector<std::uint32_t> out;
  const Filter filter(text);
  for (std::size_t row = 0; row < rows.all; ++row) {
    if (row % SqlChunk::kRows == 0 && !wanted()) break;
    for (int column = 0; column < rows.columns.size(); ++column) {
      const SqlRows::Cell cell = rows.given(row, column);
      if (cell.kind == CellKind::Null || !filter.keeps(cell.text)) continue;
      out.push_back(static_cast<std::uint32_t>(row));
      break;
    }
  }
  return out;
}

std::vector<std::uint32_t> all(const SqlRows& rows) {
  std::vector<std::uint32_t> out(rows.all);
  std::iota(out.begin(), out.end(), std::uint32_t{0});
  return out;
}

}  // namespace

void SqlModel::begin(const QStringList& columns) {
  beginResetModel();
  job_.cancel();
  rows_ = {};
  rows_.columns = columns;
  if (!filter_.isEmpty()) rows_.order = std::make_shared<const std::vector<std::uint32_t>>();
  sortedBy_ = -1;
  known_ = 0;
  endResetModel();
}

void SqlModel::append(std::shared_ptr<const SqlChunk> chunk) {
  const std::size_t more = chunk->rows();
  if (more == 0) return;
  const bool follows = !rows_.order && known_ == rows_.all;
  if (follows) beginInsertRows({}, static_cast<int>(known_), static_cast<int>(known_ + more) - 1);
  rows_.chunks.push_back(std::move(chunk));
  rows_.all += more;
  if (follows) {
    known_ = rows_.all;
    endInsertRows();
  }
  if (isArranged() && !busy()) arrange();
}

void SqlModel::setFilter(const QString& text) {
  filter_ = text;
  arrange();
}

void SqlModel::sort(int column, Qt::SortOrder order) {
  sortedBy_ = column < columnCount() ? column : -1;
  direction_ = order;
  arrange();
}

void SqlModel::arrange() {
  job_.cancel();
  if (!isArranged()) return show(nullptr);
  SqlRows given = rows_;
  given.order = nullptr;
  job_.start(
      this,
      [given = std::move(given), filter = filter_, by = sortedBy_,
       direction = direction_](const Job::Wanted& wanted) {
        std::vector<std::uint32_t> order =
            filter.isEmpty() ? all(given) : kept(given, filter, wanted);
        if (by >= 0 && wanted()) sortBy(given, by, direction, order);
        return std::pair(std::make_shared<const std::vector<std::uint32_t>>(std::move(order)),
                         given.all);
      },
      [this](const std::pair<Order, std::size_t>& now) {
        show(now.first);
        if (now.second != rows_.all) arrange();  // more has come meanwhile
      });
}

void SqlModel::show(Order order) {
  beginResetModel();
  rows_.order = std::move(order);
  known_ = std::min(rows_.count(), kStretch);
  endResetModel();
  Q_EMIT arranged();
}

bool SqlModel::canFetchMore(const QModelIndex& parent) const {
  return !parent.isValid() && known_ < rows_.count();
}

void SqlModel::fetchMore(const QModelIndex& parent) {
  if (!canFetchMore(parent)) return;
  const std::size_t more = std::min(kStretch, rows_.count() - known_);
  beginInsertRows({}, static_cast<int>(known_), static_cast<int>(known_ + more) - 1);
  known_ += more;
  endInsertRows();
}

int SqlModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(known_);
}

int SqlModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.columns.size());
}

QVariant SqlModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount() || index.column() >= columnCount()) return {};
  if (role != Qt::TextAlignmentRole && role != Qt::DisplayRole && role != Qt::ToolTipRole)
    return {};
  const SqlRows::Cell cell = rows_.cell(static_cast<std::size_t>(index.row()), index.column());
  if (role == Qt::TextAlignmentRole)
    return cell.kind == CellKind::Number ? QVariant(int(Qt::AlignRight | Qt::AlignVCenter))
                                         : QVariant();
  if (cell.kind == CellKind::Null) return role == Qt::DisplayRole ? tr("null") : QVariant();
  return role == Qt::ToolTipRole ? tipWords(words(cell.text)) : words(cell.text);
}

QVariant SqlModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section >= columnCount()) return {};
  if (role == Qt::DisplayRole) return rows_.columns[section];
  if (role == Qt::TextAlignmentRole) {
    const bool number = rows_.all > 0 && rows_.given(0, section).kind == CellKind::Number;
    return int((number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  return {};
}

}  // namespace lacuna::gui
