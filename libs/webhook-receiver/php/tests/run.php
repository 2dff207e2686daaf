<?php

// other-packages.spec.ts runs this file. The environment variable AUTOLOAD is the path of an installation's
// autoloader, and VECTORS is the path of vectors.json.

declare(strict_types=1);

use Leadwire\WebhookReceiver\FolderStore;
use Leadwire\WebhookReceiver\Outcome;
use Leadwire\WebhookReceiver\Signatures;
use Leadwire\WebhookReceiver\Verifier;
use Leadwire\WebhookReceiver\WebhookRefused;

require getenv('AUTOLOAD');

$failures = [];

$same = function (string $name, mixed $found, mixed $expected) use (&$failures): void {
    if ($found !== $expected) {
        $failures[] = "$name: " . var_export($found, true) . ' in place of ' . var_export($expected, true);
    }
};

$readCode = function (callable $check): string {
    try {
        $check();
        return 'valid';
    } catch (WebhookRefused $refused) {
        return $refused->refusal->value;
    }
};

$listHeaders = fn (array $vector): array => array_filter([
    'X-SERVICE-Signature' => $vector['service_signature'],
    'webhook-id' => $vector['id'],
    'webhook-timestamp' => $vector['timestamp'],
    'webhook-signature' => $vector['standard_signature'],
], fn (?string $value) => $value !== null);

$decodeBody = fn (array $vector): string => base64_decode($vector['body_base64'], true);

/** Returns the expected result: `malformed_body` if the signature is valid but the body is not JSON. */
$expected = function (array $vector, string $verdict): string {
    json_decode($vector['body_text'] ?? '');
    return $verdict === 'valid' && json_last_error() !== JSON_ERROR_NONE ? 'malformed_body' : $verdict;
};

$vectors = json_decode(file_get_contents(getenv('VECTORS')), true)['vectors'];
foreach ($vectors as $vector) {
    $verifier = new Verifier($vector['secret']);
    $given = [$decodeBody($vector), $listHeaders($vector)];
    $service = $readCode(fn () => $verifier->verify(...$given));
    $same("service: {$vector['name']}", $service, $expected($vector, $vector['service']));
    $standard = $readCode(fn () => $verifier->verifyStandard(...[...$given, $vector['now']]));
    $same("standard: {$vector['name']}", $standard, $expected($vector, $vector['standard']));
}

$lead = $vectors[0];
$now = $lead['now'];
$body = $decodeBody($lead);
$headers = $listHeaders($lead);
$verifier = new Verifier($lead['secret']);
$verifyStandard = fn (Verifier $verifier, array $headers, ?int $at) => $readCode(
    fn () => $verifier->verifyStandard($body, $headers, $at)
);

$webhook = $verifier->verifyStandard($body, $headers, $now);
$same('payload', $webhook->payload, json_decode($body, true));
$same('id and time', [$webhook->id, $webhook->sentAt->getTimestamp()], [$lead['id'], $now]);

$server = ['CONTENT_LENGTH' => (string) strlen($body), 'argv' => []];
foreach ($headers as $name => $value) {
    $server['HTTP_' . strtoupper(strtr($name, '-', '_'))] = $value;
}
$same('headers of $_SERVER', $verifyStandard($verifier, $server, $now), 'valid');
$lists = array_map(fn (string $value) => [$value], array_change_key_case($headers));
$same('headers as lists', $verifyStandard($verifier, $lists, $now), 'valid');
$twice = ['webhook-signature' => [$lead['standard_signature'], 'v1,AAAA']] + $headers;
$same('a header that came twice', $verifyStandard($verifier, $twice, $now), 'bad_signature');

$same('several secrets', $verifyStandard(new Verifier(['the-next-secret', $lead['secret']]), $headers, $now), 'valid');
$same('other secrets', $verifyStandard(new Verifier(['the-next-secret']), $headers, $now), 'bad_signature');
foreach ([10 => 'valid', 11 => 'too_old', -11 => 'too_new'] as $seconds => $code) {
    $found = $verifyStandard(new Verifier($lead['secret'], toleranceSeconds: 10), $headers, $now + $seconds);
    $same("a tolerance of 10 s after $seconds s", $found, $code);
}
$same('the clock of the machine', $verifyStandard($verifier, $headers, null), 'too_old');
foreach (['', [], [$lead['secret'], '']] as $secret) {
    try {
        new Verifier($secret);
        $failures[] = 'taken as a secret: ' . json_encode($secret);
    } catch (InvalidArgumentException) {
    }
}
$same('service signature', Signatures::service($body, $lead['secret']), $lead['service_signature']);
$standard = Signatures::standard($body, $lead['id'], $lead['timestamp'], $lead['secret']);
$same('standard signature', $standard, $lead['standard_signature']);

$folder = sys_get_temp_dir() . '/leadwire-store-' . bin2hex(random_bytes(8));
$store = new FolderStore($folder);
$never = fn () => throw new LogicException('done again');
try {
    $store->once('../a', fn () => throw new DomainException('fails'));
    $failures[] = 'work that fails: was kept';
} catch (DomainException) {
}
$meanwhile = null;
$outcome = $store->once('../a', function () use ($folder, $never, &$meanwhile): void {
    // Opens the folder again, as another process would.
    $meanwhile = (new FolderStore($folder))->once('../a', $never);
});
$same('while it is in progress', $meanwhile, Outcome::InProgress);
$same('after a failure', $outcome, Outcome::Kept);
$same('another time', (new FolderStore($folder))->once('../a', $never), Outcome::Duplicate);
$store->prune();
$same('what is remembered', $store->once('../a', $never), Outcome::Duplicate);
$short = new FolderStore($folder, rememberSeconds: 0);
$same('what is not remembered', $short->once('../a', fn () => null), Outcome::Kept);
$short->prune();
$same('files that are left', scandir($folder), ['.', '..']);
rmdir($folder);

echo count($vectors), " vectors\n", implode("\n", $failures);
exit($failures === [] ? 0 : 1);
