# Creates, lists and retrieves a lead, attaches a file and downloads it, with the HTTP library in the argument.
import asyncio
import json
import os
import pathlib
import sys

BASE_URL = os.environ["BASE_URL"]
HEADERS = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
LEAD = json.loads(pathlib.Path(__file__).with_name("lead.json").read_text())
FILE_NAME = '24" Grüße.txt'


def walk(session):
    """Sends all requests with a session of requests or httpx."""

    def send(method, path, **options):
        response = session.request(method, BASE_URL + path, headers=HEADERS, **options)
        response.raise_for_status()
        return response

    reference = send("POST", "/leads", json=LEAD).json()["data"]["reference"]
    page = send("GET", "/leads").json()
    lead = send("GET", f"/leads/{reference}").json()["data"]
    path = f"/leads/{reference}/attachments"
    files = {"file": (FILE_NAME, b"notes")}
    attached = send("POST", path, data={"name": "Notes"}, files=files).json()["data"]
    return page, lead, send("GET", f"{path}/{attached['id']}").text


async def walk_aiohttp():
    import aiohttp

    async with aiohttp.ClientSession(headers=HEADERS, raise_for_status=True) as session:

        async def send(method, path, **options):
            async with session.request(method, BASE_URL + path, **options) as response:
                return await response.text()

        reference = json.loads(await send("POST", "/leads", json=LEAD))["data"]["reference"]
        page = json.loads(await send("GET", "/leads"))
        lead = json.loads(await send("GET", f"/leads/{reference}"))["data"]
        path = f"/leads/{reference}/attachments"
        form = aiohttp.FormData({"name": "Notes"})
        form.add_field("file", b"notes", filename=FILE_NAME)
        attached = json.loads(await send("POST", path, data=form))["data"]
        return page, lead, await send("GET", f"{path}/{attached['id']}")


def walk_requests():
    import requests

    return walk(requests.Session())


def walk_httpx():
    import httpx

    return walk(httpx.Client())


WALKS = {
    "requests": walk_requests,
    "httpx": walk_httpx,
    "aiohttp": lambda: asyncio.run(walk_aiohttp()),
}
page, lead, file = WALKS[sys.argv[1]]()
listed = [each["reference"] for each in page["data"]]
print(json.dumps({"listed": listed, "email": lead["customer"]["email"], "file": file}))
