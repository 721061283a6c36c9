// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <QAbstractItemModelTester>
#include <QAction>
#include <QApplication>
#include <QBuffer>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QHeaderView>
#include <QImage>
#include <QLabel>
#include <QLineEdit>
#include <QMimeData>
#include <QPainter>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSlider>
#include <QStatusBar>
#include <QSvgGenerator>
#include <QSvgRenderer>
#include <QTableView>
#include <QTemporaryDir>
#include <QThreadPool>
#include <QTreeWidget>
#include <QXmlStreamReader>
#include <cerrno>
#include <random>

#include "analyses/loader/loader.h"
#include "analyses/work/kernels.h"
#include "app/live_follower.h"
#include "gui/recording.h"
#include "gui/window_fixture.h"
#include "lacuna/analyzer/charts.h"
#include "lacuna/analyzer/diff.h"
#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/links.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/prof/amounts.h"
#include "lacuna/prof/writer.h"
#include "models/sql_model.h"
#include "models/table_model.h"
#include "support/small_files.h"
#include "timeline/text.h"
#include "views/change_controls.h"
#include "views/charts.h"
#include "views/compare_page.h"
#include "views/flame_page.h"
#include "views/flame_view.h"
#include "views/histogram_view.h"
#include "views/kernels_page.h"
#include "views/label_painter.h"
#include "views/memory_chart.h"
#include "views/memory_page.h"
#include "views/minimap.h"
#include "views/overview_page.h"
#include "views/parts.h"
#include "views/query_runner.h"
#include "views/shapes.h"
#include "views/sql_page.h"
#include "views/start_pages.h"
#include "views/step_drawing.h"
#include "views/steps_page.h"
#include "views/table_page.h"
#include "views/timeline_metrics.h"
#include "views/timeline_page.h"
#include "views/treemap_view.h"

using namespace lacuna;       // NOLINT
using namespace lacuna::gui;  // NOLINT

/// The pages after the timeline, each on a trace made by hand.
class PagesTest : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<MainWindow> window_;
  QTemporaryDir folder_;
  [[nodiscard]] TimelineView* view() const { return window_->pageOf<TimelinePage>()->view(); }

  void show(const char* page) { QVERIFY(gui::testing::showSettled(*window_, page)); }
  QString saved(const std::shared_ptr<const analyzer::Store>& store, const char* name) {
    const QString path = folder_.filePath(QString::fromLatin1(name));
    return analyzer::exportTrace(*store, path.toStdString(), analyzer::Format::Lcn) ? path
                                                                                    : QString();
  }
  void runSql(const QString& sql) {
    QSignalSpy settled(window_->pageOf<SqlPage>(), &SqlPage::settled);
    window_->pageOf<SqlPage>()->editor()->setPlainText(sql);
    window_->pageOf<SqlPage>()->run();
    QVERIFY(settled.wait(kPatienceMs));
  }
  /// Opens a file that is being written, and waits until it is watched.
  void follow(const QString& path) {
    window_->loader()->setOpener(&analyzer::Store::open);
    QVERIFY(gui::testing::openAnalysed(*window_, path));
    QTRY_VERIFY(window_->live()->watching());
  }
  void grow(gui::testing::Recording& recording, int steps) {
    recording.steps(steps);
    QSignalSpy grew(window_.get(), &MainWindow::traceGrew);
    window_->live()->check();
    QVERIFY(grew.count() > 0 || grew.wait(kPatienceMs));
  }
  static QString text(const QAbstractItemModel& model, int row, int column) {
    return model.index(row, column).data().toString();
  }

 private Q_SLOTS:
  void init() {
    gui::testing::failOnWarnings();
    window_ = gui::testing::makeWindow();
    QVERIFY(QTest::qWaitForWindowExposed(window_.get(), kPatienceMs));
    QVERIFY(gui::testing::openSample(*window_));
  }
  void cleanup() { window_.reset(); }

  void flameBarsAreAsWideAsTheirTime() {
    show("flame");
    const FlameView* flame = window_->pageOf<FlamePage>()->view();
    const auto graph = *analyzer::flameGraph(*window_->trace()->store);
    const QRectF all = flame->barOf(0);
    QVERIFY(all.width() > 500);
    for (std::uint32_t n = 1; n < graph.nodes.size(); ++n) {
      const QRectF bar = flame->barOf(n);
      const double share =
          static_cast<double>(graph.nodes[n].totalNs) / static_cast<double>(graph.nodes[0].totalNs);
      if (!bar.isNull()) QVERIFY(std::abs(bar.width() - share * all.width()) < 1);
    }
  }

  void flameZoomsByMouseAndKeys() {
    show("flame");
    FlameView* flame = window_->pageOf<FlamePage>()->view();
    const std::uint32_t thread = 1;
    QTest::mouseClick(flame->viewport(), Qt::LeftButton, {},
                      flame->barOf(thread).center().toPoint());
    QCOMPARE(flame->focused(), thread);
    QCOMPARE(flame->barOf(thread).width(), flame->barOf(0).width());
    QVERIFY(flame->accessibleDescription().contains(QStringLiteral("% of all")));
    QTest::keyClick(flame, Qt::Key_Down);
    QVERIFY(*flame->selected() != thread);
    QTest::keyClick(flame, Qt::Key_Backspace);
    QCOMPARE(flame->focused(), 0U);
  }

  void flameKeysKeepTheSelectionInSight() {
    FlameView small;
    small.setGraph(window_->trace(), std::make_shared<const analyzer::FlameGraph>(
                                         *analyzer::flameGraph(*window_->trace()->store)));
    small.resize(600, 70);
    small.show();
    QVERIFY(QTest::qWaitForWindowExposed(&small, kPatienceMs));
    const auto isSeen = [&](std::uint32_t node) {
      const QRectF bar = small.barOf(node);
      return !bar.isNull() && bar.top() >= 0 && bar.bottom() <= small.viewport()->height();
    };
    QTest::keyClick(&small, Qt::Key_Left);
    QVERIFY(!small.selected());
    for (int level = 0; level < 4; ++level) {
      QTest::keyClick(&small, Qt::Key_Down);
      QVERIFY(small.selected() && isSeen(*small.selected()));
    }
    const std::uint32_t deepest = *small.selected();
    QTest::keyClick(&small, Qt::Key_Return);
    QCOMPARE(small.focused(), deepest);
    QVERIFY(isSeen(deepest));
    QTest::keyClick(&small, Qt::Key_Right);
    QVERIFY(*small.selected() != deepest && isSeen(*small.selected()));
    QTest::keyClick(&small, Qt::Key_Home);
    QVERIFY(isSeen(0));
  }

  void threadsOfOneNameStaySelectedInTheFlameGraph() {
    analyzer::StoreBuilder alike;
    for (std::uint32_t n = 1; n <= 3; ++n) {
      alike.append(prof::Thread{.id = prof::ThreadId(n), .name = alike.intern("loader")});
      alike.append(
          prof::Range{.durNs = 50'000, .thread = prof::ThreadId(n), .name = alike.intern("fetch")});
    }
    const auto store = alike.build();
    const auto graph = std::make_shared<const analyzer::FlameGraph>(*analyzer::flameGraph(*store));
    const TracePtr trace =
        makeTrace(QStringLiteral("alike.lcn"), store, *analyzer::buildTracks(*store), 0);
    FlameView flame;
    flame.setGraph(trace, graph);
    const auto& threads = graph->nodes[0].children;
    QCOMPARE(threads.size(), std::size_t{3});
    for (const std::uint32_t thread : threads) {
      flame.select(thread);
      flame.focusOn(thread);
      flame.setGraph(trace, graph);  // as when more of it has come
      QCOMPARE(flame.selected(), std::optional(thread));
      QCOMPARE(flame.focused(), thread);
    }
  }

  void flameOfAStretchCountsItAlone() {
    const auto whole = analyzer::flameGraph(*window_->trace()->store)->nodes[0].totalNs;
    view()->setArea(prof::TimeWindow{1'010'000'000, 1'020'000'000});
    show("flame");
    const QString facts = window_->pageOf<FlamePage>()->view()->describe(0);
    QVERIFY(!facts.isEmpty());
    const auto part = analyzer::flameGraph(*window_->trace()->store, {1'010'000'000, 1'020'000'000})
                          ->nodes[0]
                          .totalNs;
    QVERIFY(part < whole);
    QVERIFY(facts.contains(QString::fromStdString(prof::timeText(part))));
  }

  void stacksAreExportedAsTheAnalyzerDoes() {
    show("flame");
    const QString path = folder_.filePath(QStringLiteral("stacks.folded"));
    QVERIFY(window_->pageOf<FlamePage>()->exportFolded(path));
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadOnly));
    std::int64_t sum = 0;
    for (const QByteArray& line : file.readAll().trimmed().split('\n'))
      sum += line.split(' ').last().toLongLong();
    std::int64_t self = 0;
    const auto graph = *analyzer::flameGraph(*window_->trace()->store);
    for (const auto& node : graph.nodes) self += node.selfNs;
    QCOMPARE(sum, self);
    file.seek(0);
    const auto stacks = file.readAll().count('\n');
    QCOMPARE(window_->statusBar()->currentMessage(),
             QStringLiteral("%1 stacks written to %2").arg(stacks).arg(path));
    QVERIFY(!window_->pageOf<FlamePage>()->exportFolded(QStringLiteral("/nowhere/stacks.folded")));
    const QString message = window_->statusBar()->currentMessage();
    QVERIFY2(message.startsWith(QStringLiteral("/nowhere/stacks.folded: cannot be written: ")),
             qPrintable(message));
  }

  void stacksThatAreNotThereAreNotExported() {
    const QString path = folder_.filePath(QStringLiteral("none.folded"));
    QVERIFY(!window_->pageOf<FlamePage>()->exportFolded(path));  // of a page that nobody has opened
    QCOMPARE(window_->statusBar()->currentMessage(),
             QStringLiteral("There are no stacks to export"));
    QVERIFY(!QFileInfo::exists(path));
  }

  void stepsThatAreOneBarAreCountedAndFoundTogether() {
    show("flame");
    FlameView* flame = window_->pageOf<FlamePage>()->view();
    const auto graph = *analyzer::flameGraph(*window_->trace()->store);
    const auto step = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                   [](const auto& n) { return n.mergesSteps; });
    QVERIFY(step != graph.nodes.end());
    const auto node = static_cast<std::uint32_t>(step - graph.nodes.begin());
    QCOMPARE(flame->nameOf(node), QStringLiteral("step"));
    QCOMPARE(flame->labelOf(node), QStringLiteral("step ×6"));
    const QString path = folder_.filePath(QStringLiteral("steps.folded"));
    QVERIFY(window_->pageOf<FlamePage>()->exportFolded(path));
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QByteArray stacks = file.readAll();
    QVERIFY(stacks.contains("main;step;forward") && !stacks.contains("step 0"));
    const QPoint at = flame->barOf(node).center().toPoint();
    QTest::mouseClick(flame->viewport(), Qt::LeftButton, {}, at);
    QTest::mouseDClick(flame->viewport(), Qt::LeftButton, {}, at);
    QCOMPARE(window_->page(), QStringLiteral("timeline"));
    QTRY_VERIFY(
        window_->pageOf<TimelinePage>()->searchResult().startsWith(QStringLiteral("6 events")));
    QTRY_VERIFY(!window_->busy());
  }

  void threadsOfSeveralProcessesAreDistinguished() {
    window_->loader()->setOpener([](const auto&, const auto&) {
      analyzer::StoreBuilder trace;
      for (std::uint32_t n : {1U, 2U}) {
        trace.append(prof::Process{
            .id = prof::ProcessId(n), .osPid = 10 + n, .rank = static_cast<std::int32_t>(n) - 1});
        trace.append(prof::Thread{
            .id = prof::ThreadId(n), .process = prof::ProcessId(n), .name = trace.intern("main")});
      }
      for (std::uint32_t n : {1U, 2U})
        trace.append(
            prof::Range{.durNs = 50'000, .thread = prof::ThreadId(n), .name = trace.intern("x")});
      return prof::Result<std::shared_ptr<const analyzer::Store>>(trace.build());
    });
    QVERIFY(gui::testing::openAnalysed(*window_, QStringLiteral("ranks.lcn")));
    show("flame");
    FlameView* flame = window_->pageOf<FlamePage>()->view();
    QSet<QString> names;
    const auto graph = *analyzer::flameGraph(*window_->trace()->store);
    for (const std::uint32_t thread : graph.nodes[0].children) names << flame->nameOf(thread);
    QCOMPARE(names,
             QSet<QString>({QStringLiteral("main · rank 0"), QStringLiteral("main · rank 1")}));
  }

  void sqlAnswersAreShown() {
    QAbstractItemModelTester tester(window_->pageOf<SqlPage>()->model(),
                                    QAbstractItemModelTester::FailureReportingMode::QtTest);
    runSql(QStringLiteral("SELECT name, count(*) AS n FROM kernel GROUP BY name ORDER BY name"));
    const SqlModel& model = *window_->pageOf<SqlPage>()->model();
    QCOMPARE(model.rowCount(), 4);
    QCOMPARE(model.headerData(1, Qt::Horizontal, Qt::DisplayRole).toString(), QStringLiteral("n"));
    QCOMPARE(text(model, 0, 1), QStringLiteral("12"));
    QVERIFY(window_->pageOf<SqlPage>()->status().startsWith(QStringLiteral("4 rows")));
  }

  void sqlReadsTheTablesOfTheReport() {
    const auto* tables = window_->pageOf<SqlPage>()->findChild<QTreeWidget*>();
    const auto found = tables->findItems(QStringLiteral("report_kernels"), Qt::MatchExactly);
    QCOMPARE(found.size(), 1);
    QVERIFY(found[0]->childCount() > 3 && !found[0]->toolTip(0).isEmpty());
    for (int times = 0; times < 2; ++times) {
      runSql(QStringLiteral("SELECT name, count FROM report_kernels"));
      const auto& rows = window_->findings().analysis->of<analyzer::KernelTable>();
      QCOMPARE(window_->pageOf<SqlPage>()->model()->rows().all, rows.size());
      QCOMPARE(window_->pageOf<SqlPage>()->model()->index(0, 0).data().toString(),
               QString::fromStdString(rows[0].name));
    }
  }

  void sqlMistakesAreShownWithTheirPlace() {
    const QString sql = QStringLiteral("SELECT name FROM kernel WHERE nome = 1");
    runSql(sql);
    QVERIFY(window_->pageOf<SqlPage>()->status().contains(QStringLiteral("no such column")));
    const auto marks = window_->pageOf<SqlPage>()->editor()->extraSelections();
    QCOMPARE(marks.size(), 1);
    QCOMPARE(marks[0].cursor.selectedText(), QStringLiteral("nome"));
    runSql(QStringLiteral("SELECT * FROM kernels"));
    QVERIFY(window_->pageOf<SqlPage>()->status().contains(QStringLiteral("tables with rows")));
  }

  void longQueriesAnswerInPiecesAndCanBeCancelled() {
    runSql(
        QStringLiteral("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
                       "20000) SELECT i FROM n"));
    const SqlModel& model = *window_->pageOf<SqlPage>()->model();
    QCOMPARE(model.rowCount(), 20000);
    QCOMPARE(text(model, 19'999, 0), QStringLiteral("20000"));
    QSignalSpy settled(window_->pageOf<SqlPage>(), &SqlPage::settled);
    window_->pageOf<SqlPage>()->editor()->setPlainText(QStringLiteral(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"));
    window_->pageOf<SqlPage>()->run();
    QTest::qWait(20);
    QVERIFY(window_->pageOf<SqlPage>()->runner()->busy());
    window_->pageOf<SqlPage>()->runner()->cancel();
    QVERIFY(settled.wait(kPatienceMs));
    QVERIFY(window_->pageOf<SqlPage>()->status().startsWith(QStringLiteral("Cancelled")));
  }

  void noPartOfAnAnswerIsKeptForTheNextTrace() {
    const QString before = window_->pageOf<SqlPage>()->status();
    window_->pageOf<SqlPage>()->runner()->setMostRows(7);
    runSql(QStringLiteral("SELECT name FROM kernel"));
    QVERIFY(window_->pageOf<SqlPage>()->status().startsWith(QStringLiteral("7 rows")) &&
            !window_->pageOf<SqlPage>()->notice().isEmpty());
    QVERIFY(gui::testing::openSample(*window_));
    QCOMPARE(window_->pageOf<SqlPage>()->status(), before);
    QVERIFY(window_->pageOf<SqlPage>()->notice().isEmpty());
    runSql(QStringLiteral("SELECT nome FROM kernel"));
    QVERIFY(!window_->pageOf<SqlPage>()->editor()->extraSelections().isEmpty());
    QVERIFY(gui::testing::openSample(*window_));
    QCOMPARE(window_->pageOf<SqlPage>()->status(), before);
    QVERIFY(window_->pageOf<SqlPage>()->editor()->extraSelections().isEmpty());
  }

  void rowsThatAreOnTheirWayAreNotShownOfTheNextTrace() {
    SqlPage* sql = window_->pageOf<SqlPage>();
    QObject here;
    int arrived = 0;
    connect(sql->runner(), &QueryRunner::rowsArrived, &here, [&] {
      if (arrived++ > 0) return;
      QTest::qSleep(50);  // for more of them to come
      sql->setTrace(window_->trace());
    });
    runSql(
        QStringLiteral("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
                       "50000) SELECT i FROM n"));
    QCOMPARE(arrived, 1);
    QCOMPARE(sql->model()->rows().all, std::size_t{0});
    QVERIFY2(sql->status().startsWith(QStringLiteral("Cancelled")), qPrintable(sql->status()));
  }

  void sqlAnswersAreSortedAndFiltered() {
    show("sql");
    SqlModel* model = window_->pageOf<SqlPage>()->model();
    QAbstractItemModelTester tester(model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    runSql(
        QStringLiteral("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
                       "20000) SELECT i, 'name ' || (i % 7) AS name, CASE i % 5 WHEN 0 THEN NULL "
                       "WHEN 1 THEN 'text' ELSE 4611686018427387904 - i END AS big FROM n"));
    QTableView* table = window_->pageOf<SqlPage>()->table();
    table->setFocus();
    table->setCurrentIndex(model->index(0, 0));
    QTest::keyClick(table, Qt::Key_Down, Qt::AltModifier);
    QCOMPARE(text(*model, 0, 0),
             QStringLiteral("1"));  // the order comes when it is ready, not while the key waits
    QTRY_COMPARE(text(*model, 0, 0), QStringLiteral("20000"));
    QTest::keyClicks(window_->pageOf<SqlPage>()->filter(), QStringLiteral("NAME 3"));
    QTRY_COMPARE(model->rows().count(), std::size_t{2857});
    QTRY_VERIFY(!model->busy());
    QCOMPARE(text(*model, 0, 0), QStringLiteral("19995"));
    QVERIFY(window_->pageOf<SqlPage>()->status().endsWith(QStringLiteral("2857 shown")));
    QTest::mouseClick(table->horizontalHeader()->viewport(), Qt::LeftButton, {},
                      QPoint(table->columnViewportPosition(2) + 8, 8));
    QTRY_COMPARE(text(*model, 0, 2), QStringLiteral("null"));
    QTRY_VERIFY(!model->busy());
    QCOMPARE(text(*model, 2856, 2), QStringLiteral("text"));
    // Two that differ by less than a double can distinguish.
    window_->pageOf<SqlPage>()->filter()->setText(QStringLiteral("461168601842738"));
    QTRY_VERIFY(!model->busy());
    QCOMPARE(text(*model, 0, 0), QStringLiteral("7904"));
    QCOMPARE(text(*model, 1, 0), QStringLiteral("7903"));
    window_->pageOf<SqlPage>()->filter()->clear();
    table->sortByColumn(-1, Qt::AscendingOrder);
    QTRY_COMPARE(text(*model, 0, 0), QStringLiteral("1"));
  }

  void rowsThatComeLaterAreSortedAndFilteredToo() {
    SqlModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    const auto chunk = [](int first, std::size_t rows) {
      auto out = std::make_shared<SqlChunk>();
      out->columns = 1;
      for (std::size_t i = 0; i < rows; ++i)
        out->add(std::to_string(first + static_cast<int>(i)), SqlChunk::Kind::Number);
      return out;
    };
    model.setFilter(QStringLiteral("9"));
    model.begin({QStringLiteral("n")});
    model.append(chunk(0, SqlChunk::kRows));
    model.sort(0, Qt::DescendingOrder);
    model.append(chunk(SqlChunk::kRows, 10));
    QTRY_VERIFY(!model.busy());
    QCOMPARE(text(model, 0, 0), QStringLiteral("4099"));
    for (int row = 0; row < model.rowCount(); ++row)
      QVERIFY(text(model, row, 0).contains(QLatin1Char('9')));
    model.setFilter({});
    QTRY_COMPARE(model.rows().count(), SqlChunk::kRows + 10);
    QTRY_COMPARE(text(model, 0, 0), QStringLiteral("4105"));
  }

  void theRowsThatAreShownAreExported() {
    runSql(QStringLiteral(
        "SELECT 1 AS n, 'a,b' AS t UNION ALL SELECT 2, NULL UNION ALL SELECT 10, 'ab'"));
    SqlModel* model = window_->pageOf<SqlPage>()->model();
    model->sort(0, Qt::DescendingOrder);
    window_->pageOf<SqlPage>()->filter()->setText(QStringLiteral("a"));
    QTRY_VERIFY(!model->busy());
    QSignalSpy done(window_->pageOf<SqlPage>()->runner(), &QueryRunner::exported);
    const QString path = folder_.filePath(QStringLiteral("shown.csv"));
    window_->pageOf<SqlPage>()->exportTo(path);
    QVERIFY(done.wait(kPatienceMs));
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadOnly));
    QCOMPARE(file.readAll(), QByteArray("n,t\n10,ab\n1,\"a,b\"\n"));
    QCOMPARE(done[0][0].toULongLong(), 2ULL);
  }

  void anAnswerThatIsCutIsMarked() {
    const QString sql = QStringLiteral(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20) SELECT i "
        "FROM n");
    window_->pageOf<SqlPage>()->runner()->setMostRows(20);
    runSql(sql);
    QCOMPARE(window_->pageOf<SqlPage>()->model()->rowCount(), 20);
    QVERIFY2(window_->pageOf<SqlPage>()->notice().isEmpty(), "all of it is there");
    window_->pageOf<SqlPage>()->runner()->setMostRows(7);
    runSql(sql);
    QCOMPARE(window_->pageOf<SqlPage>()->model()->rowCount(), 7);
    QVERIFY(window_->pageOf<SqlPage>()->notice().contains(
        QStringLiteral("lacuna query --csv run.lcn")));
    QSignalSpy done(window_->pageOf<SqlPage>()->runner(), &QueryRunner::exported);
    window_->pageOf<SqlPage>()->runner()->exportCsv(window_->trace(), sql,
                                                    folder_.filePath(QStringLiteral("all.csv")));
    QVERIFY(done.wait(kPatienceMs));
    QCOMPARE(done[0][0].toULongLong(), 20ULL);
  }

  void aLargeWindowListsTheCostliest() {
    window_->resize(1920, 1200);
    show("overview");
    auto tables = window_->pageOf<OverviewPage>()->findChildren<QTableView*>();
    QCOMPARE(tables.size(), 3);
    for (QTableView* table : tables) {
      if (table->model()->rowCount() == 0) continue;
      QVERIFY(table->isVisible());
      QAbstractItemModelTester tester(table->model(),
                                      QAbstractItemModelTester::FailureReportingMode::QtTest);
    }
    QTableView* kernels = tables[1];
    QCOMPARE(
        text(*kernels->model(), 0, 0),
        QString::fromStdString(window_->findings().analysis->of<analyzer::KernelTable>()[0].name));
    kernels->setFocus();
    kernels->selectRow(0);
    QTest::keyClick(kernels, Qt::Key_Return);
    QCOMPARE(window_->page(), QStringLiteral("timeline"));
    window_->resize(1280, 800);
    show("overview");
    QVERIFY(!kernels->isVisible());
  }

  void onlyCausesWithAnEventAreSearchedFromTheOverview() {
    Findings found = window_->findings();
    auto analysis = std::make_shared<analyzer::Analysis>(*found.analysis);
    analysis->of<analyzer::IdleCauses>().details = {
        {.cause = analyzer::Cause::Launch, .name = {}, .ns = 5'000'000, .count = 3},
        {.cause = analyzer::Cause::HostWork, .name = "conv2d", .ns = 1'000'000, .count = 2}};
    found.analysis = analysis;
    show("overview");
    window_->pageOf<OverviewPage>()->setFindings(found);
    QTableView* causes = window_->pageOf<OverviewPage>()->findChildren<QTableView*>().value(0);
    QVERIFY(causes != nullptr);
    QCOMPARE(causes->model()->rowCount(), 2);
    Q_EMIT causes->activated(causes->model()->index(0, 0));
    QCOMPARE(window_->page(), QStringLiteral("overview"));
    Q_EMIT causes->activated(causes->model()->index(1, 0));
    QCOMPARE(window_->page(), QStringLiteral("timeline"));
    QCOMPARE(window_->pageOf<TimelinePage>()->search()->text(), QStringLiteral("conv2d"));
    QTRY_VERIFY(!window_->busy());
  }

  void listsOfTheCostliestAreNeverCrushed() {
    for (int height = 640; height <= 1200; height += 40) {
      window_->resize(1440, height);
      show("overview");
      for (QTableView* table : window_->pageOf<OverviewPage>()->findChildren<QTableView*>()) {
        if (!table->isVisible()) continue;
        QVERIFY2(table->height() >= table->minimumHeight(), qPrintable(QString::number(height)));
        QVERIFY2(table->geometry().bottom() < table->parentWidget()->height(),
                 qPrintable(QString::number(height)));
      }
    }
  }

  void theLegendOfStepsNamesWhatIsSeenAndFitsASmallWindow() {
    auto analysis = std::make_shared<analyzer::Analysis>(*window_->findings().analysis);
    analysis->ledgers.run.ns.fill(1'000'000);
    Desk desk;
    StepsPage page(desk);
    page.setTrace(window_->trace());
    page.setFindings({analysis, nullptr, {}});
    QVERIFY2(page.minimumSizeHint().width() < 1000,
             qPrintable(QString::number(page.minimumSizeHint().width())));
    // A step of the warm-up may have what is next to nothing in the whole run.
    const auto rare = analyzer::Cause::Synchronisation;
    analysis->ledgers.run.ns.fill(1'000'000'000);
    analysis->ledgers.run.ns[static_cast<std::size_t>(rare)] = 1000;
    for (analyzer::Ledger& step : analysis->ledgers.steps)
      step.ns[static_cast<std::size_t>(rare)] = 0;
    const auto isNamed = [&] {
      const auto labels = page.findChildren<QLabel*>();
      return std::any_of(labels.begin(), labels.end(), [&](const QLabel* label) {
        return label->text().contains(QString::fromUtf8(analyzer::causeLabel(rare).data()));
      });
    };
    page.setFindings({analysis, nullptr, {}});
    QVERIFY(!isNamed());
    QVERIFY(!analysis->ledgers.steps.empty());
    analysis->ledgers.steps[0].ns[static_cast<std::size_t>(rare)] =
        1000 + analysis->ledgers.steps[0].totalNs();
    page.setFindings({analysis, nullptr, {}});
    QVERIFY(isNamed());
  }

  void theAxisOfStepsIsSeenBesideManyFindings() {
    Findings many = window_->findings();
    auto analysis = std::make_shared<analyzer::Analysis>(*many.analysis);
    QVERIFY(!analysis->of<analyzer::Findings>().empty());
    const analyzer::Finding one = analysis->of<analyzer::Findings>().front();
    analysis->of<analyzer::Findings>().assign(12, one);
    many.analysis = analysis;
    window_->resize(1920, 1000);
    show("overview");
    OverviewPage* overview = window_->pageOf<OverviewPage>();
    overview->setFindings(many);
    auto* chart = overview->findChild<StepChart*>();
    QVERIFY(chart != nullptr);
    const auto bottom = [&] { return chart->mapTo(overview, QPoint(0, chart->height())).y(); };
    QTRY_VERIFY2(bottom() <= overview->height(), qPrintable(QString::number(bottom())));
    QTRY_VERIFY(!window_->busy());
  }

  void theScaleOfStepsLeavesOutWhatIsUnusual() {
    const auto scaleOf = [](std::initializer_list<std::int64_t> lengths) {
      analyzer::Steps steps;
      for (const std::int64_t ns : lengths) steps.all.emplace_back().endNs = ns;
      return stepScale(steps);
    };
    QCOMPARE(scaleOf({100, 90, 110, 900}), 110);
    QCOMPARE(scaleOf({9'290'000, 50'000}), 9'290'000);
    QCOMPARE(scaleOf({7}), 7);
  }

  void answersAreExportedComplete() {
    QSignalSpy done(window_->pageOf<SqlPage>()->runner(), &QueryRunner::exported);
    const QString path = folder_.filePath(QStringLiteral("answer.csv"));
    window_->pageOf<SqlPage>()->runner()->exportCsv(
        window_->trace(), QStringLiteral("SELECT 'a,\"b' AS odd, 1 AS n"), path);
    QVERIFY(done.wait(kPatienceMs));
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadOnly));
    QCOMPARE(file.readAll(), QByteArray("odd,n\n\"a,\"\"b\",1\n"));
    QSignalSpy failed(window_->pageOf<SqlPage>()->runner(), &QueryRunner::failed);
    window_->pageOf<SqlPage>()->runner()->exportCsv(window_->trace(), QStringLiteral("SELECT 1"),
                                                    QStringLiteral("/nowhere/x.csv"));
    QVERIFY(failed.wait(kPatienceMs));
  }

  void aSecondTraceIsComparedWithTheFirst() {
    const QString second = saved(gui::testing::sampleTrace(9), "second.lcn");
    QVERIFY(!second.isEmpty());
    QSignalSpy compared(window_->pageOf<ComparePage>(), &ComparePage::compared);
    window_->pageOf<ComparePage>()->openSecond(second);
    QVERIFY(compared.wait(kPatienceMs));
    QCOMPARE(window_->pageOf<ComparePage>()->before().get(), window_->findings().analysis.get());
    const auto rows = analyzer::compareKernels(*window_->pageOf<ComparePage>()->before(),
                                               *window_->pageOf<ComparePage>()->after());
    const TableModel& kernels = *window_->pageOf<ComparePage>()->table(3)->model();
    QCOMPARE(kernels.rowCount(), static_cast<int>(rows.size()));
    for (std::size_t i = 0; i < rows.size(); ++i)
      QCOMPARE(kernels.table()[2].numbers[i], rows[i].before);
    window_->pageOf<ComparePage>()->swap();
    QCOMPARE(window_->pageOf<ComparePage>()->after().get(), window_->findings().analysis.get());
  }

  void onlyNamesOfEventsAreSearchedFromAComparison() {
    const QString second = saved(gui::testing::sampleTrace(9), "second.lcn");
    QSignalSpy compared(window_->pageOf<ComparePage>(), &ComparePage::compared);
    window_->pageOf<ComparePage>()->openSecond(second);
    QVERIFY(compared.wait(kPatienceMs));
    show("compare");
    const auto activate = [&](int n) {
      QTableView* table = window_->pageOf<ComparePage>()->table(n)->table();
      Q_EMIT table->activated(table->model()->index(0, 0));
    };
    for (const int figures : {0, 1}) {
      activate(figures);
      QCOMPARE(window_->page(), QStringLiteral("compare"));
    }
    activate(3);
    QCOMPARE(window_->page(), QStringLiteral("timeline"));
    QTRY_VERIFY(!window_->busy());
  }

  void longNamesOfFilesDoNotWidenTheComparison() {
    const QString name = QStringLiteral("a").repeated(150) + QStringLiteral(".lcn");
    const QString second = saved(gui::testing::sampleTrace(9), qPrintable(name));
    QVERIFY(!second.isEmpty());
    QSignalSpy compared(window_->pageOf<ComparePage>(), &ComparePage::compared);
    window_->pageOf<ComparePage>()->openSecond(second);
    QVERIFY(compared.wait(kPatienceMs));
    QVERIFY2(
        window_->pageOf<ComparePage>()->minimumSizeHint().width() < 1000,
        qPrintable(QString::number(window_->pageOf<ComparePage>()->minimumSizeHint().width())));
    const auto labels = window_->pageOf<ComparePage>()->findChildren<QLabel*>();
    QVERIFY(std::any_of(labels.begin(), labels.end(),
                        [&](const QLabel* label) { return label->toolTip() == name; }));
  }

  void openingASecondTraceShowsProgress() {
    const QString second = saved(gui::testing::sampleTrace(9), "second.lcn");
    auto* bar = window_->pageOf<ComparePage>()->findChild<QProgressBar*>();
    QSignalSpy moved(bar, &QProgressBar::valueChanged);
    QSignalSpy compared(window_->pageOf<ComparePage>(), &ComparePage::compared);
    window_->showPage(QStringLiteral("compare"));
    window_->pageOf<ComparePage>()->openSecond(second);
    QVERIFY(bar->isVisible());
    // Searching, sorting and following are not kept from the threads that they share.
    QTRY_COMPARE(QThreadPool::globalInstance()->activeThreadCount(), 0);
    QVERIFY(compared.count() > 0 || compared.wait(kPatienceMs));
    QVERIFY(!bar->isVisible());
    QVERIFY(moved.count() > 5);
    QCOMPARE(moved.last()[0].toInt(), 1000);
  }

  void aSecondTraceCanBeCalledOff() {
    const QString second = saved(gui::testing::sampleTrace(9), "second.lcn");
    QSignalSpy compared(window_->pageOf<ComparePage>(), &ComparePage::compared);
    window_->showPage(QStringLiteral("compare"));
    window_->pageOf<ComparePage>()->openSecond(second);
    auto* cancel = window_->pageOf<ComparePage>()->findChild<LoadingPage*>()->cancelButton();
    QVERIFY(cancel->isVisible());
    QTest::mouseClick(cancel, Qt::LeftButton);
    QVERIFY(!cancel->isVisible());
    window_->pageOf<ComparePage>()->openSecond(second);
    QVERIFY(compared.wait(kPatienceMs));
    const auto kept = window_->pageOf<ComparePage>()->after();
    window_->pageOf<ComparePage>()->openSecond(second);  // another one
    QVERIFY(cancel->isVisible());
    QCOMPARE(cancel->shortcut(), QKeySequence(Qt::Key_Escape));
    cancel->click();
    QVERIFY(!cancel->isVisible());
    QCOMPARE(window_->pageOf<ComparePage>()->after(), kept);
    QCOMPARE(compared.count(), 2);  // shown, and shown again
  }

  void theEmptyComparisonCutsNoText() {
    show("compare");
    const auto hint = [&]() -> QLabel* {
      for (QLabel* text : window_->pageOf<ComparePage>()->findChildren<QLabel*>()) {
        if (text->text() == window_->pageOf<ComparePage>()->problem()) return text;
      }
      return nullptr;
    };
    const auto whole = [&] { return hint()->height() >= hint()->heightForWidth(hint()->width()); };
    QVERIFY(hint() != nullptr && hint()->isVisible());
    QVERIFY2(hint()->heightForWidth(hint()->width()) > 1.5 * hint()->fontMetrics().height(),
             "it is longer than a line");
    QVERIFY(whole());
    QSignalSpy failed(window_->pageOf<ComparePage>(), &ComparePage::failed);
    window_->pageOf<ComparePage>()->openSecond(
        folder_.filePath(QStringLiteral("missing ").repeated(40)));
    QVERIFY(failed.wait(kPatienceMs));
    QTRY_VERIFY(whole());
  }

  void aSecondTraceThatIsBrokenGetsAReason() {
    QFile file(folder_.filePath(QStringLiteral("broken.lcn")));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("no trace");
    file.close();
    QSignalSpy failed(window_->pageOf<ComparePage>(), &ComparePage::failed);
    window_->pageOf<ComparePage>()->openSecond(file.fileName());
    QVERIFY(failed.wait(kPatienceMs));
    QVERIFY(window_->pageOf<ComparePage>()->problem().size() > 20);
  }

  void stepsAreListedAndLeadToTheTimeline() {
    show("steps");
    StepStack* stack = window_->pageOf<StepsPage>()->stack();
    stack->setFocus();
    QTest::keyClick(stack, Qt::Key_Down);
    QTest::keyClick(stack, Qt::Key_Down);
    QCOMPARE(*stack->selected(), std::size_t{1});
    QTest::keyClick(stack, Qt::Key_End);
    QCOMPARE(*stack->selected(), std::size_t{5});
    QTest::keyClick(stack, Qt::Key_Home);
    QCOMPARE(*stack->selected(), std::size_t{0});
    stack->setOrder(StepStack::Order::LongestFirst);
    const auto& steps = window_->findings().analysis->steps.all;
    for (std::size_t row = 1; row < steps.size(); ++row) {
      QVERIFY(steps[stack->stepOfRow(row - 1)].durNs() >= steps[stack->stepOfRow(row)].durNs());
    }
    stack->select(2);
    QTest::keyClick(stack, Qt::Key_Return);
    QVERIFY(view()->isVisible());
    QVERIFY(view()->viewport().startNs() <= steps[2].startNs &&
            view()->viewport().endNs() >= steps[2].endNs);
  }

  void keysOnTheMemoryCurveKeepTheCursorInSight() {
    show("memory");
    MemoryChart* chart = window_->pageOf<MemoryPage>()->chart();
    const prof::TimeNs start = window_->trace()->tracks->span.startNs;
    const auto inSight = [&] {
      const prof::TimeNs at = chart->cursorMark().value_or(0);
      return at >= chart->viewport().startNs() && at < chart->viewport().endNs();
    };
    chart->setCursorMark(start + 1'000'000);
    for (int n = 0; n < 6; ++n) QTest::keyClick(chart, Qt::Key_W);
    QVERIFY(inSight());
    for (int n = 0; n < 40; ++n) {
      QTest::keyClick(chart, Qt::Key_Right);
      QVERIFY(inSight());
    }
    QVERIFY(*chart->cursorMark() > start + 2 * chart->viewport().spanNs());
    QTRY_VERIFY(!window_->busy());
  }

  void keysPassAllocationsOfOneMomentTogether() {
    analyzer::StoreBuilder trace;
    trace.append(prof::Process{.id = prof::ProcessId(1)});
    trace.append(prof::Thread{.id = prof::ThreadId(1), .process = prof::ProcessId(1)});
    trace.append(
        prof::Range{.durNs = 90'000, .thread = prof::ThreadId(1), .name = trace.intern("step")});
    std::uint64_t address = 0;
    for (const prof::TimeNs at : {10'000, 20'000, 20'000, 20'000, 30'000}) {
      trace.append(prof::Allocation{.timeNs = at,
                                    .thread = prof::ThreadId(1),
                                    .action = prof::MemoryAction::Allocate,
                                    .address = ++address,
                                    .bytes = 1 << 20});
    }
    const auto store = trace.build();
    MemoryChart chart;
    chart.setTrace(makeTrace(QStringLiteral("many.lcn"), store, *analyzer::buildTracks(*store), 0));
    chart.show();
    QVERIFY(QTest::qWaitForWindowExposed(&chart, kPatienceMs));
    chart.setCursorMark(35'000);
    QVERIFY2(chart.accessibleDescription().startsWith(QStringLiteral("5.00 MiB at ")),
             qPrintable(chart.accessibleDescription()));
    for (const prof::TimeNs at : {30'000, 20'000, 10'000, 10'000}) {
      QTest::keyClick(&chart, Qt::Key_Left);
      QCOMPARE(chart.cursorMark(), std::optional<prof::TimeNs>(at));
    }
    QTest::keyClick(&chart, Qt::Key_Right);
    QCOMPARE(chart.cursorMark(), std::optional<prof::TimeNs>(20'000));
    QVERIFY(chart.accessibleDescription().startsWith(QStringLiteral("4.00 MiB at ")));
    QTest::keyClick(&chart, Qt::Key_Right);
    QCOMPARE(chart.cursorMark(), std::optional<prof::TimeNs>(30'000));
  }

  void theMemoryCursorIsTheTimelines() {
    show("memory");
    MemoryPage* memory = window_->pageOf<MemoryPage>();
    const auto& stats = window_->findings().analysis->of<analyzer::MemoryTables>().all;
    QTRY_VERIFY(memory->moment() != nullptr);
    QCOMPARE(memory->moment()->bytes, stats.peakBytes);
    QCOMPARE(memory->live()->model()->rowCount(), static_cast<int>(stats.live.size()));
    QSignalSpy shown(memory, &MemoryPage::momentShown);
    QTest::mouseClick(memory->chart(), Qt::LeftButton, {}, QPoint(300, 80));
    QVERIFY(shown.wait(kPatienceMs));
    QVERIFY(view()->cursorMark() == memory->chart()->cursorMark());
    show("timeline");
    QTest::mouseClick(view(), Qt::LeftButton, {}, QPoint(600, view()->height() - 8));
    QTRY_COMPARE(memory->chart()->cursorMark(), view()->cursorMark());
  }

  void whatLowersThePeakStandsOutAndLeadsToTheTimeline() {
    show("memory");
    MemoryPage* memory = window_->pageOf<MemoryPage>();
    QVERIFY(memory->showTab(QStringLiteral("edits")));
    QVERIFY(!memory->showTab(QStringLiteral("none")));
    QAbstractItemModelTester tester(memory->edits()->model(),
                                    QAbstractItemModelTester::FailureReportingMode::QtTest);
    const auto& edits = window_->findings().analysis->of<analyzer::PeakEdits>();
    QVERIFY(!edits.empty());
    QCOMPARE(memory->edits()->model()->rows(), edits.size());
    QTRY_VERIFY(memory->moment() != nullptr);
    memory->setCursorMark(1'001'000'000);
    QTRY_VERIFY(memory->moment()->timeNs == 1'001'000'000);
    memory->edits()->showSourceRow(0);
    const prof::TimeNs peak =
        window_->findings().analysis->of<analyzer::MemoryTables>().all.peakAtNs;
    QTRY_COMPARE(memory->moment()->timeNs, peak);
    QCOMPARE(view()->cursorMark(), std::optional(peak));
    const auto& live = memory->moment()->live;
    QTRY_COMPARE(memory->map()->marked().size(), live.size());
    std::uint64_t bytes = 0;
    std::uint64_t blocks = 0;
    for (std::size_t n = 0; n < live.size(); ++n) {
      bytes += memory->map()->marked()[n] ? live[n].tensor.bytes : 0;
      blocks += memory->map()->marked()[n];
    }
    QCOMPARE(bytes, edits[0].bytes);
    QCOMPARE(blocks, edits[0].count);
    QCOMPARE(memory->chart()->foreseen()->bytes, edits[0].peakAfterBytes);
    QCOMPARE(memory->chart()->foreseen()->alive.size(), blocks);
    memory->edits()->table()->setFocus();
    QTest::keyClick(memory->edits()->table(), Qt::Key_Return);
    QCOMPARE(window_->page(), QStringLiteral("timeline"));
    QCOMPARE(view()->highlights().size(), blocks);
    show("memory");
    QVERIFY(memory->showTab(QStringLiteral("alive")));
    QVERIFY(memory->map()->marked().empty() && !memory->chart()->foreseen());
  }

  void memoryIsThatOfOneDevice() {
    window_->loader()->setOpener(
        [](const auto&, const auto&) { return prof::Result(gui::testing::sampleTrace(6, 2)); });
    QVERIFY(gui::testing::openAnalysed(*window_, QStringLiteral("two.lcn")));
    show("memory");
    MemoryPage* memory = window_->pageOf<MemoryPage>();
    const auto& stats = window_->findings().analysis->of<analyzer::MemoryTables>().byDevice;
    QCOMPARE(memory->devices()->count(), 2);
    QVERIFY(memory->devices()->isVisible());
    QCOMPARE(memory->devices()->currentText(),
             QStringLiteral("cuda:1 · Other"));  // has the highest peak
    constexpr std::uint64_t kHeld = 200 << 20;
    QCOMPARE(memory->moment()->bytes, kHeld);
    QCOMPARE(memory->chart()->highest(), static_cast<double>(kHeld));
    QVERIFY(memory->peakEdits().empty());
    memory->devices()->setFocus();
    QTest::keyClick(memory->devices(), Qt::Key_Up);
    QTRY_VERIFY(!memory->busy());
    QCOMPARE(memory->devices()->currentText(), QStringLiteral("cuda:0"));
    QCOMPARE(memory->moment()->bytes, stats[0].peakBytes);
    QCOMPARE(memory->moment()->timeNs, stats[0].peakAtNs);
    QCOMPARE(memory->chart()->highest(), static_cast<double>(stats[0].peakBytes));
    for (const analyzer::LiveBlock& block : memory->moment()->live)
      QCOMPARE(block.device, prof::DeviceId(1));
    QVERIFY(!memory->peakEdits().empty());
    QCOMPARE(memory->edits()->model()->rows(), memory->peakEdits().size());
    for (const auto& edit : memory->peakEdits())
      QCOMPARE(edit.peakAfterBytes, stats[0].peakBytes - edit.bytes);
  }

  void theTreemapShowsEveryLargeBlock() {
    show("memory");
    QTRY_VERIFY(window_->pageOf<MemoryPage>()->moment() != nullptr);
    QCOMPARE(window_->pageOf<MemoryPage>()->map()->shown(),
             window_->pageOf<MemoryPage>()->moment()->live.size());
  }

  void theTreemapOfManyBlocksNamesWhatMadeThem() {
    analyzer::StoreBuilder trace;
    trace.append(prof::Process{.id = prof::ProcessId(1)});
    trace.append(prof::Thread{.id = prof::ThreadId(1), .process = prof::ProcessId(1)});
    constexpr std::size_t kBlocks = 12'000;
    trace.append(prof::Range{
        .durNs = 2 * kBlocks, .thread = prof::ThreadId(1), .name = trace.intern("step")});
    for (std::uint64_t n = 0; n < kBlocks; ++n) {
      trace.append(prof::Allocation{.timeNs = static_cast<prof::TimeNs>(n),
                                    .thread = prof::ThreadId(1),
                                    .action = prof::MemoryAction::Allocate,
                                    .role = prof::MemoryRole::Activation,
                                    .address = n + 1,
                                    .bytes = 3 << 20,
                                    .op = trace.intern(n % 3 ? "conv2d" : "relu")});
    }
    const auto many = trace.build();
    window_->loader()->setOpener([many](const auto&, const auto&) { return prof::Result(many); });
    QVERIFY(gui::testing::openAnalysed(*window_, QStringLiteral("many.lcn")));
    show("memory");
    TreemapView* map = window_->pageOf<MemoryPage>()->map();
    QTRY_COMPARE(window_->pageOf<MemoryPage>()->moment()->live.size(), kBlocks);
    QStringList described;
    std::size_t blocks = 0;
    for (const MapTile& tile : map->tiles()) {
      if (tile.kind != MapTile::Kind::Role && tile.kind != MapTile::Kind::Origin)
        blocks += tile.count;
      described << map->describe(tile);
    }
    QCOMPARE(blocks, kBlocks);
    QVERIFY2(described.contains(QStringLiteral(
                 "conv2d, activation: 8,000 blocks, 23.4 GiB, the largest 3.00 MiB")),
             qPrintable(described.join(QLatin1Char('\n'))));
    QVERIFY(map->accessibleDescription().contains(QStringLiteral("12,000 blocks")));
    // A click shows the largest of them in the list.
    QSignalSpy clicked(map, &TreemapView::blockClicked);
    QTest::mouseClick(map, Qt::LeftButton, {}, map->rect().center());
    QCOMPARE(clicked.count(), 1);
    QVERIFY(window_->pageOf<MemoryPage>()->live()->table()->currentIndex().isValid());
  }

  void memoryOfNoKnownRoleIsCalledThat() {
    analyzer::StoreBuilder trace;
    trace.append(prof::Process{.id = prof::ProcessId(1)});
    trace.append(prof::Thread{.id = prof::ThreadId(1), .process = prof::ProcessId(1)});
    trace.append(
        prof::Range{.durNs = 100, .thread = prof::ThreadId(1), .name = trace.intern("step")});
    trace.append(prof::Allocation{.timeNs = 10,
                                  .thread = prof::ThreadId(1),
                                  .action = prof::MemoryAction::Allocate,
                                  .address = 1,
                                  .bytes = 3 << 20,
                                  .op = trace.intern("conv2d")});
    const auto store = trace.build();
    window_->loader()->setOpener([store](const auto&, const auto&) { return prof::Result(store); });
    QVERIFY(gui::testing::openAnalysed(*window_, QStringLiteral("roleless.lcn")));
    show("memory");
    QTRY_VERIFY(window_->pageOf<MemoryPage>()->moment() != nullptr);
    const TreemapView* map = window_->pageOf<MemoryPage>()->map();
    QCOMPARE(map->accessibleDescription(),
             QStringLiteral("3.00 MiB in 1 block: not known 3.00 MiB (1)"));
    QVERIFY(!map->tiles().empty());
    QCOMPARE(map->describe(map->tiles().front()), QStringLiteral("not known: 1 block, 3.00 MiB"));
    QCOMPARE(window_->pageOf<MemoryPage>()->live()->model()->table()[2].texts.front(),
             QStringLiteral("not known"));
  }

  void theLedgerStripShowsTheCauses() {
    show("timeline");
    QVERIFY(view()->ledgers() != nullptr);
    const auto row = std::find_if(view()->rows().begin(), view()->rows().end(),
                                  [](const Row& r) { return r.kind == Row::Kind::Ledger; });
    QVERIFY(row != view()->rows().end());
    const QRect rect = view()->rowRect(static_cast<std::size_t>(row - view()->rows().begin()));
    view()->setViewport(view()->viewport().showing(
        {1'020'000'000, 1'023'000'000}));  // the device waits for the loader
    const QImage picture = view()->grab().toImage();
    QCOMPARE(picture.pixel(view()->headerWidth() + view()->canvasWidth() / 2, rect.center().y()),
             causeColour(analyzer::Cause::LoaderWait, true));
  }

  void whatIsFoundLiesInTheTraceThatIsShown() {
    auto other = gui::testing::makeWindow();
    other->loader()->setOpener([](const auto&, const auto&) {
      analyzer::StoreBuilder small;
      small.append(prof::Thread{.id = prof::ThreadId(1), .osTid = 1, .name = small.intern("main")});
      small.append(prof::Range{.startNs = 1'000'000'000,
                               .durNs = 500,
                               .thread = prof::ThreadId(1),
                               .name = small.intern("a relu_kernel")});
      return prof::Result(small.build());
    });
    QVERIFY(gui::testing::openAnalysed(*other, QStringLiteral("small.lcn")));
    show("timeline");
    TimelinePage* timeline = window_->pageOf<TimelinePage>();
    timeline->search()->setText(QStringLiteral("relu_kernel"));
    QTRY_VERIFY(!timeline->busy());
    timeline->findNext(true);
    timeline->setGrown(other->trace());
    QTRY_VERIFY(view()->selection().has_value());
    QVERIFY((view()->selection()->track == TrackRef{0, 0}));
    QTRY_VERIFY(!timeline->busy());
  }

  void theMinimapMoves() {
    show("timeline");
    auto* minimap = window_->findChild<Minimap*>();
    view()->setViewport(view()->viewport().zoomed(0.1, 0));
    const auto before = view()->viewport().startNs();
    QTest::mouseClick(minimap, Qt::LeftButton, {},
                      QPoint(minimap->width() / 2, minimap->height() / 2));
    QVERIFY(view()->viewport().startNs() > before);
    QTest::mouseDClick(minimap, Qt::LeftButton, {},
                       QPoint(minimap->width() / 2, minimap->height() / 2));
    QVERIFY(view()->viewport() == view()->viewport().fitted());
  }

  void anOperatorLeadsToItsKernels() {
    const auto& groups = window_->trace()->tracks->groups;
    QSignalSpy ready(window_->pageOf<TimelinePage>(), &TimelinePage::linksReady);
    for (std::size_t t = 0; t < groups[0].tracks.size(); ++t) {
      const auto& track = groups[0].tracks[t];
      if (track.kind != analyzer::TrackKind::Ranges || track.lanes.size() < 2) continue;
      view()->reveal({{0, t}, 0, 1});  // a step: eight launches below it
      break;
    }
    QVERIFY(ready.count() > 0 || ready.wait(kPatienceMs));
    QCOMPARE(view()->links().size(), std::size_t{8});
  }

  void whereNamesAreWrittenIsKnown() {
    LabelPainter painter;
    painter.setTrace(window_->trace());
    const prof::StringId name(1);  // the trace's first text
    QVERIFY(!window_->trace()->name(name).isEmpty());
    const std::vector<Label> labels{{.x = 100, .y = 40, .width = 900, .height = 18, .name = name}};
    QVERIFY(painter.isWrittenOn(QRectF(90, 45, 30, 20), labels, 1));
    QVERIFY(!painter.isWrittenOn(QRectF(90, 60, 30, 20), labels, 1));
    QVERIFY(
        !painter.isWrittenOn(QRectF(900, 45, 30, 20), labels, 1));  // on the event, after its name
    QVERIFY(painter.isWrittenOn(QRectF(50, 22, 15, 5), labels, 2));
    QVERIFY(!painter.isWrittenOn(QRectF(50, 22, 15, 5), labels, 1));
  }

  void pagesAreSavedAsPictures() {
    for (const char* name : {"page.png", "page.svg"}) {
      const QString path = folder_.filePath(QString::fromLatin1(name));
      show("overview");
      QVERIFY(window_->savePictureTo(path));
      QVERIFY(QFileInfo(path).size() > 2000);
    }
    QString why;
    QVERIFY(!window_->savePictureTo(QStringLiteral("/nowhere/page.png"), &why));
    QVERIFY2(why.startsWith(QStringLiteral("/nowhere/page.png: cannot be written: ")),
             qPrintable(why));
    const QString page = folder_.filePath(QStringLiteral("page.png"));
    QVERIFY(!window_->savePictureTo(folder_.filePath(QStringLiteral("page.nopicture")), &why));
    QVERIFY2(why.contains(QStringLiteral(".png")), qPrintable(why));
    QVERIFY(!QFile::exists(folder_.filePath(QStringLiteral("page.nopicture"))));
    QVERIFY(window_->savePictureTo(page, &why) && why.isEmpty());
    QVERIFY(!QImage(folder_.filePath(QStringLiteral("page.png"))).isNull());
    const QString plain = folder_.filePath(QStringLiteral("page"));
    QVERIFY(window_->savePictureTo(plain));
    QVERIFY(!QImage(plain, "PNG").isNull());
  }

  void aPictureOfShapesHasItsTitleWhateverTheFileIsCalled() {
    QVERIFY(gui::testing::openAnalysed(*window_, QStringLiteral("a<b>&c.lcn")));
    const QString path = folder_.filePath(QStringLiteral("titled.svg"));
    QVERIFY(window_->savePictureTo(path));
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadOnly));
    QXmlStreamReader xml(&file);
    QString title;
    while (!xml.atEnd()) {
      if (xml.readNext() == QXmlStreamReader::StartElement && xml.name() == QLatin1String("title"))
        title = xml.readElementText();
    }
    QVERIFY2(!xml.hasError(), qPrintable(xml.errorString()));
    QCOMPARE(title, window_->windowTitle());
    QVERIFY(title.contains(QStringLiteral("a<b>&c.lcn")));
  }

  void whatIsWrittenIntoAPipeLeavesItThere() {
    const QByteArray pipe = QFile::encodeName(folder_.filePath(QStringLiteral("pipe")));
    QCOMPARE(::mkfifo(pipe.constData(), 0600), 0);
    const int end = ::open(pipe.constData(), O_RDWR | O_NONBLOCK);
    QVERIFY(end >= 0);
    const auto written = [&] {
      QByteArray out(4096, '\0');
      const auto count = ::read(end, out.data(), static_cast<std::size_t>(out.size()));
      return out.left(std::max<qsizetype>(0, count));
    };
    QCOMPARE(writeFile(QFile::decodeName(pipe), "a,b\n"), QString());
    QCOMPARE(written(), QByteArray("a,b\n"));
    QueryRunner runner;
    QSignalSpy exported(&runner, &QueryRunner::exported);
    runner.exportCsv(window_->trace(), QStringLiteral("SELECT 1 AS one"), QFile::decodeName(pipe));
    QTRY_COMPARE(exported.count(), 1);
    QCOMPARE(written(), QByteArray("one\n1\n"));
    struct ::stat there {};
    QCOMPARE(::stat(pipe.constData(), &there), 0);
    QVERIFY(S_ISFIFO(there.st_mode));
    ::close(end);
  }

  void anExportGoesWhereALinkLeads() {
    const QString target = folder_.filePath(QStringLiteral("target.csv"));
    const QString link = folder_.filePath(QStringLiteral("link.csv"));
    QCOMPARE(writeFile(target, "old"), QString());
    QVERIFY(QFile::link(target, link));
    QueryRunner runner;
    QSignalSpy exported(&runner, &QueryRunner::exported);
    runner.exportCsv(window_->trace(), QStringLiteral("SELECT 1 AS one"), link);
    QTRY_COMPARE(exported.count(), 1);
    QVERIFY(QFileInfo(link).isSymLink());
    QFile file(target);
    QVERIFY(file.open(QIODevice::ReadOnly));
    QCOMPARE(file.readAll(), QByteArray("one\n1\n"));
  }

  void theTimelineIsSavedAsShapes() {
    show("timeline");
    view()->reveal({{1, 0}, 0, 0});
    const QString path = folder_.filePath(QStringLiteral("timeline.svg"));
    QVERIFY(window_->savePictureTo(path));
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QByteArray svg = file.readAll();
    QVERIFY(!svg.contains("base64") && !svg.contains("<image"));
    QVERIFY(svg.count("<rect") > 50 && svg.count("<text") > 10);
    QVERIFY(svg.contains("conv2d"));
    QVERIFY(svg.size() < 1'000'000);
    // It is the same picture.
    const QImage shot =
        window_->pageOf<TimelinePage>()->grab().toImage().convertToFormat(QImage::Format_RGB32);
    QImage drawn(shot.size(), QImage::Format_RGB32);
    QPainter painter(&drawn);
    QSvgRenderer(svg).render(&painter);
    painter.end();
    const QRect tracks = QRect(
        view()->mapTo(window_->pageOf<TimelinePage>(), QPoint(view()->headerWidth(), kRulerHeight)),
        QSize(view()->canvasWidth(), view()->height() - kRulerHeight));
    int others = 0;
    for (int y = tracks.top(); y <= tracks.bottom(); ++y) {
      for (int x = tracks.left(); x <= tracks.right(); ++x) {
        const QColor a = shot.pixelColor(x, y);
        const QColor b = drawn.pixelColor(x, y);
        others += std::abs(a.red() - b.red()) + std::abs(a.green() - b.green()) +
                      std::abs(a.blue() - b.blue()) >
                  30;
      }
    }
    QVERIFY2(others < tracks.width() * tracks.height() / 50,
             qPrintable(QString::number(others)));  // but for letters
  }

  void aPictureOfManyColoursStaysBounded() {
    QImage noise(64, 48, QImage::Format_RGB32);
    std::mt19937 random(5);
    for (int y = 0; y < noise.height(); ++y) {
      for (int x = 0; x < noise.width(); ++x) noise.setPixel(x, y, QRgb(random() & 0xFFFFFF));
    }
    QBuffer buffer;
    QSvgGenerator svg;
    svg.setOutputDevice(&buffer);
    svg.setSize(noise.size());
    QPainter painter(&svg);
    QVERIFY(keepsShapes(painter));
    paintAsRects(painter, {0, 0}, noise);
    painter.end();
    QSet<QByteArray> colours;
    const QByteArray text = buffer.data();
    for (qsizetype at = text.indexOf("fill=\"#"); at >= 0; at = text.indexOf("fill=\"#", at + 1))
      colours << text.mid(at + 6, 7);
    QVERIFY(colours.size() > 100 &&
            colours.size() <= static_cast<int>(kMostColours) + 1);  // and the default
    QVERIFY(text.count("<rect") <= noise.width() * noise.height() + 1);
  }

  void rowsAreCopiedForSpreadsheets() {
    show("kernels");
    QTableView* table = window_->pageOf<KernelsPage>()->table();
    table->setFocus();
    table->selectRow(0);
    table->selectionModel()->select(table->model()->index(1, 0),
                                    QItemSelectionModel::Select | QItemSelectionModel::Rows);
    QTest::keySequence(table, QKeySequence::Copy);
    const QStringList lines = QApplication::clipboard()->text().split(QLatin1Char('\n'));
    QCOMPARE(lines.size(), 2);
    QCOMPARE(lines[0].split(QLatin1Char('\t')).first(),
             table->model()->index(0, 0).data().toString());
    QCOMPARE(lines[0].split(QLatin1Char('\t')).size(), table->model()->columnCount());
  }

  void cellsOfCopiedRowsStayCells() {
    TableModel model;
    TableColumn names{QStringLiteral("Name")};
    TableColumn roles{QStringLiteral("Role")};
    names.texts = {QStringLiteral("two\nlines\tand a tab")};
    roles.texts = {QStringLiteral("input")};
    model.setTable({names, roles});
    std::unique_ptr<QTableView> table(makeTable(&model, QStringLiteral("Rows"), nullptr));
    table->selectRow(0);
    for (QAction* action : table->actions()) {
      if (action->shortcut() == QKeySequence(QKeySequence::Copy)) action->trigger();
    }
    QCOMPARE(QApplication::clipboard()->text(), QStringLiteral("two lines and a tab\tinput"));
  }

  void theFileOfAnExportedTableIsNamed() {
    show("kernels");
    const QString path = folder_.filePath(QStringLiteral("kernels.csv"));
    window_->pageOf<KernelsPage>()->exportTo(path);
    QCOMPARE(window_->statusBar()->currentMessage(), QStringLiteral("4 rows written to ") + path);
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadOnly));
    QCOMPARE(static_cast<int>(file.readAll().count('\n')),
             window_->pageOf<KernelsPage>()->model()->rowCount() + 1);
    window_->pageOf<MemoryPage>()->live()->exportTo(QStringLiteral("/nowhere/live.csv"));
    const QString message = window_->statusBar()->currentMessage();
    QVERIFY2(message.startsWith(QStringLiteral("/nowhere/live.csv: cannot be written: ")),
             qPrintable(message));
  }

  void aKernelsTimesAreSpreadOut() {
    show("kernels");
    auto* times = window_->pageOf<KernelsPage>()->findChild<HistogramView*>();
    const auto& rows = window_->findings().analysis->of<analyzer::KernelTable>();
    window_->pageOf<KernelsPage>()->showSourceRow(1);
    QTRY_COMPARE(times->histogram().events, rows[1].count);
    QCOMPARE(times->histogram().totalNs, rows[1].totalNs);
    QCOMPARE(times->histogram().longestNs, rows[1].maxNs);
    const QString longest = QString::fromStdString(prof::timeText(rows[1].maxNs));
    QVERIFY2(times->accessibleDescription().contains(longest),
             qPrintable(times->accessibleDescription()));
  }

  void memoryDataIsThatOfTheListInFront() {
    show("memory");
    QVERIFY(window_->pageOf<MemoryPage>()->showTab(QStringLiteral("edits")));
    QVERIFY(window_->figures().csv.startsWith(QStringLiteral("Held by,")));
    QVERIFY(window_->pageOf<MemoryPage>()->showTab(QStringLiteral("alive")));
    QVERIFY(window_->figures().csv.startsWith(QStringLiteral("Tensor,")));
  }

  void stretchesAreMeasuredBetweenEvents() {
    show("timeline");
    view()->reveal({{1, 0}, 0, 0});
    const QRectF other = view()->eventRect({{1, 0}, 0, 2});
    QVERIFY(!other.isNull());
    QTest::mouseClick(view(), Qt::LeftButton, Qt::ControlModifier, other.center().toPoint());
    QVERIFY(view()->area().has_value());
    const auto& lane = window_->trace()->tracks->groups[1].tracks[0].lanes[0];
    QCOMPARE(view()->area()->startNs, lane.startNs(0));
    QCOMPARE(view()->area()->endNs, lane.endNs(2));
  }

  void notesAndRowsComeBack() {
    show("timeline");
    window_->pageOf<TimelinePage>()->setNote(1'015'000'000, QStringLiteral("here it stalls"));
    RowOptions options = view()->rowOptions();
    options.pinned = {{1, 0}};
    options.collapsedGroups = {0};
    view()->setRowOptions(options);
    window_->close();
    window_ = std::make_unique<MainWindow>();
    window_->show();
    QVERIFY(gui::testing::openSample(*window_));
    QCOMPARE(view()->bookmarks().size(), std::size_t{1});
    QCOMPARE(view()->bookmarks()[0].note, QStringLiteral("here it stalls"));
    QVERIFY(view()->rowOptions().pinned == options.pinned);
    QVERIFY(view()->rowOptions().collapsedGroups == options.collapsedGroups);
  }

  void dataThatIsCutIsMarked() {
    show("timeline");
    const QString path = folder_.filePath(QStringLiteral("events.csv"));
    const auto save = [&](const QString& to) { window_->writeData(to, window_->figures()); };
    save(path);
    QCOMPARE(window_->statusBar()->currentMessage(), path + QStringLiteral(" is written"));
    window_->pageOf<TimelinePage>()->setMostCsvRows(7);
    save(path);
    const QString message = window_->statusBar()->currentMessage();
    QVERIFY2(message.contains(QStringLiteral("the first 7 events")), qPrintable(message));
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadOnly));
    QCOMPARE(static_cast<int>(file.readAll().count('\n')), 8);
    save(QStringLiteral("/nowhere/events.csv"));
    const QString failed = window_->statusBar()->currentMessage();
    QVERIFY2(failed.startsWith(QStringLiteral("/nowhere/events.csv: cannot be written: ")),
             qPrintable(failed));
  }

  void ofBookmarksThatLieCloseTheNearestIsMeant() {
    show("timeline");
    constexpr prof::TimeNs kAt = 1'015'000'000;
    const auto pixel =
        static_cast<prof::TimeNs>(view()->viewport().nsPerPixel(view()->canvasWidth()));
    const prof::TimeNs beside = kAt + 3 * pixel;
    view()->setBookmarks({{kAt, QStringLiteral("first")}, {beside, QStringLiteral("second")}});
    window_->pageOf<TimelinePage>()->setNote(beside, QStringLiteral("changed"));
    QCOMPARE(view()->bookmarks().at(0).note, QStringLiteral("first"));
    QCOMPARE(view()->bookmarks().at(1).note, QStringLiteral("changed"));
    view()->setCursorMark(beside);
    window_->pageOf<TimelinePage>()->toggleBookmark();
    QCOMPARE(view()->bookmarks().size(), std::size_t{1});
    QCOMPARE(view()->bookmarks()[0].timeNs, kAt);
  }

  void rowsOfOneNameComeBackEachForItself() {
    const auto open = [&] {
      window_->loader()->setOpener([](const auto&, const auto&) {
        analyzer::StoreBuilder trace;
        trace.append(prof::Process{.id = prof::ProcessId(1), .osPid = 9});
        for (std::uint32_t n = 1; n <= 3; ++n) {
          trace.append(prof::Thread{.id = prof::ThreadId(n),
                                    .process = prof::ProcessId(1),
                                    .name = trace.intern("loader")});
          trace.append(prof::Range{.startNs = 10 * n, .durNs = 500, .thread = prof::ThreadId(n)});
        }
        return prof::Result<std::shared_ptr<const analyzer::Store>>(trace.build());
      });
      return gui::testing::openAnalysed(*window_, QStringLiteral("alike.lcn"));
    };
    QVERIFY(open());
    QCOMPARE(window_->trace()->tracks->groups.at(0).tracks.size(), std::size_t{3});
    RowOptions options = view()->rowOptions();
    options.pinned = {{0, 1}};
    options.collapsedTracks = {{0, 2}};
    view()->setRowOptions(options);
    window_->close();
    window_ = std::make_unique<MainWindow>();
    window_->show();
    QVERIFY(open());
    QVERIFY(view()->rowOptions().pinned == options.pinned);
    QVERIFY(view()->rowOptions().collapsedTracks == options.collapsedTracks);
  }

  void aFileThatIsDroppedOpens() {
    const QString path = saved(gui::testing::sampleTrace(3), "dropped.lcn");
    window_->loader()->setOpener(&analyzer::Store::open);
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(path)});
    QSignalSpy shown(window_.get(), &MainWindow::traceShown);
    QDragEnterEvent enter(QPoint(100, 100), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(window_.get(), &enter);
    QVERIFY(enter.isAccepted());
    QDropEvent drop(QPointF(100, 100), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(window_.get(), &drop);
    QVERIFY(shown.wait(kPatienceMs));
    QCOMPARE(window_->trace()->path, path);
  }

  void whatWasSetUpStaysWhileAFileGrows() {
    const QString path = folder_.filePath(QStringLiteral("steady.lcn"));
    auto writer = prof::Writer::create(path.toStdString());
    QVERIFY(writer.ok());
    const auto name = writer->intern("gemm");
    writer->append(
        prof::Thread{.id = prof::ThreadId(1), .osTid = 1, .name = writer->intern("main")});
    constexpr prof::TimeNs kSecond = 1'000'000'000;
    const auto second = [&](prof::TimeNs at) {
      for (prof::TimeNs i = 0; i < 50; ++i) {
        writer->append(prof::Range{.startNs = at * kSecond + i * 20'000'000,
                                   .durNs = 10'000'000,
                                   .thread = prof::ThreadId(1),
                                   .name = name});
      }
      QVERIFY(writer->flush().ok());
    };
    for (int s = 0; s < 6; ++s) second(s);
    window_->loader()->setOpener(&analyzer::Store::open);
    QVERIFY(gui::testing::openAnalysed(*window_, path));
    QTRY_VERIFY(window_->live()->watching());
    show("timeline");
    const prof::TimeWindow shown{kSecond, 3 * kSecond};
    view()->setViewport(view()->viewport().showing(shown));
    view()->select(EventPlace{{0, 0}, 0, 75});
    view()->setBookmarks({{2 * kSecond, QStringLiteral("here")}});
    view()->setCursorMark(2 * kSecond + 5);
    const Viewport before = view()->viewport();
    for (int s = 6; s < 10; ++s) {
      second(s);
      if (s == 8) {  // around all of it: the selected event is a lane lower then
        writer->append(prof::Range{
            .startNs = 0, .durNs = 9 * kSecond, .thread = prof::ThreadId(1), .name = name});
        QVERIFY(writer->flush().ok());
      }
      QSignalSpy grew(window_.get(), &MainWindow::traceGrew);
      window_->live()->check();
      QVERIFY(grew.wait(kPatienceMs));
      QVERIFY(view()->selection().has_value());
      const auto place = *view()->selection();
      QCOMPARE(place.lane, s < 8 ? 0 : 1);
      QCOMPARE(place.event, std::size_t{75});
      QCOMPARE(
          window_->trace()->track(place.track).lanes[static_cast<std::size_t>(place.lane)].size(),
          static_cast<std::size_t>(50 * std::min(s + 1, 9)));
      QCOMPARE(view()->viewport().startNs(), before.startNs());
      QCOMPARE(view()->viewport().endNs(), before.endNs());
      QCOMPARE(view()->bookmarks().size(), std::size_t{1});
      QCOMPARE(view()->cursorMark(), std::optional<prof::TimeNs>(2 * kSecond + 5));
    }
    QTRY_VERIFY(!window_->busy());
  }

  void figuresStayAsTheyWereSetUpWhileAFileGrows() {
    const QString path = folder_.filePath(QStringLiteral("figures.lcn"));
    gui::testing::Recording recording(path.toStdString());
    recording.steps(6);
    follow(path);
    const prof::TimeWindow step{1'010'000'000, 1'020'000'000};
    view()->setViewport(view()->viewport().showing(step), TimelineView::Move::Jump);
    view()->setArea(step);
    show("flame");
    FlameView* flame = window_->pageOf<FlamePage>()->view();
    window_->pageOf<FlamePage>()->search()->setText(QStringLiteral("conv"));
    flame->focusOn(1);
    const QString focus = flame->nameOf(1);
    const QString facts = flame->describe(0);
    show("memory");
    MemoryChart* chart = window_->pageOf<MemoryPage>()->chart();
    for (int i = 0; i < 4; ++i) QTest::keyClick(chart, Qt::Key_W);
    const Viewport zoomed = chart->viewport();
    QTableView* kernels = window_->pageOf<KernelsPage>()->table();
    kernels->sortByColumn(0, Qt::DescendingOrder);
    QTRY_COMPARE(text(*kernels->model(), 0, 0), QStringLiteral("relu_kernel"));
    kernels->selectRow(1);
    kernels->setColumnWidth(1, 123);
    window_->pageOf<StepsPage>()->stack()->select(2);
    for (int i = 0; i < 3; ++i) grow(recording, 2);
    QVERIFY(view()->ledgers() != nullptr);
    QVERIFY(view()->area() && view()->area()->startNs == step.startNs);
    QTRY_COMPARE(window_->findings().analysis->steps.all.size(), std::size_t{12});
    QTRY_VERIFY(!window_->busy());
    QVERIFY(chart->viewport() == zoomed);
    QCOMPARE(chart->viewport().trace().endNs, window_->trace()->tracks->span.endNs);
    QCOMPARE(kernels->horizontalHeader()->sortIndicatorSection(), 0);
    QCOMPARE(text(*kernels->model(), 0, 0), QStringLiteral("relu_kernel"));
    QCOMPARE(kernels->currentIndex().row(), 1);
    QCOMPARE(kernels->columnWidth(1), 123);
    auto* times = window_->pageOf<KernelsPage>()->findChild<HistogramView*>();
    QTRY_COMPARE(times->histogram().events,
                 window_->findings().analysis->of<analyzer::KernelTable>()[0].count);
    QCOMPARE(*window_->pageOf<StepsPage>()->stack()->selected(), std::size_t{2});
    view()->back();
    QVERIFY(view()->viewport() == Viewport(window_->trace()->tracks->span));
    show("flame");
    QCOMPARE(flame->describe(0), facts);
    QCOMPARE(flame->nameOf(flame->focused()), focus);
    QCOMPARE(window_->pageOf<FlamePage>()->search()->text(), QStringLiteral("conv"));
    show("steps");
    const QImage followed = window_->pageOf<StepsPage>()->stack()->grab().toImage();
    auto fresh = gui::testing::makeWindow();
    QVERIFY(gui::testing::openAnalysed(*fresh, path));
    fresh->pageOf<StepsPage>()->stack()->select(2);
    QVERIFY(gui::testing::showSettled(*fresh, "steps"));
    QVERIFY(fresh->pageOf<StepsPage>()->stack()->grab().toImage() == followed);
  }

  void openedTablesStayOpenWhileAFileGrows() {
    const QString path = folder_.filePath(QStringLiteral("tables.lcn"));
    gui::testing::Recording recording(path.toStdString());
    recording.steps(2);
    follow(path);
    auto* tables = window_->pageOf<SqlPage>()->findChild<QTreeWidget*>();
    const QList<QTreeWidgetItem*> kernels =
        tables->findItems(QStringLiteral("kernel"), Qt::MatchExactly);
    QCOMPARE(kernels.size(), 1);
    QCOMPARE(kernels[0]->text(1), QStringLiteral("16"));
    kernels[0]->setExpanded(true);
    tables->setCurrentItem(kernels[0]->child(1));
    grow(recording, 1);
    QVERIFY(tables->findItems(QStringLiteral("kernel"), Qt::MatchExactly) == kernels);
    QCOMPARE(kernels[0]->text(1), QStringLiteral("24"));
    QVERIFY(kernels[0]->isExpanded());
    QVERIFY(tables->currentItem() == kernels[0]->child(1));
    QTRY_VERIFY(!window_->busy());
  }

  void theLastAnalysisStaysWhereTheNextOneFails() {
    const QString path = folder_.filePath(QStringLiteral("failing.lcn"));
    gui::testing::Recording recording(path.toStdString());
    recording.steps(6);
    follow(path);
    const auto before = window_->findings().analysis;
    window_->runner()->setAnalyse([](auto, const auto&) -> prof::Result<analyzer::Analysis> {
      return prof::Error{"a block is damaged"};
    });
    QSignalSpy analysed(window_.get(), &MainWindow::analysisShown);
    grow(recording, 1);
    QVERIFY(analysed.count() > 0 || analysed.wait(kPatienceMs));
    QCOMPARE(window_->findings().analysis, before);
    QVERIFY(window_->statusBar()->currentMessage().contains(QStringLiteral("a block is damaged")));
    Q_EMIT window_->pageOf<StepsPage>()->stack()->stepActivated(2);  // the pages still show steps
    QCOMPARE(window_->page(), QStringLiteral("timeline"));
    QTRY_VERIFY(!window_->busy());
  }

  void theLastGrowthIsAnalysedToo() {
    const QString path = folder_.filePath(QStringLiteral("killed.lcn"));
    gui::testing::Recording recording(path.toStdString());
    recording.steps(6);
    follow(path);
    for (int i = 0; i < 3; ++i) grow(recording, 1);
    // Nothing more is ever written, and the recording never ends.
    QTRY_COMPARE_WITH_TIMEOUT(window_->findings().analysis->steps.all.size(), std::size_t{9},
                              60'000);
    QTRY_VERIFY(!window_->busy());
  }

  void anAnalysisIsTimedFromItsOwnBeginning() {
    QTest::qWait(300);  // with the first file open
    const QString path = folder_.filePath(QStringLiteral("timed.lcn"));
    gui::testing::Recording recording(path.toStdString());
    recording.steps(6);
    QElapsedTimer since;
    since.start();
    follow(path);
    QVERIFY(window_->analysisMs() <= since.elapsed());
  }

  void whatIsWrittenWhileAFileOpensIsShown() {
    const QString path = folder_.filePath(QStringLiteral("race.lcn"));
    gui::testing::Recording recording(path.toStdString());
    recording.steps(6);
    window_->loader()->setOpener(
        [&](const std::filesystem::path& file, const analyzer::OpenOptions& options) {
          auto store = analyzer::Store::open(file, options);
          recording.steps(6);
          recording.finish();
          return store;
        });
    QVERIFY(gui::testing::openAnalysed(*window_, path));
    QTRY_COMPARE(window_->findings().analysis->steps.all.size(), std::size_t{12});
    QTRY_VERIFY(!window_->live()->watching() && !window_->busy());
  }

  void aSecondTraceShowsNothingOfTheFirst() {
    MemoryPage* memory = window_->pageOf<MemoryPage>();
    show("memory");
    QVERIFY(memory->showTab(QStringLiteral("edits")));
    QVERIFY(memory->edits()->model()->rows() > 0);
    memory->edits()->showSourceRow(memory->edits()->model()->rows() - 1);
    QVERIFY(memory->showTab(QStringLiteral("alive")));
    show("timeline");
    QSignalSpy ready(window_->pageOf<TimelinePage>(), &TimelinePage::sumsReady);
    view()->setArea(prof::TimeWindow{1'010'000'000, 1'020'000'000});
    QVERIFY(ready.wait(kPatienceMs));
    window_->loader()->setOpener([](const auto&, const auto&) {
      analyzer::StoreBuilder trace;
      trace.append(prof::Thread{.id = prof::ThreadId(1)});
      trace.append(
          prof::Range{.durNs = 500'000, .thread = prof::ThreadId(1), .name = trace.intern("x")});
      return prof::Result<std::shared_ptr<const analyzer::Store>>(trace.build());
    });
    QVERIFY(gui::testing::openAnalysed(*window_, QStringLiteral("small.lcn")));
    QVERIFY(memory->showTab(QStringLiteral("edits")));
    for (const TablePage* page : {memory->edits(), memory->leaks(), memory->allocator()})
      QCOMPARE(page->model()->rows(), std::size_t{0});
    show("timeline");
    QCOMPARE(window_->pageOf<TimelinePage>()->sums()->rows(), std::size_t{0});
    for (const QTableView* table : window_->pageOf<TimelinePage>()->findChildren<QTableView*>())
      QVERIFY(!table->isVisible());
  }

  void sumsThatComeLateAreNotShownBesideAnotherTrace() {
    show("timeline");
    QSignalSpy ready(window_->pageOf<TimelinePage>(), &TimelinePage::sumsReady);
    view()->setArea(prof::TimeWindow{1'010'000'000, 1'020'000'000});
    window_->pageOf<TimelinePage>()->setTrace(window_->trace());
    QTest::qWait(300);
    QCOMPARE(ready.count(), 0);
  }

  void moreWorkersThanUsualAreThere() {
    const QString path = folder_.filePath(QStringLiteral("workers.lcn"));
    gui::testing::Recording recording(path.toStdString(), 32);
    recording.steps(8);
    follow(path);
    OverviewPage* overview = window_->pageOf<OverviewPage>();
    QCOMPARE(window_->findings().analysis->of<analyzer::LoaderStats>().workers, 32U);
    QCOMPARE(overview->controls()->slider("loader.workers")->value(), 32);
    QVERIFY(!overview->drawing()->step().changed);
    overview->playChange(QStringLiteral("loader.workers=40"));
    QCOMPARE(overview->controls()->slider("loader.workers")->value(), 32);
    QCOMPARE(overview->otherChange()->text(), QStringLiteral("loader.workers=40"));
    QTRY_VERIFY(overview->drawing()->step().changed && !overview->busy());
    overview->playChange(QStringLiteral("loader.workers=20"));
    QCOMPARE(overview->controls()->slider("loader.workers")->value(), 20);
    QVERIFY(overview->otherChange()->text().isEmpty());
    QTRY_VERIFY(!overview->busy());
  }

  void workersThatComeLaterAreTakenOver() {
    Findings few = window_->findings();
    auto analysis = std::make_shared<analyzer::Analysis>(*few.analysis);
    analysis->of<analyzer::LoaderStats>().workers =
        few.analysis->of<analyzer::LoaderStats>().workers + 20;
    window_->pageOf<OverviewPage>()->setFindings({analysis, few.simulator, {}});
    QCOMPARE(window_->pageOf<OverviewPage>()->controls()->slider("loader.workers")->value(),
             static_cast<int>(analysis->of<analyzer::LoaderStats>().workers));
    window_->pageOf<OverviewPage>()->controls()->slider("loader.workers")->setValue(3);
    window_->pageOf<OverviewPage>()->setFindings(few);
    QCOMPARE(window_->pageOf<OverviewPage>()->controls()->slider("loader.workers")->value(), 3);
    QTRY_VERIFY(!window_->busy());
  }

  void aFileThatCannotBeWrittenGetsAReason() {
    // One is written in many pieces, the other in one that is cut short.
    for (const int rows : {100'000, 100}) {
      QSignalSpy failed(window_->pageOf<SqlPage>()->runner(), &QueryRunner::failed);
      bool arrived = false;
      {
        const test::SmallFiles small(static_cast<rlim_t>(rows));
        window_->pageOf<SqlPage>()->runner()->exportCsv(
            window_->trace(),
            QStringLiteral("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i "
                           "< %1) SELECT i FROM n")
                .arg(rows),
            folder_.filePath(QStringLiteral("large.csv")));
        arrived = failed.wait(kPatienceMs);
      }
      QVERIFY(arrived);
      QVERIFY2(failed[0][0].toString().contains(qt_error_string(EFBIG)),
               qPrintable(failed[0][0].toString()));
      QVERIFY(!QFileInfo::exists(folder_.filePath(QStringLiteral("large.csv"))));
    }
  }

  void aPictureThatDoesNotFitGetsAReasonAndLeavesNothing() {
    const QString path = folder_.filePath(QStringLiteral("full.png"));
    QImage picture(64, 64, QImage::Format_RGB32);
    picture.fill(Qt::red);
    QString problem;
    {
      const test::SmallFiles small(50);
      problem = writePicture(path, picture);
    }
    QVERIFY2(problem.contains(path) && problem.contains(qt_error_string(EFBIG)),
             qPrintable(problem));
    QCOMPARE(QDir(folder_.path()).entryList({QStringLiteral("*full.png")}).size(), 0);
  }

  void whyTheSecondTraceIsMissingStaysToBeRead() {
    QSignalSpy failed(window_->pageOf<ComparePage>(), &ComparePage::failed);
    window_->pageOf<ComparePage>()->openSecond(folder_.filePath(QStringLiteral("missing.lcn")));
    QVERIFY(failed.wait(kPatienceMs));
    const QString why = window_->pageOf<ComparePage>()->problem();
    window_->pageOf<ComparePage>()->setFindings(window_->findings());
    QCOMPARE(window_->pageOf<ComparePage>()->problem(), why);
  }

  void twoFilesDroppedOnTheComparisonAreBothOpened() {
    const QString first = saved(gui::testing::sampleTrace(3), "one.lcn");
    const QString second = saved(gui::testing::sampleTrace(4), "two.lcn");
    window_->loader()->setOpener(&analyzer::Store::open);
    show("compare");
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(first), QUrl::fromLocalFile(second)});
    QSignalSpy compared(window_->pageOf<ComparePage>(), &ComparePage::compared);
    QDragEnterEvent enter(QPoint(100, 100), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(window_->pageOf<ComparePage>(), &enter);
    QVERIFY(enter.isAccepted());
    QDropEvent drop(QPointF(100, 100), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(window_->pageOf<ComparePage>(), &drop);
    QTRY_COMPARE(window_->trace()->path, first);
    QTRY_VERIFY(window_->pageOf<ComparePage>()->before() &&
                window_->pageOf<ComparePage>()->after());
    QCOMPARE(window_->pageOf<ComparePage>()->before().get(), window_->findings().analysis.get());
    QTRY_VERIFY(!window_->busy());
  }

  void aGrowingFileIsFollowed() {
    const QString path = folder_.filePath(QStringLiteral("growing.lcn"));
    auto writer = prof::Writer::create(path.toStdString());
    QVERIFY(writer.ok());
    const auto name = writer->intern("gemm");
    writer->append(
        prof::Thread{.id = prof::ThreadId(1), .osTid = 1, .name = writer->intern("main")});
    const auto add = [&](prof::TimeNs at) {
      writer->append(
          prof::Range{.startNs = at, .durNs = 500, .thread = prof::ThreadId(1), .name = name});
      QVERIFY(writer->flush().ok());
    };
    add(1000);
    window_->loader()->setOpener(&analyzer::Store::open);
    QVERIFY(gui::testing::openAnalysed(*window_, path));
    QTRY_VERIFY(window_->live()->watching());
    QSignalSpy grew(window_.get(), &MainWindow::traceGrew);
    QCOMPARE(window_->trace()->store->rows<prof::Range>(), std::uint64_t{1});
    view()->setViewport(view()->viewport().zoomed(0.9, 1));
    add(1'000'000);
    window_->live()->check();
    QVERIFY(grew.wait(kPatienceMs));
    QVERIFY(window_->live()->live());
    QCOMPARE(window_->trace()->store->rows<prof::Range>(), std::uint64_t{2});
    QVERIFY(view()->viewport().endNs() >= 1'000'000);
    add(2'000'000);
    QVERIFY(writer->finish().ok());
    QSignalSpy ended(window_->live(), &LiveFollower::ended);
    window_->live()->check();
    QVERIFY(ended.wait(kPatienceMs));
    QVERIFY(!window_->live()->live() && !window_->live()->watching());
    QTRY_VERIFY(!window_->busy());
  }
};

int main(int argc, char** argv) {
  return lacuna::gui::testing::run<PagesTest>(argc, argv);
}

#include "pages_test.moc"
