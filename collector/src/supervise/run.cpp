// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/collector/run.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>

#include "core/clock.h"
#include "core/standby_page.h"
#include "lacuna/collector/capture.h"
#include "sampler/choice.h"
#include "sampler/watcher.h"
#include "supervise/capture_watch.h"
#include "supervise/child.h"
#include "supervise/claimed_place.h"
#include "supervise/control_file.h"
#include "supervise/environment.h"
#include "supervise/flight_recorder.h"
#include "supervise/hurry.h"
#include "supervise/live_line.h"
#include "supervise/program.h"
#include "supervise/run_notes.h"
#include "supervise/self_cost.h"
#include "supervise/signals.h"
#include "supervise/timed_switch.h"

extern char** environ;

namespace lacuna::collector {
namespace {

namespace fs = std::filesystem;

/// Polling interval for timers and orders from outside; signals and ended children wake at once.
constexpr int kPollEveryMs = 100;
constexpr int kPollOftenEveryMs = 50;
/// Share of the run; what lived less is a tool that somebody called in passing, as Python calls
/// ldconfig.
constexpr double kMatters = 0.01;

/// Everything of one run, from the empty recording to the finished trace.
class Supervisor {
 public:
  explicit Supervisor(const RunOptions& options) : options_(options), live_(options.live) {}

  prof::Result<RunReport> run() {
    auto program = findProgram(options_.command.empty() ? std::string() : options_.command[0]);
    if (!program) return program.error();
    report_.notes = program->limits();
    report_.explained = !obstacleOf(*program).what.empty();
    image_ = program->image;
    if (auto status = prepare(); !status) return status.error();
    if (auto status = start(*program); !status) {
      abandon();
      return status.error();
    }
    supervise();
    finish();
    return report_;
  }

 private:
  prof::Status prepare() {
    if (auto status = prepareRawCapture(); !status) return status;
    auto claimed = claimPlace(options_, recordingOptions());
    if (!claimed) return claimed.error();
    report_.output = claimed->output;
    recording_ = claimed->recording;
    made_ = true;
    return openRecording();
  }

  prof::Status prepareRawCapture() {
    if (options_.rawCapture.empty()) return {};
    std::error_code error;
    rawCapture_ = fs::absolute(options_.rawCapture, error);
    if (rawCapture_.string().find(',') != std::string::npos) {
      return prof::Error{fmt::format(
          "--raw-capture {}: a comma cannot be in the folder's name. Remedy: choose another.",
          rawCapture_.string())};
    }
    fs::create_directories(rawCapture_, error);
    if (!fs::is_directory(rawCapture_, error) || access(rawCapture_.c_str(), W_OK) != 0) {
      return prof::Error{fmt::format(
          "--raw-capture {}: cannot write there. Remedy: choose a folder that you may write.",
          rawCapture_.string())};
    }
    if (isRawCapture(rawCapture_)) {
      return prof::Error{
          fmt::format("--raw-capture {}: holds what another run captured, which lacuna convert "
                      "could not separate from this run's. Remedy: choose a folder for each run, "
                      "or delete the files there.",
                      rawCapture_.string())};
    }
    return {};
  }

  prof::RecordingOptions recordingOptions() const {
    prof::RecordingOptions how;
    how.flightRecorder = options_.ringBytes != 0;
    how.maxPoolBytes = how.flightRecorder ? options_.ringBytes : options_.memoryLimit;
    how.poolBytes = std::min<std::uint64_t>(how.poolBytes, how.maxPoolBytes);
    return how;
  }

  prof::Status openRecording() {
    segments_ = prof::segmentFolder(recording_);
    key_ = prof::recordingKey(recording_);
    auto control = ControlFile::create(recording_ / "control");
    if (!control) {
      abandon();
      return control.error();
    }
    control_ = std::make_unique<ControlFile>(std::move(*control));
    if (!options_.captureRange.empty())
      captures_ = std::make_unique<CaptureWatch>(*control_->operator->());
    const bool waits = options_.delayNs > 0 || !options_.captureRange.empty();
    (*control_)->enabled.store(waits ? 0 : 1);
    if (options_.ringBytes != 0) {
      flight_ = std::make_unique<FlightRecorder>(recording_, report_.output, options_);
      return {};
    }
    // It gets its name once the program runs; until then what has that name stays.
    auto drainer = prof::Drainer::create(recording_, recording_ / prof::kUnnamedTrace);
    if (!drainer) {
      abandon();
      return drainer.error();
    }
    drainer_ = std::make_unique<prof::Drainer>(std::move(*drainer));
    return {};
  }

  std::vector<std::string> sessionVariables() const {
    std::vector<std::string> variables{
        fmt::format("{}={}", prof::kRecordingVariable, recording_.string()),
        fmt::format("{}={}", kControlVariable, control_->path().string()),
        fmt::format("{}={}", kCaptureVariable, options_.captureRange),
        fmt::format("{}={}", kStepVariable, stepVariable())};
    if (!options_.settings.empty()) {
      variables.push_back(fmt::format("{}={}", kSettingsVariable, settingsText(options_.settings)));
      variables.push_back(fmt::format("{}={}", kOutcomesVariable, outcomesFile().string()));
    }
    return variables;
  }

  fs::path outcomesFile() const { return recording_ / "set"; }

  prof::Status addExtras(ChildEnvironment& environment, const fs::path& injection) {
    if (!options_.rawCapture.empty()) addRawCapture(environment, rawCapture_);
    if (sampler_.use == Sampler::Timer) {
      auto status = addTimerSampler(environment, injection, prof::segmentFolder(recording_),
                                    options_.samplePeriodNs);
      if (!status && options_.sampler == Sampler::Timer) return status;
      if (!status)
        sampler_ = {Sampler::Proc, fmt::format("{}; {}", sampler_.why, status.error().message)};
    }
    if (options_.pythonHook == PythonHook::Off) return {};
    if (auto status = addPythonHook(environment, injection); !status) {
      if (options_.pythonHook == PythonHook::On) return status;
      environment.notes.push_back(status.error().message);
      return {};
    }
    addDetail(environment, options_.detail);
    if (drainer_ && samplesPython(options_))
      addPythonFrames(environment, prof::segmentFolder(recording_));
    return {};
  }

  void noteSelfCost(const fs::path& injection) {
    const auto cost = measureSelfCost(injection);
    if (!cost) return;
    drainer_->with([&](prof::Drainer::Access& trace) { appendSelfCost(*cost, trace.writer()); });
  }

  /// A reader of the trace should know what is not in it, also where nobody read the messages.
  void logNotes() {
    if (flight_) {
      std::vector<std::string> notes = report_.notes;
      for (const SettingLine& line : report_.settings) notes.push_back("set " + line.text);
      return flight_->setNotes(notes);
    }
    drainer_->with([&](prof::Drainer::Access& trace) {
      prof::Writer& out = trace.writer();
      const auto log = [&](prof::LogLevel level, const std::string& text) {
        out.append(prof::LogLine{.timeNs = nowNs(),
                                 .level = level,
                                 .source = out.intern("lacuna"),
                                 .text = out.intern(text)});
      };
      for (; logged_ < report_.notes.size(); ++logged_)
        log(prof::LogLevel::Warning, report_.notes[logged_]);
      for (const std::string& aside : std::exchange(asides_, {})) log(prof::LogLevel::Info, aside);
    });
  }

  std::string stepVariable() const {
    if (!options_.dumpOn.slowStep) return {};
    return options_.stepRange.empty() ? kAnyStep : options_.stepRange;
  }

  prof::Status start(const Program& program) {
    auto injection = findInjection();
    if (!injection) return injection.error();
    auto sampler = sampler::chooseSampler(options_);
    if (!sampler) return sampler.error();
    sampler_ = *sampler;
    auto environment = childEnvironment(environ, *injection, sessionVariables(), options_.sources);
    if (!environment) return environment.error();
    for (const char* other : {kStandbyVariable, kJobVariable}) removeVariable(*environment, other);
    if (auto status = addExtras(*environment, *injection); !status) return status.error();
    if (drainer_ && options_.sources.nvtx) noteSelfCost(*injection);
    report_.notes.insert(report_.notes.end(), environment->notes.begin(), environment->notes.end());
    report_.explained |= environment->nvtxTaken;
    if (options_.onNote) std::for_each(report_.notes.begin(), report_.notes.end(), options_.onNote);
    logNotes();
    adoptOrphans();
    startNs_ = nowNs();
    SpawnRequest request;
    request.program = program.path;
    request.arguments = options_.command;
    request.environment = std::move(environment->variables);
    request.signalMask = signals_.callersMask();
    request.ignoresChildren = signals_.wasIgnored(SIGCHLD);
    request.ignoresBus = signals_.wasIgnored(SIGBUS);
    if (drainer_) {
      const auto inspect = [this](const std::string& image, const std::string& way) {
        const Obstacle obstacle = obstacleOf(inspectImage(way));
        if (!obstacle.what.empty()) obstacles_[image] = obstacle;
      };
      watcher_ = std::make_unique<sampler::Watcher>(options_, *drainer_, *control_->operator->(),
                                                    recording_, sampler_, inspect);
      request.beforeExec = [this](pid_t child) { watcher_->start(child); };
    }
    auto pid = spawn(request);
    if (!pid) return pid.error();
    child_ = *pid;
    if (!drainer_) return {};
    // The program runs by now, and is not to suffer from what fails here: it is tried again at the
    // end.
    named_ = drainer_->moveTo(report_.output, existingOf(options_)).ok();
    drainer_->start();
    return {};
  }

  void supervise() {
    const bool timed = flight_ != nullptr || captures_ != nullptr || options_.delayNs > 0 ||
                       options_.durationNs > 0;
    bool over = false;
    while (!over) {
      pollfd wake{signals_.fd(), POLLIN, 0};
      poll(&wake, 1, timed ? kPollOftenEveryMs : kPollEveryMs);
      const auto seen = signals_.relay(running_ ? child_ : 0, options_.dumpOn.signal ? SIGUSR2 : 0);
      const auto reaped = reap(child_);
      for (const auto& [pid, exit] : reaped.ended) ended(pid, exit);
      // As a shell expects of a job: when the program is stopped, so are we.
      if (reaped.stopped && running_) {
        live_.clear();
        signals_.disregard(stopAlong(child_));
      }
      handleSignals(seen);
      onTime();
      over = !running_ && (reaped.childless || !options_.waitForAll || interrupted_);
    }
    live_.clear();
  }

  void ended(pid_t pid, Exit exit) {
    if (drainer_) drainer_->setExitCode(static_cast<std::uint32_t>(pid), exit.shellCode());
    if (flight_) flight_->setExitCode(pid, exit.shellCode());
    if (captures_) captures_->ended(pid);
    noteUser(pid, exit.user);
    if (pid != child_) return;
    running_ = false;
    report_.exitCode = exit.code;
    report_.exitSignal = exit.signal;
  }

  /// Root reaches everything, and so does who came to be root.
  void noteUser(pid_t pid, uid_t user) {
    if (user == geteuid() || user == 0 || otherUser_) return;
    report_.explained = otherUser_ = true;
    report_.notes.push_back(run_notes::otherUser(pid, user));
  }

  void handleSignals(const std::vector<int>& seen) {
    for (const int number : seen) {
      if (number == SIGUSR2 && options_.dumpOn.signal) dump("SIGUSR2");
      const bool stop =
          number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
      if (stop && !running_ && !signals_.wasIgnored(number)) interrupted_ = true;
    }
  }

  void onTime() {
    const auto elapsed = nowNs() - startNs_;
    Control& control = *control_->operator->();
    times_.check(control, elapsed);
    if (const auto wanted = control.dumpsWanted.load(); wanted != dumpsSeen_) {
      dumpsSeen_ = wanted;
      dump("lacuna trigger --dump", wanted);
    }
    if (flight_) flight_->tend(control);
    if (flight_) reportDump(flight_->answer());
    if (captures_) captures_->check();
    if (elapsed - shownNs_ >= 500000000) {
      shownNs_ = elapsed;
      if (watcher_ && watcher_->seesBar()) live_.hide();
      flight_ ? live_.show(elapsed, flight_->dumpCount(), stateWord(control))
              : live_.show(elapsed, drainer_->stats(), stateWord(control));
    }
  }

  const char* stateWord(const Control& control) const {
    if (!running_) return "waiting for background processes";
    if (control.enabled.load() == 0) return "running, not recording";
    return options_.ringBytes != 0 ? "recording in a ring" : "recording";
  }

  void dump(const char* reason, std::uint32_t wish = 0) {
    if (flight_) return flight_->dump(reason, wish);
    reportDump({wish, 0, drainer_->flush().ok()});
  }

  /// Reports to the process that asked for it from outside.
  void reportDump(const FlightRecorder::Answer& answer) {
    Control& control = *control_->operator->();
    if (answer.wish == 0 || answer.wish == control.dumpsDone.load()) return;
    control.dumpNumber.store(static_cast<std::uint32_t>(answer.number));
    control.dumpFailed.store(answer.written ? 0 : 1);
    control.dumpsDone.store(answer.wish);
  }

  void finish() {
    report_.wallNs = nowNs() - startNs_;
    const Hurry hurry(signals_, recording_);
    const bool wasOrdered = (*control_)->switches.load() != 0;
    noteNeverOn();
    noteSettings();
    if (flight_) return finishFlight();
    if (watcher_) {
      watcher_->finish([&] { return hurry.wanted(); });
      report_.samples = watcher_->samples();
      report_.sampler = watcher_->source();
      report_.seen = watcher_->processes();
      noteImages(watcher_->images());
      report_.notes.insert(report_.notes.end(), watcher_->notes().begin(), watcher_->notes().end());
      watcher_.reset();
    }
    logNotes();
    if (const auto status = named_ ? prof::Status() : drainer_->moveTo(report_.output); !status) {
      return keepUnnamed(status);
    }
    const auto status = drainer_->finish();
    report_.stats = drainer_->stats();
    noteUnable(drainer_->whyUnable());
    noteTruncated();
    if (!wasOrdered) noteTooLate();
    if (!report_.stats.left.empty()) report_.notes.push_back(report_.stats.left);
    drainer_.reset();
    control_.reset();
    std::error_code error;
    const bool kept = recordingIsThere();
    if (!kept && !fs::exists(report_.output, error)) {
      report_.failure = run_notes::traceGone(report_.output);
    } else if (!kept && !status) {
      report_.failure = run_notes::recordingGone(recording_, report_.output);
    } else if (!status) {
      report_.failure = run_notes::kept("The recorded events", status.error(), recording_);
    }
  }

  /// The trace cannot get its name: all stays in the recording.
  void keepUnnamed(const prof::Status& why) {
    const auto flushed = drainer_->flush();
    report_.stats = drainer_->stats();
    drainer_.reset();
    control_.reset();
    const prof::Error& error = (flushed ? why : flushed).error();
    report_.failure = run_notes::kept("The recorded events", error, recording_);
  }

  /// The outcome of each setting is in the trace too, for later comparisons of traces.
  void noteSettings() {
    const auto outcomes = readOutcomes(outcomesFile());
    for (const Setting& setting : options_.settings)
      report_.settings.push_back(describe(setting, outcomes));
    if (flight_) return;
    for (const SettingLine& line : report_.settings) {
      drainer_->with([&](prof::Drainer::Access& trace) {
        prof::Writer& out = trace.writer();
        out.append(prof::Environment{.key = out.intern("set." + line.name),
                                     .value = out.intern(line.text)});
      });
    }
  }

  /// The time is counted from the start of the program, which may take longer than that to begin.
  void noteTooLate() {
    const prof::TimeNs joinedNs = report_.stats.firstJoinNs - startNs_;
    if (options_.durationNs == 0 || report_.stats.firstJoinNs == 0) return;
    if (joinedNs <= options_.delayNs + options_.durationNs) return;
    report_.notes.push_back(run_notes::joinedTooLate(joinedNs));
  }

  void noteTruncated() {
    if (report_.stats.truncated == 0) return;
    report_.explained = true;
    report_.notes.push_back(run_notes::truncated(report_.stats, segments_));
  }

  /// The trace's log has the message of each of them.
  void noteUnable(const std::string& why) {
    if (why.empty()) return;
    report_.explained = true;
    report_.notes.push_back(run_notes::unreadable(why, report_.stats.unable));
  }

  /// Notes the programs that were started and that no recorder can enter.
  void noteImages(const sampler::ProcessTree::Images& images) {
    if (!options_.sources.nvtx && !options_.sources.cuda) return;
    run_notes::Unrecorded unrecorded, brief;
    for (const auto& [image, livedNs] : images.all) {
      std::error_code error;
      const auto found = obstacles_.find(image);
      Obstacle obstacle = found != obstacles_.end() ? found->second : Obstacle();
      if (!obstacle.what.empty() && fs::equivalent(image, image_, error)) continue;
      if (obstacle.what.empty() && images.strangers.contains(image)) {
        obstacle = {"environment cleared", "leave it the variables that lacuna run sets"};
      }
      if (obstacle.what.empty()) continue;
      const bool isBrief =
          static_cast<double>(livedNs) < kMatters * static_cast<double>(report_.wallNs);
      (isBrief ? brief : unrecorded).add(image, obstacle);
    }
    if (!brief.empty()) asides_.push_back(brief.text());
    if (unrecorded.empty()) return;
    report_.explained = true;
    report_.notes.push_back(unrecorded.text());
  }

  /// An empty trace must not look like a program that records nothing.
  void noteNeverOn() {
    const Control& control = *control_->operator->();
    const bool wasOrdered = control.switches.load() != 0 || control_->broken();
    if (wasOrdered || control.enabled.load() != 0 || control.switchCount.load() != 0) return;
    report_.explained = true;
    report_.notes.push_back(run_notes::neverOn(options_.captureRange));
  }

  /// A recorder that waits for slow steps must not wait in vain without a word.
  void noteNoSteps() {
    if (!options_.dumpOn.slowStep || (*control_)->stepCount.load() != 0) return;
    report_.notes.push_back(run_notes::noSteps(options_.stepRange));
  }

  void finishFlight() {
    noteNoSteps();
    logNotes();
    if (options_.dumpOn.crash && report_.exitSignal != 0) {
      flight_->dump(fmt::format("the program was killed by signal {}", report_.exitSignal));
    } else if (options_.dumpOn.crash && report_.exitCode != 0) {
      flight_->dump(fmt::format("the program ended with code {}", report_.exitCode));
    }
    report_.dumps = flight_->finish();
    reportDump(flight_->answer());
    // Dumps that were written before or after one that failed are there all the same.
    if (const auto& failure = flight_->failure(); !failure && !recordingIsThere()) {
      report_.failure = run_notes::ringsGone(recording_);
    } else if (!failure) {
      report_.failure = run_notes::kept("The events in the rings", failure.error(), recording_);
      made_ = false;  // it stays
    }
    abandon();
    report_.output.clear();
    if (report_.dumps.empty()) return;
    report_.output = report_.dumps.back().file;
    report_.stats = report_.dumps.back().stats;
  }

  /// And not another run's of the same name, which began when somebody had deleted ours.
  bool recordingIsThere() const { return prof::recordingKey(recording_) == key_; }

  /// Leaves nothing behind, and everything else as it is.
  void abandon() {
    watcher_.reset();
    drainer_.reset();
    flight_.reset();
    control_.reset();
    if (made_) (void)prof::removeRecording(recording_, segments_, key_);
    made_ = false;
  }

  const RunOptions& options_;
  SignalRelay signals_;
  LiveLine live_;
  RunReport report_;
  fs::path image_;  ///< of the program, which has a note of its own
  fs::path recording_;
  fs::path segments_;      ///< the folder that they are in
  std::uint64_t key_ = 0;  ///< of the recording
  fs::path rawCapture_;
  std::unique_ptr<ControlFile> control_;
  std::unique_ptr<CaptureWatch> captures_;  ///< with --capture-range only
  TimedSwitch times_{options_};
  std::unique_ptr<prof::Drainer> drainer_;  ///< none for a flight recorder
  std::unique_ptr<FlightRecorder> flight_;
  std::size_t logged_ = 0;  ///< of the notes, those in the trace
  /// Like notes, but for the trace's log alone: they took too little of the run to matter to the
  /// user who waits for its end.
  std::vector<std::string> asides_;
  sampler::Choice sampler_;
  std::map<std::string, Obstacle>
      obstacles_;  ///< of files that programs executed; the watcher's until it has finished
  std::unique_ptr<sampler::Watcher> watcher_;
  pid_t child_ = 0;
  bool made_ = false;   ///< the recording is ours
  bool named_ = false;  ///< the trace has its name
  bool running_ = true;
  bool otherUser_ = false;  ///< a note reports it
  bool interrupted_ = false;
  std::uint32_t dumpsSeen_ = 0;
  std::int64_t startNs_ = 0;
  std::int64_t shownNs_ = 0;
};

}  // namespace

prof::Result<RunReport> run(const RunOptions& options) {
  return Supervisor(options).run();
}

void exitAs(const RunReport& report) {
  Exit exit;
  exit.code = report.exitCode;
  exit.signal = report.exitSignal;
  exitLike(exit);
}

}  // namespace lacuna::collector
