// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QStringList>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "base/trace.h"
#include "lacuna/analyzer/query.h"
#include "models/sql_model.h"

namespace lacuna::gui {

/// Runs SQL on a thread of its own, one statement at a time. Signals arrive on the thread that the
/// runner lives on. After cancel() only the end of that run may still come: cancelled(), or
/// failed() or exported() where the run was over.
class QueryRunner : public QObject {
  Q_OBJECT

 public:
  /// Rows beyond this are left out of a table; exporting has no limit.
  static constexpr std::uint64_t kMostRows = 2'000'000;
  /// A smaller limit, to see what happens at it.
  void setMostRows(std::uint64_t rows) { mostRows_ = rows; }

  explicit QueryRunner(QObject* parent = nullptr);
  ~QueryRunner() override;

  void run(const TracePtr& trace, const QString& sql);
  /// Writes the whole answer as comma-separated values.
  void exportCsv(const TracePtr& trace, const QString& sql, const QString& path);
  /// Writes rows of an answer that has come.
  void exportRows(const TracePtr& trace, const SqlRows& rows, const QString& path);
  void cancel();
  [[nodiscard]] bool busy() const { return busy_; }

 Q_SIGNALS:
  void columnsKnown(const QStringList& columns);
  void rowsArrived(const std::shared_ptr<const lacuna::gui::SqlChunk>& chunk);
  /// `cut` when there was more than that.
  void finished(quint64 rows, double seconds, bool cut);
  void exported(quint64 rows, const QString& path);
  /// `position` is the character of the statement that is to blame, from 0, or -1.
  void failed(const QString& message, int position);
  void cancelled();

 private:
  template <class Work>
  void start(const TracePtr& trace, Work work);
  template <class Deliver>
  void post(int generation, Deliver deliver);
  /// Answers an error's text, or nothing when the end is reported.
  QString finish(class CsvFile& file, int generation);
  void interrupt();
  void join();
  void report(int generation, const QString& message);

  std::thread thread_;
  std::mutex mutex_;
  analyzer::Query* running_ = nullptr;  // guarded by mutex_
  std::atomic<bool> stop_ = false;
  std::atomic<bool> ended_ = true;  ///< the thread has nothing to do any more but to report it
  std::uint64_t mostRows_ = kMostRows;
  TracePtr reported_;              ///< the trace that report_ is of
  analyzer::ReportTables report_;  ///< analysed once, for all queries over the trace
  bool busy_ = false;
  int generation_ = 0;
};

}  // namespace lacuna::gui
