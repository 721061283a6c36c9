# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""`lacuna run` on a program that uses a stand-in for PyTorch: run_test.py LACUNA CORE"""

import ast
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
LACUNA, CORE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])


sys.dont_write_bytecode = True
HOOK = os.path.abspath(os.path.join(HERE, "..", "..", "..", "collector", "python"))
sys.path.insert(0, HOOK)
import lacuna_detail  # noqa: E402
import lacuna_loader  # noqa: E402
import lacuna_modules  # noqa: E402
import lacuna_training  # noqa: E402


class Optimizer:
    pass


class WithSteps(unittest.TestCase):
    """Stands in for the emitter."""

    def setUp(self):
        self.steps = lacuna_training.Steps(self)
        self.closed = 0
        self.plain = []

    def open_step(self, index, samples, plain):
        self.plain.append(plain)
        return index

    def close_step(self, level):
        self.closed += 1

    def step(self, optimizer):
        self.steps.begin()
        self.steps.end(optimizer)


class StepsEnd(WithSteps):
    def test_with_the_first_of_several_optimizers(self):
        generator, critic = Optimizer(), Optimizer()
        for _ in range(10):
            self.step(generator)
            for _ in range(5):
                self.step(critic)
        self.assertEqual(self.closed, 10)

    def test_with_the_optimizer_that_is_last_before_each_batch(self):
        first, second = Optimizer(), Optimizer()
        open_at_batch = []
        for _ in range(10):
            open_at_batch.append(self.steps.level is not None)
            self.steps.ask_for_batch()
            self.step(first)
            self.step(second)
        learnt = lacuna_training.Steps.PROOF + 1
        self.assertEqual(open_at_batch[1:learnt], [True] * (learnt - 1))
        self.assertEqual(open_at_batch[learnt:], [False] * (10 - learnt))
        self.assertEqual(self.closed, 10)

    def test_with_a_critic_that_has_batches_between_its_steps(self):
        critic, generator = Optimizer(), Optimizer()
        for _ in range(10):
            for _ in range(5):
                self.steps.ask_for_batch()
                self.step(critic)
            self.step(generator)
        self.assertEqual(self.closed, 50)

    def test_with_the_next_optimizer_when_the_first_is_gone(self):
        for _ in range(3):
            optimizer = Optimizer()
            for _ in range(10):
                self.step(optimizer)
        self.assertEqual(self.closed, 30)

    def test_with_another_one_when_the_first_steps_no_more(self):
        kept = [Optimizer(), Optimizer()]
        for optimizer in kept:
            for _ in range(100):
                self.step(optimizer)
        self.assertEqual(self.closed, 200 - lacuna_training.Steps.PATIENCE)


class Detail(WithSteps):
    """As the emitter, it notes when detail is switched."""

    def setUp(self):
        super().setUp()
        self.switched = []
        self.steps.detail = lacuna_detail.Detail(self)

    def detail(self, on):
        self.switched.append((self.steps.index, on))

    def train(self, steps):
        optimizer = Optimizer()
        for _ in range(steps):
            self.step(optimizer)

    def test_is_of_the_first_steps_and_then_of_a_twentieth(self):
        self.train(lacuna_detail.FIRST + 2 * lacuna_detail.EVERY)
        kept = lacuna_detail.AGAIN
        self.assertEqual(self.plain, [0] * lacuna_detail.FIRST + 2 * ([1] * (lacuna_detail.EVERY - kept) + [0] * kept))

    def test_is_switched_off_for_a_plain_step_and_on_again_behind_it(self):
        at, behind = lacuna_detail.FIRST, lacuna_detail.FIRST + 1
        self.train(at)
        self.assertEqual(self.switched, [])
        self.train(1)
        self.assertEqual(self.switched, [(at, 0), (behind, 1)])

    def test_is_switched_on_for_an_evaluation_that_begins_in_a_plain_step(self):
        class Model:
            def train(self, mode=True):
                return self

        self.steps.detail.watch_evaluations(Model)
        at = lacuna_detail.FIRST
        self.train(at)
        self.steps.ask_for_batch()
        self.switched.clear()
        Model().train()
        self.assertEqual(self.switched, [])
        self.assertIsInstance(Model().train(False), Model)
        self.assertEqual(self.switched, [(at, 1)])
        Model().train(mode=False)
        self.assertEqual(len(self.switched), 1)


class Iterator:
    """As PyTorch's own, which is kept for the next epoch where its workers are."""

    def __init__(self, source):
        self.reset()

    def reset(self):
        self._num_yielded = 0

    def __next__(self):
        self._num_yielded += 1


class Source:
    num_workers, prefetch_factor, pin_memory, batch_size = 1, 2, False, 1


def exit_with_loader():
    """Acts as a worker: the exit code is the number of its loader."""
    sys.exit(lacuna_loader.Loader.handed_on().get(lacuna_loader.Loader.KEY, 99))


class LoaderNumbers(unittest.TestCase):
    def setUp(self):
        self.waits = []
        self.knobs = {}
        self.training = False
        self.loader = lacuna_loader.Loader(self, self, lacuna_training.Steps(self))
        iterator = type("Iterator", (Iterator,), dict(Iterator.__dict__))
        self.loader.install_consumer(iterator)
        self.iterator = iterator

    def is_grad_enabled(self):
        return self.training

    def knob(self, name, value):
        self.knobs[name.decode()] = value.decode()

    def nothing(self, *_):
        pass

    role = open = close = nothing

    def open_loader(self, stage, batch, number, worker):
        self.waits.append((number, batch))

    def test_batches_are_counted_anew_in_each_epoch_of_workers_that_are_kept(self):
        iterator = self.iterator(Source())
        for _ in range(2):
            iterator.reset()
            next(iterator)
            next(iterator)
        self.assertEqual(self.waits, [(0, 0), (0, 1), (0, 0), (0, 1)])

    def announced_workers(self, training, workers, **more):
        self.training = training
        self.iterator(type("Source", (Source,), dict(more, num_workers=workers))())
        return self.knobs["loader.workers"]

    def test_a_validation_does_not_speak_for_the_training(self):
        self.assertEqual(self.announced_workers(False, 1), "1")  # before the training, or in a program without one
        self.assertEqual(self.announced_workers(True, 4), "4")
        self.assertEqual(self.announced_workers(False, 0), "4")
        self.assertEqual(self.announced_workers(True, 2), "2")

    def test_the_batch_is_the_one_that_makes_batches_names(self):
        self.announced_workers(True, 0, batch_size=None)
        self.assertNotIn("batch", self.knobs)
        self.announced_workers(True, 0, batch_size=None, batch_sampler=type("Sampler", (), {"batch_size": 32})())
        self.assertEqual(self.knobs["batch"], "32")

    def workers_own_numbers(self, context, loaders):
        numbers = []

        class WithWorkers(self.iterator):
            """As PyTorch's own, it starts them when its base is there."""

            def __init__(self, source):
                super().__init__(source)
                worker = context.Process(target=exit_with_loader, daemon=True)
                worker.start()
                worker.join()
                numbers.append(worker.exitcode)

        for _ in range(loaders):
            WithWorkers(Source())
        return numbers

    def test_workers_know_whose_they_are(self):
        for method in ("fork", "spawn", "forkserver"):
            self.setUp()
            context = multiprocessing.get_context(method)
            context.set_forkserver_preload([])  # this file takes arguments, which a server's Python does not have
            with self.subTest(method=method):
                self.assertEqual(self.workers_own_numbers(context, 3), [0, 1, 2])


class Modes(unittest.TestCase):
    """A stand-in for PyTorch, as far as its modes can be read."""

    def setUp(self):
        self.knobs = []
        self.is_on_gpu = self.detects = False
        self.inside = []
        self.emits = "NONE"
        self.cuda = types.SimpleNamespace(is_initialized=lambda: self.is_on_gpu)
        self.backends = types.SimpleNamespace(cudnn=types.SimpleNamespace(benchmark=False))
        self._C = types.SimpleNamespace(_autograd=types.SimpleNamespace(_profiler_type=lambda: types.SimpleNamespace(name=self.emits)))

    def call_inside_modules(self, on):
        self.inside.append(on)

    def is_anomaly_enabled(self):
        return self.detects

    def knob(self, name, value):
        self.knobs.append((name.decode(), value.decode()))

    def test_are_reported_when_they_change(self):
        modes = lacuna_training.Modes(self, self)
        for self.detects in (False, False, True, True, False):
            modes.report()
        self.emits = "NVTX"
        modes.report()
        self.assertEqual(self.knobs, [("debug", "off"), ("debug", "anomaly detection"), ("debug", "off"), ("debug", "emit_nvtx")])

    def test_the_time_to_keep_a_stack_is_measured_where_anomalies_are_detected(self):
        cost = lacuna_modules.StackCost(self, self)
        modes = lacuna_training.Modes(self, self)
        modes.report()
        self.assertEqual(self.inside, [], "nothing is detected")
        self.detects = True
        modes.report()
        self.assertEqual(self.inside, [1])
        self.knobs.clear()
        self.detects = False
        cost.in_module(types.SimpleNamespace(_modules={}))
        self.assertEqual(cost.samples, [], "the forward is outside of what detects")
        self.detects = True
        for leaf in [False] + [True] * cost.SAMPLES:
            self.assertEqual(self.inside, [1])
            cost.in_module(types.SimpleNamespace(_modules={} if leaf else {"inner": None}))
        self.assertEqual(self.inside, [1, 0], "so many are enough")
        cost.in_module(types.SimpleNamespace(_modules={}))
        self.assertEqual((self.inside, len(cost.samples)), ([1, 0, 0], cost.SAMPLES), "once is enough")
        [(name, value)] = self.knobs
        self.assertEqual(name, "debug.stack_ns")
        self.assertTrue(100 < int(value) < 1_000_000_000, value)

    def test_the_search_of_cudnn_is_a_gpus(self):
        modes = lacuna_training.Modes(self, self)
        modes.report()
        self.is_on_gpu = True
        modes.report()
        self.backends.cudnn.benchmark = True
        modes.report()
        self.assertEqual(self.knobs, [("debug", "off"), ("autotune", "off"), ("autotune", "on")])

    def test_launches_that_block_are_reported_once_there_are_any(self):
        with unittest.mock.patch.dict(os.environ, CUDA_LAUNCH_BLOCKING="1"):
            modes = lacuna_training.Modes(self, self)
        modes.report()
        self.is_on_gpu = True
        modes.report()
        self.assertEqual([value for name, value in self.knobs if name == "debug"], ["off", "blocking launches"])

    def test_a_version_without_them_goes_on_unreported(self):
        del self.backends, self._C
        self.is_on_gpu = True
        modes = lacuna_training.Modes(self, self)
        modes.report()
        modes.report()
        self.assertEqual(self.knobs, [])


class TorchRun(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def record(self, *words, options=(), **variables):
        environment = dict(os.environ, PYTHONPATH=os.path.join(HERE, "fake"), FAKE_TORCH_CORE=CORE)
        environment.pop("LACUNA_TORCH", None)
        environment.update(variables)
        self.trace = os.path.join(self.folder.name, "out.lcn")
        done = subprocess.run(
            [LACUNA, "run", "-q", "--force", *options, "-o", self.trace, "--", sys.executable, *words],
            env=environment, cwd=self.folder.name, capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def query(self, sql):
        done = subprocess.run([LACUNA, "query", "--json", self.trace, sql], capture_output=True, text=True, check=True)
        return [tuple(row.values()) for row in json.loads(done.stdout)]

    def counts(self, category):
        return dict(self.query(f"select name, count(*) from range where category = '{category}' group by name"))

    def phases(self):
        """Without the collections, which come when the interpreter likes."""
        found = self.counts("phase")
        found.pop("garbage collection", None)
        return found

    def train(self, workers, method, *more, **variables):
        return self.record(os.path.join(HERE, "train.py"), str(workers), method, *more, **variables)

    def phases_inside_steps(self):
        return self.query("select count(*) from range s join range p on p.thread = s.thread and p.startNs >= s.startNs and "
                          "p.startNs + p.durNs <= s.startNs + s.durNs where s.name = 'step' and p.category = 'phase'")[0][0]

    def test_steps_have_their_phases(self):
        self.assertEqual(self.train(0, "fork").stdout, "saw [0, 1, 4]\n")
        self.assertEqual(self.counts("step"), {"step": 3})
        self.assertEqual(self.phases(), {"load": 4, "forward": 3, "backward": 3, "optimizer": 3})
        self.assertEqual(self.phases_inside_steps(), 12)

    def test_a_validation_is_no_part_of_the_next_step(self):
        self.train(0, "fork", "validate")
        self.assertEqual(self.counts("step"), {"step": 3})
        self.assertEqual(self.phases(), {"load": 7, "forward": 3, "backward": 3, "optimizer": 3})
        self.assertEqual(self.phases_inside_steps(), 12)

    def test_an_evaluation_with_gradients_is_no_step_and_no_forward_phase(self):
        self.train(0, "fork", "evaluate")
        self.assertEqual(self.counts("step"), {"step": 6})
        self.assertEqual(self.phases(), {"load": 8, "forward": 6, "backward": 6, "optimizer": 6, "evaluation": 2})
        self.assertEqual(self.phases_inside_steps(), 24)

    def test_checkpoints_and_garbage_collections_have_their_names(self):
        self.train(0, "fork", "tidy")
        phases = self.phases()
        self.assertEqual((phases["checkpoint"], phases["checkpoint sync"]), (1, 1), "one sync is behind the save")
        collections = self.query("select count(*) from range where name = 'garbage collection'")
        self.assertIn(collections[0][0], range(1, 10), "of all generations; Python itself has some when it ends")

    def test_a_model_for_each_fold_has_its_steps(self):
        self.train(0, "fork", "folds")
        self.assertEqual(self.counts("step"), {"step": 6})

    def inside(self, step, what):
        return self.query(f"select count(*) from range s join {what} w on w.thread = s.thread and w.startNs >= s.startNs and "
                          f"w.startNs < s.startNs + s.durNs where s.name = '{step}' and s.category = 'step'")[0][0]

    def test_most_steps_of_a_long_training_are_plain(self):
        self.train(0, "fork", "long", options=["--detail", "some"])
        self.assertEqual(self.counts("step"), {"step": 60, "plain step": 380})
        for category, count in (("operator", 7), ("module", 2)):
            ranges = f"(select * from range where category = '{category}')"
            self.assertEqual(self.inside("plain step", ranges), 0, category)
            self.assertEqual(self.inside("step", ranges), 60 * count, category)
        self.assertEqual(self.phases(), {"load": 441, "forward": 440, "backward": 440, "optimizer": 440})
        allocations = "select action, count(*) from allocation where address = 4096 and bytes = 4096 group by action order by 2"
        self.assertEqual([count for _, count in self.query(allocations)], [60, 440], "what is freed is recorded all the time")

    def test_all_steps_of_a_long_training_are_in_detail_where_the_user_wants_it(self):
        self.train(0, "fork", "long", options=["--detail", "all"])
        self.assertEqual(self.counts("step"), {"step": 440})
        self.assertEqual(self.counts("module"), {"Net": 440, "Net.first": 440})

    def modules(self, case):
        return self.record(os.path.join(HERE, "modules.py"), case)

    def test_a_module_gets_all_arguments_and_its_result_is_returned(self):
        self.assertEqual(self.modules("hands-all-on").stdout, "1 6 4\n(self, /, *args, **kwargs)\n"
                         "Sum.forward() missing 1 required positional argument: 'first'\n")
        self.assertEqual(self.counts("module"), {"Sum": 3})

    def test_a_module_that_fails_ends_its_range_and_no_other(self):
        self.assertEqual(self.modules("fails").stdout, "7\nfailed with 8\n")
        self.assertEqual(self.counts("module"), {"Catches": 1, "Catches.inner": 1, "Catches.next": 1, "Fails": 1, "Sum": 1})
        self.assertEqual(self.phases()["forward"], 3)
        inner = self.query("select count(*) from range o join range i on i.startNs >= o.startNs and "
                           "i.startNs + i.durNs <= o.startNs + o.durNs where o.name = 'Catches' and i.name like 'Catches.%'")
        self.assertEqual(inner, [(2,)])

    def test_a_module_at_the_address_of_one_that_is_gone_has_its_own_name(self):
        self.modules("reuses-addresses")
        self.assertEqual(self.counts("module"), {"First": 50, "Second": 50})

    def test_a_function_around_the_call_of_modules_stays(self):
        self.assertEqual(self.modules("wraps-call").stdout, "1\n2\n")
        self.assertEqual(self.counts("module"), {"Catches": 1, "Catches.inner": 1, "Catches.next": 1})

    def test_modules_nest_in_each_thread(self):
        self.modules("threads")
        counts = self.counts("module")
        self.assertEqual(counts, dict.fromkeys(["Sequential", "Sequential.0", "Sequential.1", "Sequential.1.0"], 800))
        self.assertEqual(self.phases(), {"forward": 800})

    def test_a_module_that_cannot_be_watched_is_called(self):
        done = self.modules("unreadable")
        self.assertEqual(done.stdout, "5\n")
        self.assertIn("nobody may read this", done.stderr)

    def test_a_bias_in_front_of_a_batch_norm_is_reported_once(self):
        for case, found in (("bias", [("on",)]), ("bias-in-container", [("on",)]), ("no-bias", [])):
            self.modules(case)
            self.assertEqual(self.query("select value from environment where key = 'knob.conv_bias'"), found, case)

    def test_modules_are_named_by_their_path(self):
        self.train(0, "fork")
        self.assertEqual(self.counts("module"), {"Net": 4, "Net.first": 4})

    def test_operators_nest_and_share_their_sequence_number_with_the_backward(self):
        self.train(0, "fork")
        operators = self.counts("operator")
        self.assertEqual(operators["aten::linear"], 4)
        self.assertEqual(operators["aten::addmm"], 4)
        pairs = self.query("select count(*) from range f join range b on b.payload = f.payload where f.name = 'aten::neg' and "
                           "b.name = 'NegBackward0' and f.payloadType != 0")
        self.assertEqual(pairs, [(3,)])

    def test_outermost_operators_are_executions_of_the_cpu(self):
        self.train(0, "fork")
        kernels = dict(self.query("select name, count(*) from kernel group by name"))
        self.assertEqual(kernels["aten::linear"], 4)
        self.assertEqual(kernels["NegBackward0"], 3)
        self.assertNotIn("aten::addmm", kernels)
        report = subprocess.run([LACUNA, "report", "--json", self.trace], capture_output=True, text=True, check=True)
        calls = {row["name"]: row["calls"] for row in json.loads(report.stdout)["operator_names"]}
        self.assertEqual(calls["aten::linear"], 4, "an execution is no second call")
        self.assertEqual(self.query("select name from device"), [("CPU",)])

    def test_what_watching_costs_is_measured_in_the_program_and_leaves_no_events(self):
        self.train(0, "fork")
        costs = dict(self.query("select key, value from environment where key like 'knob.self.cost.%'"))
        for part in ("operator", "module"):
            self.assertTrue(0 < int(costs[f"knob.self.cost.{part}"]) < 1_000_000, costs)
        finds_the_sequence, forward, backward = 3, 3, 3
        self.assertEqual(self.counts("operator")["aten::neg"], finds_the_sequence + forward + backward)
        self.assertEqual(self.query("select count(*) from allocation where address = 8192"), [(0,)])
        self.assertEqual(self.query("select count(*) from range where name like 'Sequential%' or name = 'evaluation'"), [(0,)])

    def test_what_watching_costs_is_unknown_where_the_work_to_time_is_missing(self):
        self.train(0, "fork", FAKE_WITHOUT_MODULES="1")
        self.assertEqual(self.query("select key from environment where key like 'knob.self.cost.%'"), [])
        self.assertEqual(self.counts("step"), {"step": 3})

    def test_collectives_of_the_host_are_executions_on_queues_of_their_threads(self):
        self.train(0, "fork", "collectives")
        self.assertEqual(self.query("select name from device"), [("CPU",)])
        kernels = self.query("select count(*), count(distinct queue), count(distinct device) from kernel where name = 'gloo:all_reduce'")
        self.assertEqual(kernels, [(2, 2, 1)])
        calls = self.query("select c.thread = t.thread, c.startNs <= k.startNs from kernel k join api_call c on c.correlation = k.correlation "
                           "join (select distinct thread from range where name = 'step') t where k.name = 'gloo:all_reduce'")
        self.assertEqual(calls, [(1, 1)] * 2)

    def test_collectives_of_groups_that_overtake_each_other_are_of_the_calls_that_began_them(self):
        self.train(0, "fork", "groups")
        pairs = self.query("select k.name, (select r.name from range r where r.thread = c.thread and r.name like 'c10d::%' and "
                           "r.startNs >= c.startNs order by r.startNs limit 1) from kernel k join api_call c on c.correlation = k.correlation "
                           "where k.name like 'gloo:%' order by k.startNs")
        self.assertEqual(pairs, [("gloo:broadcast", "c10d::broadcast_"), ("gloo:all_gather", "c10d::_allgather_base_"),
                                 ("gloo:all_reduce", "c10d::allreduce_"), ("gloo:all_reduce", "c10d::_reduce_scatter_base_")])

    def test_memory_has_the_operator_that_asked_and_its_role(self):
        self.train(0, "fork")
        rows = self.query("select address, bytes, op from allocation where action = 0")
        self.assertEqual(rows, [(0x1000, 4096, "aten::addmm")] * 4)
        roles = self.query("select role, count(*) from allocation where action = 0 group by role order by role")
        self.assertEqual(roles, [(0, 1), (3, 3)])

    def check_workers(self, method):
        self.assertEqual(self.train(2, method).stdout, "saw [0, 1, 4]\n")
        self.assertEqual(self.counts("loader"), {"start": 1, "wait": 3, "stop": 1, "fetch": 3, "collate": 3, "put": 5})
        rows = self.query("select distinct t.name from range r join thread t on t.id = r.thread where r.name = 'fetch' order by 1")
        self.assertEqual(rows, [("DataLoader worker 0",), ("DataLoader worker 1",)])
        self.assertEqual(self.query("select payload from range where name = 'fetch' order by payload"), [(0,), (1,), (2,)])
        whose = self.query("select distinct text from range where category = 'loader' order by 1")
        self.assertEqual(whose, [("loader=0",), ("loader=0 worker=0",), ("loader=0 worker=1",)])

    def test_forked_workers_are_in_the_trace(self):
        self.check_workers("fork")

    def test_spawned_workers_are_in_the_trace(self):
        self.check_workers("spawn")

    def test_workers_of_a_fork_server_are_in_the_trace(self):
        self.check_workers("forkserver")

    def test_settings_of_the_loader_have_the_names_that_findings_use(self):
        self.train(2, "fork")
        knobs = dict(self.query("select key, value from environment where key like 'knob.%'"))
        self.assertEqual(knobs["knob.loader.workers"], "2")
        self.assertEqual(knobs["knob.torch.version"], "2.99.0")
        self.assertEqual(knobs["knob.debug"], "off")
        self.assertNotIn("knob.autotune", knobs)

    def test_anomaly_detection_is_reported_and_found(self):
        self.train(0, "fork", "anomaly")
        rows = self.query("select value from environment where key = 'knob.debug'")
        self.assertEqual(rows, [("off",), ("anomaly detection",)])

    def test_host_work_is_named_by_the_line_of_python(self):
        self.train(0, "fork", "metric")
        with open(os.path.join(HERE, "train.py"), encoding="utf-8") as file:
            line = next(number for number, text in enumerate(file, 1) if "# the metric's line" in text)
        rows = self.query("select place, function, idle_ns, ns from report_python_lines where function = 'metric'")
        costliest = max(rows, key=lambda row: row[3])
        self.assertEqual(costliest[:2], (f"train.py:{line}", "metric"))
        self.assertGreater(sum(row[3] for row in rows), 12e6)
        self.assertLess(sum(row[3] for row in rows), 20e6)
        titles = [row[0] for row in self.query("select title from report_findings where id = 'host-work'")]
        self.assertEqual(len(titles), 1)
        self.assertRegex(titles[0], r"train\.py:\d+(–\d+)? in metric")

    def test_operators_have_the_shapes_and_types_of_their_inputs(self):
        program = ("import torch; x = torch.zeros((2, 3, 4)); y = torch.zeros((5,), dtype=torch.float64)\n"
                   "torch.add(x, x); torch.cat([x, y]); torch.neg(x)")
        self.record("-c", program)
        found = self.query("select name, text from range where category = 'operator' and text <> '' order by startNs")
        self.assertEqual(found[-2:], [("aten::add", "f32[2,3,4] f32[2,3,4]"), ("aten::cat", "{f32[2,3,4] f64[5]}")])
        self.assertEqual(len(found), 2, "the trials, which ran before inputs were found, have none")

    def test_outermost_operators_have_the_line_that_called_them_where_that_is_wanted(self):
        program = os.path.join(self.folder.name, "program.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write("import threading, torch\nx = torch.zeros((2, 3))\ndef adds():\n    torch.add(x, x)\n"
                       "with torch.operator('outer'):\n    torch.add(x, x)\n"
                       "for _ in range(50):\n    adds(); torch.neg(x)\n"
                       "thread = threading.Thread(target=adds)\nthread.start()\nthread.join()\n")
        sql = ("select name, text, count(*) from range where category = 'operator' and text like '%program.py%' "
               "group by name, text order by name, text")
        self.record(program, LACUNA_TORCH="+lines")
        self.assertEqual(self.query(sql), [("aten::add", "f32[2,3] f32[2,3] at program.py:4", 51),
                                           ("aten::neg", "at program.py:8", 50), ("outer", "at program.py:5", 1)])
        self.record(program)
        self.assertEqual(self.query(sql), [])

    def test_a_pytorch_that_keeps_inputs_elsewhere_costs_the_shapes_only(self):
        done = self.train(0, "fork", FAKE_WITHOUT="cat")
        self.assertIn("PyTorch's shapes are not recorded", done.stderr)
        self.assertEqual(self.counts("operator")["aten::linear"], 4)

    def test_parts_can_be_left_out(self):
        self.train(0, "fork", LACUNA_TORCH="steps")
        self.assertEqual(self.counts("operator"), {})
        self.assertEqual(self.counts("loader"), {})
        self.assertEqual(self.phases(), {"backward": 3, "optimizer": 3})

    def test_a_core_that_cannot_be_observed_costs_the_operators_only(self):
        done = self.train(0, "fork", FAKE_TORCH_CORE="")
        self.assertIn("PyTorch's operators are not recorded", done.stderr)
        self.assertEqual(self.counts("step"), {"step": 3})

    def test_a_program_without_torch_loads_nothing_that_watches_it(self):
        program = "import sys; print(sorted(m for m in sys.modules if m.startswith(('torch', 'lacuna', 'ctypes'))))"
        self.assertEqual(self.record("-c", program).stdout, "['lacuna_frames', 'lacuna_start']\n")

    def test_nothing_is_put_into_a_program_where_that_is_not_wanted(self):
        train = os.path.join(HERE, "train.py")
        self.assertEqual(self.record(train, "0", "fork", options=["--no-torch"]).stdout, "saw [0, 1, 4]\n")
        self.assertEqual(self.counts("step"), {})
        self.assertEqual(self.query("select count(*) from python_sample"), [(0,)])

    def test_copies_of_cupti_among_the_packages_are_named_for_the_recorder(self):
        packages = os.path.join(self.folder.name, "packages")
        copies = [os.path.join(packages, "nvidia", *place) for place in
                  (("cu13", "lib", "libcupti.so.13"), ("cuda_cupti", "lib", "libcupti.so.12"))]
        for copy in copies:
            os.makedirs(os.path.dirname(copy))
            open(copy, "w", encoding="utf-8").close()
        program = "import os; print(os.environ.get('LACUNA_PYTHON_CUPTI'))"
        self.assertEqual(self.record("-c", program, PYTHONPATH=packages).stdout, ":".join(copies) + "\n")
        without = self.record("-c", program, options=["--trace", "nvtx"], PYTHONPATH=packages)
        self.assertEqual(without.stdout, "None\n")

    def test_the_hook_and_doctor_know_the_same_places_of_cupti(self):
        import lacuna_start

        with open(os.path.join(HERE, "../../../collector/src/core/cupti_places.h"), encoding="utf-8") as file:
            known = re.findall(r'"([^"]*libcupti\.so\.\d+)"', file.read())
        self.assertEqual(known, list(lacuna_start._CUPTI))

    def test_the_start_up_code_is_one_for_every_python(self):
        with open(os.path.join(HOOK, "sitecustomize.py"), encoding="utf-8") as file:
            tree = ast.parse(file.read(), feature_version=(3, 4))
        newer = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.Nonlocal, ast.AsyncFunctionDef)
        self.assertEqual([node.lineno for node in ast.walk(tree) if isinstance(node, newer)], [])
        for python in filter(None, map(shutil.which, ("python2.7", "python3.6", "python3.8", "python3.13"))):
            if subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode != 0:
                continue  # a name that starts nothing
            own = os.path.join(self.folder.name, "own")
            os.makedirs(own, exist_ok=True)
            with open(os.path.join(own, "sitecustomize.py"), "w", encoding="utf-8") as file:
                file.write("users = 'mine'\n")
            done = subprocess.run([python, "-c", "import sitecustomize; print(sitecustomize.users)"], text=True, check=False,
                                  capture_output=True, env=dict(os.environ, PYTHONPATH=f"{HOOK}:{own}"))
            self.assertEqual((done.stdout, done.stderr, done.returncode), ("mine\n", "", 0), python)

    def test_the_users_own_start_up_code_runs(self):
        own = os.path.join(self.folder.name, "own")
        os.mkdir(own)
        with open(os.path.join(own, "sitecustomize.py"), "w", encoding="utf-8") as file:
            file.write("users = 'mine'\n")
        done = self.record("-c", "import sitecustomize, sys; print(sitecustomize.users, sys.path[1])", PYTHONPATH=own)
        self.assertEqual(done.stdout, f"mine {own}\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=0)
