<?php

declare(strict_types=1);

namespace Leadwire\WebhookReceiver;

/** Verifies requests by either signature. Pass the unparsed body: file_get_contents('php://input'). */
final class Verifier
{
    /** @var list<string> */
    private readonly array $secrets;

    /**
     * @param string|list<string> $secret the secret of the endpoint, or all valid secrets during a rotation
     * @param int $toleranceSeconds the maximum distance of webhook-timestamp from now in either direction. Every
     *   attempt has a new timestamp, so a late retry is not too old.
     * @throws \InvalidArgumentException without a secret
     */
    public function __construct(
        #[\SensitiveParameter] string|array $secret,
        private readonly int $toleranceSeconds = 300,
    ) {
        $this->secrets = (array) $secret;
        if ($this->secrets === [] || in_array('', $this->secrets, true)) {
            throw new \InvalidArgumentException('The webhook secret is missing or empty.');
        }
    }

    /**
     * Verifies X-SERVICE-Signature and returns the parsed body. The signature covers only the body: a recorded
     * request stays valid for ever, and webhook-id is not protected.
     * @param array<string, string|list<string>> $headers see `verifyStandard`
     * @throws WebhookRefused
     */
    public function verify(string $rawBody, array $headers): mixed
    {
        $name = 'x-service-signature';
        $given = [self::readHeader($headers, $name)];
        if (!$this->isAmong($given, fn (string $secret) => Signatures::service($rawBody, $secret))) {
            throw new WebhookRefused(Refusal::BadSignature, "$name does not match this body and this secret.", $name);
        }
        return self::readPayload($rawBody);
    }

    /**
     * Verifies webhook-signature (Standard Webhooks 1.0.0) and the age, and parses the body. Does not detect
     * duplicates.
     * @param array<string, string|list<string>> $headers `$_SERVER`, `getallheaders()`, or the headers of a PSR-7,
     *   Symfony or Laravel request
     * @param ?int $now the current time in seconds; null for the machine's clock
     * @throws WebhookRefused
     */
    public function verifyStandard(string $rawBody, array $headers, ?int $now = null): Webhook
    {
        $id = self::readHeader($headers, 'webhook-id');
        $timestamp = self::readHeader($headers, 'webhook-timestamp');
        $signatures = self::readHeader($headers, 'webhook-signature');
        if (!preg_match('/^[0-9]{1,12}$/D', $timestamp)) {
            $message = 'webhook-timestamp is not a number of seconds.';
            throw new WebhookRefused(Refusal::MalformedHeader, $message, 'webhook-timestamp');
        }
        $sign = fn (string $secret) => Signatures::standard($rawBody, $id, $timestamp, $secret);
        if (!$this->isAmong(explode(' ', $signatures), $sign)) {
            $message = 'webhook-signature does not match this request and this secret.';
            throw new WebhookRefused(Refusal::BadSignature, $message, 'webhook-signature');
        }
        $age = ($now ?? time()) - (int) $timestamp;
        if ($age > $this->toleranceSeconds) {
            throw new WebhookRefused(Refusal::TooOld, "The request was sent $age s ago.", 'webhook-timestamp');
        }
        if (-$age > $this->toleranceSeconds) {
            $message = sprintf('The request was sent %d s in the future: check the clocks.', -$age);
            throw new WebhookRefused(Refusal::TooNew, $message, 'webhook-timestamp');
        }
        return new Webhook(self::readPayload($rawBody), $id, new \DateTimeImmutable("@$timestamp"));
    }

    /**
     * @param list<string> $given
     * @param callable(string): string $sign
     */
    private function isAmong(array $given, callable $sign): bool
    {
        foreach (array_map($sign, $this->secrets) as $expected) {
            foreach ($given as $signature) {
                if (hash_equals($expected, $signature)) {
                    return true;
                }
            }
        }
        return false;
    }

    /** @param array<string, string|list<string>> $headers */
    private static function readHeader(array $headers, string $name): string
    {
        $values = [];
        foreach ($headers as $key => $value) {
            // Matches the names in $_SERVER too, such as HTTP_WEBHOOK_ID.
            if (preg_replace('/^http-/', '', strtolower(strtr((string) $key, '_', '-'))) === $name) {
                array_push($values, ...(array) $value);
            }
        }
        if ($values === []) {
            throw new WebhookRefused(Refusal::MissingHeader, "The $name header is missing.", $name);
        }
        // Joins repeated headers (RFC 9110, 5.3). No header of a webhook may be repeated, so a joined value
        // never verifies.
        return implode(', ', $values);
    }

    private static function readPayload(string $rawBody): mixed
    {
        try {
            return json_decode($rawBody, true, 512, JSON_THROW_ON_ERROR);
        } catch (\JsonException $cause) {
            $message = 'The signature is valid, but the body is not JSON.';
            throw new WebhookRefused(Refusal::MalformedBody, $message, null, $cause);
        }
    }
}
