<?php

declare(strict_types=1);

namespace Leadwire\WebhookReceiver;

/** Verifies requests by either signature. The raw body is file_get_contents('php://input'), before any parsing. */
final class Verifier
{
    /** @var list<string> */
    private readonly array $secrets;

    /**
     * @param string|list<string> $secret the endpoint's; several while it is being changed
     * @param int $toleranceSeconds how far webhook-timestamp may be from now, either way. Every attempt has a new one.
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
     * Verifies X-SERVICE-Signature and returns the parsed body. Covers the body alone: a recorded request verifies for ever,
     * and webhook-id is not protected.
     * @param array<string, string|list<string>> $headers as of `verifyStandard`
     * @throws WebhookRefused
     */
    public function verify(string $rawBody, array $headers): mixed
    {
        $name = 'x-service-signature';
        $given = [self::headerOf($headers, $name)];
        if (!$this->isAmong($given, fn (string $secret) => Signatures::service($rawBody, $secret))) {
            throw new WebhookRefused(Refusal::BadSignature, "$name does not sign this body with this secret.", $name);
        }
        return self::readPayload($rawBody);
    }

    /**
     * Verifies webhook-signature (Standard Webhooks 1.0.0) and the age, and parses the body. A repeated event verifies too.
     * @param array<string, string|list<string>> $headers `$_SERVER`, `getallheaders()`, or those of a PSR-7, Symfony or
     *   Laravel request
     * @param ?int $now the clock in seconds; the machine's when null
     * @throws WebhookRefused
     */
    public function verifyStandard(string $rawBody, array $headers, ?int $now = null): Webhook
    {
        $id = self::headerOf($headers, 'webhook-id');
        $timestamp = self::headerOf($headers, 'webhook-timestamp');
        $signatures = self::headerOf($headers, 'webhook-signature');
        if (!preg_match('/^[0-9]{1,12}$/D', $timestamp)) {
            $message = 'webhook-timestamp is no number of seconds.';
            throw new WebhookRefused(Refusal::MalformedHeader, $message, 'webhook-timestamp');
        }
        $right = fn (string $secret) => Signatures::standard($rawBody, $id, $timestamp, $secret);
        if (!$this->isAmong(explode(' ', $signatures), $right)) {
            $message = 'webhook-signature does not sign this request with this secret.';
            throw new WebhookRefused(Refusal::BadSignature, $message, 'webhook-signature');
        }
        $age = ($now ?? time()) - (int) $timestamp;
        if ($age > $this->toleranceSeconds) {
            throw new WebhookRefused(Refusal::TooOld, "It was sent $age s ago.", 'webhook-timestamp');
        }
        if (-$age > $this->toleranceSeconds) {
            $message = sprintf('It was sent %d s from now; compare the clocks.', -$age);
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
        foreach (array_map($sign, $this->secrets) as $right) {
            foreach ($given as $signature) {
                if (hash_equals($right, $signature)) {
                    return true;
                }
            }
        }
        return false;
    }

    /** @param array<string, string|list<string>> $headers */
    private static function headerOf(array $headers, string $name): string
    {
        $values = [];
        foreach ($headers as $key => $value) {
            // $_SERVER has HTTP_WEBHOOK_ID for webhook-id.
            if (preg_replace('/^http-/', '', strtolower(strtr((string) $key, '_', '-'))) === $name) {
                array_push($values, ...(array) $value);
            }
        }
        if ($values === []) {
            throw new WebhookRefused(Refusal::MissingHeader, "There is no $name header.", $name);
        }
        // Several of one name are joined (RFC 9110, 5.3): none of the headers read here may come twice, and none verifies then.
        return implode(', ', $values);
    }

    private static function readPayload(string $rawBody): mixed
    {
        try {
            return json_decode($rawBody, true, 512, JSON_THROW_ON_ERROR);
        } catch (\JsonException $cause) {
            $message = 'The signature is right, but the body is no JSON.';
            throw new WebhookRefused(Refusal::MalformedBody, $message, null, $cause);
        }
    }
}
