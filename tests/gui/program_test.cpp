// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QImage>
#include <QProcess>
#include <QSettings>
#include <QSplitter>
#include <QTemporaryDir>

#include "gui/qt_main.h"
#include "gui/sample_trace.h"
#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/store.h"
#include "support/programs.h"

using namespace lacuna;       // NOLINT
using namespace lacuna::gui;  // NOLINT

/// The program as it is called: what it writes, prints and ends with.
class ProgramTest : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  QString errorText_;

  [[nodiscard]] QString at(const char* name) const {
    return folder_.filePath(QString::fromLatin1(name));
  }

  /// The exit status of lacuna-gui, -1 where it does not end by itself.
  int run(const QStringList& arguments) {
    return run(arguments, QProcessEnvironment::systemEnvironment());
  }
  int run(const QStringList& arguments, QProcessEnvironment environment) {
    QProcess program;
    for (const char* name : {"XDG_CONFIG_HOME", "XDG_CACHE_HOME"})
      environment.insert(QString::fromLatin1(name), folder_.path());
    program.setProcessEnvironment(environment);
    program.start(QString::fromStdString(test::program("lacuna-gui")), arguments);
    const bool ended = program.waitForFinished(60'000);
    if (!ended) program.kill();
    program.waitForFinished();
    errorText_ = QString::fromUtf8(program.readAllStandardError());
    return ended && program.exitStatus() == QProcess::NormalExit ? program.exitCode() : -1;
  }
  int picture(const QStringList& arguments) {
    QFile::remove(at("out.png"));
    return run(QStringList{at("run.lcn"), QStringLiteral("--screenshot"), at("out.png")} +
               arguments);
  }
  void refused(const QStringList& arguments, const char* why) {
    QCOMPARE(picture(arguments), 2);
    QVERIFY2(errorText_.contains(QString::fromLatin1(why)), qPrintable(errorText_));
    QVERIFY(!QFile::exists(at("out.png")));
  }

 private Q_SLOTS:
  void initTestCase() {
    QVERIFY(analyzer::exportTrace(*gui::testing::sampleTrace(), at("run.lcn").toStdString(),
                                  analyzer::Format::Lcn)
                .ok());
    analyzer::StoreBuilder bare;
    bare.append(prof::CounterTrack{.id = prof::TrackId(1), .name = bare.intern("load")});
    bare.append(prof::CounterSample{.timeNs = 5, .track = prof::TrackId(1), .value = 1});
    QVERIFY(
        analyzer::exportTrace(*bare.build(), at("bare.lcn").toStdString(), analyzer::Format::Lcn)
            .ok());
  }
  void picturesChangeNothingOfTheWindow() {
    QDir(folder_.path()).mkdir(QStringLiteral("lacuna"));
    QFile settings(at("lacuna/lacuna-gui.conf"));
    const QByteArray before = "[General]\ndark=false\nrecent=/somewhere/else.lcn\n";
    QVERIFY(settings.open(QIODevice::WriteOnly) && settings.write(before) == before.size());
    settings.close();
    QCOMPARE(picture({QStringLiteral("--theme"), QStringLiteral("dark"), QStringLiteral("--size"),
                      QStringLiteral("1280x800"), QStringLiteral("--scale"), QStringLiteral("2")}),
             0);
    QCOMPARE(QImage(at("out.png")).size(), QSize(2560, 1600));
    QVERIFY(settings.open(QIODevice::ReadOnly));
    QCOMPARE(settings.readAll(), before);
  }

  void picturesAreThoseOfAFreshWindow() {
    const auto taken = [&](const QStringList& arguments) {
      return picture(arguments) == 0 ? QImage(at("out.png")) : QImage();
    };
    const QStringList timeline{QStringLiteral("--page"), QStringLiteral("timeline")};
    QFile::remove(at("lacuna/lacuna-gui.conf"));
    const QImage first = taken({});
    const QImage second = taken(timeline);
    QVERIFY(!first.isNull() && !second.isNull());
    {
      QSettings remembered(at("lacuna/lacuna-gui.conf"), QSettings::IniFormat);
      const QByteArray key =
          QCryptographicHash::hash(at("run.lcn").toUtf8(), QCryptographicHash::Sha1).toHex();
      remembered.beginGroup(QStringLiteral("session/") + QString::fromLatin1(key));
      remembered.setValue(QStringLiteral("page"), QStringLiteral("steps"));
      remembered.setValue(QStringLiteral("start"), 10'000'000);
      remembered.setValue(QStringLiteral("span"), 3'000'000);
      remembered.setValue(QStringLiteral("bookmarks"),
                          QStringList{QStringLiteral("11000000 of last week")});
      remembered.endGroup();
      QSplitter narrow;
      for (int n = 0; n < 2; ++n) narrow.addWidget(new QWidget(&narrow));
      narrow.resize(1400, 100);
      narrow.setSizes({1200, 200});
      remembered.setValue(QStringLiteral("timelineSplit"), narrow.saveState());
    }
    QVERIFY(taken({}) == first);
    QVERIFY(taken(timeline) == second);
    QFile::remove(at("lacuna/lacuna-gui.conf"));
  }

  void aPictureReplacesNothingUnasked() {
    QCOMPARE(picture({}), 0);
    const QStringList again{at("run.lcn"), QStringLiteral("--screenshot"), at("out.png")};
    QFile there(at("out.png"));
    QVERIFY(there.open(QIODevice::WriteOnly) && there.write("of years") == 8);
    there.close();
    QCOMPARE(run(again), 1);
    QVERIFY2(errorText_.contains(QStringLiteral("out.png: is there already; give --force")),
             qPrintable(errorText_));
    QCOMPARE(there.size(), 8);
    QCOMPARE(run(again + QStringList{QStringLiteral("--force")}), 0);
    QVERIFY(!QImage(at("out.png")).isNull());
    const qint64 before = QFileInfo(at("run.lcn")).size();
    QCOMPARE(run({at("run.lcn"), QStringLiteral("--force"), QStringLiteral("--screenshot"),
                  at("run.lcn")}),
             1);
    QVERIFY2(errorText_.contains(QStringLiteral("a trace that was opened")),
             qPrintable(errorText_));
    QCOMPARE(QFileInfo(at("run.lcn")).size(), before);
  }

  void whatCannotBeShownIsRefused() {
    refused({QStringLiteral("--page"), QStringLiteral("bogus")}, "overview, timeline");
    refused({QStringLiteral("--tab"), QStringLiteral("bogus")}, "alive, edits");
    refused({QStringLiteral("--finding"), QStringLiteral("99")}, "--finding 99");
    refused({QStringLiteral("--select"), QStringLiteral("nothinglikethis")}, "nothinglikethis");
    refused({QStringLiteral("--range"), QStringLiteral("20s:21s")}, "outside of the trace");
    refused({QStringLiteral("--range"), QStringLiteral("1s:99999999999999999s")}, "--range");
    refused({QStringLiteral("--play"), QStringLiteral("nonsense=1")}, "nonsense");
    refused({QStringLiteral("--play"), QStringLiteral("kernel:nothing*0.5")},
            "no kernel of the steps");
    refused({QStringLiteral("--size"), QStringLiteral("400x300")}, "the window is at least");
    refused({QStringLiteral("--scale"), QStringLiteral("nan")}, "--scale");
    refused({QStringLiteral("--range"), QString()}, "--range needs a value");
    refused({QStringLiteral("--page"), QString()}, "--page needs a value");
    refused({QStringLiteral("--theme"), QString()}, "--theme needs a value");
    refused({QStringLiteral("--size"), QStringLiteral("99999x300")}, "--size");
    QCOMPARE(run({at("run.lcn"), QStringLiteral("--screenshot"), QString()}), 2);
    const QStringList noTrace{QStringLiteral("--screenshot"), at("out.png")};
    QCOMPARE(run(noTrace + QStringList{QStringLiteral("--page"), QStringLiteral("memory")}), 2);
    QVERIFY2(errorText_.contains(QStringLiteral("--page needs a trace")), qPrintable(errorText_));
    QCOMPARE(run({at("run.lcn"), QStringLiteral("--screenshot"), at("nowhere/out.png")}), 1);
    QVERIFY2(errorText_.contains(QStringLiteral("out.png: cannot be written: ")),
             qPrintable(errorText_));
    QCOMPARE(run({at("run.lcn"), QStringLiteral("--screenshot"), at("out.nopicture")}), 1);
    QVERIFY2(errorText_.contains(QStringLiteral("ends in .png")), qPrintable(errorText_));
  }

  void whatIsThereIsShown() {
    QCOMPARE(
        picture({QStringLiteral("--page"), QStringLiteral("timeline"), QStringLiteral("--select"),
                 QStringLiteral("relu"), QStringLiteral("--range"), QStringLiteral("10ms:20ms")}),
        0);
    QCOMPARE(picture({QStringLiteral("--finding"), QStringLiteral("1")}), 0);
    QCOMPARE(picture({QStringLiteral("--tab"), QStringLiteral("edits"), QStringLiteral("--play"),
                      QStringLiteral("loader.workers=4")}),
             0);
  }

  void theFirstEventOfANameIsTheOneThatBeginsFirst() {
    const auto selected = [&](const char* text) {
      const int status = picture({QStringLiteral("--page"), QStringLiteral("timeline"),
                                  QStringLiteral("--select"), QString::fromLatin1(text)});
      return status == 0 ? QImage(at("out.png")) : QImage();
    };
    // Threads above have a batch_norm, later.
    const QImage fetch = selected("loader.fetch");
    QVERIFY(!fetch.isNull());
    QVERIFY(selected("tch") == fetch);
    QVERIFY(selected("batch_norm") != fetch);
  }

  void aMissingDisplayIsReported() {
    auto environment = QProcessEnvironment::systemEnvironment();
    for (const char* name : {"QT_QPA_PLATFORM", "WAYLAND_DISPLAY"})
      environment.remove(QString::fromLatin1(name));
    environment.insert(QStringLiteral("DISPLAY"), QStringLiteral(":7999"));
    QCOMPARE(run({at("run.lcn")}, environment), 1);
    QVERIFY2(errorText_.contains(QStringLiteral("DISPLAY=:7999")) &&
                 errorText_.contains(QStringLiteral("--screenshot")),
             qPrintable(errorText_));
  }

  void aComparisonWithATraceThatHasNoAnalysisEnds() {
    QFile::remove(at("out.png"));
    QCOMPARE(run({at("bare.lcn"), at("run.lcn"), QStringLiteral("--screenshot"), at("out.png")}),
             1);
    QVERIFY2(errorText_.contains(QStringLiteral("bare.lcn")), qPrintable(errorText_));
    QCOMPARE(run({at("bare.lcn"), QStringLiteral("--screenshot"), at("out.png")}), 0);
  }
};

int main(int argc, char** argv) {
  return lacuna::gui::testing::run<ProgramTest>(argc, argv);
}

#include "program_test.moc"
