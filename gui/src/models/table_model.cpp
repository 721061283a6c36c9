// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "models/table_model.h"

#include <QApplication>
#include <QColor>
#include <QPalette>
#include <QPointer>
#include <QThreadPool>
#include <algorithm>

#include "timeline/palette.h"
#include "timeline/text.h"

namespace lacuna::gui {

namespace {

std::size_t rowsOf(const TableData& table) {
  if (table.empty()) return 0;
  return table[0].kind == TableColumn::Kind::Text ? table[0].texts.size() : table[0].numbers.size();
}

bool keeps(const TableData& table, std::size_t row, const QString& filter) {
  if (filter.isEmpty()) return true;
  return std::any_of(table.begin(), table.end(), [&](const TableColumn& column) {
    return column.kind == TableColumn::Kind::Text && column.texts[row].contains(filter, Qt::CaseInsensitive);
  });
}

std::vector<std::uint32_t> inOrder(const TableData& table, const QString& filter, int column, Qt::SortOrder order) {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < rowsOf(table); ++row) {
    if (keeps(table, row, filter)) rows.push_back(row);
  }
  if (column < 0) return rows;
  const TableColumn& by = table[static_cast<std::size_t>(column)];
  const bool up = order == Qt::AscendingOrder;
  std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (by.kind == TableColumn::Kind::Text) {
      const int compared = by.texts[a].compare(by.texts[b], Qt::CaseInsensitive);
      return up ? compared < 0 : compared > 0;
    }
    return up ? by.numbers[a] < by.numbers[b] : by.numbers[a] > by.numbers[b];
  });
  return rows;
}

}  // namespace

QString csvCell(QString text) {
  if (!text.contains(QLatin1Char(',')) && !text.contains(QLatin1Char('"')) && !text.contains(QLatin1Char('\n')))
    return text;
  return QLatin1Char('"') + text.replace(QLatin1Char('"'), QLatin1String("\"\"")) + QLatin1Char('"');
}

TableModel::TableModel(QObject* parent) : QAbstractTableModel(parent), table_(std::make_shared<TableData>()) {}

void TableModel::setTable(TableData table) {
  beginResetModel();
  table_ = std::make_shared<const TableData>(std::move(table));
  order_ = {};
  asGiven_ = true;
  known_ = std::min(rows(), kStretch);
  ++generation_;
  sortColumn_ = -1;
  endResetModel();
  if (!filter_.isEmpty()) arrange();
}

void TableModel::setFilter(const QString& text) {
  filter_ = text;
  arrange();
}

void TableModel::sort(int column, Qt::SortOrder order) {
  sortColumn_ = column < columnCount() ? column : -1;
  sortOrder_ = order;
  arrange();
}

void TableModel::arrange() {
  const int generation = ++generation_;
  if (filter_.isEmpty() && sortColumn_ < 0) {  // as given: nothing to work out, and a selection stays where that is so
    if (!asGiven_) {
      beginResetModel();
      order_ = {};
      asGiven_ = true;
      known_ = std::min(rows(), kStretch);
      endResetModel();
    }
    Q_EMIT arranged();
    return;
  }
  QThreadPool::globalInstance()->start([self = QPointer<TableModel>(this), table = table_, filter = filter_,
                                        column = sortColumn_, order = sortOrder_, generation] {
    auto rows = inOrder(*table, filter, column, order);
    QMetaObject::invokeMethod(qApp, [self, generation, rows = std::move(rows)]() mutable {
      if (!self || self->generation_ != generation) return;
      self->beginResetModel();
      self->order_ = std::move(rows);
      self->asGiven_ = false;
      self->known_ = std::min(self->rows(), kStretch);
      self->endResetModel();
      Q_EMIT self->arranged();
    });
  });
}

int TableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(known_);
}

std::size_t TableModel::rows() const {
  return asGiven_ ? rowsOf(*table_) : order_.size();
}

std::optional<int> TableModel::viewRow(std::size_t sourceRow) const {
  if (asGiven_) return sourceRow < rows() ? std::optional(static_cast<int>(sourceRow)) : std::nullopt;
  const auto at = std::find(order_.begin(), order_.end(), sourceRow);
  return at == order_.end() ? std::nullopt : std::optional(static_cast<int>(at - order_.begin()));
}

void TableModel::fetchUpTo(int row) {
  while (row >= rowCount() && canFetchMore({})) fetchMore({});
}

bool TableModel::canFetchMore(const QModelIndex& parent) const {
  return !parent.isValid() && known_ < rows();
}

void TableModel::fetchMore(const QModelIndex& parent) {
  if (!canFetchMore(parent)) return;
  const std::size_t more = std::min(kStretch, rows() - known_);
  beginInsertRows({}, static_cast<int>(known_), static_cast<int>(known_ + more) - 1);
  known_ += more;
  endInsertRows();
}

int TableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(table_->size());
}

QString TableModel::shown(std::size_t row, int column) const {
  const TableColumn& of = (*table_)[static_cast<std::size_t>(column)];
  if (of.kind != TableColumn::Kind::Text && !of.texts.empty() && !of.texts[row].isEmpty()) return of.texts[row];
  switch (of.kind) {
    case TableColumn::Kind::Text:
      return of.texts[row];
    case TableColumn::Kind::Duration:
      return QString::fromStdString(durationText(of.numbers[row]));
    case TableColumn::Kind::Bytes:
      return QString::fromStdString(bytesText(of.numbers[row]));
    case TableColumn::Kind::Count:
      return QString::number(of.numbers[row], 'f', 0);
    case TableColumn::Kind::Percent:
      return QString::fromStdString(percentText(of.numbers[row]));
  }
  return {};
}

QVariant TableModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount() || index.column() >= columnCount()) return {};
  const bool text = (*table_)[static_cast<std::size_t>(index.column())].kind == TableColumn::Kind::Text;
  if (role == Qt::DisplayRole || (role == Qt::ToolTipRole && text))
    return shown(sourceRow(index.row()), index.column());
  if (role == Qt::ToolTipRole || role == Qt::AccessibleDescriptionRole) {
    const auto& notes = (*table_)[static_cast<std::size_t>(index.column())].notes;
    return notes.empty() || notes[sourceRow(index.row())].isEmpty() ? QVariant() : notes[sourceRow(index.row())];
  }
  const auto& tones = (*table_)[static_cast<std::size_t>(index.column())].tones;
  if (role == Qt::ForegroundRole && !tones.empty()) {
    const auto tone = tones[sourceRow(index.row())];
    const Theme& t = theme(qApp->palette().color(QPalette::Window).lightness() < 128);
    if (tone != 0) return QColor::fromRgb(tone > 0 ? t.bad : t.good);
  }
  if (role == Qt::TextAlignmentRole && (!text || (*table_)[static_cast<std::size_t>(index.column())].right))
    return int(Qt::AlignRight | Qt::AlignVCenter);
  return {};
}

QVariant TableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section >= columnCount()) return {};
  const TableColumn& column = (*table_)[static_cast<std::size_t>(section)];
  if (role == Qt::DisplayRole) return column.title;
  if (role == Qt::TextAlignmentRole) {
    return int((column.kind == TableColumn::Kind::Text && !column.right ? Qt::AlignLeft : Qt::AlignRight) |
               Qt::AlignVCenter);
  }
  return {};
}

QString TableModel::csv() const {
  QString out;
  for (int column = 0; column < columnCount(); ++column) {
    out += (column ? QStringLiteral(",") : QString()) + csvCell((*table_)[static_cast<std::size_t>(column)].title);
  }
  out += QLatin1Char('\n');
  for (std::size_t n = 0; n < rows(); ++n) {
    const std::size_t row = sourceRow(static_cast<int>(n));
    for (int column = 0; column < columnCount(); ++column) {
      const TableColumn& of = (*table_)[static_cast<std::size_t>(column)];
      if (column > 0) out += QLatin1Char(',');
      out += of.kind == TableColumn::Kind::Text ? csvCell(of.texts[row]) : QString::number(of.numbers[row], 'g', 15);
    }
    out += QLatin1Char('\n');
  }
  return out;
}

}  // namespace lacuna::gui
