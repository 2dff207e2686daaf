<?php

// A webhook receiver without dependencies. Its functions are those of docs/guides/receiving-webhooks.md.
require __DIR__ . '/../webhooks/snippets/verify-webhook.php';

// PHP answers 200 to a request that failed if it shows the error in the response.
ini_set('display_errors', '0');

const MAX_BYTES = 8 * 1024 * 1024;

/** Store the lead and the id here, in one transaction. The same event may arrive again. */
function keep(string $id, array $lead): void
{
    say("verified: lead {$lead['reference']} from {$lead['customer']['name']}");
}

function say(string $line): void
{
    file_put_contents('php://stdout', "$line\n");
}

function receive(): int
{
    if ($_SERVER['REQUEST_METHOD'] !== 'POST') {
        return 405;
    }
    $body = file_get_contents('php://input', false, null, 0, MAX_BYTES + 1);
    if (strlen($body) > MAX_BYTES) {
        return 413;
    }
    $id = $_SERVER['HTTP_WEBHOOK_ID'] ?? null;
    $timestamp = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? null;
    $signatures = $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? null;
    if (!verify_standard($body, $id, $timestamp, $signatures, (string) getenv('WEBHOOK_SECRET'))) {
        say('refused: the signature does not match, or is old');
        return 401;
    }
    keep($id, json_decode($body, true, 512, JSON_THROW_ON_ERROR)['data']);
    return 200;
}

http_response_code(receive());
