<?php

declare(strict_types=1);

namespace Leadwire\WebhookReceiver;

final class Signatures
{
    /** HMAC-SHA1 over the raw body in lower-case hex, keyed with the bytes of the secret exactly as it is shown, prefix included. */
    public static function service(string $body, #[\SensitiveParameter] string $secret): string
    {
        return hash_hmac('sha1', $body, self::required($secret));
    }

    /** Standard Webhooks 1.0.0: `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64. */
    public static function standard(
        string $body,
        string $id,
        string $timestamp,
        #[\SensitiveParameter] string $secret,
    ): string {
        $hmac = hash_hmac('sha256', "$id.$timestamp.$body", self::standardKey(self::required($secret)), true);
        return 'v1,' . base64_encode($hmac);
    }

    // An empty key would verify what anybody can compute: an unset environment variable must not open the door.
    private static function required(#[\SensitiveParameter] string $secret): string
    {
        return $secret !== '' ? $secret : throw new \InvalidArgumentException('The webhook secret is missing or empty.');
    }

    // whsec_ and base64 is how the specification writes a key of bytes. A secret of any other form, and one that is not
    // exactly what encoding its bytes would give, is used as it is.
    private static function standardKey(#[\SensitiveParameter] string $secret): string
    {
        $encoded = str_starts_with($secret, 'whsec_') ? substr($secret, 6) : '';
        $key = (string) base64_decode($encoded, true);
        return $key !== '' && base64_encode($key) === $encoded ? $key : $secret;
    }
}
