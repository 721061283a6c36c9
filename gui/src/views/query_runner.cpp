// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/query_runner.h"

#include <QElapsedTimer>
#include <QFile>
#include <QRegularExpression>
#include <QTimer>
#include <cerrno>
#include <chrono>
#include <filesystem>

#include "base/words.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/prof/place_file.h"
#include "views/parts.h"

namespace lacuna::gui {

using analyzer::QueryValue;

namespace {

/// The runner's messages end in "(at character 7)" where the place is known.
int positionIn(const QString& message) {
  static const QRegularExpression kPlace(QStringLiteral("at character (\\d+)"));
  const auto match = kPlace.match(message);
  return match.hasMatch() ? match.captured(1).toInt() - 1 : -1;
}

constexpr int kAgainMs = 20;

}  // namespace

/// The place that a link leads to; where it leads to nothing, writing there fails with a reason.
std::filesystem::path placeOf(const QString& path) {
  auto place = prof::behindLinks(path.toStdString());
  return place ? *std::move(place) : std::filesystem::path(path.toStdString());
}

/// Comma-separated values, first the names of the columns. The old content of the file stays until
/// all is written, and a link goes on leading there.
class CsvFile {
 public:
  explicit CsvFile(const QString& path)
      : path_(path),
        place_(placeOf(path)),
        unfinished_(prof::unfinishedName(place_)),
        file_(QString::fromStdString(unfinished_.string())) {
    attempt([&] { return file_.open(QIODevice::WriteOnly); });
  }
  ~CsvFile() {
    if (unfinished_ != place_ && (file_.isOpen() || !good_)) file_.remove();
  }
  CsvFile(const CsvFile&) = delete;
  CsvFile& operator=(const CsvFile&) = delete;
  void add(std::string_view text) {
    if (cells_++ > 0) line_ += ',';
    analyzer::appendCsvText(line_, text);
  }
  void add(const QueryValue& value) {
    if (value.kind == QueryValue::Kind::Text) return add(value.text);
    if (cells_++ > 0) line_ += ',';
    analyzer::appendCsvNumber(line_, value.text);
  }
  /// Answers false once something could not be written.
  bool endLine() {
    line_ += '\n';
    attempt([&] {
      return file_.write(line_.data(), static_cast<qint64>(line_.size())) ==
             static_cast<qint64>(line_.size());
    });
    line_.clear();
    cells_ = 0;
    ++lines_;
    return good_;
  }
  /// Nothing, or why it could not be written.
  QString finish() {
    attempt([&] { return file_.flush(); });
    attempt([&] {
      file_.close();
      return file_.error() == QFileDevice::NoError;
    });
    if (good_ && unfinished_ != place_) {
      const prof::Status placed = prof::placeFile(unfinished_, place_, prof::Existing::Replace);
      good_ = placed.ok();
      if (!good_) return words(placed.error().message);
    }
    return good_ ? QString() : QueryRunner::tr("%1 cannot be written: %2").arg(path_, why_);
  }
  [[nodiscard]] QString path() const { return path_; }
  [[nodiscard]] quint64 rows() const { return lines_ - 1; }

 private:
  /// Does what may fail, unless something has before.
  template <class Work>
  void attempt(Work work) {
    if (!good_) return;
    errno = 0;
    good_ = work();
    if (!good_) why_ = whyFailed(file_, errno);
  }

  QString path_;
  std::filesystem::path place_;
  std::filesystem::path
      unfinished_;  ///< what is written; the place itself where that is a pipe or a device
  QFile file_;
  std::string line_;
  int cells_ = 0;
  quint64 lines_ = 0;
  bool good_ = true;
  QString why_;  ///< it is not
};

QueryRunner::QueryRunner(QObject* parent) : QObject(parent) {}

QueryRunner::~QueryRunner() {
  join();
}

void QueryRunner::interrupt() {
  stop_ = true;
  const std::lock_guard lock(mutex_);
  if (running_) running_->interrupt();
}

void QueryRunner::cancel() {
  interrupt();
  // A statement that has not begun yet does not feel it.
  if (!ended_)
    QTimer::singleShot(kAgainMs, this, [this, generation = generation_] {
      if (generation == generation_ && stop_) cancel();
    });
}

void QueryRunner::join() {
  while (!ended_) {
    interrupt();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (thread_.joinable()) thread_.join();
  stop_ = false;
}

template <class Deliver>
void QueryRunner::post(int generation, Deliver deliver) {
  QMetaObject::invokeMethod(
      this,
      [this, generation, deliver = std::move(deliver)] {
        if (generation == generation_) deliver();
      },
      Qt::QueuedConnection);
}

void QueryRunner::report(int generation, const QString& message) {
  const bool stopped = stop_;
  post(generation, [this, message, stopped] {
    busy_ = false;
    stopped ? Q_EMIT cancelled() : Q_EMIT failed(message, positionIn(message));
  });
}

/// work(query, generation) answers an error's text, or nothing when it has reported its end itself.
template <class Work>
void QueryRunner::start(const TracePtr& trace, Work work) {
  join();
  busy_ = true;
  ended_ = false;
  const int generation = ++generation_;
  if (reported_ != trace) report_ = analyzer::reportTablesOf(trace->store);
  reported_ = trace;
  thread_ = std::thread([this, trace, generation, work] {
    analyzer::Query query(trace->store);
    query.add(report_);
    {
      const std::lock_guard lock(mutex_);
      running_ = &query;
    }
    const QString problem = work(query, generation);
    {
      const std::lock_guard lock(mutex_);
      running_ = nullptr;
    }
    ended_ = true;
    if (!problem.isNull()) report(generation, problem);
  });
}

void QueryRunner::run(const TracePtr& trace, const QString& sql) {
  start(trace, [this, sql, most = mostRows_](analyzer::Query& query, int generation) -> QString {
    QElapsedTimer clock;
    clock.start();
    std::shared_ptr<SqlChunk> chunk;
    std::uint64_t rows = 0;
    bool cut = false;
    int columns = 0;
    const auto fresh = [&] {
      chunk = std::make_shared<SqlChunk>();
      chunk->columns = columns;
    };
    // Rows on their way when the run is cancelled are wanted no more.
    const auto flush = [&] {
      post(generation, [this, full = std::shared_ptr<const SqlChunk>(chunk)] {
        if (!stop_) Q_EMIT rowsArrived(full);
      });
      fresh();
    };
    const prof::Status status = query.run(
        sql.toStdString(),
        [&](const std::vector<std::string>& names) {
          QStringList list;
          for (const std::string& name : names) list << QString::fromStdString(name);
          columns = static_cast<int>(list.size());
          fresh();
          post(generation, [this, list] {
            if (!stop_) Q_EMIT columnsKnown(list);
          });
        },
        [&](const std::vector<QueryValue>& values) {
          if (rows == most) {
            cut = true;
            return false;
          }
          for (const QueryValue& value : values)
            chunk->add(value.text, static_cast<SqlChunk::Kind>(value.kind));
          ++rows;
          if (chunk->rows() == SqlChunk::kRows) flush();
          return !stop_.load();
        });
    if (!status) return QString::fromStdString(status.error().message);
    if (stop_) return QStringLiteral("cancelled");
    if (chunk) flush();
    const double seconds = static_cast<double>(clock.nsecsElapsed()) * 1e-9;
    post(generation, [this, rows, seconds, cut] {
      busy_ = false;
      stop_ ? Q_EMIT cancelled() : Q_EMIT finished(rows, seconds, cut);
    });
    return {};
  });
}

void QueryRunner::exportCsv(const TracePtr& trace, const QString& sql, const QString& path) {
  start(trace, [this, sql, path](analyzer::Query& query, int generation) -> QString {
    CsvFile file(path);
    const prof::Status status = query.run(
        sql.toStdString(),
        [&](const std::vector<std::string>& names) {
          for (const std::string& name : names) file.add(name);
          file.endLine();
        },
        [&](const std::vector<QueryValue>& values) {
          for (const QueryValue& value : values) file.add(value);
          return file.endLine() && !stop_.load();
        });
    return status ? finish(file, generation) : QString::fromStdString(status.error().message);
  });
}

void QueryRunner::exportRows(const TracePtr& trace, const SqlRows& rows, const QString& path) {
  start(trace, [this, rows, path](analyzer::Query&, int generation) -> QString {
    CsvFile file(path);
    for (const QString& column : rows.columns) file.add(column.toStdString());
    bool goesOn = file.endLine();
    for (std::size_t row = 0; goesOn && row < rows.count(); ++row) {
      for (int column = 0; column < rows.columns.size(); ++column) {
        const SqlRows::Cell cell = rows.cell(row, column);
        file.add(QueryValue{static_cast<QueryValue::Kind>(cell.kind), cell.text});
      }
      goesOn = file.endLine() && !stop_.load();
    }
    return finish(file, generation);
  });
}

QString QueryRunner::finish(CsvFile& file, int generation) {
  if (stop_) return QStringLiteral("cancelled");
  const QString problem = file.finish();
  if (!problem.isNull()) return problem;
  post(generation, [this, rows = file.rows(), path = file.path()] {
    busy_ = false;
    Q_EMIT exported(rows, path);
  });
  return {};
}

}  // namespace lacuna::gui
