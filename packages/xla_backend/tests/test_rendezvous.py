"""How processes meet: each fault is an error in words for every process that has come.

The processes are threads here, since a meeting needs sockets alone.
"""

import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from calque_xla_backend.processes.rendezvous import Meeting, all_or_loopback, gather, host_and_port, join

ENOUGH = 60.0


@pytest.fixture
def meetings(free_port):
    """Return the function that gives the meetings of processes which are told the same, without `port` at a new one."""
    return lambda ids, count, port=None, timeout=ENOUGH: _meetings(ids, count, port or free_port(), timeout)


def _meetings(ids, count, port, timeout):
    return [Meeting("127.0.0.1", port, ("127.0.0.1", port), i, count, "1.0", timeout) for i in ids]


def outcomes(some, start=lambda: None):
    """Return each process's address or the text of its error, when all have met."""

    def meet(meeting):
        try:
            return join(meeting) if meeting.process_id else gather(meeting, start)
        except RuntimeError as error:
            return str(error)

    with ThreadPoolExecutor(len(some)) as pool:
        return list(pool.map(meet, some))


def test_processes_that_fit_learn_their_addresses_and_find_the_service_started(meetings):
    started = []
    assert outcomes(meetings([0, 1, 2], 3), lambda: started.append(True)) == ["127.0.0.1"] * 3
    assert started == [True]


def test_one_process_meets_itself(meetings):
    assert outcomes(meetings([0], 1)) == ["127.0.0.1"]


def test_the_port_is_free_when_the_service_starts(meetings):
    (meeting,) = meetings([0], 1)
    gather(meeting, lambda: socket.create_server(("127.0.0.1", meeting.port)).close())


def test_a_missing_process_is_named_in_all_processes(meetings, free_port):
    port = free_port()
    first, second = meetings([0], 3, port, timeout=2.0) + meetings([1], 3, port)
    zero, one = outcomes([first, second])
    assert zero.endswith(
        f"process 0: 2 of 3 processes came to 127.0.0.1:{port} within 2 seconds; missing: 2. Start all processes with "
        "one coordinator_address, or give a larger initialization_timeout."
    )
    assert "process 1: process 0 reports: " in one
    assert "missing: 2" in one


def test_two_processes_of_one_number_are_refused_in_all_processes(meetings):
    texts = outcomes(meetings([0, 1, 1], 3))
    assert all(
        "two processes have process_id=1. Give each process a number of its own, from 0 to 2." in x for x in texts
    )


def test_different_numbers_of_processes_are_refused_with_both(meetings, free_port):
    port = free_port()
    texts = outcomes(meetings([0], 2, port) + meetings([1], 3, port))
    assert all("process 1 was started with num_processes=3, process 0 with num_processes=2." in x for x in texts)


def test_different_releases_of_jaxlib_are_refused_with_both(meetings):
    zero, one = meetings([0, 1], 2)
    other = Meeting(one.host, one.port, one.bind, 1, 2, "2.0", ENOUGH)
    texts = outcomes([zero, other])
    assert all("process 1 has jaxlib 2.0, process 0 has 1.0. Install one version on all machines" in x for x in texts)


def test_a_coordinator_that_is_not_there_is_named_with_its_address(meetings):
    (meeting,) = meetings([1], 2, timeout=0.3)
    (text,) = outcomes([meeting])
    assert f"there was no coordinator at 127.0.0.1:{meeting.port} within 0.3 seconds" in text
    assert "Check coordinator_address, and that process 0 calls distributed.initialize too." in text


def test_a_coordinator_that_ends_during_the_meeting_is_named(meetings):
    (meeting,) = meetings([1], 2)
    with socket.create_server(("127.0.0.1", meeting.port)) as listener, ThreadPoolExecutor(1) as pool:
        joined = pool.submit(outcomes, [meeting])
        listener.accept()[0].close()
        (text,) = joined.result(ENOUGH)
    assert "process 0 ended before all processes had met" in text


def test_a_port_that_is_taken_is_named(meetings):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        (meeting,) = meetings([0], 2, taken.getsockname()[1])
        (text,) = outcomes([meeting])
    assert f"the coordinator's address 127.0.0.1:{meeting.port} cannot be opened" in text
    assert "Use a free port" in text


def test_a_service_that_does_not_start_is_an_error_in_all_processes(meetings):
    def fail():
        raise RuntimeError("no service")

    zero, one = outcomes(meetings([0, 1], 2), fail)
    assert zero == "no service"
    assert "process 0 reports: no service" in one


@pytest.mark.parametrize("line", [b"GET / HTTP/1.1\n", b"[1]\n", b'{"process_id": "1"}\n', b""])
def test_a_stranger_at_the_port_is_ignored(meetings, line):
    zero, one = meetings([0, 1], 2)
    with ThreadPoolExecutor(1) as pool:
        gathered = pool.submit(gather, zero, lambda: None)
        with connected(zero) as stranger:
            stranger.sendall(line)
            stranger.shutdown(socket.SHUT_WR)
            assert join(one) == "127.0.0.1"
        assert gathered.result(ENOUGH) == "127.0.0.1"


def test_a_process_that_was_started_again_takes_the_place_of_the_first_start(meetings):
    zero, one = meetings([0, 1], 2)
    other = meetings([2], 3, zero.port)[0]
    three = Meeting(zero.host, zero.port, zero.bind, 0, 3, "1.0", ENOUGH)
    hello = {"process_id": 1, "num_processes": 3, "version": "1.0"}
    again = Meeting(one.host, one.port, one.bind, 1, 3, "1.0", ENOUGH)
    with ThreadPoolExecutor(3) as pool:
        gathered = pool.submit(gather, three, lambda: None)
        with connected(three) as first:
            first.sendall(json.dumps(hello).encode() + b"\n")
        joined = [pool.submit(join, again), pool.submit(join, other)]
        assert [x.result(ENOUGH) for x in (gathered, *joined)] == ["127.0.0.1"] * 3


def connected(meeting):
    """Return a connection to a meeting, once it has begun."""
    for _ in range(1000):
        try:
            return socket.create_connection((meeting.host, meeting.port), ENOUGH)
        except ConnectionRefusedError:
            threading.Event().wait(0.01)
    raise AssertionError("no meeting")


@pytest.mark.parametrize("address", ["", "host", "host:", ":80", "host:http", "host:0", "host:70000", 80, None])
def test_an_address_without_host_or_port_is_refused(address):
    with pytest.raises(ValueError, match=r"got coordinator_address=.*Use 'host:port'"):
        host_and_port(address, "coordinator_address")


@pytest.mark.parametrize(
    ("address", "parts"),
    [("host:80", ("host", 80)), ("[::1]:80", ("::1", 80)), ("10.0.0.1:65535", ("10.0.0.1", 65535))],
)
def test_an_address_is_a_host_and_a_port(address, parts):
    assert host_and_port(address, "coordinator_address") == parts


def test_a_coordinator_on_the_loopback_address_listens_there_alone():
    assert [all_or_loopback(host) for host in ("localhost", "127.0.0.1", "::1")] == ["localhost", "127.0.0.1", "::1"]
    assert [all_or_loopback(host) for host in ("10.0.0.1", "machine")] == ["", ""]
