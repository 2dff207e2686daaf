# A webhook receiver without dependencies. Its functions are those of docs/guides/receiving-webhooks.md.
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "webhooks/snippets"))
from verify_webhook import verify_standard

SECRET = os.environ.get("WEBHOOK_SECRET") or sys.exit("Set WEBHOOK_SECRET to the secret of the endpoint.")
PORT = int(os.environ.get("WEBHOOK_PORT") or 4400)
MAX_BYTES = 8 * 1024 * 1024


def keep(id, lead):
    """Store the lead and the id here, in one transaction. The same event may arrive again."""
    print(f"verified: lead {lead['reference']} from {lead['customer']['name']}", flush=True)


class Receiver(BaseHTTPRequestHandler):
    timeout = 30

    def do_POST(self):
        try:
            status = self.receive()
        except Exception as error:
            print(error, file=sys.stderr)
            status = 500
        self.send_response(status)
        self.end_headers()

    def receive(self):
        length = int(self.headers["Content-Length"] or 0)
        if length > MAX_BYTES:
            return 413
        body = self.rfile.read(length)
        id, timestamp, signatures = (self.headers[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
        if not verify_standard(body, id, timestamp, signatures, SECRET):
            print("refused: the signature does not match, or is old", flush=True)
            return 401
        keep(id, json.loads(body)["data"])
        return 200

    def log_message(self, *_):
        pass


try:
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Receiver)
except OSError as error:
    sys.exit(f"{error}. Choose another port with WEBHOOK_PORT.")
print(f"listening on http://127.0.0.1:{PORT}/", flush=True)
server.serve_forever()
