import subprocess
import sys


def test_results_are_read_without_torch_or_scikit_learn():
    program = (
        "import sys, lacunet.results\n"
        "print([n for n in ('sklearn', 'torch', 'pandas') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout == "[]\n", done.stderr
