import base64
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import module_from_spec, spec_from_file_location

spec = spec_from_file_location("verify_webhook", os.environ["SNIPPET"])
snippet = module_from_spec(spec)
spec.loader.exec_module(snippet)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        length = int(self.headers["content-length"])
        if length > 8 << 20:
            return self.send_error(413)
        body = self.rfile.read(length)
        cells = self.headers["cells"].split(",")
        secret, service, id, timestamp, standard, now = [base64.b64decode(cell).decode() or None for cell in cells]
        verdicts = [
            snippet.verify_service(body, service, secret),
            snippet.verify_standard(body, id, timestamp, standard, secret, int(now)),
        ]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(" ".join(str(verdict).lower() for verdict in verdicts).encode())


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Receiver).serve_forever()
