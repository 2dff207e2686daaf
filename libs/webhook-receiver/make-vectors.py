"""Makes vectors.json: `python3 make-vectors.py > vectors.json`.

Uses only Python's hmac and hashlib. The script follows the lead API (section Authentication) and the
Standard Webhooks specification, not the code that the vectors test. Two vectors have published values, which
the script checks: RFC 2202 for HMAC-SHA1, and the example of the Standard Webhooks libraries.
"""

import base64
import hashlib
import hmac
import json

NOW = 1767225600  # 2026-01-01T00:00:00Z
ID = "0198c1a2-7b1e-7c3d-9e4f-5a6b7c8d9e0f"
WHSEC = "whsec_" + base64.b64encode(bytes(range(24))).decode()
NEXT = "whsec_" + base64.b64encode(bytes(range(100, 124))).decode()
LEAD = '{"data":{"id":1,"reference":"6f1c2d3e-4a5b-4c6d-8e7f-901a2b3c4d5e","name":"Jane Doe","status":"open"}}'


def service(secret, body):
    return hmac.new(secret.encode(), body, hashlib.sha1).hexdigest()


def standard(secret, body, id=ID, timestamp=str(NOW)):
    key = secret.encode()
    if secret.startswith("whsec_") and len(secret) > 6:
        encoded = secret[6:]
        try:
            decoded = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
            padded = base64.b64encode(decoded).decode()
            if encoded in (padded, padded.rstrip("=")):
                key = decoded
        except ValueError:
            pass
    content = f"{id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()


def vector(name, secret=WHSEC, body=LEAD, expect=("valid", "valid"), **over):
    """Makes a vector. `sign_id` and `sign_timestamp` are signed and sent. `body` is signed.

    `sent_body` is sent instead of `body`. All other keys of `over` replace a value after signing. None omits
    a header.
    """
    signed = body.encode() if isinstance(body, str) else body
    id, timestamp = over.pop("sign_id", ID), over.pop("sign_timestamp", str(NOW))
    sent = over.pop("sent_body", signed)
    try:
        text = sent.decode()
    except UnicodeDecodeError:
        text = None
    made = {
        "name": name,
        "secret": secret,
        "body_base64": base64.b64encode(sent).decode(),
        "body_text": text,
        "id": id,
        "timestamp": timestamp,
        "service_signature": service(secret, signed),
        "standard_signature": standard(secret, signed, id, timestamp),
        "now": NOW,
        "service": expect[0],
        "standard": expect[1],
    }
    assert set(over) <= set(made), over
    return {**made, **over}


def positive():
    yield vector("a lead, a secret that the service generated")
    yield vector("a secret the receiver chose", secret="a-secret-of-my-own")
    yield vector("a secret with characters beyond ASCII", secret="clé-secrète-🔑")
    yield vector("a secret with the prefix whose rest is not base64", secret="whsec_not base64!")
    yield vector("a secret with the prefix whose base64 has its padding", secret="whsec_YWJjZGVmZw==")
    yield vector("a secret with the prefix whose base64 lacks its padding", secret="whsec_YWJjZGVmZw")
    yield vector("a secret with the prefix whose base64 lacks one character of padding", secret="whsec_+/+/+/+/8PE")
    yield vector("a secret with the prefix whose base64 lacks half of its padding", secret="whsec_YWJjZGVmZw=")
    yield vector("a secret with the prefix whose base64 has too much padding", secret="whsec_YWJjZGVm====")
    yield vector("a secret with the prefix whose base64 ends after one character of four", secret="whsec_YWJjZGVmZ")
    yield vector("a secret with the prefix whose base64 has stray bits at its end", secret="whsec_YWJjZGVmZx==")
    yield vector("a secret with the prefix whose base64 has stray bits and no padding", secret="whsec_YWJjZGVmZx")
    yield vector("a secret with the prefix in the alphabet of URLs", secret="whsec_-_-_-_-_-_-_-_-_")
    yield vector("a secret that is the prefix alone", secret="whsec_")
    yield vector("a secret in base64 without the prefix", secret=WHSEC[6:])
    yield vector("a body beyond ASCII", body='{"data":{"name":"Zoë Ångström 👩‍🔧 \\u00e9","city":"Łódź"}}')
    yield vector("a body whose spaces and line ends matter", body='{ "data" : {\r\n\t"id": 1.0\n} }\n')
    yield vector("an empty body", body="")
    yield vector("a body with a byte order mark", body=b"\xef\xbb\xbf" + LEAD.encode())
    yield vector("a body that is not text", body=bytes([0xFF, 0xFE, 0x00, 0x80, 0x0A]))
    yield vector("a large body", body=json.dumps({"data": {"description": "ä" * 5000}}, ensure_ascii=False))
    yield vector("five minutes old to the second", sign_timestamp=str(NOW - 300))
    yield vector("five minutes ahead to the second", sign_timestamp=str(NOW + 300))


def rotation():
    old, new = standard(WHSEC, LEAD.encode()), standard(NEXT, LEAD.encode())
    both = f"{old} {new}"
    yield vector("a rotation, seen with the old secret", standard_signature=both)
    yield vector(
        "a rotation, seen with the new secret",
        secret=NEXT,
        standard_signature=both,
        service_signature=service(WHSEC, LEAD.encode()),
        expect=("bad_signature", "valid"),
    )
    yield vector(
        "a rotation, seen with a third secret",
        secret="a-secret-of-my-own",
        standard_signature=both,
        service_signature=service(WHSEC, LEAD.encode()),
        expect=("bad_signature", "bad_signature"),
    )
    yield vector("a signature of a future version together with the right one", standard_signature=f"v1a,AAAA {old}")
    yield vector("the right bytes under another version", standard_signature=old.replace("v1,", "v2,"),
                 expect=("valid", "bad_signature"))


def negative():
    right, right_standard = service(WHSEC, LEAD.encode()), standard(WHSEC, LEAD.encode())
    bad = ("bad_signature", "bad_signature")
    yield vector("another body", sent_body=LEAD.replace("Jane", "Joan").encode(), expect=bad)
    yield vector("the same JSON, printed differently", sent_body=json.dumps(json.loads(LEAD)).encode(), expect=bad)
    yield vector("an additional line end", sent_body=LEAD.encode() + b"\n", expect=bad)
    yield vector("a body added to an empty one", body="", sent_body=b"{}", expect=bad)
    yield vector("another secret", secret=NEXT, expect=bad, service_signature=right, standard_signature=right_standard)
    yield vector("the secret with an additional space", secret=WHSEC + " ", expect=bad, service_signature=right,
                 standard_signature=right_standard)
    yield vector("upper-case hex", service_signature=right.upper(), expect=("bad_signature", "valid"))
    yield vector("truncated signatures", service_signature=right[:-1], standard_signature=right_standard[:-1],
                 expect=bad)
    yield vector("signatures with an additional character", service_signature=right + "0",
                 standard_signature=right_standard + "A", expect=bad)
    yield vector("signatures that are not ASCII", service_signature="é" * 40, standard_signature="v1,é", expect=bad)
    yield vector("empty signatures", service_signature="", standard_signature="", expect=bad)
    yield vector("the version without a signature", standard_signature="v1,", expect=("valid", "bad_signature"))
    yield vector("the signature without its version", standard_signature=right_standard[3:],
                 expect=("valid", "bad_signature"))
    yield vector("HMAC-SHA1 with the decoded key", service_signature=hmac.new(
        base64.b64decode(WHSEC[6:]), LEAD.encode(), hashlib.sha1).hexdigest(), expect=("bad_signature", "valid"))
    yield vector("HMAC-SHA256 with the secret as shown", standard_signature="v1," + base64.b64encode(hmac.new(
        WHSEC.encode(), f"{ID}.{NOW}.{LEAD}".encode(), hashlib.sha256).digest()).decode(),
        expect=("valid", "bad_signature"))
    yield vector("another id", id="another", expect=("valid", "bad_signature"))
    yield vector("another timestamp", timestamp=str(NOW - 1), expect=("valid", "bad_signature"))
    yield vector("a second too old", sign_timestamp=str(NOW - 301), expect=("valid", "too_old"))
    yield vector("a second too new", sign_timestamp=str(NOW + 301), expect=("valid", "too_new"))
    yield vector("a timestamp that is not a number", sign_timestamp="yesterday", expect=("valid", "malformed_header"))
    yield vector("a timestamp with a fraction", sign_timestamp=f"{NOW}.0", expect=("valid", "malformed_header"))
    yield vector("a timestamp with a sign", sign_timestamp=f"+{NOW}", expect=("valid", "malformed_header"))
    yield vector("an empty timestamp", sign_timestamp="", expect=("valid", "malformed_header"))
    yield vector("no X-SERVICE-Signature", service_signature=None, expect=("missing_header", "valid"))
    yield vector("no webhook-id", id=None, expect=("valid", "missing_header"))
    yield vector("no webhook-timestamp", timestamp=None, expect=("valid", "missing_header"))
    yield vector("no webhook-signature", standard_signature=None, expect=("valid", "missing_header"))


def published():
    rfc = vector("RFC 2202, HMAC-SHA1, case 2", secret="Jefe", body="what do ya want for nothing?")
    assert rfc["service_signature"] == "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"
    yield rfc
    libraries = vector(
        "the example of the Standard Webhooks libraries",
        secret="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        body='{"test": 2432232314}',
        sign_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        sign_timestamp="1614265330",
        now=1614265330,
    )
    assert libraries["standard_signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    yield libraries


ABOUT = (
    "Made by make-vectors.py with Python's hmac and hashlib. id, timestamp, service_signature and standard_signature are "
    "the received values of webhook-id, webhook-timestamp, X-SERVICE-Signature and webhook-signature, or null if the "
    "header is missing. now is the receiver's clock in seconds; the tolerance is 300 s. service and standard are the "
    "expected results of verifying X-SERVICE-Signature and webhook-signature."
)
vectors = [*positive(), *rotation(), *negative(), *published()]
print(json.dumps({"about": ABOUT, "vectors": vectors}, ensure_ascii=False, indent=2))
