// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/sql_page.h"

#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QShortcut>
#include <QSplitter>
#include <QSyntaxHighlighter>
#include <QTableView>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <vector>

#include "base/words.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/query.h"
#include "lacuna/prof/amounts.h"
#include "views/parts.h"
#include "views/query_runner.h"
#include "views/table_page.h"

namespace lacuna::gui {

namespace {

constexpr int kSideWidth = 270;
constexpr int kEditorLowest = 116;
constexpr int kEditorHighest = 320;
constexpr int kWidestColumn = 420;
constexpr int kFilterWidth = 180;

struct Example {
  const char* title;
  const char* sql;
};
constexpr Example kExamples[] = {
    {QT_TRANSLATE_NOOP("lacuna::gui::SqlPage", "Costliest kernels"),
     "SELECT name, count(*) AS calls, sum(durNs) AS total_ns\nFROM kernel GROUP BY name ORDER BY "
     "total_ns DESC"},
    {QT_TRANSLATE_NOOP("lacuna::gui::SqlPage", "Longest ranges"),
     "SELECT name, startNs, durNs, thread\nFROM range ORDER BY durNs DESC LIMIT 100"},
    {QT_TRANSLATE_NOOP("lacuna::gui::SqlPage", "Memory by operator"),
     "SELECT op, count(*) AS allocations, sum(bytes) AS bytes\nFROM allocation WHERE action = 0\n"
     "GROUP BY op ORDER BY bytes DESC"},
    {QT_TRANSLATE_NOOP("lacuna::gui::SqlPage", "Launch to start of each kernel"),
     "SELECT k.name, k.startNs - (c.startNs + c.durNs) AS delay_ns\nFROM api_call c JOIN kernel k "
     "ON k.correlation = c.correlation\nWHERE c.correlation > 0 ORDER BY delay_ns DESC LIMIT 1000"},
    {QT_TRANSLATE_NOOP("lacuna::gui::SqlPage", "Findings with their gains"),
     "SELECT id, title, predicted_gain_ns_per_step\nFROM report_findings ORDER BY "
     "predicted_gain_ns_per_step DESC"},
    {QT_TRANSLATE_NOOP("lacuna::gui::SqlPage", "What recorded it"),
     "SELECT key, value FROM environment ORDER BY key"},
};

}  // namespace

/// Words of SQL, numbers and texts in colours of their own.
class SqlColours : public QSyntaxHighlighter {
 public:
  using QSyntaxHighlighter::QSyntaxHighlighter;
  void setDark(bool dark) {
    dark_ = dark;
    rehighlight();
  }

 protected:
  void highlightBlock(const QString& text) override {
    static const QRegularExpression kWords(
        QStringLiteral("\\b(select|from|where|group|order|by|limit|join|left|on|as|and|or|not|in|"
                       "is|null|having|distinct|desc|asc|with|case|when|then|else|end|between|like|"
                       "union|all|count|sum|avg|min|max|over)\\b"),
        QRegularExpression::CaseInsensitiveOption);
    static const QRegularExpression kNumbers(QStringLiteral("\\b\\d[\\d.]*\\b"));
    static const QRegularExpression kTexts(QStringLiteral("'[^']*'?"));
    const auto mark = [&](const QRegularExpression& what, Colour colour) {
      for (auto it = what.globalMatch(text); it.hasNext();) {
        const auto match = it.next();
        setFormat(static_cast<int>(match.capturedStart()), static_cast<int>(match.capturedLength()),
                  rgb(colour));
      }
    };
    const Theme& t = theme(dark_);
    mark(kWords, t.accent);
    mark(kNumbers, t.warn);
    mark(kTexts, t.good);
  }

 private:
  bool dark_ = true;
};

SqlPage::SqlPage(Desk&, QWidget* parent)
    : Page(parent), runner_(new QueryRunner(this)), model_(new SqlModel(this)) {
  setObjectName(QStringLiteral("page"));
  auto* across = new QHBoxLayout(this);
  across->setContentsMargins(0, 0, 0, 0);
  auto* split = new QSplitter(Qt::Horizontal, this);
  split->setHandleWidth(1);
  split->addWidget(makeSide());
  split->addWidget(makeMain());
  split->setSizes({kSideWidth, 1600});
  split->setStretchFactor(1, 1);
  across->addWidget(split);
  connect(runner_, &QueryRunner::columnsKnown, model_, &SqlModel::begin);
  connect(runner_, &QueryRunner::columnsKnown, this, [this] {
    notice_->hide();
    notice_->clear();
    fitted_ = false;
    table_->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
  });
  connect(model_, &SqlModel::arranged, this, [this] {
    if (!fitted_) fitColumns();
    showRowCount();
  });
  connect(runner_, &QueryRunner::rowsArrived, this,
          [this](const std::shared_ptr<const SqlChunk>& chunk) {
            model_->append(chunk);
            if (!fitted_) fitColumns();
            showStatus(tr("%1 rows so far…").arg(words(prof::scaledCount(model_->rows().all))));
          });
  connect(runner_, &QueryRunner::finished, this, [this](quint64 rows, double seconds, bool cut) {
    setBusy(false);
    const QString time = durationWords(seconds * 1e9);
    answered_ = rows == 1 ? tr("1 row in %1").arg(time) : tr("%1 rows in %2").arg(rows).arg(time);
    showRowCount();
    notice_->setVisible(cut);
    notice_->setText(
        cut ? tr("The answer has more than these first %L1 rows, and the table holds no others. "
                 "“Export CSV…” writes all of them, as does:  lacuna query --csv %2 \"…\"")
                  .arg(rows)
                  .arg(QFileInfo(trace_->path).fileName())
            : QString());
    Q_EMIT settled();
  });
  connect(runner_, &QueryRunner::failed, this, &SqlPage::showFailure);
  connect(runner_, &QueryRunner::cancelled, this, [this] {
    setBusy(false);
    answered_ = tr("Cancelled after %1 rows").arg(model_->rows().all);
    showRowCount();
    Q_EMIT settled();
  });
  connect(runner_, &QueryRunner::exported, this, [this](quint64 rows, const QString& path) {
    setBusy(false);
    showStatus(rows == 1 ? tr("1 row written to %1").arg(path)
                         : tr("%1 rows written to %2").arg(rows).arg(path));
    Q_EMIT settled();
  });
  setSubject(editor_);
  setBusy(false);
}

QWidget* SqlPage::makeSide() {
  auto* side = new QWidget(this);
  auto* column = new QVBoxLayout(side);
  column->setContentsMargins(14, 18, 10, 12);
  column->setSpacing(8);
  auto* heading = new QLabel(tr("Tables"), side);
  heading->setObjectName(QStringLiteral("heading"));
  tables_ = new QTreeWidget(side);
  tables_->setHeaderHidden(true);
  tables_->setColumnCount(2);
  tables_->header()->setStretchLastSection(false);
  tables_->setAccessibleName(tr("Tables and their columns"));
  column->addWidget(heading);
  column->addWidget(tables_, 1);
  connect(tables_, &QTreeWidget::itemActivated, this, [this](QTreeWidgetItem* item) {
    if (item->parent()) {
      editor_->insertPlainText(item->text(0));
    } else {
      editor_->setPlainText(QStringLiteral("SELECT * FROM %1 LIMIT 1000").arg(item->text(0)));
      run();
    }
  });
  return side;
}

QWidget* SqlPage::makeMain() {
  auto* main = new QWidget(this);
  auto* down = new QVBoxLayout(main);
  down->setContentsMargins(18, 18, 24, 14);
  down->setSpacing(10);
  down->addWidget(makeEditor(main), 1);
  down->addLayout(makeBar(main));
  table_ = makeTable(model_, tr("Answer"), main);
  table_->horizontalHeader()->setSortIndicatorClearable(
      true);  // the third click: as the answer came
  table_->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
  table_->setSortingEnabled(true);
  notice_ = new QLabel(main);
  notice_->setObjectName(QStringLiteral("notice"));
  notice_->setWordWrap(true);
  notice_->setTextFormat(Qt::PlainText);
  notice_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  notice_->hide();
  down->addWidget(notice_);
  down->addWidget(table_, 6);
  connectKeys();
  return main;
}

QPlainTextEdit* SqlPage::makeEditor(QWidget* parent) {
  editor_ = new QPlainTextEdit(parent);
  editor_->setMinimumHeight(kEditorLowest);
  editor_->setMaximumHeight(kEditorHighest);
  editor_->setTabChangesFocus(true);
  editor_->setAccessibleName(tr("SQL statement"));
  editor_->setPlainText(QString::fromLatin1(kExamples[0].sql));
  colours_ = new SqlColours(editor_->document());
  return editor_;
}

QLayout* SqlPage::makeBar(QWidget* parent) {
  auto* bar = new QHBoxLayout;
  buttons_ = {new QPushButton(tr("Run"), parent), new QPushButton(tr("Cancel"), parent),
              new QPushButton(tr("Export CSV…"), parent)};
  buttons_.run->setObjectName(QStringLiteral("primary"));
  buttons_.run->setToolTip(tr("Ctrl+Enter"));
  connect(buttons_.run, &QPushButton::clicked, this, &SqlPage::run);
  connect(buttons_.cancel, &QPushButton::clicked, runner_, &QueryRunner::cancel);
  connect(buttons_.save, &QPushButton::clicked, this, &SqlPage::chooseExport);
  QComboBox* examples = makeExamples(parent);
  status_ = new QLabel(hint(), parent);
  status_->setObjectName(QStringLiteral("dim"));
  status_->setTextFormat(Qt::PlainText);
  status_->setWordWrap(true);
  status_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  filter_ = textField(tr("Filter"), parent);
  filter_->setAccessibleName(tr("Filter rows"));
  filter_->setFixedWidth(kFilterWidth);
  connect(filter_, &QLineEdit::textChanged, model_, &SqlModel::setFilter);
  for (QWidget* part : std::initializer_list<QWidget*>{buttons_.run, buttons_.cancel, examples})
    bar->addWidget(part);
  bar->addSpacing(8);
  bar->addWidget(status_, 1);
  bar->addWidget(filter_);
  bar->addWidget(buttons_.save);
  return bar;
}

QComboBox* SqlPage::makeExamples(QWidget* parent) {
  auto* examples = new QComboBox(parent);
  examples->setAccessibleName(tr("Examples"));
  examples->addItem(tr("Examples ▾"));
  for (const Example& example : kExamples)
    examples->addItem(tr(example.title), QString::fromLatin1(example.sql));
  connect(examples, &QComboBox::activated, this, [this, examples](int index) {
    if (index == 0) return;
    editor_->setPlainText(examples->itemData(index).toString());
    examples->setCurrentIndex(0);
    run();
  });
  return examples;
}

void SqlPage::connectKeys() {
  for (const auto key : {Qt::CTRL | Qt::Key_Return, Qt::CTRL | Qt::Key_Enter}) {
    connect(new QShortcut(key, this, nullptr, nullptr, Qt::WidgetWithChildrenShortcut),
            &QShortcut::activated, this, &SqlPage::run);
  }
  connect(new QShortcut(Qt::Key_Escape, this, nullptr, nullptr, Qt::WidgetWithChildrenShortcut),
          &QShortcut::activated, runner_, &QueryRunner::cancel);
}

QString SqlPage::hint() {
  return tr("Ctrl+Enter runs the statement. Double-click a table to look into it.");
}

QString SqlPage::notice() const {
  return notice_->text();
}

void SqlPage::setTrace(const TracePtr& trace) {
  runner_->cancel();
  trace_ = trace;
  model_->begin({});
  // No message about the trace before holds for this one.
  answered_.clear();
  notice_->hide();
  notice_->clear();
  editor_->setExtraSelections({});
  if (!runner_->busy()) showStatus(hint());
  tables_->clear();
  fillTables();
}

void SqlPage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  // A newcomer sees what an answer looks like.
  if (fresh_ && trace_) run();
}

void SqlPage::setGrown(const TracePtr& trace) {
  trace_ = trace;
  fillTables();
}

void SqlPage::setDark(bool dark) {
  colours_->setDark(dark);
}

void SqlPage::fillTables() {
  if (!trace_) return;
  const auto all = prof::allTables();
  int place = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint64_t rows = trace_->store->rows(i);
    if (rows == 0) continue;
    QTreeWidgetItem* table = tables_->topLevelItem(place);
    if (table == nullptr || table->text(0) != words(all[i].name)) {
      table = new QTreeWidgetItem(QStringList{words(all[i].name)});
      table->setTextAlignment(1, Qt::AlignRight | Qt::AlignVCenter);
      for (std::size_t c = 0; c < all[i].columnCount; ++c) {
        auto* column = new QTreeWidgetItem(table, {words(all[i].columns[c].name)});
        column->setToolTip(0, words(all[i].columns[c].doc));
      }
      tables_->insertTopLevelItem(place, table);
    }
    table->setText(1, words(prof::scaledCount(rows)));
    table->setToolTip(1, tr("%1 rows").arg(rows));
    ++place;
  }
  addReportTables(place);
  tables_->header()->setSectionResizeMode(0, QHeaderView::Stretch);
  tables_->header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
}

/// After the trace's own tables; there are `place` of them.
void SqlPage::addReportTables(int place) {
  if (tables_->topLevelItemCount() > place) return;
  for (const analyzer::Table& report : analyzer::reportTables({})) {
    auto* table = new QTreeWidgetItem(tables_, {words(analyzer::sqlNameOf(report))});
    table->setFirstColumnSpanned(true);
    table->setToolTip(0, tr("%1\nComputed when a statement first reads a table of the report.")
                             .arg(words(report.about)));
    for (const analyzer::ColumnInfo& info : report.columns) {
      auto* column = new QTreeWidgetItem(table, {words(info.key)});
      column->setToolTip(0, words(info.meaning));
    }
  }
}

void SqlPage::setBusy(bool busy) {
  buttons_.run->setEnabled(!busy);
  buttons_.cancel->setEnabled(busy);
  buttons_.save->setEnabled(!busy);
}

void SqlPage::showStatus(const QString& what, bool error) {
  status_->setObjectName(error ? QStringLiteral("error") : QStringLiteral("dim"));
  status_->setStyleSheet(QStringLiteral(" "));  // the name decides the colour: look it up anew
  status_->setText(what);
}

void SqlPage::showRowCount() {
  if (answered_.isEmpty() || runner_->busy()) return;
  showStatus(model_->filter().isEmpty()
                 ? answered_
                 : tr("%1, %2 shown").arg(answered_).arg(model_->rows().count()));
}

bool SqlPage::busy() const {
  return runner_->busy() || model_->busy();
}

QString SqlPage::status() const {
  return status_->text();
}

void SqlPage::run() {
  if (!trace_) return;
  fresh_ = false;
  answered_.clear();
  model_->begin({});
  editor_->setExtraSelections({});
  setBusy(true);
  showStatus(tr("Running…"));
  runner_->run(trace_, editor_->toPlainText());
}

void SqlPage::showFailure(const QString& message, int position) {
  setBusy(false);
  showStatus(message, true);
  if (position >= 0) {
    QTextEdit::ExtraSelection wrong;
    wrong.cursor = editor_->textCursor();
    wrong.cursor.setPosition(
        std::min<int>(position, static_cast<int>(editor_->toPlainText().size())));
    wrong.cursor.movePosition(QTextCursor::EndOfWord, QTextCursor::KeepAnchor);
    wrong.format.setUnderlineStyle(QTextCharFormat::WaveUnderline);
    wrong.format.setUnderlineColor(palette().color(QPalette::Highlight));
    wrong.format.setBackground(QColor(240, 118, 106, 60));
    editor_->setExtraSelections({wrong});
  }
  Q_EMIT settled();
}

void SqlPage::fitColumns() {
  fitted_ = model_->rowCount() > 0;
  if (!fitted_) return;
  table_->resizeColumnsToContents();
  std::vector<int> wanted;
  int room = table_->viewport()->width();
  for (int column = 0; column < model_->columnCount(); ++column) {
    wanted.push_back(table_->columnWidth(column) + 16);
    room -= std::min(kWidestColumn, wanted.back());
  }
  // The room that is left over goes to long names.
  for (int column = 0; column < model_->columnCount(); ++column) {
    const int width = wanted[static_cast<std::size_t>(column)];
    const int more = std::clamp(width - kWidestColumn, 0, std::max(0, room));
    room -= more;
    table_->setColumnWidth(column, std::min(kWidestColumn, width) + more);
  }
}

void SqlPage::chooseExport() {
  if (!trace_) return;
  const QString path = QFileDialog::getSaveFileName(
      this,
      model_->isArranged() ? tr("Export the rows that are shown") : tr("Export the whole answer"),
      {}, tr("Comma-separated values (*.csv)"));
  if (!path.isEmpty()) exportTo(path);
}

bool SqlPage::saveData() {
  chooseExport();
  return true;
}

std::vector<Command> SqlPage::commands() {
  return {{.text = tr("SQL: run the statement\tCtrl+Enter"), .act = [this] { run(); }}};
}

void SqlPage::exportTo(const QString& path) {
  if (const QString problem = whyProtected(path); !problem.isEmpty()) return showStatus(problem);
  setBusy(true);
  showStatus(tr("Writing…"));
  if (model_->isArranged()) return runner_->exportRows(trace_, model_->rows(), path);
  runner_->exportCsv(trace_, editor_->toPlainText(), path);
}

}  // namespace lacuna::gui
