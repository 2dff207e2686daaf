<?php

/** Checks webhook-signature. $body is file_get_contents('php://input'). */
function verify_standard(
    string $body,
    ?string $id,
    ?string $timestamp,
    ?string $signatures,
    string $secret,
    ?int $now = null
): bool {
    if ($secret === '') {
        throw new InvalidArgumentException('the webhook secret is missing');
    }
    if (($id ?? '') === '' || !preg_match('/^[0-9]{1,12}$/D', $timestamp ?? '')) {
        return false;
    }
    if (abs(($now ?? time()) - (int) $timestamp) > 300) {
        return false;
    }
    $hmac = hash_hmac('sha256', "$id.$timestamp.$body", standard_key($secret), true);
    $right = 'v1,' . base64_encode($hmac);
    $valid = false;
    foreach (explode(' ', $signatures ?? '') as $signature) {
        $valid = hash_equals($right, $signature) || $valid;
    }
    return $valid;
}

/** Checks X-SERVICE-Signature. */
function verify_service(string $body, ?string $signature, string $secret): bool
{
    if ($secret === '') {
        throw new InvalidArgumentException('the webhook secret is missing');
    }
    return hash_equals(hash_hmac('sha1', $body, $secret), $signature ?? '');
}

function standard_key(string $secret): string
{
    $encoded = strncmp($secret, 'whsec_', 6) === 0 ? substr($secret, 6) : '';
    $key = (string) base64_decode($encoded, true);
    $padded = base64_encode($key);
    $is_base64 = $key !== '' && in_array($encoded, [$padded, rtrim($padded, '=')], true);
    return $is_base64 ? $key : $secret;
}
