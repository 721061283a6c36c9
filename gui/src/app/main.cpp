// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>
#include <QApplication>
#include <QCommandLineParser>
#include <QIcon>
#include <QLocale>
#include <QTextStream>
#include <QTranslator>
#include <algorithm>
#include <optional>

#include "app/main_window.h"
#include "app/screenshot.h"

namespace {

/// Pictures are taken, and help is given, without a display.
bool needsWindow(int argc, char** argv) {
  return std::none_of(argv + 1, argv + argc, [](const char* argument) {
    const QByteArray text(argument);
    return text.startsWith("--screenshot") || text.startsWith("--help") || text == "-h" ||
           text == "--version" || text == "-v";
  });
}

/// Chooses where Qt draws, before it looks for itself: where it finds no display it ends the
/// program with an abort.
bool choosePlatform(int argc, char** argv) {
  if (!qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) return true;
  if (!needsWindow(argc, argv)) return qputenv("QT_QPA_PLATFORM", "offscreen");
  return !qEnvironmentVariableIsEmpty("DISPLAY") || !qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY");
}

void complainOfNoDisplay(const QString& why) {
  QTextStream(stderr) << "lacuna-gui: there is no display (" << why
                      << "). Remedy: start it in a desktop session or with ssh -X, or take a "
                         "picture with --screenshot out.png\n";
}

/// A variable may name a display that is gone, as in a terminal multiplexer that outlives its
/// desktop: Qt has nothing more helpful for that than an abort.
void leaveWithoutDisplay() {
  const QString x = qEnvironmentVariable("DISPLAY");
  const QString wayland = qEnvironmentVariable("WAYLAND_DISPLAY");
  QStringList tried;
  if (!x.isEmpty()) tried << QStringLiteral("DISPLAY=") + x;
  if (!wayland.isEmpty()) tried << QStringLiteral("WAYLAND_DISPLAY=") + wayland;
  if (qEnvironmentVariableIsSet("QT_QPA_PLATFORM"))
    tried << QStringLiteral("QT_QPA_PLATFORM=") + qEnvironmentVariable("QT_QPA_PLATFORM");
  complainOfNoDisplay(tried.join(QStringLiteral(", ")) + QStringLiteral(" cannot be used"));
  ::_exit(1);
}

/// The offscreen platform prints for each window that it keeps no size limits; nobody who takes a
/// picture need know.
QtMessageHandler printMessage = nullptr;
void printButConfessions(QtMsgType type, const QMessageLogContext& context,
                         const QString& message) {
  if (type == QtFatalMsg && message.contains(QLatin1String("platform plugin")))
    leaveWithoutDisplay();
  if (!message.startsWith(QLatin1String("This plugin does not support")))
    printMessage(type, context, message);
}

/// The names by which desktops and settings know the program.
void nameApplication() {
  QCoreApplication::setOrganizationName(QStringLiteral("lacuna"));
  QCoreApplication::setApplicationName(QStringLiteral("lacuna-gui"));
  QCoreApplication::setApplicationVersion(QStringLiteral(LACUNA_VERSION));
  QGuiApplication::setDesktopFileName(QStringLiteral("lacuna"));
  QGuiApplication::setWindowIcon(QIcon::fromTheme(QStringLiteral("lacuna")));
}

void describeOptions(QCommandLineParser& parser) {
  parser.setApplicationDescription(
      QCoreApplication::translate("main", "Explore a trace of a training run."));
  parser.addHelpOption();
  parser.addVersionOption();
  parser.addPositionalArgument(
      QStringLiteral("file"),
      QCoreApplication::translate(
          "main", "a trace: .lcn, or what another profiler wrote; a second one to compare with"),
      QStringLiteral("[FILE [SECOND]]"));
  const auto option = [&](const char* name, const char* what, const char* value,
                          const char* fallback = "") {
    const QCommandLineOption out(QString::fromLatin1(name),
                                 QCoreApplication::translate("main", what),
                                 QString::fromLatin1(value), QString::fromLatin1(fallback));
    parser.addOption(out);
  };
  option(
      "screenshot",
      QT_TRANSLATE_NOOP("main", "write a picture of the window and leave; works without a display"),
      "out.png");
  parser.addOption(
      {QStringLiteral("force"),
       QCoreApplication::translate("main", "with --screenshot: replace a file of that name")});
  option("page", QT_TRANSLATE_NOOP("main", "the page to show first"), "name");
  option("range",
         QT_TRANSLATE_NOOP(
             "main", "the stretch to show on the timeline, since the trace's start: 120ms:1.5s"),
         "from:to");
  option("size",
         QT_TRANSLATE_NOOP(
             "main", "size of the window; without it as the last time, of a picture 1440x900"),
         "WxH");
  option("scale", QT_TRANSLATE_NOOP("main", "device pixels per pixel of the picture"), "factor",
         "1");
  option("theme",
         QT_TRANSLATE_NOOP("main", "dark or light; without it as the last time, of a picture dark"),
         "name");
  option("select",
         QT_TRANSLATE_NOOP("main", "select the first event whose name contains this text"), "text");
  option("finding", QT_TRANSLATE_NOOP("main", "show the n-th finding on the timeline"), "n");
  option("tab",
         QT_TRANSLATE_NOOP("main",
                           "what the memory page lists: alive, edits, allocator, leaks or advice"),
         "name");
  option("play",
         QT_TRANSLATE_NOOP("main", "a change to play on the overview, as in loader.workers=4"),
         "change");
}

/// The theme and the size: those of the last time, or of a picture, unless the options name others.
void dress(lacuna::gui::MainWindow& window, const lacuna::gui::StartRequest& request) {
  if (request.screenshot.isEmpty()) {
    window.restoreAppearance();
  } else {
    window.setDark(true);
  }
  if (request.dark) window.setDark(*request.dark);
  if (request.size.isValid()) window.resize(request.size);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace lacuna::gui;
  if (!choosePlatform(argc, argv)) {
    complainOfNoDisplay(QStringLiteral("neither DISPLAY nor WAYLAND_DISPLAY is set"));
    return 1;
  }
  printMessage = qInstallMessageHandler(printButConfessions);
  QApplication app(argc, argv);
  nameApplication();
  QTranslator translator;
  if (translator.load(QLocale(), QStringLiteral("lacuna"), QStringLiteral("_"),
                      QCoreApplication::applicationDirPath() +
                          QStringLiteral("/../share/lacuna/translations"))) {
    QCoreApplication::installTranslator(&translator);
  }

  QCommandLineParser parser;
  describeOptions(parser);
  parser.process(app);

  StartRequest request;
  QString problem;
  if (!readRequest(parser, request, problem)) {
    QTextStream(stderr) << "lacuna-gui: " << problem << "\n";
    return 2;
  }
  MainWindow window;
  if (!checkRequest(window, request, problem)) {
    QTextStream(stderr) << "lacuna-gui: " << problem << "\n";
    return 2;
  }
  dress(window, request);
  if (!request.screenshot.isEmpty()) return takeScreenshot(window, request);
  startInteractive(window, request);
  window.show();
  return QApplication::exec();
}
