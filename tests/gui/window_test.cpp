// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <QAbstractItemModelTester>
#include <QApplication>
#include <QBackingStore>
#include <QCheckBox>
#include <QFile>
#include <QImage>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QPaintEvent>
#include <QPushButton>
#include <QScrollBar>
#include <QSettings>
#include <QSignalSpy>
#include <QSlider>
#include <QStandardPaths>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QTextDocument>
#include <QWheelEvent>
#include <cmath>
#include <semaphore>
#include <set>

#include "analyses/loader/loader.h"
#include "analyses/work/kernels.h"
#include "app/loader.h"
#include "app/main_window.h"
#include "app/screenshot.h"
#include "base/words.h"
#include "gui/qt_main.h"
#include "gui/sample_trace.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/links.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/prof/amounts.h"
#include "models/analysis_tables.h"
#include "models/details_model.h"
#include "models/sql_model.h"
#include "models/table_model.h"
#include "timeline/text.h"
#include "views/change_controls.h"
#include "views/charts.h"
#include "views/finding_card.h"
#include "views/finding_panel.h"
#include "views/kernels_page.h"
#include "views/minimap.h"
#include "views/overview_page.h"
#include "views/start_pages.h"
#include "views/step_drawing.h"
#include "views/table_page.h"
#include "views/timeline_metrics.h"
#include "views/timeline_page.h"

using namespace lacuna;       // NOLINT
using namespace lacuna::gui;  // NOLINT

/// Measures how much of a widget is painted at once.
class PaintedArea : public QObject {
 public:
  bool counting = true;
  int paints = 0;
  int largest = 0;
  bool eventFilter(QObject*, QEvent* event) override {
    if (!counting || event->type() != QEvent::Paint) return false;
    int area = 0;
    for (const QRect& part : static_cast<QPaintEvent*>(event)->region())
      area += part.width() * part.height();
    largest = std::max(largest, area);
    ++paints;
    return false;
  }
};

/// The whole window on a trace made by hand.
class WindowTest : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<MainWindow> window_;
  [[nodiscard]] TimelineView* view() const { return window_->pageOf<TimelinePage>()->view(); }

  void open() {
    window_->loader()->setOpener(
        [](const auto&, const auto&) { return prof::Result(gui::testing::sampleTrace()); });
    QSignalSpy shown(window_.get(), &MainWindow::traceShown);
    window_->openFile(QStringLiteral("run.lcn"));
    QVERIFY(shown.wait(kPatienceMs));
    window_->showPage(QStringLiteral("timeline"));
    gui::testing::settle(30);
  }
  /// A view of the same trace that is too low for all rows.
  void showLow(TimelineView& view) {
    view.setTrace(window_->trace());
    view.resize(900, 160);
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view, kPatienceMs));
  }
  void openAnalysed() {
    QSignalSpy analysed(window_.get(), &MainWindow::analysisShown);
    open();
    QVERIFY(analysed.count() > 0 || analysed.wait(kPatienceMs));
    QVERIFY(window_->findings().analysis != nullptr);
    QTRY_VERIFY(!window_->busy());
  }
  [[nodiscard]] EventPlace firstKernel() const {
    const auto& groups = window_->trace()->tracks->groups;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (std::size_t t = 0; t < groups[g].tracks.size(); ++t) {
        if (groups[g].tracks[t].kind == analyzer::TrackKind::Work) return {{g, t}, 0, 0};
      }
    }
    return {};
  }
  void wheel(Qt::KeyboardModifiers modifiers, int delta, QPointF at) const {
    QWheelEvent event(at, view()->mapToGlobal(at), {}, {0, delta}, Qt::NoButton, modifiers,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(view(), &event);
  }

 private Q_SLOTS:
  void init() {
    gui::testing::failOnWarnings();
    QSettings().clear();
    window_ = std::make_unique<MainWindow>();
    window_->setDark(true);
    window_->resize(1280, 800);
    window_->show();
    QVERIFY(QTest::qWaitForWindowExposed(window_.get(), kPatienceMs));
  }
  void cleanup() { window_.reset(); }

  void anEmptyWindowNamesTheNextStep() { QCOMPARE(window_->state(), QStringLiteral("welcome")); }

  void openingShowsTheTimeline() {
    open();
    QCOMPARE(window_->state(), QStringLiteral("trace"));
    QVERIFY(window_->windowTitle().contains(QStringLiteral("run.lcn")));
  }

  void openingReportsProgress() {
    QSignalSpy progress(window_->loader(), &Loader::progressed);
    window_->loader()->setOpener([](const auto&, const analyzer::OpenOptions& options) {
      for (int i = 0; i <= 10; ++i) options.progress(i / 10.0);
      return prof::Result(gui::testing::sampleTrace());
    });
    QSignalSpy shown(window_.get(), &MainWindow::traceShown);
    window_->openFile(QStringLiteral("run.lcn"));
    QCOMPARE(window_->state(), QStringLiteral("loading"));
    QVERIFY(shown.wait(kPatienceMs));
    QVERIFY(progress.count() >= 10);
    double last = -1;
    for (const auto& step : progress) {
      QVERIFY(step[0].toDouble() >= last);
      last = step[0].toDouble();
    }
  }

  void openingCanBeCancelled() {
    window_->loader()->setOpener([](const auto&, const analyzer::OpenOptions& options)
                                     -> prof::Result<std::shared_ptr<const analyzer::Store>> {
      for (;;) {
        if (!options.progress(0.5)) return prof::Error{"cancelled"};
        QThread::msleep(1);
      }
    });
    QSignalSpy cancelled(window_->loader(), &Loader::cancelled);
    window_->openFile(QStringLiteral("endless.lcn"));
    QTest::qWait(20);
    window_->loader()->cancel();
    QVERIFY(cancelled.wait(kPatienceMs));
    QCOMPARE(window_->state(), QStringLiteral("welcome"));
  }

  void aNewFileReplacesTheOneBeingOpened() {
    auto calls = std::make_shared<std::atomic<int>>(0);
    window_->loader()->setOpener([calls](const auto&, const analyzer::OpenOptions& options)
                                     -> prof::Result<std::shared_ptr<const analyzer::Store>> {
      if (++*calls > 1) return gui::testing::sampleTrace();
      while (options.progress(0.5)) QThread::msleep(1);
      return prof::Error{"cancelled"};
    });
    QSignalSpy shown(window_.get(), &MainWindow::traceShown);
    window_->openFile(QStringLiteral("endless.lcn"));
    QTRY_COMPARE(calls->load(), 1);
    window_->openFile(QStringLiteral("second.lcn"));
    QVERIFY(shown.wait(kPatienceMs));
    QVERIFY(window_->trace()->path.endsWith(QStringLiteral("second.lcn")));
  }

  void aLoadThatEndsLateHoldsNobodyUp() {
    // The first one does not feel that it was called off before it has been let go on.
    auto goOn = std::make_shared<std::binary_semaphore>(0);
    auto calls = std::make_shared<std::atomic<int>>(0);
    window_->loader()->setOpener(
        [goOn, calls](const auto&,
                      const auto&) -> prof::Result<std::shared_ptr<const analyzer::Store>> {
          if (++*calls == 1) goOn->acquire();
          return gui::testing::sampleTrace();
        });
    QSignalSpy shown(window_.get(), &MainWindow::traceShown);
    QSignalSpy cancelled(window_->loader(), &Loader::cancelled);
    window_->openFile(QStringLiteral("late.lcn"));
    QTRY_COMPARE(calls->load(), 1);
    window_->openFile(QStringLiteral("second.lcn"));
    window_->loader()->cancel();
    QTRY_COMPARE(cancelled.count(), 1);
    QCOMPARE(window_->state(), QStringLiteral("welcome"));
    window_->openFile(QStringLiteral("third.lcn"));
    goOn->release();
    QVERIFY(shown.wait(kPatienceMs));
    QCOMPARE(shown.count(), 1);
    QVERIFY(window_->trace()->path.endsWith(QStringLiteral("third.lcn")));
  }

  void anAnalysisThatEndsLateHoldsNobodyUp() {
    auto goOn = std::make_shared<std::binary_semaphore>(0);
    auto calls = std::make_shared<std::atomic<int>>(0);
    window_->runner()->setAnalyse([goOn, calls](auto store, const auto& options) {
      if (++*calls == 1) goOn->acquire();
      return analyzer::analyse(std::move(store), options);
    });
    open();
    QTRY_COMPARE(calls->load(), 1);
    QSignalSpy analysed(window_.get(), &MainWindow::analysisShown);
    window_->loader()->setOpener(
        [](const auto&, const auto&) { return prof::Result(gui::testing::sampleTrace(9)); });
    QSignalSpy shown(window_.get(), &MainWindow::traceShown);
    window_->openFile(QStringLiteral("second.lcn"));
    QVERIFY(shown.wait(kPatienceMs));  // while the first one is still being analysed
    QCOMPARE(analysed.count(), 0);
    goOn->release();
    QVERIFY(analysed.wait(kPatienceMs));
    QTRY_VERIFY(!window_->busy());
    QCOMPARE(analysed.count(), 1);
    QCOMPARE(window_->findings().analysis->steps.all.size(), std::size_t{9});
  }

  void closingCallsTheAnalysisOff() {
    auto asked = std::make_shared<std::atomic<bool>>(false);
    auto calledOff = std::make_shared<std::atomic<bool>>(false);
    window_->runner()->setAnalyse(
        [asked, calledOff](const auto&, const auto& options) -> prof::Result<analyzer::Analysis> {
          for (; options.progress(0.5); QThread::msleep(1)) *asked = true;
          *calledOff = true;
          return prof::Error{"cancelled"};
        });
    open();
    QTRY_VERIFY(asked->load());
    window_->close();
    window_.reset();
    QVERIFY(calledOff->load());
  }

  void analysingReportsProgress() {
    QSignalSpy progress(window_->runner(), &AnalysisRunner::progressed);
    openAnalysed();
    QVERIFY(progress.count() > 5);
    for (qsizetype n = 1; n < progress.count(); ++n)
      QVERIFY(progress[n][0].toDouble() >= progress[n - 1][0].toDouble());
    QCOMPARE(progress.last()[0].toDouble(), 1.0);
  }

  void aBrokenFileGetsAReason() {
    QTemporaryDir folder;
    QFile file(folder.filePath(QStringLiteral("broken.lcn")));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("this is not a trace");
    file.close();
    QSignalSpy failed(window_.get(), &MainWindow::traceFailed);
    window_->openFile(file.fileName());
    QVERIFY(failed.wait(kPatienceMs));
    QCOMPARE(window_->state(), QStringLiteral("error"));
    QVERIFY(window_->errorPage()->message().size() > 20);
  }

  void afterAFailureThereIsAWayBack() {
    open();
    window_->loader()->setOpener(
        [](const auto&, const auto&) -> prof::Result<std::shared_ptr<const analyzer::Store>> {
          return prof::Error{"it is no trace"};
        });
    QSignalSpy failed(window_.get(), &MainWindow::traceFailed);
    window_->openFile(QStringLiteral("other.lcn"));
    QVERIFY(failed.wait(kPatienceMs));
    QPushButton* back = nullptr;
    for (QPushButton* button : window_->errorPage()->findChildren<QPushButton*>()) {
      if (button->text().contains(QStringLiteral("run.lcn"))) back = button;
    }
    QVERIFY(back != nullptr && back->isVisible());
    back->click();
    QCOMPARE(window_->state(), QStringLiteral("trace"));
  }

  void keysWorkByTheirPlaceOnOtherKeyboards() {
    open();
    view()->reveal(firstKernel());
    view()->fit();
    const auto full = view()->viewport().spanNs();
    constexpr quint32 kPlaceOfW = 25;  // where Dvorak has a comma
    QKeyEvent press(QEvent::KeyPress, Qt::Key_Comma, Qt::NoModifier, kPlaceOfW, 0, 0,
                    QStringLiteral(","));
    QApplication::sendEvent(view(), &press);
    QVERIFY(view()->viewport().spanNs() < full);
    QVERIFY(view()->selection() == firstKernel());
  }

  void picturesAreAsSharpAsTheirScale() {
    openAnalysed();
    gui::testing::settle(20);
    QImage large(window_->size() * 2, QImage::Format_RGB32);
    large.setDevicePixelRatio(2);
    window_->render(&large);
    // Pixels that differ from their partner of the same pixel: there are none where a picture was
    // enlarged.
    const QPoint corner = view()->mapTo(window_.get(), QPoint(view()->headerWidth(), 60));
    int differing = 0;
    for (int y = corner.y() * 2; y < corner.y() * 2 + 400; y += 2) {
      for (int x = corner.x() * 2; x < corner.x() * 2 + view()->canvasWidth() * 2; x += 2) {
        differing += large.pixel(x, y) != large.pixel(x + 1, y);
      }
    }
    QVERIFY2(differing > 100, qPrintable(QString::number(differing)));
  }

  void keysZoomAndPan() {
    open();
    const auto full = view()->viewport();
    QTest::keyClick(view(), Qt::Key_W);
    QVERIFY(view()->viewport().spanNs() < full.spanNs());
    const auto closer = view()->viewport();
    QTest::keyClick(view(), Qt::Key_D);
    QVERIFY(view()->viewport().startNs() > closer.startNs());
    QTest::keyClick(view(), Qt::Key_Left);
    QCOMPARE(view()->viewport().startNs(), closer.startNs());
    QTest::keyClick(view(), Qt::Key_S);
    QTest::keyClick(view(), Qt::Key_Home);
    QCOMPARE(view()->viewport().spanNs(), full.spanNs());
    QTest::keyClick(view(), Qt::Key_Left, Qt::AltModifier);
    QVERIFY(view()->viewport() == closer || view()->viewport().spanNs() <= full.spanNs());
  }

  void keysComeCloserToWhatIsSelected() {
    open();
    const EventPlace kernel = firstKernel();
    view()->reveal(kernel);
    view()->fit();
    QEvent leave(QEvent::Leave);
    QApplication::sendEvent(view(), &leave);
    const prof::TimeNs at = window_->trace()
                                ->track(kernel.track)
                                .lanes[static_cast<std::size_t>(kernel.lane)]
                                .startNs(kernel.event);
    const double before = view()->viewport().pixelAt(at, 1000);
    for (int n = 0; n < 8; ++n) QTest::keyClick(view(), Qt::Key_W);
    QVERIFY(std::abs(view()->viewport().pixelAt(at, 1000) - before) < 1);
  }

  void aDragEndsWithTheTraceThatItBeganOn() {
    open();
    view()->setViewport(view()->viewport().zoomed(0.1, 0.5));
    const QPoint middle(view()->headerWidth() + view()->canvasWidth() / 2, 200);
    QTest::mousePress(view(), Qt::MiddleButton, {}, middle);
    window_->pageOf<TimelinePage>()->setTrace(window_->trace());
    const auto full = view()->viewport();
    QTest::mouseMove(view(), middle + QPoint(60, 0));
    QVERIFY(view()->viewport() == full);
    QTest::mouseRelease(view(), Qt::MiddleButton, {}, middle);
    QTRY_VERIFY(!window_->busy());
  }

  void theWheelZoomsAtTheCursor() {
    open();
    const QPointF at(900, 200);
    const int x = 900 - (view()->width() - view()->canvasWidth());
    const auto before = view()->viewport().timeAt(x, view()->canvasWidth());
    wheel(Qt::ControlModifier, 360, at);
    const auto& after = view()->viewport();
    QVERIFY(std::abs(after.pixelAt(before, view()->canvasWidth()) - x) < 60);
    QVERIFY(after.spanNs() < Viewport(window_->trace()->tracks->span).spanNs() * 0.7);
  }

  void draggingPans() {
    open();
    wheel(Qt::ControlModifier, 1200, {800, 200});
    const auto before = view()->viewport().startNs();
    QTest::mousePress(view(), Qt::LeftButton, {}, {800, 300});
    QTest::mouseMove(view(), {700, 300});
    QTest::mouseMove(view(), {600, 300});
    QTest::mouseRelease(view(), Qt::LeftButton, {}, {600, 300});
    QVERIFY(view()->viewport().startNs() > before);
  }

  void draggingOnTheRulerSelectsAStretch() {
    open();
    QTest::mousePress(view(), Qt::LeftButton, {}, {500, 10});
    QTest::mouseMove(view(), {700, 12});
    QTest::mouseRelease(view(), Qt::LeftButton, {}, {700, 12});
    QVERIFY(view()->area().has_value());
    QTest::keyClick(view(), Qt::Key_Escape);
    QVERIFY(!view()->area().has_value());
  }

  void aStretchThatIsDraggedEndsWithTheTrace() {
    open();
    view()->fit();
    const int left = view()->headerWidth() + 5;
    const int right = view()->headerWidth() + view()->canvasWidth() - 2;
    QTest::mousePress(view(), Qt::LeftButton, {}, {left, 10});
    QTest::mouseMove(view(), {500, 12});
    QTest::mouseMove(view(), {right, 12});
    QTest::mouseRelease(view(), Qt::LeftButton, {}, {right, 12});
    const prof::TimeWindow span = window_->trace()->tracks->span;
    QVERIFY(view()->area().has_value());
    QCOMPARE(view()->area()->startNs, span.startNs);
    QCOMPARE(view()->area()->endNs, span.endNs);
  }

  void hoveringFindsTheEventAndClickingShowsIt() {
    open();
    const QRectF rect = view()->eventRect(firstKernel());
    QVERIFY(!rect.isNull());
    QTest::mouseMove(view(), rect.center().toPoint());
    gui::testing::settle(1);
    QTRY_VERIFY(view()->hovered() == firstKernel());
    QTest::mouseClick(view(), Qt::LeftButton, {}, rect.center().toPoint());
    QVERIFY(view()->selection() == firstKernel());
    const DetailsModel* details = window_->pageOf<TimelinePage>()->details();
    QStringList all;
    for (int row = 0; row < details->rowCount(); ++row) {
      all << details->index(row, 0).data().toString() + QLatin1Char('=') +
                 details->index(row, 1).data().toString();
    }
    QVERIFY2(all.contains(QStringLiteral("duration=500 µs")),
             qPrintable(all.join(QLatin1Char(' '))));
    QVERIFY(all.contains(QStringLiteral("grid x=128")));
  }

  void theSelectionWalksAlongItsLane() {
    open();
    view()->reveal(firstKernel());
    QTest::keyClick(view(), Qt::Key_Period);
    QCOMPARE(view()->selection()->event, std::size_t{1});
    QTest::keyClick(view(), Qt::Key_Comma);
    QCOMPARE(view()->selection()->event, std::size_t{0});
    QVERIFY(!view()->accessibleDescription().isEmpty());
  }

  void momentsAreAsFineAsThePicture() {
    open();
    const prof::TimeNs from = window_->trace()->tracks->span.startNs + 12'345'678;
    const prof::TimeWindow area{from, from + 200};
    view()->setArea(area);
    QVERIFY2(view()->announced().contains(QStringLiteral("12.346 ms")),
             qPrintable(view()->announced()));
    view()->setViewport(view()->viewport().showing({from - 500, from + 1500}));
    view()->setArea(area);
    QVERIFY2(view()->announced().contains(QStringLiteral("12.345678 ms")),
             qPrintable(view()->announced()));
  }

  void whereThereIsNoTrackTheTimelineGivesTheReason() {
    open();
    QVERIFY(view()->emptyWords().isEmpty());
    window_->pageOf<TimelinePage>()->filter()->setText(QStringLiteral("nothing like it"));
    QVERIFY2(view()->emptyWords().contains(QStringLiteral("nothing like it")),
             qPrintable(view()->emptyWords()));
    const QImage with = view()->grab().toImage();
    window_->pageOf<TimelinePage>()->filter()->setText(QStringLiteral("no such thing"));
    QVERIFY(view()->grab().toImage() != with);
    window_->pageOf<TimelinePage>()->filter()->clear();
    QVERIFY(view()->emptyWords().isEmpty());
  }

  void namesThatLookLikeTagsAreShownAsTheyAre() {
    window_->loader()->setOpener([](const auto&, const auto&) {
      analyzer::StoreBuilder trace;
      trace.append(prof::Thread{.id = prof::ThreadId(1)});
      trace.append(prof::Range{
          .durNs = 50'000, .thread = prof::ThreadId(1), .name = trace.intern("scan<b>run")});
      return prof::Result<std::shared_ptr<const analyzer::Store>>(trace.build());
    });
    QSignalSpy shown(window_.get(), &MainWindow::traceShown);
    window_->openFile(QStringLiteral("tags<i>.lcn"));
    QVERIFY(shown.wait(kPatienceMs));
    view()->select(EventPlace{{0, 0}, 0, 0});
    const QList<QLabel*> texts = window_->pageOf<TimelinePage>()->findChildren<QLabel*>();
    const auto title = std::find_if(texts.begin(), texts.end(), [](const QLabel* text) {
      return text->text() == QLatin1String("scan<b>run");
    });
    QVERIFY(title != texts.end());
    QCOMPARE((*title)->textFormat(), Qt::PlainText);
    int named = 0;
    for (const QLabel* text : window_->findChildren<QLabel*>()) {
      if (!text->text().contains(QLatin1String("tags<i>.lcn"))) continue;
      QCOMPARE(text->textFormat(), Qt::PlainText);
      ++named;
    }
    QVERIFY(named > 0);
    QTRY_VERIFY(!window_->busy());
  }

  void tooltipsShowNamesThatLookLikeTagsAsTheyAre() {
    const QString name = QStringLiteral("scan<b>run");
    TableModel table;
    TableColumn column{QStringLiteral("Kernel"), TableColumn::Kind::Text};
    column.texts = {name};
    table.setTable({column});
    DetailsModel details;
    details.append({{QStringLiteral("name"), name}});
    SqlModel answer;
    answer.begin({QStringLiteral("name")});
    auto rows = std::make_shared<SqlChunk>();
    rows->columns = 1;
    rows->add(name.toStdString(), SqlChunk::Kind::Text);
    answer.append(rows);
    for (const QModelIndex& cell : {table.index(0, 0), details.index(0, 1), answer.index(0, 0)}) {
      QVERIFY(cell.isValid());
      QTextDocument shown;
      shown.setHtml(cell.data(Qt::ToolTipRole).toString());
      QCOMPARE(shown.toPlainText(), name);
      QCOMPARE(cell.data().toString(), name);
    }
    QCOMPARE(tipWords(QStringLiteral("a < b")), QStringLiteral("a < b"));
  }

  void aRangeAroundTheViewIsShownComplete() {
    open();
    const auto& groups = window_->trace()->tracks->groups;
    const auto nested =
        std::find_if(groups[0].tracks.begin(), groups[0].tracks.end(),
                     [](const analyzer::Track& track) { return track.lanes.size() > 1; });
    QVERIFY(nested != groups[0].tracks.end());
    const EventPlace step{{0, static_cast<std::size_t>(nested - groups[0].tracks.begin())}, 0, 1};
    const analyzer::Lane& lane = nested->lanes[0];
    view()->setViewport(
        view()->viewport().showing({lane.startNs(1) + 1000, lane.startNs(1) + 20'000}));
    view()->reveal(step);
    const Viewport& shown = view()->viewport();
    QVERIFY(shown.startNs() <= lane.startNs(1) && shown.endNs() >= lane.endNs(1));
    QVERIFY(shown.spanNs() < 2 * lane.durNs(1));
  }

  void everythingOnTheTimelineIsReachedByKeys() {
    open();
    QTest::keyClick(view(), Qt::Key_Down, Qt::ShiftModifier);
    QVERIFY(view()->selection().has_value());
    std::set<TrackRef> seen;
    for (int i = 0; i < 40; ++i) {
      seen.insert(view()->selection()->track);
      QTest::keyClick(view(), Qt::Key_Down, Qt::ShiftModifier);
    }
    QVERIFY(seen.size() > 2);
    const EventPlace last = *view()->selection();
    QTest::keyClick(view(), Qt::Key_P);
    QVERIFY(view()->rowOptions().pinned.contains(last.track));
    QTest::keyClick(view(), Qt::Key_Up, Qt::ShiftModifier);
    QVERIFY(view()->selection() != last);
    const TrackRef track = view()->selection()->track;
    QTest::keyClick(view(), Qt::Key_C);
    QVERIFY(view()->rowOptions().collapsedTracks.contains(track));
    QTest::keyClick(view(), Qt::Key_C);
    QVERIFY(!view()->rowOptions().collapsedTracks.contains(track));
  }

  void aClickOnTheHeadingOfPinnedTracksKeepsThem() {
    open();
    RowOptions options = view()->rowOptions();
    options.pinned = {firstKernel().track};
    view()->setRowOptions(options);
    const std::size_t shown = view()->rows().size();
    for (const bool folded : {true, false}) {
      QTest::mouseClick(view(), Qt::LeftButton, {},
                        view()->rowRect(0).center() - QPoint(view()->width() / 2 - 60, 0));
      QVERIFY(view()->rowOptions().pinned == options.pinned);
      QCOMPARE(view()->rows().size(), folded ? shown - 1 : shown);
    }
  }

  void recentTracesAreInTheMenu() {
    open();
    QStringList all;
    for (const QMenu* menu : window_->menuBar()->findChildren<QMenu*>()) {
      for (const QAction* action : menu->actions()) all << action->text();
    }
    QVERIFY(all.filter(QStringLiteral("run.lcn")).size() == 1);
  }

  void namesOfFilesKeepTheirAmpersands() {
    window_->loader()->setOpener(
        [](const auto&, const auto&) { return prof::Result(gui::testing::sampleTrace()); });
    QSignalSpy shown(window_.get(), &MainWindow::traceShown);
    window_->openFile(QStringLiteral("a&b.lcn"));
    QVERIFY(shown.wait(kPatienceMs));
    // Two of them are one that is seen, in menus and on buttons.
    QStringList entries;
    for (const QMenu* menu : window_->menuBar()->findChildren<QMenu*>()) {
      for (const QAction* action : menu->actions()) entries << action->text();
    }
    QCOMPARE(entries.filter(QStringLiteral("a&&b.lcn")).size(), 1);
    window_->loader()->setOpener(
        [](const auto&, const auto&) -> prof::Result<std::shared_ptr<const analyzer::Store>> {
          return prof::Error{"broken"};
        });
    QSignalSpy failed(window_.get(), &MainWindow::traceFailed);
    window_->openFile(QStringLiteral("broken.lcn"));
    QVERIFY(failed.wait(kPatienceMs));
    const auto buttons = window_->errorPage()->findChildren<QPushButton*>();
    QVERIFY(std::any_of(buttons.begin(), buttons.end(), [](const QPushButton* b) {
      return b->text().contains(QLatin1String("a&&b.lcn"));
    }));
    QTRY_VERIFY(!window_->busy());
  }

  void everyPageGivesItsData() {
    openAnalysed();
    for (const QString& page : window_->pageNames()) {
      window_->showPage(page);
      gui::testing::settle(1);
      QTRY_VERIFY(!window_->busy());
      const QStringList lines = window_->figures().csv.split(QLatin1Char('\n'), Qt::SkipEmptyParts);
      if (page == QLatin1String("sql") ||
          page == QLatin1String("compare")) {  // nothing asked, nothing compared
        QVERIFY(lines.isEmpty());
        continue;
      }
      // The trace has no operators; their table is there with its titles.
      QVERIFY2(lines.size() > (page == QLatin1String("operators") ? 0 : 1), qPrintable(page));
      static const QRegularExpression kQuoted(QStringLiteral("\"[^\"]*\""));
      for (QString line : lines) {
        QCOMPARE(line.remove(kQuoted).count(QLatin1Char(',')), lines[0].count(QLatin1Char(',')));
      }
    }
    window_->showPage(QStringLiteral("timeline"));
    view()->fit();
    std::uint64_t events = 0;
    for (const auto& group : window_->trace()->tracks->groups) {
      for (const auto& track : group.tracks) {
        for (const auto& lane : track.lanes) events += lane.size();
      }
    }
    QCOMPARE(static_cast<std::uint64_t>(window_->figures().csv.count(QLatin1Char('\n'))),
             events + 1);
  }

  void aBookmarkIsOnTheStripOfTheWholeTraceAtOnce() {
    openAnalysed();
    window_->showPage(QStringLiteral("timeline"));
    gui::testing::settle(30);
    PaintedArea painted;
    auto* strip = window_->findChild<Minimap*>();
    QVERIFY(strip != nullptr);
    strip->installEventFilter(&painted);
    view()->setBookmarks({{1'010'000'000, QStringLiteral("here")}});
    QTRY_VERIFY(painted.paints > 0);
  }

  void hoveringDoesNotRedrawTheTracks() {
    openAnalysed();
    view()->repaint();
    const int drawn = view()->picturesDrawn();
    for (int x = 300; x < 900; x += 50) QTest::mouseMove(view(), {x, 300});
    view()->repaint();
    QCOMPARE(view()->picturesDrawn(), drawn);
    QTest::keyClick(view(), Qt::Key_W);
    view()->repaint();
    QCOMPARE(view()->picturesDrawn(), drawn + 1);
  }

  void hoveringPaintsLittleAndLeavesNothingBehind() {
    openAnalysed();
    view()->repaint();
    gui::testing::settle(20);
    PaintedArea painted;
    view()->installEventFilter(&painted);
    const QPoint kernel = view()->eventRect(firstKernel()).center().toPoint();
    for (const QPoint at : {QPoint(40, 60), QPoint(100, 140), kernel, kernel + QPoint(3, 40),
                            QPoint(700, 300), QPoint(60, 90)}) {
      painted.counting = true;
      QTest::mouseMove(view(), at);
      QCoreApplication::processEvents();
      painted.counting = false;
      const QImage& shown = *static_cast<QImage*>(window_->backingStore()->paintDevice());
      const double scale = view()->devicePixelRatioF();
      const QRect place(view()->mapTo(window_.get(), QPoint()) * scale, view()->size() * scale);
      const QImage part = shown.copy(place).convertToFormat(QImage::Format_RGB32);
      QVERIFY2(part == view()->grab().toImage().convertToFormat(QImage::Format_RGB32),
               qPrintable(QString::number(at.x())));
    }
    view()->removeEventFilter(&painted);
    QVERIFY(painted.paints > 0);
    QVERIFY2(painted.largest < view()->width() * view()->height() / 4,
             qPrintable(QString::number(painted.largest)));
  }

  void modelsKeepTheirPromises() {
    open();
    DetailsModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    model.show(window_->trace(), {analyzer::EventRef::Table::Kernel, 0});
    QVERIFY(model.rowCount() > 5);
    const int before = model.rowCount();
    model.append({{QStringLiteral("grid"), QStringLiteral("[1, 2]")},
                  {QStringLiteral("warm"), QStringLiteral("yes")}});
    QCOMPARE(model.rowCount(), before + 2);
    model.clear();
    QCOMPARE(model.rowCount(), 0);
  }

  void theDetailsOfAnEventHoldItsArguments() {
    window_->loader()->setOpener([](const auto&, const auto&) {
      using namespace prof;  // NOLINT: rows of every table
      analyzer::StoreBuilder trace;
      trace.append(Thread{.id = ThreadId(1), .name = trace.intern("main")});
      trace.append(Range{.startNs = 5,
                         .durNs = 50'000,
                         .thread = ThreadId(1),
                         .name = trace.intern("mm"),
                         .args = ArgSetId(7)});
      trace.append(ArgSet{.id = ArgSetId(7),
                          .shape = trace.intern("=correlation\n+Input Dims\n+Sequence number")});
      trace.append(Arg{.set = ArgSetId(7),
                       .key = trace.intern("Sequence number"),
                       .type = ArgType::I64,
                       .value = 42});
      trace.append(Arg{.set = ArgSetId(7),
                       .key = trace.intern("Input Dims"),
                       .type = ArgType::Json,
                       .value = trace.intern("[[2,3],[3]]").value});
      return prof::Result<std::shared_ptr<const analyzer::Store>>(trace.build());
    });
    QSignalSpy shown(window_.get(), &MainWindow::traceShown);
    window_->openFile(QStringLiteral("kineto.json"));
    QVERIFY(shown.wait(kPatienceMs));
    view()->select(EventPlace{{0, 0}, 0, 0});
    QTRY_VERIFY(!window_->pageOf<TimelinePage>()->busy());
    const DetailsModel* details = window_->pageOf<TimelinePage>()->details();
    QStringList all;
    for (int row = 0; row < details->rowCount(); ++row) {
      all << details->index(row, 0).data().toString() + QLatin1Char('=') +
                 details->index(row, 1).data().toString();
    }
    const QStringList arguments{QStringLiteral("Input Dims=[[2,3],[3]]"),
                                QStringLiteral("Sequence number=42")};
    QCOMPARE(all.sliced(all.size() - 2), arguments);
    QVERIFY2(all.filter(QStringLiteral("args")).isEmpty(), "a number of our own says nothing");
    QTRY_VERIFY(!window_->busy());
  }

  void theDetailsOfACollectiveHoldItsNcclFields() {
    window_->loader()->setOpener([](const auto&, const auto&) {
      using namespace prof;  // NOLINT: rows of every table
      analyzer::StoreBuilder trace;
      trace.append(Process{.id = ProcessId(1), .osPid = 1});
      trace.append(Thread{.id = ThreadId(1), .process = ProcessId(1)});
      trace.append(Device{.id = DeviceId(1), .kind = DeviceKind::Cuda});
      trace.append(Queue{.id = QueueId(1), .device = DeviceId(1), .process = ProcessId(1)});
      trace.append(
          Range{.startNs = 100,
                .durNs = 5'000,
                .thread = ThreadId(1),
                .domain = trace.intern("NCCL"),
                .name = trace.intern("ncclBroadcast"),
                .text = trace.intern("NCCL communicator ID=171 Message size [bytes]=2000 Root=0")});
      trace.append(ApiCall{.startNs = 200, .durNs = 50, .thread = ThreadId(1), .correlation = 7});
      trace.append(Kernel{.startNs = 10'000,
                          .durNs = 1'000,
                          .queue = QueueId(1),
                          .device = DeviceId(1),
                          .correlation = 7,
                          .name = trace.intern("ncclDevKernel_Broadcast_RING_LL()")});
      return prof::Result<std::shared_ptr<const analyzer::Store>>(trace.build());
    });
    QSignalSpy shown(window_.get(), &MainWindow::traceShown);
    window_->openFile(QStringLiteral("nccl.lcn"));
    QVERIFY(shown.wait(kPatienceMs));
    const DetailRows rows = argumentsOf(*window_->trace(), {analyzer::EventRef::Table::Kernel, 0});
    const DetailRows expected{
        {QStringLiteral("communicator"), QStringLiteral("0xab")},
        {QStringLiteral("calls carried out"), QStringLiteral("1")},
        {QStringLiteral("bytes put in"), QString::fromStdString(prof::bytesText(2'000))},
        {QStringLiteral("rate"), QString::fromStdString(prof::rateText(2e9))},
        {QStringLiteral("bus rate"), QString::fromStdString(prof::rateText(2e9))}};
    QCOMPARE(rows, expected);
    QTRY_VERIFY(!window_->busy());
  }

  void aStretchIsSummedUp() {
    open();
    QSignalSpy ready(window_->pageOf<TimelinePage>(), &TimelinePage::sumsReady);
    const prof::TimeWindow step{1'010'000'000, 1'020'000'000};
    view()->setArea(step);
    QVERIFY(ready.wait(kPatienceMs));
    const auto stats = analyzer::areaStats(*window_->trace()->tracks, step);
    const TableModel* sums = window_->pageOf<TimelinePage>()->sums();
    QCOMPARE(sums->rowCount(), static_cast<int>(stats.names.size()));
    QCOMPARE(sums->table()[2].numbers[0], static_cast<double>(stats.names[0].totalNs));
  }

  void aLaneIsScrolledToWithinTheStretchThatIsShown() {
    openAnalysed();
    TimelineView small;
    showLow(small);
    EventPlace last;
    for (const Row& row : small.rows()) {
      if (row.kind == Row::Kind::Track && row.lanes > 0) last = {row.ref, row.lanes - 1, 0};
    }
    const auto isSeen = [&] {
      const QRectF at = small.eventRect(last);
      return at.top() >= kRulerHeight && at.bottom() <= small.height();
    };
    QVERIFY(!isSeen());
    const Viewport before = small.viewport();
    small.revealLane(last);
    small.select(last);
    QVERIFY(isSeen());
    QVERIFY(small.viewport() == before);
    QVERIFY(view()->ledgers() != nullptr);
    small.setLedgers(view()->ledgers());
    QVERIFY(isSeen());
  }

  void slowScrollingAddsUp() {
    openAnalysed();
    TimelineView small;
    showLow(small);
    auto* bar = small.findChild<QScrollBar*>();
    QVERIFY(bar != nullptr && bar->maximum() > 30);
    for (int n = 0; n < 60; ++n) {
      QWheelEvent event({600, 100}, small.mapToGlobal(QPointF(600, 100)), {}, {0, -1}, Qt::NoButton,
                        Qt::NoModifier, Qt::NoScrollPhase, false);
      QApplication::sendEvent(&small, &event);
    }
    QCOMPARE(bar->value(), 3 * kLanePitch / 2);
  }

  void searchGoesToTheNextEvent() {
    open();
    QTest::keyClicks(window_->pageOf<TimelinePage>()->search(), QStringLiteral("relu_kernel"));
    QTRY_VERIFY(
        window_->pageOf<TimelinePage>()->searchResult().startsWith(QStringLiteral("12 events")));
    QCOMPARE(window_->pageOf<TimelinePage>()->search()->accessibleDescription(),
             window_->pageOf<TimelinePage>()->searchResult());
    QTest::keyClick(window_->pageOf<TimelinePage>()->search(), Qt::Key_Return);
    QTRY_VERIFY(view()->selection().has_value());
    const auto first = view()->selection()->event;
    window_->pageOf<TimelinePage>()->findNext(true);
    QTRY_COMPARE(view()->selection()->event, first + 4);
    window_->pageOf<TimelinePage>()->findNext(false);
    QTRY_COMPARE(view()->selection()->event, first);
  }

  void aSearchIsCalledOffByTheNextOne() {
    open();
    TimelinePage* timeline = window_->pageOf<TimelinePage>();
    auto begun = std::make_shared<std::atomic<int>>(0);
    auto calledOff = std::make_shared<std::atomic<int>>(0);
    timeline->setCountMatches(
        [begun, calledOff](const auto& tracks, const auto& names, const auto& progress) {
          if (++*begun == 3) return analyzer::countMatches(tracks, names, progress);
          while (progress(0.5)) QThread::msleep(1);
          ++*calledOff;
          return std::uint64_t{1};
        });
    QSignalSpy searched(timeline, &TimelinePage::searched);
    timeline->search()->setFocus();
    timeline->search()->setText(QStringLiteral("gemm"));
    QTRY_COMPARE(timeline->searchResult(), QStringLiteral("Searching… 50 %"));
    QVERIFY(timeline->busy());
    timeline->search()->setText(QStringLiteral("gemm_"));
    QTRY_COMPARE(begun->load(), 2);
    QCOMPARE(calledOff->load(), 1);
    QTest::keyClick(timeline->search(), Qt::Key_Escape);
    QVERIFY(timeline->searchResult().isEmpty());
    QVERIFY(!timeline->busy());
    QTRY_COMPARE(calledOff->load(), 2);
    timeline->search()->setText(QStringLiteral("relu_kernel"));
    QTRY_VERIFY(timeline->searchResult().startsWith(QStringLiteral("12 events")));
    QCOMPARE(searched.count(), 1);
  }

  void closingCallsTheSearchOff() {
    open();
    auto begun = std::make_shared<std::atomic<bool>>(false);
    auto calledOff = std::make_shared<std::atomic<bool>>(false);
    window_->pageOf<TimelinePage>()->setCountMatches(
        [begun, calledOff](const auto&, const auto&, const auto& progress) {
          for (*begun = true; progress(0.5);) QThread::msleep(1);
          *calledOff = true;
          return std::uint64_t{1};
        });
    window_->pageOf<TimelinePage>()->search()->setText(QStringLiteral("gemm"));
    QTRY_VERIFY(begun->load());
    window_->close();
    window_.reset();
    QVERIFY(calledOff->load());
  }

  void aKernelLeadsToItsLaunchAndBack() {
    open();
    view()->reveal(firstKernel());
    QTRY_COMPARE(view()->links().size(), std::size_t{2});  // the call, and the operator around it
    QTest::keyClick(view(), Qt::Key_L);
    QCOMPARE(window_->trace()->track(view()->selection()->track).kind, analyzer::TrackKind::Calls);
    QTRY_COMPARE(view()->links().size(), std::size_t{1});
    QTest::keyClick(view(), Qt::Key_L);
    QVERIFY(view()->selection() == firstKernel());
  }

  void linksThatWereCalledOffAreFoundAgain() {
    open();
    for (int n = 0; n < 5; ++n) {
      view()->select(firstKernel());
      view()->select(std::nullopt);
      QVERIFY(!window_->pageOf<TimelinePage>()->busy());
    }
    view()->select(firstKernel());
    QTRY_COMPARE(view()->links().size(), std::size_t{2});
    QTRY_VERIFY(!window_->busy());
  }

  void otherButtonsOfTheMouseLeaveTheOverviewInFront() {
    openAnalysed();
    window_->showPage(QStringLiteral("overview"));
    gui::testing::settle(30);
    const auto cards = window_->pageOf<OverviewPage>()->findChildren<FindingCard*>();
    const auto card = std::find_if(cards.begin(), cards.end(),
                                   [](FindingCard* c) { return c->focusPolicy() != Qt::NoFocus; });
    QVERIFY(card != cards.end());
    auto* chart = window_->pageOf<OverviewPage>()->findChild<StepChart*>();
    QVERIFY(chart != nullptr);
    QTest::mouseClick(*card, Qt::RightButton, {}, QPoint(5, 5));
    QTest::mouseClick(chart, Qt::MiddleButton, {}, chart->rect().center());
    QCOMPARE(window_->page(), QStringLiteral("overview"));
    QTest::mouseClick(*card, Qt::LeftButton, {}, QPoint(5, 5));
    QCOMPARE(window_->page(), QStringLiteral("timeline"));
    QTRY_VERIFY(!window_->busy());
  }

  void aFindingLeadsToItsEvidence() {
    openAnalysed();
    const auto& analysis = *window_->findings().analysis;
    std::size_t n = 0;
    while (n < analysis.of<analyzer::Findings>().size() &&
           analysis.of<analyzer::Findings>()[n].evidence.size() < 2)
      ++n;
    QVERIFY(n < analysis.of<analyzer::Findings>().size());
    const analyzer::Finding& finding = analysis.of<analyzer::Findings>()[n];
    window_->showPage(QStringLiteral("overview"));
    gui::testing::settle(20);
    QFrame* card = nullptr;
    for (QFrame* frame : window_->pageOf<OverviewPage>()->findChildren<QFrame*>()) {
      if (frame->property("finding").isValid() && frame->property("finding").toULongLong() == n)
        card = frame;
    }
    QVERIFY(card != nullptr);
    QTest::mouseClick(card, Qt::LeftButton, {}, QPoint(30, card->height() / 2));
    const auto shows = [&](const analyzer::Evidence& evidence) {
      return view()->viewport().startNs() <= evidence.startNs &&
             view()->viewport().endNs() >= evidence.endNs;
    };
    QVERIFY(view()->isVisible());
    QCOMPARE(view()->highlights().size(), finding.evidence.size());
    QVERIFY(shows(finding.evidence[0]));
    FindingPanel* panel = window_->pageOf<TimelinePage>()->finding();
    QVERIFY(panel->isVisible());
    panel->step(1);
    QVERIFY(shows(finding.evidence[1]));
    panel->step(-2);
    QVERIFY(shows(finding.evidence.back()));
    QTest::keyClick(view(), Qt::Key_Escape);
    QVERIFY(!panel->isVisible() && view()->highlights().empty());
  }

  void aFindingScrollsToItsRows() {
    openAnalysed();
    view()->setFixedHeight(180);  // too low for all rows
    gui::testing::settle(20);
    const auto& groups = window_->trace()->tracks->groups;
    const auto device = static_cast<std::size_t>(
        std::ranges::find(groups, true, &analyzer::TrackGroup::isDevice) - groups.begin());
    RowOptions options = view()->rowOptions();
    for (std::size_t g = 0; g < groups.size(); ++g) options.collapsedGroups.insert(g);
    options.filter = "python";
    view()->setRowOptions(options);
    analyzer::Finding finding;
    finding.title = "memory peaks";
    finding.evidence = {{.startNs = 1'050'000'000,
                         .endNs = 1'060'000'000,
                         .what = {},
                         .device = groups[device].device},
                        {.startNs = 1'050'000'000,
                         .endNs = 1'050'000'000,
                         .what = {},
                         .device = groups[device].device},
                        {.startNs = 1'050'000'000,
                         .endNs = 1'060'000'000,
                         .what = {},
                         .thread = prof::ThreadId(1)}};
    const auto seen = [&](Row::Kind kind, const QString& label) {
      for (std::size_t i = 0; i < view()->rows().size(); ++i) {
        const Row& row = view()->rows()[i];
        const QRect rect = view()->rowRect(i);
        if (row.kind != kind || rect.top() < kRulerHeight || rect.bottom() >= view()->height())
          continue;
        if (kind == Row::Kind::Ledger ||
            words(groups[row.ref.group].tracks[row.ref.track].label) == label)
          return true;
      }
      return false;
    };
    window_->pageOf<TimelinePage>()->showFinding(finding, *window_->findings().analysis);
    QVERIFY(seen(Row::Kind::Ledger, {}));
    QVERIFY(window_->pageOf<TimelinePage>()->filter()->text().isEmpty());
    QVERIFY(view()->markedRows() == std::vector<RowKey>({{Row::Kind::Ledger, {device, 0}}}));
    window_->pageOf<TimelinePage>()->finding()->step(1);
    QVERIFY(seen(Row::Kind::Track, QStringLiteral("memory")));
    window_->pageOf<TimelinePage>()->finding()->step(1);
    QVERIFY(seen(Row::Kind::Track,
                 words(view()->trace()->track(view()->markedRows().at(0).ref).label)));
    QCOMPARE(view()->trace()->track(view()->markedRows()[0].ref).thread, prof::ThreadId(1));
    view()->clearSelection();
    QVERIFY(view()->markedRows().empty());
  }

  void placesOfAFindingStayWithTheirRowsWhileATraceGrows() {
    const auto layout = [](std::initializer_list<std::uint32_t> threads) {
      analyzer::TrackSet tracks;
      analyzer::TrackGroup& group = tracks.groups.emplace_back();
      for (const std::uint32_t thread : threads)
        group.tracks.emplace_back().thread = prof::ThreadId(thread);
      return tracks;
    };
    std::vector<RowKey> wanted;
    FindingPanel panel;
    connect(&panel, &FindingPanel::placeWanted, &panel,
            [&](const FindingPlace& place) { wanted = place.rows; });
    FindingPlace place;
    place.rows = {{Row::Kind::Track, {0, 1}}};
    panel.setFinding(analyzer::Finding(), {place, place}, true);
    QVERIFY(wanted == place.rows);
    panel.moveTo(layout({1, 2}), layout({1, 3, 4, 2}));
    panel.step(1);
    QVERIFY(wanted == std::vector<RowKey>({{Row::Kind::Track, {0, 3}}}));
  }

  void aMomentIsShownWithItsStep() {
    openAnalysed();
    const analyzer::Analysis& analysis = *window_->findings().analysis;
    const analyzer::Step& step = analysis.steps.all[2];
    analyzer::Finding finding;
    finding.title = "memory grows";
    finding.evidence = {
        {.startNs = step.startNs + 1000, .endNs = step.startNs + 1000, .what = "here"},
        {.startNs = step.startNs + 1000, .endNs = step.startNs + 2000, .what = "there"}};
    window_->pageOf<TimelinePage>()->showFinding(finding, analysis);
    QVERIFY(view()->viewport().startNs() <= step.startNs &&
            view()->viewport().endNs() >= step.endNs);
    QVERIFY(view()->viewport().spanNs() < 2 * step.durNs());
    QCOMPARE(view()->highlights()[0].endNs, view()->highlights()[0].startNs);
    window_->pageOf<TimelinePage>()->finding()->step(1);
    QVERIFY(view()->viewport().spanNs() < 2000);
  }

  void aGainWithoutStepsIsOneInAll() {
    analyzer::Finding finding;
    finding.predictedGainNsPerStep = 5'000'000;
    const auto shows = [](const QWidget& widget, const char* words) {
      const QList<QLabel*> texts = widget.findChildren<QLabel*>();
      return std::any_of(texts.begin(), texts.end(), [&](const QLabel* text) {
        return text->text().contains(QLatin1String(words));
      });
    };
    const FindingCard ofRun(finding, true, false, true);
    QVERIFY(shows(ofRun, "in all") && !shows(ofRun, "step"));
    const FindingCard ofSteps(finding, true, true, true);
    QVERIFY(shows(ofSteps, "per step"));
    FindingPanel panel;
    panel.setFinding(finding, {}, false);
    QVERIFY(shows(panel, "in all") && !shows(panel, "step"));
    panel.setFinding(finding, {}, true);
    QVERIFY(shows(panel, "a step"));
  }

  void aGainOfMemoryAndAnUnpredictedOneAreShown() {
    const auto textsOf = [](const QWidget& widget) {
      QStringList texts;
      for (const QLabel* label : widget.findChildren<QLabel*>()) texts << label->text();
      return texts.join(QLatin1Char('\n'));
    };
    analyzer::Finding leak;
    leak.predictedGainBytes = 3 << 20;
    FindingPanel panel;
    panel.setFinding(leak, {}, true);
    QVERIFY(
        textsOf(panel).contains(bytesWords(3 << 20) + QStringLiteral("</b> of memory, predicted")));
    QVERIFY(textsOf(FindingCard(leak, true, true, true)).contains(bytesWords(3 << 20)));
    analyzer::Finding unknown;
    unknown.notPredicted = "nothing says why";
    panel.setFinding(unknown, {}, true);
    QVERIFY(textsOf(panel).contains(QStringLiteral("gain not predicted: nothing says why")));
    QVERIFY(textsOf(FindingCard(unknown, true, true, true))
                .contains(QStringLiteral("gain not predicted: nothing says why")));
  }

  void workersThatNobodyCountedAreUnknown() {
    openAnalysed();
    Findings waiting = window_->findings();
    auto analysis = std::make_shared<analyzer::Analysis>(*waiting.analysis);
    analysis->of<analyzer::LoaderStats>().present = true;
    analysis->of<analyzer::LoaderStats>().workersKnown = false;
    analysis->of<analyzer::LoaderStats>().workers = 0;
    waiting.analysis = analysis;
    OverviewPage* overview = window_->pageOf<OverviewPage>();
    overview->setFindings(waiting);
    const auto labels = overview->findChildren<QLabel*>();
    QVERIFY(std::any_of(labels.begin(), labels.end(), [](const QLabel* label) {
      return label->text() == QStringLiteral("loader workers: unknown");
    }));
    QTRY_VERIFY(!window_->busy());
  }

  void aFindingsFixCanBePlayed() {
    openAnalysed();
    const auto& findings = window_->findings().analysis->of<analyzer::Findings>();
    const auto fixable = std::find_if(findings.begin(), findings.end(), [](const auto& f) {
      return !f.knob.empty() && !f.evidence.empty();
    });
    QVERIFY(fixable != findings.end());
    window_->pageOf<OverviewPage>()->activateFinding(
        static_cast<std::size_t>(fixable - findings.begin()));
    QTest::mouseClick(window_->pageOf<TimelinePage>()->finding()->playButton(), Qt::LeftButton);
    QCOMPARE(window_->page(), QStringLiteral("overview"));
    QTRY_VERIFY(window_->pageOf<OverviewPage>()->drawing()->step().changed);
    QTRY_VERIFY(!window_->busy());
  }

  void aChangeCanBePlayed() {
    openAnalysed();
    QVERIFY(window_->findings().simulator != nullptr);
    OverviewPage* overview = window_->pageOf<OverviewPage>();
    const PlayedStep& step = overview->drawing()->step();
    QVERIFY(!step.changed);
    QCOMPARE(durationWords(step.prediction.measuredNsPerStep), QStringLiteral("10.0 ms"));
    QVERIFY(!step.before.stretches.empty());
    overview->controls()->slider("loader.workers")->setEnabled(true);
    overview->controls()->slider("loader.workers")->setValue(4);
    QTRY_VERIFY(!overview->busy());
    QVERIFY(overview->prediction().startsWith(QStringLiteral("Predicted step")));
    QVERIFY(overview->prediction().contains(QStringLiteral("nineteen of twenty runs")));
    QVERIFY(step.changed && step.after.durNs < step.before.durNs);
    const auto change = *analyzer::parseChange("loader.workers=4");
    QCOMPARE(step.prediction.predictedNsPerStep,
             window_->findings().simulator->play({&change, 1}).predictedNsPerStep);
  }

  void lanesOfAPlayedStepAreCalledAsOnTheTimeline() {
    openAnalysed();
    const PlayedStep& played = window_->pageOf<OverviewPage>()->drawing()->step();
    QVERIFY(played.before.queueNames == std::vector<std::string>{"queue 7"});
    QCOMPARE(StepDrawing::laneName(played.before, 1), QStringLiteral("device"));
    PlayedStep step = played;
    step.before.queues = 2;
    step.before.queueNames = {"stream 7", "stream 20"};
    QCOMPARE(StepDrawing::laneName(step.before, 0), QStringLiteral("host"));
    QCOMPARE(StepDrawing::laneName(step.before, 1), QStringLiteral("stream 7"));
    QCOMPARE(StepDrawing::laneName(step.before, 2), QStringLiteral("stream 20"));
    step.after = step.before;
    step.changed = true;
    StepDrawing drawing;
    drawing.setStep(step, true);
    const int height = drawing.minimumHeight();
    // A change may give work a queue of its own.
    step.after.queues = 3;
    step.after.queueNames.emplace_back();
    QCOMPARE(StepDrawing::laneName(step.after, 3), QStringLiteral("other"));
    drawing.setStep(step, true);
    QVERIFY(drawing.minimumHeight() > height);
  }

  void anyChangeCanBePlayedAndMistakesAreNamed() {
    openAnalysed();
    OverviewPage* overview = window_->pageOf<OverviewPage>();
    overview->playChange(QStringLiteral("kernel:relu*0.5"));
    QCOMPARE(overview->otherChange()->text(), QStringLiteral("kernel:relu*0.5"));
    QTRY_VERIFY(overview->drawing()->step().changed);
    overview->playChange(QStringLiteral("fuse=on"));
    QVERIFY(overview->controls()->checkBox("fuse")->isChecked());
    overview->otherChange()->setText(QStringLiteral("nonsense=1"));
    QVERIFY(overview->prediction().contains(QStringLiteral("nonsense")));
    overview->otherChange()->setText(QStringLiteral("kernel:nothing*0.5"));
    QVERIFY2(overview->prediction().contains(QStringLiteral("no kernel of the steps")),
             qPrintable(overview->prediction()));
    QTRY_VERIFY(!overview->busy());
  }

  void aChangeHasTheControlThatTheAnalyzerLists() {
    openAnalysed();
    const ChangeControls* controls = window_->pageOf<OverviewPage>()->controls();
    for (const analyzer::ChangeInfo* info : analyzer::listChanges()) {
      QCOMPARE(controls->slider(info->name) != nullptr,
               info->control == analyzer::ChangeControl::Slider);
      QCOMPARE(controls->checkBox(info->name) != nullptr,
               info->control == analyzer::ChangeControl::CheckBox);
      if (QCheckBox* box = controls->checkBox(info->name); box != nullptr) {
        box->setChecked(true);
        QVERIFY(controls->changes() == std::vector<std::string>{std::string(info->name) + "=on"});
        box->setChecked(false);
      }
    }
    QVERIFY(controls->changes().empty());
    QTRY_VERIFY(!window_->pageOf<OverviewPage>()->busy());
  }

  void tablesShowTheAnalyzersNumbers() {
    openAnalysed();
    const auto& rows = window_->findings().analysis->of<analyzer::KernelTable>();
    const TableModel* model = window_->pageOf<KernelsPage>()->model();
    QCOMPARE(model->rowCount(), static_cast<int>(rows.size()));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      QCOMPARE(model->table()[0].texts[i].toStdString(), rows[i].name);
      QCOMPARE(model->table()[2].numbers[i], static_cast<double>(rows[i].totalNs));
    }
  }

  void operatorsHaveAColumnOfMemoryWhereAllocationsWereRecorded() {
    openAnalysed();
    Findings found = window_->findings();
    analyzer::Analysis analysis = *found.analysis;
    analyzer::OperatorRow& relu = analysis.of<analyzer::OperatorTables>().byName.emplace_back();
    relu.name = "relu";
    relu.deviceNs = 9;
    QVERIFY(analysis.of<analyzer::MemoryTables>().all.present);
    const auto shownOnOverview = [&]() -> const TableModel* {
      found.analysis = std::make_shared<const analyzer::Analysis>(analysis);
      window_->pageOf<OverviewPage>()->setFindings(found);
      return window_->pageOf<OverviewPage>()->findChildren<TableModel*>().value(2);
    };
    for (const bool recorded : {true, false}) {
      analysis.of<analyzer::MemoryTables>().all.present = recorded;
      analysis.of<analyzer::OperatorTables>().byName.back().memBytes = recorded ? 64 : 0;
      QCOMPARE(operatorTableOf(analysis, false).size(), std::size_t{recorded ? 6U : 5U});
      const TableModel* costliest = shownOnOverview();
      QVERIFY(costliest != nullptr);
      QCOMPARE(costliest->columnCount(), 3);
      QCOMPARE(costliest->table()[2].title, QStringLiteral("Device"));
    }
    QTRY_VERIFY(!window_->busy());
  }

  void figuresOfSeveralUnitsSortByUnitAndSize() {
    TableModel model;
    model.setTable(mixedComparisonTable(
        {{.what = "copies", .unit = {}, .before = 3, .after = 40},
         {.what = "peak", .unit = "bytes", .before = 2048, .after = 3 << 20},
         {.what = "warm-up", .unit = "ns", .before = 9'000'000, .after = 1000},
         {.what = "step time", .unit = "ns", .before = 10'000'000, .after = 900}},
        QStringLiteral("Figure")));
    QSignalSpy arranged(&model, &TableModel::arranged);
    const auto names = [&](int column) {
      model.sort(column, Qt::AscendingOrder);
      QStringList shown;
      if (!arranged.wait(kPatienceMs)) return shown;
      for (int row = 0; row < model.rowCount(); ++row)
        shown << model.index(row, 0).data().toString();
      return shown;
    };
    QCOMPARE(names(2).join(QLatin1Char(' ')), QStringLiteral("warm-up step time peak copies"));
    QCOMPARE(names(3).join(QLatin1Char(' ')), QStringLiteral("step time warm-up peak copies"));
    QCOMPARE(names(4).join(QLatin1Char(' ')), QStringLiteral("step time warm-up peak copies"));
  }

  void figuresOfTheAllocatorSortBySize() {
    analyzer::Analysis analysis;
    analyzer::DeviceMemory& memory = analysis.of<analyzer::MemoryTables>().devices.emplace_back();
    memory.peakBytes = 900;
    memory.reservedPeakBytes = std::uint64_t{3} << 30;
    memory.allocator = {.present = true,
                        .requestedBytes = 96 << 20,
                        .reservedBytes = std::uint64_t{2} << 30,
                        .liveBytes = std::uint64_t{1} << 30,
                        .largestFreeBytes = 512 << 20,
                        .segments = 9,
                        .freePieces = 40};
    TableModel model;
    model.setTable(allocatorTable(analysis));
    QSignalSpy arranged(&model, &TableModel::arranged);
    model.sort(1, Qt::AscendingOrder);
    QVERIFY(arranged.wait(kPatienceMs));
    QStringList shown;
    for (int row = 0; row < model.rowCount(); ++row) shown << model.index(row, 1).data().toString();
    QCOMPARE(
        shown.join(QLatin1Char(' ')),
        QStringLiteral("900 B 96.0 MiB 512 MiB 1.00 GiB 1.00 GiB 2.00 GiB 3.00 GiB 9 40 50.0 %"));
  }

  void aCostThatIsNotKnownIsNoCost() {
    TableModel model;
    const auto edit = [](const char* origin, std::int64_t costNs) {
      analyzer::PeakEdit out;
      out.origin = origin;
      out.bytes = 1;
      out.costNsPerStep = costNs;
      return out;
    };
    model.setTable(peakEditTable({edit("relu", -1), edit("conv2d", 5000), edit("linear", 0)}));
    QCOMPARE(model.index(0, 3).data().toString(), QStringLiteral("not known"));
    QVERIFY2(model.csv().contains(QStringLiteral("\nrelu,free earlier,1,,0,")),
             qPrintable(model.csv()));
    QSignalSpy arranged(&model, &TableModel::arranged);
    for (const auto& [order, shown] : {std::pair(Qt::AscendingOrder, "linear conv2d relu"),
                                       std::pair(Qt::DescendingOrder, "conv2d linear relu")}) {
      model.sort(3, order);
      QVERIFY(arranged.wait(kPatienceMs));
      QStringList names;
      for (int row = 0; row < model.rowCount(); ++row)
        names << model.index(row, 0).data().toString();
      QCOMPARE(names.join(QLatin1Char(' ')), QString::fromLatin1(shown));
    }
  }

  void theSessionComesBack() {
    open();
    QTest::keyClick(view(), Qt::Key_W);
    window_->pageOf<TimelinePage>()->toggleBookmark();
    const Viewport before = view()->viewport();
    window_->close();
    window_ = std::make_unique<MainWindow>();
    window_->show();
    window_->loader()->setOpener(
        [](const auto&, const auto&) { return prof::Result(gui::testing::sampleTrace()); });
    QSignalSpy shown(window_.get(), &MainWindow::traceShown);
    window_->openFile(QStringLiteral("run.lcn"));
    QVERIFY(shown.wait(kPatienceMs));
    QVERIFY(view()->viewport() == before);
    QCOMPARE(view()->bookmarks().size(), std::size_t{1});
  }

  void theSessionOfAnotherRecordingStaysAway() {
    open();
    QTest::keyClick(view(), Qt::Key_W);
    window_->pageOf<TimelinePage>()->toggleBookmark();
    window_->close();
    window_ = std::make_unique<MainWindow>();
    window_->show();
    window_->loader()->setOpener([](const auto&, const auto&) {
      analyzer::StoreBuilder trace;  // under the same name
      trace.append(prof::Process{.id = prof::ProcessId(1), .osPid = 7});
      trace.append(prof::Thread{.id = prof::ThreadId(1), .process = prof::ProcessId(1)});
      trace.append(prof::Range{.startNs = 3000,
                               .durNs = 60'000'000,
                               .thread = prof::ThreadId(1),
                               .name = trace.intern("train")});
      return prof::Result<std::shared_ptr<const analyzer::Store>>(trace.build());
    });
    QSignalSpy shown(window_.get(), &MainWindow::traceShown);
    window_->openFile(QStringLiteral("run.lcn"));
    QVERIFY(shown.wait(kPatienceMs));
    QVERIFY(view()->viewport() == view()->viewport().fitted());
    QVERIFY(view()->bookmarks().empty());
    QCOMPARE(window_->page(), QStringLiteral("overview"));
    QTRY_VERIFY(!window_->busy());
  }

  void sessionsOfLongAgoAreForgotten() {
    QSettings settings;
    for (int n = 0; n < 300; ++n) settings.setValue(QStringLiteral("session/old%1/used").arg(n), n);
    settings.sync();
    open();
    window_->close();
    settings.sync();
    settings.beginGroup(QStringLiteral("session"));
    const QStringList kept = settings.childGroups();
    QCOMPARE(kept.size(), 200);
    QVERIFY(!kept.contains(QStringLiteral("old0")) && kept.contains(QStringLiteral("old299")));
    QVERIFY(std::any_of(kept.begin(), kept.end(),
                        [](const QString& key) { return !key.startsWith(u"old"); }));
  }

  void largeTablesSortAndFilterOffTheThread() {
    TableModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    TableColumn names{QStringLiteral("Name")};
    TableColumn sizes{QStringLiteral("Size"), TableColumn::Kind::Bytes};
    for (int i = 0; i < 1000; ++i) {
      names.texts.push_back(QStringLiteral("row %1").arg(i * 7919 % 1000));
      sizes.numbers.push_back(i * 7919 % 1000);
    }
    model.setTable({names, sizes});
    QSignalSpy arranged(&model, &TableModel::arranged);
    model.sort(1, Qt::AscendingOrder);
    QVERIFY(arranged.wait(kPatienceMs));
    for (int i = 0; i < 1000; ++i)
      QCOMPARE(model.table()[1].numbers[model.sourceRow(i)], double(i));
    model.setFilter(QStringLiteral("ROW 99"));
    QVERIFY(arranged.wait(kPatienceMs));
    QCOMPARE(model.rowCount(), 11);
    QVERIFY(model.csv().startsWith(QStringLiteral("Name,Size (bytes)\nrow 99,99\n")));
  }

  void exportedFiguresCarryTheirUnits() {
    TableModel model;
    TableColumn time{QStringLiteral("Total"), TableColumn::Kind::Duration};
    TableColumn share{QStringLiteral("Change in %"), TableColumn::Kind::Percent};
    TableColumn calls{QStringLiteral("Calls"), TableColumn::Kind::Count};
    time.numbers = {1500};
    share.numbers = {-0.25};
    calls.numbers = {3};
    model.setTable({time, share, calls});
    QCOMPARE(model.csv(), QStringLiteral("Total (ns),Change in %,Calls\n1500,-25,3\n"));
  }

  void cellsOfExportedRowsStayCells() {
    QCOMPARE(csvCell(QStringLiteral("plain")), QStringLiteral("plain"));
    QCOMPARE(csvCell(QStringLiteral("a,b")), QStringLiteral("\"a,b\""));
    QCOMPARE(csvCell(QStringLiteral("say \"a\"")), QStringLiteral("\"say \"\"a\"\"\""));
    QCOMPARE(csvCell(QStringLiteral("a\rb")), QStringLiteral("\"a\rb\""));
  }

  void aFilterTakenAwaySortsNothing() {
    TableModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    TableColumn names{QStringLiteral("Name")};
    TableColumn sizes{QStringLiteral("Size"), TableColumn::Kind::Bytes};
    for (int i = 0; i < 100; ++i) {
      names.texts.push_back(i % 2 ? QStringLiteral("odd") : QStringLiteral("even"));
      sizes.numbers.push_back(i);
    }
    sizes.bar = true;
    model.setTable({names, sizes});
    QSignalSpy arranged(&model, &TableModel::arranged);
    model.sort(1, Qt::DescendingOrder);
    QVERIFY(arranged.wait(kPatienceMs));
    model.setFilter(QStringLiteral("odd"));
    QVERIFY(arranged.wait(kPatienceMs));
    QCOMPARE(model.rowCount(), 50);
    QCOMPARE(model.sourceRow(1), std::size_t{97});
    arranged.clear();
    model.setFilter({});
    QCOMPARE(arranged.count(), 1);  // at once: the order is still there
    QCOMPARE(model.rowCount(), 100);
    QCOMPARE(model.sourceRow(1), std::size_t{98});
    QCOMPARE(model.index(0, 0).data(TableModel::kShareRole).toDouble(), 1.0);
    QCOMPARE(model.index(99, 0).data(TableModel::kShareRole).toDouble(), 0.0);
    model.sort(-1, Qt::AscendingOrder);
    QCOMPARE(arranged.count(), 2);
    QCOMPARE(model.sourceRow(1), std::size_t{1});
  }

  void keysGoToWhatAPageIsAbout() {
    openAnalysed();
    view()->setFocus();
    for (const QString& page : window_->pageNames()) {
      window_->showPage(page);
      QVERIFY2(window_->focusWidget() != nullptr, qPrintable(page));
      QVERIFY2(qobject_cast<QLineEdit*>(window_->focusWidget()) == nullptr, qPrintable(page));
    }
    window_->showPage(QStringLiteral("kernels"));
    QCOMPARE(window_->focusWidget(),
             static_cast<QWidget*>(window_->pageOf<KernelsPage>()->table()));
  }

  void viewsOfLongTablesLearnOfRowsAsTheyScroll() {
    TableModel model;
    TableColumn numbers{QStringLiteral("Number"), TableColumn::Kind::Count};
    const std::size_t all = TableModel::kStretch * 2 + 10;
    for (std::size_t i = 0; i < all; ++i) numbers.numbers.push_back(static_cast<double>(i));
    model.setTable({numbers});
    QCOMPARE(model.rows(), all);
    QCOMPARE(model.rowCount(), static_cast<int>(TableModel::kStretch));
    model.fetchUpTo(static_cast<int>(all) - 1);
    QCOMPARE(model.rowCount(), static_cast<int>(all));
    QVERIFY(!model.canFetchMore({}));
    QSignalSpy arranged(&model, &TableModel::arranged);
    model.sort(0, Qt::DescendingOrder);
    QVERIFY(arranged.wait(kPatienceMs));
    QCOMPARE(model.rowCount(), static_cast<int>(TableModel::kStretch));
    QCOMPARE(model.sourceRow(0), all - 1);
    QCOMPARE(*model.viewRow(0), static_cast<int>(all) - 1);
  }

  void bothThemesDrawEveryPage() {
    openAnalysed();
    for (const bool dark : {true, false}) {
      window_->setDark(dark);
      for (const QString& page : window_->pageNames()) {
        QVERIFY(window_->showPage(page));
        gui::testing::settle(1);
        const QImage picture = window_->grab().toImage();
        if (qEnvironmentVariableIsSet("LACUNA_PICTURES"))
          picture.save(qEnvironmentVariable("LACUNA_PICTURES") + QLatin1Char('/') + page +
                       (dark ? QStringLiteral("-dark.png") : QStringLiteral("-light.png")));
        QCOMPARE(qGray(picture.pixel(4, picture.height() / 2)) < 128, dark);
      }
    }
  }

  void rangesOfTheCommandLineAreRead() {
    const auto range = parseRange(QStringLiteral("120ms:1.5s"));
    QVERIFY(range);
    QCOMPARE(range->startNs, 120'000'000);
    QCOMPARE(range->endNs, 1'500'000'000);
    QVERIFY(!parseRange(QStringLiteral("9ms:3ms")));
    QVERIFY(!parseRange(QStringLiteral("now:then")));
  }
};

int main(int argc, char** argv) {
  return lacuna::gui::testing::run<WindowTest>(argc, argv);
}

#include "window_test.moc"
