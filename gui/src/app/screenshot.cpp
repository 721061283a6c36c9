// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "app/screenshot.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QImage>
#include <QPainter>
#include <QRegularExpression>
#include <QTextStream>
#include <QTimer>
#include <cmath>
#include <filesystem>

#include "app/main_window.h"
#include "base/words.h"
#include "views/compare_page.h"
#include "views/memory_page.h"
#include "views/overview_page.h"
#include "views/parts.h"
#include "views/table_page.h"
#include "views/timeline_page.h"

namespace lacuna::gui {

namespace {

constexpr double kFarthestNs = 1e18;
constexpr int kLargest = 16384;

std::optional<prof::TimeNs> parseMoment(const QString& text) {
  static const QRegularExpression kForm(QStringLiteral(R"(^(-?[0-9.]+)\s*(ns|us|µs|ms|s)?$)"));
  const auto match = kForm.match(text.trimmed());
  bool ok = false;
  const double number = match.captured(1).toDouble(&ok);
  if (!match.hasMatch() || !ok) return std::nullopt;
  const QString unit = match.captured(2);
  const double factor = unit == QLatin1String("ns")                            ? 1
                        : unit == QLatin1String("s")                           ? 1e9
                        : unit.endsWith(QLatin1String("ms")) || unit.isEmpty() ? 1e6
                                                                               : 1e3;
  if (std::abs(number * factor) > kFarthestNs) return std::nullopt;
  return static_cast<prof::TimeNs>(number * factor);
}

void complain(const QString& problem) {
  if (!problem.isEmpty()) QTextStream(stderr) << "lacuna-gui: " << problem << "\n";
}

/// Arranges what needs the analysis. Answers with what cannot be shown of this trace, if anything.
QString arrangeFindings(MainWindow& window, const StartRequest& request) {
  if (request.play.isEmpty() && request.finding == 0) return {};
  const auto& analysis = window.findings().analysis;
  if (!analysis) return QStringLiteral("there is no analysis: %1").arg(window.findings().problem);
  if (!request.play.isEmpty()) {
    const auto& simulator = window.findings().simulator;
    if (!simulator) return QStringLiteral("--play needs a trace with device work and steps");
    const auto change = analyzer::parseChange(request.play.toStdString());
    const prof::Status fits = change ? simulator->check(*change) : prof::Status(change.error());
    if (!fits) return QStringLiteral("--play: ") + words(fits.error().message);
    window.pageOf<OverviewPage>()->playChange(request.play);
  }
  if (request.finding == 0) return {};
  const auto n = static_cast<std::size_t>(request.finding) - 1;
  if (n >= analysis->of<analyzer::Findings>().size())
    return QStringLiteral("--finding %1: the trace has %2")
        .arg(n + 1)
        .arg(analysis->of<analyzer::Findings>().size());
  if (analysis->of<analyzer::Findings>()[n].evidence.empty())
    return QStringLiteral("--finding %1 is about no place on the timeline").arg(n + 1);
  window.pageOf<OverviewPage>()->activateFinding(n);
  return {};
}

/// The event that begins first of those that end after `from` and have this text in their names.
std::optional<EventPlace> firstNamed(const Trace& trace, const QString& text, prof::TimeNs from) {
  std::optional<EventPlace> first;
  prof::TimeNs firstNs = 0;
  const auto& groups = trace.tracks->groups;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (std::size_t t = 0; t < groups[g].tracks.size(); ++t) {
      const auto& lanes = groups[g].tracks[t].lanes;
      for (std::size_t l = 0; l < lanes.size(); ++l) {
        for (std::size_t i = lanes[l].lowerBound(from); i < lanes[l].size(); ++i) {
          if (first && lanes[l].startNs(i) >= firstNs) break;
          if (!trace.name(lanes[l].name(i)).contains(text)) continue;
          first = EventPlace{{g, t}, static_cast<int>(l), i};
          firstNs = lanes[l].startNs(i);
          break;
        }
      }
    }
  }
  return first;
}

QString arrange(MainWindow& window, const StartRequest& request) {
  if (!request.page.isEmpty()) window.showPage(request.page);
  auto* memory = window.pageOf<MemoryPage>();
  if (!request.tab.isEmpty() && memory->showTab(request.tab)) memory->edits()->showSourceRow(0);
  TimelineView* view = window.pageOf<TimelinePage>()->view();
  const prof::TimeWindow span = window.trace()->tracks->span;
  if (request.range) {
    const prof::TimeNs zero = span.startNs;
    if (request.range->endNs <= 0 || zero + request.range->startNs >= span.endNs)
      return QStringLiteral("--range is outside of the trace, which ends after %1")
          .arg(durationWords(span.endNs - zero));
    view->setViewport(
        view->viewport().showing({zero + request.range->startNs, zero + request.range->endNs}),
        TimelineView::Move::Jump);
  }
  if (request.select.isEmpty()) return {};
  const prof::TimeNs from = request.range ? view->viewport().startNs() : span.startNs;
  if (const auto found = firstNamed(*window.trace(), request.select, from)) {
    if (!request.range) {
      view->reveal(*found);
      return {};
    }
    view->revealLane(*found);
    view->select(found);
    return {};
  }
  return QStringLiteral("--select: no event%1 has a name with \"%2\" in it")
      .arg(request.range ? QStringLiteral(" from there on") : QString(), request.select);
}

prof::Existing existingOf(const StartRequest& request) {
  return request.force ? prof::Existing::Replace : prof::Existing::Keep;
}

/// Rather than when the picture is there.
QString whyNoPicture(const StartRequest& request) {
  const std::string path = request.screenshot.toStdString();
  for (const QString& trace : {request.file, request.second}) protectFile(trace);
  std::error_code ignored;
  if (const QString shown = whyProtected(request.screenshot); !shown.isEmpty()) return shown;
  const bool isThere = std::filesystem::is_regular_file(path, ignored) && !prof::isOpenFile(path);
  return isThere && !request.force ? words(prof::fileInTheWay(path).message) : QString();
}

int savePicture(MainWindow& window, const StartRequest& request) {
  if (request.size.isValid() && window.size() != request.size) {
    const QSize least = window.minimumSizeHint();
    complain(QStringLiteral("--size %1x%2: the window is at least %3x%4 large")
                 .arg(request.size.width())
                 .arg(request.size.height())
                 .arg(least.width())
                 .arg(least.height()));
    return 2;
  }
  // Pages that have just been filled lay themselves out in several rounds.
  for (int round = 0; round < 8; ++round) {
    QCoreApplication::sendPostedEvents();
    QCoreApplication::processEvents();
  }
  if (QWidget* focus = window.focusWidget()) focus->clearFocus();  // no cursor that blinks
  QImage picture(window.size() * request.scale, QImage::Format_RGB32);
  if (picture.isNull()) {
    complain(QStringLiteral("there is no memory for a picture of this size"));
    return 1;
  }
  picture.setDevicePixelRatio(request.scale);
  window.render(&picture);
  const QString problem = writePicture(request.screenshot, picture, existingOf(request));
  complain(problem);
  return problem.isEmpty() ? 0 : 1;
}

/// Calls back once the event loop has had time for layouts, and what is worked out in the
/// background is there.
void whenQuiet(MainWindow& window, const std::function<void()>& then) {
  QTimer::singleShot(300, &window,
                     [&window, then] { window.busy() ? whenQuiet(window, then) : then(); });
}

}  // namespace

std::optional<prof::TimeWindow> parseRange(const QString& text) {
  const QStringList parts = text.split(QLatin1Char(':'));
  if (parts.size() != 2) return std::nullopt;
  const auto from = parseMoment(parts[0]);
  const auto to = parseMoment(parts[1]);
  if (!from || !to || *to <= *from) return std::nullopt;
  return prof::TimeWindow{*from, *to};
}

bool readRequest(const QCommandLineParser& parser, StartRequest& request, QString& problem) {
  const auto value = [&](const char* name) { return parser.value(QString::fromLatin1(name)); };
  if (parser.positionalArguments().size() > 2)
    problem = QStringLiteral("one trace, or two to compare");
  if (parser.positionalArguments().size() > 1) request.second = parser.positionalArguments().at(1);
  if (!parser.positionalArguments().isEmpty()) request.file = parser.positionalArguments().first();
  request.screenshot = value("screenshot");
  if (parser.isSet(QStringLiteral("screenshot")) && request.screenshot.isEmpty())
    problem = QStringLiteral("--screenshot needs the name of a file to write");
  // A script whose variable is empty asks for something, too.
  for (const char* name : {"page", "range", "size", "theme", "select", "finding", "tab", "play"}) {
    if (!parser.isSet(QString::fromLatin1(name))) continue;
    if (value(name).isEmpty())
      problem = QStringLiteral("--%1 needs a value").arg(QString::fromLatin1(name));
    const bool ofWindow = !qstrcmp(name, "size") || !qstrcmp(name, "theme");
    if (!ofWindow && !request.screenshot.isEmpty() && request.file.isEmpty())
      problem =
          QStringLiteral("--%1 needs a trace to take a picture of").arg(QString::fromLatin1(name));
  }
  request.force = parser.isSet(QStringLiteral("force"));
  if (request.force && request.screenshot.isEmpty())
    problem = QStringLiteral("--force is for the file that --screenshot writes");
  request.page = value("page");
  request.select = value("select");
  request.play = value("play");
  if (!request.play.isEmpty()) {
    const auto change = analyzer::parseChange(request.play.toStdString());
    if (!change) problem = QStringLiteral("--play: ") + words(change.error().message);
  }
  request.tab = value("tab");
  if (!value("finding").isEmpty()) {
    request.finding = value("finding").toInt();
    if (request.finding < 1)
      problem = QStringLiteral("--finding is the number of a finding, counted from 1");
  }
  if (value("theme") == QLatin1String("dark")) request.dark = true;
  if (value("theme") == QLatin1String("light")) request.dark = false;
  if (!value("theme").isEmpty() && !request.dark)
    problem = QStringLiteral("--theme is dark or light");
  if (!value("size").isEmpty()) {
    const QStringList size = value("size").split(QLatin1Char('x'));
    request.size = size.size() == 2 ? QSize(size[0].toInt(), size[1].toInt()) : QSize(0, 0);
    const QSize& is = request.size;
    if (is.width() < 1 || is.height() < 1 || is.width() > kLargest || is.height() > kLargest)
      problem = QStringLiteral("--size is WIDTHxHEIGHT, at most %1x%1").arg(kLargest);
  }
  request.scale = value("scale").toDouble();
  if (!(request.scale >= 0.5 && request.scale <= 4))
    problem = QStringLiteral("--scale is a number from 0.5 to 4");
  if (!value("range").isEmpty()) {
    request.range = parseRange(value("range"));
    if (!request.range)
      problem = QStringLiteral("--range is FROM:TO with a unit each, as in 120ms:1.5s");
  }
  return problem.isEmpty();
}

bool checkRequest(const MainWindow& window, const StartRequest& request, QString& problem) {
  const auto check = [&](const char* what, const QString& name, const QStringList& names) {
    if (name.isEmpty() || names.contains(name)) return;
    problem = QStringLiteral("no %1 is called %2; there are %3")
                  .arg(QString::fromLatin1(what), name, names.join(QStringLiteral(", ")));
  };
  check("page", request.page, window.pageNames());
  check("tab of the memory page", request.tab, window.pageOf<MemoryPage>()->tabNames());
  return problem.isEmpty();
}

int takeScreenshot(MainWindow& window, const StartRequest& request) {
  if (const QString problem = whyNoPicture(request); !problem.isEmpty()) {
    complain(problem);
    return 1;
  }
  int status = 0;
  window.setRemembering(false);
  window.show();
  const auto finish = [&](int with) {
    status = with;
    QApplication::exit(with);
  };
  QObject::connect(&window, &MainWindow::traceFailed, &window, [&](const QString& message) {
    complain(message);
    finish(1);
  });
  const auto settle = [&] {
    QString problem = arrangeFindings(window, request);
    if (problem.isEmpty()) problem = arrange(window, request);
    complain(problem);
    if (!problem.isEmpty()) return finish(2);
    whenQuiet(window, [&] { finish(savePicture(window, request)); });
  };
  const auto analysed = [&, settle] {
    if (request.second.isEmpty()) return settle();
    if (!window.findings().analysis) {
      complain(QStringLiteral("nothing can be compared with %1: %2")
                   .arg(request.file, window.findings().problem));
      return finish(1);
    }
    QObject::connect(window.pageOf<ComparePage>(), &ComparePage::compared, &window, settle,
                     Qt::SingleShotConnection);
    window.pageOf<ComparePage>()->openSecond(request.second);
  };
  QObject::connect(&window, &MainWindow::analysisShown, &window, analysed,
                   Qt::SingleShotConnection);
  QObject::connect(window.pageOf<ComparePage>(), &ComparePage::failed, &window,
                   [&](const QString& message) {
                     complain(message);
                     finish(1);
                   });
  if (request.file.isEmpty()) {
    QTimer::singleShot(300, &window, [&] { finish(savePicture(window, request)); });
  } else {
    window.openFile(request.file);
  }
  QApplication::exec();
  return status;
}

void startInteractive(MainWindow& window, const StartRequest& request) {
  if (request.file.isEmpty()) return;
  QObject::connect(
      &window, &MainWindow::analysisShown, &window,
      [&window, request] { complain(arrangeFindings(window, request)); }, Qt::SingleShotConnection);
  QObject::connect(
      &window, &MainWindow::traceShown, &window,
      [&window, request] {
        complain(arrange(window, request));
        if (request.second.isEmpty()) return;
        if (request.page.isEmpty()) window.showPage(QStringLiteral("compare"));
        window.pageOf<ComparePage>()->openSecond(request.second);
      },
      Qt::SingleShotConnection);
  window.openFile(request.file);
}

}  // namespace lacuna::gui
