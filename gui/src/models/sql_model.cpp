// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "models/sql_model.h"

namespace lacuna::gui {

void SqlModel::begin(const QStringList& columns) {
  beginResetModel();
  columns_ = columns;
  chunks_.clear();
  rows_ = 0;
  endResetModel();
}

void SqlModel::append(std::shared_ptr<const SqlChunk> chunk) {
  const int more = static_cast<int>(chunk->rows());
  if (more == 0) return;
  beginInsertRows({}, rows_, rows_ + more - 1);
  chunks_.push_back(std::move(chunk));
  rows_ += more;
  endInsertRows();
}

int SqlModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : rows_;
}

int SqlModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(columns_.size());
}

QVariant SqlModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rows_ || index.column() >= columnCount()) return {};
  const auto row = static_cast<std::size_t>(index.row());
  const SqlChunk& chunk = *chunks_[row / SqlChunk::kRows];
  const std::size_t cell =
      row % SqlChunk::kRows * static_cast<std::size_t>(chunk.columns) + static_cast<std::size_t>(index.column());
  if (role == Qt::TextAlignmentRole && chunk.kinds[cell] == SqlChunk::Kind::Number) {
    return int(Qt::AlignRight | Qt::AlignVCenter);
  }
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  if (chunk.kinds[cell] == SqlChunk::Kind::Null) return role == Qt::DisplayRole ? tr("null") : QVariant();
  const std::string_view text = chunk.cell(cell);
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

QVariant SqlModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section >= columnCount()) return {};
  if (role == Qt::DisplayRole) return columns_[section];
  if (role == Qt::TextAlignmentRole) {
    const bool number = rows_ > 0 && chunks_[0]->kinds[static_cast<std::size_t>(section)] == SqlChunk::Kind::Number;
    return int((number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  return {};
}

}  // namespace lacuna::gui
