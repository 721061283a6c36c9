// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/top_tables.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QTableView>
#include <algorithm>
#include <utility>

#include "models/analysis_tables.h"
#include "views/parts.h"
#include "views/table_page.h"

namespace lacuna::gui {

namespace {

constexpr std::size_t kTopRows = 40;
constexpr int kTopHeight = 112;
constexpr std::size_t kCauses = 0;
constexpr std::size_t kKernels = 1;
constexpr std::size_t kOperators = 2;

/// As many columns as fit a third of the page (the name, how often, and what it costs), and rows.
void shorten(TableData& table, std::size_t n) {
  if (n == kKernels && table.size() > 4) table.resize(4);
  if (n == kOperators && table.size() > 4) table = {table[0], table[1], table[4]};
  for (TableColumn& column : table) {
    column.texts.resize(std::min(column.texts.size(), kTopRows));
    column.numbers.resize(std::min(column.numbers.size(), kTopRows));
    column.notes.resize(std::min(column.notes.size(), kTopRows));
  }
}

}  // namespace

TopTables::TopTables(QWidget* parent) : QObject(parent), row_(new QWidget(parent)) {
  auto* across = new QHBoxLayout(row_);
  across->setContentsMargins(0, 0, 0, 0);
  across->setSpacing(14);
  const QString titles[] = {tr("What the device waits for"), tr("Costliest kernels"),
                            tr("Costliest operators")};
  for (std::size_t n = 0; n < tops_.size(); ++n) {
    Top& top = tops_[n];
    top.model = new TableModel(this);
    top.table = makeTable(top.model, titles[n], row_);
    top.table->setMinimumHeight(kTopHeight);
    top.table->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Ignored);
    top.card = card(titles[n], top.table, row_);
    if (n != kCauses) across->addWidget(top.card, 1);
    connect(top.table, &QTableView::activated, this, [this, n](const QModelIndex& index) {
      activate(n, tops_[n].model->sourceRow(index.row()));
    });
  }
}

void TopTables::activate(std::size_t n, std::size_t row) {
  // A cause without an event goes by its own name, which nothing on the timeline has.
  if (n == kCauses && analysis_->of<analyzer::IdleCauses>().details[row].name.empty()) return;
  Q_EMIT nameWanted(tops_[n].model->table()[0].texts[row]);
}

void TopTables::setAnalysis(const AnalysisPtr& analysis) {
  analysis_ = analysis;
  fill(kCauses, analysis ? causeTable(*analysis) : TableData());
  fill(kKernels, analysis ? kernelTableOf(*analysis) : TableData());
  fill(kOperators, analysis ? operatorTableOf(*analysis, false) : TableData());
}

void TopTables::fill(std::size_t n, TableData table) {
  shorten(table, n);
  const Top& top = tops_[n];
  top.model->setTable(std::move(table));
  top.card->setVisible(top.model->rows() > 0);
  if (top.model->rows() == 0) return;
  for (int c = 1; c < top.model->columnCount(); ++c)
    top.table->setColumnWidth(c, c == 1 && n == kCauses ? 170 : 100);
  top.table->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
}

bool TopTables::hasOthers() const {
  return std::any_of(tops_.begin() + 1, tops_.end(),
                     [](const Top& top) { return top.model->rows() > 0; });
}

void TopTables::setLeastHeights() {
  for (const Top& top : tops_) top.card->setMinimumHeight(top.card->minimumSizeHint().height());
}

}  // namespace lacuna::gui
