"""Files from a folder, from a server on this machine, and from nowhere."""

import hashlib
import socket
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from reproduction.datasets import _files
from reproduction.datasets._files import read_file
from reproduction.datasets._registry import DataFile

from lacunet.exceptions import LacunetError

CONTENT = b"1,2,3\n" * 50_000  # several chunks


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        content = self.server.content
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        is_cut = len(self.server.asked) <= self.server.n_cut
        self.wfile.write(content[: len(content) // 2] if is_cut else content)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    """Serve CONTENT at any address, after the first ``n_cut`` answers, cut halfway."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.content, server.status, server.n_cut, server.asked = CONTENT, 200, 0, []
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Name a cache, and nothing else."""
    monkeypatch.delenv("LACUNET_DATA", raising=False)
    monkeypatch.setenv("LACUNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(_files, "RETRIES", 0)
    return tmp_path / "cache"


def file_at(port):
    digest = hashlib.sha256(CONTENT).hexdigest()
    url = f"http://127.0.0.1:{port}/a%20b.csv"
    return DataFile("tiny/a b.csv", url, digest, len(CONTENT))


def files_in(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_file_is_downloaded_once_with_a_bar(server, cache, capsys):
    file = file_at(server.server_port)
    assert read_file(file) == CONTENT
    assert "a b.csv: " in capsys.readouterr().err
    assert read_file(file) == CONTENT
    assert server.asked == ["/a%20b.csv"]
    assert capsys.readouterr().err == ""
    assert files_in(cache) == [cache / "tiny" / "a b.csv"]


def test_what_is_in_the_cache_needs_no_server(server, cache):
    file = file_at(server.server_port)
    read_file(file)
    assert read_file(file_at(unused_port())) == CONTENT


def test_other_bytes_are_refused_and_not_kept(server, cache):
    server.content = CONTENT + b"4,5,6\n"
    file = file_at(server.server_port)
    with pytest.raises(LacunetError, match="other bytes") as caught:
        read_file(file)
    for fact in (file.url, file.sha256, "LACUNET_DATA"):
        assert fact in str(caught.value)
    assert files_in(cache) == []


def test_a_damaged_file_in_the_cache_is_replaced(server, cache):
    (cache / "tiny").mkdir(parents=True)
    (cache / "tiny" / "a b.csv").write_bytes(CONTENT[:-1])
    assert read_file(file_at(server.server_port)) == CONTENT
    assert (cache / "tiny" / "a b.csv").read_bytes() == CONTENT


def test_a_damaged_file_in_the_cache_is_not_used_without_a_server(cache):
    (cache / "tiny").mkdir(parents=True)
    (cache / "tiny" / "a b.csv").write_bytes(CONTENT[:-1])
    with pytest.raises(LacunetError, match="Got no file"):
        read_file(file_at(unused_port()))


def test_a_cut_connection_leaves_nothing_behind(server, cache):
    server.n_cut = 1
    with pytest.raises(LacunetError, match="Got no file from"):
        read_file(file_at(server.server_port))
    assert files_in(cache) == []
    assert read_file(file_at(server.server_port)) == CONTENT


def test_a_cut_connection_is_tried_again(server, cache, monkeypatch):
    monkeypatch.setattr(_files, "RETRIES", 1)
    server.n_cut = 1
    assert read_file(file_at(server.server_port)) == CONTENT
    assert len(server.asked) == 2


def unused_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_without_a_server_address_cache_and_variable_are_named(cache):
    file = file_at(unused_port())
    with pytest.raises(LacunetError, match="Go online") as caught:
        read_file(file)
    for fact in (file.url, str(cache), "LACUNET_DATA", "tiny/a b.csv"):
        assert fact in str(caught.value)


def test_a_file_that_the_server_does_not_have_is_named(server, cache):
    server.status = 404
    with pytest.raises(LacunetError, match=r"Got no file from .*404"):
        read_file(file_at(server.server_port))
    assert files_in(cache) == []


def test_without_pooch_the_extra_is_named(cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"pip install 'lacunet\[data\]'.*LACUNET_D"):
        read_file(file_at(unused_port()))


@pytest.fixture
def folder(cache, tmp_path, monkeypatch):
    """Name a folder that has the file; neither pooch nor a socket can be had."""

    def refuse(*_):
        pytest.fail("the network was touched")

    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setenv("LACUNET_DATA", str(tmp_path / "data"))
    (tmp_path / "data" / "tiny").mkdir(parents=True)
    (tmp_path / "data" / "tiny" / "a b.csv").write_bytes(CONTENT)
    return tmp_path / "data"


def test_the_folder_of_the_user_is_read_without_network(folder):
    assert read_file(file_at(1)) == CONTENT


def test_a_folder_may_begin_with_home(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder.parent))
    monkeypatch.setenv("USERPROFILE", str(folder.parent))
    monkeypatch.setenv("LACUNET_DATA", "~/data")
    assert read_file(file_at(1)) == CONTENT


def test_a_file_that_the_folder_lacks_is_named_and_not_downloaded(folder):
    (folder / "tiny" / "a b.csv").unlink()
    with pytest.raises(LacunetError, match="No such file") as caught:
        read_file(file_at(1))
    for fact in ("a b.csv", str(folder), "LACUNET_DATA", file_at(1).url):
        assert fact in str(caught.value)


def test_changed_bytes_in_the_folder_are_refused(folder):
    (folder / "tiny" / "a b.csv").write_bytes(CONTENT + b"\n")
    with pytest.raises(LacunetError, match="sha256 .* but expected") as caught:
        read_file(file_at(1))
    assert file_at(1).sha256 in str(caught.value)


def test_a_cache_is_a_folder_that_can_be_named(server, cache, monkeypatch):
    read_file(file_at(server.server_port))
    monkeypatch.setenv("LACUNET_DATA", str(cache))
    assert read_file(file_at(unused_port())) == CONTENT


def test_an_empty_variable_names_no_folder(server, cache, monkeypatch):
    monkeypatch.setenv("LACUNET_DATA", "")
    assert read_file(file_at(server.server_port)) == CONTENT
