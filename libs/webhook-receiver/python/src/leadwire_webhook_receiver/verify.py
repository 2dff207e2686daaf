import json
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Literal, Protocol, TypeAlias

from .signatures import RawBody, Secrets, to_bytes, has_service_signature, has_standard_signature

# The README explains each code. With too_old, too_new and malformed_body the signature is valid.
RefusalCode: TypeAlias = Literal[
    "missing_header", "malformed_header", "bad_signature", "too_old", "too_new", "malformed_body"
]


class HasItems(Protocol):
    def items(self) -> Iterable[tuple[str, str]]: ...


# A mapping, such as the headers of Flask, Django and Starlette, or pairs of name and value.
HeadersLike: TypeAlias = HasItems | Iterable[tuple[str, str]]


class WebhookRefused(Exception):
    """The request is refused. The message is for a log. It never contains the secret or the expected signature."""

    def __init__(self, code: RefusalCode, message: str, header: str | None = None) -> None:
        super().__init__(message)
        self.code: RefusalCode = code
        # The name of the missing or invalid header, in lower case.
        self.header = header


@dataclass(frozen=True)
class Verified:
    # The parsed body. Its structure is not checked: the signature proves the sender, not the content.
    payload: Any


@dataclass(frozen=True)
class VerifiedStandard(Verified):
    # The webhook-id: the id of the event, the same on every attempt.
    id: str
    # The webhook-timestamp: the time of this attempt.
    sent_at: datetime


def _read_header(headers: HeadersLike, name: str) -> str:
    pairs = headers.items() if hasattr(headers, "items") else headers
    values = [value for key, value in pairs if key.lower() == name]
    if not values:
        raise WebhookRefused("missing_header", f"The {name} header is missing.", name)
    # Joins repeated headers (RFC 9110, 5.3). No header of a webhook may be repeated, so a joined value never
    # verifies.
    return ", ".join(values)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _read_payload(body: RawBody) -> Any:
    try:
        # Requires UTF-8 (RFC 8259, 8.1).
        return json.loads(to_bytes(body).decode(), parse_constant=_refuse_constant)
    except ValueError as error:
        raise WebhookRefused("malformed_body", "The signature is valid, but the body is not JSON.") from error


def verify(raw_body: RawBody, headers: HeadersLike, secret: Secrets) -> Verified:
    """Verifies X-SERVICE-Signature and parses the body.

    The signature covers only the body: a recorded request stays valid for ever, and `webhook-id` is not
    protected. Raises WebhookRefused if the request is refused, TypeError for a parsed body, and ValueError
    without a secret.
    """
    name = "x-service-signature"
    if not has_service_signature(raw_body, _read_header(headers, name), secret):
        raise WebhookRefused("bad_signature", f"{name} does not match this body and this secret.", name)
    return Verified(_read_payload(raw_body))


def verify_standard(
    raw_body: RawBody,
    headers: HeadersLike,
    secret: Secrets,
    *,
    now: float | None = None,
    tolerance_seconds: int = 300,
) -> VerifiedStandard:
    """Verifies `webhook-signature` (Standard Webhooks 1.0.0) and the age, and parses the body.

    Does not detect duplicates. `now` is the current time in seconds, by default the machine's. Raises the same
    exceptions as `verify`.
    """
    id, timestamp, signatures = (
        _read_header(headers, name) for name in ("webhook-id", "webhook-timestamp", "webhook-signature")
    )
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        raise WebhookRefused(
            "malformed_header", "webhook-timestamp is not a number of seconds.", "webhook-timestamp"
        )
    if not has_standard_signature(raw_body, id, timestamp, signatures, secret):
        raise WebhookRefused(
            "bad_signature",
            "webhook-signature does not match this request and this secret.",
            "webhook-signature",
        )
    # Compares whole seconds, as the libraries of the specification do.
    age = int(time.time() if now is None else now) - int(timestamp)
    if age > tolerance_seconds:
        raise WebhookRefused("too_old", f"The request was sent {age} s ago.", "webhook-timestamp")
    if -age > tolerance_seconds:
        raise WebhookRefused(
            "too_new", f"The request was sent {-age} s in the future: check the clocks.", "webhook-timestamp"
        )
    sent_at = datetime.fromtimestamp(int(timestamp), timezone.utc)
    return VerifiedStandard(_read_payload(raw_body), id, sent_at)
