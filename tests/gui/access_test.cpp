// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <QAbstractButton>
#include <QAccessible>
#include <QApplication>
#include <QCheckBox>
#include <QDialog>
#include <QDir>
#include <QGroupBox>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QPlainTextEdit>
#include <QRegularExpression>
#include <QSet>
#include <QTabBar>
#include <QTableView>
#include <QTemporaryDir>
#include <QTextDocumentFragment>
#include <QTimer>
#include <QTranslator>

#include "gui/recording.h"
#include "gui/window_fixture.h"
#include "lacuna/analyzer/report.h"
#include "views/charts.h"
#include "views/finding_card.h"
#include "views/kernels_page.h"
#include "views/memory_chart.h"
#include "views/memory_page.h"
#include "views/overview_page.h"
#include "views/sql_page.h"
#include "views/steps_page.h"
#include "views/table_page.h"
#include "views/timeline_page.h"

using namespace lacuna;       // NOLINT
using namespace lacuna::gui;  // NOLINT

/// A language in which every text begins with a mark.
class MarkedLanguage : public QTranslator {
 public:
  static constexpr QChar kMark = QChar(0x2021);
  [[nodiscard]] bool isEmpty() const override { return false; }
  [[nodiscard]] QString translate(const char* /*context*/, const char* text, const char* /*about*/,
                                  int /*n*/) const override {
    return kMark + QString::fromUtf8(text);
  }
};

/// Remembers whose texts are asked for, and has none of them.
class AskedLanguage : public QTranslator {
 public:
  [[nodiscard]] bool isEmpty() const override { return false; }
  [[nodiscard]] QString translate(const char* context, const char* /*text*/, const char* /*about*/,
                                  int /*n*/) const override {
    asked_.insert(QString::fromUtf8(context));
    return {};
  }
  [[nodiscard]] bool asked(const char* context) const {
    return asked_.contains(QString::fromUtf8(context));
  }

 private:
  mutable QSet<QString> asked_;
};

/// The window for those who use no mouse, see no picture, or read no English.
class AccessTest : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<MainWindow> window_;
  [[nodiscard]] TimelineView* view() const { return window_->pageOf<TimelinePage>()->view(); }

  void show(const char* page) { QVERIFY(gui::testing::showSettled(*window_, page)); }
  /// Types the words into the command palette and takes what it finds first.
  void command(const char* words) {
    window_->activateWindow();  // offscreen nobody does when a dialog is gone
    QTRY_VERIFY(window_->isActiveWindow());
    QTest::keySequence(window_.get(), QKeySequence(Qt::CTRL | Qt::Key_P));
    QWidget* palette = QApplication::activePopupWidget();
    QVERIFY(palette != nullptr);
    auto* input = palette->findChild<QLineEdit*>();
    QTest::keyClicks(input, QString::fromLatin1(words));
    QTest::keyClick(input, Qt::Key_Return);
  }
  /// True when it takes keys or clicks: the menus and the inside of other widgets apart.
  static bool forPeople(const QWidget& widget) {
    if (widget.inherits("QTabBar") || widget.inherits("QAbstractItemView"))
      return widget.focusPolicy() != Qt::NoFocus;
    if (widget.inherits("QAbstractButton")) return !widget.inherits("QTableCornerButton");
    return (widget.focusPolicy() & Qt::TabFocus) != 0 && !widget.inherits("QScrollArea") &&
           !widget.inherits("QMenuBar");
  }
  /// Each widget that can be seen and used now.
  [[nodiscard]] QList<QWidget*> inUse() const {
    QList<QWidget*> widgets = window_->findChildren<QWidget*>();
    widgets.removeIf([](const QWidget* widget) {
      return !widget->isVisible() || !widget->isEnabled() || widget->focusProxy() ||
             !forPeople(*widget);
    });
    return widgets;
  }
  /// The texts of a widget that people read or hear.
  static QStringList textsOf(const QWidget& widget) {
    QStringList texts{widget.toolTip(), widget.accessibleName()};
    if (const auto* label = qobject_cast<const QLabel*>(&widget)) texts << label->text();
    if (const auto* button = qobject_cast<const QAbstractButton*>(&widget)) texts << button->text();
    if (const auto* line = qobject_cast<const QLineEdit*>(&widget))
      texts << line->placeholderText();
    if (const auto* group = qobject_cast<const QGroupBox*>(&widget)) texts << group->title();
    if (const auto* tabs = qobject_cast<const QTabBar*>(&widget)) {
      for (int i = 0; i < tabs->count(); ++i) texts << tabs->tabText(i) << tabs->tabToolTip(i);
    }
    if (const auto* table = qobject_cast<const QTableView*>(&widget); table && table->model()) {
      for (int i = 0; i < table->model()->columnCount(); ++i) {
        texts << table->model()->headerData(i, Qt::Horizontal).toString();
      }
    }
    return texts;
  }
  /// The words that are the trace's, or the analyzer's, which speaks English.
  [[nodiscard]] QSet<QString> givenWords() const {
    const analyzer::Analysis& analysis = *window_->findings().analysis;
    std::string message =
        analyzer::describeRun(analysis) + ' ' + analyzer::verdict(analysis) + " run.lcn";
    for (const analyzer::Finding& finding : analysis.of<analyzer::Findings>())
      message += ' ' + finding.title + ' ' + finding.advice;
    for (std::size_t i = 0; i < analyzer::kCauseCount; ++i) {
      message += ' ' + std::string(analyzer::causeLabel(static_cast<analyzer::Cause>(i)));
    }
    const QStringList words = wordsOf(QString::fromStdString(message)) +
                              wordsOf(window_->pageOf<SqlPage>()->editor()->toPlainText()) +
                              wordsOf(QDir::currentPath());
    return {words.begin(), words.end()};
  }
  static QStringList wordsOf(const QString& text) {
    static const QRegularExpression kNoLetters(QStringLiteral("[^A-Za-z]+"));
    QStringList words = QTextDocumentFragment::fromHtml(text).toPlainText().split(kNoLetters);
    words.removeIf([](const QString& word) { return word.size() < 3; });
    return words;
  }
  static QString called(const QString& page, const QWidget& widget) {
    return QStringLiteral("%1: %2 %3")
        .arg(page, QString::fromLatin1(widget.metaObject()->className()), widget.objectName());
  }

 private Q_SLOTS:
  void init() {
    gui::testing::failOnWarnings();
    window_ = gui::testing::makeWindow();
    QVERIFY(QTest::qWaitForWindowExposed(window_.get(), kPatienceMs));
    QVERIFY(gui::testing::openSample(*window_));
  }
  void cleanup() { window_.reset(); }

  void aCommandThatIsClickedRunsOnce() {
    QTest::keySequence(window_.get(), QKeySequence(Qt::CTRL | Qt::Key_P));
    QWidget* palette = QApplication::activePopupWidget();
    QVERIFY(palette != nullptr);
    QTest::keyClicks(palette->findChild<QLineEdit*>(), QStringLiteral("longest first"));
    auto* list = palette->findChild<QListWidget*>();
    QListWidgetItem* item = list->currentItem();
    QVERIFY(item != nullptr);
    const bool before = window_->pageOf<StepsPage>()->longestFirst()->isChecked();
    // Where one click activates, both signals come.
    Q_EMIT list->itemActivated(item);
    Q_EMIT list->itemClicked(item);
    QCOMPARE(window_->pageOf<StepsPage>()->longestFirst()->isChecked(), !before);
  }

  void aCommandThatIsGoneIsNotRun() {
    QTest::keySequence(window_.get(), QKeySequence(Qt::CTRL | Qt::Key_P));
    QWidget* palette = QApplication::activePopupWidget();
    QVERIFY(palette != nullptr);
    auto* input = palette->findChild<QLineEdit*>();
    QTest::keyClicks(input, QStringLiteral("run.lcn"));
    QVERIFY(palette->findChild<QListWidget*>()->currentItem() != nullptr);
    // The list of recent traces is made anew, as when one that was being opened is there.
    for (QMenu* menu : window_->findChildren<QMenu*>()) Q_EMIT menu->aboutToShow();
    QTest::keyClick(input, Qt::Key_Return);
    QCOMPARE(window_->state(), QStringLiteral("trace"));
  }

  void theNameOfAFileKeepsItsAmpersandInThePalette() {
    QVERIFY(gui::testing::openAnalysed(*window_, QStringLiteral("a&b.lcn")));
    QTest::keySequence(window_.get(), QKeySequence(Qt::CTRL | Qt::Key_P));
    QWidget* palette = QApplication::activePopupWidget();
    QVERIFY(palette != nullptr);
    const auto* list = palette->findChild<QListWidget*>();
    QCOMPARE(list->findItems(QStringLiteral("a&b.lcn"), Qt::MatchContains).size(), 1);
    QVERIFY(!list->findItems(QStringLiteral("Open…"), Qt::MatchStartsWith).isEmpty());
    palette->close();
  }

  void screenReadersWalkTheTracks() {
    show("timeline");
    QAccessibleInterface* timeline = QAccessible::queryAccessibleInterface(view());
    QVERIFY(timeline != nullptr);
    QCOMPARE(timeline->childCount(), static_cast<int>(view()->rows().size()));
    const auto& groups = window_->trace()->tracks->groups;
    view()->reveal({{1, 0}, 0, 0});
    bool found = false;
    for (int i = 0; i < timeline->childCount(); ++i) {
      QAccessibleInterface* row = timeline->child(i);
      QVERIFY(row->isValid() && !row->text(QAccessible::Name).isEmpty());
      QCOMPARE(row->parent()->object(), view());
      QCOMPARE(timeline->indexOfChild(row), i);
      if (!row->state().selected) continue;
      found = true;
      QCOMPARE(row->text(QAccessible::Name), QString::fromStdString(groups[1].tracks[0].label));
      QVERIFY(row->text(QAccessible::Value).contains(QStringLiteral("500 µs")));
    }
    QVERIFY(found);
  }

  void textsAreAskedForByTheNamesOfTheirWidgets() {
    AskedLanguage language;
    QCoreApplication::installTranslator(&language);
    const auto window = gui::testing::makeWindow();
    QCoreApplication::removeTranslator(&language);
    QVERIFY(language.asked("lacuna::gui::LedgerBar"));
    QVERIFY2(!language.asked("QWidget"),
             "a widget without Q_OBJECT: lupdate files its texts under another name");
  }

  void everythingOnEveryPageHasAName() {
    QStringList wrong;
    for (const QString& page : window_->pageNames()) {
      show(page.toLatin1().constData());
      for (QWidget* widget : inUse()) {
        QAccessibleInterface* spoken = QAccessible::queryAccessibleInterface(widget);
        if (!spoken || spoken->text(QAccessible::Name).trimmed().isEmpty()) {
          wrong << called(page, *widget) + QStringLiteral(" has no name");
        }
      }
    }
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join(QLatin1Char('\n'))));
  }

  void tabComesToEverythingOnAPage() {
    QStringList wrong;
    for (const QString& page : window_->pageNames()) {
      show(page.toLatin1().constData());
      const QList<QWidget*> widgets = inUse();
      auto* bar = window_->findChild<QTabBar*>(QStringLiteral("pages"));
      bar->setFocus();
      QSet<QWidget*> reached;
      for (qsizetype n = 0; n < 4 * widgets.size(); ++n) {
        reached.insert(QApplication::focusWidget());
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
        if (bar->hasFocus()) break;
      }
      if (!bar->hasFocus()) wrong << page + QStringLiteral(": Tab does not come round");
      for (QWidget* widget : widgets) {
        const bool byTab = (widget->focusPolicy() & Qt::TabFocus) != 0;
        if (byTab && !reached.contains(widget)) wrong << called(page, *widget);
      }
    }
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join(QLatin1Char('\n'))));
  }

  void aStretchIsSelectedByKeys() {
    show("timeline");
    QTest::keyClick(view(), Qt::Key_Right, Qt::ShiftModifier);
    QVERIFY(view()->area().has_value());
    const prof::TimeWindow first = *view()->area();
    QTest::keyClick(view(), Qt::Key_Right, Qt::ShiftModifier);
    QCOMPARE(view()->area()->startNs, first.startNs);
    QCOMPARE(view()->area()->endNs - first.endNs, first.endNs - first.startNs);
    for (int i = 0; i < 3; ++i) QTest::keyClick(view(), Qt::Key_Left, Qt::ShiftModifier);
    QCOMPARE(view()->area()->endNs, first.startNs);  // it was turned over
    QTest::keyClick(view(), Qt::Key_Right, Qt::ShiftModifier);
    QVERIFY(!view()->area().has_value());
    view()->reveal({{1, 0}, 0, 0});
    QTest::keyClick(view(), Qt::Key_Right, Qt::ShiftModifier);
    QCOMPARE(view()->area()->endNs - view()->area()->startNs, prof::TimeNs{500'000});
    const QString message = QAccessible::queryAccessibleInterface(view())->text(QAccessible::Value);
    QVERIFY2(message.startsWith(QStringLiteral("500 µs selected")), qPrintable(message));
    QTest::keyClick(view(), Qt::Key_Escape);
    QVERIFY(!view()->area().has_value());
  }

  void measuringReachesFromEventToEvent() {
    show("timeline");
    view()->reveal({{1, 0}, 0, 0});
    const analyzer::Lane& lane = window_->trace()->track({1, 0}).lanes[0];
    QTest::keyClick(view(), Qt::Key_M);
    QVERIFY(view()->measuring());
    QTest::keyClick(view(), Qt::Key_Period);
    QTest::keyClick(view(), Qt::Key_Period);
    QCOMPARE(view()->area()->startNs, lane.startNs(0));
    QCOMPARE(view()->area()->endNs, lane.endNs(2));
    QTest::keyClick(view(), Qt::Key_M);
    QTest::keyClick(view(), Qt::Key_Period);
    QCOMPARE(view()->area()->endNs, lane.endNs(2));
  }

  void rowsAreWalkedCollapsedAndPinnedByKeys() {
    show("timeline");
    QAccessibleInterface* timeline = QAccessible::queryAccessibleInterface(view());
    const auto focused = [&] {
      QAccessibleInterface* row = timeline->focusChild();
      return row ? row->text(QAccessible::Name) : QString();
    };
    const auto& groups = window_->trace()->tracks->groups;
    QTest::keyClick(view(), Qt::Key_Down, Qt::AltModifier);
    QCOMPARE(focused(), QString::fromStdString(groups[0].label));
    const std::size_t rows = view()->rows().size();
    QTest::keyClick(view(), Qt::Key_C);
    QVERIFY(view()->rowOptions().collapsedGroups.contains(0) && view()->rows().size() < rows);
    QVERIFY(timeline->text(QAccessible::Value).endsWith(QStringLiteral("collapsed")));
    QTest::keyClick(view(), Qt::Key_C);
    QCOMPARE(view()->rows().size(), rows);
    QTest::keyClick(view(), Qt::Key_Down, Qt::AltModifier);
    QCOMPARE(focused(), QString::fromStdString(groups[0].tracks[0].label));
    QTest::keyClick(view(), Qt::Key_P);
    QVERIFY(view()->rowOptions().pinned.contains({0, 0}));
    for (std::size_t i = 0; i < rows; ++i) QTest::keyClick(view(), Qt::Key_Down, Qt::AltModifier);
    QCOMPARE(focused(),
             QString::fromStdString(groups.back().tracks.back().label));  // a counter, at the end
    QVERIFY(view()->rect().intersects(view()->rowRect(*view()->currentRow())));
    QTest::keyClick(view(), Qt::Key_C, Qt::ShiftModifier);
    QCOMPARE(view()->rowOptions().collapsedGroups.size(), groups.size());
    QTest::keyClick(view(), Qt::Key_C, Qt::ShiftModifier);
    QVERIFY(view()->rowOptions().collapsedGroups.empty());
  }

  void tracksAreFilteredByKeys() {
    show("timeline");
    QLineEdit* filter = window_->pageOf<TimelinePage>()->filter();
    QTest::keyClick(view(), Qt::Key_Slash);
    QVERIFY(filter->hasFocus());
    QTest::keyClicks(filter, QStringLiteral("queue"));
    QCOMPARE(view()->rowOptions().filter, std::string("queue"));
    QTest::keyClick(filter, Qt::Key_Return);
    QVERIFY(view()->hasFocus());
    QTest::keyClick(view(), Qt::Key_Slash);
    QTest::keyClick(filter, Qt::Key_Escape);
    QVERIFY(view()->hasFocus() && view()->rowOptions().filter.empty());
  }

  void bookmarksAreVisitedAndChangedByKeys() {
    show("timeline");
    constexpr prof::TimeNs kTimes[] = {1'010'000'000, 1'030'000'000, 1'050'000'000};
    view()->setBookmarks({{kTimes[2], QStringLiteral("three")},
                          {kTimes[0], QStringLiteral("one")},
                          {kTimes[1], {}}});
    view()->setCursorMark(1'005'000'000);
    const auto goes = [&](Qt::KeyboardModifier modifier, prof::TimeNs to) {
      QTest::keyClick(view(), Qt::Key_J, modifier);
      return view()->cursorMark() == to;
    };
    QVERIFY(goes(Qt::NoModifier, kTimes[0]));
    QVERIFY(view()->announced().contains(QStringLiteral("bookmark 1 of 3")) &&
            view()->announced().endsWith(QStringLiteral("one")));
    QVERIFY(goes(Qt::NoModifier, kTimes[1]));
    QVERIFY(goes(Qt::ShiftModifier, kTimes[0]));
    QVERIFY(goes(Qt::ShiftModifier, kTimes[2]));
    view()->setViewport(view()->viewport().showing({kTimes[2], kTimes[2] + 1'000'000}));
    QVERIFY(goes(Qt::NoModifier, kTimes[0]));
    QVERIFY(view()->viewport().startNs() < kTimes[0] && kTimes[0] < view()->viewport().endNs());
    QTimer::singleShot(0, view(), [] {
      QWidget* asked = QApplication::activeModalWidget();
      auto* line = asked ? asked->findChild<QLineEdit*>() : nullptr;
      if (line && line->text() == QStringLiteral("one"))
        QTest::keyClicks(line, QStringLiteral("first"));
      if (line) QTest::keyClick(line, Qt::Key_Return);
    });
    QTest::keyClick(view(), Qt::Key_N);
    QCOMPARE(view()->bookmarks()[1].note,
             QStringLiteral("first"));  // the old note was there, and selected
    window_->activateWindow();          // offscreen nobody does when a dialog is gone
    QTRY_VERIFY(view()->hasFocus());
    QTest::keyClick(view(), Qt::Key_B);
    QCOMPARE(view()->bookmarks().size(), std::size_t{2});
  }

  void whatTheTimelineDoesByKeysIsListed() {
    show("timeline");
    QTest::keyClick(window_.get(), Qt::Key_Question);
    QDialog* help = nullptr;
    QTRY_VERIFY((help = window_->findChild<QDialog*>()) != nullptr);
    QStringList texts;
    for (const QLabel* label : help->findChildren<QLabel*>()) texts << label->text();
    const QString all = texts.join(QLatin1Char('\n'));
    for (const char* key : {"Shift+←  Shift+→", "M,", "Alt+↑", "Shift+C", "/", "J  Shift+J"})
      QVERIFY2(all.contains(QString::fromUtf8(key)), key);
    help->close();
    view()->setBookmarks({{1'040'000'000, {}}});
    show("overview");
    command("next bookmark");
    QTRY_COMPARE(window_->page(), QStringLiteral("timeline"));  // where it can be seen
    QTRY_COMPARE(view()->cursorMark(), std::optional<prof::TimeNs>(1'040'000'000));
    command("row below");
    QTRY_COMPARE(view()->currentRow(), std::optional<std::size_t>(0));
    command("collapse or open the row");
    QTRY_VERIFY(view()->rowOptions().collapsedGroups.contains(0));
    command("filter tracks");
    QTRY_VERIFY(window_->pageOf<TimelinePage>()->filter()->hasFocus());
  }

  void theOverviewsStepsAreWalkedByKeys() {
    show("overview");
    const QList<QWidget*> widgets = window_->pageOf<OverviewPage>()->findChildren<QWidget*>();
    const auto chart = std::find_if(widgets.begin(), widgets.end(), [](QWidget* w) {
      return dynamic_cast<StepChart*>(w) != nullptr;
    });
    QVERIFY(chart != widgets.end());
    (*chart)->setFocus(Qt::TabFocusReason);
    QTest::keyClick(*chart, Qt::Key_Right);
    QTest::keyClick(*chart, Qt::Key_Right);
    QTest::keyClick(*chart, Qt::Key_Left);
    const analyzer::Step& second = window_->findings().analysis->steps.all[1];
    QVERIFY((*chart)->accessibleDescription().startsWith(QString::fromStdString(second.name)));
    QTest::keyClick(*chart, Qt::Key_Return);
    QTRY_COMPARE(window_->page(), QStringLiteral("timeline"));
    QCOMPARE(view()->highlights().size(), std::size_t{1});
    QCOMPARE(view()->highlights()[0].startNs, second.startNs);
  }

  void tabGoesFromTheStepsToTheFindings() {
    show("overview");
    auto* chart = window_->pageOf<OverviewPage>()->findChild<StepChart*>();
    QVERIFY(chart != nullptr);
    chart->setFocus(Qt::TabFocusReason);
    QTest::keyClick(chart, Qt::Key_Tab);
    const QWidget* at = QApplication::focusWidget();
    while (at != nullptr && qobject_cast<const FindingCard*>(at) == nullptr)
      at = at->parentWidget();
    QVERIFY(at != nullptr);
    QCOMPARE(at->property("finding").toInt(), 0);
  }

  void keysStayAtAFindingThatIsDrawnAnew() {
    show("overview");
    const auto cards = window_->pageOf<OverviewPage>()->findChildren<FindingCard*>();
    const auto card = std::find_if(cards.begin(), cards.end(),
                                   [](FindingCard* c) { return c->focusPolicy() != Qt::NoFocus; });
    QVERIFY(card != cards.end());
    (*card)->setFocus();
    const QVariant finding = (*card)->property("finding");
    window_->setDark(false);
    QTRY_VERIFY(qobject_cast<FindingCard*>(QApplication::focusWidget()) != nullptr);
    QCOMPARE(QApplication::focusWidget()->property("finding"), finding);
    QTRY_VERIFY(!window_->busy());
  }

  void keysGoToThePageThatIsShownWhenATraceIsOpened() {
    show("timeline");
    show("overview");
    window_->setRemembering(false);  // the next one begins with the overview, too
    QVERIFY(gui::testing::openAnalysed(*window_, QStringLiteral("other.lcn")));
    QCOMPARE(window_->page(), QStringLiteral("overview"));
    const QWidget* focus = QApplication::focusWidget();
    QVERIFY(focus != nullptr && focus->isVisible());
    QVERIFY(window_->pageOf<OverviewPage>()->isAncestorOf(focus));
  }

  void tabLeavesATable() {
    show("kernels");
    QTableView* table = window_->pageOf<KernelsPage>()->table();
    table->setFocus();
    table->selectRow(0);
    QTest::keyClick(table, Qt::Key_Tab);
    QVERIFY(!table->hasFocus());
  }

  void commandsAreFoundByName() {
    command("memory peak");
    QTRY_VERIFY(window_->pageOf<MemoryPage>()->isVisible());
    QTRY_COMPARE(
        window_->pageOf<MemoryPage>()->chart()->cursorMark(),
        std::optional(window_->findings().analysis->of<analyzer::MemoryTables>().all.peakAtNs));
  }

  void whatPagesOfferIsACommandToo() {
    const bool before = window_->pageOf<StepsPage>()->longestFirst()->isChecked();
    command("longest first");
    QTRY_COMPARE(window_->page(), QStringLiteral("steps"));
    QCOMPARE(window_->pageOf<StepsPage>()->longestFirst()->isChecked(), !before);
    window_->pageOf<StepsPage>()->longestFirst()->setChecked(before);
  }

  void warningsAreReadByKeys() {
    const auto dialog = [this] { return window_->findChild<QDialog*>(); };
    command("warnings about");  // there are none, and no such command
    QTRY_VERIFY(dialog() == nullptr);
    QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("unfinished.lcn"));
    gui::testing::Recording recording(path.toStdString());
    recording.steps(3);
    window_->loader()->setOpener(&analyzer::Store::open);
    QVERIFY(gui::testing::openAnalysed(*window_, path));
    QVERIFY(!window_->trace()->store->warnings().empty());
    command("warnings about");
    QTRY_VERIFY(dialog() != nullptr && dialog()->findChild<QPlainTextEdit*>() != nullptr);
    const auto* reader = dialog()->findChild<QPlainTextEdit*>();
    for (const std::string& warning : window_->trace()->store->warnings())
      QVERIFY(reader->toPlainText().contains(QString::fromStdString(warning)));
    dialog()->close();
    QTRY_VERIFY(!window_->busy());
  }

  void theKeysFitASmallScreen() {
    QTest::keyClick(window_.get(), Qt::Key_Question);
    QDialog* help = nullptr;
    QTRY_VERIFY((help = window_->findChild<QDialog*>()) != nullptr);
    QVERIFY(help->sizeHint().height() <= 640);
    QVERIFY(help->sizeHint().width() <= 1240);
    help->close();
  }

  void everyTextCanBeTranslated() {
    MarkedLanguage marked;
    QCoreApplication::installTranslator(&marked);
    window_ = gui::testing::makeWindow();
    QVERIFY(gui::testing::openSample(*window_));
    const QSet<QString> given = givenWords();
    QSet<QString> plain;
    const auto check = [&](const QString& where, const QStringList& texts) {
      for (const QString& text : texts) {
        if (text.contains(MarkedLanguage::kMark)) continue;
        for (const QString& word : wordsOf(text)) {
          if (!given.contains(word)) plain.insert(where + QStringLiteral(": ") + text);
        }
      }
    };
    for (const QString& page : window_->pageNames()) {
      show(page.toLatin1().constData());
      for (const QWidget* widget : window_->findChildren<QWidget*>()) {
        if (widget->isVisible()) check(page, textsOf(*widget));
      }
    }
    for (const QAction* action : window_->findChildren<QAction*>())
      check(QStringLiteral("menu"), {action->text()});
    window_.reset();
    QCoreApplication::removeTranslator(&marked);
    QVERIFY2(plain.isEmpty(), qPrintable(plain.values().join(QLatin1Char('\n'))));
  }

  void theFirstNinePagesHaveAKey() {
    const QStringList names = window_->pageNames();
    QVERIFY(names.size() >= 9);
    for (int i = 0; i < 9; ++i) {
      QTest::keySequence(window_.get(),
                         QKeySequence(Qt::CTRL | static_cast<Qt::Key>(Qt::Key_1 + i)));
      QTRY_COMPARE(window_->page(), names[i]);
    }
    QTRY_VERIFY(!window_->busy());
  }
};

int main(int argc, char** argv) {
  return lacuna::gui::testing::run<AccessTest>(argc, argv);
}

#include "access_test.moc"
