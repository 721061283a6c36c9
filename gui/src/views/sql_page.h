// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/desk.h"
#include "base/page.h"

class QComboBox;
class QLabel;
class QLayout;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;
class QTableView;
class QTreeWidget;

namespace lacuna::gui {

class QueryRunner;
class SqlModel;

/// SQL over the trace: the tables there are, a statement, its answer.
class SqlPage : public Page {
  Q_OBJECT

 public:
  explicit SqlPage(Desk& desk, QWidget* parent = nullptr);
  void setTrace(const TracePtr& trace) override;
  /// Statements see the additions from now on, an answer stays.
  void setGrown(const TracePtr& trace) override;
  void setDark(bool dark) override;
  void run();
  [[nodiscard]] QPlainTextEdit* editor() const { return editor_; }
  [[nodiscard]] QLineEdit* filter() const { return filter_; }
  [[nodiscard]] QTableView* table() const { return table_; }
  [[nodiscard]] bool busy() const override;
  [[nodiscard]] SqlModel* model() const { return model_; }
  [[nodiscard]] QueryRunner* runner() const { return runner_; }
  [[nodiscard]] QString status() const;
  /// The text that is shown where the table holds only the first rows of an answer; empty where it
  /// holds all.
  [[nodiscard]] QString notice() const;
  /// Asks for a file and writes the whole answer there, or the rows that are shown where they are
  /// sorted or filtered.
  void chooseExport();
  bool saveData() override;
  [[nodiscard]] std::vector<Command> commands() override;
  void exportTo(const QString& path);

 Q_SIGNALS:
  /// A run has ended, one way or another.
  void settled();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  QWidget* makeSide();
  QWidget* makeMain();
  QPlainTextEdit* makeEditor(QWidget* parent);
  QLayout* makeBar(QWidget* parent);
  QComboBox* makeExamples(QWidget* parent);
  void connectKeys();
  /// Those that have rows, or more rows than before; what is looked into stays open.
  void fillTables();
  void addReportTables(int place);
  void showStatus(const QString& words, bool error = false);
  /// The text before the first statement.
  static QString hint();
  void showFailure(const QString& message, int position);
  void setBusy(bool busy);
  void fitColumns();
  /// Writes the number of rows, and of those that are shown.
  void showRowCount();

  TracePtr trace_;
  bool fresh_ = true;
  QueryRunner* runner_;
  SqlModel* model_;
  QTreeWidget* tables_;
  QPlainTextEdit* editor_;
  struct Buttons {
    QPushButton* run = nullptr;
    QPushButton* cancel = nullptr;
    QPushButton* save = nullptr;
  };
  Buttons buttons_;
  QLabel* status_;
  QLabel* notice_;
  QTableView* table_;
  QLineEdit* filter_;
  QString answered_;     ///< "12 rows in 3 ms", once all are there
  bool fitted_ = false;  ///< the columns to what they hold
  class SqlColours* colours_;
};

}  // namespace lacuna::gui
