<?php

require $argv[1];

while (($line = fgets(STDIN)) !== false) {
    $cells = explode("\t", rtrim($line, "\n"));
    [$secret, $body, $service, $id, $timestamp, $standard] = array_map('base64_decode', array_slice($cells, 0, 6));
    [$service, $id, $timestamp, $standard] = array_map(
        fn ($value) => $value === '' ? null : $value,
        [$service, $id, $timestamp, $standard]
    );
    $verdicts = [
        verify_service($body, $service, $secret),
        verify_standard($body, $id, $timestamp, $standard, $secret, (int) $cells[6]),
    ];
    echo implode(' ', array_map(fn ($verdict) => $verdict ? 'true' : 'false', $verdicts)), "\n";
}
