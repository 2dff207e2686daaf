<?php

declare(strict_types=1);

namespace Leadwire\WebhookReceiver;

final class Signatures
{
    /**
     * Returns the HMAC-SHA1 of the raw body in lower-case hex. The key is the bytes of the secret exactly as
     * shown, including its prefix.
     */
    public static function service(string $body, #[\SensitiveParameter] string $secret): string
    {
        return hash_hmac('sha1', $body, self::required($secret));
    }

    /**
     * Returns a signature of Standard Webhooks 1.0.0: `v1,` and the HMAC-SHA256 of `id.timestamp.body` in
     * base64.
     */
    public static function standard(
        string $body,
        string $id,
        string $timestamp,
        #[\SensitiveParameter] string $secret,
    ): string {
        $hmac = hash_hmac('sha256', "$id.$timestamp.$body", self::standardKey(self::required($secret)), true);
        return 'v1,' . base64_encode($hmac);
    }

    // Rejects an empty secret, such as from an unset environment variable. Anyone could sign with an empty
    // secret.
    private static function required(#[\SensitiveParameter] string $secret): string
    {
        return $secret !== '' ? $secret : throw new \InvalidArgumentException('The webhook secret is missing or empty.');
    }

    // Returns the key of a secret. The specification writes a binary key as whsec_ and base64, with or
    // without padding. A secret is decoded only if encoding the bytes again gives the same text. For any
    // other secret, the bytes of its text are the key.
    private static function standardKey(#[\SensitiveParameter] string $secret): string
    {
        $encoded = str_starts_with($secret, 'whsec_') ? substr($secret, 6) : '';
        $key = (string) base64_decode($encoded, true);
        $padded = base64_encode($key);
        $isBase64 = $key !== '' && in_array($encoded, [$padded, rtrim($padded, '=')], true);
        return $isBase64 ? $key : $secret;
    }
}
