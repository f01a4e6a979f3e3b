"""The WebSocket of a tab: requests in, answers and updates out.

Start reading at `serve_tab`. Reading and sending are tasks, and requests are handled in a thread. So a closed
connection is noticed even while a request is handled, and a slow browser delays only itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from functools import partial
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from rlgo.base.errors import RlgoError
from rlgo.base.threads import Workers
from rlgo.play.notes import print_bug
from train.play.web.messages.requests import MalformedError, read_request
from train.play.web.tab.tab import Tab

_MOST_WAITING = 1_000  # messages that a browser has not taken yet
_MOST_PENDING = 16  # requests read ahead of the one that is handled
TRY_LATER, POLICY = 1013, 1008  # WebSocket close codes


class Outbox:
    """Messages on their way to the browser, from any thread.

    loop : of the WebSocket
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._messages: deque[tuple[str, str | None]] = deque()
        self._filled = asyncio.Event()
        self.is_overfull = False

    def send(self, text: str, key: str | None = None) -> None:
        """Send a message; one of the same key that still waits is replaced. Thread-safe at any time."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: the server has ended
            self._loop.call_soon_threadsafe(self._put, text, key)

    def _put(self, text: str, key: str | None) -> None:
        if key is not None:
            self._messages = deque((old, known) for old, known in self._messages if known != key)
        self._messages.append((text, key))
        self.is_overfull = len(self._messages) > _MOST_WAITING
        self._filled.set()

    async def next(self) -> str:
        """Wait for the next message."""
        while not self._messages:
            self._filled.clear()
            await self._filled.wait()
        return self._messages.popleft()[0]


async def serve_tab(socket: WebSocket, most_bytes: int, make_tab: Any) -> None:
    """Serve a tab until its connection ends.

    Parameters
    ----------
    socket : the WebSocket, not accepted yet
    most_bytes : size of the largest request
    make_tab : makes the `Tab`, given the function that sends messages
    """
    await socket.accept()
    outbox = Outbox(asyncio.get_running_loop())
    tab: Tab = make_tab(outbox.send)
    worker = Workers("tab")
    sender = asyncio.create_task(_send_all(socket, outbox))
    try:
        worker.submit(partial(_open, tab))
        await _receive_all(socket, most_bytes, tab, outbox, worker)
    except WebSocketDisconnect:
        pass
    finally:
        sender.cancel()
        worker.submit(tab.close)
        worker.close()


def _open(tab: Tab) -> None:
    try:
        tab.open()
    except Exception:
        print_bug()


async def _send_all(socket: WebSocket, outbox: Outbox) -> None:
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # the browser has gone
        while True:
            await socket.send_text(await outbox.next())
            if outbox.is_overfull:
                await socket.close(POLICY)
                return


async def _receive_all(socket: WebSocket, most_bytes: int, tab: Tab, outbox: Outbox, worker: Workers) -> None:
    """Pass requests to the tab's thread until the connection ends, which is noticed even while a request waits."""
    loop, slots = asyncio.get_running_loop(), asyncio.Semaphore(_MOST_PENDING)

    def work(text: str) -> None:
        if len(text) > most_bytes:
            outbox.send(_error(_id_in(text), f"expected at most {most_bytes:,} bytes"))
        else:
            outbox.send(answer(tab, text))
        loop.call_soon_threadsafe(slots.release)

    while socket.application_state == WebSocketState.CONNECTED:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
        text = message.get("text")
        if text is None:
            outbox.send(_error(None, "expected text"))
            continue
        await slots.acquire()
        worker.submit(partial(work, text))


def answer(tab: Tab, text: str) -> str:
    """Answer a request, as JSON: what was asked for, ok, or an error in one line."""
    number = None
    try:
        request = read_request(text)
        number = request.id
        return json.dumps(tab.handle(request))
    except MalformedError as error:
        return _error(_id_in(text), str(error))
    except RlgoError as error:
        return _error(number, str(error))
    except Exception as error:
        print_bug()
        return _error(number, f"internal error: {type(error).__name__}: {error}")


def _id_in(text: str) -> int | None:
    """Return the id of a malformed request, if it has one."""
    try:
        number = json.loads(text)["id"]
    except (ValueError, TypeError, LookupError, RecursionError):
        return None
    return number if type(number) is int else None


def _error(number: int | None, message: str) -> str:
    return json.dumps({"type": "error", "id": number, "message": message})
