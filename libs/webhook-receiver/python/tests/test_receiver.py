"""Tests of the installed package. other-packages.spec.ts runs them."""

import base64
import json
import os
import threading
import unittest
from email.message import Message

from leadwire_webhook_receiver import (
    BoundedStore,
    WebhookRefused,
    service_signature,
    standard_signature,
    verify,
    verify_standard,
)

with open(os.environ["VECTORS"], encoding="utf-8") as file:
    VECTORS = json.load(file)["vectors"]

LEAD = VECTORS[0]
SECRET = LEAD["secret"]


def decode_body(vector):
    return base64.b64decode(vector["body_base64"])


def list_headers(vector):
    values = {
        "X-SERVICE-Signature": vector["service_signature"],
        "webhook-id": vector["id"],
        "webhook-timestamp": vector["timestamp"],
        "webhook-signature": vector["standard_signature"],
    }
    return {name: value for name, value in values.items() if value is not None}


BODY = decode_body(LEAD)
HEADERS = list_headers(LEAD)


def read_code(check, *args, **options):
    try:
        check(*args, **options)
    except WebhookRefused as refused:
        return refused.code
    return "valid"


def expected(vector, verdict):
    """Returns the expected result: `malformed_body` if the signature is valid but the body is not JSON."""
    try:
        json.loads(vector["body_text"] or "")
    except ValueError:
        return "malformed_body" if verdict == "valid" else verdict
    return verdict


class Vectors(unittest.TestCase):
    def test_each(self):
        for vector in VECTORS:
            with self.subTest(vector["name"]):
                given = (decode_body(vector), list_headers(vector), vector["secret"])
                self.assertEqual(read_code(verify, *given), expected(vector, vector["service"]))
                standard = read_code(verify_standard, *given, now=vector["now"])
                self.assertEqual(standard, expected(vector, vector["standard"]))
        print(f"{len(VECTORS)} vectors")


class Verifying(unittest.TestCase):
    def test_what_is_returned(self):
        result = verify_standard(BODY, HEADERS, SECRET, now=LEAD["now"])
        self.assertEqual(result.payload, json.loads(BODY))
        self.assertEqual((result.id, int(result.sent_at.timestamp())), (LEAD["id"], LEAD["now"]))

    def test_headers_of_every_form(self):
        message = Message()
        for name, value in HEADERS.items():
            message[name] = value
        upper = {name.upper(): value for name, value in HEADERS.items()}
        for headers in (message, upper, list(HEADERS.items())):
            self.assertEqual(read_code(verify_standard, BODY, headers, SECRET, now=LEAD["now"]), "valid")

    def test_a_header_that_came_twice(self):
        twice = [*HEADERS.items(), ("webhook-signature", "v1,AAAA")]
        self.assertEqual(read_code(verify_standard, BODY, twice, SECRET, now=LEAD["now"]), "bad_signature")

    def test_several_secrets(self):
        self.assertEqual(read_code(verify, BODY, HEADERS, ["the-next-secret", SECRET]), "valid")
        self.assertEqual(read_code(verify, BODY, HEADERS, ["the-next-secret"]), "bad_signature")

    def test_another_tolerance(self):
        for seconds, code in ((10, "valid"), (11, "too_old"), (-11, "too_new")):
            options = {"now": LEAD["now"] + seconds, "tolerance_seconds": 10}
            self.assertEqual(read_code(verify_standard, BODY, HEADERS, SECRET, **options), code)
        self.assertEqual(read_code(verify_standard, BODY, HEADERS, SECRET), "too_old")

    def test_no_secret(self):
        for secret in ("", [], [SECRET, ""], None):
            with self.assertRaisesRegex(ValueError, "secret is missing"):
                verify(BODY, HEADERS, secret)

    def test_a_parsed_body(self):
        with self.assertRaisesRegex(TypeError, "raw body must be bytes"):
            verify(json.loads(BODY), HEADERS, SECRET)

    def test_a_body_that_python_alone_takes_for_json(self):
        headers = {"X-SERVICE-Signature": service_signature(b"NaN", SECRET)}
        self.assertEqual(read_code(verify, b"NaN", headers, SECRET), "malformed_body")

    def test_signatures_for_tests(self):
        stamp = (LEAD["id"], LEAD["timestamp"])
        self.assertEqual(standard_signature(BODY, *stamp, SECRET), LEAD["standard_signature"])
        self.assertEqual(service_signature(BODY, SECRET), LEAD["service_signature"])


class Store(unittest.TestCase):
    def test_once(self):
        store = BoundedStore()
        done = []
        with self.assertRaises(ZeroDivisionError):
            store.once("a", lambda: 1 / 0)
        self.assertEqual([store.once("a", lambda: done.append(1)) for _ in range(2)], ["kept", "duplicate"])
        self.assertEqual(done, [1])

    def test_while_it_is_in_progress_in_another_thread(self):
        store = BoundedStore()
        began, ends = threading.Event(), threading.Event()
        outcomes = []

        def work():
            began.set()
            ends.wait()

        thread = threading.Thread(target=lambda: outcomes.append(store.once("a", work)))
        thread.start()
        began.wait()
        self.assertEqual(store.once("a", self.fail), "in_progress")
        ends.set()
        thread.join()
        self.assertEqual([*outcomes, store.once("a", self.fail)], ["kept", "duplicate"])

    def test_what_it_deletes(self):
        clock = [0.0]
        store = BoundedStore(max_ids=2, remember_seconds=10, now=lambda: clock[0])
        for id in ("a", "b", "c"):
            store.once(id, lambda: None)
        self.assertEqual(store.once("c", self.fail), "duplicate")
        self.assertEqual(store.once("a", lambda: None), "kept")
        clock[0] = 10.0
        self.assertEqual(store.once("c", lambda: None), "kept")


if __name__ == "__main__":
    unittest.main()
