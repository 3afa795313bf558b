"""Work that has begun is finished before its cancellation takes effect (LSP-04)."""

from __future__ import annotations

import asyncio

import pytest

from remit_server.uninterrupted import finish_uninterrupted


@pytest.mark.parametrize("cancels", [1, 2, 5])
async def test_a_write_is_finished_however_often_its_call_is_cancelled(cancels: int) -> None:
    go_on, done = asyncio.Event(), list[str]()

    async def write() -> None:
        await go_on.wait()
        done.append("written")

    call = asyncio.create_task(finish_uninterrupted(write()))
    await asyncio.sleep(0)
    for _ in range(cancels):
        call.cancel()
        for _ in range(3):
            await asyncio.sleep(0)
        assert not call.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert done == ["written"]


async def test_what_a_write_says_comes_back_and_what_goes_wrong_is_raised() -> None:
    async def fine() -> str:
        return "written"

    async def broken() -> None:
        raise OSError("no space")

    assert await finish_uninterrupted(fine()) == "written"
    with pytest.raises(OSError, match="no space"):
        await finish_uninterrupted(broken())


async def test_a_write_that_fails_after_its_call_was_cancelled_is_the_cause() -> None:
    go_on = asyncio.Event()

    async def broken() -> None:
        await go_on.wait()
        raise OSError("no space")

    call = asyncio.create_task(finish_uninterrupted(broken()))
    await asyncio.sleep(0)
    call.cancel()
    await asyncio.sleep(0)
    go_on.set()
    with pytest.raises(asyncio.CancelledError) as cancelled:
        await call
    assert isinstance(cancelled.value.__cause__, OSError)
