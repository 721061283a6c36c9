# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of `lacuna run --set`, and steps that are timed without a recording, on programs that use a stand-in for
PyTorch: set_test.py LACUNA"""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
LACUNA = os.path.abspath(sys.argv[1])
HOOK = os.path.join(os.path.dirname(LACUNA), "..", "lib", "python")

PREAMBLE = """
import torch, os, sys
from torch.utils.data import DataLoader, IterableDataset
class Squares:
    def __getitem__(self, i): return i * i
class Net(torch.nn.Module):
    def __init__(self, shape=(1,), **more): self.weight = torch.Tensor(1.0, shape, requires_grad=True, **more)
    def forward(self, x):
        print("input", getattr(x, "layout", None), "reduced", torch._reduced)
        return torch.Tensor(dtype=torch._reduced or torch.float32)
def train(loader, steps=None):
    net, optimizer = Net(), torch.optim.Adam([torch.Tensor()])
    for batch in loader:
        net(torch.Tensor()).backward()
        optimizer.step()
"""


class Applied(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.report = os.path.join(self.folder.name, "report")
        self.script = os.path.join(self.folder.name, "script.py")

    def run_script(self, settings, script, **variables):
        with open(self.script, "w", encoding="utf-8") as file:
            file.write(PREAMBLE + textwrap.dedent(script))
        environment = dict(os.environ, PYTHONPATH=HOOK + ":" + os.path.join(HERE, "fake"), LACUNA_SET_REPORT=self.report)
        environment.pop("FAKE_TORCH_CORE", None)
        if settings:
            environment["LACUNA_SET"] = settings
        environment.update(variables)
        done = subprocess.run([sys.executable, self.script], cwd=self.folder.name, env=environment, capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def outcomes(self):
        """By setting and outcome: what, what was before or why not, how often."""
        found = {}
        if not os.path.exists(self.report):
            return found
        with open(self.report, encoding="utf-8") as file:
            for line in file:
                _, setting, outcome, count, thing, was, site, why = line.rstrip("\n").split("\t")
                found.setdefault((setting, outcome), {})[thing, was or why] = int(count), site
        return found

    def outcome(self, setting):
        """The outcome of a setting that has one kind of outcome in one place."""
        mine = [(kind, *about, count) for (name, kind), rows in self.outcomes().items() if name == setting
                for about, (count, _) in rows.items()]
        self.assertEqual(len(mine), 1, mine)
        return mine[0]

    # --- the loader

    def loader(self, settings, made="DataLoader(Squares(), batches=2)", before="", **variables):
        return self.run_script(settings, f"{before}\nloader = {made}\nfor _ in loader: pass\n"
                               "print(loader.num_workers, loader.prefetch_factor, loader.persistent_workers, loader.pin_memory)",
                               **variables)

    def test_workers_are_started_for_a_loader_without_any(self):
        self.assertEqual(self.loader("loader.workers=2,loader.prefetch=3,loader.persistent=on"), "2 3 True False\n")
        self.assertEqual(self.outcome("loader.workers=2"), ("applied", "DataLoader", "0", 1))
        self.assertEqual(self.outcome("loader.prefetch=3"), ("applied", "DataLoader", "2", 1))
        self.assertEqual(self.outcome("loader.persistent=on"), ("applied", "DataLoader", "off", 1))

    def test_the_place_is_where_the_loader_was_made(self):
        self.loader("loader.workers=2")
        site = next(iter(self.outcomes()[("loader.workers=2", "applied")].values()))[1]
        self.assertRegex(site, r"^script\.py:\d+$")

    def test_workers_that_are_there_already_are_no_change(self):
        self.loader("loader.workers=2", "DataLoader(Squares(), batches=2, num_workers=2)")
        self.assertEqual(self.outcome("loader.workers=2")[0], "same")

    def test_without_workers_what_only_workers_have_goes_too(self):
        made = "DataLoader(Squares(), batches=2, num_workers=2)"
        self.assertEqual(self.loader("loader.workers=0", made), "0 None False False\n")
        self.assertEqual(self.outcome("loader.workers=0"), ("applied", "DataLoader", "2", 1))

    def test_prefetching_and_staying_need_workers(self):
        self.assertEqual(self.loader("loader.prefetch=3,loader.persistent=on"), "0 2 False False\n")
        self.assertIn("it has no workers", self.outcome("loader.prefetch=3")[2])
        self.assertIn("it has no workers", self.outcome("loader.persistent=on")[2])

    def test_a_validations_loader_is_left_alone(self):
        script = "with torch.no_grad():\n    loader = DataLoader(Squares(), batches=2)\n    for _ in loader: pass\nprint(loader.num_workers)"
        self.assertEqual(self.run_script("loader.workers=2", script), "0\n")
        self.assertEqual(self.outcomes(), {})

    STREAM = "class Stream(IterableDataset):\n    def __iter__(self):\n        {}\n        return iter(range(9))\n    def __getitem__(self, i): return i"

    def test_data_that_is_not_divided_is_not_given_to_several_workers(self):
        self.loader("loader.workers=2", "DataLoader(Stream(), batches=2)", self.STREAM.format("pass"))
        kind, _, why, _ = self.outcome("loader.workers=2")
        self.assertEqual(kind, "refused")
        self.assertIn("each sample would come 2 times", why)

    def test_one_worker_needs_no_division(self):
        self.loader("loader.workers=1", "DataLoader(Stream(), batches=2)", self.STREAM.format("pass"))
        self.assertEqual(self.outcome("loader.workers=1")[0], "applied")

    def test_data_that_asks_which_worker_it_is_for_is_divided(self):
        self.loader("loader.workers=2", "DataLoader(Stream(), batches=2)", self.STREAM.format("(lambda: torch.utils.data.get_worker_info())"))
        self.assertEqual(self.outcome("loader.workers=2")[0], "applied")

    def test_workers_that_would_run_the_script_anew_are_not_started(self):
        self.loader("loader.workers=2", FAKE_START_METHOD="spawn")
        self.assertIn("started by spawn", self.outcome("loader.workers=2")[2])

    def test_data_on_the_gpu_is_not_given_to_workers(self):
        self.loader("loader.workers=2", before="Squares.__init__ = lambda self: setattr(self, 'all', [torch.Tensor(is_cuda=True)])")
        self.assertIn("tensors of the GPU", self.outcome("loader.workers=2")[2])

    def test_memory_is_not_pinned_without_a_gpu(self):
        self.assertEqual(self.loader("loader.pin=on"), "0 2 False False\n")
        self.assertIn("there is no GPU", self.outcome("loader.pin=on")[2])

    # --- the optimizer

    def optimizer(self, settings, made, more="", **variables):
        return self.run_script(settings, f"w = [torch.Tensor(), torch.Tensor()]\noptimizer = {made}\nprint(optimizer.form)\noptimizer.step()\n{more}", **variables)

    def test_an_optimizer_is_made_fused(self):
        self.assertEqual(self.optimizer("optimizer.fused=on", "torch.optim.AdamW((p for p in w), foreach=False)"), "fused\n")
        self.assertEqual(self.outcome("optimizer.fused=on"), ("applied", "AdamW", "loop, now fused", 1))

    def test_a_fused_one_is_no_change_and_one_without_such_a_form_stays(self):
        self.optimizer("optimizer.fused=on", "torch.optim.Adam(w, fused=True)")
        self.assertEqual(self.outcome("optimizer.fused=on")[:2], ("same", "Adam"))
        os.remove(self.report)
        self.assertEqual(self.optimizer("optimizer.fused=on", "torch.optim.LBFGS(w)"), "line search\n")
        self.assertEqual(self.outcome("optimizer.fused=on")[:2], ("refused", "LBFGS"))

    def test_parameters_that_cannot_be_fused_are_updated_as_lists(self):
        self.assertEqual(self.optimizer("optimizer.fused=on", "torch.optim.Adam([torch.Tensor(dtype='float64')])"), "foreach\n")
        self.assertIn("now foreach: no fused form for float64", self.outcome("optimizer.fused=on")[2])

    def test_what_pytorch_refuses_is_updated_as_lists(self):
        self.assertEqual(self.optimizer("optimizer.fused=on", "torch.optim.Adam(w, differentiable=True)"), "foreach\n")
        self.assertIn("PyTorch refuses", self.outcome("optimizer.fused=on")[2])

    def test_gradients_that_turn_out_sparse_are_not_fused(self):
        made = "torch.optim.Adam([torch.Tensor(grad=torch.Tensor(is_sparse=True))])"
        self.assertEqual(self.optimizer("optimizer.fused=on", made, "print(optimizer.param_groups[0]['fused'])"),
                         "fused\nFalse\n")
        self.assertEqual(self.outcome("optimizer.fused=on"), ("refused", "group of Adam", "sparse gradients", 1))

    def test_a_wrong_call_fails_as_ever(self):
        script = "try:\n    torch.optim.Adam()\nexcept TypeError as error:\n    print(error)"
        self.assertIn("params", self.run_script("optimizer.fused=on", script))

    def test_off_is_a_loop(self):
        self.assertEqual(self.optimizer("optimizer.fused=off", "torch.optim.Adam(w, fused=True)"), "loop\n")

    def test_gradients_are_dropped(self):
        script = "o = torch.optim.Adam([])\nfor _ in range(3): o.zero_grad(set_to_none=False)\nNet().zero_grad(False)"
        self.assertEqual(self.run_script("zero_grad=none", script), "cleared True\n" * 3 + "module cleared True\n")
        self.assertEqual(self.outcomes()[("zero_grad=none", "applied")].keys(), {("Adam", "zeros"), ("Net", "zeros")})

    # --- modes

    def test_debugging_modes_do_nothing(self):
        script = """
            with torch.autograd.detect_anomaly(): print(torch.is_anomaly_enabled())
            print(torch.autograd.profiler.emit_nvtx().enabled, torch.autograd.gradcheck(None, None), os.environ.get("CUDA_LAUNCH_BLOCKING"))
        """
        self.assertEqual(self.run_script("debug=off", script, CUDA_LAUNCH_BLOCKING="1"), "False\nFalse True None\n")
        things = {thing for thing, _ in self.outcomes()[("debug=off", "applied")]}
        self.assertEqual(things, {"switch of anomaly detection", "use of emit_nvtx", "call of gradcheck", "variable CUDA_LAUNCH_BLOCKING"})

    def test_threads_stay_what_was_set(self):
        self.assertEqual(self.run_script("threads=2", "torch.set_num_threads(8); print(torch.get_num_threads())"), "2\n")
        self.assertEqual(self.outcomes()[("threads=2", "applied")].keys(), {("process", "4"), ("call of torch.set_num_threads", "8")})

    def test_precision_stays_what_was_set(self):
        script = "torch.set_float32_matmul_precision('medium'); print(torch.get_float32_matmul_precision())"
        self.assertEqual(self.run_script("matmul=high", script), "high\n")

    def test_the_cache_is_not_emptied(self):
        self.assertEqual(self.run_script("allocator=cached", "torch.cuda.empty_cache()", PYTORCH_NO_CUDA_MEMORY_CACHING="1"), "")
        self.assertEqual(len(self.outcomes()[("allocator=cached", "applied")]), 2)

    def test_segments_expand(self):
        script = "print(os.environ['PYTORCH_CUDA_ALLOC_CONF'])"
        got = self.run_script("allocator=expandable", script, PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb:64")
        self.assertEqual(got, "max_split_size_mb:64,expandable_segments:True\n")

    def test_a_search_needs_a_gpu(self):
        self.run_script("autotune=on", "train(DataLoader(Squares(), batches=2))")
        self.assertEqual(self.outcome("autotune=on")[0], "refused")
        os.remove(self.report)
        script = "train(DataLoader(Squares(), batches=2)); print(torch.backends.cudnn.benchmark)"
        self.assertIn("True", self.run_script("autotune=on", script, FAKE_GPU="1"))
        self.assertEqual(self.outcome("autotune=on"), ("applied", "process", "off", 1))

    def test_a_search_is_not_for_what_shall_be_deterministic(self):
        script = "torch.backends.cudnn.deterministic = True; train(DataLoader(Squares(), batches=2))"
        self.run_script("autotune=on", script, FAKE_GPU="1")
        self.assertIn("deterministic", self.outcome("autotune=on")[2])

    def test_what_lives_is_left_to_live(self):
        script = "import gc\ntrain(DataLoader(Squares(), batches=2)); print('frozen', gc.get_freeze_count() > 0)"
        self.assertIn("frozen True", self.run_script("gc=freeze", script))

    # --- models

    def test_a_models_forward_is_reduced_and_its_result_is_not(self):
        got = self.run_script("amp=on", "net = Net()\nprint(net(torch.Tensor()).dtype)\nwith torch.no_grad(): net(None)")
        self.assertEqual(got, "input None reduced bfloat16\nfloat32\ninput None reduced None\n")
        self.assertEqual(self.outcome("amp=on"), ("applied", "Net", "float32", 1))

    def test_only_the_outermost_module_is_a_model(self):
        script = """
            class Outer(torch.nn.Module):
                def __init__(self): self.inner = Net()
                def forward(self, x): return self.inner(x)
            outer = Outer()
            for _ in range(3): outer(None)
        """
        self.run_script("amp=on", script)
        self.assertEqual(self.outcome("amp=on"), ("applied", "Outer", "float32", 1))

    def test_a_copy_of_a_model_is_not_changed(self):
        got = self.run_script("amp=on", "import copy\nnet = Net()\nnet(None)\nother = copy.deepcopy(net).eval()\ncopy.deepcopy(net).forward(None)")
        self.assertEqual(got, "input None reduced bfloat16\ninput None reduced None\n")

    def test_other_precisions_and_an_autocast_of_its_own_stay(self):
        self.run_script("amp=on", "Net(dtype=torch.float64)(None)")
        self.assertIn("float64", self.outcome("amp=on")[2])
        os.remove(self.report)
        self.run_script("amp=on", "with torch.autocast('cpu', torch.bfloat16): Net()(None)")
        self.assertEqual(self.outcome("amp=on")[0], "same")

    def test_layouts_are_of_models_with_convolutions(self):
        script = "net = Net((2, 2, 3, 3))\nnet(torch.Tensor(1.0, (1, 1, 4, 4)))\nprint(net.weight.layout)"
        self.assertEqual(self.run_script("channels_last=on", script), "input channels_last reduced None\nchannels_last\n")
        os.remove(self.report)
        self.run_script("channels_last=on", "Net()(None)")
        self.assertEqual(self.outcome("channels_last=on")[0], "refused")

    def test_a_model_that_fails_in_the_other_layout_keeps_its_own(self):
        script = """
            def forward(self, x):
                if x.layout: raise RuntimeError("view size is not compatible")
                return x
            Net.forward = forward
            net = Net((2, 2, 3, 3))
            print(net(torch.Tensor(1.0, (1, 1, 4, 4))).layout, net.weight.layout)
        """
        self.assertEqual(self.run_script("channels_last=on", script), "None None\n")
        self.assertIn("the model fails with it: RuntimeError: view size", self.outcome("channels_last=on")[2])

    def test_a_model_that_fails_in_reduced_precision_keeps_its_own(self):
        script = """
            def forward(self, x):
                if torch._reduced: raise RuntimeError("expected m1 and m2 to have the same dtype")
                return x
            Net.forward = forward
            net = Net()
            for _ in range(2): print(net(torch.Tensor()).dtype)
        """
        self.assertEqual(self.run_script("amp=on", script), "float32\nfloat32\n")
        self.assertIn("the model fails with it: RuntimeError: expected m1", self.outcome("amp=on")[2])

    def test_an_optimizer_that_flattens_keeps_the_layout(self):
        script = "torch.optim.LBFGS([]).step()\nnet = Net((2, 2, 3, 3))\nnet(torch.Tensor(1.0, (1, 1, 4, 4)))\nprint(net.weight.layout)"
        self.assertEqual(self.run_script("channels_last=on", script), "input None reduced None\nNone\n")
        self.assertIn("LBFGS flattens", self.outcome("channels_last=on")[2])

    def test_a_model_is_compiled(self):
        script = "net = Net()\nnet(None)\nprint(net._compiled_call_impl, type(net).__call__ is not None)"
        self.assertIn("{}", self.run_script("fuse=on", script))
        self.assertEqual(self.outcome("fuse=on"), ("applied", "Net", "eager", 1))

    def test_a_model_that_cannot_be_compiled_stays(self):
        self.assertIn("None", self.run_script("fuse=on", "net = Net()\nnet(None)\nprint(net._compiled_call_impl)", FAKE_COMPILER="broken"))
        self.assertIn("could not be compiled: RuntimeError: no compiler", self.outcome("fuse=on")[2])

    def test_an_error_of_the_model_is_the_models(self):
        script = "Net.forward = lambda self, x: 1 / 0\ntry:\n    Net()(None)\nexcept ZeroDivisionError:\n    print('its own')"
        self.assertEqual(self.run_script("fuse=on", script), "its own\n")

    def test_graphs_are_a_gpus(self):
        self.run_script("static_graph=on", "Net()(None)")
        self.assertEqual(self.outcome("static_graph=on")[0], "refused")
        os.remove(self.report)
        script = "import types\nnet = Net(device=types.SimpleNamespace(type='cuda'))\nnet(None)\nprint(net._compiled_call_impl)"
        self.assertIn("reduce-overhead", self.run_script("static_graph=on", script))

    def test_calls_are_pytorchs_own_after_the_first_steps(self):
        script = "own = torch.nn.Module.__call__\ntrain(DataLoader(Squares(), batches=3))\nprint('ours', torch.nn.Module.__call__ is own)"
        self.assertIn("ours False", self.run_script("amp=on", script))

    # --- in general

    def test_what_a_version_of_pytorch_does_not_have_costs_that_setting_only(self):
        got = self.run_script("matmul=high,threads=2", "print(torch.get_num_threads())", FAKE_WITHOUT="get_float32_matmul_precision")
        self.assertEqual(got, "2\n")
        self.assertEqual(self.outcome("matmul=high")[0], "refused")

    def test_counts_are_written_as_they_double_and_at_the_end(self):
        self.run_script("allocator=cached", "for _ in range(7): torch.cuda.empty_cache()")
        with open(self.report, encoding="utf-8") as file:
            self.assertEqual([line.split("\t")[3] for line in file], ["1", "2", "4", "7"])

    def test_without_a_file_the_outcome_is_printed(self):
        environment = dict(os.environ, PYTHONPATH=HOOK + ":" + os.path.join(HERE, "fake"), LACUNA_SET="threads=2")
        done = subprocess.run([sys.executable, "-c", "import torch"], env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stderr, "lacuna: set threads=2 (was 4): 1 process\n")

    # --- steps without a recording

    def times(self, steps, script, **variables):
        path = os.path.join(self.folder.name, "times")
        got = self.run_script("", script, LACUNA_STEP_TIMES=path, LACUNA_STEPS=str(steps), **variables)
        with open(path, encoding="utf-8") as file:
            lines = [line.split()[1:] for line in file]
        return got, {kind: [line[1:] for line in lines if line[0] == kind] for kind in ("step", "loss", "memory", "end")}

    def test_steps_are_timed_and_enough_of_them_end_the_program(self):
        got, lines = self.times(3, "train(DataLoader(Squares(), batches=9))\nprint('never')")
        self.assertNotIn("never", got)
        self.assertEqual([int(number) for number, *_ in lines["step"]], [0, 1, 2])
        self.assertTrue(all(int(begin) < int(end) for _, begin, end in lines["step"]))
        self.assertEqual(lines["loss"], [["0", "1"], ["1", "1"], ["2", "1"]])
        self.assertEqual(lines["end"], [["steps"]])

    def test_a_program_that_ends_before_is_known_to(self):
        got, lines = self.times(30, "train(DataLoader(Squares(), batches=9))\nprint('ended')")
        self.assertIn("ended", got)
        self.assertEqual((len(lines["step"]), lines["end"]), (9, [["program"]]))

    def test_memory_of_the_gpu_is_known(self):
        _, lines = self.times(2, "train(DataLoader(Squares(), batches=9))", FAKE_GPU="1")
        self.assertEqual(lines["memory"], [["4096"]])

    def test_workers_of_a_loader_end_with_the_program(self):
        _, lines = self.times(2, "train(DataLoader(Squares(), batches=9, num_workers=2))")
        self.assertEqual(len(lines["step"]), 2)


class Run(unittest.TestCase):
    """`lacuna run --set` from its beginning to its end."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.trace = os.path.join(self.folder.name, "out.lcn")

    def record(self, *options, script=os.path.join(HERE, "train.py"), words=("0", "fork")):
        environment = dict(os.environ, PYTHONPATH=os.path.join(HERE, "fake"), LACUNA_TORCH="steps,loader")
        return subprocess.run([LACUNA, "run", "--force", "--no-report", "-o", self.trace, *options, "--", sys.executable, script, *words],
                              env=environment, cwd=self.folder.name, capture_output=True, text=True, timeout=100)

    def query(self, sql):
        done = subprocess.run([LACUNA, "query", "--json", self.trace, sql], capture_output=True, text=True, check=True)
        return [tuple(row.values()) for row in json.loads(done.stdout)]

    def test_reports_each_setting_and_the_trace_has_it(self):
        done = self.record("--set", "loader.workers=2,loader.persistent=on", "--set", "debug=off", words=("0", "fork", "anomaly"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "saw [0, 1, 4]\n")
        train = os.path.join(HERE, "train.py")
        self.assertRegex(done.stderr, rf"lacuna: set loader\.workers=2 \(was 0\) on 2 DataLoaders \({train}:\d+\)\n")
        self.assertRegex(done.stderr, r"lacuna: set debug=off \(was on\) on 1 switch of anomaly detection \(.*\)\n")
        settings = dict(self.query("select key, value from environment where key like 'set.%'"))
        self.assertEqual(settings.keys(), {"set.loader.workers", "set.loader.persistent", "set.debug"})
        self.assertTrue(settings["set.loader.workers"].startswith("loader.workers=2 (was 0) on 2 DataLoaders"))
        self.assertEqual(self.query("select value from environment where key = 'knob.loader.workers'")[-1:], [("2",)])
        report = subprocess.run([LACUNA, "report", "--json", self.trace], capture_output=True, text=True, check=True)
        self.assertIn("loader.workers", [row["name"] for row in json.loads(report.stdout)["settings"]])

    def test_a_setting_without_effect_is_a_warning_even_when_quiet(self):
        done = self.record("-q", "--set", "zero_grad=none")
        self.assertEqual(done.stderr, "lacuna: warning: set zero_grad=none had no effect: zero_grad() was not called\n")

    def test_a_setting_that_was_refused_is_a_warning(self):
        done = self.record("--set", "loader.pin=on")
        self.assertRegex(done.stderr, r"lacuna: warning: set loader\.pin=on was not applied: left out for 1 DataLoader \(.*\): there is no GPU")

    def test_wrong_settings_are_errors_before_the_program_starts(self):
        for setting, words in {
            "loader.worker=2": "did you mean 'loader.workers'?",
            "loader.workers=many": "loader.workers is a whole number from 0 to 256",
            "amp=maybe": "amp cannot be 'maybe'; it can be: on",
            "amp": "a value is missing. Write it as amp=on",
            "batch*2": "batch cannot be set from outside: it changes what the model learns",
            "conv_bias=off": "In the script: nn.Conv2d(…, bias=False)",
            "kernel:gelu*0.5": "only lacuna whatif plays 'kernel'",
        }.items():
            done = self.record("--set", setting)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(words, done.stderr)
            self.assertFalse(os.path.exists(self.trace))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=0)
