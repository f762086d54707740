"""A link between a browser and edged that keeps the order of what it delays: a TCP proxy with jitter and a rate; and which
pictures the page leaves out behind it."""

import asyncio
import contextlib
import random
import socket
import threading
import time

# Each picture of the view that was decoded: when, and whether it was drawn.
RECORD = """
const picture = edged.state.pictures.get("front/plain"), draw = picture.draw.bind(picture);
let skipped = 0;
window.pictures = [];
picture.draw = (...all) => { draw(...all); pictures.push([performance.now(), true]); };
Object.defineProperty(picture, "skipped", {get: () => skipped, set: count => {
  count > skipped && pictures.push([performance.now(), false]);
  skipped = count;
}});
await new Promise(resolve => setTimeout(resolve, given[0]));
return pictures;
"""
PIECE_BYTES = 2048
QUEUED_BYTES = 65536  # what the link holds, as a router does


class Link:
    """What edged sends arrives 5 ms later, and on average `jitter_ms` more; at `kbps` at most (0: any)."""

    def __init__(self, target):
        self.target, self.jitter_ms, self.kbps = target, 0, 0
        self.random = random.Random(1)
        self.loop = asyncio.new_event_loop()
        self.port = self.loop.run_until_complete(self._listen())
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def close(self):
        asyncio.run_coroutine_threadsafe(self._end(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    async def _end(self):
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _listen(self):
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return server.sockets[0].getsockname()[1]

    async def _serve(self, reader, writer):
        upstream = socket.socket()
        upstream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, QUEUED_BYTES)
        upstream.setblocking(False)
        with contextlib.suppress(OSError):
            await self.loop.sock_connect(upstream, ("127.0.0.1", self.target))
            there, back = await asyncio.open_connection(sock=upstream, limit=PIECE_BYTES)
            await asyncio.gather(self._pass(reader, back), self._delay(there, writer))
        writer.close()

    async def _pass(self, reader, writer):
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def _delay(self, reader, writer):
        queue = asyncio.Queue(QUEUED_BYTES // PIECE_BYTES)
        sender = self.loop.create_task(self._send(queue, writer))
        last_s = 0
        with contextlib.suppress(OSError):
            while data := await reader.read(PIECE_BYTES):
                now_s = time.monotonic()
                arrives_s = now_s + 0.005 + (self.random.expovariate(1000 / self.jitter_ms) if self.jitter_ms else 0)
                if self.kbps:
                    arrives_s = max(arrives_s, last_s + len(data) * 8 / self.kbps / 1000)
                last_s = max(arrives_s, last_s)
                await queue.put((last_s, data))
        await queue.put((0, None))
        await sender

    async def _send(self, queue, writer):
        with contextlib.suppress(OSError):
            while (item := await queue.get())[1]:
                await asyncio.sleep(max(0, item[0] - time.monotonic()))
                writer.write(item[1])
                await writer.drain()
        writer.close()


@contextlib.contextmanager
def slow_link(target):
    link = Link(target)
    try:
        yield link
    finally:
        link.close()


def needless(pictures, patience_ms):
    """Those of RECORD that were left out although no newer one was drawn so soon."""
    drawn = [at_ms for at_ms, is_drawn in pictures if is_drawn]
    return [at_ms for at_ms, is_drawn in pictures if not is_drawn and at_ms < pictures[-1][0]
            and not any(at_ms <= later < at_ms + patience_ms for later in drawn)]
