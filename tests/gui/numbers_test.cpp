// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <QCheckBox>
#include <QComboBox>
#include <QDir>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <algorithm>
#include <limits>

#include "base/words.h"
#include "gui/window_fixture.h"
#include "lacuna/analyzer/files.h"
#include "models/table_model.h"
#include "support/programs.h"
#include "support/synthetic_run.h"
#include "views/kernels_page.h"
#include "views/memory_chart.h"
#include "views/memory_page.h"
#include "views/operators_page.h"
#include "views/table_page.h"
#include "views/timeline_page.h"

using namespace lacuna;       // NOLINT
using namespace lacuna::gui;  // NOLINT

/// The window shows what `lacuna report --json` prints, for traces made by hand and for every
/// sample's.
class NumbersTest : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;

  static QString program(const char* name) { return QString::fromStdString(test::program(name)); }

  static QJsonObject reportOf(const QString& path) {
    QProcess report;
    report.start(program("lacuna"), {QStringLiteral("report"), path, QStringLiteral("--json")});
    if (!report.waitForFinished(60'000) || report.exitCode() != 0) {
      qCritical("lacuna report: %s", report.readAllStandardError().constData());
      return {};
    }
    return QJsonDocument::fromJson(report.readAllStandardOutput()).object();
  }

  static void compareLedger(const analyzer::Ledger& shown, const QJsonObject& printed) {
    QCOMPARE(shown.totalNs(), printed.value(QStringLiteral("total_ns")).toInteger());
    const QJsonArray entries = printed.value(QStringLiteral("entries")).toArray();
    QCOMPARE(entries.size(), static_cast<qsizetype>(analyzer::kCauseCount));
    for (std::size_t i = 0; i < analyzer::kCauseCount; ++i) {
      QCOMPARE(
          shown.ns[i],
          entries[static_cast<qsizetype>(i)].toObject().value(QStringLiteral("ns")).toInteger());
    }
  }

  static void compareTables(MainWindow& window, const QJsonObject& report) {
    const TableModel& kernels = *window.pageOf<KernelsPage>()->model();
    const QJsonArray printed = report.value(QStringLiteral("kernels")).toArray();
    QCOMPARE(kernels.rowCount(), static_cast<int>(printed.size()));
    for (int row = 0; row < kernels.rowCount(); ++row) {
      const QJsonObject kernel = printed[row].toObject();
      const std::size_t at = kernels.sourceRow(row);
      QCOMPARE(kernels.table()[0].texts[at], kernel.value(QStringLiteral("name")).toString());
      QCOMPARE(kernels.table()[1].numbers[at], kernel.value(QStringLiteral("count")).toDouble());
      QCOMPARE(kernels.table()[2].numbers[at], kernel.value(QStringLiteral("total_ns")).toDouble());
      const qint64 band = kernel.value(QStringLiteral("recording_ns")).toInteger();
      const QString note =
          kernels.table()[2].notes.empty() ? QString() : kernels.table()[2].notes[at];
      QCOMPARE(note.isEmpty(), band == 0);
      QVERIFY(band == 0 || note.contains(durationWords(band)));
      QCOMPARE(kernels.table()[5].numbers[at], kernel.value(QStringLiteral("min_ns")).toDouble());
      QCOMPARE(kernels.table()[6].numbers[at], kernel.value(QStringLiteral("max_ns")).toDouble());
    }
  }

  static void compareOperators(MainWindow& window, const QJsonObject& report) {
    window.pageOf<OperatorsPage>()->findChild<QCheckBox*>()->setChecked(
        true);  // by input shapes, as the report lists them
    const TableData& shown = window.pageOf<OperatorsPage>()->model()->table();
    const QJsonArray printed = report.value(QStringLiteral("operators")).toArray();
    QCOMPARE(window.pageOf<OperatorsPage>()->model()->rows(),
             static_cast<std::size_t>(printed.size()));
    static const char* const kNumbers[] = {"calls", "host_ns", "host_self_ns", "device_ns",
                                           "mem_bytes"};
    const auto anyRow = [&](auto&& holds) {
      return std::any_of(printed.begin(), printed.end(),
                         [&](const auto& row) { return holds(row.toObject()); });
    };
    // Columns that hold nothing are left out.
    const bool hasShapes = anyRow([](const QJsonObject& op) {
      return !op.value(QStringLiteral("shapes")).toString().isEmpty();
    });
    const bool hasMemory = anyRow([](const QJsonObject& op) {
      return op.value(QStringLiteral("mem_bytes")).toDouble() != 0;
    });
    const std::size_t texts = hasShapes ? 2 : 1;
    const std::size_t numbers = std::size(kNumbers) - (hasMemory ? 0U : 1U);
    QCOMPARE(shown.size(), numbers + texts);
    for (qsizetype row = 0; row < printed.size(); ++row) {
      const QJsonObject op = printed[row].toObject();
      const auto at = static_cast<std::size_t>(row);
      QCOMPARE(shown[0].texts[at], op.value(QStringLiteral("name")).toString());
      if (hasShapes) QCOMPARE(shown[1].texts[at], op.value(QStringLiteral("shapes")).toString());
      for (std::size_t n = 0; n < numbers; ++n) {
        QCOMPARE(shown[n + texts].numbers[at],
                 op.value(QString::fromLatin1(kNumbers[n])).toDouble());
      }
    }
  }

  static void compareFindings(const analyzer::Analysis& shown, const QJsonObject& report) {
    const QJsonArray findings = report.value(QStringLiteral("findings")).toArray();
    QCOMPARE(static_cast<qsizetype>(shown.of<analyzer::Findings>().size()), findings.size());
    for (std::size_t i = 0; i < shown.of<analyzer::Findings>().size(); ++i) {
      const QJsonObject finding = findings[static_cast<qsizetype>(i)].toObject();
      QCOMPARE(QString::fromStdString(shown.of<analyzer::Findings>()[i].title),
               finding.value(QStringLiteral("title")).toString());
      QCOMPARE(shown.of<analyzer::Findings>()[i].costNsPerStep,
               finding.value(QStringLiteral("cost_ns_per_step")).toInteger());
      QCOMPARE(shown.of<analyzer::Findings>()[i].predictedGainNsPerStep,
               finding.value(QStringLiteral("predicted_gain_ns_per_step")).toInteger());
    }
  }

  static void compareMemory(MainWindow& window, const QJsonObject& report) {
    const QJsonObject memory = report.value(QStringLiteral("memory")).toObject();
    const auto peak = memory.value(QStringLiteral("peak_bytes")).toInteger();
    if (!window.findings().analysis->of<analyzer::MemoryTables>().all.present) {
      QCOMPARE(peak, 0);
      return;
    }
    QTRY_VERIFY(window.pageOf<MemoryPage>()->moment() != nullptr);
    const QJsonArray devices = report.value(QStringLiteral("memory_devices")).toArray();
    compareAllocators(window, devices);
    if (devices.size() > 1) return compareDevices(window, devices);
    QCOMPARE(static_cast<qint64>(window.pageOf<MemoryPage>()->moment()->bytes), peak);
    QCOMPARE(window.pageOf<MemoryPage>()->moment()->timeNs,
             memory.value(QStringLiteral("at_ns")).toInteger());
    comparePeakEdits(window, report.value(QStringLiteral("peak_edits")).toArray());
    compareLive(window, memory);
  }

  /// One is shown at a time.
  static void compareDevices(MainWindow& window, const QJsonArray& printed) {
    MemoryPage* memory = window.pageOf<MemoryPage>();
    QCOMPARE(memory->devices()->count(), static_cast<int>(printed.size()));
    for (int n = 0; n < memory->devices()->count(); ++n) {
      memory->devices()->setCurrentIndex(n);
      Q_EMIT memory->devices()->activated(n);
      QTRY_VERIFY(!memory->busy());
      const QJsonObject device = printed[n].toObject();
      const auto peak = device.value(QStringLiteral("peak_bytes")).toInteger();
      QCOMPARE(static_cast<qint64>(memory->moment()->bytes), peak);
      QCOMPARE(memory->moment()->timeNs, device.value(QStringLiteral("at_ns")).toInteger());
      QCOMPARE(static_cast<qint64>(memory->chart()->highest()), peak);
      for (const auto& edit : memory->peakEdits())
        QVERIFY(static_cast<qint64>(edit.peakAfterBytes) <= peak);
    }
  }

  static void comparePeakEdits(MainWindow& window, const QJsonArray& printed) {
    const TableModel& model = *window.pageOf<MemoryPage>()->edits()->model();
    QCOMPARE(model.rows(), static_cast<std::size_t>(printed.size()));
    for (qsizetype row = 0; row < printed.size(); ++row) {
      const QJsonObject edit = printed[row].toObject();
      const auto at = static_cast<std::size_t>(row);
      const TableData& shown = model.table();
      QCOMPARE(shown[0].texts[at], edit.value(QStringLiteral("origin")).toString());
      QCOMPARE(shown[2].numbers[at], edit.value(QStringLiteral("bytes")).toDouble());
      const double cost = edit.value(QStringLiteral("cost_ns_per_step")).toDouble();
      QCOMPARE(shown[3].numbers[at],
               cost < 0 ? std::numeric_limits<double>::quiet_NaN() : cost);  // QCOMPARE: NaN is NaN
      QCOMPARE(shown[4].numbers[at], edit.value(QStringLiteral("peak_after_bytes")).toDouble());
      QCOMPARE(shown[5].numbers[at], edit.value(QStringLiteral("count")).toDouble());
      QCOMPARE(shown[6].texts[at], edit.value(QStringLiteral("why")).toString());
    }
  }

  static void compareAllocators(MainWindow& window, const QJsonArray& devices) {
    const TableData& shown = window.pageOf<MemoryPage>()->allocator()->model()->table();
    std::size_t column = 1;
    for (const QJsonValue& device : devices) {
      const QJsonObject state = device.toObject().value(QStringLiteral("allocator")).toObject();
      if (!state.value(QStringLiteral("known")).toBool()) continue;
      const auto& figures = shown.at(column++).texts;
      QCOMPARE(figures[3], bytesWords(state.value(QStringLiteral("reserved_bytes")).toDouble()));
      QCOMPARE(figures[4], bytesWords(state.value(QStringLiteral("live_bytes")).toDouble()));
      QCOMPARE(figures[6],
               bytesWords(state.value(QStringLiteral("largest_free_bytes")).toDouble()));
      QCOMPARE(figures[9], percentWords(state.value(QStringLiteral("fragmentation")).toDouble()));
    }
    QCOMPARE(shown.size(), column > 1 ? column : 0);
  }

  static void compareLive(MainWindow& window, const QJsonObject& memory) {
    QCOMPARE(window.findings().analysis->of<analyzer::MemoryTables>().all.leakBytesPerStep,
             memory.value(QStringLiteral("leak_bytes_per_step")).toInteger());
    const TableData& shown = window.pageOf<MemoryPage>()->live()->model()->table();
    const QJsonArray printed = memory.value(QStringLiteral("live")).toArray();
    for (qsizetype row = 0; row < printed.size(); ++row) {
      const QJsonObject tensor = printed[row].toObject();
      const auto at = static_cast<std::size_t>(row);
      QCOMPARE(shown[1].texts[at], tensor.value(QStringLiteral("op")).toString());
      const QString role = tensor.value(QStringLiteral("role")).toString();
      QCOMPARE(shown[2].texts[at],
               role == QStringLiteral("other") ? QStringLiteral("not known") : role);
      QCOMPARE(shown[3].numbers[at], tensor.value(QStringLiteral("bytes")).toDouble());
    }
  }

  static void compareStrips(MainWindow& window, const QJsonObject& report) {
    const auto& strips = window.pageOf<TimelinePage>()->view()->ledgers();
    const QJsonArray devices = report.value(QStringLiteral("devices")).toArray();
    QCOMPARE(strips ? static_cast<qsizetype>(strips->size()) : 0, devices.size());
    for (qsizetype d = 0; d < devices.size(); ++d) {
      analyzer::Ledger sum;
      for (const auto& cause : (*strips)[static_cast<std::size_t>(d)].causes) {
        for (std::size_t i = 0; i < cause.lane.size(); ++i)
          sum.add(cause.cause, cause.lane.durNs(i));
      }
      compareLedger(sum, devices[d].toObject().value(QStringLiteral("ledger")).toObject());
    }
  }

  static void compareAll(const QString& path) {
    const QJsonObject report = reportOf(path);
    QVERIFY(!report.isEmpty());
    auto window = gui::testing::makeWindow();
    QVERIFY(gui::testing::openAnalysed(*window, path));
    const analyzer::Analysis& shown = *window->findings().analysis;
    compareLedger(shown.ledgers.run, report.value(QStringLiteral("ledger")).toObject());
    QCOMPARE(shown.ledgers.bands.run.totalNs(), report.value(QStringLiteral("ledger"))
                                                    .toObject()
                                                    .value(QStringLiteral("recording_ns"))
                                                    .toInteger());
    const QJsonArray steps = report.value(QStringLiteral("steps")).toArray();
    QCOMPARE(static_cast<qsizetype>(shown.steps.all.size()), steps.size());
    for (std::size_t i = 0; i < shown.steps.all.size(); ++i) {
      const QJsonObject step = steps[static_cast<qsizetype>(i)].toObject();
      QCOMPARE(shown.steps.all[i].durNs(), step.value(QStringLiteral("dur_ns")).toInteger());
      QCOMPARE(shown.stepBandNs(i), step.value(QStringLiteral("recording_ns")).toInteger());
      compareLedger(shown.ledgers.steps[i], step.value(QStringLiteral("ledger")).toObject());
    }
    compareTables(*window, report);
    compareOperators(*window, report);
    compareFindings(shown, report);
    compareMemory(*window, report);
    compareStrips(*window, report);
  }

 private Q_SLOTS:
  void init() { gui::testing::failOnWarnings(); }

  void syntheticRuns_data() {
    QTest::addColumn<int>("plan");
    for (const char* name : {"healthy", "slow loader", "ranks", "leak", "collectives"}) {
      static int n = 0;
      QTest::newRow(name) << n++;
    }
  }
  void syntheticRuns() {
    QFETCH(int, plan);
    const test::RunPlan plans[] = {{},
                                   {.batchNs = 9'000'000, .workers = 0},
                                   {.ranks = 2},
                                   {.leakBytes = 1 << 20, .memorySpike = true},
                                   {.ranks = 2, .collectiveNs = 300'000, .lateNs = 200'000}};
    const QString path = folder_.filePath(QStringLiteral("plan%1.lcn").arg(plan));
    QVERIFY(analyzer::exportTrace(*test::makeRun(plans[plan]), path.toStdString(),
                                  analyzer::Format::Lcn)
                .ok());
    compareAll(path);
  }

  void samples_data() {
    QTest::addColumn<QString>("sample");
    QTest::addColumn<QStringList>("options");
    const auto small = [](const char* name, const char* options) {
      QTest::newRow(name) << QString::fromLatin1(name)
                          << QString::fromLatin1(options).split(QLatin1Char(' '));
    };
    QTest::newRow("mlp_digits") << QStringLiteral("mlp_digits") << QStringList{};
    small("resnet", "--steps 5 --batch 4 --width 8");
    small("transformer_lm", "--steps 5 --batch 2 --context 32 --features 32 --layers 2");
    small("stylegan2_discriminator", "--steps 5 --batch 2 --size 16 --channels 512");
    for (const char* fault : {"slow-loader", "sync-each-step", "alloc-churn", "leak"}) {
      QTest::newRow(fault) << QStringLiteral("faulty")
                           << QStringList{QStringLiteral("--steps"), QStringLiteral("12"),
                                          QStringLiteral("--fault"), QString::fromLatin1(fault)};
    }
  }
  void samples() {
    QFETCH(QString, sample);
    QFETCH(QStringList, options);
    const QString binary = program(sample.toUtf8().constData());
    if (!QFileInfo::exists(binary)) QSKIP("the samples are not built here");
    const QString path =
        folder_.filePath(QString::fromLatin1(QTest::currentDataTag()) + QStringLiteral(".lcn"));
    QProcess run;
    run.start(program("lacuna"), QStringList{QStringLiteral("run"), QStringLiteral("-o"), path,
                                             QStringLiteral("--"), binary} +
                                     options);
    QVERIFY(run.waitForFinished(90'000));
    if (!QFileInfo::exists(path)) QSKIP("recording is not possible here");
    compareAll(path);
  }
};

int main(int argc, char** argv) {
  return lacuna::gui::testing::run<NumbersTest>(argc, argv);
}

#include "numbers_test.moc"
