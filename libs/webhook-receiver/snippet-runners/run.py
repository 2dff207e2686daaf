import base64
import sys
from importlib.util import module_from_spec, spec_from_file_location

spec = spec_from_file_location("verify_webhook", sys.argv[1])
snippet = module_from_spec(spec)
spec.loader.exec_module(snippet)

for line in sys.stdin:
    *cells, now = line.rstrip("\n").split("\t")
    secret, body, service, id, timestamp, standard = [base64.b64decode(cell) for cell in cells]
    secret, service, id, timestamp, standard = [
        value.decode() if value else None for value in (secret, service, id, timestamp, standard)
    ]
    verdicts = [
        snippet.verify_service(body, service, secret),
        snippet.verify_standard(body, id, timestamp, standard, secret, int(now)),
    ]
    print(*[str(verdict).lower() for verdict in verdicts])
