"""Two processes that train one layer together, beside one that has all rows.

Started by ``test_support.py``; here, so that a spawned process can import it.
"""

import copy
import json
import os
import socket
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import torch
from torch import distributed, multiprocessing
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

WAYS = ("ddp", "fsdp")
N_STEPS = 2
SECONDS = 60


def largest_differences(cases):
    """Train copies of the layers in two processes: {way: {name: difference}}.

    ``cases`` are {name: (layer, first half of the rows, second half)}. A difference is
    the largest one of any gradient of any step to that of one process on all rows.
    """
    with tempfile.TemporaryDirectory() as folder:
        context = multiprocessing.start_processes(
            _train, (folder, cases), nprocs=2, join=False, start_method="spawn"
        )
        end = time.monotonic() + 2 * SECONDS
        try:
            while not context.join(timeout=1.0):  # raises if one of them failed
                assert time.monotonic() < end, "the processes hang"
        finally:
            for process in context.processes:
                process.kill()
        results = [json.loads((Path(folder) / f"{r}.json").read_text()) for r in (0, 1)]
    return {
        way: {name: max(result[way][name] for result in results) for name in cases}
        for way in WAYS
    }


def _train(rank, folder, cases):
    torch.set_num_threads(1)
    loopback = [name for _, name in socket.if_nameindex() if name.startswith("lo")]
    os.environ["GLOO_SOCKET_IFNAME"] = loopback[0]
    distributed.init_process_group(
        "gloo",
        init_method=f"file://{folder}/rendezvous",
        rank=rank,
        world_size=2,
        timeout=timedelta(seconds=SECONDS),
    )
    result = {
        way: {name: _difference(way, rank, *case) for name, case in cases.items()}
        for way in WAYS
    }
    (Path(folder) / f"{rank}.json").write_text(json.dumps(result))
    distributed.destroy_process_group()


def _difference(way, rank, layer, *halves):
    alone, together = copy.deepcopy(layer), copy.deepcopy(layer)
    if way == "ddp":
        model = DistributedDataParallel(together)
    else:
        model = fully_shard(together, mesh=init_device_mesh("cpu", (2,)))
    rows = torch.cat(halves)
    optimisers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (alone, model)]
    worst = 0.0
    for _ in range(N_STEPS):
        for optimiser in optimisers:
            optimiser.zero_grad()
        alone(rows).square().mean().backward()
        model(halves[rank]).square().mean().backward()
        for one, shared in zip(alone.parameters(), model.parameters(), strict=True):
            gradient = shared.grad
            if way == "fsdp":
                gradient = gradient.full_tensor()
            worst = max(worst, (one.grad - gradient).abs().max().item())
        for optimiser in optimisers:
            optimiser.step()
    return worst
