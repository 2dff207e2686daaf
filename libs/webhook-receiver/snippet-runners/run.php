<?php

require getenv('SNIPPET');

if ((int) $_SERVER['CONTENT_LENGTH'] > 8 << 20) {
    http_response_code(413);
    exit;
}
$body = file_get_contents('php://input');
[$secret, $service, $id, $timestamp, $standard, $now] = array_map(
    fn ($cell) => $cell === '' ? null : base64_decode($cell),
    explode(',', $_SERVER['HTTP_CELLS'])
);
$verdicts = [
    verify_service($body, $service, $secret),
    verify_standard($body, $id, $timestamp, $standard, $secret, (int) $now),
];
echo implode(' ', array_map(fn ($verdict) => $verdict ? 'true' : 'false', $verdicts));
