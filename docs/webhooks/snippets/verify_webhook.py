import base64
import hashlib
import hmac
import re
import time


def verify_standard(body, id, timestamp, signatures, secret, now=None):
    """Checks webhook-signature. `body` is the raw bytes."""
    if not secret:
        raise ValueError("the webhook secret is missing")
    if not id or not signatures or not re.fullmatch(r"[0-9]{1,12}", timestamp or ""):
        return False
    if abs(int(time.time() if now is None else now) - int(timestamp)) > 300:
        return False
    content = f"{id}.{timestamp}.".encode() + body
    digest = hmac.new(_standard_key(secret), content, hashlib.sha256).digest()
    right = "v1," + base64.b64encode(digest).decode()
    return any([_is_equal(signature, right) for signature in signatures.split(" ")])


def verify_service(body, signature, secret):
    """Checks X-SERVICE-Signature."""
    if not secret:
        raise ValueError("the webhook secret is missing")
    right = hmac.new(secret.encode(), body, hashlib.sha1).hexdigest()
    return _is_equal(signature, right)


def _standard_key(secret):
    encoded = secret[6:] if secret.startswith("whsec_") else ""
    try:
        key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except ValueError:
        key = b""
    padded = base64.b64encode(key).decode()
    is_base64 = key != b"" and encoded in (padded, padded.rstrip("="))
    return key if is_base64 else secret.encode()


def _is_equal(given, right):
    # compare_digest refuses text beyond ASCII.
    return hmac.compare_digest((given or "").encode("utf-8", "surrogateescape"), right.encode())
